//! The loop of one command: wait for something to happen, and pass it on to the [`StopMachine`].
//!
//! One loop over the engine's orders, the children and the clock. It runs from the start of the shell until *no*
//! descendant is left. It continues after the end of the shell, because leftover processes have to be stopped when the
//! engine is gone.

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
use crate::output::GrowingOutput;
use crate::protocol::{PipeHandover, Report};
use crate::pump::{Pump, Pumped};
use crate::record::{Record, StartTime, State};
use crate::session::{Driver, ShellMessage};
use crate::start::StartedCommand;
use crate::stopping::StopMachine;
use crate::terminal::{HostTerminal, TerminalEnds};
use crate::tree::{Tree, TreeState};
use crate::{End, Event, Exit, Phase, StopReason};

/// Time in which the rest of a tree may end by itself after the shell, before it counts as left behind. The reader at
/// the end of `tee >(wc -l)` outlives the shell by a moment; a server lives on.
pub(crate) const SETTLE: Duration = Duration::from_millis(50);

/// Longest time that a keeper stays after its last report if the engine keeps the connection open.
const LINGER: Duration = Duration::from_millis(100);

/// Supervises a command to its end. Returns the connection and the signals if this keeper may run another command.
pub(crate) fn watch_over(
    started: StartedCommand,
    link: EngineLink,
    signals: SignalReader,
) -> Option<(EngineLink, SignalReader)> {
    let StartedCommand { child, until, alarms, began, grace, record, open_for_shell, terminals } = started;
    let pid = child.pid.as_raw_nonzero().get();
    let mut tree = Tree::new(child.pid);
    tree.alarms = alarms;
    tree.hangs_up = terminals.own.is_some();
    let mut watch = CommandWatch {
        tree,
        shell: child.pidfd,
        pid,
        link,
        clients: Vec::new(),
        signals,
        pumps: Vec::new(),
        output: None,
        record: None,
        growing: None,
        stopping: StopMachine::new(until, grace),
        began,
        released: false,
        shell_end: None,
        recorded_leftovers: Vec::new(),
        driver: None,
        terminal: terminals.own,
        host_terminal: terminals.host,
        is_suspended: false,
    };
    watch.add_pumps(terminals.pipes);
    if let Some(record) = record {
        watch.become_job(record);
    }
    watch.link.send(&Report::Started { pid });
    watch.run();
    drop(open_for_shell);
    let can_be_reused = watch.can_be_reused();
    can_be_reused.then_some((watch.link, watch.signals))
}

/// A command that the keeper supervises.
struct CommandWatch {
    tree: Tree,
    shell: OwnedFd,
    pid: i32,
    /// Connection to the engine.
    link: EngineLink,
    /// Clients of a job's socket.
    clients: Vec<EngineLink>,
    signals: SignalReader,
    /// One for each pipe that the engine handed over.
    pumps: Vec<Pump>,
    /// The file that the first pump fills.
    output: Option<File>,
    /// The record on disk; none unless the command is a job.
    record: Option<Record>,
    /// The output file of a background job, whose processes write to it themselves.
    growing: Option<GrowingOutput>,
    stopping: StopMachine,
    began: StartTime,
    /// True if the end of the engine is no longer a reason to stop.
    released: bool,
    /// End of the shell, once it was reported. Since then the keeper supervises the leftover processes.
    shell_end: Option<End>,
    /// Process ids of the leftover processes, as the record has them.
    recorded_leftovers: Vec<i32>,
    /// The driver of a shell that came from a session.
    driver: Option<Driver>,
    /// The terminal of the command, if it has one.
    terminal: Option<TerminalEnds>,
    /// The terminal of the person who started it. The end of the engine puts it back.
    host_terminal: Option<HostTerminal>,
    /// A signal has stopped the shell, and the engine has been told.
    is_suspended: bool,
}

/// A command of a session that becomes a job and takes the session's shell along.
pub(crate) struct SessionJob {
    pub(crate) driver: Driver,
    pub(crate) tree: Tree,
    pub(crate) link: EngineLink,
    pub(crate) signals: SignalReader,
    pub(crate) pumps: Vec<Pump>,
    pub(crate) stopping: StopMachine,
    pub(crate) began: StartTime,
    pub(crate) record: Record,
    pub(crate) pipes: Vec<PipeHandover>,
}

