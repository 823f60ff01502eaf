//! The syntax of a program in Python or JavaScript, exact enough to run it.

use std::rc::Rc;

/// A name of the program.
pub(super) type Name = Rc<str>;

/// An expression.
#[derive(Debug)]
pub(super) enum Expr {
    Text(Rc<str>),
    Bytes(Rc<[u8]>),
    Int(i128),
    Float(f64),
    Bool(bool),
    /// `None`, `null`
    None,
    Undefined,
    /// A string with expressions in it.
    Format(Vec<FormatPart>),
    /// A template that a function is called with: the function, the texts, the values between them.
    Tagged(Box<Expr>, Vec<Rc<str>>, Vec<Expr>),
    /// A regular expression and its flags.
    Regex(Rc<str>, Rc<str>),
    Name(Name),
    /// True if it is left out where there is no object: `a?.b`.
    Member(Box<Expr>, Name, bool),
    Index(Box<Expr>, Box<Expr>, bool),
    /// `from:to:step`, as an index.
    Slice(Box<[Option<Expr>; 3]>),
    Call(Box<Expr>, Vec<Argument>, bool),
    New(Box<Expr>, Vec<Argument>),
    List(Vec<Expr>),
    Tuple(Vec<Expr>),
    Set(Vec<Expr>),
    Dict(Vec<DictEntry>),
    /// `*list`, `...list`
    Spread(Box<Expr>),
    Unary(&'static str, Box<Expr>),
    Binary(Box<Expr>, &'static str, Box<Expr>),
    /// `a < b < c`
    Compare(Box<Expr>, Vec<(&'static str, Expr)>),
    /// `&&`, `||`, `??`
    Logic(Box<Expr>, &'static str, Box<Expr>),
    /// The condition, and the values if it holds and if not.
    Choice(Box<(Expr, Expr, Expr)>),
    Function(Rc<Function>),
    Class(Rc<Class>),
    Comprehension(Box<Comprehension>),
    /// A target, an operator, a value. A pattern with a default reads as an assignment without an operator.
    Assign(Box<Expr>, Option<&'static str>, Box<Expr>),
    /// `i++`: the target, the change, and whether the value is that after it.
    Update(Box<Expr>, i128, bool),
    /// True if every item of the value is yielded.
    Yield(Option<Box<Expr>>, bool),
    Await(Box<Expr>),
    Sequence(Vec<Expr>),
}

/// A part of a string with expressions in it.
#[derive(Debug)]
pub(super) enum FormatPart {
    Text(Rc<str>),
    Value {
        value: Expr,
        /// `!r`
        conversion: Option<char>,
        /// `:>10`
        spec: Vec<FormatPart>,
    },
}

/// An entry of a table; a spread has no key.
#[derive(Debug)]
pub(super) struct DictEntry {
    pub(super) key: Option<Expr>,
    pub(super) value: Expr,
    pub(super) kind: EntryKind,
}

/// The kind of an entry or of a member of a class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    Plain,
    Getter,
    Setter,
}

/// An argument of a call.
#[derive(Debug)]
pub(super) struct Argument {
    pub(super) name: Option<Name>,
    pub(super) value: Expr,
    /// `**table`
    pub(super) is_table: bool,
}

/// A function, method or lambda.
#[derive(Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is about another kind of function")]
pub(super) struct Function {
    pub(super) name: Name,
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Vec<Statement>,
    pub(super) is_generator: bool,
    /// A `yield` of it has a value that somebody sends.
    pub(super) receives: bool,
    pub(super) is_async: bool,
    /// It has the `this` of the function around it.
    pub(super) is_arrow: bool,
}

/// The values that a parameter takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ParameterKind {
    One,
    /// `*args`, `...args`
    Rest,
    /// `**options`
    Named,
}

/// A parameter of a function.
#[derive(Debug)]
pub(super) struct Parameter {
    pub(super) target: Expr,
    pub(super) default: Option<Expr>,
    pub(super) kind: ParameterKind,
    /// It stands behind `*`, so that only its name gives it a value.
    pub(super) by_name: bool,
}

/// A class.
#[derive(Debug)]
pub(super) struct Class {
    pub(super) name: Name,
    pub(super) bases: Vec<Argument>,
    /// The body, in Python.
    pub(super) body: Vec<Statement>,
    /// The members, in JavaScript.
    pub(super) members: Vec<Member>,
}

/// A member of a class of JavaScript.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) key: Expr,
    pub(super) value: Option<Expr>,
    pub(super) kind: EntryKind,
    pub(super) is_static: bool,
    /// A field gets its value with every object.
    pub(super) is_field: bool,
}

/// The result of a comprehension.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Gathers {
    List,
    Set,
    Dict,
    Lazy,
}

/// A comprehension.
#[derive(Debug)]
pub(super) struct Comprehension {
    pub(super) gathers: Gathers,
    pub(super) element: Expr,
    /// The value behind a key.
    pub(super) value: Option<Expr>,
    pub(super) loops: Vec<Loop>,
}

/// A loop of a comprehension.
#[derive(Debug)]
pub(super) struct Loop {
    pub(super) target: Expr,
    pub(super) items: Expr,
    pub(super) conditions: Vec<Expr>,
}

/// A declaration of JavaScript; Python has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Declares {
    /// An assignment to a name that may be there already.
    No,
    /// `let`, `const`
    InBlock,
    /// `var`
    InFunction,
}

/// A part of `try` that catches something: the kinds, the name, the body.
#[derive(Debug)]
pub(super) struct Handler {
    pub(super) kinds: Option<Expr>,
    pub(super) target: Option<Expr>,
    pub(super) body: Vec<Statement>,
}

/// A `for` loop over items.
#[derive(Debug)]
pub(super) struct ForLoop {
    pub(super) declares: Declares,
    pub(super) target: Expr,
    pub(super) items: Expr,
    /// `for (key in object)`
    pub(super) over_keys: bool,
    pub(super) body: Vec<Statement>,
    pub(super) otherwise: Vec<Statement>,
}

/// `with`: the managers with their names, and the body.
#[derive(Debug)]
pub(super) struct WithBlock {
    pub(super) items: Vec<(Expr, Option<Expr>)>,
    pub(super) body: Vec<Statement>,
}

/// A loop with a condition.
#[derive(Debug)]
pub(super) struct WhileLoop {
    /// Declarations of `for (let i = 0; …)`.
    pub(super) first: Vec<Statement>,
    pub(super) condition: Option<Expr>,
    pub(super) step: Option<Expr>,
    pub(super) body: Vec<Statement>,
    pub(super) otherwise: Vec<Statement>,
    /// `do … while (…)`
    pub(super) tests_late: bool,
}

/// An arm of `switch` or `match`.
#[derive(Debug)]
pub(super) struct Arm {
    /// None is `default`.
    pub(super) pattern: Option<Expr>,
    pub(super) guard: Option<Expr>,
    pub(super) body: Vec<Statement>,
}

/// A statement.
#[derive(Debug)]
pub(super) enum Statement {
    Expr(Expr),
    /// The targets get the value, one after the other.
    Assign(Vec<Expr>, Expr),
    Augment(Expr, &'static str, Expr),
    Declare(Declares, Expr, Option<Expr>),
    If(Expr, Vec<Statement>, Vec<Statement>),
    For(Rc<ForLoop>),
    While(Box<WhileLoop>),
    Try {
        body: Vec<Statement>,
        handlers: Vec<Handler>,
        otherwise: Vec<Statement>,
        last: Vec<Statement>,
    },
    With(Rc<WithBlock>),
    Return(Option<Expr>),
    Break(Option<Name>),
    Continue(Option<Name>),
    Raise(Option<Expr>),
    Function(Rc<Function>, Vec<Expr>),
    Class(Rc<Class>, Vec<Expr>),
    Global(Vec<Name>),
    Nonlocal(Vec<Name>),
    Delete(Vec<Expr>),
    Block(Vec<Statement>),
    Labeled(Name, Box<Statement>),
    Switch(Expr, Vec<Arm>),
    Match(Expr, Vec<Arm>),
    /// A name for a module or a part of one: the name, the module, the part.
    Import(Name, Name, Option<Name>),
    /// `from module import *`
    ImportAll(Name),
    Assert(Expr),
}
