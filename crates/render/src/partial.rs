//! The arguments of a call that a model is still writing, as far as they have arrived.
//!
//! For display only: a command must never be run from here. The reader guesses where the text breaks off, and takes
//! what a JSON parser would refuse.

/// Command and variables of a call, as far as they have arrived.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PartialArguments {
    /// The script so far.
    pub command: String,
    /// Variables whose value has at least begun, in their order.
    pub env: Vec<(String, String)>,
}

impl PartialArguments {
    /// Reads the start of a JSON object, cut anywhere. Text that is not JSON ends the reading; what came before it stays.
    ///
    /// ```
    /// use bashful_render::PartialArguments;
    ///
    /// let so_far = PartialArguments::read(r#"{"command":"make\ntest","env":{"CI":"1","CC":"cl"#);
    /// assert_eq!(so_far.command, "make\ntest");
    /// assert_eq!(so_far.env, [("CI".to_owned(), "1".to_owned()), ("CC".to_owned(), "cl".to_owned())]);
    /// ```
    pub fn read(json: &str) -> Self {
        let mut arguments = Self::default();
        // The end of the text and nonsense are the same here: nothing more is known.
        let _ = Reader { rest: json }.arguments(&mut arguments);
        arguments
    }
}

/// Reads on from a place in a JSON text. `None` means that the text ends there, or makes no sense.
struct Reader<'a> {
    rest: &'a str,
}

/// Other characters are where digits should be.
struct NoDigits;

