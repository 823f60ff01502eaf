//! Reads expressions of Perl.

use crate::walk::perl::ast::Expr;
use crate::walk::perl::parser::Parser;

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

/// Words that no term begins with.
const OPERATORS: [&str; 21] = [
    "x", "eq", "ne", "lt", "gt", "le", "ge", "cmp", "and", "or", "xor", "not", "if", "unless", "while", "until", "for",
    "foreach", "isa", "else", "elsif",
];

/// The binary operators by how closely they bind, the loosest first.
const LEVELS: [&[&str]; 12] = [
    &["..", "..."],
    &["||", "//"],
    &["&&"],
    &["|", "^"],
    &["&"],
    &["==", "!=", "<=>", "eq", "ne", "cmp"],
    &["<", ">", "<=", ">=", "lt", "gt", "le", "ge", "isa"],
    &["<<", ">>"],
    &["+", "-", "."],
    &["*", "/", "%", "x"],
    &["=~", "!~"],
    &["**"],
];

/// The level of operators that arguments of a unary function have at least.
const SHIFT: usize = 7;
const BINDING: usize = 10;

/// The most operators of the same kind, one behind the other.
const LONGEST_CHAIN: usize = 256;

impl Parser {
    /// Reads an expression with `and`, `or` and commas.
    pub(super) fn expression(&mut self) -> Option<Expr> {
        self.enter()?;
        let mut left = self.conjunction()?;
        for _ in 0..LONGEST_CHAIN {
            if self.eat_word("or") {
                let right = self.conjunction()?;
                left = Expr::Or(left.boxed(), right.boxed());
            } else if self.eat_word("xor") {
                let right = self.conjunction()?;
                left = Expr::Binary("xor", left.boxed(), right.boxed());
            } else {
                self.depth -= 1;
                return Some(left);
            }
        }
        None
    }

    fn conjunction(&mut self) -> Option<Expr> {
        let mut left = self.negation()?;
        for _ in 0..LONGEST_CHAIN {
            if !self.eat_word("and") {
                return Some(left);
            }
            let right = self.negation()?;
            left = Expr::And(left.boxed(), right.boxed());
        }
        None
    }

    fn negation(&mut self) -> Option<Expr> {
        if self.eat_word("not") {
            self.enter()?;
            let value = self.negation()?;
            self.depth -= 1;
            return Some(Expr::Not(value.boxed()));
        }
        self.commas()
    }

    fn commas(&mut self) -> Option<Expr> {
        let first = self.assignment()?;
        if !self.is_comma() {
            return Some(first);
        }
        let mut items = vec![first];
        while self.eat_comma() {
            if self.is_end() {
                continue;
            }
            items.push(self.assignment()?);
        }
        Some(Expr::List(items))
    }

    fn is_comma(&mut self) -> bool {
        self.is_next(",") || self.is_next("=>")
    }

    fn eat_comma(&mut self) -> bool {
        self.eat(",") || self.eat("=>")
    }

    /// True if no term begins here.
    pub(super) fn is_end(&mut self) -> bool {
        self.skip();
        match self.ahead() {
            None | Some(')' | ']' | '}' | ';' | ':' | ',' | '=' | '?' | '|' | '*' | '>' | '^') => true,
            Some('.') => !self.later(1).is_some_and(|letter| letter.is_ascii_digit()),
            Some('&') => self.later(1) == Some('&'),
            Some('<') => !self.is_angle(),
            _ => {
                let word = self.word();
                let is_operator = word.as_deref().is_some_and(|word| OPERATORS.contains(&word) && word != "not");
                is_operator && !self.is_key_ahead(word.as_deref().unwrap_or(""))
            }
        }
    }

    fn is_key_ahead(&self, word: &str) -> bool {
        let after = self.at + word.chars().count();
        self.text(after, (after + 4).min(self.letters.len())).trim_start().starts_with("=>")
    }

    /// True at `<STDIN>`, `<$file>`, `<*.c>` or `<<WORD`.
    pub(super) fn is_angle(&self) -> bool {
        if self.later(1) == Some('<') {
            let next = if self.later(2) == Some('~') { self.later(3) } else { self.later(2) };
            return next.is_some_and(|letter| letter.is_alphabetic() || matches!(letter, '"' | '\'' | '_'))
                || self.later(2) == Some('>');
        }
        let rest = self.text(self.at + 1, (self.at + 60).min(self.letters.len()));
        rest.split_once('>')
            .is_some_and(|(inside, _)| !inside.contains(['=', ';', '\n', '(', '&', '|']) && !inside.starts_with(' '))
    }

