//! A server under test, spoken to line by line.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};

use bashful_testkit::{Home, WIDE};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

pub(crate) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// Answers that came while others were waited for, by their ids.
    early: HashMap<String, Value>,
    /// Notifications and requests of the server.
    pub(crate) notices: Vec<Value>,
}

impl Server {
    /// Starts a server, with variables on top of the usual ones.
    pub(crate) fn start(home: &Home, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = home.command(&[&["mcp"], args].concat());
        Self::by(command.envs(variables.iter().copied()))
    }

    /// Starts a server by a command of its own.
    pub(crate) fn by(command: &mut Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("it runs");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines() {
                let line = line.expect("it is text");
                let message = serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"));
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        let input = child.stdin.take();
        Self { child, input, lines, early: HashMap::new(), notices: Vec::new() }
    }

    /// A server that has been greeted.
    pub(crate) fn greeted(home: &Home, args: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::greeted_by("test", home, args, variables)
    }

    /// A server that has been greeted by a client of this name.
    pub(crate) fn greeted_by(name: &str, home: &Home, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut server = Self::start(home, args, variables);
        server.greet(name);
        server
    }

    pub(crate) fn greet(&mut self, name: &str) {
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": name, "version": "1" },
        });
        let answer = self.ask("initialize", &hello);
        assert_eq!(answer["result"]["protocolVersion"], "2025-11-25", "{answer}");
        self.tell("notifications/initialized", &json!({}));
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a line as it is.
    pub(crate) fn line(&mut self, line: &[u8]) {
        let input = self.input.as_mut().expect("it has not been closed");
        input.write_all(line).and_then(|()| input.write_all(b"\n")).and_then(|()| input.flush()).expect("it reads");
    }

    pub(crate) fn tell(&mut self, method: &str, params: &Value) {
        self.line(json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string().as_bytes());
    }

    /// Sends a request and does not wait for the answer.
    pub(crate) fn request(&mut self, id: &str, method: &str, params: &Value) {
        self.line(json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string().as_bytes());
    }

    /// Calls a tool and does not wait for the answer.
    pub(crate) fn begin(&mut self, id: &str, arguments: &Value) {
        self.request(id, "tools/call", &json!({ "name": "bash", "arguments": arguments }));
    }

    #[track_caller]
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = format!("{method} {params}");
        self.request(&id, method, params);
        self.answer(&id)
    }

    /// Calls a tool; its result.
    #[track_caller]
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({ "name": tool, "arguments": arguments }));
        assert!(answer["result"].is_object(), "{answer}");
        answer["result"].clone()
    }

    /// Waits for an answer.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: &str) -> Value {
        loop {
            if let Some(answer) = self.early.remove(id) {
                return answer;
            }
            let message = self.next();
            self.keep(message);
        }
    }

    /// Waits for a request of the server.
    #[track_caller]
    pub(crate) fn asked(&mut self, method: &str) -> Value {
        loop {
            if let Some(at) = self.notices.iter().position(|message| message["method"] == method) {
                return self.notices.remove(at);
            }
            let message = self.next();
            self.keep(message);
        }
    }

    /// Waits for a notice that is as wanted, and takes it; its parameters. Others stay.
    #[track_caller]
    pub(crate) fn notice(&mut self, method: &str, is_wanted: impl Fn(&Value) -> bool) -> Value {
        let is_it = |notice: &Value| notice["method"] == method && is_wanted(&notice["params"]);
        loop {
            if let Some(at) = self.notices.iter().position(is_it) {
                return self.notices.remove(at)["params"].clone();
            }
            let message = self.next();
            self.keep(message);
        }
    }

    /// Waits for the progress of the call with this token, behind the message that names the command.
    #[track_caller]
    pub(crate) fn progress(&mut self, token: &Value) -> String {
        let is_wanted = |params: &Value| {
            params["progressToken"] == *token && params["message"].as_str().is_some_and(|text| !text.starts_with("$ "))
        };
        let told = self.notice("notifications/progress", is_wanted);
        told["message"].as_str().expect("a message").to_owned()
    }

    /// Answers by their ids, everything else as it came.
    fn keep(&mut self, message: Value) {
        match message["id"].as_str().filter(|_| message["method"].is_null()) {
            Some(id) => drop(self.early.insert(id.to_owned(), message)),
            None => self.notices.push(message),
        }
    }

    #[track_caller]
    pub(crate) fn next(&mut self) -> Value {
        self.lines.recv_timeout(WIDE).expect("a message")
    }

    /// Answers that nobody has waited for.
    pub(crate) fn unasked(&self) -> Vec<&String> {
        self.early.keys().collect()
    }

    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(pid, signal).expect("it is there");
    }

    pub(crate) fn end(&mut self) -> ExitStatus {
        self.child.wait().expect("it ends")
    }
}

/// The text of a result.
#[track_caller]
pub(crate) fn text(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}