/// Supervises such a job to its end.
pub(crate) fn continue_as_job(mut from: SessionJob) -> io::Result<()> {
    // The shell gets no more lines, so it ends after this command even if it cannot report the exit status.
    from.driver.close();
    let mut watch = CommandWatch {
        tree: from.tree,
        shell: from.driver.child.pidfd.try_clone()?,
        pid: from.driver.pid(),
        link: from.link,
        clients: Vec::new(),
        signals: from.signals,
        pumps: from.pumps,
        output: None,
        record: None,
        growing: None,
        stopping: from.stopping,
        began: from.began,
        released: false,
        shell_end: None,
        recorded_leftovers: Vec::new(),
        driver: Some(from.driver),
        terminal: None,
        host_terminal: None,
        is_suspended: false,
    };
    watch.add_pumps(from.pipes);
    watch.become_job(from.record);
    watch.link.send(&Report::Recorded { errno: 0 });
    watch.run();
    Ok(())
}

impl CommandWatch {
    fn run(&mut self) {
        loop {
            for event in self.wait() {
                self.handle(event);
            }
            self.read_session_exit();
            self.report_suspension();
            match self.stopping.reap(&mut self.tree) {
                TreeState::OthersLeft(exit) if self.shell_end.is_none() && !self.stopping.is_stopping() => {
                    if self.settle() {
                        return self.finish(Event::TreeGone(exit));
                    }
                    self.handle_leftovers(exit);
                }
                TreeState::OthersLeft(_) if self.shell_end.is_some() => self.update_leftovers(),
                TreeState::ShellRuns | TreeState::OthersLeft(_) => {}
                TreeState::Gone(exit) => return self.finish(Event::TreeGone(exit)),
            }
        }
    }

