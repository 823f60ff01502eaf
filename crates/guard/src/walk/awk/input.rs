//! The records that a program of awk reads: from its operands, from standard input, and by `getline`.

use std::rc::Rc;

use crate::marks::{HOME, SOME, UNKNOWN, has_mark};
use crate::walk::awk::ast::{ARGC, ARGV, Expr, FILENAME, FNR, FS, LineSource, NR, RS, Slot};
use crate::walk::awk::lexer::unescaped;
use crate::walk::awk::machine::AwkRun;
use crate::walk::awk::state::Record;
use crate::walk::awk::substitute::{Separator, split};
use crate::walk::awk::value::{Value, is_many};

/// Text that is read record by record.
#[derive(Debug, Clone, Default)]
pub(super) struct Reader {
    text: Rc<str>,
    at: usize,
}

impl Reader {
    pub(super) fn new(text: impl Into<Rc<str>>) -> Self {
        Self { text: text.into(), at: 0 }
    }

    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// The text up to a separator, which is skipped.
    fn take(&mut self, length: usize, separator: usize) -> String {
        let taken = self.rest().get(..length).unwrap_or("").to_owned();
        self.at += length + separator;
        taken
    }
}

/// The separator of records.
enum RecordEnd {
    Letter(char),
    /// Lines that are empty.
    Paragraph,
    Expression(super::ere::Ere),
    /// An expression that cannot be used.
    Unknown,
}

/// The program's own input.
#[derive(Debug, Default)]
pub(super) struct MainInput {
    /// The operand that comes next.
    next: f64,
    current: Option<Reader>,
    /// An operand has named a file, so that standard input is not read.
    has_file: bool,
    is_done: bool,
    /// Standard input is the output of a command that writes nothing. The rules are judged, but print nothing.
    pub(super) is_silent: bool,
}

impl MainInput {
    /// `nextfile`
    pub(super) fn skip_file(&mut self) {
        self.current = None;
    }
}

