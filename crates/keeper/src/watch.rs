//! The keeper's loop: wait for something to happen, ask [`Phase::step`] what that means, do it.
//!
//! One loop, over the engine's orders, the children and the clock, from the start of the shell until *no* descendant is
//! left: also after the shell's own end, because what it leaves behind has to be stopped when the engine is gone.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use bashful_sys::inherited::Inherited;
use bashful_sys::signal::{Signal, SignalReader};
use bashful_sys::{news, wake};
use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::killing::Killing;
use crate::link::Link;
use crate::output::Growing;
use crate::protocol::{Order, Release, Report};
use crate::pump::{Pump, Pumped};
use crate::record::{Began, Record, State};
use crate::session::{self, Driver, Word};
use crate::start::{self, Begun, Started};
use crate::tree::{LOOK_AGAIN, LOOK_AT_LEFTOVERS, Rest, Scope, Tree};
use crate::{Effect, End, Event, Exit, Phase, StopReason};

/// How long the rest of a tree gets to end by itself after the shell did, before it counts as left behind. The reader at
/// the end of `tee >(wc -l)` outlives the shell by a moment; a server lives on.
pub(crate) const SETTLE: Duration = Duration::from_millis(50);

/// How long a keeper stays after its last word, at most, if the engine does not hang up.
const LINGER: Duration = Duration::from_millis(100);

/// So many may speak to the keeper of a job at once. More would use up its descriptors.
const MOST_OTHERS: usize = 256;

/// Turns this process into a keeper and serves until its tree is gone.
pub(crate) fn as_process(socket: OwnedFd) -> io::Result<()> {
    bashful_sys::set_process_name(crate::NAME)?;
    // Whoever wants to unmount the host's directory is not to wait for us.
    std::env::set_current_dir("/")?;
    bashful_sys::become_subreaper()?;
    // From here on, whoever stops this process, it goes on when the engine says something or is gone.
    let _ = wake::on_news(&socket);
    // A file that may not grow any more is an error like any other, and not a reason to leave the tree alone.
    bashful_sys::signal::ignore(Signal::XFSZ);
    let awaited = [Signal::CHILD, Signal::TERM, Signal::INT, Signal::HUP];
    let signals = if bashful_sys::has_threads() {
        // The host has started a runtime before it called the keeper's entry point.
        SignalReader::with_threads(&awaited)?
    } else {
        SignalReader::new(&awaited)?
    };
    run(socket, Scope::EverythingBelow, Some(signals));
    Ok(())
}

/// Serves over this socket until the tree is gone, on the calling thread.
pub fn serve(socket: OwnedFd, scope: Scope) {
    run(socket, scope, None);
}

/// Serves one command after the other, as long as the engine has another one and the last has left nothing.
fn run(socket: OwnedFd, scope: Scope, signals: Option<SignalReader>) {
    let before = Inherited::read().ok();
    let mut link = Link::new(socket);
    let mut signals = signals;
    loop {
        let started = match start::start(&mut link, scope, signals.as_ref()) {
            Some(Begun::Command(started)) => started,
            Some(Begun::Session(setup, order)) => return session::serve(link, setup, order, signals),
            None => return,
        };
        let Some(free) = watch_over(started, scope, link, signals) else { return };
        // The next shell would inherit what a command has changed about its keeper.
        if before.is_none() || before != Inherited::read().ok() {
            return;
        }
        (link, signals) = (free.0, Some(free.1));
    }
}

/// Watches over a command to its end; what the next one needs, if this keeper may have one.
fn watch_over(
    started: Started,
    scope: Scope,
    link: Link,
    signals: Option<SignalReader>,
) -> Option<(Link, SignalReader)> {
    let Started { child, until, awake, began, grace, record, held } = started;
    let pid = child.pid.as_raw_nonzero().get();
    let mut tree = Tree::new(scope, child.pid);
    tree.awake = awake;
    let mut watch = Watch {
        tree,
        shell: child.pidfd,
        pid,
        link,
        others: Vec::new(),
        signals,
        pumps: Vec::new(),
        output: None,
        job: None,
        growing: None,
        phase: Phase::Running { until },
        began,
        grace,
        killing: None,
        released: false,
        shell_end: None,
        left: Vec::new(),
        driver: None,
    };
    if let Some(record) = record {
        watch.become_job(record);
    }
    watch.link.tell(&Report::Started { pid });
    watch.run();
    drop(held);
    let is_free = watch.is_free();
    Some((watch.link, watch.signals?)).filter(|_| is_free)
}

