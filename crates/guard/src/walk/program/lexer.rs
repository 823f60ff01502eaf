//! The tokens of Python and JavaScript.

use crate::walk::program::Language;

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Name(String),
    Text(String),
    /// A string with expressions in braces.
    Template(String),
    Number(i64),
    /// A number or another literal whose value does not matter.
    Literal,
    Sign(&'static str),
    /// The end of a line outside of brackets, in Python.
    Newline,
    Indent,
    Dedent,
}

/// Signs, longest first.
const SIGNS: [&str; 62] = [
    ">>>=", "...", "**=", "//=", "===", "!==", "<<=", ">>=", ">>>", "&&=", "||=", "??=", "=>", "==", "!=", "<=", ">=",
    "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "->", ":=", "**", "//", "&&", "||", "??", "?.", "++", "--", "<<",
    ">>", "(", ")", "[", "]", "{", "}", ",", ":", ";", ".", "=", "+", "-", "*", "/", "%", "<", ">", "!", "?", "|", "&",
    "^", "~", "@",
];

/// The tokens of a program; none if it cannot be read.
pub(super) fn tokens(language: Language, code: &str) -> Option<Vec<Token>> {
    let mut lexer = Lexer { language, rest: code, tokens: Vec::new(), indents: vec![0], open: 0, is_fresh: true };
    while !lexer.rest.is_empty() {
        lexer.read()?;
    }
    if language == Language::Python {
        lexer.tokens.push(Token::Newline);
        let levels = lexer.indents.len() - 1;
        lexer.tokens.extend(std::iter::repeat_n(Token::Dedent, levels));
    }
    Some(lexer.tokens)
}

struct Lexer<'c> {
    language: Language,
    rest: &'c str,
    tokens: Vec<Token>,
    indents: Vec<usize>,
    /// The brackets that are open. Line ends in them mean nothing.
    open: usize,
    /// A line begins here.
    is_fresh: bool,
}

