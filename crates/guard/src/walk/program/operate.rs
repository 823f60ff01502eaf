//! Operators.

use crate::walk::program::call::Given;
use crate::walk::program::paths::joined_path;
use crate::walk::program::syntax::Expr;
use crate::walk::program::value::{Value, is_doubtful, unknown_like};
use crate::walk::program::{Run, Trial};

/// The longest result of a repetition, in items or letters.
const LONGEST: usize = 4096;

impl Trial<'_, '_> {
    pub(super) fn unary(&mut self, operator: &str, value: &Expr) -> Run<Value> {
        if operator == "delete" {
            self.delete(value)?;
            return Ok(Value::Bool(true));
        }
        if let ("typeof", Expr::Name(name)) = (operator, value)
            && self.lookup(name).is_none()
            && !super::script_calls::is_global(name)
        {
            return Ok(Value::text("undefined"));
        }
        let value = self.value(value)?;
        Ok(match operator {
            "!" => self.truth(&value).map_or_else(|| self.unknown_of([&value]), |truth| Value::Bool(!truth)),
            "-" => match (&value, value.as_int()) {
                (Value::Float(number), _) => Value::Float(-number),
                (_, Some(number)) => Value::Int(-number),
                _ => self.unknown_of([&value]),
            },
            "+" if !self.is_python() => self.number_of(&value),
            "+" => value,
            "~" => value.as_int().map_or_else(|| self.unknown_of([&value]), |number| Value::Int(!number)),
            "typeof" => Value::text(match &value {
                Value::Undefined => "undefined",
                Value::Bool(_) => "boolean",
                Value::Int(_) | Value::Float(_) => "number",
                Value::Text(_) => "string",
                Value::Unknown | Value::Lost => return Ok(value),
                value if value.is_callable() => "function",
                Value::Native(name) if !name.contains('.') || name.starts_with("child_process.") => "function",
                _ => "object",
            }),
            _ => Value::Undefined,
        })
    }

    /// Applies an operator between two values.
    pub(super) fn binary(&mut self, left: &Value, operator: &str, right: &Value) -> Run<Value> {
        if let Some(value) = self.overloaded(left, operator, right)? {
            return Ok(value);
        }
        let (left, right) = (self.plain(left), self.plain(right));
        match (&left, operator, &right) {
            (Value::Int(_) | Value::Bool(_) | Value::Float(_), _, Value::Int(_) | Value::Bool(_) | Value::Float(_)) => {
                Ok(self.numbers(&left, operator, &right))
            }
            (Value::Path(path), "/", part) => {
                let part = self.text_of(part)?;
                Ok(Value::Path(joined_path(path, &part).into()))
            }
            (part, "/", Value::Path(path)) => {
                let part = self.text_of(part)?;
                Ok(Value::Path(joined_path(&part, path).into()))
            }
            (Value::Text(_), "+", _) | (_, "+", Value::Text(_)) => {
                if self.is_python() && !can_join(&left, &right) {
                    return Err(self.exception("TypeError", "can only concatenate str"));
                }
                let text = format!("{}{}", self.text_of(&left)?, self.text_of(&right)?);
                self.new_text(text)
            }
            (Value::Bytes(left), "+", Value::Bytes(right)) => {
                Ok(Value::Bytes(left.iter().chain(right.iter()).copied().collect()))
            }
            (Value::List(_) | Value::Tuple(_), "+", Value::List(_) | Value::Tuple(_)) if self.is_python() => {
                let mut items = self.items(&left)?;
                items.extend(self.items(&right)?);
                self.spend(items.len() / 8)?;
                Ok(if matches!(left, Value::Tuple(_)) { Value::Tuple(items.into()) } else { self.heap.new_list(items) })
            }
            (Value::List(_), "+", value) if value.is_unknown() && self.is_python() => {
                let mut items = self.items(&left)?;
                items.push(value.clone());
                Ok(self.heap.new_list(items))
            }
            (value, "+", Value::List(_)) if value.is_unknown() && self.is_python() => {
                let mut items = vec![value.clone()];
                items.extend(self.items(&right)?);
                Ok(self.heap.new_list(items))
            }
            (_, "+", _) if !self.is_python() && !left.is_unknown() && !right.is_unknown() => {
                let text = format!("{}{}", self.text_of(&left)?, self.text_of(&right)?);
                self.new_text(text)
            }
            (Value::Text(format), "%", _) if self.is_python() => self.percent(&format.clone(), &right),
            (Value::Bytes(format), "%", _) => {
                let format = String::from_utf8_lossy(format).into_owned();
                let text = self.percent(&format, &right)?;
                Ok(text.known_text().map_or(Value::Lost, |text| Value::Bytes(text.as_bytes().into())))
            }
            (_, "*", Value::Int(times)) => self.repeated(&left, *times),
            (Value::Int(times), "*", _) => self.repeated(&right, *times),
            (Value::Set(_), "|" | "&" | "-" | "^", _) => self.combined_sets(&left, operator, &right),
            (Value::Dict(_), "|", Value::Dict(_)) => {
                let copy = self.dict_of(&left);
                let copy = self.heap.new_dict(copy);
                self.call_method(copy.clone(), "update", vec![right])?;
                Ok(copy)
            }
            (_, "|" | "&" | "^" | "-" | "*" | "/" | "%" | "<<" | ">>", _) if !self.is_python() => {
                let (left, right) = (self.number_of(&left), self.number_of(&right));
                Ok(self.numbers(&left, operator, &right))
            }
            // Types: `int | None`
            (Value::Native(_) | Value::Class(_) | Value::None, "|", _) => Ok(left),
            _ => Ok(self.unknown_of([&left, &right])),
        }
    }

