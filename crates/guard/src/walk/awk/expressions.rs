//! Reads expressions of awk, from assignments down to single values.

use super::ast::{Arithmetic, Comparison, Expr, LineSource};
use super::lexer::Token;
use super::parser::{AwkParser, NoProgram};

impl AwkParser {
    /// Expressions up to a closing sign, which is read as well.
    pub(super) fn list(&mut self, close: &str) -> Option<Vec<Expr>> {
        let in_print = std::mem::take(&mut self.in_print);
        let mut values = Vec::new();
        self.skip_line_ends();
        while !self.is_sign(close) {
            values.push(self.expression()?);
            self.skip_line_ends();
            if !self.eat(",") {
                break;
            }
            self.skip_line_ends();
        }
        self.expect(close)?;
        self.in_print = in_print;
        Some(values)
    }

    pub(super) fn expression(&mut self) -> Option<Expr> {
        self.deeper(Self::ternary)
    }

    /// `a ? b : c`, and assignments, which bind to the place before them.
    fn ternary(&mut self) -> Option<Expr> {
        let condition = self.either()?;
        if self.eat("?") {
            self.skip_line_ends();
            let then = self.expression()?;
            self.skip_line_ends();
            self.expect(":")?;
            self.skip_line_ends();
            let otherwise = self.expression()?;
            return Some(Expr::Ternary(condition.into(), then.into(), otherwise.into()));
        }
        Some(condition)
    }

    /// An assignment to a place that was just read, if there is one.
    fn assignment(&mut self, target: Expr) -> Option<Expr> {
        let operation = match self.peek() {
            Some(Token::Sign("=")) => None,
            Some(Token::Sign(sign)) => Some(match *sign {
                "+=" => Arithmetic::Add,
                "-=" => Arithmetic::Subtract,
                "*=" => Arithmetic::Multiply,
                "/=" => Arithmetic::Divide,
                "%=" => Arithmetic::Remainder,
                "^=" | "**=" => Arithmetic::Power,
                _ => return Some(target),
            }),
            _ => return Some(target),
        };
        if !is_place(&target) {
            return None;
        }
        self.advance();
        self.skip_line_ends();
        let value = self.expression()?;
        Some(Expr::Assign(target.into(), operation, value.into()))
    }

    fn either(&mut self) -> Option<Expr> {
        let mut values = vec![self.both()?];
        while self.eat("||") {
            self.skip_line_ends();
            values.push(self.both()?);
        }
        if values.len() == 1 { values.pop() } else { Some(Expr::Or(values)) }
    }

    fn both(&mut self) -> Option<Expr> {
        let mut values = vec![self.membership()?];
        while self.eat("&&") {
            self.skip_line_ends();
            values.push(self.membership()?);
        }
        if values.len() == 1 { values.pop() } else { Some(Expr::And(values)) }
    }

    fn membership(&mut self) -> Option<Expr> {
        let mut left = self.matching()?;
        if self.is_keyword("in") {
            self.advance();
            let Token::Name(name) = self.peek()?.clone() else { return None };
            self.advance();
            let slot = self.slot(&name);
            self.note_array(slot);
            let keys = if let Expr::Many(keys) = left { keys } else { vec![left] };
            left = Expr::In(keys, slot);
        }
        Some(left)
    }

    fn matching(&mut self) -> Option<Expr> {
        let mut left = self.comparison()?;
        if self.is_sign("~") || self.is_sign("!~") {
            let is_negated = self.is_sign("!~");
            self.advance();
            let pattern = self.comparison()?;
            left = Expr::Match { text: left.into(), pattern: pattern.into(), is_negated };
        }
        Some(left)
    }

    fn comparison(&mut self) -> Option<Expr> {
        let left = self.concatenation()?;
        let comparison = match self.peek() {
            Some(Token::Sign(sign)) => match *sign {
                "==" => Comparison::Equal,
                "!=" => Comparison::Unequal,
                "<" => Comparison::Less,
                "<=" => Comparison::LessOrEqual,
                ">=" => Comparison::GreaterOrEqual,
                ">" if !self.in_print => Comparison::Greater,
                _ => return Some(left),
            },
            _ => return Some(left),
        };
        self.advance();
        let right = self.concatenation()?;
        Some(Expr::Compare(comparison, left.into(), right.into()))
    }

    /// Values one behind the other, and `command | getline` behind them.
    pub(super) fn concatenation(&mut self) -> Option<Expr> {
        let mut values = vec![self.sum()?];
        while self.starts_value() {
            values.push(self.sum()?);
        }
        let value = if values.len() == 1 { values.pop()? } else { Expr::Concat(values) };
        if (self.is_sign("|") || self.is_sign("|&")) && self.peek_at(1) == Some(&Token::Keyword("getline")) {
            self.advance();
            self.advance();
            let target = self.optional_place().ok()?;
            return Some(Expr::Getline { from: LineSource::Command(value.into()), target });
        }
        Some(value)
    }

    /// True if the next token begins a value that stands right behind another one.
    fn starts_value(&self) -> bool {
        match self.peek() {
            Some(Token::Sign(sign)) => matches!(*sign, "$" | "(" | "++" | "--"),
            Some(Token::Keyword(_) | Token::LineEnd) | None => false,
            Some(_) => true,
        }
    }

    fn sum(&mut self) -> Option<Expr> {
        let first = self.product()?;
        let mut rest = Vec::new();
        loop {
            let operation = match self.peek() {
                Some(Token::Sign("+")) => Arithmetic::Add,
                Some(Token::Sign("-")) => Arithmetic::Subtract,
                _ => return Some(if rest.is_empty() { first } else { Expr::Chain(first.into(), rest) }),
            };
            self.advance();
            rest.push((operation, self.product()?));
        }
    }

