//! A shell that stays: one command after the other, each with its own output, its own lifetime and its own end.
//!
//! The same loop as for a single command, with one difference: the end of a command is not the end of its shell. What a
//! command leaves running belongs to the session; the next one neither reports nor stops it, and it ends with the session.
//!
//! ```text
//!   idle ──command──▶ running ──done──▶ idle …
//!    │                   │ stop: interrupt the shell, stop what the command has started
//!    │                   ▼
//!    │                 idle if the shell has come back, over if not
//!    └─ ended by request, too long idle, or left by its engine ─▶ over: everything stops
//! ```

mod door;
mod driver;
mod own;
mod running;

use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use bashful_sys::signal::{self, Signal, SignalReader};
use bashful_sys::{boot_time, news, pipe};

use crate::killing::Killing;
use crate::link::Link;
use crate::protocol::{self, FailedStep, Order, Release, Report, SessionState, Setup};
use crate::pump::{Pump, Pumped};
use crate::start;
use crate::tree::{Rest, Scope, Tree};
use crate::{Effect, Event, Exit, Phase, StopReason, span};

use door::{Door, Guest};
pub(crate) use driver::{Driver, Word};
use running::Running;

/// A session under watch.
struct Session {
    driver: Driver,
    tree: Tree,
    /// Who started it. Its end is that of the session, unless the session outlives it.
    host: Link,
    outlives: bool,
    door: Door,
    signals: SignalReader,
    grace: Duration,
    idle_at_most: Option<Duration>,
    /// Since when it has nothing to do.
    idle_since: Instant,
    /// The same, by a clock that others have too.
    idle_from: Duration,
    running: Option<Running>,
    /// One for each pipe of a command that left somebody behind who writes.
    pumps: Vec<Pump>,
    commands: u64,
    /// The shell was all there was when the last command ended, and is what is left alone by the next.
    is_alone: bool,
    /// The command that runs is to become a job.
    wanted_job: Option<protocol::Record>,
    news: News,
    /// Why it is to end.
    ends: Option<StopReason>,
    /// It ends to make room for another.
    makes_room: bool,
    /// Its shell had to be killed for this.
    killed_for: Option<StopReason>,
}

/// Who has something to say; of guests, each knows for itself.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is one descriptor that was looked at")]
struct News {
    signals: bool,
    driver: bool,
    own: bool,
    door: bool,
    place: bool,
    host: bool,
    runner: bool,
}

/// How often it is looked whether the directory is still there, where nobody tells.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(10);

/// Starts a shell that stays, and serves whoever comes until it is over.
pub(crate) fn serve(mut host: Link, setup: Setup, order: protocol::Session, signals: Option<SignalReader>) {
    // A thread of a host is no place for something that stays.
    let Some(signals) = signals else { return };
    let grace = setup.grace;
    let unusable = |error: std::io::Error| shell_not_started(&error);
    // From here on everybody is only listened to when they have something to say.
    let opened = pipe::set_nonblocking(&host).and_then(|()| Door::open(order.directory)).map_err(unusable);
    let started = opened.and_then(|door| Ok((door, Driver::start(setup)?)));
    let (door, driver) = match started {
        Ok(started) => started,
        Err(error) => return start::refuse(&mut host, &error).unwrap_or_default(),
    };
    door.name_shell(driver.pid());
    host.tell(&Report::Started { pid: driver.pid() });
    let session = Session {
        tree: Tree::new(Scope::EverythingBelow, driver.child.pid),
        driver,
        host,
        outlives: order.outlives,
        door,
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
        news: News::default(),
        ends: None,
        makes_room: false,
        killed_for: None,
    };
    session.serve();
}

fn shell_not_started(error: &std::io::Error) -> crate::shell::NotStarted {
    crate::shell::NotStarted { step: FailedStep::Record, errno: error.raw_os_error().unwrap_or(0) }
}

impl Session {
    fn serve(mut self) {
        loop {
            self.wait();
            self.hear();
            if let Some(order) = self.wanted_job.take() {
                match self.become_job(order) {
                    None => return,
                    Some(session) => self = session,
                }
            }
            self.pumps.retain_mut(|pump| pump.run() != Pumped::Ended);
            if self.news.signals {
                // Somebody has ended.
                self.tree.look(self.driver.child.pidfd.as_fd());
                if self.running.as_ref().is_some_and(Running::is_asked) {
                    self.tree.ask_orphans();
                }
            }
            if self.news.own {
                self.driver.hear_own();
            }
            while self.news.driver
                && let Some(word) = self.driver.word()
            {
                if let Some(running) = &mut self.running {
                    running.hear(word);
                }
            }
            if self.running.is_some() {
                self.advance();
            }
            // One that cannot begin makes way for the next.
            while self.running.is_none() {
                if self.is_over() {
                    return self.end();
                }
                let Some((link, command)) = self.door.next() else { break };
                self.begin(link, command);
            }
            self.door.dismiss();
        }
    }

