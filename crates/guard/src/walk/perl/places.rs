//! Variables of Perl, and assignments to everything that can be assigned to.

use std::cell::RefCell;
use std::rc::Rc;

use crate::walk::perl::ast::Expr;
use crate::walk::perl::run::{Outcome, Perl, Restored, fill_hash};
use crate::walk::perl::value::{ArrayCell, HashCell, ScalarCell, Scope, Slot, Val};

/// The most items of an array.
pub(super) const MOST_ITEMS: usize = 2048;

impl Perl<'_, '_> {
    /// A variable of the current block. Its name has its sigil.
    pub(super) fn declare(&mut self, name: &str, slot: Slot) {
        match &slot {
            Slot::Scalar(cell) => self.scalars.push(Rc::clone(cell)),
            Slot::Array(cell) => self.arrays.push(Rc::clone(cell)),
            Slot::Hash(cell) => self.hashes.push(Rc::clone(cell)),
        }
        self.scope.variables.borrow_mut().insert(name.to_owned(), slot);
    }

    fn slot(&mut self, sigil: char, name: &str) -> Slot {
        let key = format!("{sigil}{name}");
        let mut scope: Option<&Rc<Scope>> = Some(&self.scope);
        while let Some(current) = scope {
            if let Some(slot) = current.variables.borrow().get(&key) {
                return slot.clone();
            }
            scope = current.parent.as_ref();
        }
        // Variables of packages go by their last name.
        let short = match name.rsplit_once("::") {
            Some(("File::Find", _)) | None => name,
            Some((_, last)) => last,
        };
        self.globals.entry(format!("{sigil}{short}")).or_insert_with(|| Slot::new(sigil)).clone()
    }

    pub(super) fn scalar_cell(&mut self, name: &str) -> ScalarCell {
        match self.slot('$', name) {
            Slot::Scalar(cell) => cell,
            _ => Rc::new(RefCell::new(Val::unknown())),
        }
    }

    pub(super) fn array_cell(&mut self, name: &str) -> ArrayCell {
        match self.slot('@', name) {
            Slot::Array(cell) => cell,
            _ => ArrayCell::default(),
        }
    }

    pub(super) fn hash_cell(&mut self, name: &str) -> HashCell {
        match self.slot('%', name) {
            Slot::Hash(cell) => cell,
            _ => HashCell::default(),
        }
    }

    /// A new array that the program may refer to.
    pub(super) fn new_array(&mut self, items: Vec<Val>) -> Val {
        let cell: ArrayCell = Rc::new(RefCell::new(items));
        self.arrays.push(Rc::clone(&cell));
        Val::Array(cell)
    }

    /// A new scalar that the program may refer to.
    pub(super) fn new_scalar(&mut self, value: Val) -> Val {
        let cell: ScalarCell = Rc::new(RefCell::new(value));
        self.scalars.push(Rc::clone(&cell));
        Val::Scalar(cell)
    }

    pub(super) fn set_topic(&mut self, value: Val) {
        self.scalar_cell("_").replace(value);
    }

    pub(super) fn topic(&mut self) -> Val {
        let cell = self.scalar_cell("_");

        cell.borrow().clone()
    }

    /// The array that an expression means. One is made where there is none.
    pub(super) fn array_at(&mut self, expression: &Expr) -> Outcome<ArrayCell> {
        match expression {
            Expr::Array(name) => Ok(self.array_cell(name)),
            Expr::My(inner) => {
                self.declare_all(inner);
                self.array_at(inner)
            }
            Expr::Dereferenced(_, inner) => {
                let value = self.scalar(inner)?;
                match value {
                    Val::Array(cell) => Ok(cell),
                    Val::Undefined => {
                        let cell = ArrayCell::default();
                        self.arrays.push(Rc::clone(&cell));
                        self.assign(inner, Val::Array(Rc::clone(&cell)))?;
                        Ok(cell)
                    }
                    // An unknown list is one unknown item.
                    value => Ok(Rc::new(RefCell::new(if value.is_unknown() { vec![value] } else { Vec::new() }))),
                }
            }
            other => Ok(Rc::new(RefCell::new(self.list(other)?))),
        }
    }

    pub(super) fn hash_at(&mut self, expression: &Expr) -> Outcome<HashCell> {
        match expression {
            Expr::Hash(name) => Ok(self.hash_cell(name)),
            Expr::My(inner) => {
                self.declare_all(inner);
                self.hash_at(inner)
            }
            Expr::Dereferenced(_, inner) => {
                let value = self.scalar(inner)?;
                match value {
                    Val::Hash(cell) => Ok(cell),
                    Val::Undefined => {
                        let cell = HashCell::default();
                        self.hashes.push(Rc::clone(&cell));
                        self.assign(inner, Val::Hash(Rc::clone(&cell)))?;
                        Ok(cell)
                    }
                    _ => Ok(HashCell::default()),
                }
            }
            _ => Ok(HashCell::default()),
        }
    }

