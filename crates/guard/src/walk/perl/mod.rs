//! Programs in Perl that a script holds: read as a whole, and run one way over values that are known in part.
//!
//! A condition that is not known is answered once with yes and once with no, except where one answer ends the program or the round of a
//! loop: then the program goes on. A program that cannot be read, or that runs something unknown, is also looked at by [`super::program`]
//! and [`super::code`].
//!
//! Invariant: steps, depth, texts and lists are bounded. Everything that may hold itself is taken apart at the end.

mod ast;
mod blocks;
mod builtins;
mod deciding;
mod expressions;
mod functions;
mod handles;
mod imports;
mod lists;
mod matching;
mod modules;
mod operators;
mod options;
mod parser;
mod places;
mod quotes;
mod run;
mod subs;
mod system;
mod terms;
#[cfg(test)]
mod tests;
mod text;
mod value;
mod variables;
mod words;

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use crate::marks::UNKNOWN;
use crate::walk::ScriptWalk;

use ast::Statement;
use handles::lines_of;
use options::PerlWords;
use parser::{Program, parsed};
use run::{Leaving, Outcome, Perl};
use value::{Handle, Scope, Slot, Val};

/// The longest program that is run, in bytes.
const LONGEST: usize = 32 << 10;

/// The most lines of input that `-n` goes through.
const MOST_LINES: usize = 512;

/// The outcome of one run.
#[derive(Default)]
struct PerlRun {
    asked: usize,
    is_blind: bool,
    runs_unknown: bool,
}

/// A format of C, filled with these texts.
pub(super) fn sprintf(format: &str, values: &[String]) -> String {
    text::formatted(format, &values.iter().map(Val::text).collect::<Vec<_>>())
}

impl ScriptWalk<'_> {
    /// Runs a program of Perl. False if it was not understood, or not all that it runs is known.
    pub(super) fn run_perl(&mut self, arguments: &[String]) -> bool {
        let words = PerlWords::of(arguments);
        if words.checks_only {
            return false;
        }
        let code = match (&words.code, words.file) {
            (Some(code), _) => Some(code.clone()),
            (None, Some(file)) => self.code_in_file(file),
            (None, None) => {
                Some(std::mem::take(&mut self.world.shell.input).to_string()).filter(|code| !code.is_empty())
            }
        };
        let Some(code) = code.filter(|code| code.len() <= LONGEST && !code.contains(UNKNOWN)) else { return false };
        let is_input = words.code.is_none() && words.file.is_none();
        let understood = self.run_perl_code(&code, &words);
        if is_input && !understood {
            self.world.shell.input = code.into();
        }
        understood
    }

    fn run_perl_code(&mut self, code: &str, words: &PerlWords<'_>) -> bool {
        self.budget.spend(1 + code.len() / 64);
        let directory = self.directory();
        let first = self.rehearsal.is_none_or(|rehearsal| rehearsal.answer);
        let mut outputs = Vec::new();
        let mut whole = PerlRun::default();
        for answer in [first, !first] {
            let Some(program) = parsed(code) else { return false };
            if !self.budget.enter() {
                return true;
            }
            self.world.shell.set_directory(directory.clone());
            let mut run = PerlRun::default();
            let output = self.capturing(|walk| run = walk.perl_once(program, words, answer));
            self.budget.leave();
            outputs.push(output);
            whole.is_blind |= run.is_blind;
            whole.runs_unknown |= run.runs_unknown;
            if let Some(rehearsal) = &mut self.rehearsal {
                rehearsal.asked += run.asked;
            }
            if run.asked == 0 || self.rehearsal.is_some() {
                break;
            }
        }
        self.world.shell.set_directory(directory);
        if whole.runs_unknown {
            self.judge_data_of(code);
        }
        if whole.is_blind {
            return false;
        }
        outputs.dedup();
        match outputs.as_slice() {
            [only] if !only.contains(UNKNOWN) => self.write(only),
            [only] => {
                let given = format!("{code}\n{}\n{}", self.world.shell.input, self.files_named_in(code).concat());
                let unknown = self.unknown_made_of(&given);
                self.write(&only.replacen(UNKNOWN, &unknown, 1));
            }
            _ => self.write_unknown_of_code(code),
        }
        true
    }

    /// Runs a program once, with this answer to each question.
    fn perl_once(&mut self, program: Program, words: &PerlWords<'_>, answer: bool) -> PerlRun {
        let mut perl = Perl {
            walk: self,
            globals: HashMap::new(),
            subs: HashMap::new(),
            bases: HashMap::new(),
            handles: HashMap::new(),
            opened: Vec::new(),
            scope: Rc::new(Scope::default()),
            package: "main".to_owned(),
            environment: BTreeMap::new(),
            ends: Vec::new(),
            locals: Vec::new(),
            wants: Vec::new(),
            groups: Vec::new(),
            named: BTreeMap::new(),
            patterns: HashMap::new(),
            places: HashMap::new(),
            steps: 0,
            depth: 0,
            answer,
            asked: 0,
            is_blind: false,
            runs_unknown: false,
            scopes: Vec::new(),
            hashes: Vec::new(),
            arrays: Vec::new(),
            scalars: Vec::new(),
            edited: None,
            selected: None,
        };
        perl.scopes.push(Rc::clone(&perl.scope));
        let given = words.arguments.iter().map(Val::text).collect();
        perl.globals.insert("@ARGV".to_owned(), Slot::Array(Rc::new(RefCell::new(given))));
        perl.globals.insert("$/".to_owned(), Slot::Scalar(Rc::new(RefCell::new(Val::text("\n")))));
        if words.ends_lines {
            perl.globals.insert("$\\".to_owned(), Slot::Scalar(Rc::new(RefCell::new(Val::text("\n")))));
        }
        if let Some(data) = &program.data {
            let handle = Handle { lines: lines_of(data), ..Handle::default() };
            perl.handles.insert("DATA".to_owned(), Rc::new(RefCell::new(handle)));
        }
        let result =
            if words.loops { perl.each_line(program, words) } else { perl.body(&program.body, false).map(|_| ()) };
        if !matches!(result, Err(Leaving::Stop)) {
            let _ = perl.finish();
        }
        let run = PerlRun { asked: perl.asked, is_blind: perl.is_blind, runs_unknown: perl.runs_unknown };
        perl.take_apart();
        run
    }
}

