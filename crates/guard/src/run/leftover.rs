//! Functions and aliases that a script leaves behind in a shell that outlives it.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::marks::{UNKNOWN, readable};
use crate::run::Run;
use crate::state::State;
use crate::syntax::ast::{Command, Extent};

/// How many arguments a definition is called with. Nothing is known about them.
const ARGUMENTS: usize = 4;

/// How many times the walk calls functions that the calls before have defined.
const MOST_ROUNDS: usize = 3;

impl Run<'_> {
    /// Calls every function and alias that the shell did not have `before`, each with unknown arguments.
    ///
    /// Running out of steps in here is silent: the script itself has been followed to its end.
    pub(super) fn call_new_definitions(&mut self, before: &State) {
        if self.over.is_some() {
            return;
        }
        self.state.expand_aliases = true;
        let mut called = BTreeSet::new();
        for _ in 0..MOST_ROUNDS {
            let mut fresh = self.new_functions(before);
            fresh.retain(|name| called.insert(name.clone()));
            for name in fresh {
                self.line = self.line.saturating_add(1);
                self.extent = Extent::default();
                let arguments = std::iter::repeat_n(UNKNOWN.to_string(), ARGUMENTS);
                self.call(std::iter::once(name).chain(arguments).collect());
            }
        }
        for (name, text) in self.new_aliases(before) {
            self.extent = Extent::default();
            self.unwrapped.push(readable(&format!("alias {name}='{text}'")));
            let arguments = format!(" '{UNKNOWN}'").repeat(ARGUMENTS);
            self.run_alias(&name, &format!("{text}{arguments}"));
            self.unwrapped.pop();
        }
        self.over = None;
    }

    /// The names of new functions, in the order of the script.
    fn new_functions(&self, before: &State) -> Vec<String> {
        let is_new =
            |name: &str, body: &Rc<Command>| !before.functions.get(name).is_some_and(|known| Rc::ptr_eq(known, body));
        let functions = self.state.functions.iter().filter(|(name, body)| is_new(name, body));
        let mut places: Vec<(usize, &String)> = functions.map(|(name, body)| (body.start(), name)).collect();
        places.sort_unstable();
        places.into_iter().map(|(_, name)| name.clone()).collect()
    }

    /// The names and texts of new aliases, by name.
    fn new_aliases(&self, before: &State) -> Vec<(String, String)> {
        let aliases = self.state.aliases.iter().filter(|(name, alias)| before.aliases.get(*name) != Some(*alias));
        let mut texts: Vec<_> = aliases.map(|(name, (text, _))| (name.clone(), text.clone())).collect();
        texts.sort_unstable();
        texts
    }
}
