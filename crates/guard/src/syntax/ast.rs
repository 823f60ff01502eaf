//! The parts of a parsed script.

use std::cell::OnceCell;
use std::rc::Rc;

/// A part of a source text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct SourceExtent {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

/// Commands one after another.
#[derive(Debug, Clone, Default)]
pub(crate) struct List {
    pub(crate) items: Vec<AndOrList>,
}

/// Pipelines joined by `&&` and `||`.
#[derive(Debug, Clone)]
pub(crate) struct AndOrList {
    pub(crate) first: Pipeline,
    pub(crate) rest: Vec<(Joint, Pipeline)>,
    /// True if a line ends behind one of the operators.
    pub(crate) spans_lines: bool,
    pub(crate) background: bool,
}

/// The operator between two pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Joint {
    And,
    Or,
}

/// Commands that run at the same time, each reading the output of the one before.
#[derive(Debug, Clone)]
pub(crate) struct Pipeline {
    pub(crate) stages: Vec<ShellCommand>,
    /// The signs between the stages: one less than stages.
    pub(crate) pipes: Vec<PipeSign>,
    /// True if `!` or `time` stands before it.
    pub(crate) prefixed: bool,
    pub(crate) extent: SourceExtent,
}

/// `|` or `|&`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PipeSign {
    pub(crate) extent: SourceExtent,
    /// True if it takes standard error too.
    pub(crate) both: bool,
}

/// One stage of a pipeline.
#[derive(Debug, Clone)]
pub(crate) enum ShellCommand {
    Simple(SimpleCommand),
    Compound { body: Box<Compound>, redirects: Vec<Redirect>, extent: SourceExtent },
    Function { name: String, body: Rc<ShellCommand> },
}

impl ShellCommand {
    /// The first byte of the command; zero for a function, which has no place of its own.
    pub(crate) fn start(&self) -> usize {
        match self {
            Self::Simple(simple) => simple.extent.start,
            Self::Compound { extent, .. } => extent.start,
            Self::Function { .. } => 0,
        }
    }
}

/// A command that holds others.
#[derive(Debug, Clone)]
pub(crate) enum Compound {
    Group(List),
    Subshell(List),
    If {
        arms: Vec<(List, List)>,
        otherwise: Option<List>,
    },
    /// Also `until`, which goes on where its condition fails.
    While {
        condition: List,
        body: List,
        is_until: bool,
    },
    /// Also `select`, which goes by the answers of a user.
    For {
        name: String,
        is_select: bool,
        words: Option<Vec<ShellWord>>,
        body: List,
    },
    ForArith {
        head: Vec<WordPiece>,
        body: List,
    },
    Case {
        subject: ShellWord,
        arms: Vec<CaseArm>,
    },
    Test(Vec<ShellWord>),
    Arith(Vec<WordPiece>),
    /// `coproc NAME command`: the command runs beside the shell, which reads from it and writes to it.
    Coprocess {
        name: String,
        body: Rc<List>,
    },
}

/// One arm of a `case`.
#[derive(Debug, Clone)]
pub(crate) struct CaseArm {
    pub(crate) patterns: Vec<ShellWord>,
    pub(crate) body: List,
    /// It ends with `;&` or `;;&`, and the next one may follow.
    pub(crate) falls_through: bool,
}

/// Assignments, words and redirections.
#[derive(Debug, Clone, Default)]
pub(crate) struct SimpleCommand {
    pub(crate) assigns: Vec<Assign>,
    pub(crate) words: Vec<ShellWord>,
    pub(crate) redirects: Vec<Redirect>,
    pub(crate) extent: SourceExtent,
}

impl SimpleCommand {
    /// True if the output of other commands becomes a part of a word or of a value.
    pub(crate) fn has_substitution(&self) -> bool {
        let in_word = |word: &ShellWord| word.pieces.iter().any(WordPiece::has_substitution);
        self.words.iter().any(in_word)
            || self.assigns.iter().any(|assign| match &assign.value {
                AssignedValue::Scalar(word) => in_word(word),
                AssignedValue::Array(elements) => elements.iter().any(|element| in_word(&element.value)),
            })
    }
}

/// `name=value`, `name[index]+=value`, `name=(…)`.
#[derive(Debug, Clone)]
pub(crate) struct Assign {
    pub(crate) name: String,
    pub(crate) index: Option<ShellWord>,
    pub(crate) append: bool,
    pub(crate) value: AssignedValue,
    pub(crate) extent: SourceExtent,
}

/// The right side of an assignment.
#[derive(Debug, Clone)]
pub(crate) enum AssignedValue {
    Scalar(ShellWord),
    Array(Vec<Element>),
}

