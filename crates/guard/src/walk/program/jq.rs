//! `jq` over text that is known: paths, lists, strings and the common functions. Anything else gives none.

use crate::walk::program::value::Value;
use crate::walk::program::{Language, constant, parsed_value};

/// The most results of a filter.
const MOST_RESULTS: usize = 256;

/// The deepest nesting of a filter.
const DEEPEST: usize = 32;

/// The lines that jq prints for a text; none if text or filter are not understood.
pub(crate) fn jq_lines(filter: &str, text: Option<&str>, is_raw: bool) -> Option<Vec<String>> {
    let input = match text {
        Some(text) => constant(&parsed_value(Language::Script, text.trim())?)?,
        None => Value::Nothing,
    };
    let mut reader = JqReader { rest: filter.trim(), depth: 0 };
    let results = reader.pipe(&[input])?;
    if !reader.rest.trim().is_empty() {
        return None;
    }
    results.iter().map(|value| if is_raw { Some(value.to_jq_text()) } else { Some(value.to_json()) }).collect()
}

struct JqReader<'f> {
    rest: &'f str,
    depth: usize,
}

impl JqReader<'_> {
    fn eat(&mut self, sign: &str) -> bool {
        let rest = self.rest.trim_start();
        match rest.strip_prefix(sign) {
            Some(after) => {
                self.rest = after;
                true
            }
            None => false,
        }
    }

    /// Goes on behind a word, if it is there.
    fn eat_word(&mut self, word: &str) -> bool {
        let rest = self.rest.trim_start();
        let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
        match rest.strip_prefix(word).filter(|after| !after.starts_with(is_part)) {
            Some(after) => {
                self.rest = after;
                true
            }
            None => false,
        }
    }

    /// `a | b`
    fn pipe(&mut self, inputs: &[Value]) -> Option<Vec<Value>> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return None;
        }
        let mut values = self.list(inputs)?;
        while self.eat("|") {
            values = self.list(&values)?;
        }
        self.depth -= 1;
        (values.len() <= MOST_RESULTS).then_some(values)
    }

    /// `a, b`
    fn list(&mut self, inputs: &[Value]) -> Option<Vec<Value>> {
        let mut values = self.sum(inputs)?;
        while self.eat(",") {
            values.extend(self.sum(inputs)?);
        }
        Some(values)
    }

    /// `a + b`, `a // b`, `a == b`
    fn sum(&mut self, inputs: &[Value]) -> Option<Vec<Value>> {
        let start = self.rest;
        let mut results = Vec::new();
        let mut end = start;
        for input in inputs {
            self.rest = start;
            results.extend(self.sum_of(input)?);
            end = self.rest;
        }
        // Without input, the filter is read all the same.
        if inputs.is_empty() {
            self.sum_of(&Value::Nothing)?;
            end = self.rest;
        }
        self.rest = end;
        Some(results)
    }

    fn sum_of(&mut self, input: &Value) -> Option<Vec<Value>> {
        let mut left = self.term(input)?;
        loop {
            if self.eat("//") {
                let right = self.term(input)?;
                let is_there = left.iter().any(|value| value.truth() != Some(false));
                left = if is_there { left } else { right };
            } else if self.eat("==")
                || self.eat("!=")
                || self.eat(">=")
                || self.eat("<=")
                || self.eat(">")
                || self.eat("<")
            {
                self.term(input)?;
                left = vec![Value::Unknown];
            } else if self.eat("+") {
                let right = self.term(input)?;
                let sums = left
                    .iter()
                    .flat_map(|left| right.iter().map(move |right| super::operators::combined(left, "+", right)));
                left = sums.take(MOST_RESULTS).collect();
            } else if self.eat_word("and") || self.eat_word("or") {
                self.term(input)?;
                left = vec![Value::Unknown];
            } else {
                return Some(left);
            }
        }
    }

    fn term(&mut self, input: &Value) -> Option<Vec<Value>> {
        let mut values = self.primary(input)?;
        loop {
            if self.rest.starts_with('[') || self.rest.starts_with(".[") {
                self.rest = self.rest.trim_start_matches('.');
                values = self.index(&values, input)?;
            } else if self.rest.starts_with('.')
                && self.rest.get(1..).is_some_and(|rest| rest.starts_with(is_name) || rest.starts_with('"'))
            {
                self.rest = self.rest.get(1..)?;
                values = self.key(&values)?;
            } else if self.rest.starts_with('?') {
                self.rest = self.rest.get(1..)?;
            } else {
                return Some(values);
            }
        }
    }

    /// The members of a name behind a dot.
    fn key(&mut self, values: &[Value]) -> Option<Vec<Value>> {
        let key =
            if self.rest.starts_with('"') { self.string(&Value::Nothing)?.first()?.to_text() } else { self.name() };
        Some(values.iter().map(|value| member(value, &key)).collect())
    }

    fn name(&mut self) -> String {
        let end = self.rest.find(|letter| !is_name(letter)).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        self.rest = rest;
        name.to_owned()
    }

    /// `[]`, `[0]`, `["key"]`
    fn index(&mut self, values: &[Value], input: &Value) -> Option<Vec<Value>> {
        if !self.eat("[") {
            return None;
        }
        if self.eat("]") {
            return Some(values.iter().flat_map(items).collect());
        }
        let keys = self.pipe(std::slice::from_ref(input))?;
        if !self.eat("]") {
            return None;
        }
        let found = values.iter().flat_map(|value| {
            keys.iter().map(move |key| match (value, key) {
                (Value::List(items), Value::Number(at)) => {
                    usize::try_from(*at).ok().and_then(|at| items.get(at)).cloned().unwrap_or(Value::Nothing)
                }
                (value, key) => member(value, &key.to_text()),
            })
        });
        Some(found.collect())
    }

    fn primary(&mut self, input: &Value) -> Option<Vec<Value>> {
        self.rest = self.rest.trim_start();
        let first = self.rest.chars().next()?;
        match first {
            '"' => self.string(input),
            '(' => {
                self.eat("(");
                let values = self.pipe(std::slice::from_ref(input))?;
                self.eat(")").then_some(values)
            }
            '[' => {
                self.eat("[");
                if self.eat("]") {
                    return Some(vec![Value::List(Vec::new())]);
                }
                let values = self.pipe(std::slice::from_ref(input))?;
                self.eat("]").then(|| vec![Value::List(values)])
            }
            '.' => {
                self.rest = self.rest.get(1..)?;
                if self.rest.starts_with(is_name) || self.rest.starts_with('"') {
                    return self.key(std::slice::from_ref(input));
                }
                Some(vec![input.clone()])
            }
            '0'..='9' => Some(vec![self.name().parse().map_or(Value::Unknown, Value::Number)]),
            '@' => {
                self.rest = self.rest.get(1..)?;
                let format = self.name();
                Some(vec![formatted(&format, input)?])
            }
            _ if is_name(first) => {
                let name = self.name();
                self.function(&name, input)
            }
            _ => None,
        }
    }

    /// A string with filters in it: `"git push \(.remote)"`.
    fn string(&mut self, input: &Value) -> Option<Vec<Value>> {
        self.eat("\"");
        let mut texts = vec![String::new()];
        loop {
            let letter = self.rest.chars().next()?;
            self.rest = self.rest.get(letter.len_utf8()..)?;
            let add = match letter {
                '"' => return Some(texts.into_iter().map(Value::text).collect()),
                '\\' if self.rest.starts_with('(') => {
                    self.eat("(");
                    let values = self.pipe(std::slice::from_ref(input))?;
                    if !self.eat(")") {
                        return None;
                    }
                    values.iter().map(Value::to_jq_text).collect()
                }
                '\\' => {
                    let (taken, meant) = crate::syntax::unescape(self.rest, true);
                    self.rest = self.rest.get(taken.max(1)..)?;
                    vec![meant?.to_string()]
                }
                letter => vec![letter.to_string()],
            };
            texts = texts
                .iter()
                .flat_map(|text| add.iter().map(move |more| format!("{text}{more}")))
                .take(MOST_RESULTS)
                .collect();
        }
    }

    fn function(&mut self, name: &str, input: &Value) -> Option<Vec<Value>> {
        Some(match name {
            "select" => {
                let holds = self.argument(input)?;
                if holds.iter().all(|value| value.truth() == Some(false)) { Vec::new() } else { vec![input.clone()] }
            }
            "map" => {
                let start = self.rest;
                let mut results = Vec::new();
                for item in items(input) {
                    self.rest = start;
                    results.extend(self.argument(&item)?);
                }
                if items(input).is_empty() {
                    self.argument(&Value::Nothing)?;
                }
                vec![Value::list(results)]
            }
            "join" => {
                let between = self.argument(input)?.first()?.to_text();
                let words: Vec<String> = items(input).iter().map(Value::to_jq_text).collect();
                vec![Value::text(words.join(&between))]
            }
            "if" => {
                let condition = self.pipe(std::slice::from_ref(input))?.first()?.truth();
                let then = self.eat_word("then").then(|| self.pipe(std::slice::from_ref(input)))??;
                let otherwise =
                    if self.eat_word("else") { self.pipe(std::slice::from_ref(input))? } else { vec![input.clone()] };
                if !self.eat_word("end") {
                    return None;
                }
                match condition {
                    Some(true) => then,
                    Some(false) => otherwise,
                    None => then.into_iter().chain(otherwise).collect(),
                }
            }
            "to_entries" => {
                let Value::Table(entries) = input else { return None };
                let entry = |(key, value): &(String, Value)| {
                    Value::Table(vec![
                        ("key".to_owned(), Value::text(key.clone())),
                        ("value".to_owned(), value.clone()),
                    ])
                };
                vec![Value::List(entries.iter().map(entry).collect())]
            }
            "keys" | "keys_unsorted" => match input {
                Value::Table(entries) => vec![Value::texts(entries.iter().map(|(key, _)| key.as_str()))],
                _ => return None,
            },
            "reverse" => vec![Value::list(items(input).into_iter().rev().collect())],
            "add" => vec![items(input).into_iter().reduce(|sum, item| super::operators::combined(&sum, "+", &item))?],
            "tostring" | "ascii_downcase" | "values" | "flatten" | "sort" | "unique" | "strings" => vec![input.clone()],
            "not" | "length" | "type" => vec![Value::Unknown],
            "true" => vec![Value::Flag(true)],
            "false" => vec![Value::Flag(false)],
            "null" => vec![Value::Nothing],
            "test" | "startswith" | "endswith" | "contains" | "has" | "any" | "all" | "in" | "inside" => {
                if self.rest.starts_with('(') {
                    self.argument(input)?;
                }
                vec![Value::Unknown]
            }
            _ => return None,
        })
    }

    /// The results of an argument in parentheses.
    fn argument(&mut self, input: &Value) -> Option<Vec<Value>> {
        if !self.eat("(") {
            return None;
        }
        let values = self.pipe(std::slice::from_ref(input))?;
        self.eat(")").then_some(values)
    }
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn items(value: &Value) -> Vec<Value> {
    match value {
        Value::List(items) => items.clone(),
        Value::Table(entries) => entries.iter().map(|(_, value)| value.clone()).collect(),
        _ => Vec::new(),
    }
}

