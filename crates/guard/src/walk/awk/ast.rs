//! A program of awk as it was written, with names resolved to places.

use std::rc::Rc;

/// The place of a variable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Slot {
    Global(usize),
    /// A parameter of the function that runs.
    Local(usize),
}

/// Names that awk itself sets or reads. Their places come before those of the program's own names.
pub(super) const SPECIAL: [&str; 16] = [
    "NF", "NR", "FNR", "FS", "OFS", "ORS", "RS", "SUBSEP", "FILENAME", "RSTART", "RLENGTH", "CONVFMT", "OFMT",
    "ENVIRON", "ARGV", "ARGC",
];
pub(super) const NF: usize = 0;
pub(super) const NR: usize = 1;
pub(super) const FNR: usize = 2;
pub(super) const FS: usize = 3;
pub(super) const OFS: usize = 4;
pub(super) const ORS: usize = 5;
pub(super) const RS: usize = 6;
pub(super) const SUBSEP: usize = 7;
pub(super) const FILENAME: usize = 8;
pub(super) const RSTART: usize = 9;
pub(super) const RLENGTH: usize = 10;
pub(super) const CONVFMT: usize = 11;
pub(super) const OFMT: usize = 12;
pub(super) const ENVIRON: usize = 13;
pub(super) const ARGV: usize = 14;
pub(super) const ARGC: usize = 15;

pub(super) type Block = Vec<Statement>;

/// A whole program.
#[derive(Debug, Default)]
pub(super) struct AwkProgram {
    pub(super) begins: Vec<Block>,
    pub(super) rules: Vec<Rule>,
    pub(super) ends: Vec<Block>,
    pub(super) functions: Vec<Function>,
    /// The names of global variables, each at its place.
    pub(super) globals: Vec<String>,
    /// The places of those that are arrays.
    pub(super) arrays: Vec<usize>,
}

/// A pattern and its action; none prints the record.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) pattern: Pattern,
    pub(super) action: Option<Block>,
}

#[derive(Debug)]
pub(super) enum Pattern {
    Always,
    When(Expr),
    Range(Expr, Expr),
}

/// A function of the program.
#[derive(Debug, Default)]
pub(super) struct Function {
    /// For each parameter, true if it is an array.
    pub(super) takes_array: Vec<bool>,
    pub(super) body: Block,
    pub(super) is_defined: bool,
}

#[derive(Debug)]
pub(super) enum Statement {
    Expr(Expr),
    Print {
        values: Vec<Expr>,
        to: Option<(Redirect, Expr)>,
        is_format: bool,
    },
    If(Expr, Block, Block),
    While(Expr, Block),
    Do(Block, Expr),
    For {
        first: Option<Box<Statement>>,
        condition: Option<Expr>,
        step: Option<Box<Statement>>,
        body: Block,
    },
    ForIn(Slot, Slot, Block),
    Block(Block),
    /// One element, or the whole array.
    Delete(Slot, Option<Vec<Expr>>),
    Next,
    NextFile,
    Exit(Option<Expr>),
    Return(Option<Expr>),
    Break,
    Continue,
}

/// The way from `print` to its reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Redirect {
    File,
    Append,
    Pipe,
}

#[derive(Debug)]
pub(super) enum Expr {
    Number(f64),
    Text(Rc<str>),
    /// Unknown text in the middle of the program, put there by the shell.
    Marks(Rc<str>),
    Regex(Rc<str>),
    Var(Slot),
    Item(Slot, Vec<Expr>),
    Field(Box<Expr>),
    /// `target = value`, or `target += value` with its operation.
    Assign(Box<Expr>, Option<Arithmetic>, Box<Expr>),
    Step {
        target: Box<Expr>,
        by: f64,
        is_before: bool,
    },
    Negative(Box<Expr>),
    Positive(Box<Expr>),
    Not(Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    /// Operations of one kind, from the left. A list, so that a long sum is no deep tree.
    Chain(Box<Expr>, Vec<(Arithmetic, Expr)>),
    Concat(Vec<Expr>),
    Compare(Comparison, Box<Expr>, Box<Expr>),
    /// `~`, or `!~` if it is negated.
    Match {
        text: Box<Expr>,
        pattern: Box<Expr>,
        is_negated: bool,
    },
    In(Vec<Expr>, Slot),
    Ternary(Box<Expr>, Box<Expr>, Box<Expr>),
    Call(usize, Vec<Expr>),
    Native(&'static str, Vec<Expr>),
    Getline {
        from: LineSource,
        target: Option<Box<Expr>>,
    },
    /// `(a, b)`: before `in`, or the arguments of `print`.
    Many(Vec<Expr>),
}

/// The source of `getline`.
#[derive(Debug)]
pub(super) enum LineSource {
    Main,
    File(Box<Expr>),
    Command(Box<Expr>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arithmetic {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Power,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}
