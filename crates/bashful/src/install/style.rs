//! Formats new values like the JSON text around them: line ends, indentation, one line or several.

use serde_json::Value;

use super::jsonc::Group;

/// The formatting of one text.
pub(super) struct Style {
    pub(super) newline: &'static str,
    /// One step of indentation.
    pub(super) unit: String,
}

impl Style {
    pub(super) fn of(text: &str, root: Option<&Group>) -> Self {
        let first = root.and_then(|root| root.members.first());
        let unit = first.map_or("", |first| {
            let lead = indent(text, first.start);
            // Only a member that begins its line shows the indentation.
            if text[..first.start].ends_with(&format!("\n{lead}")) { lead } else { "" }
        });
        Self { newline: newline(text), unit: if unit.is_empty() { "  ".to_owned() } else { unit.to_owned() } }
    }

    /// A value inside objects of these names, a line for each. In a list there are no names, and the value stands alone.
    pub(super) fn member(&self, names: &[&str], value: &Value, indent: &str) -> String {
        match names.split_first() {
            None => one_line(value),
            Some((name, [])) => format!("{}: {}", quoted(name), one_line(value)),
            Some((name, rest)) => format!("{}: {}", quoted(name), self.object(rest, value, indent)),
        }
    }

    /// The object that holds a value under these names, of which there is at least one.
    pub(super) fn object(&self, names: &[&str], value: &Value, indent: &str) -> String {
        let inner = format!("{indent}{}", self.unit);
        let member = self.member(names, value, &inner);
        format!("{{{newline}{inner}{member}{newline}{indent}}}", newline = self.newline)
    }
}

/// The object on one line.
pub(super) fn inline(names: &[&str], value: &Value) -> String {
    match names.split_first() {
        None => one_line(value),
        Some((name, [])) => format!("{}: {}", quoted(name), one_line(value)),
        Some((name, rest)) => format!("{}: {{ {} }}", quoted(name), inline(rest, value)),
    }
}

/// A value on one line, with a space where people put one.
pub(super) fn one_line(value: &Value) -> String {
    match value {
        Value::Array(values) => format!("[{}]", values.iter().map(one_line).collect::<Vec<_>>().join(", ")),
        Value::Object(values) if !values.is_empty() => {
            let members = values.iter().map(|(name, value)| format!("{}: {}", quoted(name), one_line(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

fn quoted(name: &str) -> String {
    Value::from(name).to_string()
}

/// The space that begins the line of a place.
pub(super) fn indent(text: &str, place: usize) -> &str {
    let start = text[..place].rfind('\n').map_or(0, |at| at + 1);
    let line = &text[start..];
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// The line end of a text, by its first line.
pub(super) fn newline(text: &str) -> &'static str {
    let first = text.find('\n');
    if first.is_some_and(|at| text[..at].ends_with('\r')) { "\r\n" } else { "\n" }
}
