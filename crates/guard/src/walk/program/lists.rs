//! Methods of lists, tuples and iterators.

use std::cmp::Ordering;
use std::ptr;

use crate::walk::program::call::Given;
use crate::walk::program::value::{Id, Value};
use crate::walk::program::{Run, Stop, Trial};

impl Trial<'_, '_> {
    /// Methods of lists; those that change a tuple do not exist.
    pub(super) fn list_method(&mut self, list: &Value, name: &str, given: &Given) -> Run<Value> {
        if let Value::List(id) = list
            && let Some(value) = self.changing_list_method(*id, name, given)?
        {
            return Ok(value);
        }
        if let Some(value) = self.callback_method(list, name, given)? {
            return Ok(value);
        }
        let items = self.items(list)?;
        let first = given.at(0);
        Ok(match name {
            "join" => {
                let between = if first.is_nothing() { ",".into() } else { self.text_of(&first)? };
                let text = self.joined(list, &between)?;
                self.new_text(text)?
            }
            "slice" => {
                let part = |at: usize| given.get(at).filter(|value| !value.is_nothing()).cloned();
                self.slice(list, &[part(0), part(1), None])?
            }
            "concat" => {
                let mut items = items;
                for value in &given.values {
                    match value {
                        Value::List(_) => items.extend(self.items(value)?),
                        value => items.push(value.clone()),
                    }
                }
                self.heap.new_list(items)
            }
            "copy" | "toSpliced" | "values" | "__iter__" | "__copy__" => self.heap.new_list(items),
            "toReversed" => self.heap.new_list(items.into_iter().rev().collect()),
            "toSorted" => {
                let sorted = self.sorted(items, given)?;
                self.heap.new_list(sorted)
            }
            "keys" => self.heap.new_list((0..items.len()).map(Value::number).collect()),
            "entries" => {
                let pairs = items
                    .into_iter()
                    .enumerate()
                    .map(|(at, item)| self.heap.new_list(vec![Value::number(at), item]))
                    .collect();
                self.heap.new_list(pairs)
            }
            "includes" | "__contains__" => {
                self.contains(list, &first).map_or_else(|| self.unknown_of([&first]), Value::Bool)
            }
            "index" | "indexOf" | "lastIndexOf" => {
                let mut found = None;
                for (at, item) in items.iter().enumerate() {
                    if self.equals(item, &first) == Some(true) && (found.is_none() || name == "lastIndexOf") {
                        found = Some(at);
                    }
                }
                match found {
                    Some(at) => Value::number(at),
                    None if first.is_unknown() || items.iter().any(|item| item.is_unknown() || item.is_listing()) => {
                        Value::Unknown
                    }
                    None if name == "index" => return Err(self.exception("ValueError", "not in list")),
                    None => Value::Int(-1),
                }
            }
            "count" => {
                let mut count = 0;
                for item in &items {
                    count += usize::from(self.equals(item, &first) == Some(true));
                }
                Value::number(count)
            }
            "at" => super::member::place(&first, items.len())
                .and_then(|at| items.get(at).cloned())
                .unwrap_or(Value::Undefined),
            "flat" => {
                let mut flat = Vec::new();
                for item in items {
                    match item {
                        Value::List(_) => flat.extend(self.items(&item)?),
                        item => flat.push(item),
                    }
                }
                let flat = self.heap.new_list(flat);
                let deeper = first.as_int().unwrap_or(1) - 1;
                if deeper > 0 && deeper < 9 || matches!(first, Value::Float(_)) && self.has_lists(&flat)? {
                    let depth = if matches!(first, Value::Float(_)) { first } else { Value::Int(deeper) };
                    return self.deeper(|trial| trial.list_method(&flat, "flat", &Given::of(vec![depth])));
                }
                flat
            }
            "toString" => Value::text(self.joined(list, ",")?),
            "_replace" | "_asdict" => Value::Lost,
            _ => {
                self.call_back(given)?;
                self.unknown_of(&items)
            }
        })
    }

    fn has_lists(&mut self, list: &Value) -> Run<bool> {
        Ok(self.items(list)?.iter().any(|item| matches!(item, Value::List(_))))
    }

