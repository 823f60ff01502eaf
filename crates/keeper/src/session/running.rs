//! One command of a session, from its beginning to its end.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use bashful_sys::boot_time;

use super::{Session, Word, driver};
use crate::killing::Killing;
use crate::link::Link;
use crate::protocol::{self, Command, FailedStep, Report};
use crate::record::{Began, Record};
use crate::watch::{self, FromSession, SETTLE};
use crate::{Effect, End, Event, Exit, Phase, StopReason, start};

/// How often a shell is interrupted that does not come back.
const INTERRUPT_AGAIN: Duration = Duration::from_millis(100);

/// The status of a script that was interrupted.
const INTERRUPTED: u8 = 130;

/// How long a shell may take to come back when nothing is left that it could wait for.
const COME_BACK_AT_MOST: Duration = Duration::from_millis(500);

/// So long a command may take before it is told that it has begun: most are over by then, and every word wakes somebody.
const TELL_AFTER: Duration = Duration::from_millis(1);

/// How soon a shell is looked at that has not said how its script ended, and how much later each time. Most are busy with
/// it; but what a script may do to its shell includes taking away all means of saying so.
const LISTEN_AFTER: Duration = Duration::from_millis(20);
const LISTEN_AT_LEAST_EVERY: Duration = Duration::from_secs(1);

/// So long a shell may take to read the script before it is told that it has begun: one that was killed just as it came has
/// read nothing.
const READ_WITHIN: Duration = Duration::from_secs(1);

/// A command under way.
pub(super) struct Running {
    /// Who wanted it.
    pub(super) link: Link,
    pub(super) began: Instant,
    /// When it began, by all clocks.
    pub(super) written_down: Began,
    phase: Phase,
    killing: Option<Killing>,
    /// When to say that it has begun, if that has not been said.
    tell_at: Option<Instant>,
    /// When to look whether the shell has come to the end without a word, and how long after the last look that is.
    listen: (Instant, Duration),
    /// Whether the shell reads the script in any case, unless it cannot read scripts any more.
    must_read: bool,
    /// How it ended, as soon as that is known. Others of it may be left.
    exit: Option<Exit>,
    /// So long the others may end by themselves.
    settle_until: Option<Instant>,
    /// When to interrupt the shell again.
    interrupt_at: Option<Instant>,
    /// How often it was interrupted again.
    rounds: u32,
    /// The number by which a shell that was interrupted shows that it has come back.
    number: Option<Number>,
    /// Bash opens these through `/proc`, so they have to stay open here.
    held: Vec<OwnedFd>,
}

/// A number that the shell is asked to say.
struct Number {
    asked: u64,
    is_said: bool,
    again_at: Instant,
    give_up: Instant,
}

impl Running {
    /// Whether it has been asked to end, and is not killed yet.
    pub(super) fn is_asked(&self) -> bool {
        matches!(self.phase, Phase::Stopping { .. })
    }

    pub(super) fn is_stopping(&self) -> bool {
        matches!(self.phase, Phase::Stopping { .. } | Phase::Killed { .. })
    }

    /// What the shell says.
    pub(super) fn hear(&mut self, word: Word) {
        match word {
            Word::Done(code) => {
                self.exit.get_or_insert(Exit::Code(code));
            }
            Word::Number(said) => {
                if let Some(number) = &mut self.number {
                    number.is_said |= number.asked == said;
                    if number.is_said {
                        // It has come back without a word about the script: an interrupt has hit that line.
                        self.exit.get_or_insert(Exit::Code(INTERRUPTED));
                    }
                }
            }
        }
    }

    /// Whether the shell says that the script is done, and has not read it.
    fn is_unread(&self) -> bool {
        self.must_read && !self.is_stopping() && is_unread(&self.held)
    }

    /// When its lifetime or its grace ends, or it is killed again.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.phase.alarm().into_iter().chain(self.killing.as_ref().map(Killing::again_at)).min()
    }

    /// When there is something to do even if nothing happens.
    pub(super) fn due(&self) -> Option<Instant> {
        let number = self.number.as_ref().map(|number| number.again_at);
        let listen = (self.exit.is_none() && !self.is_stopping()).then_some(self.listen.0);
        [self.deadline(), self.tell_at, self.settle_until, self.interrupt_at, number, listen]
            .into_iter()
            .flatten()
            .min()
    }
}

