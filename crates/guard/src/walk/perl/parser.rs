//! Reads statements of Perl.

use std::rc::Rc;

use crate::walk::perl::ast::{Block, Expr, Statement};

/// The deepest nesting.
const DEEPEST: usize = 60;

/// Reads a program. None is given where it cannot be read.
pub(super) struct Parser {
    pub(super) letters: Rc<[char]>,
    pub(super) at: usize,
    pub(super) depth: usize,
    /// The first lines behind the current one belong to here-documents up to this place.
    pub(super) document_end: Option<usize>,
    pub(super) package: String,
    /// The text behind `__END__` or `__DATA__`.
    pub(super) data: Option<String>,
    /// Names of functions that the program defines.
    pub(super) subs: Vec<String>,
}

/// A program.
pub(super) struct Program {
    pub(super) body: Block,
    pub(super) data: Option<String>,
}

/// The program that a text is; none if it cannot be read.
pub(super) fn parsed(code: &str) -> Option<Program> {
    let mut parser = Parser::new(code);
    let body = parser.statements(true)?;
    Some(Program { body, data: parser.data })
}

impl Parser {
    pub(super) fn new(code: &str) -> Self {
        let letters: Vec<char> = code.chars().collect();
        let mut subs = Vec::new();
        let mut words = code.split(|letter: char| letter.is_whitespace()).filter(|word| !word.is_empty());
        while let Some(word) = words.next() {
            if word == "sub"
                && let Some(name) = words.next()
            {
                let end = name.find(|letter: char| !letter.is_alphanumeric() && letter != '_').unwrap_or(name.len());
                subs.push(name.get(..end).unwrap_or("").to_owned());
            }
        }
        Self {
            letters: letters.into(),
            at: 0,
            depth: 0,
            document_end: None,
            package: "main".to_owned(),
            data: None,
            subs,
        }
    }

    /// A parser of a part of this text.
    pub(super) fn inner(&self, text: &str) -> Self {
        let letters: Vec<char> = text.chars().collect();
        Self {
            letters: letters.into(),
            at: 0,
            depth: self.depth + 1,
            document_end: None,
            package: self.package.clone(),
            data: None,
            subs: self.subs.clone(),
        }
    }

    pub(super) fn ahead(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    pub(super) fn later(&self, by: usize) -> Option<char> {
        self.letters.get(self.at + by).copied()
    }

    pub(super) fn starts(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(by, letter)| self.later(by) == Some(letter))
    }

    pub(super) fn text(&self, from: usize, to: usize) -> String {
        self.letters.get(from..to).unwrap_or(&[]).iter().collect()
    }

    /// Goes one level deeper. None if that is too deep.
    pub(super) fn enter(&mut self) -> Option<()> {
        self.depth += 1;
        (self.depth < DEEPEST).then_some(())
    }

    /// Goes on behind blanks, remarks and documentation.
    pub(super) fn skip(&mut self) {
        while let Some(letter) = self.ahead() {
            match letter {
                '\n' => {
                    self.at += 1;
                    if let Some(end) = self.document_end.take() {
                        self.at = end.max(self.at);
                    }
                    if self.ahead() == Some('=') && self.later(1).is_some_and(char::is_alphabetic) {
                        self.skip_documentation();
                    }
                }
                _ if letter.is_whitespace() => self.at += 1,
                '#' => {
                    while self.ahead().is_some_and(|letter| letter != '\n') {
                        self.at += 1;
                    }
                }
                _ => break,
            }
        }
    }

    pub(super) fn skip_documentation(&mut self) {
        while self.ahead().is_some() {
            let is_end = self.starts("=cut");
            while self.ahead().is_some_and(|letter| letter != '\n') {
                self.at += 1;
            }
            if is_end {
                return;
            }
            self.at += 1;
        }
    }

    /// Goes on behind a sign, if it is next.
    pub(super) fn eat(&mut self, sign: &str) -> bool {
        self.skip();
        let found = self.starts(sign);
        if found {
            self.at += sign.chars().count();
        }
        found
    }

    pub(super) fn expect(&mut self, sign: &str) -> Option<()> {
        self.eat(sign).then_some(())
    }

    pub(super) fn is_next(&mut self, sign: &str) -> bool {
        self.skip();
        self.starts(sign)
    }

    /// The word that is next, without going on.
    pub(super) fn word(&mut self) -> Option<String> {
        self.skip();
        let end = self.word_end(self.at);
        (end > self.at).then(|| self.text(self.at, end))
    }

