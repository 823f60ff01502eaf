//! Names and targets of assignments, and patterns that take values apart.

use std::rc::Rc;

use crate::walk::program::syntax::{Declares, DictEntry, Expr, Name};
use crate::walk::program::value::{Id, Value};
use crate::walk::program::{Run, Trial};

impl Trial<'_, '_> {
    /// The value of a name of the program.
    pub(super) fn lookup(&self, name: &str) -> Option<&Value> {
        let mut at = Some(self.scope());
        while let Some(id) = at {
            let scope = self.heap.scope(id)?;
            if let Some(value) = scope.values.get(name) {
                return Some(value);
            }
            at = match scope.elsewhere.get(name) {
                Some(true) => Some(self.globals),
                _ => scope.parent,
            };
        }
        None
    }

    /// Makes a name in the innermost scope.
    pub(super) fn declare(&mut self, name: &Name, value: Value) {
        let scope = self.scope();
        if let Some(scope) = self.heap.scope_mut(scope) {
            scope.values.insert(Rc::clone(name), value);
        }
    }

    pub(super) fn assign_name(&mut self, name: &Name, value: Value, declares: Declares) {
        let scope = match declares {
            Declares::InBlock => self.scope(),
            Declares::InFunction => self.function_scope(self.scope()),
            Declares::No if self.is_python() => self.python_scope(name),
            Declares::No => self.scope_with(self.scope(), name).unwrap_or(self.globals),
        };
        if let Some(scope) = self.heap.scope_mut(scope) {
            scope.values.insert(Rc::clone(name), value);
        }
    }

    fn function_scope(&self, from: Id) -> Id {
        let mut at = from;
        while let Some(scope) = self.heap.scope(at)
            && !scope.is_function
            && let Some(parent) = scope.parent
        {
            at = parent;
        }
        at
    }

    fn scope_with(&self, from: Id, name: &str) -> Option<Id> {
        let mut at = Some(from);
        while let Some(id) = at {
            let scope = self.heap.scope(id)?;
            if scope.values.contains_key(name) {
                return Some(id);
            }
            at = scope.parent;
        }
        None
    }

    /// In Python a name belongs to the function that assigns it, unless that says something else.
    fn python_scope(&self, name: &str) -> Id {
        let own = self.scope();
        match self.heap.scope(own).and_then(|scope| scope.elsewhere.get(name)) {
            Some(true) => self.globals,
            Some(false) => {
                let parent = self.heap.scope(own).and_then(|scope| scope.parent);
                parent.and_then(|parent| self.scope_with(parent, name)).unwrap_or(own)
            }
            None => own,
        }
    }

    pub(super) fn assign(&mut self, target: &Expr, value: Value, declares: Declares) -> Run<()> {
        self.step()?;
        match target {
            Expr::Name(name) => self.assign_name(name, value, declares),
            Expr::List(targets) | Expr::Tuple(targets) => return self.take_apart(targets, &value, declares),
            Expr::Dict(entries) => return self.take_members(entries, &value, declares),
            Expr::Spread(target) => return self.assign(target, value, declares),
            // A pattern with a default.
            Expr::Assign(target, None, default) => {
                let value = if matches!(value, Value::Undefined) { self.value(default)? } else { value };
                return self.assign(target, value, declares);
            }
            Expr::Member(object, name, _) => {
                let object = self.value(object)?;
                return self.set_member(&object, name, value);
            }
            Expr::Index(object, key, _) => {
                let object = self.value(object)?;
                if let Expr::Slice(parts) = key.as_ref() {
                    return self.set_slice(&object, parts, &value);
                }
                let key = self.value(key)?;
                return self.set_item(&object, &key, value);
            }
            _ => self.notes.is_blind = true,
        }
        Ok(())
    }

    /// Gives the items of a value to several targets.
    fn take_apart(&mut self, targets: &[Expr], value: &Value, declares: Declares) -> Run<()> {
        let items = if value.is_unknown() { vec![value.clone(); targets.len()] } else { self.items(value)? };
        let rest = targets.iter().position(|target| matches!(target, Expr::Spread(_)));
        // One item of a listing stands for all of them.
        let missing =
            if items.iter().any(|item| item.is_unknown() || item.is_listing()) { items.last().cloned() } else { None };
        for (at, target) in targets.iter().enumerate() {
            let behind = targets.len() - at - 1;
            let value = match rest {
                Some(place) if place == at => {
                    let end = items.len().saturating_sub(behind).max(at);
                    let middle = items.get(at..end).unwrap_or(&[]).to_vec();
                    self.heap.new_list(middle)
                }
                Some(place) if at > place => {
                    let found = items.len().checked_sub(behind + 1).and_then(|at| items.get(at));
                    found.cloned().or_else(|| missing.clone()).unwrap_or(Value::Undefined)
                }
                _ => match items.get(at).cloned().or_else(|| missing.clone()) {
                    Some(item) => item,
                    None if self.is_python() => return Err(self.exception("ValueError", "not enough values to unpack")),
                    None => Value::Undefined,
                },
            };
            self.assign(target, value, declares)?;
        }
        Ok(())
    }

    /// Gives members of a value to the targets of a pattern.
    fn take_members(&mut self, entries: &[DictEntry], value: &Value, declares: Declares) -> Run<()> {
        let mut taken = Vec::new();
        for DictEntry { key, value: target, .. } in entries {
            if let Some(key) = key {
                let key = self.value(key)?;
                let part = self.item(value, &key)?;
                taken.push(key);
                self.assign(target, part, declares)?;
            } else {
                let mut rest = self.dict_of(value);
                for key in &taken {
                    let key = self.key_of(key).unwrap_or_default();
                    rest.remove(&key);
                }
                let rest = self.heap.new_dict(rest);
                self.assign(target, rest, declares)?;
            }
        }
        Ok(())
    }

