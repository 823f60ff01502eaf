//! `bashful run --pty`: a command has the terminal of the person who has started it.
//!
//! The command has a terminal of its own. Keys of the person are typed into it, its output goes to the screen as it is, and it
//! follows the size of the screen. [`Attendance`] is all of that, from the start of the command to its end.

mod host;
mod screen;
mod typing;

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{self, IsTerminal};
use std::time::Duration;

use bashful_engine::{
    AttendedTerminal, EnvError, EnvironmentPolicy, OutputStream, Request, StopReason, Streams, TerminalRequest,
};
use bashful_sys::signal::{self, Signal};
use tokio::signal::unix::{SignalKind, signal as listen};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep_until};

use crate::direct::{Direct, Writing};
use crate::print;
use crate::settings::Settings;
use crate::setup;
use crate::surroundings::Surroundings;
use crate::suspend::SUSPENDED;
use host::HostTerminal;

/// A paused program has written its last bytes just before. They are shown before the terminal goes back to the shell.
const SETTLE: Duration = Duration::from_millis(50);

/// True if a person types at standard input.
pub(crate) fn is_attended() -> bool {
    io::stdin().is_terminal()
}

/// Asks for a terminal of the size of this one, with the variables that the person has for it.
pub(crate) fn ask_for_terminal(
    request: &mut Request,
    settings: &Settings,
    around: &Surroundings,
) -> Result<(), EnvError> {
    let size = HostTerminal::new().size();
    request.streams = Streams::Terminal(TerminalRequest { size: size.unwrap_or_default(), unattended: false });
    for (name, value) in own_variables(settings, around, size.is_some())? {
        if !request.env.iter().any(|(given, _)| *given == name) {
            request.env.push((name, value));
        }
    }
    Ok(())
}

/// Variables that are set for unattended work and removed at a terminal, as the person has them: the editor, the pager. On a screen
/// the type of the terminal is the person's too. Variables that are withheld stay so.
fn own_variables(
    settings: &Settings,
    around: &Surroundings,
    has_terminal: bool,
) -> Result<Vec<(String, OsString)>, EnvError> {
    let policy = settings.environment.policy();
    let EnvironmentPolicy { set, terminal, .. } = &policy;
    let is_removed = |name: &str| terminal.get(name).is_some_and(Option::is_none);
    let names = set.keys().filter(|name| is_removed(name) || (has_terminal && *name == "TERM")).cloned();
    let names: Vec<String> = names.collect();
    let own = EnvironmentPolicy { set: BTreeMap::new(), terminal: BTreeMap::new(), ..policy.clone() };
    let mut own = own.resolve(&setup::host_environment(around), &[])?.variables;
    let value = |name: String| own.remove(OsStr::new(&name)).map(|value| (name, value));
    Ok(names.into_iter().filter_map(value).filter(|(_, value)| !value.is_empty()).collect())
}

/// A command at the terminal of a person.
pub(crate) struct Attendance {
    host: HostTerminal,
    /// None once it has arrived, or never will.
    arriving: Option<oneshot::Receiver<AttendedTerminal>>,
    under_way: Option<UnderWay>,
    resized: tokio::signal::unix::Signal,
    asked_to_pause: Option<tokio::signal::unix::Signal>,
    /// The reason why a part of standard input could not be typed.
    pub(crate) input_problem: Option<String>,
}

/// The command, while it runs.
struct UnderWay {
    attended: AttendedTerminal,
    /// None once standard input has ended.
    typing: Option<JoinHandle<Option<String>>>,
    /// The command is paused, and its last bytes are on their way.
    settles: Option<Instant>,
}

/// Nothing is typed any more, whatever the reason.
impl Drop for UnderWay {
    fn drop(&mut self) {
        self.typing.iter().for_each(JoinHandle::abort);
    }
}

/// The next event of an attended command.
pub(crate) enum Happened {
    /// None if the command was never started.
    Began(Option<AttendedTerminal>),
    Resized,
    AskedToPause,
    Paused,
    Settled,
    /// Standard input has, for this reason if it was not at its end.
    InputEnded(Option<String>),
}

