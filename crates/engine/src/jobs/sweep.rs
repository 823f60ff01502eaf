//! Sweeps the store of jobs: removes those that are too old or too many.
//!
//! A sweep reads every record, so it does not run for every job. The file of the id counter says when one is due.

use std::fs;
use std::time::SystemTime;

use super::{JobRecord, JobStore, ListJobsError};
use crate::id_counter::numbers_in;

/// A sweep is due when the number of new jobs exceeds this part of the records that are kept.
const SPARE_PART: usize = 16;

impl JobStore {
    /// Removes jobs that are too old or too many, and returns their ids. Live jobs stay; jobs that cannot be removed
    /// are skipped.
    pub fn sweep(&self) -> Result<Vec<u64>, ListJobsError> {
        self.numbers.begin_sweep(0);
        let ids = self.ids_and_marks()?;
        let highest = ids.last().copied().unwrap_or_default();
        let mut jobs = Vec::new();
        for id in ids {
            match self.read(id) {
                Some(job) => jobs.push(job),
                // Half a record of a program that was killed, or of a full disk, but not one created since.
                None if !self.lives(id) && self.read(id).is_none() && self.path(id).is_dir() => drop(self.remove(id)),
                None => {}
            }
        }
        // A program that has just started a job may still read it, and holds its lock. Records of a newer version are
        // left to that version, because nobody else knows their age.
        jobs.retain(|job| !job.is_live() && !self.lives(job.id) && !job.is_newer());
        // Newest first.
        jobs.sort_by_key(|job| std::cmp::Reverse(job.id));
        let now = SystemTime::now();
        let is_too_much = |(index, job): &(usize, &JobRecord)| {
            // A job from the future, after the clock was set back, counts as new.
            let age = now.duration_since(job.ended.unwrap_or(job.began)).unwrap_or_default();
            *index >= self.limits.kept || age > self.limits.age
        };
        let doomed: Vec<u64> = jobs.iter().enumerate().filter(is_too_much).map(|(_, job)| job.id).collect();
        // The oldest first, so that the callback gets them in the order in which they ended.
        let removed = doomed.into_iter().rev().filter(|id| self.remove(*id).is_ok()).collect();
        self.remove_debris();
        self.numbers.end_sweep(0, 0, highest);
        Ok(removed)
    }

    /// True if jobs may be too old or too many. The cost does not depend on their number.
    pub(crate) fn is_sweep_due(&self) -> bool {
        self.numbers.is_sweep_due((self.limits.kept / SPARE_PART) as u64, self.limits.age)
    }

    pub(crate) fn sweep_if_due(&self) -> Result<(), ListJobsError> {
        if self.is_sweep_due() {
            self.sweep()?;
        }
        Ok(())
    }

    /// Removes drafts, half-removed directories and marks that killed programs left.
    fn remove_debris(&self) {
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
