//! Promises, timers and everything else that runs later.

use std::rc::Rc;

use crate::walk::program::call::Given;
use crate::walk::program::member::bound;
use crate::walk::program::value::{Cell, Dict, Id, Settled, Value};
use crate::walk::program::{Run, Stop, Trial};

/// The most calls that wait for their turn.
const MOST_LATER: usize = 200;

impl Trial<'_, '_> {
    /// Runs the calls that wait, until a promise is settled or none are left.
    pub(super) fn run_queue(&mut self, until: Option<Id>) -> Run<()> {
        for _ in 0..MOST_LATER {
            if let Some(id) = until
                && !matches!(self.heap.promise(id), Some(Settled::Waits))
            {
                return Ok(());
            }
            let Some((function, values)) = self.queue.pop_front() else {
                // Commands end while nothing else is to do, and call back.
                match self.waiting.first().copied() {
                    Some(id) => {
                        self.finish_process(id)?;
                        continue;
                    }
                    None => return Ok(()),
                }
            };
            self.step()?;
            match self.call(function, values) {
                Ok(_) | Err(Stop::Raise(_)) => {}
                Err(stop) => return Err(stop),
            }
        }
        Ok(())
    }

    fn settle(&mut self, id: Id, state: Settled) {
        for callback in self.heap.settle(id, state) {
            self.queue.push_back((callback, Vec::new()));
        }
    }

    /// `resolve` and `reject` of a promise.
    pub(super) fn settle_by(&mut self, promise: &Value, name: &str, given: &Given) -> Run<Value> {
        if let Value::Promise(id) = promise {
            let value = given.at(0);
            let state = match (name, value) {
                ("reject", value) => Settled::Failed(value),
                (_, inner @ Value::Promise(_)) => match self.awaited(inner) {
                    Ok(value) => Settled::Holds(value),
                    Err(Stop::Raise(value)) => Settled::Failed(value),
                    Err(stop) => return Err(stop),
                },
                (_, value) => Settled::Holds(value),
            };
            self.settle(*id, state);
        }
        Ok(Value::Undefined)
    }

    /// `new Promise((resolve, reject) => …)`
    pub(super) fn new_promise_by(&mut self, given: &Given) -> Run<Value> {
        let promise = self.heap.new_promise(Settled::Waits);
        let (resolve, reject) = (bound(&promise, "resolve"), bound(&promise, "reject"));
        match self.call(given.at(0), vec![resolve, reject]) {
            Ok(_) => {}
            Err(Stop::Raise(value)) => {
                if let Value::Promise(id) = promise {
                    self.settle(id, Settled::Failed(value));
                }
            }
            Err(stop) => return Err(stop),
        }
        Ok(promise)
    }

    pub(super) fn promise_method(&mut self, id: Id, name: &str, given: &Given) -> Run<Value> {
        match name {
            "resolve" | "reject" | "set_result" | "set_exception" => {
                let name = if matches!(name, "reject" | "set_exception") { "reject" } else { "resolve" };
                return self.settle_by(&Value::Promise(id), name, given);
            }
            "result" => return self.awaited(Value::Promise(id)),
            "cancel" | "done" | "add_done_callback" | "exception" => {
                self.call_back(given)?;
                return Ok(Value::Unknown);
            }
            "then" | "catch" | "finally" => {}
            // A promise of a stream or of a list.
            _ => {
                let value = self.awaited(Value::Promise(id))?;
                return if matches!(value, Value::Promise(_)) {
                    Ok(Value::Unknown)
                } else {
                    self.call_method(value, name, given.values.clone())
                };
            }
        }
        if matches!(self.heap.promise(id), Some(Settled::Waits)) {
            // It goes on when the promise is settled.
            let next = self.heap.new_promise(Settled::Waits);
            let parts: Rc<[Value]> =
                [Value::Promise(id), Value::text(name), given.at(0), given.at(1), next.clone()].into();
            self.heap.await_settled(id, Value::Bound(Rc::new((Value::Tuple(parts), Rc::from("continue")))));
            return Ok(next);
        }
        let state = self.chained(id, name, &given.at(0), &given.at(1))?;
        Ok(self.heap.new_promise(state))
    }

    /// Goes on behind a promise that was waited for.
    pub(super) fn continue_promise(&mut self, parts: &Value) -> Run<Value> {
        let Value::Tuple(parts) = parts else { return Ok(Value::Undefined) };
        if let [Value::Promise(id), Value::Text(name), first, second, Value::Promise(next)] = parts.as_ref() {
            let state = self.chained(*id, name, first, second)?;
            self.settle(*next, state);
        }
        Ok(Value::Undefined)
    }

