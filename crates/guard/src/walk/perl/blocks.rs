//! Functions of Perl with a block before their list: `map`, `grep`, `sort` and their like.

use crate::walk::perl::ast::{Expr, Sub};
use crate::walk::perl::places::MOST_ITEMS;
use crate::walk::perl::run::{Leaving, Outcome, Perl};
use crate::walk::perl::value::{Closure, Slot, Val};
use std::cell::RefCell;
use std::rc::Rc;

impl Perl<'_, '_> {
    /// `map`, `grep`, `sort` and their like.
    pub(super) fn with_block(&mut self, name: &str, sub: &Rc<Sub>, items: &[Expr]) -> Outcome<Vec<Val>> {
        let items = self.lists(items)?;
        let closure = Rc::new(Closure { sub: Rc::clone(sub), scope: Rc::clone(&self.scope) });
        let mut results = Vec::new();
        match name {
            "sort" => return self.sorted(&closure, items),
            "sort_by" => return Ok(items),
            "reduce" => return self.reduced(&closure, items),
            "pairmap" | "pairgrep" => {
                for pair in items.chunks(2) {
                    let (first, second) = (
                        pair.first().cloned().unwrap_or(Val::Undefined),
                        pair.get(1).cloned().unwrap_or(Val::Undefined),
                    );
                    results.extend(self.call_with_pair(&closure, first, second)?);
                }
                return Ok(results);
            }
            _ => {}
        }
        for (at, item) in items.into_iter().enumerate() {
            if results.len() > MOST_ITEMS {
                break;
            }
            if name == "map" {
                results.extend(self.call_with_topic(&closure, item, true)?);
                continue;
            }
            let (holds, item) = self.holds(&closure, item)?;
            match name {
                "grep" if holds => results.push(item),
                "first" if holds => return Ok(vec![item]),
                "first_index" | "firstidx" if holds => return Ok(vec![Val::count(at)]),
                "any" if holds => return Ok(vec![Val::flag(true)]),
                "none" if holds => return Ok(vec![Val::flag(false)]),
                "all" if !holds => return Ok(vec![Val::flag(false)]),
                "notall" if !holds => return Ok(vec![Val::flag(true)]),
                _ => {}
            }
        }
        Ok(match name {
            "grep" | "map" => results,
            "any" | "notall" => vec![Val::flag(false)],
            "all" | "none" => vec![Val::flag(true)],
            _ => vec![Val::Undefined],
        })
    }

    /// True if a block holds for an item. The item comes back narrowed.
    pub(super) fn holds(&mut self, closure: &Rc<Closure>, item: Val) -> Outcome<(bool, Val)> {
        self.step(1)?;
        let cell = Rc::new(RefCell::new(item));
        let before = std::mem::replace(&mut self.scope, Rc::clone(&closure.scope));
        let topic = Rc::clone(&cell);
        let result = self.scoped(true, |perl| {
            perl.declare("$_", Slot::Scalar(topic));
            match closure.sub.body.as_slice() {
                // A listing is kept where nothing else is known.
                [crate::walk::perl::ast::Statement::Expr(condition)] => perl.decide(condition, Some(true)),
                _ => Ok(perl.body(&closure.sub.body, false)?.pop().unwrap_or(Val::Undefined).truth().unwrap_or(true)),
            }
        });
        self.scope = before;
        let item = cell.borrow().clone();
        Ok((result?, item))
    }

    pub(super) fn call_with_pair(&mut self, closure: &Rc<Closure>, first: Val, second: Val) -> Outcome<Vec<Val>> {
        self.scalar_cell("a").replace(first);
        self.scalar_cell("b").replace(second);
        self.step(1)?;
        let before = std::mem::replace(&mut self.scope, Rc::clone(&closure.scope));
        let result = self.scoped(false, |perl| perl.body(&closure.sub.body, true));
        self.scope = before;
        match result {
            Err(Leaving::Return(values)) => Ok(values),
            result => result,
        }
    }

    pub(super) fn sorted(&mut self, closure: &Rc<Closure>, items: Vec<Val>) -> Outcome<Vec<Val>> {
        if items.len() > MOST_SORTED {
            return Ok(items);
        }
        let mut sorted: Vec<Val> = Vec::with_capacity(items.len());
        for item in items {
            let mut at = sorted.len();
            while at > 0 {
                let other = sorted.get(at - 1).cloned().unwrap_or(Val::Undefined);
                let order = self.call_with_pair(closure, other, item.clone())?.pop().and_then(|order| order.number());
                if order.is_none_or(|order| order <= 0.0) {
                    break;
                }
                at -= 1;
            }
            sorted.insert(at, item);
        }
        Ok(sorted)
    }

    pub(super) fn reduced(&mut self, closure: &Rc<Closure>, items: Vec<Val>) -> Outcome<Vec<Val>> {
        let mut items = items.into_iter();
        let Some(mut sum) = items.next() else { return Ok(vec![Val::Undefined]) };
        for item in items {
            sum = self.call_with_pair(closure, sum, item)?.pop().unwrap_or(Val::Undefined);
        }
        Ok(vec![sum])
    }
}

/// The most items that are sorted by a function.
const MOST_SORTED: usize = 96;
