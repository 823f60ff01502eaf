//! Gives out ids once, in order, to any number of programs that share a directory.
//!
//! The counter's file is the lock of the directory. It holds a [`Ledger`]: the next id, and two figures that say if a
//! sweep is due. So giving out an id costs the same in a full directory as in an empty one.
//!
//! The file has no version, because bashful 0.1 treats every other text than its own as garbled, and would give out ids
//! a second time. A newer version adds a third line, `version N`; its first line is the next id in every version. This
//! version then continues in that line, and leaves everything else as it is.
//!
//! Invariant: the directory is scanned for the next id only if the ledger is missing, garbled, or contradicted by an
//! existing entry of that id.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant, SystemTime};

use bashful_sys::plain;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// Name of the counter's file.
pub(crate) const COUNTER: &str = "next";

/// Largest id. Longer numbers are not ours, and a garbled counter cannot use up all ids.
const LARGEST: u64 = 999_999_999_999;

/// Time to wait for the lock. A program holds it for milliseconds, or for as long as it is suspended, and a command
/// must not wait for that.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// A sweep for age is due after this part of the age, ...
const AGE_STEPS: u32 = 16;

/// ... and at least this often.
const SWEEP_PERIOD: Duration = Duration::from_hours(1);

/// Contents of the counter's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Ledger {
    /// Next id to give out.
    next: u64,
    /// Growth since the last sweep, in the owner's measure: bytes for artifacts, records for jobs.
    used: u64,
    /// Unix time, in seconds, at which the last sweep began; 0 if there was none.
    swept: u64,
    /// True if a newer version wrote the file. Then only the next id is known.
    is_newer: bool,
}

impl Ledger {
    /// Always of the same length and written at once, so that not even a crash leaves half a number.
    fn to_text(self) -> String {
        let first = format!("{:>15}\n", self.next);
        if self.is_newer { first } else { format!("{first}{:>20} {:>20}\n", self.used, self.swept) }
    }

    /// None for every text that [`to_text`](Self::to_text) does not make.
    fn parse(text: &[u8]) -> Option<Self> {
        let text = str::from_utf8(text).ok()?;
        if let Some(newer) = Self::parse_newer(text) {
            return Some(newer);
        }
        let mut words = text.split_ascii_whitespace().map(|word| word.parse().ok());
        let mut word = || words.next().flatten();
        let ledger = Self { next: word()?, used: word()?, swept: word()?, is_newer: false };
        // A counter near its end was not counted up to there.
        let is_sensible = (1..LARGEST / 2).contains(&ledger.next);
        (is_sensible && ledger.to_text() == text).then_some(ledger)
    }

    /// None for a text without the version of a newer program.
    fn parse_newer(text: &str) -> Option<Self> {
        let version: u64 = text.lines().nth(2)?.strip_prefix("version ")?.parse().ok()?;
        let next = text.lines().next()?.trim().parse().ok().filter(|next| (1..LARGEST / 2).contains(next))?;
        let ledger = Self { next, used: 0, swept: 0, is_newer: true };
        (version > 0 && text.starts_with(&ledger.to_text())).then_some(ledger)
    }
}

/// A directory whose entries are named by ids.
#[derive(Debug, Clone)]
pub(crate) struct IdCounter {
    directory: PathBuf,
}

/// Lock on the directory, until it is dropped.
pub(crate) struct DirectoryLock {
    counter: File,
}

impl IdCounter {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Creates the directory, if it is missing.
    pub(crate) fn make(&self) -> io::Result<()> {
        crate::make_directory(&self.directory)
    }

