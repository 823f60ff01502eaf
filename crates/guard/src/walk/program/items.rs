//! Items of values, and their assignment.

use std::rc::Rc;

use crate::walk::program::call::Given;
use crate::walk::program::member::place;
use crate::walk::program::syntax::Expr;
use crate::walk::program::value::{Id, Value};
use crate::walk::program::{Run, Trial};

impl Trial<'_, '_> {
    /// An item of a value: `object[key]`.
    pub(super) fn item(&mut self, object: &Value, key: &Value) -> Run<Value> {
        self.step()?;
        match (object, key) {
            (object, _) if object.is_unknown() => Ok(object.clone()),
            (Value::List(_) | Value::Tuple(_), key) => self.list_item(object, key),
            (Value::Dict(id), key) => self.dict_item(*id, object, key),
            (Value::Text(text), key) => self.text_item(&text.clone(), key),
            (Value::Bytes(bytes), key) => Ok(match place(key, bytes.len()).and_then(|at| bytes.get(at)) {
                Some(byte) => Value::Int(i128::from(*byte)),
                None => Value::Lost,
            }),
            (Value::Match(_), key) => self.call_method(object.clone(), "group", vec![key.clone()]),
            (Value::Native(own), key) => {
                let (own, name) = (own.clone(), self.text_of(key)?);
                self.native_item(&own, &name)
            }
            (Value::Object(id), key) => {
                if let Some(getter) = self.class_member(object, "__getitem__") {
                    let getter = self.bind(object, getter)?;
                    return self.call(getter, vec![key.clone()]);
                }
                if let Some(inner) = self.heap.object(*id).and_then(|data| data.inner.clone())
                    && (self.is_python() || key.as_int().is_some())
                {
                    return match self.class_member(object, "__missing__") {
                        Some(finder) if self.contains(&inner, key) == Some(false) => {
                            let finder = self.bind(object, finder)?;
                            self.call(finder, vec![key.clone()])
                        }
                        _ => self.item(&inner, key),
                    };
                }
                let name = self.text_of(key)?;
                self.member(object, &name)
            }
            // `Enum["NAME"]`, `list[str]`
            (Value::Class(_), Value::Text(name)) => self.member(object, &name.clone()),
            (Value::Class(_), _) => Ok(object.clone()),
            (Value::Bound(inner), key) if inner.1.as_ref() == "namespace" => {
                let name = self.text_of(key)?;
                match self.lookup(&name).cloned() {
                    Some(value) => Ok(value),
                    None => self.unbound(&name),
                }
            }
            (Value::None | Value::Undefined, _) => Err(self.exception("TypeError", "nothing has no items")),
            (object, key) => {
                let name = self.text_of(key)?;
                self.member(object, &name)
            }
        }
    }

    pub(super) fn list_item(&mut self, object: &Value, key: &Value) -> Run<Value> {
        let length = self.list_len(object).unwrap_or(0);
        if let Some(at) = key.as_int() {
            // JavaScript does not count from the end.
            if at < 0 && !self.is_python() {
                return Ok(Value::Undefined);
            }
            if let Some(item) = place(key, length).and_then(|at| self.list_get(object, at)) {
                return Ok(item);
            }
            // A listing has more items than one, and a list may hold some that are not known.
            let last = length.checked_sub(1).and_then(|at| self.list_get(object, at));
            return match last {
                Some(last) if last.is_unknown() || last.is_listing() => Ok(last),
                _ if self.is_python() => Err(self.exception("IndexError", "list index out of range")),
                _ => Ok(Value::Undefined),
            };
        }
        if key.is_unknown() {
            return self.any_of(object);
        }
        let name = self.text_of(key)?;
        match name.parse::<i128>() {
            Ok(at) if !self.is_python() => self.list_item(object, &Value::Int(at)),
            _ => self.member(object, &name),
        }
    }

