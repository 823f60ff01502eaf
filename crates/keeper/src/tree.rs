//! The process tree of a command: who is in it, asking it to end, killing it.

use std::time::Duration;

use bashful_sys::pidfd;
use bashful_sys::proc::{self, Children, Process};
use bashful_sys::signal::Signal;
use bashful_sys::wait::{self, Exit, Reaped};
use rustix::process::Pid;

use crate::awake::Awake;
use crate::protocol::Leftover;

/// How a keeper knows the tree that it watches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// The keeper is a process of its own and adopts every orphan: all that is below it is the tree.
    EverythingBelow,
    /// The keeper is a thread of a host program: the tree is what is below the shell or in its session. A daemon that
    /// took a session of its own and lost its parent is out of sight.
    BelowShell,
}

/// Rounds of one killing pass. A tree that makes new processes faster than that is met again at the next tick.
const ROUNDS: usize = 20;

/// How much is said of a process that is left.
const COMMAND_SHOWN: usize = 160;

/// A command's processes.
pub(crate) struct Tree {
    scope: Scope,
    shell: Pid,
    exit: Option<Exit>,
    /// How what the shell did ended, if it said so.
    said: Option<Exit>,
    /// Whom a thread has seen so far: once their parents are gone, it would not find them again.
    seen: Vec<Process>,
    /// Who is below, but not meant.
    spared: Vec<Process>,
    /// Who was asked to end.
    asked: Vec<Process>,
    /// A quick look at the children of the keeper and of the shell.
    children: Option<[Children; 2]>,
    /// Continues the keeper when it has something to do.
    pub(crate) awake: Awake,
    /// The tree has a terminal: asking it to end hangs up too, because interactive shells ignore `SIGTERM`.
    pub(crate) hangs_up: bool,
}

/// What is left of a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rest {
    /// The shell runs.
    Shell,
    /// The shell has ended like this, but others are left.
    Others(Exit),
    /// Nothing is left. The shell had ended like this.
    Nothing(Exit),
    /// The shell has ended, and somebody else took the word of how: a host that waits for every child there is.
    Unknown,
}

impl Tree {
    pub(crate) fn new(scope: Scope, shell: Pid) -> Self {
        Self {
            scope,
            shell,
            exit: None,
            said: None,
            seen: Vec::new(),
            spared: Vec::new(),
            asked: Vec::new(),
            children: None,
            awake: Awake::new(scope),
            hangs_up: false,
        }
    }

    /// Takes away what has ended, and tells what is left.
    pub(crate) fn look(&mut self, shell: rustix::fd::BorrowedFd<'_>) -> Rest {
        let none_left = match self.scope {
            Scope::EverythingBelow => self.reap_everything(),
            Scope::BelowShell => {
                if self.exit.is_none() {
                    match wait::reap(self.shell, shell) {
                        Ok(exit) => self.exit = exit,
                        Err(_) => return Rest::Unknown,
                    }
                }
                self.exit.is_some() && self.members().is_empty()
            }
        };
        match self.exit.map(|exit| self.said.unwrap_or(exit)) {
            None => Rest::Shell,
            Some(exit) if none_left => Rest::Nothing(exit),
            Some(exit) => Rest::Others(exit),
        }
    }

    fn reap_everything(&mut self) -> bool {
        loop {
            match wait::reap_any() {
                Ok(Reaped::Child(pid, exit)) if pid == self.shell => self.exit = Some(exit),
                Ok(Reaped::Child(..)) => {}
                Ok(Reaped::AllRunning) | Err(_) => return false,
                Ok(Reaped::NoChild) => return true,
            }
        }
    }

    /// Whether the shell has ended.
    pub(crate) fn shell_has_ended(&self) -> bool {
        self.exit.is_some()
    }

    /// How the shell ended, if it has.
    pub(crate) fn exit(&self) -> Option<Exit> {
        self.exit
    }

    /// The shell said that what it did ended like this; its own end says nothing more.
    pub(crate) fn says(&mut self, exit: Exit) {
        self.said.get_or_insert(exit);
    }

    /// Leaves alone from now on whoever is there now.
    pub(crate) fn spare_present(&mut self) {
        self.spared.clear();
        self.spared = self.members();
    }

    /// How many are left alone.
    pub(crate) fn spared(&self) -> usize {
        self.spared.len()
    }

    /// Leaves nobody alone any more.
    pub(crate) fn spare_nobody(&mut self) {
        self.spared.clear();
    }

    /// Whether the shell is all there is. Quick, and sometimes wrongly no: a child that has just ended counts.
    pub(crate) fn is_shell_alone(&mut self) -> bool {
        if self.scope != Scope::EverythingBelow {
            return false;
        }
        if self.children.is_none() {
            let ours = Children::of(rustix::process::getpid());
            self.children = ours.and_then(|ours| Ok([ours, Children::of(self.shell)?])).ok();
        }
        let Some([ours, of_shell]) = &self.children else { return false };
        of_shell.are_none_but(None) && ours.are_none_but(Some(self.shell))
    }

    /// Whether nobody is left that is meant.
    pub(crate) fn is_empty(&mut self) -> bool {
        self.members().is_empty()
    }