    /// The place of an item by its number; negative numbers count from the end.
    pub(super) fn index_of(key: &Val, length: usize) -> Option<usize> {
        let number = key.number()?;
        let number = if number < 0.0 { number.ceil() } else { number.floor() };
        let length = f64::from(u32::try_from(length).ok()?);
        let at = if number < 0.0 { number + length } else { number };
        (0.0..=1e6).contains(&at).then(|| format!("{at:.0}").parse().ok())?
    }

    /// The value of an entry of the environment.
    pub(super) fn environment_value(&mut self, name: &str) -> Val {
        if let Some(value) = self.environment.get(name) {
            return value.as_ref().map_or(Val::Undefined, Val::text);
        }
        self.walk.exported_value(name).map_or(Val::Undefined, Val::text)
    }

    /// Declares the variables of `my`.
    pub(super) fn declare_all(&mut self, expression: &Expr) {
        match expression {
            Expr::Scalar(name) => self.declare(&format!("${name}"), Slot::new('$')),
            Expr::Array(name) => self.declare(&format!("@{name}"), Slot::new('@')),
            Expr::Hash(name) => self.declare(&format!("%{name}"), Slot::new('%')),
            Expr::List(items) => items.iter().for_each(|item| self.declare_all(item)),
            _ => {}
        }
    }

