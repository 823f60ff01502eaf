//! Encodes and decodes the messages.

use std::os::fd::OwnedFd;
use std::time::Duration;

use bashful_sys::boot_time;
use bashful_sys::limits::Limit;
use bashful_sys::spawn::Step;

use super::fields::{
    Fields, Garbled, frame, nanoseconds, put_bytes, put_exit, put_i32, put_list, put_number, put_optional, take_one,
    take_two,
};
use super::{
    Begin, FailedStep, FenceLayer, FenceOrder, Input, LayerKind, Leftover, Order, PipeHandover, RecordKind,
    RecordOrder, Report, Script, SessionCommand, SessionOrder, SessionState, Setup, ShellStart, Terminal, namespaces,
};
use crate::{End, StopReason};

impl Order {
    /// Appends the encoded order to `out`. The caller sends its descriptors.
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
                put_optional(out, setup.umask.map(u64::from));
                put_number(out, nanoseconds(setup.grace));
                out.push(u8::from(setup.when == ShellStart::Ahead));
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
                put_list(out, pipes, PipeHandover::encode);
            }
            Self::Record(record) => {
                out.push(5);
                put_number(out, record.id);
                put_bytes(out, &record.directory);
                out.push(record.kind as u8);
                put_number(out, record.at_most);
                out.push(u8::from(record.stop_leftovers));
                put_list(out, &record.pipes, PipeHandover::encode);
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
            Self::QueryState => out.push(10),
            Self::EndSession { makes_room } => out.extend([11, u8::from(*makes_room)]),
            Self::Withdraw => out.push(12),
            Self::Variables(variables) => {
                out.push(13);
                put_list(out, variables, |out, entry| put_bytes(out, entry));
            }
            Self::Terminal(_) => out.push(14),
            Self::GuardHostTerminal(_) => out.push(15),
            Self::HostTerminalRestored => out.push(16),
            Self::AskTerminal { answers } => out.extend([17, u8::from(*answers)]),
            Self::Resize { columns, rows } => {
                out.push(18);
                put_number(out, (*columns).into());
                put_number(out, (*rows).into());
            }
            Self::EndWithClient => out.push(19),
            Self::Lifetime(lifetime) => {
                out.push(20);
                put_optional(out, lifetime.map(nanoseconds));
            }
            Self::MakeFence(fence) => {
                out.extend([21, u8::from(fence.has_host_network)]);
                put_list(out, &fence.ports, |out, port| put_number(out, (*port).into()));
                put_list(out, &fence.layers, |out, layer| {
                    out.push(layer.kind as u8);
                    put_bytes(out, &layer.at);
                    put_bytes(out, &layer.from);
                    put_list(out, &layer.shown, |out, shown| put_bytes(out, shown));
                });
            }
            Self::EnterFence { has_host_network, .. } => out.extend([22, u8::from(*has_host_network)]),
        });
    }

    /// Decodes an order, and takes its descriptors from the front of `descriptors`.
    pub fn decode(body: &[u8], descriptors: &mut Vec<OwnedFd>) -> Result<Self, Garbled> {
        let mut from = Fields(body);
        let order = match from.byte()? {
            1 => Self::Setup(Setup {
                shell: from.bytes()?.to_vec(),
                directory: from.bytes()?.to_vec(),
                env: from.list(|from| Ok(from.bytes()?.to_vec()))?,
                limits: from
                    .list(|from| Limit::from_parts(from.byte()?, from.optional()?, from.optional()?).ok_or(Garbled))?,
                umask: from.optional()?.map(u32::try_from).transpose().map_err(|_| Garbled)?,
                grace: Duration::from_nanos(from.number()?),
                when: if from.byte()? == 1 { ShellStart::Ahead } else { ShellStart::WithScript },
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
            4 => Self::Release(from.list(|from| PipeHandover::decode(from, descriptors))?),
            5 => Self::Record(RecordOrder {
                id: from.number()?,
                directory: from.bytes()?.to_vec(),
                kind: RecordKind::from_number(from.byte()?).ok_or(Garbled)?,
                at_most: from.number()?,
                stop_leftovers: from.byte()? == 1,
                alive: Some(take_one(descriptors)?),
                pipes: from.list(|from| PipeHandover::decode(from, descriptors))?,
            }),
            6 => Self::Signal(from.byte()?),
            7 => Self::CloseInput,
            8 => Self::Session(SessionOrder {
                directory: from.bytes()?.to_vec(),
                idle: from.optional()?.map(Duration::from_nanos),
                outlives: from.byte()? == 1,
            }),
            9 => Self::Command(SessionCommand {
                directory: from.bytes()?.to_vec(),
                expected: from.bytes()?.to_vec(),
                apart: from.byte()? == 1,
                lifetime: from.optional()?.map(Duration::from_nanos),
                waits: from.byte()? == 1,
                split: from.byte()? == 1,
                variables: Vec::new(),
                output: Some(take_two(descriptors)?),
                script: Script::decode(&mut from, descriptors)?,
            }),
            10 => Self::QueryState,
            11 => Self::EndSession { makes_room: from.byte()? == 1 },
            12 => Self::Withdraw,
            13 => Self::Variables(from.list(|from| Ok(from.bytes()?.to_vec()))?),
            14 => Self::Terminal(Terminal { outside: Some(take_one(descriptors)?) }),
            15 => Self::GuardHostTerminal(Some(take_one(descriptors)?)),
            16 => Self::HostTerminalRestored,
            17 => Self::AskTerminal { answers: from.byte()? == 1 },
            18 => Self::Resize { columns: from.u16()?, rows: from.u16()? },
            19 => Self::EndWithClient,
            20 => Self::Lifetime(from.optional()?.map(Duration::from_nanos)),
            21 => Self::MakeFence(FenceOrder {
                has_host_network: from.byte()? == 1,
                ports: from.list(Fields::u16)?,
                layers: from.list(|from| {
                    Ok(FenceLayer {
                        kind: LayerKind::from_number(from.byte()?).ok_or(Garbled)?,
                        at: from.bytes()?.to_vec(),
                        from: from.bytes()?.to_vec(),
                        shown: from.list(|from| Ok(from.bytes()?.to_vec()))?,
                    })
                })?,
            }),
            22 => {
                let has_host_network = from.byte()? == 1;
                let handles =
                    (0..=namespaces(has_host_network)).map(|_| take_one(descriptors)).collect::<Result<_, _>>()?;
                Self::EnterFence { has_host_network, handles }
            }
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

impl PipeHandover {
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
    /// Reports the end of a command, now, whose shell does not stay.
    pub(crate) fn ended(end: End, left: Vec<Leftover>) -> Self {
        Self::Ended { end, left, shell_stays: false, at: boot_time() }
    }

    /// Appends the encoded report to `out`.
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
            Self::NotUnderstood => out.push(9),
            Self::Waiting => out.push(10),
            Self::Terminal { answers } => out.extend([11, u8::from(*answers)]),
            Self::NoTerminal => out.push(12),
            Self::Suspended => out.push(13),
            Self::FenceMade { errno, at } => {
                out.push(14);
                put_i32(out, *errno);
                put_bytes(out, at);
            }
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
            Self::Ended { end, left, shell_stays, at } => {
                out.push(3);
                out.push(u8::from(*shell_stays));
                put_number(out, nanoseconds(*at));
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

    /// Decodes a report.
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
                at: Duration::from_nanos(from.number()?),
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
            9 => Self::NotUnderstood,
            10 => Self::Waiting,
            11 => Self::Terminal { answers: from.byte()? == 1 },
            12 => Self::NoTerminal,
            13 => Self::Suspended,
            14 => Self::FenceMade { errno: from.i32()?, at: from.bytes()?.to_vec() },
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
    use super::super::{Hello, Inbox};
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
            (end, proptest::collection::vec(leftover, 0..5), any::<bool>(), any::<u64>()).prop_map(
                |(end, left, shell_stays, at)| Report::Ended { end, left, shell_stays, at: Duration::from_nanos(at) }
            ),
            Just(Report::Busy),
            Just(Report::Moved),
            (any::<i32>(), any::<bool>(), any::<[u32; 3]>()).prop_map(|(pid, busy, [since, commands, left])| {
                let since = Duration::from_millis(since.into());
                Report::Session(SessionState { pid, busy, since, commands: commands.into(), left: left.into() })
            }),
            any::<i32>().prop_map(|errno| Report::Recorded { errno }),
            Just(Report::Heard),
            Just(Report::NotUnderstood),
            any::<bool>().prop_map(|answers| Report::Terminal { answers }),
            Just(Report::NoTerminal),
            Just(Report::Suspended),
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
            let _ = (Hello::decode(&body), Order::decode_core(&body), Report::decode_core(&body));
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
            umask: Some(0o777),
            grace: Duration::from_millis(1500),
            when: ShellStart::Ahead,
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
        assert_eq!((setup.limits, setup.umask), (bashful_sys::limits::all(), Some(0o777)));
        assert_eq!((setup.grace, setup.when), (Duration::from_millis(1500), ShellStart::Ahead));
        assert!(setup.output.is_some() && descriptors.is_empty());
    }
}
