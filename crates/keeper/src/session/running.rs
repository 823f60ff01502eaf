//! Carries out the decisions of [`Turn`] for one command in a session's shell.

use std::time::Instant;

use bashful_sys::boot_time;

use super::turn::{Turn, TurnEffect, TurnEvent};
use super::{Session, ShellMessage, driver};
use crate::fence::OpenForShell;
use crate::link::EngineLink;
use crate::protocol::{self, FailedStep, Report, SessionCommand};
use crate::record::{Record, StartTime};
use crate::stopping::StopMachine;
use crate::watch::{self, SessionJob};
use crate::{Effect, Event, Phase, StopReason, start};

/// A command that the session's shell was handed.
pub(super) struct RunningCommand {
    /// Connection of the caller.
    pub(super) link: EngineLink,
    pub(super) began: StartTime,
    pub(super) stopping: StopMachine,
    turn: Turn,
    /// Bash opens these descriptors through `/proc`, so they have to stay open here.
    open_for_shell: OpenForShell,
}

impl RunningCommand {
    /// Time at which the command needs attention even if nothing happens.
    pub(super) fn alarm(&self) -> Option<Instant> {
        self.stopping.alarm().into_iter().chain(self.turn.alarm()).min()
    }

    /// True if the shell has certainly not read the line that evaluates the script, so none of the script can have run.
    /// A line with long variables is in a file, which does not tell.
    fn is_unread(&self) -> bool {
        // For a pipe: the bytes that it still holds. For a file: the bytes behind its last write, which are none.
        let evaluation = self.open_for_shell.0.get(driver::EVALUATION);
        evaluation.is_some_and(|line| rustix::io::ioctl_fionread(line).is_ok_and(|bytes| bytes > 0))
    }
}

impl Session {
    /// Hands a command to the shell.
    pub(super) fn begin(&mut self, mut link: EngineLink, command: SessionCommand) {
        let lifetime = command.lifetime;
        if !self.shell_is_alone {
            self.tree.include_all();
            self.tree.exclude_present();
        }
        if !command.expected.is_empty() && !self.driver.is_in(&command.expected) {
            link.send(&Report::Moved);
            // The caller may look up the shell's directory, and try again.
            return self.listener.readmit(link);
        }
        self.driver.output.discard();
        self.driver.child.continue_if_stopped();
        let must_read = command.directory.is_empty();
        let until = start::deadline_after(lifetime);
        // Set before the command begins: it may stop its keeper at once.
        self.tree.alarms.wake_at(until, Instant::now());
        let open_for_shell = match self.driver.begin(command) {
            Ok(open_for_shell) => open_for_shell,
            Err(error) => {
                // None of the command ran.
                if self.driver.is_closed() {
                    return self.listener.refuse(link);
                }
                let errno = error.raw_os_error().unwrap_or(0);
                return link.send(&Report::NotStarted { step: FailedStep::Handover, errno });
            }
        };
        self.commands += 1;
        let turn = Turn::new(Instant::now(), must_read);
        let stopping = StopMachine::new(until, self.grace);
        self.running = Some(RunningCommand { link, began: StartTime::now(lifetime), stopping, turn, open_for_shell });
    }

    /// Makes the running command a job that takes the shell along, which ends the session. Returns the session
    /// unchanged if the job cannot be recorded.
    pub(super) fn become_job(mut self, mut order: protocol::RecordOrder) -> Option<Self> {
        let Some(mut running) = self.running.take() else { return Some(self) };
        let pipes = std::mem::take(&mut order.pipes);
        let id = order.id;
        let record = match Record::open(order, running.began) {
            Ok(record) if running.turn.is_under_way() => record,
            outcome => {
                let errno = outcome.err().and_then(|error| error.raw_os_error()).unwrap_or(-1);
                running.link.send(&Report::Recorded { errno });
                self.running = Some(running);
                return Some(self);
            }
        };
        let Self { driver, mut tree, mut listener, signals, pumps, .. } = self;
        tree.include_all();
        listener.close(Some(&format!("its shell went on with job {id}")));
        let RunningCommand { link, stopping, began, .. } = running;
        // An error means that no descriptors are left; the shell then ends with this process.
        let _ =
            watch::continue_as_job(SessionJob { driver, tree, link, signals, pumps, stopping, began, record, pipes });
        None
    }

