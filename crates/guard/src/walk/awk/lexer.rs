//! Splits a program of awk into tokens.

use crate::marks::is_mark;

/// Functions that awk itself has.
pub(super) const NATIVES: [&str; 39] = [
    "length",
    "substr",
    "index",
    "split",
    "sub",
    "gsub",
    "match",
    "sprintf",
    "sin",
    "cos",
    "atan2",
    "exp",
    "log",
    "sqrt",
    "int",
    "rand",
    "srand",
    "tolower",
    "toupper",
    "system",
    "close",
    "fflush",
    "gensub",
    "strftime",
    "systime",
    "mktime",
    "strtonum",
    "asort",
    "asorti",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
    "compl",
    "typeof",
    "isarray",
    "patsplit",
    "gettimeofday",
];

const KEYWORDS: [&str; 21] = [
    "BEGIN", "END", "function", "func", "if", "else", "while", "for", "do", "break", "continue", "next", "nextfile",
    "exit", "return", "delete", "in", "getline", "print", "printf", "switch",
];

/// Signs, longer ones first.
const SIGNS: [&str; 44] = [
    "**=", "|&", "&&", "||", "++", "--", "+=", "-=", "*=", "/=", "%=", "^=", "**", "==", "<=", ">=", "!=", "!~", ">>",
    "{", "}", "(", ")", "[", "]", ";", ",", "+", "-", "*", "/", "%", "^", "!", ">", "<", "|", "?", ":", "~", "$", "=",
    "&", "@",
];

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    Number(f64),
    Text(String),
    Regex(String),
    /// Unknown text that the shell has put into the program.
    Marks(String),
    Name(String),
    /// A name with a parenthesis right behind it.
    Callee(String),
    Native(&'static str),
    Keyword(&'static str),
    Sign(&'static str),
    LineEnd,
}

impl Token {
    /// True if a slash behind this token divides.
    fn ends_value(&self) -> bool {
        match self {
            Self::Number(_) | Self::Text(_) | Self::Regex(_) | Self::Marks(_) | Self::Name(_) | Self::Native(_) => true,
            Self::Sign(sign) => matches!(*sign, ")" | "]" | "$" | "++" | "--"),
            _ => false,
        }
    }
}

/// The tokens of a program; none if it has something that is no token.
pub(super) fn tokens(code: &str) -> Option<Vec<Token>> {
    let mut lexer = Lexer { rest: code, tokens: Vec::new() };
    while !lexer.rest.is_empty() {
        lexer.next()?;
    }
    Some(lexer.tokens)
}

struct Lexer<'c> {
    rest: &'c str,
    tokens: Vec<Token>,
}

impl<'c> Lexer<'c> {
    fn take(&mut self, length: usize) -> &'c str {
        let taken = self.rest.get(..length).unwrap_or(self.rest);
        self.rest = self.rest.get(length..).unwrap_or("");
        taken
    }

    fn take_while(&mut self, fits: impl Fn(char) -> bool) -> &'c str {
        let length = self.rest.find(|letter| !fits(letter)).unwrap_or(self.rest.len());
        self.take(length)
    }

    fn next(&mut self) -> Option<()> {
        let letter = self.rest.chars().next()?;
        let token = match letter {
            ' ' | '\t' | '\r' => {
                self.take(1);
                return Some(());
            }
            '\\' => {
                let length = ["\\\n", "\\\r\n"].iter().find(|end| self.rest.starts_with(**end))?.len();
                self.take(length);
                return Some(());
            }
            '#' => {
                self.take_while(|letter| letter != '\n');
                return Some(());
            }
            '\n' => {
                self.take(1);
                Token::LineEnd
            }
            '"' => {
                self.take(1);
                Token::Text(self.quoted()?)
            }
            '/' if !self.tokens.last().is_some_and(Token::ends_value) => {
                self.take(1);
                Token::Regex(self.regex()?)
            }
            _ if is_mark(letter) => Token::Marks(self.take_while(is_mark).to_owned()),
            _ if letter.is_ascii_digit() || letter == '.' => self.number()?,
            _ if letter.is_ascii_alphabetic() || letter == '_' => self.word(),
            _ => {
                let sign = SIGNS.iter().find(|sign| self.rest.starts_with(**sign))?;
                self.take(sign.len());
                Token::Sign(sign)
            }
        };
        self.tokens.push(token);
        Some(())
    }

    fn word(&mut self) -> Token {
        let word = self.take_while(|letter| letter.is_ascii_alphanumeric() || letter == '_');
        if let Some(keyword) = KEYWORDS.iter().find(|keyword| **keyword == word) {
            return Token::Keyword(if *keyword == "func" { "function" } else { keyword });
        }
        if let Some(native) = NATIVES.iter().find(|native| **native == word) {
            return Token::Native(native);
        }
        if self.rest.starts_with('(') { Token::Callee(word.to_owned()) } else { Token::Name(word.to_owned()) }
    }

    fn number(&mut self) -> Option<Token> {
        if let Some(digits) = self.rest.strip_prefix("0x").or_else(|| self.rest.strip_prefix("0X")) {
            let length = digits.find(|letter: char| !letter.is_ascii_hexdigit()).unwrap_or(digits.len());
            if let Some(number) = digits.get(..length).and_then(|digits| u32::from_str_radix(digits, 16).ok()) {
                self.take(2 + length);
                return Some(Token::Number(f64::from(number)));
            }
        }
        let length = super::number::prefix_length(self.rest);
        if length == 0 {
            return None;
        }
        self.take(length).parse().ok().map(Token::Number)
    }

    /// The text up to the closing quote.
    fn quoted(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            let plain = self.take_while(|letter| !matches!(letter, '"' | '\\' | '\n'));
            text.push_str(plain);
            match self.take(1) {
                "\"" => return Some(text),
                "\\" => {
                    let taken = escape(self.rest, &mut text)?;
                    self.take(taken);
                }
                _ => return None,
            }
        }
    }

    /// The expression up to the closing slash. A slash in brackets does not close it.
    fn regex(&mut self) -> Option<String> {
        let mut text = String::new();
        loop {
            let letter = self.rest.chars().next()?;
            match letter {
                '\n' => return None,
                '/' => {
                    self.take(1);
                    return Some(text);
                }
                '\\' => {
                    let next = self.rest.chars().nth(1)?;
                    if next != '/' {
                        text.push('\\');
                    }
                    text.push(next);
                    self.take(1 + next.len_utf8());
                }
                '[' => {
                    let line = self.rest.lines().next().unwrap_or("");
                    let length = bracket_length(line).unwrap_or(1);
                    text.push_str(self.take(length));
                }
                _ => text.push_str(self.take(letter.len_utf8())),
            }
        }
    }
}

