//! `awk`: a program is read as a whole and run over input that is known in part.
//!
//! A program that cannot be read, or is not followed to its end, is looked through for calls instead; see [`scan`].

mod arguments;
mod ast;
mod ere;
mod evaluate;
mod expressions;
mod format;
mod functions;
mod input;
mod lexer;
mod machine;
mod narrow;
mod number;
mod output;
mod parser;
mod scan;
mod state;
mod substitute;
#[cfg(test)]
mod tests;
mod value;

use crate::marks::is_mark;
use crate::walk::{LONGEST_TEXT, ScriptWalk};

use arguments::AwkArguments;
use ast::{ARGC, ARGV, CONVFMT, FNR, FS, NR, OFMT, OFS, ORS, RS, SUBSEP, Slot};
use machine::AwkRun;
use value::Value;

pub(in crate::walk) use ere::Ere;

/// The most work of all programs of a script; see [`AwkRun::work`]. Later ones are only looked through.
pub(in crate::walk) const MOST_WORK: usize = 200_000;

impl ScriptWalk<'_> {
    pub(super) fn run_awk(&mut self, arguments: &[String]) {
        let awk = self.awk_arguments(arguments);
        let Some(code) = awk.program.as_deref() else {
            let given = self.text_given_to(arguments);
            let unknown = self.unknown_made_of(&given);
            return self.write(&unknown);
        };
        // A program that the shell has put there as a whole is not known at all.
        let is_unknown = !code.is_empty() && code.chars().all(is_mark);
        self.budget.spend(1 + code.len() / 32);
        let program = if is_unknown { None } else { parser::parsed(code) };
        let Some(program) = program else { return self.scan_awk(&awk, code) };
        if !self.budget.enter() {
            return;
        }
        let before = std::mem::take(&mut self.world.out);
        let mut run = AwkRun::new(self, &program);
        prepare(&mut run, &awk);
        run.run();
        let is_blind = run.is_blind;
        if is_blind {
            self.scan_awk(&awk, code);
        }
        let written = std::mem::replace(&mut self.world.out, before);
        if !written.is_empty() {
            // The output of no program but a few is certain enough to leave out commands.
            self.world.certainty.lose();
        }
        match awk.changed_file() {
            Some(file) if self.known_file(file).is_some() => self.write_file(file, &written, false),
            Some(_) => {}
            None => self.write(&written),
        }
        self.budget.leave();
    }
}

/// Sets the variables that a program begins with.
fn prepare(run: &mut AwkRun<'_, '_, '_>, awk: &AwkArguments<'_>) {
    let texts = [(FS, " "), (OFS, " "), (ORS, "\n"), (RS, "\n"), (SUBSEP, "\u{1c}"), (CONVFMT, "%.6g"), (OFMT, "%.6g")];
    for (at, text) in texts {
        run.state.set(Slot::Global(at), Value::text(text));
    }
    for at in [NR, FNR] {
        run.state.set(Slot::Global(at), Value::Number(0.0));
    }
    let words = std::iter::once("awk").chain(awk.rest.iter().map(String::as_str));
    run.state.set(Slot::Global(ARGC), Value::count(awk.rest.len() + 1));
    if let Some(array) = run.state.array_mut(Slot::Global(ARGV)) {
        for (at, word) in words.enumerate() {
            array.set(&at.to_string(), Value::input(word));
        }
    }
    if let Some(separator) = &awk.separator {
        let separator = if separator == "t" { "\t".to_owned() } else { lexer::unescaped(separator) };
        run.state.set(Slot::Global(FS), Value::text(separator));
    }
    for (name, value) in &awk.assigned {
        if let Some(at) = run.program.globals.iter().position(|global| global == name) {
            run.state.set(Slot::Global(at), Value::input(lexer::unescaped(value)));
        }
    }
}