    fn changing_list_method(&mut self, id: Id, name: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        let more = match name {
            "extend" | "extendleft" => self.items(&first)?,
            _ => Vec::new(),
        };
        if name == "sort" {
            let items = self.heap.list(id).cloned().unwrap_or_default();
            let sorted = self.sorted(items, given)?;
            if let Some(items) = self.heap.list_mut(id) {
                *items = sorted;
            }
            return Ok(Some(if self.is_python() { Value::None } else { Value::List(id) }));
        }
        if name == "remove" {
            let items = self.heap.list(id).cloned().unwrap_or_default();
            for (at, item) in items.iter().enumerate() {
                if self.equals(item, &first) == Some(true) {
                    self.heap.list_mut(id).into_iter().for_each(|items| drop(items.remove(at)));
                    break;
                }
            }
            return Ok(Some(Value::None));
        }
        let is_python = self.is_python();
        let Some(items) = self.heap.list_mut(id) else { return Ok(None) };
        let found = match name {
            "append" | "push" => {
                items.extend(given.values.iter().cloned());
                if is_python { Value::None } else { Value::number(items.len()) }
            }
            "extend" => {
                items.extend(more);
                Value::None
            }
            "appendleft" | "unshift" => {
                items.splice(0..0, given.values.iter().cloned());
                Value::number(items.len())
            }
            "extendleft" => {
                items.splice(0..0, more.into_iter().rev());
                Value::None
            }
            "insert" => {
                let (at, _) = super::listing::bounds(Some(&first), None, items.len());
                items.insert(at, given.at(1));
                Value::None
            }
            "pop" if given.values.is_empty() => match items.pop() {
                Some(item) => item,
                None if is_python => return Err(self.exception("IndexError", "pop from empty list")),
                None => Value::Undefined,
            },
            "pop" => match super::member::place(&first, items.len()) {
                Some(at) => items.remove(at),
                None if items.is_empty() => return Err(self.exception("IndexError", "pop from empty list")),
                None => Value::Unknown,
            },
            "shift" | "popleft" => {
                if items.is_empty() {
                    if is_python {
                        return Err(self.exception("IndexError", "pop from an empty deque"));
                    }
                    Value::Undefined
                } else {
                    items.remove(0)
                }
            }
            "reverse" => {
                items.reverse();
                if is_python { Value::None } else { Value::List(id) }
            }
            "rotate" => {
                let by = first.as_int().unwrap_or(1);
                let length = i128::try_from(items.len()).unwrap_or(1).max(1);
                items.rotate_right(usize::try_from(by.rem_euclid(length)).unwrap_or(0));
                Value::None
            }
            "clear" => {
                items.clear();
                Value::None
            }
            "fill" => {
                items.fill(first);
                Value::List(id)
            }
            "splice" => {
                let (from, _) = super::listing::bounds(Some(&first), None, items.len());
                let count = given.get(1).map_or(items.len(), |count| {
                    count.as_int().and_then(|count| usize::try_from(count).ok()).unwrap_or(0)
                });
                let to = from.saturating_add(count).min(items.len());
                let gone = items.splice(from..to, given.rest(2)).collect();
                return Ok(Some(self.heap.new_list(gone)));
            }
            _ => return Ok(None),
        };
        Ok(Some(found))
    }

    /// Methods that call a function with every item. None if this is no such method.
    pub(super) fn callback_method(&mut self, list: &Value, name: &str, given: &Given) -> Run<Option<Value>> {
        if !matches!(
            name,
            "map"
                | "filter"
                | "forEach"
                | "some"
                | "every"
                | "find"
                | "findIndex"
                | "findLast"
                | "reduce"
                | "reduceRight"
                | "flatMap"
        ) {
            return Ok(None);
        }
        let function = given.at(0);
        let mut items = self.items(list)?;
        if name.starts_with("reduce") {
            if name == "reduceRight" {
                items.reverse();
            }
            let mut items = items.into_iter().enumerate();
            let mut sum = match given.get(1) {
                Some(start) => start.clone(),
                None => items.next().map_or(Value::Undefined, |(_, item)| item),
            };
            for (at, item) in items {
                sum = self.call(function.clone(), vec![sum, item, Value::number(at), list.clone()])?;
            }
            return Ok(Some(sum));
        }
        let mut results = Vec::new();
        for (at, item) in items.into_iter().enumerate() {
            self.step()?;
            let place = self.place;
            let result = self.call(function.clone(), vec![item.clone(), Value::number(at), list.clone()])?;
            match name {
                "map" => results.push(result),
                "flatMap" => match result {
                    Value::List(_) => results.extend(self.items(&result)?),
                    result => results.push(result),
                },
                "forEach" => {}
                _ => {
                    let holds = match self.truth(&result) {
                        Some(holds) => holds,
                        None => self.answer(place ^ ptr::from_ref(given).addr() & 0xff, true),
                    };
                    match (name, holds) {
                        ("filter", true) => results.push(self.chosen_by(&function, item, holds)),
                        ("some", true) => return Ok(Some(Value::Bool(true))),
                        ("every", false) => return Ok(Some(Value::Bool(false))),
                        ("find" | "findLast", true) => return Ok(Some(item)),
                        ("findIndex", true) => return Ok(Some(Value::number(at))),
                        _ => {}
                    }
                }
            }
        }
        Ok(Some(match name {
            "forEach" | "find" | "findLast" => Value::Undefined,
            "some" => Value::Bool(false),
            "every" => Value::Bool(true),
            "findIndex" => Value::Int(-1),
            _ => self.heap.new_list(results),
        }))
    }

