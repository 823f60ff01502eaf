//! Reads the expressions of Python and JavaScript.

use std::rc::Rc;

use crate::walk::program::Language;
use crate::walk::program::lexer::{Kind, Token, tokens};
use crate::walk::program::syntax::{Expr, Function, Name, Parameter, ParameterKind, Statement};

/// The deepest nesting.
const DEEPEST: usize = 96;

/// The longest chain of operators or calls.
const LONGEST_CHAIN: usize = 400;

/// Reads tokens.
pub(super) struct ProgramReader {
    pub(super) is_python: bool,
    pub(super) tokens: Rc<[Token]>,
    pub(super) at: usize,
    pub(super) depth: usize,
    /// The function that is read has a `yield`.
    pub(super) has_yield: bool,
    /// The value of a `yield` is used.
    pub(super) receives: bool,
}

impl ProgramReader {
    pub(super) fn new(language: Language, code: &str, depth: usize) -> Option<Self> {
        let tokens = tokens(language, code)?.into();
        Some(Self { is_python: language == Language::Python, tokens, at: 0, depth, has_yield: false, receives: false })
    }

    pub(super) fn kind(&self) -> Option<&Kind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    pub(super) fn peek(&self, ahead: usize) -> Option<&Kind> {
        self.tokens.get(self.at + ahead).map(|token| &token.kind)
    }

    /// True if a line ends before the next token.
    pub(super) fn is_first(&self) -> bool {
        self.tokens.get(self.at).is_none_or(|token| token.is_first)
    }

    pub(super) fn is_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    pub(super) fn is_sign(&self, sign: &str) -> bool {
        matches!(self.kind(), Some(Kind::Sign(own)) if *own == sign)
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        matches!(self.kind(), Some(Kind::Name(own)) if own == word)
    }

