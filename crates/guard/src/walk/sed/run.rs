//! Runs a script of `sed` over lines.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::choose::{Choice, RangeState};
use super::parse::{SedCommand, SedScript, Sought, Verb};
use super::{SedMode, is_vague};
use crate::marks::UNKNOWN;
use crate::walk::expression::Expression;
use crate::walk::filters::options::{Exact, Inexact};
use crate::walk::{LONGEST_TEXT, ScriptWalk};

/// The most commands that one call runs. A script that loops for longer leaves its output unknown.
const MOST_STEPS: usize = 1 << 15;

/// The way on after a command.
enum Next {
    Command(usize),
    /// The cycle ends, with its output.
    EndCycle,
    /// The cycle ends without output.
    Dropped,
    /// The cycle begins again with the text that is left.
    Again,
    Quit,
}

pub(super) struct SedRun<'s> {
    script: &'s SedScript,
    mode: SedMode,
    pub(super) out: String,
    /// The line that was printed last has no end, and gets one if more follows.
    pub(super) lacks_end: bool,
    /// The files that are read, each with the number of its first line.
    pub(super) names: Vec<(usize, String)>,
    /// No more input is read.
    pub(super) is_over: bool,
    pub(super) ranges: Vec<RangeState>,
    pub(super) space: Space,
    hold: Space,
    last: Option<Rc<Expression>>,
    /// Text that follows at the end of the cycle.
    appended: Vec<String>,
    files: BTreeMap<String, String>,
    /// A substitution has changed something since the last branch.
    pub(super) is_changed: bool,
    pub(super) counter: LineCounter,
    steps: usize,
}

/// The pattern space or the hold space.
pub(super) struct Space {
    pub(super) text: String,
    /// The line has an end. Only the last one of a file may have none.
    has_end: bool,
}

impl Default for Space {
    fn default() -> Self {
        Self { text: String::new(), has_end: true }
    }
}

/// The number of the line that was read last.
#[derive(Default)]
pub(super) struct LineCounter {
    pub(super) line: usize,
    /// One of the lines stands for an unknown number of lines.
    pub(super) is_uncounted: bool,
}

/// The lines that are still to be read.
pub(super) struct Lines<'t> {
    pub(super) rest: &'t str,
    end: char,
}

impl Lines<'_> {
    fn next(&mut self) -> Option<(String, bool)> {
        if self.rest.is_empty() {
            return None;
        }
        let (line, rest, has_end) = match self.rest.split_once(self.end) {
            Some((line, rest)) => (line, rest, true),
            None => (self.rest, "", false),
        };
        let line = line.to_owned();
        self.rest = rest;
        Some((line, has_end))
    }
}

impl<'s> SedRun<'s> {
    pub(super) fn new(script: &'s SedScript, mode: SedMode) -> Self {
        let state = |command: &SedCommand| if command.is_open { RangeState::Open } else { RangeState::Closed };
        let mut files = BTreeMap::new();
        for command in &script.commands {
            let path = match &command.verb {
                Verb::Write(path, _) => Some(path),
                Verb::Substitute(substitution) => substitution.file.as_ref(),
                _ => None,
            };
            files.extend(path.map(|path| (path.clone(), String::new())));
        }
        Self {
            script,
            mode,
            out: String::new(),
            lacks_end: false,
            names: Vec::new(),
            is_over: false,
            ranges: script.commands.iter().map(state).collect(),
            space: Space::default(),
            hold: Space::default(),
            last: None,
            appended: Vec::new(),
            files,
            is_changed: false,
            counter: LineCounter::default(),
            steps: 0,
        }
    }

    /// Writes the files, and gives the output.
    pub(super) fn finish(self, walk: &mut ScriptWalk<'_>) -> String {
        for (path, text) in self.files.iter().filter(|(path, _)| !path.starts_with("/dev/std")) {
            walk.write_file(path, text, false);
        }
        self.out
    }