    /// The value of a class of the language that an object stands for.
    pub(super) fn plain(&self, value: &Value) -> Value {
        match value {
            Value::Object(id) => match self.heap.object(*id).and_then(|data| data.inner.clone()) {
                Some(inner) => inner,
                None => value.clone(),
            },
            value => value.clone(),
        }
    }

    /// The result of an operator that a class of the program has.
    fn overloaded(&mut self, left: &Value, operator: &str, right: &Value) -> Run<Option<Value>> {
        let name = match operator {
            "+" => "add",
            "-" => "sub",
            "*" => "mul",
            "/" => "truediv",
            "//" => "floordiv",
            "%" => "mod",
            "|" => "or",
            "&" => "and",
            "^" => "xor",
            "<<" => "lshift",
            ">>" => "rshift",
            "@" => "matmul",
            "**" => "pow",
            _ => return Ok(None),
        };
        for (object, other, prefix) in [(left, right, "__"), (right, left, "__r")] {
            if let Some(method) = self.class_member(object, &format!("{prefix}{name}__")) {
                let method = self.bind(object, method)?;
                return Ok(Some(self.call_as(None, &method, Given::of(vec![other.clone()]))?));
            }
        }
        Ok(None)
    }

    fn repeated(&mut self, value: &Value, times: i128) -> Run<Value> {
        let times = usize::try_from(times).unwrap_or(0);
        Ok(match value {
            Value::Text(text) if text.len().saturating_mul(times) <= LONGEST => {
                return self.new_text(text.repeat(times));
            }
            Value::Bytes(bytes) if bytes.len().saturating_mul(times) <= LONGEST => {
                Value::Bytes(bytes.repeat(times).into())
            }
            Value::List(_) | Value::Tuple(_) => {
                let items = self.items(value)?;
                if items.len().saturating_mul(times) > LONGEST {
                    return Ok(Value::Lost);
                }
                self.spend(items.len() * times / 8)?;
                let items: Vec<Value> = std::iter::repeat_n(items, times).flatten().collect();
                if matches!(value, Value::Tuple(_)) { Value::Tuple(items.into()) } else { self.heap.new_list(items) }
            }
            value => self.unknown_of([value]),
        })
    }

