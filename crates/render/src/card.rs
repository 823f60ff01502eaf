//! A command and everything that a screen shows of it.

use std::time::Duration;

/// The origin of a command. It decides how much of the output a collapsed card shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CardKind {
    /// A tool call. Collapsed, it shows the last lines as they are wrapped on the screen.
    Tool,
    /// A command that a person typed after `!`. Collapsed, it shows the last lines as the command wrote them.
    Bang,
    /// A command of another program, which only watches here.
    Watched,
}

/// The state of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CardState {
    /// The model still writes the arguments of the call.
    Writing,
    /// The command runs.
    Running,
    /// The command ended by itself with exit code 0.
    Done,
    /// The command ended with another exit code or by a signal, or could not be run.
    Failed,
    /// Somebody stopped the command.
    Cancelled,
    /// The command ran longer than its timeout.
    TimedOut,
    /// The command became a job, and goes on.
    Backgrounded,
    /// The guard did not let the command run.
    Refused,
    /// The interceptor named a better tool, and the command did not run.
    Intercepted,
}

impl CardState {
    /// Every state.
    pub const ALL: [Self; 9] = [
        Self::Writing,
        Self::Running,
        Self::Done,
        Self::Failed,
        Self::Cancelled,
        Self::TimedOut,
        Self::Backgrounded,
        Self::Refused,
        Self::Intercepted,
    ];

    /// The word for it, in lower case.
    pub fn word(self) -> &'static str {
        match self {
            Self::Writing => "writing",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::TimedOut => "timed out",
            Self::Backgrounded => "in background",
            Self::Refused => "refused",
            Self::Intercepted => "intercepted",
        }
    }

    /// True if the card can still change by itself.
    pub fn is_under_way(self) -> bool {
        matches!(self, Self::Writing | Self::Running)
    }
}

/// The exit of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum CardExit {
    /// The exit code.
    Code(i64),
    /// The number of the signal that ended it.
    Signal(i64),
}

/// A command and everything that a screen shows of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Card {
    /// The origin of the command.
    pub kind: CardKind,
    /// The state of the command.
    pub state: CardState,
    /// The script. Invisible characters in it are escaped.
    pub command: String,
    /// Variables of the arguments, in their order; shown before the command as assignments.
    pub env: Vec<(String, String)>,
    /// The working directory, as it is to be shown. Nothing is shown if the caller leaves it out.
    pub directory: Option<String>,
    /// The program that started a watched command.
    pub origin: Option<String>,
    /// The text of the result so far. It may have SGR colors; every other control character or sequence is made visible or dropped.
    pub output: String,
    /// Lines of the output before `output`, if the caller has only its end. They count as hidden, expanded or not.
    pub earlier_lines: u64,
    /// The reason why `output` is not all that the command wrote.
    pub truncated: Option<String>,
    /// The id of the artifact with the full output.
    pub artifact: Option<String>,
    /// The timeout of the arguments.
    pub timeout: Option<Duration>,
    /// Wall time so far, or to the end.
    pub elapsed: Option<Duration>,
    /// The exit, if it is known.
    pub exit: Option<CardExit>,
    /// Lines that the command wrote in all.
    pub line_count: Option<u64>,
    /// Bytes that the command wrote in all.
    pub size: Option<u64>,
    /// The id of the job that the command became.
    pub job: Option<String>,
    /// Notices, errors and refusals, each on lines of its own.
    pub notices: Vec<String>,
    /// A word to the person, such as the key that stops the command; the last of the facts.
    pub hint: Option<String>,
    /// Shows all of the command and all of `output`.
    pub expanded: bool,
}

impl Card {
    /// A card of a command that runs, and of which nothing else is known.
    pub fn new(kind: CardKind, command: impl Into<String>) -> Self {
        Self {
            kind,
            state: CardState::Running,
            command: command.into(),
            env: Vec::new(),
            directory: None,
            origin: None,
            output: String::new(),
            earlier_lines: 0,
            truncated: None,
            artifact: None,
            timeout: None,
            elapsed: None,
            exit: None,
            line_count: None,
            size: None,
            job: None,
            notices: Vec::new(),
            hint: None,
            expanded: false,
        }
    }
}