impl AwkRun<'_, '_, '_> {
    /// The next record of the operands; none after the last one.
    pub(super) fn next_main_record(&mut self) -> Option<Rc<str>> {
        loop {
            if let Some(mut reader) = self.input.current.take() {
                let record = self.next_record(&mut reader);
                if let Some(record) = record {
                    self.input.current = Some(reader);
                    self.count_record(&record, true);
                    return Some(record);
                }
            }
            if !self.step() || !self.open_next_file() {
                return None;
            }
        }
    }

    fn open_next_file(&mut self) -> bool {
        if self.input.is_done {
            return false;
        }
        let count = self.state.global(ARGC).number().unwrap_or(0.0);
        self.input.next += 1.0;
        if self.input.next < count {
            let key = super::number::shown(self.input.next, "%.6g");
            let operand = self.state.array(Slot::Global(ARGV)).and_then(|array| array.get(&key));
            let operand = operand.map(|operand| operand.to_text("%.6g")).unwrap_or_default();
            self.open_operand(&operand);
            return true;
        }
        self.input.is_done = true;
        if !self.input.has_file {
            let reader = self.standard_input();
            self.input.current = Some(reader);
        }
        true
    }

    fn open_operand(&mut self, operand: &str) {
        if operand.is_empty() {
            return;
        }
        if let Some((name, value)) = assignment(operand) {
            let value = Value::input(unescaped(value));
            if let Some(at) = self.program.globals.iter().position(|global| global == name) {
                self.state.set(Slot::Global(at), value);
            }
            return;
        }
        self.input.has_file = true;
        self.state.set(Slot::Global(FNR), Value::Number(0.0));
        self.state.set(Slot::Global(FILENAME), Value::text(operand));
        let reader = if operand == "-" { self.standard_input() } else { self.file_reader(operand) };
        self.input.current = Some(reader);
    }

    /// Standard input. An empty one comes from outside, or from a command that writes nothing as far as the walk can tell.
    fn standard_input(&mut self) -> Reader {
        let text = Rc::clone(&self.walk.world.shell.input);
        if text.is_empty() {
            self.input.is_silent = self.walk.world.shell.reads_pipe;
            return Reader::new(UNKNOWN.to_string());
        }
        Reader::new(text)
    }

    fn file_reader(&mut self, path: &str) -> Reader {
        match self.walk.known_file(path) {
            Some(text) => Reader::new(text),
            // The line of the user is the one that matters.
            None if path == "/etc/passwd" => Reader::new(format!("{SOME}:x:{SOME}:{SOME}:{SOME}:{HOME}:/bin/bash\n")),
            None => Reader::new(UNKNOWN.to_string()),
        }
    }

    /// Counts a record. One that stands for many lines makes the counts unknown.
    fn count_record(&mut self, record: &str, in_file: bool) {
        let counters: &[usize] = if in_file { &[NR, FNR] } else { &[NR] };
        for at in counters {
            let count = match self.state.global(*at).number() {
                Some(count) if !is_many(record) => Value::Number(count + 1.0),
                _ => Value::unknown_number(),
            };
            self.state.set(Slot::Global(*at), count);
        }
    }

    fn record_end(&mut self) -> RecordEnd {
        let text = self.state.global(RS).to_text("%.6g");
        let mut letters = text.chars();
        match (letters.next(), letters.next()) {
            _ if has_mark(&text) => RecordEnd::Unknown,
            (None, _) => RecordEnd::Paragraph,
            (Some(letter), None) => RecordEnd::Letter(letter),
            _ => self.ere(&text).map_or(RecordEnd::Unknown, RecordEnd::Expression),
        }
    }

    fn next_record(&mut self, reader: &mut Reader) -> Option<Rc<str>> {
        if reader.rest().is_empty() {
            return None;
        }
        let length = reader.rest().len();
        let record = match self.record_end() {
            RecordEnd::Letter(end) => {
                let at = reader.rest().find(end);
                reader.take(at.unwrap_or(length), end.len_utf8())
            }
            RecordEnd::Paragraph => {
                let skipped = length - reader.rest().trim_start_matches('\n').len();
                reader.take(0, skipped);
                let rest = reader.rest();
                if rest.is_empty() {
                    return None;
                }
                let at = rest.find("\n\n").unwrap_or(rest.trim_end_matches('\n').len());
                let after = rest.get(at..).unwrap_or("");
                let separator = after.len() - after.trim_start_matches('\n').len();
                reader.take(at, separator)
            }
            RecordEnd::Expression(ere) => {
                let rest = reader.rest();
                let found = ere.find(rest, 0).filter(|found| found.end > found.start);
                let whole = rest.strip_suffix('\n').unwrap_or(rest).len();
                let (length, separator) = found.map_or((whole, 1), |found| (found.start, found.end - found.start));
                reader.take(length, separator)
            }
            RecordEnd::Unknown => {
                let text = reader.take(length, 0);
                self.walk.unknown_made_of(&text)
            }
        };
        self.work(record.len() / 64);
        Some(record.into())
    }

    /// The separator of fields.
    pub(super) fn separator(&mut self, text: &str) -> Separator {
        let is_paragraph = self.state.global(RS).to_text("%.6g").is_empty();
        let mut letters = text.chars();
        match (letters.next(), letters.next()) {
            (None, _) => Separator::Nothing,
            (Some(' '), None) => Separator::Blanks,
            (Some(letter), None) if !is_paragraph => Separator::Letter(letter),
            (Some(letter), None) => {
                let ere = self.ere(&format!("[{letter}\n]"));
                ere.map_or(Separator::Letter(letter), Separator::Expression)
            }
            _ => {
                let text = if is_paragraph { format!("({text})|\n") } else { text.to_owned() };
                self.ere(&text).map_or(Separator::Blanks, Separator::Expression)
            }
        }
    }

    /// Makes a text the record, and splits it.
    pub(super) fn set_record(&mut self, text: &Rc<str>) {
        let separator = self.state.global(FS).to_text("%.6g");
        let is_open = has_mark(&separator);
        let fields = if is_open {
            vec![self.walk.unknown_made_of(text).into()]
        } else {
            let separator = self.separator(&separator);
            split(text, &separator)
        };
        self.work(fields.len());
        self.state.record = Rc::new(Record { text: Rc::clone(text), fields, is_open });
    }

    /// `getline`: one if it has read a record, zero at the end.
    pub(super) fn getline(&mut self, from: &LineSource, target: Option<&Expr>) -> Value {
        let record = match from {
            LineSource::Main => self.next_main_record(),
            LineSource::File(file) => {
                let file = self.value(file);
                let file = self.text_of(&file);
                self.next_of(&file, |run, name| match name {
                    "-" => run.standard_input(),
                    _ => run.file_reader(name),
                })
            }
            LineSource::Command(command) => {
                let command = self.value(command);
                let mut record = None;
                for command in self.texts_of(&command) {
                    record = self.next_of(&command, |run, name| {
                        let text = run.output_of(name);
                        Reader::new(if text.is_empty() { UNKNOWN.to_string() } else { text })
                    });
                    if let Some(record) = &record {
                        self.count_record(record, false);
                    }
                }
                record
            }
        };
        let Some(record) = record else { return Value::Number(0.0) };
        match target {
            Some(target) => {
                let mut value = Value::Input(Rc::clone(&record));
                // A file that is not there leaves the old value.
                if has_mark(&record) && record.contains(UNKNOWN) {
                    value = self.value(target).join(&value);
                }
                self.store(target, value);
            }
            None => self.set_record(&record),
        }
        // A record that stands for many lines may be none.
        if is_many(&record) { Value::unknown_number() } else { Value::Number(1.0) }
    }

    /// The next record of a file or a command, which is opened first if need be.
    fn next_of(&mut self, name: &str, open: impl FnOnce(&mut Self, &str) -> Reader) -> Option<Rc<str>> {
        let mut reader = match self.readers.remove(name) {
            Some(reader) => reader,
            None => open(self, name),
        };
        let record = self.next_record(&mut reader);
        self.readers.insert(name.to_owned(), reader);
        record
    }
}

/// The name and the value of an operand that assigns.
fn assignment(operand: &str) -> Option<(&str, &str)> {
    let (name, value) = operand.split_once('=')?;
    let is_name = name.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    is_name.then_some((name, value))
}
