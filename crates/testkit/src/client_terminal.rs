//! A client with terminals of real processes.
//!
//! It behaves as clients do: a kill reaches the shell alone, the text is cut from the beginning, and a released terminal
//! is forgotten. A terminal that is released while its command runs is killed.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use bashful_engine::{BoxFuture, ClientTerminal, ClientTerminalError, TerminalCommand, TerminalExit, TerminalText};
use rustix::process::{Pid, Signal, kill_process};
use tokio::net::unix::pipe::Receiver;
use tokio::process::{Child, Command};
use tokio::sync::watch;

/// A client whose terminals are processes.
#[derive(Debug, Default)]
pub struct ProcessTerminals {
    /// The client's own variables.
    environment: Vec<(OsString, OsString)>,
    state: Mutex<Terminals>,
}

/// The terminals that a client has created.
#[derive(Debug, Default)]
struct Terminals {
    open: HashMap<String, Arc<OpenTerminal>>,
    created: Vec<TerminalCommand>,
    killed: usize,
    released: usize,
}

#[derive(Debug)]
struct OpenTerminal {
    pid: Pid,
    state: watch::Receiver<TerminalState>,
}

/// The text of a terminal in bytes, and its exit status.
#[derive(Debug, Default)]
struct TerminalState {
    text: Vec<u8>,
    limit: usize,
    is_cut: bool,
    exit: Option<TerminalExit>,
}

impl ProcessTerminals {
    /// A client with these variables.
    pub fn new(environment: Vec<(OsString, OsString)>) -> Self {
        Self { environment, ..Self::default() }
    }

    /// The commands of all terminals that were created.
    pub fn created(&self) -> Vec<TerminalCommand> {
        self.locked().created.clone()
    }

    /// Number of terminals that were killed, and released.
    pub fn killed_and_released(&self) -> (usize, usize) {
        let state = self.locked();
        (state.killed, state.released)
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Terminals> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, id: &str) -> Result<Arc<OpenTerminal>, ClientTerminalError> {
        self.locked().open.get(id).cloned().ok_or_else(|| ClientTerminalError(format!("no terminal {id}")))
    }

    fn start(&self, command: TerminalCommand) -> io::Result<String> {
        let (read, write) = io::pipe()?;
        let child = Command::new(&command.program)
            .args(&command.args)
            .current_dir(&command.cwd)
            .env_clear()
            .envs(self.environment.iter().cloned())
            .envs(command.env.iter().cloned())
            .stdin(Stdio::null())
            .stdout(write.try_clone()?)
            .stderr(write)
            .spawn()?;
        let pid = child.id().and_then(|id| Pid::from_raw(id.cast_signed())).expect("nobody has waited for it");
        let state = TerminalState { limit: command.output_byte_limit, ..TerminalState::default() };
        let (tell, state) = watch::channel(state);
        tokio::spawn(show(child, Receiver::from_owned_fd(OwnedFd::from(read))?, tell));
        let mut terminals = self.locked();
        terminals.created.push(command);
        let id = format!("term_{}", terminals.created.len());
        terminals.open.insert(id.clone(), Arc::new(OpenTerminal { pid, state }));
        Ok(id)
    }
}

impl ClientTerminal for ProcessTerminals {
    fn create(&self, command: TerminalCommand) -> BoxFuture<'_, Result<String, ClientTerminalError>> {
        Box::pin(async move { self.start(command).map_err(|error| ClientTerminalError(error.to_string())) })
    }

    fn output<'a>(&'a self, terminal_id: &'a str) -> BoxFuture<'a, Result<TerminalText, ClientTerminalError>> {
        Box::pin(async move {
            let terminal = self.open(terminal_id)?;
            let state = terminal.state.borrow();
            let text = String::from_utf8_lossy(&state.text).into_owned();
            Ok(TerminalText { text, is_cut: state.is_cut, exit: state.exit.clone() })
        })
    }

    fn wait_for_exit<'a>(&'a self, terminal_id: &'a str) -> BoxFuture<'a, Result<TerminalExit, ClientTerminalError>> {
        Box::pin(async move {
            let mut state = self.open(terminal_id)?.state.clone();
            let ended = state.wait_for(|state| state.exit.is_some()).await;
            let ended = ended.map_err(|error| ClientTerminalError(error.to_string()))?;
            Ok(ended.exit.clone().expect("it was waited for"))
        })
    }

    fn kill<'a>(&'a self, terminal_id: &'a str) -> BoxFuture<'a, Result<(), ClientTerminalError>> {
        Box::pin(async move {
            let terminal = self.open(terminal_id)?;
            self.locked().killed += 1;
            terminal.kill();
            Ok(())
        })
    }

    fn release<'a>(&'a self, terminal_id: &'a str) -> BoxFuture<'a, Result<(), ClientTerminalError>> {
        Box::pin(async move {
            let terminal = self.open(terminal_id)?;
            let mut terminals = self.locked();
            terminals.open.remove(terminal_id);
            terminals.released += 1;
            terminal.kill();
            Ok(())
        })
    }
}

impl OpenTerminal {
    fn kill(&self) {
        if self.state.borrow().exit.is_none() {
            // It may end at this moment; nobody has waited for it before its exit is told.
            let _ = kill_process(self.pid, Signal::KILL);
        }
    }
}

/// Shows what the command writes, until the shell has ended and the pipe is closed.
async fn show(mut child: Child, pipe: Receiver, state: watch::Sender<TerminalState>) {
    let mut is_open = true;
    let mut has_ended = false;
    while is_open || !has_ended {
        tokio::select! {
            status = child.wait(), if !has_ended => {
                has_ended = true;
                // What the shell has written is in the pipe by now.
                is_open = is_open && read(&pipe, &state);
                state.send_modify(|state| state.exit = Some(as_exit(status.expect("it can be waited for"))));
            }
            ready = pipe.readable(), if is_open => is_open = ready.is_ok() && read(&pipe, &state),
        }
    }
}

/// Reads what the pipe holds now. False at its end.
fn read(pipe: &Receiver, state: &watch::Sender<TerminalState>) -> bool {
    let mut buffer = [0; 8192];
    loop {
        match pipe.try_read(&mut buffer) {
            Ok(0) => return false,
            Ok(count) => state.send_modify(|state| state.push(&buffer[..count])),
            Err(error) => return error.kind() == io::ErrorKind::WouldBlock,
        }
    }
}

impl TerminalState {
    fn push(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
        let surplus = self.text.len().saturating_sub(self.limit);
        self.text.drain(..surplus);
        self.is_cut |= surplus > 0;
    }
}

fn as_exit(status: ExitStatus) -> TerminalExit {
    TerminalExit {
        code: status.code().map(i32::cast_unsigned),
        signal: status.signal().map(|number| bashful_sys::signal::name(number).unwrap_or("SIGUNKNOWN").to_owned()),
    }
}
