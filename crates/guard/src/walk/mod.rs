//! Walks through a script as bash would, without doing anything.
//!
//! Every command that would run is resolved to the words it would be given; the rules look at those. Branches are all
//! taken and joined afterwards, loops over known lists are run through, unknown conditions count as true and as false.
//! The output of a command is known for the few commands that scripts use to put text together.
//!
//! A walk has three parts. The [`WalkBudget`] decides when to give up. The [`World`] holds the state of bash at this point. The
//! [`Trail`] holds the findings and the way to the current command.
//!
//! Invariant: the budget bounds steps and depth, and [`LONGEST_TEXT`] bounds each text. Running out of either is never
//! silent.

mod awk;
mod budget;
mod builtins;
mod call;
mod certain;
mod compound;
mod declare;
mod decode;
mod describe;
mod fault;
mod fd;
pub(crate) mod files;
mod find;
mod foreign;
mod git;
mod interest;
mod leftover;
mod lexer;
mod loops;
mod make;
mod narrow;
mod outputs;
mod parallel;
mod print;
mod reading;
mod redirect;
mod runners;
mod sed;
mod shells;
pub(crate) mod state;
pub(crate) mod trail;
mod traps;
mod unread;
mod variables;
pub(crate) mod world;
mod wrapper_table;
mod wrappers;
mod xargs;

use std::rc::Rc;

use crate::guard::{Guard, Prelude};
use crate::marks::UNKNOWN;
use bashful_bash::Parser;
use bashful_bash::ast::List;

use budget::WalkBudget;
use trail::Trail;
use variables::VariableChoices;
use world::World;

/// The longest text that a command's output or a variable is followed through, in bytes.
const LONGEST_TEXT: usize = 64 << 10;

/// The deepest recursion of one function. Deeper calls see nothing that the first ones do not.
const MOST_RECURSION: usize = 3;

/// The effect of a command on the commands after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Flow {
    /// The next one follows.
    Next,
    /// Control goes elsewhere, as far as the walk can tell: `exit`, `return`, `break`.
    Leaves,
    /// The function ends here, for certain.
    Returns,
    /// So many loops end here.
    Breaks(u8),
    /// The next round of the loop at this level begins.
    Continues(u8),
}

impl Flow {
    /// True if nothing behind the command runs, for certain.
    fn is_end(self) -> bool {
        !matches!(self, Self::Next | Self::Leaves)
    }

    /// The flow if it is one of several, of which not all are known.
    fn or_others(self) -> Self {
        if self == Self::Returns { Self::Leaves } else { self }
    }
}

/// A walk through one script.
pub(crate) struct ScriptWalk<'g> {
    pub(crate) guard: &'g Guard,
    /// The steps, depth and text that are left.
    pub(crate) budget: WalkBudget,
    /// The state that bash would have.
    pub(crate) world: World<'g>,
    /// The findings, and the way to the current command.
    pub(crate) trail: Trail<'g>,
    choices: VariableChoices,
}

