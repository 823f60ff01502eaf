//! One server and its client, over standard input and output, with a bound on every answer.

use std::error::Error;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::{Value, json};

use super::catalog::{Peer, SCRIPT, SCRIPT_RUNNER};

/// Only a server that hangs takes as long to start.
const STARTS_WITHIN: Duration = Duration::from_mins(1);

/// A variable whose name says secret, and its value. Every server has it in its environment.
pub(super) const SECRET: (&str, &str) = ("ACME_API_TOKEN", "canary-5f0c1e9a7b");

/// A line of an answer.
pub(super) struct Answer {
    /// Bytes on the wire, with the notifications that came before it.
    pub(super) bytes: usize,
    pub(super) message: Value,
}

impl Answer {
    /// All texts of the result, or the message of the error.
    pub(super) fn text(&self) -> String {
        let parts = self.message["result"]["content"].as_array().map_or(&[][..], Vec::as_slice);
        let texts: Vec<&str> = parts.iter().filter_map(|part| part["text"].as_str()).collect();
        match self.message["error"]["message"].as_str() {
            Some(error) => error.to_owned(),
            None => texts.join("\n"),
        }
    }
}

/// A running server. It is killed when its client is dropped.
pub(super) struct Client<'a> {
    peer: &'a Peer,
    child: Child,
    // None once the client has hung up.
    input: Option<ChildStdin>,
    output: Option<ChildStdout>,
    received: Vec<u8>,
    last_id: u64,
    home: PathBuf,
    timeout: Option<u64>,
}

