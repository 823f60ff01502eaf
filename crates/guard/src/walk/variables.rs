//! Variables: reading and assigning them, and following a command through every value that one may have.

use std::rc::Rc;

use crate::marks::{UNKNOWN, is_mark};
use crate::walk::state::{ShellState, ShellValue};
use crate::walk::{Flow, LONGEST_TEXT, ScriptWalk};

/// A doubtful variable, and which of its values the current command sees.
#[derive(Debug)]
struct Choice {
    name: String,
    picked: usize,
    of: usize,
}

/// The doubtful variables that the current command has read, each with one of its values.
#[derive(Debug, Default)]
pub(super) struct VariableChoices {
    /// None outside of a command that is followed once for every combination.
    picks: Option<Vec<Choice>>,
    /// The choices of the commands around the current one, for as long as its function or script runs.
    pinned: Vec<(String, usize)>,
    /// The depth of the command that the picks belong to.
    depth: usize,
    /// The calls that the command has made with other choices.
    calls: Vec<CallKey>,
    /// The present choices make no difference to the command.
    is_repeated: bool,
    /// The branches that the command has picked outputs of so far.
    branches: usize,
}

/// Everything of a call that choices can change: its words, its input, and the files that get its output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CallKey {
    pub(super) words: Vec<String>,
    pub(super) input: Option<Rc<str>>,
    pub(super) files: Vec<(String, bool)>,
}

impl VariableChoices {
    /// Picks one of `count` values of a variable for this round, counted from zero.
    fn pick(&mut self, name: &str, count: usize) -> usize {
        if let Some((_, picked)) = self.pinned.iter().rev().find(|(pinned, _)| pinned == name) {
            return *picked;
        }
        let Some(picks) = &mut self.picks else { return 0 };
        if let Some(choice) = picks.iter().find(|choice| choice.name == name) {
            return choice.picked;
        }
        picks.push(Choice { name: name.to_owned(), picked: 0, of: count });
        0
    }

    /// Picks the branch, of `count`, whose output the current command reads in this round. None outside of a command that is
    /// followed once for every combination.
    ///
    /// A branch has no name. It goes by its number among the branches of the command, which is the same in every round up to
    /// the branch that differs.
    fn pick_branch(&mut self, count: usize) -> Option<usize> {
        self.picks.as_ref()?;
        let name = format!("#{}.{}", self.depth, self.branches);
        self.branches += 1;
        Some(self.pick(&name, count))
    }

    /// Moves on to the next combination, as one counts up a number; false after the last one.
    fn advance(&mut self) -> bool {
        let Some(picks) = &mut self.picks else { return false };
        while let Some(last) = picks.last_mut() {
            last.picked += 1;
            if last.picked < last.of {
                return true;
            }
            picks.pop();
        }
        false
    }
}

