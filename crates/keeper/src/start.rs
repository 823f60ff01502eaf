//! How a keeper comes to its shell: by orders, one after the other, and what if they end too early.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use bashful_sys::signal::{Signal, SignalReader};
use bashful_sys::spawn::{Child, Session, Tether};
use rustix::event::{PollFd, PollFlags, poll};

use crate::awake::Awake;
use crate::link::EngineLink;
use crate::protocol::{self, Begin, FailedStep, Order, Release, Report, Script, Setup, When};
use crate::record::{Began, Record};
use crate::shell::{self, NotStarted, WaitingShell};
use crate::terminal::{HostTerminal, TerminalEnds};
use crate::tree::{Rest, Scope, Tree};

/// A shell under way.
pub(crate) struct Started {
    pub(crate) child: Child,
    pub(crate) until: Option<Instant>,
    /// Set to that time before the shell began: a script may stop its keeper at once.
    pub(crate) awake: Awake,
    pub(crate) began: Began,
    pub(crate) grace: Duration,
    /// Where it is written down, if it was a job from its beginning.
    pub(crate) record: Option<Record>,
    /// What the shell still has to read from.
    pub(crate) held: Vec<OwnedFd>,
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
    pub(crate) pipes: Vec<Release>,
}

/// What there is to watch over.
pub(crate) enum Begun {
    /// A shell that does one command.
    Command(Started),
    /// A shell is to be started that stays.
    Session(Setup, protocol::Session),
}

/// Does as it is told until it is known what there is to watch over; none if there is nothing.
pub(crate) fn start(link: &mut EngineLink, scope: Scope, signals: Option<&SignalReader>) -> Option<Begun> {
    let tether = match scope {
        Scope::EverythingBelow => Tether::DiesWithParent,
        // The thread may end before the command does.
        Scope::BelowShell => Tether::Loose,
    };
    let Some(Order::Setup(setup)) = next_order(link, signals) else { return None };
    match setup.when {
        When::Asked => start_when_asked(link, setup, tether, scope),
        When::Ahead => start_ahead(link, setup, tether, signals, scope).map(Begun::Command),
    }
}

/// The next order; none if the engine is gone or the keeper is to end. A keeper in reserve may wait for long.
fn next_order(link: &mut EngineLink, signals: Option<&SignalReader>) -> Option<Order> {
    loop {
        if let Some(order) = link.take() {
            return Some(order);
        }
        if link.is_gone() {
            return None;
        }
        let mut fds = vec![PollFd::new(link, PollFlags::IN)];
        fds.extend(signals.map(|signals| PollFd::new(signals, PollFlags::IN)));
        if poll(&mut fds, None).is_err() {
            continue;
        }
        let ready = |index: usize| fds.get(index).is_some_and(|fd| !fd.revents().is_empty());
        let (order, signaled) = (ready(0), ready(1));
        if signaled && signals.is_some_and(asks_to_end) {
            return None;
        }
        if order {
            link.fill();
        }
    }
}

/// True if somebody has asked the keeper to end.
fn asks_to_end(signals: &SignalReader) -> bool {
    signals.arrived().is_ok_and(|numbers| numbers.iter().any(|number| *number != Signal::CHILD.as_raw()))
}

fn start_when_asked(link: &mut EngineLink, setup: Setup, tether: Tether, scope: Scope) -> Option<Begun> {
    let mut job = None;
    let mut outside = None;
    let mut terminals = Terminals::default();
    let Begin { script, lifetime } = loop {
        match link.wait()? {
            Order::Record(mut order) => {
                terminals.pipes = std::mem::take(&mut order.pipes);
                job = Some(order);
            }
            Order::Terminal(terminal) => outside = terminal.outside,
            Order::GuardHostTerminal(terminal) => terminals.host = terminal.and_then(HostTerminal::guard),
            Order::Begin(begin) => break begin,
            Order::Session(order) => return Some(Begun::Session(setup, order)),
            _ => return None,
        }
    };
    let grace = setup.grace;
    let began = Began::now(lifetime);
    let (until, awake) = wake_after(lifetime, scope);
    let started = record(job, began).and_then(|record| {
        terminals.own = outside.map(|outside| take_terminal(outside, &setup)).transpose()?;
        let session = if terminals.own.is_some() { Session::Callers } else { Session::Own };
        Ok((record, shell::start(&setup, script, tether, session)?))
    });
    // Only the tree itself is to hold the writing end of its output.
    drop(setup);
    match started {
        Ok((record, (child, held))) => {
            Some(Begun::Command(Started { child, until, awake, began, grace, record, held, terminals }))
        }
        Err(error) => {
            // Nothing was changed about it yet.
            terminals.host.iter_mut().for_each(HostTerminal::leave_alone);
            refuse(link, &error)
        }
    }
}

