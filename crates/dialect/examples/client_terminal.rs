//! Commands in a terminal of the host: an editor shows what runs, and owns the process.
#![expect(clippy::print_stdout, reason = "it shows its result")]

use std::collections::HashMap;
use std::error::Error;
use std::os::unix::process::ExitStatusExt;
use std::process::{Output, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use bashful_dialect::{Dialect, Limits, ToolCaller, Toolbox};
use bashful_engine::{
    BoxFuture, ClientTerminal, ClientTerminalError, Engine, Options, TerminalCommand, TerminalExit, TerminalText,
};
use tokio::process::Command;
use tokio::sync::watch;

/// The terminals of a host. A real one would show them.
#[derive(Debug, Default)]
struct Panels(Mutex<HashMap<String, Panel>>);

/// A terminal: its text once the command has ended, and the way to kill it.
#[derive(Debug, Clone)]
struct Panel {
    ended: watch::Receiver<Option<TerminalText>>,
    kill: watch::Sender<bool>,
}

impl Panels {
    fn panel(&self, id: &str) -> Result<Panel, ClientTerminalError> {
        let panels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        panels.get(id).cloned().ok_or_else(|| ClientTerminalError(format!("no terminal {id}")))
    }
}

impl ClientTerminal for Panels {
    fn create(&self, command: TerminalCommand) -> BoxFuture<'_, Result<String, ClientTerminalError>> {
        Box::pin(async move {
            let (end, ended) = watch::channel(None);
            let (kill, mut killed) = watch::channel(false);
            let mut process = Command::new(&command.program);
            process.args(&command.args).envs(command.env).current_dir(&command.cwd).stdin(Stdio::null());
            let running = process.kill_on_drop(true).output();
            tokio::spawn(async move {
                // A killed process is dropped. A panel with live output would read the pipes instead.
                let output = tokio::select! {
                    output = running => output.ok(),
                    _ = killed.wait_for(|killed| *killed) => None,
                };
                end.send_replace(Some(text(output)));
            });
            let mut panels = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            let id = format!("panel-{}", panels.len() + 1);
            panels.insert(id.clone(), Panel { ended, kill });
            Ok(id)
        })
    }

    fn output<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<TerminalText, ClientTerminalError>> {
        Box::pin(async move { Ok(self.panel(id)?.ended.borrow().clone().unwrap_or_default()) })
    }

    fn wait_for_exit<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<TerminalExit, ClientTerminalError>> {
        Box::pin(async move {
            let mut panel = self.panel(id)?;
            let ended = panel.ended.wait_for(Option::is_some).await;
            let ended = ended.map_err(|error| ClientTerminalError(error.to_string()))?;
            Ok(ended.as_ref().and_then(|text| text.exit.clone()).unwrap_or_default())
        })
    }

    fn kill<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), ClientTerminalError>> {
        Box::pin(async move {
            self.panel(id)?.kill.send_replace(true);
            Ok(())
        })
    }

    fn release<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), ClientTerminalError>> {
        Box::pin(async move {
            println!("[{id} is released]");
            self.kill(id).await
        })
    }
}

fn text(output: Option<Output>) -> TerminalText {
    let Some(output) = output else {
        let exit = TerminalExit { code: None, signal: Some("SIGKILL".to_owned()) };
        return TerminalText { exit: Some(exit), ..TerminalText::default() };
    };
    let signal = output.status.signal().map(|number| number.to_string());
    let exit = TerminalExit { code: output.status.code().map(i32::cast_unsigned), signal };
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    TerminalText { text, is_cut: false, exit: Some(exit) }
}

fn main() -> Result<(), Box<dyn Error>> {
    bashful_engine::keeper_main(); // first thing in `main`
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let engine = Engine::new(Options::new("/bin/bash".into(), "/".into()).inherit())?;
        let toolbox = Toolbox::new(engine, Dialect::PI, Limits::default(), "/".as_ref());
        let panels = Arc::new(Panels::default());
        for command in ["echo in a panel; exit 3", "sleep 1000"] {
            let caller = ToolCaller { client_terminal: Some(Arc::clone(&panels) as _), ..ToolCaller::default() };
            let arguments = serde_json::json!({ "command": command, "timeout": 1 });
            let answer = toolbox.call("bash", arguments, caller).await?;
            println!("$ {command}\n{}\n{}", answer.text, answer.facts["terminalId"]);
        }
        Ok(())
    })
}
