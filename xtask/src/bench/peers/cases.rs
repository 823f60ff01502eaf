//! Situations that a server has to get right: one server, one call, and a look at the processes afterwards.
//!
//! The namespace has no processes but ours, so a `sleep` of a number of seconds that nobody else uses names one process.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::catalog::Peer;
use super::client::{Answer, Client, SECRET};

/// Seconds that the child of a shell sleeps, and a child in a session of its own. Nobody waits for their end.
const CHILD: u32 = 86_411;
const APART: u32 = 86_412;

/// Time for a command to start. Only a server that refuses it takes as long.
const STARTS_WITHIN: Duration = Duration::from_secs(10);

/// Time for 38 MB of output.
const OUTPUT_WITHIN: Duration = Duration::from_mins(1);

/// The timeout of a command, in seconds.
const TIMEOUT: u64 = 2;

/// How often the process table is read.
const LOOK_EVERY: Duration = Duration::from_millis(2);

/// `seq 5000000` writes this many bytes.
const OUTPUT_BYTES: u64 = 38_888_896;

/// How a caller leaves a running command.
#[derive(Clone, Copy)]
enum Leaving {
    Cancel,
    ClientDies,
    ServerDies,
}

/// Where the servers are, and how long a process may take to be gone.
pub(super) struct Ground<'a> {
    pub(super) bashful: &'a Path,
    pub(super) peers: &'a Path,
    pub(super) patience: Duration,
}

impl Ground<'_> {
    pub(super) fn start<'a>(
        &self,
        peer: &'a Peer,
        home: &Path,
        timeout: Option<u64>,
    ) -> Result<Client<'a>, Box<dyn Error>> {
        Client::start(peer, self.bashful, self.peers, home, timeout)
    }

    /// All cases of one server.
    pub(super) fn all(&self, peer: &Peer) -> Result<Value, Box<dyn Error>> {
        Ok(json!({
            "cancel": self.after(Leaving::Cancel, peer)?,
            "client_death": self.after(Leaving::ClientDies, peer)?,
            "server_death": self.after(Leaving::ServerDies, peer)?,
            "timeout": self.timeout(peer)?,
            "daemon": self.daemon(peer)?,
            "output": self.output(peer)?,
            "secret": self.secret(peer)?,
        }))
    }

    /// Starts a command whose shell has a child, and looks for the child after the caller has left in this way.
    fn after(&self, leaving: Leaving, peer: &Peer) -> Result<Value, Box<dyn Error>> {
        let home = tempfile::tempdir()?;
        let mut client = self.start(peer, home.path(), None)?;
        let id = client.call(&format!("sleep {CHILD}; echo over"))?;
        if !appears(CHILD) {
            return Ok(refused(&mut client, id));
        }
        match leaving {
            Leaving::Cancel => client.cancel(id)?,
            Leaving::ClientDies => client.hang_up(),
            Leaving::ServerDies => client.kill_server()?,
        }
        Ok(self.fate(CHILD))
    }

    /// A command with a child of its shell and one in a session of its own, both beyond the timeout.
    fn timeout(&self, peer: &Peer) -> Result<Value, Box<dyn Error>> {
        if !peer.has_timeout {
            return Ok(json!({ "none": true }));
        }
        let home = tempfile::tempdir()?;
        let mut client = self.start(peer, home.path(), Some(TIMEOUT))?;
        let id = client.call(&format!("setsid sleep {APART} & sleep {CHILD}; echo over"))?;
        if !(appears(APART) && appears(CHILD)) {
            return Ok(refused(&mut client, id));
        }
        std::thread::sleep(Duration::from_secs(TIMEOUT));
        Ok(json!({ "child": self.fate(CHILD), "setsid": self.fate(APART) }))
    }

    /// A command that is over, with a child that still holds its output.
    fn daemon(&self, peer: &Peer) -> Result<Value, Box<dyn Error>> {
        let home = tempfile::tempdir()?;
        let mut client = self.start(peer, home.path(), None)?;
        let began = Instant::now();
        let id = client.call(&format!("sleep {CHILD} & seq 41 42; true"))?;
        let answer = client.answer(id, self.patience)?;
        let took = began.elapsed();
        end(CHILD);
        Ok(match answer {
            Some(answer) => json!({ "answered_ms": millis(took), "shown": lines(&answer).contains("41\n42") }),
            None => json!({ "answered_ms": null }),
        })
    }

    /// 38 MB of output: the bytes that reach the client, and where the rest is.
    fn output(&self, peer: &Peer) -> Result<Value, Box<dyn Error>> {
        let home = tempfile::tempdir()?;
        let mut client = self.start(peer, home.path(), None)?;
        let id = client.call("seq 1 5000000")?;
        let Some(answer) = client.answer(id, OUTPUT_WITHIN)? else { return Ok(json!({ "wire_bytes": null })) };
        let text = lines(&answer);
        let (head, tail) = (text.contains("2\n3\n4\n5\n"), text.contains("4999998\n4999999\n"));
        let whole = head && tail && u64::try_from(text.len())? >= OUTPUT_BYTES;
        Ok(json!({
            "wire_bytes": answer.bytes, "head": head, "tail": tail, "whole": whole,
            "on_disk": has_file(home.path(), OUTPUT_BYTES),
        }))
    }

    /// A secret in the server's environment, asked for by a command.
    fn secret(&self, peer: &Peer) -> Result<Value, Box<dyn Error>> {
        let home = tempfile::tempdir()?;
        let mut client = self.start(peer, home.path(), None)?;
        let id = client.call(&format!("printenv {}", SECRET.0))?;
        let answer = client.answer(id, STARTS_WITHIN)?.ok_or("no answer to printenv")?;
        Ok(json!({ "leaks": answer.text().contains(SECRET.1) }))
    }

    /// The time until a process is gone, or that it is still there. Ends it then.
    fn fate(&self, seconds: u32) -> Value {
        let began = Instant::now();
        while began.elapsed() < self.patience {
            if find(seconds).is_empty() {
                return json!({ "gone_ms": millis(began.elapsed()) });
            }
            std::thread::sleep(LOOK_EVERY);
        }
        end(seconds);
        json!({ "gone_ms": null })
    }
}

