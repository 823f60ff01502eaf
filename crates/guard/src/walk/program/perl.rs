//! Reads programs of Perl. Arrays, tables and references to them are values like all others.

use std::rc::Rc;

use crate::walk::program::Language;
use crate::walk::program::ast::{Argument, Expr, Function, Parameter, Statement};
use crate::walk::program::expressions::{LONGEST_CHAIN, ProgramParser, function};
use crate::walk::program::lexer::Token;
use crate::walk::program::perl_lexer::{BACKQUOTE, tokens, variable_length};

/// Operators that take one value.
const UNARY: [&str; 19] = [
    "defined",
    "scalar",
    "lc",
    "uc",
    "ref",
    "exists",
    "length",
    "chdir",
    "rmdir",
    "shift",
    "pop",
    "delete",
    "lcfirst",
    "ucfirst",
    "chomp",
    "quotemeta",
    "readdir",
    "closedir",
    "close",
];

/// The deepest nesting.
const DEEPEST: usize = 48;

fn call(name: &str, values: Vec<Expr>) -> Expr {
    let arguments = values.into_iter().map(|value| Argument { name: None, value }).collect();
    Expr::Call(Box::new(Expr::Name(name.to_owned())), arguments)
}

fn method(object: Expr, name: &str, values: Vec<Expr>) -> Expr {
    let arguments = values.into_iter().map(|value| Argument { name: None, value }).collect();
    Expr::Call(Box::new(Expr::Member(Box::new(object), name.to_owned())), arguments)
}

/// A function whose arguments are `@_`.
fn sub(body: Vec<Statement>) -> Expr {
    let target = Expr::Name("@_".to_owned());
    function(vec![Parameter { target, default: None, takes_rest: true }], body)
}

/// A function of one item, which is `$_`.
fn block_of_item(body: Vec<Statement>) -> Expr {
    let target = Expr::Name("$_".to_owned());
    Expr::Function(Rc::new(Function { parameters: vec![Parameter { target, default: None, takes_rest: false }], body }))
}

/// An expression as a part of a list: arrays and lists give their items.
fn part(value: Expr) -> Expr {
    match &value {
        Expr::Name(name) if name.starts_with('@') => Expr::Spread(Box::new(value)),
        Expr::List(_) => Expr::Spread(Box::new(value)),
        Expr::Call(callee, _) => match callee.as_ref() {
            Expr::Member(_, name) if matches!(name.as_str(), "map" | "filter" | "keys" | "values") => {
                Expr::Spread(Box::new(value))
            }
            Expr::Name(name) if matches!(name.as_str(), "sort" | "readdir" | "glob" | "perl_array") => {
                Expr::Spread(Box::new(value))
            }
            _ => value,
        },
        _ => value,
    }
}

