//! Reads statements of Python.

use crate::walk::program::ast::{Argument, Expr, Statement};
use crate::walk::program::expressions::{ProgramParser, function};
use crate::walk::program::lexer::Token;

impl ProgramParser<'_> {
    /// Reads statements up to the end of the program or of their block.
    pub(super) fn python(&mut self) -> Option<Vec<Statement>> {
        let mut statements = Vec::new();
        loop {
            match self.token() {
                None | Some(Token::Dedent) => return Some(statements),
                Some(Token::Newline | Token::Indent) => self.at += 1,
                Some(Token::Sign("@")) => {
                    // A decorator changes the function behind it, but not what that runs.
                    self.at += 1;
                    self.expression()?;
                }
                _ => self.python_statement(&mut statements)?,
            }
        }
    }

    /// Reads a block: the rest of the line, or the indented lines behind it.
    fn suite(&mut self) -> Option<Vec<Statement>> {
        self.expect(":")?;
        self.depth += 1;
        let mut statements = Vec::new();
        if self.token() == Some(&Token::Newline) {
            while self.token() == Some(&Token::Newline) {
                self.at += 1;
            }
            if self.token() != Some(&Token::Indent) || self.depth > 48 {
                return None;
            }
            self.at += 1;
            statements = self.python()?;
            if self.token() == Some(&Token::Dedent) {
                self.at += 1;
            }
        } else {
            self.simple_statements(&mut statements)?;
        }
        self.depth -= 1;
        Some(statements)
    }

    fn python_statement(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        self.eat_word("async");
        let word = match self.token() {
            Some(Token::Name(name)) => name.clone(),
            _ => String::new(),
        };
        let follows_value = matches!(self.tokens.get(self.at + 1), Some(Token::Sign("=" | "." | ",")));
        match word.as_str() {
            _ if follows_value => self.simple_statements(statements)?,
            "if" => {
                let statement = self.python_if()?;
                statements.push(statement);
            }
            "for" => {
                self.at += 1;
                let target = self.targets()?;
                if !self.eat_word("in") {
                    return None;
                }
                let items = self.expressions()?;
                let body = self.suite()?;
                statements.push(Statement::For(target, items, body));
                self.python_else(statements)?;
            }
            "while" => {
                self.at += 1;
                let condition = self.expression()?;
                let body = self.suite()?;
                statements.push(Statement::While(condition, body));
                self.python_else(statements)?;
            }
            "try" => {
                let statement = self.python_try()?;
                statements.push(statement);
            }
            "with" => self.python_with(statements)?,
            "def" => {
                self.at += 1;
                let name = self.name()?;
                self.expect("(")?;
                let parameters = self.parameters(")")?;
                if self.eat("->") {
                    self.expression()?;
                }
                let body = self.suite()?;
                statements.push(Statement::Assign(Expr::Name(name), function(parameters, body), false));
            }
            "class" => {
                self.at += 1;
                let name = self.name()?;
                if self.eat("(") {
                    self.parameters(")")?;
                }
                let body = self.suite()?;
                statements.push(Statement::Class(name, body));
            }
            _ => self.simple_statements(statements)?,
        }
        Some(())
    }

    fn python_if(&mut self) -> Option<Statement> {
        self.at += 1;
        self.nest()?;
        let condition = self.expression()?;
        let then = self.suite()?;
        self.skip_newlines();
        let otherwise = if self.is_word("elif") {
            vec![self.python_if()?]
        } else if self.eat_word("else") {
            self.suite()?
        } else {
            Vec::new()
        };
        self.depth -= 1;
        Some(Statement::If(condition, then, otherwise))
    }

    /// Reads the `else` of a loop.
    fn python_else(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        if self.eat_word("else") {
            statements.extend(self.suite()?);
        }
        Some(())
    }

    fn python_try(&mut self) -> Option<Statement> {
        self.at += 1;
        let body = self.suite()?;
        let mut rest = Vec::new();
        loop {
            self.skip_newlines();
            if self.eat_word("except") {
                self.eat("*");
                if !self.is_sign(":") {
                    self.expressions()?;
                    if self.eat_word("as") {
                        self.name()?;
                    }
                }
            } else if !self.eat_word("else") && !self.eat_word("finally") {
                return Some(Statement::Try(body, rest));
            }
            rest.push(self.suite()?);
        }
    }

    fn python_with(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        self.at += 1;
        let is_wrapped = self.eat("(");
        loop {
            let value = self.expression()?;
            if self.eat_word("as") {
                let target = self.target()?;
                statements.push(Statement::Assign(target, value, false));
            } else {
                statements.push(Statement::Expr(value));
            }
            if !self.eat(",") {
                break;
            }
        }
        if is_wrapped {
            self.expect(")")?;
        }
        statements.extend(self.suite()?);
        Some(())
    }

    fn skip_newlines(&mut self) {
        // A line end before `else` or `except` belongs to the block before it.
        while self.token() == Some(&Token::Newline) {
            self.at += 1;
        }
    }

    /// Reads the statements of one line, with semicolons between them.
    fn simple_statements(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        loop {
            self.simple_statement(statements)?;
            if !self.eat(";") {
                break;
            }
            if self.token() == Some(&Token::Newline) {
                break;
            }
        }
        matches!(self.token(), None | Some(Token::Newline | Token::Dedent)).then_some(())
    }

    fn simple_statement(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        let word = match self.token()? {
            Token::Name(name) => name.clone(),
            Token::Newline => return Some(()),
            _ => String::new(),
        };
        let is_end = |parser: &Self| matches!(parser.token(), None | Some(Token::Newline | Token::Sign(";")));
        match word.as_str() {
            "import" | "from" => self.python_import(statements)?,
            "pass" => self.at += 1,
            "break" | "continue" => {
                self.at += 1;
                statements.push(Statement::Leave);
            }
            "return" => {
                self.at += 1;
                let value = if is_end(self) { None } else { Some(self.expressions()?) };
                statements.push(Statement::Return(value));
            }
            "raise" => {
                self.at += 1;
                if !is_end(self) {
                    let value = self.expressions()?;
                    statements.push(Statement::Expr(value));
                }
                if self.eat_word("from") {
                    self.expression()?;
                }
                statements.push(Statement::Fail);
            }
            "global" | "nonlocal" => {
                self.at += 1;
                let mut names = vec![self.name()?];
                while self.eat(",") {
                    names.push(self.name()?);
                }
                statements.push(Statement::Global(names));
            }
            "assert" | "del" => {
                self.at += 1;
                let value = self.expressions()?;
                if word == "assert" {
                    statements.push(Statement::Expr(value));
                }
            }
            _ => self.python_assignment(statements)?,
        }
        Some(())
    }

    fn python_assignment(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        let first = self.expressions()?;
        if self.eat(":") {
            // A type.
            self.expression()?;
            if !self.is_sign("=") {
                return Some(());
            }
        }
        if self.eat("+=") {
            let value = self.expressions()?;
            statements.push(Statement::Assign(first, value, true));
            return Some(());
        }
        for sign in ["-=", "*=", "/=", "//=", "%=", "|=", "&=", "**=", "^=", ">>=", "<<="] {
            if self.eat(sign) {
                let more = self.expressions()?;
                let operator = sign.trim_end_matches('=').to_owned();
                let value = Expr::Binary(Box::new(first.clone()), operator, Box::new(more));
                statements.push(Statement::Assign(first, value, false));
                return Some(());
            }
        }
        let mut parts = vec![first];
        while self.eat("=") {
            parts.push(self.expressions()?);
        }
        let value = parts.pop()?;
        if parts.is_empty() {
            statements.push(Statement::Expr(value));
            return Some(());
        }
        for target in parts {
            statements.push(Statement::Assign(target, value.clone(), false));
        }
        Some(())
    }

    /// `import a.b as c`, `from a import b as c`: names for parts of modules, which are spelled out by texts.
    fn python_import(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        let is_from = self.is_word("from");
        self.at += 1;
        let module = if is_from {
            while self.eat(".") || self.eat("...") {}
            let module = if self.is_word("import") { String::new() } else { self.dotted()? };
            if !self.eat_word("import") {
                return None;
            }
            Some(module)
        } else {
            None
        };
        let is_wrapped = self.eat("(");
        loop {
            if self.is_sign(")") {
                break;
            }
            if self.eat("*") {
                // The names that mean something else where they come from elsewhere.
                for name in ["run", "call"] {
                    statements.push(Statement::Assign(
                        Expr::Name(name.to_owned()),
                        module_part(&format!("{}.{name}", module.clone().unwrap_or_default())),
                        false,
                    ));
                }
                break;
            }
            let path = self.dotted()?;
            let alias = if self.eat_word("as") { Some(self.name()?) } else { None };
            let (name, whole) = match (&module, alias) {
                (Some(module), alias) => (alias.unwrap_or_else(|| path.clone()), format!("{module}.{path}")),
                (None, Some(alias)) => (alias, path),
                (None, None) => {
                    let top = path.split('.').next().unwrap_or(&path).to_owned();
                    (top.clone(), top)
                }
            };
            let value = module_part(&whole);
            statements.push(Statement::Assign(Expr::Name(name), value, false));
            if !self.eat(",") {
                break;
            }
        }
        if is_wrapped {
            self.expect(")")?;
        }
        Some(())
    }

    fn dotted(&mut self) -> Option<String> {
        let mut path = self.name()?;
        while self.eat(".") {
            path.push('.');
            path.push_str(&self.name()?);
        }
        Some(path)
    }
}

/// The part of a module that a path names.
fn module_part(path: &str) -> Expr {
    let mut parts = path.split('.').filter(|part| !part.is_empty());
    let module = Expr::Text(parts.next().unwrap_or("").to_owned());
    let arguments = vec![Argument { name: None, value: module }];
    let first = Expr::Call(Box::new(Expr::Name("require".to_owned())), arguments);
    parts.fold(first, |value, part| Expr::Member(Box::new(value), part.to_owned()))
}