/// The text of an answer. It may be JSON, in which a line end has two characters.
fn lines(answer: &Answer) -> String {
    answer.text().replace("\\n", "\n")
}

/// A command that did not start, with the answer of its server.
fn refused(client: &mut Client<'_>, id: u64) -> Value {
    end(CHILD);
    end(APART);
    let answer = client.answer(id, Duration::ZERO).ok().flatten();
    json!({ "refused": answer.map_or_else(|| "no answer".to_owned(), |answer| answer.text()) })
}

/// Waits until this `sleep` runs. False if it does not.
fn appears(seconds: u32) -> bool {
    let give_up = Instant::now() + STARTS_WITHIN;
    while find(seconds).is_empty() {
        if Instant::now() > give_up {
            return false;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    true
}

/// The processes that are this `sleep`. A zombie has no command line, so it is none of them.
fn find(seconds: u32) -> Vec<i32> {
    let wanted = format!("sleep\0{seconds}\0").into_bytes();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok())
        .filter(|pid| std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line == wanted))
        .collect()
}

/// Kills every process that is this `sleep`.
fn end(seconds: u32) {
    for pid in find(seconds).into_iter().filter_map(Pid::from_raw) {
        // It may have ended by itself.
        let _ = kill_process(pid, Signal::KILL);
    }
}

/// True if a file of this size is below a directory.
fn has_file(directory: &Path, bytes: u64) -> bool {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| match entry.file_type() {
        Ok(kind) if kind.is_dir() => has_file(&entry.path(), bytes),
        Ok(kind) if kind.is_file() => entry.metadata().is_ok_and(|metadata| metadata.len() == bytes),
        _ => false,
    })
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