impl ProgramParser<'_> {
    /// Reads statements up to the end of the program or of their block.
    pub(super) fn perl(&mut self) -> Option<Vec<Statement>> {
        let mut statements = Vec::new();
        while self.token().is_some() && !self.is_sign("}") {
            self.perl_statement(&mut statements)?;
        }
        Some(statements)
    }

    fn perl_block(&mut self) -> Option<Vec<Statement>> {
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

    /// Reads expressions with commas, `and`, `or` and `not` between them.
    fn perl_list(&mut self) -> Option<Expr> {
        let mut left = if self.eat_word("not") { Expr::Not(Box::new(self.perl_items()?)) } else { self.perl_items()? };
        for _ in 0..LONGEST_CHAIN {
            let operator = if self.eat_word("and") {
                "&&"
            } else if self.eat_word("or") || self.eat_word("xor") {
                "||"
            } else {
                return Some(left);
            };
            let is_negated = self.eat_word("not");
            // `… or next`
            let right = if ["next", "last", "return"].iter().any(|word| self.eat_word(word)) {
                if !self.perl_ends() {
                    self.perl_items()?;
                }
                Expr::Nothing
            } else {
                self.perl_items()?
            };
            let right = if is_negated { Expr::Not(Box::new(right)) } else { right };
            left = Expr::Binary(Box::new(left), operator.to_owned(), Box::new(right));
        }
        None
    }

    /// True if no value begins here.
    fn perl_ends(&self) -> bool {
        match self.token() {
            None => true,
            Some(Token::Sign(sign)) => !matches!(*sign, "(" | "[" | "{" | "-" | "!" | "\\" | "<" | "+" | "~"),
            Some(Token::Name(name)) => matches!(
                name.as_str(),
                "if" | "unless"
                    | "for"
                    | "foreach"
                    | "while"
                    | "until"
                    | "and"
                    | "or"
                    | "xor"
                    | "x"
                    | "eq"
                    | "ne"
                    | "lt"
                    | "gt"
                    | "le"
                    | "ge"
                    | "cmp"
            ),
            _ => false,
        }
    }

    fn perl_items(&mut self) -> Option<Expr> {
        let first = self.perl_assignment()?;
        if !self.is_sign(",") && !self.is_sign("=>") {
            return Some(first);
        }
        let mut items = vec![part(first)];
        while self.eat(",") || self.eat("=>") {
            if self.perl_ends() {
                if self.is_sign(",") {
                    continue;
                }
                break;
            }
            let item = self.perl_assignment()?;
            items.push(part(item));
        }
        Some(Expr::List(items))
    }

    fn perl_assignment(&mut self) -> Option<Expr> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let left = self.perl_binary(0)?;
        let found = if self.eat("?") {
            let then = self.perl_assignment()?;
            self.expect(":")?;
            let otherwise = self.perl_assignment()?;
            Expr::Choice(Box::new(left), Box::new(then), Box::new(otherwise))
        } else if self.eat("=") {
            let value = self.perl_assignment()?;
            let value = match &left {
                Expr::Name(name) if name.starts_with('@') => Expr::List(vec![part(value)]),
                Expr::Name(name) if name.starts_with('%') => call("perl_table", vec![value]),
                _ => value,
            };
            Expr::Assign(Box::new(left), Box::new(value))
        } else if let Some(sign) =
            [".=", "+=", "-=", "*=", "/=", "||=", "&&=", "//="].into_iter().find(|sign| self.eat(sign))
        {
            let more = self.perl_assignment()?;
            let operator = match sign {
                ".=" => "+",
                "||=" | "//=" => "||",
                "&&=" => "&&",
                _ => "-",
            };
            let value = Expr::Binary(Box::new(left.clone()), operator.to_owned(), Box::new(more));
            Expr::Assign(Box::new(left), Box::new(value))
        } else {
            left
        };
        self.depth -= 1;
        Some(found)
    }

    fn perl_operator(&self) -> Option<(&'static str, u8)> {
        Some(match self.token()? {
            Token::Name(name) => match name.as_str() {
                "eq" => ("==", 4),
                "ne" => ("!=", 4),
                "lt" | "gt" | "le" | "ge" | "cmp" => ("cmp", 4),
                "x" => ("x", 7),
                _ => return None,
            },
            Token::Sign(sign) => match *sign {
                "||" | "//" => ("||", 1),
                "&&" => ("&&", 2),
                ".." | "..." => ("..", 3),
                "==" => ("==", 4),
                "!=" => ("!=", 4),
                "<" | ">" | "<=" | ">=" | "<=>" => (sign, 4),
                "|" | "&" | "^" | "<<" | ">>" => (sign, 5),
                "+" | "." => ("+", 6),
                "-" => ("-", 6),
                "*" | "/" | "%" | "**" => ("*", 7),
                "=~" | "!~" => ("=~", 8),
                _ => return None,
            },
            _ => return None,
        })
    }

    fn perl_binary(&mut self, least: u8) -> Option<Expr> {
        let mut left = self.perl_unary()?;
        let mut length = 0;
        while let Some((operator, binds)) = self.perl_operator().filter(|(_, binds)| *binds > least) {
            self.at += 1;
            let right = self.perl_binary(binds)?;
            length += 1;
            if length > LONGEST_CHAIN {
                return None;
            }
            left = match operator {
                // A substitution leaves a text that is not known.
                "=~" | "x" | ".." | "cmp" => Expr::Other(vec![left, right]),
                _ => Expr::Binary(Box::new(left), operator.to_owned(), Box::new(right)),
            };
        }
        Some(left)
    }

    fn perl_unary(&mut self) -> Option<Expr> {
        self.nest()?;
        let value = self.perl_unary_at_level()?;
        self.depth -= 1;
        Some(value)
    }

    fn perl_unary_at_level(&mut self) -> Option<Expr> {
        if self.eat("!") {
            return Some(Expr::Not(Box::new(self.perl_unary()?)));
        }
        // A reference is the value itself.
        if self.eat("\\") || self.eat("+") {
            return self.perl_unary();
        }
        if self.eat("++") || self.eat("--") || self.eat("~") {
            let value = self.perl_unary()?;
            return Some(Expr::Other(vec![value]));
        }
        if self.eat("-") {
            // `-d $path`
            if let Some(Token::Name(name)) = self.token()
                && name.len() == 1
            {
                self.at += 1;
                let value = if self.perl_ends() || self.is_sign(")") {
                    Expr::Name("$_".to_owned())
                } else {
                    self.perl_unary()?
                };
                return Some(call("exists", vec![value]));
            }
            let value = self.perl_unary()?;
            return Some(match value {
                Expr::Number(number) => Expr::Number(-number),
                value => Expr::Other(vec![value]),
            });
        }
        let value = self.perl_term()?;
        self.perl_postfix(value)
    }

    fn perl_postfix(&mut self, value: Expr) -> Option<Expr> {
        let mut value = value;
        for _ in 0..LONGEST_CHAIN {
            let follows_index = matches!(value, Expr::Index(..));
            if self.eat("->") {
                if self.eat("@") {
                    self.expect("*")?;
                } else if self.is_sign("[") || self.is_sign("{") {
                    value = self.perl_index(value)?;
                } else if self.eat("(") {
                    let arguments = self.perl_arguments(")")?;
                    let arguments = arguments.into_iter().map(|value| Argument { name: None, value }).collect();
                    value = Expr::Call(Box::new(value), arguments);
                } else {
                    let name = self.name()?;
                    let arguments = if self.eat("(") { self.perl_arguments(")")? } else { Vec::new() };
                    value = method(value, name.trim_start_matches('$'), arguments);
                }
            } else if follows_index && (self.is_sign("[") || self.is_sign("{")) {
                value = self.perl_index(value)?;
            } else if self.eat("++") || self.eat("--") {
                value = Expr::Other(vec![value]);
            } else {
                return Some(value);
            }
        }
        None
    }

    /// Reads `[index]` or `{key}`.
    fn perl_index(&mut self, value: Expr) -> Option<Expr> {
        if self.eat("[") {
            let key = self.perl_list()?;
            self.expect("]")?;
            return Some(Expr::Index(Box::new(value), Box::new(key)));
        }
        let key = self.perl_key()?;
        Some(Expr::Index(Box::new(value), Box::new(key)))
    }

    /// Reads `{key}`, whose name needs no quotes.
    fn perl_key(&mut self) -> Option<Expr> {
        self.expect("{")?;
        let is_bare = matches!(self.tokens.get(self.at + 1), Some(Token::Sign("}")));
        let key = match self.token() {
            Some(Token::Name(name)) if is_bare && !name.starts_with(['$', '@', '%']) => {
                let name = name.clone();
                self.at += 1;
                Expr::Text(name)
            }
            _ => self.perl_list()?,
        };
        self.expect("}")?;
        Some(key)
    }

    /// Reads arguments up to the sign that closes them.
    fn perl_arguments(&mut self, closer: &str) -> Option<Vec<Expr>> {
        if self.eat(closer) {
            return Some(Vec::new());
        }
        let items = self.perl_list()?;
        self.expect(closer)?;
        Some(match items {
            Expr::List(items) => items,
            item => vec![part(item)],
        })
    }

    fn perl_term(&mut self) -> Option<Expr> {
        let token = self.token()?.clone();
        self.at += 1;
        Some(match token {
            Token::Text(text) => Expr::Text(text),
            Token::Template(text) => template(&text)?,
            Token::Number(number) => Expr::Number(number),
            Token::Literal => Expr::Other(Vec::new()),
            Token::Sign("(") => {
                let items = self.perl_arguments(")")?;
                // `(…)[0]`
                if self.eat("[") {
                    let key = self.perl_list()?;
                    self.expect("]")?;
                    return Some(Expr::Index(Box::new(Expr::List(items)), Box::new(key)));
                }
                match <[Expr; 1]>::try_from(items) {
                    Ok([Expr::Spread(item)]) => *item,
                    Ok([item]) => item,
                    Err(items) => Expr::List(items),
                }
            }
            Token::Sign("[") => Expr::List(self.perl_arguments("]")?),
            Token::Sign("{") => call("perl_table", vec![Expr::List(self.perl_arguments("}")?)]),
            Token::Name(name) => match name.chars().next() {
                Some('$' | '@' | '%') => self.perl_variable(&name)?,
                _ => self.perl_word(&name)?,
            },
            _ => return None,
        })
    }

    fn perl_variable(&mut self, name: &str) -> Option<Expr> {
        // `@{$x}`, `@$x`, `${$x}`
        if matches!(name, "$" | "@" | "%") {
            let inner = if self.eat("{") {
                let inner = self.perl_list()?;
                self.expect("}")?;
                inner
            } else {
                self.perl_term()?
            };
            if name == "$" && (self.is_sign("[") || self.is_sign("{")) {
                return self.perl_index(inner);
            }
            return Some(if name == "@" { call("perl_array", vec![inner]) } else { inner });
        }
        let bare = name.get(1..).unwrap_or("");
        match name.chars().next() {
            Some('$') if self.is_sign("[") => self.perl_index(Expr::Name(format!("@{bare}"))),
            Some('$') if self.is_sign("{") => self.perl_index(Expr::Name(format!("%{bare}"))),
            // `@table{qw(a b)}`
            Some('@') if self.is_sign("{") || self.is_sign("[") => {
                let (sigil, keys) = if self.is_sign("{") {
                    ('%', self.perl_key()?)
                } else {
                    self.at += 1;
                    ('@', Expr::List(self.perl_arguments("]")?))
                };
                let keys = if let Expr::List(keys) = keys { keys } else { vec![keys] };
                let from = Expr::Name(format!("{sigil}{bare}"));
                let item = |key: Expr| Expr::Index(Box::new(from.clone()), Box::new(key));
                Some(Expr::List(keys.into_iter().map(item).collect()))
            }
            _ => Some(Expr::Name(name.to_owned())),
        }
    }

    /// Reads a term that begins with a word: an operator, a call, or a text without quotes.
    fn perl_word(&mut self, name: &str) -> Option<Expr> {
        if self.is_sign("=>") {
            return Some(Expr::Text(name.to_owned()));
        }
        match name {
            BACKQUOTE => {
                let script = self.perl_term()?;
                return Some(call("perl_output", vec![script]));
            }
            "my" | "our" | "local" | "state" => return self.perl_term(),
            "sub" => return Some(sub(self.perl_block()?)),
            "do" | "eval" if self.is_sign("{") => {
                let body = self.perl_block()?;
                return Some(Expr::Call(Box::new(function(Vec::new(), body)), Vec::new()));
            }
            "map" | "grep" | "sort" => return self.perl_map(name),
            "print" | "say" | "printf" => return self.perl_print(name),
            "system" | "exec" if self.is_sign("{") => drop(self.perl_block()?),
            "shift" | "pop" if self.perl_ends() => {
                return Some(method(Expr::Name("@_".to_owned()), name, Vec::new()));
            }
            "undef" if self.perl_ends() => return Some(Expr::Nothing),
            _ => {}
        }
        // A class before its method.
        if self.is_sign("->") {
            return Some(Expr::Name(name.to_owned()));
        }
        let arguments = if self.eat("(") {
            self.perl_arguments(")")?
        } else if self.perl_ends()
            || matches!(self.token(), Some(Token::Sign("-" | "<" | "{" | "["))) && !is_list_operator(name)
        {
            Vec::new()
        } else if UNARY.contains(&name) {
            vec![self.perl_binary(5)?]
        } else {
            match self.perl_items()? {
                Expr::List(items) => items,
                item => vec![part(item)],
            }
        };
        Some(made_call(name, arguments))
    }

    /// `map { … } list`, `grep { … } list`, `map expression, list`
    fn perl_map(&mut self, name: &str) -> Option<Expr> {
        let is_wrapped = self.eat("(");
        let body = if self.is_sign("{") {
            let body = self.perl_block()?;
            self.eat(",");
            Some(body)
        } else if name == "sort" {
            None
        } else {
            let value = self.perl_assignment()?;
            self.expect(",")?;
            Some(vec![Statement::Expr(value)])
        };
        let items = if self.perl_ends() { Expr::List(Vec::new()) } else { self.perl_items()? };
        if is_wrapped {
            self.expect(")")?;
        }
        let items = Expr::List(vec![part(items)]);
        let Some(mut body) = body.filter(|_| name != "sort") else { return Some(items) };
        // The value of the last statement is the result.
        if let Some(Statement::Expr(value)) = body.last_mut() {
            let value = value.clone();
            body.pop();
            body.push(Statement::Return(Some(value)));
        }
        let method_name = if name == "map" { "map" } else { "filter" };
        Some(method(items, method_name, vec![block_of_item(body)]))
    }

    /// `print "…"`, `print STDERR "…"`, `print $file "…"`, `print {$file} "…"`
    fn perl_print(&mut self, name: &str) -> Option<Expr> {
        let is_wrapped = self.eat("(");
        let next = self.tokens.get(self.at + 1);
        let is_term = matches!(next, Some(Token::Text(_) | Token::Template(_)))
            || matches!(next, Some(Token::Name(name)) if name.starts_with(['$', '@']));
        let handle = match self.token() {
            Some(Token::Name(handle))
                if is_term && (handle.starts_with('$') || handle.chars().all(|letter| letter.is_ascii_uppercase())) =>
            {
                let handle = Expr::Name(handle.clone());
                self.at += 1;
                Some(handle)
            }
            Some(Token::Sign("{")) => {
                self.at += 1;
                let handle = self.perl_list()?;
                self.expect("}")?;
                Some(handle)
            }
            _ => None,
        };
        let is_end = self.perl_ends() || is_wrapped && self.is_sign(")");
        let values = if is_end {
            vec![Expr::Name("$_".to_owned())]
        } else {
            match self.perl_items()? {
                Expr::List(items) => items,
                item => vec![part(item)],
            }
        };
        if is_wrapped {
            self.expect(")")?;
        }
        Some(match handle {
            Some(Expr::Name(handle)) if handle == "STDERR" => Expr::Other(values),
            Some(Expr::Name(handle)) if handle == "STDOUT" => call(&format!("perl_{name}"), values),
            Some(handle) => method(handle, "write", vec![call("perl_text", values)]),
            None => call(&format!("perl_{name}"), values),
        })
    }
}

