//! Settings of the host that hold for the next command already.
//!
//! The host says how they are now; the toolbox calls an engine that works by them. Nothing that judges, withholds or approves
//! is among them.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use bashful_engine::{Engine, ShellOptions};

/// The host's settings for the shell, looked at before every command. A look must not take long.
pub trait ShellSettings: fmt::Debug + Send + Sync {
    /// The settings, if they have changed since the last look. The error is a sentence for the reply: they have changed and
    /// cannot be used, so those from before hold.
    fn look(&self) -> Option<Result<ShellOptions, String>>;
}

/// An engine, and the same engine as the settings want it now.
#[derive(Debug, Clone)]
pub(crate) struct LatestEngine {
    first: Engine,
    latest: Arc<Mutex<Engine>>,
}

impl LatestEngine {
    pub(crate) fn new(engine: Engine) -> Self {
        Self { latest: Arc::new(Mutex::new(engine.clone())), first: engine }
    }

    /// The engine for the next command, and what has to be said about its settings.
    pub(crate) fn next(&self, settings: Option<&dyn ShellSettings>) -> (Engine, Option<String>) {
        // The engine is replaced as a whole, so a panic has left a usable one.
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let mut notice = None;
        match settings.and_then(ShellSettings::look) {
            Some(Ok(changed)) => *latest = self.first.with_shell(changed),
            Some(Err(why)) => notice = Some(why),
            None => {}
        }
        (latest.clone(), notice)
    }
}