impl Reader<'_> {
    fn arguments(&mut self, arguments: &mut PartialArguments) -> Option<()> {
        self.object(|reader, name| match name.as_str() {
            "command" => {
                arguments.command.clear();
                reader.text_or_skip(|text| arguments.command.push_str(text))
            }
            "env" => {
                arguments.env.clear();
                reader.variables(&mut arguments.env)
            }
            _ => reader.skip(),
        })
    }

    fn variables(&mut self, env: &mut Vec<(String, String)>) -> Option<()> {
        if self.peek()? != '{' {
            return self.skip();
        }
        self.object(|reader, name| {
            reader.text_or_skip(|value| {
                // The last one of a name counts, as in every JSON parser.
                env.retain(|(other, _)| *other != name);
                env.push((name.clone(), value.to_owned()));
            })
        })
    }

    /// Reads an object. `member` reads a value, whose name is given.
    fn object(&mut self, mut member: impl FnMut(&mut Self, String) -> Option<()>) -> Option<()> {
        self.expect('{')?;
        while self.peek()? != '}' {
            let (name, is_whole) = self.string()?;
            if !is_whole {
                return None;
            }
            self.expect(':')?;
            member(self, name)?;
            match self.peek()? {
                ',' => self.expect(',')?,
                '}' => {}
                _ => return None,
            }
        }
        self.expect('}')
    }

    /// Passes on the text of a string, even if it breaks off. Another value is skipped.
    fn text_or_skip(&mut self, text: impl FnOnce(&str)) -> Option<()> {
        if self.peek()? != '"' {
            return self.skip();
        }
        let (value, is_whole) = self.string()?;
        text(&value);
        is_whole.then_some(())
    }

    /// Skips a value, however deeply it nests.
    fn skip(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.peek()? {
                '"' => {
                    let (_, is_whole) = self.string()?;
                    is_whole.then_some(())?;
                }
                c @ ('{' | '[') => {
                    self.expect(c)?;
                    depth += 1;
                }
                c @ ('}' | ']') => {
                    // A value is missing, or ended with this one.
                    depth = depth.checked_sub(1)?;
                    self.expect(c)?;
                }
                c @ (',' | ':') if depth > 0 => self.expect(c)?,
                ',' | ':' => return None,
                _ => {
                    // A number or a word: what it is does not matter, unless it breaks off.
                    let end = self.rest.find([',', '}', ']', ':', '"', '{', '[', ' ', '\t', '\r', '\n'])?;
                    self.rest = &self.rest[end..];
                }
            }
            if depth == 0 {
                return Some(());
            }
        }
    }

    /// Reads a string, and says if its end is there.
    fn string(&mut self) -> Option<(String, bool)> {
        self.expect('"')?;
        let mut text = String::new();
        loop {
            let Some(end) = self.rest.find(['"', '\\']) else {
                text.push_str(std::mem::take(&mut self.rest));
                return Some((text, false));
            };
            text.push_str(&self.rest[..end]);
            let is_end = self.rest[end..].starts_with('"');
            self.rest = &self.rest[end + 1..];
            if is_end {
                return Some((text, true));
            }
            let Some(c) = self.escape() else { return Some((text, false)) };
            text.push(c);
        }
    }

    /// Reads the rest of an escape after its backslash. One that breaks off is `None`, and means nothing yet.
    fn escape(&mut self) -> Option<char> {
        let c = self.rest.chars().next()?;
        self.rest = &self.rest[c.len_utf8()..];
        Some(match c {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            'b' => '\u{8}',
            'f' => '\u{c}',
            'u' => return self.unicode(),
            // `\"`, `\\` and `\/`, and escapes that do not exist.
            other => other,
        })
    }

    /// Reads the rest of `\uXXXX`, and the second half of a surrogate pair. Half a pair is U+FFFD.
    fn unicode(&mut self) -> Option<char> {
        let Ok(first) = self.code_unit()? else { return Some(char::REPLACEMENT_CHARACTER) };
        if !(0xD800..0xDC00).contains(&first) {
            return Some(char::from_u32(first).unwrap_or(char::REPLACEMENT_CHARACTER));
        }
        let after = match self.rest.as_bytes() {
            // The second half has not come yet.
            [] | [b'\\'] => return None,
            [b'\\', b'u', ..] => &self.rest[2..],
            _ => return Some(char::REPLACEMENT_CHARACTER),
        };
        let mut ahead = Reader { rest: after };
        match ahead.code_unit()? {
            Ok(second @ 0xDC00..0xE000) => {
                self.rest = ahead.rest;
                char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00))
            }
            _ => Some(char::REPLACEMENT_CHARACTER),
        }
    }

    /// Reads four hexadecimal digits.
    fn code_unit(&mut self) -> Option<Result<u32, NoDigits>> {
        let digits = self.rest.bytes().take(4).take_while(u8::is_ascii_hexdigit).count();
        if digits < 4 {
            return if digits == self.rest.len() { None } else { Some(Err(NoDigits)) };
        }
        let (digits, rest) = self.rest.split_at(4);
        self.rest = rest;
        Some(u32::from_str_radix(digits, 16).map_err(|_| NoDigits))
    }

    /// The next character that is not white space.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start_matches([' ', '\t', '\r', '\n']);
        self.rest.chars().next()
    }

    fn expect(&mut self, c: char) -> Option<()> {
        if self.peek()? != c {
            return None;
        }
        self.rest = &self.rest[c.len_utf8()..];
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(json: &str, command: &str, env: &[(&str, &str)]) {
        let read = PartialArguments::read(json);
        let read_env: Vec<_> = read.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!((read.command.as_str(), read_env.as_slice()), (command, env), "{json}");
    }

    #[test]
    fn command_and_variables_are_shown_as_they_arrive() {
        check(r#"{"command":"ls -la\nfoo","env":{"A":"b"#, "ls -la\nfoo", &[("A", "b")]);
        check(r#"{"comma"#, "", &[]);
        check(r#"{"command":"#, "", &[]);
        check(r#"{"command":"l"#, "l", &[]);
        check(r#"{"env":{"A":"b","C"#, "", &[("A", "b")]);
        check(r#"{"env":{"A":"b","C":"#, "", &[("A", "b")]);
        check(r#"{"env":{"A":"b","C":""#, "", &[("A", "b"), ("C", "")]);
        check(r#" { "timeout" : 30 , "env" : { } , "command" : "x" } "#, "x", &[]);
    }

    #[test]
    fn an_escape_that_breaks_off_shows_nothing_yet() {
        for cut in [r"a\", r"a\u", r"a\u0", r"a\u00e", r"a\ud83d", r"a\ud83d\", r"a\ud83d\u", r"a\ud83d\ude0"] {
            check(&format!(r#"{{"command":"{cut}"#), "a", &[]);
        }
        check(r#"{"command":"a\ud83d\ude00"#, "a😀", &[]);
    }

    #[test]
    fn half_a_surrogate_pair_is_a_replacement_character() {
        check(r#"{"command":"\ud83dx"}"#, "\u{fffd}x", &[]);
        check(r#"{"command":"\ude00x"}"#, "\u{fffd}x", &[]);
        check(r#"{"command":"\ud83d\u0041"}"#, "\u{fffd}A", &[]);
        check(r#"{"command":"\ud83d\n"}"#, "\u{fffd}\n", &[]);
        check(r#"{"command":"\ud83d"}"#, "\u{fffd}", &[]);
        check(r#"{"command":"\u00zz"}"#, "\u{fffd}00zz", &[]);
    }

    #[test]
    fn other_values_are_skipped_and_nonsense_ends_the_reading() {
        check(r#"{"x":[1,{"command":"no"},"]"],"y":null,"command":"yes"}"#, "yes", &[]);
        check(r#"{"command":7,"env":"A=b","command":"x"}"#, "x", &[]);
        check(r#"{"env":{"A":1,"B":{"C":"d"},"E":"f"}}"#, "", &[("E", "f")]);
        check(r#"{"command":"x" nonsense "env":{"A":"b"}}"#, "x", &[]);
        check(r#"{"x":,"command":"x"}"#, "", &[]);
        check("", "", &[]);
        check("[]", "", &[]);
    }

    #[test]
    fn the_last_of_two_counts() {
        check(r#"{"command":"a","command":"b","env":{"A":"1","B":"2","A":"3"}}"#, "b", &[("B", "2"), ("A", "3")]);
    }
}
