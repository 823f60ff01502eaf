//! Texts that are kept in files, so that no change of them goes unnoticed.

use std::path::Path;

/// Compares a text with the file that keeps it, line by line. With `GOLDEN=write` in the environment the file is written first:
/// look at the difference before it is committed.
///
/// # Panics
///
/// If the two differ.
#[track_caller]
pub fn check_golden(path: &Path, text: &str) {
    if std::env::var_os("GOLDEN").is_some_and(|wish| wish == "write") {
        std::fs::write(path, text).expect("it can be written");
    }
    let golden = std::fs::read_to_string(path).unwrap_or_default();
    for (number, (is, was)) in text.lines().zip(golden.lines()).enumerate() {
        assert_eq!(is, was, "line {} of {}", number + 1, path.display());
    }
    assert_eq!(text.lines().count(), golden.lines().count(), "{}", path.display());
}
