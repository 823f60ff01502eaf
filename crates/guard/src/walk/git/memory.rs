//! The texts, names and trees that the script has put into git, so that they are known when git prints them or takes them back.

use std::collections::HashMap;

use crate::marks::{FRESH, SOME};

/// The most texts, and the most names, that are remembered. Later ones are forgotten.
const MOST: usize = 64;

/// The tree without any file, which every repository knows.
pub(crate) const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";

/// A branch or a tag that the script has made.
#[derive(Debug, Clone)]
pub(super) struct KnownRef {
    /// As in `refs/heads/main`.
    pub(super) name: String,
    /// The message of a tag.
    pub(super) message: Option<String>,
    /// The object that it names, as the script spells it.
    pub(super) target: String,
}

/// What the script has put into git.
#[derive(Debug, Default)]
pub(crate) struct GitMemory {
    /// Texts of objects. The number of one is part of the name that [`Self::store`] gives it.
    objects: Vec<String>,
    /// Messages of commits, the last one last.
    pub(super) messages: Vec<String>,
    /// Texts of notes.
    pub(super) notes: Vec<String>,
    /// Messages of stashes.
    pub(super) stashes: Vec<String>,
    pub(super) refs: Vec<KnownRef>,
    /// The current branch, if the script has made it or gone to it.
    pub(super) branch: Option<String>,
    /// Hooks that have begun and not ended: a hook may run a command that runs it again.
    pub(super) open_hooks: Vec<String>,
    /// The runs of each hook so far, by its text.
    pub(super) hook_runs: HashMap<String, usize>,
    /// Branches of remotes that the script has deleted.
    pub(crate) deleted_branches: Vec<String>,
    /// The script has changed commits of a branch.
    pub(crate) has_rewritten: bool,
    /// The files here that the script has taken away, by kind.
    pub(crate) gone: GoneFiles,
}

/// The kinds of files that are gone from a working directory, or unknown to git.
#[derive(Debug, Default)]
pub(crate) struct GoneFiles {
    /// The directory that this is about.
    pub(crate) directory: String,
    pub(crate) tracked: bool,
    pub(crate) untracked: bool,
    /// The index holds no file, so that all of them are untracked.
    pub(crate) index: bool,
}

impl GitMemory {
    /// Keeps a text as an object, and returns a name for it: unknown but for a number.
    pub(super) fn store(&mut self, text: &str) -> String {
        let at = self.objects.iter().position(|known| known == text).unwrap_or_else(|| {
            if self.objects.len() < MOST {
                self.objects.push(text.to_owned());
            }
            self.objects.len() - 1
        });
        format!("{SOME}{at:07x}")
    }

    /// The text of an object by the name that [`Self::store`] has given it.
    pub(super) fn object(&self, name: &str) -> Option<&String> {
        let (_, number) = name.rsplit_once(SOME)?;
        let number = number.get(..7).and_then(|number| usize::from_str_radix(number, 16).ok())?;
        self.objects.get(number)
    }

    pub(super) fn note_message(&mut self, message: String, amends: bool) {
        if amends {
            self.messages.pop();
        }
        if self.messages.len() < MOST {
            self.messages.push(message);
        }
    }

    /// Notes a branch or a tag. The last one of a name counts.
    pub(super) fn note_ref(&mut self, name: String, target: &str, message: Option<String>) {
        self.refs.retain(|known| known.name != name);
        if self.refs.len() < MOST {
            self.refs.push(KnownRef { name, message, target: target.to_owned() });
        }
    }

    /// The object behind a name that the script has made, as far as it is known; otherwise the name.
    pub(crate) fn resolved<'n>(&'n self, name: &'n str) -> &'n str {
        let found = self.refs.iter().rev().find(|known| known.name == name || short_name(&known.name) == name);
        found.map_or(name, |known| &known.target)
    }

    /// True if a name means a tree that holds every new file. The third parent of a stash does.
    pub(crate) fn holds_everything(&self, name: &str) -> bool {
        let (base, parent) = name.rsplit_once('^').unwrap_or((name, ""));
        let is_stash = base.starts_with("stash") || base.starts_with("refs/stash");
        is_stash && parent.starts_with('3') || self.resolved(name).contains(FRESH)
    }

    /// True if a name means a tree without files.
    pub(crate) fn is_empty_tree(&self, name: &str) -> bool {
        self.resolved(name).contains(EMPTY_TREE)
    }

    /// Every text that git may print again.
    pub(super) fn all_texts(&self) -> String {
        let messages = self.refs.iter().filter_map(|known| known.message.as_ref());
        let texts = self.objects.iter().chain(&self.messages).chain(&self.notes).chain(&self.stashes).chain(messages);
        texts.map(String::as_str).collect::<Vec<_>>().join("\n")
    }

    /// The state of the files in a directory, which begins anew in another one.
    pub(crate) fn files_in(&mut self, directory: &str) -> &mut GoneFiles {
        if self.gone.directory != directory {
            self.gone = GoneFiles { directory: directory.to_owned(), ..GoneFiles::default() };
        }
        &mut self.gone
    }
}

/// A name without `refs/heads/` and its like.
pub(super) fn short_name(name: &str) -> &str {
    ["refs/heads/", "refs/tags/", "refs/remotes/", "refs/"]
        .iter()
        .find_map(|kind| name.strip_prefix(kind))
        .unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_found_by_the_name_it_was_given() {
        let mut memory = GitMemory::default();
        let (first, second) = (memory.store("a"), memory.store("b"));
        assert_eq!(memory.object(&first).map(String::as_str), Some("a"));
        assert_eq!(memory.object(&second).map(String::as_str), Some("b"));
        assert_eq!(memory.object("main"), None);
    }

    #[test]
    fn the_last_of_several_refs_of_one_name_counts() {
        let mut memory = GitMemory::default();
        memory.note_ref("refs/heads/x".to_owned(), "one", None);
        memory.note_ref("refs/heads/x".to_owned(), EMPTY_TREE, None);
        assert_eq!(memory.resolved("x"), EMPTY_TREE);
        assert!(memory.is_empty_tree("refs/heads/x"));
        assert!(memory.holds_everything("stash@{0}^3"));
        assert!(!memory.holds_everything("stash@{0}"));
    }
}
