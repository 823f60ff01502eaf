//! A parsed JSON text with comments and trailing commas, and the places of everything in it.
//!
//! The library's syntax tree that can be changed is not used: it breaks objects of one line into several, drops blank
//! lines, and takes the comments beside a removed member with it.

use jsonc_parser::ast::{Array, Object, Value};
use jsonc_parser::common::{Range, Ranged};
use jsonc_parser::errors::ParseErrorKind;
use jsonc_parser::tokens::{Token, TokenAndRange};
use jsonc_parser::{CollectOptions, CommentCollectionStrategy, ParseOptions, parse_to_ast};
use serde_json::Map;

use super::edit::{EditError, without_mark};

/// JSON as editors and agents read it: comments and trailing commas, and nothing else of JSON5.
const DIALECT: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
    allow_bare_decimal_point_numbers: false,
    allow_non_finite_numbers: false,
    allow_extended_string_escapes: false,
};

/// A parsed text.
pub(super) struct Document<'a> {
    /// The byte order mark, if there is one.
    pub(super) mark: &'a str,
    /// The text behind the mark. All offsets count from its beginning.
    pub(super) body: &'a str,
    /// None if the text has only white space and comments.
    root: Option<Value<'a>>,
    /// Comments are among them.
    tokens: Vec<TokenAndRange<'a>>,
}

/// The place of an object or a list.
pub(super) struct Group {
    /// Offset of the bracket that opens it.
    pub(super) open: usize,
    /// Offset of the bracket that closes it.
    pub(super) close: usize,
    pub(super) members: Vec<Member>,
}

/// The place of one value in its group, with its name if the group is an object.
pub(super) struct Member {
    pub(super) start: usize,
    pub(super) end: usize,
    /// Offset of the comma behind it.
    pub(super) comma: Option<usize>,
}

impl<'a> Document<'a> {
    pub(super) fn parse(text: &'a str) -> Result<Self, EditError> {
        let (mark, body) = without_mark(text);
        let collect = CollectOptions { comments: CommentCollectionStrategy::AsTokens, tokens: true };
        let parsed = parse_to_ast(body, &collect, &DIALECT).map_err(|error| {
            let is_cut_off =
                matches!(error.kind(), ParseErrorKind::UnterminatedObject | ParseErrorKind::UnterminatedArray);
            let place = if is_cut_off { body.len() } else { error.range().start };
            let mut what = error.kind().to_string();
            what[..1].make_ascii_lowercase();
            wrong(body, place, &what)
        })?;
        let tokens = parsed.tokens.unwrap_or_default();
        // The library accepts line breaks in strings; the clients refuse them.
        let broken = tokens.iter().find(|token| {
            matches!(token.token, Token::String(_)) && token.range.text(body).contains(|char| char < ' ')
        });
        match broken {
            Some(string) => Err(wrong(body, string.range.start, "control character in a string")),
            None => Ok(Self { mark, body, root: parsed.value, tokens }),
        }
    }

    /// The value of the text; an empty object for an empty text. Of duplicate names the last one counts.
    pub(super) fn value(&self) -> serde_json::Value {
        self.root.clone().map_or_else(|| Map::new().into(), Into::into)
    }

    /// The object that is the whole text; none if the text is empty.
    pub(super) fn root(&self) -> Result<Option<&Object<'a>>, EditError> {
        self.root.as_ref().map(|root| object(root, "the whole")).transpose()
    }

    /// The value at the end of a path, if it is there.
    pub(super) fn at(&self, path: &[&str]) -> Result<Option<&Value<'a>>, EditError> {
        let Some(root) = self.root()? else { return Ok(None) };
        match descend(root, path)? {
            (within, [name]) => only(within, name),
            _ => Ok(None),
        }
    }

    /// The place of an object.
    pub(super) fn object(&self, object: &Object<'_>) -> Group {
        self.group(object.range, object.properties.iter().map(|property| property.range))
    }

    /// The place of a list.
    pub(super) fn list(&self, list: &Array<'_>) -> Group {
        self.group(list.range, list.elements.iter().map(Ranged::range))
    }

    fn group(&self, whole: Range, members: impl Iterator<Item = Range>) -> Group {
        let comma = |end| {
            let next = self.tokens_from(end).iter().find(|token| !is_comment(token))?;
            Some(next.range.start).filter(|_| next.token == Token::Comma)
        };
        let members = members.map(|Range { start, end }| Member { start, end, comma: comma(end) });
        Group { open: whole.start, close: whole.end - 1, members: members.collect() }
    }

    /// The end of the comments that follow a place on its line; the place itself if there are none.
    pub(super) fn comments_end(&self, from: usize) -> usize {
        let comments = self.tokens_from(from).iter().take_while(|token| is_comment(token));
        let ends = comments.map(|comment| comment.range.end);
        ends.take_while(|end| !self.body[from..*end].contains(['\n', '\r'])).last().unwrap_or(from)
    }

    fn tokens_from(&self, place: usize) -> &[TokenAndRange<'a>] {
        &self.tokens[self.tokens.partition_point(|token| token.range.start < place)..]
    }
}

