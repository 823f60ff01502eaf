//! What engine and keeper say to each other, as bytes.
//!
//! A message is a length, a kind and its fields, all numbers little-endian; descriptors travel beside the first byte of
//! the message that needs them. Nothing but a stream of bytes is asked of the connection (descriptors aside), and nothing
//! that comes over it is trusted: a message that makes no sense is an error, never a panic.

mod fields;

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::time::Duration;

use bashful_sys::limits::Limit;
use bashful_sys::spawn::Step;

use crate::{End, StopReason};

use fields::{
    Fields, frame, nanoseconds, put_bytes, put_exit, put_i32, put_list, put_number, put_optional, take_one, take_two,
};
pub use fields::{Garbled, Inbox};

/// The names of what is in a job's directory, and of the directory beside it that tells which jobs live.
pub const OUTPUT: &str = "output";
/// What became of the job, by its keeper.
pub const STATUS: &str = "status.json";
/// The socket by which the keeper is reached.
pub const CONTROL: &str = "control";
/// The pipe that is the job's standard input, if it has one.
pub const INPUT: &str = "input";
/// One locked file for each job that somebody watches over.
pub const LIVE: &str = "live";
/// What a session is, in its directory.
pub const ABOUT: &str = "about.json";
/// The process id of a session's shell, in its directory.
pub const SHELL: &str = "shell";
/// Why a session is not there any more, in its directory.
pub const LOST: &str = "lost";

/// What the engine tells the keeper.
#[derive(Debug)]
pub enum Order {
    /// How the shell is to be started. Comes first, and once.
    Setup(Setup),
    /// What the shell is to do. Comes second, and once.
    Begin(Begin),
    /// The tree is to be stopped.
    Stop(StopReason),
    /// This signal is to be sent to every process of the tree, and nothing else is to be done about it.
    Signal(u8),
    /// From now on the command is a job with a record of its own, which outlives the engine.
    Record(Record),
    /// The keeper takes over the pipes, and the engine need not stay.
    Release(Vec<Release>),
    /// Nobody will write to the command's standard input any more.
    CloseInput,
    /// The shell is to stay, and do one command after the other. Comes second, instead of what it is to do.
    Session(Session),
    /// What the shell of a session is to do next.
    Command(Command),
    /// How is the session?
    Look,
    /// The session is to end, because somebody wants it so or to make room for another.
    EndSession {
        /// The latter.
        makes_room: bool,
    },
}

/// A shell that stays.
#[derive(Debug)]
pub struct Session {
    /// Its directory, by its absolute path.
    pub directory: Vec<u8>,
    /// For how long it may have nothing to do.
    pub idle: Option<Duration>,
    /// Whether it stays when the engine is gone that started it.
    pub outlives: bool,
}

/// What the shell of a session is to do.
#[derive(Debug)]
pub struct Command {
    /// Where, by its absolute path; where the shell is, if it is empty.
    pub directory: Vec<u8>,
    /// How long it may take; none if it has no end.
    pub lifetime: Option<Duration>,
    /// Where the shell has to be, if it does not go anywhere; anywhere, if this is empty.
    pub expected: Vec<u8>,
    /// Whether it runs in a copy of the shell.
    pub apart: bool,
    /// Whether it waits for its turn.
    pub waits: bool,
    /// Whether the two go to different places.
    pub split: bool,
    /// Standard output and error. They travel as descriptors.
    pub output: Option<[OwnedFd; 2]>,
    /// The script.
    pub script: Script,
}

/// How a shell is to be started.
#[derive(Debug)]
pub struct Setup {
    /// Absolute path of bash.
    pub shell: Vec<u8>,
    /// Absolute path of the directory.
    pub directory: Vec<u8>,
    /// The whole environment, `NAME=value` each.
    pub env: Vec<Vec<u8>>,
    /// Resource limits that differ from the engine's own.
    pub limits: Vec<Limit>,
    /// How long the tree may take to end when it is asked to.
    pub grace: Duration,
    /// When to start it.
    pub when: When,
    /// Standard output and error. They travel as descriptors.
    pub output: Option<[OwnedFd; 2]>,
    /// Where standard input comes from.
    pub input: Input,
    /// The absolute path of a file to source before anything else; empty if there is none. It brings no functions called
    /// `.`, `:`, `builtin` or `unset`.
    pub source: Vec<u8>,
}