    /// An item that a function has chosen. Names of a listing are then a choice, unless it only leaves some out.
    pub(super) fn chosen_by(&mut self, function: &Value, item: Value, holds: bool) -> Value {
        if !item.is_listing() {
            return item;
        }
        let Value::Function(id) = function else { return item };
        let Some(closure) = self.heap.closure(*id) else { return item };
        let function = std::rc::Rc::clone(&closure.function);
        if super::listing::choice_of(&function, holds) { item.chosen(None) } else { item }
    }

    /// Items in order. Those whose order is not known stay as they are.
    pub(super) fn sorted(&mut self, items: Vec<Value>, given: &Given) -> Run<Vec<Value>> {
        self.spend(items.len() * 2)?;
        let key = given.named("key").filter(|key| !key.is_nothing()).cloned();
        let compare = given.get(0).filter(|value| value.is_callable() && !self.is_python()).cloned();
        let mut keyed = Vec::new();
        for item in items {
            let own = match &key {
                Some(key) => self.call(key.clone(), vec![item.clone()])?,
                None => item.clone(),
            };
            keyed.push((own, item));
        }
        // Insertion keeps the order of equal items, and calls of the program can fail in between.
        let mut sorted: Vec<(Value, Value)> = Vec::new();
        for (own, item) in keyed {
            let mut at = sorted.len();
            while at > 0 {
                let Some((before, _)) = sorted.get(at - 1).cloned() else { break };
                self.step()?;
                if self.order_by(&before, &own, compare.as_ref(), given)? != Some(Ordering::Greater) {
                    break;
                }
                at -= 1;
            }
            sorted.insert(at, (own, item));
        }
        let reverse = given.named("reverse").cloned().unwrap_or(Value::Bool(false));
        let mut sorted: Vec<Value> = sorted.into_iter().map(|(_, item)| item).collect();
        if self.truth(&reverse) == Some(true) {
            sorted.reverse();
        }
        Ok(sorted)
    }

    fn order_by(
        &mut self,
        left: &Value,
        right: &Value,
        compare: Option<&Value>,
        given: &Given,
    ) -> Run<Option<Ordering>> {
        if let Some(compare) = compare {
            let order = self.call(compare.clone(), vec![left.clone(), right.clone()])?;
            return Ok(match &order {
                Value::Float(order) => order.partial_cmp(&0.0),
                order => order.as_int().map(|order| order.cmp(&0)),
            });
        }
        // A key that compares itself: `cmp_to_key`.
        if let Some(Value::Partial(partial)) = given.named("key").filter(|_| false) {
            let order = self.call(partial.function.clone(), vec![left.clone(), right.clone()])?;
            return Ok(order.as_int().map(|order| order.cmp(&0)));
        }
        if !self.is_python() {
            let (left, right) = (self.text_of(left)?, self.text_of(right)?);
            return Ok(Some(left.cmp(&right)));
        }
        if let Some(method) = self.class_member(left, "__lt__") {
            let method = self.bind(left, method)?;
            let less = self.call(method, vec![right.clone()])?;
            return Ok(self.truth(&less).map(|less| if less { Ordering::Less } else { Ordering::Greater }));
        }
        let (left, right) = (self.plain(left), self.plain(right));
        self.order(&left, &right)
    }

    pub(super) fn iterator_method(&mut self, id: Id, name: &str, given: &Given) -> Run<Value> {
        match name {
            "__next__" | "next" | "__anext__" if given.values.is_empty() || !self.is_python() => {
                if let Some(value) = given.get(0) {
                    self.send(id, value.clone());
                }
                let item = self.next_item(id)?;
                if self.is_python() {
                    return match item {
                        Some(item) => Ok(item),
                        None => Err(self.exception("StopIteration", "")),
                    };
                }
                let mut result = super::value::Dict::default();
                result.set("done", Value::Bool(item.is_none()));
                result.set("value", item.unwrap_or(Value::Undefined));
                Ok(self.heap.new_dict(result))
            }
            // A value that is sent is there when the generator runs, at its end.
            "send" | "asend" => {
                self.send(id, given.at(0));
                Ok(Value::Lost)
            }
            "close" | "return" | "throw" | "aclose" => {
                self.begin_generator(id)?;
                Ok(self.nothing())
            }
            "__iter__" | "values" | "@@iterator" | "__aiter__" => Ok(Value::Iterator(id)),
            "toArray" => {
                let items = self.items(&Value::Iterator(id))?;
                Ok(self.heap.new_list(items))
            }
            name => {
                let items = self.items(&Value::Iterator(id))?;
                let list = self.heap.new_list(items);
                match self.list_method(&list, name, given) {
                    Err(Stop::Raise(_)) => Ok(Value::Unknown),
                    value => value,
                }
            }
        }
    }
}
