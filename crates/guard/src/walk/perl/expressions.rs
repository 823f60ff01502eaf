//! The values of expressions of Perl.

use crate::walk::perl::operators::{incremented, is_magic};
use std::rc::Rc;

use crate::marks::UNKNOWN;
use crate::walk::perl::ast::Expr;
use crate::walk::perl::run::{Leaving, Outcome, Perl, fill_hash};
use crate::walk::perl::value::{Closure, HashCell, Val};

/// The longest text, in bytes.
pub(super) const LONGEST: usize = 32 << 10;

/// The most items of a range or a repetition.
pub(super) const MOST_ITEMS: usize = 1024;

impl Perl<'_, '_> {
    /// A text, or something unknown if it is too long.
    pub(super) fn bounded(&mut self, text: String) -> Outcome<Val> {
        self.step(text.len() / 256)?;
        Ok(if text.len() > LONGEST { Val::unknown() } else { Val::text(text) })
    }

    pub(super) fn scalar(&mut self, expression: &Expr) -> Outcome<Val> {
        self.step(0)?;
        self.enter()?;
        let value = self.scalar_inside(expression);
        self.depth -= 1;
        value
    }

    pub(super) fn scalar_inside(&mut self, expression: &Expr) -> Outcome<Val> {
        Ok(match expression {
            Expr::Number(number) => Val::Number(*number),
            Expr::Text(text) => Val::text(text),
            Expr::Joined(parts) => return self.joined(parts),
            Expr::Scalar(name) => self.scalar_named(name),
            Expr::Array(_) | Expr::Dereferenced('@', _) => {
                let array = self.array_at(expression)?;
                let items = array.borrow();
                if items.iter().any(Val::is_marked) {
                    Val::unknown_if(items.is_empty(), items.len())
                } else {
                    Val::count(items.len())
                }
            }
            Expr::Hash(_) | Expr::Dereferenced('%', _) => {
                let hash = self.hash_at(expression)?;
                let count = hash.entries.borrow().len();
                Val::count(count)
            }
            Expr::Function(name) => self.call_named(name, None, false)?.pop().unwrap_or(Val::Undefined),
            Expr::Glob(name) => Val::text(format!("*{name}")),
            Expr::Item(array, key) => {
                let array = self.array_at(array)?;
                let key = self.scalar(key)?;
                let items = array.borrow();
                match Self::index_of(&key, items.len()) {
                    Some(at) => items.get(at).cloned().unwrap_or(Val::Undefined),
                    None if key.number().is_none() => Val::unknown(),
                    None => Val::Undefined,
                }
            }
            Expr::Entry(hash, key) => return self.entry(hash, key),
            Expr::Dereferenced(_, inner) => match self.scalar(inner)? {
                Val::Scalar(cell) => cell.borrow().clone(),
                Val::Text(name) if !name.contains(UNKNOWN) => self.scalar_named(&name),
                _ => Val::unknown(),
            },
            Expr::LastIndex(array) => {
                let array = self.array_at(array)?;
                let count = u32::try_from(array.borrow().len()).unwrap_or(0);
                Val::Number(f64::from(count) - 1.0)
            }
            Expr::NewArray(items) => {
                let items = self.lists(items)?;
                self.new_array(items)
            }
            Expr::NewHash(items) => {
                let items = self.lists(items)?;
                let hash = HashCell::default();
                fill_hash(&hash, items);
                self.hashes.push(Rc::clone(&hash));
                Val::Hash(hash)
            }
            Expr::NewSub(sub) => Val::Code(Rc::new(Closure { sub: Rc::clone(sub), scope: Rc::clone(&self.scope) })),
            Expr::Reference(inner) => return self.reference(inner),
            other => return self.operation(other),
        })
    }