impl Attendance {
    /// Attends to a command, and the end for [`Caller::terminal`](bashful_engine::Caller::terminal).
    pub(crate) fn new() -> io::Result<(Self, oneshot::Sender<AttendedTerminal>)> {
        let (host, arriving) = oneshot::channel();
        // Somebody who ignores it is not to be stopped.
        let may_pause = !signal::is_ignored(Signal::TSTP);
        let asked_to_pause = may_pause.then(|| listen(SignalKind::from_raw(Signal::TSTP.as_raw()))).transpose()?;
        let attendance = Self {
            host: HostTerminal::new(),
            arriving: Some(arriving),
            under_way: None,
            resized: listen(SignalKind::window_change())?,
            asked_to_pause,
            input_problem: None,
        };
        Ok((attendance, host))
    }

    /// Shows the output.
    pub(crate) fn show(&self, stream: OutputStream) -> Writing {
        Direct { stderr: true }.write(stream, self.host.watch_screen())
    }

    /// Waits until there is something to do. May be dropped: nothing is lost.
    pub(crate) async fn next(&mut self) -> Happened {
        if let Some(arriving) = &mut self.arriving {
            let arrived = arriving.await.ok();
            self.arriving = None;
            return Happened::Began(arrived);
        }
        let Some(UnderWay { attended, typing, settles }) = &mut self.under_way else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = self.resized.recv() => Happened::Resized,
            () = pause_asked(&mut self.asked_to_pause) => Happened::AskedToPause,
            Ok(()) = attended.suspensions.changed() => Happened::Paused,
            () = due(*settles) => Happened::Settled,
            problem = typed(typing) => Happened::InputEnded(problem),
            else => std::future::pending().await,
        }
    }

    /// Does what is to be done.
    pub(crate) fn react(&mut self, happened: Happened) -> io::Result<()> {
        match (happened, &mut self.under_way) {
            (Happened::Began(Some(attended)), _) => self.begin(attended)?,
            (Happened::Resized, Some(under_way)) => self.host.adopt_size(&under_way.attended),
            (Happened::AskedToPause, Some(under_way)) if self.host.has_keys => under_way.attended.suspend(),
            (Happened::Paused, Some(under_way)) => under_way.settles = Some(Instant::now() + SETTLE),
            (Happened::InputEnded(Some(problem)), Some(under_way)) => {
                self.input_problem = Some(problem);
                under_way.attended.stop(StopReason::Cancelled);
            }
            (Happened::Settled, Some(under_way)) => {
                under_way.settles = None;
                // Nobody could continue it where nobody types.
                if self.host.has_keys && self.asked_to_pause.is_some() {
                    self.host.give_back();
                    self.begin_line();
                    print::talk(SUSPENDED);
                    signal::stop_group()?;
                    self.host.take_over()?;
                }
                if let Some(under_way) = &self.under_way {
                    self.host.adopt_size(&under_way.attended);
                    under_way.attended.resume();
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, attended: AttendedTerminal) -> io::Result<()> {
        self.host.take_over()?;
        // It may have changed since the command was asked for.
        self.host.adopt_size(&attended);
        let typing = tokio::spawn(typing::type_input(attended.terminal.clone()));
        self.under_way = Some(UnderWay { attended, typing: Some(typing), settles: None });
        Ok(())
    }

    /// Gives the person's terminal back, and lets the reply come.
    pub(crate) fn end(&mut self) {
        if self.under_way.is_some() {
            self.host.give_back();
        }
        self.under_way = None;
    }

    /// Ends the line that the command has left unfinished, before something is said.
    pub(crate) fn begin_line(&self) {
        if self.host.is_mid_line() {
            print::line_end();
        }
    }
}

impl HostTerminal {
    fn adopt_size(&self, attended: &AttendedTerminal) {
        if let Some(size) = self.size() {
            // A terminal that is gone has no size.
            let _ = attended.terminal.resize(size);
        }
    }
}

/// Waits for the end of standard input; for ever if that has come.
async fn typed(typing: &mut Option<JoinHandle<Option<String>>>) -> Option<String> {
    let Some(task) = typing else { return std::future::pending().await };
    let problem = task.await.ok().flatten();
    *typing = None;
    problem
}

async fn pause_asked(signal: &mut Option<tokio::signal::unix::Signal>) {
    match signal {
        Some(signal) => drop(signal.recv().await),
        None => std::future::pending().await,
    }
}

async fn due(when: Option<Instant>) {
    match when {
        Some(when) => sleep_until(when).await,
        None => std::future::pending().await,
    }
}
