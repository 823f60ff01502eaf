//! The parts of a Perl program.

use std::rc::Rc;

/// Statements between braces.
pub(super) type Block = Vec<Statement>;

/// The parameters of a function: names with sigils, and default values.
pub(super) type Signature = Vec<(String, Option<Expr>)>;

/// A function that the program defines.
#[derive(Debug)]
pub(super) struct Sub {
    pub(super) name: String,
    pub(super) package: String,
    pub(super) signature: Option<Signature>,
    pub(super) body: Block,
}

/// A statement.
#[derive(Debug)]
pub(super) enum Statement {
    Expr(Expr),
    /// Conditions with their blocks, and the block behind `else`.
    If(Vec<(Expr, Block)>, Option<Block>),
    /// True for `until`. The last block is behind `continue`, or the step of a `for`.
    While {
        label: Option<String>,
        condition: Option<Expr>,
        is_until: bool,
        body: Block,
        step: Option<Expr>,
    },
    For {
        label: Option<String>,
        variable: Option<(String, bool)>,
        items: Expr,
        body: Block,
    },
    Block(Option<String>, Block),
    Sub(Rc<Sub>),
    Package(String),
    Use(String, Option<Expr>),
    Begin(Block),
    End(Rc<Block>),
    Try(Block, Option<(String, Block)>, Option<Block>),
}

/// The quantifiers and letters behind a pattern.
pub(super) type Flags = String;

/// An expression.
#[derive(Debug)]
pub(super) enum Expr {
    Number(f64),
    Text(String),
    /// Texts and values, put together. Arrays have blanks between their items.
    Joined(Vec<Expr>),
    Scalar(String),
    Array(String),
    Hash(String),
    Function(String),
    Glob(String),
    /// `$array[key]`: an array and a key.
    Item(Box<Expr>, Box<Expr>),
    /// `$hash{key}`
    Entry(Box<Expr>, Box<Expr>),
    Items(Box<Expr>, Box<Expr>),
    Entries(Box<Expr>, Box<Expr>),
    /// `%hash{…}`: keys and values.
    Pairs(Box<Expr>, Box<Expr>),
    ListItems(Box<Expr>, Box<Expr>),
    Dereferenced(char, Box<Expr>),
    LastIndex(Box<Expr>),
    NewArray(Vec<Expr>),
    NewHash(Vec<Expr>),
    NewSub(Rc<Sub>),
    Reference(Box<Expr>),
    Call(String, Vec<Expr>),
    /// A function with a block before its list: `map`, `grep`, `sort`, `first`.
    WithBlock(String, Rc<Sub>, Vec<Expr>),
    CallValue(Box<Expr>, Vec<Expr>),
    Method(Box<Expr>, Box<Expr>, Vec<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    And(Box<Expr>, Box<Expr>),
    Or(Box<Expr>, Box<Expr>),
    OrDefined(Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    Negative(Box<Expr>),
    Complement(Box<Expr>),
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
    /// The target, the operator before `=`, and the value.
    Assign(Box<Expr>, &'static str, Box<Expr>),
    /// True before the value is used, and the step.
    Step(Box<Expr>, bool, f64),
    Match {
        target: Option<Box<Expr>>,
        pattern: Box<Expr>,
        flags: Flags,
    },
    Substitute {
        target: Option<Box<Expr>>,
        pattern: Box<Expr>,
        replacement: Box<Expr>,
        flags: Flags,
    },
    Translate {
        target: Option<Box<Expr>>,
        from: String,
        to: String,
        flags: Flags,
    },
    Pattern(Box<Expr>, Flags),
    Backquoted(Box<Expr>),
    ReadLine(Box<Expr>),
    FileTest(char, Box<Expr>),
    List(Vec<Expr>),
    Range(Box<Expr>, Box<Expr>),
    Repeat(Box<Expr>, Box<Expr>),
    Do(Block),
    Eval(Block),
    Print(&'static str, Option<Box<Expr>>, Vec<Expr>),
    My(Box<Expr>),
    Local(Box<Expr>),
    Return(Option<Box<Expr>>),
    Next(Option<String>),
    Last(Option<String>),
    Redo,
    Unknown,
}

impl Expr {
    pub(super) fn boxed(self) -> Box<Self> {
        Box::new(self)
    }

    /// True if the expression gives a list where it is assigned to.
    pub(super) fn is_list(&self) -> bool {
        match self {
            Self::Array(_) | Self::Hash(_) | Self::List(_) | Self::Items(..) | Self::Entries(..) => true,
            Self::Dereferenced(sigil, _) => *sigil != '$',
            Self::My(inner) | Self::Local(inner) => inner.is_list(),
            _ => false,
        }
    }
}
