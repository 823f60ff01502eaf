//! The tokens of code in other languages, and the literals among the arguments of a call.

use crate::marks::{HOME, UNKNOWN};

/// The longest call that is looked at, in tokens.
const LONGEST_CALL: usize = 256;

#[derive(Debug, Clone, PartialEq)]
pub(super) enum CodeToken {
    Name(String),
    /// A string. Names in it are an unknown part.
    Text(String),
    /// Text that a shell runs, by the way it is quoted.
    Script(String),
    Sign(char),
}

/// The tokens of some code: names, strings and signs. Comments are left out.
pub(super) fn tokens(language: &str, code: &str) -> Vec<CodeToken> {
    let letters: Vec<char> = code.chars().collect();
    let mut lexer = CodeLexer { language, letters: &letters, at: 0, tokens: Vec::new() };
    while let Some(letter) = lexer.ahead(0) {
        lexer.read(letter);
    }
    lexer.tokens
}

/// Code while its tokens are read.
struct CodeLexer<'c> {
    language: &'c str,
    letters: &'c [char],
    at: usize,
    tokens: Vec<CodeToken>,
}

impl CodeLexer<'_> {
    fn ahead(&self, by: usize) -> Option<char> {
        self.letters.get(self.at + by).copied()
    }

    /// True if brackets begin there in which Perl and Ruby quote.
    fn opens_quote(&self, by: usize) -> bool {
        self.ahead(by).is_some_and(|letter| "{([<|/!".contains(letter))
    }

    /// Reads the token that begins with this letter.
    fn read(&mut self, letter: char) {
        let language = self.language;
        match letter {
            '#' if !matches!(language, "node" | "nodejs" | "bun" | "deno" | "lua") => self.skip_line(),
            '/' if self.ahead(1) == Some('/') && matches!(language, "node" | "nodejs" | "bun" | "deno" | "php") => {
                self.skip_line();
            }
            '"' | '\'' | '`' => self.read_string(letter),
            _ if letter.is_alphabetic() || matches!(letter, '_' | '$' | '@') => self.read_name(),
            '%' if matches!(self.ahead(1), Some('w' | 'W')) && self.opens_quote(2) => {
                let text = self.read_enclosed(2);
                self.tokens.extend(words(&text));
            }
            '%' if self.ahead(1) == Some('x') && self.opens_quote(2) => {
                let text = self.read_enclosed(2);
                self.tokens.push(CodeToken::Script(text));
            }
            ' ' | '\t' | '\r' => self.at += 1,
            _ => {
                self.tokens.push(CodeToken::Sign(letter));
                self.at += 1;
            }
        }
    }

    fn skip_line(&mut self) {
        while self.ahead(0).is_some_and(|letter| letter != '\n') {
            self.at += 1;
        }
    }

    fn read_string(&mut self, quote: char) {
        let (text, next) = string(self.letters, self.at);
        let is_script = matches!(self.language, "node" | "nodejs" | "bun" | "deno" | "tsx" | "ts-node");
        let fills = match self.language {
            "perl" | "php" | "ruby" | "groovy" | "julia" | "elixir" => quote != '\'',
            _ if is_script => quote == '`',
            // An `f` before the quote.
            _ => {
                let is_prefix = |name: &String| ["f", "F", "rf", "fr"].contains(&name.as_str());
                matches!(self.tokens.last(), Some(CodeToken::Name(name)) if is_prefix(name))
            }
        };
        let text = if fills { without_names(&text, self.language) } else { text };
        let runs = quote == '`' && matches!(self.language, "perl" | "ruby" | "php");
        self.tokens.push(if runs { CodeToken::Script(text) } else { CodeToken::Text(text) });
        self.at = next;
    }

    fn read_name(&mut self) {
        let start = self.at;
        let is_part = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '.' | '$' | '@');
        while self.ahead(0).is_some_and(is_part) || self.at > start && self.is_in_double_colon() {
            self.at += 1;
        }
        let name: String = self.letters.get(start..self.at).unwrap_or(&[]).iter().collect();
        // Perl and Ruby have more ways to quote.
        match name.as_str() {
            "q" | "qq" if self.opens_quote(0) => {
                let text = self.read_enclosed(0);
                self.tokens.push(CodeToken::Text(text));
            }
            "qx" if self.opens_quote(0) => {
                let text = self.read_enclosed(0);
                self.tokens.push(CodeToken::Script(text));
            }
            "qw" if self.opens_quote(0) => {
                let text = self.read_enclosed(0);
                self.tokens.extend(words(&text));
            }
            _ => self.tokens.push(CodeToken::Name(name)),
        }
    }

    /// True on one of the colons of `::`, of which the second is known by the first.
    fn is_in_double_colon(&self) -> bool {
        let before = self.at.checked_sub(1).and_then(|at| self.letters.get(at));
        self.ahead(0) == Some(':') && (self.ahead(1) == Some(':') || before == Some(&':'))
    }

    /// Reads the text between the brackets that begin there.
    fn read_enclosed(&mut self, by: usize) -> String {
        let (text, next) = enclosed(self.letters, self.at + by);
        self.at = next;
        text
    }
}