    /// Passes an event to the stop machine, and its effect to the turn.
    pub(super) fn handle(&mut self, event: Event) {
        let Some(running) = &mut self.running else { return };
        match running.stopping.handle(event, &mut self.tree, Some(&self.driver)) {
            Some(Effect::Terminate) => self.step_turn(TurnEvent::StopBegun),
            Some(Effect::Kill) => {
                let lasts = running.stopping.time_killing(Instant::now());
                self.step_turn(TurnEvent::KillPass { lasts });
            }
            None => {}
        }
    }

    /// Handles the end of the shell and every alarm that is due.
    pub(super) fn advance(&mut self) {
        if let Some(exit) = self.tree.exit() {
            self.step_turn(TurnEvent::ShellEnded(exit));
        }
        if self.running.as_ref().is_some_and(|running| running.stopping.is_due(Instant::now())) {
            self.handle(Event::Tick);
        }
        self.step_turn(TurnEvent::Tick);
    }

    /// Passes an event to the turn, carries out the effect, and continues with the answer if there is one.
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
            TurnEffect::Announce => running.link.send(&Report::Started { pid: self.driver.pid() }),
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
            // Somebody may have stopped the shell just as it was handed the script. The script itself has stopped
            // nothing yet.
            self.driver.child.continue_if_stopped();
        }
        if !self.driver.is_idle() {
            return TurnEvent::ShellBusy;
        }
        // The shell may have written its message just before, so it is in the pipe by now.
        let done = std::iter::from_fn(|| self.driver.next_message()).find(|word| matches!(word, ShellMessage::Done(_)));
        done.map_or(TurnEvent::ShellIdle, TurnEvent::Message)
    }

    fn check_processes(&mut self) -> TurnEvent {
        let shell_has_ended = self.tree.shell_has_ended();
        self.shell_is_alone = !shell_has_ended && self.tree.is_shell_alone();
        if self.shell_is_alone || self.tree.is_empty() {
            return if shell_has_ended { TurnEvent::NothingLeft } else { TurnEvent::OnlyShellLeft };
        }
        let gives_up = self.running.as_mut().is_some_and(|running| running.stopping.gives_up(Instant::now()));
        if gives_up { TurnEvent::ProcessesStuck } else { TurnEvent::ProcessesLeft }
    }

    fn interrupt(&mut self) {
        self.tree.terminate_children_of_shell();
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
        self.tree.include_all();
        self.tree.kill();
        self.tree.reap();
    }

    /// Ends the turn of a command of which nothing ran. Another shell may run it.
    fn refuse(&mut self) {
        let Some(running) = self.running.take() else { return };
        self.listener.refuse(running.link);
        if !self.tree.shell_has_ended() {
            // The shell lives, but cannot read scripts any more.
            self.killed_for = Some(StopReason::Mute);
        }
    }

    /// Reports the end of the command.
    fn finish(&mut self, event: Event, announced: bool) {
        self.handle(event);
        let Some(RunningCommand { mut link, stopping, open_for_shell, .. }) = self.running.take() else { return };
        let Phase::Ended(end) = stopping.phase() else { return };
        let left = if self.shell_is_alone { Vec::new() } else { self.tree.leftovers() };
        if self.tree.exit().is_some()
            && let Some(output) = open_for_shell.0.first()
        {
            self.driver.pass_on_shell_output(output);
        }
        let shell_stays = self.tree.exit().is_none() && self.ends_because.is_none() && self.killed_for.is_none();
        let ended = Report::Ended { end, left, shell_stays, at: boot_time() };
        let started = (!announced).then(|| Report::Started { pid: self.driver.pid() });
        // The state changes first: the caller may ask for it at once.
        self.restart_idle_time();
        link.send_all(started.iter().chain([&ended]));
        // Only the command's own processes may hold the writing end of its output.
        drop(open_for_shell);
        self.listener.readmit(link);
    }
}
