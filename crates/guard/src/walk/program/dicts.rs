//! Methods of tables, sets and maps.

use crate::walk::program::call::Given;
use crate::walk::program::value::{Dict, Id, Value};
use crate::walk::program::{Run, Trial};

impl Trial<'_, '_> {
    pub(super) fn dict_method(&mut self, id: Id, name: &str, given: &Given) -> Run<Value> {
        let own = Value::Dict(id);
        let first = given.at(0);
        Ok(match name {
            "items" | "entries" => {
                let pairs =
                    self.entries_of(&own)?.into_iter().map(|(key, value)| Value::Tuple([key, value].into())).collect();
                self.heap.new_list(pairs)
            }
            "values" => {
                let values = self.entries_of(&own)?.into_iter().map(|(_, value)| value).collect();
                self.heap.new_list(values)
            }
            "keys" | "__iter__" => {
                let keys = self.keys_of(&own)?;
                self.heap.new_list(keys)
            }
            "get" | "getlist" => {
                let Some(key) = self.key_of(&first) else { return self.any_of(&own) };
                let found = self.heap.dict(id).and_then(|dict| dict.get(&key)).cloned();
                found.unwrap_or_else(|| given.get(1).cloned().unwrap_or_else(|| self.nothing()))
            }
            "setdefault" => {
                let key = self.key_of(&first).unwrap_or_default();
                if let Some(value) = self.heap.dict(id).and_then(|dict| dict.get(&key)) {
                    return Ok(value.clone());
                }
                let value = given.get(1).cloned().unwrap_or(Value::None);
                self.set_item(&own, &first, value.clone())?;
                value
            }
            "pop" => {
                let key = self.key_of(&first).unwrap_or_default();
                match self.heap.dict_mut(id).and_then(|dict| dict.remove(&key)) {
                    Some(value) => value,
                    None => match given.get(1) {
                        Some(default) => default.clone(),
                        None => return Err(self.exception("KeyError", "")),
                    },
                }
            }
            "popitem" => {
                let last = self.heap.dict(id).and_then(|dict| dict.entries().last().cloned());
                match last {
                    Some((key, value)) => {
                        self.delete_item(&own, &key);
                        Value::Tuple([key, value].into())
                    }
                    None => return Err(self.exception("KeyError", "")),
                }
            }
            "update" => {
                let pairs = if matches!(first, Value::List(_) | Value::Tuple(_) | Value::Iterator(_)) {
                    self.pairs(&first)?
                } else {
                    self.entries_of(&first)?
                };
                for (key, value) in pairs {
                    self.set_item(&own, &key, value)?;
                }
                for (name, value) in &given.named {
                    self.set_item(&own, &Value::text(name.as_ref()), value.clone())?;
                }
                Value::None
            }
            "copy" => {
                let copy = self.dict_of(&own);
                self.heap.new_dict(copy)
            }
            "clear" => {
                self.heap.dict_mut(id).into_iter().for_each(|dict| *dict = Dict::default());
                Value::None
            }
            "hasOwnProperty" | "has" | "__contains__" => {
                self.contains(&own, &first).map_or(Value::Unknown, Value::Bool)
            }
            _ => return self.other_dict_method(id, name, given),
        })
    }

    /// Methods that tables have in one of the languages alone.
    fn other_dict_method(&mut self, id: Id, name: &str, given: &Given) -> Run<Value> {
        let own = Value::Dict(id);
        let first = given.at(0);
        Ok(match name {
            "most_common" => {
                let entries = self.entries_of(&own)?;
                let pairs: Vec<Value> =
                    entries.into_iter().map(|(key, value)| Value::Tuple([value, key].into())).collect();
                let sorted = self
                    .sorted(pairs, &Given { values: Vec::new(), named: vec![("reverse".into(), Value::Bool(true))] })?;
                let mut found = Vec::new();
                for pair in sorted {
                    let items = self.items(&pair)?;
                    found.push(Value::Tuple(items.into_iter().rev().collect()));
                }
                self.heap.new_list(found)
            }
            "toString" | "valueOf" => Value::text("[object Object]"),
            "on" | "once" | "addListener" => {
                let event = self.text_of(&first)?;
                self.set_field(&own, &Value::text(format!("@{event}")), given.at(1))?;
                own
            }
            "emit" => {
                let event = self.text_of(&first)?;
                let callback = self.heap.dict(id).and_then(|dict| dict.named(&format!("@{event}"))).cloned();
                if let Some(callback) = callback {
                    self.call_as(Some(own), &callback, Given::of(given.rest(1)))?;
                }
                Value::Bool(true)
            }
            _ => {
                self.call_back(given)?;
                Value::Lost
            }
        })
    }

    /// The pairs of a list.
    pub(super) fn pairs(&mut self, list: &Value) -> Run<Vec<(Value, Value)>> {
        let mut pairs = Vec::new();
        for item in self.items(list)? {
            if item.is_unknown() {
                pairs.push((item.clone(), item));
                continue;
            }
            let parts = self.items(&item)?;
            let mut parts = parts.into_iter();
            if let (Some(key), Some(value)) = (parts.next(), parts.next()) {
                pairs.push((key, value));
            }
        }
        Ok(pairs)
    }

