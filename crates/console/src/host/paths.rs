//! Names in a directory, for completion.

use std::fs;
use std::path::{Path, PathBuf};

use crate::model::{PathName, PathWord};

/// Names that are read of one directory. Nobody completes among more.
const MOST: usize = 5000;

/// The names in the directory of a word. Names that are not UTF-8 cannot be typed, and are left out.
pub(super) fn names(word: &PathWord, here: &Path, home: Option<&Path>) -> Vec<PathName> {
    let directory = match (word.directory.strip_prefix("~/"), home) {
        (Some(below), Some(home)) => home.join(below),
        _ => here.join(PathBuf::from(&word.directory)),
    };
    let entries = fs::read_dir(directory).into_iter().flatten().take(MOST).flatten();
    let name = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok().filter(|name| name.starts_with(&word.name))?;
        Some(PathName { name, is_directory: entry.path().is_dir() })
    };
    entries.filter_map(name).collect()
}
