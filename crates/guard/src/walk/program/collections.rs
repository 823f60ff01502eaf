//! Functions of Python that make lists and tables, or go through them.

use std::rc::Rc;

use crate::walk::program::call::Given;
use crate::walk::program::value::Value;
use crate::walk::program::{Run, Trial};

/// The longest range.
const LONGEST_RANGE: usize = 4096;

impl Trial<'_, '_> {
    /// Functions that make lists and tables, or go through them.
    pub(super) fn collection_call(&mut self, name: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        let items = |trial: &mut Self| if given.values.is_empty() { Ok(Vec::new()) } else { trial.items(&first) };
        Ok(Some(match name {
            "list" | "collections.deque" | "collections.UserList" => {
                let items = items(self)?;
                self.heap.new_list(items)
            }
            "tuple" => Value::Tuple(items(self)?.into()),
            "set" | "frozenset" => {
                let items = items(self)?;
                self.set_of(items)
            }
            "dict" | "collections.OrderedDict" | "collections.UserDict" | "types.MappingProxyType" => {
                self.python_dict(&first, given)?
            }
            "collections.defaultdict" => {
                let made = self.python_dict(&given.at(1), given)?;
                if let (Value::Dict(id), false) = (&made, first.is_nothing())
                    && let Some(dict) = self.heap.dict_mut(*id)
                {
                    dict.set_default(first);
                }
                made
            }
            "sorted" => {
                let sorted = items(self)?;
                let sorted = self.sorted(sorted, &Given { values: Vec::new(), named: given.named.clone() })?;
                self.heap.new_list(sorted)
            }
            "reversed" => {
                let reversed = items(self)?.into_iter().rev().collect();
                self.heap.new_iterator(reversed)
            }
            "iter" if given.values.len() > 1 => self.called_until(&first, &given.at(1))?,
            "iter" | "aiter" => {
                if matches!(first, Value::Iterator(_)) {
                    return Ok(Some(first));
                }
                let items = items(self)?;
                self.heap.new_iterator(items)
            }
            "next" | "anext" => self.next_of(&first, given.get(1))?,
            "range" => self.range(given)?,
            "enumerate" => {
                let start = given.named_or("start", 1).and_then(Value::as_int).unwrap_or(0);
                let pairs = items(self)?
                    .into_iter()
                    .zip(start..)
                    .map(|(item, at)| Value::Tuple([Value::Int(at), item].into()))
                    .collect();
                self.heap.new_iterator(pairs)
            }
            "zip" | "itertools.zip_longest" => self.zipped(name, given)?,
            "map" | "filter" => {
                let found = if name == "map" {
                    self.mapped(&first, given)?
                } else {
                    self.filtered(&first, &given.at(1), true)?
                };
                self.heap.new_iterator(found)
            }
            "any" | "all" => {
                let mut answer = Some(name == "all");
                for item in items(self)? {
                    match self.truth(&item) {
                        Some(truth) if truth == (name == "any") => return Ok(Some(Value::Bool(truth))),
                        None => answer = None,
                        _ => {}
                    }
                }
                answer.map_or(Value::Unknown, Value::Bool)
            }
            _ => return Ok(None),
        }))
    }

    pub(super) fn python_dict(&mut self, first: &Value, given: &Given) -> Run<Value> {
        let mut pairs = match first {
            Value::Undefined | Value::None => Vec::new(),
            Value::List(_) | Value::Tuple(_) | Value::Iterator(_) => self.pairs(first)?,
            // The environment as a table: commands get it without that.
            Value::Native(name) if name.as_ref() == "os.environ" => Vec::new(),
            first => self.entries_of(first)?,
        };
        pairs.extend(given.named.iter().map(|(name, value)| (Value::Text(Rc::clone(name)), value.clone())));
        Ok(self.dict_of_pairs(pairs))
    }

    /// `iter(function, end)`
    pub(super) fn called_until(&mut self, function: &Value, end: &Value) -> Run<Value> {
        let mut items = Vec::new();
        for _ in 0..64 {
            let item = self.call(function.clone(), Vec::new())?;
            if self.equals(&item, end) == Some(true) {
                break;
            }
            let is_open = item.is_unknown();
            items.push(item);
            if is_open {
                break;
            }
        }
        Ok(self.heap.new_iterator(items))
    }

    pub(super) fn next_of(&mut self, iterator: &Value, default: Option<&Value>) -> Run<Value> {
        let found = match iterator {
            Value::Iterator(id) => self.next_item(*id)?,
            Value::Object(_) => return self.call_method(iterator.clone(), "__next__", Vec::new()),
            value => self.items(value)?.into_iter().next(),
        };
        match (found, default) {
            (Some(item), _) => Ok(item),
            (None, Some(default)) => Ok(default.clone()),
            (None, None) => Err(self.exception("StopIteration", "")),
        }
    }

    pub(super) fn range(&mut self, given: &Given) -> Run<Value> {
        let number = |at: usize| given.get(at).and_then(Value::as_int);
        let (from, to, step) = match given.values.len() {
            1 => (Some(0), number(0), Some(1)),
            2 => (number(0), number(1), Some(1)),
            _ => (number(0), number(1), number(2)),
        };
        let (Some(from), Some(to), Some(step)) = (from, to, step) else {
            return Ok(self.heap.new_list(vec![Value::Unknown]));
        };
        let mut items = Vec::new();
        let mut at = from;
        while step != 0 && (if step > 0 { at < to } else { at > to }) && items.len() < LONGEST_RANGE {
            items.push(Value::Int(at));
            at += step;
        }
        self.spend(items.len() / 8)?;
        Ok(self.heap.new_list(items))
    }

    pub(super) fn zipped(&mut self, name: &str, given: &Given) -> Run<Value> {
        let mut lists = Vec::new();
        for value in &given.values {
            lists.push(self.items(value)?);
        }
        let lengths = lists.iter().map(Vec::len);
        let length = if name == "zip" { lengths.min() } else { lengths.max() }.unwrap_or(0);
        let fill = given.named("fillvalue").cloned().unwrap_or(Value::None);
        let rows = (0..length).map(|at| {
            Value::Tuple(lists.iter().map(|list| list.get(at).cloned().unwrap_or_else(|| fill.clone())).collect())
        });
        let rows = rows.collect();
        Ok(self.heap.new_iterator(rows))
    }

    pub(super) fn mapped(&mut self, function: &Value, given: &Given) -> Run<Vec<Value>> {
        let mut lists = Vec::new();
        for value in given.values.iter().skip(1) {
            lists.push(self.items(value)?);
        }
        let length = lists.iter().map(Vec::len).min().unwrap_or(0);
        let mut results = Vec::new();
        for at in 0..length {
            let values = lists.iter().filter_map(|list| list.get(at).cloned()).collect();
            results.push(self.call(function.clone(), values)?);
        }
        Ok(results)
    }

    pub(super) fn filtered(&mut self, function: &Value, list: &Value, keeps: bool) -> Run<Vec<Value>> {
        let mut found = Vec::new();
        let place = self.place;
        for item in self.items(list)? {
            let answer =
                if function.is_nothing() { item.clone() } else { self.call(function.clone(), vec![item.clone()])? };
            let holds = match self.truth(&answer) {
                Some(holds) => holds,
                None => self.answer(place, true),
            };
            if holds == keeps {
                found.push(self.chosen_by(function, item, holds));
            }
        }
        Ok(found)
    }
}