    /// The values of operators, and of what declares variables.
    fn operation(&mut self, expression: &Expr) -> Outcome<Val> {
        Ok(match expression {
            Expr::And(left, right) => {
                let value = self.scalar(left)?;
                return match value.truth() {
                    Some(false) => Ok(value),
                    Some(true) => self.scalar(right),
                    None if self.decide_value(right, false) => self.scalar(right),
                    None => Ok(Val::text("")),
                };
            }
            Expr::Or(left, right) => {
                let value = self.scalar(left)?;
                return match value.truth() {
                    Some(true) => Ok(value),
                    None if self.decide_value(right, true) => Ok(value),
                    _ => self.scalar(right),
                };
            }
            Expr::OrDefined(left, right) => {
                let value = self.scalar(left)?;
                return if value.is_defined() { Ok(value) } else { self.scalar(right) };
            }
            Expr::Not(inner) => match self.truth_of(inner)? {
                Some(truth) => Val::flag(!truth),
                None => Val::unknown(),
            },
            Expr::Choice(condition, then, otherwise) => {
                let holds = self.decide(condition, None)?;
                return self.scalar(if holds { then } else { otherwise });
            }
            Expr::Binary(..) => return self.chain(expression),
            Expr::Negative(inner) => {
                let value = self.scalar(inner)?;
                match &value {
                    Val::Text(text) if text.starts_with(|letter: char| letter.is_alphabetic()) => {
                        Val::text(format!("-{text}"))
                    }
                    value => value.number().map_or_else(Val::unknown, |number| Val::Number(-number)),
                }
            }
            Expr::Complement(inner) => {
                self.scalar(inner)?;
                Val::unknown()
            }
            Expr::Assign(target, sign, value) => return self.assignment(target, sign, value),
            Expr::Step(target, is_before, by) => {
                let before = self.scalar(target)?;
                let after = match (&before, before.number()) {
                    (Val::Text(text), _) if *by > 0.0 && is_magic(text) => Val::text(incremented(text)),
                    (_, Some(number)) => Val::Number(number + by),
                    _ => Val::unknown(),
                };
                self.assign(target, after.clone())?;
                if *is_before {
                    after
                } else if before.is_defined() {
                    before
                } else {
                    Val::Number(0.0)
                }
            }
            Expr::List(items) => {
                let mut last = Val::Undefined;
                for item in items {
                    last = self.scalar(item)?;
                }
                last
            }
            Expr::My(inner) => {
                self.declare_all(inner);
                Val::Undefined
            }
            Expr::Local(inner) => {
                self.localize(inner)?;
                Val::Undefined
            }
            other => return self.effect(other),
        })
    }

    /// The values of blocks, calls and everything else that does something.
    fn effect(&mut self, expression: &Expr) -> Outcome<Val> {
        Ok(match expression {
            Expr::Do(body) => self.scoped(false, |perl| perl.body(body, false))?.pop().unwrap_or(Val::Undefined),
            Expr::Eval(body) => {
                self.guarded(|perl| perl.scoped(false, |perl| perl.body(body, false)))?.pop().unwrap_or(Val::Undefined)
            }
            Expr::Return(value) => {
                let values = match value {
                    Some(value) if self.wants.last() == Some(&true) => self.list(value)?,
                    Some(value) => vec![self.scalar(value)?],
                    None => Vec::new(),
                };
                return Err(Leaving::Return(values));
            }
            Expr::Next(label) => return Err(Leaving::Next(label.clone())),
            Expr::Last(label) => return Err(Leaving::Last(label.clone())),
            Expr::Redo => return Err(Leaving::Redo),
            Expr::Unknown => Val::unknown(),
            Expr::Repeat(left, right) if !matches!(left.as_ref(), Expr::List(_)) => {
                let (text, count) = (self.scalar(left)?.to_text(), self.scalar(right)?.number());
                let Some(count) = count.map(|count| count.clamp(0.0, 40_000.0)) else { return Ok(Val::unknown()) };
                let count: usize = format!("{:.0}", count.floor()).parse().unwrap_or(0);
                if text.len().saturating_mul(count) > LONGEST {
                    return Ok(Val::unknown());
                }
                return self.bounded(text.repeat(count));
            }
            Expr::Backquoted(script) => {
                let script = self.scalar(script)?.to_text();
                let output = self.run_words(&[script], None)?;
                return self.bounded(output);
            }
            Expr::ReadLine(handle) => return self.read_line(handle),
            Expr::FileTest(test, path) => return self.file_test(*test, path),
            Expr::Match { target, pattern, flags } => {
                return self.matches(expression, target.as_deref(), pattern, flags);
            }
            Expr::Substitute { target, pattern, replacement, flags } => {
                return self.substitute(target.as_deref(), pattern, replacement, flags);
            }
            Expr::Translate { target, from, to, flags } => return self.translate(target.as_deref(), from, to, flags),
            Expr::Pattern(pattern, flags) => {
                let pattern = self.scalar(pattern)?.to_text();
                let flags: String = flags.chars().filter(|flag| "imsx".contains(*flag)).collect();
                Val::Pattern(Rc::from(format!("(?{flags}:{pattern})")))
            }
            Expr::Print(kind, handle, items) => return self.print(kind, handle.as_deref(), items),
            Expr::Call(name, arguments) => return self.call_scalar(name, arguments),
            Expr::WithBlock(name, ..) => {
                let values = self.list(expression)?;
                match name.as_str() {
                    "map" | "grep" if values.iter().any(Val::is_marked) => Val::unknown(),
                    "map" | "grep" => Val::count(values.len()),
                    _ => values.into_iter().next_back().unwrap_or(Val::Undefined),
                }
            }
            Expr::CallValue(code, arguments) => {
                let code = self.scalar(code)?;
                let arguments = self.lists(arguments)?;
                self.call_value(&code, arguments, false)?.pop().unwrap_or(Val::Undefined)
            }
            Expr::Method(object, name, arguments) => {
                self.method(object, name, arguments, false)?.pop().unwrap_or(Val::Undefined)
            }
            other => self.list(other)?.pop().unwrap_or(Val::Undefined),
        })
    }

