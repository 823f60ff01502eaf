//! The values of expressions of Perl that are used as lists.

use crate::walk::perl::ast::Expr;
use crate::walk::perl::operators::{incremented, is_magic};
use crate::walk::perl::run::{Outcome, Perl};
use crate::walk::perl::value::Val;

impl Perl<'_, '_> {
    /// The values of several expressions, one behind the other.
    pub(super) fn lists(&mut self, items: &[Expr]) -> Outcome<Vec<Val>> {
        let mut values = Vec::new();
        for item in items {
            values.extend(self.list(item)?);
            if values.len() > 2 * super::expressions::MOST_ITEMS {
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

    pub(super) fn list_inside(&mut self, expression: &Expr) -> Outcome<Vec<Val>> {
        Ok(match expression {
            Expr::List(items) => self.lists(items)?,
            Expr::Array(_) | Expr::Dereferenced('@', _) => {
                let array = self.array_at(expression)?;

                array.borrow().clone()
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
                std::iter::repeat_n(items, count).flatten().take(super::expressions::MOST_ITEMS).collect()
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
            other => return self.list_of_operation(other),
        })
    }

    /// The lists of operators, blocks and calls.
    fn list_of_operation(&mut self, expression: &Expr) -> Outcome<Vec<Val>> {
        Ok(match expression {
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

fn range(from: &Val, to: &Val) -> Vec<Val> {
    if let Val::Text(first) = from
        && is_magic(first)
    {
        let last = to.to_text();
        let mut values = Vec::new();
        let mut text = first.to_string();
        while values.len() < super::expressions::MOST_ITEMS && text.len() <= last.len() {
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
    while at <= to.trunc() && values.len() < super::expressions::MOST_ITEMS {
        values.push(Val::Number(at));
        at += 1.0;
    }
    values
}