impl<'c> Lexer<'c> {
    fn skip(&mut self, bytes: usize) -> &'c str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    fn read(&mut self) -> Option<()> {
        let is_python = self.language == Language::Python;
        if self.is_fresh && is_python && self.open == 0 {
            self.read_indent();
            if self.rest.is_empty() {
                return Some(());
            }
        }
        let letter = self.rest.chars().next()?;
        match letter {
            '\n' => {
                self.skip(1);
                self.is_fresh = true;
                if is_python && self.open == 0 {
                    self.tokens.push(Token::Newline);
                }
            }
            '\\' if self.rest.starts_with("\\\n") => drop(self.skip(2)),
            '#' if is_python || self.rest.starts_with("#!") => self.skip_to('\n'),
            '/' if !is_python && self.rest.starts_with("//") => self.skip_to('\n'),
            '/' if !is_python && self.rest.starts_with("/*") => {
                let end = self.rest.find("*/").map_or(self.rest.len(), |end| end + 2);
                self.skip(end);
            }
            '/' if !is_python && !self.follows_value() => self.read_pattern(),
            '"' | '\'' | '`' => self.read_string("")?,
            _ if letter.is_whitespace() => drop(self.skip(letter.len_utf8())),
            _ if letter.is_ascii_digit() => self.read_number(),
            _ if letter.is_alphabetic() || matches!(letter, '_' | '$') => self.read_name()?,
            _ => self.read_sign()?,
        }
        Some(())
    }

    fn skip_to(&mut self, end: char) {
        let length = self.rest.find(end).unwrap_or(self.rest.len());
        self.skip(length);
    }

    /// Reads the blanks at the beginning of a line.
    fn read_indent(&mut self) {
        self.is_fresh = false;
        let blanks = self.rest.len() - self.rest.trim_start_matches([' ', '\t']).len();
        self.skip(blanks);
        if self.rest.starts_with(['\n', '#', '\r']) || self.rest.is_empty() {
            return;
        }
        if blanks > *self.indents.last().unwrap_or(&0) {
            self.indents.push(blanks);
            self.tokens.push(Token::Indent);
        }
        while blanks < *self.indents.last().unwrap_or(&0) {
            self.indents.pop();
            self.tokens.push(Token::Dedent);
        }
    }

    /// True if a value ends before this place, so that a slash divides.
    fn follows_value(&self) -> bool {
        match self.tokens.last() {
            Some(Token::Sign(sign)) => matches!(*sign, ")" | "]" | "}"),
            Some(Token::Name(name)) => !matches!(name.as_str(), "return" | "typeof" | "case" | "in" | "of"),
            Some(_) => true,
            None => false,
        }
    }

    /// Reads a regular expression.
    fn read_pattern(&mut self) {
        let mut in_set = false;
        let mut is_escaped = false;
        let mut end = self.rest.len();
        for (at, letter) in self.rest.char_indices().skip(1) {
            match letter {
                _ if is_escaped => is_escaped = false,
                '\\' => is_escaped = true,
                '[' => in_set = true,
                ']' => in_set = false,
                '/' if !in_set => {
                    end = at + 1;
                    break;
                }
                '\n' => {
                    end = at;
                    break;
                }
                _ => {}
            }
        }
        self.skip(end);
        let flags = self.rest.len() - self.rest.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()).len();
        self.skip(flags);
        self.tokens.push(Token::Literal);
    }

    fn read_number(&mut self) {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '_' | '.');
        let length = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        let text = self.skip(length).replace('_', "");
        self.tokens.push(text.parse().map_or(Token::Literal, Token::Number));
    }

    fn read_name(&mut self) -> Option<()> {
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
        let length = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        let name = self.rest.get(..length)?;
        let is_prefix = length <= 2 && name.chars().all(|letter| "rRbBuUfF".contains(letter));
        let quotes = self.rest.get(length..).is_some_and(|rest| rest.starts_with(['"', '\'']));
        self.skip(length);
        if self.language == Language::Python && is_prefix && quotes {
            return self.read_string(name);
        }
        self.tokens.push(Token::Name(name.to_owned()));
        Some(())
    }

    /// Reads a string behind a prefix such as `f` or `r`.
    fn read_string(&mut self, prefix: &str) -> Option<()> {
        let quote = self.rest.chars().next()?;
        let three = quote.to_string().repeat(3);
        let is_long = self.language == Language::Python && self.rest.starts_with(&three);
        let closer = if is_long { three } else { quote.to_string() };
        self.skip(closer.len());
        let is_raw = prefix.contains(['r', 'R']);
        let is_template = prefix.contains(['f', 'F']) || quote == '`';
        let mut text = String::new();
        loop {
            if self.rest.starts_with(&closer) {
                self.skip(closer.len());
                break;
            }
            let letter = self.rest.chars().next()?;
            self.skip(letter.len_utf8());
            match letter {
                '\\' if !is_raw => {
                    let (taken, meant) = crate::syntax::unescape(self.rest, true);
                    if self.rest.starts_with('\n') {
                        self.skip(1);
                    } else if taken > 0 {
                        text.extend(meant);
                        self.skip(taken);
                    } else {
                        let next = self.rest.chars().next()?;
                        self.skip(next.len_utf8());
                        text.push(next);
                    }
                }
                // A template in a template.
                '$' if quote == '`' && self.rest.starts_with('{') => {
                    let inside = braced(self.rest)?;
                    text.push('$');
                    text.push_str(self.skip(inside));
                }
                '\n' if !is_long && quote != '`' => return None,
                _ => text.push(letter),
            }
        }
        self.tokens.push(if is_template { Token::Template(text) } else { Token::Text(text) });
        Some(())
    }

    fn read_sign(&mut self) -> Option<()> {
        let sign = SIGNS.iter().find(|sign| self.rest.starts_with(**sign))?;
        self.skip(sign.len());
        match *sign {
            "(" | "[" | "{" => self.open += 1,
            ")" | "]" | "}" => self.open = self.open.saturating_sub(1),
            _ => {}
        }
        self.tokens.push(Token::Sign(sign));
        Some(())
    }
}

/// The length of a part in braces, which begins the text.
pub(super) fn braced(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '{' => open += 1,
            '}' => open = open.checked_sub(1)?,
            _ => {}
        }
        if open == 0 {
            return Some(at + letter.len_utf8());
        }
    }
    None
}
