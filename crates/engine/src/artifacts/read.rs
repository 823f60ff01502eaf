//! Reads parts of an artifact, however large it is.
//!
//! Lines are counted from 1 as they are in the file, bytes from 0. What is missing is shown as one line that says so, which
//! does not count; behind it the true numbers of lines cannot be known, and lines that are asked for by number are
//! preceded by a notice.
//!
//! Invariants: memory is bounded whatever the file holds; an artifact that is still being written is read as far as it was
//! when it was opened, and a hole that is made meanwhile is noticed.

use std::fs::File;
use std::io::{self, Write};
use std::ops::{Range, RangeInclusive};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use memchr::{memchr_iter, memrchr_iter};
use thiserror::Error;

use super::ArtifactEntry;
use super::page::{Page, Search};
use bashful_keeper::missing::{self, Missing};
use bashful_sys::plain;

/// What is read at once. Larger ones leave the processor's cache and gain nothing.
const BUFFER: usize = 256 * 1024;

/// Why an artifact was not read, or not to its end.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It cannot be opened or read.
    #[error("cannot read {}", path.display())]
    Read {
        /// Its file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// It cannot be handed on: whoever wanted it may have gone away.
    #[error("cannot write out the artifact")]
    Write(#[source] io::Error),
}

/// An artifact, opened for reading.
#[derive(Debug)]
pub struct Artifact {
    file: File,
    path: PathBuf,
    bytes: u64,
    missing: Vec<Missing>,
    in_use: bool,
}

/// What comes next in an artifact.
enum Piece<'a> {
    Bytes(&'a [u8]),
    Missing(Missing),
}

impl Artifact {
    /// Opens it as it is now.
    pub fn open(entry: &ArtifactEntry) -> Result<Self, ReadError> {
        Self::at(&entry.path, entry.in_use)
    }

    /// Opens a file of output, wherever it is.
    pub(crate) fn at(path: &Path, in_use: bool) -> Result<Self, ReadError> {
        let opened = plain::open(path).and_then(|file| Ok((file.metadata()?.len(), file)));
        let (bytes, file) = opened.map_err(|source| ReadError::Read { path: path.to_path_buf(), source })?;
        // Asked again and after the length: what was written down since then is older than what will be read.
        let missing = missing::load(path);
        Ok(Self { file, path: path.to_path_buf(), bytes, missing, in_use })
    }

    /// Its length when it was opened. What is missing in the middle is counted, for offsets stay true.
    pub(crate) fn len(&self) -> u64 {
        self.bytes
    }

    /// Everything.
    pub fn whole(&self, out: &mut dyn Write) -> Result<(), ReadError> {
        self.bytes(0..u64::MAX, out)
    }

    /// These bytes, as far as they are there.
    pub fn bytes(&self, range: Range<u64>, out: &mut dyn Write) -> Result<(), ReadError> {
        let mut page = Page::new(out);
        self.pieces(range, |piece| {
            match piece {
                Piece::Bytes(bytes) => page.bytes(bytes)?,
                Piece::Missing(missing) => page.notice(&missing.to_string())?,
            }
            Ok(true)
        })
    }

    /// These lines, as far as they are there; says how many there are, up to the last one that was asked for. What lies
    /// behind it is not read.
    pub fn lines(&self, asked: RangeInclusive<u64>, out: &mut dyn Write) -> Result<u64, ReadError> {
        if asked.is_empty() {
            return Ok(0);
        }
        let mut page = Page::new(out);
        let mut line = 1;
        let mut behind_gap = false;
        let mut line_begun = false;
        self.pieces(0..u64::MAX, |piece| {
            let bytes = match piece {
                Piece::Missing(missing) => {
                    if asked.contains(&line) {
                        page.notice(&missing.to_string())?;
                    } else {
                        behind_gap |= missing.range.end < self.bytes;
                    }
                    return Ok(true);
                }
                Piece::Bytes(bytes) => bytes,
            };
            line_begun = !bytes.ends_with(b"\n");
            let mut begin = 0;
            if line < *asked.start() {
                let skip = asked.start() - line;
                let Some(at) = nth_newline(bytes, skip, &mut line) else { return Ok(true) };
                begin = at + 1;
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
        Ok((line - u64::from(!line_begun)).min(*asked.end()))
    }

    /// The first lines.
    pub fn head(&self, lines: u64, out: &mut dyn Write) -> Result<(), ReadError> {
        self.lines(1..=lines, out).map(drop)
    }

    /// The last lines. Only they are read, from the end.
    pub fn tail(&self, lines: u64, out: &mut dyn Write) -> Result<(), ReadError> {
        let begin = self.tail_begin(lines)?;
        self.bytes(begin..u64::MAX, out)
    }

    /// The lines that are wanted, as `number:line`; says how many there are. Beginning and end of a line that is
    /// interrupted by a gap are two, of the same number, as are the pieces of a very long one.
    pub fn grep(&self, wanted: &dyn Fn(&[u8]) -> bool, out: &mut dyn Write) -> Result<u64, ReadError> {
        let mut search = Search::new(wanted, out);
        self.pieces(0..u64::MAX, |piece| {
            match piece {
                Piece::Bytes(bytes) => search.bytes(bytes)?,
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

    /// Where the last lines begin.
    pub(crate) fn tail_begin(&self, lines: u64) -> Result<u64, ReadError> {
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

    /// Walks through a range, until there is no more or the visitor has had enough.
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
            // Somebody else cut it short.
            if count == 0 {
                return Ok(());
            }
            if self.in_use {
                // A hole is written down before it is made: what was not written down by now was there when it was read.
                missing = missing::load(&self.path);
                let read = at..at + count as u64;
                if missing.iter().any(|hole| hole.range.start < read.end && read.start < hole.range.end) {
                    continue;
                }
            }
            if !visit(Piece::Bytes(&buffer[..count])).map_err(ReadError::Write)? {
                return Ok(());
            }
            at += count as u64;
        }
        Ok(())
    }

    /// Behind the file, if nobody knows how much is missing there.
    fn open_end(&self) -> u64 {
        if self.missing.iter().any(|missing| missing.range.end == u64::MAX) { self.bytes + 1 } else { 0 }
    }

    fn unreadable(&self, source: io::Error) -> ReadError {
        ReadError::Read { path: self.path.clone(), source }
    }
}

/// The place of the `nth` newline, counted from 1. Counts all that it passes.
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
