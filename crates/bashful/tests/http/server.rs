//! A server under test, and requests written by hand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};

use bashful_testkit::{Home, WIDE};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

pub(crate) struct Server {
    child: Child,
    pub(crate) address: SocketAddr,
    /// The token of the server.
    pub(crate) token: String,
    said: Receiver<String>,
}

impl Server {
    pub(crate) fn start(home: &Home) -> Self {
        Self::with(home, &[], &[])
    }

    /// Starts a server on any port, with variables on top of the usual ones.
    pub(crate) fn with(home: &Home, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut command = home.command(&[&["mcp", "--http", "127.0.0.1:0"], args].concat());
        command.envs(variables.iter().copied()).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it runs");
        let said = lines(BufReader::new(child.stderr.take().expect("a pipe")));
        let first = said.recv_timeout(WIDE).expect("it says where it is");
        let address = first.strip_prefix("bashful: listening on http://").and_then(|rest| rest.strip_suffix("/mcp"));
        let address = address.and_then(|address| address.parse().ok()).unwrap_or_else(|| panic!("{first}"));
        let mut server = Self { child, address, token: String::new(), said };
        let how = server.says();
        // A line about the token comes before the one that shows it.
        let how = if how.starts_with("claude ") { how } else { server.says() };
        how.rsplit_once("Bearer ").expect("a token").1.trim_end_matches('"').clone_into(&mut server.token);
        server
    }

    /// The next line on its standard error.
    #[track_caller]
    pub(crate) fn says(&self) -> String {
        self.said.recv_timeout(WIDE).expect("a line")
    }

    pub(crate) fn connect(&self) -> Wire {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(WIDE)).expect("it can be set");
        Wire { stream: BufReader::new(stream) }
    }

    /// The headers of a request that is as it should be.
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        [
            ("Host", self.address.to_string()),
            ("Authorization", format!("Bearer {}", self.token)),
            ("Content-Type", "application/json".to_owned()),
            ("Accept", "application/json, text/event-stream".to_owned()),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into()
    }

    /// A message with some headers more, or other ones, or without them; on a connection of its own.
    #[track_caller]
    pub(crate) fn post(&self, changed: &[(&str, &str)], message: &[u8]) -> Reply {
        let message = request("POST", "/mcp", &change(self.headers(), changed), message);
        let mut wire = self.connect();
        wire.send(&message);
        wire.reply()
    }

    /// Sends a request of the second era, and does not wait for the answer.
    pub(crate) fn begin(&self, id: &str, method: &str, params: &Value) -> Wire {
        // A long message takes its time to be made, and the server has little for a connection that says nothing.
        let message = self.modern(id, method, params);
        let mut wire = self.connect();
        wire.send(&message);
        wire
    }

    /// A request of the second era.
    pub(crate) fn modern(&self, id: &str, method: &str, params: &Value) -> Vec<u8> {
        let mut params = params.clone();
        let meta = &mut params["_meta"];
        meta["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
        meta["io.modelcontextprotocol/clientInfo"] = json!({ "name": "test", "version": "1" });
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({});
        let name = params["name"].as_str().or(params["uri"].as_str()).unwrap_or_default().to_owned();
        let message = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string();
        let more = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method), ("Mcp-Name", &name)];
        request("POST", "/mcp", &change(self.headers(), &more), message.as_bytes())
    }

    /// Asks in the second era; the answer.
    #[track_caller]
    pub(crate) fn ask(&self, method: &str, params: &Value) -> Value {
        self.begin("1", method, params).reply().message()
    }

    /// Calls a tool in the second era, and does not wait for the answer.
    pub(crate) fn begin_call(&self, id: &str, command: &str) -> Wire {
        self.begin(id, "tools/call", &json!({ "name": "bash", "arguments": { "command": command, "timeout": 300 } }))
    }

    /// The text of a call in the second era.
    #[track_caller]
    pub(crate) fn run(&self, command: &str) -> String {
        text(&self.begin_call("run", command).reply().message())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(pid, signal).expect("it is there");
    }

    pub(crate) fn end(&mut self) -> ExitStatus {
        self.child.wait().expect("it ends")
    }
}

