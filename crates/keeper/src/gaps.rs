//! Gaps: byte ranges missing from an output file, listed in a small file beside it.
//!
//! The first line is the version. One line for each range follows: its beginning, its end (`-` while unknown) and the
//! reason. The file is replaced by renaming, so a reader finds either the old or the new one. It is written before any
//! byte is removed, so after a crash it lists at most too much.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use bashful_sys::plain;

/// Version of the list. Bashful 0.1 writes none, which counts as 0 and reads the same.
const VERSION: u32 = 1;

/// Prefix of the first line. Bashful 0.1 cannot parse that line and skips it.
const VERSION_PREFIX: &str = "version ";

/// A byte range of an output file that is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Gap {
    /// The missing bytes, counted from 0, end excluded; the end is `u64::MAX` while it is unknown.
    pub range: Range<u64>,
    /// The reason, as people read it.
    pub why: String,
}

/// `bytes 512-1024 are missing: …`, the end excluded, as in a range that can be asked for.
impl fmt::Display for Gap {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.range {
            Range { start, end: u64::MAX } => write!(out, "bytes from {start} on are missing: {}", self.why),
            Range { start, end } => write!(out, "bytes {start}-{end} are missing: {}", self.why),
        }
    }
}

/// The file that lists the gaps of `file`.
pub fn sidecar(file: &Path) -> PathBuf {
    file.with_added_extension("gap")
}

/// Reads the gaps of `file`, in order; none without a list. Lines that cannot be parsed are skipped. For a list of a
/// newer version, all bytes count as missing, because nobody knows which are there.
pub fn load(file: &Path) -> Vec<Gap> {
    let text = plain::read_to_string(&sidecar(file)).unwrap_or_default();
    let version = text.lines().next().and_then(|line| line.strip_prefix(VERSION_PREFIX)?.parse().ok()).unwrap_or(0);
    if version > VERSION {
        let why = format!("a newer bashful wrote the list of gaps (version {version})");
        return vec![Gap { range: 0..u64::MAX, why }];
    }
    let mut gaps: Vec<_> = text.lines().filter_map(parse_gap).collect();
    gaps.sort_by_key(|gap| gap.range.start);
    gaps
}

/// Replaces the list of gaps of `file`.
pub fn save(file: &Path, gaps: &[Gap]) -> io::Result<()> {
    let place = sidecar(file);
    let draft = place.with_added_extension("new");
    let text: String =
        std::iter::once(format!("{VERSION_PREFIX}{VERSION}\n")).chain(gaps.iter().map(format_gap)).collect();
    let saved = plain::write(&draft, text.as_bytes()).and_then(|()| fs::rename(&draft, place));
    if saved.is_err() {
        // Half a file is useless, and takes room on a full disk.
        let _ = fs::remove_file(draft);
    }
    saved
}

fn format_gap(gap: &Gap) -> String {
    let Range { start, end } = gap.range;
    let end = if end == u64::MAX { "-".to_owned() } else { end.to_string() };
    format!("{start} {end} {}\n", gap.why.replace('\n', " "))
}

fn parse_gap(line: &str) -> Option<Gap> {
    let mut words = line.splitn(3, ' ');
    let start = words.next()?.parse().ok()?;
    let end = match words.next()? {
        "-" => u64::MAX,
        end => end.parse().ok()?,
    };
    (start < end).then(|| Gap { range: start..end, why: words.next().unwrap_or("unknown reason").to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_loaded_and_nonsense_is_passed_over() {
        let directory = tempfile::tempdir().expect("a directory");
        let artifact = directory.path().join("1");
        assert_eq!(load(&artifact), []);
        let missing = [
            Gap { range: 10..20, why: "too large".to_owned() },
            Gap { range: 30..u64::MAX, why: "disk full".to_owned() },
        ];
        save(&artifact, &missing).expect("it is saved");
        assert_eq!(load(&artifact), missing);
        assert_eq!(missing[0].to_string(), "bytes 10-20 are missing: too large");
        assert_eq!(missing[1].to_string(), "bytes from 30 on are missing: disk full");
        fs::write(sidecar(&artifact), "x\n5 4 x\n\n1 2\n-1 9 x\n").expect("it is written");
        assert_eq!(load(&artifact), [Gap { range: 1..2, why: "unknown reason".to_owned() }]);
    }

    #[test]
    fn ranges_of_another_version_are_not_guessed_at() {
        let directory = tempfile::tempdir().expect("a directory");
        let artifact = directory.path().join("1");
        fs::write(sidecar(&artifact), "10 20 too large\n").expect("it is written as by bashful 0.1");
        assert_eq!(load(&artifact), [Gap { range: 10..20, why: "too large".to_owned() }]);
        fs::write(sidecar(&artifact), "version 2\n10 20 30 too large\n").expect("it is written as by a newer one");
        let [Gap { range, why }] = load(&artifact).try_into().expect("one range");
        assert_eq!(range, 0..u64::MAX);
        assert!(why.contains("newer bashful"), "{why}");
    }
}