/// A command under watch.
struct Watch {
    tree: Tree,
    shell: OwnedFd,
    pid: i32,
    /// The way to the engine.
    link: Link,
    /// Others who have come to a job's socket.
    others: Vec<Link>,
    signals: Option<SignalReader>,
    /// One for each pipe that was handed over.
    pumps: Vec<Pump>,
    /// The file that the first of them fills.
    output: Option<File>,
    /// Where it is written down, if it is a job.
    job: Option<Record>,
    /// The file that its processes write to themselves, if they do.
    growing: Option<Growing>,
    phase: Phase,
    began: Began,
    grace: Duration,
    killing: Option<Killing>,
    /// The engine has let go: its end is no longer a reason to stop.
    released: bool,
    /// How the shell ended, once that has been dealt with; what is watched since is what it left behind.
    shell_end: Option<End>,
    /// Who was left when that was last written down.
    left: Vec<i32>,
    /// The ways to a shell that came from a session.
    driver: Option<Driver>,
}

/// A command of a session that is a job from now on, and takes the shell with it.
pub(crate) struct FromSession {
    pub(crate) driver: Driver,
    pub(crate) tree: Tree,
    pub(crate) link: Link,
    pub(crate) signals: SignalReader,
    pub(crate) pumps: Vec<Pump>,
    pub(crate) phase: Phase,
    pub(crate) began: Began,
    pub(crate) grace: Duration,
    pub(crate) record: Record,
    pub(crate) pipes: Vec<Release>,
}

/// Watches over it to its end.
pub(crate) fn go_on(mut from: FromSession) -> io::Result<()> {
    // There is nothing more for it to do: it ends after this command, even if it cannot say how that ended.
    from.driver.close();
    let mut watch = Watch {
        tree: from.tree,
        shell: from.driver.child.pidfd.try_clone()?,
        pid: from.driver.pid(),
        link: from.link,
        others: Vec::new(),
        signals: Some(from.signals),
        pumps: from.pumps,
        output: None,
        job: None,
        growing: None,
        phase: from.phase,
        began: from.began,
        grace: from.grace,
        killing: None,
        released: false,
        shell_end: None,
        left: Vec::new(),
        driver: Some(from.driver),
    };
    watch.take_over(from.pipes);
    watch.become_job(from.record);
    watch.link.tell(&Report::Recorded { errno: 0 });
    watch.run();
    Ok(())
}

impl Watch {
    fn run(&mut self) {
        loop {
            for event in self.wait() {
                self.handle(event);
            }
            self.end_of_session();
            let rest = self.tree.look(self.shell.as_fd());
            if matches!((rest, self.phase), (Rest::Shell | Rest::Others(_), Phase::Stopping { .. })) {
                self.tree.ask_orphans();
            }
            match rest {
                Rest::Others(exit) if self.shell_end.is_none() && matches!(self.phase, Phase::Running { .. }) => {
                    if self.settle() {
                        return self.end(Event::TreeGone(exit));
                    }
                    self.shell_has_left_others(exit);
                }
                Rest::Others(_) if self.shell_end.is_some() => self.note_who_is_left(),
                Rest::Shell | Rest::Others(_) => {}
                Rest::Nothing(exit) => return self.end(Event::TreeGone(exit)),
                Rest::Unknown => {
                    let left = self.tree.left();
                    return self.link.tell(&Report::ended(End::Lost, left));
                }
            }
        }
    }

