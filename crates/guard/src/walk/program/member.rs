//! Members and items of values, and their assignment.

use std::rc::Rc;

use crate::walk::program::call::Given;
use crate::walk::program::value::{Id, Value, text_key};
use crate::walk::program::{Run, Trial};

impl Trial<'_, '_> {
    /// A member of a value, bound to it if it is a method.
    pub(super) fn member(&mut self, object: &Value, name: &str) -> Run<Value> {
        self.step()?;
        self.deeper(|trial| trial.any_member(object, name))
    }

    fn any_member(&mut self, object: &Value, name: &str) -> Run<Value> {
        match object {
            Value::Object(id) => self.object_member(*id, object, name),
            Value::Class(id) => self.class_part(*id, object, name),
            Value::Native(own) => self.native_member(&own.clone(), name),
            Value::Dict(id) if !self.is_python() => self.table_member(*id, object, name),
            Value::Bound(inner) if inner.1.as_ref() == "super" => self.super_member(&inner.0.clone(), name),
            Value::Bound(inner) if inner.1.as_ref() == "proxy" => self.proxy_member(&inner.0.clone(), name),
            Value::Bound(inner) if inner.1.as_ref() == "namespace" => self.item(&inner.0.clone(), &Value::text(name)),
            Value::Function(id) => {
                let field = self.heap.closure(*id).and_then(|closure| closure.fields.named(name)).cloned();
                if let Some(field) = field {
                    return Ok(field);
                }
                match name {
                    "__name__" | "name" | "__qualname__" => {
                        let name = self.heap.closure(*id).map(|closure| Rc::clone(&closure.function.name));
                        Ok(name.map_or(Value::Unknown, Value::Text))
                    }
                    "length" => {
                        let count = self.heap.closure(*id).map_or(0, |closure| closure.function.parameters.len());
                        Ok(Value::number(count))
                    }
                    "prototype" if !self.is_python() => {
                        let dict = self.heap.new_dict(super::value::Dict::default());
                        if let Some(closure) = self.heap.closure_mut(*id) {
                            closure.fields.set("prototype", dict.clone());
                        }
                        Ok(dict)
                    }
                    "__wrapped__" => Ok(object.clone()),
                    "__doc__" | "__dict__" | "__module__" => Ok(Value::Unknown),
                    _ => Ok(bound(object, name)),
                }
            }
            value if value.is_unknown() => Ok(value.clone()),
            Value::None | Value::Undefined => {
                let kind = if self.is_python() { "AttributeError" } else { "TypeError" };
                Err(self.exception(kind, "nothing has no members"))
            }
            object => match self.value_member(object, name)? {
                Some(value) => Ok(value),
                None => Ok(bound(object, name)),
            },
        }
    }

    fn object_member(&mut self, id: Id, object: &Value, name: &str) -> Run<Value> {
        let key = text_key(name);
        let Some(data) = self.heap.object(id) else { return Ok(Value::Unknown) };
        if let Some(field) = data.fields.get(&key) {
            return Ok(field.clone());
        }
        let (class, inner) = (data.class.clone(), data.inner.clone());
        let line = self.line_of(&class);
        if let Some(member) = self.member_in(&line, name) {
            return self.bind(object, member);
        }
        match name {
            "__class__" | "constructor" => return Ok(class),
            "__dict__" => {
                let fields = self.heap.object(id).map(|data| data.fields.clone()).unwrap_or_default();
                return Ok(self.heap.new_dict(fields));
            }
            _ => {}
        }
        if let Some(inner) = inner
            && (name != "__getattr__" && self.has_builtin_member(&inner, name))
        {
            return self.member(&inner, name);
        }
        if !name.starts_with("__")
            && let Some(finder) =
                self.member_in(&line, "__getattr__").or_else(|| self.member_in(&line, "__getattribute__"))
        {
            let finder = self.bind(object, finder)?;
            return self.call(finder, vec![Value::text(name)]);
        }
        Ok(self.native_object_member(object, &line, name))
    }

