//! Functions and aliases that a script leaves behind in a shell that outlives it.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::marks::{UNKNOWN, readable};
use crate::walk::ScriptWalk;
use crate::walk::state::ShellState;
use bashful_bash::ast::{ShellCommand, SourceExtent};

/// The number of arguments that a definition is called with. All of them are unknown.
const ARGUMENTS: usize = 4;

/// The number of rounds in which functions are called that the round before has defined.
const MOST_ROUNDS: usize = 3;

impl ScriptWalk<'_> {
    /// Calls every function and alias that the shell did not have `before`, each with unknown arguments.
    ///
    /// Running out of steps in here is silent: the script itself has been followed to its end.
    pub(super) fn call_new_definitions(&mut self, before: &ShellState) {
        if self.budget.is_exhausted() {
            return;
        }
        self.world.shell.expand_aliases = true;
        let mut called = BTreeSet::new();
        for _ in 0..MOST_ROUNDS {
            let mut fresh = self.new_functions(before);
            fresh.retain(|name| called.insert(name.clone()));
            for name in fresh {
                self.world.line = self.world.line.saturating_add(1);
                self.trail.extent = SourceExtent::default();
                let arguments = std::iter::repeat_n(UNKNOWN.to_string(), ARGUMENTS);
                self.call(std::iter::once(name).chain(arguments).collect());
            }
        }
        for (name, text) in self.new_aliases(before) {
            self.trail.extent = SourceExtent::default();
            self.trail.unwrapped.push(readable(&format!("alias {name}='{text}'")));
            let arguments = format!(" '{UNKNOWN}'").repeat(ARGUMENTS);
            self.run_alias(&name, &format!("{text}{arguments}"));
            self.trail.unwrapped.pop();
        }
        self.budget.forgive();
    }

    /// The names of new functions, in the order of the script.
    fn new_functions(&self, before: &ShellState) -> Vec<String> {
        let is_new = |name: &str, body: &Rc<ShellCommand>| {
            !before.functions.get(name).is_some_and(|known| Rc::ptr_eq(known, body))
        };
        let functions = self.world.shell.functions.iter().filter(|(name, body)| is_new(name, body));
        let mut places: Vec<(usize, &String)> = functions.map(|(name, body)| (body.start(), name)).collect();
        places.sort_unstable();
        places.into_iter().map(|(_, name)| name.clone()).collect()
    }

    /// The names and texts of new aliases, by name.
    fn new_aliases(&self, before: &ShellState) -> Vec<(String, String)> {
        let aliases = self.world.shell.aliases.iter().filter(|(name, alias)| before.aliases.get(*name) != Some(*alias));
        let mut texts: Vec<_> = aliases.map(|(name, (text, _))| (name.clone(), text.clone())).collect();
        texts.sort_unstable();
        texts
    }
}