    /// A shell that came from a session ends as its last command did.
    fn end_of_session(&mut self) {
        let Some(driver) = &mut self.driver else { return };
        driver.hear_own();
        if let Some(Word::Done(code)) = driver.word() {
            self.tree.says(Exit::Code(code));
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

    /// Tells what the shell left behind, or stops it. From now on that is what is watched.
    fn shell_has_left_others(&mut self, exit: Exit) {
        let until = self.phase.alarm();
        self.handle(Event::ShellEnded(exit));
        // A request to stop may have come first.
        let Phase::Ended(end) = self.phase else { return };
        self.shell_end = Some(end);
        if self.job.as_ref().is_some_and(|job| job.wants_rest_stopped(exit)) {
            self.phase = Phase::Running { until: None };
            self.handle(Event::StopAsked(StopReason::LeftBehind));
            if exit == Exit::Signal(KILLED) {
                // Who kills the group wants the rest gone as fast.
                self.handle(Event::StopAsked(StopReason::LeftBehind));
            }
            return;
        }
        self.phase =
            Phase::Running { until: until.filter(|_| self.job.as_ref().is_some_and(Record::bounds_leftovers)) };
        let left = self.tree.left();
        for pump in &mut self.pumps {
            pump.run();
        }
        self.note(&State::Left(end, &left));
        self.tell(&Report::ended(end, left));
    }

    fn end(&mut self, event: Event) {
        self.handle(event);
        let Phase::Ended(end) = self.phase else { return };
        if self.job.is_none() {
            self.link.tell(&Report::ended(end, Vec::new()));
        }
        // Everybody who could write is gone: what is in the pipe now is all there will ever be.
        for pump in &mut self.pumps {
            while pump.run() == Pumped::Some {}
        }
        if let Some(growing) = &mut self.growing {
            growing.hold();
        }
        if self.job.is_some() {
            // A job ends as its shell did, whatever became of the rest.
            let end = self.shell_end.unwrap_or(end);
            self.note(&State::Ended(end));
            self.tell(&Report::ended(end, Vec::new()));
            self.job.iter_mut().for_each(Record::close);
            self.others.clear();
        }
        // Ending takes the system a moment, and there is one who waits for word and wants the processor now.
        if !self.link.is_gone() && !self.is_free() {
            let _ = poll(&mut [PollFd::new(&self.link, PollFlags::IN)], Some(&timespec(LINGER)));
        }
    }

    /// True if the command is over, nothing is left of it, and nobody has asked for its end: then there may be another.
    fn is_free(&self) -> bool {
        matches!(self.phase, Phase::Ended(End::Own(_)))
            && !self.released
            && self.shell_end.is_none()
            && self.signals.is_some()
            && !self.link.is_gone()
    }

    /// Reads these pipes from now on.
    fn take_over(&mut self, pipes: Vec<Release>) {
        for pump in pipes.into_iter().filter_map(Pump::new) {
            self.output = self.output.take().or_else(|| pump.file()?.try_clone().ok());
            self.pumps.push(pump);
        }
    }

    /// Makes it a job: it no longer depends on the engine, and is written down.
    fn become_job(&mut self, mut record: Record) {
        self.released = true;
        record.started(self.pid);
        self.growing = record.output().map(|output| Growing::new(output, Instant::now()));
        self.job = Some(record);
        match self.shell_end {
            None => self.note(&State::Running),
            Some(end) => {
                let left = self.tree.left();
                self.note(&State::Left(end, &left));
            }
        }
    }

    /// Writes down anew who is left of a job whose shell has ended, when one of them has gone: a number that is written
    /// down may be a stranger's soon.
    fn note_who_is_left(&mut self) {
        let (Some(end), Phase::Running { .. }, Some(_)) = (self.shell_end, self.phase, &self.job) else { return };
        let left = self.tree.left();
        if !left.iter().map(|left| left.pid).eq(self.left.iter().copied()) {
            self.left = left.iter().map(|left| left.pid).collect();
            self.note(&State::Left(end, &left));
        }
    }

    /// Writes down how far the job has come. Where that cannot be done, whoever looks will find that it is lost.
    fn note(&mut self, state: &State<'_>) {
        if let Some(job) = &mut self.job {
            let _ = job.note(state, self.output.as_ref());
        }
    }

    /// Tells everybody who is connected.
    fn tell(&mut self, report: &Report) {
        for link in std::iter::once(&mut self.link).chain(&mut self.others) {
            link.tell(report);
        }
    }

    fn handle(&mut self, event: Event) {
        let now = Instant::now();
        let (next, effect) = self.phase.step(event, now, self.grace);
        self.phase = next;
        match effect {
            Some(Effect::Ask) => {
                // A shell that stays does not heed the request, and would go on with what comes next.
                self.driver.iter().for_each(Driver::interrupt);
                self.tree.ask();
            }
            Some(Effect::Kill) => {
                self.tree.kill();
                self.killing.get_or_insert_with(|| Killing::new(now)).has_killed();
            }
            None => {}
        }
        self.admit_stuck(now);
    }

    /// Says so when something cannot be killed. The keeper goes on trying, but nobody has to wait for it.
    fn admit_stuck(&mut self, now: Instant) {
        if !self.killing.as_mut().is_some_and(|killing| killing.gives_up(now)) {
            return;
        }
        let (Phase::Ended(end), _) = self.phase.step(Event::Stuck, now, self.grace) else { return };
        debug_assert_eq!(end, End::Lost, "nothing else comes of being stuck");
        let left = self.tree.left();
        self.note(&State::Left(end, &left));
        self.tell(&Report::ended(end, left));
        // Not `Ended`: killing goes on.
        self.released = true;
    }

    /// Waits until something happens, and tells what.
    fn wait(&mut self) -> Vec<Event> {
        let now = Instant::now();
        let alarm = [self.phase.alarm(), self.killing.as_ref().map(Killing::again_at), self.look_again(now)];
        let alarm = alarm.into_iter().flatten().min();
        self.tree.awake.at(alarm, now);
        let wake_up = alarm.into_iter().chain(self.growing.as_ref().and_then(Growing::alarm)).min();
        // The handle of a shell that has ended would always have news. With signals it is watched all the same: in a host
        // that has started threads before it became a keeper, a signal may go to one of those.
        let watch_shell = !self.tree.shell_has_ended();

        let link = (!self.link.is_gone()).then_some(self.link.as_fd());
        let signals = self.signals.as_ref().map(AsFd::as_fd);
        let shell = watch_shell.then_some(self.shell.as_fd());
        let control = self.job.as_ref().and_then(Record::control);
        let growing = self.growing.as_ref().and_then(Growing::word);
        let driver = self.driver.as_ref().map(AsFd::as_fd);
        let own = self.driver.as_ref().map(Driver::own);
        let others = self.others.iter().map(AsFd::as_fd);
        let pumps = self.pumps.iter().map(AsFd::as_fd);
        let watched: Vec<BorrowedFd<'_>> = [link, signals, shell, control, growing, driver, own]
            .into_iter()
            .flatten()
            .chain(others)
            .chain(pumps)
            .collect();
        let has_news = news::wait(&watched, wake_up.map(|wake_up| wake_up.saturating_duration_since(now)));
        let link_ready = link.is_some() && has_news[0];

        let mut events = self.signal_events();
        if link_ready {
            events.extend(self.orders());
        }
        events.extend(self.orders_of_others());
        // Cheap where there is nothing to carry: then reading says so.
        self.pumps.retain_mut(|pump| pump.run() != Pumped::Ended);
        let now = Instant::now();
        self.growing.iter_mut().for_each(|growing| growing.look(now));
        if alarm.is_some_and(|alarm| alarm <= now) {
            events.push(Event::Tick);
        }
        events
    }

    /// A thread of a host has to look for itself: nobody tells it of the end of what is not its child.
    fn look_again(&self, now: Instant) -> Option<Instant> {
        let pause = match self.phase {
            Phase::Stopping { .. } | Phase::Killed { .. } => LOOK_AGAIN,
            Phase::Running { .. } if self.shell_end.is_some() => LOOK_AT_LEFTOVERS,
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

    /// What those want who have come to the job's socket. They may ask for its end, and come and go as they like.
    fn orders_of_others(&mut self) -> Vec<Event> {
        while let Some(socket) = self.job.as_ref().and_then(Record::accept) {
            if self.others.len() == MOST_OTHERS {
                // The one that has waited longest: it will come again, and who wants to stop the job gets through.
                self.others.remove(0);
            }
            self.others.push(Link::new(socket));
        }
        let mut orders = Vec::new();
        for other in &mut self.others {
            other.fill();
            while let Some(order) = other.take() {
                orders.push(order);
                other.tell(&Report::Heard);
            }
        }
        self.others.retain(|other| !other.is_gone());
        let mut events = Vec::new();
        for order in orders {
            match order {
                Order::Stop(why) => events.push(Event::StopAsked(why)),
                Order::Signal(number) => self.tree.signal(number),
                Order::CloseInput => self.job.iter_mut().for_each(Record::close_input),
                _ => {}
            }
        }
        events
    }

    fn orders(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        self.link.fill();
        while let Some(order) = self.link.take() {
            match order {
                Order::Stop(why) => events.push(Event::StopAsked(why)),
                Order::Release(pipes) => {
                    self.released = true;
                    self.take_over(pipes);
                }
                Order::Record(mut order) => {
                    let pipes = std::mem::take(&mut order.pipes);
                    let errno = match Record::open(order, self.began) {
                        Ok(record) => {
                            self.take_over(pipes);
                            self.become_job(record);
                            0
                        }
                        Err(error) => error.raw_os_error().unwrap_or(-1),
                    };
                    self.link.tell(&Report::Recorded { errno });
                }
                Order::Signal(number) => self.tree.signal(number),
                _ => {}
            }
        }
        if self.link.is_gone() && !self.released {
            events.push(Event::StopAsked(StopReason::EngineGone));
        }
        events
    }
}

/// `SIGKILL`.
const KILLED: u8 = 9;

fn timespec(duration: Duration) -> Timespec {
    Timespec::try_from(duration).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
}
