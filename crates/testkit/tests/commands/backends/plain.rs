//! A backend from outside of the engine: bash as a child of this program, in a process group of its own.
//!
//! The backend promises little. A stop reaches the process group alone, and the whole group ends with its shell.

use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use bashful_engine::{
    Attached, Backend, BoxFuture, Checked, End, Ended, Exit, KeeperForm, Link, Outputs, Plan, PlanError, Promises,
    StartError, StopReason, Streams, working_directory,
};
use bashful_sys::terminal::Terminal;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

/// Commands as children of this program.
#[derive(Debug)]
pub(crate) enum Plain {
    /// Their output goes through pipes.
    Piped,
    /// Commands write to a terminal, whatever the plan says about streams.
    InTerminal,
}

/// A command under way. Dropping it closes `stops`, which kills the group.
#[derive(Debug)]
struct PlainLink {
    stops: mpsc::UnboundedSender<StopReason>,
    ends: mpsc::UnboundedReceiver<Ended>,
}

impl Backend for Plain {
    fn working_directory(&self, base: &Path, asked: Option<&Path>) -> Result<PathBuf, PlanError> {
        working_directory(base, asked)
    }

    fn is_directory(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn start<'a>(&'a self, checked: &'a Checked) -> BoxFuture<'a, Result<Attached, StartError>> {
        Box::pin(async move { Ok(self.spawn(checked.plan())?) })
    }

    fn promises(&self) -> Promises {
        Promises {
            keeper: KeeperForm::Backend,
            catches_daemons: false,
            survives_own_death: false,
            survives_keeper_death: false,
            leftovers_keep_writing: false,
            keepers_are_small: false,
            stops_the_tree: true,
            withholds_variables: true,
            keeps_whole_output: true,
        }
    }
}

impl Plain {
    fn spawn(&self, plan: &Plan) -> io::Result<Attached> {
        let (outputs, stdout, stderr) = self.outputs(plan.streams)?;
        let child = Command::new(&plan.shell)
            .arg("-c")
            .arg(OsStr::from_bytes(plan.script.as_bytes()))
            .current_dir(&plan.directory)
            .env_clear()
            .envs(&plan.environment.variables)
            .stdin(Stdio::null())
            .stdout(stdout)
            .stderr(stderr)
            .process_group(0)
            .spawn()?;
        let group = child.id().and_then(|id| Pid::from_raw(id.cast_signed())).expect("nobody has waited for it");
        let (stops, asked) = mpsc::unbounded_channel();
        let (tell, ends) = mpsc::unbounded_channel();
        let (lifetime, grace) = (plan.lifetime.0, plan.grace.0);
        tokio::spawn(async move {
            let ended = supervise(child, group, asked, lifetime, grace).await;
            // The receiver may be gone.
            let _ = tell.send(ended);
        });
        Attached::new(Box::new(PlainLink { stops, ends }), outputs, Some(group.as_raw_nonzero().get()))
    }

    /// The ends that the engine reads, and those that the command gets as standard output and standard error.
    fn outputs(&self, streams: Streams) -> io::Result<(Outputs, Stdio, Stdio)> {
        if matches!(self, Self::InTerminal) || streams.terminal().is_some() {
            let Terminal { outside, inside, .. } = Terminal::new()?;
            return Ok((Outputs::Terminal(outside), inside.try_clone()?.into(), inside.into()));
        }
        let (stdout, write) = std::io::pipe()?;
        Ok(match streams {
            Streams::Combined | Streams::Terminal(_) => {
                (Outputs::Combined(stdout.into()), write.try_clone()?.into(), write.into())
            }
            Streams::Split => {
                let (stderr, write_stderr) = std::io::pipe()?;
                let outputs = Outputs::Split { stdout: stdout.into(), stderr: OwnedFd::from(stderr) };
                (outputs, write.into(), write_stderr.into())
            }
        })
    }
}

impl Link for PlainLink {
    fn ended(&mut self) -> BoxFuture<'_, Option<Ended>> {
        Box::pin(self.ends.recv())
    }

    fn stop(&mut self, why: StopReason) -> BoxFuture<'_, ()> {
        // A process that has ended has reported it.
        let _ = self.stops.send(why);
        Box::pin(std::future::ready(()))
    }
}

/// Waits for the end of the shell, and brings it about when it is asked for or the time is up.
async fn supervise(
    mut child: Child,
    group: Pid,
    mut asked: mpsc::UnboundedReceiver<StopReason>,
    lifetime: Duration,
    grace: Duration,
) -> Ended {
    let mut why = None;
    let mut due = Instant::now() + lifetime;
    let status = loop {
        let asks = tokio::select! {
            status = child.wait() => break status,
            asked = asked.recv() => asked,
            () = sleep_until(due) => Some(StopReason::TimeUp),
        };
        match asks {
            Some(reason) if why.is_none() => {
                why = Some(reason);
                due = Instant::now() + grace;
                send(group, Signal::TERM);
            }
            // Asked twice, past its grace, or nobody is left.
            _ => {
                send(group, Signal::KILL);
                break child.wait().await;
            }
        }
    };
    send(group, Signal::KILL);
    let Ok(exit) = status.map(as_exit) else { return Ended::now(End::Lost) };
    Ended::now(why.map_or(End::Own(exit), |why| End::Stopped { why, exit }))
}

fn send(group: Pid, signal: Signal) {
    // There may be nobody left in it.
    let _ = kill_process_group(group, signal);
}

fn as_exit(status: ExitStatus) -> Exit {
    let small = |number: i32| u8::try_from(number).expect("the system has 8 bits for it");
    match (status.code(), status.signal()) {
        (Some(code), _) => Exit::Code(small(code)),
        (None, signal) => Exit::Signal(small(signal.expect("it has ended"))),
    }
}