/// The length of a bracket expression with its brackets; none if it is not closed.
pub(super) fn bracket_length(text: &str) -> Option<usize> {
    let mut at = 1;
    at += usize::from(text.get(at..)?.starts_with('^'));
    // A bracket that closes stands for itself in the first place.
    at += usize::from(text.get(at..)?.starts_with(']'));
    loop {
        let rest = text.get(at..)?;
        match rest.chars().next()? {
            ']' => return Some(at + 1),
            '\\' => at += 1 + rest.chars().nth(1)?.len_utf8(),
            '[' if rest.starts_with("[:") => at += rest.find(":]").map_or(1, |end| end + 2),
            letter => at += letter.len_utf8(),
        }
    }
}

/// Decodes an escape behind its backslash; returns the bytes that it takes.
fn escape(rest: &str, text: &mut String) -> Option<usize> {
    let letter = rest.chars().next()?;
    let plain = match letter {
        'n' => '\n',
        't' => '\t',
        'r' => '\r',
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'v' => '\u{b}',
        '\\' | '"' | '/' => letter,
        '\n' => return Some(1),
        '0'..='7' => {
            let length = rest.find(|digit: char| !matches!(digit, '0'..='7')).unwrap_or(rest.len()).min(3);
            return number_escape(rest, 0, length, 8, text);
        }
        'x' => {
            let digits = rest.get(1..)?;
            let length = digits.find(|digit: char| !digit.is_ascii_hexdigit()).unwrap_or(digits.len()).min(2);
            return number_escape(rest, 1, length, 16, text);
        }
        // The backslash stays before any other letter, as in expressions that are given as text.
        other => {
            text.push('\\');
            other
        }
    };
    text.push(plain);
    Some(letter.len_utf8())
}

fn number_escape(rest: &str, from: usize, length: usize, base: u32, text: &mut String) -> Option<usize> {
    let digits = rest.get(from..from + length)?;
    let code = u32::from_str_radix(digits, base).ok();
    text.extend(code.and_then(char::from_u32));
    Some(from + length)
}

/// A text of the command line with its escapes decoded: the value of `-v name=value` and of `-F`.
pub(super) fn unescaped(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(rest.get(..at).unwrap_or(""));
        rest = rest.get(at + 1..).unwrap_or("");
        match escape(rest, &mut out) {
            Some(taken) => rest = rest.get(taken..).unwrap_or(""),
            None => out.push('\\'),
        }
    }
    out.push_str(rest);
    out
}
