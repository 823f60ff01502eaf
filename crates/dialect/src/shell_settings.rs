//! Shell settings and the working directory, which a host can change while it runs.
//!
//! The host reports changed settings before each command, and the toolbox then uses an engine with them. Settings of the guard,
//! of withheld variables and of approval are not among them: a command could change them for the next one.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use bashful_engine::{Engine, ShellOptions};

/// The host's settings for the shell. The toolbox polls them before every command, so polling must be quick.
pub trait ShellSettings: fmt::Debug + Send + Sync {
    /// The settings, if they changed since the last poll. The error is a notice for the reply: the new settings cannot be used,
    /// and the old ones stay in force.
    fn poll(&self) -> Option<Result<ShellOptions, String>>;

    /// The directory of the client, if the client has moved since the toolbox was made.
    fn moved_to(&self) -> Option<PathBuf> {
        None
    }
}

/// The engine with the newest shell settings, in the client's directory.
#[derive(Debug, Clone)]
pub(crate) struct LatestEngine {
    first: Engine,
    latest: Arc<Mutex<Latest>>,
}

#[derive(Debug)]
struct Latest {
    /// With the newest settings, in the first directory.
    at_home: Engine,
    engine: Engine,
    moved_to: Option<PathBuf>,
}

impl LatestEngine {
    pub(crate) fn new(engine: Engine) -> Self {
        let latest = Latest { at_home: engine.clone(), engine: engine.clone(), moved_to: None };
        Self { latest: Arc::new(Mutex::new(latest)), first: engine }
    }

    /// The engine for the next command, and notices: the newest settings cannot be used, or the directory is another one. `home`
    /// is the first directory.
    pub(crate) fn next(&self, settings: Option<&dyn ShellSettings>, home: &Path) -> (Engine, Vec<String>) {
        // Single assignments replace the engines, so a panic leaves usable ones.
        let mut latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        let mut notices = Vec::new();
        let changed = settings.and_then(ShellSettings::poll);
        let is_changed = matches!(changed, Some(Ok(_)));
        match changed {
            Some(Ok(changed)) => latest.at_home = self.first.with_shell(changed),
            Some(Err(why)) => notices.push(why),
            None => {}
        }
        let moved_to = settings.and_then(ShellSettings::moved_to);
        let has_moved = moved_to != latest.moved_to;
        if has_moved {
            let place = moved_to.as_deref().unwrap_or(home).display();
            notices.push(format!(
                "the client is in {place} now, so commands that name no directory run there; sessions stay where they are"
            ));
        }
        if is_changed || has_moved {
            let at_home = &latest.at_home;
            latest.engine = moved_to.as_deref().map_or_else(|| at_home.clone(), |place| at_home.in_directory(place));
            latest.moved_to = moved_to;
        }
        (latest.engine.clone(), notices)
    }
}
