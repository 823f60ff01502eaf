//! A parser for JSON with comments and trailing commas. It keeps byte offsets, so that a text can be changed in one
//! place.

use std::ops::Range;

use serde_json::{Map, Value};
use thiserror::Error;

/// Deepest nesting. The parser recurses on the stack.
const DEEPEST: usize = 100;

/// The offset at which a text is invalid.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("line {line}, column {column}: {what}")]
pub(crate) struct Wrong {
    line: usize,
    column: usize,
    what: String,
}

/// A parsed text.
#[derive(Debug)]
pub(super) struct Document {
    /// Of duplicate names the last one counts.
    pub(super) value: Value,
    /// None if the text is a single string, number or word.
    pub(super) group: Option<Group>,
}

/// The place of an object or a list in the text.
#[derive(Debug)]
pub(super) struct Group {
    pub(super) kind: Kind,
    /// Offset of the bracket that opens it.
    pub(super) open: usize,
    /// Offset of the bracket that closes it.
    pub(super) close: usize,
    pub(super) members: Vec<Member>,
}

/// Decides between braces with names, and square brackets without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Object,
    List,
}

/// The place of one value in its group, with its name if the group is an object.
#[derive(Debug)]
pub(super) struct Member {
    /// Empty in a list.
    pub(super) name: String,
    pub(super) start: usize,
    pub(super) value: Range<usize>,
    /// None if the value is a string, a number or a word.
    pub(super) group: Option<Group>,
    /// Offset of the comma behind it.
    pub(super) comma: Option<usize>,
}

/// Parses a text; none if it has only white space and comments.
pub(super) fn read(text: &str) -> Result<Option<Document>, Wrong> {
    let mut reader = JsonParser { text, at: 0 };
    let read = reader.document();
    read.map_err(|what| {
        let before = &text[..text.floor_char_boundary(reader.at)];
        let line = before.rsplit('\n').next().unwrap_or_default();
        Wrong { line: 1 + before.matches('\n').count(), column: 1 + line.chars().count(), what }
    })
}

/// Skips white space and comments on the same line, and returns the offset after them.
pub(super) fn same_line(text: &str, from: usize) -> usize {
    let mut reader = JsonParser { text, at: from };
    let mut end = from;
    loop {
        reader.at += text[reader.at..].len() - text[reader.at..].trim_start_matches([' ', '\t']).len();
        let begin = reader.at;
        match reader.comment() {
            Ok(true) if !text[begin..reader.at].contains('\n') => end = reader.at,
            _ => return end,
        }
    }
}

struct JsonParser<'a> {
    text: &'a str,
    at: usize,
}