    /// The end of a name with its packages.
    pub(super) fn word_end(&self, start: usize) -> usize {
        let get = |at: usize| self.letters.get(at).copied();
        let mut end = start;
        if !get(end).is_some_and(|letter| letter.is_alphabetic() || letter == '_') {
            return start;
        }
        loop {
            while get(end).is_some_and(|letter| letter.is_alphanumeric() || letter == '_') {
                end += 1;
            }
            let is_part = get(end) == Some(':')
                && get(end + 1) == Some(':')
                && get(end + 2).is_some_and(|letter| letter.is_alphabetic() || letter == '_');
            if !is_part {
                return end;
            }
            end += 2;
        }
    }

    pub(super) fn eat_word(&mut self, word: &str) -> bool {
        let found = self.word().is_some_and(|next| next == word);
        if found {
            self.at += word.chars().count();
        }
        found
    }

    /// Reads statements up to the end of the program or of their block.
    pub(super) fn statements(&mut self, is_program: bool) -> Option<Block> {
        let mut statements = Vec::new();
        loop {
            self.skip();
            match self.ahead() {
                None => return is_program.then_some(statements),
                Some('}') if !is_program => return Some(statements),
                Some(';') => self.at += 1,
                _ => {
                    if let Some(mark @ ("__END__" | "__DATA__")) = self.word().as_deref() {
                        let start = self.at + mark.len();
                        let rest = self.text(start, self.letters.len());
                        self.data = Some(rest.split_once('\n').map_or_else(String::new, |(_, data)| data.to_owned()));
                        self.at = self.letters.len();
                        continue;
                    }
                    self.enter()?;
                    self.statement(&mut statements)?;
                    self.depth -= 1;
                }
            }
        }
    }

    pub(super) fn block(&mut self) -> Option<Block> {
        self.expect("{")?;
        self.enter()?;
        let body = self.statements(false)?;
        self.depth -= 1;
        self.expect("}")?;
        Some(body)
    }

    /// Reads a label, if one is next.
    pub(super) fn label(&mut self) -> Option<String> {
        let word = self.word().filter(|word| {
            word.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_' || letter.is_ascii_digit())
        })?;
        let start = self.at;
        self.at += word.chars().count();
        self.skip();
        if self.ahead() == Some(':') && self.later(1) != Some(':') {
            self.at += 1;
            return Some(word);
        }
        self.at = start;
        None
    }

    pub(super) fn statement(&mut self, statements: &mut Block) -> Option<()> {
        let label = self.label();
        if self.is_next("{") && !self.is_hash_ahead() {
            let body = self.block()?;
            statements.push(Statement::Block(label, body));
            return Some(());
        }
        let word = self.word().unwrap_or_default();
        let is_key = {
            let after = self.at + word.chars().count();
            let rest = self.text(after, (after + 8).min(self.letters.len()));
            rest.trim_start().starts_with("=>")
        };
        let length = word.chars().count();
        match word.as_str() {
            _ if is_key => self.simple(statements)?,
            "if" | "unless" => {
                self.at += length;
                let statement = self.conditions(word == "unless")?;
                statements.push(statement);
            }
            "while" | "until" => {
                self.at += length;
                self.expect("(")?;
                let condition = if self.is_next(")") { None } else { Some(self.expression()?) };
                self.expect(")")?;
                let body = self.block()?;
                let step = if self.eat_word("continue") { Some(Expr::Do(self.block()?)) } else { None };
                statements.push(Statement::While { label, condition, is_until: word == "until", body, step });
            }
            "for" | "foreach" => {
                self.at += length;
                self.for_loop(label, statements)?;
            }
            "sub" if self.is_named_sub() => {
                self.at += length;
                let name = self.word()?;
                self.at += name.chars().count();
                let sub = self.sub(name)?;
                statements.push(Statement::Sub(sub));
            }
            "package" => {
                self.at += length;
                let name = self.word()?;
                self.at += name.chars().count();
                let before = std::mem::replace(&mut self.package, name.clone());
                statements.push(Statement::Package(name));
                if self.is_next("{") {
                    let body = self.block()?;
                    statements.push(Statement::Block(None, body));
                    statements.push(Statement::Package(before.clone()));
                    self.package = before;
                }
            }
            "use" | "no" => {
                self.at += length;
                self.import(statements, word == "use")?;
            }
            "BEGIN" | "INIT" | "CHECK" | "UNITCHECK" => {
                self.at += length;
                let body = self.block()?;
                statements.push(Statement::Begin(body));
            }
            "END" => {
                self.at += length;
                let body = self.block()?;
                statements.push(Statement::End(Rc::new(body)));
            }
            "try" if self.is_try() => {
                self.at += length;
                let body = self.block()?;
                let mut handler = None;
                if self.eat_word("catch") {
                    self.expect("(")?;
                    self.expect("$")?;
                    let name = self.word()?;
                    self.at += name.chars().count();
                    self.expect(")")?;
                    handler = Some((format!("${name}"), self.block()?));
                }
                let last = if self.eat_word("finally") { Some(self.block()?) } else { None };
                statements.push(Statement::Try(body, handler, last));
            }
            _ => self.simple(statements)?,
        }
        Some(())
    }

