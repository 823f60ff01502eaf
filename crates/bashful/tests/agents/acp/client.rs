//! A client that speaks the protocol by hand, line by line, so that it can do everything wrong.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};

use bashful_testkit::{Home, WIDE};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::settings;
use crate::BASHFUL;

/// A client, its agent, and the home of both.
pub(crate) struct HandClient {
    pub(crate) home: Home,
    agent: Child,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    /// Messages that nobody has waited for yet.
    pub(crate) waiting: Vec<Value>,
    requests: u64,
    pub(crate) session: String,
}

impl HandClient {
    /// A client with one session, and with terminals if it says so.
    pub(crate) fn new(has_terminals: bool) -> Self {
        let home = Home::new(BASHFUL);
        let mut command = home.command(&["acp"]);
        command.env("BASHFUL_GUARD_LEVELS", "{\"git/force-push\"=\"ask\"}");
        Self::start(home, command, has_terminals)
    }

    /// A client with terminals, whose commands have little time.
    pub(crate) fn in_a_hurry() -> Self {
        let home = Home::new(BASHFUL);
        let command = home.command(&["--config", &settings(&home, 5), "acp"]);
        Self::start(home, command, true)
    }

    fn start(home: Home, mut command: Command, has_terminals: bool) -> Self {
        let mut agent = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it runs");
        let output = BufReader::new(agent.stdout.take().expect("a pipe"));
        let (send, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message: {line}"));
                if send.send(message).is_err() {
                    return;
                }
            }
        });
        let input = agent.stdin.take();
        let mut client = Self { home, agent, input, lines, waiting: Vec::new(), requests: 0, session: String::new() };
        let capabilities = json!({ "terminal": has_terminals });
        client.call("initialize", &json!({ "protocolVersion": 1, "clientCapabilities": capabilities }));
        client.session = client.new_session();
        client
    }

    pub(crate) fn new_session(&mut self) -> String {
        let directory = self.home.path().to_path_buf();
        self.new_session_in(&directory)
    }

    pub(crate) fn new_session_in(&mut self, directory: &Path) -> String {
        let made = self.call("session/new", &json!({ "cwd": directory, "mcpServers": [] }));
        made["result"]["sessionId"].as_str().expect("a session").to_owned()
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let input = self.input.as_mut().expect("it is open");
        writeln!(input, "{message}").expect("the agent reads");
    }

    /// Sends a request, and returns its id.
    pub(crate) fn request(&mut self, method: &str, params: &Value) -> u64 {
        self.requests += 1;
        let id = self.requests;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// Sends a request, and waits for its answer.
    pub(crate) fn call(&mut self, method: &str, params: &Value) -> Value {
        let id = self.request(method, params);
        self.answer_to(id)
    }

    pub(crate) fn answer_to(&mut self, id: u64) -> Value {
        self.find(&format!("the answer to {id}"), |message| message["id"] == id && message.get("method").is_none())
    }

    /// Waits for a request of the agent.
    pub(crate) fn asked(&mut self, method: &str) -> Value {
        self.find(method, |message| message["method"] == method && message.get("id").is_some())
    }

    /// Waits for the end of a tool call.
    pub(crate) fn call_end(&mut self) -> Value {
        let ends =
            |message: &Value| matches!(message["params"]["update"]["status"].as_str(), Some("completed" | "failed"));
        self.find("the end of a call", ends)["params"]["update"].clone()
    }

    /// Waits for a message, and keeps all others for later.
    pub(crate) fn find(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.waiting.iter().position(&fits) {
            return self.waiting.remove(at);
        }
        loop {
            let message = self.lines.recv_timeout(WIDE);
            let message = message.unwrap_or_else(|_| panic!("{what} never came; there was {:#?}", self.waiting));
            if fits(&message) {
                return message;
            }
            self.waiting.push(message);
        }
    }

    /// The text of every update of the running command that has come by now and that nobody has waited for.
    pub(crate) fn progress(&mut self) -> Vec<String> {
        self.waiting.extend(self.lines.try_iter());
        let own = self.waiting.iter().filter(|message| message["params"]["sessionId"] == self.session.as_str());
        let updates = own.map(|message| &message["params"]["update"]);
        let running =
            updates.filter(|update| update["sessionUpdate"] == "tool_call_update" && update["status"] == "in_progress");
        running.map(|update| update["content"].to_string()).collect()
    }

    /// True if a request of the agent has come by now and nobody has waited for it.
    pub(crate) fn was_asked(&mut self, method: &str) -> bool {
        self.waiting.extend(self.lines.try_iter());
        self.waiting.iter().any(|message| message["method"] == method)
    }

    /// Answers a request of the agent.
    pub(crate) fn answer(&mut self, request: &Value, result: &Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
    }

    pub(crate) fn prompt(&mut self, text: &str) -> u64 {
        let session = self.session.clone();
        self.prompt_in(&session, text)
    }

    pub(crate) fn prompt_in(&mut self, session: &str, text: &str) -> u64 {
        self.request("session/prompt", &json!({ "sessionId": session, "prompt": [{ "type": "text", "text": text }] }))
    }

    pub(crate) fn cancel(&mut self) {
        let params = json!({ "sessionId": self.session });
        self.send(&json!({ "jsonrpc": "2.0", "method": "session/cancel", "params": params }));
    }

    /// Waits for the end of a turn, and returns its reason.
    pub(crate) fn turn_end(&mut self, prompt: u64) -> String {
        let answer = self.answer_to(prompt);
        answer["result"]["stopReason"].as_str().unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Runs a prompt to its end. Returns the text of the card and the facts.
    pub(crate) fn run(&mut self, text: &str) -> (String, Value) {
        let prompt = self.prompt(text);
        assert_eq!(self.turn_end(prompt), "end_turn");
        let end = self.call_end();
        (card_text(&end), end["rawOutput"].clone())
    }

    /// Sends bytes that need not be a message.
    pub(crate) fn send_bytes(&mut self, bytes: &[u8]) {
        self.input.as_mut().expect("it is open").write_all(bytes).expect("the agent reads");
    }

    pub(crate) fn close_input(&mut self) {
        self.input = None;
    }

    /// Asks the agent to end, with `SIGTERM`.
    pub(crate) fn terminate(&self) {
        let pid = Pid::from_raw(self.agent.id().cast_signed()).expect("a process");
        kill_process(pid, Signal::TERM).expect("it runs");
    }

    /// Closes the agent's input, and waits until the agent has ended by itself.
    pub(crate) fn leave(mut self) -> Home {
        drop(self.input.take());
        let status = self.agent.wait().expect("it can be waited for");
        assert!(status.success(), "{status}");
        self.home
    }
}

/// The text blocks of a tool call.
pub(crate) fn card_text(update: &Value) -> String {
    let blocks = update["content"].as_array().expect("content").iter();
    blocks.filter_map(|block| block["content"]["text"].as_str()).collect::<Vec<_>>().join("\n")
}
