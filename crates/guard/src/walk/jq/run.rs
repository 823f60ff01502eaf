//! Runs filters of jq: each gives any number of values, one after the other.
//!
//! A condition that is not known gives the values of both branches, and a `select` by it keeps its input.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use crate::walk::jq::formats::formatted;
use crate::walk::jq::json::Json;
use crate::walk::jq::parser::{Definition, Filter, Part};

/// The most steps of one filter.
const MOST_STEPS: usize = 20_000;

/// The deepest nesting of filters while they run.
const DEEPEST: usize = 110;

/// The largest value, by [`Json::size`].
const LARGEST: usize = 4096;

/// The deepest value.
const DEEPEST_VALUE: usize = 40;

/// The longest text, in bytes.
const LONGEST: usize = 48 << 10;

/// The reason that a filter has ended early.
#[derive(Debug)]
pub(super) enum Halt {
    Error(Json),
    Break(usize),
    /// The filter is not followed any further.
    Stop,
}

pub(super) type Outcome = Result<(), Halt>;
pub(super) type Emit<'e> = &'e mut dyn FnMut(Json) -> Outcome;

/// Names that a filter finds, the last one first.
pub(super) struct Scope {
    pub(super) binding: Binding,
    pub(super) parent: Option<Rc<Scope>>,
}

pub(super) enum Binding {
    Value(String, Json),
    Function(Rc<Definition>),
    /// An argument, with the names where the call stands.
    Argument(String, Rc<Filter>, Names),
    Label(String, usize),
}

pub(super) type Names = Option<Rc<Scope>>;

/// A filter that runs.
pub(super) struct Jq<'v> {
    environment: &'v dyn Fn(&str) -> Json,
    pub(super) inputs: RefCell<VecDeque<Json>>,
    pub(super) patterns: RefCell<HashMap<String, Option<Rc<fancy_regex::Regex>>>>,
    steps: Cell<usize>,
    depth: Cell<usize>,
    labels: Cell<usize>,
}

impl<'v> Jq<'v> {
    pub(super) fn new(environment: &'v dyn Fn(&str) -> Json, inputs: VecDeque<Json>) -> Self {
        Self {
            environment,
            inputs: RefCell::new(inputs),
            patterns: RefCell::default(),
            steps: Cell::new(0),
            depth: Cell::new(0),
            labels: Cell::new(0),
        }
    }

    /// The work that was done so far.
    pub(super) fn steps(&self) -> usize {
        self.steps.get()
    }

    pub(super) fn step(&self, cost: usize) -> Outcome {
        self.steps.set(self.steps.get() + 1 + cost);
        if self.steps.get() > MOST_STEPS { Err(Halt::Stop) } else { Ok(()) }
    }

    /// Gives each value of the filter to `emit`.
    pub(super) fn run(&self, filter: &Filter, input: &Json, names: &Names, emit: Emit<'_>) -> Outcome {
        self.step(0)?;
        self.depth.set(self.depth.get() + 1);
        let result =
            if self.depth.get() > DEEPEST { Err(Halt::Stop) } else { self.run_inside(filter, input, names, emit) };
        self.depth.set(self.depth.get() - 1);
        result
    }

    /// All values of a filter.
    pub(super) fn all(&self, filter: &Filter, input: &Json, names: &Names) -> Result<Vec<Json>, Halt> {
        let mut values = Vec::new();
        self.run(filter, input, names, &mut |value| {
            values.push(value);
            self.step(0)
        })?;
        Ok(values)
    }