    fn product(&mut self) -> Option<Expr> {
        let first = self.unary()?;
        let mut rest = Vec::new();
        loop {
            let operation = match self.peek() {
                Some(Token::Sign("*")) => Arithmetic::Multiply,
                Some(Token::Sign("/")) => Arithmetic::Divide,
                Some(Token::Sign("%")) => Arithmetic::Remainder,
                _ => return Some(if rest.is_empty() { first } else { Expr::Chain(first.into(), rest) }),
            };
            self.advance();
            rest.push((operation, self.unary()?));
        }
    }

    fn unary(&mut self) -> Option<Expr> {
        self.deeper(|parser| {
            let Some(Token::Sign(sign @ ("!" | "-" | "+"))) = parser.peek() else { return parser.power() };
            let sign = *sign;
            parser.advance();
            let value = Box::new(parser.unary()?);
            Some(match sign {
                "!" => Expr::Not(value),
                "-" => Expr::Negative(value),
                _ => Expr::Positive(value),
            })
        })
    }

    fn power(&mut self) -> Option<Expr> {
        let base = self.stepped()?;
        if self.eat("^") || self.eat("**") {
            // `2 ^ -1`, and `2 ^ 3 ^ 2` from the right.
            let exponent = self.unary()?;
            return Some(Expr::Chain(base.into(), vec![(Arithmetic::Power, exponent)]));
        }
        Some(base)
    }

    /// `++x`, `x++`, and assignments to a place.
    fn stepped(&mut self) -> Option<Expr> {
        for (sign, by) in [("++", 1.0), ("--", -1.0)] {
            if self.eat(sign) {
                let target = self.primary().filter(is_place)?;
                return Some(Expr::Step { target: target.into(), by, is_before: true });
            }
        }
        let value = self.primary()?;
        if !is_place(&value) {
            return Some(value);
        }
        for (sign, by) in [("++", 1.0), ("--", -1.0)] {
            if self.eat(sign) {
                return Some(Expr::Step { target: value.into(), by, is_before: false });
            }
        }
        self.assignment(value)
    }

    fn primary(&mut self) -> Option<Expr> {
        let token = self.peek()?.clone();
        self.advance();
        Some(match token {
            Token::Number(number) => Expr::Number(number),
            Token::Text(text) => Expr::Text(text.into()),
            Token::Regex(text) => Expr::Regex(text.into()),
            Token::Marks(text) => Expr::Marks(text.into()),
            Token::Sign("$") => {
                // `$i++` steps the field, `$++i` and `$NF-1` take what is right behind the sign.
                let place = self.deeper(|parser| {
                    let by = [("++", 1.0), ("--", -1.0)].into_iter().find(|(sign, _)| parser.is_sign(sign));
                    match by {
                        Some((sign, by)) => {
                            parser.eat(sign);
                            let target = parser.primary().filter(is_place)?;
                            Some(Expr::Step { target: target.into(), by, is_before: true })
                        }
                        None if parser.eat("-") => Some(Expr::Negative(parser.primary()?.into())),
                        None => parser.primary(),
                    }
                })?;
                Expr::Field(place.into())
            }
            Token::Sign("(") => {
                let mut values = self.list(")")?;
                if values.len() == 1 { values.pop()? } else { Expr::Many(values) }
            }
            Token::Name(name) => {
                let slot = self.slot(&name);
                if !self.eat("[") {
                    return Some(Expr::Var(slot));
                }
                self.note_array(slot);
                Expr::Item(slot, self.list("]")?)
            }
            Token::Callee(name) => return self.call(&name),
            Token::Native(name) => return self.native(name),
            Token::Keyword("getline") => {
                let target = self.optional_place().ok()?;
                let from = if self.eat("<") { LineSource::File(self.primary()?.into()) } else { LineSource::Main };
                Expr::Getline { from, target }
            }
            _ => return None,
        })
    }

    fn call(&mut self, name: &str) -> Option<Expr> {
        let callee = self.function(name);
        self.expect("(")?;
        let arguments = self.list(")")?;
        for (at, argument) in arguments.iter().enumerate() {
            if let Expr::Var(slot) = argument {
                self.note_given(*slot, callee, at);
            }
        }
        Some(Expr::Call(callee, arguments))
    }

    fn native(&mut self, name: &'static str) -> Option<Expr> {
        // `length` needs no parentheses.
        let arguments = if self.eat("(") { self.list(")")? } else { Vec::new() };
        let array = match name {
            "split" | "patsplit" => arguments.get(1..2),
            "asort" | "asorti" => arguments.get(..2.min(arguments.len())),
            "match" => arguments.get(2..3),
            "isarray" => arguments.get(..1),
            _ => None,
        };
        for argument in array.unwrap_or(&[]) {
            let Expr::Var(slot) = argument else { return None };
            self.note_array(*slot);
        }
        Some(Expr::Native(name, arguments))
    }

    /// The variable, element or field that `getline` reads into.
    fn optional_place(&mut self) -> Result<Option<Box<Expr>>, NoProgram> {
        let is_place_ahead = matches!(self.peek(), Some(Token::Name(_))) || self.is_sign("$");
        if !is_place_ahead {
            return Ok(None);
        }
        self.primary().map(|place| Some(place.into())).ok_or(NoProgram)
    }
}

/// True if this can be assigned to.
fn is_place(value: &Expr) -> bool {
    matches!(value, Expr::Var(_) | Expr::Item(..) | Expr::Field(_))
}