    /// Compares two values.
    pub(super) fn compare(&mut self, left: &Value, operator: &str, right: &Value) -> Run<Value> {
        let answer = match operator {
            "===" | "!==" if !self.is_python() && is_other_type(left, right) => Some(operator == "!=="),
            "==" | "===" => self.equals(left, right),
            "!=" | "!==" => self.equals(left, right).map(|same| !same),
            "in" if !self.is_python() => self.has_member(right, left)?,
            "in" => self.contains(right, left),
            "!in" => self.contains(right, left).map(|has| !has),
            "instanceof" => self.is_kind(left, right),
            operator => self.ordered(left, operator, right)?,
        };
        Ok(answer.map_or_else(|| self.unknown_of([left, right]), Value::Bool))
    }

    fn ordered(&mut self, left: &Value, operator: &str, right: &Value) -> Run<Option<bool>> {
        let name = match operator {
            "<" => "__lt__",
            ">" => "__gt__",
            "<=" => "__le__",
            _ => "__ge__",
        };
        if let Some(method) = self.class_member(left, name) {
            let method = self.bind(left, method)?;
            let answer = self.call(method, vec![right.clone()])?;
            return Ok(self.truth(&answer));
        }
        let (left, right) = (self.plain(left), self.plain(right));
        let order = self.order(&left, &right)?;
        Ok(order.map(|order| match operator {
            "<" => order.is_lt(),
            ">" => order.is_gt(),
            "<=" => order.is_le(),
            _ => order.is_ge(),
        }))
    }

    /// The order of two values; none if that is not known.
    pub(super) fn order(&mut self, left: &Value, right: &Value) -> Run<Option<std::cmp::Ordering>> {
        self.deeper(|trial| trial.order_within(left, right))
    }

    fn order_within(&mut self, left: &Value, right: &Value) -> Run<Option<std::cmp::Ordering>> {
        Ok(match (left, right) {
            (Value::Text(left), Value::Text(right)) => match (self.spelled(left), self.spelled(right)) {
                (Some(left), Some(right)) => Some(left.cmp(&right)),
                _ => None,
            },
            (Value::Bytes(left), Value::Bytes(right)) => Some(left.cmp(right)),
            (Value::Float(_), Value::Int(_) | Value::Float(_)) | (Value::Int(_), Value::Float(_)) => {
                super::numbers::as_float(left).partial_cmp(&super::numbers::as_float(right))
            }
            (Value::List(_) | Value::Tuple(_), Value::List(_) | Value::Tuple(_)) => {
                let (left, right) = (self.items(left)?, self.items(right)?);
                for (left, right) in left.iter().zip(&right) {
                    match self.order(left, right)? {
                        Some(std::cmp::Ordering::Equal) => {}
                        order => return Ok(order),
                    }
                }
                Some(left.len().cmp(&right.len()))
            }
            (left, right) if !self.is_python() && !left.is_unknown() && !right.is_unknown() => {
                let (left, right) = (self.number_of(left), self.number_of(right));
                left.as_int().zip(right.as_int()).map(|(left, right)| left.cmp(&right))
            }
            (left, right) => left.as_int().zip(right.as_int()).map(|(left, right)| left.cmp(&right)),
        })
    }

