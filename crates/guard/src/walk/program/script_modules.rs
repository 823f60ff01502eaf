//! The modules of Node, and methods of numbers and of objects.

use std::rc::Rc;

use crate::marks::HOME;
use crate::walk::program::call::Given;
use crate::walk::program::member::bound;
use crate::walk::program::value::{Cell, Dict, ProcessData, Settled, Value};
use crate::walk::program::{Run, Trial};

impl Trial<'_, '_> {
    /// Calls of modules. None if this is no such call.
    pub(super) fn script_module_call(&mut self, name: &str, base: &str, given: &Given) -> Run<Option<Value>> {
        let first = given.at(0);
        Ok(Some(match name {
            "util.promisify" => Value::Bound(Rc::new((first, Rc::from("promisified")))),
            "util.format" => Value::text(self.printed(&given.values)?),
            "util.inspect" => Value::text(self.written(&first, 4)?),
            "util.parseArgs" => self.parse_args(&first)?,
            "util.inherits" => Value::Undefined,
            "node-os.homedir" => Value::text(HOME.to_string()),
            "node-os.tmpdir" => Value::text("/tmp"),
            "node-os.platform" => Value::text("linux"),
            "vm.runInThisContext" | "vm.runInNewContext" | "vm.runInContext" | "vm.compileFunction" => {
                self.run_in_context(base, given)?
            }
            "vm.createContext" => {
                if first.is_nothing() {
                    self.heap.new_dict(Dict::default())
                } else {
                    first
                }
            }
            "readline.createInterface" => bound(&Value::None, "readline"),
            "process.stdin.read" => self.input_line().map_or(Value::None, Value::text),
            "process.stdin.on" | "process.stdin.once" | "process.stdin.addListener" => {
                let event = self.text_of(&first)?;
                match event.as_ref() {
                    "data" => {
                        let input =
                            if self.input.is_empty() { Value::Unknown } else { Value::Text(Rc::clone(&self.input)) };
                        self.queue.push_back((given.at(1), vec![input]));
                    }
                    "end" | "close" => self.queue.push_back((given.at(1), Vec::new())),
                    _ => {}
                }
                Value::native("process.stdin")
            }
            "process.stdin.setEncoding" | "process.stdin.resume" | "process.stdin.pause" => {
                Value::native("process.stdin")
            }
            "process.on" | "process.once" | "process.addListener" => {
                let event = self.text_of(&first)?;
                match event.as_ref() {
                    "exit" | "beforeExit" => self.at_exit.push((given.at(1), vec![Value::Int(0)])),
                    _ => self.call_back(&Given::of(vec![given.at(1)]))?,
                }
                Value::native("process")
            }
            "process.emit" => Value::Bool(true),
            "fs.existsSync" | "fs.statSync" | "fs.lstatSync" | "fs.stat" | "fs.access" | "fs.accessSync"
            | "fs.lstat" | "fs.exists" => {
                if self.fails_here(self.place) && !base.starts_with("exists") {
                    return Err(self.exception("Error", "ENOENT"));
                }
                Value::Unknown
            }
            "fs.realpathSync" | "fs.realpath" | "fs.realpathSync.native" => {
                let path = self.text_of(&first)?;
                Value::text(self.walk.absolute(&path))
            }
            "fs.mkdirSync" | "fs.mkdir" | "fs.chmodSync" | "fs.utimesSync" | "fs.closeSync" => Value::Undefined,
            "fs.writeSync" => {
                if let Value::File(id) = first {
                    self.file_method(id, "write", &Given::of(given.rest(1)))?
                } else {
                    let text = self.content_of(&given.at(1))?;
                    if first.as_int() == Some(1) {
                        self.print(&text)?;
                    }
                    Value::Undefined
                }
            }
            "fs.opendirSync" | "fs.opendir" => self
                .file_call("fs", "readdirSync", &Given::of(vec![first, Value::Undefined]))?
                .unwrap_or(Value::Unknown),
            "TextDecoder.decode" => match self.bytes_of(&first)? {
                Some(bytes) => self.text_of_bytes(&bytes)?,
                None => self.unknown_of([&first]),
            },
            "TextEncoder.encode" => self.bytes_of(&first)?.map_or(Value::Lost, |bytes| Value::Bytes(bytes.into())),
            "url.fileURLToPath" => first,
            "Bun.$" | "zx.$" | "$" | "dax.$" => self.shell_template(given)?,
            "module.exports" | "worker_threads.isMainThread" => Value::Unknown,
            "shelljs.rm" => {
                let mut words = vec!["rm".to_owned()];
                for value in &given.values {
                    words.extend(self.words_of(value)?);
                }
                self.execute(&ProcessData { words, captures: true, ..ProcessData::default() })?;
                Value::Undefined
            }
            "shelljs.cd" => self.call_native("process.chdir", given.clone())?,
            "zx.cd" | "cd" => self.call_native("process.chdir", given.clone())?,
            _ => return Ok(None),
        }))
    }