/// Where standard input comes from.
#[derive(Debug)]
pub enum Input {
    /// There is none.
    Nothing,
    /// From here. It travels as a descriptor.
    From(Option<OwnedFd>),
}

/// Where a job is written down, and how it ends.
#[derive(Debug)]
pub struct Record {
    /// Its number.
    pub id: u64,
    /// Its directory, by its absolute path.
    pub directory: Vec<u8>,
    /// What makes it a job.
    pub kind: Kind,
    /// At most so many bytes of its output are kept.
    pub at_most: u64,
    /// Whether what the shell leaves behind is stopped.
    pub stop_leftovers: bool,
    /// Locked as long as somebody watches over the job. It travels as a descriptor.
    pub alive: Option<OwnedFd>,
    /// The pipes that the keeper takes over, in the same message: between two, somebody could end or be killed who has
    /// still something to write.
    pub pipes: Vec<Release>,
}

/// What makes a command a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// It was started as one, and its processes write to its output file themselves.
    Background = 1,
    /// It took longer than somebody wanted to wait.
    Outlasted = 2,
    /// Its shell has ended; these are the processes that it left running.
    Leftover = 3,
}

impl Kind {
    fn from_number(number: u8) -> Option<Self> {
        [Self::Background, Self::Outlasted, Self::Leftover].into_iter().find(|kind| *kind as u8 == number)
    }
}

/// When a shell is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// As soon as it is known what it is to do.
    Asked,
    /// At once; it then waits to be told what to do.
    Ahead,
}

/// What a shell is to do.
#[derive(Debug)]
pub struct Begin {
    /// The script.
    pub script: Script,
    /// How long it may take; none if it has no end.
    pub lifetime: Option<Duration>,
}

/// A script, on its way.
#[derive(Debug)]
pub enum Script {
    /// Short enough to be an argument.
    Text(Vec<u8>),
    /// Too long for that: a file. It travels as a descriptor.
    File(Option<OwnedFd>),
}

/// A pipe that the keeper takes over, and where its contents go.
#[derive(Debug)]
pub struct Release {
    /// The absolute path of the file; empty if what is written is not kept.
    pub path: Vec<u8>,
    /// At most so many bytes are kept.
    pub at_most: u64,
    /// What is already missing in its middle.
    pub gap: Range<u64>,
    /// The reading end of the pipe, and the file to fill. They travel as descriptors.
    pub from_to: Option<[OwnedFd; 2]>,
}

/// What the keeper tells the engine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Report {
    /// The shell runs.
    Started {
        /// Its id, which is that of its group and its session too.
        pid: i32,
    },
    /// The shell does not run, and nothing of the script was done.
    NotStarted {
        /// What failed.
        step: FailedStep,
        /// What the system said.
        errno: i32,
    },
    /// The command is over.
    Ended {
        /// How.
        end: End,
        /// What still runs of its tree.
        left: Vec<Leftover>,
        /// Whether its shell stays, as those of sessions do if they can.
        shell_stays: bool,
    },
    /// The command is a job now, or not: then this is what the system said.
    Recorded {
        /// Zero if all went well.
        errno: i32,
    },
    /// Who came to a job's socket was heard.
    Heard,
    /// The session has something else to do, and the command does not wait.
    Busy,
    /// The shell of the session is not where it was expected, and nothing of the command was done.
    Moved,
    /// How a session is.
    Session(SessionState),
}

/// How a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionState {
    /// The process id of its shell.
    pub pid: i32,
    /// Whether a command runs.
    pub busy: bool,
    /// For how long it has been like that.
    pub since: Duration,
    /// How many commands it has done.
    pub commands: u64,
    /// How many processes run in it beside its shell and what the shell does now.
    pub left: u64,
}

/// The step at which a shell could not be started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailedStep {
    /// Starting the program.
    Spawn(Step),
    /// Writing down that it runs.
    Record,
    /// Handing the script to a shell that was waiting for it.
    Handover,
}

/// A process that still runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Its id.
    pub pid: i32,
    /// Its command line, shortened.
    pub command: String,
}