fn wrong(body: &str, place: usize, what: &str) -> EditError {
    let before = &body[..place];
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count());
    EditError::Json(format!("line {}, column {}: {what}", 1 + before.matches('\n').count(), 1 + column))
}

/// Follows a path as far as objects exist. Returns the innermost object and the remaining names, at least one.
pub(super) fn descend<'a, 'b, 'c>(
    root: &'c Object<'a>,
    path: &'b [&'b str],
) -> Result<(&'c Object<'a>, &'b [&'b str]), EditError> {
    let (mut within, mut missing) = (root, path);
    while let [name, rest @ ..] = missing
        && !rest.is_empty()
        && let Some(member) = only(within, name)?
    {
        within = object(member, name)?;
        missing = rest;
    }
    Ok((within, missing))
}

/// The value of the one member of this name.
fn only<'a, 'c>(object: &'c Object<'a>, name: &str) -> Result<Option<&'c Value<'a>>, EditError> {
    let mut named = object.properties.iter().filter(|property| property.name.as_str() == name);
    let first = named.next().map(|property| &property.value);
    if named.next().is_some() { Err(EditError::Twice(name.to_owned())) } else { Ok(first) }
}

fn object<'a, 'c>(value: &'c Value<'a>, name: &str) -> Result<&'c Object<'a>, EditError> {
    value.as_object().ok_or_else(|| EditError::NotAGroup(name.to_owned()))
}

fn is_comment(token: &TokenAndRange<'_>) -> bool {
    matches!(token.token, Token::CommentLine(_) | Token::CommentBlock(_))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_commas_are_taken_as_people_write_them() {
        let text = "// a\n{ /* b */ \"x\": [1, 2.5e3, true,], // c\n \"y\\\"\": {\"z\": null,}, }\n";
        let document = Document::parse(text).expect("JSON");
        assert_eq!(document.value(), json!({ "x": [1, 2500.0, true], "y\"": { "z": null } }));
        let list = document.at(&["x"]).expect("an object").expect("a list");
        assert_eq!(list.text(text), "[1, 2.5e3, true,]");
        let places = document.list(list.as_array().expect("a list"));
        assert_eq!(&text[places.members[1].start..places.members[1].end], "2.5e3");
        assert_eq!(places.members[2].comma, Some(places.close - 1));
    }

    #[test]
    fn what_is_no_json_is_refused_where_it_is() {
        for (text, place) in [
            ("{", "line 1, column 2: unterminated object"),
            ("{\n  \"a\": [\n", "line 3, column 1: unterminated array"),
            ("{\n  \"a\": 1\n  \"b\": 2\n}", "line 2, column 9: expected comma"),
            ("{\"a\": }", "line 1, column 7: unexpected close brace"),
            ("{\"a\" 1}", "line 1, column 6: expected colon"),
            ("{,}", "line 1, column 2: unexpected token"),
            ("[1 2]", "line 1, column 3: expected comma"),
            ("{} x", "line 1, column 4: text cannot contain more"),
            ("{\"a\": \"b", "line 1, column 7: unterminated string"),
            ("/* x", "line 1, column 1: unterminated comment"),
            ("{\"a\": 01}", "line 1, column 8: expected comma"),
            ("{'a': 1}", "line 1, column 2: single-quoted"),
            ("{a: 1}", "line 1, column 2: expected string"),
            ("{\"a\": \"\\", "line 1, column 7: unterminated string"),
            ("{\"é\": \"b\nc\"}", "line 1, column 7: control character"),
        ] {
            let wrong = Document::parse(text).err().expect(text).to_string();
            assert!(wrong.starts_with(&format!("it is not JSON: {place}")), "{text}: {wrong}");
        }
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        assert!(Document::parse(&deep).err().expect("too deep").to_string().contains("nesting"));
    }

    #[test]
    fn a_text_with_nothing_in_it_says_nothing() {
        assert!(Document::parse(" // only this\r\n\t/* and this */").expect("fine").root.is_none());
    }
}
