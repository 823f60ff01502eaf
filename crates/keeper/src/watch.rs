//! The keeper's loop: wait for something to happen, ask [`Phase::step`] what that means, do it.
//!
//! One loop, over the engine's orders, the children and the clock, from the start of the shell until *no* descendant is
//! left: also after the shell's own end, because what it leaves behind has to be stopped when the engine is gone.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use bashful_sys::signal::{Signal, SignalReader};
use bashful_sys::spawn::{Child, Tether};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::link::Link;
use crate::pump::{Pump, Pumped};
use crate::shell::{self, NotStarted, Waiting};
use crate::tree::{LOOK_AGAIN, LOOK_AT_LEFTOVERS, Rest, Scope, Tree};
use crate::wire::{Begin, FailedStep, Order, Report, Script, Setup, When};
use crate::{Effect, End, Event, Phase, StopReason};

/// How long the rest of a tree gets to end by itself after the shell did, before it counts as left behind. The reader at
/// the end of `tee >(wc -l)` outlives the shell by a moment; a server lives on.
const SETTLE: Duration = Duration::from_millis(50);

/// What is not dead so long after it was killed is stuck in the kernel, or out of our reach.
const STUCK_AFTER: Duration = Duration::from_secs(5);

/// How long a keeper stays after its last word, at most, if the engine does not hang up.
const LINGER: Duration = Duration::from_millis(100);

/// Killing is repeated after this long, then after twice as long, up to [`KILL_AGAIN_AT_MOST`].
const KILL_AGAIN: Duration = Duration::from_millis(2);
const KILL_AGAIN_AT_MOST: Duration = Duration::from_millis(500);

/// Turns this process into a keeper and serves until its tree is gone.
pub(crate) fn as_process(socket: OwnedFd) -> io::Result<()> {
    bashful_sys::set_process_name(crate::NAME)?;
    // Whoever wants to unmount the host's directory is not to wait for us.
    std::env::set_current_dir("/")?;
    bashful_sys::become_subreaper()?;
    // A file that may not grow any more is an error like any other, and not a reason to leave the tree alone.
    bashful_sys::signal::ignore(Signal::XFSZ);
    let signals = SignalReader::new(&[Signal::CHILD, Signal::TERM, Signal::INT, Signal::HUP])?;
    run(socket, Scope::EverythingBelow, Some(signals));
    Ok(())
}

/// Serves over this socket until the tree is gone, on the calling thread.
pub fn serve(socket: OwnedFd, scope: Scope) {
    run(socket, scope, None);
}

fn run(socket: OwnedFd, scope: Scope, signals: Option<SignalReader>) {
    let mut link = Link::new(socket);
    let tether = match scope {
        Scope::EverythingBelow => Tether::DiesWithParent,
        // The thread may end before the command does.
        Scope::BelowShell => Tether::Loose,
    };
    let Some(Order::Setup(setup)) = link.wait() else { return };
    let grace = setup.grace;
    let started = match setup.when {
        When::Asked => start_when_asked(&mut link, setup, tether),
        When::Ahead => start_ahead(&mut link, setup, tether, signals.as_ref(), scope),
    };
    let Some(started) = started else { return };
    let Started { child, until, _held: held } = started;
    link.tell(&Report::Started { pid: child.pid.as_raw_nonzero().get() });
    let mut watch = Watch {
        tree: Tree::new(scope, child.pid),
        shell: child.pidfd,
        link,
        signals,
        pumps: Vec::new(),
        phase: Phase::Running { until },
        grace,
        killing: None,
        released: false,
        shell_reported: false,
    };
    watch.run();
    drop(held);
}

/// A shell under way.
struct Started {
    child: Child,
    until: Option<Instant>,
    /// Something that the shell still has to read from.
    _held: Option<OwnedFd>,
}

fn start_when_asked(link: &mut Link, setup: Setup, tether: Tether) -> Option<Started> {
    let Some(Order::Begin(Begin { script, lifetime })) = link.wait() else { return None };
    let started = shell::start(&setup, script, tether);
    // Only the tree itself is to hold the writing end of its output.
    drop(setup);
    match started {
        Ok((child, held)) => Some(Started { child, until: after(lifetime), _held: held }),
        Err(error) => refuse(link, &error),
    }
}