    pub(super) fn run_inside(&self, filter: &Filter, input: &Json, names: &Names, emit: Emit<'_>) -> Outcome {
        match filter {
            Filter::Identity => emit(input.clone()),
            Filter::Everything => self.everything(input, emit),
            Filter::Member(term, key) => self.run(term, input, names, &mut |value| {
                self.run(key, input, names, &mut |key| emit(self.item(&value, &key)?))
            }),
            Filter::Slice(term, from, to) => self.run(term, input, names, &mut |value| {
                let bound = |filter: &Option<Rc<Filter>>| match filter {
                    Some(filter) => Ok(self.all(filter, input, names)?.into_iter().next().unwrap_or(Json::Null)),
                    None => Ok(Json::Null),
                };
                emit(sliced(&value, &bound(from)?, &bound(to)?))
            }),
            Filter::Items(term) => self.run(term, input, names, &mut |value| {
                if !matches!(value, Json::List(_) | Json::Table(_) | Json::Unknown) {
                    return Err(Halt::Error(Json::text("cannot iterate")));
                }
                value.items().into_iter().try_for_each(&mut *emit)
            }),
            Filter::Literal(value) => emit(value.clone()),
            Filter::Text(format, parts) => self.text(format.as_deref(), parts, String::new(), input, names, emit),
            Filter::Format(format) => emit(formatted(format, input)),
            Filter::List(inner) => {
                let items = match inner {
                    Some(inner) => self.all(inner, input, names)?,
                    None => Vec::new(),
                };
                emit(Self::bounded(Json::List(items)))
            }
            Filter::Table(entries) => self.table(entries, Json::Table(Vec::new()), input, names, emit),
            Filter::Negative(inner) => self.run(inner, input, names, &mut |value| {
                emit(if let Json::Number(number) = value { Json::Number(-number) } else { Json::Unknown })
            }),
            Filter::Pipe(first, rest) => {
                self.run(first, input, names, &mut |value| self.run(rest, &value, names, &mut *emit))
            }
            Filter::Both(first, second) => {
                self.run(first, input, names, &mut *emit)?;
                self.run(second, input, names, emit)
            }
            Filter::Binary(sign, left, right) => self.binary(sign, left, right, input, names, emit),
            Filter::If(branches, otherwise) => self.branches(branches, otherwise.as_deref(), input, names, emit),
            Filter::Try(body, handler) => self.attempt(body, handler.as_deref(), input, names, emit),
            Filter::Reduce(..) | Filter::Foreach(..) => self.folded(filter, input, names, emit),
            Filter::Define(definition, rest) => {
                let names = Self::with(names, Binding::Function(Rc::clone(definition)));
                self.run(rest, input, &names, emit)
            }
            Filter::Variable(name) => emit(Self::variable(name, names)),
            Filter::As(source, patterns, body) => self.run(source, input, names, &mut |value| {
                let mut last = Ok(());
                for pattern in patterns {
                    let inner = self.bound(pattern, &value, names)?;
                    last = self.run(body, input, &inner, &mut *emit);
                    if !matches!(last, Err(Halt::Error(_))) {
                        return last;
                    }
                }
                last
            }),
            Filter::Label(name, body) => {
                let number = self.labels.get() + 1;
                self.labels.set(number);
                let inner = Self::with(names, Binding::Label(name.clone(), number));
                match self.run(body, input, &inner, emit) {
                    Err(Halt::Break(own)) if own == number => Ok(()),
                    result => result,
                }
            }
            Filter::Break(name) => {
                let mut scope = names.as_ref();
                while let Some(current) = scope {
                    if let Binding::Label(own, number) = &current.binding
                        && own == name
                    {
                        return Err(Halt::Break(*number));
                    }
                    scope = current.parent.as_ref();
                }
                Err(Halt::Stop)
            }
            Filter::Call(name, arguments) => self.call(name, arguments, input, names, emit),
        }
    }

