//! Reads expressions of Perl.

use crate::walk::perl::ast::Expr;
use crate::walk::perl::parser::Parser;

/// Words that no term begins with.
pub(super) const OPERATORS: [&str; 21] = [
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
pub(super) const SHIFT: usize = 7;
pub(super) const BINDING: usize = 10;

/// The most operators of the same kind, one behind the other.
pub(super) const LONGEST_CHAIN: usize = 256;

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

    pub(super) fn conjunction(&mut self) -> Option<Expr> {
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

    pub(super) fn negation(&mut self) -> Option<Expr> {
        if self.eat_word("not") {
            self.enter()?;
            let value = self.negation()?;
            self.depth -= 1;
            return Some(Expr::Not(value.boxed()));
        }
        self.commas()
    }

    pub(super) fn commas(&mut self) -> Option<Expr> {
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

    pub(super) fn is_comma(&mut self) -> bool {
        self.is_next(",") || self.is_next("=>")
    }

    pub(super) fn eat_comma(&mut self) -> bool {
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

    pub(super) fn is_key_ahead(&self, word: &str) -> bool {
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

    pub(super) fn choice(&mut self) -> Option<Expr> {
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
    pub(super) fn operator(&mut self, least: usize) -> Option<(&'static str, usize)> {
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
            && (self.later(sign.len() + 1) != Some('~'));
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

    pub(super) fn unary(&mut self) -> Option<Expr> {
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
                Some(self.step_behind(term))
            }
        }
    }

    pub(super) fn nested(&mut self, least: usize) -> Option<Expr> {
        self.enter()?;
        let value = self.binary(least)?;
        self.depth -= 1;
        Some(value)
    }

    pub(super) fn step_before(&mut self, by: f64) -> Option<Expr> {
        self.at += 2;
        let value = self.nested(BINDING + 1)?;
        Some(Expr::Step(value.boxed(), true, by))
    }

    pub(super) fn step_behind(&mut self, term: Expr) -> Expr {
        self.skip();
        let by = match (self.ahead(), self.later(1)) {
            (Some('+'), Some('+')) => 1.0,
            (Some('-'), Some('-')) => -1.0,
            _ => return term,
        };
        self.at += 2;
        Expr::Step(term.boxed(), false, by)
    }

    /// Reads `-e $file`, `-bareword` or a negative value.
    pub(super) fn minus(&mut self) -> Option<Expr> {
        self.at += 1;
        let end = self.word_end(self.at);
        let word = self.text(self.at, end);
        if word.chars().count() == 1 && "edfrwxzslpSbcugktTBAMCoRWXO".contains(&word) && !self.is_key_ahead(&word) {
            {
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