    /// Uses the exit status that a session's shell reports for its last command as that of the shell.
    fn read_session_exit(&mut self) {
        let Some(driver) = &mut self.driver else { return };
        driver.read_shell_output();
        if let Some(ShellMessage::Done(code)) = driver.next_message() {
            self.tree.set_reported_exit(Exit::Code(code));
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
            self.link.send(&Report::Suspended);
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
        if let Some(job) = &self.record {
            // Without it the screen is drawn in a wrong size until the program draws it anew.
            let _ = job.note_size(offset, columns, rows);
        }
    }

    /// Gives the rest of the tree [`SETTLE`] to end by itself. True if it did.
    fn settle(&mut self) -> bool {
        let until = Instant::now() + SETTLE;
        loop {
            if matches!(self.tree.reap(), TreeState::Gone(_)) {
                return true;
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            let _ = poll(&mut [PollFd::new(&self.signals, PollFlags::IN)], Some(&timespec(left)));
            // Only the end of children matters here, but a request to stop must not be lost.
            for event in self.signal_events() {
                self.handle(event);
            }
            if self.stopping.is_stopping() {
                return false;
            }
        }
    }

    /// Reports the processes that the shell left behind, or stops them, and supervises them from now on.
    fn handle_leftovers(&mut self, exit: Exit) {
        let until = self.stopping.alarm();
        self.handle(Event::ShellEnded(exit));
        // A request to stop may have come first.
        let Phase::Ended(end) = self.stopping.phase() else { return };
        self.shell_end = Some(end);
        if self.record.as_ref().is_some_and(|record| record.stops_leftovers(exit)) {
            self.stopping.watch_leftovers(None);
            self.handle(Event::StopAsked(StopReason::LeftBehind));
            if exit == Exit::Signal(KILLED) {
                // `SIGKILL` to the whole group means that the rest has to go as fast.
                self.handle(Event::StopAsked(StopReason::LeftBehind));
            }
            return;
        }
        let is_bounded = self.record.as_ref().is_some_and(Record::bounds_leftovers);
        self.stopping.watch_leftovers(until.filter(|_| is_bounded));
        let left = self.tree.leftovers();
        for pump in &mut self.pumps {
            pump.run();
        }
        self.write_status(&State::Left(end, &left));
        self.report_to_all(&Report::ended(end, left));
    }

    fn finish(&mut self, event: Event) {
        self.handle(event);
        let Phase::Ended(end) = self.stopping.phase() else { return };
        if self.record.is_none() {
            self.link.send(&Report::ended(end, Vec::new()));
        }
        // Every writer is gone, so the pipe holds all the output that will ever come.
        for pump in &mut self.pumps {
            while pump.run() == Pumped::Some {}
        }
        if let Some(growing) = &mut self.growing {
            growing.enforce_limit();
        }
        if self.record.is_some() {
            // A job has the exit status of its shell, whatever happens to leftover processes.
            let end = self.shell_end.unwrap_or(end);
            self.write_status(&State::Ended(end));
            self.report_to_all(&Report::ended(end, Vec::new()));
            self.record.iter_mut().for_each(Record::close);
            self.clients.clear();
        }
        // Until the engine has put the person's terminal back, or is gone and cannot.
        while self.host_terminal.as_ref().is_some_and(HostTerminal::is_guarded) && !self.link.is_gone() {
            let _ = poll(&mut [PollFd::new(&self.link, PollFlags::IN)], None);
            self.follow_engine();
        }
        // The end of a process takes the kernel a moment. The engine waits for the report and needs the processor now.
        if !self.link.is_gone() && !self.can_be_reused() {
            let _ = poll(&mut [PollFd::new(&self.link, PollFlags::IN)], Some(&timespec(LINGER)));
        }
    }

    /// True if the command ended by itself and left nothing, so this keeper may run another command.
    fn can_be_reused(&self) -> bool {
        matches!(self.stopping.phase(), Phase::Ended(End::Own(_)))
            && !self.released
            && self.shell_end.is_none()
            // Another command would inherit the terminal.
            && self.terminal.is_none()
            && !self.link.is_gone()
    }

    /// Starts to copy these pipes into their files.
    fn add_pumps(&mut self, pipes: Vec<PipeHandover>) {
        for pump in pipes.into_iter().filter_map(Pump::new) {
            self.output = self.output.take().or_else(|| pump.file()?.try_clone().ok());
            self.pumps.push(pump);
        }
    }

    /// Makes the command a job: it gets a record and no longer depends on the engine.
    fn become_job(&mut self, mut record: Record) {
        self.released = true;
        // The person who started it has their terminal back.
        self.host_terminal.iter_mut().for_each(HostTerminal::leave_alone);
        record.set_shell_pid(self.pid);
        if self.terminal.is_none() {
            self.growing = record.output().map(|output| GrowingOutput::new(output, Instant::now()));
        }
        record.has_terminal = self.terminal.is_some();
        self.record = Some(record);
        if let Some((columns, rows)) = self.terminal.as_ref().and_then(TerminalEnds::size) {
            self.note_size(0, columns, rows);
        }
        match self.shell_end {
            None => self.write_status(&State::Running),
            Some(end) => {
                let left = self.tree.leftovers();
                self.write_status(&State::Left(end, &left));
            }
        }
    }

    /// Updates the list of leftover processes in the record when one of them has ended, because its process id may soon
    /// belong to a stranger.
    fn update_leftovers(&mut self) {
        let (Some(end), Phase::Running { .. }, Some(_)) = (self.shell_end, self.stopping.phase(), &self.record) else {
            return;
        };
        let left = self.tree.leftovers();
        if !left.iter().map(|left| left.pid).eq(self.recorded_leftovers.iter().copied()) {
            self.recorded_leftovers = left.iter().map(|left| left.pid).collect();
            self.write_status(&State::Left(end, &left));
        }
    }

    /// Writes the state of the job into its record. If that fails, readers find the job lost.
    fn write_status(&mut self, state: &State<'_>) {
        if let Some(record) = &mut self.record {
            // The last line goes behind everything.
            self.pumps.iter_mut().for_each(Pump::settle);
            let _ = record.write_status(state, self.output.as_ref());
        }
    }

    /// Sends a report to the engine and every client. The record has it already: a client that connects later reads it
    /// there, and one that has connected before may have read the old one, also if nobody has accepted it yet.
    fn report_to_all(&mut self, report: &Report) {
        self.accept_clients();
        for link in std::iter::once(&mut self.link).chain(&mut self.clients) {
            link.send(report);
        }
    }

    fn handle(&mut self, event: Event) {
        self.stopping.handle(event, &mut self.tree, self.driver.as_ref());
        if self.stopping.gives_up(Instant::now()) {
            self.admit_stuck();
        }
    }

    /// Reports that some process cannot be killed. The keeper continues to try, but nobody has to wait for it.
    fn admit_stuck(&mut self) {
        let left = self.tree.leftovers();
        self.write_status(&State::Left(End::Lost, &left));
        self.report_to_all(&Report::ended(End::Lost, left));
        self.released = true;
    }
}

/// Number of `SIGKILL`.
const KILLED: u8 = 9;

fn timespec(duration: Duration) -> Timespec {
    Timespec::try_from(duration).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
}
