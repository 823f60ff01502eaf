//! The loop of one command: wait for something to happen, and pass it on to the [`StopMachine`].
//!
//! One loop, over the engine's orders, the children and the clock, from the start of the shell until *no* descendant is
//! left: also after the shell's own end, because what it leaves behind has to be stopped when the engine is gone.

mod events;

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use bashful_sys::signal::SignalReader;
use bashful_sys::wait;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Pid;

use crate::link::EngineLink;
use crate::output::Growing;
use crate::protocol::{Release, Report};
use crate::pump::{Pump, Pumped};
use crate::record::{Began, Record, State};
use crate::session::{Driver, Word};
use crate::start::Started;
use crate::stopping::StopMachine;
use crate::terminal::{HostTerminal, TerminalEnds};
use crate::tree::{LOOK_AGAIN, Rest, Scope, Tree};
use crate::{End, Event, Exit, Phase, StopReason};

/// Time that the rest of a tree gets to end by itself after the shell, before it counts as left behind. The reader at
/// the end of `tee >(wc -l)` outlives the shell by a moment; a server lives on.
pub(crate) const SETTLE: Duration = Duration::from_millis(50);

/// Longest time that a keeper stays after its last report if the engine does not hang up.
const LINGER: Duration = Duration::from_millis(100);

/// Watches over a command to its end. Returns the means for another command, if this keeper may have one.
pub(crate) fn watch_over(
    started: Started,
    scope: Scope,
    link: EngineLink,
    signals: Option<SignalReader>,
) -> Option<(EngineLink, SignalReader)> {
    let Started { child, until, awake, began, grace, record, held, terminals } = started;
    let pid = child.pid.as_raw_nonzero().get();
    let mut tree = Tree::new(scope, child.pid);
    tree.awake = awake;
    tree.hangs_up = terminals.own.is_some();
    let mut watch = Watch {
        tree,
        shell: child.pidfd,
        pid,
        link,
        clients: Vec::new(),
        signals,
        pumps: Vec::new(),
        output: None,
        job: None,
        growing: None,
        stopping: StopMachine::new(until, grace),
        began,
        released: false,
        shell_end: None,
        left: Vec::new(),
        driver: None,
        terminal: terminals.own,
        host_terminal: terminals.host,
        is_suspended: false,
    };
    watch.take_over(terminals.pipes);
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
    link: EngineLink,
    /// Clients of a job's socket.
    clients: Vec<EngineLink>,
    signals: Option<SignalReader>,
    /// One for each pipe that was handed over.
    pumps: Vec<Pump>,
    /// The file that the first of them fills.
    output: Option<File>,
    /// The record on disk, if it is a job.
    job: Option<Record>,
    /// The file that its processes write to themselves, if they do.
    growing: Option<Growing>,
    stopping: StopMachine,
    began: Began,
    /// The engine has let go: its end is no longer a reason to stop.
    released: bool,
    /// End of the shell, once that has been dealt with. Since then its leftovers are watched.
    shell_end: Option<End>,
    /// Process ids in the record of those that the shell left behind.
    left: Vec<i32>,
    /// The ways to a shell that came from a session.
    driver: Option<Driver>,
    /// The terminal of the command, if it has one.
    terminal: Option<TerminalEnds>,
    /// The terminal of the person who started it. The end of the engine puts it back.
    host_terminal: Option<HostTerminal>,
    /// A signal has stopped the shell, and the engine has been told.
    is_suspended: bool,
}

