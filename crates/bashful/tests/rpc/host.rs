//! A host program under test's control: it sends lines, and reads when it wants to.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};

use bashful_testkit::{Home, WIDE};
use serde_json::{Value, json};

use crate::schema;

pub(crate) struct Host {
    child: Child,
    input: Option<ChildStdin>,
    /// Not read from yet.
    output: Option<ChildStdout>,
    lines: Option<Receiver<Value>>,
    /// Lines that came while others were waited for.
    pub(crate) early: Vec<Value>,
}

impl Host {
    /// Starts a service, with variables on top of the usual ones.
    pub(crate) fn start(home: &Home, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = home.command(&[&["rpc"], args].concat());
        command.envs(variables.iter().copied()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut child = command.spawn().expect("it runs");
        let (input, output) = (child.stdin.take(), child.stdout.take());
        Self { child, input, output, lines: None, early: Vec::new() }
    }

    pub(crate) fn new(home: &Home) -> Self {
        Self::start(home, &[], &[])
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends bytes as they are.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let input = self.input.as_mut().expect("it has not been closed");
        input.write_all(bytes).and_then(|()| input.flush()).expect("it reads");
    }

    /// Sends a line as it is.
    pub(crate) fn line(&mut self, line: &[u8]) {
        self.bytes(&[line, b"\n"].concat());
    }

    /// Sends a request, which fits the schema.
    #[track_caller]
    pub(crate) fn send(&mut self, request: &Value) {
        schema::check(request, "Request");
        self.line(request.to_string().as_bytes());
    }

    /// Sends a request, and waits for its response.
    #[track_caller]
    pub(crate) fn ask(&mut self, request: &Value) -> Value {
        self.send(request);
        self.response(&request["id"])
    }

    /// Sends a request that succeeds; its data.
    #[track_caller]
    pub(crate) fn data(&mut self, request: &Value) -> Value {
        let response = self.ask(request);
        assert_eq!(response["success"], true, "{response}");
        response["data"].clone()
    }

    /// Sends a request that fails; its error.
    #[track_caller]
    pub(crate) fn error(&mut self, request: &Value) -> Value {
        self.send(request);
        let response = self.response(&request["id"]);
        assert_eq!(response["success"], false, "{response}");
        response["error"].clone()
    }

    /// Runs a command; its data.
    #[track_caller]
    pub(crate) fn bash(&mut self, command: &str) -> Value {
        self.data(&json!({ "id": command, "type": "bash", "command": command }))
    }

    /// Waits for the response to a request, whatever its type.
    #[track_caller]
    pub(crate) fn response(&mut self, id: &Value) -> Value {
        self.find(|line| line["type"] == "response" && line["id"] == *id)
    }

    /// Waits for the response of a request of this type.
    #[track_caller]
    pub(crate) fn response_of(&mut self, command: &str, id: &Value) -> Value {
        self.find(|line| line["type"] == "response" && line["command"] == command && line["id"] == *id)
    }

    /// Waits for an event.
    #[track_caller]
    pub(crate) fn event(&mut self, kind: &str) -> Value {
        self.find(|line| line["type"] == kind)
    }

    /// Waits for a line that is as wanted. Others stay, in their order.
    #[track_caller]
    pub(crate) fn find(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.early.iter().position(&is_wanted) {
            return self.early.remove(at);
        }
        loop {
            let line = self.next().expect("a line");
            if is_wanted(&line) {
                return line;
            }
            self.early.push(line);
        }
    }

    /// The next line; none after the last one. Reading begins with the first call.
    #[track_caller]
    pub(crate) fn next(&mut self) -> Option<Value> {
        let lines = self.lines.get_or_insert_with(|| {
            let output = BufReader::new(self.output.take().expect("a pipe"));
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
            lines
        });
        match lines.recv_timeout(WIDE) {
            Ok(line) => {
                schema::check_sent(&line);
                Some(line)
            }
            Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => None,
            Err(error) => panic!("no line: {error}"),
        }
    }

    /// All lines up to the last one, those that came early first.
    #[track_caller]
    pub(crate) fn rest(&mut self) -> Vec<Value> {
        let mut all = std::mem::take(&mut self.early);
        while let Some(line) = self.next() {
            all.push(line);
        }
        all
    }

    /// Closes the input of the service.
    pub(crate) fn close(&mut self) {
        self.input = None;
    }

    /// Closes the output of the service, which nobody has read.
    pub(crate) fn hang_up(&mut self) {
        self.output = None;
    }

    pub(crate) fn end(&mut self) -> ExitStatus {
        self.child.wait().expect("it ends")
    }
}