    /// Runs the script over the lines of a text.
    pub(super) fn lines(&mut self, walk: &mut ScriptWalk<'_>, text: &str) -> Exact<()> {
        let mut lines = Lines { rest: text, end: self.mode.end };
        self.counter = LineCounter::default();
        let mut keeps_space = false;
        while !self.is_over {
            if !keeps_space && !self.read(&mut lines) {
                break;
            }
            let next = self.cycle(walk, &mut lines)?;
            if !self.mode.quiet && !matches!(next, Next::Dropped | Next::Again) {
                let space = self.space.text.clone();
                self.print(&space);
            }
            for text in std::mem::take(&mut self.appended) {
                self.push_raw(&text);
            }
            keeps_space = matches!(next, Next::Again);
            if self.out.len() > LONGEST_TEXT {
                return Err(Inexact::Unknown);
            }
        }
        Ok(())
    }

    fn read(&mut self, lines: &mut Lines<'_>) -> bool {
        let Some((line, has_end)) = lines.next() else { return false };
        self.counter.is_uncounted |= is_vague(&line);
        self.space.text = line;
        self.space.has_end = has_end;
        self.is_changed = false;
        self.counter.line += 1;
        true
    }

    /// Adds text as it is, behind a line end that may be missing.
    fn push_raw(&mut self, text: &str) {
        if std::mem::take(&mut self.lacks_end) {
            self.out.push(self.mode.end);
        }
        self.out.push_str(text);
    }

    /// Prints a line, which has an end if the line of the input has one.
    pub(super) fn print(&mut self, text: &str) {
        self.push_raw(text);
        if self.space.has_end {
            self.out.push(self.mode.end);
        }
        self.lacks_end = !self.space.has_end;
    }

    fn cycle(&mut self, walk: &mut ScriptWalk<'_>, lines: &mut Lines<'_>) -> Exact<Next> {
        let script = self.script;
        let mut at = 0;
        while let Some(command) = script.commands.get(at) {
            self.steps += 1;
            walk.work(usize::from(self.steps.is_multiple_of(8)))?;
            if self.steps > MOST_STEPS || self.space.text.len() > LONGEST_TEXT {
                return Err(Inexact::Unknown);
            }
            let choice = self.choice(walk, command, at, lines)?;
            let next = match (choice, &command.verb) {
                (Choice::No, Verb::Block(end)) => Next::Command(*end),
                (Choice::No, _) => Next::Command(at + 1),
                // A listing is not dropped because a line of it may be.
                (Choice::Perhaps, Verb::Simple('d' | 'D' | 'q' | 'Q' | 'z') | Verb::Text('c', _)) => {
                    Next::Command(at + 1)
                }
                _ => self.run(walk, command, at, lines)?,
            };
            match next {
                Next::Command(place) => at = place,
                other => return Ok(other),
            }
        }
        Ok(Next::EndCycle)
    }

    /// The expression of a command.
    pub(super) fn expression(&mut self, sought: &Sought) -> Exact<Rc<Expression>> {
        if let Sought::Own(expression) = sought {
            self.last = Some(Rc::clone(expression));
        }
        self.last.clone().ok_or(Inexact::Unknown)
    }

    fn run(
        &mut self,
        walk: &mut ScriptWalk<'_>,
        command: &SedCommand,
        at: usize,
        lines: &mut Lines<'_>,
    ) -> Exact<Next> {
        match &command.verb {
            Verb::Block(_) | Verb::Nothing => {}
            Verb::Simple(letter) => return self.simple(*letter, at, lines),
            Verb::Substitute(substitution) => self.substitute(walk, substitution)?,
            Verb::Translate(pairs) => {
                walk.work(self.space.text.len() / 32)?;
                let changed = |letter: char| pairs.get(&letter).copied().unwrap_or(letter);
                self.space.text = self.space.text.chars().map(changed).collect();
            }
            Verb::Text('a', text) => self.appended.push(text.clone()),
            Verb::Text('i', text) => self.push_raw(text),
            Verb::Text(_, text) => {
                let is_open = matches!(self.ranges.get(at), Some(RangeState::Open | RangeState::Until(_)));
                if command.is_negated || command.second.is_none() || !is_open {
                    self.push_raw(text);
                }
                return Ok(Next::Dropped);
            }
            Verb::Branch(kind, place) => {
                let goes = match kind {
                    't' => std::mem::take(&mut self.is_changed),
                    'T' => !std::mem::take(&mut self.is_changed),
                    _ => true,
                };
                if goes {
                    return Ok(Next::Command(*place));
                }
            }
            Verb::Read(path) => {
                let text = walk.read_file(path);
                self.appended.push(text.to_string());
            }
            Verb::Write(path, is_first) => {
                let space = self.space.text.clone();
                let text = if *is_first { space.split('\n').next().unwrap_or("") } else { &space };
                self.write(path, text);
            }
            Verb::Execute(Some(script)) => {
                let printed = walk.capturing(|walk| walk.script_in_code(script, None));
                self.push_raw(&printed);
            }
            Verb::Execute(None) => self.execute(walk),
        }
        Ok(Next::Command(at + 1))
    }

