//! `jq`: filters over text that the script holds.
//!
//! A filter is read as a whole and run as jq does it. Whatever cannot be worked out is unknown, made of the text that jq was given.

mod calls;
mod formats;
mod functions;
mod json;
mod parser;
mod paths;
mod run;
mod tables;
#[cfg(test)]
mod tests;
mod values;

use std::collections::VecDeque;

use crate::marks::{UNKNOWN, has_mark, is_vague};
use crate::walk::ScriptWalk;

use json::Json;
use run::{ENVIRONMENT, Halt, Jq, Names};

/// The longest text that is read, in bytes.
const LONGEST: usize = 64 << 10;

/// The words of `jq`.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
struct JqWords {
    filter: Option<String>,
    /// `-f`: the filter is in the first file.
    is_file: bool,
    files: Vec<String>,
    named: Vec<(String, Json)>,
    /// `--args`, `--jsonargs`
    positional: Vec<Json>,
    is_raw: bool,
    joins: bool,
    is_compact: bool,
    slurps: bool,
    reads_lines: bool,
    reads_nothing: bool,
    sorts: bool,
    ends: Option<char>,
}

impl ScriptWalk<'_> {
    /// The output of `jq`; none if it is not known.
    pub(super) fn jq(&mut self, arguments: &[String]) -> Option<String> {
        let mut words = self.jq_words(arguments);
        let filter = match (words.filter.take(), words.is_file) {
            (Some(file), true) => self.known_file(&file)?.to_string(),
            (filter, _) => filter.unwrap_or_else(|| ".".to_owned()),
        };
        if has_mark(&filter) && is_vague(&filter) || filter.len() > LONGEST / 4 {
            return None;
        }
        let parsed = parser::parsed(&filter)?;
        let inputs = self.jq_inputs(&words)?;
        // Names that the filter asks for are looked up before it runs.
        let known: Vec<(String, Json)> = names_in(&filter)
            .into_iter()
            .map(|name| {
                let value = self.exported_value(&name).map_or(Json::Null, |value| {
                    if value.chars().eq([UNKNOWN]) { Json::Unknown } else { Json::Text(value) }
                });
                (name, value)
            })
            .collect();
        let look_up =
            |name: &str| known.iter().find(|(own, _)| own == name).map_or(Json::Unknown, |(_, value)| value.clone());
        let (first, rest) =
            if words.reads_nothing { (VecDeque::from([Json::Null]), inputs) } else { (inputs, VecDeque::new()) };
        let jq = Jq::new(&look_up, rest);
        let mut names: Names = None;
        let mut all_named = Vec::new();
        for (name, value) in &words.named {
            names = Jq::with_value(&names, name, value.clone());
            all_named.push((name.clone(), value.clone()));
        }
        let positional = Json::List(words.positional.clone());
        let table =
            Json::Table(vec![("positional".to_owned(), positional), ("named".to_owned(), Json::Table(all_named))]);
        names = Jq::with_value(&names, "__prog_args", table.clone());
        names = Jq::with_value(&names, "ARGS", table);
        let mut out = String::new();
        let mut is_whole = true;
        if words.reads_nothing {
            is_whole = words.write(&jq, &parsed, &Json::Null, &names, &mut out);
        } else {
            *jq.inputs.borrow_mut() = first;
            loop {
                let next = jq.inputs.borrow_mut().pop_front();
                let Some(input) = next else { break };
                is_whole &= words.write(&jq, &parsed, &input, &names, &mut out);
            }
        }
        let steps = jq.steps();
        self.budget.spend(1 + steps / 8);
        if out.contains(ENVIRONMENT) || !is_whole && out.is_empty() {
            return None;
        }
        if out.contains(UNKNOWN) || !is_whole {
            let given = self
                .text_given_to(&std::iter::once(String::new()).chain(arguments.iter().cloned()).collect::<Vec<_>>());
            let unknown = self.unknown_made_of(&given);
            out = if is_whole { out.replacen(UNKNOWN, &unknown, 1) } else { format!("{out}{unknown}\n") };
        }
        Some(out)
    }

    fn jq_words(&mut self, arguments: &[String]) -> JqWords {
        let mut jq = JqWords::default();
        let mut words = arguments.iter();
        // Operands behind `--args` are texts, behind `--jsonargs` JSON.
        let mut takes: Option<bool> = None;
        let mut has_options = true;
        while let Some(word) = words.next() {
            let mut next = || words.next().cloned().unwrap_or_default();
            match word.as_str() {
                "--" if has_options => has_options = false,
                "--arg" if has_options => {
                    let name = next();
                    jq.named.push((name, Json::Text(next())));
                }
                "--argjson" if has_options => {
                    let name = next();
                    jq.named.push((name, functions::from_json(&next())));
                }
                "--slurpfile" | "--rawfile" if has_options => {
                    let (name, file) = (next(), next());
                    let text = self.known_file(&file).map(|text| text.to_string());
                    let value = match text {
                        Some(text) if word == "--rawfile" => Json::Text(text),
                        Some(text) => json::parsed(&text).map_or(Json::Unknown, Json::List),
                        None => Json::Unknown,
                    };
                    jq.named.push((name, value));
                }
                "--args" if has_options => takes = Some(false),
                "--jsonargs" if has_options => takes = Some(true),
                "--indent" | "-L" | "--library-path" if has_options => drop(next()),
                "--from-file" if has_options => jq.is_file = true,
                long if has_options && long.starts_with("--") => jq.long(long),
                short if has_options && short.len() > 1 && short.starts_with('-') => jq.short(short),
                operand if jq.filter.is_none() => jq.filter = Some(operand.to_owned()),
                operand => match takes {
                    Some(true) => jq.positional.push(functions::from_json(operand)),
                    Some(false) => jq.positional.push(Json::text(operand)),
                    None => jq.files.push(operand.to_owned()),
                },
            }
        }
        jq
    }

    /// The values that the filter reads; none if there is too much of them.
    fn jq_inputs(&mut self, words: &JqWords) -> Option<VecDeque<Json>> {
        let text = self.input_of(words.files.iter());
        if text.len() > LONGEST {
            return None;
        }
        // Input that is not there may be typed, unless none is needed.
        if text.is_empty() && words.files.is_empty() && !words.reads_nothing {
            return Some(VecDeque::from([Json::Unknown]));
        }
        let values = if words.reads_lines {
            if words.slurps {
                return Some(VecDeque::from([Json::Text(text)]));
            }
            text.lines().map(Json::text).collect()
        } else {
            match json::parsed(&text) {
                Some(values) => values,
                None => vec![Json::Unknown],
            }
        };
        Some(if words.slurps { VecDeque::from([Json::List(values)]) } else { values.into() })
    }
}