impl<'g> ScriptWalk<'g> {
    /// A walk that has not begun. The script begins at `script_start` of `text`, behind definitions that are run first.
    pub(crate) fn new(guard: &'g Guard, (text, script_start): (&'g str, usize), prelude: &'g Prelude) -> Self {
        Self {
            guard,
            budget: WalkBudget::for_text(text.len()),
            world: World::new(prelude),
            trail: Trail::new(text, script_start),
            choices: VariableChoices::default(),
        }
    }

    /// Walks through the definitions and the whole script.
    pub(crate) fn walk_script(&mut self) {
        let (text, [definitions, script]) = self.trail.parts();
        self.walk_lines(Parser::within(text, definitions), false);
        let before = self.world.shell.clone();
        self.walk_lines(Parser::within(text, script), true);
        self.run_traps();
        if self.world.prelude.persistent {
            self.call_new_definitions(&before);
        }
    }

    /// Walks through text that the script has put together, in the shell that is running.
    pub(crate) fn run_derived(&mut self, text: &str) -> Flow {
        if !self.budget.spend_derived(text.len()) {
            return Flow::Next;
        }
        if text.contains(UNKNOWN) {
            self.world.shell.outside.alter();
        }
        let extent = self.trail.extent;
        let flow = self.walk_lines(Parser::derived(text, extent), false);
        self.trail.extent = extent;
        flow
    }

    /// bash runs each line before it reads the next, so the commands before a fault count. The commands behind it count as well,
    /// because the fault may be the parser's own.
    fn walk_lines(&mut self, mut parser: Parser<'_>, is_script: bool) -> Flow {
        let mut flow = Flow::Next;
        if !self.budget.enter() {
            return flow;
        }
        loop {
            match parser.line_or_fault() {
                Ok(Some((list, fault))) => {
                    self.world.line = self.world.line.saturating_add(1);
                    flow = self.run_list(&list);
                    if flow.is_end() {
                        break;
                    }
                    if let Some(fault) = fault {
                        self.note_fault(&parser, &fault, is_script);
                    }
                }
                Ok(None) => break,
                Err(_) => {
                    self.budget.give_up("it is nested too deeply, or has too many words");
                    break;
                }
            }
            if self.budget.is_exhausted() {
                break;
            }
        }
        self.budget.leave();
        flow
    }

    /// Runs `inner` in a copy of the shell, which is gone afterwards.
    pub(crate) fn subshell<T>(&mut self, inner: impl FnOnce(&mut Self) -> T) -> T {
        let mut copy = self.world.shell.clone();
        copy.traps.clear();
        let before = std::mem::replace(&mut self.world.shell, copy);
        let result = inner(self);
        self.run_traps();
        self.world.shell = before;
        result
    }

    /// Runs `inner` in a new shell with these arguments, which is gone afterwards.
    pub(crate) fn new_shell(&mut self, zero: String, arguments: Vec<String>, inner: impl FnOnce(&mut Self)) {
        self.budget.spend(1 + self.world.shell.size() / 16);
        let mut child = self.world.shell.child();
        child.zero = zero;
        child.arguments = Rc::new(arguments);
        let before = std::mem::replace(&mut self.world.shell, child);
        inner(self);
        self.run_traps();
        self.world.shell = before;
    }

    /// Runs `inner` and returns its output.
    pub(crate) fn capturing(&mut self, inner: impl FnOnce(&mut Self)) -> String {
        let before = std::mem::take(&mut self.world.out);
        inner(self);
        std::mem::replace(&mut self.world.out, before)
    }

    /// The output of a substitution.
    pub(crate) fn capture(&mut self, list: &Rc<List>) -> String {
        if !self.budget.enter() {
            return UNKNOWN.to_string();
        }
        self.world.nested += 1;
        let extent = self.trail.extent;
        let trail = std::mem::take(&mut self.trail.assignments);
        let text = self.capturing(|walk| {
            walk.subshell(|walk| walk.run_list(list));
        });
        self.trail.assignments = trail;
        self.trail.extent = extent;
        self.world.nested -= 1;
        self.budget.leave();
        text
    }

    /// `<(…)`: a path from which the output of the commands can be read.
    pub(crate) fn process_file(&mut self, list: &Rc<List>) -> String {
        let text = self.capture(list);
        let path = self.world.files.new_process_path();
        self.world.files.texts.insert(path.clone(), text);
        path
    }

    /// `>(…)`: a path that the commands read from.
    pub(crate) fn process_reader(&mut self, list: &Rc<List>) -> String {
        self.read_by(list, UNKNOWN.to_string());
        let path = self.world.files.new_process_path();
        self.world.files.readers.insert(path.clone(), Rc::clone(list));
        path
    }

    /// Lets the commands read this text.
    pub(super) fn read_by(&mut self, list: &Rc<List>, text: String) {
        let written = self.capturing(|walk| {
            if walk.budget.enter() {
                walk.world.nested += 1;
                walk.subshell(|walk| {
                    walk.world.shell.input = text.into();
                    walk.world.shell.has_own_input = false;
                    walk.run_list(list)
                });
                walk.world.nested -= 1;
                walk.budget.leave();
            }
        });
        self.write(&written);
    }

    /// Adds to the output of the commands.
    pub(crate) fn write(&mut self, text: &str) {
        // Long texts that go round and round are work, too.
        self.budget.spend(text.len() / 512);
        if self.world.out.len() + text.len() > LONGEST_TEXT {
            if !self.world.out.ends_with(UNKNOWN) {
                self.world.out.push(UNKNOWN);
            }
        } else {
            self.world.out.push_str(text);
        }
    }
}