impl Session {
    /// Lets the shell do this.
    pub(super) fn begin(&mut self, mut link: Link, command: Command) {
        let lifetime = command.lifetime;
        if !self.is_alone {
            self.tree.spare_nobody();
            self.tree.spare_present();
        }
        if !command.expected.is_empty() && !self.driver.is_in(&command.expected) {
            link.tell(&Report::Moved);
            // They may look where it is now, and come again.
            return self.door.keep(link);
        }
        self.driver.own.forget();
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
                    return self.door.refuse(link);
                }
                let errno = error.raw_os_error().unwrap_or(0);
                return link.tell(&Report::NotStarted { step: FailedStep::Handover, errno });
            }
        };
        self.commands += 1;
        let began = Instant::now();
        self.running = Some(Running {
            link,
            began,
            tell_at: Some(began + TELL_AFTER),
            written_down: Began::now(lifetime),
            phase: Phase::Running { until },
            killing: None,
            listen: (began + LISTEN_AFTER, LISTEN_AFTER),
            must_read,
            exit: None,
            settle_until: None,
            interrupt_at: None,
            rounds: 0,
            number: None,
            held,
        });
    }

    /// Lets the command go on as a job, with the shell; the session is over then. If it cannot be written down, all stays as it
    /// was.
    pub(super) fn become_job(mut self, mut order: protocol::Record) -> Option<Self> {
        let Some(mut running) = self.running.take() else { return Some(self) };
        let pipes = std::mem::take(&mut order.pipes);
        let id = order.id;
        let record = match Record::open(order, running.written_down) {
            Ok(record) if running.exit.is_none() => record,
            outcome => {
                let errno = outcome.err().and_then(|error| error.raw_os_error()).unwrap_or(-1);
                running.link.tell(&Report::Recorded { errno });
                self.running = Some(running);
                return Some(self);
            }
        };
        let Self { driver, mut tree, mut door, signals, pumps, grace, .. } = self;
        tree.spare_nobody();
        door.close(Some(&format!("its shell went on with job {id}")));
        let Running { link, phase, written_down: began, .. } = running;
        // Where that fails there are no descriptors left, and the shell ends with us.
        let _ = watch::go_on(FromSession { driver, tree, link, signals, pumps, phase, began, grace, record, pipes });
        None
    }

    /// Takes in what has happened, and does what that asks for.
    pub(super) fn handle(&mut self, event: Event) {
        let Some(running) = &mut self.running else { return };
        let now = Instant::now();
        let (next, effect) = running.phase.step(event, now, self.grace);
        running.phase = next;
        match effect {
            Some(Effect::Ask) => {
                self.driver.interrupt();
                running.interrupt_at = Some(now + INTERRUPT_AGAIN);
                self.tree.ask();
            }
            Some(Effect::Kill) => {
                let killing = running.killing.get_or_insert_with(|| Killing::new(now));
                if running.exit.is_none() && killing.lasts(now) > COME_BACK_AT_MOST {
                    self.kill_shell();
                }
                self.tree.kill();
                if let Some(killing) = self.running.as_mut().and_then(|running| running.killing.as_mut()) {
                    killing.has_killed();
                }
            }
            None => {}
        }
    }

    /// The shell does not come back: everything goes.
    fn kill_shell(&mut self) {
        if let Some(Phase::Stopping { why, .. } | Phase::Killed { why }) = self.running.as_ref().map(|now| now.phase) {
            self.killed_for.get_or_insert(why);
        }
        self.tree.spare_nobody();
        self.tree.kill();
        self.tree.look(self.driver.child.pidfd.as_fd());
    }

    /// Sees how far the command has come.
    pub(super) fn advance(&mut self) {
        let now = Instant::now();
        let shell_exit = self.tree.exit();
        let Some(running) = &mut self.running else { return };
        if let Some(exit) = shell_exit {
            // The end of the shell is the end of what it did.
            running.exit.get_or_insert(exit);
        }
        if running.phase.alarm().is_some_and(|alarm| alarm <= now)
            || running.killing.as_ref().is_some_and(|killing| killing.again_at() <= now)
        {
            self.handle(Event::Tick);
        }
        let pid = self.driver.pid();
        let Some(running) = &mut self.running else { return };
        let Some(exit) = running.exit else {
            if running.tell_at.is_some_and(|due| due <= now) {
                let waited = now - running.began;
                if waited < READ_WITHIN && is_unread(&running.held) {
                    // Then it has not.
                    running.tell_at = Some(now + waited);
                } else {
                    running.tell_at = None;
                    running.link.tell(&Report::Started { pid });
                }
            }
            self.listen(now);
            return self.interrupt_again(now);
        };
        if shell_exit.is_none() && running.is_unread() {
            return self.give_up_unread();
        }
        running.interrupt_at = None;
        let is_stopping = running.is_stopping();
        let gives_up = running.killing.as_mut().is_some_and(|killing| killing.gives_up(now));
        self.is_alone = shell_exit.is_none() && self.tree.is_shell_alone();
        if self.is_alone || self.tree.is_empty() {
            if !is_stopping || shell_exit.is_some() || self.has_come_back(now) {
                self.finish(Event::TreeGone(exit));
            }
        } else if gives_up {
            self.finish(Event::Stuck);
        } else if !is_stopping {
            let Some(running) = &mut self.running else { return };
            if *running.settle_until.get_or_insert(now + SETTLE) <= now {
                self.finish(Event::ShellEnded(exit));
            }
        }
    }

    /// Looks whether the shell has come to the end of the script without a word. Nobody can say how it ended then, and there is
    /// no use for such a shell.
    fn listen(&mut self, now: Instant) {
        let Some(running) = &mut self.running else { return };
        let (due, pause) = running.listen;
        if due > now || running.is_stopping() {
            return;
        }
        let pause = (pause * 2).min(LISTEN_AT_LEAST_EVERY);
        running.listen = (now + pause, pause);
        if !self.driver.waits() {
            return;
        }
        // It may have spoken just before, and then it is in the pipe by now.
        if let Some(word) = self.driver.word() {
            running.hear(word);
        } else {
            self.handle(Event::StopAsked(StopReason::Mute));
            self.kill_shell();
        }
    }

    /// The shell cannot read scripts any more: nothing of this one was done, and another shell may do it.
    fn give_up_unread(&mut self) {
        if let Some(running) = self.running.take_if(|running| running.tell_at.is_some()) {
            self.door.refuse(running.link);
            self.killed_for = Some(StopReason::Mute);
        } else {
            // They have been told that it has begun.
            self.handle(Event::StopAsked(StopReason::Mute));
            self.kill_shell();
        }
    }

    /// A signal may have come between two commands of a loop, or to a shell that does not look at it for long.
    fn interrupt_again(&mut self, now: Instant) {
        let Some(running) = &mut self.running else { return };
        if running.interrupt_at.is_none_or(|due| due > now) {
            return;
        }
        running.interrupt_at = Some(now + INTERRUPT_AGAIN);
        running.rounds += 1;
        self.tree.ask_children_of_shell();
        self.driver.interrupt();
        if running.rounds % 2 == 1 {
            self.driver.interrupt_expansion();
        } else if let Ok(asked) = self.driver.ask_number() {
            // It may be back, and have lost the line that was to tell so.
            let give_up = now + COME_BACK_AT_MOST;
            running.number = Some(Number { asked, is_said: false, again_at: now + INTERRUPT_AGAIN, give_up });
        }
    }

    /// Whether a shell that was interrupted has shown that it does what it is told again: an interrupt that came late must
    /// not hit the next command. One that does not is killed.
    fn has_come_back(&mut self, now: Instant) -> bool {
        let Some(running) = &mut self.running else { return true };
        match &mut running.number {
            Some(number) if number.is_said => return true,
            Some(number) if now >= number.give_up => {
                self.kill_shell();
                return true;
            }
            Some(number) if now < number.again_at => return false,
            _ => {}
        }
        let Ok(asked) = self.driver.ask_number() else {
            self.kill_shell();
            return true;
        };
        let give_up = running.number.as_ref().map_or(now + COME_BACK_AT_MOST, |number| number.give_up);
        running.number = Some(Number { asked, is_said: false, again_at: now + INTERRUPT_AGAIN, give_up });
        false
    }

    /// Tells how it ended.
    fn finish(&mut self, event: Event) {
        self.handle(event);
        let Some(Running { mut link, phase: Phase::Ended(end), tell_at, held, .. }) = self.running.take() else {
            return;
        };
        if matches!(end, End::Own(_)) && tell_at.is_some() && self.tree.exit().is_some() && is_unread(&held) {
            // The shell was killed before it had begun, and another one may.
            return self.door.refuse(link);
        }
        let left = if self.is_alone { Vec::new() } else { self.tree.left() };
        if self.tree.exit().is_some()
            && let Some(output) = held.first()
        {
            self.driver.pass_on_own(output);
        }
        let shell_stays = self.tree.exit().is_none() && self.ends.is_none() && self.killed_for.is_none();
        let ended = Report::Ended { end, left, shell_stays, at: boot_time() };
        let started = tell_at.map(|_| Report::Started { pid: self.driver.pid() });
        // First: whoever is told may look at once.
        self.be_idle();
        link.tell_all(started.iter().chain([&ended]));
        // Only the command's own processes are to hold the writing end of its output.
        drop(held);
        self.door.keep(link);
    }
}

/// Whether it is certain that the shell has not read its script, so that nothing of it can have been done. Nobody can tell
/// of a script in a file.
fn is_unread(held: &[OwnedFd]) -> bool {
    // What a pipe still holds; of a file, what is behind where it was written to last: nothing.
    held.get(driver::SCRIPT).is_some_and(|script| rustix::io::ioctl_fionread(script).is_ok_and(|bytes| bytes > 0))
}
