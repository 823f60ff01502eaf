//! Reads functions and modules of Perl.

use crate::walk::perl::ast::{Block, Signature, Statement, Sub};
use crate::walk::perl::parser::Parser;
use std::rc::Rc;

impl Parser {
    pub(super) fn is_named_sub(&mut self) -> bool {
        let start = self.at;
        self.at += 3;
        let is_named = self.word().is_some();
        self.at = start;
        is_named
    }

    /// Reads the rest of a function behind its name.
    pub(super) fn sub(&mut self, name: String) -> Option<Rc<Sub>> {
        let mut signature = None;
        if self.eat("(") {
            signature = Some(self.signature()?).filter(|parameters| !parameters.is_empty());
        }
        // Attributes.
        while self.is_next(":") {
            self.at += 1;
            let attribute = self.word()?;
            self.at += attribute.chars().count();
        }
        let body = self.block()?;
        Some(Rc::new(Sub { name, package: self.package.clone(), signature, body }))
    }

    /// Reads parameters; a prototype has no names and counts as nothing.
    pub(super) fn signature(&mut self) -> Option<Signature> {
        let mut parameters = Vec::new();
        let start = self.at;
        while !self.eat(")") {
            let sigil = self.ahead()?;
            self.at += 1;
            let name = self.word();
            let Some(name) = name.filter(|_| matches!(sigil, '$' | '@' | '%')) else {
                // A prototype.
                self.at = start;
                while self.ahead()? != ')' {
                    self.at += 1;
                }
                self.at += 1;
                return Some(Vec::new());
            };
            self.at += name.chars().count();
            let default =
                if self.eat("//=") || self.eat("||=") || self.eat("=") { Some(self.assignment()?) } else { None };
            parameters.push((format!("{sigil}{name}"), default));
            self.eat(",");
        }
        Some(parameters)
    }

    pub(super) fn import(&mut self, statements: &mut Block, is_use: bool) -> Option<()> {
        let name = self.word();
        match name {
            Some(name)
                if !name.starts_with('v')
                    || !name.chars().skip(1).all(|letter| letter.is_ascii_digit() || letter == '.') =>
            {
                self.at += name.chars().count();
                self.skip();
                // A version.
                while self.ahead().is_some_and(|letter| letter.is_ascii_digit() || letter == '.') {
                    self.at += 1;
                }
                let list = if self.is_next(";") || self.is_next("}") || self.ahead().is_none() {
                    None
                } else {
                    Some(self.expression()?)
                };
                if is_use {
                    statements.push(Statement::Use(name, list));
                }
            }
            _ => {
                while self.ahead().is_some_and(|letter| letter != ';') {
                    self.at += 1;
                }
            }
        }
        Some(())
    }
}
