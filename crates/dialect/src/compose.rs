//! Puts a reply together from the output and the notices about it, within the limit that its dialect promises.
//!
//! Invariant: the text is at most [`BESIDE`] bytes longer than the limit. Output gives way before notices do, and the
//! engine has saved every output that may have to give way.

use std::borrow::Cow;

use bashful_engine::{ByteSize, Output};

use crate::text::add_line;
use bashful_render::visible_lines;

/// Bytes that a reply may have beyond the limit on its output: exit code, ranges, artifact.
pub(crate) const BESIDE: u64 = 200;

/// Smallest limit in bytes. Notices about cut output need this much.
const SMALLEST_LIMIT: u64 = 4096;

/// Bytes of notices that always fit beside the smaller clip of an output.
const NOTICES: usize = 2048;

/// The longest text of a reply whose output may take `limit` bytes.
pub(crate) fn longest(limit: ByteSize) -> usize {
    ByteSize(limit.0.max(SMALLEST_LIMIT).saturating_add(BESIDE)).in_memory()
}

/// A reply whose output may still have to be cut to fit.
pub(crate) struct Draft<'a> {
    pub(crate) output: &'a Output,
    pub(crate) stderr: Option<&'a Output>,
}

impl Draft<'_> {
    /// The text with the largest clip that fits. `write` puts the clip between the notices.
    pub(crate) fn fit(&self, write: impl Fn(&Output, Option<&Output>) -> String) -> String {
        self.fit_shown(write).0
    }

    /// Like [`fit`](Self::fit), and the output with the clip that the text shows.
    pub(crate) fn fit_shown(&self, write: impl Fn(&Output, Option<&Output>) -> String) -> (String, Cow<'_, Output>) {
        let text = write(self.output, self.stderr);
        let limit = self.output.limit;
        if text.len() <= longest(limit) {
            return (text, Cow::Borrowed(self.output));
        }
        let (output, stderr) = (self.output.narrowed(), self.stderr.map(Output::narrowed));
        (at_most(write(&output, stderr.as_ref()), limit), Cow::Owned(output))
    }
}

/// Cuts a text that is longer than a reply may be, and keeps its beginning. The last resort.
pub(crate) fn at_most(mut text: String, limit: ByteSize) -> String {
    let longest = longest(limit);
    if text.len() > longest {
        let cut = format!("\n[reply cut: {} bytes in all]", text.len());
        text.truncate(text.floor_char_boundary(longest - cut.len()));
        text.push_str(&cut);
    }
    text
}

/// The notices that fit beside an output, long ones shortened, with a count of the omitted ones at the end. Invisible
/// characters are escaped, because notices quote paths, scripts and process names.
pub(crate) fn fitting(notices: &[String]) -> Vec<String> {
    let notices: Vec<String> = notices.iter().map(|notice| visible_lines(notice)).collect();
    if notices.iter().map(String::len).sum::<usize>() <= NOTICES {
        return notices;
    }
    let each = NOTICES / 4;
    let mut room = NOTICES;
    let mut fitting = Vec::new();
    for notice in &notices {
        let short = if notice.len() > each { &notice[..notice.floor_char_boundary(each)] } else { notice };
        if short.len() > room {
            fitting.push(format!("{} more notices", notices.len() - fitting.len()));
            break;
        }
        room -= short.len();
        fitting.push(if short.len() < notice.len() { format!("{short}…") } else { notice.clone() });
    }
    fitting
}

/// Joins texts so that each begins on its own line.
pub(crate) fn lines(parts: impl IntoIterator<Item = String>) -> String {
    parts.into_iter().fold(String::new(), |mut text, part| {
        add_line(&mut text, &part);
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_that_fit_stay_as_they_are() {
        let notices = vec!["one".to_owned(), "two".to_owned()];
        assert_eq!(fitting(&notices), notices);
    }

    #[test]
    fn notices_that_do_not_fit_are_shortened_and_counted() {
        let notices: Vec<String> = (0..50).map(|number| format!("{number}{}", "é".repeat(1000))).collect();
        let fitting = fitting(&notices);
        assert!(fitting.iter().map(String::len).sum::<usize>() <= NOTICES + 64);
        assert!(fitting[0].starts_with("0é") && fitting[0].ends_with("é…"));
        assert_eq!(fitting.last().map(String::as_str), Some("46 more notices"));
    }

    #[test]
    fn a_reply_is_cut_between_characters_and_says_so() {
        let text = at_most("é".repeat(10_000), ByteSize(1));
        assert!(text.len() <= longest(ByteSize(1)) && text.ends_with("é\n[reply cut: 20000 bytes in all]"), "{text}");
        assert_eq!(at_most("short".to_owned(), ByteSize(1)), "short");
    }
}
