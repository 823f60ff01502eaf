//! Reads the statements of Python.

use std::rc::Rc;

use crate::walk::program::lexer::Kind;
use crate::walk::program::parse::{ProgramReader, augmented};
use crate::walk::program::syntax::{
    Arm, Class, Declares, Expr, ForLoop, Function, Handler, Name, Statement, WhileLoop, WithBlock,
};

impl ProgramReader {
    /// Reads statements up to the end of the program or of their block.
    pub(super) fn python_program(&mut self) -> Option<Vec<Statement>> {
        let mut statements = Vec::new();
        loop {
            while self.eat_kind(&Kind::Newline) {}
            if self.is_end() || self.kind() == Some(&Kind::Dedent) {
                return Some(statements);
            }
            self.nested(|reader| reader.python_statement(&mut statements))?;
        }
    }

    /// Reads a colon and the statements behind it.
    fn suite(&mut self) -> Option<Vec<Statement>> {
        self.expect(":")?;
        if !self.eat_kind(&Kind::Newline) {
            let mut statements = Vec::new();
            self.simple_line(&mut statements)?;
            return Some(statements);
        }
        while self.eat_kind(&Kind::Newline) {}
        if !self.eat_kind(&Kind::Indent) {
            return None;
        }
        let statements = self.nested(Self::python_program)?;
        self.eat_kind(&Kind::Dedent).then_some(statements)
    }

    fn python_statement(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        let mut decorators = Vec::new();
        while self.eat("@") {
            decorators.push(self.expression()?);
            self.eat_kind(&Kind::Newline).then_some(())?;
        }
        let word = if let Some(Kind::Name(word)) = self.kind() { word.clone() } else { String::new() };
        let is_async = word == "async"
            && matches!(self.peek(1), Some(Kind::Name(next)) if matches!(next.as_str(), "def" | "for" | "with"));
        self.at += usize::from(is_async);
        let word = match self.kind() {
            Some(Kind::Name(next)) if is_async => next.clone(),
            _ => word,
        };
        match word.as_str() {
            "def" => {
                self.at += 1;
                let function = self.python_function(is_async)?;
                statements.push(Statement::Function(Rc::new(function), decorators));
            }
            "class" => {
                self.at += 1;
                let class = self.python_class()?;
                statements.push(Statement::Class(Rc::new(class), decorators));
            }
            "if" => {
                self.at += 1;
                let statement = self.python_if()?;
                statements.push(statement);
            }
            "for" => {
                self.at += 1;
                let target = self.targets()?;
                self.expect_word("in")?;
                let items = self.expressions()?;
                let body = self.suite()?;
                let otherwise = self.python_else()?;
                let declares = Declares::No;
                statements.push(Statement::For(Rc::new(ForLoop {
                    declares,
                    target,
                    items,
                    over_keys: false,
                    body,
                    otherwise,
                })));
            }
            "while" => {
                self.at += 1;
                let condition = Some(self.expression()?);
                let body = self.suite()?;
                let otherwise = self.python_else()?;
                let (first, step) = (Vec::new(), None);
                statements.push(Statement::While(Box::new(WhileLoop {
                    first,
                    condition,
                    step,
                    body,
                    otherwise,
                    tests_late: false,
                })));
            }
            "try" => {
                self.at += 1;
                let statement = self.python_try()?;
                statements.push(statement);
            }
            "with" => {
                self.at += 1;
                let statement = self.python_with()?;
                statements.push(statement);
            }
            "match" if self.starts_match() => {
                self.at += 1;
                let statement = self.python_match()?;
                statements.push(statement);
            }
            _ => self.simple_line(statements)?,
        }
        Some(())
    }

    fn python_else(&mut self) -> Option<Vec<Statement>> {
        if self.eat_word("else") { self.suite() } else { Some(Vec::new()) }
    }

    fn python_if(&mut self) -> Option<Statement> {
        let condition = self.expression()?;
        let then = self.suite()?;
        let otherwise = if self.eat_word("elif") { vec![self.nested(Self::python_if)?] } else { self.python_else()? };
        Some(Statement::If(condition, then, otherwise))
    }

    fn python_function(&mut self, is_async: bool) -> Option<Function> {
        let name = self.name()?;
        self.expect("(")?;
        let outer = std::mem::take(&mut self.has_yield);
        let receives_outside = std::mem::take(&mut self.receives);
        let parameters = self.parameters(")")?;
        if self.eat("->") {
            self.expression()?;
        }
        let body = self.suite()?;
        let is_generator = std::mem::replace(&mut self.has_yield, outer);
        let receives = std::mem::replace(&mut self.receives, receives_outside);
        Some(Function { name, parameters, body, is_generator, receives, is_async, is_arrow: false })
    }

