//! Carries out the turn of one command in a session's shell. [`Turn`] decides.

use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use bashful_sys::boot_time;

use super::turn::{Turn, TurnEffect, TurnEvent};
use super::{Session, Word, driver};
use crate::link::EngineLink;
use crate::protocol::{self, Command, FailedStep, Report};
use crate::record::{Began, Record};
use crate::stopping::StopMachine;
use crate::watch::{self, FromSession};
use crate::{Effect, Event, Phase, StopReason, start};

/// A command that the session's shell was handed.
pub(super) struct RunningCommand {
    /// The connection of its caller.
    pub(super) link: EngineLink,
    /// When it began, by all clocks.
    pub(super) began: Began,
    pub(super) stopping: StopMachine,
    turn: Turn,
    /// Bash opens these through `/proc`, so they have to stay open here.
    held: Vec<OwnedFd>,
}

impl RunningCommand {
    /// Time when there is something to do even if nothing happens.
    pub(super) fn alarm(&self) -> Option<Instant> {
        self.stopping.alarm().into_iter().chain(self.turn.alarm()).min()
    }

    /// True if it is certain that the shell has not read the line that evaluates the script, so that nothing of it can have been
    /// done. A line with long variables is in a file, which does not tell.
    fn is_unread(&self) -> bool {
        // Of a pipe, the bytes that it still holds; of a file, the bytes behind its last write: none.
        let evaluation = self.held.get(driver::EVALUATION);
        evaluation.is_some_and(|line| rustix::io::ioctl_fionread(line).is_ok_and(|bytes| bytes > 0))
    }
}

impl Session {
    /// Hands a command to the shell.
    pub(super) fn begin(&mut self, mut link: EngineLink, command: Command) {
        let lifetime = command.lifetime;
        if !self.is_alone {
            self.tree.spare_nobody();
            self.tree.spare_present();
        }
        if !command.expected.is_empty() && !self.driver.is_in(&command.expected) {
            link.tell(&Report::Moved);
            // They may look where it is now, and come again.
            return self.listener.readmit(link);
        }
        self.driver.output.discard();
        self.driver.child.continue_if_stopped();
        let must_read = command.directory.is_empty();
        let until = start::after(lifetime);
        // Before it begins: it may stop its keeper at once.
        self.tree.awake.at(until, Instant::now());
        let held = match self.driver.begin(command) {
            Ok(held) => held,
            Err(error) => {
                // Nothing of it was done.
                if self.driver.is_deaf() {
                    return self.listener.refuse(link);
                }
                let errno = error.raw_os_error().unwrap_or(0);
                return link.tell(&Report::NotStarted { step: FailedStep::Handover, errno });
            }
        };
        self.commands += 1;
        let turn = Turn::new(Instant::now(), must_read);
        let stopping = StopMachine::new(until, self.grace);
        self.running = Some(RunningCommand { link, began: Began::now(lifetime), stopping, turn, held });
    }

    /// Lets the command go on as a job, with the shell; the session is over then. If the job cannot be recorded, all stays as it
    /// was.
    pub(super) fn become_job(mut self, mut order: protocol::Record) -> Option<Self> {
        let Some(mut running) = self.running.take() else { return Some(self) };
        let pipes = std::mem::take(&mut order.pipes);
        let id = order.id;
        let record = match Record::open(order, running.began) {
            Ok(record) if running.turn.is_under_way() => record,
            outcome => {
                let errno = outcome.err().and_then(|error| error.raw_os_error()).unwrap_or(-1);
                running.link.tell(&Report::Recorded { errno });
                self.running = Some(running);
                return Some(self);
            }
        };
        let Self { driver, mut tree, mut listener, signals, pumps, .. } = self;
        tree.spare_nobody();
        listener.close(Some(&format!("its shell went on with job {id}")));
        let RunningCommand { link, stopping, began, .. } = running;
        // Where that fails there are no descriptors left, and the shell ends with us.
        let _ = watch::go_on(FromSession { driver, tree, link, signals, pumps, stopping, began, record, pipes });
        None
    }

    /// Passes an event on to the stop machine, and its effect to the turn.
    pub(super) fn handle(&mut self, event: Event) {
        let Some(running) = &mut self.running else { return };
        match running.stopping.handle(event, &mut self.tree, Some(&self.driver)) {
            Some(Effect::Ask) => self.step_turn(TurnEvent::StopBegun),
            Some(Effect::Kill) => {
                let lasts = running.stopping.killing_lasts(Instant::now());
                self.step_turn(TurnEvent::KillPass { lasts });
            }
            None => {}
        }
    }

    /// Brings the command as far as it comes by now.
    pub(super) fn advance(&mut self) {
        if let Some(exit) = self.tree.exit() {
            self.step_turn(TurnEvent::ShellEnded(exit));
        }
        if self.running.as_ref().is_some_and(|running| running.stopping.is_due(Instant::now())) {
            self.handle(Event::Tick);
        }
        self.step_turn(TurnEvent::Tick);
    }

