//! Functions that awk itself has.

use std::rc::Rc;

use crate::marks::{UNKNOWN, has_mark, is_mark};
use crate::walk::awk::ast::{Expr, FS, RLENGTH, RSTART, Slot};
use crate::walk::awk::machine::AwkRun;
use crate::walk::awk::number;
use crate::walk::awk::state::{Array, Cell};
use crate::walk::awk::substitute::{Separator, Which, part, place, split, substituted};
use crate::walk::awk::value::{Value, is_all_marks};

impl AwkRun<'_, '_, '_> {
    /// Calls a function of awk's own.
    pub(super) fn native(&mut self, name: &str, arguments: &[Expr]) -> Value {
        match (name, arguments) {
            ("length", _) => self.length(arguments.first()),
            ("split", [text, Expr::Var(array), rest @ ..]) => self.split(text, *array, rest.first()),
            ("patsplit", [_, Expr::Var(array), ..]) => {
                if let Some(items) = self.state.array_mut(*array) {
                    *items = Array::of_unknown(Value::unknown());
                }
                Value::unknown_number()
            }
            ("sub" | "gsub", [pattern, by, rest @ ..]) => self.substitute(pattern, by, rest.first(), name == "gsub"),
            ("gensub", [pattern, by, which, rest @ ..]) => self.gensub(pattern, by, which, rest.first()),
            ("match", [text, pattern, rest @ ..]) => self.find(text, pattern, rest.first()),
            ("asort" | "asorti", [Expr::Var(from), rest @ ..]) => {
                let to = if let Some(Expr::Var(to)) = rest.first() { *to } else { *from };
                self.sort(*from, to, name == "asorti")
            }
            ("isarray", [Expr::Var(slot)]) => Value::flag(Some(self.is_array(*slot))),
            _ => {
                let values: Vec<Value> = arguments.iter().map(|argument| self.value(argument)).collect();
                self.plain(name, &values)
            }
        }
    }

    /// Functions of plain values.
    fn plain(&mut self, name: &str, values: &[Value]) -> Value {
        let first = values.first().cloned().unwrap_or(Value::Unset);
        match name {
            "system" => self.system(&first),
            "close" => {
                for name in self.texts_of(&first) {
                    self.close(&name);
                }
                Value::Number(0.0)
            }
            "fflush" => Value::Number(0.0),
            "sprintf" => {
                let texts: Vec<String> =
                    super::output::choices(values).iter().map(|choice| self.format(choice)).collect();
                let texts: Vec<Value> = texts.into_iter().map(|text| self.bounded(text)).collect();
                texts.into_iter().reduce(|joined, text| joined.join(&text)).unwrap_or(Value::Unset)
            }
            "substr" => self.substr(&first, values),
            "index" => {
                let wanted = self.text_of(values.get(1).unwrap_or(&Value::Unset));
                let text = self.text_of(&first);
                self.work(text.len() / 64);
                place(&text, &wanted).map_or_else(Value::unknown_number, Value::count)
            }
            "tolower" | "toupper" => {
                let change = |text: &str| {
                    if name == "tolower" { text.to_lowercase() } else { text.to_uppercase() }
                };
                self.each_text(&first, change)
            }
            "strtonum" => {
                let text = self.text_of(&first);
                if has_mark(&text) { Value::unknown_number() } else { Value::Number(any_base(text.trim())) }
            }
            _ => {
                let numbers: Option<Vec<f64>> = values.iter().map(Value::number).collect();
                let result = numbers.and_then(|numbers| numeric(name, &numbers));
                result.map_or_else(Value::unknown_number, Value::Number)
            }
        }
    }

    /// Makes a text of each that a value may be.
    fn each_text(&mut self, value: &Value, make: impl Fn(&str) -> String) -> Value {
        let texts = self.texts_of(value);
        self.work(texts.iter().map(|text| text.len() / 16).sum());
        let texts: Vec<String> = texts.iter().map(|text| make(text)).collect();
        let texts: Vec<Value> = texts.into_iter().map(|text| self.bounded(text)).collect();
        texts.into_iter().reduce(|joined, text| joined.join(&text)).unwrap_or(Value::Unset)
    }

    fn is_array(&self, slot: Slot) -> bool {
        let at = match slot {
            Slot::Global(at) => at,
            Slot::Local(at) => self.state.base + at,
        };
        matches!(self.state.cells.get(at), Some(Cell::Array(_)))
    }

    fn length(&mut self, argument: Option<&Expr>) -> Value {
        let value = match argument {
            Some(Expr::Var(slot)) if self.is_array(*slot) => {
                let array = self.state.array(*slot).unwrap_or_default();
                let is_known = array.others.is_none();
                return if is_known { Value::count(array.len()) } else { Value::unknown_number() };
            }
            Some(argument) => self.value(argument),
            None => self.state.record.field(0),
        };
        let text = self.text_of(&value);
        self.work(text.len() / 64);
        if has_mark(&text) { Value::unknown_number() } else { Value::count(text.chars().count()) }
    }

    fn substr(&mut self, text: &Value, values: &[Value]) -> Value {
        let from = values.get(1).and_then(Value::number);
        let length = values.get(2).map(Value::number);
        match (from, length) {
            (Some(from), None) => self.each_text(text, |text| part(text, from, None)),
            (Some(from), Some(Some(length))) => self.each_text(text, |text| part(text, from, Some(length))),
            _ => self.unknown_of(text),
        }
    }

    /// Unknown text that was made of this one.
    fn unknown_of(&mut self, value: &Value) -> Value {
        let text = self.text_of(value);
        if is_all_marks(&text) { Value::Input(text) } else { Value::input(self.walk.unknown_made_of(&text)) }
    }

    fn split(&mut self, text: &Expr, array: Slot, separator: Option<&Expr>) -> Value {
        let text = self.value(text);
        let text = self.text_of(&text);
        let separator = match separator {
            None => {
                let fs = self.state.global(FS).to_text("%.6g");
                Some(self.separator(&fs))
            }
            Some(Expr::Regex(pattern)) => self.ere(pattern).map(Separator::Expression),
            Some(separator) => {
                let separator = self.value(separator);
                let separator = self.text_of(&separator);
                (!has_mark(&separator)).then(|| self.separator(&separator))
            }
        };
        let is_open = has_mark(&text) && (text.contains(UNKNOWN) || is_all_marks(&text));
        let (mut items, count) = if let Some(separator) = separator {
            let fields = split(&text, &separator);
            self.work(4 * fields.len() + text.len() / 16);
            let count = fields.len();
            (Array::of_list(fields.into_iter().map(Value::Input)), Some(count))
        } else {
            let unknown = self.unknown_of(&Value::Input(Rc::clone(&text)));
            (Array::of_unknown(unknown), None)
        };
        if is_open {
            // A listing is the mark of each of its parts.
            items.others = Some(if is_all_marks(&text) { Value::Input(text) } else { Value::unknown() });
        }
        if let Some(array) = self.state.array_mut(array) {
            *array = items;
        }
        count.filter(|_| !is_open).map_or_else(Value::unknown_number, Value::count)
    }

    fn substitute(&mut self, pattern: &Expr, by: &Expr, target: Option<&Expr>, all: bool) -> Value {
        let ere = self.pattern(pattern);
        let by = self.value(by);
        let by = self.text_of(&by);
        let record = Expr::Field(Box::new(Expr::Number(0.0)));
        let target = target.unwrap_or(&record);
        let value = self.value(target);
        let Some(ere) = ere else {
            let unknown = self.unknown_of(&value);
            self.store(target, unknown);
            return Value::unknown_number();
        };
        let which = if all { Which::All } else { Which::Nth(1) };
        let mut counts: Option<Value> = None;
        let mut changed: Option<Value> = None;
        for text in self.texts_of(&value) {
            let done = substituted(&text, &ere, &by, which, false);
            self.work(1 + text.len() / 16 + 4 * done.seen);
            let count =
                if done.is_open && done.count == 0 { Value::unknown_number() } else { Value::count(done.count) };
            counts = Some(counts.map_or_else(|| count.clone(), |before| before.join(&count)));
            let value = if done.count == 0 { value_like(&value, &text) } else { self.bounded(done.text) };
            changed = Some(changed.map_or_else(|| value.clone(), |before| before.join(&value)));
        }
        let is_changed = changed.as_ref().is_some_and(|changed| *changed != value);
        if let Some(changed) = changed.filter(|_| is_changed) {
            self.store(target, changed);
        }
        counts.unwrap_or_else(Value::unknown_number)
    }

    fn gensub(&mut self, pattern: &Expr, by: &Expr, which: &Expr, target: Option<&Expr>) -> Value {
        let ere = self.pattern(pattern);
        let by = self.value(by);
        let by = self.text_of(&by);
        let which = self.value(which);
        let which = match which.number().and_then(number::whole).and_then(|nth| usize::try_from(nth).ok()) {
            Some(nth) if nth > 0 => Which::Nth(nth),
            _ if self.text_of(&which).starts_with(['g', 'G']) => Which::All,
            _ => Which::Nth(1),
        };
        let value = match target {
            Some(target) => self.value(target),
            None => self.state.record.field(0),
        };
        match ere {
            Some(ere) => {
                let length: usize = self.texts_of(&value).iter().map(|text| text.len()).sum();
                self.work(1 + length);
                self.each_text(&value, |text| substituted(text, &ere, &by, which, true).text)
            }
            None => self.unknown_of(&value),
        }
    }

    /// `match`
    fn find(&mut self, text: &Expr, pattern: &Expr, groups: Option<&Expr>) -> Value {
        let text = self.value(text);
        let text = self.text_of(&text);
        let ere = self.pattern(pattern);
        self.work(1 + text.len() / 16);
        // Behind a mark no letter has a certain place.
        let known = text.split(is_mark).next().unwrap_or("");
        let found = ere.as_ref().map(|ere| ere.find(&text, 0));
        let (start, length) = match found {
            Some(Some(found)) if found.end <= known.len() => {
                let letters = |from: usize, to: usize| Value::count(text.get(from..to).unwrap_or("").chars().count());
                let start = letters(0, found.start).number().unwrap_or(0.0) + 1.0;
                (Value::Number(start), letters(found.start, found.end))
            }
            Some(None) if known.len() == text.len() => (Value::Number(0.0), Value::Number(-1.0)),
            _ => (Value::unknown_number(), Value::unknown_number()),
        };
        if let Some(Expr::Var(array)) = groups {
            let mut items = Array::default();
            if has_mark(&text) || ere.is_none() {
                items.others = Some(self.unknown_of(&Value::Input(Rc::clone(&text))));
            } else if let Some(ere) = &ere {
                for (at, group) in ere.groups(&text, 0).into_iter().enumerate() {
                    let part = group.and_then(|group| text.get(group.start..group.end)).unwrap_or("");
                    items.set(&at.to_string(), Value::input(part));
                }
            }
            if let Some(array) = self.state.array_mut(*array) {
                *array = items;
            }
        }
        self.state.set(Slot::Global(RSTART), start.clone());
        self.state.set(Slot::Global(RLENGTH), length);
        start
    }

    /// `asort` and `asorti`
    fn sort(&mut self, from: Slot, to: Slot, by_key: bool) -> Value {
        let Some(items) = self.state.array(from) else { return Value::unknown_number() };
        let keys = items.keys();
        self.work(4 * keys.len());
        let mut values: Vec<Value> = if by_key {
            keys.into_iter().map(Value::text).collect()
        } else {
            keys.iter().map(|key| items.get(key).unwrap_or(Value::Unset)).collect()
        };
        let rank = |value: &Value| match value {
            Value::Number(number) => (0, *number, Rc::from("")),
            Value::Input(text) if number::looks_numeric(text) => (0, number::leading(text), Rc::from("")),
            value => (1, 0.0, value.to_text("%.6g")),
        };
        values.sort_by(|left, right| {
            let (left, right) = (rank(left), rank(right));
            left.0.cmp(&right.0).then(left.1.total_cmp(&right.1)).then_with(|| left.2.cmp(&right.2))
        });
        let count = Value::count(values.len());
        let is_open = items.others.is_some();
        if let Some(array) = self.state.array_mut(to) {
            *array = Array::of_list(values);
            array.others.clone_from(&items.others);
        }
        if is_open { Value::unknown_number() } else { count }
    }
}