    fn python_class(&mut self) -> Option<Class> {
        let name = self.name()?;
        let bases = if self.eat("(") { self.arguments()? } else { Vec::new() };
        let body = self.suite()?;
        Some(Class { name, bases, body, members: Vec::new() })
    }

    fn python_try(&mut self) -> Option<Statement> {
        let body = self.suite()?;
        let mut handlers = Vec::new();
        while self.eat_word("except") {
            self.eat("*");
            let kinds = if self.is_sign(":") { None } else { Some(self.expressions()?) };
            let target = if self.eat_word("as") { Some(Expr::Name(self.name()?)) } else { None };
            let body = self.suite()?;
            handlers.push(Handler { kinds, target, body });
        }
        let otherwise = self.python_else()?;
        let last = if self.eat_word("finally") { self.suite()? } else { Vec::new() };
        Some(Statement::Try { body, handlers, otherwise, last })
    }

    fn python_with(&mut self) -> Option<Statement> {
        // Parentheses around all items.
        let is_wrapped = self.is_sign("(") && self.wraps_items();
        self.at += usize::from(is_wrapped);
        let mut items = Vec::new();
        loop {
            let value = self.expression()?;
            let target = if self.eat_word("as") { Some(self.postfix()?) } else { None };
            items.push((value, target));
            if !self.eat(",") || self.is_sign(")") {
                break;
            }
        }
        if is_wrapped {
            self.expect(")")?;
        }
        Some(Statement::With(Rc::new(WithBlock { items, body: self.suite()? })))
    }

    /// True if the parenthesis at this place closes before a colon.
    fn wraps_items(&self) -> bool {
        let mut open = 0_usize;
        for ahead in 0.. {
            match self.peek(ahead) {
                Some(Kind::Sign("(" | "[" | "{")) => open += 1,
                Some(Kind::Sign(")" | "]" | "}")) => open = open.saturating_sub(1),
                None | Some(Kind::Newline) => return false,
                _ => {}
            }
            if open == 0 {
                return matches!(self.peek(ahead + 1), Some(Kind::Sign(":")));
            }
        }
        false
    }

    /// True if `match` is no name here: a line that ends with a colon.
    fn starts_match(&self) -> bool {
        if matches!(self.peek(1), Some(Kind::Sign("=" | "." | ")" | "," | ":") | Kind::Newline) | None) {
            return false;
        }
        let end =
            (0..self.tokens.len()).find(|ahead| matches!(self.peek(*ahead), Some(Kind::Newline) | None)).unwrap_or(0);
        end > 0 && matches!(self.peek(end - 1), Some(Kind::Sign(":")))
    }

    fn python_match(&mut self) -> Option<Statement> {
        let subject = self.expressions()?;
        self.expect(":")?;
        self.eat_kind(&Kind::Newline).then_some(())?;
        self.eat_kind(&Kind::Indent).then_some(())?;
        let mut arms = Vec::new();
        while self.eat_word("case") {
            let pattern = self.case_patterns()?;
            let guard = if self.eat_word("if") { Some(self.expression()?) } else { None };
            let body = self.suite()?;
            arms.push(Arm { pattern: Some(pattern), guard, body });
            while self.eat_kind(&Kind::Newline) {}
        }
        self.eat_kind(&Kind::Dedent).then_some(Statement::Match(subject, arms))
    }

    /// Reads the patterns of a `case`. An `if` behind them is no part of them.
    fn case_patterns(&mut self) -> Option<Expr> {
        let mut patterns = Vec::new();
        let mut is_several = false;
        loop {
            let is_rest = self.eat("*");
            let mut pattern = self.binary(0)?;
            if is_rest {
                pattern = Expr::Spread(Box::new(pattern));
            }
            if self.eat_word("as") {
                let name = Expr::Name(self.name()?);
                pattern = Expr::Assign(Box::new(name), None, Box::new(pattern));
            }
            patterns.push(pattern);
            if !self.eat(",") {
                break;
            }
            is_several = true;
            if self.is_sign(":") {
                break;
            }
        }
        if is_several { Some(Expr::Tuple(patterns)) } else { patterns.pop() }
    }

    /// Reads simple statements up to the end of the line.
    fn simple_line(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        loop {
            self.simple(statements)?;
            let has_more = self.eat(";");
            if self.eat_kind(&Kind::Newline) {
                return Some(());
            }
            if !has_more {
                return None;
            }
        }
    }