    fn class_part(&mut self, id: Id, class: &Value, name: &str) -> Run<Value> {
        let line = self.line_of(class);
        match self.member_in(&line, name) {
            Some(Value::Bound(inner)) if inner.1.as_ref() == "classmethod" => {
                return Ok(Value::Method(Rc::new((class.clone(), inner.0.clone()))));
            }
            Some(Value::Bound(inner)) if inner.1.as_ref() == "staticmethod" => return Ok(inner.0.clone()),
            Some(Value::Accessor(inner)) if !self.is_python() => {
                return self.call_as(Some(class.clone()), &inner.0, Given::default());
            }
            Some(member) => return Ok(member),
            None => {}
        }
        let data = self.heap.class(id).cloned().unwrap_or_default();
        if let Some(value) = self.meta_member(class, &line, name)? {
            return Ok(value);
        }
        Ok(match name {
            "__name__" | "name" | "__qualname__" => Value::text(data.name),
            "__members__" | "__dict__" => self.heap.new_dict(data.members),
            "__subclasses__" | "mro" => bound(class, name),
            "prototype" => class.clone(),
            "__new__" | "__init__" => Value::native(format!("object.{name}")),
            _ if line.iter().any(|class| matches!(class, Value::Native(_))) => bound(class, name),
            _ if self.is_python() => return Err(self.exception("AttributeError", name)),
            _ => Value::Undefined,
        })
    }