/// One element of `(…)`, with its index if it has one.
#[derive(Debug, Clone)]
pub(crate) struct Element {
    pub(crate) index: Option<ShellWord>,
    pub(crate) value: ShellWord,
}

/// `2>file`, `<<EOF`, `<&3`.
#[derive(Debug, Clone)]
pub(crate) struct Redirect {
    pub(crate) descriptor: Option<u32>,
    pub(crate) kind: RedirectKind,
    /// `{name}>file`: the variable that gets the number.
    pub(crate) variable: Option<String>,
    /// The file, the text of `<<<`, or the end mark of a here-document.
    pub(crate) target: ShellWord,
}

impl Redirect {
    /// True if it throws standard error away.
    pub(crate) fn hides_errors(&self) -> bool {
        let is_errors = self.descriptor == Some(2) || matches!(self.kind, RedirectKind::Both);
        is_errors && self.target.plain() == Some("/dev/null")
    }
}

/// The kind of a redirection.
#[derive(Debug, Clone)]
pub(crate) enum RedirectKind {
    In,
    Out,
    Append,
    Both,
    InOut,
    CopyIn,
    CopyOut,
    HereString,
    /// The body is read after the line on which the here-document is announced.
    HereDoc(Rc<OnceCell<ShellWord>>),
}

/// A word before any expansion.
#[derive(Debug, Clone, Default)]
pub(crate) struct ShellWord {
    pub(crate) pieces: Vec<WordPiece>,
    pub(crate) extent: SourceExtent,
}

impl ShellWord {
    /// The text of a word without quotes and expansions.
    pub(crate) fn plain(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [WordPiece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The text of a word without expansions.
    pub(crate) fn literal(&self) -> Option<String> {
        let mut out = String::new();
        for piece in &self.pieces {
            match piece {
                WordPiece::Text(text) | WordPiece::Quoted(text) => out.push_str(text),
                WordPiece::Double(inner) => {
                    for piece in inner {
                        match piece {
                            WordPiece::Text(text) | WordPiece::Quoted(text) => out.push_str(text),
                            _ => return None,
                        }
                    }
                }
                _ => return None,
            }
        }
        Some(out)
    }
}

/// A part of a word.
#[derive(Debug, Clone)]
pub(crate) enum WordPiece {
    /// Outside of quotes: braces, tilde and globs are alive. Inside of `Double` it is just text.
    Text(String),
    /// Text inside of single quotes, in which no letter is special.
    Quoted(String),
    /// Between double quotes.
    Double(Vec<WordPiece>),
    Param(Box<Param>),
    /// `$(…)` and backquotes.
    Command(Rc<List>),
    /// `<(…)`; the shell reads its output.
    Input(Rc<List>),
    /// `>(…)`; it reads the shell's output.
    Output(Rc<List>),
    /// `$((…))`.
    Arith(Vec<WordPiece>),
    /// `@(a|b)` and its relatives.
    Extended {
        kind: char,
        options: Vec<ShellWord>,
    },
    /// `(…)` after `name=` in the words of a declaration.
    Array(Vec<Element>),
    /// An expansion that bash takes for bad when it gets there, such as `${a.b}`.
    Unknown,
}

impl WordPiece {
    pub(crate) fn has_substitution(&self) -> bool {
        match self {
            Self::Command(_) => true,
            Self::Double(inner) => inner.iter().any(Self::has_substitution),
            _ => false,
        }
    }
}

/// `$name`, `${name…}`.
#[derive(Debug, Clone)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) index: Option<Index>,
    pub(crate) indirect: bool,
    pub(crate) length: bool,
    pub(crate) change: ParamChange,
}

/// The elements of an array that an expansion takes.
#[derive(Debug, Clone)]
pub(crate) enum Index {
    /// `[@]`
    All,
    /// `[*]`
    Joined,
    At(ShellWord),
}

/// The operation that `${…}` does with the value.
#[derive(Debug, Clone)]
pub(crate) enum ParamChange {
    None,
    /// `-`, `=`, `?` or `+`, after a colon also for an empty value.
    Fallback {
        kind: char,
        empty_too: bool,
        word: ShellWord,
    },
    Slice {
        offset: ShellWord,
        length: Option<ShellWord>,
    },
    /// `#`, `##`, `%`, `%%`
    Trim {
        from_end: bool,
        longest: bool,
        pattern: ShellWord,
    },
    Replace {
        anchor: Anchor,
        pattern: ShellWord,
        by: ShellWord,
    },
    /// `^`, `^^`, `,`, `,,`, `~`, `~~`
    Case {
        kind: char,
        all: bool,
    },
    /// `@Q` and its relatives.
    Transform(char),
    /// `${!prefix@}`
    Names,
}

/// The place at which a pattern has to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    First,
    Every,
    Start,
    End,
}