    /// Passes an event on to the turn, carries out the effect, and goes on with the answer if there is one.
    pub(super) fn step_turn(&mut self, event: TurnEvent) {
        let mut next = Some(event);
        while let Some(event) = next
            && let Some(running) = &mut self.running
        {
            let (turn, effect) = running.turn.step(event, Instant::now());
            running.turn = turn;
            next = effect.and_then(|effect| self.carry_out(effect));
        }
    }

    fn carry_out(&mut self, effect: TurnEffect) -> Option<TurnEvent> {
        let running = self.running.as_mut()?;
        match effect {
            TurnEffect::CheckScript => {
                if !running.is_unread() {
                    return Some(TurnEvent::ScriptRead);
                }
                self.driver.child.continue_if_stopped();
                return Some(TurnEvent::ScriptUnread);
            }
            TurnEffect::CheckShell => return Some(self.check_shell()),
            TurnEffect::CheckProcesses => return Some(self.check_processes()),
            TurnEffect::Announce => running.link.tell(&Report::Started { pid: self.driver.pid() }),
            TurnEffect::Interrupt => {
                self.interrupt();
                self.driver.interrupt_expansion();
            }
            TurnEffect::InterruptAndAskNumber => {
                self.interrupt();
                return Some(self.ask_number());
            }
            TurnEffect::AskNumber => return Some(self.ask_number()),
            TurnEffect::StopMute => {
                self.handle(Event::StopAsked(StopReason::Mute));
                self.kill_shell();
            }
            TurnEffect::KillShell => self.kill_shell(),
            TurnEffect::Refuse => self.refuse(),
            TurnEffect::Finish { event, announced } => self.finish(event, announced),
            TurnEffect::Abandon(exit) => {
                self.kill_shell();
                self.finish(Event::TreeGone(exit), true);
            }
        }
        None
    }

    fn check_shell(&mut self) -> TurnEvent {
        if self.running.as_ref().is_some_and(RunningCommand::is_unread) {
            // Somebody may have stopped the shell just as it was handed the script. The script has stopped nothing yet.
            self.driver.child.continue_if_stopped();
        }
        if !self.driver.waits() {
            return TurnEvent::ShellBusy;
        }
        // It may have spoken just before, and then the word is in the pipe by now.
        let done = std::iter::from_fn(|| self.driver.word()).find(|word| matches!(word, Word::Done(_)));
        done.map_or(TurnEvent::ShellIdle, TurnEvent::Said)
    }

    fn check_processes(&mut self) -> TurnEvent {
        let shell_has_ended = self.tree.shell_has_ended();
        self.is_alone = !shell_has_ended && self.tree.is_shell_alone();
        if self.is_alone || self.tree.is_empty() {
            return if shell_has_ended { TurnEvent::NothingLeft } else { TurnEvent::OnlyShellLeft };
        }
        let gives_up = self.running.as_mut().is_some_and(|running| running.stopping.gives_up(Instant::now()));
        if gives_up { TurnEvent::ProcessesStuck } else { TurnEvent::ProcessesLeft }
    }

    fn interrupt(&mut self) {
        self.tree.ask_children_of_shell();
        self.driver.interrupt();
    }

    fn ask_number(&mut self) -> TurnEvent {
        self.driver.ask_number().map_or(TurnEvent::NumberNotAsked, TurnEvent::NumberAsked)
    }

    /// Kills the shell, and with it everything in the session.
    fn kill_shell(&mut self) {
        let phase = self.running.as_ref().map(|running| running.stopping.phase());
        if let Some(Phase::Stopping { why, .. } | Phase::Killed { why }) = phase {
            self.killed_for.get_or_insert(why);
        }
        self.tree.spare_nobody();
        self.tree.kill();
        self.tree.look(self.driver.child.pidfd.as_fd());
    }

    /// Ends the turn of a command of which nothing was done. Another shell may do it.
    fn refuse(&mut self) {
        let Some(running) = self.running.take() else { return };
        self.listener.refuse(running.link);
        if !self.tree.shell_has_ended() {
            // It lives, and cannot read scripts any more.
            self.killed_for = Some(StopReason::Mute);
        }
    }

    /// Reports how the command ended.
    fn finish(&mut self, event: Event, announced: bool) {
        self.handle(event);
        let Some(RunningCommand { mut link, stopping, held, .. }) = self.running.take() else { return };
        let Phase::Ended(end) = stopping.phase() else { return };
        let left = if self.is_alone { Vec::new() } else { self.tree.left() };
        if self.tree.exit().is_some()
            && let Some(output) = held.first()
        {
            self.driver.pass_on_shell_output(output);
        }
        let shell_stays = self.tree.exit().is_none() && self.ends.is_none() && self.killed_for.is_none();
        let ended = Report::Ended { end, left, shell_stays, at: boot_time() };
        let started = (!announced).then(|| Report::Started { pid: self.driver.pid() });
        // First: whoever is told may look at once.
        self.be_idle();
        link.tell_all(started.iter().chain([&ended]));
        // Only the command's own processes are to hold the writing end of its output.
        drop(held);
        self.listener.readmit(link);
    }
}
