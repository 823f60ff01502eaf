//! Reads terms of Perl: literals, variables, and words that mean something special.

use std::rc::Rc;

use crate::walk::perl::ast::{Expr, Sub};
use crate::walk::perl::parser::Parser;

impl Parser {
    pub(super) fn term(&mut self) -> Option<Expr> {
        self.skip();
        match self.ahead()? {
            '$' | '@' | '%' | '*' => self.variable(),
            '&' => {
                self.at += 1;
                self.ampersand()
            }
            '(' => self.parenthesized(),
            '[' => {
                self.at += 1;
                Some(Expr::NewArray(self.arguments("]")?))
            }
            '{' => {
                self.at += 1;
                Some(Expr::NewHash(self.arguments("}")?))
            }
            '"' => {
                let text = self.enclosed()?;
                self.template(&text, false)
            }
            '\'' => Some(Expr::Text(single(&self.enclosed()?))),
            '`' => {
                let text = self.enclosed()?;
                Some(Expr::Backquoted(self.template(&text, false)?.boxed()))
            }
            '/' => {
                let pattern = self.enclosed()?;
                let flags = self.flags();
                Some(Expr::Match { target: None, pattern: self.template(&pattern, true)?.boxed(), flags })
            }
            '<' => self.angle(),
            '.' | '0'..='9' => self.number(),
            letter if letter.is_alphabetic() || letter == '_' => {
                let word = self.word()?;
                self.at += word.chars().count();
                self.word_term(&word)
            }
            _ => None,
        }
    }

    /// `&name`, `&$code`, `&{…}`
    fn ampersand(&mut self) -> Option<Expr> {
        if let Some(name) = self.word() {
            self.at += name.chars().count();
            if self.is_next("(") {
                self.at += 1;
                return Some(Expr::Call(name, self.arguments(")")?));
            }
            return Some(Expr::Function(name));
        }
        let code = if self.eat("{") {
            let code = self.expression()?;
            self.expect("}")?;
            code
        } else {
            let Expr::Scalar(name) = self.variable()? else { return None };
            Expr::Scalar(name)
        };
        let arguments = if self.eat("(") { self.arguments(")")? } else { vec![Expr::Array("_".to_owned())] };
        Some(Expr::CallValue(code.boxed(), arguments))
    }

    fn parenthesized(&mut self) -> Option<Expr> {
        self.at += 1;
        let items = self.arguments(")")?;
        if self.is_next("[") {
            self.at += 1;
            let keys = Expr::List(self.arguments("]")?);
            return Some(Expr::ListItems(Expr::List(items).boxed(), keys.boxed()));
        }
        Some(Expr::List(items))
    }

    fn number(&mut self) -> Option<Expr> {
        let start = self.at;
        let radix = match (self.ahead(), self.later(1)) {
            (Some('0'), Some('x' | 'X')) => 16,
            (Some('0'), Some('b' | 'B')) => 2,
            (Some('0'), Some('0'..='9')) => 8,
            _ => 10,
        };
        if radix != 10 {
            self.at += if radix == 8 { 1 } else { 2 };
            let from = self.at;
            while self.ahead().is_some_and(|letter| letter.is_digit(radix) || letter == '_') {
                self.at += 1;
            }
            let digits = self.text(from, self.at).replace('_', "");
            let number = u32::from_str_radix(&digits, radix).ok()?;
            return Some(Expr::Number(f64::from(number)));
        }
        while self.ahead().is_some_and(|letter| letter.is_ascii_digit() || letter == '_') {
            self.at += 1;
        }
        if self.ahead() == Some('.') && self.later(1) != Some('.') && !self.later(1).is_some_and(char::is_alphabetic) {
            self.at += 1;
            while self.ahead().is_some_and(|letter| letter.is_ascii_digit() || letter == '_') {
                self.at += 1;
            }
        }
        if matches!(self.ahead(), Some('e' | 'E'))
            && self.later(1).is_some_and(|letter| letter.is_ascii_digit() || letter == '-')
        {
            self.at += 2;
            while self.ahead().is_some_and(|letter| letter.is_ascii_digit()) {
                self.at += 1;
            }
        }
        let digits = self.text(start, self.at).replace('_', "");
        digits.parse().ok().map(Expr::Number)
    }