impl JsonParser<'_> {
    fn document(&mut self) -> Result<Option<Document>, String> {
        self.space()?;
        if self.at == self.text.len() {
            return Ok(None);
        }
        let (value, group) = self.value(0)?;
        self.space()?;
        if self.at < self.text.len() {
            return Err("something comes behind the end".to_owned());
        }
        Ok(Some(Document { value, group }))
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn next(&self) -> Option<u8> {
        self.rest().bytes().next()
    }

    fn takes(&mut self, byte: u8) -> bool {
        let is_it = self.next() == Some(byte);
        self.at += usize::from(is_it);
        is_it
    }

    /// Skips white space and comments.
    fn space(&mut self) -> Result<(), String> {
        loop {
            self.at += self.rest().len() - self.rest().trim_start_matches([' ', '\t', '\n', '\r']).len();
            if !self.comment()? {
                return Ok(());
            }
        }
    }

    /// Skips a comment, if there is one.
    fn comment(&mut self) -> Result<bool, String> {
        if self.rest().starts_with("//") {
            let line = self.rest().find(['\n', '\r']);
            self.at += line.unwrap_or(self.rest().len());
            return Ok(true);
        }
        if self.rest().starts_with("/*") {
            let end = self.rest()[2..].find("*/").ok_or("a comment has no end")?;
            self.at += end + 4;
            return Ok(true);
        }
        Ok(false)
    }

    fn value(&mut self, depth: usize) -> Result<(Value, Option<Group>), String> {
        if depth > DEEPEST {
            return Err(format!("it is nested more than {DEEPEST} deep"));
        }
        match self.next() {
            Some(b'{') => self.object(depth).map(|(value, group)| (value, Some(group))),
            Some(b'[') => self.list(depth).map(|(value, group)| (value, Some(group))),
            Some(b'"') => Ok((Value::String(self.string()?), None)),
            _ => Ok((self.scalar()?, None)),
        }
    }

    fn object(&mut self, depth: usize) -> Result<(Value, Group), String> {
        let open = self.at;
        self.at += 1;
        let (mut values, mut members) = (Map::new(), Vec::new());
        loop {
            self.space()?;
            let close = self.at;
            if self.takes(b'}') {
                return Ok((Value::Object(values), Group { kind: Kind::Object, open, close, members }));
            }
            if members.last().is_some_and(|last: &Member| last.comma.is_none()) {
                return Err("a comma or `}` is missing".to_owned());
            }
            let start = self.at;
            let name = self.string()?;
            self.space()?;
            if !self.takes(b':') {
                return Err("a colon is missing".to_owned());
            }
            self.space()?;
            let (value, member) = self.member(name.clone(), Some(start), depth)?;
            values.insert(name, value);
            members.push(member);
        }
    }

    fn list(&mut self, depth: usize) -> Result<(Value, Group), String> {
        let open = self.at;
        self.at += 1;
        let (mut values, mut members) = (Vec::new(), Vec::new());
        loop {
            self.space()?;
            let close = self.at;
            if self.takes(b']') {
                return Ok((Value::Array(values), Group { kind: Kind::List, open, close, members }));
            }
            if members.last().is_some_and(|last: &Member| last.comma.is_none()) {
                return Err("a comma or `]` is missing".to_owned());
            }
            let (value, member) = self.member(String::new(), None, depth)?;
            values.push(value);
            members.push(member);
        }
    }

    /// Parses a value and the comma after it. Without a name, the member starts with its value.
    fn member(&mut self, name: String, start: Option<usize>, depth: usize) -> Result<(Value, Member), String> {
        let begin = self.at;
        let (value, group) = self.value(depth + 1)?;
        let end = self.at;
        self.space()?;
        let comma = Some(self.at).filter(|_| self.takes(b','));
        Ok((value, Member { name, start: start.unwrap_or(begin), value: begin..end, group, comma }))
    }

    fn string(&mut self) -> Result<String, String> {
        let bytes = self.rest().as_bytes();
        if bytes.first() != Some(&b'"') {
            return Err("a name in quotes is missing".to_owned());
        }
        let mut end = 1;
        while let Some(byte) = bytes.get(end) {
            match byte {
                b'"' => {
                    let read =
                        serde_json::from_str(&self.rest()[..=end]).map_err(|_| "this is no string".to_owned())?;
                    self.at += end + 1;
                    return Ok(read);
                }
                b'\\' => end += 2,
                _ => end += 1,
            }
        }
        Err("a string has no end".to_owned())
    }

    /// A number, or one of the three words.
    fn scalar(&mut self) -> Result<Value, String> {
        let end = self.rest().find(|char: char| !(char.is_ascii_alphanumeric() || "+-.".contains(char)));
        let word = &self.rest()[..end.unwrap_or(self.rest().len())];
        let value = serde_json::from_str(word).map_err(|_| "a value is missing".to_owned())?;
        self.at += word.len();
        Ok(value)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn comments_and_commas_are_taken_as_people_write_them() {
        let text = "// a\n{ /* b */ \"x\": [1, 2.5e3, true,], // c\n \"y\\\"\": {\"z\": null,}, }\n";
        let document = read(text).expect("JSON").expect("something");
        assert_eq!(document.value, json!({ "x": [1, 2500.0, true], "y\"": { "z": null } }));
        let object = document.group.expect("an object");
        assert_eq!(&text[object.members[0].value.clone()], "[1, 2.5e3, true,]");
        assert_eq!(&text[object.close..], "}\n");
        let list = object.members[0].group.as_ref().expect("a list");
        assert_eq!((list.kind, &text[list.members[1].value.clone()]), (Kind::List, "2.5e3"));
    }

    #[test]
    fn what_is_no_json_is_refused_where_it_is() {
        for (text, place) in [
            ("{", "line 1, column 2: a name"),
            ("{\n  \"a\": 1\n  \"b\": 2\n}", "line 3, column 3: a comma"),
            ("{\"a\": }", "line 1, column 7: a value"),
            ("{\"a\" 1}", "line 1, column 6: a colon"),
            ("{,}", "line 1, column 2: a name"),
            ("[1 2]", "line 1, column 4: a comma"),
            ("{} x", "line 1, column 4: something"),
            ("{\"a\": \"b", "line 1, column 7: a string has no end"),
            ("/* x", "line 1, column 1: a comment"),
            ("{\"a\": 01}", "line 1, column 7: a value"),
            ("{'a': 1}", "line 1, column 2: a name"),
            ("{\"a\": \"\\", "line 1, column 7: a string has no end"),
        ] {
            let wrong = read(text).expect_err(text).to_string();
            assert!(wrong.starts_with(place), "{text}: {wrong}");
        }
        let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
        assert!(read(&deep).expect_err("too deep").to_string().contains("nested"));
    }

    #[test]
    fn a_text_with_nothing_in_it_says_nothing() {
        assert!(read(" // only this\r\n\t/* and this */").expect("fine").is_none());
    }
}
