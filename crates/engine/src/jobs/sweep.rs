//! Removing jobs that are too old or too many.
//!
//! A sweep reads every record, so it is not done for every job: the counter's file says when one is due.

use std::fs;
use std::time::SystemTime;

use super::{JobRecord, JobStore, ListJobsError};
use crate::id_counter::numbers_in;

/// A sweep is due when more jobs have come since the last one than this part of those that are kept.
const SPARE_PART: usize = 16;

impl JobStore {
    /// Removes what is too old and too much. What still runs stays, and what cannot be removed is passed over.
    pub fn sweep(&self) -> Result<Vec<u64>, ListJobsError> {
        self.numbers.begin_sweep(0);
        let ids = self.ids_and_marks()?;
        let highest = ids.last().copied().unwrap_or_default();
        let mut jobs = Vec::new();
        for id in ids {
            match self.look(id) {
                Some(job) => jobs.push(job),
                // Half a record of somebody who was killed, or of a disk that was full; not one that was made since.
                None if !self.lives(id) && self.look(id).is_none() && self.path(id).is_dir() => drop(self.remove(id)),
                None => {}
            }
        }
        // Who has just started one that is over already still wants to look at it, and holds its lock.
        // A record of a newer version is for that version to sweep: nobody else knows what it holds, or how old it is.
        jobs.retain(|job| !job.is_live() && !self.lives(job.id) && !job.is_newer());
        // Newest first.
        jobs.sort_by_key(|job| std::cmp::Reverse(job.id));
        let now = SystemTime::now();
        let goes = |(index, job): &(usize, &JobRecord)| {
            // A job from the future, after the clock was set back, is young.
            let age = now.duration_since(job.ended.unwrap_or(job.began)).unwrap_or_default();
            *index >= self.limits.kept || age > self.limits.age
        };
        let doomed: Vec<u64> = jobs.iter().enumerate().filter(goes).map(|(_, job)| job.id).collect();
        // The oldest first: whoever is told of them hears it in the order in which they came.
        let removed = doomed.into_iter().rev().filter(|id| self.remove(*id).is_ok()).collect();
        self.remove_remains();
        self.numbers.end_sweep(0, 0, highest);
        Ok(removed)
    }

    /// True if jobs may be too old or too many. Costs the same however many there are.
    pub(crate) fn is_sweep_due(&self) -> bool {
        self.numbers.is_sweep_due((self.limits.kept / SPARE_PART) as u64, self.limits.age)
    }

    /// Sweeps if that is due.
    pub(crate) fn sweep_if_due(&self) -> Result<(), ListJobsError> {
        if self.is_sweep_due() {
            self.sweep()?;
        }
        Ok(())
    }

    /// Removes what is left of removals and beginnings in which somebody was killed.
    fn remove_remains(&self) {
        let Some(_lock) = self.numbers.lock_if_there() else { return };
        for entry in fs::read_dir(self.directory()).into_iter().flatten().flatten() {
            let name = entry.file_name();
            if name.to_str().is_some_and(|name| name.starts_with(".gone-") || name.starts_with(".new-")) {
                let _ = fs::remove_dir_all(entry.path());
            }
        }
        for id in numbers_in(&self.live()).unwrap_or_default() {
            if !self.path(id).exists() && !self.lives(id) {
                let _ = fs::remove_file(self.mark(id));
            }
        }
    }
}
