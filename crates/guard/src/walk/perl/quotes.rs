//! Quotes of Perl: texts, patterns, here-documents, and variables in them.

use crate::walk::perl::ast::Expr;
use crate::walk::perl::parser::Parser;
use crate::walk::perl::words::single;
use crate::walk::tokens::closer_of;

impl Parser {
    /// Reads the text between quotes or brackets that begin here. Escapes stay as they are.
    pub(super) fn enclosed(&mut self) -> Option<String> {
        let opener = self.ahead()?;
        let closer = closer_of(opener);
        let start = self.at + 1;
        let mut open = 0_usize;
        let mut at = start;
        loop {
            let letter = *self.letters.get(at)?;
            if letter == '\\' {
                at += 2;
                continue;
            }
            if letter == closer {
                match open.checked_sub(1) {
                    Some(left) => open = left,
                    None => break,
                }
            } else if letter == opener {
                open += 1;
            }
            at += 1;
        }
        self.at = at + 1;
        Some(self.text(start, at))
    }

    pub(super) fn flags(&mut self) -> String {
        let start = self.at;
        while self.ahead().is_some_and(|letter| letter.is_ascii_lowercase()) {
            self.at += 1;
        }
        self.text(start, self.at)
    }

    /// Reads `q(…)`, `m/…/` and their like. None if the word is something else.
    #[expect(clippy::option_option, reason = "no quote, and a quote that cannot be read, are two things")]
    pub(super) fn quote_like(&mut self, word: &str) -> Option<Option<Expr>> {
        if !matches!(word, "q" | "qq" | "qw" | "qx" | "m" | "qr" | "s" | "tr" | "y") {
            return None;
        }
        let start = self.at;
        let had_blank = self.ahead().is_some_and(char::is_whitespace);
        if had_blank {
            self.skip();
        }
        let opener = self.ahead()?;
        let is_quote = !opener.is_alphanumeric()
            && !opener.is_whitespace()
            && !matches!(opener, ',' | ';' | ')')
            && !(opener == '=' && (had_blank || self.later(1) == Some('>')));
        if !is_quote || opener == '#' && had_blank {
            self.at = start;
            return None;
        }
        Some(self.quoted(word, opener))
    }

    fn quoted(&mut self, word: &str, opener: char) -> Option<Expr> {
        let text = self.enclosed()?;
        Some(match word {
            "q" => Expr::Text(single(&text)),
            "qq" => self.template(&text, false)?,
            "qw" => {
                let words = Expr::List(text.split_whitespace().map(|word| Expr::Text(word.to_owned())).collect());
                if self.is_next("[") {
                    self.at += 1;
                    let keys = Expr::List(self.arguments("]")?);
                    return Some(Expr::ListItems(words.boxed(), keys.boxed()));
                }
                words
            }
            "qx" if opener == '\'' => Expr::Backquoted(Expr::Text(text).boxed()),
            "qx" => Expr::Backquoted(self.template(&text, false)?.boxed()),
            "m" | "qr" => {
                let flags = self.flags();
                let pattern = if opener == '\'' { Expr::Text(text) } else { self.template(&text, true)? };
                if word == "m" {
                    Expr::Match { target: None, pattern: pattern.boxed(), flags }
                } else {
                    Expr::Pattern(pattern.boxed(), flags)
                }
            }
            _ => {
                let second = if matches!(opener, '{' | '(' | '[' | '<') {
                    self.skip();
                    self.enclosed()?
                } else {
                    self.at -= 1;
                    self.enclosed()?
                };
                let flags = self.flags();
                if word != "s" {
                    return Some(Expr::Translate { target: None, from: text, to: second, flags });
                }
                let replacement = if flags.contains('e') {
                    let mut inner = self.inner(&second);
                    let body = inner.statements(true)?;
                    let value = Expr::Do(body);
                    if flags.contains("ee") { Expr::Call("eval".to_owned(), vec![value]) } else { value }
                } else if opener == '\'' {
                    Expr::Text(second)
                } else {
                    self.template(&second, false)?
                };
                let pattern = self.template(&text, true)?;
                Expr::Substitute { target: None, pattern: pattern.boxed(), replacement: replacement.boxed(), flags }
            }
        })
    }