    /// Decides `a or b` by whether `b` leaves; `is_or` says which it is.
    pub(super) fn decide_value(&mut self, right: &Expr, is_or: bool) -> bool {
        let leaves = matches!(right, Expr::Return(_) | Expr::Next(_) | Expr::Last(_))
            || matches!(right, Expr::Call(name, _) if matches!(name.as_str(), "die" | "exit" | "croak" | "confess"));
        if leaves { is_or } else { self.ask() }
    }

    pub(super) fn truth_of(&mut self, expression: &Expr) -> Outcome<Option<bool>> {
        if expression.is_list() {
            return Ok(Some(!self.list(expression)?.is_empty()));
        }
        Ok(self.scalar(expression)?.truth())
    }

    pub(super) fn scalar_named(&mut self, name: &str) -> Val {
        match name {
            "&" => self.group(0),
            "0" => Val::text("-e"),
            "$" | "PID" | "?" | "!" | "CHILD_ERROR" | "OS_ERROR" => Val::unknown(),
            _ if name.chars().all(|letter| letter.is_ascii_digit()) => {
                name.parse().map_or(Val::Undefined, |at| self.group(at))
            }
            _ => {
                let cell = self.scalar_cell(name);

                cell.borrow().clone()
            }
        }
    }

    pub(super) fn entry(&mut self, hash: &Expr, key: &Expr) -> Outcome<Val> {
        let key = self.scalar(key)?;
        if let Expr::Hash(name) = hash {
            if name == "ENV" {
                return Ok(self.environment_value(&key.to_text()));
            }
            if name == "+" {
                return Ok(self.named.get(&key.to_text()).map_or(Val::Undefined, Val::text));
            }
        }
        let is_unknown = match hash {
            Expr::Dereferenced(_, inner) => self.scalar(inner)?.is_unknown(),
            _ => false,
        };
        if is_unknown {
            return Ok(Val::unknown());
        }
        let hash = self.hash_at(hash)?;
        let entries = hash.entries.borrow();
        Ok(match entries.get(&key.to_text()) {
            Some(value) => value.clone(),
            None if key.is_marked() && !entries.is_empty() => Val::unknown(),
            None => Val::Undefined,
        })
    }

    pub(super) fn joined(&mut self, parts: &[Expr]) -> Outcome<Val> {
        let mut text = String::new();
        for part in parts {
            match part {
                Expr::Array(_) | Expr::Items(..) | Expr::Entries(..) | Expr::Dereferenced('@', _) => {
                    let separator = match self.scalar_named("\"") {
                        Val::Undefined => " ".to_owned(),
                        value => value.to_text(),
                    };
                    let items: Vec<String> = self.list(part)?.iter().map(Val::to_text).collect();
                    text.push_str(&items.join(&separator));
                }
                part => {
                    let value = self.scalar(part)?;
                    text.push_str(&value.to_text());
                }
            }
            if text.len() > LONGEST {
                return Ok(Val::unknown());
            }
        }
        self.bounded(text)
    }

    pub(super) fn reference(&mut self, inner: &Expr) -> Outcome<Val> {
        Ok(match inner {
            Expr::Array(_) | Expr::Dereferenced('@', _) => Val::Array(self.array_at(inner)?),
            Expr::Hash(_) | Expr::Dereferenced('%', _) => Val::Hash(self.hash_at(inner)?),
            Expr::Scalar(name) => Val::Scalar(self.scalar_cell(name)),
            Expr::My(variable) => {
                self.declare_all(variable);
                return self.reference(variable);
            }
            Expr::Function(name) => self.code_named(name).map_or_else(|| Val::text(format!("&{name}")), Val::Code),
            Expr::NewSub(_) => self.scalar(inner)?,
            Expr::Glob(name) => Val::text(name),
            other => {
                let value = self.scalar(other)?;
                self.new_scalar(value)
            }
        })
    }

    /// Runs `inner`; a failure in it is noted in `$@` and goes no further.
    pub(super) fn guarded(&mut self, inner: impl FnOnce(&mut Self) -> Outcome<Vec<Val>>) -> Outcome<Vec<Val>> {
        let result = inner(self);
        let (error, values) = match result {
            // `return` in an `eval` ends the `eval`.
            Ok(values) | Err(Leaving::Return(values)) => (Val::text(""), values),
            Err(Leaving::Die(error)) => (error, Vec::new()),
            Err(other) => return Err(other),
        };
        self.scalar_cell("@").replace(error);
        Ok(values)
    }
}

impl Val {
    pub(super) fn unknown_if(is_empty: bool, count: usize) -> Self {
        // A listing is one item here and many where it is real; there is something in any case.
        if is_empty { Self::Number(0.0) } else { Self::count(count) }
    }
}