fn member(value: &Value, key: &str) -> Value {
    match value {
        Value::Table(entries) => {
            entries.iter().find(|(own, _)| own == key).map_or(Value::Nothing, |(_, value)| value.clone())
        }
        _ => Value::Nothing,
    }
}

/// `@sh`, `@tsv`, `@text`
fn formatted(format: &str, input: &Value) -> Option<Value> {
    let words: Vec<String> = match input {
        Value::List(items) => items.iter().map(Value::to_jq_text).collect(),
        value => vec![value.to_jq_text()],
    };
    Some(Value::text(match format {
        "sh" => words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" "),
        "tsv" => words.join("\t"),
        "csv" => words.iter().map(|word| format!("\"{word}\"")).collect::<Vec<_>>().join(","),
        "text" => words.join(" "),
        "json" => input.to_json(),
        _ => return None,
    }))
}

impl Value {
    /// The text that `jq -r` prints.
    fn to_jq_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            value => value.to_json(),
        }
    }

    fn to_json(&self) -> String {
        match self {
            Self::Text(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
            Self::Number(number) => number.to_string(),
            Self::Flag(flag) => flag.to_string(),
            Self::Nothing => "null".to_owned(),
            Self::List(items) => format!("[{}]", items.iter().map(Self::to_json).collect::<Vec<_>>().join(",")),
            Self::Table(entries) => {
                let entry = |(key, value): &(String, Self)| format!("\"{key}\":{}", value.to_json());
                format!("{{{}}}", entries.iter().map(entry).collect::<Vec<_>>().join(","))
            }
            value => value.to_text(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_print_what_jq_prints() {
        let text = r#"{"steps": ["a b", "c"], "x": {"y": [{"k": 1, "s": "t"}], "on": true}}"#;
        let check = |filter: &str, lines: &[&str]| {
            assert_eq!(
                jq_lines(filter, Some(text), true).as_deref(),
                Some(lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>().as_slice()),
                "{filter}"
            );
        };
        check(".steps[]", &["a b", "c"]);
        check(".x.y[0].s", &["t"]);
        check(".x.y[] | \"\\(.k) \\(if .k then \"+\" else \"\" end)\\(.s)\"", &["1 +t"]);
        check("[.steps[0]] + (.steps | map(\"/\" + .)) | @sh", &["'a b' '/a b' '/c'"]);
        check(".x | to_entries[] | .key", &["y", "on"]);
        check(".none // \"d\"", &["d"]);
        check(".x.y[] | select(.s == \"t\") | .k", &["1"]);
        check(".steps | join(\";\")", &["a b;c"]);
        assert_eq!(jq_lines(".a | foo(1)", Some("{}"), true), None);
        assert_eq!(jq_lines("[\"a\",\"b\"] | join(\" \")", None, true), Some(vec!["a b".to_owned()]));
    }
}