impl Order {
    /// Appends the message to `out`. Its descriptors are the caller's to send.
    pub fn encode(&self, out: &mut Vec<u8>) {
        frame(out, |out| match self {
            Self::Setup(setup) => {
                out.push(1);
                put_bytes(out, &setup.shell);
                put_bytes(out, &setup.directory);
                put_list(out, &setup.env, |out, entry| put_bytes(out, entry));
                put_list(out, &setup.limits, |out, limit| {
                    out.push(limit.resource());
                    put_optional(out, limit.soft);
                    put_optional(out, limit.hard);
                });
                put_number(out, nanoseconds(setup.grace));
                out.push(u8::from(setup.when == When::Ahead));
                out.push(u8::from(matches!(setup.input, Input::From(_))));
                put_bytes(out, &setup.source);
            }
            Self::Begin(begin) => {
                out.push(2);
                put_optional(out, begin.lifetime.map(nanoseconds));
                begin.script.encode(out);
            }
            Self::Stop(why) => out.extend([3, *why as u8]),
            Self::Release(pipes) => {
                out.push(4);
                put_list(out, pipes, Release::encode);
            }
            Self::Record(record) => {
                out.push(5);
                put_number(out, record.id);
                put_bytes(out, &record.directory);
                out.push(record.kind as u8);
                put_number(out, record.at_most);
                out.push(u8::from(record.stop_leftovers));
                put_list(out, &record.pipes, Release::encode);
            }
            Self::Signal(number) => out.extend([6, *number]),
            Self::CloseInput => out.push(7),
            Self::Session(session) => {
                out.push(8);
                put_bytes(out, &session.directory);
                put_optional(out, session.idle.map(nanoseconds));
                out.push(u8::from(session.outlives));
            }
            Self::Command(command) => {
                out.push(9);
                put_bytes(out, &command.directory);
                put_bytes(out, &command.expected);
                out.push(u8::from(command.apart));
                put_optional(out, command.lifetime.map(nanoseconds));
                out.push(u8::from(command.waits));
                out.push(u8::from(command.split));
                command.script.encode(out);
            }
            Self::Look => out.push(10),
            Self::EndSession { makes_room } => out.extend([11, u8::from(*makes_room)]),
        });
    }

    /// Reads the fields of a message, and takes the descriptors that belong to it.
    pub fn decode(body: &[u8], descriptors: &mut Vec<OwnedFd>) -> Result<Self, Garbled> {
        let mut from = Fields(body);
        let order = match from.byte()? {
            1 => Self::Setup(Setup {
                shell: from.bytes()?.to_vec(),
                directory: from.bytes()?.to_vec(),
                env: from.list(|from| Ok(from.bytes()?.to_vec()))?,
                limits: from
                    .list(|from| Limit::from_parts(from.byte()?, from.optional()?, from.optional()?).ok_or(Garbled))?,
                grace: Duration::from_nanos(from.number()?),
                when: if from.byte()? == 1 { When::Ahead } else { When::Asked },
                output: Some(take_two(descriptors)?),
                input: match from.byte()? {
                    0 => Input::Nothing,
                    _ => Input::From(Some(take_one(descriptors)?)),
                },
                source: from.bytes()?.to_vec(),
            }),
            2 => Self::Begin(Begin {
                lifetime: from.optional()?.map(Duration::from_nanos),
                script: Script::decode(&mut from, descriptors)?,
            }),
            3 => Self::Stop(StopReason::from_number(from.byte()?).ok_or(Garbled)?),
            4 => Self::Release(from.list(|from| Release::decode(from, descriptors))?),
            5 => Self::Record(Record {
                id: from.number()?,
                directory: from.bytes()?.to_vec(),
                kind: Kind::from_number(from.byte()?).ok_or(Garbled)?,
                at_most: from.number()?,
                stop_leftovers: from.byte()? == 1,
                alive: Some(take_one(descriptors)?),
                pipes: from.list(|from| Release::decode(from, descriptors))?,
            }),
            6 => Self::Signal(from.byte()?),
            7 => Self::CloseInput,
            8 => Self::Session(Session {
                directory: from.bytes()?.to_vec(),
                idle: from.optional()?.map(Duration::from_nanos),
                outlives: from.byte()? == 1,
            }),
            9 => Self::Command(Command {
                directory: from.bytes()?.to_vec(),
                expected: from.bytes()?.to_vec(),
                apart: from.byte()? == 1,
                lifetime: from.optional()?.map(Duration::from_nanos),
                waits: from.byte()? == 1,
                split: from.byte()? == 1,
                output: Some(take_two(descriptors)?),
                script: Script::decode(&mut from, descriptors)?,
            }),
            10 => Self::Look,
            11 => Self::EndSession { makes_room: from.byte()? == 1 },
            _ => return Err(Garbled),
        };
        from.end()?;
        Ok(order)
    }
}

