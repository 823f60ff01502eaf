//! Reads literals: strings, lists, tables, functions.

use std::rc::Rc;

use crate::walk::program::Language;
use crate::walk::program::lexer::{Kind, RawPart};
use crate::walk::program::parse::ProgramReader;
use crate::walk::program::syntax::{DictEntry, EntryKind, Expr, FormatPart, Function, Gathers};

impl ProgramReader {
    pub(super) fn primary(&mut self) -> Option<Expr> {
        let kind = self.kind()?.clone();
        self.at += 1;
        Some(match kind {
            Kind::Text(_) | Kind::Bytes(_) | Kind::Format(_) => {
                self.at -= 1;
                self.strings()?
            }
            Kind::Int(number) => Expr::Int(number),
            Kind::Float(number) => Expr::Float(number),
            Kind::Regex(pattern, flags) => Expr::Regex(pattern.into(), flags.into()),
            Kind::Name(name) => self.named(&name)?,
            Kind::Sign("(") => self.parenthesis()?,
            Kind::Sign("[") => self.list()?,
            Kind::Sign("{") if self.is_python => self.python_table()?,
            Kind::Sign("{") => self.script_table()?,
            Kind::Sign("...") if self.is_python => Expr::None,
            // `#field in object`
            Kind::Sign("#") => Expr::Text(format!("#{}", self.name()?).into()),
            _ => return None,
        })
    }

    fn named(&mut self, name: &str) -> Option<Expr> {
        Some(match name {
            "True" | "true" => Expr::Bool(true),
            "False" | "false" => Expr::Bool(false),
            "None" if self.is_python => Expr::None,
            "null" if !self.is_python => Expr::None,
            "undefined" if !self.is_python => Expr::Undefined,
            "function" if !self.is_python => Expr::Function(Rc::new(self.function_rest(false)?)),
            "async" if !self.is_python && self.is_word("function") => {
                self.at += 1;
                Expr::Function(Rc::new(self.function_rest(true)?))
            }
            "class" if !self.is_python => Expr::Class(Rc::new(self.class_rest()?)),
            // `import("fs")`, `import.meta`
            _ => Expr::Name(name.into()),
        })
    }

    /// Reads a function of JavaScript behind the word `function`.
    pub(super) fn function_rest(&mut self, is_async: bool) -> Option<Function> {
        let is_generator = self.eat("*");
        let name = self.name().unwrap_or_else(|| Rc::from(""));
        self.expect("(")?;
        self.method_rest(name, is_async, is_generator)
    }

    /// Reads the parameters and the body of a function of JavaScript.
    pub(super) fn method_rest(&mut self, name: Rc<str>, is_async: bool, is_generator: bool) -> Option<Function> {
        let outer = std::mem::take(&mut self.has_yield);
        let receives_outside = std::mem::take(&mut self.receives);
        let parameters = self.parameters(")")?;
        let body = self.block()?;
        self.has_yield = outer;
        let receives = std::mem::replace(&mut self.receives, receives_outside);
        Some(Function { name, parameters, body, is_generator, receives, is_async, is_arrow: false })
    }

    fn parenthesis(&mut self) -> Option<Expr> {
        if self.eat(")") {
            return Some(Expr::Tuple(Vec::new()));
        }
        self.receives |= self.is_word("yield");
        let mut value = self.nested(Self::expressions)?;
        if self.is_comprehension() {
            value = self.comprehension(Gathers::Lazy, value, None)?;
        }
        self.expect(")")?;
        Some(value)
    }

    fn list(&mut self) -> Option<Expr> {
        let mut items = Vec::new();
        loop {
            if self.eat("]") {
                return Some(Expr::List(items));
            }
            if self.eat(",") {
                items.push(Expr::Undefined);
                continue;
            }
            let item = self.starred()?;
            if self.is_comprehension() {
                let value = self.comprehension(Gathers::List, item, None)?;
                self.expect("]")?;
                return Some(value);
            }
            items.push(item);
            if !self.eat(",") && !self.is_sign("]") {
                return None;
            }
        }
    }

