//! Entered lines on disk, one JSON string a line, readable by their owner alone.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use bashful_engine::make_directory;
use bashful_sys::plain;

use crate::model::MOST_HISTORY;

/// Size at which the file is written anew with its newest entries.
const LONGEST: u64 = 512 * 1024;

/// The file, which need not exist.
#[derive(Debug)]
pub(super) struct HistoryFile(pub(super) PathBuf);

impl HistoryFile {
    /// The entries, the oldest first. A line that is none is left out.
    pub(super) fn read(&self) -> Vec<String> {
        // Not as text: one byte that is none would lose every line.
        let bytes = plain::read(&self.0).unwrap_or_default();
        let lines = bytes.split(|byte| *byte == b'\n');
        let mut entries: Vec<String> = lines.filter_map(|line| serde_json::from_slice(line).ok()).collect();
        entries.drain(..entries.len().saturating_sub(MOST_HISTORY));
        entries
    }

    /// Adds an entry at the end. Several consoles may do so.
    pub(super) fn add(&self, entry: &str) -> io::Result<()> {
        let is_long = self.0.metadata().is_ok_and(|facts| facts.len() > LONGEST);
        let mut lines = if is_long { lines(&self.read())? } else { String::new() };
        lines.push_str(&line(entry)?);
        if is_long {
            let draft = self.0.with_extension("new");
            plain::write(&draft, lines.as_bytes())?;
            return std::fs::rename(&draft, &self.0);
        }
        self.open()?.write_all(lines.as_bytes())
    }

    fn open(&self) -> io::Result<std::fs::File> {
        let open = || plain::open_with(OpenOptions::new().append(true).create(true), &self.0);
        match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_directory(self.0.parent().unwrap_or(Path::new("/")))?;
                open()
            }
            file => file,
        }
    }
}

fn lines(entries: &[String]) -> io::Result<String> {
    entries.iter().map(|entry| line(entry)).collect()
}

fn line(entry: &str) -> io::Result<String> {
    Ok(serde_json::to_string(entry).map_err(io::Error::other)? + "\n")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn entries_come_back_and_only_their_owner_reads_them() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = HistoryFile(directory.path().join("state/console_history"));
        assert!(file.read().is_empty());
        file.add("make test").expect("it is written");
        file.add("echo one\necho two").expect("it is written");
        assert_eq!(file.read(), ["make test", "echo one\necho two"]);
        assert_eq!(file.0.metadata().expect("a file").permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn a_bad_byte_loses_its_own_line_alone() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = HistoryFile(directory.path().join("console_history"));
        plain::write(&file.0, b"\"one\"\n\"b\xffd\"\n\"two\"\n").expect("it is written");
        assert_eq!(file.read(), ["one", "two"]);
    }

    #[test]
    fn a_long_file_keeps_its_newest_entries() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = HistoryFile(directory.path().join("console_history"));
        let old = lines(&vec!["x".repeat(1000); 600]).expect("lines");
        plain::write(&file.0, old.as_bytes()).expect("it is written");
        file.add("newest").expect("it is written");
        let entries = file.read();
        assert_eq!((entries.len(), entries[499].as_str()), (500, "newest"));
        assert!(file.0.metadata().expect("a file").len() < old.len() as u64);
    }
}
