//! Shell settings that a host can change while it runs.
//!
//! The host reports changed settings before each command, and the toolbox then uses an engine with them. Settings of the guard,
//! of withheld variables and of approval are not among them: a command could change them for the next one.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bashful_engine::{Engine, ShellOptions};

/// The host's settings for the shell. The toolbox polls them before every command, so polling must be quick.
pub trait ShellSettings: fmt::Debug + Send + Sync {
    /// The settings, if they changed since the last poll. The error is a notice for the reply: the new settings cannot be used,
    /// and the old ones stay in force.
    fn poll(&self) -> Option<Result<ShellOptions, String>>;
}

/// The engine with the newest shell settings.
#[derive(Debug, Clone)]
pub(crate) struct LatestEngine {
    first: Engine,
    latest: Arc<Mutex<Engine>>,
}

impl LatestEngine {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { latest: Arc::new(Mutex::new(engine.clone())), first: engine }
    }

    /// The engine for the next command, and a notice if the newest settings cannot be used.
    pub(crate) fn next(&self, settings: Option<&dyn ShellSettings>) -> (Engine, Option<String>) {
        // One assignment replaces the engine, so a panic leaves a usable one.
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let mut notice = None;
        match settings.and_then(ShellSettings::poll) {
            Some(Ok(changed)) => *latest = self.first.with_shell(changed),
            Some(Err(why)) => notice = Some(why),
            None => {}
        }
        (latest.clone(), notice)
    }
}