    /// True if the brace that is next begins a hash and no block: a key and an arrow or a comma follow.
    pub(super) fn is_hash_ahead(&mut self) -> bool {
        let rest = self.text(self.at + 1, (self.at + 80).min(self.letters.len()));
        let rest = rest.trim_start();
        let after = match rest.chars().next() {
            Some(quote @ ('"' | '\'')) => rest.get(1..).and_then(|rest| rest.split_once(quote)).map(|(_, after)| after),
            Some('%') => return rest.starts_with("%$") || rest.starts_with("%{"),
            Some(letter) if letter.is_alphabetic() || matches!(letter, '$' | '_' | '-') => rest
                .get(1..)
                .map(|rest| rest.trim_start_matches(|letter: char| letter.is_alphanumeric() || letter == '_')),
            _ => None,
        };
        after.is_some_and(|after| after.trim_start().starts_with("=>"))
    }

    pub(super) fn is_try(&mut self) -> bool {
        let rest = self.text(self.at + 3, (self.at + 8).min(self.letters.len()));
        rest.trim_start().starts_with('{')
    }

    pub(super) fn conditions(&mut self, is_unless: bool) -> Option<Statement> {
        let mut branches = Vec::new();
        let mut negates = is_unless;
        loop {
            self.expect("(")?;
            let condition = self.expression()?;
            self.expect(")")?;
            let condition = if negates { Expr::Not(condition.boxed()) } else { condition };
            branches.push((condition, self.block()?));
            negates = false;
            if self.eat_word("elsif") {
                continue;
            }
            let otherwise = if self.eat_word("else") { Some(self.block()?) } else { None };
            return Some(Statement::If(branches, otherwise));
        }
    }

    pub(super) fn for_loop(&mut self, label: Option<String>, statements: &mut Block) -> Option<()> {
        let is_own = self.eat_word("my") || self.eat_word("our") || self.eat_word("state");
        let mut variable = None;
        if self.is_next("$") {
            self.at += 1;
            let name = self.word()?;
            self.at += name.chars().count();
            variable = Some((format!("${name}"), is_own));
        }
        self.expect("(")?;
        let first = if self.is_next(";") || self.is_next(")") { Expr::List(Vec::new()) } else { self.expression()? };
        if variable.is_none() && self.eat(";") {
            let condition = if self.is_next(";") { None } else { Some(self.expression()?) };
            self.expect(";")?;
            let step = if self.is_next(")") { None } else { Some(self.expression()?) };
            self.expect(")")?;
            let body = self.block()?;
            let rounds = Statement::While { label, condition, is_until: false, body, step };
            statements.push(Statement::Block(None, vec![Statement::Expr(first), rounds]));
            return Some(());
        }
        self.expect(")")?;
        let body = self.block()?;
        statements.push(Statement::For { label, variable, items: first, body });
        Some(())
    }

    /// Reads an expression and what may stand behind it: `… if condition;`
    pub(super) fn simple(&mut self, statements: &mut Block) -> Option<()> {
        let value = self.expression()?;
        let word = self.word().unwrap_or_default();
        let length = word.chars().count();
        let statement = match word.as_str() {
            "if" | "unless" => {
                self.at += length;
                let condition = self.expression()?;
                let condition = if word == "unless" { Expr::Not(condition.boxed()) } else { condition };
                Statement::If(vec![(condition, vec![Statement::Expr(value)])], None)
            }
            "while" | "until" => {
                self.at += length;
                let condition = self.expression()?;
                // `do { … } while …` runs once in any case.
                let is_until = word == "until";
                if let Expr::Do(body) = value {
                    let condition = if is_until { condition } else { Expr::Not(condition.boxed()) };
                    let leaves = Statement::If(
                        vec![(condition, vec![Statement::Expr(Expr::Last(Some("do".to_owned())))])],
                        None,
                    );
                    let body = vec![Statement::Block(None, body), leaves];
                    Statement::While {
                        label: Some("do".to_owned()),
                        condition: None,
                        is_until: false,
                        body,
                        step: None,
                    }
                } else {
                    let body = vec![Statement::Expr(value)];
                    Statement::While { label: None, condition: Some(condition), is_until, body, step: None }
                }
            }
            "for" | "foreach" => {
                self.at += length;
                let items = self.expression()?;
                Statement::For { label: None, variable: None, items, body: vec![Statement::Expr(value)] }
            }
            _ => Statement::Expr(value),
        };
        statements.push(statement);
        self.skip();
        match self.ahead() {
            None | Some('}') => Some(()),
            Some(';') => {
                self.at += 1;
                Some(())
            }
            _ => None,
        }
    }
}
