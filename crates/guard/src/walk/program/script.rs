//! Reads statements of JavaScript.

use crate::walk::program::ast::{Argument, Expr, Statement};
use crate::walk::program::expressions::{ProgramParser, function};
use crate::walk::program::lexer::Token;

impl ProgramParser<'_> {
    /// Reads statements up to the end of the program or of their block.
    pub(super) fn script(&mut self) -> Option<Vec<Statement>> {
        let mut statements = Vec::new();
        while self.token().is_some() && !self.is_sign("}") {
            self.script_statement(&mut statements)?;
        }
        Some(statements)
    }

    /// Reads a block in braces.
    pub(super) fn block(&mut self) -> Option<Vec<Statement>> {
        self.expect("{")?;
        self.depth += 1;
        if self.depth > 48 {
            return None;
        }
        let statements = self.script()?;
        self.depth -= 1;
        self.expect("}")?;
        Some(statements)
    }

    /// Reads a block, or one statement.
    fn body(&mut self) -> Option<Vec<Statement>> {
        if self.is_sign("{") {
            return self.block();
        }
        let mut statements = Vec::new();
        self.script_statement(&mut statements)?;
        Some(statements)
    }

    fn script_statement(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        self.nest()?;
        self.script_statement_at_level(statements)?;
        self.depth -= 1;
        Some(())
    }

    fn script_statement_at_level(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        if self.eat(";") {
            return Some(());
        }
        if self.is_sign("{") {
            statements.extend(self.block()?);
            return Some(());
        }
        let word = match self.token() {
            Some(Token::Name(name)) => name.clone(),
            _ => String::new(),
        };
        match word.as_str() {
            "const" | "let" | "var" => {
                self.at += 1;
                self.declarations(statements)?;
            }
            "if" => {
                self.at += 1;
                let condition = self.parenthesized()?;
                let then = self.body()?;
                let otherwise = if self.eat_word("else") { self.body()? } else { Vec::new() };
                statements.push(Statement::If(condition, then, otherwise));
            }
            "for" => self.script_for(statements)?,
            "while" => {
                self.at += 1;
                let condition = self.parenthesized()?;
                let body = self.body()?;
                statements.push(Statement::While(condition, body));
            }
            "do" => {
                self.at += 1;
                statements.extend(self.body()?);
            }
            "try" => self.script_try(statements)?,
            "function" | "async" => self.script_function(statements)?,
            "class" => self.script_class(statements)?,
            "return" => {
                self.at += 1;
                let is_end = self.token().is_none() || self.is_sign(";") || self.is_sign("}");
                let value = if is_end { None } else { Some(self.expressions()?) };
                statements.push(Statement::Return(value));
            }
            "break" | "continue" => {
                self.at += 1;
                statements.push(Statement::Leave);
            }
            "throw" => {
                self.at += 1;
                let value = self.expressions()?;
                statements.extend([Statement::Expr(value), Statement::Fail]);
            }
            "switch" => {
                self.at += 1;
                let value = self.parenthesized()?;
                statements.push(Statement::Expr(value));
                self.script_switch(statements)?;
            }
            "import" if !matches!(self.tokens.get(self.at + 1), Some(Token::Sign("(" | "."))) => {
                self.script_import(statements)?;
            }
            "export" => {
                self.at += 1;
                self.eat_word("default");
            }
            _ => {
                let value = self.expressions()?;
                statements.push(Statement::Expr(value));
            }
        }
        Some(())
    }

    fn parenthesized(&mut self) -> Option<Expr> {
        self.expect("(")?;
        let value = self.expressions()?;
        self.expect(")")?;
        Some(value)
    }

    fn declarations(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        loop {
            let target = self.pattern()?;
            if self.eat("=") {
                let value = self.expression()?;
                statements.push(Statement::Assign(target, value, false));
            }
            if !self.eat(",") {
                return Some(());
            }
        }
    }

    /// Reads a name, or a pattern that takes a value apart.
    fn pattern(&mut self) -> Option<Expr> {
        if let Some(name) = self.name() {
            return Some(Expr::Name(name));
        }
        // Its braces and brackets read as a table or a list.
        let start = self.at;
        if self.is_sign("{") || self.is_sign("[") {
            let mut parser = Self { language: self.language, tokens: self.tokens, at: start, depth: self.depth };
            let pattern = parser.pattern_literal()?;
            self.at = parser.at;
            return Some(pattern);
        }
        None
    }

    fn script_for(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        self.at += 1;
        self.eat_word("await");
        self.expect("(")?;
        let start = self.at;
        let is_declared = ["const", "let", "var"].iter().any(|word| self.eat_word(word));
        let target = if is_declared { self.pattern() } else { self.name().map(Expr::Name) };
        if let Some(target) = target
            && (self.eat_word("of") || self.eat_word("in"))
        {
            let items = self.expressions()?;
            self.expect(")")?;
            let body = self.body()?;
            statements.push(Statement::For(target, items, body));
            return Some(());
        }
        self.at = start;
        let mut condition = Expr::Other(Vec::new());
        if !self.is_sign(";") {
            self.script_statement(statements)?;
        }
        self.eat(";");
        if !self.is_sign(";") {
            condition = self.expressions()?;
        }
        self.expect(";")?;
        let mut step = None;
        if !self.is_sign(")") {
            step = Some(self.expressions()?);
        }
        self.expect(")")?;
        let mut body = self.body()?;
        body.extend(step.map(Statement::Expr));
        statements.push(Statement::While(condition, body));
        Some(())
    }

    fn script_try(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        self.at += 1;
        let body = self.block()?;
        let mut rest = Vec::new();
        if self.eat_word("catch") {
            if self.eat("(") {
                self.pattern()?;
                self.expect(")")?;
            }
            rest.push(self.block()?);
        }
        if self.eat_word("finally") {
            rest.push(self.block()?);
        }
        statements.push(Statement::Try(body, rest));
        Some(())
    }

    fn script_function(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        let start = self.at;
        self.eat_word("async");
        if !self.eat_word("function") {
            self.at = start;
            let value = self.expressions()?;
            statements.push(Statement::Expr(value));
            return Some(());
        }
        self.eat("*");
        let name = self.name()?;
        self.expect("(")?;
        let parameters = self.parameters(")")?;
        let body = self.block()?;
        // A function is known before its line.
        statements.insert(0, Statement::Assign(Expr::Name(name), function(parameters, body), false));
        Some(())
    }

    fn script_class(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        self.at += 1;
        let name = self.name()?;
        if self.eat_word("extends") {
            self.expression()?;
        }
        self.expect("{")?;
        let mut body = Vec::new();
        while !self.eat("}") {
            if self.eat(";") || self.eat_word("static") || self.eat_word("async") {
                continue;
            }
            let member = self.name()?;
            if self.eat("(") {
                let parameters = self.parameters(")")?;
                let code = self.block()?;
                let member = if member == "constructor" { "__init__".to_owned() } else { member };
                body.push(Statement::Assign(Expr::Name(member), function(parameters, code), false));
            } else if self.eat("=") {
                let value = self.expression()?;
                body.push(Statement::Assign(Expr::Name(member), value, false));
            }
        }
        statements.push(Statement::Class(name, body));
        Some(())
    }

    fn script_switch(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        self.expect("{")?;
        let mut arms = Vec::new();
        while !self.eat("}") {
            if self.eat_word("case") {
                self.expression()?;
                self.expect(":")?;
            } else if self.eat_word("default") {
                self.expect(":")?;
            }
            let mut arm = Vec::new();
            while !self.is_word("case") && !self.is_word("default") && !self.is_sign("}") {
                self.script_statement(&mut arm)?;
            }
            arm.retain(|statement| *statement != Statement::Leave);
            arms.push(arm);
        }
        statements.push(Statement::Try(Vec::new(), arms));
        Some(())
    }

    /// `import a, { b as c } from "d"`
    fn script_import(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        self.at += 1;
        let mut names: Vec<(String, Option<String>)> = Vec::new();
        if !matches!(self.token(), Some(Token::Text(_))) {
            loop {
                if self.eat("*") {
                    self.eat_word("as");
                    names.push((self.name()?, None));
                } else if self.eat("{") {
                    while !self.eat("}") {
                        let member = self.name()?;
                        let name = if self.eat_word("as") { self.name()? } else { member.clone() };
                        names.push((name, Some(member)));
                        self.eat(",");
                    }
                } else {
                    names.push((self.name()?, None));
                }
                if !self.eat(",") {
                    break;
                }
            }
            if !self.eat_word("from") {
                return None;
            }
        }
        let Some(Token::Text(module)) = self.token().cloned() else { return None };
        self.at += 1;
        for (name, member) in names {
            let argument = Argument { name: None, value: Expr::Text(module.clone()) };
            let mut value = Expr::Call(Box::new(Expr::Name("require".to_owned())), vec![argument]);
            if let Some(member) = member {
                value = Expr::Member(Box::new(value), member);
            }
            statements.push(Statement::Assign(Expr::Name(name), value, false));
        }
        Some(())
    }
}
