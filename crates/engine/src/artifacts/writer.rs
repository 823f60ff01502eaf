//! Writes one artifact, within its limit, and as long as the disk has room.
//!
//! Past the limit, the file keeps its first half and its newest part. The bytes between are punched out as a hole, a
//! sixteenth of the limit at a time, so that every offset stays valid. Where the file system has no holes, the first
//! part is kept.
//!
//! Invariants: no more than the limit is on disk. A gap is recorded before its bytes are removed. A failure costs at
//! most the last block that was written before it.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use thiserror::Error;

use crate::id_counter::longest_file;
use crate::units::ByteSize;
use bashful_keeper::gaps::{self, Gap};

/// Block size of the file system, in bytes: only whole blocks can be freed. A system with larger blocks keeps up to two
/// of them more.
const BLOCK: u64 = 4096;

/// Smallest limit, in bytes. A smaller file would have no whole block between its two parts.
const SMALLEST_LIMIT: u64 = 16 * BLOCK;

/// A hole grows by this part of the limit.
const STEPS: u64 = 16;

/// Space reserved ahead of the end at a time, in bytes. Writing into reserved space costs a fifth less.
const RESERVED: u64 = 16 << 20;

/// Length from which on space is reserved. Shorter files are not worth it.
const RESERVE_FROM: u64 = 4 << 20;

/// Reason recorded for the gap, as people read it.
const TOO_LARGE: &str = "the artifact was larger than its limit";

/// Error: writing has ended for good. Returned once; later bytes are counted, but not written.
#[derive(Debug, Error)]
#[error("artifact {id} ends at byte {at}")]
pub struct WriteError {
    /// Id of the artifact.
    pub id: u64,
    /// Number of bytes that were written.
    pub at: u64,
    /// Error of the system.
    pub source: io::Error,
}

/// Facts about an artifact that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactFacts {
    /// Id of the artifact.
    pub id: u64,
    /// Path of its file.
    pub path: PathBuf,
    /// Number of bytes of the output, including missing ones.
    pub bytes: u64,
    /// Missing byte ranges, in order.
    pub missing: Vec<Gap>,
    /// Error that ended the writing early.
    pub error: Option<String>,
}

/// An artifact that is being written. It is in use until this and every copy of its descriptor are closed.
#[derive(Debug)]
pub struct ArtifactWriter {
    id: u64,
    path: PathBuf,
    file: File,
    /// In bytes. Half of it is a multiple of a block.
    limit: u64,
    /// Longest file that the process may write. A signal would kill it if it tried more.
    longest: u64,
    /// Length of the file.
    written: u64,
    /// Bytes that were pushed so far.
    seen: u64,
    gap: Range<u64>,
    /// Offset up to which space is reserved; none once that is over.
    reserved: Option<u64>,
    error: Option<String>,
    /// True if another process may write behind the bytes that were pushed. The list of gaps is its own then.
    can_be_continued: bool,
}

impl ArtifactWriter {
    pub(super) fn new(id: u64, path: PathBuf, file: File, limit: ByteSize) -> Self {
        let limit = limit.0.max(SMALLEST_LIMIT) / (2 * BLOCK) * (2 * BLOCK);
        Self {
            id,
            path,
            file,
            limit,
            longest: longest_file(),
            written: 0,
            seen: 0,
            gap: limit / 2..limit / 2,
            reserved: Some(0),
            error: None,
            can_be_continued: true,
        }
    }

    /// Id of the artifact, given out once.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Path of its file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// URI of the artifact, such as `artifact://7`.
    pub fn uri(&self) -> String {
        super::uri(self.id)
    }

    /// The file, open for appending, so that a copy of the descriptor can continue where this one ended. The artifact
    /// is in use as long as there is a copy.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Limit on the file, in bytes.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Length of the file, in bytes.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Size on disk, in bytes.
    pub(crate) fn on_disk(&self) -> u64 {
        (self.written - (self.gap.end - self.gap.start)).next_multiple_of(BLOCK)
    }

    /// Byte range that was punched out.
    pub(crate) fn gap(&self) -> Range<u64> {
        self.gap.clone()
    }