    fn chained(&mut self, id: Id, name: &str, first: &Value, second: &Value) -> Run<Settled> {
        let state = self.heap.promise(id).cloned().unwrap_or(Settled::Holds(Value::Unknown));
        let (callback, value) = match (&state, name) {
            (Settled::Holds(value), "then") => (first, Some(value.clone())),
            (Settled::Failed(value), "then") => (second, Some(value.clone())),
            (Settled::Failed(value), "catch") => (first, Some(value.clone())),
            (_, "finally") => (first, None),
            _ => return Ok(state),
        };
        if callback.is_nothing() {
            return Ok(state);
        }
        let result =
            self.call(callback.clone(), value.into_iter().collect()).and_then(|value| self.settled_value(value));
        match result {
            Ok(_) if name == "finally" => Ok(state),
            Ok(value) => Ok(Settled::Holds(value)),
            Err(Stop::Raise(value)) => Ok(Settled::Failed(value)),
            Err(stop) => Err(stop),
        }
    }

    /// `Promise.all` and its like. None if this is no such call.
    pub(super) fn promise_call(&mut self, name: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        Ok(Some(match name {
            "Promise.resolve" => {
                let value = match self.settled_value(first) {
                    Ok(value) => Settled::Holds(value),
                    Err(Stop::Raise(value)) => Settled::Failed(value),
                    Err(stop) => return Err(stop),
                };
                self.heap.new_promise(value)
            }
            "Promise.reject" => self.heap.new_promise(Settled::Failed(first)),
            "Promise.withResolvers" => {
                let promise = self.heap.new_promise(Settled::Waits);
                let mut table = Dict::default();
                table.set("resolve", bound(&promise, "resolve"));
                table.set("reject", bound(&promise, "reject"));
                table.set("promise", promise);
                self.heap.new_dict(table)
            }
            "Promise.all" | "Promise.allSettled" => {
                let mut values = Vec::new();
                for item in self.items(&first)? {
                    let value = match self.awaited(item) {
                        Err(Stop::Raise(value)) if name == "Promise.all" => {
                            return Ok(Some(self.heap.new_promise(Settled::Failed(value))));
                        }
                        Err(Stop::Raise(_)) => Value::Unknown,
                        value => value?,
                    };
                    if name == "Promise.all" {
                        values.push(value);
                    } else {
                        let mut table = Dict::default();
                        table.set("status", Value::text("fulfilled"));
                        table.set("value", value);
                        values.push(self.heap.new_dict(table));
                    }
                }
                let list = self.heap.new_list(values);
                self.heap.new_promise(Settled::Holds(list))
            }
            "Promise.race" | "Promise.any" => {
                let items = self.items(&first)?;
                let value = match items.into_iter().next() {
                    Some(item) => self.awaited(item)?,
                    None => Value::Undefined,
                };
                self.heap.new_promise(Settled::Holds(value))
            }
            "setTimeout"
            | "setImmediate"
            | "queueMicrotask"
            | "process.nextTick"
            | "setInterval"
            | "requestAnimationFrame" => {
                let skipped = usize::from(matches!(name, "setTimeout" | "setInterval")) + 1;
                self.queue.push_back((first, given.rest(skipped)));
                Value::Unknown
            }
            "timers.setTimeout" | "timers.setImmediate" => {
                let value = given.at(usize::from(name.ends_with("Timeout")));
                self.heap.new_promise(Settled::Holds(value))
            }
            _ => return Ok(None),
        }))
    }