impl Script {
    fn encode(&self, out: &mut Vec<u8>) {
        match self {
            Self::Text(text) => {
                out.push(0);
                put_bytes(out, text);
            }
            Self::File(_) => out.push(1),
        }
    }

    fn decode(from: &mut Fields<'_>, descriptors: &mut Vec<OwnedFd>) -> Result<Self, Garbled> {
        match from.byte()? {
            0 => Ok(Self::Text(from.bytes()?.to_vec())),
            1 => Ok(Self::File(Some(take_one(descriptors)?))),
            _ => Err(Garbled),
        }
    }
}

impl Release {
    fn encode(out: &mut Vec<u8>, release: &Self) {
        put_bytes(out, &release.path);
        put_number(out, release.at_most);
        put_number(out, release.gap.start);
        put_number(out, release.gap.end);
    }

    fn decode(from: &mut Fields<'_>, descriptors: &mut Vec<OwnedFd>) -> Result<Self, Garbled> {
        Ok(Self {
            path: from.bytes()?.to_vec(),
            at_most: from.number()?,
            gap: from.number()?..from.number()?,
            from_to: Some(take_two(descriptors)?),
        })
    }
}

impl Report {
    /// The end of a command whose shell does not stay.
    pub(crate) fn ended(end: End, left: Vec<Leftover>) -> Self {
        Self::Ended { end, left, shell_stays: false }
    }

