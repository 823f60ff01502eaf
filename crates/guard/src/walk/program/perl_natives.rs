//! Calls of Perl that differ from those of other languages.

use crate::marks::{TREE, UNKNOWN, alive};
use crate::walk::code_scan::{DELETES, DELETES_IF_RECURSIVE};
use crate::walk::program::calls::Given;
use crate::walk::program::evaluate::Program;
use crate::walk::program::natives::{below, with_home};
use crate::walk::program::value::Value;

impl Program<'_, '_> {
    /// Calls something that Perl has. None if other languages have it, too.
    pub(super) fn perl_call(&mut self, base: &str, given: &Given) -> Option<Value> {
        // Many operators take `$_` if they are given nothing.
        let first = match given.values.first() {
            Some(value) => value.clone(),
            None => self.lookup("$_").cloned().unwrap_or(Value::Unknown),
        };
        Some(match base {
            "system" | "exec" => {
                self.run_perl(&given.values);
                Value::Number(0)
            }
            "perl_output" => match self.run_perl(&given.values) {
                Value::Process(_, output) => Value::text(output),
                value => value,
            },
            "perl_print" | "perl_say" | "perl_printf" => {
                let mut text = perl_text(&given.values);
                if base == "perl_printf" {
                    let words: Vec<String> = given.values.iter().skip(1).map(Value::to_text).collect();
                    text = first.to_text();
                    crate::walk::values::fill(Some(&mut text), &words);
                }
                if base == "perl_say" {
                    text.push('\n');
                }
                if !text.contains(UNKNOWN) {
                    self.has_printed = true;
                    self.walk.write(&text);
                }
                Value::Number(1)
            }
            "perl_text" => Value::text(perl_text(&given.values)),
            "perl_words" => Value::text(Value::List(given.values.clone()).words().join(" ")),
            "perl_array" => match first {
                Value::List(items) => Value::List(items),
                value => Value::List(vec![value]),
            },
            "perl_table" => perl_table(given),
            "perl_open" => self.perl_open(given),
            "perl_opendir" => first,
            "eval" => self.evaluate_text(&first.to_text()),
            "reverse" => match given.values.as_slice() {
                // As one text, or as a list.
                [] | [Value::Text(_)] => {
                    let backwards = Value::text(first.to_text().chars().rev().collect::<String>());
                    Value::one_of([backwards, first])
                }
                items => Value::List(items.iter().rev().cloned().collect()),
            },
            "join" => {
                let words = Value::List(given.values.get(1..).unwrap_or(&[]).to_vec()).words();
                Value::text(words.join(&first.to_text()))
            }
            "sprintf" => {
                let mut text = first.to_text();
                let words: Vec<String> = given.values.iter().skip(1).map(Value::to_text).collect();
                crate::walk::values::fill(Some(&mut text), &words);
                Value::text(text)
            }
            "chr" => {
                let letter = first.to_text().parse().ok().and_then(char::from_u32).filter(char::is_ascii);
                letter.map_or(Value::Unknown, |letter| Value::text(letter.to_string()))
            }
            "glob" => Value::text(alive(&with_home(&first.to_text()))),
            "lc" => Value::text(first.to_text().to_lowercase()),
            "split" => {
                let text = given.values.get(1).cloned().unwrap_or(Value::Unknown);
                let separator = if matches!(&first, Value::Text(text) if text != " ") { first } else { Value::Nothing };
                self.call_method(text, "split", &Given { values: vec![separator], named: Vec::new() })
            }
            "find" | "finddepth" => {
                self.perl_find(given);
                Value::Nothing
            }
            "decode_base64" => crate::walk::decode::base64(&first.to_text()).map_or(Value::Unknown, Value::text),
            "pack" => {
                let text = given.values.get(1).map(Value::to_text).unwrap_or_default();
                let is_hexadecimal = first.to_text().starts_with('H');
                let plain = crate::walk::decode::hexadecimal(&text).filter(|_| is_hexadecimal);
                plain.map_or(Value::Unknown, Value::text)
            }
            _ if DELETES.contains(&base) || DELETES_IF_RECURSIVE.contains(&base) => {
                let paths = if given.values.is_empty() { vec![first] } else { given.values.clone() };
                for path in paths.iter().filter(|path| !matches!(path, Value::Table(_) | Value::Number(_))) {
                    self.delete(base, path, given);
                }
                Value::Nothing
            }
            _ => return None,
        })
    }

    fn run_perl(&mut self, values: &[Value]) -> Value {
        let words = Value::List(values.to_vec());
        let mut output = Value::Unknown;
        // One text may be one of several.
        let ways = if let [only] = values { only.clone().alternatives() } else { vec![words] };
        for way in ways {
            let words = way.words();
            self.note_unknown(&words);
            output = self.run_words("system", &words, None, None);
        }
        output
    }

    /// `open(my $file, ">", "name")`, `open(my $pipe, "|-", "command", …)`, `open(P, "command |")`
    fn perl_open(&mut self, given: &Given) -> Value {
        let mut words = Value::List(given.values.clone()).words();
        let mode = words.first().cloned().unwrap_or_default();
        if matches!(mode.trim(), "|-" | "-|") {
            words.remove(0);
            return self.run_words("system", &words, None, None);
        }
        if let Some(script) = mode.strip_prefix('|').or_else(|| mode.trim_end().strip_suffix('|')) {
            return self.run_words("system", &[script.trim().to_owned()], None, None);
        }
        let path = words.get(1).cloned().unwrap_or_else(|| mode.trim_start_matches(['<', '>', '+', ' ']).to_owned());
        if mode.starts_with('>') && !mode.starts_with(">>") {
            self.walk.write_file(&path, "", false);
        }
        Value::File(path)
    }

    /// `find(sub { … }, directories)`: the function sees every file below them.
    fn perl_find(&mut self, given: &Given) {
        let wanted = match given.values.first() {
            Some(Value::Table(entries)) => {
                entries.iter().find(|(key, _)| key == "wanted").map(|(_, value)| value.clone())
            }
            other => other.cloned(),
        };
        let Some(wanted) = wanted else { return };
        for directory in given.values.iter().skip(1).flat_map(Value::words) {
            let path = Value::text(below(&directory, TREE));
            if let Some(scope) = self.scopes.last_mut() {
                scope.values.insert("$_".to_owned(), path.clone());
                scope.values.insert("$File.Find.name".to_owned(), path);
            }
            self.call_each(wanted.clone(), &Given::default());
        }
    }
}

fn perl_text(values: &[Value]) -> String {
    Value::List(values.to_vec()).words().concat()
}

/// A table of the pairs in a list.
fn perl_table(given: &Given) -> Value {
    let items = match given.values.as_slice() {
        [Value::List(items)] => items.clone(),
        [table @ Value::Table(_)] => return table.clone(),
        values => values.to_vec(),
    };
    let pairs = items.chunks(2).map(|pair| match pair {
        [key, value] => (key.to_text(), value.clone()),
        rest => (rest.first().map(Value::to_text).unwrap_or_default(), Value::Nothing),
    });
    Value::Table(pairs.collect())
}
