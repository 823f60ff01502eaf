//! Keepers whose shells were started ahead of time.
//!
//! Waiting shells only save time. Each is used once, and only for a plan whose [`ShellKey`] equals that of the plan it
//! was made for; every other command starts as usual. A script sees the same in both cases. [`needs_fresh_shell`] lists
//! the few things that would show the waiting.

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

/// Variables that change the start of bash, so that it might not wait, or that break the restoring after the wait.
/// `SECONDS` is where bash's clock begins. The last two are functions that an outer bash has exported under the names
/// of builtins.
const START_VARIABLES: [&str; 9] = [
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

/// Words by which a script could notice that its shell had read something before it.
const REVEALING_WORDS: [&[u8]; 3] = [b"PIPESTATUS", b"BASH_ARGC", b"BASH_ARGV"];

/// Script of the trial before any waiting shell is used: a bash that copies its arguments early would not see it.
const TRIAL: &str = r#"printf '%s|' "$0" "$-" "$_" "$#" "${BASH_ENV-unset}" "$BASH_EXECUTION_STRING"; exit 42"#;

/// A keeper with a waiting shell.
#[derive(Debug)]
pub(crate) struct ReadyKeeper {
    pub(crate) link: Connection,
    pub(crate) outputs: Outputs,
    pub(crate) keeper: Keeper,
}

impl ReadyKeeper {
    /// Hands the script to the waiting shell. None if the shell is gone or cannot get it; then none of the script ran.
    pub(crate) async fn begin(mut self, plan: &Plan, reserve: &Arc<Reserve>) -> Option<Attached> {
        if self.link.has_news() {
            // Nothing was asked yet, so the only news can be the end of the keeper.
            return None;
        }
        self.link.send(&[&Order::Begin(local::begin(plan, false))], &[]).await.ok()?;
        let (link, pid) = local::attach(self.link, self.keeper, reserve).await.ok()?;
        Some(Attached { link: Box::new(link), outputs: self.outputs, pid, session: None, client: None })
    }
}

/// Rounds of other tasks before a new keeper is started: more than a reply takes from task to task.
const OTHERS_FIRST: usize = 16;

/// Keepers with waiting shells.
#[derive(Debug)]
pub(crate) struct ReadyKeepers {
    at_most: usize,
    state: Mutex<ReadyState>,
}

#[derive(Debug, Default)]
struct ReadyState {
    /// The oldest is first.
    keepers: Vec<(ShellKey<'static>, ReadyKeeper)>,
    trial: Trial,
    /// Keys of the keepers that are being made.
    being_made: Vec<ShellKey<'static>>,
    /// Key of the last plan.
    last: Option<ShellKey<'static>>,
}

/// Result of the trial with this machine's bash.
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

    /// Returns a keeper that fits this plan.
    pub(crate) fn take(&self, plan: &Plan) -> Option<ReadyKeeper> {
        if self.at_most == 0 || needs_fresh_shell(plan) {
            return None;
        }
        let key = ShellKey::now(plan)?;
        let mut state = self.state();
        let index = state.keepers.iter().position(|(made_for, _)| *made_for == key)?;
        Some(state.keepers.remove(index).1)
    }

    /// Number of keepers that this very plan may use.
    pub(crate) fn ready_for(&self, plan: &Plan) -> usize {
        if needs_fresh_shell(plan) { 0 } else { self.count(plan) }
    }

    /// Number of keepers for plans like this one.
    fn count(&self, plan: &Plan) -> usize {
        let Some(key) = ShellKey::now(plan) else { return 0 };
        self.state().keepers.iter().filter(|(made_for, _)| *made_for == key).count()
    }

    /// Starts more keepers for plans like this one, in the background.
    pub(crate) fn refill(this: &Arc<Self>, starter: &Starter, plan: &Plan, after: After) {
        if this.at_most == 0 || plan.streams.terminal().is_some() || changes_bash_start(plan) {
            return;
        }
        if this.state().trial == Trial::DoesNotWork {
            return;
        }
        let (this, starter, plan) = (Arc::clone(this), starter.clone(), plan.clone());
        tokio::spawn(async move {
            // Starting a process blocks a whole thread for a moment. Tasks that pass on the reply of the command that
            // has just ended come first.
            for _ in 0..OTHERS_FIRST {
                tokio::task::yield_now().await;
            }
            this.fill(&starter, &plan, after).await;
        });
    }

    /// Starts keepers until there are enough for plans like this one.
    async fn fill(&self, starter: &Starter, plan: &Plan, after: After) {
        let Some(key) = ShellKey::now(plan).map(ShellKey::into_owned) else { return };
        let trial = self.state().trial;
        if trial == Trial::NotTried {
            let trial = try_waiting_shell(starter, plan).await;
            tracing::debug!(?trial, "tried a waiting shell");
            self.state().trial = trial;
            if trial != Trial::Works {
                return;
            }
        }
        // A fixed number of rounds: another task may fill up for other plans, and the two would otherwise evict each
        // other's keepers for ever.
        let is_alike = self.state().last.replace(key.clone()).is_some_and(|last| last == key);
        let is_sure = is_alike || after == After::Request;
        let wanted = if is_sure { self.at_most } else { 1 };
        for _ in 0..wanted {
            if !self.claim_slot(&key, wanted) {
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
            // Dropping a keeper closes its connection, and it ends.
            state.keepers.drain(..too_many);
        }
    }

    /// Notes that one more keeper is being made, unless there are enough.
    fn claim_slot(&self, key: &ShellKey<'static>, wanted: usize) -> bool {
        let mut state = self.state();
        let ready = state.keepers.iter().filter(|(made_for, _)| made_for == key).count();
        let being_made = state.being_made.iter().filter(|being_made| *being_made == key).count();
        if ready + being_made >= wanted {
            return false;
        }
        state.being_made.push(key.clone());
        true
    }

    fn state(&self) -> std::sync::MutexGuard<'_, ReadyState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True if a script is too long for a waiting shell, or could notice the waiting.
fn needs_fresh_shell(plan: &Plan) -> bool {
    let script = plan.script.as_bytes();
    script.len() > LONGEST_WAITING
        || plan.streams.terminal().is_some()
        || changes_bash_start(plan)
        || REVEALING_WORDS.iter().any(|word| memchr::memmem::find(script, word).is_some())
}

fn changes_bash_start(plan: &Plan) -> bool {
    START_VARIABLES.iter().any(|name| plan.environment.variables.contains_key(std::ffi::OsStr::new(name)))
}

/// Tries a waiting shell with a script of our own. A failure to start says nothing: the machine may be busy.
async fn try_waiting_shell(starter: &Starter, plan: &Plan) -> Trial {
    let Ok(script) = Script::new(TRIAL) else { return Trial::DoesNotWork };
    // With an empty environment: the variables of the first command say nothing about this machine.
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
