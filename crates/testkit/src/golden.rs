//! Golden files: expected texts that no change may touch unnoticed.

use std::path::Path;

/// Compares a text with its golden file, line by line. `GOLDEN=write` in the environment rewrites the file first:
/// review the difference before committing it.
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
