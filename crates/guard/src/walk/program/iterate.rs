//! The items of values that loops go through.

use std::rc::Rc;

use crate::walk::program::call::Given;
use crate::walk::program::value::{Dict, Id, Settled, Value, is_doubtful};
use crate::walk::program::{Run, Stop, Trial};

/// The longest text whose letters are items.
const LONGEST_LETTERS: usize = 4096;

/// The most items that an object of the program gives out.
const MOST_GIVEN: usize = 256;

impl Trial<'_, '_> {
    /// The items that a loop goes through. Of something unknown there is one, which is unknown.
    pub(super) fn items(&mut self, value: &Value) -> Run<Vec<Value>> {
        self.step()?;
        self.deeper(|trial| trial.any_items(value))
    }

    fn any_items(&mut self, value: &Value) -> Run<Vec<Value>> {
        let items = match value {
            Value::List(id) => self.heap.list(*id).cloned().unwrap_or_default(),
            Value::Tuple(items) => items.to_vec(),
            Value::Dict(_) if !self.is_python() && self.iterating_member(value).is_some() => {
                let method = self.iterating_member(value).unwrap_or(Value::Undefined);
                let iterator = self.call_as(Some(value.clone()), &method, Given::default())?;
                return if matches!(iterator, Value::Dict(_) | Value::Object(_)) {
                    self.stepped_items(&iterator)
                } else {
                    self.items(&iterator)
                };
            }
            Value::Dict(id) => self
                .heap
                .dict(*id)
                .map(|dict| dict.entries().iter().map(|(key, _)| key.clone()).collect())
                .unwrap_or_default(),
            Value::Set(id) => self
                .heap
                .set(*id)
                .map(|dict| dict.entries().iter().map(|(key, _)| key.clone()).collect())
                .unwrap_or_default(),
            Value::Text(text) if text.len() <= LONGEST_LETTERS && !is_doubtful(text) => {
                text.chars().map(|letter| Value::text(letter.to_string())).collect()
            }
            Value::Bytes(bytes) if bytes.len() <= LONGEST_LETTERS => {
                bytes.iter().map(|byte| Value::Int(i128::from(*byte))).collect()
            }
            Value::Iterator(id) => {
                let mut items = Vec::new();
                while let Some(item) = self.next_item(*id)? {
                    items.push(item);
                }
                items
            }
            Value::File(id) => self.file_lines(*id)?,
            Value::Object(id) => return self.object_items(*id, value),
            Value::Class(id) => {
                let members = self.heap.class(*id).map(|data| data.members.clone()).unwrap_or_default();
                members
                    .entries()
                    .iter()
                    .map(|(_, value)| value.clone())
                    .filter(|value| matches!(value, Value::Object(_)))
                    .collect()
            }
            Value::Match(found) => {
                found.groups.iter().map(|group| group.clone().map_or(Value::Undefined, Value::Text)).collect()
            }
            Value::None | Value::Undefined => {
                return Err(self.exception("TypeError", "nothing has no items"));
            }
            Value::Lost => vec![Value::Lost],
            Value::Native(name) if matches!(name.as_ref(), "sys.stdin" | "process.stdin") => self.input_lines()?,
            Value::Bound(inner) if inner.1.as_ref() == "readline" => self.input_lines()?,
            Value::Promise(_) => {
                let value = self.awaited(value.clone())?;
                if matches!(value, Value::Promise(_)) { vec![Value::Unknown] } else { return self.items(&value) }
            }
            Value::Process(id) => {
                let output = self.process_output(*id)?;
                vec![Value::text(output)]
            }
            Value::Text(text) => vec![super::value::unknown_like(text)],
            _ => vec![Value::Unknown],
        };
        self.spend(items.len() / 4)?;
        Ok(items)
    }

    /// The function of a table that makes an iterator.
    fn iterating_member(&self, table: &Value) -> Option<Value> {
        let Value::Dict(id) = table else { return None };
        let dict = self.heap.dict(*id)?;
        dict.named("@@iterator").or_else(|| dict.named("@@asyncIterator")).cloned()
    }

