//! Classes and their objects, exceptions, and context managers.

use std::rc::Rc;

use crate::walk::program::call::Given;
use crate::walk::program::value::{Cell, ClassData, Dict, Id, ObjectData, Value, text_key};
use crate::walk::program::{Run, Stop, Trial};

/// The most classes that one comes from.
const MOST_BASES: usize = 24;

/// Exceptions of the languages, each with the one that it is a kind of.
const EXCEPTIONS: [(&str, &str); 40] = [
    ("Exception", "BaseException"),
    ("Error", "BaseException"),
    ("SystemExit", "BaseException"),
    ("KeyboardInterrupt", "BaseException"),
    ("ArithmeticError", "Exception"),
    ("ZeroDivisionError", "ArithmeticError"),
    ("OverflowError", "ArithmeticError"),
    ("AssertionError", "Exception"),
    ("AttributeError", "Exception"),
    ("EOFError", "Exception"),
    ("ImportError", "Exception"),
    ("ModuleNotFoundError", "ImportError"),
    ("LookupError", "Exception"),
    ("IndexError", "LookupError"),
    ("KeyError", "LookupError"),
    ("NameError", "Exception"),
    ("OSError", "Exception"),
    ("FileNotFoundError", "OSError"),
    ("FileExistsError", "OSError"),
    ("PermissionError", "OSError"),
    ("NotADirectoryError", "OSError"),
    ("IsADirectoryError", "OSError"),
    ("ConnectionError", "OSError"),
    ("TimeoutError", "OSError"),
    ("RuntimeError", "Exception"),
    ("NotImplementedError", "RuntimeError"),
    ("RecursionError", "RuntimeError"),
    ("StopIteration", "Exception"),
    ("StopAsyncIteration", "Exception"),
    ("SyntaxError", "Exception"),
    ("TypeError", "Exception"),
    ("ValueError", "Exception"),
    ("UnicodeDecodeError", "ValueError"),
    ("JSONDecodeError", "ValueError"),
    ("SubprocessError", "Exception"),
    ("CalledProcessError", "SubprocessError"),
    ("TimeoutExpired", "SubprocessError"),
    ("RangeError", "Error"),
    ("ReferenceError", "Error"),
    ("BaseException", ""),
];

/// True if the languages have an exception of this name.
pub(super) fn is_exception(name: &str) -> bool {
    EXCEPTIONS.iter().any(|(own, _)| *own == name)
}

impl Trial<'_, '_> {
    /// A class that the language has.
    pub(super) fn builtin_class(&mut self, name: &str) -> Value {
        if let Some(id) = self.classes.get(name) {
            return Value::Class(*id);
        }
        let is_script = !self.is_python();
        let base = match EXCEPTIONS.iter().find(|(own, _)| *own == name) {
            Some((_, "" | "BaseException")) if name == "BaseException" => None,
            Some((_, "Exception")) if is_script => Some("Error"),
            Some((_, base)) => Some(*base),
            None => None,
        };
        let bases = match base {
            Some(base) => vec![self.builtin_class(base)],
            None => Vec::new(),
        };
        let data = ClassData { name: name.to_owned(), bases, ..ClassData::default() };
        let id = self.heap.add(Cell::Class(Box::new(data)));
        self.classes.insert(name.to_owned(), id);
        Value::Class(id)
    }

    /// Raises an exception of the language.
    pub(super) fn exception(&mut self, name: &str, message: &str) -> Stop {
        let class = self.builtin_class(name);
        let object = self.exception_object(class, vec![Value::text(message)]);
        Stop::Raise(object)
    }

    fn exception_object(&mut self, class: Value, values: Vec<Value>) -> Value {
        let mut fields = Dict::default();
        fields.set("message", values.first().cloned().unwrap_or(Value::text("")));
        for name in
            ["returncode", "stdout", "stderr", "output", "cmd", "code", "status", "errno", "strerror", "filename"]
        {
            fields.set(name, Value::Unknown);
        }
        if let Some(first) = values.first() {
            fields.set("value", first.clone());
        }
        fields.set("args", Value::Tuple(values.into()));
        Value::Object(self.heap.add(Cell::Object(Box::new(ObjectData { class, fields, inner: None }))))
    }

    /// The classes that a class comes from, itself first.
    pub(super) fn line_of(&self, class: &Value) -> Vec<Value> {
        let mut line = Vec::new();
        self.extend_line(class, &mut line, 0);
        // A class that two others come from stands behind both.
        let mut kept: Vec<Value> = Vec::new();
        for class in line.into_iter().rev() {
            if !kept.iter().any(|known| same_class(known, &class)) {
                kept.push(class);
            }
        }
        kept.reverse();
        kept
    }

    fn extend_line(&self, class: &Value, line: &mut Vec<Value>, depth: usize) {
        if line.len() >= MOST_BASES || depth >= MOST_BASES {
            return;
        }
        line.push(class.clone());
        if let Value::Class(id) = class
            && let Some(data) = self.heap.class(*id)
        {
            for base in &data.bases {
                self.extend_line(base, line, depth + 1);
            }
        }
    }

