//! Reads parts of an artifact, however large it is.
//!
//! Lines are counted from 1, as they are in the file, and bytes from 0. A gap is shown as one line, which does not
//! count. After a gap, the true numbers of lines are unknown, and a notice says so.
//!
//! Invariants: memory is bounded, whatever the file holds. An artifact that is still being written is read up to its
//! length at the time of opening, and a hole that is punched meanwhile is noticed.

use std::fs::File;
use std::io::{self, Write};
use std::ops::{Range, RangeInclusive};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use memchr::{memchr_iter, memrchr_iter};
use thiserror::Error;

use super::ArtifactEntry;
use super::page::{PageWriter, Search};
use crate::mask::LONGEST;
use bashful_keeper::gaps::{self, Gap};
use bashful_sys::plain;

/// Bytes read at once. Larger buffers leave the processor's cache and gain nothing.
const BUFFER: usize = 256 * 1024;

/// Error: an artifact that was not read, or not to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file cannot be opened or read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the system.
        source: io::Error,
    },
    /// The bytes cannot be written: their reader may be gone.
    #[error("cannot write out the artifact")]
    Write(#[source] io::Error),
}

/// An artifact, opened for reading.
#[derive(Debug)]
pub struct Artifact {
    file: File,
    path: PathBuf,
    bytes: u64,
    missing: Vec<Gap>,
    in_use: bool,
}

/// Result of reading lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LinesRead {
    /// Number of lines in the artifact, up to the last one that was asked for.
    pub there: u64,
    /// Offset of the first line that was asked for, in bytes; the end of the artifact if there is no such line.
    pub begin: u64,
}

/// The next piece of an artifact.
enum Piece<'a> {
    /// Bytes, and their offset in the file.
    Bytes(u64, &'a [u8]),
    Missing(Gap),
}

impl Artifact {
    /// Opens an artifact as it is now.
    pub fn open(entry: &ArtifactEntry) -> Result<Self, ReadError> {
        Self::at(&entry.path, entry.in_use)
    }

    /// Opens a file of output, wherever it is.
    pub(crate) fn at(path: &Path, in_use: bool) -> Result<Self, ReadError> {
        let opened = plain::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (bytes, file) = opened.map_err(|source| ReadError::Read { path: path.to_path_buf(), source })?;
        // Gaps are read after the length: a gap recorded since then is older than the bytes that will be read.
        let missing = gaps::load(path);
        Ok(Self { file, path: path.to_path_buf(), bytes, missing, in_use })
    }

    /// Length when it was opened. It includes gaps, so that offsets stay valid.
    pub(crate) fn len(&self) -> u64 {
        self.bytes
    }

    /// Writes the whole artifact.
    pub fn whole(&self, out: &mut dyn Write) -> Result<(), ReadError> {
        self.bytes(0..u64::MAX, out)
    }

    /// Writes these bytes, as far as they exist.
    pub fn bytes(&self, range: Range<u64>, out: &mut dyn Write) -> Result<(), ReadError> {
        let mut page = PageWriter::new(out);
        self.pieces(range, |piece| {
            match piece {
                Piece::Bytes(_, bytes) => page.bytes(bytes)?,
                Piece::Missing(missing) => page.notice(&missing.to_string())?,
            }
            Ok(true)
        })
    }

    /// Returns the bytes before and after a part that show if the part begins or ends in the middle of a withheld
    /// value; for [`OutputRedactor::show_part`](crate::OutputRedactor::show_part). Bytes that cannot be read are left
    /// out.
    pub fn around(&self, part: Range<u64>) -> (Vec<u8>, Vec<u8>) {
        let read = |range: Range<u64>| {
            let mut bytes = vec![0; usize::try_from(range.end.saturating_sub(range.start)).unwrap_or(0)];
            if self.file.read_exact_at(&mut bytes, range.start).is_ok() { bytes } else { Vec::new() }
        };
        let (start, end) = (part.start.min(self.bytes), part.end.min(self.bytes));
        let margin = LONGEST as u64;
        (read(start.saturating_sub(margin)..start), read(end..end.saturating_add(margin).min(self.bytes)))
    }

    /// Writes these lines, as far as they exist. Reads the file no further than the last of them.
    pub fn lines(&self, asked: RangeInclusive<u64>, out: &mut dyn Write) -> Result<LinesRead, ReadError> {
        if asked.is_empty() {
            return Ok(LinesRead { there: 0, begin: self.bytes });
        }
        let mut page = PageWriter::new(out);
        let mut line = 1;
        let mut behind_gap = false;
        let mut line_begun = false;
        let mut shown_from = (*asked.start() == 1).then_some(0);
        self.pieces(0..u64::MAX, |piece| {
            let (at, bytes) = match piece {
                Piece::Missing(missing) => {
                    if asked.contains(&line) {
                        page.notice(&missing.to_string())?;
                    } else {
                        behind_gap |= missing.range.end < self.bytes;
                    }
                    return Ok(true);
                }
                Piece::Bytes(at, bytes) => (at, bytes),
            };
            line_begun = !bytes.ends_with(b"\n");
            let mut begin = 0;
            if line < *asked.start() {
                let skip = asked.start() - line;
                let Some(newline) = nth_newline(bytes, skip, &mut line) else { return Ok(true) };
                begin = newline + 1;
                shown_from.get_or_insert(at + begin as u64);
            }
            if behind_gap && begin < bytes.len() {
                page.notice("lines are counted without the bytes that are missing before them")?;
                behind_gap = false;
            }
            let shown = &bytes[begin..];
            let last = (asked.end() - line).saturating_add(1);
            match nth_newline(shown, last, &mut line) {
                Some(at) => page.bytes(&shown[..=at])?,
                None => page.bytes(shown)?,
            }
            Ok(line <= *asked.end())
        })?;
        let there = (line - u64::from(!line_begun)).min(*asked.end());
        Ok(LinesRead { there, begin: shown_from.unwrap_or(self.bytes) })
    }

