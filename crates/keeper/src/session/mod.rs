//! A shell that stays: one command after the other, each with its own output, its own lifetime and its own end.
//!
//! The same loop as for a single command, with one difference: the end of a command is not the end of its shell. Processes that a
//! command leaves running belong to the session. The next command neither reports nor stops them, and they end with the session.
//!
//! ```text
//!   idle ──command──▶ running ──done──▶ idle …
//!    │                   │ stop: interrupt the shell, stop what the command has started
//!    │                   ▼
//!    │                 idle if the shell has come back, over if not
//!    └─ ended by request, too long idle, or left by its engine ─▶ over: everything stops
//! ```

mod driver;
mod ending;
mod events;
mod listener;
mod running;
mod shell_output;
mod turn;

use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use bashful_sys::signal::SignalReader;
use bashful_sys::{boot_time, pipe};

use crate::link::EngineLink;
use crate::protocol::{self, FailedStep, Release, Report, SessionState, Setup};
use crate::pump::{Pump, Pumped};
use crate::shell::NotStarted;
use crate::start;
use crate::tree::{Scope, Tree};
use crate::{Event, StopReason};

pub(crate) use driver::{Driver, Word};
use events::Readable;
use listener::SessionListener;
use running::RunningCommand;
use turn::TurnEvent;

/// A session under watch.
struct Session {
    driver: Driver,
    tree: Tree,
    /// The engine that started it. The session ends with this connection, unless it outlives its engine.
    host: EngineLink,
    outlives: bool,
    listener: SessionListener,
    signals: SignalReader,
    grace: Duration,
    idle_at_most: Option<Duration>,
    idle_since: Instant,
    /// The same time, by a clock that other processes have too.
    idle_from: Duration,
    running: Option<RunningCommand>,
    /// One for each pipe of a command that left a process behind which writes.
    pumps: Vec<Pump>,
    commands: u64,
    /// No process but the shell was there when the last command ended, so the next command spares the shell alone.
    is_alone: bool,
    /// The command that runs is to become a job.
    wanted_job: Option<protocol::Record>,
    readable: Readable,
    /// Reason why it is to end.
    ends: Option<StopReason>,
    /// It ends to make room for another session.
    makes_room: bool,
    /// Reason why its shell had to be killed.
    killed_for: Option<StopReason>,
}

/// Starts a shell that stays, and serves every client until the session is over.
pub(crate) fn serve(mut host: EngineLink, setup: Setup, order: protocol::Session, signals: Option<SignalReader>) {
    // A thread of a host is no place for something that stays.
    let Some(signals) = signals else { return };
    let grace = setup.grace;
    let unusable = |error: std::io::Error| shell_not_started(&error);
    // From here on, connections are read only when they have something to read.
    let opened = pipe::set_nonblocking(&host).and_then(|()| SessionListener::open(order.directory)).map_err(unusable);
    let started = opened.and_then(|listener| Ok((listener, Driver::start(setup)?)));
    let (listener, driver) = match started {
        Ok(started) => started,
        Err(error) => return start::refuse(&mut host, &error).unwrap_or_default(),
    };
    listener.write_shell_pid(driver.pid());
    host.tell(&Report::Started { pid: driver.pid() });
    let session = Session {
        tree: Tree::new(Scope::EverythingBelow, driver.child.pid),
        driver,
        host,
        outlives: order.outlives,
        listener,
        signals,
        grace,
        idle_at_most: order.idle,
        idle_since: Instant::now(),
        idle_from: boot_time(),
        running: None,
        pumps: Vec::new(),
        commands: 0,
        is_alone: false,
        wanted_job: None,
        readable: Readable::default(),
        ends: None,
        makes_room: false,
        killed_for: None,
    };
    session.serve();
}

fn shell_not_started(error: &std::io::Error) -> NotStarted {
    NotStarted { step: FailedStep::Record, errno: error.raw_os_error().unwrap_or(0) }
}

impl Session {
    fn serve(mut self) {
        loop {
            self.wait();
            self.follow_orders();
            if let Some(order) = self.wanted_job.take() {
                match self.become_job(order) {
                    None => return,
                    Some(session) => self = session,
                }
            }
            self.pumps.retain_mut(|pump| pump.run() != Pumped::Ended);
            if self.readable.signals {
                self.reap();
            }
            if self.readable.shell_output {
                self.driver.read_shell_output();
            }
            while self.readable.driver
                && let Some(word) = self.driver.word()
            {
                self.step_turn(TurnEvent::Said(word));
            }
            self.advance();
            // A command that cannot begin makes way for the next.
            while self.running.is_none() {
                if self.is_over() {
                    return self.end();
                }
                let Some((link, command)) = self.listener.next_command() else { break };
                self.begin(link, command);
            }
            self.listener.answer_withdrawals();
        }
    }

    fn reap(&mut self) {
        let shell = self.driver.child.pidfd.as_fd();
        match &self.running {
            Some(running) => running.stopping.reap(&mut self.tree, shell),
            None => self.tree.look(shell),
        };
    }

    /// True if an idle session has to end now.
    fn is_over(&mut self) -> bool {
        if self.tree.exit().is_some()
            || self.driver.is_deaf()
            || self.ends.is_some()
            || self.killed_for.is_some()
            || self.listener.is_removed
        {
            return true;
        }
        let Some(idle_until) = self.idle_until() else { return false };
        if Instant::now() < idle_until {
            return false;
        }
        if !self.tree.is_shell_alone() {
            // Processes work in there, though no client talks to it.
            self.be_idle();
            return false;
        }
        self.ends = Some(StopReason::TimeUp);
        true
    }

    fn be_idle(&mut self) {
        self.idle_since = Instant::now();
        self.idle_from = boot_time();
    }

    fn idle_until(&self) -> Option<Instant> {
        self.idle_since.checked_add(self.idle_at_most?)
    }

    fn take_over(&mut self, pipes: Vec<Release>) {
        self.pumps.extend(pipes.into_iter().filter_map(Pump::new));
    }

    /// Notes that the session is to end, and stops the command that runs.
    fn end_for(&mut self, why: StopReason) {
        self.ends.get_or_insert(why);
        self.handle(Event::StopAsked(why));
    }

    fn state(&mut self) -> SessionState {
        let since = self.running.as_ref().map_or(self.idle_from, |running| running.began.boot);
        // Processes that were there when the command began, without the shell itself.
        let left = if self.running.is_some() {
            self.tree.spared().saturating_sub(1)
        } else if self.is_alone {
            0
        } else {
            self.tree.spare_nobody();
            self.tree.left().len().saturating_sub(1)
        };
        SessionState {
            pid: self.driver.pid(),
            busy: self.running.is_some(),
            since,
            commands: self.commands,
            left: left as u64,
        }
    }
}