    /// `` $`git push` ``: every value is one word.
    fn shell_template(&mut self, given: &Given) -> Run<Value> {
        let mut script = String::new();
        let mut values = given.rest(1).into_iter();
        for text in self.items(&given.at(0))? {
            script.push_str(&self.text_of(&text)?);
            if let Some(value) = values.next() {
                script.push_str(&self.words_of(&value)?.join(" "));
            }
        }
        let data = ProcessData { words: vec![script], is_script: true, captures: true, ..ProcessData::default() };
        let id = self.heap.add(Cell::Process(Box::new(data)));
        self.finish_process(id)?;
        let place = self.place;
        self.fail_command(place, false)?;
        Ok(self.heap.new_promise(Settled::Holds(Value::Process(id))))
    }

    fn run_in_context(&mut self, base: &str, given: &Given) -> Run<Value> {
        let code = self.text_of(&given.at(0))?;
        if base == "runInThisContext" {
            return self.evaluate(&code, true);
        }
        let context = given.at(1);
        let before = self.enter_scope();
        for (key, value) in self.entries_of(&context)? {
            let key = self.text_of(&key)?;
            self.declare(&key, value);
        }
        let result = self.evaluate(&code, true);
        self.leave_scope(before);
        result
    }

    pub(super) fn readline_method(&mut self, name: &str, given: &Given) -> Run<Value> {
        let own = bound(&Value::None, "readline");
        Ok(match name {
            "on" | "once" | "addListener" => {
                let event = self.text_of(&given.at(0))?;
                if event.as_ref() == "line" {
                    for line in self.input_lines()? {
                        self.queue.push_back((given.at(1), vec![line]));
                    }
                } else {
                    self.queue.push_back((given.at(1), Vec::new()));
                }
                own
            }
            "question" => {
                let answer = self.input_line().map_or(Value::Unknown, Value::text);
                match given.values.last().filter(|value| value.is_callable()).cloned() {
                    Some(callback) => {
                        self.queue.push_back((callback, vec![answer]));
                        Value::Undefined
                    }
                    None => self.heap.new_promise(Settled::Holds(answer)),
                }
            }
            "@@asyncIterator" => {
                let lines = self.input_lines()?;
                self.heap.new_iterator(lines)
            }
            _ => Value::Undefined,
        })
    }

    /// `util.parseArgs({ args, options })`
    fn parse_args(&mut self, settings: &Value) -> Run<Value> {
        let arguments = if settings.is_nothing() { Value::Undefined } else { self.member(settings, "args")? };
        let words: Vec<Value> = if arguments.is_nothing() {
            let all = self.native_member("process", "argv")?;
            self.items(&all)?.into_iter().skip(1 + usize::from(self.is_file)).collect()
        } else {
            self.items(&arguments)?
        };
        let options = if settings.is_nothing() { Value::Undefined } else { self.member(settings, "options")? };
        let mut values = Dict::default();
        let mut takes = Vec::new();
        for (key, option) in self.entries_of(&options)? {
            let key = self.text_of(&key)?;
            let default = self.member(&option, "default")?;
            if !default.is_nothing() {
                values.set(&key, default);
            }
            let kind = self.member(&option, "type")?;
            let short = self.member(&option, "short")?;
            takes.push((key, kind.known_text() == Some("string"), short.known_text().unwrap_or("").to_owned()));
        }
        let mut words = words.into_iter();
        let mut rest = Vec::new();
        while let Some(word) = words.next() {
            let text = self.text_of(&word)?;
            let name = text.trim_start_matches('-');
            let (name, attached) =
                name.split_once('=').map_or((name, None), |(name, value)| (name, Some(Value::text(value))));
            let found = takes
                .iter()
                .find(|(key, _, short)| key.as_ref() == name || short == name)
                .filter(|_| text.starts_with('-'));
            match found {
                Some((key, true, _)) => {
                    let value = attached.or_else(|| words.next()).unwrap_or(Value::Undefined);
                    values.set(key, value);
                }
                Some((key, false, _)) => values.set(key, Value::Bool(true)),
                None => rest.push(word),
            }
        }
        let mut result = Dict::default();
        let (values, rest) = (self.heap.new_dict(values), self.heap.new_list(rest));
        result.set("values", values);
        result.set("positionals", rest);
        Ok(self.heap.new_dict(result))
    }

