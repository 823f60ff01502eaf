//! The tokens of Python and JavaScript, with strings taken apart.

use crate::walk::program::Language;
use crate::walk::program::escapes::{read_bytes, read_escape};

/// A token.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Name(String),
    Text(String),
    Bytes(Vec<u8>),
    /// A string with code in it.
    Format(Vec<RawPart>),
    Int(i128),
    Float(f64),
    Regex(String, String),
    Sign(&'static str),
    /// The end of a line outside of brackets, in Python.
    Newline,
    Indent,
    Dedent,
}

/// A token and whether a line ends before it.
#[derive(Debug, Clone)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) is_first: bool,
}

/// A part of a string with code in it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum RawPart {
    /// The text as it is meant, and as it is written.
    Text(String, String),
    Code(String),
}

/// Signs, longest first.
const SIGNS: [&str; 63] = [
    ">>>=", "...", "**=", "//=", "===", "!==", "<<=", ">>=", ">>>", "&&=", "||=", "??=", "=>", "==", "!=", "<=", ">=",
    "+=", "-=", "*=", "/=", "%=", "|=", "&=", "^=", "->", ":=", "**", "//", "&&", "||", "??", "?.", "++", "--", "<<",
    ">>", "(", ")", "[", "]", "{", "}", ",", ":", ";", ".", "=", "+", "-", "*", "/", "%", "<", ">", "!", "?", "|", "&",
    "^", "~", "@", "#",
];

/// The most tokens of one program.
const MOST_TOKENS: usize = 24_000;

/// The tokens of a program; none if it cannot be read.
pub(super) fn tokens(language: Language, code: &str) -> Option<Vec<Token>> {
    let mut lexer = Lexer {
        is_python: language == Language::Python,
        rest: code,
        tokens: Vec::new(),
        indents: vec![0],
        open: Vec::new(),
        is_fresh: true,
        is_first: true,
    };
    while !lexer.rest.is_empty() {
        lexer.read()?;
        if lexer.tokens.len() > MOST_TOKENS {
            return None;
        }
    }
    if lexer.is_python {
        lexer.push(Kind::Newline);
        for _ in 1..lexer.indents.len() {
            lexer.push(Kind::Dedent);
        }
    }
    Some(lexer.tokens)
}

struct Lexer<'c> {
    is_python: bool,
    rest: &'c str,
    tokens: Vec<Token>,
    indents: Vec<usize>,
    /// The brackets that are open. Line ends in them mean nothing in Python.
    open: Vec<&'static str>,
    /// A line begins here.
    is_fresh: bool,
    /// A line has ended since the last token.
    is_first: bool,
}

impl<'c> Lexer<'c> {
    fn push(&mut self, kind: Kind) {
        let is_first = std::mem::take(&mut self.is_first);
        self.tokens.push(Token { kind, is_first });
    }