    /// `asyncio`, threads and pools of Python. None if this is no such call.
    pub(super) fn task_call(&mut self, name: &str, base: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        Ok(Some(match name {
            "atexit.register" => {
                self.at_exit.push((first.clone(), given.rest(1)));
                first
            }
            "sched.scheduler" => Value::native("schedule"),
            "schedule.enter" | "schedule.enterabs" => {
                let values = match given.named_or("argument", 3).cloned() {
                    Some(values) => self.items(&values)?,
                    None => Vec::new(),
                };
                self.at_exit.push((given.named_or("action", 2).cloned().unwrap_or(Value::None), values));
                Value::None
            }
            "schedule.run" => Value::None,
            "threading.Timer" => {
                let values = match given.named_or("args", 2).cloned() {
                    Some(values) if !values.is_nothing() => self.items(&values)?,
                    _ => Vec::new(),
                };
                self.task(given.at(1), values, Vec::new())
            }
            _ if matches!(base, "Thread" | "Process" | "DummyProcess") && !name.starts_with("subprocess") => {
                let function = given.named("target").cloned().unwrap_or_else(|| given.at(1));
                let values = match given.named("args").cloned().or_else(|| given.get(3).cloned()) {
                    Some(values) => self.items(&values)?,
                    None => Vec::new(),
                };
                let table = match given.named("kwargs").cloned() {
                    Some(table) => self.entries_of(&table)?,
                    None => Vec::new(),
                };
                let mut named = Vec::new();
                for (key, value) in table {
                    named.push((self.text_of(&key)?, value));
                }
                self.task(function, values, named)
            }
            _ if matches!(base, "ThreadPoolExecutor" | "ProcessPoolExecutor" | "Pool" | "ThreadPool" | "TaskGroup") => {
                Value::native("pool")
            }
            "pool.submit" | "pool.apply_async" | "pool.apply" | "pool.create_task" | "pool.start_soon" => {
                let values = match (base, given.get(1)) {
                    ("apply_async" | "apply", Some(values)) => self.items(&values.clone())?,
                    _ => given.rest(1),
                };
                if matches!(first, Value::Promise(_)) {
                    return Ok(Some(first));
                }
                let result = self.call_as(None, &first, Given { values, named: given.named.clone() });
                let state = match result {
                    Ok(value) => Settled::Holds(value),
                    Err(Stop::Raise(value)) => Settled::Failed(value),
                    Err(stop) => return Err(stop),
                };
                self.heap.new_promise(state)
            }
            "pool.map" | "pool.starmap" | "pool.imap" | "pool.imap_unordered" | "pool.map_async" => {
                let name = if base == "starmap" { "itertools.starmap" } else { "map" };
                let result = self.call_native(name, given.clone())?;
                let items = self.items(&result)?;
                self.heap.new_list(items)
            }
            "pool.shutdown" | "pool.close" | "pool.join" => Value::None,
            "concurrent.futures.as_completed" | "concurrent.futures.wait" => first,
            "task.start" | "task.run" => Value::None,
            _ => return self.asyncio_call(name, given),
        }))
    }

    /// Calls of `asyncio`, and locks. None if this is no such call.
    fn asyncio_call(&mut self, name: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        Ok(Some(match name {
            "asyncio.run"
            | "asyncio.create_task"
            | "asyncio.ensure_future"
            | "asyncio.wait_for"
            | "asyncio.shield"
            | "asyncio.run_coroutine_threadsafe" => match name {
                "asyncio.run" => self.awaited(first)?,
                _ => first,
            },
            "asyncio.gather" | "asyncio.as_completed" | "asyncio.wait" => {
                let items = if name == "asyncio.gather" { given.values.clone() } else { self.items(&first)? };
                let mut values = Vec::new();
                for item in items {
                    values.push(self.awaited(item)?);
                }
                let list = self.heap.new_list(values);
                self.heap.new_promise(Settled::Holds(list))
            }
            "asyncio.to_thread" => {
                let value = self.call_as(None, &first, Given { values: given.rest(1), named: given.named.clone() })?;
                self.heap.new_promise(Settled::Holds(value))
            }
            "asyncio.sleep" => self.heap.new_promise(Settled::Holds(Value::None)),
            "asyncio.Event"
            | "asyncio.Lock"
            | "asyncio.Semaphore"
            | "threading.Lock"
            | "threading.RLock"
            | "threading.Event"
            | "threading.Semaphore" => Value::native("lock"),
            "asyncio.get_event_loop" | "asyncio.new_event_loop" | "asyncio.get_running_loop" => {
                Value::native("asyncio.loop")
            }
            "asyncio.loop.run_until_complete" | "asyncio.loop.create_task" => self.awaited(first)?,
            "asyncio.loop.run_in_executor" => {
                let value = self.call_as(None, &given.at(1), Given::of(given.rest(2)))?;
                self.heap.new_promise(Settled::Holds(value))
            }
            "asyncio.loop.call_soon" | "asyncio.loop.subprocess_exec" => {
                self.call_as(None, &first, Given::of(given.rest(1)))?
            }
            _ => return Ok(None),
        }))
    }

    /// A thread or process of the program. It runs when it is started.
    fn task(&mut self, function: Value, values: Vec<Value>, named: Vec<(Rc<str>, Value)>) -> Value {
        let run = Value::Partial(Rc::new(super::value::Partial { function, values, named }));
        let mut fields = Dict::default();
        fields.set("start", run.clone());
        fields.set("run", run);
        let data = super::value::ObjectData { class: Value::native("task"), fields, inner: None };
        Value::Object(self.heap.add(Cell::Object(Box::new(data))))
    }
}