    fn object_items(&mut self, id: Id, object: &Value) -> Run<Vec<Value>> {
        let data = self.heap.object(id).cloned();
        let is_map =
            data.as_ref().is_some_and(|data| matches!(&data.class, Value::Native(name) if name.as_ref() == "Map"));
        if is_map {
            return Ok(self
                .entries_of(object)?
                .into_iter()
                .map(|(key, value)| self.heap.new_list(vec![key, value]))
                .collect());
        }
        for name in ["__iter__", "@@iterator", "@@asyncIterator", "__aiter__"] {
            let method = match self.class_member(object, name) {
                Some(method) => Some(self.bind(object, method)?),
                None => data.as_ref().and_then(|data| data.fields.named(name)).cloned(),
            };
            if let Some(method) = method {
                let iterator = self.call_as(Some(object.clone()), &method, Given::default())?;
                if let Value::Object(other) = iterator
                    && other == id
                {
                    return self.stepped_items(object);
                }
                return match iterator {
                    Value::Dict(_) => self.stepped_items(&iterator),
                    Value::Object(_) if self.class_member(&iterator, "__next__").is_some() => {
                        self.stepped_items(&iterator)
                    }
                    iterator => self.items(&iterator),
                };
            }
        }
        if self.class_member(object, "__next__").is_some() {
            return self.stepped_items(object);
        }
        if let Some(getter) = self.class_member(object, "__getitem__") {
            let getter = self.bind(object, getter)?;
            let mut items = Vec::new();
            for at in 0..64 {
                match self.call(getter.clone(), vec![Value::Int(at)]) {
                    Ok(item) => items.push(item),
                    Err(Stop::Raise(_)) => break,
                    Err(stop) => return Err(stop),
                }
            }
            return Ok(items);
        }
        match data.and_then(|data| data.inner) {
            Some(inner) if !matches!(inner, Value::Object(_)) => self.items(&inner),
            _ => Ok(vec![Value::Unknown]),
        }
    }

    /// The items of an iterator that the program itself has written.
    pub(super) fn stepped_items(&mut self, iterator: &Value) -> Run<Vec<Value>> {
        let mut items = Vec::new();
        let name = if self.is_python() { "__next__" } else { "next" };
        let name = if self.class_member(iterator, "__anext__").is_some() { "__anext__" } else { name };
        while items.len() < MOST_GIVEN {
            let next = match self.call_method(iterator.clone(), name, Vec::new()).and_then(|value| self.awaited(value))
            {
                Ok(next) => next,
                Err(Stop::Raise(_)) if self.is_python() => break,
                Err(stop) => return Err(stop),
            };
            if self.is_python() {
                items.push(next);
                continue;
            }
            let done = self.member(&next, "done")?;
            if self.truth(&done) != Some(false) && !matches!(done, Value::Undefined) {
                break;
            }
            items.push(self.member(&next, "value")?);
        }
        Ok(items)
    }

    /// Keys and values of a table.
    pub(super) fn entries_of(&mut self, value: &Value) -> Run<Vec<(Value, Value)>> {
        self.spend(1 + self.list_len(value).unwrap_or(0) / 2)?;
        Ok(match value {
            Value::Dict(id) => {
                let entries = self.heap.dict(*id).map(|dict| dict.entries().to_vec()).unwrap_or_default();
                let mut found = Vec::new();
                for (key, entry) in entries {
                    let entry = match entry {
                        Value::Accessor(inner) => self.call_as(Some(value.clone()), &inner.0, Given::default())?,
                        entry => entry,
                    };
                    found.push((key, entry));
                }
                found
            }
            Value::Object(id) => {
                let Some(data) = self.heap.object(*id).cloned() else { return Ok(Vec::new()) };
                match data.inner {
                    Some(inner @ Value::Dict(_)) => self.entries_of(&inner)?,
                    _ => data.fields.entries().to_vec(),
                }
            }
            Value::Class(id) => self.heap.class(*id).map(|data| data.members.entries().to_vec()).unwrap_or_default(),
            Value::List(_) | Value::Tuple(_) if !self.is_python() => {
                let items = self.items(value)?;
                items.into_iter().enumerate().map(|(at, item)| (Value::text(at.to_string()), item)).collect()
            }
            Value::Unknown | Value::Lost => vec![(value.clone(), value.clone())],
            Value::Bound(inner) if inner.1.as_ref() == "proxy" => {
                let Value::Tuple(parts) = &inner.0 else { return Ok(Vec::new()) };
                match parts.first().cloned() {
                    Some(target) => self.entries_of(&target)?,
                    None => Vec::new(),
                }
            }
            _ => Vec::new(),
        })
    }

    pub(super) fn keys_of(&mut self, value: &Value) -> Run<Vec<Value>> {
        Ok(self.entries_of(value)?.into_iter().map(|(key, _)| key).collect())
    }

    /// A copy of a table.
    pub(super) fn dict_of(&mut self, value: &Value) -> Dict {
        let mut dict = Dict::default();
        for (key, value) in self.entries_of(value).unwrap_or_default() {
            let place = self.key_of(&key).unwrap_or_default();
            dict.insert(place, key, value);
        }
        dict
    }

