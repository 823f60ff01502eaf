//! Slices, and conditions that make a choice among the names of a listing.

use std::rc::Rc;

use crate::walk::program::syntax::{Expr, Function, Statement};
use crate::walk::program::value::{Value, unknown_like};
use crate::walk::program::{Run, Trial};

/// Calls that ask which kind of file a name is, or whether it is there.
const KINDS: [&str; 18] = [
    "is_dir",
    "isdir",
    "is_file",
    "isfile",
    "exists",
    "lexists",
    "islink",
    "is_symlink",
    "isDirectory",
    "isFile",
    "isSymbolicLink",
    "existsSync",
    "statSync",
    "lstatSync",
    "access",
    "ismount",
    "is_mount",
    "len",
];

/// The bounds of a slice in a list of some length.
pub(super) fn bounds(from: Option<&Value>, to: Option<&Value>, length: usize) -> (usize, usize) {
    let place = |value: Option<&Value>, usual: usize| match value.and_then(Value::as_int) {
        Some(at) if at < 0 => usize::try_from(at.unsigned_abs()).map_or(0, |back| length.saturating_sub(back)),
        Some(at) => usize::try_from(at).unwrap_or(length).min(length),
        None => usual,
    };
    (place(from, 0), place(to, length))
}

/// The items of a slice with a step.
fn sliced<T: Clone>(items: &[T], parts: &[Option<Value>; 3]) -> Vec<T> {
    let [from, to, step] = parts;
    let step = step.as_ref().and_then(Value::as_int).unwrap_or(1);
    if step > 0 {
        let (from, to) = bounds(from.as_ref(), to.as_ref(), items.len());
        let step = usize::try_from(step).unwrap_or(1);
        return items.get(from..to.max(from)).unwrap_or(&[]).iter().step_by(step).cloned().collect();
    }
    let length = i128::try_from(items.len()).unwrap_or(0);
    let place = |value: &Option<Value>, usual: i128| match value.as_ref().and_then(Value::as_int) {
        Some(at) if at < 0 => (at + length).max(-1),
        Some(at) => at.min(length - 1),
        None => usual,
    };
    let (mut at, end) = (place(from, length - 1), place(to, -1));
    let mut found = Vec::new();
    while at > end && step < 0 {
        found.extend(usize::try_from(at).ok().and_then(|at| items.get(at)).cloned());
        at += step;
    }
    found
}

impl Trial<'_, '_> {
    pub(super) fn slice(&mut self, object: &Value, parts: &[Option<Value>; 3]) -> Run<Value> {
        if parts.iter().flatten().any(|part| part.as_int().is_none()) {
            return Ok(match object {
                // Some of the items: any of them may be left.
                Value::List(_) | Value::Tuple(_) => object.clone(),
                object => self.unknown_of([object].into_iter().chain(parts.iter().flatten())),
            });
        }
        let object = self.plain(object);
        self.spend(self.list_len(&object).unwrap_or(0) / 8)?;
        Ok(match &object {
            Value::List(id) => {
                let items = self.heap.list(*id).map(|items| sliced(items, parts)).unwrap_or_default();
                // One item may stand for a whole listing.
                let is_listing = items.is_empty()
                    && self
                        .heap
                        .list(*id)
                        .is_some_and(|items| items.iter().any(|item| item.is_listing() || item.is_unknown()));
                let items = if is_listing { self.heap.list(*id).cloned().unwrap_or_default() } else { items };
                self.heap.new_list(items)
            }
            Value::Tuple(items) => Value::Tuple(sliced(items, parts).into()),
            Value::Bytes(bytes) => Value::Bytes(sliced(bytes, parts).into()),
            Value::Text(text) => match self.sliceable(text) {
                Some(text) => {
                    let letters: Vec<char> = text.chars().collect();
                    self.spend(letters.len() / 64)?;
                    Value::text(sliced(&letters, parts).into_iter().collect::<String>())
                }
                None => unknown_like(text),
            },
            Value::Iterator(_) => {
                let items = self.items(&object)?;
                self.heap.new_list(sliced(&items, parts))
            }
            value => self.unknown_of([value]),
        })
    }

    /// A text whose letters can be counted: `?? name` of a listing can, a name alone cannot.
    fn sliceable(&self, text: &Rc<str>) -> Option<String> {
        if let Some(text) = self.spelled(text) {
            return Some(text);
        }
        let is_counted = !super::value::is_doubtful(text) && text.chars().count() > 1;
        is_counted.then(|| text.to_string())
    }