    fn simple(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        let word = if let Some(Kind::Name(word)) = self.kind() { word.clone() } else { String::new() };
        let ends = matches!(self.peek(1), Some(Kind::Newline | Kind::Sign(";")) | None);
        let is_word = !matches!(self.peek(1), Some(Kind::Sign("=" | "." | ",")));
        match word.as_str() {
            "pass" => self.at += 1,
            "break" | "continue" => {
                self.at += 1;
                statements.push(if word == "break" { Statement::Break(None) } else { Statement::Continue(None) });
            }
            "return" => {
                self.at += 1;
                let value = if ends { None } else { Some(self.expressions()?) };
                statements.push(Statement::Return(value));
            }
            "raise" => {
                self.at += 1;
                let value = if ends { None } else { Some(self.expression()?) };
                if self.eat_word("from") {
                    self.expression()?;
                }
                statements.push(Statement::Raise(value));
            }
            "global" | "nonlocal" => {
                self.at += 1;
                let mut names = vec![self.name()?];
                while self.eat(",") {
                    names.push(self.name()?);
                }
                statements.push(if word == "global" { Statement::Global(names) } else { Statement::Nonlocal(names) });
            }
            "del" => {
                self.at += 1;
                let targets = match self.expressions()? {
                    Expr::Tuple(targets) => targets,
                    target => vec![target],
                };
                statements.push(Statement::Delete(targets));
            }
            "assert" => {
                self.at += 1;
                let condition = self.expression()?;
                if self.eat(",") {
                    self.expression()?;
                }
                statements.push(Statement::Assert(condition));
            }
            "import" => self.python_import(statements)?,
            "from" => self.python_from(statements)?,
            "type" | "print" | "exec" if is_word && matches!(self.peek(1), Some(Kind::Name(_) | Kind::Text(_))) => {
                return None;
            }
            _ => self.python_assignment(statements)?,
        }
        Some(())
    }

    fn python_assignment(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        let first = self.expressions()?;
        if self.eat(":") {
            // A type, and maybe a value.
            self.expression()?;
            if self.eat("=") {
                let value = self.expressions()?;
                statements.push(Statement::Assign(vec![first], value));
            } else if let Expr::Name(_) = first {
                statements.push(Statement::Declare(Declares::No, first, None));
            }
            return Some(());
        }
        if let Some(Kind::Sign(sign)) = self.kind()
            && let Some(operator) = augmented(sign)
        {
            self.at += 1;
            let value = self.expressions()?;
            statements.push(Statement::Augment(first, operator, value));
            return Some(());
        }
        let mut parts = vec![first];
        while self.eat("=") {
            self.receives |= self.is_word("yield");
            parts.push(if self.is_word("yield") { self.yielded()? } else { self.expressions()? });
        }
        let value = parts.pop()?;
        statements.push(if parts.is_empty() { Statement::Expr(value) } else { Statement::Assign(parts, value) });
        Some(())
    }

    /// `import a.b as c`
    fn python_import(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        self.at += 1;
        loop {
            let path = self.dotted()?;
            let top: Name = Rc::from(path.split('.').next().unwrap_or(&path));
            if self.eat_word("as") {
                statements.push(Statement::Import(self.name()?, path, None));
            } else {
                statements.push(Statement::Import(Rc::clone(&top), top, None));
            }
            if !self.eat(",") {
                return Some(());
            }
        }
    }

    /// `from a import b as c`
    fn python_from(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        self.at += 1;
        let mut module = String::new();
        while self.eat(".") || self.eat("...") {
            module.push('.');
        }
        if !self.is_word("import") {
            module.push_str(&self.dotted()?);
        }
        let module: Name = Rc::from(module);
        self.expect_word("import")?;
        if self.eat("*") {
            statements.push(Statement::ImportAll(module));
            return Some(());
        }
        let is_wrapped = self.eat("(");
        loop {
            if self.is_sign(")") {
                break;
            }
            let part = self.name()?;
            let name = if self.eat_word("as") { self.name()? } else { Rc::clone(&part) };
            statements.push(Statement::Import(name, Rc::clone(&module), Some(part)));
            if !self.eat(",") {
                break;
            }
        }
        if is_wrapped {
            self.expect(")")?;
        }
        Some(())
    }

    fn dotted(&mut self) -> Option<Name> {
        let mut path = self.name()?.to_string();
        while self.eat(".") {
            path.push('.');
            path.push_str(&self.name()?);
        }
        Some(path.into())
    }
}