    /// Reads a table or a set of Python.
    fn python_table(&mut self) -> Option<Expr> {
        let mut entries = Vec::new();
        let mut items = Vec::new();
        loop {
            if self.eat("}") {
                return Some(if items.is_empty() { Expr::Dict(entries) } else { Expr::Set(items) });
            }
            if self.eat("**") {
                let value = self.expression()?;
                entries.push(DictEntry { key: None, value, kind: EntryKind::Plain });
            } else {
                let key = self.starred()?;
                if self.eat(":") {
                    let value = self.expression()?;
                    if self.is_comprehension() {
                        let found = self.comprehension(Gathers::Dict, key, Some(value))?;
                        self.expect("}")?;
                        return Some(found);
                    }
                    entries.push(DictEntry { key: Some(key), value, kind: EntryKind::Plain });
                } else if self.is_comprehension() {
                    let found = self.comprehension(Gathers::Set, key, None)?;
                    self.expect("}")?;
                    return Some(found);
                } else {
                    items.push(key);
                }
            }
            if !self.eat(",") && !self.is_sign("}") {
                return None;
            }
        }
    }

    fn script_table(&mut self) -> Option<Expr> {
        let mut entries = Vec::new();
        loop {
            if self.eat("}") {
                return Some(Expr::Dict(entries));
            }
            if self.eat("...") {
                let value = self.expression()?;
                entries.push(DictEntry { key: None, value, kind: EntryKind::Plain });
            } else {
                entries.push(self.property()?);
            }
            if !self.eat(",") && !self.is_sign("}") {
                return None;
            }
        }
    }

    /// Reads the key of a property or of a member of a class.
    pub(super) fn key(&mut self) -> Option<Expr> {
        let kind = self.kind()?.clone();
        self.at += 1;
        Some(match kind {
            Kind::Name(name) | Kind::Text(name) => Expr::Text(name.into()),
            Kind::Int(number) => Expr::Text(number.to_string().into()),
            Kind::Sign("#") => Expr::Text(format!("#{}", self.name()?).into()),
            Kind::Sign("[") => {
                let key = self.expression()?;
                self.expect("]")?;
                key
            }
            _ => return None,
        })
    }

    /// True if the word before this place is a key itself, and no word before a key.
    pub(super) fn ends_key(&self) -> bool {
        matches!(self.kind(), Some(Kind::Sign(":" | "," | "}" | "(" | "=" | ";")) | None)
    }

    /// Reads `key: value`, `key`, `key = default`, `[key]: value` or a method.
    fn property(&mut self) -> Option<DictEntry> {
        let mut kind = EntryKind::Plain;
        let (mut is_async, mut is_generator) = (false, self.eat("*"));
        let mut key = self.key()?;
        while let Expr::Text(word) = &key
            && matches!(word.as_ref(), "get" | "set" | "async")
            && !self.ends_key()
        {
            match word.as_ref() {
                "get" => kind = EntryKind::Getter,
                "set" => kind = EntryKind::Setter,
                _ => is_async = true,
            }
            is_generator |= self.eat("*");
            key = self.key()?;
        }
        let value = if self.eat(":") {
            self.expression()?
        } else if self.eat("(") {
            let name = if let Expr::Text(name) = &key { Rc::clone(name) } else { Rc::from("") };
            Expr::Function(Rc::new(self.method_rest(name, is_async, is_generator)?))
        } else {
            let Expr::Text(name) = &key else { return None };
            let name = Expr::Name(Rc::clone(name));
            if self.eat("=") {
                let default = self.expression()?;
                Expr::Assign(Box::new(name), None, Box::new(default))
            } else {
                name
            }
        };
        Some(DictEntry { key: Some(key), value, kind })
    }

    /// Strings side by side are one in Python.
    fn strings(&mut self) -> Option<Expr> {
        let mut parts = Vec::new();
        let mut bytes: Option<Vec<u8>> = None;
        loop {
            match self.kind().cloned() {
                Some(Kind::Text(text)) => parts.push(FormatPart::Text(text.into())),
                Some(Kind::Bytes(more)) => bytes.get_or_insert_default().extend(more),
                Some(Kind::Format(raw)) => {
                    for part in raw {
                        parts.push(self.part(part)?);
                    }
                }
                _ => break,
            }
            self.at += 1;
            if !self.is_python {
                break;
            }
        }
        if let Some(bytes) = bytes {
            return Some(Expr::Bytes(bytes.into()));
        }
        if parts.iter().all(|part| matches!(part, FormatPart::Text(_))) {
            let texts = parts.iter().map(|part| if let FormatPart::Text(text) = part { text.as_ref() } else { "" });
            return Some(Expr::Text(texts.collect::<String>().into()));
        }
        Some(Expr::Format(parts))
    }

