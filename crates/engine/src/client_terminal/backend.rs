//! The client's terminals as a backend.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bashful_keeper::StopReason;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use super::supervise::Supervisor;
use super::{CLIENT_OUTPUT_LIMIT, ClientTerminal, ClientView, TerminalCommand, TerminalText};
use crate::backend::{Attached, Backend, BoxFuture, Outputs, StartError};
use crate::check::Checked;
use crate::link::{Ended, Link};
use crate::plan::{self, Plan, PlanError};
use crate::promises::Promises;

/// Runs commands in terminals of the client.
///
/// The client has to see the same files as the engine, under the same paths: the guard judges a command by them.
#[derive(Debug)]
pub struct ClientBackend {
    terminal: Arc<dyn ClientTerminal>,
    /// Variables that are not sent: the client has its own.
    host_environment: Vec<(OsString, OsString)>,
}

impl ClientBackend {
    /// A backend that runs its commands in terminals of this client. Of the variables of a command, those that differ
    /// from `host_environment` are sent.
    pub fn new(terminal: Arc<dyn ClientTerminal>, host_environment: Vec<(OsString, OsString)>) -> Self {
        Self { terminal, host_environment }
    }

    fn command(&self, plan: &Plan) -> TerminalCommand {
        let is_own = |name: &OsString, value: &OsString| {
            let of_host = self.host_environment.iter().find(|(known, _)| known == name);
            of_host.is_none_or(|(_, known)| known != value)
        };
        let own = plan.environment.variables.iter().filter(|(name, value)| is_own(name, value));
        let text = |text: &OsString| text.to_string_lossy().into_owned();
        TerminalCommand {
            program: plan.shell.clone(),
            args: vec!["-c".to_owned(), String::from_utf8_lossy(plan.script.as_bytes()).into_owned()],
            env: own.map(|(name, value)| (text(name), text(value))).collect(),
            cwd: plan.directory.clone(),
            output_byte_limit: CLIENT_OUTPUT_LIMIT,
        }
    }
}

impl Backend for ClientBackend {
    fn working_directory(&self, base: &Path, asked: Option<&Path>) -> Result<PathBuf, PlanError> {
        plan::directory(base, asked)
    }

    fn is_directory(&self, path: &Path) -> bool {
        path.is_dir()
    }

    fn start<'a>(&'a self, checked: &'a Checked) -> BoxFuture<'a, Result<Attached, StartError>> {
        Box::pin(async move {
            let plan = checked.plan();
            // The text comes through `ClientView`; nothing is ever read from here.
            let (unused, _) = std::io::pipe()?;
            let (orders, ordered) = mpsc::unbounded_channel();
            let (ended, ends) = mpsc::unbounded_channel();
            let (published, text) = watch::channel(TerminalText::default());
            let link = ClientLink { orders, ends };
            let supervisor =
                Supervisor { terminal: Arc::clone(&self.terminal), orders: ordered, text: published, ended };
            let (created, creating) = oneshot::channel();
            let lifetime = plan.lifetime.0;
            // A task of its own, because a terminal that is created after a cancel has to be killed.
            tokio::spawn(supervisor.run(self.command(plan), lifetime, created));
            let terminal_id = match timeout(lifetime, creating).await {
                Ok(Ok(created)) => created.map_err(StartError::ClientTerminal)?,
                // The task has panicked.
                Ok(Err(_)) => return Err(StartError::KeeperGone),
                Err(_) => return Err(StartError::ClientSilent { seconds: lifetime.as_secs_f64() }),
            };
            let attached = Attached::new(Box::new(link), Outputs::Combined(OwnedFd::from(unused)), None)?;
            Ok(attached.in_client(ClientView { terminal_id, text }))
        })
    }

    fn promises(&self) -> Promises {
        Promises::of_client_terminals()
    }
}

/// A command in a terminal of the client. Dropping it closes `orders`, and the supervisor then kills and releases.
#[derive(Debug)]
struct ClientLink {
    orders: mpsc::UnboundedSender<StopReason>,
    ends: mpsc::UnboundedReceiver<Ended>,
}

impl Link for ClientLink {
    fn ended(&mut self) -> BoxFuture<'_, Option<Ended>> {
        Box::pin(self.ends.recv())
    }

    fn stop(&mut self, why: StopReason) -> BoxFuture<'_, ()> {
        // A command that has ended needs no stop.
        let _ = self.orders.send(why);
        Box::pin(std::future::ready(()))
    }
}