    /// A member that the class of an object has.
    pub(super) fn class_member(&self, object: &Value, name: &str) -> Option<Value> {
        let class = match object {
            Value::Object(id) => self.heap.object(*id)?.class.clone(),
            Value::Class(_) => object.clone(),
            _ => return None,
        };
        self.member_in(&self.line_of(&class), name)
    }

    pub(super) fn member_in(&self, line: &[Value], name: &str) -> Option<Value> {
        let key = text_key(name);
        line.iter().find_map(|class| match class {
            Value::Class(id) => {
                self.heap.class(*id)?.members.get(&key).filter(|value| !matches!(value, Value::Undefined)).cloned()
            }
            _ => None,
        })
    }

    /// True if a class that the language has is among those that a class comes from.
    pub(super) fn comes_from(&self, class: &Value, names: &[&str]) -> bool {
        self.line_of(class).iter().any(|class| match class {
            Value::Native(own) => names.contains(&own.rsplit('.').next().unwrap_or(own)),
            Value::Class(id) => names.iter().any(|name| self.classes.get(*name) == Some(id)),
            _ => false,
        })
    }

    /// Makes an object of a class.
    pub(super) fn new_object(&mut self, class: &Value, given: Given) -> Run<Value> {
        let Value::Class(id) = class else {
            return match class {
                // A function of JavaScript makes an object, too.
                Value::Function(function) if !self.is_python() => self.new_by_function(*function, given),
                Value::Native(name) => self.new_native(&name.clone(), given),
                other => self.call_as(None, other, given),
            };
        };
        self.step()?;
        if self.comes_from(class, &["Enum", "IntEnum", "StrEnum", "Flag"]) {
            return Ok(self.enum_by_value(*id, &given.at(0)));
        }
        let line = self.line_of(class);
        let is_data = line
            .iter()
            .any(|class| matches!(class, Value::Class(id) if self.heap.class(*id).is_some_and(|data| data.is_data)));
        let object = if self.comes_from(class, &["BaseException"]) {
            self.exception_object(class.clone(), given.values.clone())
        } else {
            let data = ObjectData { class: class.clone(), fields: Dict::default(), inner: None };
            Value::Object(self.heap.add(Cell::Object(Box::new(data))))
        };
        let fields: Vec<(Value, Value)> = line.iter().rev().flat_map(|class| self.fields_of_class(class)).collect();
        for (key, value) in fields {
            let value = match value {
                Value::Function(_) => self.call_as(Some(object.clone()), &value, Given::default())?,
                value => value,
            };
            self.set_field(&object, &key, value)?;
        }
        if let Some(maker) = self.member_in(&line, "__new__") {
            let maker = if let Value::Bound(inner) = &maker { inner.0.clone() } else { maker };
            let mut all = given.clone();
            all.values.insert(0, class.clone());
            let made = self.call_as(None, &maker, all)?;
            if !matches!(made, Value::Object(_)) && !made.is_unknown() {
                return Ok(made);
            }
            if let Value::Object(_) = made {
                return self.start_object(made, &line, is_data, given);
            }
        }
        self.start_object(object, &line, is_data, given)
    }

    fn start_object(&mut self, object: Value, line: &[Value], is_data: bool, given: Given) -> Run<Value> {
        if let Some(start) = self.member_in(line, "__init__") {
            self.fill_inner(&object, line, &Given::of(given.values.clone()))?;
            let start = self.bind(&object, start)?;
            self.call_as(None, &start, given)?;
        } else if is_data {
            self.fill_data(&object, line, given)?;
        } else {
            self.fill_inner(&object, line, &given)?;
            self.start_native_base(&object, line, &given)?;
        }
        Ok(object)
    }

