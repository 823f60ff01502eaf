//! Calls that start commands, and the processes that they give back.

use std::rc::Rc;

use crate::walk::program::call::Given;
use crate::walk::program::value::{Cell, Dict, Id, ProcessData, Settled, Value};
use crate::walk::program::{Run, Trial};

/// The form in which a call names its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// One value: a list of words, or a text that a shell runs if an option says so.
    Python,
    /// A text that a shell runs.
    Script,
    /// A program, and a list of its arguments.
    ProgramAndList,
    /// Words, one argument each.
    Words,
    /// A program, and the list of all words, the program's name among them.
    Named,
}

/// The form of a call that starts a command; none if this is no such call.
fn form(name: &str) -> Option<Form> {
    let (module, base) = name.rsplit_once('.').unwrap_or(("", name));
    Some(match (module, base) {
        ("subprocess" | "asyncio.subprocess", "run" | "call" | "check_call" | "check_output" | "Popen")
        | ("pty", "spawn") => Form::Python,
        ("os", "system" | "popen" | "popen2" | "popen3")
        | ("subprocess" | "commands", "getoutput" | "getstatusoutput")
        | ("child_process", "exec" | "execSync")
        | ("invoke" | "fabric", "run" | "local")
        | ("asyncio" | "asyncio.subprocess", "create_subprocess_shell")
        | ("shelljs", "exec")
        | ("execa", "execaCommand" | "execaCommandSync" | "command" | "commandSync") => Form::Script,
        ("child_process" | "cross-spawn", "spawn" | "spawnSync" | "execFile" | "execFileSync" | "fork" | "sync")
        | ("execa", "execa" | "execaSync" | "sync") => Form::ProgramAndList,
        ("", "execa" | "cross-spawn") => Form::ProgramAndList,
        ("asyncio" | "asyncio.subprocess", "create_subprocess_exec") => Form::Words,
        ("os", "execl" | "execlp" | "execle" | "execlpe") => Form::Words,
        ("os", "execv" | "execvp" | "execve" | "execvpe" | "posix_spawn" | "posix_spawnp") => Form::Named,
        ("os", "spawnv" | "spawnvp" | "spawnve" | "spawnvpe") => Form::Named,
        ("os", "spawnl" | "spawnlp" | "spawnle") => Form::Words,
        ("Bun", "spawn" | "spawnSync") | ("Deno", "run") => Form::Python,
        _ => return None,
    })
}

impl Trial<'_, '_> {
    /// Calls that start a command. None if this is no such call.
    pub(super) fn process_call(&mut self, name: &str, given: &Given) -> Run<Option<Value>> {
        let (module, base) = name.rsplit_once('.').unwrap_or(("", name));
        // `sh.git("add", ".")`
        if module == "sh" && base != "Command" {
            let mut words = vec![base.replace('_', "-")];
            for value in &given.values {
                words.extend(self.words_of(value)?);
            }
            return self.started(name, ProcessData { words, ..ProcessData::default() }).map(Some);
        }
        let Some(form) = form(name) else { return Ok(None) };
        let mut given = given.clone();
        // The mode stands before the program.
        if base.starts_with("spawn") && module == "os" && !given.values.is_empty() {
            given.values.remove(0);
        }
        let options = self.options_of(&given)?;
        let mut data = self.command_data(form, base, &given, &options)?;
        self.apply_options(&mut data, &options, name)?;
        if !self.is_python()
            && let Some(callback) = given.values.last().filter(|value| value.is_callable())
        {
            data.callbacks.push(("done".to_owned(), callback.clone()));
        }
        let check = options.iter().find(|(option, _)| option.as_ref() == "check").map(|(_, value)| value.clone());
        let place = self.place;
        let value = self.started(name, data)?;
        if let Some(check) = check
            && base == "run"
            && self.truth(&check) != Some(false)
        {
            self.fail_command(place, false)?;
        }
        Ok(Some(value))
    }

    /// The options of a call: its named arguments, or a table of JavaScript.
    fn options_of(&mut self, given: &Given) -> Run<Vec<(Rc<str>, Value)>> {
        let mut options = given.named.clone();
        if !self.is_python() {
            for value in &given.values {
                if matches!(value, Value::Dict(_) | Value::Object(_)) {
                    for (key, value) in self.entries_of(value)? {
                        let key = self.text_of(&key)?;
                        options.push((key, value));
                    }
                }
            }
        }
        Ok(options)
    }

    pub(super) fn words_of(&mut self, value: &Value) -> Run<Vec<String>> {
        let value = self.plain(value);
        Ok(match &value {
            Value::List(_) | Value::Tuple(_) | Value::Iterator(_) | Value::Set(_) => {
                let mut words = Vec::new();
                for item in self.items(&value)? {
                    words.push(self.content_of(&item)?);
                }
                words
            }
            Value::None | Value::Undefined => Vec::new(),
            Value::Bytes(bytes) => vec![String::from_utf8_lossy(bytes).into_owned()],
            value => vec![self.text_of(value)?.to_string()],
        })
    }