/// A text that a function has left as it was.
fn value_like(value: &Value, text: &Rc<str>) -> Value {
    match value {
        Value::Several(_) => Value::Input(Rc::clone(text)),
        value => value.clone(),
    }
}

fn numeric(name: &str, numbers: &[f64]) -> Option<f64> {
    let first = numbers.first().copied().unwrap_or(0.0);
    let whole = |at: usize| numbers.get(at).copied().and_then(number::whole);
    Some(match name {
        "int" => first.trunc(),
        "sin" => first.sin(),
        "cos" => first.cos(),
        "exp" => first.exp(),
        "log" => first.ln(),
        "sqrt" => first.sqrt(),
        "atan2" => first.atan2(numbers.get(1).copied()?),
        "and" => number::from_whole(whole(0)? & whole(1)?),
        "or" => number::from_whole(whole(0)? | whole(1)?),
        "xor" => number::from_whole(whole(0)? ^ whole(1)?),
        "lshift" => number::from_whole(whole(0)?.checked_shl(u32::try_from(whole(1)?).ok()?)?),
        "rshift" => number::from_whole(whole(0)?.checked_shr(u32::try_from(whole(1)?).ok()?)?),
        // Chance, the clock, and functions that are not known.
        _ => return None,
    })
}

/// A number in the base that it is written in.
fn any_base(text: &str) -> f64 {
    let digits = |text: &str, base: u32| i64::from_str_radix(text, base).ok().map(number::from_whole);
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).and_then(|text| digits(text, 16));
    let octal = text.strip_prefix('0').filter(|text| !text.is_empty()).and_then(|text| digits(text, 8));
    hexadecimal.or(octal).unwrap_or_else(|| number::leading(text))
}
