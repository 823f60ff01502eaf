//! Many calls of one server, several at a time, on both its ways.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::figures::Times;
use super::host::{Host, READY};
use super::mcp::Client;

/// Calls of one run.
const CALLS: usize = 500;

/// Calls under way at any time.
const AT_ONCE: usize = 10;

/// The token of clients.
const TOKEN: &str = "known-to-both-0123456789";

/// Measures calls over standard input and over HTTP.
pub(crate) fn all(host: &Host, home: &std::path::Path) -> Result<Value, Box<dyn Error>> {
    Ok(json!([on_stdio(host, home)?, over_http(host, home)?]))
}

fn row(way: &str, times: &Times, right: usize, took: Duration) -> Value {
    let a_second = f64::from(u32::try_from(CALLS).unwrap_or(u32::MAX)) / took.as_secs_f64();
    json!({ "way": way, "calls": CALLS, "at_once": AT_ONCE, "right": right, "time": times.as_json(), "a_second": a_second })
}

fn call(id: usize) -> Value {
    let params = json!({ "name": "bash", "arguments": { "command": format!("echo {id}") } });
    json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params })
}

/// True if a call got the right answer.
fn is_right(id: usize, answer: &Value) -> bool {
    answer["result"]["content"][0]["text"] == format!("{id}\n")
}

fn on_stdio(host: &Host, home: &std::path::Path) -> Result<Value, Box<dyn Error>> {
    let mut client = Client::start(host, home, READY)?;
    let mut asked = vec![Instant::now(); CALLS];
    let (mut times, mut right, mut next) = (Times::default(), 0, 0);
    let began = Instant::now();
    for answered in 0..CALLS {
        while next < CALLS && next < answered + AT_ONCE {
            asked[next] = Instant::now();
            client.input.write_all(format!("{}\n", call(next)).as_bytes())?;
            next += 1;
        }
        let mut line = String::new();
        client.output.read_line(&mut line)?;
        let answer: Value = serde_json::from_str(&line)?;
        let id =
            answer["id"].as_u64().and_then(|id| usize::try_from(id).ok()).filter(|id| *id < next).ok_or("no id")?;
        times.add(asked[id].elapsed());
        right += usize::from(is_right(id, &answer));
    }
    Ok(row("stdio", &times, right, began.elapsed()))
}

fn over_http(host: &Host, home: &std::path::Path) -> Result<Value, Box<dyn Error>> {
    let mut command = Command::new(&host.program);
    command.args(["mcp", "--http", ":0"]).env_clear().envs(host.variables.iter().cloned()).env("HOME", home);
    command.env("BASHFUL_MCP_READY", READY.to_string()).env("BASHFUL_MCP_TOKEN", TOKEN).stderr(Stdio::piped());
    let mut server = Server(command.spawn()?);
    let mut line = String::new();
    BufReader::new(server.0.stderr.take().ok_or("no pipe")?).read_line(&mut line)?;
    let address = line.trim_end().trim_end_matches("/mcp").rsplit('/').next().unwrap_or_default().parse()?;
    let began = Instant::now();
    let clients: Vec<_> = (0..AT_ONCE)
        .map(|first| std::thread::spawn(move || calls(address, first).map_err(|error| error.to_string())))
        .collect();
    let (mut times, mut right) = (Times::default(), 0);
    for client in clients {
        for (time, is_right) in client.join().map_err(|_| "a client panicked")?? {
            times.add(time);
            right += usize::from(is_right);
        }
    }
    Ok(row("http", &times, right, began.elapsed()))
}

/// Every tenth call, one after the other, on one connection.
fn calls(address: SocketAddr, first: usize) -> Result<Vec<(Duration, bool)>, Box<dyn Error>> {
    let mut output = BufReader::new(TcpStream::connect(address)?);
    output.get_mut().set_nodelay(true)?;
    let mut done = Vec::new();
    for id in (first..CALLS).step_by(AT_ONCE) {
        let mut call = call(id);
        call["params"]["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "bench", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let call = call.to_string();
        let asked = Instant::now();
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\n\
             Mcp-Name: bash\r\nContent-Length: {}\r\n\r\n",
            call.len()
        );
        output.get_mut().write_all(format!("{head}{call}").as_bytes())?;
        let (mut length, mut line) = (0, String::new());
        while line != "\r\n" {
            line.clear();
            if output.read_line(&mut line)? == 0 {
                return Err("the server has hung up".into());
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse()?;
            }
        }
        let mut body = vec![0; length];
        output.read_exact(&mut body)?;
        let answer = serde_json::from_slice(&body).unwrap_or_default();
        done.push((asked.elapsed(), is_right(id, &answer)));
    }
    Ok(done)
}

/// Kills the server when dropped.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
