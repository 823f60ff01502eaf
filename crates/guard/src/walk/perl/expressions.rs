//! The values of expressions of Perl.

use std::cell::RefCell;
use std::rc::Rc;

use crate::marks::UNKNOWN;
use crate::walk::perl::ast::Expr;
use crate::walk::perl::run::{Leaving, Outcome, Perl, fill_hash};
use crate::walk::perl::value::{Closure, HashCell, Val};

/// The longest text, in bytes.
pub(super) const LONGEST: usize = 32 << 10;

/// The most items of a range or a repetition.
const MOST_ITEMS: usize = 1024;

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

    fn scalar_inside(&mut self, expression: &Expr) -> Outcome<Val> {
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
                let cell = Rc::new(RefCell::new(items));
                self.arrays.push(Rc::clone(&cell));
                Val::Array(cell)
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
            Expr::And(left, right) => {
                let value = self.scalar(left)?;
                return match value.truth() {
                    Some(false) => Ok(value),
                    Some(true) => self.scalar(right),
                    None if self.decide_value(left, right, false) => self.scalar(right),
                    None => Ok(Val::text("")),
                };
            }
            Expr::Or(left, right) => {
                let value = self.scalar(left)?;
                return match value.truth() {
                    Some(true) => Ok(value),
                    Some(false) => self.scalar(right),
                    None if self.decide_value(left, right, true) => Ok(value),
                    None => self.scalar(right),
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

    /// Operators one behind the other, from the left.
    fn chain(&mut self, expression: &Expr) -> Outcome<Val> {
        let mut rest = Vec::new();
        let mut first = expression;
        while let Expr::Binary(sign, left, right) = first {
            rest.push((*sign, right));
            first = left;
        }
        let mut value = self.scalar(first)?;
        for (sign, right) in rest.into_iter().rev() {
            let right = self.scalar(right)?;
            value = self.binary(sign, &value, &right)?;
        }
        Ok(value)
    }

    /// Decides `a or b` by whether `b` leaves; `is_or` says which it is.
    fn decide_value(&mut self, _left: &Expr, right: &Expr, is_or: bool) -> bool {
        let leaves = matches!(right, Expr::Return(_) | Expr::Next(_) | Expr::Last(_))
            || matches!(right, Expr::Call(name, _) if matches!(name.as_str(), "die" | "exit" | "croak" | "confess"));
        if leaves { is_or } else { self.ask() }
    }

    fn truth_of(&mut self, expression: &Expr) -> Outcome<Option<bool>> {
        if expression.is_list() {
            return Ok(Some(!self.list(expression)?.is_empty()));
        }
        Ok(self.scalar(expression)?.truth())
    }

    fn scalar_named(&mut self, name: &str) -> Val {
        match name {
            "&" => self.group(0),
            "0" => Val::text("-e"),
            "$" | "PID" => Val::unknown(),
            "?" | "!" | "CHILD_ERROR" | "OS_ERROR" => Val::unknown(),
            _ if name.chars().all(|letter| letter.is_ascii_digit()) => {
                name.parse().map_or(Val::Undefined, |at| self.group(at))
            }
            _ => {
                let cell = self.scalar_cell(name);
                let value = cell.borrow().clone();
                value
            }
        }
    }

    fn entry(&mut self, hash: &Expr, key: &Expr) -> Outcome<Val> {
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

    fn joined(&mut self, parts: &[Expr]) -> Outcome<Val> {
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

    fn reference(&mut self, inner: &Expr) -> Outcome<Val> {
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
                Val::Scalar(Rc::new(RefCell::new(value)))
            }
        })
    }

    fn assignment(&mut self, target: &Expr, sign: &str, value: &Expr) -> Outcome<Val> {
        if sign.is_empty() {
            if target.is_list() {
                let values = self.list(value)?;
                let count = values.len();
                let is_marked = values.iter().any(Val::is_unknown);
                self.assign_list(target, values)?;
                return Ok(if is_marked { Val::unknown() } else { Val::count(count) });
            }
            let value = self.scalar(value)?;
            self.assign(target, value.clone())?;
            return Ok(value);
        }
        if matches!(target, Expr::Array(_)) && sign == "x" {
            let items = self.list(target)?;
            let count = self.scalar(value)?.number().unwrap_or(1.0).clamp(0.0, 64.0);
            let count: usize = format!("{count:.0}").parse().unwrap_or(1);
            let items: Vec<Val> = std::iter::repeat_n(items, count).flatten().take(MOST_ITEMS).collect();
            self.assign_list(target, items)?;
            return Ok(Val::Undefined);
        }
        let before = self.scalar(target)?;
        let after = match sign {
            "||" | "&&" => match before.truth() {
                Some(truth) if truth == (sign == "||") => return Ok(before),
                None if self.ask() == (sign == "||") => return Ok(before),
                _ => self.scalar(value)?,
            },
            "//" if before.is_defined() => return Ok(before),
            "//" => self.scalar(value)?,
            "x" => {
                let count = self.scalar(value)?.number().unwrap_or(0.0).clamp(0.0, 40_000.0);
                let count: usize = format!("{:.0}", count.floor()).parse().unwrap_or(0);
                let text = before.to_text();
                if text.len().saturating_mul(count) > LONGEST { Val::unknown() } else { Val::text(text.repeat(count)) }
            }
            sign => {
                let right = self.scalar(value)?;
                self.binary(sign, &before, &right)?
            }
        };
        self.assign(target, after.clone())?;
        Ok(after)
    }

    fn binary(&mut self, sign: &str, left: &Val, right: &Val) -> Outcome<Val> {
        if sign == "." {
            let text = format!("{}{}", left.to_text(), right.to_text());
            return self.bounded(text);
        }
        if matches!(sign, "eq" | "ne" | "lt" | "gt" | "le" | "ge" | "cmp") {
            let (left, right) = (self.plain(left), self.plain(right));
            let (Some(left), Some(right)) = (left, right) else { return Ok(Val::unknown()) };
            let order = left.cmp(&right);
            return Ok(match sign {
                "eq" => Val::flag(order.is_eq()),
                "ne" => Val::flag(order.is_ne()),
                "lt" => Val::flag(order.is_lt()),
                "gt" => Val::flag(order.is_gt()),
                "le" => Val::flag(order.is_le()),
                "ge" => Val::flag(order.is_ge()),
                _ => Val::Number(f64::from(order as i8)),
            });
        }
        if sign == "xor" {
            let (Some(left), Some(right)) = (left.truth(), right.truth()) else { return Ok(Val::unknown()) };
            return Ok(Val::flag(left != right));
        }
        if sign == "isa" {
            return Ok(Val::unknown());
        }
        let (Some(a), Some(b)) = (left.number(), right.number()) else { return Ok(Val::unknown()) };
        Ok(numbers(sign, a, b))
    }

    /// The text of a value if it is known letter by letter.
    pub(super) fn plain(&self, value: &Val) -> Option<String> {
        let text = self.walk.world.concrete(&value.to_text());
        (!crate::marks::has_mark(&text)).then_some(text)
    }

    /// Runs `inner`; a failure in it is noted in `$@` and goes no further.
    pub(super) fn guarded(&mut self, inner: impl FnOnce(&mut Self) -> Outcome<Vec<Val>>) -> Outcome<Vec<Val>> {
        let result = inner(self);
        let (error, values) = match result {
            Ok(values) => (Val::text(""), values),
            Err(Leaving::Die(error)) => (error, Vec::new()),
            // `return` in an `eval` ends the `eval`.
            Err(Leaving::Return(values)) => (Val::text(""), values),
            Err(other) => return Err(other),
        };
        self.scalar_cell("@").replace(error);
        Ok(values)
    }

    /// The values of several expressions, one behind the other.
    pub(super) fn lists(&mut self, items: &[Expr]) -> Outcome<Vec<Val>> {
        let mut values = Vec::new();
        for item in items {
            values.extend(self.list(item)?);
            if values.len() > 2 * MOST_ITEMS {
                break;
            }
        }
        Ok(values)
    }

    pub(super) fn list(&mut self, expression: &Expr) -> Outcome<Vec<Val>> {
        self.step(0)?;
        self.enter()?;
        let values = self.list_inside(expression);
        self.depth -= 1;
        let values = values?;
        self.step(values.len() / 16)?;
        Ok(values)
    }

    fn list_inside(&mut self, expression: &Expr) -> Outcome<Vec<Val>> {
        Ok(match expression {
            Expr::List(items) => self.lists(items)?,
            Expr::Array(_) | Expr::Dereferenced('@', _) => {
                let array = self.array_at(expression)?;
                let items = array.borrow().clone();
                items
            }
            Expr::Hash(_) | Expr::Dereferenced('%', _) => {
                let hash = self.hash_at(expression)?;
                let entries = hash.entries.borrow();
                entries.iter().flat_map(|(key, value)| [Val::text(key), value.clone()]).collect()
            }
            Expr::Items(array, keys) => {
                let keys = self.list(keys)?;
                let array = self.array_at(array)?;
                let items = array.borrow();
                let item = |key: &Val| {
                    Self::index_of(key, items.len()).and_then(|at| items.get(at).cloned()).unwrap_or(Val::Undefined)
                };
                keys.iter().map(item).collect()
            }
            Expr::Entries(hash, keys) => {
                let keys = self.list(keys)?;
                let is_environment = matches!(hash.as_ref(), Expr::Hash(name) if name == "ENV");
                let hash = self.hash_at(hash)?;
                let mut values = Vec::new();
                for key in keys {
                    let key = key.to_text();
                    values.push(if is_environment {
                        self.environment_value(&key)
                    } else {
                        hash.entries.borrow().get(&key).cloned().unwrap_or(Val::Undefined)
                    });
                }
                values
            }
            Expr::Pairs(hash, keys) => {
                let keys = self.list(keys)?;
                let hash = self.hash_at(hash)?;
                let entries = hash.entries.borrow();
                keys.into_iter()
                    .flat_map(|key| {
                        let value = entries.get(&key.to_text()).cloned().unwrap_or(Val::Undefined);
                        [key, value]
                    })
                    .collect()
            }
            Expr::ListItems(list, keys) => {
                let items = self.list(list)?;
                let keys = self.list(keys)?;
                let item = |key: &Val| {
                    Self::index_of(key, items.len()).and_then(|at| items.get(at).cloned()).unwrap_or(Val::Undefined)
                };
                keys.iter().map(item).collect()
            }
            Expr::Range(from, to) => {
                let (from, to) = (self.scalar(from)?, self.scalar(to)?);
                range(&from, &to)
            }
            Expr::Repeat(left, right) if matches!(left.as_ref(), Expr::List(_)) => {
                let items = self.list(left)?;
                let count = self.scalar(right)?.number().unwrap_or(0.0).clamp(0.0, 1024.0);
                let count: usize = format!("{:.0}", count.floor()).parse().unwrap_or(0);
                std::iter::repeat_n(items, count).flatten().take(MOST_ITEMS).collect()
            }
            Expr::My(inner) | Expr::Local(inner) if inner.is_list() => {
                self.scalar(expression)?;
                Vec::new()
            }
            Expr::Assign(target, "", value) if target.is_list() => {
                let values = self.list(value)?;
                self.assign_list(target, values)?;
                let target = match target.as_ref() {
                    Expr::My(inner) | Expr::Local(inner) => inner,
                    other => other,
                };
                return self.list(target);
            }
            Expr::Choice(condition, then, otherwise) => {
                let holds = self.decide(condition, None)?;
                return self.list(if holds { then } else { otherwise });
            }
            Expr::Or(left, right) if !left.is_list() && matches!(right.as_ref(), Expr::List(_) | Expr::Array(_)) => {
                let value = self.scalar(left)?;
                return match value.truth() {
                    Some(false) => self.list(right),
                    _ => Ok(vec![value]),
                };
            }
            Expr::Or(left, right) if matches!(left.as_ref(), Expr::Assign(target, ..) if target.is_list()) => {
                // `my @f = list() or next`
                let values = self.list(left)?;
                return if values.is_empty() { self.list(right) } else { Ok(values) };
            }
            Expr::And(left, right) => {
                return if self.decide(left, None)? { self.list(right) } else { Ok(vec![Val::text("")]) };
            }
            Expr::Do(body) => self.scoped(false, |perl| perl.body(body, true))?,
            Expr::Eval(body) => self.guarded(|perl| perl.scoped(false, |perl| perl.body(body, true)))?,
            Expr::Reference(inner) => match inner.as_ref() {
                Expr::List(items) => {
                    let mut values = Vec::new();
                    for item in items {
                        values.push(self.reference(item)?);
                    }
                    values
                }
                Expr::My(variables) if matches!(variables.as_ref(), Expr::List(_)) => {
                    self.declare_all(variables);
                    let Expr::List(items) = variables.as_ref() else { return Ok(Vec::new()) };
                    let mut values = Vec::new();
                    for item in items {
                        values.push(self.reference(item)?);
                    }
                    values
                }
                inner => vec![self.reference(inner)?],
            },
            Expr::Backquoted(_) => {
                let output = self.scalar(expression)?.to_text();
                output.split_inclusive('\n').map(Val::text).collect()
            }
            Expr::ReadLine(handle) => self.read_lines(handle)?,
            Expr::Match { target, pattern, flags } => self.match_list(expression, target.as_deref(), pattern, flags)?,
            Expr::Call(name, arguments) => self.call_list(name, arguments)?,
            Expr::WithBlock(name, sub, items) => self.with_block(name, sub, items)?,
            Expr::Function(name) => self.call_named(name, None, true)?,
            Expr::CallValue(code, arguments) => {
                let code = self.scalar(code)?;
                let arguments = self.lists(arguments)?;
                self.call_value(&code, arguments, true)?
            }
            Expr::Method(object, name, arguments) => self.method(object, name, arguments, true)?,
            other => vec![self.scalar(other)?],
        })
    }
}

impl Val {
    fn unknown_if(is_empty: bool, count: usize) -> Self {
        // A listing is one item here and many where it is real; there is something in any case.
        if is_empty { Self::Number(0.0) } else { Self::count(count) }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "Perl's integers are cut the same way"
)]
fn numbers(sign: &str, a: f64, b: f64) -> Val {
    let whole = |number: f64| number as i64;
    let bits = |value: i64| Val::Number(value as f64);
    Val::Number(match sign {
        "+" => a + b,
        "-" => a - b,
        "*" => a * b,
        "/" if b != 0.0 => a / b,
        "%" if whole(b) != 0 => return whole(a).checked_rem_euclid(whole(b)).map_or_else(Val::unknown, bits),
        "**" => a.powf(b),
        "==" => return Val::flag(a == b),
        "!=" => return Val::flag(a != b),
        "<" => return Val::flag(a < b),
        ">" => return Val::flag(a > b),
        "<=" => return Val::flag(a <= b),
        ">=" => return Val::flag(a >= b),
        "<=>" => return Val::Number(a.partial_cmp(&b).map_or(0.0, |order| f64::from(order as i8))),
        "|" => return bits(whole(a) | whole(b)),
        "&" => return bits(whole(a) & whole(b)),
        "^" => return bits(whole(a) ^ whole(b)),
        "<<" => {
            return u32::try_from(whole(b))
                .ok()
                .and_then(|by| whole(a).checked_shl(by))
                .map_or_else(Val::unknown, bits);
        }
        ">>" => {
            return u32::try_from(whole(b))
                .ok()
                .and_then(|by| whole(a).checked_shr(by))
                .map_or_else(Val::unknown, bits);
        }
        _ => return Val::unknown(),
    })
}

/// True for a text that `++` counts up: `aa`, `a9`.
fn is_magic(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && text.chars().all(|letter| letter.is_ascii_alphanumeric())
}

/// The text behind another one, as `++` and ranges count.
fn incremented(text: &str) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for letter in letters.iter_mut().rev() {
        let next = match *letter {
            'z' => 'a',
            'Z' => 'A',
            '9' => '0',
            other => {
                *letter = u32::from(other).checked_add(1).and_then(char::from_u32).unwrap_or(other);
                return letters.into_iter().collect();
            }
        };
        *letter = next;
    }
    let first = match letters.first() {
        Some('0') => '1',
        Some('A') => 'A',
        _ => 'a',
    };
    letters.insert(0, first);
    letters.into_iter().collect()
}

fn range(from: &Val, to: &Val) -> Vec<Val> {
    if let Val::Text(first) = from
        && is_magic(first)
    {
        let last = to.to_text();
        let mut values = Vec::new();
        let mut text = first.to_string();
        while values.len() < MOST_ITEMS && text.len() <= last.len() {
            values.push(Val::text(&text));
            if text == last {
                break;
            }
            text = incremented(&text);
        }
        return values;
    }
    let (Some(from), Some(to)) = (from.number(), to.number()) else { return vec![Val::unknown()] };
    let mut values = Vec::new();
    let mut at = from.trunc();
    while at <= to.trunc() && values.len() < MOST_ITEMS {
        values.push(Val::Number(at));
        at += 1.0;
    }
    values
}
