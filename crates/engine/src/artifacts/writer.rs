//! Writes one artifact, within its limit and for as long as the disk lets us.
//!
//! Past the limit the file keeps its first half and its newest part: what lies between is given back to the file system
//! as a hole, a sixteenth of the limit at a time, so that every offset stays true. Where holes cannot be had, the first part
//! is kept.
//!
//! Invariants: no more than the limit is on disk; what is not there is written down before it is taken away; a failure
//! costs at most the last block of what was written before it.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};

use rustix::fs::{FallocateFlags, fallocate};
use thiserror::Error;

use crate::id_counter::longest_file;
use crate::units::ByteSize;
use bashful_keeper::gaps::{self, Gap};

/// What a file system can free: its blocks. One with larger blocks keeps up to two of them more.
const BLOCK: u64 = 4096;

/// Less than this is not worth a file, and leaves no room between the parts that are kept.
const SMALLEST_LIMIT: u64 = 16 * BLOCK;

/// A hole grows by this part of the limit.
const STEPS: u64 = 16;

/// So much disk is reserved ahead of the end at a time. Written into what is reserved, a file costs a fifth less.
const RESERVED: u64 = 16 << 20;

/// Files that are shorter are not worth the trouble.
const RESERVE_FROM: u64 = 4 << 20;

/// Why what lies between is not there.
const TOO_LARGE: &str = "the artifact was larger than its limit";

/// Writing has ended for good. Said once: what comes later is counted and not tried.
#[derive(Debug, Error)]
#[error("artifact {id} ends at byte {at}")]
pub struct WriteError {
    /// The artifact.
    pub id: u64,
    /// So much of it was written.
    pub at: u64,
    /// Why no more is.
    pub source: io::Error,
}

/// What became of an artifact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactFacts {
    /// Its number.
    pub id: u64,
    /// Where it is.
    pub path: PathBuf,
    /// All bytes that were to be written, there or not.
    pub bytes: u64,
    /// What is not there, in order.
    pub missing: Vec<Gap>,
    /// Why writing ended early, if it did.
    pub error: Option<String>,
}

/// An artifact being written. It is in use until this and every copy of its descriptor are closed.
#[derive(Debug)]
pub struct ArtifactWriter {
    id: u64,
    path: PathBuf,
    file: File,
    /// Multiples of a block, as is the half of it.
    limit: u64,
    /// The process may not write files longer than this, and a signal would end it if it tried.
    longest: u64,
    /// The length of the file.
    written: u64,
    /// The length of what was to be written.
    seen: u64,
    gap: Range<u64>,
    /// The disk is reserved up to here; none if that is not to be done any more.
    reserved: Option<u64>,
    error: Option<String>,
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
        }
    }

    /// Its number.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// `artifact://7`.
    pub fn uri(&self) -> String {
        super::uri(self.id)
    }

    /// The file, open for appending, so that a copy of the descriptor can go on where this one ended. The artifact is in
    /// use as long as there is one.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// How much of it is kept.
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// The length of the file, in bytes.
    pub(crate) fn written(&self) -> u64 {
        self.written
    }

    /// Its size on disk, in bytes.
    pub(crate) fn on_disk(&self) -> u64 {
        (self.written - (self.gap.end - self.gap.start)).next_multiple_of(BLOCK)
    }

    /// What was given back of its middle.
    pub(crate) fn gap(&self) -> Range<u64> {
        self.gap.clone()
    }

    /// Writes what comes next.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        self.seen += bytes.len() as u64;
        if self.error.is_some() {
            return Ok(());
        }
        let step = usize::try_from(self.limit / STEPS).unwrap_or(usize::MAX);
        bytes.chunks(step).try_for_each(|piece| self.write(piece)).map_err(|source| self.stop(source))
    }

    /// What is known so far.
    pub fn facts(&self) -> ArtifactFacts {
        ArtifactFacts {
            id: self.id,
            path: self.path.clone(),
            bytes: self.seen,
            missing: self.missing(self.seen),
            error: self.error.clone(),
        }
    }

    /// Writes at most a step.
    fn write(&mut self, mut piece: &[u8]) -> io::Result<()> {
        let behind = self.written + piece.len() as u64;
        if behind - (self.gap.end - self.gap.start) > self.limit {
            self.widen(behind)?;
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

    /// Reserves disk for what is likely to come. Nothing depends on it: without it, writing is only slower.
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

    /// Gives back what is reserved beyond the end. To be called before anybody else writes to the file.
    pub(crate) fn reserve_no_more(&mut self) {
        if self.reserved.take().is_some_and(|reserved| reserved > self.written) {
            // What cannot be given back goes with the file.
            let _ = self.file.set_len(self.written);
        }
    }

    /// Gives back so much that a step fits in once the file ends at `behind`.
    fn widen(&mut self, behind: u64) -> io::Result<()> {
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
        if self.note(u64::MAX).is_err() && self.make_room() {
            // If it fits not even now, the caller still has the facts, and at the end it is tried once more.
            let _ = self.note(u64::MAX);
        }
        WriteError { id: self.id, at: self.written, source }
    }

    /// Writes down what is missing, with an end that is cut off.
    fn note(&self, end: u64) -> io::Result<()> {
        gaps::save(&self.path, &self.missing(end))
            .inspect_err(|error| tracing::debug!(id = self.id, %error, "cannot note what is missing"))
    }

    /// On a full disk, gives up the last block for the note: an end that says it was cut is worth more than 4 KiB.
    fn make_room(&mut self) -> bool {
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

/// Only now is it known how much is missing at the end. Everything else has been written down before.
impl Drop for ArtifactWriter {
    fn drop(&mut self) {
        self.reserve_no_more();
        if self.error.is_some() {
            // There is nobody to tell; what was noted before still says that the end is missing.
            let _ = self.note(self.seen);
        }
    }
}
