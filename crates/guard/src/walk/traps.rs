//! Traps: commands that bash runs at the end of the shell, at the end of a function, or when a signal comes.
//!
//! Every action is judged at the end of its shell, because nobody knows which signals come. Those that the script itself brings about
//! run where it does so as well: they may change variables that later commands read.

use crate::marks::is_mark;
use crate::walk::builtins::after_options;
use crate::walk::state::ShellValue;
use crate::walk::{Flow, ScriptWalk};
use bashful_bash::ast::SourceExtent;

/// An action, and when it runs.
#[derive(Debug, Clone)]
pub(crate) struct Trap {
    pub(super) action: String,
    /// Names of signals and of bash's own events, without `SIG`, in capitals.
    pub(super) events: Vec<String>,
    pub(super) extent: SourceExtent,
}

/// Signals by number, as far as scripts send them to themselves.
const NUMBERS: [(&str, &str); 8] = [
    ("0", "EXIT"),
    ("1", "HUP"),
    ("2", "INT"),
    ("3", "QUIT"),
    ("10", "USR1"),
    ("12", "USR2"),
    ("14", "ALRM"),
    ("15", "TERM"),
];

fn event_named(word: &str) -> String {
    let name = word.to_ascii_uppercase();
    let name = name.strip_prefix("SIG").unwrap_or(&name);
    NUMBERS.iter().find(|(number, _)| *number == name).map_or(name, |(_, name)| *name).to_owned()
}

impl ScriptWalk<'_> {
    /// Notes an action. `-` and an empty action take it back.
    pub(super) fn set_trap(&mut self, arguments: &[String]) {
        let [action, events @ ..] = after_options(arguments, "") else { return };
        let events: Vec<String> = events.iter().map(|word| event_named(word)).collect();
        if events.is_empty() {
            return;
        }
        for trap in &mut self.world.shell.traps {
            trap.events.retain(|event| !events.contains(event));
        }
        self.world.shell.traps.retain(|trap| !trap.events.is_empty());
        if action == "-" || action.is_empty() {
            return;
        }
        let is_debug = events.iter().any(|event| event == "DEBUG");
        let extent = self.trail.extent;
        self.world.shell.traps.push(Trap { action: action.clone(), events, extent });
        // It runs before the very next command.
        if is_debug {
            self.run_trap("DEBUG");
        }
    }

    /// Runs the action for an event that the script has brought about.
    pub(super) fn run_trap(&mut self, event: &str) {
        let is_meant = |trap: &&Trap| trap.events.iter().any(|own| own == event);
        let Some(trap) = self.world.shell.traps.iter().find(is_meant).cloned() else { return };
        // An action that brings about its own event would never end.
        let key = format!("trap {event}");
        if self.world.calls.contains(&key) {
            return;
        }
        self.world.calls.push(key);
        self.run_action(&trap);
        self.world.calls.pop();
    }

    /// Runs the action that comes before every command, which finds the command's text in a variable.
    pub(super) fn run_debug_trap(&mut self, command: SourceExtent) {
        if !self.world.shell.traps.iter().any(|trap| trap.events.iter().any(|event| event == "DEBUG")) {
            return;
        }
        if let Some(text) = self.trail.source(command).map(str::to_owned) {
            self.world.shell.set("BASH_COMMAND", ShellValue::Scalar(text), None);
        }
        self.run_trap("DEBUG");
    }

    fn run_action(&mut self, trap: &Trap) -> Flow {
        let extent = std::mem::replace(&mut self.trail.extent, trap.extent);
        let flow = self.run_derived(&trap.action);
        self.trail.extent = extent;
        flow
    }

    /// Runs every action of this shell, at its end.
    pub(super) fn run_traps(&mut self) {
        for trap in std::mem::take(&mut self.world.shell.traps) {
            self.run_action(&trap);
        }
    }

    /// `kill -USR1 $$`: the shell signals itself.
    pub(super) fn signal_itself(&mut self, arguments: &[String]) {
        if self.world.shell.traps.is_empty() {
            return;
        }
        let mut event = "TERM".to_owned();
        let mut is_own = false;
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.strip_prefix('-') {
                Some("s" | "n") => event = words.next().map(|word| event_named(word)).unwrap_or_default(),
                Some("-") | None => is_own |= word.contains(is_mark),
                Some(name) => event = event_named(name.trim_start_matches('s')),
            }
        }
        // `-SIGUSR1` without the `s` of `-sUSR1` is another spelling of the same.
        let event = event.strip_prefix("IG").map_or(event.clone(), str::to_owned);
        if is_own {
            self.run_trap(&event);
        }
    }
}
