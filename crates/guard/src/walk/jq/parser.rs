//! Reads filters of jq.

use std::rc::Rc;

use crate::walk::jq::json::Json;

/// The deepest nesting of filters.
const DEEPEST: usize = 40;

/// The most operators of the same kind, one behind the other.
const LONGEST_CHAIN: usize = 64;

/// A pattern that takes a value apart: `. as [$a, {b: $c}]`.
#[derive(Debug)]
pub(super) enum Pattern {
    Variable(String),
    List(Vec<Pattern>),
    Table(Vec<(Rc<Filter>, Option<String>, Option<Pattern>)>),
}

/// A part of a string.
#[derive(Debug)]
pub(super) enum Part {
    Text(String),
    Filter(Rc<Filter>),
}

/// A filter.
#[derive(Debug)]
pub(super) enum Filter {
    Identity,
    Everything,
    Member(Rc<Filter>, Rc<Filter>),
    Slice(Rc<Filter>, Option<Rc<Filter>>, Option<Rc<Filter>>),
    Items(Rc<Filter>),
    Literal(Json),
    Text(Option<String>, Vec<Part>),
    Format(String),
    List(Option<Rc<Filter>>),
    Table(Vec<(Rc<Filter>, Option<Rc<Filter>>)>),
    Negative(Rc<Filter>),
    Pipe(Rc<Filter>, Rc<Filter>),
    Both(Rc<Filter>, Rc<Filter>),
    Binary(&'static str, Rc<Filter>, Rc<Filter>),
    If(Vec<(Rc<Filter>, Rc<Filter>)>, Option<Rc<Filter>>),
    Try(Rc<Filter>, Option<Rc<Filter>>),
    Reduce(Rc<Filter>, Pattern, Rc<Filter>, Rc<Filter>),
    Foreach(Rc<Filter>, Pattern, Rc<Filter>, Rc<Filter>, Option<Rc<Filter>>),
    Define(Rc<Definition>, Rc<Filter>),
    Call(String, Vec<Rc<Filter>>),
    Variable(String),
    As(Rc<Filter>, Vec<Pattern>, Rc<Filter>),
    Label(String, Rc<Filter>),
    Break(String),
}

/// A function that the filter defines.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) parameters: Vec<String>,
    pub(super) body: Rc<Filter>,
}

/// The filter that a text is; none if it cannot be read.
pub(super) fn parsed(text: &str) -> Option<Rc<Filter>> {
    let mut reader = FilterReader { rest: text, depth: 0 };
    let filter = reader.program()?;
    reader.skip();
    reader.rest.is_empty().then_some(filter)
}

pub(super) struct FilterReader<'t> {
    pub(super) rest: &'t str,
    pub(super) depth: usize,
}

const LEVELS: [&[&str]; 7] = [
    &["//"],
    &["=", "|=", "+=", "-=", "*=", "/=", "%=", "//="],
    &["or"],
    &["and"],
    &["==", "!=", "<=", ">=", "<", ">"],
    &["+", "-"],
    &["*", "/", "%"],
];