    /// Writes the next bytes.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.seen += bytes.len() as u64;
        if self.error.is_some() {
            if std::mem::take(&mut self.can_be_continued) {
                // Nobody took it over, and the gap has no end again. The caller has the facts in any case.
                let _ = self.record_gaps(u64::MAX);
            }
            return Ok(());
        }
        let step = usize::try_from(self.limit / STEPS).unwrap_or(usize::MAX);
        bytes.chunks(step).try_for_each(|piece| self.write(piece)).map_err(|source| self.stop(source))
    }

    /// Facts so far.
    pub fn facts(&self) -> ArtifactFacts {
        ArtifactFacts {
            id: self.id,
            path: self.path.clone(),
            bytes: self.seen,
            missing: self.missing(self.seen),
            error: self.error.clone(),
        }
    }

    /// Writes at most one step.
    fn write(&mut self, mut piece: &[u8]) -> io::Result<()> {
        let behind = self.written + piece.len() as u64;
        if behind - (self.gap.end - self.gap.start) > self.limit {
            self.widen_gap(behind)?;
        }
        self.reserve(behind);
        while !piece.is_empty() {
            let room = usize::try_from(self.longest - self.written).unwrap_or(usize::MAX).min(piece.len());
            if room == 0 {
                return Err(io::ErrorKind::FileTooLarge.into());
            }
            match self.file.write(&piece[..room]) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(count) => {
                    self.written += count as u64;
                    piece = &piece[count..];
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Reserves space for bytes that are likely to come. Writing is only slower without it.
    fn reserve(&mut self, behind: u64) {
        let Some(reserved) = self.reserved.filter(|reserved| behind > *reserved && self.written >= RESERVE_FROM) else {
            return;
        };
        let from = reserved.max(self.written);
        let fits = from + RESERVED - (self.gap.end - self.gap.start) <= self.limit && from + RESERVED <= self.longest;
        let done = fits && fallocate(&self.file, FallocateFlags::KEEP_SIZE, from, RESERVED).is_ok();
        if done {
            self.reserved = Some(from + RESERVED);
        } else {
            self.reserve_no_more();
        }
    }

    /// Prepares the file for another process that writes to it: releases the space reserved beyond the end, and makes
    /// a hole of the end that could not be written.
    pub(crate) fn make_way(&mut self) {
        self.reserve_no_more();
        if self.error.is_some() && !self.can_be_continued {
            self.can_be_continued = self.record_gaps(self.seen).and_then(|()| self.file.set_len(self.seen)).is_ok();
        }
    }

    /// True if bytes that are appended to the file get the offsets that they have in the output.
    pub(crate) fn can_be_continued(&self) -> bool {
        self.can_be_continued
    }

    fn reserve_no_more(&mut self) {
        if self.reserved.take().is_some_and(|reserved| reserved > self.written) {
            // Space that cannot be released goes with the file.
            let _ = self.file.set_len(self.written);
        }
    }

    /// Punches out so much that a step fits once the file ends at `behind`.
    fn widen_gap(&mut self, behind: u64) -> io::Result<()> {
        let newest = self.limit - self.limit / 2 - self.limit / STEPS;
        let wider = self.gap.start..(behind - newest).next_multiple_of(BLOCK);
        let before = std::mem::replace(&mut self.gap, wider);
        let punched = gaps::save(&self.path, &self.missing(self.written)).and_then(|()| {
            let flags = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
            Ok(fallocate(&self.file, flags, before.end, self.gap.end - before.end)?)
        });
        punched.map_err(|error| {
            self.gap = before;
            if error.kind() == io::ErrorKind::Unsupported { io::Error::other(TOO_LARGE) } else { error }
        })
    }

    fn stop(&mut self, source: io::Error) -> WriteError {
        self.reserve_no_more();
        self.error = Some(source.to_string());
        self.can_be_continued = false;
        // If there is still no room, the caller has the facts, and `drop` tries once more.
        let _ = self.record_gaps(u64::MAX);
        WriteError { id: self.id, at: self.written, source }
    }

    /// Records the gaps, if need be in place of the last block; `end` is the end of the missing rest.
    fn record_gaps(&mut self, end: u64) -> io::Result<()> {
        let saved = self.try_to_record_gaps(end);
        if saved.is_err() && self.free_last_block() { self.try_to_record_gaps(end) } else { saved }
    }

    fn try_to_record_gaps(&self, end: u64) -> io::Result<()> {
        gaps::save(&self.path, &self.missing(end))
            .inspect_err(|error| tracing::debug!(id = self.id, %error, "cannot note what is missing"))
    }

    /// On a full disk, gives up the last block for the record: an end that is known to be cut is worth more than 4 KiB.
    fn free_last_block(&mut self) -> bool {
        let shorter = self.written.saturating_sub(1) / BLOCK * BLOCK;
        let kept_behind_gap = self.gap.is_empty() || shorter > self.gap.end;
        let freed = kept_behind_gap && shorter > 0 && self.file.set_len(shorter).is_ok();
        if freed {
            self.written = shorter;
        }
        freed
    }

    fn missing(&self, end: u64) -> Vec<Gap> {
        let gap = Gap { range: self.gap.clone(), why: TOO_LARGE.to_owned() };
        let rest = Gap { range: self.written..end, why: self.error.clone().unwrap_or_default() };
        let rest = Some(rest).filter(|_| self.error.is_some());
        [Some(gap), rest].into_iter().flatten().filter(|missing| !missing.range.is_empty()).collect()
    }
}

/// Records how much is missing at the end, which is known only now. Everything else has been recorded before.
impl Drop for ArtifactWriter {
    fn drop(&mut self) {
        self.reserve_no_more();
        if self.error.is_some() && !self.can_be_continued {
            // Nobody can be told; the earlier record still says that the end is missing.
            let _ = self.try_to_record_gaps(self.seen);
        }
    }
}

#[cfg(test)]
mod tests {
    use bashful_keeper::output::OutputFile;

    use super::*;

    #[test]
    fn an_artifact_that_lacks_its_end_can_be_continued_behind_it() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("1");
        let file = File::options().read(true).append(true).create(true).open(&path).expect("a file");
        let mut writer = ArtifactWriter::new(1, path.clone(), file.try_clone().expect("a copy"), ByteSize::mib(64));
        writer.longest = 100_000;
        assert!(writer.push(&vec![b'x'; 150_000]).is_err() && !writer.can_be_continued());
        for more in [50_000, 7] {
            writer.push(&vec![b'x'; more]).expect("it is told once");
            assert!(!writer.can_be_continued());
            writer.make_way();
            assert!(writer.can_be_continued());
        }
        let mut continued = OutputFile::new(file, path.clone(), 1 << 20, writer.gap());
        continued.append(b"more");
        drop((writer, continued));
        assert_eq!(&std::fs::read(&path).expect("it is readable")[200_007..], b"more");
        let missing = gaps::load(&path);
        let [gap] = missing.as_slice() else { panic!("one range is missing: {missing:?}") };
        assert_eq!(gap.range, 100_000..200_007);
    }
}
