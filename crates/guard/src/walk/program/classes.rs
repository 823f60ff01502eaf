//! Classes as the program writes them.

use std::rc::Rc;

use crate::walk::program::call::Given;
use crate::walk::program::syntax::{Class, EntryKind, Member};
use crate::walk::program::value::{Cell, ClassData, Dict, Id, ObjectData, Scope, Value};
use crate::walk::program::{Frame, Run, Trial};

impl Trial<'_, '_> {
    pub(super) fn new_class(&mut self, class: &Rc<Class>) -> Run<Value> {
        let (mut bases, mut meta) = (Vec::new(), None);
        for base in &class.bases {
            let value = self.value(&base.value)?;
            match base.name.as_deref() {
                None => bases.push(value),
                Some("metaclass") => meta = Some(value),
                Some(_) => {}
            }
        }
        let data = ClassData { name: class.name.to_string(), bases, meta, ..ClassData::default() };
        let id = self.heap.add(Cell::Class(Box::new(data)));
        let value = Value::Class(id);
        if self.is_python() {
            self.fill_python_class(id, class)?;
        } else {
            let before = self.enter_scope();
            if !class.name.is_empty() {
                self.declare(&class.name, value.clone());
            }
            let end = class.members.iter().try_for_each(|member| self.fill_member(id, member));
            self.leave_scope(before);
            end?;
        }
        if self.comes_from(&value, &["Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"]) {
            self.make_enum(id)?;
        }
        if self.comes_from(&value, &["NamedTuple", "TypedDict"])
            && let Some(data) = self.heap.class_mut(id)
        {
            data.is_data = true;
        }
        self.note_subclass(&value)?;
        Ok(value)
    }

    /// `__init_subclass__` and `__set_name__` run when a class is made.
    pub(super) fn note_subclass(&mut self, class: &Value) -> Run<()> {
        let line = self.line_of(class);
        if let Some(hook) = self.member_in(line.get(1..).unwrap_or(&[]), "__init_subclass__") {
            let hook = if let Value::Bound(inner) = &hook { inner.0.clone() } else { hook };
            self.call(hook, vec![class.clone()])?;
        }
        Ok(())
    }

    pub(super) fn fill_python_class(&mut self, id: Id, class: &Rc<Class>) -> Run<()> {
        let parent = self.scope();
        let scope = self.heap.add(Cell::Scope(Scope { parent: Some(parent), is_class: true, ..Scope::default() }));
        let this = self.frames.last().and_then(|frame| frame.this.clone());
        self.frames.push(Frame { scope, this, ..Frame::default() });
        // Members keep the order of their lines.
        let mut order = Vec::new();
        let mut end = Ok(());
        for statement in &class.body {
            end = self.run_block(std::slice::from_ref(statement));
            if end.is_err() {
                break;
            }
            if let Some(scope) = self.heap.scope(scope) {
                order.extend(scope.values.keys().filter(|name| !order.contains(*name)).cloned().collect::<Vec<_>>());
            }
        }
        self.frames.pop();
        end?;
        let values = self.heap.scope(scope).map(|scope| scope.values.clone()).unwrap_or_default();
        for name in order {
            let Some(value) = values.get(&name).cloned() else { continue };
            self.set_home(&value, id);
            if let Some(data) = self.heap.class_mut(id) {
                data.members.set(&name, value);
            }
        }
        Ok(())
    }

    /// Notes the class that a method belongs to.
    pub(super) fn set_home(&mut self, value: &Value, class: Id) {
        match value {
            Value::Function(id) => {
                if let Some(closure) = self.heap.closure_mut(*id) {
                    closure.home = Some(class);
                }
            }
            Value::Bound(inner) => self.set_home(&inner.0.clone(), class),
            Value::Accessor(inner) => {
                self.set_home(&inner.0.clone(), class);
                self.set_home(&inner.1.clone(), class);
            }
            _ => {}
        }
    }

    pub(super) fn fill_member(&mut self, class: Id, member: &Member) -> Run<()> {
        let key = self.value(&member.key)?;
        let value = match (&member.value, member.is_field && !member.is_static) {
            (Some(value), false) => self.value(value)?,
            _ => Value::Undefined,
        };
        self.set_home(&value, class);
        if key.is_nothing() {
            // A block that runs when the class is made.
            self.call_as(Some(Value::Class(class)), &value, Given::default())?;
            return Ok(());
        }
        if member.is_field && !member.is_static {
            let value = match &member.value {
                Some(value) => self.value(value)?,
                None => Value::Undefined,
            };
            self.set_home(&value, class);
            if let Some(data) = self.heap.class_mut(class) {
                data.fields.push((key, value));
            }
            return Ok(());
        }
        let name = self.text_of(&key)?;
        let name = if name.as_ref() == "constructor" { "__init__" } else { name.as_ref() };
        let Some(data) = self.heap.class_mut(class) else { return Ok(()) };
        let value = match (member.kind, data.members.named(name)) {
            (EntryKind::Plain, _) if member.is_static && value.is_callable() => {
                Value::Bound(Rc::new((value, Rc::from("classmethod"))))
            }
            (EntryKind::Plain, _) => value,
            (EntryKind::Getter, Some(Value::Accessor(other))) => Value::Accessor(Rc::new((value, other.1.clone()))),
            (EntryKind::Setter, Some(Value::Accessor(other))) => Value::Accessor(Rc::new((other.0.clone(), value))),
            (EntryKind::Getter, _) => Value::Accessor(Rc::new((value, Value::Undefined))),
            (EntryKind::Setter, _) => Value::Accessor(Rc::new((Value::Undefined, value))),
        };
        data.members.set(name, value);
        Ok(())
    }

    /// Makes objects of the members of an enumeration.
    pub(super) fn make_enum(&mut self, id: Id) -> Run<()> {
        let members = self.heap.class(id).map(|data| data.members.clone()).unwrap_or_default();
        let is_text = self.comes_from(&Value::Class(id), &["StrEnum", "str"]);
        for (at, (key, value)) in (1..).zip(members.entries().iter()) {
            let name = self.text_of(key)?;
            if value.is_callable() || matches!(value, Value::Accessor(_)) || name.starts_with('_') {
                continue;
            }
            let value = match value {
                Value::Native(auto) if auto.ends_with("auto()") && is_text => Value::text(name.to_lowercase()),
                Value::Native(auto) if auto.ends_with("auto()") => Value::Int(at),
                value => value.clone(),
            };
            let mut fields = Dict::default();
            fields.set("name", Value::Text(Rc::clone(&name)));
            fields.set("value", value.clone());
            fields.set("_value_", value.clone());
            let inner = Some(value).filter(|value| is_text || matches!(value, Value::Int(_)));
            let object = ObjectData { class: Value::Class(id), fields, inner };
            let object = Value::Object(self.heap.add(Cell::Object(Box::new(object))));
            if let Some(data) = self.heap.class_mut(id) {
                data.members.set(&name, object);
            }
        }
        Ok(())
    }
}