    /// Appends the message to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        frame(out, |out| match self {
            Self::Started { pid } => {
                out.push(1);
                put_i32(out, *pid);
            }
            Self::NotStarted { step, errno } => {
                out.push(2);
                out.push(match step {
                    FailedStep::Handover => 0,
                    FailedStep::Record => u8::MAX,
                    FailedStep::Spawn(step) => *step as u8,
                });
                put_i32(out, *errno);
            }
            Self::Heard => out.push(5),
            Self::Busy => out.push(6),
            Self::Moved => out.push(8),
            Self::Session(state) => {
                out.push(7);
                put_i32(out, state.pid);
                out.push(u8::from(state.busy));
                put_number(out, nanoseconds(state.since));
                put_number(out, state.commands);
                put_number(out, state.left);
            }
            Self::Recorded { errno } => {
                out.push(4);
                put_i32(out, *errno);
            }
            Self::Ended { end, left, shell_stays } => {
                out.push(3);
                out.push(u8::from(*shell_stays));
                match end {
                    End::Own(exit) => {
                        out.push(0);
                        put_exit(out, *exit);
                    }
                    End::Stopped { why, exit } => {
                        out.push(*why as u8);
                        put_exit(out, *exit);
                    }
                    End::Lost => out.push(u8::MAX),
                }
                put_list(out, left, |out, leftover| {
                    put_i32(out, leftover.pid);
                    put_bytes(out, leftover.command.as_bytes());
                });
            }
        });
    }

    /// Reads the fields of a message.
    pub fn decode(body: &[u8]) -> Result<Self, Garbled> {
        let mut from = Fields(body);
        let report = match from.byte()? {
            1 => Self::Started { pid: from.i32()? },
            2 => Self::NotStarted {
                step: match from.byte()? {
                    0 => FailedStep::Handover,
                    u8::MAX => FailedStep::Record,
                    step => FailedStep::Spawn(Step::from_number(step).ok_or(Garbled)?),
                },
                errno: from.i32()?,
            },
            3 => Self::Ended {
                shell_stays: from.byte()? == 1,
                end: match from.byte()? {
                    0 => End::Own(from.exit()?),
                    u8::MAX => End::Lost,
                    why => End::Stopped { why: StopReason::from_number(why).ok_or(Garbled)?, exit: from.exit()? },
                },
                left: from.list(|from| {
                    Ok(Leftover { pid: from.i32()?, command: String::from_utf8_lossy(from.bytes()?).into_owned() })
                })?,
            },
            4 => Self::Recorded { errno: from.i32()? },
            5 => Self::Heard,
            6 => Self::Busy,
            8 => Self::Moved,
            7 => Self::Session(SessionState {
                pid: from.i32()?,
                busy: from.byte()? == 1,
                since: Duration::from_nanos(from.number()?),
                commands: from.number()?,
                left: from.number()?,
            }),
            _ => return Err(Garbled),
        };
        from.end()?;
        Ok(report)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Exit;
    use proptest::prelude::*;

    fn report() -> impl Strategy<Value = Report> {
        let exit = || prop_oneof![any::<u8>().prop_map(Exit::Code), any::<u8>().prop_map(Exit::Signal)];
        let end = prop_oneof![
            exit().prop_map(End::Own),
            (exit(), 1_u8..=5).prop_map(|(exit, why)| End::Stopped {
                why: StopReason::from_number(why).expect("1 to 5 are reasons"),
                exit
            }),
            Just(End::Lost),
        ];
        let leftover = (any::<i32>(), any::<String>()).prop_map(|(pid, command)| Leftover { pid, command });
        prop_oneof![
            any::<i32>().prop_map(|pid| Report::Started { pid }),
            (any::<i32>(), 1_u8..=5).prop_map(|(errno, step)| Report::NotStarted {
                step: FailedStep::Spawn(Step::from_number(step).expect("1 to 5 are steps")),
                errno
            }),
            (end, proptest::collection::vec(leftover, 0..5), any::<bool>())
                .prop_map(|(end, left, shell_stays)| Report::Ended { end, left, shell_stays }),
            Just(Report::Busy),
            Just(Report::Moved),
            (any::<i32>(), any::<bool>(), any::<[u32; 3]>()).prop_map(|(pid, busy, [since, commands, left])| {
                let since = Duration::from_millis(since.into());
                Report::Session(SessionState { pid, busy, since, commands: commands.into(), left: left.into() })
            }),
            any::<i32>().prop_map(|errno| Report::Recorded { errno }),
            Just(Report::Heard),
        ]
    }

    proptest! {
        #[test]
        fn reports_arrive_as_they_were_sent_however_they_are_cut(reports in proptest::collection::vec(report(), 0..8), cut in 1_usize..40) {
            let mut bytes = Vec::new();
            for report in &reports {
                report.encode(&mut bytes);
            }
            let mut inbox = Inbox::default();
            let mut arrived = Vec::new();
            for chunk in bytes.chunks(cut) {
                inbox.add(chunk);
                while let Some(report) = inbox.next(Report::decode).expect("they were encoded well") {
                    arrived.push(report);
                }
            }
            prop_assert_eq!(arrived, reports);
        }

        #[test]
        fn any_bytes_are_an_order_or_an_error(body in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Order::decode(&body, &mut Vec::new());
            let _ = Report::decode(&body);
        }
    }

    #[test]
    fn a_setup_arrives_as_it_was_sent() {
        let (read, write) = bashful_sys::pipe::plain().expect("a pipe");
        let setup = Setup {
            shell: b"/bin/bash".to_vec(),
            directory: b"/tmp/\xff".to_vec(),
            env: vec![b"A=1".to_vec(), b"B=".to_vec()],
            limits: bashful_sys::limits::all(),
            grace: Duration::from_millis(1500),
            when: When::Ahead,
            output: None,
            input: Input::Nothing,
            source: b"/tmp/it's".to_vec(),
        };
        let mut bytes = Vec::new();
        Order::Setup(setup).encode(&mut bytes);
        let mut descriptors = vec![read, write];
        let Ok(Order::Setup(setup)) = Order::decode(&bytes[4..], &mut descriptors) else { panic!("not a setup") };
        assert_eq!((setup.directory, setup.env.len()), (b"/tmp/\xff".to_vec(), 2));
        assert_eq!(setup.source, b"/tmp/it's");
        assert_eq!(setup.limits, bashful_sys::limits::all());
        assert_eq!((setup.grace, setup.when), (Duration::from_millis(1500), When::Ahead));
        assert!(setup.output.is_some() && descriptors.is_empty());
    }
}
