//! The parts of a program in Python or JavaScript, as far as its values matter.

use std::rc::Rc;

/// An expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Expr {
    Text(String),
    Number(i64),
    /// True, false.
    Flag(bool),
    Nothing,
    /// A string with expressions in it.
    Template(Vec<Expr>),
    Name(String),
    Member(Box<Expr>, String),
    Index(Box<Expr>, Box<Expr>),
    /// `a[from:to]`; true if it goes backwards.
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>, bool),
    Call(Box<Expr>, Vec<Argument>),
    List(Vec<Expr>),
    /// `*list`, `...list`
    Spread(Box<Expr>),
    /// Keys and values; a spread has no key.
    Table(Vec<(Option<Expr>, Expr)>),
    Binary(Box<Expr>, String, Box<Expr>),
    Not(Box<Expr>),
    /// The condition, and the values if it holds and if not.
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
    Function(Rc<Function>),
    /// The element, and the loops around it.
    Comprehension(Box<Expr>, Vec<Loop>),
    /// An assignment that is an expression.
    Assign(Box<Expr>, Box<Expr>),
    /// Anything whose value is not followed. The expressions in it are evaluated for their effects.
    Other(Vec<Expr>),
}

/// A loop of a comprehension.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Loop {
    pub(super) target: Expr,
    pub(super) items: Expr,
    pub(super) conditions: Vec<Expr>,
}

/// An argument of a call.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Argument {
    pub(super) name: Option<String>,
    pub(super) value: Expr,
}

/// A function, method or lambda.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Function {
    pub(super) parameters: Vec<Parameter>,
    pub(super) body: Vec<Statement>,
}

/// A parameter of a function.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Parameter {
    /// A name, or a pattern that takes a value apart.
    pub(super) target: Expr,
    pub(super) default: Option<Expr>,
    /// `*args`, `...args`
    pub(super) takes_rest: bool,
}

/// A statement.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Statement {
    Expr(Expr),
    /// The targets get the value. True if it is added to them.
    Assign(Expr, Expr, bool),
    If(Expr, Vec<Statement>, Vec<Statement>),
    For(Expr, Expr, Vec<Statement>),
    While(Expr, Vec<Statement>),
    /// The body, and the parts that may follow it.
    Try(Vec<Statement>, Vec<Vec<Statement>>),
    Class(String, Vec<Statement>),
    Return(Option<Expr>),
    /// `break`, `continue`
    Leave,
    /// `raise`, `throw`
    Fail,
    Global(Vec<String>),
}
