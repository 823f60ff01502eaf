//! Context managers.

use crate::walk::program::value::Value;
use crate::walk::program::{Run, Trial};

impl Trial<'_, '_> {
    /// `with`: the value of a context manager.
    pub(super) fn enter_manager(&mut self, manager: &Value) -> Run<Value> {
        for name in ["__enter__", "__aenter__"] {
            if let Some(method) = self.class_member(manager, name) {
                let method = self.bind(manager, method)?;
                let value = self.call(method, Vec::new())?;
                return self.awaited(value);
            }
        }
        match manager {
            // A generator that is a context manager: the first value.
            Value::Iterator(id) => Ok(self.next_item(*id)?.unwrap_or(Value::None)),
            manager => Ok(manager.clone()),
        }
    }

    pub(super) fn may_swallow(&self, manager: &Value) -> bool {
        matches!(manager, Value::Native(name) if name.ends_with("suppress()"))
            || self.class_member(manager, "__exit__").is_some()
    }

    /// Leaves a context manager. True if it swallows the exception.
    pub(super) fn exit_manager(&mut self, manager: &Value, failure: Option<&Value>) -> Run<bool> {
        for name in ["__exit__", "__aexit__"] {
            if let Some(method) = self.class_member(manager, name) {
                let method = self.bind(manager, method)?;
                let failure = failure.cloned().unwrap_or(Value::None);
                let result = self.call(method, vec![failure.clone(), failure, Value::None])?;
                return Ok(self.truth(&result).unwrap_or(true));
            }
        }
        if let Value::Process(id) = manager {
            self.finish_process(*id)?;
        }
        Ok(matches!(manager, Value::Native(name) if name.ends_with("suppress()")))
    }
}
