//! Reads statements of Perl.

use crate::walk::program::ast::{Expr, Statement};
use crate::walk::program::expressions::ProgramParser;
use crate::walk::program::lexer::Token;
use crate::walk::program::perl_terms::{part, sub};

/// The deepest nesting.
pub(super) const DEEPEST: usize = 48;

impl ProgramParser<'_> {
    /// Reads statements up to the end of the program or of their block.
    pub(super) fn perl(&mut self) -> Option<Vec<Statement>> {
        let mut statements = Vec::new();
        while self.token().is_some() && !self.is_sign("}") {
            self.perl_statement(&mut statements)?;
        }
        Some(statements)
    }

    pub(super) fn perl_block(&mut self) -> Option<Vec<Statement>> {
        self.expect("{")?;
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let statements = self.perl()?;
        self.depth -= 1;
        self.expect("}")?;
        Some(statements)
    }

    fn perl_statement(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        if self.eat(";") {
            return Some(());
        }
        if self.is_sign("{") {
            statements.extend(self.perl_block()?);
            return Some(());
        }
        let word = match self.token() {
            Some(Token::Name(name)) => name.clone(),
            _ => String::new(),
        };
        match word.as_str() {
            "use" | "no" | "package" => {
                while self.token().is_some() && !self.is_sign(";") {
                    self.at += 1;
                }
            }
            "BEGIN" | "END" => {
                self.at += 1;
                statements.extend(self.perl_block()?);
            }
            "sub" if matches!(self.tokens.get(self.at + 1), Some(Token::Name(_))) => {
                self.at += 1;
                let name = self.name()?;
                if self.eat("(") {
                    while !self.eat(")") {
                        self.token()?;
                        self.at += 1;
                    }
                }
                let body = self.perl_block()?;
                statements.insert(0, Statement::Assign(Expr::Name(name), sub(body), false));
            }
            "if" | "unless" => {
                let statement = self.perl_if()?;
                statements.push(statement);
            }
            "while" | "until" => {
                self.at += 1;
                self.expect("(")?;
                let condition = if self.is_sign(")") { Expr::Flag(true) } else { self.perl_list()? };
                self.expect(")")?;
                let body = self.perl_block()?;
                let condition = if word == "until" { Expr::Not(Box::new(condition)) } else { condition };
                statements.push(Statement::While(condition, body));
            }
            "for" | "foreach" => self.perl_for(statements)?,
            _ => {
                let statement = self.perl_simple()?;
                self.perl_modifier(statement, statements)?;
            }
        }
        Some(())
    }

    fn perl_if(&mut self) -> Option<Statement> {
        let is_negated = self.is_word("unless");
        self.at += 1;
        self.nest()?;
        self.expect("(")?;
        let condition = self.perl_list()?;
        self.expect(")")?;
        let then = self.perl_block()?;
        let otherwise = if self.is_word("elsif") {
            vec![self.perl_if()?]
        } else if self.eat_word("else") {
            self.perl_block()?
        } else {
            Vec::new()
        };
        let condition = if is_negated { Expr::Not(Box::new(condition)) } else { condition };
        self.depth -= 1;
        Some(Statement::If(condition, then, otherwise))
    }

    fn perl_for(&mut self, statements: &mut Vec<Statement>) -> Option<()> {
        self.at += 1;
        let _ = self.eat_word("my") || self.eat_word("our");
        let target = match self.token() {
            Some(Token::Name(name)) if name.starts_with('$') => {
                let name = name.clone();
                self.at += 1;
                name
            }
            _ => "$_".to_owned(),
        };
        self.expect("(")?;
        let items = if self.is_sign(")") || self.is_sign(";") { Expr::List(Vec::new()) } else { self.perl_list()? };
        if self.eat(";") {
            statements.push(Statement::Expr(items));
            let condition = if self.is_sign(";") { Expr::Flag(true) } else { self.perl_list()? };
            self.expect(";")?;
            let step = if self.is_sign(")") { None } else { Some(self.perl_list()?) };
            self.expect(")")?;
            let mut body = self.perl_block()?;
            body.extend(step.map(Statement::Expr));
            statements.push(Statement::While(condition, body));
            return Some(());
        }
        self.expect(")")?;
        let body = self.perl_block()?;
        statements.push(Statement::For(Expr::Name(target), Expr::List(vec![part(items)]), body));
        Some(())
    }

    fn perl_simple(&mut self) -> Option<Statement> {
        let is_end = |parser: &Self| match parser.token() {
            None | Some(Token::Sign(";" | "}")) => true,
            Some(Token::Name(name)) => matches!(name.as_str(), "if" | "unless"),
            _ => false,
        };
        for (word, statement) in [("next", Statement::Leave), ("last", Statement::Leave), ("redo", Statement::Leave)] {
            if self.eat_word(word) {
                if matches!(self.token(), Some(Token::Name(name)) if name.chars().all(|letter| letter.is_ascii_uppercase()))
                {
                    self.at += 1;
                }
                return Some(statement);
            }
        }
        if self.eat_word("return") {
            let value = if is_end(self) { None } else { Some(self.perl_list()?) };
            return Some(Statement::Return(value));
        }
        let value = self.perl_list()?;
        let fails = matches!(&value, Expr::Call(callee, _) if **callee == Expr::Name("die".to_owned()));
        Some(if fails { Statement::Fail } else { Statement::Expr(value) })
    }

    /// Reads what may stand behind a statement: `… if condition;`, `… for list;`
    fn perl_modifier(&mut self, statement: Statement, statements: &mut Vec<Statement>) -> Option<()> {
        let mut statement = statement;
        if self.eat_word("if") {
            let condition = self.perl_list()?;
            statement = Statement::If(condition, vec![statement], Vec::new());
        } else if self.eat_word("unless") {
            let condition = self.perl_list()?;
            statement = Statement::If(Expr::Not(Box::new(condition)), vec![statement], Vec::new());
        } else if self.eat_word("for") || self.eat_word("foreach") {
            let items = self.perl_list()?;
            let items = Expr::List(vec![part(items)]);
            statement = Statement::For(Expr::Name("$_".to_owned()), items, vec![statement]);
        } else if self.eat_word("while") || self.eat_word("until") {
            self.perl_list()?;
        }
        statements.push(statement);
        (self.eat(";") || self.token().is_none() || self.is_sign("}")).then_some(())
    }
}