    /// Asks everything to end, and wakes what was stopped so that it can.
    pub(crate) fn ask(&mut self) {
        self.awake.soon();
        let members = self.members();
        for process in &members {
            let _ = pidfd::send_to(process, self.requests());
        }
        self.asked = members;
    }

    /// The signals that ask a process to end. Stopped processes are continued, so that they can.
    fn requests(&self) -> &'static [Signal] {
        if self.hangs_up { &[Signal::TERM, Signal::HUP, Signal::CONT] } else { &[Signal::TERM, Signal::CONT] }
    }

    /// Asks those as well who were being started just then, and whose parents are gone now. What a living parent has
    /// started since may be its way of cleaning up.
    pub(crate) fn ask_orphans(&mut self) {
        self.ask_children_of(rustix::process::getpid());
    }

    /// The same for what a shell was starting that is not to end, and cleans up nothing.
    pub(crate) fn ask_children_of_shell(&mut self) {
        self.ask_children_of(self.shell);
    }

    fn ask_children_of(&mut self, parent: Pid) {
        if self.scope != Scope::EverythingBelow {
            return;
        }
        let mut late = self.members();
        let parent = parent.as_raw_nonzero().get();
        let was_asked = |process: &Process| self.asked.iter().any(|asked| is_same(asked, process));
        late.retain(|process| process.parent == parent && process.pid != self.shell && !was_asked(process));
        for process in &late {
            let _ = pidfd::send_to(process, self.requests());
        }
        self.asked.extend(late);
    }

    /// Kills everything. Those that make new processes are stopped first, so that the next round finds fewer.
    pub(crate) fn kill(&mut self) {
        for _ in 0..ROUNDS {
            self.awake.soon();
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

    /// Freezes the keeper's own children at once. Every orphan is one of them, so a chain of processes that replace each other
    /// is caught here, where the time between looking and signaling is shortest.
    fn freeze_children(&self) {
        if self.scope != Scope::EverythingBelow || !self.spared.is_empty() {
            return;
        }
        for child in proc::children(rustix::process::getpid()).unwrap_or_default() {
            // By its id: a child keeps it until it is reaped, and nobody but this thread reaps.
            let _ = rustix::process::kill_process(child, Signal::STOP);
        }
    }

    /// Sends this signal to everything.
    pub(crate) fn signal(&mut self, number: u8) {
        match Signal::from_named_raw(number.into()) {
            Some(Signal::KILL) => self.kill(),
            Some(named) => {
                for process in self.members() {
                    let _ = pidfd::send_to(&process, &[named]);
                }
            }
            // Those who ask have looked it up.
            None => {}
        }
    }

    /// What is left, as it is told to people.
    pub(crate) fn left(&mut self) -> Vec<Leftover> {
        self.members()
            .iter()
            .map(|process| Leftover {
                pid: process.pid.as_raw_nonzero().get(),
                command: process.command_line(COMMAND_SHOWN),
            })
            .collect()
    }

    fn members(&mut self) -> Vec<Process> {
        let mut everybody = self.everybody();
        if self.spared.is_empty() {
            return everybody;
        }
        let shell = self.shell.as_raw_nonzero().get();
        let is_spared = |process: &Process| self.spared.iter().any(|own| is_same(own, process));
        // What those have started that are left alone, but not what the shell has.
        let mut left_alone: Vec<i32> = everybody.iter().filter(|process| is_spared(process)).map(raw).collect();
        loop {
            let before = left_alone.len();
            for process in &everybody {
                let by_them = process.parent != shell && left_alone.contains(&process.parent);
                if by_them && !left_alone.contains(&raw(process)) {
                    left_alone.push(raw(process));
                }
            }
            if left_alone.len() == before {
                break;
            }
        }
        everybody.retain(|process| !left_alone.contains(&raw(process)));
        everybody
    }

    fn everybody(&mut self) -> Vec<Process> {
        match self.scope {
            Scope::EverythingBelow => proc::descendants(rustix::process::getpid()),
            Scope::BelowShell => {
                let mut members = std::mem::take(&mut self.seen);
                members.retain(|seen| {
                    Process::read(seen.pid).is_some_and(|now| now.began == seen.began && !now.has_ended())
                });
                members.extend(proc::session(self.shell));
                members.extend(proc::descendants(self.shell));
                let strays: Vec<_> = members.iter().flat_map(|process| proc::descendants(process.pid)).collect();
                members.extend(strays);
                members.sort_by_key(|process| process.pid.as_raw_nonzero());
                members.dedup_by_key(|process| process.pid);
                self.seen.clone_from(&members);
                members
            }
        }
    }
}

/// Whether they are one and the same: an id may be given to another one later.
fn is_same(one: &Process, other: &Process) -> bool {
    one.pid == other.pid && one.began == other.began
}

fn raw(process: &Process) -> i32 {
    process.pid.as_raw_nonzero().get()
}

/// How often a thread looks at a tree that is being stopped.
pub(crate) const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How often a thread looks at what a shell has left behind: nobody waits for that.
pub(crate) const LOOK_AT_LEFTOVERS: Duration = Duration::from_secs(1);
