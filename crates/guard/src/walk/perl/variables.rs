//! Reads variables of Perl, their indexes, and calls by name.

use crate::walk::perl::ast::Expr;
use crate::walk::perl::parser::Parser;
use crate::walk::perl::terms::{LONGEST_CHAIN, SHIFT};

impl Parser {
    /// Reads indexes, calls and methods behind a term.
    pub(super) fn postfix(&mut self, term: Expr) -> Option<Expr> {
        let mut term = term;
        for _ in 0..LONGEST_CHAIN {
            let is_element = matches!(term, Expr::Item(..) | Expr::Entry(..) | Expr::CallValue(..));
            if is_element && self.ahead() == Some('[') {
                term = self.indexed(Expr::Dereferenced('@', term.boxed()), false)?;
            } else if is_element && self.ahead() == Some('{') {
                term = self.indexed(Expr::Dereferenced('%', term.boxed()), true)?;
            } else if is_element && self.ahead() == Some('(') {
                self.at += 1;
                let arguments = self.arguments(")")?;
                term = Expr::CallValue(term.boxed(), arguments);
            } else if self.is_next("->") {
                self.at += 2;
                self.skip();
                term = self.arrow(term)?;
            } else {
                return Some(term);
            }
        }
        None
    }

    pub(super) fn arrow(&mut self, term: Expr) -> Option<Expr> {
        match self.ahead()? {
            '[' => self.indexed(Expr::Dereferenced('@', term.boxed()), false),
            '{' => self.indexed(Expr::Dereferenced('%', term.boxed()), true),
            '(' => {
                self.at += 1;
                let arguments = self.arguments(")")?;
                Some(Expr::CallValue(term.boxed(), arguments))
            }
            sigil @ ('@' | '%') => {
                self.at += 1;
                match self.ahead()? {
                    '*' => {
                        self.at += 1;
                        Some(Expr::Dereferenced(sigil, term.boxed()))
                    }
                    '[' => self.slice(Expr::Dereferenced('@', term.boxed()), false),
                    '{' => self.slice(Expr::Dereferenced('%', term.boxed()), true),
                    _ => None,
                }
            }
            '$' if self.later(1) == Some('*') => {
                self.at += 2;
                Some(Expr::Dereferenced('$', term.boxed()))
            }
            '$' if self.starts("$#*") => {
                self.at += 3;
                Some(Expr::LastIndex(Expr::Dereferenced('@', term.boxed()).boxed()))
            }
            letter => {
                let method = if letter == '$' {
                    self.variable()?
                } else {
                    let name = self.word()?;
                    self.at += name.chars().count();
                    Expr::Text(name)
                };
                let mut arguments = Vec::new();
                if self.ahead() == Some('(') {
                    self.at += 1;
                    arguments = self.arguments(")")?;
                }
                Some(Expr::Method(term.boxed(), method.boxed(), arguments))
            }
        }
    }

    /// Reads `[key]` or `{key}`.
    pub(super) fn indexed(&mut self, container: Expr, is_hash: bool) -> Option<Expr> {
        self.at += 1;
        if is_hash {
            let key = self.key()?;
            return Some(Expr::Entry(container.boxed(), key.boxed()));
        }
        let key = self.expression()?;
        self.expect("]")?;
        Some(Expr::Item(container.boxed(), key.boxed()))
    }

    pub(super) fn slice(&mut self, container: Expr, is_hash: bool) -> Option<Expr> {
        self.at += 1;
        let closer = if is_hash { "}" } else { "]" };
        let keys = Expr::List(self.arguments(closer)?);
        Some(if is_hash {
            Expr::Entries(container.boxed(), keys.boxed())
        } else {
            Expr::Items(container.boxed(), keys.boxed())
        })
    }

    /// Reads the key of a hash up to its brace. A word needs no quotes.
    pub(super) fn key(&mut self) -> Option<Expr> {
        self.skip();
        let minus = usize::from(self.ahead() == Some('-'));
        let end = self.word_end(self.at + minus);
        if end > self.at + minus {
            let mut after = end;
            while self.letters.get(after).is_some_and(|letter| letter.is_whitespace()) {
                after += 1;
            }
            if self.letters.get(after) == Some(&'}') {
                let word = self.text(self.at, end);
                self.at = after + 1;
                return Some(Expr::Text(word));
            }
        }
        let key = self.expression()?;
        self.expect("}")?;
        Some(key)
    }

