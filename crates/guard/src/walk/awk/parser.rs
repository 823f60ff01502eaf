//! Reads a program of awk: rules, functions and statements. See [`super::expressions`] for the rest.

use std::collections::HashMap;

use super::ast::{AwkProgram, Block, Expr, Function, Pattern, Redirect, Rule, SPECIAL, Slot, Statement};
use super::lexer::{Token, tokens};

/// The deepest nesting of a program.
const DEEPEST: usize = 64;

/// The longest program that is read, in bytes.
const LONGEST: usize = 64 << 10;

/// The text is no program of awk. Where a part may be missing, this tells that from a part that cannot be read.
pub(super) struct NoProgram;

/// A program while it is read. A `None` of its functions means that this is no program of awk.
#[derive(Default)]
pub(super) struct AwkParser {
    tokens: Vec<Token>,
    at: usize,
    depth: usize,
    program: AwkProgram,
    globals: HashMap<String, usize>,
    functions: HashMap<String, usize>,
    /// The parameters of the function that is read.
    locals: Vec<String>,
    /// The function that is read.
    current: Option<usize>,
    /// Names that are arrays, each with the function that it belongs to.
    arrays: Vec<(Option<usize>, Slot)>,
    /// Names that are given to functions: the function they belong to, the callee, and the parameter.
    given: Vec<(Option<usize>, Slot, usize, usize)>,
    /// `>` does not compare here: the arguments of `print`.
    pub(super) in_print: bool,
}

/// The program that a text is; none if it is none.
pub(super) fn parsed(code: &str) -> Option<AwkProgram> {
    let mut parser = AwkParser { tokens: tokens(code).filter(|_| code.len() <= LONGEST)?, ..AwkParser::default() };
    for name in SPECIAL {
        parser.slot(name);
    }
    for array in ["ENVIRON", "ARGV"] {
        let slot = parser.slot(array);
        parser.note_array(slot);
    }
    parser.items()?;
    parser.spread_arrays();
    let is_whole = parser.program.functions.iter().all(|function| function.is_defined);
    is_whole.then_some(parser.program)
}

