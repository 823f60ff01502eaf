//! The process tree of a command: its members, `SIGTERM` and `SIGKILL` to all of them, and reaping.

use bashful_sys::pidfd;
use bashful_sys::proc::{self, Children, Process};
use bashful_sys::signal::Signal;
use bashful_sys::wait::{self, Exit, Reaped};
use rustix::process::Pid;

use crate::awake::WakeAlarms;
use crate::fence::{self, Inside};
use crate::protocol::Leftover;

/// Rounds of one kill pass. A tree that starts processes faster than that meets the next pass.
const ROUNDS: usize = 20;

/// Longest command line of a leftover process in a report, in characters.
const COMMAND_SHOWN: usize = 160;

/// The processes of a command.
pub(crate) struct Tree {
    shell: Pid,
    exit: Option<Exit>,
    /// Exit status that a session's shell reported for its last command. It overrides `exit`.
    reported_exit: Option<Exit>,
    /// Processes below the keeper that are not part of the command.
    excluded: Vec<Process>,
    /// Processes that got `SIGTERM`.
    got_sigterm: Vec<Process>,
    /// Lists of the children of the keeper and of the shell, for a quick check.
    children: Option<[Children; 2]>,
    /// Alarms that continue a stopped keeper.
    pub(crate) alarms: WakeAlarms,
    /// The tree has a terminal: asking it to end hangs up too, because interactive shells ignore `SIGTERM`.
    pub(crate) hangs_up: bool,
}

/// The remaining processes of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TreeState {
    /// The shell runs.
    ShellRuns,
    /// The shell has ended with this status, and other processes are left.
    OthersLeft(Exit),
    /// No process is left. The shell had ended with this status.
    Gone(Exit),
}

impl Tree {
    pub(crate) fn new(shell: Pid) -> Self {
        Self {
            shell,
            exit: None,
            reported_exit: None,
            excluded: Vec::new(),
            got_sigterm: Vec::new(),
            children: None,
            alarms: WakeAlarms::default(),
            hangs_up: false,
        }
    }

    /// Reaps every process that has ended, and returns what is left.
    pub(crate) fn reap(&mut self) -> TreeState {
        let none_left = self.reap_everything();
        match self.exit.map(|exit| self.reported_exit.unwrap_or(exit)) {
            None => TreeState::ShellRuns,
            Some(exit) if none_left => TreeState::Gone(exit),
            Some(exit) => TreeState::OthersLeft(exit),
        }
    }

    fn reap_everything(&mut self) -> bool {
        loop {
            match wait::reap_any() {
                Ok(Reaped::Child(pid, exit)) if pid == self.shell => self.exit = Some(exit),
                Ok(Reaped::Child(..)) => {}
                Ok(Reaped::AllRunning) => return self.exit.is_some() && self.is_fence_empty(),
                Err(_) => return false,
                Ok(Reaped::NoChild) => return true,
            }
        }
    }

    /// True if only the first process of the fence is left, which ends with this one.
    fn is_fence_empty(&self) -> bool {
        let Some(Inside { init, .. }) = fence::inside() else { return false };
        init.read_news();
        let is_last = |parent, known: &[Pid]| {
            proc::children(parent).is_some_and(|all| all.iter().all(|child| known.contains(child)))
        };
        is_last(rustix::process::getpid(), &[init.child.pid, self.shell]) && is_last(init.child.pid, &[])
    }

    /// The processes that get orphans as children: this one, and the first process of the fence.
    fn adopters() -> impl Iterator<Item = Pid> {
        std::iter::once(rustix::process::getpid()).chain(fence::inside().map(|inside| inside.init.child.pid))
    }

    pub(crate) fn shell_has_ended(&self) -> bool {
        self.exit.is_some()
    }

    /// Exit status of the shell; none while it runs.
    pub(crate) fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// Notes the exit status that the shell reported for its last command. A later one is ignored.
    pub(crate) fn set_reported_exit(&mut self, exit: Exit) {
        self.reported_exit.get_or_insert(exit);
    }

    /// Excludes every present process from the tree.
    pub(crate) fn exclude_present(&mut self) {
        self.excluded.clear();
        self.excluded = self.members();
    }

    /// Number of excluded processes.
    pub(crate) fn excluded(&self) -> usize {
        self.excluded.len()
    }

    /// Includes every process in the tree again.
    pub(crate) fn include_all(&mut self) {
        self.excluded.clear();
    }

    /// True if the shell has no other process beside it. Quick; sometimes false by mistake, because a child that has
    /// just ended still counts.
    pub(crate) fn is_shell_alone(&mut self) -> bool {
        if self.children.is_none() {
            let ours = Children::of(rustix::process::getpid());
            self.children = ours.and_then(|ours| Ok([ours, Children::of(self.shell)?])).ok();
        }
        let Some([ours, of_shell]) = &self.children else { return false };
        of_shell.are_none_but(None) && ours.are_none_but(Some(self.shell))
    }

    /// True if no member of the tree is left.
    ///
    /// A chain of processes that replace each other can hide from one look at the members. Each of them stays a child of
    /// the keeper until it is reaped, though, so the second look finds one.
    pub(crate) fn is_empty(&mut self) -> bool {
        let none_seen = self.members().is_empty();
        let init = fence::inside().map(|inside| inside.init.child.pid);
        let is_known = |child: &Pid| {
            *child == self.shell || Some(*child) == init || self.excluded.iter().any(|spared| spared.pid == *child)
        };
        none_seen && Self::adopters().all(|parent| proc::children(parent).is_none_or(|all| all.iter().all(is_known)))
    }