    /// Reads arguments up to the sign that closes them.
    pub(super) fn arguments(&mut self, closer: &str) -> Option<Vec<Expr>> {
        if self.eat(closer) {
            return Some(Vec::new());
        }
        let items = self.expression()?;
        self.expect(closer)?;
        Some(match items {
            Expr::List(items) => items,
            item => vec![item],
        })
    }

    /// Reads a variable. Its sigil is next.
    pub(super) fn variable(&mut self) -> Option<Expr> {
        let sigil = self.ahead()?;
        self.at += 1;
        if sigil == '$' && self.ahead() == Some('#') {
            return self.last_index();
        }
        let name_end = self.name_end(sigil);
        if name_end > self.at {
            let name = self.text(self.at, name_end);
            self.at = name_end;
            return self.named_variable(sigil, &name);
        }
        // `@{$x}`, `@$x`, `$$x`
        let inner = match self.ahead()? {
            '{' => {
                self.at += 1;
                let inner = self.braced_name().map_or_else(|| self.expression(), |name| Some(Expr::Text(name)))?;
                self.expect("}")?;
                if let Expr::Text(name) = &inner {
                    return self.named_variable(sigil, &name.clone());
                }
                inner
            }
            '$' => {
                self.enter()?;
                self.at += 1;
                let end = self.name_end('$');
                let inner = if end > self.at {
                    let name = self.text(self.at, end);
                    self.at = end;
                    Expr::Scalar(name)
                } else {
                    self.at -= 1;
                    self.variable()?
                };
                self.depth -= 1;
                inner
            }
            _ => return None,
        };
        match (sigil, self.ahead()) {
            ('$', Some('[')) => self.indexed(Expr::Dereferenced('@', inner.boxed()), false),
            ('$', Some('{')) => self.indexed(Expr::Dereferenced('%', inner.boxed()), true),
            ('@', Some('[')) => self.slice(Expr::Dereferenced('@', inner.boxed()), false),
            ('@', Some('{')) => self.slice(Expr::Dereferenced('%', inner.boxed()), true),
            _ => Some(Expr::Dereferenced(sigil, inner.boxed())),
        }
    }

    pub(super) fn last_index(&mut self) -> Option<Expr> {
        self.at += 1;
        let end = self.word_end(self.at);
        if end > self.at {
            let name = self.text(self.at, end);
            self.at = end;
            return Some(Expr::LastIndex(Expr::Array(name).boxed()));
        }
        let inner = match self.ahead()? {
            '{' => {
                self.at += 1;
                let inner = self.expression()?;
                self.expect("}")?;
                inner
            }
            '$' => self.variable()?,
            _ => return None,
        };
        Some(Expr::LastIndex(Expr::Dereferenced('@', inner.boxed()).boxed()))
    }

    /// The name inside of `${name}`.
    pub(super) fn braced_name(&mut self) -> Option<String> {
        self.skip();
        let end = if self.ahead() == Some('^') { self.word_end(self.at + 1) } else { self.word_end(self.at) };
        let mut after = end;
        while self.letters.get(after).is_some_and(|letter| letter.is_whitespace()) {
            after += 1;
        }
        (end > self.at && self.letters.get(after) == Some(&'}')).then(|| {
            let name = self.text(self.at, end);
            self.at = after;
            name
        })
    }

    /// The end of the name of a variable behind its sigil; signs have names, too.
    pub(super) fn name_end(&self, sigil: char) -> usize {
        let end = self.word_end(self.at);
        if end > self.at {
            return end;
        }
        let letter = self.ahead().unwrap_or(' ');
        if letter == ':' && self.later(1) == Some(':') {
            return self.word_end(self.at + 2);
        }
        if letter.is_ascii_digit() {
            let mut end = self.at;
            while self.letters.get(end).is_some_and(char::is_ascii_digit) {
                end += 1;
            }
            return end;
        }
        if letter == '^' && self.later(1).is_some_and(|letter| letter.is_ascii_uppercase()) && sigil == '$' {
            return self.at + 2;
        }
        let is_special = match sigil {
            '$' => {
                "!@&/\\,;.0\"+`'<>()[]|~-:?".contains(letter)
                    || letter == '$'
                        && !self.later(1).is_some_and(|next| next.is_alphabetic() || matches!(next, '_' | '{' | '$'))
            }
            '%' | '@' => {
                "+-!".contains(letter)
                    && !self.later(1).is_some_and(|next| next.is_whitespace() || next.is_ascii_digit())
            }
            _ => false,
        };
        self.at + usize::from(is_special)
    }

