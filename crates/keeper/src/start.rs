//! Follows the engine's first orders until a shell runs, or the orders end too early.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use bashful_sys::signal::{Signal, SignalReader};
use bashful_sys::spawn::{Child, Session, Step};
use rustix::event::{PollFd, PollFlags, poll};

use crate::awake::WakeAlarms;
use crate::fence::{self, NotMade, OpenForShell};
use crate::link::EngineLink;
use crate::protocol::{self, Begin, FailedStep, FenceOrder, Order, PipeHandover, Report, Script, Setup, ShellStart};
use crate::record::{Record, StartTime};
use crate::shell::{self, NotStarted, WaitingShell};
use crate::terminal::{HostTerminal, TerminalEnds};
use crate::tree::{Tree, TreeState};

/// A shell that was started, with its lifetime and its record.
pub(crate) struct StartedCommand {
    pub(crate) child: Child,
    pub(crate) until: Option<Instant>,
    /// Alarms for the end of the lifetime, set before the shell began: a script may stop its keeper at once.
    pub(crate) alarms: WakeAlarms,
    pub(crate) began: StartTime,
    pub(crate) grace: Duration,
    /// The record of a command that was a job from its beginning.
    pub(crate) record: Option<Record>,
    /// Descriptors that the shell still has to read from.
    pub(crate) open_for_shell: OpenForShell,
    pub(crate) terminals: Terminals,
}

/// The terminals that a command has to do with.
#[derive(Default)]
pub(crate) struct Terminals {
    /// The command's own.
    pub(crate) own: Option<TerminalEnds>,
    /// That of the person who started it.
    pub(crate) host: Option<HostTerminal>,
    /// The output of a job with a terminal, which the keeper carries to the job's file.
    pub(crate) pipes: Vec<PipeHandover>,
}

/// The result of the first orders.
pub(crate) enum Assignment {
    /// A shell that runs one command.
    Command(StartedCommand),
    /// Setup and order of a session, whose shell is not started yet.
    Session(Setup, protocol::SessionOrder),
}

/// Follows orders until there is a command or a session to supervise; none if the engine is gone or wants neither.
pub(crate) fn start(link: &mut EngineLink, signals: &SignalReader) -> Option<Assignment> {
    let setup = match next_order(link, signals)? {
        Order::Setup(setup) => setup,
        Order::EnterFence { has_host_network, handles } => {
            if let Err(error) = fence::enter(handles, has_host_network) {
                let step = FailedStep::Spawn(Step::Fence);
                return report_not_started(link, &NotStarted { step, errno: error.raw_os_error().unwrap_or(0) });
            }
            let Some(Order::Setup(setup)) = next_order(link, signals) else { return None };
            setup
        }
        Order::MakeFence(order) => {
            make_fence(link, &order);
            return None;
        }
        _ => return None,
    };
    match setup.when {
        ShellStart::WithScript => start_when_asked(link, setup),
        ShellStart::Ahead => start_ahead(link, setup, signals).map(Assignment::Command),
    }
}

/// Makes a fence, and hands out handles on its namespaces.
fn make_fence(link: &mut EngineLink, order: &FenceOrder) {
    match fence::make(order) {
        Ok(handles) => {
            let handles: Vec<_> = handles.iter().map(AsFd::as_fd).collect();
            link.hand(&Report::FenceMade { errno: 0, at: Vec::new() }, &handles);
        }
        Err(NotMade { at, error }) => {
            let at = at.into_os_string().into_encoded_bytes();
            link.send(&Report::FenceMade { errno: error.raw_os_error().unwrap_or(-1), at });
        }
    }
}

/// Waits for the next order; none if the engine is gone or a signal asks the keeper to end. A keeper in reserve may
/// wait for long.
fn next_order(link: &mut EngineLink, signals: &SignalReader) -> Option<Order> {
    loop {
        if let Some(order) = link.next_order() {
            return Some(order);
        }
        if link.is_gone() {
            return None;
        }
        let mut fds = [PollFd::new(link, PollFlags::IN), PollFd::new(signals, PollFlags::IN)];
        if poll(&mut fds, None).is_err() {
            continue;
        }
        let [order, signaled] = fds.map(|fd| !fd.revents().is_empty());
        if signaled && has_stop_signal(signals) {
            return None;
        }
        if order {
            link.receive();
        }
    }
}

/// True if a signal other than `SIGCHLD` has arrived.
fn has_stop_signal(signals: &SignalReader) -> bool {
    signals.read_pending().is_ok_and(|numbers| numbers.iter().any(|number| *number != Signal::CHILD.as_raw()))
}

