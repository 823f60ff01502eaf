//! Reads the statements of JavaScript.

use std::rc::Rc;

use crate::walk::program::lexer::Kind;
use crate::walk::program::parse::{ProgramReader, function};
use crate::walk::program::syntax::{
    Argument, Arm, Class, Declares, EntryKind, Expr, ForLoop, Handler, Member, Name, Statement, WhileLoop,
};

impl ProgramReader {
    /// Reads statements up to the end of the program or of their block.
    pub(super) fn script_program(&mut self) -> Option<Vec<Statement>> {
        let mut statements = Vec::new();
        while !self.is_end() && !self.is_sign("}") {
            self.nested(|reader| reader.script_statement(&mut statements))?;
        }
        Some(statements)
    }

    /// Reads a block in braces.
    pub(super) fn block(&mut self) -> Option<Vec<Statement>> {
        self.expect("{")?;
        let statements = self.nested(Self::script_program)?;
        self.expect("}")?;
        Some(statements)
    }

    /// Reads a block, or one statement.
    fn body(&mut self) -> Option<Vec<Statement>> {
        if self.is_sign("{") {
            return self.block();
        }
        let mut statements = Vec::new();
        self.nested(|reader| reader.script_statement(&mut statements))?;
        Some(statements)
    }

    fn script_statement(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        if self.eat(";") {
            return Some(());
        }
        if self.is_sign("{") {
            let block = self.block()?;
            statements.push(Statement::Block(block));
            return Some(());
        }
        let word = if let Some(Kind::Name(word)) = self.kind() { word.clone() } else { String::new() };
        let next = self.peek(1).cloned();
        if !word.is_empty() && next == Some(Kind::Sign(":")) && word != "default" && word != "case" {
            let name = self.name()?;
            self.at += 1;
            let mut inner = Vec::new();
            self.nested(|reader| reader.script_statement(&mut inner))?;
            let statement = if inner.len() == 1 { inner.pop()? } else { Statement::Block(inner) };
            statements.push(Statement::Labeled(name, Box::new(statement)));
            return Some(());
        }
        match word.as_str() {
            "const" | "var" => self.declarations(statements)?,
            "let" if matches!(next, Some(Kind::Name(_) | Kind::Sign("[" | "{"))) => self.declarations(statements)?,
            "if" => {
                self.at += 1;
                let condition = self.parenthesized()?;
                let then = self.body()?;
                self.eat(";");
                let otherwise = if self.eat_word("else") { self.body()? } else { Vec::new() };
                statements.push(Statement::If(condition, then, otherwise));
            }
            "for" => self.script_for(statements)?,
            "while" => {
                self.at += 1;
                let condition = Some(self.parenthesized()?);
                let body = self.body()?;
                statements.push(Statement::While(Box::new(while_loop(condition, body, false))));
            }
            "do" => {
                self.at += 1;
                let body = self.body()?;
                self.eat(";");
                self.expect_word("while")?;
                let condition = Some(self.parenthesized()?);
                statements.push(Statement::While(Box::new(while_loop(condition, body, true))));
            }
            "try" => self.script_try(statements)?,
            "switch" => self.script_switch(statements)?,
            "function" => {
                self.at += 1;
                let function = self.function_rest(false)?;
                statements.push(Statement::Function(Rc::new(function), Vec::new()));
            }
            "async" if matches!(&next, Some(Kind::Name(next)) if next == "function") => {
                self.at += 2;
                let function = self.function_rest(true)?;
                statements.push(Statement::Function(Rc::new(function), Vec::new()));
            }
            "class" => {
                self.at += 1;
                let class = self.class_rest()?;
                statements.push(Statement::Class(Rc::new(class), Vec::new()));
            }
            "import" if !matches!(next, Some(Kind::Sign("(" | "."))) => self.script_import(statements)?,
            "export" => {
                self.at += 1;
                self.eat_word("default");
            }
            _ => self.script_simple(&word, statements)?,
        }
        Some(())
    }