/// A command of a session that is a job from now on, and takes the shell with it.
pub(crate) struct FromSession {
    pub(crate) driver: Driver,
    pub(crate) tree: Tree,
    pub(crate) link: EngineLink,
    pub(crate) signals: SignalReader,
    pub(crate) pumps: Vec<Pump>,
    pub(crate) stopping: StopMachine,
    pub(crate) began: Began,
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
        clients: Vec::new(),
        signals: Some(from.signals),
        pumps: from.pumps,
        output: None,
        job: None,
        growing: None,
        stopping: from.stopping,
        began: from.began,
        released: false,
        shell_end: None,
        left: Vec::new(),
        driver: Some(from.driver),
        terminal: None,
        host_terminal: None,
        is_suspended: false,
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
            self.report_suspension();
            match self.stopping.reap(&mut self.tree, self.shell.as_fd()) {
                Rest::Others(exit) if self.shell_end.is_none() && !self.stopping.is_stopping() => {
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
        driver.read_shell_output();
        if let Some(Word::Done(code)) = driver.word() {
            self.tree.says(Exit::Code(code));
        }
    }

    /// Tells the engine once when a signal has stopped the shell of a command with a terminal.
    fn report_suspension(&mut self) {
        if self.terminal.is_none() || self.tree.shell_has_ended() || self.stopping.is_stopping() {
            return;
        }
        let Some(shell) = Pid::from_raw(self.pid) else { return };
        let is_stopped = wait::is_stopped(shell, self.shell.as_fd());
        if is_stopped && !self.is_suspended {
            self.link.tell(&Report::Suspended);
        }
        self.is_suspended = is_stopped;
    }

    /// Changes the size of the terminal. The record of a job tells from which byte of the output on it holds.
    fn resize(&mut self, columns: u16, rows: u16) {
        let Some(terminal) = &self.terminal else { return };
        if terminal.resize(columns, rows).is_ok() {
            let written = self.output.as_ref().and_then(|file| file.metadata().ok()).map_or(0, |facts| facts.len());
            self.note_size(written, columns, rows);
        }
    }

    fn note_size(&self, offset: u64, columns: u16, rows: u16) {
        if let Some(job) = &self.job {
            // Without it the screen is drawn in a wrong size until the program draws it anew.
            let _ = job.note_size(offset, columns, rows);
        }
    }

    /// Lets the rest of the tree end by itself for a moment. True if it did.
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
            if self.stopping.is_stopping() {
                return false;
            }
        }
    }

    /// Tells what the shell left behind, or stops it. From now on that is what is watched.
    fn shell_has_left_others(&mut self, exit: Exit) {
        let until = self.stopping.alarm();
        self.handle(Event::ShellEnded(exit));
        // A request to stop may have come first.
        let Phase::Ended(end) = self.stopping.phase() else { return };
        self.shell_end = Some(end);
        if self.job.as_ref().is_some_and(|job| job.wants_rest_stopped(exit)) {
            self.stopping.watch_leftovers(None);
            self.handle(Event::StopAsked(StopReason::LeftBehind));
            if exit == Exit::Signal(KILLED) {
                // Who kills the group wants the rest gone as fast.
                self.handle(Event::StopAsked(StopReason::LeftBehind));
            }
            return;
        }
        let is_bounded = self.job.as_ref().is_some_and(Record::bounds_leftovers);
        self.stopping.watch_leftovers(until.filter(|_| is_bounded));
        let left = self.tree.left();
        for pump in &mut self.pumps {
            pump.run();
        }
        self.note(&State::Left(end, &left));
        self.tell(&Report::ended(end, left));
    }

    fn end(&mut self, event: Event) {
        self.handle(event);
        let Phase::Ended(end) = self.stopping.phase() else { return };
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
            self.clients.clear();
        }
        // Until the engine has put the person's terminal back, or is gone and cannot.
        while self.host_terminal.as_ref().is_some_and(HostTerminal::is_guarded) && !self.link.is_gone() {
            let _ = poll(&mut [PollFd::new(&self.link, PollFlags::IN)], None);
            self.follow_engine();
        }
        // Ending takes the system a moment, and there is one who waits for word and wants the processor now.
        if !self.link.is_gone() && !self.is_free() {
            let _ = poll(&mut [PollFd::new(&self.link, PollFlags::IN)], Some(&timespec(LINGER)));
        }
    }

    /// True if the command is over, nothing is left of it, and nobody has asked for its end: then there may be another.
    fn is_free(&self) -> bool {
        matches!(self.stopping.phase(), Phase::Ended(End::Own(_)))
            && !self.released
            && self.shell_end.is_none()
            && self.signals.is_some()
            // Another command would inherit the terminal.
            && self.terminal.is_none()
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
        // The person who started it has their terminal back.
        self.host_terminal.iter_mut().for_each(HostTerminal::leave_alone);
        record.started(self.pid);
        if self.terminal.is_none() {
            self.growing = record.output().map(|output| Growing::new(output, Instant::now()));
        }
        record.has_terminal = self.terminal.is_some();
        self.job = Some(record);
        if let Some((columns, rows)) = self.terminal.as_ref().and_then(TerminalEnds::size) {
            self.note_size(0, columns, rows);
        }
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
        let (Some(end), Phase::Running { .. }, Some(_)) = (self.shell_end, self.stopping.phase(), &self.job) else {
            return;
        };
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
        for link in std::iter::once(&mut self.link).chain(&mut self.clients) {
            link.tell(report);
        }
    }

    fn handle(&mut self, event: Event) {
        self.stopping.handle(event, &mut self.tree, self.driver.as_ref());
        if self.stopping.gives_up(Instant::now()) {
            self.admit_stuck();
        }
    }

    /// Reports that something cannot be killed. The keeper goes on trying, but nobody has to wait for it.
    fn admit_stuck(&mut self) {
        let left = self.tree.left();
        self.note(&State::Left(End::Lost, &left));
        self.tell(&Report::ended(End::Lost, left));
        self.released = true;
    }
}

/// `SIGKILL`.
const KILLED: u8 = 9;

fn timespec(duration: Duration) -> Timespec {
    Timespec::try_from(duration).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
}
