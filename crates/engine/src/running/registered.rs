//! A running command in the registry, for `bashful ps`.

use std::sync::Arc;
use std::time::SystemTime;

use bashful_sys::boot_time;

use super::Run;
use crate::redact::Redactor;
use crate::registry::{NewEntry, OutputSoFar};

impl Run {
    /// Registers the command, or updates its entry. If that fails, other programs do not see the command.
    pub(super) fn update_registry(&mut self) {
        self.alarms.registry = None;
        let redactor = Redactor::new(Arc::clone(&self.mask));
        let live = self.newest();
        let newest = String::from_utf8_lossy(&live.newest);
        let last_line = newest.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let output = OutputSoFar { bytes: live.bytes, lines: live.lines, last_line: redactor.redact(last_line) };
        if let Some(registration) = &mut self.registration {
            let _ = registration.update(&output);
            return;
        }
        let Some(registry) = &self.options.registry else { return };
        let plan = self.checked.plan();
        let entry = NewEntry {
            pid: self.pid,
            script: redactor.redact(String::from_utf8_lossy(plan.given_script().as_bytes())),
            directory: redactor.redact(plan.directory.to_string_lossy()),
            session: self.session.as_ref().map(|session| redactor.redact(session.name.as_str())),
            began: SystemTime::now() - boot_time().saturating_sub(self.began),
            lifetime: plan.lifetime.0,
        };
        match registry.register(entry, &output) {
            Ok(registration) => self.registration = Some(registration),
            Err(error) => tracing::debug!(%error, "the command is not in the registry"),
        }
    }
}
