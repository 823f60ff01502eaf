//! Reads strings, lists and tables.

use crate::walk::program::Language;
use crate::walk::program::ast::Expr;
use crate::walk::program::expressions::{ProgramParser, function};
use crate::walk::program::lexer::{Token, braced, tokens};

impl ProgramParser<'_> {
    /// Strings side by side are one.
    pub(super) fn strings(&mut self) -> Option<Expr> {
        let mut parts = Vec::new();
        loop {
            match self.token() {
                Some(Token::Text(text)) => parts.push(Expr::Text(text.clone())),
                Some(Token::Template(text)) => parts.extend(template(self.language, &text.clone(), self.depth)?),
                _ => break,
            }
            self.at += 1;
            if !self.is_python() {
                break;
            }
        }
        match parts.as_slice() {
            [Expr::Text(_)] => parts.pop(),
            _ => Some(Expr::Template(parts)),
        }
    }

    pub(super) fn list(&mut self) -> Option<Expr> {
        let mut items = Vec::new();
        loop {
            if self.eat("]") {
                return Some(Expr::List(items));
            }
            if self.eat(",") {
                items.push(Expr::Nothing);
                continue;
            }
            let item = self.spread_or_expression()?;
            if self.is_python() && (self.is_word("for") || self.is_word("async")) {
                let value = self.comprehension(item)?;
                self.expect("]")?;
                return Some(value);
            }
            items.push(item);
            if !self.eat(",") && !self.is_sign("]") {
                return None;
            }
        }
    }

    /// Reads a table, or a set of Python's.
    pub(super) fn table(&mut self) -> Option<Expr> {
        let mut entries = Vec::new();
        let mut items = Vec::new();
        loop {
            if self.eat("}") {
                return Some(if items.is_empty() { Expr::Table(entries) } else { Expr::List(items) });
            }
            if self.eat("**") || self.eat("...") {
                entries.push((None, self.expression()?));
            } else if self.is_python() {
                let key = self.spread_or_expression()?;
                if self.eat(":") {
                    let value = self.expression()?;
                    entries.push((Some(key), value));
                } else {
                    items.push(key);
                }
                if self.is_word("for") || self.is_word("async") {
                    let element = items.pop().or_else(|| entries.pop().map(|(_, value)| value))?;
                    let value = self.comprehension(element)?;
                    self.expect("}")?;
                    return Some(value);
                }
            } else {
                entries.push(self.property()?);
            }
            if !self.eat(",") && !self.is_sign("}") {
                return None;
            }
        }
    }

    /// Reads `key: value`, `key`, `key = default`, `[key]: value` or a method.
    fn property(&mut self) -> Option<(Option<Expr>, Expr)> {
        let key = match self.token()?.clone() {
            Token::Name(name) | Token::Text(name) => Expr::Text(name),
            Token::Number(number) => Expr::Text(number.to_string()),
            Token::Sign("[") => {
                self.at += 1;
                let key = self.expression()?;
                if !self.is_sign("]") {
                    return None;
                }
                key
            }
            _ => return None,
        };
        self.at += 1;
        if self.eat(":") {
            return Some((Some(key), self.expression()?));
        }
        if self.eat("(") {
            let parameters = self.parameters(")")?;
            return Some((Some(key), function(parameters, self.block()?)));
        }
        let Expr::Text(name) = &key else { return None };
        if matches!(name.as_str(), "async" | "get" | "set") && !self.is_sign(",") && !self.is_sign("}") {
            return self.property();
        }
        let name = Expr::Name(name.clone());
        if self.eat("=") {
            self.expression()?;
        }
        Some((Some(key), name))
    }
}

/// The parts of a template: texts and expressions.
fn template(language: Language, text: &str, depth: usize) -> Option<Vec<Expr>> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let after = rest.get(letter.len_utf8()..).unwrap_or("");
        let opener = match language {
            Language::Python if letter == '{' || letter == '}' => {
                if after.starts_with(letter) {
                    plain.push(letter);
                    rest = after.get(1..).unwrap_or("");
                    continue;
                }
                rest
            }
            Language::Script | Language::Perl if letter == '$' && after.starts_with('{') => after,
            _ => {
                plain.push(letter);
                rest = after;
                continue;
            }
        };
        let length = braced(opener)?;
        let inside = opener.get(1..length.checked_sub(1)?)?;
        parts.push(Expr::Text(std::mem::take(&mut plain)));
        parts.push(inner(language, inside, depth).unwrap_or(Expr::Other(Vec::new())));
        rest = opener.get(length..).unwrap_or("");
    }
    parts.push(Expr::Text(plain));
    Some(parts)
}

/// The expression in braces of a template. Python may say behind it how it is written: `!r`, `:>10`.
fn inner(language: Language, text: &str, depth: usize) -> Option<Expr> {
    let text = text.trim_end_matches('=');
    let tokens = tokens(language, text)?;
    let mut parser = ProgramParser { language, tokens: &tokens, at: 0, depth: depth + 1 };
    parser.expressions()
}