    fn command_data(
        &mut self,
        form: Form,
        base: &str,
        given: &Given,
        options: &[(Rc<str>, Value)],
    ) -> Run<ProcessData> {
        let option =
            |name: &str| options.iter().rev().find(|(own, _)| own.as_ref() == name).map(|(_, value)| value.clone());
        let mut data = ProcessData::default();
        let first = option("args")
            .filter(|_| form == Form::Python)
            .or_else(|| option("cmd").filter(|_| !self.is_python()))
            .unwrap_or_else(|| given.at(0));
        let shell = option("shell");
        let in_shell = match &shell {
            Some(shell) => self.truth(shell) != Some(false),
            None => false,
        };
        match form {
            Form::Script => {
                data.words = self.words_of(&first)?;
                data.is_script = true;
            }
            Form::Python => {
                let is_list = matches!(self.plain(&first), Value::List(_) | Value::Tuple(_) | Value::Iterator(_));
                data.words = self.words_of(&first)?;
                if in_shell || base == "getoutput" {
                    // With a list, the rest are arguments of the shell.
                    data.is_script = !is_list || data.words.len() < 2;
                    if !data.is_script {
                        data.words.splice(0..0, ["sh".to_owned(), "-c".to_owned()]);
                    }
                }
            }
            Form::ProgramAndList => {
                data.words = self.words_of(&first)?;
                if let Some(list) = given.get(1).filter(|value| {
                    matches!(
                        self.plain(value),
                        Value::List(_) | Value::Tuple(_) | Value::Iterator(_) | Value::Unknown | Value::Lost
                    )
                }) {
                    data.words.extend(self.words_of(&list.clone())?);
                }
                if base == "fork" {
                    data.words.insert(0, "node".to_owned());
                }
                if in_shell {
                    data.words = vec![data.words.join(" ")];
                    data.is_script = true;
                }
                if let Some(Value::Text(shell)) = shell
                    && in_shell
                {
                    data.words = vec![shell.to_string(), "-c".to_owned(), data.words.join(" ")];
                    data.is_script = false;
                }
            }
            Form::Words => {
                for value in &given.values {
                    if !matches!(value, Value::Dict(_)) {
                        data.words.extend(self.words_of(value)?);
                    }
                }
                // `execlp("git", "git", "add")` names the program twice.
                if (base.starts_with("exec") || base.starts_with("spawn")) && data.words.len() > 1 {
                    data.words.remove(1);
                }
            }
            Form::Named => {
                let program = self.words_of(&first)?;
                let words = self.words_of(&given.at(1))?;
                data.words = program.into_iter().chain(words.into_iter().skip(1)).collect();
            }
        }
        Ok(data)
    }

    fn apply_options(&mut self, data: &mut ProcessData, options: &[(Rc<str>, Value)], name: &str) -> Run<()> {
        for (option, value) in options {
            if value.is_nothing() {
                continue;
            }
            match option.as_ref() {
                "cwd" => data.directory = Some(self.text_of(value)?.to_string()),
                "env" => {
                    for (key, value) in self.entries_of(value)? {
                        if !key.is_unknown() {
                            let (key, value) = (self.text_of(&key)?, self.text_of(&value)?);
                            data.variables.push((key.to_string(), value.to_string()));
                        }
                    }
                }
                "input" => data.input = self.content_of(value)?,
                "stdin" => data.input.push_str(&self.stream_text(value)?),
                "executable" if data.is_script => {
                    let shell = self.text_of(value)?.to_string();
                    data.words.splice(0..0, [shell, "-c".to_owned()]);
                    data.is_script = false;
                }
                "executable" => {
                    let program = self.text_of(value)?.to_string();
                    if let Some(first) = data.words.first_mut() {
                        *first = program;
                    }
                }
                "capture_output" => data.captures |= self.truth(value) != Some(false),
                "stdout" => data.captures |= !matches!(value, Value::Native(name) if name.ends_with("stdout")),
                _ => {}
            }
        }
        let base = name.rsplit('.').next().unwrap_or(name);
        let captures_itself = matches!(
            base,
            "check_output" | "getoutput" | "getstatusoutput" | "popen" | "exec" | "execFile" | "spawn" | "execa"
        );
        let inherits =
            options.iter().any(|(option, value)| option.as_ref() == "stdio" && value.known_text() == Some("inherit"));
        data.captures |= (captures_itself || name.starts_with("child_process.")) && !inherits;
        Ok(())
    }