/// Operators that take a list, and may begin it with a sign.
fn is_list_operator(name: &str) -> bool {
    matches!(
        name,
        "system"
            | "exec"
            | "push"
            | "unshift"
            | "unlink"
            | "return"
            | "die"
            | "join"
            | "open"
            | "rmtree"
            | "remove_tree"
    )
}

/// The call of a function, or an operator that changes its first argument.
fn made_call(name: &str, mut arguments: Vec<Expr>) -> Expr {
    let object = |arguments: &mut Vec<Expr>| match arguments.remove(0) {
        Expr::Spread(value) => *value,
        // A handle without a sigil.
        Expr::Call(name, arguments) if arguments.is_empty() => *name,
        value => value,
    };
    match name {
        "push" | "unshift" | "shift" | "pop" if !arguments.is_empty() => {
            let array = object(&mut arguments);
            method(array, name, arguments)
        }
        "keys" | "values" if arguments.len() == 1 => method(object(&mut arguments), name, Vec::new()),
        "open" | "opendir" if !arguments.is_empty() => {
            let handle = object(&mut arguments);
            Expr::Assign(Box::new(handle), Box::new(call(&format!("perl_{name}"), arguments)))
        }
        "scalar" if arguments.len() == 1 => object(&mut arguments),
        _ => call(name, arguments),
    }
}

