//! The values of a trial, and the heap that holds those that change.

use std::collections::HashMap;
use std::rc::Rc;

use crate::marks::{FRESH, NAME, SOME, STAR, TREE, UNKNOWN, has_mark, is_mark, is_source};
use crate::walk::program::call::Given;
use crate::walk::program::syntax::{Function, Name};

/// The place of something on the heap.
pub(super) type Id = usize;

/// The most things on the heap.
const LARGEST_HEAP: usize = 40_000;

/// The deepest value in values.
const DEEPEST: usize = 12;

/// The most values that are looked at for that.
const MOST_VISITS: usize = 256;

/// The depth and the number of values that may be names of a listing.
const LISTED: usize = 2;
const MOST_LISTED: usize = 64;

/// A value.
#[derive(Debug, Clone)]
pub(super) enum Value {
    /// Something from outside of the program.
    Unknown,
    /// Something that the program makes of its own text, in a way that the trial does not follow.
    Lost,
    Undefined,
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    /// A text, which may hold marks.
    Text(Rc<str>),
    Bytes(Rc<[u8]>),
    /// A path that is an object.
    Path(Rc<str>),
    List(Id),
    Tuple(Rc<[Value]>),
    Dict(Id),
    Set(Id),
    Function(Id),
    Class(Id),
    Object(Id),
    /// Something that the language or a module has, by its full name.
    Native(Rc<str>),
    /// A method that the language has, and the value that has it.
    Bound(Rc<(Value, Name)>),
    /// A function of the program, and the object that it is called with.
    Method(Rc<(Value, Value)>),
    Partial(Rc<Partial>),
    /// A getter and a setter.
    Accessor(Rc<(Value, Value)>),
    Iterator(Id),
    Promise(Id),
    Process(Id),
    File(Id),
    Regex(Rc<(String, String)>),
    Match(Rc<Found>),
}

/// A call that has some of its arguments.
#[derive(Debug, Clone)]
pub(super) struct Partial {
    pub(super) function: Value,
    pub(super) values: Vec<Value>,
    pub(super) named: Vec<(Name, Value)>,
}

/// The groups that a regular expression has found.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) groups: Vec<Option<Rc<str>>>,
    pub(super) names: Vec<(String, usize)>,
    /// The place of the whole, in letters.
    pub(super) span: (usize, usize),
}

/// Keys and values in the order in which they came.
#[derive(Debug, Clone, Default)]
pub(super) struct Dict {
    entries: Vec<(Value, Value)>,
    places: HashMap<String, usize>,
    /// The function that makes a value for a missing key.
    pub(super) default: Option<Value>,
}

impl Dict {
    pub(super) fn get(&self, key: &str) -> Option<&Value> {
        self.places.get(key).and_then(|at| self.entries.get(*at)).map(|(_, value)| value)
    }

    pub(super) fn insert(&mut self, key: String, own: Value, value: Value) {
        if let Some(entry) = self.places.get(&key).and_then(|at| self.entries.get_mut(*at)) {
            entry.1 = value;
            return;
        }
        self.places.insert(key, self.entries.len());
        self.entries.push((own, value));
    }

    pub(super) fn remove(&mut self, key: &str) -> Option<Value> {
        let at = self.places.remove(key)?;
        let (_, value) = self.entries.remove(at);
        self.places.values_mut().filter(|place| **place > at).for_each(|place| *place -= 1);
        Some(value)
    }

    pub(super) fn set_default(&mut self, maker: Value) {
        self.default = Some(maker);
    }

    pub(super) fn set(&mut self, name: &str, value: Value) {
        self.insert(text_key(name), Value::Text(name.into()), value);
    }

    pub(super) fn named(&self, name: &str) -> Option<&Value> {
        self.get(&text_key(name))
    }

