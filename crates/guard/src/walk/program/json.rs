//! JSON.

use crate::walk::program::syntax::Expr;
use crate::walk::program::value::Value;
use crate::walk::program::{Run, Trial};

impl Trial<'_, '_> {
    /// The value that a text in JSON says.
    pub(super) fn parsed_json(&mut self, value: &Value) -> Run<Value> {
        let text = self.content_of(value)?;
        if super::value::is_doubtful(&text) {
            if self.fails_here(self.place) {
                let kind = if self.is_python() { "JSONDecodeError" } else { "SyntaxError" };
                return Err(self.exception(kind, "invalid JSON"));
            }
            return Ok(super::value::unknown_like(&text));
        }
        self.spend(text.len() / 16)?;
        // JSON is JavaScript.
        let reader = super::parse::ProgramReader::new(crate::walk::program::Language::Script, text.trim(), 0);
        let value: Option<Expr> = reader.and_then(|mut reader| {
            let value = reader.expression()?;
            reader.is_end().then_some(value)
        });
        if let Some(value) = value {
            self.value(&value)
        } else {
            let kind = if self.is_python() { "JSONDecodeError" } else { "SyntaxError" };
            Err(self.exception(kind, "invalid JSON"))
        }
    }

    pub(super) fn revived(&mut self, reviver: &Value, value: Value, depth: usize) -> Run<Value> {
        if depth > 0 && matches!(value, Value::Dict(_) | Value::List(_)) {
            for (key, part) in self.entries_of(&value)? {
                let part = self.revived(reviver, part, depth - 1)?;
                let part = self.call(reviver.clone(), vec![key.clone(), part])?;
                let key = match (&value, key.known_text().and_then(|key| key.parse().ok())) {
                    (Value::List(_), Some(at)) => Value::Int(at),
                    _ => key,
                };
                self.set_item(&value, &key, part)?;
            }
        }
        Ok(value)
    }

    /// A value in JSON.
    pub(super) fn json_text(&mut self, value: &Value, depth: usize) -> Run<String> {
        self.step()?;
        if depth == 0 {
            return Ok("null".to_owned());
        }
        let between = if self.is_python() { ", " } else { "," };
        let colon = if self.is_python() { ": " } else { ":" };
        Ok(match value {
            Value::None | Value::Undefined => "null".to_owned(),
            Value::Bool(flag) => flag.to_string(),
            Value::Int(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::List(_) | Value::Tuple(_) => {
                let mut parts = Vec::new();
                for item in self.items(value)? {
                    parts.push(self.json_text(&item, depth - 1)?);
                }
                format!("[{}]", parts.join(between))
            }
            Value::Dict(_) | Value::Object(_) => {
                let mut parts = Vec::new();
                for (key, value) in self.entries_of(value)? {
                    if value.is_callable() || matches!(value, Value::Undefined) {
                        continue;
                    }
                    let key = self.text_of(&key)?;
                    parts.push(format!("\"{key}\"{colon}{}", self.json_text(&value, depth - 1)?));
                }
                format!("{{{}}}", parts.join(between))
            }
            value => {
                let text = self.text_of(value)?;
                format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
            }
        })
    }
}
