//! The memory of a program of awk: variables, arrays and the record. A copy is cheap, because every condition that is not known
//! needs one.

use std::collections::HashMap;
use std::rc::Rc;

use crate::marks::{UNKNOWN, has_mark};

use super::ast::Slot;
use super::value::{Value, chosen, is_all_marks};

/// The most elements of an array.
const MOST_ITEMS: usize = 4096;

/// A variable: a value, or the number of an array.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Cell {
    Value(Value),
    Array(usize),
}

/// An element of an array.
#[derive(Debug, Clone, PartialEq)]
struct Item {
    /// Its place in the order in which elements were made.
    place: usize,
    value: Value,
    /// It is there on every way that leads here.
    is_sure: bool,
}

/// An array. Elements keep their order, so that a program runs the same way each time.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Array {
    items: HashMap<String, Item>,
    next: usize,
    /// The value of elements whose keys are not known.
    pub(super) others: Option<Value>,
}

impl Array {
    pub(super) fn len(&self) -> usize {
        self.items.len()
    }

    /// The value of an element, without making one.
    pub(super) fn get(&self, key: &str) -> Option<Value> {
        if has_mark(key) {
            let known = self.items.values().map(|item| &item.value).chain(&self.others);
            return known.cloned().reduce(|joined, value| joined.join(&value));
        }
        match (self.items.get(key), &self.others) {
            (Some(item), None) if item.is_sure => Some(item.value.clone()),
            (Some(item), None) => Some(item.value.join(&Value::Unset)),
            (Some(item), Some(other)) => Some(item.value.join(other)),
            (None, other) => other.as_ref().map(|other| other.join(&Value::Unset)),
        }
    }

    /// True if an element is there; none if that is not certain.
    pub(super) fn has(&self, key: &str) -> Option<bool> {
        if has_mark(key) {
            return (self.items.is_empty() && self.others.is_none()).then_some(false);
        }
        match (self.items.get(key), &self.others) {
            (Some(item), _) if item.is_sure => Some(true),
            (None, None) => Some(false),
            _ => None,
        }
    }

    pub(super) fn set(&mut self, key: &str, value: Value) {
        if has_mark(key) || self.items.len() >= MOST_ITEMS && !self.items.contains_key(key) {
            self.others = Some(self.others.as_ref().map_or_else(|| value.clone(), |other| other.join(&value)));
            return;
        }
        if let Some(item) = self.items.get_mut(key) {
            item.value = value;
            item.is_sure = true;
            return;
        }
        self.next += 1;
        self.items.insert(key.to_owned(), Item { place: self.next, value, is_sure: true });
    }

    pub(super) fn remove(&mut self, key: &str) {
        if has_mark(key) {
            // It may have been any of them.
            self.items.values_mut().for_each(|item| item.is_sure = false);
        } else {
            self.items.remove(key);
        }
    }

    /// The keys in the order in which they were made.
    pub(super) fn keys(&self) -> Vec<String> {
        let mut keys: Vec<(&usize, &String)> = self.items.iter().map(|(key, item)| (&item.place, key)).collect();
        keys.sort_unstable();
        let unknown = self.others.iter().map(|_| UNKNOWN.to_string());
        keys.into_iter().map(|(_, key)| key.clone()).chain(unknown).collect()
    }

    /// Elements by number, from one.
    pub(super) fn of_list(values: impl IntoIterator<Item = Value>) -> Self {
        let mut array = Self::default();
        for (at, value) in values.into_iter().enumerate() {
            array.set(&(at + 1).to_string(), value);
        }
        array
    }

    /// An array of which no key is known.
    pub(super) fn of_unknown(value: Value) -> Self {
        Self { others: Some(value), ..Self::default() }
    }

    fn join(&mut self, other: &Self) {
        for (key, item) in &mut self.items {
            match other.items.get(key) {
                Some(others) => {
                    item.is_sure &= others.is_sure;
                    item.value = item.value.join(&others.value);
                }
                None => item.is_sure = false,
            }
        }
        let mut missing: Vec<(&String, &Item)> =
            other.items.iter().filter(|(key, _)| !self.items.contains_key(*key)).collect();
        missing.sort_unstable_by_key(|(_, item)| item.place);
        for (key, item) in missing {
            self.set(key, item.value.clone());
            if let Some(own) = self.items.get_mut(key) {
                own.is_sure = false;
            }
        }
        match (&mut self.others, &other.others) {
            (Some(own), Some(others)) => *own = own.join(others),
            (own @ None, Some(others)) => *own = Some(others.clone()),
            (_, None) => {}
        }
    }
}

/// The record and its fields.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Record {
    pub(super) text: Rc<str>,
    pub(super) fields: Vec<Rc<str>>,
    /// The separator is not known, so that the only field stands for each of them.
    pub(super) is_open: bool,
}

impl Record {
    /// The number of fields; none if that is not certain.
    pub(super) fn count(&self) -> Option<usize> {
        let is_vague = has_mark(&self.text) && (self.text.contains(UNKNOWN) || is_all_marks(&self.text));
        (!is_vague && !self.is_open).then_some(self.fields.len())
    }