    pub(crate) fn lock(&self) -> io::Result<DirectoryLock> {
        if longest_file() < 4096 {
            // Not even the counter could be written: `ulimit -f 0` would kill this process for trying.
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let path = self.directory.join(COUNTER);
        let counter = plain::open_with(File::options().read(true).write(true).create(true).truncate(false), &path)?;
        lock_soon(&counter)?;
        Ok(DirectoryLock { counter })
    }

    /// Locks without creating anything. A directory that cannot be locked can still be read.
    pub(crate) fn lock_if_there(&self) -> Option<DirectoryLock> {
        let counter = plain::open(&self.directory.join(COUNTER)).ok()?;
        lock_soon(&counter).ok()?;
        Some(DirectoryLock { counter })
    }

    /// Gives out the next id, and adds to the growth. The id is recorded before it is used: a lost one does no harm.
    pub(crate) fn give_out(&self, lock: &DirectoryLock, adds: u64) -> io::Result<u64> {
        let ledger = self.ledger()?;
        if ledger.next > LARGEST {
            return Err(io::Error::other("there are no numbers left"));
        }
        lock.write(Ledger { next: ledger.next + 1, used: ledger.used.saturating_add(adds), ..ledger })?;
        Ok(ledger.next)
    }

    /// True if this id has been given out before.
    pub(crate) fn was_given_out(&self, id: u64) -> io::Result<bool> {
        Ok(id < self.ledger()?.next)
    }

    /// Adds to the growth since the last sweep.
    pub(crate) fn add_used(&self, adds: u64) -> io::Result<()> {
        let lock = self.lock()?;
        let ledger = self.ledger()?;
        lock.write(Ledger { used: ledger.used.saturating_add(adds), ..ledger })
    }

    /// True if the growth exceeds `most`, or entries may have reached their `age` since the last sweep. Costs one read
    /// of a small file.
    pub(crate) fn is_sweep_due(&self, most: u64, age: Duration) -> bool {
        // Without a counter, nothing was ever created here.
        let Ok(text) = plain::read(&self.directory.join(COUNTER)) else { return false };
        let Some(ledger) = Ledger::parse(&text) else { return true };
        if ledger.is_newer {
            // The newer version sweeps.
            return false;
        }
        let period = SWEEP_PERIOD.min(age / AGE_STEPS).as_secs();
        // A sweep in the future, after the clock was set back, says nothing.
        ledger.used > most || unix_seconds().checked_sub(ledger.swept).is_none_or(|since| since >= period)
    }

    /// Notes that a sweep begins. No other begins before `used` has grown past the limit again, so a killed sweeper
    /// delays the next sweep by no more than that.
    pub(crate) fn begin_sweep(&self, used: u64) {
        self.update_ledger(|ledger| Ledger { used, swept: unix_seconds(), ..ledger });
    }

    /// Notes the end of a sweep that began with `used` and found this much in use. Entries that came meanwhile count
    /// too. A counter behind `highest`, the highest id that the sweep has seen, is corrected.
    pub(crate) fn end_sweep(&self, used: u64, found: u64, highest: u64) {
        self.update_ledger(|ledger| Ledger {
            used: ledger.used.saturating_sub(used).saturating_add(found),
            next: ledger.next.max(highest + 1),
            ..ledger
        });
    }

    /// Changes the ledger of a directory that has one. If that fails, the next sweep comes sooner.
    fn update_ledger(&self, change: impl FnOnce(Ledger) -> Ledger) {
        if !self.directory.join(COUNTER).exists() {
            return;
        }
        let changed = self.lock().and_then(|lock| lock.write(change(self.ledger()?)));
        if let Err(error) = changed {
            tracing::debug!(%error, "cannot note a sweep");
        }
    }

    /// Reads the ledger, or reconstructs it from the directory if it cannot be trusted.
    fn ledger(&self) -> io::Result<Ledger> {
        let text = match plain::read(&self.directory.join(COUNTER)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            text => text?,
        };
        let ledger = Ledger::parse(&text).unwrap_or(Ledger { next: 0, used: 0, swept: 0, is_newer: false });
        let is_free = || self.directory.join(ledger.next.to_string()).symlink_metadata().is_err();
        if ledger.next > 0 && is_free() {
            return Ok(ledger);
        }
        let behind_all = self.taken()?.last().map_or(1, |id| id + 1);
        // A number in another format may still say how far the counter was.
        let counted = str::from_utf8(&text).ok().and_then(|text| number(text.trim()));
        let counted = counted.filter(|counted| *counted < LARGEST / 2).unwrap_or(1);
        Ok(Ledger { next: ledger.next.max(counted).max(behind_all), ..ledger })
    }

    /// Ids of the existing entries, in order.
    pub(crate) fn taken(&self) -> io::Result<Vec<u64>> {
        numbers_in(&self.directory)
    }
}

impl DirectoryLock {
    fn write(&self, ledger: Ledger) -> io::Result<()> {
        self.counter.write_all_at(ledger.to_text().as_bytes(), 0)
    }
}

/// Ids among the names in a directory, in order. A missing directory has none.
pub(crate) fn numbers_in(directory: &Path) -> io::Result<Vec<u64>> {
    let files = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files?,
    };
    let mut numbers: Vec<u64> = files.filter_map(|file| number(file.ok()?.file_name().to_str()?)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Takes a lock that nobody holds for long. Many may want it: as long as the file changes, others get on, and the wait goes on.
pub(crate) fn lock_soon(file: &File) -> io::Result<()> {
    let changed = || file.metadata().and_then(|facts| facts.modified()).ok();
    let (mut give_up, mut seen) = (Instant::now() + LOCK_PATIENCE, changed());
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if Instant::now() < give_up => sleep(Duration::from_millis(1)),
            Err(Errno::WOULDBLOCK) if changed() != seen => {
                (give_up, seen) = (Instant::now() + LOCK_PATIENCE, changed());
            }
            Err(Errno::WOULDBLOCK) => return Err(io::Error::new(io::ErrorKind::TimedOut, "somebody keeps it locked")),
            Err(Errno::INTR) => {}
            locked => return Ok(locked?),
        }
    }
}

/// Parses an id; none for names that the counter never gives.
pub(crate) fn number(name: &str) -> Option<u64> {
    let id = name.parse().ok().filter(|id| (1..=LARGEST).contains(id))?;
    // `07` and `+7` are numbers too, but not ids.
    (name == id.to_string()).then_some(id)
}

fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Longest file that this process may write, in bytes.
pub(crate) fn longest_file() -> u64 {
    getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(text: &str) -> (tempfile::TempDir, IdCounter) {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join(COUNTER), text).expect("it is written");
        let numbers = IdCounter::new(directory.path().to_path_buf());
        (directory, numbers)
    }

    #[track_caller]
    fn check(before: &str, number: u64, after: &str) {
        let (directory, numbers) = numbers(before);
        let lock = numbers.lock().expect("it is free");
        assert_eq!(numbers.give_out(&lock, 5).expect("a number"), number);
        assert_eq!(fs::read_to_string(directory.path().join(COUNTER)).expect("it is there"), after);
    }

    #[test]
    fn a_counter_of_bashful_0_1_is_counted_on_in_its_own_form() {
        let text = |next: &str, used: &str| format!("{next:>15}\n{used:>20} {:>20}\n", "1763370000");
        check(&text("7", "3"), 7, &text("8", "8"));
    }

    #[test]
    fn a_counter_of_a_newer_version_is_counted_on_and_otherwise_left_alone() {
        let text = |next: u64| format!("{next:>15}\nnobody knows what this means\nversion 1\nnor this\n");
        check(&text(7), 7, &text(8));
        let (_directory, numbers) = numbers(&text(7));
        assert!(!numbers.is_sweep_due(0, Duration::ZERO), "that version sweeps");
    }
}