    pub(super) fn number_method(&mut self, number: &Value, name: &str, given: &Given) -> Run<Value> {
        let Some(whole) = number.as_int() else { return Ok(Value::Text(self.text_of(number)?)) };
        Ok(match name {
            "to_bytes" => {
                let length = given
                    .named_or("length", 0)
                    .and_then(Value::as_int)
                    .and_then(|length| usize::try_from(length).ok())
                    .unwrap_or(1)
                    .min(64);
                let is_little = given.named_or("byteorder", 1).and_then(Value::known_text) == Some("little");
                let mut bytes: Vec<u8> =
                    whole.to_le_bytes().into_iter().chain(std::iter::repeat(0)).take(length).collect();
                if !is_little {
                    bytes.reverse();
                }
                Value::Bytes(bytes.into())
            }
            "bit_length" => Value::Int(i128::from(128 - whole.unsigned_abs().leading_zeros())),
            "toString" => match given.get(0).and_then(Value::as_int).and_then(|radix| u32::try_from(radix).ok()) {
                Some(radix) if (2..=36).contains(&radix) => Value::text(in_radix(whole, radix)),
                _ => Value::text(whole.to_string()),
            },
            "toFixed" | "toLocaleString" | "valueOf" => Value::text(whole.to_string()),
            _ => Value::Lost,
        })
    }

    /// Methods that an object has from a class of the language.
    pub(super) fn object_method(&mut self, object: &Value, name: &str, given: Given) -> Run<Value> {
        let Value::Object(id) = object else { return Ok(Value::Unknown) };
        let Some(data) = self.heap.object(*id).cloned() else { return Ok(Value::Unknown) };
        let class = Self::native_name(&data.class).unwrap_or_else(|| Rc::from(""));
        if let Some(value) = self.reader_method(*id, name, &given)? {
            return Ok(value);
        }
        if let (Some(inner), "configparser.ConfigParser") = (&data.inner, class.as_ref())
            && let Some(value) = self.settings_method(inner, name, &given)?
        {
            return Ok(value);
        }
        if let (Some(inner), "Map") = (&data.inner, class.as_ref()) {
            return self.map_method(object, inner, name, &given);
        }
        if class.as_ref() == "bytearray" {
            let bytes = self.bytes_of(object)?;
            return match bytes {
                Some(bytes) => self.bytes_method(&bytes.into(), name, &given),
                None => Ok(Value::Lost),
            };
        }
        let held = data.fields.named("template").cloned();
        match (class.as_ref(), name, held) {
            ("string.Template", "substitute" | "safe_substitute", Some(template)) => {
                let template = self.text_of(&template)?;
                return self.substituted(&template, &given, name.starts_with("safe"));
            }
            ("vm.Script", "runInThisContext" | "runInNewContext" | "runInContext", Some(code)) => {
                let base = if given.values.is_empty() { "runInThisContext" } else { "runInContext" };
                return self.run_in_context(base, &Given::of(vec![code, given.at(0)]));
            }
            ("Deno.Command", "output" | "outputSync" | "spawn", Some(words)) => {
                let words = self.words_of(&words)?;
                self.execute(&ProcessData { words, captures: true, ..ProcessData::default() })?;
                return Ok(Value::Unknown);
            }
            ("WeakRef", "deref", Some(value)) => return Ok(value),
            ("task", "join" | "is_alive" | "cancel", _) => return Ok(Value::None),
            _ => {}
        }
        match name {
            "on" | "once" | "addListener" => {
                let event = self.text_of(&given.at(0))?;
                self.set_field(object, &Value::text(format!("@{event}")), given.at(1))?;
                Ok(object.clone())
            }
            "emit" => {
                let event = self.text_of(&given.at(0))?;
                if let Some(callback) = data.fields.named(&format!("@{event}")).cloned() {
                    self.call_as(Some(object.clone()), &callback, Given::of(given.rest(1)))?;
                }
                Ok(Value::Bool(true))
            }
            // A thread whose class is the program's own.
            "start" => match self.class_member(object, "run") {
                Some(run) => {
                    let run = self.bind(object, run)?;
                    self.call_as(None, &run, given)
                }
                None => match self.heap.object(*id).and_then(|data| data.fields.named("@run").cloned()) {
                    Some(run) => self.call(run, Vec::new()),
                    None => Ok(Value::None),
                },
            },
            "super.__init__" | "__init__" => self.start_base(object, &given),
            "super.__new__" => Ok(object.clone()),
            "super.__setattr__" => {
                self.set_field(object, &given.at(0), given.at(1))?;
                Ok(Value::None)
            }
            "super.__getattribute__" => match data.fields.named(self.text_of(&given.at(0))?.as_ref()).cloned() {
                Some(value) => Ok(value),
                None => Err(self.exception("AttributeError", "")),
            },
            "hasOwnProperty" => {
                let key = self.text_of(&given.at(0))?;
                Ok(Value::Bool(data.fields.named(&key).is_some()))
            }
            "_asdict" => {
                let entries = data.fields.entries().to_vec();
                Ok(self.dict_of_pairs(entries))
            }
            "_replace" => {
                let mut copy = data;
                for (name, value) in &given.named {
                    copy.fields.set(name, value.clone());
                }
                copy.inner = Some(Value::Tuple(copy.fields.entries().iter().map(|(_, value)| value.clone()).collect()));
                Ok(Value::Object(self.heap.add(Cell::Object(Box::new(copy)))))
            }
            "toString" => Ok(Value::Text(self.text_of(object)?)),
            "with_traceback" | "add_note" => Ok(object.clone()),
            _ => {
                self.notes.is_blind |= self.could_matter(&given);
                self.call_back(&given)?;
                Ok(Value::Unknown)
            }
        }
    }

