//! Reads expressions of Perl. Arrays, tables and references to them are values like all others.

use std::rc::Rc;

use crate::walk::program::ast::{Argument, Expr, Function, Parameter, Statement};
use crate::walk::program::expressions::{LONGEST_CHAIN, ProgramParser, function};
use crate::walk::program::lexer::Token;
use crate::walk::program::perl::DEEPEST;
use crate::walk::program::perl_lexer::BACKQUOTE;
use crate::walk::program::perl_template::template;

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

pub(super) fn call(name: &str, values: Vec<Expr>) -> Expr {
    let arguments = values.into_iter().map(|value| Argument { name: None, value }).collect();
    Expr::Call(Box::new(Expr::Name(name.to_owned())), arguments)
}

fn method(object: Expr, name: &str, values: Vec<Expr>) -> Expr {
    let arguments = values.into_iter().map(|value| Argument { name: None, value }).collect();
    Expr::Call(Box::new(Expr::Member(Box::new(object), name.to_owned())), arguments)
}

/// A function whose arguments are `@_`.
pub(super) fn sub(body: Vec<Statement>) -> Expr {
    let target = Expr::Name("@_".to_owned());
    function(vec![Parameter { target, default: None, takes_rest: true }], body)
}

/// A function of one item, which is `$_`.
fn block_of_item(body: Vec<Statement>) -> Expr {
    let target = Expr::Name("$_".to_owned());
    Expr::Function(Rc::new(Function { parameters: vec![Parameter { target, default: None, takes_rest: false }], body }))
}

/// An expression as a part of a list: arrays and lists give their items.
pub(super) fn part(value: Expr) -> Expr {
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
    /// Reads expressions with commas, `and`, `or` and `not` between them.
    pub(super) fn perl_list(&mut self) -> Option<Expr> {
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

    pub(super) fn perl_unary(&mut self) -> Option<Expr> {
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