    pub(super) fn named_variable(&mut self, sigil: char, name: &str) -> Option<Expr> {
        let name = name.to_owned();
        match (sigil, self.ahead()) {
            ('$', Some('[')) => self.indexed(Expr::Array(name), false),
            ('$', Some('{')) => self.indexed(Expr::Hash(name), true),
            ('@', Some('[')) => self.slice(Expr::Array(name), false),
            ('@', Some('{')) => self.slice(Expr::Hash(name), true),
            ('%', Some('{')) => {
                self.at += 1;
                let keys = Expr::List(self.arguments("}")?);
                Some(Expr::Pairs(Expr::Hash(name).boxed(), keys.boxed()))
            }
            ('$', _) => Some(Expr::Scalar(name)),
            ('@', _) => Some(Expr::Array(name)),
            ('%', _) => Some(Expr::Hash(name)),
            ('&', _) => Some(Expr::Function(name)),
            _ => Some(Expr::Glob(name)),
        }
    }

    /// Reads a call of a named function or something else that begins with a word.
    pub(super) fn call(&mut self, name: &str) -> Option<Expr> {
        self.skip();
        let has_parentheses = self.ahead() == Some('(');
        if WITH_BLOCK.contains(&name) && !self.subs.iter().any(|own| own == name) {
            return self.call_with_block(name);
        }
        if has_parentheses {
            self.at += 1;
            let arguments = self.arguments(")")?;
            return Some(Expr::Call(name.to_owned(), arguments));
        }
        let is_own = self.subs.iter().any(|own| own == name);
        if NULLARY.contains(&name) && !is_own {
            return Some(Expr::Call(name.to_owned(), Vec::new()));
        }
        // `shift // "default"`
        if matches!(name, "shift" | "pop") && self.ahead() == Some('/') {
            return Some(Expr::Call(name.to_owned(), Vec::new()));
        }
        if UNARY.contains(&name) && !is_own {
            let arguments = if self.is_end() || self.is_comma() { Vec::new() } else { vec![self.nested(SHIFT)?] };
            return Some(Expr::Call(name.to_owned(), arguments));
        }
        // A constant or a class, or a call without parentheses.
        if self.is_end() || self.is_comma() {
            return Some(Expr::Call(name.to_owned(), Vec::new()));
        }
        let is_constant =
            name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_' || letter.is_ascii_digit())
                && !is_own;
        if is_constant
            || self.starts("-") && self.later(1).is_some_and(char::is_whitespace)
            || self.starts("+") && self.later(1) == Some(' ')
            || self.starts("%") && self.later(1) == Some(' ')
            || self.starts("/") && is_constant
        {
            return Some(Expr::Call(name.to_owned(), Vec::new()));
        }
        let arguments = match self.commas()? {
            Expr::List(items) => items,
            item => vec![item],
        };
        Some(Expr::Call(name.to_owned(), arguments))
    }
}

/// Functions that take one value and bind it closely.
const UNARY: [&str; 62] = [
    "defined",
    "ref",
    "scalar",
    "lc",
    "uc",
    "lcfirst",
    "ucfirst",
    "fc",
    "length",
    "chr",
    "ord",
    "int",
    "hex",
    "oct",
    "abs",
    "sqrt",
    "log",
    "exp",
    "sin",
    "cos",
    "shift",
    "pop",
    "chdir",
    "rmdir",
    "readdir",
    "closedir",
    "close",
    "quotemeta",
    "exists",
    "delete",
    "each",
    "keys",
    "values",
    "chomp",
    "chop",
    "umask",
    "sleep",
    "exit",
    "localtime",
    "gmtime",
    "caller",
    "undef",
    "study",
    "pos",
    "lock",
    "rand",
    "srand",
    "readlink",
    "stat",
    "lstat",
    "require",
    "chroot",
    "fileno",
    "eof",
    "getc",
    "rewinddir",
    "alarm",
    "getpwnam",
    "getpwuid",
    "lock_keys",
    "untie",
    "tell",
];

/// Functions that take nothing.
const NULLARY: [&str; 12] = [
    "time",
    "times",
    "wait",
    "wantarray",
    "__FILE__",
    "__LINE__",
    "__PACKAGE__",
    "__SUB__",
    "getppid",
    "fork",
    "getlogin",
    "break",
];

/// Functions whose first argument may be a block.
const WITH_BLOCK: [&str; 18] = [
    "map",
    "grep",
    "sort",
    "first",
    "any",
    "all",
    "none",
    "notall",
    "reduce",
    "sum_by",
    "max_by",
    "min_by",
    "sort_by",
    "uniq_by",
    "pairmap",
    "pairgrep",
    "first_index",
    "firstidx",
];