    pub(super) fn assignment(&mut self) -> Option<Expr> {
        const SIGNS: [(&str, &str); 16] = [
            ("**=", "**"),
            ("||=", "||"),
            ("&&=", "&&"),
            ("//=", "//"),
            ("<<=", "<<"),
            (">>=", ">>"),
            (".=", "."),
            ("+=", "+"),
            ("-=", "-"),
            ("*=", "*"),
            ("/=", "/"),
            ("%=", "%"),
            ("x=", "x"),
            ("|=", "|"),
            ("&=", "&"),
            ("^=", "^"),
        ];
        self.enter()?;
        let left = self.choice()?;
        self.skip();
        let mut found = None;
        for (sign, operator) in SIGNS {
            if self.starts(sign) && !(sign == "x=" && self.starts("x=>")) && !(sign == "x=" && self.starts("x==")) {
                self.at += sign.chars().count();
                found = Some(operator);
                break;
            }
        }
        if found.is_none() && self.starts("=") && !self.starts("==") && !self.starts("=>") && !self.starts("=~") {
            self.at += 1;
            found = Some("");
        }
        let value = match found {
            Some(operator) => {
                let right = self.assignment()?;
                Expr::Assign(left.boxed(), operator, right.boxed())
            }
            None => left,
        };
        self.depth -= 1;
        Some(value)
    }

    fn choice(&mut self) -> Option<Expr> {
        let condition = self.binary(0)?;
        if !self.eat("?") {
            return Some(condition);
        }
        let then = self.assignment()?;
        self.expect(":")?;
        let otherwise = self.assignment()?;
        Some(Expr::Choice(condition.boxed(), then.boxed(), otherwise.boxed()))
    }