    /// `<STDIN>`, `<$file>`, `<*.c>`, `<<WORD`
    fn angle(&mut self) -> Option<Expr> {
        if self.later(1) == Some('<') && self.later(2) != Some('>') {
            return self.document();
        }
        if self.starts("<<>>") {
            self.at += 4;
            return Some(Expr::ReadLine(Expr::Text("ARGV".to_owned()).boxed()));
        }
        let inside = self.enclosed()?;
        let is_name = |text: &str| text.chars().all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | ':'));
        Some(match inside.strip_prefix('$') {
            Some(name) if is_name(name) => Expr::ReadLine(Expr::Scalar(name.to_owned()).boxed()),
            _ if inside.is_empty() => Expr::ReadLine(Expr::Text("ARGV".to_owned()).boxed()),
            _ if is_name(&inside) => Expr::ReadLine(Expr::Text(inside).boxed()),
            _ => Expr::Call("glob".to_owned(), vec![self.template(&inside, false)?]),
        })
    }

    fn word_term(&mut self, word: &str) -> Option<Expr> {
        let after = self.text(self.at, (self.at + 6).min(self.letters.len()));
        if after.trim_start().starts_with("=>") {
            return Some(Expr::Text(word.to_owned()));
        }
        if after.trim_start().starts_with("->")
            && !matches!(word, "shift" | "pop" | "__PACKAGE__" | "do")
            && !self.subs.iter().any(|own| own == word)
        {
            return Some(Expr::Text(word.to_owned()));
        }
        if after.starts_with("::") {
            self.at += 2;
            return Some(Expr::Text(word.to_owned()));
        }
        if let Some(quoted) = self.quote_like(word) {
            return quoted;
        }
        match word {
            "my" | "our" | "state" => {
                let inner = if self.is_next("(") { self.parenthesized()? } else { self.variable_only()? };
                Some(if word == "our" { inner } else { Expr::My(inner.boxed()) })
            }
            "local" => {
                let term = self.term()?;
                let inner = self.postfix(term)?;
                Some(Expr::Local(inner.boxed()))
            }
            "sub" => {
                let sub = self.sub(String::new())?;
                Some(Expr::NewSub(sub))
            }
            "do" => {
                if self.is_next("{") {
                    return Some(Expr::Do(self.block()?));
                }
                let file = self.binary(7)?;
                Some(Expr::Call("do".to_owned(), vec![file]))
            }
            "eval" => {
                if self.is_next("{") {
                    return Some(Expr::Eval(self.block()?));
                }
                let code = if self.is_end() { Expr::Scalar("_".to_owned()) } else { self.binary(7)? };
                Some(Expr::Call("eval".to_owned(), vec![code]))
            }
            "return" => {
                let value = if self.is_end() { None } else { Some(self.list_value()?.boxed()) };
                Some(Expr::Return(value))
            }
            "next" | "last" | "redo" => {
                let label = self.word().filter(|label| {
                    label.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_' || letter.is_ascii_digit())
                });
                if let Some(label) = &label {
                    self.at += label.chars().count();
                }
                Some(match word {
                    "next" => Expr::Next(label),
                    "last" => Expr::Last(label),
                    _ => Expr::Redo,
                })
            }
            "print" | "say" | "printf" => self.print(word),
            "system" | "exec" => self.system(word),
            "new" => {
                // `new Class(…)`
                let class = self.word().filter(|class| class.starts_with(|letter: char| letter.is_ascii_uppercase()));
                let Some(class) = class else { return self.call(word) };
                self.at += class.chars().count();
                let arguments = if self.eat("(") { self.arguments(")")? } else { Vec::new() };
                Some(Expr::Method(Expr::Text(class).boxed(), Expr::Text("new".to_owned()).boxed(), arguments))
            }
            "STDIN" | "STDOUT" | "STDERR" | "ARGV" | "DATA" => Some(Expr::Text(word.to_owned())),
            "__PACKAGE__" => Some(Expr::Text(self.package.clone())),
            _ => self.call(word),
        }
    }

    /// Reads a comma list as one value.
    fn list_value(&mut self) -> Option<Expr> {
        let mut items = vec![self.assignment()?];
        while self.eat(",") || self.eat("=>") {
            if self.is_end() {
                break;
            }
            items.push(self.assignment()?);
        }
        Some(if items.len() == 1 { items.pop()? } else { Expr::List(items) })
    }

    /// Reads a variable without an index behind it.
    fn variable_only(&mut self) -> Option<Expr> {
        self.skip();
        let sigil = self.ahead().filter(|sigil| matches!(sigil, '$' | '@' | '%'))?;
        self.at += 1;
        let name = self.word()?;
        self.at += name.chars().count();
        Some(match sigil {
            '$' => Expr::Scalar(name),
            '@' => Expr::Array(name),
            _ => Expr::Hash(name),
        })
    }

    /// `print`, with a file before its list or not.
    fn print(&mut self, word: &str) -> Option<Expr> {
        let kind = match word {
            "say" => "say",
            "printf" => "printf",
            _ => "print",
        };
        self.skip();
        let start = self.at;
        let has_parentheses = self.ahead() == Some('(');
        if has_parentheses {
            self.at += 1;
        }
        let handle = self.print_handle();
        let items = if has_parentheses {
            let items = self.arguments(")")?;
            // `print (…) . "x"`, `print (1+2)*3`: the parentheses are not all.
            self.skip();
            if matches!(self.ahead(), Some('.' | '?' | '[' | 'x')) && handle.is_none() {
                self.at = start;
                self.printed_items()?
            } else {
                items
            }
        } else {
            self.printed_items()?
        };
        Some(Expr::Print(kind, handle.map(Expr::boxed), items))
    }

    fn printed_items(&mut self) -> Option<Vec<Expr>> {
        if self.is_end() {
            return Some(Vec::new());
        }
        Some(match self.list_value()? {
            Expr::List(items) => items,
            item => vec![item],
        })
    }

    fn print_handle(&mut self) -> Option<Expr> {
        self.skip();
        let start = self.at;
        match self.ahead()? {
            '{' => {
                self.at += 1;
                let handle = self.expression();
                if handle.is_some() && self.eat("}") {
                    return handle;
                }
            }
            '$' => {
                self.at += 1;
                let name = self.word();
                if let Some(name) = name {
                    self.at += name.chars().count();
                    let has_blank = self.ahead().is_some_and(char::is_whitespace);
                    self.skip();
                    let next = self.ahead().unwrap_or(';');
                    let is_term = next.is_alphanumeric()
                        && !self.word().is_some_and(|word| {
                            matches!(
                                word.as_str(),
                                "x" | "eq"
                                    | "ne"
                                    | "if"
                                    | "unless"
                                    | "for"
                                    | "foreach"
                                    | "and"
                                    | "or"
                                    | "cmp"
                                    | "lt"
                                    | "gt"
                                    | "le"
                                    | "ge"
                                    | "while"
                                    | "until"
                            )
                        })
                        || matches!(next, '"' | '\'' | '$' | '@' | '`')
                        || next == '<' && self.later(1) == Some('<');
                    if has_blank && is_term {
                        return Some(Expr::Scalar(name));
                    }
                }
            }
            letter if letter.is_ascii_uppercase() => {
                let name = self.word()?;
                self.at += name.chars().count();
                self.skip();
                let is_handle =
                    name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_' || letter.is_ascii_digit());
                if is_handle
                    && !matches!(self.ahead(), Some('(' | ',' | '.' | '-' | '=' | '+'))
                    && !self.subs.contains(&name)
                {
                    return Some(Expr::Text(name));
                }
            }
            _ => {}
        }
        self.at = start;
        None
    }

    /// `system { $program } @words`
    fn system(&mut self, word: &str) -> Option<Expr> {
        self.skip();
        let has_parentheses = self.ahead() == Some('(');
        let start = self.at;
        if has_parentheses {
            self.at += 1;
        }
        let mut program = None;
        if self.is_next("{") {
            self.at += 1;
            program = Some(self.expression()?);
            self.expect("}")?;
        }
        if program.is_none() {
            self.at = start;
            return self.call(word);
        }
        let items = if has_parentheses { self.arguments(")")? } else { self.printed_items()? };
        let mut given: Vec<Expr> = program.into_iter().collect();
        given.extend(items);
        Some(Expr::Call(format!("{word} as"), given))
    }

    /// `map { … } list`, `grep /x/, list`, `sort @list`, `first { … } list`
    pub(super) fn call_with_block(&mut self, name: &str) -> Option<Expr> {
        self.skip();
        let has_parentheses = self.ahead() == Some('(');
        if has_parentheses {
            self.at += 1;
        }
        let function = self.leading_function(name)?;
        let items = if has_parentheses { self.arguments(")")? } else { self.printed_items()? };
        match function {
            Leading::Block(sub) => Some(Expr::WithBlock(name.to_owned(), sub, items)),
            Leading::Value(value) => {
                let mut given = vec![value];
                given.extend(items);
                Some(Expr::Call(format!("{name} by"), given))
            }
            Leading::Nothing if matches!(name, "map" | "grep") => {
                let mut items = items;
                if items.is_empty() {
                    return None;
                }
                let expression = items.remove(0);
                let body = vec![crate::walk::perl::ast::Statement::Expr(expression)];
                Some(Expr::WithBlock(name.to_owned(), self.block_sub(body), items))
            }
            Leading::Nothing => Some(Expr::Call(name.to_owned(), items)),
        }
    }

    fn block_sub(&self, body: crate::walk::perl::ast::Block) -> Rc<Sub> {
        Rc::new(Sub { name: String::new(), package: self.package.clone(), signature: None, body })
    }

    /// Reads the block or the function before a list.
    fn leading_function(&mut self, name: &str) -> Option<Leading> {
        let start = self.at;
        if self.is_next("{") {
            let depth = self.depth;
            let body = self.block();
            self.depth = depth;
            if let Some(body) = body
                && !self.is_next(",")
            {
                return Some(Leading::Block(self.block_sub(body)));
            }
            // It was a hash.
            self.at = start;
            return Some(Leading::Nothing);
        }
        if name == "sort" {
            // `sort by_name @list`, `sort $by @list`
            let own = self.word().filter(|word| self.subs.contains(word));
            if let Some(own) = own {
                self.at += own.chars().count();
                if !self.is_next("(") && !self.is_next(",") {
                    return Some(Leading::Value(Expr::Function(own)));
                }
                self.at = start;
            }
            if self.ahead() == Some('$') {
                let value = self.variable();
                self.skip();
                if let Some(value) = value
                    && matches!(self.ahead(), Some('@' | '(' | '$' | 'k' | 'm' | 'g'))
                {
                    return Some(Leading::Value(value));
                }
                self.at = start;
            }
        } else if !matches!(name, "map" | "grep") && self.eat_word("sub") {
            let sub = self.sub(String::new())?;
            self.eat(",");
            return Some(Leading::Block(sub));
        }
        Some(Leading::Nothing)
    }
}

/// What stands before the list of `sort` and its like.
enum Leading {
    Block(Rc<Sub>),
    Value(Expr),
    Nothing,
}

/// A text in single quotes.
pub(super) fn single(text: &str) -> String {
    let mut out = String::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\\' && matches!(letters.peek(), Some('\\' | '\'')) {
            out.extend(letters.next());
        } else {
            out.push(letter);
        }
    }
    out
}
