//! The output file of a job, kept within its size limit while other processes write to it.
//!
//! A file over its limit keeps its first half and its newest bytes. The bytes between are punched out as a hole, so
//! every offset stays valid. The gap is recorded before the hole is punched.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use bashful_sys::notify::FileWatch;
use rustix::fs::{FallocateFlags, fallocate};

use crate::gaps::{self, Gap};

/// Block size of the file system, in bytes: only whole blocks can be freed.
const BLOCK: u64 = 4096;

/// Smallest limit, in bytes. A smaller file would have no whole block between its two parts.
const SMALLEST_LIMIT: u64 = 16 * BLOCK;

/// Reason recorded for the gap, as people read it.
const TOO_LARGE: &str = "the output was larger than its limit";

/// An output file, its limit, and the byte range that was punched out.
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

    /// Punches a hole if the file is over its limit. Returns how many bytes may be added before the next call is due.
    pub(crate) fn enforce_limit(&mut self) -> io::Result<u64> {
        let end = self.file.metadata()?.len();
        let kept = end - (self.gap.end - self.gap.start).min(end);
        if kept <= self.limit {
            return Ok(self.limit - kept);
        }
        // An eighth more than necessary, so that a flood does not punch a hole with every write.
        let newest = self.limit / 2 - self.limit / 8;
        // A gap that was made under a larger limit may begin too late for this one.
        let wider = self.gap.start.min(self.limit / 2)..(end - newest) / BLOCK * BLOCK;
        let gap = Gap { range: wider.clone(), why: TOO_LARGE.to_owned() };
        gaps::save(&self.path, &[gap])?;
        let length = wider.end - wider.start;
        fallocate(&self.file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, wider.start, length)?;
        self.gap = wider;
        Ok(self.limit / 8)
    }
}

/// Bytes a second that no disk exceeds: with that much room left, a check after one second is early enough.
const FASTEST: u64 = 4 << 30;

/// Shortest pause between two checks of a growing file.
const SHORTEST_PAUSE: Duration = Duration::from_millis(10);

/// Longest pause between two checks without an inotify watch.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Keeps an output file within its limit while other processes write to it, with as few checks as possible.
pub(crate) struct GrowingOutput {
    output: OutputFile,
    watch: Option<FileWatch>,
    check_at: Option<Instant>,
    pause: Duration,
    size: u64,
}

impl GrowingOutput {
    pub(crate) fn new(output: OutputFile, now: Instant) -> Self {
        let watch = FileWatch::of(&output.path).ok();
        let check_at = watch.is_none().then(|| now + SHORTEST_PAUSE);
        Self { output, watch, check_at, pause: SHORTEST_PAUSE, size: 0 }
    }

    /// Punches a hole now if the file is over its limit.
    pub(crate) fn enforce_limit(&mut self) {
        // A file system without holes leaves the file as it is.
        let _ = self.output.enforce_limit();
    }

    /// The inotify queue to wait on; none while a check would be too early.
    pub(crate) fn growth_queue(&self) -> Option<BorrowedFd<'_>> {
        self.watch.as_ref().filter(|_| self.check_at.is_none()).map(AsFd::as_fd)
    }

    /// Time of the next check, even without news from inotify.
    pub(crate) fn alarm(&self) -> Option<Instant> {
        self.check_at
    }

    /// Checks the size of the file if a check is due.
    pub(crate) fn check_if_due(&mut self, now: Instant) {
        match &self.watch {
            Some(_) if self.check_at.is_some_and(|at| now < at) => return,
            Some(watch) if !watch.drain() => {
                self.check_at = None;
                return;
            }
            None if self.check_at.is_some_and(|at| now < at) => return,
            Some(_) | None => {}
        }
        // Without holes the disk itself is the limit, and writers get the system's error.
        let room = self.output.enforce_limit().unwrap_or(FASTEST);
        let soonest = Duration::from_millis(room.saturating_mul(1000) / FASTEST).clamp(SHORTEST_PAUSE, LONGEST_PAUSE);
        self.pause = if self.watch.is_some() {
            soonest
        } else {
            let size = self.output.file.metadata().map_or(0, |metadata| metadata.len());
            let grew = std::mem::replace(&mut self.size, size) != size;
            if grew { soonest } else { (self.pause * 2).min(LONGEST_PAUSE) }
        };
        self.check_at = Some(now + self.pause);
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
            output.enforce_limit().expect("it is open_for_shell");
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
