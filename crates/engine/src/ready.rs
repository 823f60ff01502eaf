//! Keepers whose shells have been started ahead of time.
//!
//! An accelerator and nothing else: each is used once, only for a plan whose [`ShellKey`] equals that of the plan it was
//! made for, and whatever does not fit goes the ordinary way. What a script can see is the
//! same both ways; the few things that waiting would show are in [`needs_fresh_shell`].

use std::sync::{Arc, Mutex, PoisonError};

use bashful_keeper::LONGEST_WAITING;
use bashful_keeper::protocol::Order;
use rustix::io::Errno;

use crate::backend::{After, Attached, Outputs};
use crate::connection::Connection;
use crate::environment::Environment;
use crate::keeper_link::Keeper;
use crate::link::Ended;
use crate::local::{self, Starter};
use crate::plan::Plan;
use crate::request::{Script, Streams};
use crate::reserve::Reserve;
use crate::shell_key::ShellKey;

/// Variables that change how bash starts, so that it might not wait where it should, or that putting things back after
/// the waiting would trip over: `SECONDS` is where bash's clock begins, and the last two are functions that an outer bash
/// has exported under the names of builtins.
const CHANGE_THE_START: [&str; 9] = [
    "BASH_ENV",
    "ENV",
    "POSIXLY_CORRECT",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_COMPAT",
    "SECONDS",
    "BASH_FUNC_unset%%",
    "BASH_FUNC_:%%",
];

/// Words by which a script could tell that its shell had read something before it.
const SEE_THE_WAITING: [&[u8]; 3] = [b"PIPESTATUS", b"BASH_ARGC", b"BASH_ARGV"];

/// What is tried once, before any ready keeper is used: a bash that copies its arguments early would not see the script.
const TRIAL: &str = r#"printf '%s|' "$0" "$-" "$_" "$#" "${BASH_ENV-unset}" "$BASH_EXECUTION_STRING"; exit 42"#;

/// A keeper with a waiting shell.
#[derive(Debug)]
pub(crate) struct ReadyKeeper {
    pub(crate) link: Connection,
    pub(crate) outputs: Outputs,
    pub(crate) keeper: Keeper,
}

impl ReadyKeeper {
    /// Tells the shell what to do. None if it is gone or cannot be told: then nothing of the script was done.
    pub(crate) async fn begin(mut self, plan: &Plan, reserve: &Arc<Reserve>) -> Option<Attached> {
        if self.link.has_news() {
            // Nobody has asked anything yet: the only news there can be is that it is over.
            return None;
        }
        self.link.send(&[&Order::Begin(local::begin(plan, false))], &[]).await.ok()?;
        let (link, pid) = local::attach(self.link, self.keeper, reserve).await.ok()?;
        Some(Attached { link: Box::new(link), outputs: self.outputs, pid, session: None })
    }
}

/// How many rounds of other tasks come before a new keeper is started: more than a reply takes from task to task.
const OTHERS_FIRST: usize = 16;

/// Those that are ready.
#[derive(Debug)]
pub(crate) struct ReadyKeepers {
    at_most: usize,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The oldest first.
    keepers: Vec<(ShellKey<'static>, ReadyKeeper)>,
    trial: Trial,
    /// What those are for that are being made.
    being_made: Vec<ShellKey<'static>>,
    /// The kind of plan that the last ones were made for.
    last: Option<ShellKey<'static>>,
}

/// Whether this machine's bash can be made to wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Trial {
    #[default]
    NotTried,
    Works,
    DoesNotWork,
}

impl ReadyKeepers {
    pub(crate) fn new(at_most: usize) -> Self {
        Self { at_most, state: Mutex::default() }
    }

    /// One that fits this plan, if there is one.
    pub(crate) fn take(&self, plan: &Plan) -> Option<ReadyKeeper> {
        if self.at_most == 0 || needs_fresh_shell(plan) {
            return None;
        }
        let key = ShellKey::now(plan)?;
        let mut state = self.state();
        let index = state.keepers.iter().position(|(made_for, _)| *made_for == key)?;
        Some(state.keepers.remove(index).1)
    }

    /// How many are ready that this very plan may take.
    pub(crate) fn ready_for(&self, plan: &Plan) -> usize {
        if needs_fresh_shell(plan) { 0 } else { self.count(plan) }
    }

    /// How many are ready for plans like this one.
    fn count(&self, plan: &Plan) -> usize {
        let Some(key) = ShellKey::now(plan) else { return 0 };
        self.state().keepers.iter().filter(|(made_for, _)| *made_for == key).count()
    }