    /// A table of pairs.
    pub(super) fn dict_of_pairs(&mut self, pairs: Vec<(Value, Value)>) -> Value {
        let mut dict = Dict::default();
        for (key, value) in pairs {
            let place = self.key_of(&key).unwrap_or_else(|| format!("?{}", dict.len()));
            dict.insert(place, key, value);
        }
        self.heap.new_dict(dict)
    }

    pub(super) fn set_method(&mut self, id: Id, name: &str, given: &Given) -> Run<Value> {
        let own = Value::Set(id);
        let first = given.at(0);
        let operator = match name {
            "union" => "|",
            "intersection" => "&",
            "difference" => "-",
            "symmetric_difference" | "symmetricDifference" => "^",
            _ => "",
        };
        if !operator.is_empty() {
            return self.combined_sets(&own, operator, &first);
        }
        Ok(match name {
            "add" => {
                let key = self.key_of(&first);
                if let Some(set) = self.heap.set_mut(id) {
                    let key = key.unwrap_or_else(|| format!("?{}", set.len()));
                    set.insert(key, first, Value::None);
                }
                own
            }
            "update" => {
                for item in self.items(&first)? {
                    self.set_method(id, "add", &Given::of(vec![item]))?;
                }
                Value::None
            }
            "discard" | "remove" | "delete" => {
                let key = self.key_of(&first).unwrap_or_default();
                let gone = self.heap.set_mut(id).and_then(|set| set.remove(&key));
                Value::Bool(gone.is_some())
            }
            "pop" => {
                let first = self.items(&own)?.into_iter().next();
                match first {
                    Some(item) => {
                        self.set_method(id, "discard", &Given::of(vec![item.clone()]))?;
                        item
                    }
                    None => return Err(self.exception("KeyError", "pop from an empty set")),
                }
            }
            "has" | "__contains__" => {
                self.contains(&own, &first).map_or_else(|| self.unknown_of([&first]), Value::Bool)
            }
            "clear" => {
                self.heap.set_mut(id).into_iter().for_each(|set| *set = Dict::default());
                Value::None
            }
            "copy" => {
                let items = self.items(&own)?;
                self.set_of(items)
            }
            "issubset" | "isSubsetOf" | "issuperset" | "isSupersetOf" => {
                let (inner, outer) = if name.contains("ub") { (own, first) } else { (first, own) };
                let mut all = Some(true);
                for item in self.items(&inner)? {
                    match self.contains(&outer, &item) {
                        Some(true) => {}
                        other => all = other,
                    }
                }
                all.map_or(Value::Unknown, Value::Bool)
            }
            "isdisjoint" => {
                let both = self.combined_sets(&own, "&", &first)?;
                Value::Bool(self.items(&both)?.is_empty())
            }
            "forEach" | "map" | "filter" => {
                let items = self.items(&own)?;
                let list = self.heap.new_list(items);
                self.list_method(&list, name, given)?
            }
            "values" | "keys" | "__iter__" => {
                let items = self.items(&own)?;
                self.heap.new_list(items)
            }
            "entries" => {
                let pairs =
                    self.items(&own)?.into_iter().map(|item| Value::Tuple([item.clone(), item].into())).collect();
                self.heap.new_list(pairs)
            }
            _ => {
                self.call_back(given)?;
                Value::Lost
            }
        })
    }

    /// Operators between sets. Names of a listing stay, whatever is taken away.
    pub(super) fn combined_sets(&mut self, left: &Value, operator: &str, right: &Value) -> Run<Value> {
        let own = self.items(left)?;
        let other = if right.is_unknown() { Vec::new() } else { self.items(right)? };
        let other_set = self.set_of(other.clone());
        let mut items = Vec::new();
        for item in &own {
            let is_in = self.contains(&other_set, item);
            let stays = match operator {
                "|" => true,
                "&" => is_in != Some(false) || right.is_unknown(),
                _ => is_in != Some(true),
            };
            if stays {
                items.push(item.clone());
            }
        }
        if matches!(operator, "|" | "^") {
            for item in other {
                if operator == "|" || self.contains(left, &item) != Some(true) {
                    items.push(item);
                }
            }
        }
        Ok(self.set_of(items))
    }

    /// Methods of a map of JavaScript.
    pub(super) fn map_method(&mut self, object: &Value, inner: &Value, name: &str, given: &Given) -> Run<Value> {
        match (name, inner) {
            ("set", _) => {
                self.set_item(inner, &given.at(0), given.at(1))?;
                Ok(object.clone())
            }
            ("get", Value::Dict(id)) => {
                let key = self.key_of(&given.at(0));
                let Some(key) = key else { return self.any_of(inner) };
                Ok(self.heap.dict(*id).and_then(|dict| dict.get(&key)).cloned().unwrap_or(Value::Undefined))
            }
            ("delete", _) => {
                self.delete_item(inner, &given.at(0));
                Ok(Value::Bool(true))
            }
            ("forEach", _) => {
                for (key, value) in self.entries_of(inner)? {
                    self.call(given.at(0), vec![value, key, object.clone()])?;
                }
                Ok(Value::Undefined)
            }
            ("has", _) => Ok(self.contains(inner, &given.at(0)).map_or(Value::Unknown, Value::Bool)),
            (_, Value::Dict(id)) => self.dict_method(*id, name, given),
            _ => Ok(Value::Unknown),
        }
    }
}
