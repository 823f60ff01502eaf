//! The scripted model: an HTTP server on loopback that answers every agent in its own protocol.
//!
//! The conversation in a request tells how far the script has come. Requests aside (for a title, a summary, a safety check)
//! offer no tools, get a text, and do not disturb the script.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::{Value, json};

use super::play::{Call, Seen, Tool};
use super::wire::{Answer, Offered, Planned, Wire, call_id};

/// The model's port on the stage's own loopback, where nobody else listens.
pub(super) const PORT: u16 = 18_080;

/// A model that plays a script, and writes down what it is sent.
#[derive(Debug)]
pub(super) struct Model {
    turns: Vec<Vec<Call>>,
    seen: Mutex<Vec<Seen>>,
}

impl Model {
    /// Starts to listen. The thread ends with the program.
    pub(super) fn start(turns: Vec<Vec<Call>>) -> io::Result<Arc<Self>> {
        let listener = TcpListener::bind(("127.0.0.1", PORT))?;
        let model = Arc::new(Self { turns, seen: Mutex::default() });
        let served = Arc::clone(&model);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let model = Arc::clone(&served);
                // An agent may disconnect at any time.
                thread::spawn(move || model.serve(&stream).ok());
            }
        });
        Ok(model)
    }

    /// The requests that the model has received so far.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Answers one request. Every connection is closed after its first.
    fn serve(&self, mut stream: &TcpStream) -> io::Result<()> {
        let Some((path, body)) = read_request(&mut BufReader::new(stream))? else { return Ok(()) };
        let body: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
        self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(Seen { path: path.clone(), body: body.clone() });
        let (status, kind, text) = self.respond(&path, &body);
        let head = format!(
            "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            text.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(text.as_bytes())
    }

    /// Status, content type and body of a response.
    fn respond(&self, path: &str, body: &Value) -> (&'static str, &'static str, String) {
        const OK: &str = "200 OK";
        const JSON: &str = "application/json";
        if path.ends_with("/count_tokens") || path.ends_with(":countTokens") {
            return (OK, JSON, json!({ "input_tokens": 100, "totalTokens": 100 }).to_string());
        }
        if path.ends_with("/models") {
            let model =
                json!({ "id": "scripted", "object": "model", "type": "model", "created": 1, "owned_by": "rig" });
            return (
                OK,
                JSON,
                json!({ "object": "list", "data": [model], "models": [], "has_more": false }).to_string(),
            );
        }
        let Some(wire) = Wire::of(path) else { return ("404 Not Found", JSON, "{}".to_owned()) };
        let stream = body["stream"] == true || path.contains("stream");
        let text = wire.encode(&self.decide(wire, body), stream);
        (OK, if stream { "text/event-stream" } else { JSON }, text)
    }

    fn decide(&self, wire: Wire, body: &Value) -> Answer {
        let offered = Wire::offered(body);
        if offered.is_empty() {
            return Answer::Text(aside(body));
        }
        let turn = wire.turns_done(body);
        let Some(calls) = self.turns.get(turn) else { return Answer::Text("done".to_owned()) };
        let mut planned = Vec::new();
        for (index, call) in calls.iter().enumerate() {
            let id = call_id(turn, index);
            match find(call, &offered) {
                Found::Offered(tool) => planned.push(Planned { id, tool, arguments: call.arguments.clone() }),
                Found::Behind(tool, arguments) => planned.push(Planned { id, tool, arguments }),
                Found::AfterSearch(tool, arguments) if !body.to_string().contains(&search_id(turn)) => {
                    return Answer::Calls(vec![Planned { id: search_id(turn), tool, arguments }]);
                }
                Found::AfterSearch(..) | Found::Nowhere => {
                    return Answer::Text(format!("{:?} is not offered", call.tool));
                }
            }
        }
        Answer::Calls(planned)
    }
}

/// The way the model reaches the tool of a call.
enum Found {
    Offered(Offered),
    /// The model calls another tool, which passes the call on. Qwen Code hides the tools of servers behind `tool_call`.
    Behind(Offered, Value),
    /// The model has to search first; the next request offers the tool. Claude Code does so with the tools of servers.
    AfterSearch(Offered, Value),
    Nowhere,
}

fn find(call: &Call, offered: &[Offered]) -> Found {
    if let Some(tool) = offered.iter().find(|tool| call.tool.is(tool.namespace.as_deref(), &tool.name)) {
        return Found::Offered(tool.clone());
    }
    let name = match &call.tool {
        Tool::Served(name) => format!("mcp__bashful__{name}"),
        Tool::Own(name) => name.clone(),
    };
    let helper = |helper: &str| offered.iter().find(|tool| tool.name == helper).cloned();
    if let Some(tool) = helper("tool_call") {
        Found::Behind(tool, json!({ "name": name, "arguments": call.arguments }))
    } else if let Some(tool) = helper("ToolSearch") {
        Found::AfterSearch(tool, json!({ "query": format!("select:{name}"), "max_results": 5 }))
    } else {
        Found::Nowhere
    }
}

/// The id of a search in a turn. It is none of the script's calls, so the turn stays the same.
fn search_id(turn: usize) -> String {
    format!("search_{turn}")
}

/// The answer to a request that offers no tools. Gemini CLI asks in JSON who speaks next and which model to take.
fn aside(body: &Value) -> String {
    if body["generationConfig"]["responseJsonSchema"].is_null() {
        return "done".to_owned();
    }
    let why = "there is a script";
    json!({ "reasoning": why, "next_speaker": "user", "model_choice": "pro", "complexity_score": 50, "complexity_reasoning": why })
        .to_string()
}

/// Path and body of a request; none if the connection was closed before one.
fn read_request(reader: &mut impl BufRead) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let path = line.split(' ').nth(1).unwrap_or_default().split('?').next().unwrap_or_default().to_owned();
    let (mut length, mut chunked) = (0, false);
    loop {
        line.clear();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        match (name.to_ascii_lowercase().as_str(), value.trim()) {
            ("content-length", value) => length = value.parse().map_err(io::Error::other)?,
            ("transfer-encoding", "chunked") => chunked = true,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    while chunked {
        line.clear();
        reader.read_line(&mut line)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(io::Error::other)?;
        reader.by_ref().take(size).read_to_end(&mut body)?;
        reader.read_line(&mut line)?;
        chunked = size > 0;
    }
    Ok(Some((path, body)))
}
