//! Puts a reply together from the output and the notices about it, within the limit that its dialect promises.
//!
//! Invariant: the text is at most [`BESIDE`] bytes longer than the limit. Output gives way before notices do, and the
//! engine has saved every output that may have to give way.

use std::borrow::Cow;

use bashful_engine::{ByteSize, Output};

use crate::text::add_line;
use crate::visible::visible_lines;

/// Bytes of a reply beyond the limit on its output: its end, its exit code, where the rest is.
pub(crate) const BESIDE: u64 = 200;

/// A limit counts for this much at least: the notices about output that was cut need it.
const SMALLEST_LIMIT: u64 = 4096;

/// Bytes of notices that always fit beside the smaller clip of an output.
const NOTICES: usize = 2048;

/// The longest text of a reply whose output may take `limit` bytes.
pub(crate) fn longest(limit: ByteSize) -> usize {
    ByteSize(limit.0.max(SMALLEST_LIMIT).saturating_add(BESIDE)).in_memory()
}

/// A reply before its output is known to fit.
pub(crate) struct Draft<'a> {
    pub(crate) output: &'a Output,
    pub(crate) stderr: Option<&'a Output>,
}

impl Draft<'_> {
    /// The text with the largest clip that fits. `write` puts the output, or what is shown of it, between the notices.
    pub(crate) fn fit(&self, write: impl Fn(&Output, Option<&Output>) -> String) -> String {
        self.fit_shown(write).0
    }

    /// The same, with the output as the text shows it.
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

/// The text, cut where it is longer than a reply may be. The last resort: it keeps the beginning.
pub(crate) fn at_most(mut text: String, limit: ByteSize) -> String {
    let longest = longest(limit);
    if text.len() > longest {
        let cut = format!("\n[reply cut: {} bytes in all]", text.len());
        text.truncate(text.floor_char_boundary(longest - cut.len()));
        text.push_str(&cut);
    }
    text
}

/// The notices that fit beside an output, the longest ones shortened. One that says how many are left out ends them.
/// Names of processes, paths and parts of scripts in them are made visible.
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

/// One below the other, each as it is.
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
