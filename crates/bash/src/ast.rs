//! The parts of a parsed script.

use std::cell::OnceCell;
use std::rc::Rc;

/// A part of a source text, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SourceExtent {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last one.
    pub end: usize,
}

/// Commands one after another.
#[derive(Debug, Clone, Default)]
pub struct List {
    /// In the order of the script; `;`, `&` or a newline stands between them.
    pub items: Vec<AndOrList>,
}

/// Pipelines joined by `&&` and `||`.
#[derive(Debug, Clone)]
pub struct AndOrList {
    /// The pipeline that always runs.
    pub first: Pipeline,
    /// The others, each with the operator before it.
    pub rest: Vec<(Joint, Pipeline)>,
    /// True if a line ends behind one of the operators.
    pub spans_lines: bool,
    /// True if `&` follows, so that the shell does not wait for the list.
    pub background: bool,
}

/// The operator between two pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joint {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// Commands that run at the same time, each reading the output of the one before.
#[derive(Debug, Clone)]
pub struct Pipeline {
    /// At least one.
    pub stages: Vec<ShellCommand>,
    /// The signs between the stages: one less than stages.
    pub pipes: Vec<PipeSign>,
    /// True if `!` or `time` stands before it.
    pub prefixed: bool,
    /// From `!`, `time` or the first stage to the end of the last stage.
    pub extent: SourceExtent,
}

/// `|` or `|&`.
#[derive(Debug, Clone, Copy)]
pub struct PipeSign {
    /// The place of the sign alone.
    pub extent: SourceExtent,
    /// True if it takes standard error too.
    pub both: bool,
}

/// One stage of a pipeline.
#[derive(Debug, Clone)]
pub enum ShellCommand {
    /// A builtin, a function or a program with its arguments, or assignments alone.
    Simple(SimpleCommand),
    /// `if … fi > file` and the like.
    Compound {
        /// The command without its redirections.
        body: Box<Compound>,
        /// The redirections of all commands in it.
        redirects: Vec<Redirect>,
        /// From the keyword to the last redirection.
        extent: SourceExtent,
    },
    /// `name() { …; }`
    Function {
        /// The name as it is spelled.
        name: String,
        /// A compound command.
        body: Rc<ShellCommand>,
    },
}

impl ShellCommand {
    /// The first byte of the command; zero for a function, which has no place of its own.
    pub fn start(&self) -> usize {
        match self {
            Self::Simple(simple) => simple.extent.start,
            Self::Compound { extent, .. } => extent.start,
            Self::Function { .. } => 0,
        }
    }
}

/// A command that holds others.
#[derive(Debug, Clone)]
pub enum Compound {
    /// `{ …; }`
    Group(List),
    /// `(…)`
    Subshell(List),
    /// `if … elif … else … fi`
    If {
        /// Conditions with their bodies.
        arms: Vec<(List, List)>,
        /// The body of `else`.
        otherwise: Option<List>,
    },
    /// Also `until`, which goes on where its condition fails.
    While {
        /// Everything up to `do`; its last command decides.
        condition: List,
        /// Everything up to `done`.
        body: List,
        /// True for `until`.
        is_until: bool,
    },
    /// Also `select`, which goes by the answers of a user.
    For {
        /// The variable.
        name: String,
        /// True for `select`.
        is_select: bool,
        /// The words behind `in`; none for the arguments of the script or function.
        words: Option<Vec<ShellWord>>,
        /// Everything up to `done`.
        body: List,
    },
    /// `for ((…; …; …))`
    ForArith {
        /// All three expressions and the semicolons between them.
        head: Vec<WordPiece>,
        /// Everything up to `done`.
        body: List,
    },
    /// `case … in … esac`
    Case {
        /// The word that is matched.
        subject: ShellWord,
        /// In the order of the script.
        arms: Vec<CaseArm>,
    },
    /// `[[ … ]]`: words and the operators between them, without `<` and `>`.
    Test(Vec<ShellWord>),
    /// `((…))`
    Arith(Vec<WordPiece>),
    /// `coproc NAME command`: the command runs beside the shell, which reads from it and writes to it.
    Coprocess {
        /// The array with its descriptors; `COPROC` if the script gives no name.
        name: String,
        /// The one command.
        body: Rc<List>,
    },
}

/// One arm of a `case`.
#[derive(Debug, Clone)]
pub struct CaseArm {
    /// At least one.
    pub patterns: Vec<ShellWord>,
    /// The commands; it may be empty.
    pub body: List,
    /// It ends with `;&` or `;;&`, and the next one may follow.
    pub falls_through: bool,
}

/// Assignments, words and redirections.
#[derive(Debug, Clone, Default)]
pub struct SimpleCommand {
    /// The assignments before the first word.
    pub assigns: Vec<Assign>,
    /// The name of the command and its arguments; empty if there are only assignments or redirections.
    pub words: Vec<ShellWord>,
    /// In the order of the script, wherever they stand.
    pub redirects: Vec<Redirect>,
    /// From the first to the last of all of them.
    pub extent: SourceExtent,
}

