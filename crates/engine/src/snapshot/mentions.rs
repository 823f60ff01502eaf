//! Finds the definitions of a snapshot that a script may use, for the guard.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use bashful_bash::mentioned_names;

/// Most bytes of definitions that are judged with a script: the guard has a budget.
const AT_MOST: usize = 64 * 1024;

/// The definitions of a snapshot, by name.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    lines: Vec<u8>,
    /// Beginning and end in the lines. An alias and a function may share a name.
    places: HashMap<Vec<u8>, Vec<(usize, usize)>>,
}

impl Definitions {
    /// Indexes the definitions in these lines; each place is a name, a beginning and an end.
    pub(super) fn new(lines: Vec<u8>, places: &[(String, usize, usize)]) -> Self {
        let mut by_name: HashMap<Vec<u8>, Vec<(usize, usize)>> = HashMap::new();
        for (name, begin, end) in places.iter().filter(|(_, begin, end)| begin <= end && *end <= lines.len()) {
            by_name.entry(name.clone().into_bytes()).or_default().push((*begin, *end));
        }
        Self { lines, places: by_name }
    }

    /// The definitions that a script mentions, and those that these mention, as lines to run before it; none if it
    /// mentions none. The guard finds out which of them the script really calls.
    pub(super) fn mentioned_in(&self, script: &str) -> Option<String> {
        let mut seen = HashSet::new();
        let mut found: Vec<(usize, usize)> = Vec::new();
        let mut names = mentioned_names(script);
        let mut size = 0;
        while let Some(name) = names.pop() {
            let Some(places) = self.places.get(name.as_bytes()) else { continue };
            if !seen.insert(name) {
                continue;
            }
            for (begin, end) in places {
                size += end - begin;
                if size > AT_MOST {
                    break;
                }
                found.push((*begin, *end));
                names.extend(mentioned_names(&self.text(*begin, *end)));
            }
        }
        if found.is_empty() {
            return None;
        }
        // In their order: functions were defined before aliases applied.
        found.sort_unstable();
        let lines: String = found.into_iter().map(|(begin, end)| self.text(begin, end)).collect();
        Some(lines + "shopt -s expand_aliases\n")
    }

    fn text(&self, begin: usize, end: usize) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.lines[begin..end])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_mentioned_comes_with_what_it_mentions() {
        let lines = b"one() { two; }\ntwo() { :; }\nthree() { :; }\nalias one='three x'\n".to_vec();
        let place = |name: &str, text: &str| {
            let begin = memchr::memmem::find(&lines, text.as_bytes()).expect("it is there");
            (name.to_owned(), begin, begin + text.len())
        };
        let places = [
            place("one", "one() { two; }\n"),
            place("two", "two() { :; }\n"),
            place("three", "three() { :; }\n"),
            place("one", "alias one='three x'\n"),
            ("beyond".to_owned(), 0, 10_000),
        ];
        let definitions = Definitions::new(lines.clone(), &places);
        let all = String::from_utf8([&lines[..], b"shopt -s expand_aliases\n"].concat()).expect("text");
        assert_eq!(definitions.mentioned_in("echo; if one; then x"), Some(all));
        assert_eq!(definitions.mentioned_in("x=$(two)").as_deref(), Some("two() { :; }\nshopt -s expand_aliases\n"));
        assert_eq!(definitions.mentioned_in("t\"w\"o").as_deref(), Some("two() { :; }\nshopt -s expand_aliases\n"));
        assert_eq!(definitions.mentioned_in("onetwo; beyond"), None);
    }
}