    fn fields_of_class(&self, class: &Value) -> Vec<(Value, Value)> {
        match class {
            Value::Class(id) => self.heap.class(*id).map(|data| data.fields.clone()).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    /// The value of a class of the language that an object comes from: a list, a table, a text.
    fn fill_inner(&mut self, object: &Value, line: &[Value], given: &Given) -> Run<()> {
        let base = line.iter().find_map(|class| match class {
            Value::Native(name) => Some(Rc::clone(name)),
            _ => None,
        });
        let Some(base) = base else { return Ok(()) };
        let kind = base.rsplit('.').next().unwrap_or(&base);
        let maker = match kind {
            "list" | "dict" | "set" | "tuple" | "str" | "int" | "OrderedDict" | "defaultdict" | "deque"
            | "UserDict" | "UserList" | "Array" | "Map" | "Set" => base.as_ref(),
            _ => return Ok(()),
        };
        let inner = if self.is_python() {
            self.call_native(maker, given.clone())?
        } else {
            self.new_native(maker, given.clone())?
        };
        if let Value::Object(id) = object
            && let Some(data) = self.heap.object_mut(*id)
        {
            data.inner = Some(inner);
        }
        Ok(())
    }

    /// Gives the fields of a data class their values.
    fn fill_data(&mut self, object: &Value, line: &[Value], given: Given) -> Run<()> {
        let mut names: Vec<(Rc<str>, Value)> = Vec::new();
        for class in line.iter().rev() {
            let Value::Class(id) = class else { continue };
            let members = self.heap.class(*id).map(|data| data.members.clone()).unwrap_or_default();
            for (key, value) in members.entries() {
                let name = self.text_of(key)?;
                let is_method = matches!(value, Value::Function(_) | Value::Bound(_) | Value::Accessor(_));
                if !is_method && !name.starts_with("__") {
                    names.retain(|(known, _)| *known != name);
                    names.push((name, value.clone()));
                }
            }
        }
        let mut values = given.values.into_iter();
        let mut all = Vec::new();
        for (name, default) in names {
            let by_name = given.named.iter().find(|(own, _)| *own == name).map(|(_, value)| value.clone());
            let value = match by_name.or_else(|| values.next()) {
                Some(value) => value,
                None => self.field_default(default)?,
            };
            all.push(value.clone());
            self.set_field(object, &Value::Text(name), value)?;
        }
        if line.iter().any(|class| matches!(class, Value::Native(name) if name.ends_with("NamedTuple")))
            && let Value::Object(id) = object
            && let Some(data) = self.heap.object_mut(*id)
        {
            data.inner = Some(Value::Tuple(all.into()));
        }
        if let Some(later) = self.member_in(line, "__post_init__") {
            let later = self.bind(object, later)?;
            self.call_as(None, &later, Given::default())?;
        }
        Ok(())
    }

    /// The default of a field: `field(default_factory=list)`.
    fn field_default(&mut self, default: Value) -> Run<Value> {
        if let Value::Partial(partial) = &default
            && matches!(&partial.function, Value::Native(name) if name.ends_with("field"))
        {
            let named =
                |name: &str| partial.named.iter().find(|(own, _)| own.as_ref() == name).map(|(_, value)| value.clone());
            return match (named("default"), named("default_factory")) {
                (Some(value), _) => Ok(value),
                (_, Some(maker)) => self.call(maker, Vec::new()),
                _ => Ok(Value::None),
            };
        }
        Ok(if matches!(default, Value::Undefined) { Value::Unknown } else { default })
    }

    fn enum_by_value(&mut self, id: Id, value: &Value) -> Value {
        let members = self.heap.class(id).map(|data| data.members.clone()).unwrap_or_default();
        for (_, member) in members.entries() {
            if let Value::Object(object) = member
                && let Some(own) = self.heap.object(*object).and_then(|data| data.fields.named("value")).cloned()
                && self.equals(&own, value) == Some(true)
            {
                return member.clone();
            }
        }
        Value::Unknown
    }

    fn new_by_function(&mut self, function: Id, given: Given) -> Run<Value> {
        let class = match self.heap.closure(function).and_then(|closure| closure.fields.named("prototype")) {
            Some(prototype) => prototype.clone(),
            None => Value::Undefined,
        };
        let mut fields = Dict::default();
        if let Value::Dict(id) = class {
            fields = self.heap.dict(id).cloned().unwrap_or_default();
        }
        let object = self.heap.new_dict(fields);
        let result = self.call_closure(function, Some(object.clone()), given)?;
        Ok(if matches!(result, Value::Dict(_) | Value::Object(_) | Value::List(_)) { result } else { object })
    }

    pub(super) fn set_field(&mut self, object: &Value, key: &Value, value: Value) -> Run<()> {
        let name = self.text_of(key)?;
        match object {
            Value::Object(id) => {
                if let Some(data) = self.heap.object_mut(*id) {
                    data.fields.set(&name, value);
                }
            }
            Value::Dict(id) => {
                if let Some(dict) = self.heap.dict_mut(*id) {
                    dict.set(&name, value);
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// True if a value is of a kind, or of one of several.
    pub(super) fn is_kind(&mut self, value: &Value, kinds: &Value) -> Option<bool> {
        if let Value::Tuple(kinds) = kinds {
            let mut found = Some(false);
            for kind in kinds.iter() {
                match self.is_kind(value, kind) {
                    Some(true) => return Some(true),
                    None => found = None,
                    Some(false) => {}
                }
            }
            return found;
        }
        match (value, kinds) {
            (Value::Object(id), Value::Class(_) | Value::Native(_)) => {
                let class = self.heap.object(*id)?.class.clone();
                let line = self.line_of(&class);
                let short = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
                let is_same = |own: &Value| match (own, kinds) {
                    (Value::Native(own), Value::Native(kind)) => short(own) == short(kind),
                    (Value::Class(own), Value::Native(kind)) => self.classes.get(&short(kind)) == Some(own),
                    (own, kind) => same_class(own, kind),
                };
                Some(line.iter().any(is_same))
            }
            (value, _) if value.is_unknown() => None,
            (value, Value::Native(name)) => Self::is_native_kind(value, name),
            (Value::Class(own), Value::Class(_)) => {
                let line = self.line_of(&Value::Class(*own));
                Some(line.iter().any(|class| same_class(class, kinds)))
            }
            (_, kinds) if kinds.is_unknown() => None,
            _ => Some(false),
        }
    }
}

pub(super) fn same_class(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Class(left), Value::Class(right)) => left == right,
        (Value::Native(left), Value::Native(right)) => left == right,
        _ => false,
    }
}
