//! The sizes that the terminal of a job had, and from which byte of its output on.

use std::path::{Path, PathBuf};

use bashful_keeper::protocol::SIZES;

use crate::terminal::TerminalSize;

/// The sizes in a job's directory, read again when the file has grown.
#[derive(Debug)]
pub(super) struct Sizes {
    path: PathBuf,
    length: u64,
    /// In the order in which the keeper has written them.
    changes: Vec<(u64, TerminalSize)>,
}

impl Sizes {
    pub(super) fn new(job: &Path) -> Self {
        let mut sizes = Self { path: job.join(SIZES), length: 0, changes: Vec::new() };
        sizes.refresh();
        sizes
    }

    /// Reads the file again if it has grown.
    pub(super) fn refresh(&mut self) {
        let length = std::fs::metadata(&self.path).map_or(0, |facts| facts.len());
        if length != self.length {
            self.length = length;
            let text = bashful_sys::plain::read(&self.path).unwrap_or_default();
            self.changes = String::from_utf8_lossy(&text).lines().filter_map(parse).collect();
        }
    }

    /// The size for the byte at this offset; the usual one if nobody has written it down.
    pub(super) fn at(&self, offset: u64) -> TerminalSize {
        let changes = self.changes.iter().rev();
        changes.filter(|(from, _)| *from <= offset).map(|(_, size)| *size).next().unwrap_or_default()
    }

    /// The offset behind this one at which the size changes next.
    pub(super) fn next_change(&self, offset: u64) -> Option<u64> {
        self.changes.iter().map(|(from, _)| *from).find(|from| *from > offset)
    }

    /// The size that the terminal has now.
    pub(super) fn last(&self) -> TerminalSize {
        self.changes.last().map(|(_, size)| *size).unwrap_or_default()
    }
}

fn parse(line: &str) -> Option<(u64, TerminalSize)> {
    let mut words = line.split(' ');
    let offset = words.next()?.parse().ok()?;
    Some((offset, TerminalSize::new(words.next()?.parse().ok()?, words.next()?.parse().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_holds_from_its_offset_to_the_next_and_damaged_lines_are_passed_over() {
        let directory = tempfile::tempdir().expect("a directory");
        let text = "0 80 24\n100 100 30\nnonsense\n100 90 30\n200 1 1\n";
        std::fs::write(directory.path().join(SIZES), text).expect("it is written");
        let sizes = Sizes::new(directory.path());
        let columns_rows = |size: TerminalSize| (size.columns(), size.rows());
        assert_eq!(
            [0, 99, 100, 5000].map(|offset| columns_rows(sizes.at(offset))),
            [(80, 24), (80, 24), (90, 30), (20, 5)]
        );
        assert_eq!([0, 100, 200].map(|offset| sizes.next_change(offset)), [Some(100), Some(200), None]);
        assert_eq!(columns_rows(sizes.last()), (20, 5));
    }
}