    /// A field; number zero is the record.
    pub(super) fn field(&self, at: usize) -> Value {
        let Some(index) = at.checked_sub(1) else { return Value::Input(Rc::clone(&self.text)) };
        match self.fields.get(if self.is_open { 0 } else { index }) {
            Some(field) => Value::Input(Rc::clone(field)),
            // A line of marks alone is the mark of each of its columns.
            None if is_all_marks(&self.text) => Value::Input(Rc::clone(&self.text)),
            None if has_mark(&self.text) && self.text.contains(UNKNOWN) => Value::unknown(),
            None => Value::Unset,
        }
    }

    /// One of the fields.
    pub(super) fn any_field(&self) -> Value {
        if is_all_marks(&self.text) {
            return Value::Input(Rc::clone(&self.text));
        }
        let fields = self.fields.iter().map(|field| Value::Input(Rc::clone(field)));
        fields.reduce(|joined, field| joined.join(&field)).unwrap_or(Value::Unset)
    }

    /// The record after a choice was made among the names of a listing.
    pub(super) fn chosen(&self) -> Self {
        let fields = self.fields.iter().map(|field| chosen(field).into()).collect();
        Self { text: chosen(&self.text).into(), fields, is_open: self.is_open }
    }
}

/// All that a condition may change.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    /// Global variables, and behind them the variables of the calls that have not ended.
    pub(super) cells: Vec<Cell>,
    /// The first variable of the current call.
    pub(super) base: usize,
    pub(super) arrays: Vec<Rc<Array>>,
    pub(super) record: Rc<Record>,
}

impl State {
    fn index(&self, slot: Slot) -> usize {
        match slot {
            Slot::Global(at) => at,
            Slot::Local(at) => self.base + at,
        }
    }

    pub(super) fn global(&self, at: usize) -> Value {
        self.value(Slot::Global(at))
    }

    pub(super) fn value(&self, slot: Slot) -> Value {
        match self.cells.get(self.index(slot)) {
            Some(Cell::Value(value)) => value.clone(),
            _ => Value::Unset,
        }
    }

    pub(super) fn set(&mut self, slot: Slot, value: Value) {
        let at = self.index(slot);
        if let Some(cell @ Cell::Value(_)) = self.cells.get_mut(at) {
            *cell = Cell::Value(value);
        }
    }

    /// The number of the array that a variable is. It becomes one if it has no value yet.
    pub(super) fn array_id(&mut self, slot: Slot) -> Option<usize> {
        let at = self.index(slot);
        match self.cells.get_mut(at)? {
            Cell::Array(id) => Some(*id),
            cell @ Cell::Value(Value::Unset) => {
                let id = self.arrays.len();
                self.arrays.push(Rc::default());
                *cell = Cell::Array(id);
                Some(id)
            }
            Cell::Value(_) => None,
        }
    }

    pub(super) fn array(&mut self, slot: Slot) -> Option<Rc<Array>> {
        let id = self.array_id(slot)?;
        self.arrays.get(id).cloned()
    }

    pub(super) fn array_mut(&mut self, slot: Slot) -> Option<&mut Array> {
        let id = self.array_id(slot)?;
        self.arrays.get_mut(id).map(Rc::make_mut)
    }

    /// The work of joining this with another one.
    pub(super) fn size(&self) -> usize {
        self.cells.len() + self.arrays.len()
    }

    /// The work of changing an array: it is copied if another state holds it, too.
    pub(super) fn array_copy_size(&mut self, slot: Slot) -> usize {
        let array = self.array_id(slot).and_then(|id| self.arrays.get(id));
        array.filter(|array| Rc::strong_count(array) > 1).map_or(0, |array| array.len())
    }

    /// The state after one of two ways. The record is that of the other way, if that way has changed it.
    ///
    /// Returns the work that it was.
    pub(super) fn join(&mut self, other: &Self, before: &Rc<Record>) -> usize {
        let mut work = 1 + self.cells.len() / 4;
        for (own, other) in self.cells.iter_mut().zip(&other.cells) {
            match (&mut *own, other) {
                (Cell::Value(value), Cell::Value(others)) if value != others => *value = value.join(others),
                (Cell::Value(_), Cell::Array(_)) => *own = other.clone(),
                _ => {}
            }
        }
        for (own, other) in self.arrays.iter_mut().zip(&other.arrays) {
            if !Rc::ptr_eq(own, other) {
                work += own.len() + other.len();
                Rc::make_mut(own).join(other);
            }
        }
        self.arrays.extend(other.arrays.iter().skip(self.arrays.len()).cloned());
        if !Rc::ptr_eq(&other.record, before) {
            self.record = Rc::clone(&other.record);
        }
        work
    }

    /// True if nothing but the record differs.
    pub(super) fn has_same_memory(&self, other: &Self) -> bool {
        let same = |(own, other): (&Rc<Array>, &Rc<Array>)| Rc::ptr_eq(own, other) || own == other;
        self.cells == other.cells && self.arrays.iter().zip(&other.arrays).all(same)
    }
}
