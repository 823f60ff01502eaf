//! The text that a program of awk writes, and the commands that it runs.

use crate::marks::UNKNOWN;
use crate::walk::awk::ast::{Expr, OFMT, OFS, ORS, Redirect};
use crate::walk::awk::format::formatted;
use crate::walk::awk::machine::AwkRun;
use crate::walk::awk::value::Value;

/// The most texts that one `print` may print, if its values are not certain.
const MOST_TEXTS: usize = 6;

/// The work of starting a command.
const COMMAND_WORK: usize = 50;

/// A file or a command that text is printed to.
#[derive(Debug)]
pub(super) struct Writer {
    name: String,
    is_command: bool,
    /// The text that the command is going to read.
    text: String,
}

impl AwkRun<'_, '_, '_> {
    /// `print` and `printf`.
    pub(super) fn print(&mut self, values: &[Expr], to: Option<&(Redirect, Expr)>, is_format: bool) {
        let mut printed: Vec<Value> = values.iter().map(|value| self.value(value)).collect();
        if printed.is_empty() {
            printed.push(self.state.record.field(0));
        }
        let target = to.map(|(redirect, name)| (*redirect, self.value(name)));
        for choice in choices(&printed) {
            let text = if is_format { self.format(&choice) } else { self.line(&choice) };
            match &target {
                None => self.walk.write(&text),
                Some((redirect, name)) => {
                    for name in self.texts_of(name) {
                        self.print_to(*redirect, &name, &text);
                    }
                }
            }
        }
    }

    fn line(&self, values: &[Value]) -> String {
        let format = self.state.global(OFMT).to_text("%.6g");
        let texts: Vec<_> = values.iter().map(|value| value.to_text(&format)).collect();
        let mut text = texts.join(&*self.state.global(OFS).to_text("%.6g"));
        text.push_str(&self.state.global(ORS).to_text("%.6g"));
        text
    }

    /// The text of a format and its values.
    pub(super) fn format(&mut self, values: &[Value]) -> String {
        let Some((format, values)) = values.split_first() else { return String::new() };
        let plain = self.convfmt();
        let format = format.to_text(&plain);
        let text = formatted(&format, values, &plain);
        self.work(text.len() / 16);
        text
    }

    fn print_to(&mut self, redirect: Redirect, name: &str, text: &str) {
        if matches!(name, "/dev/stderr" | "/dev/fd/2") {
            return;
        }
        let is_command = redirect == Redirect::Pipe;
        let at = self.writers.iter().position(|writer| writer.name == name && writer.is_command == is_command);
        // The text of the first run through the rules stands for that of all others.
        if self.is_rehearsal && at.is_some() {
            return;
        }
        if !is_command {
            self.walk.write_file(name, text, redirect == Redirect::Append || at.is_some());
        }
        match at.and_then(|at| self.writers.get_mut(at)) {
            Some(writer) if is_command => {
                if writer.text.len() + text.len() <= super::LONGEST_TEXT {
                    writer.text.push_str(text);
                } else if !writer.text.ends_with(UNKNOWN) {
                    writer.text.push(UNKNOWN);
                }
            }
            Some(_) => {}
            None => {
                self.work(COMMAND_WORK);
                let text = if is_command { text.to_owned() } else { String::new() };
                self.writers.push(Writer { name: name.to_owned(), is_command, text });
            }
        }
    }

    /// `close`: a command has all of its input by then.
    pub(super) fn close(&mut self, name: &str) {
        self.readers.remove(name);
        while let Some(at) = self.writers.iter().position(|writer| writer.name == name) {
            let writer = self.writers.remove(at);
            self.finish(writer);
        }
    }

    /// Closes everything, at the end.
    pub(super) fn close_all(&mut self) {
        for writer in std::mem::take(&mut self.writers) {
            self.finish(writer);
        }
    }

    fn finish(&mut self, writer: Writer) {
        if writer.is_command {
            self.work(COMMAND_WORK);
            self.walk.script_in_code(&writer.name, Some(writer.text));
        }
    }

    /// `system`
    pub(super) fn system(&mut self, command: &Value) -> Value {
        for command in self.texts_of(command) {
            self.work(COMMAND_WORK);
            self.walk.script_in_code(&command, None);
        }
        Value::unknown_number()
    }

    /// The output of a command.
    pub(super) fn output_of(&mut self, command: &str) -> String {
        self.work(COMMAND_WORK);
        self.walk.capturing(|walk| walk.script_in_code(command, None))
    }
}

/// Each way to choose one of the values that every value may be.
pub(super) fn choices(values: &[Value]) -> Vec<Vec<Value>> {
    let mut found: Vec<Vec<Value>> = vec![Vec::with_capacity(values.len())];
    for value in values {
        let alternatives = certain(value);
        if let [one] = alternatives.as_slice() {
            for choice in &mut found {
                choice.push((*one).clone());
            }
            continue;
        }
        let extended = found.iter().flat_map(|choice| {
            alternatives.iter().map(|value| choice.iter().cloned().chain([(*value).clone()]).collect::<Vec<_>>())
        });
        found = extended.take(MOST_TEXTS).collect();
    }
    found
}

/// The values that a value may be. One that was never assigned says nothing beside others.
pub(super) fn certain(value: &Value) -> Vec<&Value> {
    let set: Vec<&Value> = value.alternatives().iter().filter(|value| **value != Value::Unset).collect();
    if set.is_empty() { value.alternatives().iter().take(1).collect() } else { set }
}