    pub(super) fn entries(&self) -> &[(Value, Value)] {
        &self.entries
    }

    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// The key of a text.
pub(super) fn text_key(text: &str) -> String {
    format!("s{text}")
}

/// A function with the names around it.
#[derive(Debug, Clone)]
pub(super) struct Closure {
    pub(super) function: Rc<Function>,
    pub(super) scope: Id,
    /// The object of the function around an arrow function.
    pub(super) this: Option<Value>,
    /// The class that it is a method of.
    pub(super) home: Option<Id>,
    pub(super) defaults: Vec<Option<Value>>,
    pub(super) fields: Dict,
}

/// The names of one call or block.
#[derive(Debug, Clone, Default)]
pub(super) struct Scope {
    pub(super) values: HashMap<Name, Value>,
    pub(super) parent: Option<Id>,
    pub(super) is_function: bool,
    /// The body of a class, whose names functions in it do not see.
    pub(super) is_class: bool,
    /// Names that belong elsewhere: to the program (true), or to a function around.
    pub(super) elsewhere: HashMap<Name, bool>,
}

/// A class.
#[derive(Debug, Clone, Default)]
pub(super) struct ClassData {
    pub(super) name: String,
    pub(super) bases: Vec<Value>,
    pub(super) members: Dict,
    /// Fields that every object gets when it is made, each as a function without parameters.
    pub(super) fields: Vec<(Value, Value)>,
    pub(super) is_data: bool,
    /// The class that this one is an object of.
    pub(super) meta: Option<Value>,
}

/// An object of a class.
#[derive(Debug, Clone)]
pub(super) struct ObjectData {
    pub(super) class: Value,
    pub(super) fields: Dict,
    /// The value of a class that the language has and this one comes from: a list, a text.
    pub(super) inner: Option<Value>,
}

/// The items of an iterator, and the next one.
#[derive(Debug, Clone, Default)]
pub(super) struct IteratorData {
    pub(super) items: Vec<Value>,
    pub(super) at: usize,
    /// The call that makes the items, if it has not begun.
    pub(super) pending: Option<Rc<(Id, Option<Value>, Given)>>,
    /// Values that were sent to it.
    pub(super) sent: Vec<Value>,
}

/// The state of a promise.
#[derive(Debug, Clone)]
pub(super) enum Settled {
    Waits,
    Holds(Value),
    Failed(Value),
}

/// A command that was started.
#[derive(Debug, Clone, Default)]
pub(super) struct ProcessData {
    pub(super) words: Vec<String>,
    pub(super) is_script: bool,
    pub(super) directory: Option<String>,
    pub(super) variables: Vec<(String, String)>,
    pub(super) input: String,
    pub(super) output: Option<String>,
    pub(super) captures: bool,
    pub(super) callbacks: Vec<(String, Value)>,
}

/// An open file.
#[derive(Debug, Clone, Default)]
pub(super) struct FileData {
    pub(super) path: String,
    /// The text that is left to read; none if it is not known.
    pub(super) text: Option<String>,
    pub(super) at: usize,
    /// A file in memory.
    pub(super) is_memory: bool,
}

/// Something on the heap.
#[derive(Debug, Clone)]
pub(super) enum Cell {
    List(Vec<Value>),
    Dict(Dict),
    Set(Dict),
    Scope(Scope),
    Closure(Box<Closure>),
    Class(Box<ClassData>),
    Object(Box<ObjectData>),
    Iterator(IteratorData),
    Promise(Settled, Vec<Value>),
    Process(Box<ProcessData>),
    File(FileData),
}

/// Everything that changes while a program runs. It is gone after the trial, whatever holds what.
#[derive(Debug, Default)]
pub(super) struct Heap {
    cells: Vec<Cell>,
}

macro_rules! parts {
    ($($get:ident $get_mut:ident $kind:ident $type:ty;)*) => {
        $(pub(super) fn $get(&self, id: Id) -> Option<&$type> {
            match self.cells.get(id) {
                Some(Cell::$kind(found)) => Some(found),
                _ => None,
            }
        }

        pub(super) fn $get_mut(&mut self, id: Id) -> Option<&mut $type> {
            match self.cells.get_mut(id) {
                Some(Cell::$kind(found)) => Some(found),
                _ => None,
            }
        })*
    };
}

impl Heap {
    parts! {
        list list_mut List Vec<Value>;
        dict dict_mut Dict Dict;
        set set_mut Set Dict;
        scope scope_mut Scope Scope;
        closure closure_mut Closure Closure;
        class class_mut Class ClassData;
        object object_mut Object ObjectData;
        iterator iterator_mut Iterator IteratorData;
        process process_mut Process ProcessData;
        file file_mut File FileData;
    }

    pub(super) fn add(&mut self, cell: Cell) -> Id {
        self.cells.push(cell);
        self.cells.len() - 1
    }

    pub(super) fn is_full(&self) -> bool {
        self.cells.len() > LARGEST_HEAP
    }

    pub(super) fn new_list(&mut self, items: Vec<Value>) -> Value {
        Value::List(self.add(Cell::List(items)))
    }

    pub(super) fn new_texts<T: Into<Rc<str>>>(&mut self, items: impl IntoIterator<Item = T>) -> Value {
        let items = items.into_iter().map(|item| Value::Text(item.into())).collect();
        self.new_list(items)
    }

    pub(super) fn new_dict(&mut self, dict: Dict) -> Value {
        Value::Dict(self.add(Cell::Dict(dict)))
    }

    pub(super) fn new_set(&mut self, dict: Dict) -> Value {
        Value::Set(self.add(Cell::Set(dict)))
    }

    pub(super) fn new_iterator(&mut self, items: Vec<Value>) -> Value {
        Value::Iterator(self.add(Cell::Iterator(IteratorData { items, ..IteratorData::default() })))
    }

    pub(super) fn new_promise(&mut self, state: Settled) -> Value {
        Value::Promise(self.add(Cell::Promise(state, Vec::new())))
    }

    pub(super) fn promise(&self, id: Id) -> Option<&Settled> {
        match self.cells.get(id) {
            Some(Cell::Promise(state, _)) => Some(state),
            _ => None,
        }
    }