    /// The operator that is next, if it binds at least this closely.
    fn operator(&mut self, least: usize) -> Option<(&'static str, usize)> {
        self.skip();
        if let Some(word) = self.word() {
            // `x3` is a repetition, too.
            let is_repetition =
                word.starts_with('x') && word.len() > 1 && word.chars().skip(1).all(|letter| letter.is_ascii_digit());
            let word = if is_repetition { "x" } else { word.as_str() };
            let found = LEVELS
                .iter()
                .enumerate()
                .find_map(|(level, signs)| signs.iter().find(|sign| **sign == word).map(|sign| (*sign, level)));
            return found.filter(|(_, level)| *level >= least && !self.is_key_ahead(word) && !self.starts("x="));
        }
        let mut best: Option<(&'static str, usize)> = None;
        for (level, signs) in LEVELS.iter().enumerate() {
            for sign in *signs {
                let is_sign = !sign.starts_with(char::is_alphabetic) && self.starts(sign);
                if is_sign && best.is_none_or(|(known, _)| known.len() < sign.len()) {
                    best = Some((sign, level));
                }
            }
        }
        let (sign, level) = best?;
        let after = self.later(sign.len());
        // `+=` and its like are assignments.
        let assigns = after == Some('=')
            && !matches!(sign, "==" | "!=" | "<=" | ">=" | "=~" | "!~" | "<=>" | ".." | "..." | "<" | ">")
            && self.later(sign.len() + 1) != Some('=')
            && !(self.later(sign.len() + 1) == Some('~'));
        (level >= least && !assigns && !(sign == "&" && after == Some('&'))).then_some((sign, level))
    }

    pub(super) fn binary(&mut self, least: usize) -> Option<Expr> {
        self.enter()?;
        let mut left = self.unary()?;
        let mut length = 0;
        while let Some((sign, level)) = self.operator(least) {
            length += 1;
            if length > LONGEST_CHAIN {
                return None;
            }
            self.at += sign.chars().count();
            let right = self.binary(if sign == "**" { level } else { level + 1 })?;
            left = match sign {
                "||" => Expr::Or(left.boxed(), right.boxed()),
                "&&" => Expr::And(left.boxed(), right.boxed()),
                "//" => Expr::OrDefined(left.boxed(), right.boxed()),
                ".." | "..." => Expr::Range(left.boxed(), right.boxed()),
                "x" => Expr::Repeat(left.boxed(), right.boxed()),
                "=~" => bound(left, right),
                "!~" => Expr::Not(bound(left, right).boxed()),
                sign => Expr::Binary(sign, left.boxed(), right.boxed()),
            };
        }
        self.depth -= 1;
        Some(left)
    }

    fn unary(&mut self) -> Option<Expr> {
        self.skip();
        match self.ahead()? {
            '!' if self.later(1) != Some('~') => {
                self.at += 1;
                Some(Expr::Not(self.nested(BINDING + 1)?.boxed()))
            }
            '~' => {
                self.at += 1;
                Some(Expr::Complement(self.nested(BINDING + 1)?.boxed()))
            }
            '\\' => {
                self.at += 1;
                Some(Expr::Reference(self.nested(BINDING + 1)?.boxed()))
            }
            '+' if self.later(1) == Some('+') => self.step_before(1.0),
            '-' if self.later(1) == Some('-') => self.step_before(-1.0),
            '+' => {
                self.at += 1;
                self.nested(BINDING + 1)
            }
            '-' => self.minus(),
            _ => {
                let term = self.term()?;
                let term = self.postfix(term)?;
                self.step_behind(term)
            }
        }
    }

    fn nested(&mut self, least: usize) -> Option<Expr> {
        self.enter()?;
        let value = self.binary(least)?;
        self.depth -= 1;
        Some(value)
    }

    fn step_before(&mut self, by: f64) -> Option<Expr> {
        self.at += 2;
        let value = self.nested(BINDING + 1)?;
        Some(Expr::Step(value.boxed(), true, by))
    }

    fn step_behind(&mut self, term: Expr) -> Option<Expr> {
        self.skip();
        let by = match (self.ahead(), self.later(1)) {
            (Some('+'), Some('+')) => 1.0,
            (Some('-'), Some('-')) => -1.0,
            _ => return Some(term),
        };
        self.at += 2;
        Some(Expr::Step(term.boxed(), false, by))
    }

    /// Reads `-e $file`, `-bareword` or a negative value.
    fn minus(&mut self) -> Option<Expr> {
        self.at += 1;
        let end = self.word_end(self.at);
        let word = self.text(self.at, end);
        if word.chars().count() == 1 && "edfrwxzslpSbcugktTBAMCoRWXO".contains(&word) && !self.is_key_ahead(&word) {
            let after = self.letters.get(end).copied();
            if after != Some('(') || true {
                let test = word.chars().next()?;
                self.at = end;
                self.skip();
                let operand = if self.is_end() || self.is_comma() {
                    Expr::Scalar("_".to_owned())
                } else if self.word().as_deref() == Some("_") {
                    self.at += 1;
                    Expr::Scalar("_".to_owned())
                } else {
                    self.nested(SHIFT)?
                };
                return Some(Expr::FileTest(test, operand.boxed()));
            }
        }
        if !word.is_empty() && !self.subs.contains(&word) && self.letters.get(end) != Some(&'(') {
            self.at = end;
            return Some(Expr::Text(format!("-{word}")));
        }
        let value = self.nested(BINDING + 1)?;
        Some(match value {
            Expr::Number(number) => Expr::Number(-number),
            value => Expr::Negative(value.boxed()),
        })
    }

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

    fn arrow(&mut self, term: Expr) -> Option<Expr> {
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

    fn slice(&mut self, container: Expr, is_hash: bool) -> Option<Expr> {
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
    fn key(&mut self) -> Option<Expr> {
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

    fn last_index(&mut self) -> Option<Expr> {
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
    fn braced_name(&mut self) -> Option<String> {
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

    fn named_variable(&mut self, sigil: char, name: &str) -> Option<Expr> {
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

/// A pattern, bound to the value that it is about.
fn bound(left: Expr, right: Expr) -> Expr {
    match right {
        Expr::Match { pattern, flags, .. } => Expr::Match { target: Some(left.boxed()), pattern, flags },
        Expr::Substitute { pattern, replacement, flags, .. } => {
            Expr::Substitute { target: Some(left.boxed()), pattern, replacement, flags }
        }
        Expr::Translate { from, to, flags, .. } => Expr::Translate { target: Some(left.boxed()), from, to, flags },
        pattern => Expr::Match { target: Some(left.boxed()), pattern: pattern.boxed(), flags: String::new() },
    }
}