impl Perl<'_, '_> {
    /// Empties everything that may hold itself.
    fn take_apart(&mut self) {
        for scope in self.scopes.drain(..) {
            scope.variables.borrow_mut().clear();
        }
        for hash in self.hashes.drain(..) {
            hash.entries.borrow_mut().clear();
        }
        for array in self.arrays.drain(..) {
            array.borrow_mut().clear();
        }
        for scalar in self.scalars.drain(..) {
            scalar.replace(Val::Undefined);
        }
    }

    /// `-n`, `-p`: runs the program for every line of its input.
    fn each_line(&mut self, program: Program, words: &PerlWords<'_>) -> Outcome<()> {
        let is_first = |statement: &Statement| {
            matches!(statement, Statement::Begin(_) | Statement::End(_) | Statement::Use(..) | Statement::Sub(_))
        };
        let (before, body): (Vec<Statement>, Vec<Statement>) = program.body.into_iter().partition(is_first);
        self.body(&before, false)?;
        let files: Vec<String> = self.array_cell("ARGV").take().iter().map(Val::to_text).collect();
        if files.is_empty() {
            let input = self.walk.world.shell.input.to_string();
            return self.lines_of_file(&body, &input, words);
        }
        for file in files.into_iter().take(64) {
            let known = self.walk.known_file(&file).map(|text| text.to_string());
            self.edited = words.edits.then(String::new);
            self.scalar_cell("ARGV").replace(Val::text(&file));
            let text = known.clone().unwrap_or_default();
            let result = self.lines_of_file(&body, &text, words);
            if let Some(edited) = self.edited.take()
                && known.is_some()
            {
                self.walk.write_file(&file, &edited, false);
            }
            result?;
        }
        Ok(())
    }

    fn lines_of_file(&mut self, body: &Vec<Statement>, text: &str, words: &PerlWords<'_>) -> Outcome<()> {
        let lines: Vec<String> = match words.separator {
            // Nothing is known about it.
            _ if text.is_empty() => vec![format!("{UNKNOWN}\n")],
            Some(0) => text.split_inclusive('\0').map(str::to_owned).collect(),
            Some(code) if code > 255 => vec![text.to_owned()],
            Some(code) => match char::from_u32(code) {
                Some(end) => text.split_inclusive(end).map(str::to_owned).collect(),
                None => vec![text.to_owned()],
            },
            None => lines_of(text),
        };
        for (at, line) in lines.into_iter().enumerate().take(MOST_LINES) {
            self.step(1)?;
            let line = if words.ends_lines { line.strip_suffix('\n').unwrap_or(&line).to_owned() } else { line };
            self.set_topic(Val::text(&line));
            self.scalar_cell(".").replace(Val::count(at + 1));
            if words.splits {
                let pattern = words.pattern.as_deref().unwrap_or(" ");
                let fields = self.split(&[ast::Expr::Text(pattern.to_owned())])?;
                self.array_cell("F").replace(fields);
            }
            match self.scoped(false, |perl| perl.body(body, false)) {
                Ok(_) | Err(Leaving::Next(_)) => {}
                Err(Leaving::Last(_)) => break,
                Err(other) => return Err(other),
            }
            if words.prints {
                let mut text = self.topic().to_text();
                text.push_str(if words.ends_lines { "\n" } else { "" });
                self.write_out(&text);
            }
        }
        Ok(())
    }
}
