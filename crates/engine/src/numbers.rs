//! Numbers that are given out once, in order, to any number of programs that share a directory.
//!
//! The counter's file holds the number to come, and is the lock of the directory.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use bashful_sys::plain;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

/// The file that holds the number to come.
pub(crate) const COUNTER: &str = "next";

/// The largest number: longer ones are not ours, and a garbled counter cannot use up all there are.
const LARGEST: u64 = 999_999_999_999;

/// How long the lock is waited for. It is held for milliseconds, or for as long as whoever holds it is suspended; and a
/// command must not wait for that.
const LOCK_PATIENCE: Duration = Duration::from_secs(2);

/// A directory whose entries are named by numbers.
#[derive(Debug, Clone)]
pub(crate) struct Numbers {
    directory: PathBuf,
}

/// The directory is ours until this is dropped.
pub(crate) struct Locked {
    counter: File,
}

impl Numbers {
    pub(crate) fn new(directory: PathBuf) -> Self {
        Self { directory }
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Makes the directory, if it is not there.
    pub(crate) fn make(&self) -> io::Result<()> {
        crate::make_directory(&self.directory)
    }

    pub(crate) fn lock(&self) -> io::Result<Locked> {
        if longest_file() < 4096 {
            // Not even the counter could be written: `ulimit -f 0` would have us killed for trying.
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let path = self.directory.join(COUNTER);
        let counter = plain::open_with(File::options().read(true).write(true).create(true).truncate(false), &path)?;
        lock_soon(&counter)?;
        Ok(Locked { counter })
    }

    /// The lock without making anything. A directory that cannot be locked can still be looked at.
    pub(crate) fn lock_if_there(&self) -> Option<Locked> {
        let counter = plain::open(&self.directory.join(COUNTER)).ok()?;
        lock_soon(&counter).ok()?;
        Some(Locked { counter })
    }

    /// Gives out the next number. It is written down before it is used: one that is lost does no harm.
    pub(crate) fn give_out(&self, lock: &Locked) -> io::Result<u64> {
        let id = self.next()?;
        if id > LARGEST {
            return Err(io::Error::other("there are no numbers left"));
        }
        // Always of the same length and in one go, so that not even a crash leaves half a number.
        lock.counter.write_all_at(format!("{:>15}\n", id + 1).as_bytes(), 0)?;
        Ok(id)
    }

    /// Whether this number has been given out before.
    pub(crate) fn was_given_out(&self, id: u64) -> io::Result<bool> {
        Ok(id < self.next()?)
    }

    /// The number to come: what the counter says, unless it is garbled or behind what is there.
    fn next(&self) -> io::Result<u64> {
        let text = match plain::read(&self.directory.join(COUNTER)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            text => text?,
        };
        let counted = str::from_utf8(&text).ok().and_then(|text| number(text.trim()));
        // A counter that is nearly used up was not counted up to there.
        let counted = counted.filter(|counted| *counted < LARGEST / 2).unwrap_or(1);
        let behind_all = self.taken()?.last().map_or(1, |id| id + 1);
        Ok(counted.max(behind_all))
    }

    /// The numbers that are taken, in order.
    pub(crate) fn taken(&self) -> io::Result<Vec<u64>> {
        numbers_in(&self.directory)
    }
}

/// The numbers among the names in a directory, in order. One that is not there holds none.
pub(crate) fn numbers_in(directory: &Path) -> io::Result<Vec<u64>> {
    let files = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        files => files?,
    };
    let mut numbers: Vec<u64> = files.filter_map(|file| number(file.ok()?.file_name().to_str()?)).collect();
    numbers.sort_unstable();
    Ok(numbers)
}

/// Takes a lock that nobody holds for long.
pub(crate) fn lock_soon(file: &File) -> io::Result<()> {
    let give_up = Instant::now() + LOCK_PATIENCE;
    loop {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) if Instant::now() < give_up => sleep(Duration::from_millis(1)),
            Err(Errno::WOULDBLOCK) => return Err(io::Error::new(io::ErrorKind::TimedOut, "somebody keeps it locked")),
            Err(Errno::INTR) => {}
            locked => return Ok(locked?),
        }
    }
}

/// The number of this name; none if we would never call anything so.
pub(crate) fn number(name: &str) -> Option<u64> {
    let id = name.parse().ok().filter(|id| (1..=LARGEST).contains(id))?;
    // `07` and `+7` are numbers too, but not names that we give.
    (name == id.to_string()).then_some(id)
}

/// How long this process may make a file.
pub(crate) fn longest_file() -> u64 {
    getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX)
}