    /// `reduce` and `foreach`.
    fn folded(&self, filter: &Filter, input: &Json, names: &Names, emit: Emit<'_>) -> Outcome {
        match filter {
            Filter::Reduce(source, pattern, start, update) => {
                let Some(mut state) = self.all(start, input, names)?.pop() else { return Ok(()) };
                self.run(source, input, names, &mut |value| {
                    let inner = self.bound(pattern, &value, names)?;
                    state = self.all(update, &state, &inner)?.pop().unwrap_or(Json::Null);
                    self.step(state.size(LARGEST) / 16)
                })?;
                emit(state)
            }
            Filter::Foreach(source, pattern, start, update, extract) => {
                for mut state in self.all(start, input, names)? {
                    self.run(source, input, names, &mut |value| {
                        let inner = self.bound(pattern, &value, names)?;
                        for next in self.all(update, &state, &inner)? {
                            state = next;
                            match extract {
                                Some(extract) => self.run(extract, &state, &inner, &mut *emit)?,
                                None => emit(state.clone())?,
                            }
                        }
                        Ok(())
                    })?;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// A fresh number for a break.
    pub(super) fn new_label(&self) -> usize {
        self.labels.set(self.labels.get() + 1);
        self.labels.get()
    }

    /// A value, or something unknown if it is too large or too deep.
    pub(super) fn bounded(value: Json) -> Json {
        if value.is_deep(DEEPEST_VALUE) || value.size(LARGEST) > LARGEST { Json::Unknown } else { value }
    }

    pub(super) fn everything(&self, input: &Json, emit: Emit<'_>) -> Outcome {
        self.step(0)?;
        emit(input.clone())?;
        if !matches!(input, Json::List(_) | Json::Table(_)) {
            return Ok(());
        }
        input.items().iter().try_for_each(|item| self.everything(item, &mut *emit))
    }

    pub(super) fn text(
        &self,
        format: Option<&str>,
        parts: &[Part],
        before: String,
        input: &Json,
        names: &Names,
        emit: Emit<'_>,
    ) -> Outcome {
        let Some((part, rest)) = parts.split_first() else { return emit(Json::Text(before)) };
        if before.len() > LONGEST {
            return emit(Json::Unknown);
        }
        match part {
            Part::Text(text) => self.text(format, rest, before + text, input, names, emit),
            Part::Filter(filter) => self.run(filter, input, names, &mut |value| {
                let value = match format {
                    Some(format) => formatted(format, &value),
                    None => value,
                };
                self.text(format, rest, format!("{before}{}", value.to_text()), input, names, &mut *emit)
            }),
        }
    }

    pub(super) fn table(
        &self,
        entries: &[(Rc<Filter>, Option<Rc<Filter>>)],
        before: Json,
        input: &Json,
        names: &Names,
        emit: Emit<'_>,
    ) -> Outcome {
        let Some(((key, value), rest)) = entries.split_first() else { return emit(Self::bounded(before)) };
        self.run(key, input, names, &mut |key| {
            let key = key.to_text();
            let next = |value: Json, emit: Emit<'_>| {
                self.table(rest, before.clone().with_member(&key, value), input, names, emit)
            };
            match value {
                Some(value) => self.run(value, input, names, &mut |value| next(value, &mut *emit)),
                None => next(input.member(&key), &mut *emit),
            }
        })
    }

    pub(super) fn branches(
        &self,
        branches: &[(Rc<Filter>, Rc<Filter>)],
        otherwise: Option<&Filter>,
        input: &Json,
        names: &Names,
        emit: Emit<'_>,
    ) -> Outcome {
        let Some(((condition, then), rest)) = branches.split_first() else {
            return match otherwise {
                Some(otherwise) => self.run(otherwise, input, names, emit),
                None => emit(input.clone()),
            };
        };
        self.run(condition, input, names, &mut |holds| {
            let truth = holds.truth();
            if truth != Some(false) {
                self.run(then, input, names, &mut *emit)?;
            }
            if truth != Some(true) {
                self.branches(rest, otherwise, input, names, &mut *emit)?;
            }
            Ok(())
        })
    }

    pub(super) fn attempt(
        &self,
        body: &Filter,
        handler: Option<&Filter>,
        input: &Json,
        names: &Names,
        emit: Emit<'_>,
    ) -> Outcome {
        // An error behind the filter is not its own.
        let mut is_outside = false;
        let result = self.run(body, input, names, &mut |value| {
            let result = emit(value);
            is_outside |= result.is_err();
            result
        });
        match result {
            Err(Halt::Error(error)) if !is_outside => match handler {
                Some(handler) => self.run(handler, &error, names, emit),
                None => Ok(()),
            },
            result => result,
        }
    }

    pub(super) fn binary(
        &self,
        sign: &'static str,
        left: &Filter,
        right: &Filter,
        input: &Json,
        names: &Names,
        emit: Emit<'_>,
    ) -> Outcome {
        match sign {
            "and" | "or" => self.run(left, input, names, &mut |left| match left.truth() {
                Some(truth) if truth == (sign == "or") => emit(Json::Flag(truth)),
                Some(_) => {
                    self.run(right, input, names, &mut |right| emit(right.truth().map_or(Json::Unknown, Json::Flag)))
                }
                None => emit(Json::Unknown),
            }),
            "//" => {
                let mut found = Vec::new();
                let result = self.run(left, input, names, &mut |value| {
                    if value.truth() != Some(false) {
                        found.push(value);
                    }
                    Ok(())
                });
                if let Err(halt @ (Halt::Stop | Halt::Break(_))) = result {
                    return Err(halt);
                }
                // Something unknown may be nothing.
                let may_be_missing = found.iter().all(|value| matches!(value, Json::Unknown));
                found.into_iter().try_for_each(&mut *emit)?;
                if may_be_missing { self.run(right, input, names, emit) } else { Ok(()) }
            }
            "=" => self.run(right, input, names, &mut |value| {
                let updated = self.updated(left, input, names, &mut |_| Ok(Some(value.clone())))?;
                emit(updated)
            }),
            "|=" => {
                let updated =
                    self.updated(left, input, names, &mut |old| Ok(self.all(right, &old, names)?.into_iter().next()))?;
                emit(updated)
            }
            "+=" | "-=" | "*=" | "/=" | "%=" | "//=" => {
                let operator = sign.trim_end_matches('=');
                self.run(right, input, names, &mut |value| {
                    let updated = self.updated(left, input, names, &mut |old| {
                        if operator == "//" {
                            return Ok(Some(if old.truth() == Some(false) { value.clone() } else { old }));
                        }
                        Ok(Some(super::functions::combined(operator, &old, &value)?))
                    })?;
                    emit(updated)
                })
            }
            _ => self.run(right, input, names, &mut |right| {
                self.run(left, input, names, &mut |left| {
                    let value = super::functions::combined(sign, &left, &right)?;
                    self.step(value.size(LARGEST) / 32)?;
                    emit(Self::bounded(value))
                })
            }),
        }
    }

    /// A value with the places that a filter means changed; those without a new value are taken away.
    pub(super) fn updated(
        &self,
        place: &Filter,
        input: &Json,
        names: &Names,
        change: &mut dyn FnMut(Json) -> Result<Option<Json>, Halt>,
    ) -> Result<Json, Halt> {
        let mut paths = Vec::new();
        self.paths(place, &(Vec::new(), input.clone()), names, &mut |path, _| {
            paths.push(path);
            self.step(0)
        })?;
        let mut value = input.clone();
        let mut gone = Vec::new();
        for path in paths {
            let old = super::paths::path_value(&value, &path);
            match change(old)? {
                Some(new) => value = super::paths::with_path(value, &path, new),
                None => gone.push(path),
            }
            self.step(1)?;
        }
        for path in gone.iter().rev() {
            value = super::paths::without_path(value, path);
        }
        Ok(Self::bounded(value))
    }

    /// The item of a value by its key.
    pub(super) fn item(&self, value: &Json, key: &Json) -> Result<Json, Halt> {
        Ok(match (value, key) {
            (Json::Unknown, _) | (_, Json::Unknown) => Json::Unknown,
            (Json::Null, _) => Json::Null,
            (Json::Table(_), Json::Text(key)) => value.member(key),
            (Json::Text(table), Json::Text(key)) if table == ENVIRONMENT => (self.environment)(key),
            (Json::List(items), Json::Number(at)) => {
                let length = f64::from(u32::try_from(items.len()).unwrap_or(0));
                let at = if *at < 0.0 { at + length } else { *at };
                let at = format!("{:.0}", at.floor()).parse::<usize>().ok();
                at.and_then(|at| items.get(at)).cloned().unwrap_or(Json::Null)
            }
            _ => return Err(Halt::Error(Json::text("cannot index"))),
        })
    }
}

/// The stand-in for the table of the environment.
pub(super) const ENVIRONMENT: &str = "\u{1}environment";

pub(super) fn sliced(value: &Json, from: &Json, to: &Json) -> Json {
    let length = match value {
        Json::List(items) => items.len(),
        Json::Text(text) if crate::marks::has_mark(text) => return Json::Unknown,
        Json::Text(text) => text.chars().count(),
        Json::Null => return Json::Null,
        _ => return Json::Unknown,
    };
    let place = |bound: &Json, default: usize| match bound {
        Json::Number(at) => {
            let size = f64::from(u32::try_from(length).unwrap_or(0));
            let at = if *at < 0.0 { at + size } else { *at };
            format!("{:.0}", at.clamp(0.0, size).floor()).parse().unwrap_or(default)
        }
        _ => default,
    };
    let (from, to) = (place(from, 0), place(to, length));
    let count = to.saturating_sub(from);
    match value {
        Json::List(items) => Json::List(items.iter().skip(from).take(count).cloned().collect()),
        Json::Text(text) => Json::Text(text.chars().skip(from).take(count).collect()),
        _ => Json::Unknown,
    }
}