    /// Notes the choice that a condition has made among the names of a listing.
    pub(super) fn narrow(&mut self, condition: &Expr, holds: bool) {
        let mut names = Vec::new();
        mentions(condition, &mut names);
        let is_about_listing = names.iter().any(|name| self.lookup(name).is_some_and(Value::is_listing));
        let (narrows, narrows_not) = narrowing(condition);
        if !is_about_listing || !(if holds { narrows } else { narrows_not }) {
            return;
        }
        let chosen = if holds { self.name_in(condition) } else { None };
        let mut at = Some(self.scope());
        while let Some(id) = at {
            let Some(scope) = self.heap.scope_mut(id) else { break };
            for value in scope.values.values_mut().filter(|value| value.is_listing()) {
                *value = value.chosen(chosen.as_deref());
            }
            at = scope.parent;
        }
    }

    /// The one name that a condition leaves: `name == ".git"`.
    fn name_in(&mut self, condition: &Expr) -> Option<String> {
        let Expr::Compare(left, rest) = condition else { return None };
        let [("==" | "===", right)] = rest.as_slice() else { return None };
        let sides = [left.as_ref(), right];
        sides.into_iter().find_map(|side| match side {
            Expr::Text(text) => Some(text.to_string()),
            Expr::Name(name) => self.lookup(name).and_then(Value::known_text).map(str::to_owned),
            _ => None,
        })
    }
}

/// The names in an expression.
fn mentions<'e>(expression: &'e Expr, names: &mut Vec<&'e str>) {
    match expression {
        Expr::Name(name) => names.push(name),
        Expr::Member(value, _, _) | Expr::Unary(_, value) | Expr::Spread(value) | Expr::Await(value) => {
            mentions(value, names);
        }
        Expr::Index(left, right, _) | Expr::Binary(left, _, right) | Expr::Logic(left, _, right) => {
            mentions(left, names);
            mentions(right, names);
        }
        Expr::Compare(first, rest) => {
            mentions(first, names);
            for (_, value) in rest {
                mentions(value, names);
            }
        }
        Expr::Call(callee, arguments, _) => {
            mentions(callee, names);
            for argument in arguments {
                mentions(&argument.value, names);
            }
        }
        Expr::List(items) | Expr::Tuple(items) => items.iter().for_each(|item| mentions(item, names)),
        Expr::Comprehension(inner) => inner.loops.iter().for_each(|each| mentions(&each.items, names)),
        _ => {}
    }
}

/// Says whether a choice was made where the condition holds, and where it does not.
fn narrowing(condition: &Expr) -> (bool, bool) {
    match condition {
        Expr::Unary("!", value) => {
            let (holds, fails) = narrowing(value);
            (fails, holds)
        }
        Expr::Logic(left, _, right) => {
            let (left, right) = (narrowing(left), narrowing(right));
            (left.0 || right.0, left.1 || right.1)
        }
        Expr::Compare(_, rest) => match rest.as_slice() {
            [("==" | "===" | "in", _)] => (true, false),
            [("!=" | "!==" | "!in", _)] => (false, true),
            _ => (true, true),
        },
        Expr::Call(callee, arguments, _) => match callee.as_ref() {
            Expr::Name(name) | Expr::Member(_, name, _) if KINDS.contains(&name.as_ref()) => (false, false),
            // `ignored.has(name)`, `ignored.includes(name)`
            Expr::Member(_, name, _) if matches!(name.as_ref(), "has" | "includes") && !arguments.is_empty() => {
                (true, false)
            }
            // A predicate of the program has asked its own questions.
            Expr::Name(_) => (false, false),
            _ => (true, true),
        },
        // The name itself: there is one.
        Expr::Name(_) | Expr::Member(..) => (false, false),
        _ => (true, true),
    }
}

/// Whether a function that filters a listing makes a choice, where its answer is this one.
pub(super) fn choice_of(function: &Function, holds: bool) -> bool {
    match function.body.as_slice() {
        [Statement::Return(Some(condition))] => {
            let (narrows, narrows_not) = narrowing(condition);
            if holds { narrows } else { narrows_not }
        }
        _ => false,
    }
}