    pub(super) fn dict_item(&mut self, id: Id, object: &Value, key: &Value) -> Run<Value> {
        let Some(place) = self.key_of(key) else { return self.any_of(object) };
        let Some(dict) = self.heap.dict(id) else { return Ok(Value::Unknown) };
        if let Some(value) = dict.get(&place) {
            return match value.clone() {
                Value::Accessor(inner) => self.call_as(Some(object.clone()), &inner.0, Given::default()),
                value => Ok(value),
            };
        }
        if !self.is_python() {
            let name = self.text_of(key)?;
            return self.table_member(id, object, &name);
        }
        if let Some(maker) = dict.default.clone() {
            let value = self.call(maker, Vec::new())?;
            self.set_item(object, key, value.clone())?;
            return Ok(value);
        }
        Err(self.exception("KeyError", key.known_text().unwrap_or("")))
    }

    pub(super) fn set_item(&mut self, object: &Value, key: &Value, value: Value) -> Run<()> {
        match object {
            Value::List(id) => {
                let length = self.heap.list(*id).map_or(0, Vec::len);
                let at = place(key, length);
                let Some(items) = self.heap.list_mut(*id) else { return Ok(()) };
                match at.and_then(|at| items.get_mut(at)) {
                    Some(item) => *item = value,
                    None if key.is_unknown() => items.push(value),
                    None => {
                        let at = key.as_int().and_then(|at| usize::try_from(at).ok()).filter(|at| *at < length + 1024);
                        if let Some(at) = at {
                            items.resize(at, Value::Undefined);
                            items.push(value);
                        }
                    }
                }
            }
            Value::Dict(id) => {
                if !self.is_python()
                    && let Some(Value::Accessor(inner)) =
                        self.key_of(key).and_then(|key| self.heap.dict(*id)?.get(&key).cloned())
                {
                    self.call_as(Some(object.clone()), &inner.1, Given::of(vec![value]))?;
                    return Ok(());
                }
                let place = self.key_of(key);
                if let Some(dict) = self.heap.dict_mut(*id) {
                    let place = place.unwrap_or_else(|| format!("?{}", dict.len()));
                    dict.insert(place, key.clone(), value);
                }
            }
            Value::Object(id) => {
                if let Some(setter) = self.class_member(object, "__setitem__") {
                    let setter = self.bind(object, setter)?;
                    self.call(setter, vec![key.clone(), value])?;
                } else if let Some(inner) = self.heap.object(*id).and_then(|data| data.inner.clone())
                    && self.is_python()
                {
                    return self.set_item(&inner, key, value);
                } else {
                    let name = self.text_of(key)?;
                    return self.set_member(object, &name, value);
                }
            }
            Value::Bound(inner) if inner.1.as_ref() == "namespace" => {
                let name: Rc<str> = self.text_of(key)?;
                let globals = self.globals;
                if let Some(scope) = self.heap.scope_mut(globals) {
                    scope.values.insert(name, value);
                }
            }
            object => {
                let name = self.text_of(key)?;
                return self.set_member(object, &name, value);
            }
        }
        Ok(())
    }

    pub(super) fn set_slice(&mut self, object: &Value, parts: &[Option<Expr>; 3], value: &Value) -> Run<()> {
        let items = self.items(value)?;
        let [from, to, _] = self.slice_parts(parts)?;
        if let Value::List(id) = object
            && let Some(list) = self.heap.list_mut(*id)
        {
            let (from, to) = super::listing::bounds(from.as_ref(), to.as_ref(), list.len());
            list.splice(from..to.max(from), items);
        }
        Ok(())
    }

    pub(super) fn delete_item(&mut self, object: &Value, key: &Value) {
        let name = self.key_of(key).unwrap_or_default();
        match object {
            Value::Dict(id) => {
                if let Some(dict) = self.heap.dict_mut(*id) {
                    dict.remove(&name);
                }
            }
            Value::Object(id) => {
                if let Some(data) = self.heap.object_mut(*id) {
                    data.fields.remove(&name);
                }
            }
            Value::List(id) => {
                if let Some(items) = self.heap.list_mut(*id)
                    && let Some(at) = place(key, items.len())
                {
                    items.remove(at);
                }
            }
            _ => {}
        }
    }
}