impl FilterReader<'_> {
    pub(super) fn skip(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            match self.rest.strip_prefix('#') {
                Some(remark) => self.rest = remark.split_once('\n').map_or("", |(_, rest)| rest),
                None => return,
            }
        }
    }

    pub(super) fn eat(&mut self, sign: &str) -> bool {
        self.skip();
        match self.rest.strip_prefix(sign) {
            Some(after) => {
                self.rest = after;
                true
            }
            None => false,
        }
    }

    pub(super) fn expect(&mut self, sign: &str) -> Option<()> {
        self.eat(sign).then_some(())
    }

    pub(super) fn is_word(&mut self, word: &str) -> bool {
        self.skip();
        self.rest.strip_prefix(word).is_some_and(|after| !after.starts_with(is_name))
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.rest = self.rest.get(word.len()..).unwrap_or("");
        }
        found
    }

    /// Reads a name, with its modules.
    pub(super) fn name(&mut self) -> Option<String> {
        self.skip();
        let end = self.rest.find(|letter| !is_name(letter) && letter != ':').unwrap_or(self.rest.len());
        let mut name = self.rest.get(..end)?;
        // A single colon belongs to a table.
        if let Some(at) = name.replace("::", "..").find(':') {
            name = name.get(..at)?;
        }
        if name.is_empty() || name.starts_with(|letter: char| letter.is_ascii_digit()) {
            return None;
        }
        self.rest = self.rest.get(name.len()..)?;
        Some(name.to_owned())
    }

    pub(super) fn enter(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth < DEEPEST).then_some(())
    }

    pub(super) fn program(&mut self) -> Option<Rc<Filter>> {
        while self.is_word("import") || self.is_word("include") {
            let (_, rest) = self.rest.split_once(';')?;
            self.rest = rest;
        }
        // A file may hold nothing but functions.
        self.pipe()
    }

    pub(super) fn pipe(&mut self) -> Option<Rc<Filter>> {
        self.enter()?;
        let filter = self.pipe_at_level()?;
        self.depth -= 1;
        Some(filter)
    }

    pub(super) fn pipe_at_level(&mut self) -> Option<Rc<Filter>> {
        if self.eat_word("def") {
            let definition = self.definition()?;
            self.skip();
            let rest = if self.rest.is_empty() || self.rest.starts_with(')') {
                Rc::new(Filter::Identity)
            } else {
                self.pipe()?
            };
            return Some(Rc::new(Filter::Define(Rc::new(definition), rest)));
        }
        if self.eat_word("label") {
            self.expect("$")?;
            let name = self.name()?;
            self.expect("|")?;
            let body = self.pipe()?;
            return Some(Rc::new(Filter::Label(name, body)));
        }
        let first = self.commas()?;
        if self.eat_word("as") {
            let mut patterns = vec![self.pattern()?];
            while self.eat("?//") {
                patterns.push(self.pattern()?);
            }
            self.expect("|")?;
            let body = self.pipe()?;
            return Some(Rc::new(Filter::As(first, patterns, body)));
        }
        self.skip();
        if self.rest.starts_with('|') && !self.rest.starts_with("|=") {
            self.eat("|");
            let rest = self.pipe()?;
            return Some(Rc::new(Filter::Pipe(first, rest)));
        }
        Some(first)
    }

    pub(super) fn definition(&mut self) -> Option<Definition> {
        let name = self.name()?;
        let mut parameters = Vec::new();
        if self.eat("(") {
            loop {
                let is_value = self.eat("$");
                let parameter = self.name()?;
                parameters.push(if is_value { format!("${parameter}") } else { parameter });
                if !self.eat(";") {
                    break;
                }
            }
            self.expect(")")?;
        }
        self.expect(":")?;
        let body = self.pipe()?;
        self.expect(";")?;
        Some(Definition { name, parameters, body })
    }

    pub(super) fn commas(&mut self) -> Option<Rc<Filter>> {
        let mut left = self.binary(0)?;
        for _ in 0..LONGEST_CHAIN {
            if !self.eat(",") {
                return Some(left);
            }
            let right = self.binary(0)?;
            left = Rc::new(Filter::Both(left, right));
        }
        None
    }

    pub(super) fn operator(&mut self, level: usize) -> Option<&'static str> {
        self.skip();
        let signs = *LEVELS.get(level)?;
        let found = signs.iter().copied().filter(|sign| {
            self.rest.starts_with(sign)
                && (!sign.starts_with(is_name)
                    || !self.rest.get(sign.len()..).is_some_and(|rest| rest.starts_with(is_name)))
        });
        let sign = found.max_by_key(|sign| sign.len())?;
        let after = self.rest.get(sign.len()..).unwrap_or("");
        let is_other = match sign {
            "=" | "+" | "-" | "*" | "/" | "%" | "//" if after.starts_with('=') && sign != "=" => true,
            "=" => after.starts_with('='),
            "/" => after.starts_with('/'),
            _ => false,
        };
        (!is_other).then_some(sign)
    }

    pub(super) fn binary(&mut self, level: usize) -> Option<Rc<Filter>> {
        if level >= LEVELS.len() {
            return self.postfix();
        }
        let mut left = self.binary(level + 1)?;
        for _ in 0..LONGEST_CHAIN {
            let Some(sign) = self.operator(level) else { return Some(left) };
            self.rest = self.rest.get(sign.len()..)?;
            // `//` goes on to the right.
            self.enter()?;
            let right = if sign == "//" { self.binary(level)? } else { self.binary(level + 1)? };
            self.depth -= 1;
            left = Rc::new(Filter::Binary(sign, left, right));
        }
        None
    }

    pub(super) fn postfix(&mut self) -> Option<Rc<Filter>> {
        let mut term = self.term()?;
        for _ in 0..LONGEST_CHAIN {
            self.skip();
            if self.rest.starts_with("..") {
                return Some(term);
            }
            if self.rest.starts_with('[') || self.rest.starts_with(".[") {
                self.eat(".");
                term = self.index(term)?;
            } else if self.rest.starts_with(".\"") {
                self.eat(".");
                let key = self.string(None)?;
                term = Rc::new(Filter::Member(term, key));
            } else if self.rest.starts_with('.')
                && self.rest.get(1..).is_some_and(|rest| rest.trim_start().starts_with(is_name))
            {
                self.eat(".");
                let key = self.name()?;
                term = Rc::new(Filter::Member(term, text_of(key)));
            } else if self.rest.starts_with('?') && !self.rest.starts_with("?//") {
                self.eat("?");
                term = Rc::new(Filter::Try(term, None));
            } else {
                return Some(term);
            }
        }
        None
    }

    pub(super) fn index(&mut self, term: Rc<Filter>) -> Option<Rc<Filter>> {
        self.expect("[")?;
        if self.eat("]") {
            return Some(Rc::new(Filter::Items(term)));
        }
        if self.eat(":") {
            let to = self.pipe()?;
            self.expect("]")?;
            return Some(Rc::new(Filter::Slice(term, None, Some(to))));
        }
        let key = self.pipe()?;
        if self.eat(":") {
            let to =
                if self.eat("]") { return Some(Rc::new(Filter::Slice(term, Some(key), None))) } else { self.pipe()? };
            self.expect("]")?;
            return Some(Rc::new(Filter::Slice(term, Some(key), Some(to))));
        }
        self.expect("]")?;
        Some(Rc::new(Filter::Member(term, key)))
    }

    pub(super) fn term(&mut self) -> Option<Rc<Filter>> {
        self.enter()?;
        let term = self.term_at_level()?;
        self.depth -= 1;
        Some(term)
    }

    pub(super) fn term_at_level(&mut self) -> Option<Rc<Filter>> {
        self.skip();
        let first = self.rest.chars().next()?;
        Some(match first {
            '"' => self.string(None)?,
            '(' => {
                self.eat("(");
                let inner = self.pipe()?;
                self.expect(")")?;
                inner
            }
            '[' => {
                self.eat("[");
                let inner = if self.eat("]") { None } else { Some(self.pipe()?) };
                if inner.is_some() {
                    self.expect("]")?;
                }
                Rc::new(Filter::List(inner))
            }
            '{' => self.table()?,
            '.' => self.dot()?,
            '$' => {
                self.eat("$");
                Rc::new(Filter::Variable(self.name()?))
            }
            '@' => {
                self.eat("@");
                let format = self.name()?;
                if self.rest.trim_start().starts_with('"') {
                    self.skip();
                    return self.string(Some(format));
                }
                Rc::new(Filter::Format(format))
            }
            '-' => {
                self.eat("-");
                Rc::new(Filter::Negative(self.postfix()?))
            }
            '0'..='9' => {
                let is_part = |letter: char| letter.is_ascii_digit() || matches!(letter, '.' | 'e' | 'E');
                let end = self.rest.find(|letter| !is_part(letter)).unwrap_or(self.rest.len());
                let (number, rest) = self.rest.split_at_checked(end)?;
                self.rest = rest;
                Rc::new(Filter::Literal(Json::Number(number.trim_end_matches('.').parse().ok()?)))
            }
            _ => {
                let name = self.name()?;
                self.word(name)?
            }
        })
    }

    pub(super) fn dot(&mut self) -> Option<Rc<Filter>> {
        if self.eat("..") {
            return Some(Rc::new(Filter::Everything));
        }
        self.eat(".");
        let identity = Rc::new(Filter::Identity);
        if self.rest.starts_with('"') {
            let key = self.string(None)?;
            return Some(Rc::new(Filter::Member(identity, key)));
        }
        if self.rest.starts_with(is_name) && !self.rest.starts_with(|letter: char| letter.is_ascii_digit()) {
            let key = self.name()?;
            return Some(Rc::new(Filter::Member(identity, text_of(key))));
        }
        Some(identity)
    }

    pub(super) fn word(&mut self, name: String) -> Option<Rc<Filter>> {
        Some(Rc::new(match name.as_str() {
            "null" => Filter::Literal(Json::Null),
            "true" => Filter::Literal(Json::Flag(true)),
            "false" => Filter::Literal(Json::Flag(false)),
            "if" => {
                let mut branches = Vec::new();
                loop {
                    let condition = self.pipe()?;
                    self.eat_word("then").then_some(())?;
                    branches.push((condition, self.pipe()?));
                    if !self.eat_word("elif") {
                        break;
                    }
                }
                let otherwise = if self.eat_word("else") { Some(self.pipe()?) } else { None };
                self.eat_word("end").then_some(())?;
                Filter::If(branches, otherwise)
            }
            "try" => {
                let body = self.postfix()?;
                let handler = if self.eat_word("catch") { Some(self.postfix()?) } else { None };
                Filter::Try(body, handler)
            }
            "reduce" | "foreach" => {
                let source = self.postfix()?;
                self.eat_word("as").then_some(())?;
                let pattern = self.pattern()?;
                self.expect("(")?;
                let start = self.pipe()?;
                self.expect(";")?;
                let update = self.pipe()?;
                let extract = if self.eat(";") { Some(self.pipe()?) } else { None };
                self.expect(")")?;
                if name == "reduce" {
                    Filter::Reduce(source, pattern, start, update)
                } else {
                    Filter::Foreach(source, pattern, start, update, extract)
                }
            }
            "def" => {
                let definition = self.definition()?;
                let rest = self.pipe()?;
                Filter::Define(Rc::new(definition), rest)
            }
            "label" => {
                self.expect("$")?;
                let label = self.name()?;
                self.expect("|")?;
                Filter::Label(label, self.pipe()?)
            }
            "break" => {
                self.expect("$")?;
                Filter::Break(self.name()?)
            }
            "then" | "else" | "end" | "as" | "and" | "or" | "elif" | "catch" => return None,
            _ => {
                let mut arguments = Vec::new();
                if self.rest.trim_start().starts_with('(') {
                    self.eat("(");
                    loop {
                        arguments.push(self.pipe()?);
                        if !self.eat(";") {
                            break;
                        }
                    }
                    self.expect(")")?;
                }
                Filter::Call(name, arguments)
            }
        }))
    }
}

pub(super) fn text_of(text: String) -> Rc<Filter> {
    Rc::new(Filter::Literal(Json::Text(text)))
}

pub(super) fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}