    /// Remembers values that come back at the end of the block.
    pub(super) fn localize(&mut self, expression: &Expr) -> Outcome<()> {
        match expression {
            Expr::Scalar(name) => {
                let cell = self.scalar_cell(name);
                let before = cell.replace(Val::Undefined);
                self.locals.push(Restored::Scalar(cell, before));
            }
            Expr::Array(name) => {
                let cell = self.array_cell(name);
                let before = cell.take();
                self.locals.push(Restored::Array(cell, before));
            }
            Expr::Entry(hash, key) => {
                let key = self.scalar(key)?.to_text();
                if matches!(hash.as_ref(), Expr::Hash(name) if name == "ENV") {
                    let before = self.environment.get(&key).cloned();
                    self.locals.push(Restored::Variable(key, before.is_some(), before.flatten()));
                } else {
                    let hash = self.hash_at(hash)?;
                    let before = hash.entries.borrow().get(&key).cloned();
                    self.locals.push(Restored::Entry(hash, key, before));
                }
            }
            Expr::List(items) => {
                for item in items {
                    self.localize(item)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Assigns one value.
    pub(super) fn assign(&mut self, target: &Expr, value: Val) -> Outcome<()> {
        match target {
            Expr::Scalar(name) => drop(self.scalar_cell(name).replace(value)),
            Expr::My(inner) => {
                self.declare_all(inner);
                return self.assign(inner, value);
            }
            Expr::Local(inner) => {
                self.localize(inner)?;
                return self.assign(inner, value);
            }
            Expr::Item(array, key) => {
                let array = self.array_at(array)?;
                let key = self.scalar(key)?;
                let length = array.borrow().len();
                if let Some(at) = Self::index_of(&key, length).filter(|at| *at < MOST_ITEMS) {
                    let mut items = array.borrow_mut();
                    while items.len() <= at {
                        items.push(Val::Undefined);
                    }
                    if let Some(item) = items.get_mut(at) {
                        *item = value;
                    }
                }
            }
            Expr::Entry(hash, key) => {
                let key = self.scalar(key)?.to_text();
                if matches!(hash.as_ref(), Expr::Hash(name) if name == "ENV") {
                    self.environment.insert(key, Some(value.to_text()));
                } else {
                    let hash = self.hash_at(hash)?;
                    hash.entries.borrow_mut().insert(key, value);
                }
            }
            Expr::Dereferenced('$', inner) => {
                let place = self.scalar(inner)?;
                match place {
                    Val::Scalar(cell) => drop(cell.replace(value)),
                    Val::Undefined => {
                        let scalar = self.new_scalar(value);
                        self.assign(inner, scalar)?;
                    }
                    // A name of a variable.
                    Val::Text(name) => drop(self.scalar_cell(&name).replace(value)),
                    _ => {}
                }
            }
            Expr::Choice(condition, then, otherwise) => {
                let holds = self.decide(condition, None)?;
                return self.assign(if holds { then } else { otherwise }, value);
            }
            Expr::LastIndex(array) => {
                let array = self.array_at(array)?;
                if let Some(at) = value.number().filter(|at| (-1.0..2048.0).contains(at)) {
                    let length = format!("{:.0}", at + 1.0).parse().unwrap_or(0);
                    array.borrow_mut().resize(length, Val::Undefined);
                }
            }
            Expr::Glob(name) => self.assign_glob(name, value),
            Expr::Dereferenced('*', inner) => {
                let name = self.scalar(inner)?.to_text();
                self.assign_glob(name.trim_start_matches('*'), value);
            }
            Expr::Call(name, arguments) if name == "substr" => self.assign_substr(arguments, &value)?,
            target if target.is_list() => return self.assign_list(target, vec![value]),
            _ => {}
        }
        Ok(())
    }

    /// `*name = sub { … }`
    fn assign_glob(&mut self, name: &str, value: Val) {
        match value {
            Val::Code(code) => {
                let name = if name.contains("::") { name.to_owned() } else { format!("{}::{name}", self.package) };
                self.subs.insert(name, code);
            }
            Val::Scalar(cell) => drop(self.globals.insert(format!("${name}"), Slot::Scalar(cell))),
            Val::Array(cell) => drop(self.globals.insert(format!("@{name}"), Slot::Array(cell))),
            _ => {}
        }
    }

    fn assign_substr(&mut self, arguments: &[Expr], value: &Val) -> Outcome<()> {
        let Some((target, rest)) = arguments.split_first() else { return Ok(()) };
        let text = self.scalar(target)?.to_text();
        let mut numbers = Vec::new();
        for argument in rest {
            numbers.push(self.scalar(argument)?);
        }
        let text = match super::text::substr_range(&text, &numbers) {
            Some((from, to)) => {
                let letters: Vec<char> = text.chars().collect();
                let before: String = letters.iter().take(from).collect();
                let after: String = letters.iter().skip(to).collect();
                Val::text(format!("{before}{}{after}", value.to_text()))
            }
            None => Val::unknown(),
        };
        self.assign(target, text)
    }

    /// Assigns a list to variables, arrays, hashes or slices.
    pub(super) fn assign_list(&mut self, target: &Expr, values: Vec<Val>) -> Outcome<()> {
        let mut values = values;
        values.truncate(MOST_ITEMS);
        match target {
            Expr::My(inner) => {
                self.declare_all(inner);
                self.assign_list(inner, values)
            }
            Expr::Local(inner) => {
                self.localize(inner)?;
                self.assign_list(inner, values)
            }
            Expr::Array(_) | Expr::Dereferenced('@', _) => {
                if let Expr::Array(name) = target
                    && name == "ISA"
                {
                    let bases = values.iter().map(Val::to_text).collect();
                    self.bases.insert(self.package.clone(), bases);
                }
                let array = self.array_at(target)?;
                array.replace(values);
                Ok(())
            }
            Expr::Hash(_) | Expr::Dereferenced('%', _) => {
                let hash = self.hash_at(target)?;
                hash.entries.borrow_mut().clear();
                fill_hash(&hash, values);
                Ok(())
            }
            Expr::List(targets) => {
                let mut values = values.into_iter();
                for target in targets {
                    if target.is_list() {
                        self.assign_list(target, values.by_ref().collect())?;
                    } else if matches!(target, Expr::Call(name, _) if name == "undef") {
                        values.next();
                    } else {
                        self.assign(target, values.next().unwrap_or(Val::Undefined))?;
                    }
                }
                Ok(())
            }
            Expr::Items(array, keys) => {
                let keys = self.list(keys)?;
                let array = self.array_at(array)?;
                let mut values = values.into_iter();
                for key in keys {
                    let value = values.next().unwrap_or(Val::Undefined);
                    let mut items = array.borrow_mut();
                    let length = items.len();
                    if let Some(at) = Self::index_of(&key, length).filter(|at| *at < MOST_ITEMS) {
                        while items.len() <= at {
                            items.push(Val::Undefined);
                        }
                        if let Some(item) = items.get_mut(at) {
                            *item = value;
                        }
                    }
                }
                Ok(())
            }
            Expr::Entries(hash, keys) => {
                let keys = self.list(keys)?;
                let mut values = values.into_iter();
                let is_environment = matches!(hash.as_ref(), Expr::Hash(name) if name == "ENV");
                let hash = self.hash_at(hash)?;
                for key in keys {
                    let value = values.next().unwrap_or(Val::Undefined);
                    if is_environment {
                        self.environment.insert(key.to_text(), Some(value.to_text()));
                    } else {
                        hash.entries.borrow_mut().insert(key.to_text(), value);
                    }
                }
                Ok(())
            }
            target => self.assign(target, values.into_iter().next().unwrap_or(Val::Undefined)),
        }
    }
}