/// A text in double quotes, with the values of its variables.
fn template(text: &str) -> Option<Expr> {
    let mut parts = Vec::new();
    let mut plain = String::new();
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let after = rest.get(letter.len_utf8()..)?;
        match letter {
            '\\' => {
                let (taken, meant) = crate::syntax::unescape(after, true);
                let taken = if taken > 0 {
                    plain.extend(meant);
                    taken
                } else {
                    plain.extend(after.chars().next());
                    after.chars().next().map_or(0, char::len_utf8)
                };
                rest = after.get(taken..).unwrap_or("");
            }
            '$' | '@' if interpolated_length(after) > 0 => {
                let length = interpolated_length(after);
                parts.push(Expr::Text(std::mem::take(&mut plain)));
                let code = rest.get(..=length)?;
                let value = interpolated(code).unwrap_or(Expr::Other(Vec::new()));
                parts.push(if letter == '@' { call("perl_words", vec![part(value)]) } else { value });
                rest = after.get(length..).unwrap_or("");
            }
            _ => {
                plain.push(letter);
                rest = after;
            }
        }
    }
    if parts.is_empty() {
        return Some(Expr::Text(plain));
    }
    parts.push(Expr::Text(plain));
    Some(Expr::Template(parts))
}

/// The length of a variable in a text, with its indexes.
fn interpolated_length(after: &str) -> usize {
    let mut length = if after.starts_with('{') {
        super::lexer::braced(after).unwrap_or(0)
    } else if after.starts_with('$') {
        1 + variable_length(after.get(1..).unwrap_or(""))
    } else if after.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_') {
        variable_length(after)
    } else {
        0
    };
    while length > 0 {
        let rest = after.get(length..).unwrap_or("");
        let arrow = if rest.starts_with("->[") || rest.starts_with("->{") { 2 } else { 0 };
        let inside = rest.get(arrow..).unwrap_or("");
        let closed = match inside.chars().next() {
            Some('{') => super::lexer::braced(inside),
            Some('[') => inside.find(']').map(|end| end + 1).filter(|end| {
                inside.get(1..end - 1).is_some_and(|key| key.starts_with(['$', '-']) || key.parse::<u32>().is_ok())
            }),
            _ => None,
        };
        match closed {
            Some(closed) => length += arrow + closed,
            None => break,
        }
    }
    length
}

fn interpolated(code: &str) -> Option<Expr> {
    // `${name}` is `$name`.
    let simple = code.get(1..).and_then(|rest| rest.strip_prefix('{')).and_then(|rest| rest.split_once('}'));
    let code = match simple {
        Some((name, rest))
            if !name.is_empty() && name.chars().all(|letter| letter.is_alphanumeric() || letter == '_') =>
        {
            format!("{}{name}{rest}", code.get(..1).unwrap_or(""))
        }
        _ => code.to_owned(),
    };
    let tokens = tokens(&code)?;
    let mut parser = ProgramParser { language: Language::Perl, tokens: &tokens, at: 0, depth: 0 };
    parser.perl_unary()
}