    fn part(&self, part: RawPart) -> Option<FormatPart> {
        let code = match part {
            RawPart::Text(text, _) => return Some(FormatPart::Text(text.into())),
            RawPart::Code(code) => code,
        };
        if !self.is_python {
            return Some(FormatPart::Value { value: self.inner(&code)?, conversion: None, spec: Vec::new() });
        }
        let (code, spec) = split_spec(&code);
        let (code, conversion) = match code.len().checked_sub(2).and_then(|at| code.split_at_checked(at)) {
            Some((before, "!r")) => (before, Some('r')),
            Some((before, "!s")) => (before, Some('s')),
            Some((before, "!a")) => (before, Some('a')),
            _ => (code, None),
        };
        // `{x=}` writes the name as well.
        let shown = code.trim_end().strip_suffix('=').filter(|code| !code.ends_with(['=', '!', '<', '>']));
        let spec = match spec {
            Some(spec) => self.spec_parts(spec)?,
            None => Vec::new(),
        };
        let conversion = conversion.or(shown.map(|_| 'r'));
        Some(FormatPart::Value { value: self.inner(shown.unwrap_or(code))?, conversion, spec })
    }

    /// The parts of a format, which may hold code in braces itself.
    fn spec_parts(&self, spec: &str) -> Option<Vec<FormatPart>> {
        let mut parts = Vec::new();
        let mut rest = spec;
        while let Some((before, code)) = rest.split_once('{') {
            parts.push(FormatPart::Text(before.into()));
            let (code, after) = code.split_once('}')?;
            parts.push(FormatPart::Value { value: self.inner(code)?, conversion: None, spec: Vec::new() });
            rest = after;
        }
        parts.push(FormatPart::Text(rest.into()));
        Some(parts)
    }

    /// The expression in braces of a string.
    fn inner(&self, code: &str) -> Option<Expr> {
        let language = if self.is_python { Language::Python } else { Language::Script };
        // Lines in the braces of a long string mean nothing.
        let code = if self.is_python { format!("({})", code.trim()) } else { code.to_owned() };
        let mut reader = Self::new(language, &code, self.depth + 1)?;
        let value = reader.expressions()?;
        reader.eat_kind(&Kind::Newline);
        reader.is_end().then_some(value)
    }

    /// Reads the template behind a function that is called with it.
    pub(super) fn tagged(&mut self, function: Expr) -> Option<Expr> {
        let Some(Kind::Format(raw)) = self.kind().cloned() else { return None };
        self.at += 1;
        let is_raw = matches!(&function, Expr::Member(_, name, _) if name.as_ref() == "raw");
        let (mut texts, mut values) = (Vec::new(), Vec::new());
        for part in raw {
            match part {
                RawPart::Text(text, written) => texts.push(Rc::from(if is_raw { written } else { text })),
                RawPart::Code(code) => values.push(self.inner(&code)?),
            }
        }
        Some(Expr::Tagged(Box::new(function), texts, values))
    }
}

/// The code in braces, and the format behind its colon.
fn split_spec(code: &str) -> (&str, Option<&str>) {
    let mut open = 0_usize;
    let mut quote: Option<char> = None;
    let mut is_lambda = false;
    for (at, letter) in code.char_indices() {
        match (quote, letter) {
            (Some(mark), _) if mark == letter => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(letter),
            (None, '(' | '[' | '{') => open += 1,
            (None, ')' | ']' | '}') => open = open.saturating_sub(1),
            (None, 'l') if code.get(at..).is_some_and(|rest| rest.starts_with("lambda")) => is_lambda = true,
            (None, ':') if open == 0 && !is_lambda => return (code.get(..at).unwrap_or(code), code.get(at + 1..)),
            _ => {}
        }
    }
    (code, None)
}
