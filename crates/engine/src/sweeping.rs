//! Sweeps artifacts and jobs when that is due, but not while a caller waits for a reply.

use std::sync::Arc;

use crate::engine::{Engine, Options};

impl Engine {
    /// Sweeps artifacts and jobs if that is due: an hour after the last sweep, when the artifacts have reached their
    /// limit, or when the new jobs exceed a sixteenth of those that are kept. Otherwise it costs two reads of small
    /// files.
    ///
    /// An engine that runs several commands does this by itself, in the background. A program that runs one command
    /// calls it at its end, because nobody else may. Blocks.
    pub fn sweep_if_due(&self) {
        sweep_if_due(self.options());
    }
}

/// Sweeps in the background if that is due.
pub(crate) fn sweep_aside_if_due(options: &Arc<Options>) {
    let artifacts = options.artifacts.as_ref().is_some_and(|store| store.is_sweep_due());
    if artifacts || options.jobs.as_ref().is_some_and(|store| store.is_sweep_due()) {
        let options = Arc::clone(options);
        bashful_sys::threads::run_aside("bashful-sweep", move || sweep_if_due(&options));
    }
}

fn sweep_if_due(options: &Options) {
    if let Some(Err(error)) = options.artifacts.as_ref().map(|store| store.sweep_if_due()) {
        tracing::warn!(%error, "cannot sweep the artifacts");
    }
    if let Some(Err(error)) = options.jobs.as_ref().map(|store| store.sweep_if_due()) {
        tracing::warn!(%error, "cannot sweep the jobs");
    }
}