    /// Reads a here-document. Its lines stand behind the current one.
    pub(super) fn document(&mut self) -> Option<Expr> {
        self.at += 2;
        let is_indented = self.ahead() == Some('~');
        if is_indented {
            self.at += 1;
        }
        let quote = self.ahead().filter(|letter| matches!(letter, '"' | '\''));
        let word = if quote.is_some() {
            self.enclosed()?
        } else {
            let word = self.word()?;
            self.at += word.chars().count();
            word
        };
        let mut at = match self.document_end {
            Some(end) => end,
            None => self.at + self.letters.get(self.at..)?.iter().position(|letter| *letter == '\n')? + 1,
        };
        let mut lines: Vec<String> = Vec::new();
        loop {
            if at >= self.letters.len() {
                return None;
            }
            let rest = self.letters.get(at..)?;
            let end = rest.iter().position(|letter| *letter == '\n').unwrap_or(rest.len());
            let line: String = rest.get(..end)?.iter().collect();
            at += end + 1;
            if line == word || is_indented && line.trim_start() == word {
                break;
            }
            lines.push(line);
        }
        self.document_end = Some(at);
        if is_indented {
            let blanks = |line: &String| line.len() - line.trim_start().len();
            let least = lines.iter().filter(|line| !line.trim().is_empty()).map(blanks).min().unwrap_or(0);
            for line in &mut lines {
                *line = line.get(least..).unwrap_or("").to_owned();
            }
        }
        let text = crate::walk::filters::joined(lines.into_iter());
        if quote == Some('\'') { Some(Expr::Text(text)) } else { self.template(&text, false) }
    }

    /// A text in double quotes, with the values of its variables.
    pub(super) fn template(&self, text: &str, is_pattern: bool) -> Option<Expr> {
        if !text.contains(['$', '@', '\\']) {
            return Some(Expr::Text(text.to_owned()));
        }
        let mut inner = self.inner(text);
        inner.enter()?;
        let mut template = Template { parts: vec![(String::new(), Vec::new())], once: None, is_pattern };
        while let Some(letter) = inner.ahead() {
            match letter {
                '\\' => {
                    inner.at += 1;
                    template.escape(&mut inner);
                }
                '$' | '@' if inner.is_interpolated(is_pattern) => {
                    let value = inner.interpolated(is_pattern)?;
                    template.push(value);
                }
                _ => {
                    inner.at += 1;
                    template.letter(letter);
                }
            }
        }
        template.finish()
    }

    fn is_interpolated(&self, is_pattern: bool) -> bool {
        let sigil = self.ahead().unwrap_or(' ');
        let next = self.later(1).unwrap_or(' ');
        if next.is_alphabetic() || matches!(next, '_' | '{') {
            return true;
        }
        if sigil == '@' {
            return next == '$';
        }
        match next {
            '$' => {
                !is_pattern
                    || self.later(2).is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '{'))
            }
            '&' | '1'..='9' => true,
            '0' | '!' | '@' | ',' | ';' | '/' | '\\' => !is_pattern,
            ':' => self.later(2) == Some(':'),
            '#' => {
                !is_pattern && self.later(2).is_some_and(|letter| matches!(letter, '{' | '$') || letter.is_alphabetic())
            }
            '+' => self.later(2) == Some('{'),
            _ => false,
        }
    }

    /// Reads a variable in a text with its indexes.
    fn interpolated(&mut self, is_pattern: bool) -> Option<Expr> {
        let sigil = self.ahead()?;
        let start = self.at;
        // Only the variable: what follows may be text.
        let mut end = self.at + 1;
        let get = |at: usize| self.letters.get(at).copied();
        if get(end) == Some('#') {
            end += 1;
        }
        while get(end) == Some('$') {
            end += 1;
        }
        end = match get(end) {
            Some('{') => self.bracket_end(end)?,
            Some(letter) if letter.is_alphabetic() || letter == '_' => self.word_end(end),
            Some(':') => self.word_end(end + 2),
            Some(letter) if letter.is_ascii_digit() => {
                let mut at = end;
                while get(at).is_some_and(|letter| letter.is_ascii_digit()) {
                    at += 1;
                }
                at
            }
            _ => end + 1,
        };
        loop {
            let arrow = if get(end) == Some('-') && get(end + 1) == Some('>') { 2 } else { 0 };
            let is_index = match get(end + arrow) {
                Some('[') => self.is_index(end + arrow, sigil),
                Some('{') => {
                    !is_pattern || !get(end + arrow + 1).is_some_and(|letter| letter.is_ascii_digit() || letter == ',')
                }
                _ => false,
            };
            match self.bracket_end(end + arrow).filter(|_| is_index) {
                Some(next) => end = next,
                None => break,
            }
            if sigil == '@' {
                break;
            }
        }
        let code = self.text(start, end);
        self.at = end;
        let mut inner = self.inner(&code);
        let value = inner.variable()?;
        let value = inner.postfix(value)?;
        (inner.at >= inner.letters.len()).then_some(value)
    }

    /// True if the bracket at this place holds the key of an array, and no class of letters.
    fn is_index(&self, at: usize, sigil: char) -> bool {
        let Some(end) = self.bracket_end(at) else { return false };
        let inside = self.text(at + 1, end - 1);
        let is_slice = |letter: char| letter.is_alphanumeric() || "_.,$#- ".contains(letter);
        if sigil == '@' && inside.starts_with(|letter: char| letter.is_ascii_digit() || "$-".contains(letter)) {
            return inside.chars().all(is_slice);
        }
        let number = inside.strip_prefix('-').unwrap_or(&inside);
        !number.is_empty() && number.chars().all(|letter| letter.is_ascii_digit())
            || inside.starts_with('$') && inside.len() > 1 && !inside.contains(['\\', '^'])
    }

    /// The place behind the bracket that closes the one at this place.
    fn bracket_end(&self, at: usize) -> Option<usize> {
        let opener = self.letters.get(at).copied().filter(|letter| matches!(letter, '[' | '{'))?;
        let closer = closer_of(opener);
        let mut open = 0_usize;
        for (by, letter) in self.letters.get(at..)?.iter().enumerate() {
            if *letter == opener {
                open += 1;
            } else if *letter == closer {
                open -= 1;
                if open == 0 {
                    return Some(at + by + 1);
                }
            }
        }
        None
    }
}

