//! Reads parameters, arguments, arrow functions and comprehensions.

use std::rc::Rc;

use crate::walk::program::lexer::Kind;
use crate::walk::program::parse::{ProgramReader, plain_parameter};
use crate::walk::program::syntax::{
    Argument, Comprehension, Expr, Function, Gathers, Loop, Parameter, ParameterKind, Statement,
};

impl ProgramReader {
    /// True if an arrow function begins here.
    pub(super) fn is_arrow(&self) -> bool {
        let start = usize::from(self.is_word("async") && !matches!(self.peek(1), Some(Kind::Sign("=>"))));
        match self.peek(start) {
            Some(Kind::Name(_)) => matches!(self.peek(start + 1), Some(Kind::Sign("=>"))),
            Some(Kind::Sign("(")) => {
                let mut open = 0_usize;
                for ahead in start.. {
                    match self.peek(ahead) {
                        Some(Kind::Sign("(" | "[" | "{")) => open += 1,
                        Some(Kind::Sign(")" | "]" | "}")) => open = open.saturating_sub(1),
                        None => return false,
                        _ => {}
                    }
                    if open == 0 {
                        return matches!(self.peek(ahead + 1), Some(Kind::Sign("=>")));
                    }
                }
                false
            }
            _ => false,
        }
    }

    pub(super) fn arrow_function(&mut self) -> Option<Expr> {
        let is_async = self.is_word("async") && !matches!(self.peek(1), Some(Kind::Sign("=>")));
        self.at += usize::from(is_async);
        let parameters =
            if self.eat("(") { self.parameters(")")? } else { vec![plain_parameter(Expr::Name(self.name()?))] };
        self.expect("=>")?;
        let outer = std::mem::take(&mut self.has_yield);
        let body = if self.is_sign("{") { self.block()? } else { vec![Statement::Return(Some(self.expression()?))] };
        self.has_yield = outer;
        let name = Rc::from("");
        Some(Expr::Function(Rc::new(Function {
            name,
            parameters,
            body,
            is_generator: false,
            receives: false,
            is_async,
            is_arrow: true,
        })))
    }

    /// Reads parameters up to the sign that closes them, and that sign.
    pub(super) fn parameters(&mut self, closer: &str) -> Option<Vec<Parameter>> {
        let mut parameters = Vec::new();
        let mut by_name = false;
        loop {
            if self.eat(closer) {
                return Some(parameters);
            }
            if self.eat(",") || self.eat("/") {
                continue;
            }
            let mut kind = ParameterKind::One;
            if self.eat("**") {
                kind = ParameterKind::Named;
            } else if self.eat("*") || self.eat("...") {
                kind = ParameterKind::Rest;
                by_name = self.is_python;
                if self.is_sign(",") {
                    continue;
                }
            }
            let target = match self.name() {
                Some(name) => Expr::Name(name),
                None if self.is_sign("{") || self.is_sign("[") => self.primary()?,
                None => return None,
            };
            if self.is_python && closer != ":" && self.eat(":") {
                self.expression()?;
            }
            let default = if self.eat("=") { Some(self.expression()?) } else { None };
            let by_name = by_name && kind == ParameterKind::One;
            parameters.push(Parameter { target, default, kind, by_name });
        }
    }

    /// Reads the arguments of a call, and the parenthesis behind them.
    pub(super) fn arguments(&mut self) -> Option<Vec<Argument>> {
        let mut arguments = Vec::new();
        loop {
            if self.eat(")") {
                return Some(arguments);
            }
            let mut name = None;
            let is_table = self.is_python && self.eat("**");
            if self.is_python
                && matches!(self.kind(), Some(Kind::Name(_)))
                && matches!(self.peek(1), Some(Kind::Sign("=")))
            {
                name = self.name();
                self.at += 1;
            }
            let mut value = self.starred()?;
            if self.is_comprehension() {
                value = self.comprehension(Gathers::Lazy, value, None)?;
            }
            arguments.push(Argument { name, value, is_table });
            if !self.eat(",") && !self.is_sign(")") {
                return None;
            }
        }
    }

    pub(super) fn is_comprehension(&self) -> bool {
        self.is_python && (self.is_word("for") || self.is_word("async"))
    }

    pub(super) fn comprehension(&mut self, gathers: Gathers, element: Expr, value: Option<Expr>) -> Option<Expr> {
        let mut loops = Vec::new();
        loop {
            self.eat_word("async");
            if !self.eat_word("for") {
                break;
            }
            let target = self.targets()?;
            self.expect_word("in")?;
            let items = self.binary(0)?;
            let mut conditions = Vec::new();
            while self.eat_word("if") {
                let condition = self.binary(0)?;
                conditions.push(condition);
            }
            loops.push(Loop { target, items, conditions });
        }
        Some(Expr::Comprehension(Box::new(Comprehension { gathers, element, value, loops })))
    }

    /// Reads the names that a loop of Python gives values to.
    pub(super) fn targets(&mut self) -> Option<Expr> {
        let mut targets = vec![self.one_target()?];
        let mut is_several = false;
        while self.eat(",") {
            is_several = true;
            if self.is_word("in") || self.is_sign("=") {
                break;
            }
            targets.push(self.one_target()?);
        }
        if is_several { Some(Expr::Tuple(targets)) } else { targets.pop() }
    }

    pub(super) fn one_target(&mut self) -> Option<Expr> {
        if self.eat("*") {
            return Some(Expr::Spread(Box::new(self.postfix()?)));
        }
        self.postfix()
    }
}