    pub(super) fn settle(&mut self, id: Id, state: Settled) -> Vec<Value> {
        match self.cells.get_mut(id) {
            Some(Cell::Promise(own @ Settled::Waits, waiting)) => {
                *own = state;
                std::mem::take(waiting)
            }
            _ => Vec::new(),
        }
    }

    pub(super) fn await_settled(&mut self, id: Id, callback: Value) {
        if let Some(Cell::Promise(_, waiting)) = self.cells.get_mut(id) {
            waiting.push(callback);
        }
    }
}

impl Value {
    pub(super) fn text(text: impl Into<Rc<str>>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn number(number: usize) -> Self {
        i128::try_from(number).map_or(Self::Unknown, Self::Int)
    }

    pub(super) fn native(name: impl Into<Rc<str>>) -> Self {
        Self::Native(name.into())
    }

    /// True if nothing is known of the value.
    pub(super) fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown | Self::Lost)
    }

    pub(super) fn is_nothing(&self) -> bool {
        matches!(self, Self::None | Self::Undefined)
    }

    pub(super) fn is_callable(&self) -> bool {
        matches!(self, Self::Function(_) | Self::Method(_) | Self::Partial(_) | Self::Class(_) | Self::Bound(_))
    }

    /// A text or path of which every letter is known.
    pub(super) fn known_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Path(text) if !has_mark(text) || !text.contains(is_mark) => Some(text),
            _ => None,
        }
    }

    pub(super) fn as_int(&self) -> Option<i128> {
        match self {
            Self::Int(number) => Some(*number),
            Self::Bool(flag) => Some(i128::from(*flag)),
            #[expect(clippy::cast_possible_truncation, reason = "it has no fraction, and is checked to be small")]
            Self::Float(number) if number.fract() == 0.0 && number.abs() < 1e18 => Some(*number as i128),
            _ => None,
        }
    }

    /// True if the value holds others so deep that going through them takes too long.
    pub(super) fn is_deep(&self) -> bool {
        match self {
            Self::Tuple(_) | Self::Bound(_) | Self::Method(_) | Self::Partial(_) | Self::Accessor(_) => {
                let mut visits = 0;
                self.is_deeper_than(DEEPEST, &mut visits)
            }
            _ => false,
        }
    }

    fn is_deeper_than(&self, depth: usize, visits: &mut usize) -> bool {
        *visits += 1;
        if *visits > MOST_VISITS {
            return false;
        }
        let Some(depth) = depth.checked_sub(1) else { return true };
        match self {
            Self::Tuple(items) => items.iter().any(|item| item.is_deeper_than(depth, visits)),
            Self::Bound(inner) => inner.0.is_deeper_than(depth, visits),
            Self::Method(inner) | Self::Accessor(inner) => {
                inner.0.is_deeper_than(depth, visits) || inner.1.is_deeper_than(depth, visits)
            }
            Self::Partial(inner) => {
                inner.function.is_deeper_than(depth, visits)
                    || inner.values.iter().any(|item| item.is_deeper_than(depth, visits))
            }
            _ => false,
        }
    }

    pub(super) fn is_listing(&self) -> bool {
        self.is_listing_within(LISTED)
    }

    fn is_listing_within(&self, depth: usize) -> bool {
        match self {
            Self::Text(text) | Self::Path(text) => has_mark(text) && text.contains([STAR, TREE, NAME, FRESH]),
            Self::Tuple(items) if depth > 0 => {
                items.iter().take(MOST_LISTED).any(|item| item.is_listing_within(depth - 1))
            }
            _ => false,
        }
    }

    /// The value after a choice was made among the names of a listing. With a name, it is that one.
    pub(super) fn chosen(&self, name: Option<&str>) -> Self {
        let by = name.map_or_else(|| SOME.to_string(), str::to_owned);
        match self {
            Self::Text(text) if self.is_listing() => Self::text(text.replace([STAR, TREE, NAME, FRESH], &by)),
            Self::Path(text) if self.is_listing() => Self::Path(text.replace([STAR, TREE, NAME, FRESH], &by).into()),
            Self::Tuple(items) if self.is_listing() => {
                Self::Tuple(items.iter().map(|item| item.chosen(name)).collect())
            }
            value => value.clone(),
        }
    }
}

/// Unknown text as a value: lost if the program made it of its own text.
pub(super) fn unknown_like(text: &str) -> Value {
    let mut letters = text.chars().peekable();
    let mut is_lost = false;
    while let Some(letter) = letters.next() {
        if letter == UNKNOWN {
            if !letters.peek().is_some_and(|next| is_source(*next)) {
                return Value::Unknown;
            }
            is_lost = true;
        }
    }
    if is_lost { Value::Lost } else { Value::Unknown }
}

/// True if the text has a part that is not known, and that stands for no names.
pub(super) fn is_doubtful(text: &str) -> bool {
    has_mark(text) && text.contains([UNKNOWN, SOME])
}
