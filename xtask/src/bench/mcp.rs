//! Latency of the MCP server, from the request line to the answer line.

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::figures::Times;
use super::floor::Bare;
use super::host::{Host, PAUSE, READY};
use super::latency::{IN_A_ROW, mean_of_row};
use super::{load, memory};

/// Number of server starts for one figure.
const STARTS: usize = 20;

/// A way in which `true` is run, by a server of its own: the shells that wait in it, and the session that it names.
type Way = (&'static str, usize, Option<&'static str>);

const WAYS: [Way; 3] = [("ready", READY, None), ("cold", 0, None), ("session", 0, Some("bench"))];

/// Measures all of it.
pub(crate) fn all(host: &Host, rounds: usize, calls: usize) -> Result<Value, Box<dyn Error>> {
    let home = tempfile::tempdir()?;
    let mut first = Times::default();
    for _ in 0..STARTS {
        std::thread::sleep(PAUSE);
        let began = Instant::now();
        Client::start(host, home.path(), READY)?.run("true", "(no output)")?;
        first.add(began.elapsed());
    }
    let mut floor = Times::default();
    let mut servers = Vec::new();
    for (way, ready, session) in WAYS {
        let mut client = Client::start(host, home.path(), ready)?;
        client.session = session;
        servers.push((way, client, Times::default()));
    }
    let bash = Bare { program: &host.bash, name: "bash", arguments: &["-c", "true"], variables: &host.variables };
    // The first round only warms up.
    for round in 0..=rounds {
        std::thread::sleep(PAUSE);
        let bare = bash.time(b"")?;
        if round > 0 {
            floor.add(bare);
        }
        for (_, server, times) in &mut servers {
            std::thread::sleep(PAUSE);
            let began = Instant::now();
            server.run("true", "(no output)")?;
            if round > 0 {
                times.add(began.elapsed());
            }
        }
    }
    let (floor_in_a_row, in_a_row) = in_a_row(&bash, host, home.path(), rounds)?;
    let ratio = |times: &Times| times.median().as_secs_f64() / floor.median().as_secs_f64();
    let mut ways: Vec<Value> = servers
        .iter()
        .map(|(way, _, times)| json!({ "way": way, "time": times.as_json(), "ratio": ratio(times) }))
        .collect();
    let of_row = in_a_row.median().as_secs_f64() / floor_in_a_row.median().as_secs_f64();
    ways.push(json!({ "way": IN_A_ROW, "time": in_a_row.as_json(), "ratio": of_row }));
    let mut server = Client::start(host, home.path(), READY)?;
    server.run("true", "(no output)")?;
    std::thread::sleep(Duration::from_millis(200));
    let idle = memory::row("idle server", server.child.id())?;
    for _ in 0..calls {
        server.run("true", "(no output)")?;
    }
    let after = memory::row("the same after many calls", server.child.id())?;
    let wire = server.call("seq 5000000")?.len();
    Ok(json!({
        "floor": floor.as_json(), "ways": ways, "first": first.as_json(), "calls": calls, "idle": idle, "after": after,
        "wire_bytes": wire, "load": load::all(host, home.path())?,
    }))
}

/// Calls without a pause between them, the floor's and a server's, row by row: the means of each.
fn in_a_row(
    bash: &Bare<'_>,
    host: &Host,
    home: &std::path::Path,
    rounds: usize,
) -> Result<(Times, Times), Box<dyn Error>> {
    let mut server = Client::start(host, home, READY)?;
    let (mut floor, mut answered) = (Times::default(), Times::default());
    for _ in 0..rounds {
        std::thread::sleep(PAUSE);
        floor.add(mean_of_row(|| Ok(bash.time(b"")?))?);
        std::thread::sleep(PAUSE);
        answered.add(mean_of_row(|| {
            let began = Instant::now();
            server.run("true", "(no output)")?;
            Ok(began.elapsed())
        })?);
    }
    Ok((floor, answered))
}

/// One client and its server.
pub(crate) struct Client {
    child: Child,
    pub(crate) input: ChildStdin,
    pub(crate) output: BufReader<ChildStdout>,
    /// The session that its calls name.
    session: Option<&'static str>,
}

impl Client {
    pub(crate) fn start(host: &Host, home: &std::path::Path, ready: usize) -> Result<Self, Box<dyn Error>> {
        let mut command = Command::new(&host.program);
        command.arg("mcp").env_clear().envs(host.variables.iter().cloned()).env("HOME", home);
        command.env("BASHFUL_MCP_READY", ready.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let input = child.stdin.take().ok_or("no pipe")?;
        let output = BufReader::new(child.stdout.take().ok_or("no pipe")?);
        let mut client = Self { child, input, output, session: None };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "bench", "version": "1" },
        });
        client.ask("initialize", &hello)?;
        Ok(client)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<String, Box<dyn Error>> {
        let line = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        self.input.write_all(format!("{line}\n").as_bytes())?;
        let mut answer = String::new();
        self.output.read_line(&mut answer)?;
        Ok(answer)
    }

    fn call(&mut self, script: &str) -> Result<String, Box<dyn Error>> {
        let mut arguments = json!({ "command": script });
        if let Some(session) = self.session {
            arguments["session"] = session.into();
        }
        self.ask("tools/call", &json!({ "name": "bash", "arguments": arguments }))
    }

    /// Runs a script that has to be answered like this. Figures of wrong results would be worthless.
    fn run(&mut self, script: &str, expected: &str) -> Result<(), Box<dyn Error>> {
        let answer = self.call(script)?;
        if answer.contains(&format!("\"text\":\"{expected}\"")) { Ok(()) } else { Err(answer.into()) }
    }
}

/// The server ends with its client.
impl Drop for Client {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