    pub(super) fn set_of(&mut self, items: Vec<Value>) -> Value {
        let mut dict = Dict::default();
        for item in items {
            let place = self.key_of(&item).unwrap_or_else(|| format!("?{}", dict.len()));
            dict.insert(place, item, Value::None);
        }
        self.heap.new_set(dict)
    }

    /// Any of the values in a list or a table: this trial takes one.
    pub(super) fn any_of(&mut self, object: &Value) -> Run<Value> {
        let items = match object {
            Value::Dict(_) => self.entries_of(object)?.into_iter().map(|(_, value)| value).collect(),
            object => self.items(object)?,
        };
        let place = self.place;
        let last = items.len().saturating_sub(1);
        for (at, item) in items.into_iter().enumerate() {
            if at == last || self.answer(place.wrapping_add(at), true) {
                return Ok(item);
            }
        }
        Ok(Value::Unknown)
    }

    pub(super) fn list_len(&self, value: &Value) -> Option<usize> {
        match value {
            Value::List(id) => self.heap.list(*id).map(Vec::len),
            Value::Tuple(items) => Some(items.len()),
            Value::Dict(id) => self.heap.dict(*id).map(Dict::len),
            Value::Set(id) => self.heap.set(*id).map(Dict::len),
            Value::Bytes(bytes) => Some(bytes.len()),
            Value::Match(found) => Some(found.groups.len()),
            _ => None,
        }
    }

    pub(super) fn list_get(&self, value: &Value, at: usize) -> Option<Value> {
        match value {
            Value::List(id) => self.heap.list(*id)?.get(at).cloned(),
            Value::Tuple(items) => items.get(at).cloned(),
            _ => None,
        }
    }

    /// The length of a value; none if it is not known.
    pub(super) fn length(&mut self, value: &Value) -> Run<Value> {
        if let Some(method) = self.class_member(value, "__len__") {
            let method = self.bind(value, method)?;
            return self.call(method, Vec::new());
        }
        if let Value::Object(id) = value
            && let Some(inner) = self.heap.object(*id).and_then(|data| data.inner.clone())
        {
            return self.length(&inner);
        }
        // One item may stand for a whole listing.
        if let Value::List(id) = value
            && self.heap.list(*id).is_some_and(|items| items.iter().any(|item| item.is_listing() || item.is_unknown()))
        {
            return Ok(Value::Unknown);
        }
        Ok(match value {
            Value::Text(text) => match self.spelled(text) {
                Some(text) => Value::number(text.chars().count()),
                None => super::value::unknown_like(text),
            },
            value => self.list_len(value).map_or_else(|| self.unknown_of([value]), Value::number),
        })
    }

    /// A promise that holds is its value; of one that has failed, the failure is raised.
    pub(super) fn awaited(&mut self, value: Value) -> Run<Value> {
        match value {
            Value::Promise(id) => {
                if matches!(self.heap.promise(id), Some(Settled::Waits)) {
                    self.run_queue(Some(id))?;
                }
                match self.heap.promise(id).cloned() {
                    Some(Settled::Holds(value)) => Ok(value),
                    Some(Settled::Failed(value)) => Err(Stop::Raise(value)),
                    _ => Ok(Value::Unknown),
                }
            }
            Value::Object(_) => match self.class_member(&value, "__await__") {
                Some(method) => {
                    let method = self.bind(&value, method)?;
                    let iterator = self.call(method, Vec::new())?;
                    self.items(&iterator)?;
                    Ok(value)
                }
                None => Ok(value),
            },
            // An object with `then` of its own.
            Value::Dict(_) if !self.is_python() => {
                let then = self.member(&value, "then")?;
                if !then.is_callable() || matches!(then, Value::Bound(_)) {
                    return Ok(value);
                }
                let promise = self.heap.new_promise(Settled::Waits);
                let resolve = super::member::bound(&promise, "resolve");
                self.call_as(Some(value), &then, Given::of(vec![resolve.clone(), resolve]))?;
                self.awaited(promise)
            }
            value => Ok(value),
        }
    }

    /// A promise in a promise is the inner one's value.
    pub(super) fn settled_value(&mut self, value: Value) -> Run<Value> {
        if matches!(value, Value::Promise(_)) { self.awaited(value) } else { Ok(value) }
    }

    /// The name of something that the language has, if the value is that.
    pub(super) fn native_name(value: &Value) -> Option<Rc<str>> {
        match value {
            Value::Native(name) => Some(Rc::clone(name)),
            _ => None,
        }
    }
}