    /// Sends `SIGTERM` to every member, and `SIGCONT` so that stopped ones can act on it.
    pub(crate) fn terminate(&mut self) {
        self.alarms.wake_soon();
        let members = self.members();
        for process in &members {
            let _ = pidfd::send_to(process, self.requests());
        }
        self.got_sigterm = members;
    }

    /// The signals that ask a process to end. Stopped processes are continued, so that they can.
    fn requests(&self) -> &'static [Signal] {
        if self.hangs_up { &[Signal::TERM, Signal::HUP, Signal::CONT] } else { &[Signal::TERM, Signal::CONT] }
    }

    /// Sends `SIGTERM` to orphans that were being started when the others got theirs. Children of a living parent get
    /// none: they may be its way of cleaning up.
    pub(crate) fn terminate_orphans(&mut self) {
        Self::adopters().for_each(|parent| self.terminate_children_of(parent));
    }

    /// Sends `SIGTERM` to programs that a session's shell has started since. The shell itself stays, and has nothing to
    /// clean up.
    pub(crate) fn terminate_children_of_shell(&mut self) {
        self.terminate_children_of(self.shell);
    }

    fn terminate_children_of(&mut self, parent: Pid) {
        let mut late = self.members();
        let parent = parent.as_raw_nonzero().get();
        let was_asked = |process: &Process| self.got_sigterm.iter().any(|asked| is_same(asked, process));
        late.retain(|process| process.parent == parent && process.pid != self.shell && !was_asked(process));
        for process in &late {
            let _ = pidfd::send_to(process, self.requests());
        }
        self.got_sigterm.extend(late);
    }

    /// Kills every member. Each round stops all of them first, so that they cannot start new processes meanwhile.
    pub(crate) fn kill(&mut self) {
        if let (true, Some(inside)) = (self.excluded.is_empty(), fence::inside()) {
            // The kernel ends everything inside with it, at once.
            let _ = inside.init.child.send(Signal::KILL);
        }
        for _ in 0..ROUNDS {
            self.alarms.wake_soon();
            self.freeze_children();
            let members = self.members();
            for process in &members {
                let _ = pidfd::send_to(process, &[Signal::STOP]);
            }
            let mut reached = false;
            for process in &members {
                reached |= pidfd::send_to(process, &[Signal::KILL]).is_ok();
            }
            if !reached {
                return;
            }
        }
    }

    /// Stops the keeper's own children at once. Every orphan is one of them, so this catches a chain of processes that
    /// replace each other, where the time between finding and signaling is shortest. A child with the id of an excluded
    /// process is left to the slower search, which compares start times.
    fn freeze_children(&self) {
        let init = fence::inside().map(|inside| inside.init.child.pid);
        for child in Self::adopters().flat_map(|parent| proc::children(parent).unwrap_or_default()) {
            if Some(child) != init && self.excluded.iter().all(|spared| spared.pid != child) {
                // By id: a child keeps its id until it is reaped, and only this thread reaps.
                let _ = rustix::process::kill_process(child, Signal::STOP);
            }
        }
    }

    /// Sends a signal to every member.
    pub(crate) fn signal(&mut self, number: u8) {
        match Signal::from_named_raw(number.into()) {
            Some(Signal::KILL) => self.kill(),
            Some(named) => {
                for process in self.members() {
                    let _ = pidfd::send_to(&process, &[named]);
                }
            }
            // Callers have checked the number.
            None => {}
        }
    }

    /// Lists the members for a report.
    pub(crate) fn leftovers(&mut self) -> Vec<Leftover> {
        self.members()
            .iter()
            .map(|process| Leftover {
                pid: process.pid.as_raw_nonzero().get(),
                command: process.command_line(COMMAND_SHOWN),
            })
            .collect()
    }

    fn members(&mut self) -> Vec<Process> {
        let mut all_processes = proc::descendants(rustix::process::getpid());
        if let Some(inside) = fence::inside() {
            all_processes.retain(|process| process.pid != inside.init.child.pid);
        }
        if self.excluded.is_empty() {
            return all_processes;
        }
        let shell = self.shell.as_raw_nonzero().get();
        let is_spared = |process: &Process| self.excluded.iter().any(|own| is_same(own, process));
        // Children of excluded processes are excluded too, but not children of the shell.
        let mut excluded_ids: Vec<i32> =
            all_processes.iter().filter(|process| is_spared(process)).map(raw_pid).collect();
        loop {
            let before = excluded_ids.len();
            for process in &all_processes {
                let by_them = process.parent != shell && excluded_ids.contains(&process.parent);
                if by_them && !excluded_ids.contains(&raw_pid(process)) {
                    excluded_ids.push(raw_pid(process));
                }
            }
            if excluded_ids.len() == before {
                break;
            }
        }
        all_processes.retain(|process| !excluded_ids.contains(&raw_pid(process)));
        all_processes
    }
}

/// True if the two are one process. The kernel may give an id to another process later.
fn is_same(one: &Process, other: &Process) -> bool {
    one.pid == other.pid && one.began == other.began
}

fn raw_pid(process: &Process) -> i32 {
    process.pid.as_raw_nonzero().get()
}