    /// Whether there is nothing more to do but to end.
    fn is_over(&mut self) -> bool {
        if self.tree.exit().is_some()
            || self.driver.is_deaf()
            || self.ends.is_some()
            || self.killed_for.is_some()
            || self.door.is_removed
        {
            return true;
        }
        let Some(idle_until) = self.idle_until() else { return false };
        if Instant::now() < idle_until {
            return false;
        }
        if !self.tree.is_shell_alone() {
            // Somebody works in there, though nobody talks to it.
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

    /// Waits until something happens, or is due.
    fn wait(&mut self) {
        let now = Instant::now();
        let due = match &self.running {
            Some(running) => running.due(),
            None => self.idle_until(),
        };
        let deadline = match &self.running {
            Some(running) => running.deadline(),
            None => due,
        };
        self.tree.awake.at(deadline, now);
        // There are only so many watches for each user.
        let look_at = self.door.watch().is_none().then(|| now + LOOK_AT_LEAST_EVERY);
        let due = due.into_iter().chain(look_at).min();
        let running = self.running.as_ref().map(|running| running.link.as_fd());
        let guests = self.door.guests.iter().map(|guest| guest.link.as_fd());
        let pumps = self.pumps.iter().map(AsFd::as_fd);
        let host = (!self.host.is_gone()).then_some(self.host.as_fd());
        // The end of its children comes as a signal.
        let (door, place) = (self.door.listener(), self.door.watch());
        let always = [self.signals.as_fd(), self.driver.as_fd(), self.driver.own()];
        let watched: Vec<BorrowedFd<'_>> =
            always.into_iter().chain(door).chain(place).chain(host).chain(running).chain(guests).chain(pumps).collect();
        let has_news = news::wait(&watched, due.map(|due| due.saturating_duration_since(now)));
        let mut has_news = has_news.into_iter();
        let mut next = |is_watched: bool| is_watched && has_news.next().unwrap_or_default();
        self.news = News {
            signals: next(true),
            driver: next(true),
            own: next(true),
            door: next(self.door.listener().is_some()),
            place: next(self.door.watch().is_some()),
            host: next(!self.host.is_gone()),
            runner: next(self.running.is_some()),
        };
        for guest in &mut self.door.guests {
            guest.has_news = has_news.next().unwrap_or_default();
        }
    }

    /// Hears everybody who has something to say.
    fn hear(&mut self) {
        let arrived = if self.news.signals { self.signals.arrived().unwrap_or_default() } else { Vec::new() };
        if arrived.iter().any(|number| *number != Signal::CHILD.as_raw()) {
            self.end_for(StopReason::KeeperSignaled);
        }
        if self.news.host {
            self.host.fill();
            while let Some(order) = self.host.take() {
                if matches!(order, Order::EndSession { .. }) {
                    self.end_for(StopReason::Cancelled);
                }
            }
            if self.host.is_gone() && !self.outlives {
                self.end_for(StopReason::EngineGone);
            }
        }
        if self.news.runner {
            self.hear_runner();
        }
        if self.news.door {
            self.door.let_in();
        }
        if self.news.place || self.door.watch().is_none() {
            // A command that runs is still somebody's.
            self.door.look();
        }
        let mut released = Vec::new();
        let mut ended = false;
        let busy = self.running.is_some();
        for index in 0..self.door.guests.len() {
            if !self.door.guests[index].has_news {
                continue;
            }
            self.door.guests[index].link.fill();
            while let Some(order) = self.door.guests[index].link.take() {
                match order {
                    Order::Command(command) if busy && !command.waits => {
                        self.door.guests[index].link.tell(&Report::Busy);
                    }
                    Order::Command(command) => self.door.guests[index].wants = Some(command),
                    // It may come when its command is over.
                    Order::Withdraw => self.door.guests[index].withdraws = self.door.guests[index].wants.is_some(),
                    Order::Release(pipes) => released.extend(pipes),
                    Order::Look => {
                        let state = self.state();
                        self.door.guests[index].link.tell(&Report::Session(state));
                    }
                    Order::EndSession { makes_room } => {
                        self.makes_room |= makes_room && self.ends.is_none();
                        self.door.guests[index].link.tell(&Report::Heard);
                        self.door.guests[index].waits_for_end = true;
                        ended = true;
                    }
                    _ => {}
                }
            }
        }
        self.door.guests.retain(|guest: &Guest| !guest.link.is_gone());
        self.take_over(released);
        if ended {
            self.end_for(StopReason::Cancelled);
        }
    }

    /// Hears the one whose command runs.
    fn hear_runner(&mut self) {
        let Some(mut running) = self.running.take() else { return };
        running.link.fill();
        let mut events = Vec::new();
        while let Some(order) = running.link.take() {
            match order {
                Order::Stop(why) => events.push(Event::StopAsked(why)),
                Order::Signal(number) => self.tree.signal(number),
                Order::Record(order) => self.wanted_job = Some(order),
                _ => {}
            }
        }
        if running.link.is_gone() && !running.is_stopping() {
            events.push(Event::StopAsked(StopReason::EngineGone));
        }
        self.running = Some(running);
        for event in events {
            self.handle(event);
        }
    }

    fn take_over(&mut self, pipes: Vec<Release>) {
        self.pumps.extend(pipes.into_iter().filter_map(Pump::new));
    }

    /// Notes that it is to end, and stops what runs.
    fn end_for(&mut self, why: StopReason) {
        self.ends.get_or_insert(why);
        self.handle(Event::StopAsked(why));
    }

    fn state(&mut self) -> SessionState {
        let since = self.running.as_ref().map_or(self.idle_from, |running| running.written_down.boot);
        // Those that were there when the command began, and without the shell itself.
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

    /// Ends everything that is left, and says why for the next one who asks for this session.
    fn end(mut self) {
        // Who could not be told anything may be gone.
        self.tree.look(self.driver.child.pidfd.as_fd());
        let exit = self.tree.exit();
        let why = self.ends.or(self.killed_for).unwrap_or(StopReason::LeftBehind);
        // Who comes from now on starts another one, and does not have to wait for the end of this.
        if self.door.is_removed {
            self.door.abandon();
        } else {
            let word = self.last_word(exit);
            self.door.close(word.as_deref());
        }
        self.driver.close();
        self.tree.spare_nobody();
        let mut phase = Phase::Running { until: None };
        let mut killing: Option<Killing> = None;
        let mut event = Event::StopAsked(why);
        loop {
            let now = Instant::now();
            let (next, effect) = phase.step(event, now, self.grace);
            phase = next;
            match effect {
                Some(Effect::Ask) => self.tree.ask(),
                Some(Effect::Kill) => {
                    self.tree.kill();
                    killing.get_or_insert_with(|| Killing::new(now)).has_killed();
                }
                None => {}
            }
            if matches!(self.tree.look(self.driver.child.pidfd.as_fd()), Rest::Nothing(_))
                || killing.as_mut().is_some_and(|killing| killing.gives_up(now))
            {
                break;
            }
            if matches!(phase, Phase::Stopping { .. }) {
                self.tree.ask_orphans();
            }
            let due = [phase.alarm(), killing.as_ref().map(Killing::again_at)].into_iter().flatten().min();
            self.tree.awake.at(due, now);
            let pumps = self.pumps.iter().map(AsFd::as_fd);
            let watched: Vec<BorrowedFd<'_>> = [self.signals.as_fd()].into_iter().chain(pumps).collect();
            news::wait(&watched, due.map(|due| due.saturating_duration_since(Instant::now())));
            let _ = self.signals.arrived();
            self.pumps.retain_mut(|pump| pump.run() != Pumped::Ended);
            event = Event::Tick;
        }
    }

    /// Why the next one finds nothing of what was here.
    fn last_word(&self, exit: Option<Exit>) -> Option<String> {
        let word = match (self.killed_for, self.ends, exit) {
            (Some(StopReason::Mute), ..) => "its shell could no longer run commands".to_owned(),
            (Some(why), ..) => format!("its shell had to be killed: {why}"),
            (None, Some(StopReason::EngineGone), _) => return None,
            (None, Some(StopReason::TimeUp), _) => {
                format!("it was ended because it had nothing to do for {}", span(self.idle_at_most.unwrap_or_default()))
            }
            (None, Some(StopReason::Cancelled), _) if self.makes_room => "it made room for another session".to_owned(),
            (None, Some(StopReason::Cancelled), _) => "it was ended by request".to_owned(),
            (None, Some(why), _) => format!("it was ended: {why}"),
            (None, None, Some(Exit::Code(code))) => format!("its shell ended with exit code {code}"),
            (None, None, Some(Exit::Signal(number))) => match signal::name(number.into()) {
                Some(name) => format!("its shell was killed by signal {number} ({name})"),
                None => format!("its shell was killed by signal {number}"),
            },
            (None, None, None) => "its shell could no longer be told anything".to_owned(),
        };
        Some(word)
    }
}