    /// Makes more for plans like this one, in the background.
    pub(crate) fn refill(this: &Arc<Self>, starter: &Starter, plan: &Plan, after: After) {
        if this.at_most == 0 || plan.streams.terminal().is_some() || changes_the_start(plan) {
            return;
        }
        if this.state().trial == Trial::DoesNotWork {
            return;
        }
        let (this, starter, plan) = (Arc::clone(this), starter.clone(), plan.clone());
        tokio::spawn(async move {
            // Starting a process holds up a whole thread for a moment. Those who pass on the reply to the command that has just
            // ended come first.
            for _ in 0..OTHERS_FIRST {
                tokio::task::yield_now().await;
            }
            this.fill(&starter, &plan, after).await;
        });
    }

    /// Makes as many as there should be for plans like this one.
    async fn fill(&self, starter: &Starter, plan: &Plan, after: After) {
        let Some(key) = ShellKey::now(plan).map(ShellKey::into_owned) else { return };
        let trial = self.state().trial;
        if trial == Trial::NotTried {
            let trial = try_one(starter, plan).await;
            tracing::debug!(?trial, "tried a waiting shell");
            self.state().trial = trial;
            if trial != Trial::Works {
                return;
            }
        }
        // Not until there are enough: somebody else may be filling up for other plans, and the two would take turns in
        // pushing each other's keepers out for ever.
        let is_alike = self.state().last.replace(key.clone()).is_some_and(|last| last == key);
        let is_sure = is_alike || after == After::Request;
        let wanted = if is_sure { self.at_most } else { 1 };
        for _ in 0..wanted {
            if !self.begin_one(&key, wanted) {
                return;
            }
            let made = starter.start_ahead(plan, is_sure).await;
            let mut state = self.state();
            if let Some(index) = state.being_made.iter().position(|being_made| *being_made == key) {
                state.being_made.remove(index);
            }
            let Ok(keeper) = made else { return };
            state.keepers.push((key.clone(), keeper));
            let too_many = state.keepers.len().saturating_sub(self.at_most);
            // Dropping one closes its link, and it ends.
            state.keepers.drain(..too_many);
        }
    }

    /// Notes that one more is being made, unless those that are there and those that others make are enough.
    fn begin_one(&self, key: &ShellKey<'static>, wanted: usize) -> bool {
        let mut state = self.state();
        let ready = state.keepers.iter().filter(|(made_for, _)| made_for == key).count();
        let being_made = state.being_made.iter().filter(|being_made| *being_made == key).count();
        if ready + being_made >= wanted {
            return false;
        }
        state.being_made.push(key.clone());
        true
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a script is too long to be handed over, or could tell that its shell had been waiting.
fn needs_fresh_shell(plan: &Plan) -> bool {
    let script = plan.script.as_bytes();
    script.len() > LONGEST_WAITING
        || plan.streams.terminal().is_some()
        || changes_the_start(plan)
        || SEE_THE_WAITING.iter().any(|word| memchr::memmem::find(script, word).is_some())
}

fn changes_the_start(plan: &Plan) -> bool {
    CHANGE_THE_START.iter().any(|name| plan.environment.variables.contains_key(std::ffi::OsStr::new(name)))
}

/// Tries a waiting shell with a script of our own. If it cannot even be started, that says nothing: the machine may be busy.
async fn try_one(starter: &Starter, plan: &Plan) -> Trial {
    let Ok(script) = Script::new(TRIAL) else { return Trial::DoesNotWork };
    // In an environment of our own: what the first command happens to have in its own says nothing about this machine.
    let plan = plan.clone();
    let plan = Plan { script, environment: Environment::default(), streams: Streams::Combined, snapshot: None, ..plan };
    let Ok(ready) = starter.start_ahead(&plan, true).await else { return Trial::NotTried };
    let Some(attached) = ready.begin(&plan, &starter.reserve).await else { return Trial::DoesNotWork };
    let Attached { mut link, outputs: Outputs::Combined(output), .. } = attached else { return Trial::DoesNotWork };
    let ended = link.ended().await;
    let mut said = [0; 4096];
    let count = loop {
        match rustix::io::read(&output, &mut said) {
            Err(Errno::INTR) => {}
            other => break other.unwrap_or(0),
        }
    };
    let expected = format!("bash|hBc|bash|0|unset|{TRIAL}|");
    let right_end = matches!(
        ended,
        Some(Ended { end: bashful_keeper::End::Own(bashful_keeper::Exit::Code(42)), left, .. }) if left.is_empty()
    );
    if right_end && said[..count] == *expected.as_bytes() { Trial::Works } else { Trial::DoesNotWork }
}