    pub(super) fn eat(&mut self, sign: &str) -> bool {
        let is_there = self.is_sign(sign);
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let is_there = self.is_word(word);
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn eat_kind(&mut self, kind: &Kind) -> bool {
        let is_there = self.kind() == Some(kind);
        self.at += usize::from(is_there);
        is_there
    }

    pub(super) fn expect(&mut self, sign: &str) -> Option<()> {
        self.eat(sign).then_some(())
    }

    pub(super) fn expect_word(&mut self, word: &str) -> Option<()> {
        self.eat_word(word).then_some(())
    }

    pub(super) fn name(&mut self) -> Option<Name> {
        let Some(Kind::Name(name)) = self.kind() else { return None };
        let name = Rc::from(name.as_str());
        self.at += 1;
        Some(name)
    }

    /// Reads one level deeper; none if that is too deep.
    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= DEEPEST {
            return None;
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    /// Reads expressions with commas between them: a tuple in Python, the last one of several in JavaScript.
    pub(super) fn expressions(&mut self) -> Option<Expr> {
        let first = self.starred()?;
        if !self.is_sign(",") {
            return Some(first);
        }
        let mut items = vec![first];
        while self.eat(",") {
            if self.ends_expression() {
                break;
            }
            items.push(self.starred()?);
        }
        Some(if self.is_python { Expr::Tuple(items) } else { Expr::Sequence(items) })
    }

    fn ends_expression(&self) -> bool {
        match self.kind() {
            None | Some(Kind::Newline) => true,
            Some(Kind::Sign(sign)) => matches!(*sign, ")" | "]" | "}" | "=" | ":" | ";"),
            Some(Kind::Name(name)) => name == "in",
            _ => false,
        }
    }

    pub(super) fn starred(&mut self) -> Option<Expr> {
        if self.is_python && self.eat("*") || !self.is_python && self.eat("...") {
            return Some(Expr::Spread(Box::new(self.expression()?)));
        }
        self.expression()
    }

    /// Reads an expression without commas.
    pub(super) fn expression(&mut self) -> Option<Expr> {
        self.nested(|reader| if reader.is_python { reader.python_expression() } else { reader.script_expression() })
    }

    fn python_expression(&mut self) -> Option<Expr> {
        if self.eat_word("lambda") {
            let outer = std::mem::take(&mut self.has_yield);
            let parameters = self.parameters(":")?;
            let body = self.expression()?;
            self.has_yield = outer;
            return Some(function("<lambda>", parameters, vec![Statement::Return(Some(body))]));
        }
        if self.is_word("yield") {
            return self.yielded();
        }
        let value = self.binary(0)?;
        if self.eat_word("if") {
            let condition = self.binary(0)?;
            self.expect_word("else")?;
            let otherwise = self.expression()?;
            return Some(Expr::Choice(Box::new((condition, value, otherwise))));
        }
        if self.eat(":=") {
            let assigned = self.expression()?;
            return Some(Expr::Assign(Box::new(value), None, Box::new(assigned)));
        }
        Some(value)
    }

    pub(super) fn yielded(&mut self) -> Option<Expr> {
        self.at += 1;
        self.has_yield = true;
        let from = if self.is_python { self.eat_word("from") } else { self.eat("*") };
        let ends = self.ends_expression() || !self.is_python && self.is_first() || self.is_sign(",");
        let value = if ends {
            None
        } else if self.is_python {
            Some(self.expressions()?)
        } else {
            Some(self.expression()?)
        };
        Some(Expr::Yield(value.map(Box::new), from))
    }

    fn script_expression(&mut self) -> Option<Expr> {
        if self.is_word("yield") {
            return self.yielded();
        }
        if self.is_arrow() {
            return self.arrow_function();
        }
        let value = self.binary(0)?;
        if self.eat("?") {
            let then = self.expression()?;
            self.expect(":")?;
            let otherwise = self.expression()?;
            return Some(Expr::Choice(Box::new((value, then, otherwise))));
        }
        let Some(Kind::Sign(sign)) = self.kind() else { return Some(value) };
        let operator = match *sign {
            "=" => None,
            sign => Some(augmented(sign).filter(|_| sign != "//=")),
        };
        match operator {
            Some(None) => Some(value),
            Some(Some(operator)) => {
                self.at += 1;
                let more = self.expression()?;
                Some(Expr::Assign(Box::new(value), Some(operator), Box::new(more)))
            }
            None => {
                self.at += 1;
                self.receives |= self.is_word("yield");
                let assigned = self.expression()?;
                Some(Expr::Assign(Box::new(value), None, Box::new(assigned)))
            }
        }
    }

    /// The operator at this place, how tightly it binds, and its length in tokens.
    fn operator(&self) -> Option<(&'static str, u8, usize)> {
        let next_is = |word: &str| matches!(self.peek(1), Some(Kind::Name(next)) if next == word);
        Some(match self.kind()? {
            Kind::Name(name) if self.is_python => match name.as_str() {
                "or" => ("||", 1, 1),
                "and" => ("&&", 2, 1),
                "in" => ("in", 4, 1),
                "is" if next_is("not") => ("!==", 4, 2),
                "is" => ("===", 4, 1),
                "not" if next_is("in") => ("!in", 4, 2),
                _ => return None,
            },
            Kind::Name(name) if name == "in" => ("in", 7, 1),
            Kind::Name(name) if name == "instanceof" => ("instanceof", 7, 1),
            Kind::Sign(sign) => {
                let compares = if self.is_python { 4 } else { 6 };
                let binds = match *sign {
                    "||" | "??" => 1,
                    "&&" => 2,
                    "|" => {
                        if self.is_python {
                            5
                        } else {
                            3
                        }
                    }
                    "^" => {
                        if self.is_python {
                            6
                        } else {
                            4
                        }
                    }
                    "&" => {
                        if self.is_python {
                            7
                        } else {
                            5
                        }
                    }
                    "==" | "===" | "!=" | "!==" => compares,
                    "<" | ">" | "<=" | ">=" => {
                        if self.is_python {
                            4
                        } else {
                            7
                        }
                    }
                    "<<" | ">>" | ">>>" => 8,
                    "+" | "-" => 9,
                    "*" | "/" | "%" => 10,
                    "//" | "@" if self.is_python => 10,
                    "**" => 12,
                    _ => return None,
                };
                (sign, binds, 1)
            }
            _ => return None,
        })
    }

    pub(super) fn binary(&mut self, least: u8) -> Option<Expr> {
        let mut left = self.unary()?;
        let mut length = 0;
        while let Some((operator, binds, count)) = self.operator().filter(|(_, binds, _)| *binds > least) {
            self.at += count;
            length += 1;
            if length > LONGEST_CHAIN {
                return None;
            }
            // Powers are read from the right.
            let right = self.nested(|reader| reader.binary(if operator == "**" { binds - 1 } else { binds }))?;
            left = match operator {
                "||" | "&&" | "??" => Expr::Logic(Box::new(left), operator, Box::new(right)),
                _ if self.is_python && binds == 4 => match left {
                    Expr::Compare(first, mut more) => {
                        more.push((operator, right));
                        Expr::Compare(first, more)
                    }
                    left => Expr::Compare(Box::new(left), vec![(operator, right)]),
                },
                "==" | "===" | "!=" | "!==" | "<" | ">" | "<=" | ">=" | "in" | "instanceof" => {
                    Expr::Compare(Box::new(left), vec![(operator, right)])
                }
                _ => Expr::Binary(Box::new(left), operator, Box::new(right)),
            };
        }
        Some(left)
    }

    fn unary(&mut self) -> Option<Expr> {
        self.nested(|reader| {
            if reader.is_python && reader.eat_word("not") {
                // It binds less tightly than comparisons.
                return Some(Expr::Unary("!", Box::new(reader.binary(3)?)));
            }
            if reader.is_word("await") && !matches!(reader.peek(1), Some(Kind::Sign("=" | ")" | "," | "."))) {
                reader.at += 1;
                return Some(Expr::Await(Box::new(reader.unary()?)));
            }
            for sign in ["!", "-", "+", "~"] {
                if (sign != "!" || !reader.is_python) && reader.eat(sign) {
                    // A power binds more tightly than a sign before it.
                    let value = if reader.is_python { reader.binary(11)? } else { reader.unary()? };
                    return Some(match (sign, value) {
                        ("-", Expr::Int(number)) => Expr::Int(-number),
                        (_, value) => Expr::Unary(sign, Box::new(value)),
                    });
                }
            }
            if !reader.is_python {
                for word in ["typeof", "void", "delete"] {
                    if reader.is_word(word) && !matches!(reader.peek(1), Some(Kind::Sign("=" | ":" | "," | "."))) {
                        reader.at += 1;
                        return Some(Expr::Unary(word, Box::new(reader.unary()?)));
                    }
                }
                for (sign, change) in [("++", 1), ("--", -1)] {
                    if reader.eat(sign) {
                        return Some(Expr::Update(Box::new(reader.unary()?), change, true));
                    }
                }
            }
            reader.postfix()
        })
    }

    pub(super) fn postfix(&mut self) -> Option<Expr> {
        let value = if !self.is_python && self.is_word("new") && !matches!(self.peek(1), Some(Kind::Sign("."))) {
            self.new_object()?
        } else {
            self.primary()?
        };
        self.behind(value, true)
    }

    /// Reads members, indexes and calls behind a value.
    fn behind(&mut self, mut value: Expr, with_calls: bool) -> Option<Expr> {
        for _ in 0..LONGEST_CHAIN {
            let is_optional = !self.is_python && with_calls && self.eat("?.");
            if is_optional && !self.is_sign("(") && !self.is_sign("[") || self.eat(".") {
                let is_private = self.eat("#");
                let name = self.name()?;
                let name = if is_private { Rc::from(format!("#{name}")) } else { name };
                value = Expr::Member(Box::new(value), name, is_optional);
            } else if with_calls && self.eat("(") {
                value = Expr::Call(Box::new(value), self.arguments()?, is_optional);
            } else if self.is_sign("[") && (self.is_python || !self.is_first() || with_calls) {
                self.at += 1;
                let key = self.index()?;
                self.expect("]")?;
                value = Expr::Index(Box::new(value), Box::new(key), is_optional);
            } else if !self.is_python && with_calls && !self.is_first() && (self.is_sign("++") || self.is_sign("--")) {
                let change = if self.is_sign("++") { 1 } else { -1 };
                self.at += 1;
                value = Expr::Update(Box::new(value), change, false);
            } else if !self.is_python && matches!(self.kind(), Some(Kind::Format(_))) {
                value = self.tagged(value)?;
            } else {
                return Some(value);
            }
        }
        None
    }

    fn new_object(&mut self) -> Option<Expr> {
        self.at += 1;
        let callee = if self.is_word("new") { self.nested(Self::new_object)? } else { self.primary()? };
        let callee = self.behind(callee, false)?;
        let arguments = if self.eat("(") { self.arguments()? } else { Vec::new() };
        Some(Expr::New(Box::new(callee), arguments))
    }

    fn index(&mut self) -> Option<Expr> {
        if !self.is_python {
            return self.expressions();
        }
        let from = if self.is_sign(":") { None } else { Some(self.expressions()?) };
        if !self.eat(":") {
            return from;
        }
        let to = if self.is_sign("]") || self.is_sign(":") { None } else { Some(self.expression()?) };
        let step = if self.eat(":") && !self.is_sign("]") { Some(self.expression()?) } else { None };
        Some(Expr::Slice(Box::new([from, to, step])))
    }
}

/// The operator of an assignment that changes its target.
pub(super) fn augmented(sign: &str) -> Option<&'static str> {
    const OPERATORS: [&str; 15] = ["+", "-", "*", "/", "%", "|", "&", "^", "**", "//", "<<", ">>", ">>>", "&&", "||"];
    let operator = sign.strip_suffix('=')?;
    if operator == "??" {
        return Some("??");
    }
    OPERATORS.into_iter().find(|known| *known == operator)
}

pub(super) fn plain_parameter(target: Expr) -> Parameter {
    Parameter { target, default: None, kind: ParameterKind::One, by_name: false }
}

pub(super) fn function(name: &str, parameters: Vec<Parameter>, body: Vec<Statement>) -> Expr {
    let name = Rc::from(name);
    Expr::Function(Rc::new(Function {
        name,
        parameters,
        body,
        is_generator: false,
        receives: false,
        is_async: false,
        is_arrow: false,
    }))
}