    fn script_simple(&mut self, word: &str, statements: &mut Vec<Statement>) -> Option<()> {
        match word {
            "return" => {
                self.at += 1;
                let is_end = self.is_first() || self.is_sign(";") || self.is_sign("}");
                let value = if is_end { None } else { Some(self.expressions()?) };
                statements.push(Statement::Return(value));
            }
            "break" | "continue" => {
                self.at += 1;
                let label = if self.is_first() { None } else { self.name() };
                statements.push(if word == "break" { Statement::Break(label) } else { Statement::Continue(label) });
            }
            "throw" => {
                self.at += 1;
                let value = self.expressions()?;
                statements.push(Statement::Raise(Some(value)));
            }
            "debugger" => self.at += 1,
            _ => {
                let value = self.expressions()?;
                statements.push(Statement::Expr(value));
            }
        }
        // A statement ends with its line, a semicolon or the block.
        let ends = self.eat(";") || self.is_first() || self.is_sign("}");
        ends.then_some(())
    }

    fn parenthesized(&mut self) -> Option<Expr> {
        self.expect("(")?;
        let value = self.expressions()?;
        self.expect(")")?;
        Some(value)
    }

    fn declares(&mut self) -> Option<Declares> {
        if self.eat_word("var") {
            return Some(Declares::InFunction);
        }
        (self.eat_word("const") || self.eat_word("let")).then_some(Declares::InBlock)
    }

    fn declarations(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        let declares = self.declares()?;
        loop {
            let target = self.pattern()?;
            let has_value = self.eat("=");
            self.receives |= has_value && self.is_word("yield");
            let value = if has_value { Some(self.expression()?) } else { None };
            statements.push(Statement::Declare(declares, target, value));
            if !self.eat(",") {
                break;
            }
        }
        let ends = self.eat(";") || self.is_first() || self.is_sign("}") || self.is_sign(")");
        ends.then_some(())
    }

    /// Reads a name, or a pattern that takes a value apart. Its braces and brackets read as a table or a list.
    fn pattern(&mut self) -> Option<Expr> {
        match self.kind()? {
            Kind::Name(_) => self.name().map(Expr::Name),
            Kind::Sign("{" | "[") => self.primary(),
            _ => None,
        }
    }

    fn script_for(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        self.at += 1;
        self.eat_word("await");
        self.expect("(")?;
        let start = self.at;
        let declares = self.declares().unwrap_or(Declares::No);
        let target = if declares == Declares::No { self.postfix() } else { self.pattern() };
        if let Some(target) = target
            && (self.is_word("of") || self.is_word("in"))
        {
            let over_keys = self.is_word("in");
            self.at += 1;
            let items = self.expressions()?;
            self.expect(")")?;
            let body = self.body()?;
            let otherwise = Vec::new();
            statements.push(Statement::For(Rc::new(ForLoop { declares, target, items, over_keys, body, otherwise })));
            return Some(());
        }
        self.at = start;
        let mut first = Vec::new();
        if matches!(self.kind(), Some(Kind::Name(word)) if matches!(word.as_str(), "let" | "const" | "var")) {
            self.declarations(&mut first)?;
        } else if !self.eat(";") {
            let value = self.expressions()?;
            first.push(Statement::Expr(value));
            self.expect(";")?;
        }
        let condition = if self.is_sign(";") { None } else { Some(self.expressions()?) };
        self.expect(";")?;
        let step = if self.is_sign(")") { None } else { Some(self.expressions()?) };
        self.expect(")")?;
        let body = self.body()?;
        let otherwise = Vec::new();
        statements.push(Statement::While(Box::new(WhileLoop {
            first,
            condition,
            step,
            body,
            otherwise,
            tests_late: false,
        })));
        Some(())
    }

    fn script_try(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        self.at += 1;
        let body = self.block()?;
        let mut handlers = Vec::new();
        if self.eat_word("catch") {
            let mut target = None;
            if self.eat("(") {
                target = Some(self.pattern()?);
                self.expect(")")?;
            }
            handlers.push(Handler { kinds: None, target, body: self.block()? });
        }
        let last = if self.eat_word("finally") { self.block()? } else { Vec::new() };
        statements.push(Statement::Try { body, handlers, otherwise: Vec::new(), last });
        Some(())
    }

