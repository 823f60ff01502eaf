//! Which definitions of a snapshot a script may use, for those who judge it.

use std::collections::{HashMap, HashSet};

/// More is not looked through with a script: who judges it has a budget.
const AT_MOST: usize = 64 * 1024;

/// The definitions of a snapshot, by name.
#[derive(Debug, Default)]
pub(super) struct Words {
    lines: Vec<u8>,
    /// Where in the lines; there may be an alias and a function of one name.
    places: HashMap<Vec<u8>, Vec<(usize, usize)>>,
}

impl Words {
    /// The definitions in these lines, of which each place is a name, a beginning and an end.
    pub(super) fn new(lines: Vec<u8>, places: &[(String, usize, usize)]) -> Self {
        let mut by_name: HashMap<Vec<u8>, Vec<(usize, usize)>> = HashMap::new();
        for (name, begin, end) in places.iter().filter(|(_, begin, end)| begin <= end && *end <= lines.len()) {
            by_name.entry(name.clone().into_bytes()).or_default().push((*begin, *end));
        }
        Self { lines, places: by_name }
    }

    /// The definitions that a script mentions, and those that these mention, as lines to put before it; none if it mentions
    /// none. Mentioning is not using: that is for those to tell who understand the script.
    pub(super) fn mentioned_in(&self, script: &[u8]) -> Option<Vec<u8>> {
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        let mut to_look_at = vec![script];
        let mut size = 0;
        while let Some(text) = to_look_at.pop() {
            for word in words(text) {
                let Some(places) = self.places.get(word).filter(|_| seen.insert(word)) else { continue };
                for (begin, end) in places {
                    size += end - begin;
                    if size > AT_MOST {
                        break;
                    }
                    found.push((*begin, *end));
                    to_look_at.push(&self.lines[*begin..*end]);
                }
            }
        }
        if found.is_empty() {
            return None;
        }
        // In their order: functions were read before aliases applied.
        found.sort_unstable();
        let mut lines = Vec::new();
        for (begin, end) in found {
            lines.extend(&self.lines[begin..end]);
        }
        lines.extend(b"shopt -s expand_aliases\n");
        Some(lines)
    }
}

/// Whatever stands between blanks, quotes and operators.
fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| b" \t\r\n;&|()<>{}\"'`$\\=".contains(byte)).filter(|word| !word.is_empty())
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
        let words = Words::new(lines.clone(), &places);
        let all = [&lines[..], b"shopt -s expand_aliases\n"].concat();
        assert_eq!(words.mentioned_in(b"echo; if one; then x"), Some(all));
        assert_eq!(words.mentioned_in(b"x=$(two)"), Some(b"two() { :; }\nshopt -s expand_aliases\n".to_vec()));
        assert_eq!(words.mentioned_in(b"onetwo; beyond"), None);
    }
}
