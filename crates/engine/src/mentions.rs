//! Finds withheld variables that a failed command mentions: probably the reason of its failure.

use memchr::memmem;

use crate::environment::Withheld;
use crate::window::Clip;

/// Names without an underscore that are shorter than this are words (`KEY`, `PASS`), and count only after a `$`.
const SHORTEST_NAME: usize = 8;

/// Beginning of the labels of [`Mask`](crate::mask::Mask).
const LABEL: &[u8] = b"[withheld: ";

/// Returns the names of withheld variables in a script or in the shown outputs, each once.
pub(crate) fn mentioned(withheld: &[Withheld], script: &[u8], shown: &[&Clip]) -> Vec<String> {
    let shown = shown.iter().flat_map(|clip| match clip {
        Clip::Whole(bytes) => [bytes.as_slice(), &[]],
        Clip::Cut { head, tail, .. } => [head.bytes.as_slice(), tail.bytes.as_slice()],
    });
    let texts: Vec<&[u8]> = shown.chain([script]).collect();
    let mut names = Vec::new();
    for secret in withheld.iter().filter(|secret| !secret.is_passed()) {
        let Some(name) = secret.name.to_str().filter(|name| !name.is_empty()) else { continue };
        if !names.iter().any(|known| known == name) && texts.iter().any(|text| mentions(text, name)) {
            names.push(name.to_owned());
        }
    }
    names
}

fn mentions(text: &[u8], name: &str) -> bool {
    let is_word = name.len() < SHORTEST_NAME && !name.contains('_');
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    memmem::find_iter(text, name.as_bytes()).any(|at| {
        let (before, behind) = (&text[..at], &text[at + name.len()..]);
        let stands_alone = !before.last().is_some_and(is_of_name) && !behind.first().is_some_and(is_of_name);
        let is_expanded = before.ends_with(b"$") || before.ends_with(b"${");
        stands_alone && !before.ends_with(LABEL) && (is_expanded || !is_word)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(script: &str, shown: &str, expected: &[&str]) {
        let withheld = ["OPENAI_API_KEY", "PASS"].map(|name| Withheld::new(name.into(), "value".into()));
        let clip = Clip::Whole(shown.as_bytes().to_vec());
        assert_eq!(mentioned(&withheld, script.as_bytes(), &[&clip]), expected, "{script} {shown}");
    }

    #[test]
    fn a_name_is_found_where_it_stands_alone() {
        check("curl -H \"Authorization: $OPENAI_API_KEY\"", "", &["OPENAI_API_KEY"]);
        check("python x.py", "KeyError: 'OPENAI_API_KEY'", &["OPENAI_API_KEY"]);
        check("echo $MY_OPENAI_API_KEY ${OPENAI_API_KEY_2}", "", &[]);
        check("true", "401 for [withheld: OPENAI_API_KEY]", &[]);
    }

    #[test]
    fn a_word_is_a_name_only_behind_a_dollar() {
        check("go test", "PASS", &[]);
        check("login ${PASS}", "", &["PASS"]);
    }
}