    /// The text that can be read from something that is a command's input.
    fn stream_text(&mut self, value: &Value) -> Run<String> {
        match value {
            Value::Bound(inner) if matches!(inner.0, Value::Process(_)) => {
                let Value::Process(id) = inner.0 else { return Ok(String::new()) };
                self.process_output(id)
            }
            Value::File(id) => {
                let text = self.file_method(*id, "read", &Given::default())?;
                Ok(self.text_of(&text)?.to_string())
            }
            Value::Process(id) => self.process_output(*id),
            _ => Ok(String::new()),
        }
    }

    /// Starts a command, and returns the value of the call.
    fn started(&mut self, name: &str, data: ProcessData) -> Run<Value> {
        let base = name.rsplit('.').next().unwrap_or(name).to_owned();
        let place = self.place;
        let id = self.heap.add(Cell::Process(Box::new(data)));
        let waits = matches!(
            base.as_str(),
            "Popen"
                | "spawn"
                | "exec"
                | "execFile"
                | "fork"
                | "create_subprocess_exec"
                | "create_subprocess_shell"
                | "popen"
        );
        if waits && name != "os.popen" && name != "pty.spawn" {
            self.waiting.push(id);
            if name.starts_with("asyncio") {
                return Ok(self.heap.new_promise(Settled::Holds(Value::Process(id))));
            }
            return Ok(Value::Process(id));
        }
        let output = self.process_output(id)?;
        if base.starts_with("exec") && name.starts_with("os.") {
            return Err(super::Stop::Exit);
        }
        Ok(match base.as_str() {
            "check_output" | "getoutput" | "execSync" | "execFileSync" => {
                self.fail_command(place, base == "getoutput")?;
                Value::text(output)
            }
            "getstatusoutput" => Value::Tuple([Value::Unknown, Value::text(output)].into()),
            "check_call" => {
                self.fail_command(place, false)?;
                Value::Int(0)
            }
            "system" | "call" => Value::Unknown,
            "execa" | "execaSync" | "execaCommand" | "local" => {
                self.fail_command(place, false)?;
                let result = self.output_table(&output);
                self.heap.new_promise(Settled::Holds(result))
            }
            _ => Value::Process(id),
        })
    }

    pub(super) fn output_table(&mut self, output: &str) -> Value {
        let mut table = Dict::default();
        table.set("stdout", Value::text(output));
        table.set("stderr", Value::Unknown);
        table.set("status", Value::Unknown);
        table.set("exitCode", Value::Unknown);
        self.heap.new_dict(table)
    }

    /// Lets a command fail that the program checks, in one of the trials.
    pub(super) fn fail_command(&mut self, place: usize, never: bool) -> Run<()> {
        if !never && self.fails_here(place) {
            let kind = if self.is_python() { "CalledProcessError" } else { "Error" };
            return Err(self.exception(kind, "command failed"));
        }
        Ok(())
    }

    /// The output of a command, which runs now if it has not.
    pub(super) fn process_output(&mut self, id: Id) -> Run<String> {
        let Some(data) = self.heap.process(id).cloned() else { return Ok(String::new()) };
        if let Some(output) = data.output {
            return Ok(output);
        }
        if let Some(data) = self.heap.process_mut(id) {
            data.output = Some(String::new());
        }
        self.waiting.retain(|waiting| *waiting != id);
        let output = self.execute(&data)?;
        if let Some(data) = self.heap.process_mut(id) {
            data.output = Some(output.clone());
        }
        self.report_process(id, &output);
        Ok(output)
    }

    /// Calls back those who wait for a command.
    fn report_process(&mut self, id: Id, output: &str) {
        let callbacks = self.heap.process_mut(id).map(|data| std::mem::take(&mut data.callbacks)).unwrap_or_default();
        let place = self.place.wrapping_add(id);
        for (event, callback) in callbacks {
            let values = match event.as_str() {
                "data" => vec![Value::text(output)],
                "done" => {
                    let fails = self.answer(place, false);
                    let error = if fails { self.error_value() } else { Value::None };
                    vec![error, Value::text(output), Value::text("")]
                }
                "exit" | "close" => vec![Value::Unknown, Value::None],
                "error" => continue,
                _ => vec![Value::Unknown],
            };
            self.queue.push_back((callback, values));
        }
    }

    pub(super) fn error_value(&mut self) -> Value {
        match self.exception("Error", "command failed") {
            super::Stop::Raise(value) => value,
            _ => Value::Unknown,
        }
    }

    pub(super) fn finish_process(&mut self, id: Id) -> Run<()> {
        self.process_output(id)?;
        Ok(())
    }

    /// Runs every command that still waits for its input.
    pub(super) fn finish_processes(&mut self) -> Run<()> {
        for id in std::mem::take(&mut self.waiting) {
            self.process_output(id)?;
        }
        Ok(())
    }
}