impl JqWords {
    fn long(&mut self, word: &str) {
        match word {
            "--raw-output" => self.is_raw = true,
            "--raw-output0" => {
                self.is_raw = true;
                self.ends = Some('\0');
            }
            "--join-output" => {
                self.is_raw = true;
                self.joins = true;
            }
            "--compact-output" => self.is_compact = true,
            "--slurp" => self.slurps = true,
            "--raw-input" => self.reads_lines = true,
            "--null-input" => self.reads_nothing = true,
            "--sort-keys" => self.sorts = true,
            _ => {}
        }
    }

    fn short(&mut self, word: &str) {
        for letter in word.chars().skip(1) {
            match letter {
                'r' => self.is_raw = true,
                'j' => {
                    self.is_raw = true;
                    self.joins = true;
                }
                'c' => self.is_compact = true,
                's' => self.slurps = true,
                'R' => self.reads_lines = true,
                'n' => self.reads_nothing = true,
                'f' => self.is_file = true,
                'S' => self.sorts = true,
                _ => {}
            }
        }
    }

    /// Writes the values that the filter makes of one input; false if not all of them are known.
    fn write(&self, jq: &Jq<'_>, filter: &parser::Filter, input: &Json, names: &Names, out: &mut String) -> bool {
        let result = jq.run(filter, input, names, &mut |value| {
            let text = match &value {
                Json::Text(text) if self.is_raw => text.clone(),
                value if self.is_compact => value.to_json(),
                value => value.to_lines(0),
            };
            if out.len() + text.len() > LONGEST {
                return Err(Halt::Stop);
            }
            out.push_str(&text);
            if !self.joins {
                out.push(self.ends.unwrap_or('\n'));
            }
            Ok(())
        });
        !matches!(result, Err(Halt::Stop))
    }
}

/// The names in a filter that may be variables of the environment.
fn names_in(filter: &str) -> Vec<String> {
    let is_part = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut names: Vec<String> = Vec::new();
    for word in filter.split(|letter| !is_part(letter)) {
        if !word.is_empty() && names.len() < 64 && !names.iter().any(|name| name == word) {
            names.push(word.to_owned());
        }
    }
    names
}