/// Lines as they come.
fn lines(from: impl BufRead + Send + 'static) -> Receiver<String> {
    let (send, lines) = channel();
    std::thread::spawn(move || from.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
    lines
}

/// Puts headers in the place of those of the same name; without a value, takes them away.
pub(crate) fn change(mut headers: Vec<(String, String)>, changed: &[(&str, &str)]) -> Vec<(String, String)> {
    for (name, value) in changed {
        headers.retain(|(other, _)| !other.eq_ignore_ascii_case(name));
        if !value.is_empty() {
            headers.push(((*name).to_owned(), (*value).to_owned()));
        }
    }
    headers
}

/// A request, byte for byte.
pub(crate) fn request(method: &str, path: &str, headers: &[(String, String)], body: &[u8]) -> Vec<u8> {
    let mut bytes = format!("{method} {path} HTTP/1.1\r\nContent-Length: {}\r\n", body.len()).into_bytes();
    for (name, value) in headers {
        bytes.extend_from_slice(format!("{name}: {value}\r\n").as_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend_from_slice(body);
    bytes
}

/// One connection.
pub(crate) struct Wire {
    stream: BufReader<TcpStream>,
}

/// The answer to a request. The body of an event stream stays unread.
pub(crate) struct Reply {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Wire {
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.get_mut().write_all(bytes).expect("it is taken");
    }

    /// Sends what may not be wanted any more.
    pub(crate) fn try_send(&mut self, bytes: &[u8]) -> bool {
        self.stream.get_mut().write_all(bytes).is_ok()
    }

    /// Goes away.
    pub(crate) fn hang_up(self) {
        self.stream.into_inner().shutdown(Shutdown::Both).expect("it is open");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.stream.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }

    /// The head of an answer, and its body unless that is a stream.
    #[track_caller]
    pub(crate) fn reply(&mut self) -> Reply {
        let mut reply = self.head();
        if reply.header("transfer-encoding") == Some("chunked") {
            while let Some(piece) = self.chunk() {
                reply.body.extend(piece);
            }
        } else {
            let length = reply.header("content-length").map_or(0, |length| length.parse().expect("a number"));
            reply.body = vec![0; length];
            self.stream.read_exact(&mut reply.body).expect("all of it");
        }
        reply
    }

    #[track_caller]
    pub(crate) fn head(&mut self) -> Reply {
        let first = self.line();
        let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
        let status = status.unwrap_or_else(|| panic!("no answer: {first:?}"));
        let mut headers = Vec::new();
        loop {
            let line = self.line();
            let Some((name, value)) = line.split_once(": ") else { break };
            headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        Reply { status, headers, body: Vec::new() }
    }

    /// The rest of a stream of events.
    pub(crate) fn rest(&mut self) -> Reply {
        let mut body = Vec::new();
        while let Some(piece) = self.chunk() {
            body.extend(piece);
        }
        Reply { status: 200, headers: Vec::new(), body }
    }

    /// The next piece of a body that comes in pieces.
    pub(crate) fn chunk(&mut self) -> Option<Vec<u8>> {
        let size = usize::from_str_radix(&self.line(), 16).expect("a size");
        let mut piece = vec![0; size];
        self.stream.read_exact(&mut piece).expect("a piece");
        self.line();
        (size > 0).then_some(piece)
    }

    /// True if the server has closed the connection.
    pub(crate) fn is_closed(&mut self) -> bool {
        !matches!(self.stream.read(&mut [0]), Ok(1..))
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// All messages of the body.
    #[track_caller]
    pub(crate) fn messages(&self) -> Vec<Value> {
        let text = self.text();
        let parse = |text: &str| serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
        if self.header("content-type") == Some("application/json") {
            return vec![parse(&text)];
        }
        let data = text.lines().filter_map(|line| line.strip_prefix("data:")).map(str::trim);
        data.filter(|data| !data.is_empty()).map(parse).collect()
    }

    /// The last message, which is the answer.
    #[track_caller]
    pub(crate) fn message(&self) -> Value {
        self.messages().pop().unwrap_or_else(|| panic!("no message, but {} {}", self.status, self.text()))
    }
}

/// A client of the first era.
pub(crate) struct Session<'a> {
    server: &'a Server,
    pub(crate) id: String,
}

impl<'a> Session<'a> {
    pub(crate) fn greeted(server: &'a Server) -> Self {
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "test", "version": "1" },
        });
        let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello });
        let reply = server.post(&[], hello.to_string().as_bytes());
        assert_eq!(reply.message()["result"]["protocolVersion"], "2025-11-25", "{}", reply.text());
        let id = reply.header("mcp-session-id").expect("a session").to_owned();
        let session = Self { server, id };
        assert_eq!(session.tell("notifications/initialized", &json!({})).status, 202);
        session
    }

    fn request(&self, method: &str, message: &Value) -> Vec<u8> {
        let more = [("MCP-Protocol-Version", "2025-11-25"), ("Mcp-Session-Id", self.id.as_str())];
        let message = if message.is_null() { String::new() } else { message.to_string() };
        request(method, "/mcp", &change(self.server.headers(), &more), message.as_bytes())
    }

    /// A request without a message.
    #[track_caller]
    pub(crate) fn plain(&self, method: &str) -> Wire {
        let mut wire = self.server.connect();
        wire.send(&self.request(method, &Value::Null));
        wire
    }

    /// Goes on with a stream after one of its events.
    pub(crate) fn resume(&self, event: &str) -> Wire {
        let more = [("Mcp-Session-Id", self.id.as_str()), ("Last-Event-ID", event)];
        let mut wire = self.server.connect();
        wire.send(&request("GET", "/mcp", &change(self.server.headers(), &more), b""));
        wire
    }

    #[track_caller]
    pub(crate) fn tell(&self, method: &str, params: &Value) -> Reply {
        let mut wire = self.server.connect();
        wire.send(&self.request("POST", &json!({ "jsonrpc": "2.0", "method": method, "params": params })));
        wire.reply()
    }

    pub(crate) fn begin(&self, id: &str, method: &str, params: &Value) -> Wire {
        let mut wire = self.server.connect();
        wire.send(&self.request("POST", &json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })));
        wire
    }

    pub(crate) fn begin_call(&self, id: &str, command: &str) -> Wire {
        let arguments = json!({ "command": command, "timeout": 300 });
        self.begin(id, "tools/call", &json!({ "name": "bash", "arguments": arguments }))
    }

    #[track_caller]
    pub(crate) fn ask(&self, method: &str, params: &Value) -> Value {
        self.begin("ask", method, params).reply().message()
    }

    #[track_caller]
    pub(crate) fn run(&self, command: &str) -> String {
        text(&self.begin_call("run", command).reply().message())
    }
}

/// The text of an answer.
#[track_caller]
pub(crate) fn text(answer: &Value) -> String {
    answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {answer}")).to_owned()
}