/// A text with an unknown part for every name in it: `${x}`, `{x}`, `$x`, `#{x}`.
fn without_names(text: &str, language: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        let opens = letters.peek() == Some(&'{');
        match letter {
            '$' | '#' if opens => skip_braces(&mut letters, &mut out),
            '{' if !matches!(language, "perl" | "php" | "ruby" | "node" | "nodejs" | "bun" | "deno") => {
                skip_braces(&mut letters, &mut out);
            }
            '$' | '@'
                if matches!(language, "perl" | "php") && letters.peek().is_some_and(|next| next.is_alphabetic()) =>
            {
                while letters.next_if(|next| next.is_alphanumeric() || *next == '_').is_some() {}
                out.push(UNKNOWN);
            }
            _ => out.push(letter),
        }
    }
    out
}

fn skip_braces(letters: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
    while letters.next_if(|next| *next != '}').is_some() {}
    letters.next();
    out.push(UNKNOWN);
}

/// The place of the bracket that closes this one, or the end of the code.
fn closing(tokens: &[CodeToken], at: usize) -> usize {
    let mut open = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(at).take(LONGEST_CALL) {
        match token {
            CodeToken::Sign('(' | '[' | '{') => open += 1,
            CodeToken::Sign(')' | ']' | '}') => {
                open = open.saturating_sub(1);
                if open == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    tokens.len().min(at + LONGEST_CALL)
}

/// The words of a list that is written without quotes.
fn words(text: &str) -> impl Iterator<Item = CodeToken> {
    text.split_whitespace().flat_map(|word| [CodeToken::Text(word.to_owned()), CodeToken::Sign(',')])
}

/// A quoted string, and where the code goes on.
fn string(letters: &[char], start: usize) -> (String, usize) {
    let quote = letters.get(start).copied().unwrap_or('"');
    let triple = letters.get(start + 1) == Some(&quote) && letters.get(start + 2) == Some(&quote);
    let width = if triple { 3 } else { 1 };
    let mut text = String::new();
    let mut at = start + width;
    while let Some(letter) = letters.get(at).copied() {
        let closes = if triple {
            letters.get(at..at + 3).is_some_and(|three| three.iter().all(|letter| *letter == quote))
        } else {
            letter == quote
        };
        if closes {
            return (text, at + width);
        }
        if letter == '\\' {
            let rest: String = letters.iter().skip(at + 1).take(9).collect();
            let (taken, decoded) = bashful_bash::unescape(&rest, true);
            if taken > 0 {
                text.extend(decoded);
                at += 1 + rest.get(..taken).unwrap_or("").chars().count();
            } else {
                text.extend(letters.get(at + 1));
                at += 2;
            }
            continue;
        }
        text.push(letter);
        at += 1;
    }
    (text, at)
}

/// The letter that ends a text which begins with this one: a bracket's other half, or the same letter.
fn closer_of(opener: char) -> char {
    match opener {
        '(' => ')',
        '{' => '}',
        '[' => ']',
        '<' => '>',
        other => other,
    }
}

/// Text between brackets, and where the code goes on.
fn enclosed(letters: &[char], start: usize) -> (String, usize) {
    let opener = letters.get(start).copied().unwrap_or('(');
    let closer = closer_of(opener);
    let mut text = String::new();
    let mut open = 0_usize;
    for (at, letter) in letters.iter().enumerate().skip(start) {
        if *letter == closer && (opener == closer && open > 0 || open == 1) {
            return (text, at + 1);
        }
        if *letter == opener {
            open += 1;
            if open == 1 {
                continue;
            }
        }
        if *letter == closer {
            open = open.saturating_sub(1);
        }
        text.push(*letter);
    }
    (text, letters.len())
}

/// The arguments of a call, as far as they are literals. Anything else is an unknown part of them.
#[derive(Default)]
pub(super) struct Literals {
    pub(super) words: Vec<String>,
    /// `cwd="…"`
    pub(super) directory: Option<String>,
    /// `input="…"`
    pub(super) input: Option<String>,
    pub(super) is_recursive: bool,
}

impl Literals {
    /// The literals among the arguments that begin at this token; none if nothing is called.
    pub(super) fn of(tokens: &[CodeToken], at: usize) -> Option<Self> {
        let inside = match tokens.get(at)? {
            CodeToken::Sign('(') => tokens.get(at + 1..closing(tokens, at))?,
            // `system "…"` in Perl and Ruby, up to the end of the statement.
            CodeToken::Text(_) => {
                let rest = tokens.get(at..)?;
                let is_end = |token: &CodeToken| matches!(token, CodeToken::Sign(';' | '\n' | '}'));
                rest.get(..rest.iter().position(is_end).unwrap_or(rest.len()))?
            }
            _ => return None,
        };
        let mut literals = Self::default();
        let is_option = |token: &CodeToken| matches!(token, CodeToken::Name(name) if name == "recursive");
        literals.is_recursive = inside.iter().any(is_option);
        for argument in arguments(inside) {
            match argument {
                [CodeToken::Name(name), CodeToken::Sign('='), value @ ..] => match name.as_str() {
                    "cwd" => literals.directory = Some(value_of(value)),
                    "input" => literals.input = Some(value_of(value)),
                    _ => {}
                },
                [CodeToken::Sign('['), list @ .., CodeToken::Sign(']')] => {
                    literals.words.extend(arguments(list).into_iter().map(value_of));
                }
                // Options, as JavaScript has them.
                [CodeToken::Sign('{'), options @ ..] => {
                    for option in arguments(options) {
                        if let [CodeToken::Name(name), CodeToken::Sign(':'), CodeToken::Text(text), ..] = option
                            && name == "cwd"
                        {
                            literals.directory = Some(text.clone());
                        }
                    }
                }
                [] => {}
                value => literals.words.push(value_of(value)),
            }
        }
        Some(literals)
    }

    pub(super) fn is_unknown(&self) -> bool {
        self.words.is_empty() || self.words.iter().any(|word| word.contains(UNKNOWN))
    }
}

/// The parts of a list, at its commas outside of brackets. Line ends mean nothing in it.
fn arguments(tokens: &[CodeToken]) -> Vec<&[CodeToken]> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(token) = tokens.get(at) {
        match token {
            CodeToken::Sign('(' | '[' | '{') => at = closing(tokens, at),
            CodeToken::Sign(',') => {
                parts.push(tokens.get(start..at).unwrap_or(&[]));
                start = at + 1;
            }
            CodeToken::Sign('\n') if start == at => start = at + 1,
            _ => {}
        }
        at += 1;
    }
    parts.push(tokens.get(start..).unwrap_or(&[]));
    parts.into_iter().map(without_line_ends).collect()
}

fn without_line_ends(mut tokens: &[CodeToken]) -> &[CodeToken] {
    while let [rest @ .., CodeToken::Sign('\n')] = tokens {
        tokens = rest;
    }
    tokens
}

/// The value of an expression: texts and paths that are joined, with an unknown part for everything else.
fn value_of(tokens: &[CodeToken]) -> String {
    let mut value = String::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            CodeToken::Text(text) => value.push_str(text),
            // A letter before a text says how it is written.
            CodeToken::Name(name)
                if matches!(name.as_str(), "f" | "r" | "b" | "rf" | "fr" | "u") && is_text(tokens.get(at + 1)) => {}
            CodeToken::Name(name) if tokens.get(at + 1) == Some(&CodeToken::Sign('(')) => {
                let end = closing(tokens, at + 1);
                let inside = arguments(tokens.get(at + 2..end).unwrap_or(&[])).into_iter().map(value_of);
                match base_of(name) {
                    "join" => value.push_str(&inside.collect::<Vec<_>>().join("/")),
                    "expanduser" | "Path" | "PurePath" | "abspath" | "realpath" | "resolve" | "str" => {
                        let path = inside.collect::<Vec<_>>().join("/");
                        let home = path.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
                        value.push_str(&home.map_or(path.clone(), |rest| format!("{HOME}{rest}")));
                    }
                    _ => value.push(UNKNOWN),
                }
                at = end;
            }
            // Two texts side by side are one; two paths with a slash, too.
            CodeToken::Sign('+' | '\n' | '(' | ')') => {}
            CodeToken::Sign('.') if is_text(tokens.get(at + 1)) => {}
            CodeToken::Sign('/') => value.push('/'),
            _ => value.push(UNKNOWN),
        }
        at += 1;
    }
    value
}

fn is_text(token: Option<&CodeToken>) -> bool {
    matches!(token, Some(CodeToken::Text(_)))
}

/// The last part of a name.
pub(super) fn base_of(name: &str) -> &str {
    let name = name.trim_start_matches(['$', '@']);
    name.rsplit(['.', ':', '>']).next().unwrap_or(name)
}
