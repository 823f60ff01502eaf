//! The state directory, and the check that it can be trusted.
//!
//! The program checks it once. If the check fails, nothing in it is used: commands run without artifacts, jobs,
//! sessions, log and allowances, and one notice says why.

use std::path::{Path, PathBuf};

use bashful_engine::{Distrust, PlanError, RunError, trust_directory};
use thiserror::Error;

/// The directories inside the state directory.
const PARTS: [&str; 10] =
    ["allowed", "artifacts", "installed", "jobs", "jobs/live", "log", "questions", "scratch", "sessions", "snapshots"];

/// The state directory and the result of its check.
#[derive(Debug)]
pub(crate) enum State {
    /// Neither `XDG_STATE_HOME` nor `HOME` is set.
    Nowhere,
    /// Only this user can write there. It may not exist yet.
    Trusted(PathBuf),
    /// The directory is not used, for this reason.
    Distrusted { path: PathBuf, why: Distrust },
}

/// The error of a command that needs the state directory.
#[derive(Debug, Error)]
pub(crate) enum NoPlace {
    #[error("{wanted} need a state directory: set XDG_STATE_HOME or HOME")]
    Unset { wanted: &'static str },
    #[error("{wanted} need a state directory: {why}")]
    Distrusted { wanted: &'static str, why: String },
}

impl State {
    pub(crate) fn at(path: Option<PathBuf>, home: Option<&Path>) -> Self {
        let Some(path) = path else { return Self::Nowhere };
        match trust_directory(&path, home, &PARTS) {
            Ok(()) => Self::Trusted(path),
            Err(why) => Self::Distrusted { path, why },
        }
    }

    /// The directory, if it is trusted.
    pub(crate) fn directory(&self) -> Option<&Path> {
        match self {
            Self::Trusted(path) => Some(path),
            Self::Nowhere | Self::Distrusted { .. } => None,
        }
    }

    /// The directory, trusted or not.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Trusted(path) | Self::Distrusted { path, .. } => Some(path),
            Self::Nowhere => None,
        }
    }

    /// The reason for distrust, and how to mend it.
    pub(crate) fn problem(&self) -> Option<String> {
        match self {
            Self::Nowhere | Self::Trusted(_) => None,
            Self::Distrusted { why, .. } => {
                let why = why.advise("set XDG_STATE_HOME to a directory of your own (with sudo, leave out -E)");
                Some(format!("the state directory is not used: {why}"))
            }
        }
    }

    /// The notice in replies of commands that run without state.
    pub(crate) fn notice(&self) -> Option<String> {
        Some(format!(
            "{}; without it nothing is saved or logged, and jobs, sessions and allowances are off",
            self.problem()?
        ))
    }

    /// The error of a command that needs `wanted`.
    pub(crate) fn no_place(&self, wanted: &'static str) -> NoPlace {
        match self.problem() {
            Some(why) => NoPlace::Distrusted { wanted, why },
            None => NoPlace::Unset { wanted },
        }
    }

    /// Adds the reason to an error that a missing state directory caused.
    pub(crate) fn explain(&self, error: Box<dyn std::error::Error>) -> Box<dyn std::error::Error> {
        let wanted = match error.downcast_ref::<RunError>() {
            Some(RunError::NoJobs) => "jobs",
            Some(RunError::Plan(PlanError::NoSessions)) => "sessions",
            _ => return error,
        };
        if self.problem().is_some() { self.no_place(wanted).into() } else { error }
    }
}