    fn script_switch(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        self.at += 1;
        let subject = self.parenthesized()?;
        self.expect("{")?;
        let mut arms = Vec::new();
        while !self.eat("}") {
            let pattern = if self.eat_word("case") { Some(self.expressions()?) } else { None };
            if pattern.is_none() {
                self.expect_word("default")?;
            }
            self.expect(":")?;
            let mut body = Vec::new();
            while !self.is_word("case") && !self.is_word("default") && !self.is_sign("}") {
                self.nested(|reader| reader.script_statement(&mut body))?;
            }
            arms.push(Arm { pattern, guard: None, body });
        }
        statements.push(Statement::Switch(subject, arms));
        Some(())
    }

    /// Reads a class behind the word `class`.
    pub(super) fn class_rest(&mut self) -> Option<Class> {
        let name = if self.is_word("extends") { None } else { self.name() };
        let mut bases = Vec::new();
        if self.eat_word("extends") {
            let value = self.postfix()?;
            bases.push(Argument { name: None, value, is_table: false });
        }
        self.expect("{")?;
        let mut members = Vec::new();
        while !self.eat("}") {
            if !self.eat(";") {
                members.push(self.nested(Self::class_member)?);
            }
        }
        Some(Class { name: name.unwrap_or_else(|| Rc::from("")), bases, body: Vec::new(), members })
    }

    fn class_member(&mut self) -> Option<Member> {
        let (mut is_static, mut is_async, mut kind) = (false, false, EntryKind::Plain);
        let mut is_generator = self.eat("*");
        let mut key = self.key()?;
        while let Expr::Text(word) = &key
            && matches!(word.as_ref(), "static" | "async" | "get" | "set")
            && !self.ends_key()
        {
            match word.as_ref() {
                "static" => is_static = true,
                "async" => is_async = true,
                "get" => kind = EntryKind::Getter,
                _ => kind = EntryKind::Setter,
            }
            if is_static && self.is_sign("{") {
                let body = self.block()?;
                let value = Some(function("", Vec::new(), body));
                return Some(Member { key: Expr::None, value, kind, is_static, is_field: false });
            }
            is_generator |= self.eat("*");
            key = self.key()?;
        }
        if self.eat("(") {
            let name = if let Expr::Text(name) = &key { Rc::clone(name) } else { Rc::from("") };
            let function = self.method_rest(name, is_async, is_generator)?;
            return Some(Member {
                key,
                value: Some(Expr::Function(Rc::new(function))),
                kind,
                is_static,
                is_field: false,
            });
        }
        let value = if self.eat("=") { Some(self.expression()?) } else { None };
        self.eat(";");
        // A field gets its value with every object.
        let per_object = |value| function("", Vec::new(), vec![Statement::Return(Some(value))]);
        let value = if is_static { value } else { value.map(per_object) };
        Some(Member { key, value, kind, is_static, is_field: true })
    }

    /// `import a, { b as c } from "d"`
    fn script_import(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        self.at += 1;
        let mut names: Vec<(Name, Option<Name>)> = Vec::new();
        if !matches!(self.kind(), Some(Kind::Text(_))) {
            loop {
                if self.eat("*") {
                    self.expect_word("as")?;
                    names.push((self.name()?, None));
                } else if self.eat("{") {
                    while !self.eat("}") {
                        let part = self.name()?;
                        let name = if self.eat_word("as") { self.name()? } else { Rc::clone(&part) };
                        names.push((name, Some(part).filter(|part| part.as_ref() != "default")));
                        self.eat(",");
                    }
                } else {
                    names.push((self.name()?, None));
                }
                if !self.eat(",") {
                    break;
                }
            }
            self.expect_word("from")?;
        }
        let Some(Kind::Text(module)) = self.kind().cloned() else { return None };
        self.at += 1;
        let module: Name = Rc::from(module);
        statements.extend(names.into_iter().map(|(name, part)| Statement::Import(name, Rc::clone(&module), part)));
        if self.eat_word("with") {
            self.primary()?;
        }
        self.eat(";");
        Some(())
    }
}

fn while_loop(condition: Option<Expr>, body: Vec<Statement>, tests_late: bool) -> WhileLoop {
    WhileLoop { first: Vec::new(), condition, step: None, body, otherwise: Vec::new(), tests_late }
}
