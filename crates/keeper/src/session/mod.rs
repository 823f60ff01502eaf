//! A session: one persistent shell that runs one command after another, each with its own output, lifetime and end.
//!
//! The loop is that of a single command, with one difference: the end of a command is not the end of its shell.
//! Processes that a command leaves running belong to the session. The next command neither reports nor stops them, and
//! they end with the session.
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

use std::time::{Duration, Instant};

use bashful_sys::signal::SignalReader;
use bashful_sys::{boot_time, pipe};

use crate::link::EngineLink;
use crate::protocol::{self, FailedStep, PipeHandover, Report, SessionState, Setup};
use crate::pump::{Pump, Pumped};
use crate::shell::NotStarted;
use crate::start;
use crate::tree::Tree;
use crate::{Event, StopReason};

pub(crate) use driver::{Driver, ShellMessage};
use events::Readable;
use listener::SessionListener;
use running::RunningCommand;
use turn::TurnEvent;

/// A session that the keeper supervises.
struct Session {
    driver: Driver,
    tree: Tree,
    /// Connection to the engine that started the session. The session ends with it, unless `outlives`.
    host: EngineLink,
    outlives: bool,
    listener: SessionListener,
    signals: SignalReader,
    grace: Duration,
    idle_at_most: Option<Duration>,
    idle_since: Instant,
    /// The same time since boot: a clock that other processes share.
    idle_since_boot: Duration,
    running: Option<RunningCommand>,
    /// One for each pipe of a command that left writing processes behind.
    pumps: Vec<Pump>,
    commands: u64,
    /// True if only the shell was left when the last command ended. The next command then excludes the shell alone.
    shell_is_alone: bool,
    /// Order to make the running command a job.
    job_order: Option<protocol::RecordOrder>,
    readable: Readable,
    /// Reason to end the session, once there is one.
    ends_because: Option<StopReason>,
    /// True if the session ends to make room for another one.
    makes_room: bool,
    /// Reason to kill the shell, once it was killed.
    killed_for: Option<StopReason>,
}

/// Starts a persistent shell, and serves every client until the session is over.
pub(crate) fn serve(mut host: EngineLink, setup: Setup, order: protocol::SessionOrder, signals: SignalReader) {
    let grace = setup.grace;
    let unusable = |error: std::io::Error| shell_not_started(&error);
    // From here on, connections are read only when they are readable.
    let opened = pipe::set_nonblocking(&host).and_then(|()| SessionListener::open(order.directory)).map_err(unusable);
    let started = opened.and_then(|listener| Ok((listener, Driver::start(setup)?)));
    let (listener, driver) = match started {
        Ok(started) => started,
        Err(error) => return start::report_not_started(&mut host, &error).unwrap_or_default(),
    };
    listener.write_shell_pid(driver.pid());
    host.send(&Report::Started { pid: driver.pid() });
    let session = Session {
        tree: Tree::new(driver.child.pid),
        driver,
        host,
        outlives: order.outlives,
        listener,
        signals,
        grace,
        idle_at_most: order.idle,
        idle_since: Instant::now(),
        idle_since_boot: boot_time(),
        running: None,
        pumps: Vec::new(),
        commands: 0,
        shell_is_alone: false,
        job_order: None,
        readable: Readable::default(),
        ends_because: None,
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
            if let Some(order) = self.job_order.take() {
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
                && let Some(word) = self.driver.next_message()
            {
                self.step_turn(TurnEvent::Message(word));
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
        match &self.running {
            Some(running) => running.stopping.reap(&mut self.tree),
            None => self.tree.reap(),
        };
    }

    /// True if an idle session has to end now.
    fn is_over(&mut self) -> bool {
        if self.tree.exit().is_some()
            || self.driver.is_closed()
            || self.ends_because.is_some()
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
            // Processes still work in the session, though no client talks to it.
            self.restart_idle_time();
            return false;
        }
        self.ends_because = Some(StopReason::TimeUp);
        true
    }

    fn restart_idle_time(&mut self) {
        self.idle_since = Instant::now();
        self.idle_since_boot = boot_time();
    }

    fn idle_until(&self) -> Option<Instant> {
        self.idle_since.checked_add(self.idle_at_most?)
    }

    fn add_pumps(&mut self, pipes: Vec<PipeHandover>) {
        self.pumps.extend(pipes.into_iter().filter_map(Pump::new));
    }

    /// Marks the session as ending, and stops the running command.
    fn request_end(&mut self, why: StopReason) {
        self.ends_because.get_or_insert(why);
        self.handle(Event::StopAsked(why));
    }

    fn state(&mut self) -> SessionState {
        let since = self.running.as_ref().map_or(self.idle_since_boot, |running| running.began.boot);
        // Processes that were there when the command began, without the shell.
        let left = if self.running.is_some() {
            self.tree.excluded().saturating_sub(1)
        } else if self.shell_is_alone {
            0
        } else {
            self.tree.include_all();
            self.tree.leftovers().len().saturating_sub(1)
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