impl ScriptWalk<'_> {
    /// The value of a variable, whichever of its values is being looked at.
    pub(crate) fn value(&mut self, name: &str) -> Option<ShellValue> {
        let mut name = name;
        let mut variable = self.world.shell.variable(name)?;
        // A name that refers to itself goes nowhere.
        for _ in 0..4 {
            match &variable.refers_to {
                Some(other) => {
                    name = other;
                    match self.world.shell.variable(name) {
                        Some(other) => variable = other,
                        None => return ShellState::inherited(name).map(ShellValue::Scalar),
                    }
                }
                None => break,
            }
        }
        if let Some(origin) = &variable.origin {
            self.trail.note_origin(origin);
        }
        if variable.others.is_empty() {
            return Some(variable.value.clone());
        }
        self.world.certainty.note_doubtful();
        let picked = self.choices.pick(name, variable.others.len() + 1);
        let value = picked.checked_sub(1).and_then(|other| variable.others.get(other)).unwrap_or(&variable.value);
        Some(value.clone())
    }

    /// Gives a variable a value.
    pub(crate) fn assign(&mut self, name: &str, value: ShellValue, origin: Option<Rc<str>>) {
        if self.world.shell.is_shared() {
            self.budget.spend(self.world.shell.size() / 16);
        }
        let work = match &value {
            ShellValue::Scalar(text) => text.len() / 512,
            ShellValue::Array(items) => items.len() / 4,
            ShellValue::Table(items) => items.len() / 4,
            ShellValue::Unset => 0,
        };
        self.budget.spend(work);
        // bash expands this prompt before every command that it traces.
        if name == "PS4"
            && let ShellValue::Scalar(prompt) = &value
        {
            self.run_hidden(prompt);
        }
        // bash gives these another value with every look.
        if matches!(name, "RANDOM" | "SRANDOM" | "SECONDS" | "LINENO" | "BASHPID" | "_" | "BASH_COMMAND") {
            self.world.certainty.lose();
        }
        // A name that is not known may be any.
        if name.contains(is_mark) {
            self.world.shell.outside.alter();
        }
        let target = self.world.shell.variable(name).and_then(|variable| variable.refers_to.clone());
        let name = target.as_deref().unwrap_or(name);
        let mut value = value;
        if let Some(variable) = self.world.shell.variable(name) {
            if variable.is_readonly {
                return;
            }
            if variable.is_integer
                && let ShellValue::Scalar(text) = &value
            {
                let number = self.number(text);
                value = ShellValue::Scalar(number.map_or_else(|| UNKNOWN.to_string(), |number| number.to_string()));
            }
        }
        let value = match value {
            ShellValue::Scalar(text) if text.len() > LONGEST_TEXT => ShellValue::Scalar(UNKNOWN.to_string()),
            // Nothing known twice is nothing known.
            ShellValue::Scalar(text) if !text.is_empty() && text.chars().all(|letter| letter == UNKNOWN) => {
                ShellValue::Scalar(UNKNOWN.to_string())
            }
            other => other,
        };
        self.world.shell.set(name, value, origin);
        if self.world.shell.exports_all {
            self.world.shell.variable_mut(name).exported = true;
        }
    }

    /// Runs a command once for every combination of the doubtful variables that it reads, and joins the resulting states.
    pub(super) fn run_with_choices(&mut self, command: &mut dyn FnMut(&mut Self) -> Flow) -> Flow {
        if self.world.shell.doubtful == 0 {
            return command(self);
        }
        self.run_with_branches(command)
    }

    /// Keeps the output of one of the branches that have run since `start`, each of which has written up to an end in `ends`.
    ///
    /// Inside of a substitution, the command around it is followed once for every branch. Elsewhere the output is that of all
    /// branches, one behind the other.
    pub(super) fn keep_one_output(&mut self, start: usize, ends: &[usize]) {
        let starts = std::iter::once(start).chain(ends.iter().copied());
        let outputs: Vec<std::ops::Range<usize>> =
            starts.zip(ends).map(|(start, end)| start..*end).filter(|output| !output.is_empty()).collect();
        if self.world.nested == 0 || outputs.len() < 2 {
            return;
        }
        if let Some(kept) = self.choices.pick_branch(outputs.len()).and_then(|picked| outputs.get(picked)) {
            let text = self.world.out.get(kept.clone()).unwrap_or("").to_owned();
            self.world.out.truncate(start);
            self.world.out.push_str(&text);
        }
    }

    /// True if the current command is followed with a substitution that has printed nothing.
    pub(crate) fn picks_nothing(&mut self) -> bool {
        self.choices.pick_branch(2) == Some(1)
    }

    /// Runs a command as [`Self::run_with_choices`] does, also if no variable is doubtful: a substitution in it may have several
    /// outputs.
    pub(super) fn run_with_branches(&mut self, command: &mut dyn FnMut(&mut Self) -> Flow) -> Flow {
        if self.choices.picks.is_some() {
            return command(self);
        }
        let before = self.world.shell.clone();
        let written = self.world.out.len();
        self.choices.picks = Some(Vec::new());
        self.choices.depth = self.budget.depth();
        let calls_before = std::mem::take(&mut self.choices.calls);
        let branches_before = std::mem::take(&mut self.choices.branches);
        let mut flow = command(self);
        let mut joined: Option<ShellState> = None;
        let mut rounds = 1;
        for _ in 1..self.budget.detail().choices {
            if self.budget.is_exhausted() || !self.choices.advance() {
                break;
            }
            let after = std::mem::replace(&mut self.world.shell, before.clone());
            // One of the outputs is enough: they differ in doubtful values alone.
            let first = self.world.out.split_off(written.min(self.world.out.len()));
            rounds += 1;
            self.choices.is_repeated = false;
            self.choices.branches = 0;
            let flow_now = command(self);
            if self.world.out.len() == written {
                self.world.out.push_str(&first);
            }
            if std::mem::take(&mut self.choices.is_repeated) {
                self.world.shell = after;
                continue;
            }
            flow = flow_now;
            joined = Some(match joined {
                Some(joined) => joined.join(&after),
                None => after,
            });
        }
        // Other values may go other ways.
        if rounds > 1 || self.choices.advance() {
            flow = flow.or_others();
            self.world.certainty.status = None;
        }
        self.choices.picks = None;
        self.choices.calls = calls_before;
        self.choices.branches = branches_before;
        if let Some(joined) = joined {
            self.world.shell = joined.join(&self.world.shell);
        }
        flow
    }

    /// Makes the call of a command, unless the command has made the same call with other choices.
    ///
    /// The commands that the call runs have choices of their own. Those of this command stay as they are meanwhile, so that
    /// the number of ways through a script adds up and does not multiply.
    pub(super) fn call_with_choices(&mut self, key: Option<CallKey>, words: Vec<String>) -> Flow {
        if self.choices.depth != self.budget.depth() {
            return self.call(words);
        }
        let Some(picks) = self.choices.picks.take() else { return self.call(words) };
        if key.as_ref().is_some_and(|key| self.choices.calls.contains(key)) {
            self.choices.picks = Some(picks);
            self.choices.is_repeated = true;
            return Flow::Next;
        }
        self.choices.calls.extend(key);
        let pinned = self.choices.pinned.len();
        self.choices.pinned.extend(picks.iter().map(|choice| (choice.name.clone(), choice.picked)));
        let calls = std::mem::take(&mut self.choices.calls);
        let depth = self.choices.depth;
        let flow = self.call(words);
        self.choices.depth = depth;
        self.choices.calls = calls;
        self.choices.pinned.truncate(pinned);
        self.choices.picks = Some(picks);
        flow
    }
}