    fn skip(&mut self, bytes: usize) -> &'c str {
        let (taken, rest) = self.rest.split_at_checked(bytes).unwrap_or((self.rest, ""));
        self.rest = rest;
        taken
    }

    fn read(&mut self) -> Option<()> {
        if self.is_fresh && self.is_python && self.open.is_empty() {
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
                self.is_first = true;
                if self.is_python && self.open.is_empty() {
                    self.push(Kind::Newline);
                }
            }
            '\\' if self.rest.starts_with("\\\n") => drop(self.skip(2)),
            '#' if self.is_python || self.rest.starts_with("#!") => self.skip_line(),
            '/' if !self.is_python && self.rest.starts_with("//") => self.skip_line(),
            '/' if !self.is_python && self.rest.starts_with("/*") => {
                let end = self.rest.find("*/").map_or(self.rest.len(), |end| end + 2);
                self.is_first |= self.skip(end).contains('\n');
            }
            '/' if !self.is_python && !self.follows_value() => self.read_regex(),
            '"' | '\'' => self.read_string("")?,
            '`' if !self.is_python => self.read_template()?,
            _ if letter.is_whitespace() || letter == '\u{feff}' => drop(self.skip(letter.len_utf8())),
            _ if letter.is_ascii_digit() || letter == '.' && self.starts_fraction() => self.read_number()?,
            _ if letter.is_alphabetic() || matches!(letter, '_' | '$') => self.read_name()?,
            _ => self.read_sign()?,
        }
        Some(())
    }

    fn starts_fraction(&self) -> bool {
        self.rest.chars().nth(1).is_some_and(|next| next.is_ascii_digit()) && !self.follows_value()
    }

    fn skip_line(&mut self) {
        let length = self.rest.find('\n').unwrap_or(self.rest.len());
        self.skip(length);
    }

    /// Reads the blanks at the beginning of a line.
    fn read_indent(&mut self) {
        self.is_fresh = false;
        let blanks = self.rest.len() - self.rest.trim_start_matches([' ', '\t', '\u{c}']).len();
        let width = self
            .skip(blanks)
            .chars()
            .fold(0, |width, blank| if blank == '\t' { (width / 8 + 1) * 8 } else { width + 1 });
        if self.rest.starts_with(['\n', '#', '\r']) || self.rest.is_empty() {
            return;
        }
        if width > *self.indents.last().unwrap_or(&0) {
            self.indents.push(width);
            self.push(Kind::Indent);
        }
        while width < *self.indents.last().unwrap_or(&0) {
            self.indents.pop();
            self.push(Kind::Dedent);
        }
    }

    /// True if a value ends before this place, so that a slash divides.
    fn follows_value(&self) -> bool {
        match self.tokens.last().map(|token| &token.kind) {
            Some(Kind::Sign(sign)) => matches!(*sign, ")" | "]" | "}"),
            Some(Kind::Name(name)) => {
                !matches!(name.as_str(), "return" | "typeof" | "case" | "in" | "of" | "await" | "yield" | "else" | "do")
            }
            Some(Kind::Newline | Kind::Indent | Kind::Dedent) | None => false,
            Some(_) => true,
        }
    }

    fn read_regex(&mut self) {
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
                    end = at;
                    break;
                }
                '\n' => {
                    end = at;
                    break;
                }
                _ => {}
            }
        }
        let pattern = self.skip(end).get(1..).unwrap_or("").to_owned();
        self.skip(1);
        let flags = self.rest.len() - self.rest.trim_start_matches(|letter: char| letter.is_ascii_alphabetic()).len();
        let flags = self.skip(flags).to_owned();
        self.push(Kind::Regex(pattern, flags));
    }

    fn read_number(&mut self) -> Option<()> {
        let mut length = 0;
        let mut before = ' ';
        let is_hexadecimal = self.rest.starts_with("0x") || self.rest.starts_with("0X");
        for letter in self.rest.chars() {
            let is_sign = matches!(letter, '+' | '-') && matches!(before, 'e' | 'E') && !is_hexadecimal;
            let is_dot = letter == '.' && !self.rest.get(..length)?.contains('.');
            if !(letter.is_ascii_alphanumeric() || letter == '_' || is_dot || is_sign) {
                break;
            }
            before = letter;
            length += letter.len_utf8();
        }
        let text = self.skip(length).replace('_', "").to_lowercase();
        let text = text.trim_end_matches('n');
        let radix =
            |prefix: &str, radix| text.strip_prefix(prefix).and_then(|digits| i128::from_str_radix(digits, radix).ok());
        let number =
            radix("0x", 16).or_else(|| radix("0o", 8)).or_else(|| radix("0b", 2)).or_else(|| text.parse().ok());
        match number {
            Some(number) => self.push(Kind::Int(number)),
            None => self.push(Kind::Float(text.trim_end_matches('j').parse().unwrap_or(f64::NAN))),
        }
        Some(())
    }

    fn read_name(&mut self) -> Option<()> {
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '$');
        let length = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
        let name = self.rest.get(..length)?;
        let is_prefix = length <= 2 && name.chars().all(|letter| "rRbBuUfFtT".contains(letter));
        let quotes = self.rest.get(length..).is_some_and(|rest| rest.starts_with(['"', '\'']));
        self.skip(length);
        if self.is_python && is_prefix && quotes {
            return self.read_string(&name.to_lowercase());
        }
        self.push(Kind::Name(name.to_owned()));
        Some(())
    }

    /// Reads a string behind a prefix such as `f` or `r`.
    fn read_string(&mut self, prefix: &str) -> Option<()> {
        let quote = self.rest.chars().next()?;
        let three = quote.to_string().repeat(3);
        let is_long = self.is_python && self.rest.starts_with(&three);
        let closer = if is_long { three } else { quote.to_string() };
        self.skip(closer.len());
        let is_raw = prefix.contains('r');
        if prefix.contains('f') {
            return self.read_format(&closer, is_raw);
        }
        let start = self.rest;
        let mut text = String::new();
        loop {
            if self.rest.starts_with(&closer) {
                break;
            }
            let letter = self.rest.chars().next()?;
            match letter {
                '\\' => {
                    let (taken, meant) = read_escape(self.rest, self.is_python)?;
                    let written = self.skip(taken);
                    text.push_str(if is_raw { written } else { &meant });
                }
                '\n' if !is_long => return None,
                _ => {
                    self.skip(letter.len_utf8());
                    text.push(letter);
                }
            }
        }
        let written = start.get(..start.len() - self.rest.len())?;
        self.skip(closer.len());
        if prefix.contains('b') {
            self.push(Kind::Bytes(if is_raw { written.as_bytes().to_vec() } else { read_bytes(written) }));
        } else {
            self.push(Kind::Text(text));
        }
        Some(())
    }

    /// Reads an f-string of Python.
    fn read_format(&mut self, closer: &str, is_raw: bool) -> Option<()> {
        let mut parts = Vec::new();
        let mut text = String::new();
        loop {
            if self.rest.starts_with(closer) {
                self.skip(closer.len());
                break;
            }
            let letter = self.rest.chars().next()?;
            match letter {
                '{' | '}' if self.rest.chars().nth(1) == Some(letter) => {
                    self.skip(2);
                    text.push(letter);
                }
                '{' => {
                    let length = braced(self.rest)?;
                    let code = self.skip(length).get(1..length - 1)?;
                    parts.push(RawPart::Text(std::mem::take(&mut text), String::new()));
                    parts.push(RawPart::Code(code.to_owned()));
                }
                '\\' => {
                    let (taken, meant) = read_escape(self.rest, true)?;
                    let written = self.skip(taken);
                    text.push_str(if is_raw { written } else { &meant });
                }
                '\n' if closer.len() == 1 => return None,
                _ => {
                    self.skip(letter.len_utf8());
                    text.push(letter);
                }
            }
        }
        parts.push(RawPart::Text(text, String::new()));
        self.push(Kind::Format(parts));
        Some(())
    }

    /// Reads a template of JavaScript.
    fn read_template(&mut self) -> Option<()> {
        self.skip(1);
        let mut parts = Vec::new();
        let (mut text, mut raw) = (String::new(), String::new());
        loop {
            let letter = self.rest.chars().next()?;
            match letter {
                '`' => {
                    self.skip(1);
                    break;
                }
                '$' if self.rest.starts_with("${") => {
                    self.skip(1);
                    let length = braced(self.rest)?;
                    let code = self.skip(length).get(1..length - 1)?;
                    parts.push(RawPart::Text(std::mem::take(&mut text), std::mem::take(&mut raw)));
                    parts.push(RawPart::Code(code.to_owned()));
                }
                '\\' => {
                    let (taken, meant) = read_escape(self.rest, false)?;
                    raw.push_str(self.skip(taken));
                    text.push_str(&meant);
                }
                _ => {
                    self.skip(letter.len_utf8());
                    text.push(letter);
                    raw.push(letter);
                }
            }
        }
        parts.push(RawPart::Text(text, raw));
        self.push(Kind::Format(parts));
        Some(())
    }

    fn read_sign(&mut self) -> Option<()> {
        let mut sign = *SIGNS.iter().find(|sign| self.rest.starts_with(**sign))?;
        // `a ? .5 : b`, and signs that the other language has not.
        if sign == "?." && self.rest.chars().nth(2).is_some_and(|next| next.is_ascii_digit()) {
            sign = "?";
        }
        if self.is_python && matches!(sign, "++" | "--" | "&&" | "||" | "??" | "=>") {
            sign = SIGNS.iter().find(|short| short.len() == 1 && sign.starts_with(**short))?;
        }
        self.skip(sign.len());
        match sign {
            "(" | "[" | "{" => self.open.push(sign),
            ")" | "]" | "}" => drop(self.open.pop()),
            _ => {}
        }
        self.push(Kind::Sign(sign));
        Some(())
    }
}

/// The length of a part in braces, which begins the text. Strings in it may hold braces.
fn braced(text: &str) -> Option<usize> {
    let mut open = 0_usize;
    let mut quote: Option<char> = None;
    let mut is_escaped = false;
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            _ if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(mark), _) if mark == letter => {
                quote = None;
            }
            (None, '"' | '\'') => quote = Some(letter),
            // A template in a template: its braces pair up.
            (None, '{') => open += 1,
            (None, '}') => open = open.checked_sub(1)?,
            _ => {}
        }
        if open == 0 {
            return Some(at + letter.len_utf8());
        }
    }
    None
}