impl SimpleCommand {
    /// True if the output of other commands becomes a part of a word or of a value.
    pub fn has_substitution(&self) -> bool {
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
pub struct Assign {
    /// The variable.
    pub name: String,
    /// The text between `[` and `]`.
    pub index: Option<ShellWord>,
    /// True for `+=`.
    pub append: bool,
    /// The right side.
    pub value: AssignedValue,
    /// From the name to the end of the value.
    pub extent: SourceExtent,
}

/// The right side of an assignment.
#[derive(Debug, Clone)]
pub enum AssignedValue {
    /// A word, possibly empty.
    Scalar(ShellWord),
    /// `(…)`
    Array(Vec<Element>),
}

/// One element of `(…)`, with its index if it has one.
#[derive(Debug, Clone)]
pub struct Element {
    /// The text between `[` and `]=`.
    pub index: Option<ShellWord>,
    /// The word; it may become several elements.
    pub value: ShellWord,
}

/// `2>file`, `<<EOF`, `<&3`.
#[derive(Debug, Clone)]
pub struct Redirect {
    /// The number before the operator; without one the operator decides.
    pub descriptor: Option<u32>,
    /// The operator.
    pub kind: RedirectKind,
    /// `{name}>file`: the variable that gets the number.
    pub variable: Option<String>,
    /// The file, the text of `<<<`, or the end mark of a here-document.
    pub target: ShellWord,
}

impl Redirect {
    /// True if it throws standard error away.
    pub fn hides_errors(&self) -> bool {
        let is_errors = self.descriptor == Some(2) || matches!(self.kind, RedirectKind::Both);
        is_errors && self.target.plain() == Some("/dev/null")
    }
}

/// The kind of a redirection.
#[derive(Debug, Clone)]
pub enum RedirectKind {
    /// `<`
    In,
    /// `>` and `>|`
    Out,
    /// `>>`
    Append,
    /// `&>` and `&>>`
    Both,
    /// `<>`
    InOut,
    /// `<&`
    CopyIn,
    /// `>&`
    CopyOut,
    /// `<<<`
    HereString,
    /// The body is read after the line on which the here-document is announced.
    HereDoc(Rc<OnceCell<ShellWord>>),
}

/// A word before any expansion.
#[derive(Debug, Clone, Default)]
pub struct ShellWord {
    /// In the order of the text; empty for an empty word.
    pub pieces: Vec<WordPiece>,
    /// Its place, quotes included.
    pub extent: SourceExtent,
}

impl ShellWord {
    /// A word of literal text, for a caller that has no source of it.
    pub fn quoted(text: &str, extent: SourceExtent) -> Self {
        Self { pieces: vec![WordPiece::Quoted(text.to_owned())], extent }
    }

    /// The text of a word without quotes and expansions.
    pub fn plain(&self) -> Option<&str> {
        match self.pieces.as_slice() {
            [WordPiece::Text(text)] => Some(text),
            _ => None,
        }
    }

    /// The text of a word without expansions.
    pub fn literal(&self) -> Option<String> {
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
pub enum WordPiece {
    /// Outside of quotes: braces, tilde and globs are alive. Inside of `Double` it is just text.
    Text(String),
    /// Text inside of single quotes, in which no letter is special.
    Quoted(String),
    /// Between double quotes.
    Double(Vec<WordPiece>),
    /// `$name` and `${name…}`.
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
        /// `@`, `?`, `*`, `+` or `!`.
        kind: char,
        /// The patterns between the bars.
        options: Vec<ShellWord>,
    },
    /// `(…)` after `name=` in the words of a declaration.
    Array(Vec<Element>),
    /// An expansion that bash takes for bad when it gets there, such as `${a.b}`.
    Unknown,
}

impl WordPiece {
    /// True if the output of other commands becomes a part of it.
    pub fn has_substitution(&self) -> bool {
        match self {
            Self::Command(_) => true,
            Self::Double(inner) => inner.iter().any(Self::has_substitution),
            _ => false,
        }
    }
}

/// `$name`, `${name…}`.
#[derive(Debug, Clone)]
pub struct Param {
    /// The variable, or the sign of a special parameter.
    pub name: String,
    /// The text between `[` and `]`.
    pub index: Option<Index>,
    /// True for `${!name}`: the value is the name of another variable.
    pub indirect: bool,
    /// True for `${#name}`.
    pub length: bool,
    /// The operation behind the name.
    pub change: ParamChange,
}

/// The elements of an array that an expansion takes.
#[derive(Debug, Clone)]
pub enum Index {
    /// `[@]`
    All,
    /// `[*]`
    Joined,
    /// One element.
    At(ShellWord),
}

/// The operation that `${…}` does with the value.
#[derive(Debug, Clone)]
pub enum ParamChange {
    /// The value as it is.
    None,
    /// `-`, `=`, `?` or `+`, after a colon also for an empty value.
    Fallback {
        /// The sign without its colon.
        kind: char,
        /// True after a colon.
        empty_too: bool,
        /// The word that takes the place of the value.
        word: ShellWord,
    },
    /// `${name:offset:length}`
    Slice {
        /// An expression; negative from the end.
        offset: ShellWord,
        /// An expression; none for everything behind the offset.
        length: Option<ShellWord>,
    },
    /// `#`, `##`, `%`, `%%`
    Trim {
        /// True for `%` and `%%`.
        from_end: bool,
        /// True for `##` and `%%`.
        longest: bool,
        /// A pattern as for file names.
        pattern: ShellWord,
    },
    /// `/`, `//`, `/#`, `/%`
    Replace {
        /// The places that are replaced.
        anchor: Anchor,
        /// A pattern as for file names.
        pattern: ShellWord,
        /// The text that takes their place.
        by: ShellWord,
    },
    /// `^`, `^^`, `,`, `,,`, `~`, `~~`
    Case {
        /// `^`, `,` or `~`.
        kind: char,
        /// True if every letter changes, not only the first.
        all: bool,
    },
    /// `@Q` and its relatives.
    Transform(char),
    /// `${!prefix@}`
    Names,
}

/// The place at which a pattern has to match.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Anchor {
    /// `/`: the first match.
    First,
    /// `//`: all matches.
    Every,
    /// `/#`: the beginning of the value.
    Start,
    /// `/%`: the end of the value.
    End,
}
