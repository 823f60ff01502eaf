//! Programs that go through directories by themselves and delete what they find.

use crate::marks::{NAME, TREE, is_wild};
use crate::rules;
use crate::walk::ScriptWalk;

impl ScriptWalk<'_> {
    /// Deletes one file or one empty directory, which may be a name out of a listing.
    pub(super) fn delete_listed(&mut self, path: &str) {
        // A name out of the names in a directory that is such a name itself: the program goes through everything below.
        let parts: Vec<&str> = path.split('/').collect();
        let is_listed = |part: &&str| !part.is_empty() && part.chars().all(|letter| is_wild(letter) || letter == NAME);
        let first = parts.iter().position(is_listed).unwrap_or(parts.len());
        let below = parts.get(first..).unwrap_or(&[]);
        if below.len() > 1 && below.iter().all(is_listed) {
            let top = parts.get(..first).unwrap_or(&[]).join("/");
            let path = if first == 0 { TREE.to_string() } else { format!("{top}/{TREE}") };
            rules::deleted_one_by_one(self, &path);
        } else if path.contains(TREE) {
            rules::deleted_one_by_one(self, path);
        }
    }
}