impl AwkParser {
    pub(super) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    pub(super) fn peek_at(&self, ahead: usize) -> Option<&Token> {
        self.tokens.get(self.at + ahead)
    }

    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    pub(super) fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Token::Sign(own)) if *own == sign)
    }

    pub(super) fn is_keyword(&self, keyword: &str) -> bool {
        matches!(self.peek(), Some(Token::Keyword(own)) if *own == keyword)
    }

    /// Goes past a sign, if it is the next one.
    pub(super) fn eat(&mut self, sign: &str) -> bool {
        let is_next = self.is_sign(sign);
        self.at += usize::from(is_next);
        is_next
    }

    fn eat_keyword(&mut self, keyword: &str) -> bool {
        let is_next = self.is_keyword(keyword);
        self.at += usize::from(is_next);
        is_next
    }

    pub(super) fn expect(&mut self, sign: &str) -> Option<()> {
        self.eat(sign).then_some(())
    }

    pub(super) fn skip_line_ends(&mut self) {
        while self.peek() == Some(&Token::LineEnd) {
            self.advance();
        }
    }

    fn skip_ends(&mut self) {
        while self.peek() == Some(&Token::LineEnd) || self.is_sign(";") {
            self.advance();
        }
    }

    /// Reads something that may hold more of its kind.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= DEEPEST {
            return None;
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// The place of a variable.
    pub(super) fn slot(&mut self, name: &str) -> Slot {
        if let Some(at) = self.locals.iter().position(|local| local == name) {
            return Slot::Local(at);
        }
        if let Some(at) = self.globals.get(name) {
            return Slot::Global(*at);
        }
        let at = self.program.globals.len();
        self.program.globals.push(name.to_owned());
        self.globals.insert(name.to_owned(), at);
        Slot::Global(at)
    }

    pub(super) fn note_array(&mut self, slot: Slot) {
        self.arrays.push((self.current, slot));
    }

    pub(super) fn note_given(&mut self, slot: Slot, callee: usize, parameter: usize) {
        self.given.push((self.current, slot, callee, parameter));
    }

    /// The number of a function, which may be defined later.
    pub(super) fn function(&mut self, name: &str) -> usize {
        let functions = &mut self.program.functions;
        *self.functions.entry(name.to_owned()).or_insert_with(|| {
            functions.push(Function::default());
            functions.len() - 1
        })
    }

    /// A name that is given for an array is one, too.
    fn spread_arrays(&mut self) {
        for (owner, slot) in std::mem::take(&mut self.arrays) {
            self.mark_array(owner, slot);
        }
        let given = std::mem::take(&mut self.given);
        // Each round goes one call further; calls nest only so deep.
        for _ in 0..8 {
            for (owner, slot, callee, parameter) in &given {
                let takes = |function: &Function| function.takes_array.get(*parameter) == Some(&true);
                if self.program.functions.get(*callee).is_some_and(takes) {
                    self.mark_array(*owner, *slot);
                }
            }
        }
    }

    fn mark_array(&mut self, owner: Option<usize>, slot: Slot) {
        match slot {
            Slot::Global(at) if !self.program.arrays.contains(&at) => self.program.arrays.push(at),
            Slot::Global(_) => {}
            Slot::Local(at) => {
                let function = owner.and_then(|owner| self.program.functions.get_mut(owner));
                if let Some(takes) = function.and_then(|function| function.takes_array.get_mut(at)) {
                    *takes = true;
                }
            }
        }
    }

    fn items(&mut self) -> Option<()> {
        loop {
            self.skip_ends();
            match self.peek() {
                None => return Some(()),
                Some(Token::Keyword("function")) => self.definition()?,
                Some(Token::Keyword("BEGIN")) => {
                    self.advance();
                    let block = self.block()?;
                    self.program.begins.push(block);
                }
                Some(Token::Keyword("END")) => {
                    self.advance();
                    let block = self.block()?;
                    self.program.ends.push(block);
                }
                Some(_) => self.rule()?,
            }
        }
    }

    fn rule(&mut self) -> Option<()> {
        let pattern = if self.is_sign("{") {
            Pattern::Always
        } else {
            let first = self.expression()?;
            if self.eat(",") {
                self.skip_line_ends();
                Pattern::Range(first, self.expression()?)
            } else {
                Pattern::When(first)
            }
        };
        let action = if self.is_sign("{") { Some(self.block()?) } else { None };
        self.program.rules.push(Rule { pattern, action });
        Some(())
    }

    fn definition(&mut self) -> Option<()> {
        self.advance();
        let (Token::Callee(name) | Token::Name(name)) = self.peek()?.clone() else { return None };
        self.advance();
        self.expect("(")?;
        let mut parameters = Vec::new();
        self.skip_line_ends();
        while let Some(Token::Name(parameter)) = self.peek().cloned() {
            self.advance();
            parameters.push(parameter);
            self.skip_line_ends();
            if !self.eat(",") {
                break;
            }
            self.skip_line_ends();
        }
        self.expect(")")?;
        self.skip_line_ends();
        let at = self.function(&name);
        let function = self.program.functions.get_mut(at).filter(|function| !function.is_defined)?;
        function.is_defined = true;
        function.takes_array = vec![false; parameters.len()];
        self.locals = parameters;
        self.current = Some(at);
        let body = self.block()?;
        self.locals.clear();
        self.current = None;
        self.program.functions.get_mut(at)?.body = body;
        Some(())
    }

    fn block(&mut self) -> Option<Block> {
        self.expect("{")?;
        let mut statements = Vec::new();
        loop {
            self.skip_ends();
            if self.eat("}") {
                return Some(statements);
            }
            self.peek()?;
            statements.push(self.statement()?);
        }
    }

    /// A statement as the body of another one.
    fn body(&mut self) -> Option<Block> {
        self.skip_line_ends();
        if self.eat(";") {
            return Some(Vec::new());
        }
        Some(vec![self.statement()?])
    }

    fn statement(&mut self) -> Option<Statement> {
        self.deeper(|parser| {
            if parser.is_sign("{") {
                return parser.block().map(Statement::Block);
            }
            match parser.peek()? {
                Token::Keyword("if") => parser.condition(),
                Token::Keyword("while") => {
                    let condition = parser.head()?;
                    // The end of `do … while (…)` was read with its beginning.
                    let body = parser.body()?;
                    Some(Statement::While(condition, body))
                }
                Token::Keyword("do") => parser.do_loop(),
                Token::Keyword("for") => parser.for_loop(),
                _ => {
                    let statement = parser.simple()?;
                    parser.end_of_statement()?;
                    Some(statement)
                }
            }
        })
    }

    fn end_of_statement(&mut self) -> Option<()> {
        let is_end = matches!(self.peek(), None | Some(Token::LineEnd));
        if !is_end && !self.is_sign(";") {
            return self.is_sign("}").then_some(());
        }
        self.advance();
        Some(())
    }

    /// A keyword and the condition in parentheses behind it.
    fn head(&mut self) -> Option<Expr> {
        self.advance();
        self.expect("(")?;
        let condition = self.expression()?;
        self.expect(")")?;
        Some(condition)
    }

    fn condition(&mut self) -> Option<Statement> {
        let condition = self.head()?;
        let then = self.body()?;
        let after_then = self.at;
        self.skip_ends();
        if self.eat_keyword("else") {
            let otherwise = self.body()?;
            return Some(Statement::If(condition, then, otherwise));
        }
        self.at = after_then;
        Some(Statement::If(condition, then, Vec::new()))
    }

    fn do_loop(&mut self) -> Option<Statement> {
        self.advance();
        let body = self.body()?;
        self.skip_ends();
        if !self.is_keyword("while") {
            return None;
        }
        let condition = self.head()?;
        self.end_of_statement()?;
        Some(Statement::Do(body, condition))
    }

    fn for_loop(&mut self) -> Option<Statement> {
        self.advance();
        self.expect("(")?;
        if let (
            Some(Token::Name(variable)),
            Some(Token::Keyword("in")),
            Some(Token::Name(array)),
            Some(Token::Sign(")")),
        ) = (self.peek().cloned(), self.peek_at(1), self.peek_at(2).cloned(), self.peek_at(3))
        {
            self.at += 4;
            let (variable, array) = (self.slot(&variable), self.slot(&array));
            self.note_array(array);
            let body = self.body()?;
            return Some(Statement::ForIn(variable, array, body));
        }
        let first = if self.is_sign(";") { None } else { Some(Box::new(self.simple()?)) };
        self.expect(";")?;
        self.skip_line_ends();
        let condition = if self.is_sign(";") { None } else { Some(self.expression()?) };
        self.expect(";")?;
        self.skip_line_ends();
        let step = if self.is_sign(")") { None } else { Some(Box::new(self.simple()?)) };
        self.expect(")")?;
        let body = self.body()?;
        Some(Statement::For { first, condition, step, body })
    }

    fn simple(&mut self) -> Option<Statement> {
        let Token::Keyword(keyword) = *self.peek()? else { return self.expression().map(Statement::Expr) };
        if keyword == "getline" {
            return self.expression().map(Statement::Expr);
        }
        self.advance();
        Some(match keyword {
            "print" | "printf" => return self.print(keyword == "printf"),
            "next" => Statement::Next,
            "nextfile" => Statement::NextFile,
            "break" => Statement::Break,
            "continue" => Statement::Continue,
            "exit" => Statement::Exit(self.optional_value().ok()?),
            "return" => Statement::Return(self.optional_value().ok()?),
            "delete" => {
                let (Token::Name(name) | Token::Callee(name)) = self.peek()?.clone() else { return None };
                self.advance();
                let slot = self.slot(&name);
                self.note_array(slot);
                let keys = if self.eat("[") { Some(self.list("]")?) } else { None };
                Statement::Delete(slot, keys)
            }
            _ => return None,
        })
    }

    fn optional_value(&mut self) -> Result<Option<Expr>, NoProgram> {
        let is_end = matches!(self.peek(), None | Some(Token::LineEnd)) || self.is_sign(";") || self.is_sign("}");
        if is_end { Ok(None) } else { self.expression().map(Some).ok_or(NoProgram) }
    }

    fn print(&mut self, is_format: bool) -> Option<Statement> {
        let before = std::mem::replace(&mut self.in_print, true);
        let values = self.printed()?;
        let to = match self.peek() {
            Some(Token::Sign(sign @ (">" | ">>" | "|" | "|&"))) => {
                let redirect = match *sign {
                    ">" => Redirect::File,
                    ">>" => Redirect::Append,
                    _ => Redirect::Pipe,
                };
                self.advance();
                Some((redirect, self.concatenation()?))
            }
            _ => None,
        };
        self.in_print = before;
        Some(Statement::Print { values, to, is_format })
    }

    fn printed(&mut self) -> Option<Vec<Expr>> {
        let is_end = |parser: &Self| match parser.peek() {
            None | Some(Token::LineEnd) => true,
            Some(Token::Sign(sign)) => matches!(*sign, ";" | "}" | ">" | ">>" | "|" | "|&"),
            _ => false,
        };
        let mut values = Vec::new();
        if is_end(self) {
            return Some(values);
        }
        loop {
            match self.expression()? {
                Expr::Many(inner) if values.is_empty() && is_end(self) => return Some(inner),
                value => values.push(value),
            }
            if !self.eat(",") {
                return Some(values);
            }
            self.skip_line_ends();
        }
    }
}