    pub(super) fn augment(&mut self, target: &Expr, operator: &'static str, value: &Expr) -> Run<()> {
        let before = self.value(target)?;
        if matches!(operator, "&&" | "||" | "??") {
            let goes_on = match operator {
                "??" => before.is_nothing(),
                operator => self.truth(&before) != Some(operator == "||"),
            };
            if goes_on {
                let value = self.value(value)?;
                self.assign(target, value, Declares::No)?;
            }
            return Ok(());
        }
        let more = self.value(value)?;
        // A list grows in place, for everybody who has it.
        if let (Value::List(id), "+") = (&before, operator)
            && self.is_python()
        {
            let items = self.items(&more)?;
            self.spend(items.len())?;
            if let Some(list) = self.heap.list_mut(*id) {
                list.extend(items);
            }
            return self.assign(target, before, Declares::No);
        }
        if let (Value::Set(_) | Value::Dict(_), "|") = (&before, operator) {
            self.call_method(before.clone(), "update", vec![more])?;
            return self.assign(target, before, Declares::No);
        }
        let value = self.binary(&before, operator, &more)?;
        self.assign(target, value, Declares::No)
    }

    /// `del`, `delete`
    pub(super) fn delete(&mut self, target: &Expr) -> Run<()> {
        match target {
            Expr::Name(name) => {
                let scope = if self.is_python() { self.python_scope(name) } else { self.scope() };
                if let Some(scope) = self.heap.scope_mut(scope) {
                    scope.values.remove(name);
                }
            }
            Expr::Member(object, name, _) => {
                let object = self.value(object)?;
                self.delete_item(&object, &Value::Text(Rc::clone(name)));
            }
            Expr::Index(object, key, _) => {
                let object = self.value(object)?;
                if let Expr::Slice(parts) = key.as_ref() {
                    let empty = self.heap.new_list(Vec::new());
                    return self.set_slice(&object, parts, &empty);
                }
                let key = self.value(key)?;
                self.delete_item(&object, &key);
            }
            Expr::Tuple(targets) => {
                for target in targets {
                    self.delete(target)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// True if a value fits a pattern of `match`, whose names get their parts.
    pub(super) fn fits(&mut self, pattern: &Expr, value: &Value) -> Run<Option<bool>> {
        self.step()?;
        Ok(match pattern {
            Expr::Name(name) if name.as_ref() == "_" => Some(true),
            Expr::Name(name) => {
                self.assign_name(name, value.clone(), Declares::No);
                Some(true)
            }
            Expr::Spread(target) => {
                self.assign(target, value.clone(), Declares::No)?;
                Some(true)
            }
            Expr::Assign(name, _, pattern) => {
                let fits = self.fits(pattern, value)?;
                self.assign(name, value.clone(), Declares::No)?;
                fits
            }
            Expr::Binary(left, "|", right) => match self.fits(left, value)? {
                Some(true) => Some(true),
                Some(false) => self.fits(right, value)?,
                None => None,
            },
            Expr::List(patterns) | Expr::Tuple(patterns) => self.fits_list(patterns, value)?,
            Expr::Dict(entries) => {
                let mut all = Some(true);
                for DictEntry { key, value: pattern, .. } in entries {
                    let Some(key) = key else { continue };
                    let key = self.value(key)?;
                    if matches!(value, Value::Dict(_)) && self.contains(value, &key) == Some(false) {
                        return Ok(Some(false));
                    }
                    let part = self.item(value, &key)?;
                    all = both(all, self.fits(pattern, &part)?);
                }
                if matches!(value, Value::Dict(_)) || value.is_unknown() { all } else { Some(false) }
            }
            Expr::Call(class, arguments, _) => {
                let class = self.value(class)?;
                let mut all = self.is_kind(value, &class);
                for argument in arguments {
                    let part = match &argument.name {
                        Some(name) => self.member(value, name)?,
                        None => value.clone(),
                    };
                    all = both(all, self.fits(&argument.value, &part)?);
                }
                all
            }
            pattern => {
                let own = self.value(pattern)?;
                self.equals(&own, value)
            }
        })
    }

    fn fits_list(&mut self, patterns: &[Expr], value: &Value) -> Run<Option<bool>> {
        if value.is_unknown() {
            for pattern in patterns {
                self.fits(pattern, value)?;
            }
            return Ok(None);
        }
        if !matches!(value, Value::List(_) | Value::Tuple(_)) {
            return Ok(Some(false));
        }
        let items = self.items(value)?;
        let rest = patterns.iter().position(|pattern| matches!(pattern, Expr::Spread(_)));
        let least = patterns.len() - usize::from(rest.is_some());
        if items.len() < least || rest.is_none() && items.len() > least {
            return Ok(Some(false));
        }
        let mut all = Some(true);
        for (at, pattern) in patterns.iter().enumerate() {
            let behind = patterns.len() - at - 1;
            let part = match rest {
                Some(place) if place == at => {
                    let middle = items.get(at..items.len() - behind).unwrap_or(&[]).to_vec();
                    self.heap.new_list(middle)
                }
                Some(place) if at > place => items.get(items.len() - behind - 1).cloned().unwrap_or(Value::None),
                _ => items.get(at).cloned().unwrap_or(Value::None),
            };
            all = both(all, self.fits(pattern, &part)?);
        }
        Ok(all)
    }
}

/// Whether two things hold, of which one may not be known.
fn both(left: Option<bool>, right: Option<bool>) -> Option<bool> {
    match (left, right) {
        (Some(false), _) | (_, Some(false)) => Some(false),
        (Some(true), Some(true)) => Some(true),
        _ => None,
    }
}