fn start_ahead(
    link: &mut Link,
    setup: Setup,
    tether: Tether,
    signals: Option<&SignalReader>,
    scope: Scope,
) -> Option<Started> {
    let waiting = match Waiting::start(&setup, tether) {
        Ok(waiting) => waiting,
        Err(error) => return refuse(link, &error),
    };
    drop(setup);
    let begin = await_begin(link, &waiting, signals);
    let Some(Begin { script: Script::Text(text), lifetime }) = begin else {
        end_unused(&waiting.child, scope);
        // In case the engine is about to hand over a script: nothing of it was done.
        return refuse(link, &NotStarted { step: FailedStep::Handover, errno: 0 });
    };
    match waiting.begin(&text) {
        Ok((child, gate)) => Some(Started { child, until: after(lifetime), _held: Some(gate) }),
        Err((child, error)) => {
            end_unused(&child, scope);
            refuse(link, &error)
        }
    }
}

/// Waits until it is known what the waiting shell is to do; none if the engine or the shell is gone.
fn await_begin(link: &mut Link, waiting: &Waiting, signals: Option<&SignalReader>) -> Option<Begin> {
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
        let asked_to_end = signaled
            && signals.is_some_and(|signals| {
                signals.arrived().is_ok_and(|numbers| numbers.iter().any(|number| *number != Signal::CHILD.as_raw()))
            });
        if shell_ended || asked_to_end {
            return None;
        }
        if order {
            link.fill();
        }
    }
}

/// Ends a shell that was never told what to do. It has no children yet.
fn end_unused(child: &Child, scope: Scope) {
    let _ = bashful_sys::pidfd::send(child.pidfd.as_fd(), Signal::KILL);
    let mut tree = Tree::new(scope, child.pid);
    while tree.look(child.pidfd.as_fd()) == Rest::Shell {
        let _ = poll(&mut [PollFd::new(&child.pidfd, PollFlags::IN)], None);
    }
}

fn refuse(link: &mut Link, error: &NotStarted) -> Option<Started> {
    link.tell(&Report::NotStarted { step: error.step, errno: error.errno });
    None
}

fn after(lifetime: Option<Duration>) -> Option<Instant> {
    // A lifetime beyond what the clock can say has no end.
    lifetime.and_then(|lifetime| Instant::now().checked_add(lifetime))
}

/// A command under watch.
struct Watch {
    tree: Tree,
    shell: OwnedFd,
    link: Link,
    signals: Option<SignalReader>,
    /// One for each pipe that was handed over.
    pumps: Vec<Pump>,
    phase: Phase,
    grace: Duration,
    killing: Option<Killing>,
    /// The engine has let go: its end is no longer a reason to stop.
    released: bool,
    /// The shell's own end has been reported; what is watched now is what it left behind.
    shell_reported: bool,
}

/// When killing began, and when to do it again.
struct Killing {
    since: Instant,
    again_at: Instant,
    pause: Duration,
    given_up: bool,
}

impl Watch {
    fn run(&mut self) {
        loop {
            for event in self.wait() {
                self.handle(event);
            }
            match self.tree.look(self.shell.as_fd()) {
                Rest::Others(exit) if !self.shell_reported && matches!(self.phase, Phase::Running { .. }) => {
                    if self.settle() {
                        return self.end(Event::TreeGone(exit));
                    }
                    self.handle(Event::ShellEnded(exit));
                    self.report_leftovers();
                }
                Rest::Shell | Rest::Others(_) => {}
                Rest::Nothing(exit) => return self.end(Event::TreeGone(exit)),
                Rest::Unknown => {
                    let left = self.tree.left();
                    return self.link.tell(&Report::Ended { end: End::Lost, left });
                }
            }
        }
    }