    /// A member that a class has from its metaclass.
    fn meta_member(&mut self, class: &Value, line: &[Value], name: &str) -> Run<Option<Value>> {
        let meta = line.iter().find_map(|class| match class {
            Value::Class(id) => self.heap.class(*id)?.meta.clone(),
            _ => None,
        });
        let Some(meta) = meta else { return Ok(None) };
        let metas = self.line_of(&meta);
        if let Some(member) = self.member_in(&metas, name) {
            return self.bind(class, member).map(Some);
        }
        match self.member_in(&metas, "__getattr__") {
            Some(finder) if !name.starts_with("__") => {
                let finder = self.bind(class, finder)?;
                self.call(finder, vec![Value::text(name)]).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// A member of a class as an object has it.
    pub(super) fn bind(&mut self, object: &Value, member: Value) -> Run<Value> {
        Ok(match member {
            Value::Function(_) => Value::Method(Rc::new((object.clone(), member))),
            Value::Accessor(inner) => {
                return self.call_as(
                    None,
                    &Value::Method(Rc::new((object.clone(), inner.0.clone()))),
                    Given::default(),
                );
            }
            Value::Bound(inner) if inner.1.as_ref() == "staticmethod" => inner.0.clone(),
            Value::Bound(inner) if inner.1.as_ref() == "classmethod" => {
                let class = self.class_of(object);
                Value::Method(Rc::new((class, inner.0.clone())))
            }
            // A descriptor.
            Value::Object(_) => match self.class_member(&member, "__get__") {
                Some(getter) => {
                    let class = self.class_of(object);
                    let getter = self.bind(&member, getter)?;
                    self.call(getter, vec![object.clone(), class])?
                }
                None => member,
            },
            member => member,
        })
    }

    pub(super) fn class_of(&self, object: &Value) -> Value {
        match object {
            Value::Object(id) => self.heap.object(*id).map_or(Value::Unknown, |data| data.class.clone()),
            Value::Class(_) => object.clone(),
            _ => Value::Unknown,
        }
    }

    /// A member of a table of JavaScript.
    pub(super) fn table_member(&mut self, id: Id, object: &Value, name: &str) -> Run<Value> {
        let key = text_key(name);
        let Some(dict) = self.heap.dict(id) else { return Ok(Value::Unknown) };
        match dict.get(&key).cloned() {
            Some(Value::Accessor(inner)) => self.call_as(Some(object.clone()), &inner.0, Given::default()),
            Some(value) => Ok(value),
            None => match dict.named("__proto__").cloned() {
                Some(parent @ (Value::Dict(_) | Value::Object(_))) if name != "__proto__" => {
                    match self.member(&parent, name)? {
                        Value::Method(inner) => Ok(inner.1.clone()),
                        value => Ok(value),
                    }
                }
                _ if is_table_method(name) => Ok(bound(object, name)),
                _ => Ok(Value::Undefined),
            },
        }
    }

    /// `super().name`: the member of the next class in line.
    fn super_member(&mut self, parts: &Value, name: &str) -> Run<Value> {
        let Value::Tuple(parts) = parts else { return Ok(Value::Unknown) };
        let (Some(object), Some(home)) = (parts.first(), parts.get(1)) else { return Ok(Value::Unknown) };
        let line = self.line_of(&self.class_of(object));
        let at = line.iter().position(|class| super::objects::same_class(class, home)).map_or(0, |at| at + 1);
        let rest = line.get(at..).unwrap_or(&[]);
        if let Some(member) = self.member_in(rest, name) {
            return self.bind(object, member);
        }
        if let Value::Object(id) = object
            && let Some(inner) = self.heap.object(*id).and_then(|data| data.inner.clone())
        {
            return self.member(&inner, name);
        }
        // The start of a class that the language has.
        Ok(bound(object, &format!("super.{name}")))
    }

    /// A member of a proxy: its handler answers.
    fn proxy_member(&mut self, parts: &Value, name: &str) -> Run<Value> {
        let Value::Tuple(parts) = parts else { return Ok(Value::Unknown) };
        let (Some(target), Some(handler)) = (parts.first().cloned(), parts.get(1).cloned()) else {
            return Ok(Value::Unknown);
        };
        let getter = self.member(&handler, "get")?;
        if getter.is_nothing() {
            return self.member(&target, name);
        }
        self.call_as(Some(handler), &getter, Given::of(vec![target, Value::text(name), Value::Undefined]))
    }

    pub(super) fn set_member(&mut self, object: &Value, name: &str, value: Value) -> Run<()> {
        match object {
            Value::Object(_) => {
                let setter = match self.class_member(object, name) {
                    Some(Value::Accessor(inner)) => Some(inner.1.clone()),
                    Some(descriptor @ Value::Object(_)) => match self.class_member(&descriptor, "__set__") {
                        Some(setter) => Some(self.bind(&descriptor, setter)?),
                        None => None,
                    },
                    _ => None,
                };
                match setter {
                    Some(setter) if setter.is_callable() => {
                        self.call_as(None, &Value::Method(Rc::new((object.clone(), setter))), Given::of(vec![value]))?;
                    }
                    _ => match self.class_member(object, "__setattr__") {
                        Some(setter) if self.is_python() => {
                            let setter = self.bind(object, setter)?;
                            self.call(setter, vec![Value::text(name), value])?;
                        }
                        _ => self.set_field(object, &Value::text(name), value)?,
                    },
                }
            }
            Value::Class(id) => {
                if let Some(data) = self.heap.class_mut(*id) {
                    data.members.set(name, value);
                }
            }
            Value::Function(id) => {
                if let Some(closure) = self.heap.closure_mut(*id) {
                    closure.fields.set(name, value);
                }
            }
            Value::Native(own) => self.set_native_member(&own.clone(), name, value)?,
            Value::List(id) if name == "length" => {
                if let (Some(items), Some(length)) = (self.heap.list_mut(*id), value.as_int()) {
                    items.truncate(usize::try_from(length).unwrap_or(0));
                }
            }
            Value::Bound(inner) if inner.1.as_ref() == "proxy" => self.set_in_proxy(&inner.0.clone(), name, value)?,
            Value::Dict(_) => self.set_item(object, &Value::text(name), value)?,
            _ => {}
        }
        Ok(())
    }

    fn set_in_proxy(&mut self, parts: &Value, name: &str, value: Value) -> Run<()> {
        let Value::Tuple(parts) = parts else { return Ok(()) };
        let (Some(target), Some(handler)) = (parts.first().cloned(), parts.get(1).cloned()) else { return Ok(()) };
        let setter = self.member(&handler, "set")?;
        if setter.is_nothing() {
            return self.set_member(&target, name, value);
        }
        self.call_as(Some(handler), &setter, Given::of(vec![target, Value::text(name), value]))?;
        Ok(())
    }
}

/// A method of a value that the language has.
pub(super) fn bound(object: &Value, name: &str) -> Value {
    Value::Bound(Rc::new((object.clone(), Rc::from(name))))
}

fn is_table_method(name: &str) -> bool {
    matches!(
        name,
        "hasOwnProperty"
            | "toString"
            | "then"
            | "get"
            | "set"
            | "has"
            | "delete"
            | "forEach"
            | "keys"
            | "values"
            | "entries"
            | "clear"
            | "size"
            | "valueOf"
            | "on"
            | "once"
            | "emit"
            | "constructor"
    )
}

/// The place of an index in a list of some length.
pub(super) fn place(key: &Value, length: usize) -> Option<usize> {
    let at = key.as_int()?;
    let at = if at < 0 { at + i128::try_from(length).ok()? } else { at };
    usize::try_from(at).ok().filter(|at| *at < length)
}