    /// True if a value is in another one; none if that is not known.
    pub(super) fn contains(&mut self, container: &Value, item: &Value) -> Option<bool> {
        if let Some(method) = self.class_member(container, "__contains__") {
            let method = self.bind(container, method).ok()?;
            let answer = self.call(method, vec![item.clone()]).ok()?;
            return self.truth(&answer);
        }
        let (container, item) = (self.plain(container), self.plain(item));
        match (&container, &item) {
            (Value::Text(text), Value::Text(part)) => {
                // Letters that are known are there, whatever the rest is.
                let (text, part) = (self.walk.world.concrete(text), self.spelled(part)?);
                if text.contains(&part) {
                    return Some(true);
                }
                if text.contains(crate::marks::is_mark) { None } else { Some(false) }
            }
            (Value::Bytes(text), Value::Bytes(part)) => {
                Some(part.is_empty() || text.windows(part.len()).any(|window| window == part.as_ref()))
            }
            (Value::Dict(id), item) => {
                let key = self.key_of(item)?;
                self.heap.dict(*id).map(|dict| dict.get(&key).is_some())
            }
            (Value::Set(id), item) => {
                let key = self.key_of(item).filter(|_| !item.is_listing())?;
                let set = self.heap.set(*id)?;
                let has = set.get(&key).is_some();
                let is_open = set.entries().iter().any(|(key, _)| key.is_unknown() || key.is_listing());
                if has {
                    Some(true)
                } else if is_open {
                    None
                } else {
                    Some(false)
                }
            }
            (Value::List(_) | Value::Tuple(_) | Value::Iterator(_), item) => {
                let mut found = Some(false);
                for own in self.items(&container).ok()? {
                    match self.equals(&own, item) {
                        Some(true) => return Some(true),
                        None => found = None,
                        Some(false) => {}
                    }
                }
                found
            }
            (Value::Class(_), item) => {
                let members = self.items(&container).ok()?;
                Some(
                    members.iter().any(
                        |member| matches!((member, item), (Value::Object(one), Value::Object(other)) if one == other),
                    ),
                )
            }
            (Value::Native(name), Value::Text(key)) => self.native_contains(&name.clone(), &key.clone()),
            (Value::Bound(inner), Value::Text(key)) if inner.1.as_ref() == "namespace" => {
                Some(self.lookup(&key.clone()).is_some())
            }
            _ => None,
        }
    }

    /// `key in object`, in JavaScript.
    fn has_member(&mut self, object: &Value, key: &Value) -> Run<Option<bool>> {
        match object {
            Value::Bound(inner) if inner.1.as_ref() == "proxy" => {
                let Value::Tuple(parts) = &inner.0 else { return Ok(None) };
                let Some(handler) = parts.get(1).cloned() else { return Ok(None) };
                let has = self.member(&handler, "has")?;
                if has.is_nothing() {
                    let target = parts.first().cloned().unwrap_or(Value::Undefined);
                    return self.has_member(&target, key);
                }
                let answer = self.call_as(
                    Some(handler),
                    &has,
                    Given::of(vec![parts.first().cloned().unwrap_or(Value::Undefined), key.clone()]),
                )?;
                Ok(self.truth(&answer))
            }
            Value::List(_) => Ok(key.as_int().and_then(|at| Some(usize::try_from(at).ok()? < self.list_len(object)?))),
            Value::Object(_) | Value::Class(_) => {
                let name = self.text_of(key)?;
                let value = self.member(object, &name)?;
                Ok(Some(!value.is_nothing() && !matches!(value, Value::Bound(_))))
            }
            object => Ok(self.contains(object, key)),
        }
    }
}

/// True if Python would join these: texts, and what is not known.
fn can_join(left: &Value, right: &Value) -> bool {
    let is_text = |value: &Value| matches!(value, Value::Text(_) | Value::Unknown | Value::Lost | Value::Process(_));
    is_text(left) && is_text(right)
}

/// True if two values of JavaScript have types that differ, for certain.
fn is_other_type(left: &Value, right: &Value) -> bool {
    let kind = |value: &Value| match value {
        Value::Undefined => 1,
        Value::None => 2,
        Value::Bool(_) => 3,
        Value::Int(_) | Value::Float(_) => 4,
        Value::Text(text) if !is_doubtful(text) || matches!(unknown_like(text), Value::Lost) => 5,
        Value::Unknown | Value::Lost | Value::Text(_) => 0,
        _ => 6,
    };
    let (left, right) = (kind(left), kind(right));
    left != 0 && right != 0 && left != right
}