    /// Lets the rest of the tree end by itself for a moment; whether it did.
    fn settle(&mut self) -> bool {
        let until = Instant::now() + SETTLE;
        loop {
            if matches!(self.tree.look(self.shell.as_fd()), Rest::Nothing(_)) {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let pause = if self.signals.is_some() { left } else { left.min(LOOK_AGAIN) };
            let mut fds: Vec<PollFd<'_>> = self.signals.iter().map(|fd| PollFd::new(fd, PollFlags::IN)).collect();
            let _ = poll(&mut fds, Some(&timespec(pause)));
            // Only the end of children is of interest here, but a request to stop must not be swallowed.
            for event in self.signal_events() {
                self.handle(event);
            }
            if !matches!(self.phase, Phase::Running { .. }) {
                return false;
            }
        }
    }

    /// Tells what the shell left behind. From now on that is what is watched, with no end to its lifetime.
    fn report_leftovers(&mut self) {
        let Phase::Ended(end) = self.phase else { return };
        self.shell_reported = true;
        self.link.tell(&Report::Ended { end, left: self.tree.left() });
        self.phase = Phase::Running { until: None };
    }

    fn end(&mut self, event: Event) {
        self.handle(event);
        let Phase::Ended(end) = self.phase else { return };
        self.link.tell(&Report::Ended { end, left: Vec::new() });
        // Everybody who could write is gone: what is in the pipe now is all there will ever be.
        for pump in &mut self.pumps {
            while pump.run() == Pumped::Some {}
        }
        // Ending takes the system a moment, and there is one who waits for word and wants the processor now.
        if !self.link.is_gone() {
            let _ = poll(&mut [PollFd::new(&self.link, PollFlags::IN)], Some(&timespec(LINGER)));
        }
    }

    fn handle(&mut self, event: Event) {
        let now = Instant::now();
        let (next, effect) = self.phase.step(event, now, self.grace);
        self.phase = next;
        match effect {
            Some(Effect::Ask) => self.tree.ask(),
            Some(Effect::Kill) => {
                self.tree.kill();
                let killing = self.killing.get_or_insert(Killing {
                    since: now,
                    again_at: now,
                    pause: KILL_AGAIN,
                    given_up: false,
                });
                killing.again_at = Instant::now() + killing.pause;
                killing.pause = (killing.pause * 2).min(KILL_AGAIN_AT_MOST);
            }
            None => {}
        }
        self.admit_stuck(now);
    }

    /// Says so when something cannot be killed. The keeper goes on trying, but nobody has to wait for it.
    fn admit_stuck(&mut self, now: Instant) {
        let Some(killing) = &mut self.killing else { return };
        if killing.given_up || now.duration_since(killing.since) < STUCK_AFTER {
            return;
        }
        killing.given_up = true;
        let (Phase::Ended(end), _) = self.phase.step(Event::Stuck, now, self.grace) else { return };
        debug_assert_eq!(end, End::Lost, "nothing else comes of being stuck");
        self.link.tell(&Report::Ended { end, left: self.tree.left() });
        // Not `Ended`: killing goes on.
        self.released = true;
    }

    /// Waits until something happens, and tells what.
    fn wait(&mut self) -> Vec<Event> {
        let now = Instant::now();
        let alarm = [self.phase.alarm(), self.killing.as_ref().map(|killing| killing.again_at), self.look_again(now)];
        let alarm = alarm.into_iter().flatten().min();
        // The handle of a shell that has ended would always have news.
        let watch_shell = self.signals.is_none() && !self.tree.shell_has_ended();

        let link = (!self.link.is_gone()).then_some(self.link.as_fd());
        let signals = self.signals.as_ref().map(AsFd::as_fd);
        let shell = watch_shell.then_some(self.shell.as_fd());
        let pumps = self.pumps.iter().map(AsFd::as_fd);
        let watched: Vec<BorrowedFd<'_>> = [link, signals, shell].into_iter().flatten().chain(pumps).collect();
        let mut fds: Vec<PollFd<'_>> = watched.iter().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
        let timeout = alarm.map(|alarm| timespec(alarm.saturating_duration_since(now)));
        // An interrupted wait is one in which nothing happened.
        let _ = poll(&mut fds, timeout.as_ref());
        let link_ready = link.is_some() && !fds[0].revents().is_empty();

        let mut events = self.signal_events();
        if link_ready {
            events.extend(self.orders());
        }
        // Cheap where there is nothing to carry: then reading says so.
        self.pumps.retain_mut(|pump| pump.run() != Pumped::Ended);
        if alarm.is_some_and(|alarm| alarm <= Instant::now()) {
            events.push(Event::Tick);
        }
        events
    }

    /// A thread of a host has to look for itself: nobody tells it of the end of what is not its child.
    fn look_again(&self, now: Instant) -> Option<Instant> {
        let pause = match self.phase {
            Phase::Stopping { .. } | Phase::Killed { .. } => LOOK_AGAIN,
            Phase::Running { .. } if self.shell_reported => LOOK_AT_LEFTOVERS,
            Phase::Running { .. } | Phase::Ended(_) => return None,
        };
        self.signals.is_none().then(|| now + pause)
    }

    fn signal_events(&self) -> Vec<Event> {
        let arrived = self.signals.as_ref().and_then(|signals| signals.arrived().ok()).unwrap_or_default();
        // Several at once are one request: who ends a session sends more than one.
        let asked = arrived.iter().any(|number| *number != Signal::CHILD.as_raw());
        asked.then_some(Event::StopAsked(StopReason::KeeperSignaled)).into_iter().collect()
    }

    fn orders(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        self.link.fill();
        while let Some(order) = self.link.take() {
            match order {
                Order::Stop(why) => events.push(Event::StopAsked(why)),
                Order::Release(release) => {
                    self.released = true;
                    self.pumps.extend(Pump::new(release));
                }
                Order::Setup(_) | Order::Begin(_) => {}
            }
        }
        if self.link.is_gone() && !self.released {
            events.push(Event::StopAsked(StopReason::EngineGone));
        }
        events
    }
}

fn timespec(duration: Duration) -> Timespec {
    Timespec::try_from(duration).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
}