    /// Starts the part of an object that comes from a class of the language.
    fn start_base(&mut self, object: &Value, given: &Given) -> Run<Value> {
        if let Some(target) = given.named("target").cloned() {
            let values = match given.named("args").cloned() {
                Some(values) => self.items(&values)?,
                None => Vec::new(),
            };
            let run = Value::Partial(Rc::new(super::value::Partial { function: target, values, named: Vec::new() }));
            self.set_field(object, &Value::text("@run"), run)?;
        }
        if let Some(message) = given.get(0) {
            self.set_field(object, &Value::text("message"), message.clone())?;
        }
        Ok(Value::None)
    }

    pub(super) fn start_native_base(&mut self, object: &Value, line: &[Value], given: &Given) -> Run<()> {
        if line.iter().any(|class| matches!(class, Value::Native(_))) {
            self.start_base(object, given)?;
        }
        Ok(())
    }

    /// A member of an object that neither it nor the program's classes have.
    pub(super) fn native_object_member(&mut self, object: &Value, line: &[Value], name: &str) -> Value {
        let is_native = line.iter().any(|class| matches!(class, Value::Native(_)));
        if let Value::Object(id) = object
            && let Some(inner) = self.heap.object(*id).and_then(|data| data.inner.clone())
            && name == "size"
        {
            return self.list_len(&inner).map_or(Value::Unknown, Value::number);
        }
        if is_native
            || self.is_python()
            || matches!(name, "toString" | "on" | "once" | "emit" | "hasOwnProperty" | "addListener")
        {
            bound(object, name)
        } else {
            Value::Undefined
        }
    }

    /// Calls an object of a class of the language.
    pub(super) fn call_object(&mut self, object: &Value, given: Given) -> Run<Value> {
        self.call_unknown(object, given)
    }
}

/// A number in another radix.
fn in_radix(number: i128, radix: u32) -> String {
    let mut digits = Vec::new();
    let mut rest = number.unsigned_abs();
    while rest > 0 || digits.is_empty() {
        let digit = u32::try_from(rest % u128::from(radix)).unwrap_or(0);
        digits.push(char::from_digit(digit, radix).unwrap_or('0'));
        rest /= u128::from(radix);
    }
    if number < 0 {
        digits.push('-');
    }
    digits.iter().rev().collect()
}