impl<'a> Client<'a> {
    /// Starts a server in this home directory and greets it. `timeout` is the one that the case asks for, in seconds.
    pub(super) fn start(
        peer: &'a Peer,
        bashful: &Path,
        peers: &Path,
        home: &Path,
        timeout: Option<u64>,
    ) -> Result<Self, Box<dyn Error>> {
        furnish(peer, home)?;
        let line = peer.command(bashful, peers);
        let mut command = Command::new(&line[0]);
        command.args(&line[1..]).current_dir(home).env_clear();
        command.env("HOME", home).env("TMPDIR", home).env("LANG", "C.UTF-8").env(SECRET.0, SECRET.1);
        command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).envs((peer.variables)(home, timeout));
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(std::fs::File::create(home.join("stderr"))?);
        let mut child = command.spawn().map_err(|error| format!("cannot start {}: {error}", peer.name))?;
        let (input, output) = (child.stdin.take(), child.stdout.take());
        let home = home.to_path_buf();
        let mut client = Self { peer, child, input, output, received: Vec::new(), last_id: 0, home, timeout };
        let hello = json!({
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" },
        });
        let id = client.ask("initialize", &hello)?;
        client.answer(id, STARTS_WITHIN)?.ok_or_else(|| client.failure("does not start"))?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        if let Some((method, params)) = peer.setup {
            let id = client.ask(method, &params(&client.home))?;
            let answer = client.answer(id, STARTS_WITHIN)?.ok_or_else(|| client.failure("is not set up"))?;
            if answer.message["error"].is_object() {
                return Err(format!("{} refuses {method}: {}", peer.name, answer.text()).into());
            }
        }
        Ok(client)
    }

    /// Calls the tool with a script, and returns the id of the request.
    pub(super) fn call(&mut self, script: &str) -> Result<u64, Box<dyn Error>> {
        if script.contains(' ') {
            std::fs::write(self.home.join(SCRIPT), script)?;
        }
        let arguments = (self.peer.arguments)(script, &self.home, self.timeout);
        self.ask("tools/call", &json!({ "name": self.peer.tool, "arguments": arguments }))
    }

    /// Runs `true`, and requires that the server says that it worked.
    pub(super) fn run_true(&mut self, within: Duration) -> Result<(), Box<dyn Error>> {
        let id = self.call("true")?;
        let answer = self.answer(id, within)?.ok_or_else(|| self.failure("does not answer"))?;
        let result = &answer.message["result"];
        if result.is_object() && result["isError"] != true {
            return Ok(());
        }
        Err(format!("{} cannot run `true`: {}", self.peer.name, answer.text()).into())
    }

    /// Tells the server that nobody waits for this request any more.
    pub(super) fn cancel(&mut self, id: u64) -> Result<(), Box<dyn Error>> {
        let params = json!({ "requestId": id, "reason": "no longer needed" });
        self.send(&json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params }))
    }

    /// Closes both pipes, as the kernel does for a client that was killed.
    pub(super) fn hang_up(&mut self) {
        self.input = None;
        self.output = None;
    }

    /// Kills the server with SIGKILL, and reaps it.
    pub(super) fn kill_server(&mut self) -> Result<(), Box<dyn Error>> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// The answer to a request, or none if none came in time or the server hung up.
    pub(super) fn answer(&mut self, id: u64, within: Duration) -> Result<Option<Answer>, Box<dyn Error>> {
        let give_up = Instant::now() + within;
        let mut bytes = 0;
        while let Some(line) = self.line(give_up)? {
            bytes += line.len();
            // Some servers write notifications and even log lines between answers.
            let message: Value = serde_json::from_slice(&line).unwrap_or_default();
            if message["id"] == id && message["method"].is_null() {
                return Ok(Some(Answer { bytes, message }));
            }
        }
        Ok(None)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<u64, Box<dyn Error>> {
        self.last_id += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params }))?;
        Ok(self.last_id)
    }

    fn send(&mut self, message: &Value) -> Result<(), Box<dyn Error>> {
        let input = self.input.as_mut().ok_or("the client has hung up")?;
        input.write_all(format!("{message}\n").as_bytes()).map_err(|error| self.failure(&error.to_string()))?;
        Ok(())
    }

    /// The next line, or none if the time is up or the server has closed its end.
    fn line(&mut self, give_up: Instant) -> Result<Option<Vec<u8>>, Box<dyn Error>> {
        let mut searched = 0;
        let mut piece = vec![0; 64 << 10];
        loop {
            if let Some(at) = self.received[searched..].iter().position(|byte| *byte == b'\n') {
                let rest = self.received.split_off(searched + at + 1);
                return Ok(Some(std::mem::replace(&mut self.received, rest)));
            }
            searched = self.received.len();
            let output = self.output.as_mut().ok_or("the client has hung up")?;
            let wait = Timespec::try_from(give_up.saturating_duration_since(Instant::now()))?;
            if poll(&mut [PollFd::new(output, PollFlags::IN)], Some(&wait))? == 0 {
                return Ok(None);
            }
            match output.read(&mut piece)? {
                0 => return Ok(None),
                count => self.received.extend_from_slice(&piece[..count]),
            }
        }
    }

    /// An error with the end of what the server wrote to standard error.
    fn failure(&self, what: &str) -> String {
        let written = std::fs::read_to_string(self.home.join("stderr")).unwrap_or_default();
        let lines: Vec<&str> = written.lines().rev().take(5).collect();
        let lines: Vec<&str> = lines.into_iter().rev().collect();
        format!("{} {what}: {}", self.peer.name, lines.join("\n"))
    }
}

impl Drop for Client<'_> {
    fn drop(&mut self) {
        // The server may have ended already, and then there is nothing left to end.
        let _ = self.kill_server();
    }
}

/// Puts the settings and the script runner into a home directory.
fn furnish(peer: &Peer, home: &Path) -> Result<(), Box<dyn Error>> {
    if let Some((path, text)) = peer.settings {
        let path = home.join(path);
        // A server adds to its settings at its first start.
        if !path.exists() {
            std::fs::create_dir_all(path.parent().unwrap_or(home))?;
            std::fs::write(path, text)?;
        }
    }
    let runner = home.join(SCRIPT_RUNNER);
    std::fs::write(&runner, format!("#!/bin/bash\nexec /bin/bash \"${{0%/*}}/{SCRIPT}\"\n"))?;
    std::fs::set_permissions(&runner, std::fs::Permissions::from_mode(0o755))?;
    Ok(())
}