    fn simple(&mut self, letter: char, at: usize, lines: &mut Lines<'_>) -> Exact<Next> {
        match letter {
            'd' => return Ok(Next::Dropped),
            'D' => match self.space.text.split_once(self.mode.end) {
                Some((_, rest)) => {
                    self.space.text = rest.to_owned();
                    return Ok(Next::Again);
                }
                None => return Ok(Next::Dropped),
            },
            'p' => {
                let space = self.space.text.clone();
                self.print(&space);
            }
            'P' => {
                let space = self.space.text.clone();
                if let Some((line, _)) = space.split_once(self.mode.end) {
                    self.push_raw(line);
                    self.out.push(self.mode.end);
                } else {
                    self.print(&space);
                }
            }
            'n' | 'N' => return Ok(self.next_line(letter, at, lines)),
            'g' => copy(&self.hold, &mut self.space),
            'G' => append(&self.hold, &mut self.space, self.mode.end),
            'h' => copy(&self.space, &mut self.hold),
            'H' => append(&self.space, &mut self.hold, self.mode.end),
            'x' => std::mem::swap(&mut self.space, &mut self.hold),
            'z' => self.space.text.clear(),
            '=' => {
                let line = if self.counter.is_uncounted { UNKNOWN.to_string() } else { self.counter.line.to_string() };
                self.push_raw(&format!("{line}\n"));
            }
            'F' => {
                let name = self.names.iter().rev().find(|(first, _)| *first <= self.counter.line);
                let name = name.map_or("-", |(_, name)| name).to_owned();
                self.push_raw(&format!("{name}\n"));
            }
            'q' => {
                self.is_over = true;
                return Ok(Next::Quit);
            }
            'Q' => {
                self.is_over = true;
                return Ok(Next::Dropped);
            }
            _ => return Err(Inexact::Unknown),
        }
        Ok(Next::Command(at + 1))
    }

    /// `n` and `N`: the next line takes the place of this one, or follows it. Without one, the script ends.
    fn next_line(&mut self, letter: char, at: usize, lines: &mut Lines<'_>) -> Next {
        if lines.rest.is_empty() {
            self.is_over = true;
            return Next::Quit;
        }
        if letter == 'n' && !self.mode.quiet {
            let space = self.space.text.clone();
            self.print(&space);
        }
        self.push_appended();
        let mut before = std::mem::take(&mut self.space.text);
        self.read(lines);
        if letter == 'N' {
            before.push(self.mode.end);
            before.push_str(&self.space.text);
            self.space.text = before;
        }
        Next::Command(at + 1)
    }

    fn push_appended(&mut self) {
        for text in std::mem::take(&mut self.appended) {
            self.push_raw(&text);
        }
    }

    pub(super) fn write(&mut self, path: &str, text: &str) {
        if matches!(path, "/dev/stdout" | "/dev/stderr") {
            if path == "/dev/stdout" {
                self.print(text);
            }
            return;
        }
        let file = self.files.entry(path.to_owned()).or_default();
        file.push_str(text);
        file.push(self.mode.end);
    }

    /// The pattern space runs as a command, and its output takes its place.
    pub(super) fn execute(&mut self, walk: &mut ScriptWalk<'_>) {
        let script = self.space.text.clone();
        let mut printed = walk.capturing(|walk| walk.script_in_code(&script, None));
        if printed.ends_with(self.mode.end) {
            printed.pop();
        }
        self.space.text = printed;
    }
}

fn copy(from: &Space, to: &mut Space) {
    to.text.clone_from(&from.text);
    to.has_end = from.has_end;
}

fn append(from: &Space, to: &mut Space, end: char) {
    to.text.push(end);
    to.text.push_str(&from.text);
    to.has_end = from.has_end;
}