/// Leads the session of the terminal that the setup names. Only a process of its own can do that.
fn take_terminal(outside: OwnedFd, setup: &Setup) -> Result<TerminalEnds, NotStarted> {
    let inside = setup.output.as_ref().ok_or_else(|| shell::not_prepared(&std::io::ErrorKind::NotFound.into()))?;
    TerminalEnds::take_control(outside, inside[0].as_fd()).map_err(|error| shell::not_prepared(&error))
}

/// Opens the record of a job before anything of it runs.
fn record(job: Option<protocol::Record>, began: Began) -> Result<Option<Record>, NotStarted> {
    let opened = job.map(|job| Record::open(job, began)).transpose();
    opened.map_err(|error| NotStarted { step: FailedStep::Record, errno: error.raw_os_error().unwrap_or(0) })
}

fn start_ahead(
    link: &mut EngineLink,
    setup: Setup,
    tether: Tether,
    signals: Option<&SignalReader>,
    scope: Scope,
) -> Option<Started> {
    let waiting = match WaitingShell::start(&setup, tether) {
        Ok(waiting) => waiting,
        Err(error) => return refuse(link, &error),
    };
    let grace = setup.grace;
    drop(setup);
    let told = await_begin(link, &waiting, signals);
    let Some(Begin { script: Script::Text(text), lifetime }) = told else {
        end_unused(&waiting.child, scope);
        // In case the engine is about to hand over a script: nothing of it was done.
        return refuse(link, &NotStarted { step: FailedStep::Handover, errno: 0 });
    };
    let (until, awake) = wake_after(lifetime, scope);
    match waiting.begin(&text) {
        Ok((child, held)) => {
            let began = Began::now(lifetime);
            let terminals = Terminals::default();
            Some(Started { child, until, awake, began, grace, record: None, held, terminals })
        }
        Err((child, error)) => {
            end_unused(&child, scope);
            refuse(link, &error)
        }
    }
}

/// Waits until it is known what the waiting shell is to do; none if the engine or the shell is gone.
fn await_begin(link: &mut EngineLink, waiting: &WaitingShell, signals: Option<&SignalReader>) -> Option<Begin> {
    loop {
        match link.take() {
            Some(Order::Begin(begin)) => return Some(begin),
            Some(_) => return None,
            None if link.is_gone() => return None,
            None => {}
        }
        // The shell's own handle, not the signal of its end: that one says nothing about *which* child it was.
        let mut fds = vec![PollFd::new(link, PollFlags::IN), PollFd::new(&waiting.child.pidfd, PollFlags::IN)];
        fds.extend(signals.map(|signals| PollFd::new(signals, PollFlags::IN)));
        if poll(&mut fds, None).is_err() {
            continue;
        }
        let ready = |index: usize| fds.get(index).is_some_and(|fd| !fd.revents().is_empty());
        let (order, shell_ended, signaled) = (ready(0), ready(1), ready(2));
        if shell_ended || (signaled && signals.is_some_and(asks_to_end)) {
            return None;
        }
        if order {
            link.fill();
        }
    }
}

/// Ends a shell that was never told what to do. It has no children yet.
fn end_unused(child: &Child, scope: Scope) {
    let _ = child.send(Signal::KILL);
    let mut tree = Tree::new(scope, child.pid);
    while tree.look(child.pidfd.as_fd()) == Rest::Shell {
        let _ = poll(&mut [PollFd::new(&child.pidfd, PollFlags::IN)], None);
    }
}

pub(crate) fn refuse<T>(link: &mut EngineLink, error: &NotStarted) -> Option<T> {
    link.tell(&Report::NotStarted { step: error.step, errno: error.errno });
    None
}

/// When a command has to end, and an alarm for that.
fn wake_after(lifetime: Option<Duration>, scope: Scope) -> (Option<Instant>, Awake) {
    let until = after(lifetime);
    let mut awake = Awake::new(scope);
    awake.at(until, Instant::now());
    (until, awake)
}

pub(crate) fn after(lifetime: Option<Duration>) -> Option<Instant> {
    // A lifetime beyond what the clock can say has no end.
    lifetime.and_then(|lifetime| Instant::now().checked_add(lifetime))
}
