//! The output file of a job, kept within its size limit, and honest about what the disk did not take.
//!
//! A file over its limit keeps its first half and its newest bytes. The bytes between are punched out as a hole, so
//! every offset stays valid. The gap is recorded before the hole is punched.
//!
//! Bytes without room on the disk become a hole as well. Its end is unknown, and recorded as such, until there is room
//! again or the output has ended.

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

/// Room that a disk must have before a file with a lost end grows again, in bytes. Without it, a disk that is full but
/// for a block now and then would make a gap of every other block.
const ROOM_TO_RESUME: u64 = 16 * BLOCK;

/// Most gaps of lost bytes. The last one then grows over what was written since.
const MOST_LOST: usize = 64;

/// An output file, its limit, and the byte ranges that it lacks.
pub struct OutputFile {
    file: File,
    path: PathBuf,
    limit: u64,
    /// The range that was punched out.
    gap: Range<u64>,
    /// The ranges that the disk did not take, in order, none of them within `gap`.
    lost: Vec<Gap>,
    /// The range that is being lost at the end of the file.
    losing: Option<Gap>,
    /// Bytes that may be appended before the limit has to be checked.
    room: u64,
}

impl OutputFile {
    /// A file that is open for appending. `gap` is the range that was punched out of it; the list beside it has the
    /// ranges that were lost.
    pub fn new(file: File, path: PathBuf, limit: u64, gap: Range<u64>) -> Self {
        let limit = limit.max(SMALLEST_LIMIT) / (2 * BLOCK) * (2 * BLOCK);
        let mut lost = gaps::load(&path);
        lost.retain(|lost| lost.range != gap && lost.range.end < u64::MAX);
        let gap = if gap.is_empty() { limit / 2..limit / 2 } else { gap };
        Self { file, path, limit, gap, lost, losing: None, room: 0 }
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    /// Appends bytes. Bytes that cannot be written become a gap.
    pub fn append(&mut self, mut bytes: &[u8]) {
        if let Err(error) = self.try_append(&mut bytes) {
            self.lose(bytes.len() as u64, &error.to_string());
        }
    }

    /// Appends what can be written, and leaves the rest.
    fn try_append(&mut self, rest: &mut &[u8]) -> io::Result<()> {
        if self.losing.is_some() {
            let end = self.file.metadata()?.len();
            match fallocate(&self.file, FallocateFlags::KEEP_SIZE, end, ROOM_TO_RESUME) {
                Err(error) if error != rustix::io::Errno::OPNOTSUPP => return Err(error.into()),
                // Only to see if it fits.
                _ => self.file.set_len(end)?,
            }
            self.close_gap()?;
        }
        if self.room < rest.len() as u64 {
            self.room = self.enforce_limit()?.max(rest.len() as u64);
        }
        while !rest.is_empty() {
            match rustix::io::write(&self.file, rest) {
                Ok(count) => {
                    *rest = &rest[count..];
                    self.room = self.room.saturating_sub(count as u64);
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Notes that the next bytes of the output are missing.
    pub fn lose(&mut self, bytes: u64, why: &str) {
        if let Some(losing) = &mut self.losing {
            losing.range.end += bytes;
            return;
        }
        let Ok(facts) = self.file.metadata() else { return };
        self.losing = Some(Gap { range: facts.len()..facts.len() + bytes, why: why.to_owned() });
        if self.save_gaps(true).is_err() && self.free_last_block() {
            // If there is still no room, the end of the gap brings another attempt.
            let _ = self.save_gaps(true);
        }
    }

    /// Records the end of a gap at the end of the file, because another program writes there next, or nobody does.
    pub fn settle(&mut self) {
        if self.losing.is_some() && self.close_gap().is_err() && self.free_last_block() {
            let _ = self.close_gap();
        }
    }

    /// Records the gap, and makes the file as long as if nothing were missing. Unchanged after an error.
    fn close_gap(&mut self) -> io::Result<()> {
        self.save_gaps(false)?;
        let Some(closed) = &self.losing else { return Ok(()) };
        self.file.set_len(closed.range.end)?;
        let closed = closed.clone();
        self.losing = None;
        let is_full = self.lost.len() >= MOST_LOST;
        match self.lost.last_mut().filter(|last| is_full || last.range.end == closed.range.start) {
            Some(last) => {
                if last.range.end < closed.range.start {
                    // Where the file system has no holes, the range counts as missing all the same.
                    let _ = punch(&self.file, last.range.end..closed.range.start);
                }
                last.range.end = closed.range.end;
            }
            None => self.lost.push(closed),
        }
        Ok(())
    }

    /// Saves the list of gaps. The end of the last one may be open.
    fn save_gaps(&self, is_open: bool) -> io::Result<()> {
        let middle = Some(Gap { range: self.gap.clone(), why: TOO_LARGE.to_owned() });
        let mut losing = self.losing.clone();
        losing.iter_mut().filter(|_| is_open).for_each(|losing| losing.range.end = u64::MAX);
        let all = middle.into_iter().chain(self.lost.iter().cloned()).chain(losing);
        gaps::save(&self.path, &all.filter(|gap| !gap.range.is_empty()).collect::<Vec<_>>())
    }

    /// On a full disk, gives up the last block for the record: an end that is known to be cut is worth more than 4 KiB.
    fn free_last_block(&mut self) -> bool {
        let last_gap = self.lost.last().map_or(0, |lost| lost.range.end);
        let last_gap = last_gap.max(if self.gap.is_empty() { 0 } else { self.gap.end });
        let Some(losing) = &mut self.losing else { return false };
        let shorter = losing.range.start.saturating_sub(1) / BLOCK * BLOCK;
        let is_freed = shorter > last_gap && self.file.set_len(shorter).is_ok();
        if is_freed {
            losing.range.start = shorter;
        }
        is_freed
    }

    /// Punches a hole if the file is over its limit. Returns how many bytes may be added before the next call is due.
    pub(crate) fn enforce_limit(&mut self) -> io::Result<u64> {
        let end = self.file.metadata()?.len();
        let missing: u64 =
            self.lost.iter().map(|lost| &lost.range).chain([&self.gap]).map(|gap| gap.end - gap.start).sum();
        let kept = end.saturating_sub(missing);
        if kept <= self.limit {
            return Ok(self.limit - kept);
        }
        // An eighth more than necessary, so that a flood does not punch a hole with every write.
        let newest = self.limit / 2 - self.limit / 8;
        // A gap that was made under a larger limit may begin too late for this one.
        let mut wider = self.gap.start.min(self.limit / 2)..(end - newest) / BLOCK * BLOCK;
        let before = (self.gap.clone(), self.lost.clone());
        self.lost.retain(|Gap { range, .. }| {
            let is_apart = range.end < wider.start || range.start > wider.end;
            if !is_apart {
                wider = wider.start.min(range.start)..wider.end.max(range.end);
            }
            is_apart
        });
        self.gap = wider.clone();
        let punched = self.save_gaps(true).and_then(|()| Ok(punch(&self.file, wider)?));
        punched.inspect_err(|_| (self.gap, self.lost) = before)?;
        Ok(self.limit / 8)
    }
}

/// The file may be gone, or the disk still full. Then the list says at least that the end is missing.
impl Drop for OutputFile {
    fn drop(&mut self) {
        self.settle();
    }
}

/// Frees the blocks of a range.
fn punch(file: &File, range: Range<u64>) -> rustix::io::Result<()> {
    fallocate(file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, range.start, range.end - range.start)
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

    #[test]
    fn lost_bytes_are_gaps_and_later_ones_keep_their_offsets() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("output");
        let open = || File::options().read(true).append(true).create(true).open(&path).expect("a file");
        let mut output = OutputFile::new(open(), path.clone(), 1 << 20, 0..0);
        let mut whole = Vec::new();
        for (round, digit) in (b'0'..=b'9').cycle().take(200).enumerate() {
            let piece = vec![digit; 9_999];
            if round % 3 == 1 {
                output.lose(9_999, "disk full");
            } else {
                output.append(&piece);
            }
            whole.extend(piece);
            if round == 100 {
                // The next one reads what is missing.
                let gap = output.gap.clone();
                drop(output);
                output = OutputFile::new(open(), path.clone(), 1 << 20, gap);
            }
        }
        output.lose(5, "disk full");
        assert_eq!(gaps::load(&path).last().expect("a gap").range.end, u64::MAX, "its end is not known yet");
        drop(output);
        let kept = std::fs::read(&path).expect("it is readable");
        assert_eq!(kept.len(), whole.len() + 5);
        let mut at = 0;
        for Gap { range, .. } in gaps::load(&path) {
            let start = usize::try_from(range.start).expect("small");
            assert!(at <= start && kept[at..start] == whole[at..start], "before {range:?}");
            at = usize::try_from(range.end).expect("small");
        }
        assert_eq!(at, kept.len());
        assert!(open().metadata().expect("facts").blocks() * 512 <= (1 << 20) + 80 * 2 * BLOCK);
    }
}
