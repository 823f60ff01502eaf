//! The output file of a job, held within its limit while others write to it.
//!
//! Past the limit its first half and its newest part are kept; what lies between is given back to the file system as a
//! hole, so that every offset stays true, and is written down before it is taken away.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bashful_sys::notify::Growth;
use rustix::fs::{FallocateFlags, fallocate};

use crate::gaps::{self, Gap};

/// What a file system can free: its blocks.
const BLOCK: u64 = 4096;

/// No limit is smaller: there has to be room between the parts that are kept.
const SMALLEST_LIMIT: u64 = 16 * BLOCK;

/// What is said of the part that is not there.
const TOO_LARGE: &str = "the output was larger than its limit";

/// A file that grows.
pub(crate) struct OutputFile {
    file: File,
    path: PathBuf,
    limit: u64,
    gap: Range<u64>,
}

impl OutputFile {
    pub(crate) fn new(file: File, path: PathBuf, limit: u64, gap: Range<u64>) -> Self {
        let limit = limit.max(SMALLEST_LIMIT) / (2 * BLOCK) * (2 * BLOCK);
        let gap = if gap.is_empty() { limit / 2..limit / 2 } else { gap };
        Self { file, path, limit, gap }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Brings it back within its limit, and says how much it may grow before that is due again.
    pub(crate) fn hold(&mut self) -> io::Result<u64> {
        let end = self.file.metadata()?.len();
        let kept = end - (self.gap.end - self.gap.start).min(end);
        if kept <= self.limit {
            return Ok(self.limit - kept);
        }
        // An eighth more than necessary, so that a flood does not call for it with every write.
        let newest = self.limit / 2 - self.limit / 8;
        // Of what is already missing, and was by another limit, the beginning may be too late.
        let wider = self.gap.start.min(self.limit / 2)..(end - newest) / BLOCK * BLOCK;
        let gap = Gap { range: wider.clone(), why: TOO_LARGE.to_owned() };
        gaps::save(&self.path, &[gap])?;
        let length = wider.end - wider.start;
        fallocate(&self.file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, wider.start, length)?;
        self.gap = wider;
        Ok(self.limit / 8)
    }
}

/// No disk is written faster, in bytes a second: when there is room for so many, nobody has to look for a second.
const FASTEST: u64 = 4 << 30;

/// The shortest pause between two looks at a file that grows.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// The longest pause between two looks where nobody tells us that it grows.
const LOOK_AT_MOST: Duration = Duration::from_secs(2);

/// Watches an output file that others write to, and looks at it no more often than it has to.
pub(crate) struct Growing {
    output: OutputFile,
    told: Option<Growth>,
    look_at: Option<Instant>,
    pause: Duration,
    size: u64,
}

impl Growing {
    pub(crate) fn new(output: OutputFile, now: Instant) -> Self {
        let told = Growth::of(&output.path).ok();
        let look_at = told.is_none().then(|| now + LOOK_AGAIN);
        Self { output, told, look_at, pause: LOOK_AGAIN, size: 0 }
    }

    /// Brings it within its limit, now.
    pub(crate) fn hold(&mut self) {
        // Where that cannot be done it stays as it is.
        let _ = self.output.hold();
    }

    /// What tells that it grows, unless it is too early to look.
    pub(crate) fn word(&self) -> Option<BorrowedFd<'_>> {
        self.told.as_ref().filter(|_| self.look_at.is_none()).map(AsFd::as_fd)
    }

    /// When to look at it in any case.
    pub(crate) fn alarm(&self) -> Option<Instant> {
        self.look_at
    }

    /// Looks at it, if it is time.
    pub(crate) fn look(&mut self, now: Instant) {
        match &self.told {
            Some(_) if self.look_at.is_some_and(|at| now < at) => return,
            Some(told) if !told.take() => {
                self.look_at = None;
                return;
            }
            None if self.look_at.is_some_and(|at| now < at) => return,
            Some(_) | None => {}
        }
        // Where no room can be made, the disk itself is the limit, and those who write are told by the system.
        let room = self.output.hold().unwrap_or(FASTEST);
        let soonest = Duration::from_millis(room.saturating_mul(1000) / FASTEST).clamp(LOOK_AGAIN, LOOK_AT_MOST);
        self.pause = if self.told.is_some() {
            soonest
        } else {
            let size = self.output.file.metadata().map_or(0, |metadata| metadata.len());
            let grew = std::mem::replace(&mut self.size, size) != size;
            if grew { soonest } else { (self.pause * 2).min(LOOK_AT_MOST) }
        };
        self.look_at = Some(now + self.pause);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::fs::MetadataExt;

    #[test]
    fn a_file_past_its_limit_keeps_its_beginning_its_end_and_its_offsets() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("output");
        let mut file = File::options().read(true).append(true).create(true).open(&path).expect("a file");
        let mut output = OutputFile::new(file.try_clone().expect("a copy"), path.clone(), 1 << 20, 0..0);
        let mut written = 0;
        for _ in 0..64 {
            file.write_all(&vec![b'x'; 100_000]).expect("it is written");
            written += 100_000;
            output.hold().expect("it is held");
        }
        let facts = file.metadata().expect("it is there");
        assert_eq!(facts.len(), written);
        assert!(facts.blocks() * 512 <= (1 << 20) + 2 * BLOCK, "{} blocks", facts.blocks());
        let missing = gaps::load(&path);
        let [Gap { range, why }] = missing.as_slice() else { panic!("one range is missing: {missing:?}") };
        assert_eq!((range.start, why.as_str()), (1 << 19, TOO_LARGE));
        let bytes = std::fs::read(&path).expect("it is readable");
        let (start, end) = (usize::try_from(range.start).expect("small"), usize::try_from(range.end).expect("small"));
        assert!(bytes[..start].iter().chain(&bytes[end..]).all(|byte| *byte == b'x'));
    }
}
