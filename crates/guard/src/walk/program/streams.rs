//! Processes that a program has started: their streams and methods.

use std::rc::Rc;

use crate::walk::program::call::Given;
use crate::walk::program::member::bound;
use crate::walk::program::value::{Id, Value};
use crate::walk::program::{Run, Trial};

impl Trial<'_, '_> {
    /// A member of a process that is no method.
    pub(super) fn process_member(&mut self, id: Id, name: &str) -> Run<Option<Value>> {
        let is_done = self.heap.process(id).is_some_and(|data| data.output.is_some());
        Ok(Some(match name {
            "stdout" | "output" if is_done => Value::text(self.process_output(id)?),
            "stdin" | "stdout" => bound(&Value::Process(id), name),
            "stderr" if is_done => Value::text(""),
            "stderr" => bound(&Value::Process(id), name),
            "returncode" | "status" | "pid" | "exitCode" | "signal" | "ok" | "code" => Value::Unknown,
            "error" => Value::Undefined,
            "args" => {
                let words = self.heap.process(id).map(|data| data.words.clone()).unwrap_or_default();
                self.heap.new_texts(words)
            }
            _ => return Ok(None),
        }))
    }

    /// A member of a stream of a process: a method.
    pub(super) fn stream_method(&mut self, id: Id, stream: &str, name: &str, given: &Given) -> Run<Value> {
        match (stream, name) {
            ("stdin", "write" | "end" | "writelines") => {
                let text = match given.get(0) {
                    Some(value) if name == "writelines" => self.joined(&value.clone(), "")?,
                    Some(value) if !value.is_nothing() => self.content_of(&value.clone())?,
                    _ => String::new(),
                };
                if let Some(data) = self.heap.process_mut(id) {
                    data.input.push_str(&text);
                }
                if name == "end" {
                    self.finish_process(id)?;
                }
                Ok(Value::Int(0))
            }
            ("stdin", "close") => {
                self.finish_process(id)?;
                Ok(Value::None)
            }
            (_, "on" | "once" | "addListener") => {
                let event = self.text_of(&given.at(0))?;
                if let Some(data) = self.heap.process_mut(id) {
                    data.callbacks.push((event.to_string(), given.at(1)));
                }
                Ok(bound(&Value::Process(id), stream))
            }
            // `a.stdout.pipe(b.stdin)`
            (_, "pipe") => {
                let output = self.process_output(id)?;
                if let Some(Value::Bound(inner)) = given.get(0)
                    && let Value::Process(to) = inner.0
                {
                    if let Some(data) = self.heap.process_mut(to) {
                        data.input.push_str(&output);
                    }
                    self.finish_process(to)?;
                }
                Ok(given.at(0))
            }
            (
                _,
                "read" | "readlines" | "readline" | "toString" | "decode" | "strip" | "split" | "splitlines" | "text",
            ) => {
                let output: Rc<str> = self.process_output(id)?.into();
                match name {
                    "readlines" => self.text_method(&output, "splitlines", &Given::of(vec![Value::Bool(true)])),
                    "readline" => Ok(Value::text(output.split_inclusive('\n').next().unwrap_or(""))),
                    "read" | "toString" | "text" | "decode" => Ok(Value::Text(output)),
                    name => self.text_method(&output, name, given),
                }
            }
            _ => Ok(bound(&Value::Process(id), stream)),
        }
    }

    pub(super) fn process_method(&mut self, id: Id, name: &str, given: &Given) -> Run<Value> {
        let own = Value::Process(id);
        Ok(match name {
            "communicate" => {
                if let Some(input) = given.named_or("input", 0).filter(|input| !input.is_nothing()).cloned() {
                    let text = self.content_of(&input)?;
                    if let Some(data) = self.heap.process_mut(id) {
                        data.input.push_str(&text);
                    }
                }
                let output = self.process_output(id)?;
                Value::Tuple([Value::text(output), Value::text("")].into())
            }
            "wait" | "poll" => {
                self.finish_process(id)?;
                Value::Unknown
            }
            "check_returncode" => {
                let place = self.place;
                self.fail_command(place, false)?;
                Value::None
            }
            "read" | "readlines" | "readline" | "toString" | "text" | "split" | "strip" | "splitlines" | "decode" => {
                self.stream_method(id, "stdout", name, given)?
            }
            // `os.popen("sh", "w").write(…)`
            "write" => {
                let text = self.content_of(&given.at(0))?;
                if let Some(data) = self.heap.process_mut(id) {
                    data.input.push_str(&text);
                    data.output = None;
                }
                self.waiting.push(id);
                Value::None
            }
            "close" => {
                self.finish_process(id)?;
                Value::None
            }
            "on" | "once" | "addListener" => {
                let event = self.text_of(&given.at(0))?;
                if let Some(data) = self.heap.process_mut(id) {
                    data.callbacks.push((event.to_string(), given.at(1)));
                }
                own
            }
            "kill" | "terminate" | "unref" | "ref" | "send_signal" => Value::Bool(true),
            "then" | "quiet" | "nothrow" => {
                let output = self.process_output(id)?;
                let table = self.output_table(&output);
                if name == "then" { self.call(given.at(0), vec![table])? } else { own }
            }
            _ => Value::Unknown,
        })
    }
}