fn start_when_asked(link: &mut EngineLink, setup: Setup) -> Option<Assignment> {
    let mut job = None;
    let mut outside = None;
    let mut terminals = Terminals::default();
    let Begin { script, lifetime } = loop {
        match link.wait_for_order()? {
            Order::Record(mut order) => {
                terminals.pipes = std::mem::take(&mut order.pipes);
                job = Some(order);
            }
            Order::Terminal(terminal) => outside = terminal.outside,
            Order::GuardHostTerminal(terminal) => terminals.host = terminal.and_then(HostTerminal::guard),
            Order::Begin(begin) => break begin,
            Order::Session(order) => return Some(Assignment::Session(setup, order)),
            _ => return None,
        }
    };
    let grace = setup.grace;
    let began = StartTime::now(lifetime);
    let (until, alarms) = deadline_and_alarms(lifetime);
    let started = open_record(job, began).and_then(|record| {
        terminals.own = outside.map(|outside| take_terminal(outside, &setup)).transpose()?;
        let session = if terminals.own.is_some() { Session::Callers } else { Session::Own };
        Ok((record, shell::start(&setup, script, session)?))
    });
    // Only the tree itself may hold the writing end of its output.
    drop(setup);
    match started {
        Ok((record, (child, open_for_shell))) => {
            let started = StartedCommand { child, until, alarms, began, grace, record, open_for_shell, terminals };
            Some(Assignment::Command(started))
        }
        Err(error) => {
            // Nothing was changed about it yet.
            terminals.host.iter_mut().for_each(HostTerminal::leave_alone);
            report_not_started(link, &error)
        }
    }
}

/// Leads the session of the terminal that the setup names. Only a process of its own can do that.
fn take_terminal(outside: OwnedFd, setup: &Setup) -> Result<TerminalEnds, NotStarted> {
    let inside = setup.output.as_ref().ok_or_else(|| shell::not_prepared(&std::io::ErrorKind::NotFound.into()))?;
    TerminalEnds::take_control(outside, inside[0].as_fd()).map_err(|error| shell::not_prepared(&error))
}

/// Opens the record of a job before any of its processes runs.
fn open_record(job: Option<protocol::RecordOrder>, began: StartTime) -> Result<Option<Record>, NotStarted> {
    let opened = job.map(|job| Record::open(job, began)).transpose();
    opened.map_err(|error| NotStarted { step: FailedStep::Record, errno: error.raw_os_error().unwrap_or(0) })
}

fn start_ahead(link: &mut EngineLink, setup: Setup, signals: &SignalReader) -> Option<StartedCommand> {
    let waiting = match WaitingShell::start(&setup) {
        Ok(waiting) => waiting,
        Err(error) => return report_not_started(link, &error),
    };
    let grace = setup.grace;
    drop(setup);
    let received = await_begin(link, &waiting, signals);
    let Some(Begin { script: Script::Text(text), lifetime }) = received else {
        end_unused(&waiting.child);
        // The engine may be about to hand over a script. It learns that none of it ran.
        return report_not_started(link, &NotStarted { step: FailedStep::Handover, errno: 0 });
    };
    let (until, alarms) = deadline_and_alarms(lifetime);
    match waiting.begin(&text) {
        Ok((child, open_for_shell)) => {
            let began = StartTime::now(lifetime);
            let terminals = Terminals::default();
            Some(StartedCommand { child, until, alarms, began, grace, record: None, open_for_shell, terminals })
        }
        Err((child, error)) => {
            end_unused(&child);
            report_not_started(link, &error)
        }
    }
}

/// Waits for the script of a waiting shell; none if the engine or the shell is gone.
fn await_begin(link: &mut EngineLink, waiting: &WaitingShell, signals: &SignalReader) -> Option<Begin> {
    loop {
        match link.next_order() {
            Some(Order::Begin(begin)) => return Some(begin),
            Some(_) => return None,
            None if link.is_gone() => return None,
            None => {}
        }
        // The shell's own handle: `SIGCHLD` does not tell *which* child has ended.
        let shell = PollFd::new(&waiting.child.pidfd, PollFlags::IN);
        let mut fds = [PollFd::new(link, PollFlags::IN), shell, PollFd::new(signals, PollFlags::IN)];
        if poll(&mut fds, None).is_err() {
            continue;
        }
        let [order, shell_ended, signaled] = fds.map(|fd| !fd.revents().is_empty());
        if shell_ended || (signaled && has_stop_signal(signals)) {
            return None;
        }
        if order {
            link.receive();
        }
    }
}

/// Kills a shell that never got a script. It has no children yet.
fn end_unused(child: &Child) {
    let _ = child.send(Signal::KILL);
    let mut tree = Tree::new(child.pid);
    while tree.reap() == TreeState::ShellRuns {
        let _ = poll(&mut [PollFd::new(&child.pidfd, PollFlags::IN)], None);
    }
}

pub(crate) fn report_not_started<T>(link: &mut EngineLink, error: &NotStarted) -> Option<T> {
    link.send(&Report::NotStarted { step: error.step, errno: error.errno });
    None
}

/// Returns the end of a lifetime, and alarms set to it.
fn deadline_and_alarms(lifetime: Option<Duration>) -> (Option<Instant>, WakeAlarms) {
    let until = deadline_after(lifetime);
    let mut alarms = WakeAlarms::default();
    alarms.wake_at(until, Instant::now());
    (until, alarms)
}

pub(crate) fn deadline_after(lifetime: Option<Duration>) -> Option<Instant> {
    // A lifetime beyond the range of the clock has no end.
    lifetime.and_then(|lifetime| Instant::now().checked_add(lifetime))
}
