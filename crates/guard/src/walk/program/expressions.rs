//! Reads expressions, which Python and JavaScript spell much alike.

use std::rc::Rc;

use crate::walk::program::Language;
use crate::walk::program::ast::{Argument, Expr, Function, Loop, Parameter, Statement};
use crate::walk::program::lexer::Token;

/// The deepest nesting of expressions and statements.
const DEEPEST: usize = 64;

/// The longest chain of operators, calls and members. A chain nests as deeply as it is long.
pub(super) const LONGEST_CHAIN: usize = 100;

/// Reads a program token by token. A program that it cannot read gives none.
pub(super) struct ProgramParser<'t> {
    pub(super) language: Language,
    pub(super) tokens: &'t [Token],
    pub(super) at: usize,
    pub(super) depth: usize,
}

impl ProgramParser<'_> {
    pub(super) fn token(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    pub(super) fn is_python(&self) -> bool {
        self.language == Language::Python
    }

    pub(super) fn is_sign(&self, sign: &str) -> bool {
        matches!(self.token(), Some(Token::Sign(own)) if *own == sign)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.token(), Some(Token::Name(own)) if own == word)
    }

    /// Goes on behind a sign, if it is there.
    pub(super) fn eat(&mut self, sign: &str) -> bool {
        let is_there = self.is_sign(sign);
        self.at += usize::from(is_there);
        is_there
    }

    /// Goes on behind a word, if it is there.
    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let is_there = self.is_word(word);
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn expect(&mut self, sign: &str) -> Option<()> {
        self.eat(sign).then_some(())
    }

    pub(super) fn name(&mut self) -> Option<String> {
        let Some(Token::Name(name)) = self.token() else { return None };
        let name = name.clone();
        self.at += 1;
        Some(name)
    }

    /// Reads expressions with commas between them, as a list if there are several.
    pub(super) fn expressions(&mut self) -> Option<Expr> {
        let first = self.spread_or_expression()?;
        if !self.is_sign(",") {
            return Some(first);
        }
        let mut items = vec![first];
        while self.eat(",") {
            if self.ends_expression() {
                break;
            }
            items.push(self.spread_or_expression()?);
        }
        Some(Expr::List(items))
    }

    fn ends_expression(&self) -> bool {
        match self.token() {
            None | Some(Token::Newline) => true,
            Some(Token::Sign(sign)) => matches!(*sign, ")" | "]" | "}" | "=" | ":" | ";"),
            Some(Token::Name(name)) => name == "in",
            _ => false,
        }
    }

    pub(super) fn spread_or_expression(&mut self) -> Option<Expr> {
        if self.eat("*") || self.eat("...") || self.eat("**") {
            return Some(Expr::Spread(Box::new(self.expression()?)));
        }
        self.expression()
    }

    /// Reads an expression without commas.
    pub(super) fn expression(&mut self) -> Option<Expr> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let found = self.choice();
        self.depth -= 1;
        found
    }

    fn choice(&mut self) -> Option<Expr> {
        if let Some(function) = self.arrow_function() {
            return function;
        }
        if self.is_python() && self.eat_word("lambda") {
            let parameters = self.parameters(":")?;
            let body = self.expression()?;
            return Some(function(parameters, vec![Statement::Return(Some(body))]));
        }
        let value = self.binary(0)?;
        if self.is_python() && self.eat_word("if") {
            let condition = self.binary(0)?;
            if !self.eat_word("else") {
                return None;
            }
            let otherwise = self.expression()?;
            return Some(Expr::Choice(Box::new(condition), Box::new(value), Box::new(otherwise)));
        }
        if self.is_python() && self.eat(":=") || !self.is_python() && self.eat("=") {
            let assigned = self.expression()?;
            return Some(Expr::Assign(Box::new(value), Box::new(assigned)));
        }
        if !self.is_python() {
            for sign in ["+=", "-=", "*=", "/=", "||=", "&&=", "??=", "|=", "%="] {
                if self.eat(sign) {
                    let more = self.expression()?;
                    let operator = sign.trim_end_matches('=').to_owned();
                    let sum = Expr::Binary(Box::new(value.clone()), operator, Box::new(more));
                    return Some(Expr::Assign(Box::new(value), Box::new(sum)));
                }
            }
            if self.eat("?") {
                let then = self.expression()?;
                self.expect(":")?;
                let otherwise = self.expression()?;
                return Some(Expr::Choice(Box::new(value), Box::new(then), Box::new(otherwise)));
            }
        }
        Some(value)
    }

    /// `x => …`, `(x, y) => …`, `async x => …`; none if no such function begins here.
    #[expect(clippy::option_option, reason = "whether it is a function, and whether it could be read")]
    fn arrow_function(&mut self) -> Option<Option<Expr>> {
        if self.is_python() {
            return None;
        }
        let start = self.at;
        self.eat_word("async");
        let parameters = if self.eat("(") {
            self.parameters(")")
        } else {
            self.name().map(|name| vec![Parameter { target: Expr::Name(name), default: None, takes_rest: false }])
        };
        let Some(parameters) = parameters.filter(|_| self.eat("=>")) else {
            self.at = start;
            return None;
        };
        if self.is_sign("{") {
            return Some(self.block().map(|body| function(parameters, body)));
        }
        let body = self.expression();
        Some(body.map(|body| function(parameters, vec![Statement::Return(Some(body))])))
    }

    /// Reads parameters up to the sign that closes them, and that sign.
    pub(super) fn parameters(&mut self, closer: &str) -> Option<Vec<Parameter>> {
        let mut parameters = Vec::new();
        loop {
            if self.eat(closer) {
                return Some(parameters);
            }
            if self.eat(",") || self.eat("/") {
                continue;
            }
            if self.eat("**") {
                self.name()?;
            } else {
                let takes_rest = self.eat("*") || self.eat("...");
                if takes_rest && self.is_sign(",") {
                    continue;
                }
                let target = match self.name() {
                    Some(name) => Expr::Name(name),
                    None if self.is_sign("{") || self.is_sign("[") => self.primary()?,
                    None => return None,
                };
                // Types.
                if closer != ":" && self.eat(":") {
                    self.binary(0)?;
                }
                let default = if self.eat("=") { Some(self.expression()?) } else { None };
                parameters.push(Parameter { target, default, takes_rest });
                continue;
            }
            if closer != ":" && self.eat(":") {
                self.binary(0)?;
            }
        }
    }

    /// The operator at this place and how tightly it binds.
    fn operator(&self) -> Option<(String, u8)> {
        let found = match self.token()? {
            Token::Name(name) if self.is_python() => match name.as_str() {
                "or" => ("||", 1),
                "and" => ("&&", 2),
                "in" | "is" => ("in", 4),
                "not" if matches!(self.tokens.get(self.at + 1), Some(Token::Name(next)) if next == "in") => ("!in", 4),
                _ => return None,
            },
            Token::Name(name) if matches!(name.as_str(), "in" | "instanceof") => ("in", 4),
            Token::Sign(sign) => match *sign {
                "||" | "??" => ("||", 1),
                "&&" => ("&&", 2),
                "==" | "===" => ("==", 4),
                "!=" | "!==" => ("!=", 4),
                "<" | ">" | "<=" | ">=" => (*sign, 4),
                "|" | "&" | "^" | "<<" | ">>" | ">>>" => (*sign, 5),
                "+" | "-" => (*sign, 6),
                "*" | "/" | "%" | "//" | "@" => (*sign, 7),
                "**" => (*sign, 8),
                _ => return None,
            },
            _ => return None,
        };
        Some((found.0.to_owned(), found.1))
    }

    fn binary(&mut self, least: u8) -> Option<Expr> {
        let mut left = self.unary()?;
        let mut length = 0;
        while let Some((operator, binds)) = self.operator().filter(|(_, binds)| *binds > least) {
            self.at += 1;
            if operator == "!in" || operator == "in" && self.is_word("not") {
                self.at += 1;
            }
            let right = self.binary(binds)?;
            length += 1;
            if length > LONGEST_CHAIN {
                return None;
            }
            left = Expr::Binary(Box::new(left), operator, Box::new(right));
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<Expr> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let found = if self.is_python() && self.eat_word("not") {
            // It binds less tightly than comparisons.
            self.binary(2).map(|value| Expr::Not(Box::new(value)))
        } else if self.eat("!") {
            self.unary().map(|value| Expr::Not(Box::new(value)))
        } else if self.eat("-") {
            self.unary().map(|value| match value {
                Expr::Number(number) => Expr::Number(-number),
                other => Expr::Other(vec![other]),
            })
        } else if ["+", "~", "++", "--"].iter().any(|sign| self.eat(sign)) {
            self.unary().map(|value| Expr::Other(vec![value]))
        } else if self.eat_word("await") || !self.is_python() && self.eat_word("new") || self.eat_word("void") {
            self.unary()
        } else if self.eat_word("typeof") || !self.is_python() && self.eat_word("delete") || self.eat_word("yield") {
            self.unary().map(|value| Expr::Other(vec![value]))
        } else {
            self.postfix()
        };
        self.depth -= 1;
        found
    }

    fn postfix(&mut self) -> Option<Expr> {
        let mut value = self.primary()?;
        for _ in 0..LONGEST_CHAIN {
            if self.eat(".") || self.is_member_with_question() {
                value = Expr::Member(Box::new(value), self.name()?);
            } else if self.eat("(") {
                value = Expr::Call(Box::new(value), self.arguments()?);
            } else if self.eat("[") {
                value = self.index(value)?;
            } else if !self.is_python() && (self.eat("++") || self.eat("--")) {
                value = Expr::Other(vec![value]);
            } else if !self.is_python() && matches!(self.token(), Some(Token::Template(_))) {
                // `` $`git push` ``
                let script = self.primary()?;
                value = Expr::Call(Box::new(value), vec![Argument { name: None, value: script }]);
            } else {
                return Some(value);
            }
        }
        None
    }

    /// Counts a level of statements; none if there are too many.
    pub(super) fn nest(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth <= DEEPEST).then_some(())
    }

    /// Goes on behind `?.`, if it is there.
    fn is_member_with_question(&mut self) -> bool {
        let is_there = self.eat("?.");
        is_there && matches!(self.token(), Some(Token::Name(_)))
    }

    fn index(&mut self, value: Expr) -> Option<Expr> {
        let from = if self.is_sign(":") { None } else { Some(Box::new(self.expressions()?)) };
        if !self.eat(":") {
            self.expect("]")?;
            return Some(Expr::Index(Box::new(value), from?));
        }
        let to = if self.is_sign("]") || self.is_sign(":") { None } else { Some(Box::new(self.expression()?)) };
        let step = if self.eat(":") && !self.is_sign("]") { Some(self.expression()?) } else { None };
        self.expect("]")?;
        Some(Expr::Slice(Box::new(value), from, to, step == Some(Expr::Number(-1))))
    }

    /// Reads the arguments of a call, and the parenthesis behind them.
    fn arguments(&mut self) -> Option<Vec<Argument>> {
        let mut arguments = Vec::new();
        loop {
            if self.eat(")") {
                return Some(arguments);
            }
            let start = self.at;
            let name = self.name().filter(|_| self.is_python() && self.eat("="));
            if name.is_none() {
                self.at = start;
            }
            let mut value = self.spread_or_expression()?;
            if self.is_python() && (self.is_word("for") || self.is_word("async")) {
                value = self.comprehension(value)?;
            }
            arguments.push(Argument { name, value });
            if !self.eat(",") && !self.is_sign(")") {
                return None;
            }
        }
    }

    pub(super) fn comprehension(&mut self, element: Expr) -> Option<Expr> {
        let mut loops = Vec::new();
        loop {
            self.eat_word("async");
            if !self.eat_word("for") {
                break;
            }
            let target = self.targets()?;
            if !self.eat_word("in") {
                return None;
            }
            let items = self.binary(0)?;
            let mut conditions = Vec::new();
            while self.eat_word("if") {
                conditions.push(self.binary(0)?);
            }
            loops.push(Loop { target, items, conditions });
        }
        Some(Expr::Comprehension(Box::new(element), loops))
    }

    /// Reads the names that a loop gives values to.
    pub(super) fn targets(&mut self) -> Option<Expr> {
        let mut targets = vec![self.postfix_or_spread()?];
        while self.eat(",") {
            if self.is_word("in") {
                break;
            }
            targets.push(self.postfix_or_spread()?);
        }
        if targets.len() == 1 { targets.pop() } else { Some(Expr::List(targets)) }
    }

    /// Reads one name that gets a value.
    pub(super) fn target(&mut self) -> Option<Expr> {
        self.postfix()
    }

    fn postfix_or_spread(&mut self) -> Option<Expr> {
        if self.eat("*") {
            return Some(Expr::Spread(Box::new(self.postfix()?)));
        }
        self.postfix()
    }

    pub(super) fn pattern_literal(&mut self) -> Option<Expr> {
        self.primary()
    }

    fn primary(&mut self) -> Option<Expr> {
        let token = self.token()?.clone();
        self.at += 1;
        Some(match token {
            Token::Text(_) | Token::Template(_) => {
                self.at -= 1;
                self.strings()?
            }
            Token::Number(number) => Expr::Number(number),
            Token::Literal => Expr::Other(Vec::new()),
            Token::Name(name) => match name.as_str() {
                "True" | "true" => Expr::Flag(true),
                "False" | "false" => Expr::Flag(false),
                "None" | "null" | "undefined" => Expr::Nothing,
                "function" if !self.is_python() => {
                    self.eat("*");
                    self.name();
                    self.expect("(")?;
                    let parameters = self.parameters(")")?;
                    function(parameters, self.block()?)
                }
                "async" if !self.is_python() && self.is_word("function") => self.primary()?,
                _ => Expr::Name(name),
            },
            Token::Sign("(") => {
                if self.eat(")") {
                    return Some(Expr::List(Vec::new()));
                }
                let mut value = self.expressions()?;
                if self.is_python() && (self.is_word("for") || self.is_word("async")) {
                    value = self.comprehension(value)?;
                }
                self.expect(")")?;
                value
            }
            Token::Sign("[") => self.list()?,
            Token::Sign("{") => self.table()?,
            Token::Sign("...") if self.is_python() => Expr::Nothing,
            _ => return None,
        })
    }
}

pub(super) fn function(parameters: Vec<Parameter>, body: Vec<Statement>) -> Expr {
    Expr::Function(Rc::new(Function { parameters, body }))
}
