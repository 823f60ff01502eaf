//! A command that is typed at the prompt of a shell that stays.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bashful_sys::pidfd;
use bashful_sys::proc::{self, Process};
use bashful_sys::signal::Signal;
use tokio::runtime::Handle;

use super::{JobTerminal, shell_at};
use crate::units::Grace;

/// Longest time for an interrupt to be typed.
const INTERRUPT_WAIT: Duration = Duration::from_secs(1);

/// Longest time in which what is left of a stopped command is killed, again and again.
const KILLING: Duration = Duration::from_secs(5);

/// Pause between two looks at the processes of a stopped command.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// A command at the prompt of a shell. Dropping it stops the command, on a task of its own; the shell stays, and so do the
/// processes that were there before. [`leave`](Self::leave) lets the command go on.
#[derive(Debug)]
pub struct CommandAtPrompt {
    terminal: Option<Arc<JobTerminal>>,
    /// The shell, and everything that earlier commands have left.
    spared: Vec<Process>,
    grace: Grace,
}

impl CommandAtPrompt {
    /// Begins before the command is typed; none if the shell is not at its prompt, where another program would get the command as
    /// its input. Waits until an earlier command that is being stopped is gone: the stop would take this one for a part of it.
    pub async fn new(terminal: Arc<JobTerminal>, grace: Grace) -> Option<Self> {
        drop(terminal.stopping.lock().await);
        let spared = processes(&terminal);
        is_at_prompt(&terminal).then_some(Self { terminal: Some(terminal), spared, grace })
    }

    /// Lets the command go on.
    pub fn leave(mut self) {
        self.terminal = None;
    }
}

impl Drop for CommandAtPrompt {
    fn drop(&mut self) {
        let Some(terminal) = self.terminal.take() else { return };
        let (spared, grace) = (std::mem::take(&mut self.spared), self.grace);
        // Without a runtime the program ends, and the shell with it.
        if let Ok(runtime) = Handle::try_current() {
            let held = Arc::clone(&terminal.stopping).try_lock_owned();
            runtime.spawn(async move {
                stop(&terminal, &spared, grace).await;
                drop(held);
            });
        }
    }
}

fn is_at_prompt(terminal: &JobTerminal) -> bool {
    terminal.terminal().and_then(shell_at).is_some_and(|shell| shell.is_foreground)
}

/// The processes at a terminal and below it.
fn processes(terminal: &JobTerminal) -> Vec<Process> {
    terminal.store.keeper(terminal.id).map(|keeper| proc::descendants(keeper.pid)).unwrap_or_default()
}

/// Interrupts the command, and asks all processes to end that are not spared. What is left after the grace is killed.
async fn stop(terminal: &JobTerminal, spared: &[Process], grace: Grace) {
    if let Some(terminal) = terminal.terminal() {
        // A program that does not read is signaled like the others.
        let _ = terminal.type_bytes(b"\x03", INTERRUPT_WAIT).await;
    }
    let is_spared = |process: &Process| spared.iter().any(|one| (one.pid, one.began) == (process.pid, process.began));
    let left = || processes(terminal).into_iter().filter(|process| !is_spared(process)).collect::<Vec<_>>();
    let signal = |processes: &[Process], signals: &[Signal]| {
        for process in processes {
            // One that has ended meanwhile needs no signal.
            let _ = pidfd::send_to(process, signals);
        }
    };
    signal(&left(), &[Signal::TERM, Signal::HUP, Signal::CONT]);
    let kill_at = Instant::now() + grace.0;
    let give_up = kill_at + KILLING;
    loop {
        let processes = left();
        // The shell takes the terminal back a moment after its command has ended.
        if (processes.is_empty() && is_at_prompt(terminal)) || Instant::now() > give_up {
            return;
        }
        if Instant::now() >= kill_at {
            // First all are stopped, so that none starts another one while the rest is killed.
            signal(&processes, &[Signal::STOP]);
            signal(&left(), &[Signal::KILL]);
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}