    /// Writes the first lines.
    pub fn head(&self, lines: u64, out: &mut dyn Write) -> Result<(), ReadError> {
        self.lines(1..=lines, out).map(drop)
    }

    /// Writes the last lines. Reads only them, from the end.
    pub fn tail(&self, lines: u64, out: &mut dyn Write) -> Result<(), ReadError> {
        let begin = self.tail_begin(lines)?;
        self.bytes(begin..u64::MAX, out)
    }

    /// Writes the matching lines as `number:line`, and returns their number. A gap splits a line into two with the same
    /// number, and a very long line is split into pieces.
    pub fn grep(&self, wanted: &dyn Fn(&[u8]) -> bool, out: &mut dyn Write) -> Result<u64, ReadError> {
        let mut search = Search::new(wanted, out);
        self.pieces(0..u64::MAX, |piece| {
            match piece {
                Piece::Bytes(_, bytes) => search.bytes(bytes)?,
                Piece::Missing(missing) => {
                    search.flush()?;
                    search.page.notice(&missing.to_string())?;
                }
            }
            Ok(true)
        })?;
        search.flush().map_err(ReadError::Write)?;
        Ok(search.found)
    }

    /// Offset at which the last lines begin, in bytes; `u64::MAX` for no lines.
    #[expect(clippy::missing_panics_doc, reason = "no part is longer than the buffer that it is read into")]
    pub fn tail_begin(&self, lines: u64) -> Result<u64, ReadError> {
        let mut buffer = vec![0; BUFFER.min(usize::try_from(self.bytes).unwrap_or(BUFFER))];
        let mut end = self.bytes;
        // The newline at the very end ends the last line, and begins none.
        let mut left = lines.saturating_add(1);
        let mut last = true;
        if lines == 0 {
            return Ok(u64::MAX);
        }
        while end > 0 {
            if let Some(missing) = self.missing.iter().find(|missing| missing.range.contains(&(end - 1))) {
                end = missing.range.start;
                last = false;
                continue;
            }
            let from = self.missing.iter().map(|missing| missing.range.end).filter(|behind| *behind < end).max();
            let from = from.unwrap_or(0).max(end.saturating_sub(buffer.len() as u64));
            let part = &mut buffer[..usize::try_from(end - from).expect("it is not longer than the buffer")];
            self.file.read_exact_at(part, from).map_err(|source| self.unreadable(source))?;
            if std::mem::take(&mut last) && !part.ends_with(b"\n") {
                left -= 1;
            }
            for at in memrchr_iter(b'\n', part) {
                left -= 1;
                if left == 0 {
                    return Ok(from + at as u64 + 1);
                }
            }
            end = from;
        }
        Ok(0)
    }

    /// Visits a range piece by piece, until it ends or the visitor returns false.
    fn pieces(&self, range: Range<u64>, mut visit: impl FnMut(Piece<'_>) -> io::Result<bool>) -> Result<(), ReadError> {
        let mut missing = self.missing.clone();
        let known_end = missing.last().map(|last| last.range.end).filter(|end| *end < u64::MAX).unwrap_or(0);
        let end = range.end.min(self.bytes.max(known_end).max(self.open_end()));
        let mut buffer = vec![0; BUFFER];
        let mut at = range.start;
        while at < end {
            let gap = missing.iter().find(|missing| missing.range.contains(&at)).cloned();
            if let Some(gap) = gap {
                let behind = gap.range.end;
                if !visit(Piece::Missing(gap)).map_err(ReadError::Write)? {
                    return Ok(());
                }
                at = behind;
                continue;
            }
            let upto = missing.iter().map(|missing| missing.range.start).filter(|begin| *begin > at).min();
            let upto = upto.unwrap_or(end).min(end).min(at + BUFFER as u64);
            let length = usize::try_from(upto - at).expect("it is not longer than the buffer");
            let count = self.file.read_at(&mut buffer[..length], at).map_err(|source| self.unreadable(source))?;
            // Another process has truncated the file.
            if count == 0 {
                return Ok(());
            }
            if self.in_use {
                // A hole is recorded before it is punched, so bytes without a record by now were there when they were
                // read.
                missing = gaps::load(&self.path);
                let read = at..at + count as u64;
                if missing.iter().any(|hole| hole.range.start < read.end && read.start < hole.range.end) {
                    continue;
                }
            }
            if !visit(Piece::Bytes(at, &buffer[..count])).map_err(ReadError::Write)? {
                return Ok(());
            }
            at += count as u64;
        }
        Ok(())
    }

    /// An offset after the file, if the size of the missing end is unknown.
    fn open_end(&self) -> u64 {
        if self.missing.iter().any(|missing| missing.range.end == u64::MAX) { self.bytes + 1 } else { 0 }
    }

    fn unreadable(&self, source: io::Error) -> ReadError {
        ReadError::Read { path: self.path.clone(), source }
    }
}

/// Index of the `nth` newline, counted from 1. Adds the newlines that it passes to `line`.
fn nth_newline(bytes: &[u8], nth: u64, line: &mut u64) -> Option<usize> {
    // Counting alone is several times as fast as finding, and nearly everything is only counted.
    let there = memchr_iter(b'\n', bytes).count() as u64;
    if nth == 0 || there < nth {
        *line += there;
        return None;
    }
    *line += nth;
    memchr_iter(b'\n', bytes).nth(usize::try_from(nth - 1).expect("there are so many in memory"))
}