/// A text that is put together: a function for a part of it, such as `\U`, and the parts.
struct Template {
    parts: Vec<(String, Vec<Expr>)>,
    /// `\u`, `\l`: a function for the next letter.
    once: Option<&'static str>,
    is_pattern: bool,
}

impl Template {
    fn push(&mut self, value: Expr) {
        let value = match self.once.take() {
            Some(function) => Expr::Call(function.to_owned(), vec![value]),
            None => value,
        };
        if let Some((_, parts)) = self.parts.last_mut() {
            parts.push(value);
        }
    }

    fn letter(&mut self, letter: char) {
        let text = match self.once.take() {
            Some("ucfirst") => letter.to_uppercase().to_string(),
            Some(_) => letter.to_lowercase().to_string(),
            None => letter.to_string(),
        };
        self.add(&text);
    }

    fn add(&mut self, more: &str) {
        if let Some((_, parts)) = self.parts.last_mut() {
            match parts.last_mut() {
                Some(Expr::Text(text)) => text.push_str(more),
                _ => parts.push(Expr::Text(more.to_owned())),
            }
        }
    }

    /// Reads an escape behind its backslash.
    fn escape(&mut self, inner: &mut Parser) {
        let Some(letter) = inner.ahead() else { return self.add("\\") };
        inner.at += 1;
        let function = match letter {
            'U' => "uc",
            'L' => "lc",
            'Q' => "quotemeta",
            'u' | 'l' => {
                self.once = Some(if letter == 'u' { "ucfirst" } else { "lcfirst" });
                return;
            }
            'E' => {
                self.close();
                return;
            }
            _ if self.is_pattern => {
                self.add("\\");
                self.add(&letter.to_string());
                return;
            }
            'n' => return self.add("\n"),
            't' => return self.add("\t"),
            'r' => return self.add("\r"),
            'a' => return self.add("\u{7}"),
            'e' => return self.add("\u{1b}"),
            '0'..='7' => {
                let mut digits = letter.to_string();
                while digits.len() < 3
                    && let Some(digit) = inner.ahead().filter(|digit| digit.is_digit(8))
                {
                    digits.push(digit);
                    inner.at += 1;
                }
                return self.code(&digits, 8);
            }
            'x' => {
                let mut digits = String::new();
                if inner.ahead() == Some('{') {
                    digits = inner.enclosed().unwrap_or_default();
                } else {
                    while digits.len() < 2
                        && let Some(digit) = inner.ahead().filter(char::is_ascii_hexdigit)
                    {
                        digits.push(digit);
                        inner.at += 1;
                    }
                }
                return self.code(digits.trim(), 16);
            }
            other => return self.add(&other.to_string()),
        };
        self.parts.push((function.to_owned(), Vec::new()));
    }

    fn code(&mut self, digits: &str, radix: u32) {
        let letter = u32::from_str_radix(digits, radix).ok().and_then(char::from_u32);
        // Nobody gets a mark in this way.
        let letter = letter.filter(|letter| !crate::marks::is_mark(*letter)).unwrap_or('\0');
        self.add(&letter.to_string());
    }

    fn close(&mut self) {
        if self.parts.len() > 1
            && let Some((function, parts)) = self.parts.pop()
        {
            let value = Expr::Call(function, vec![Expr::Joined(parts)]);
            if let Some((_, outer)) = self.parts.last_mut() {
                outer.push(value);
            }
        }
    }

    fn finish(mut self) -> Option<Expr> {
        while self.parts.len() > 1 {
            self.close();
        }
        let (_, mut parts) = self.parts.pop()?;
        Some(match parts.as_slice() {
            [] => Expr::Text(String::new()),
            [Expr::Text(_)] => parts.pop()?,
            _ => Expr::Joined(parts),
        })
    }
}
