//! The stage: a network with nothing but loopback, and a process namespace that ends with the play.
//!
//! The case runs outside. It starts the program `stage` (beside the puppet) inside, hands it a [`Play`] on standard input and reads
//! the [`Record`] from its standard output. Model and agent both live inside, so no agent can reach its maker's servers.

use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::model::Model;
use super::play::{Play, Record, Stop, StopBy};

/// Time for an agent to play its whole script. Only a hang exceeds it, also on a busy machine.
const AGENT_AT_MOST: Duration = Duration::from_mins(3);

/// Time for a command's processes to be gone after the agent was stopped. A process that ignores SIGTERM would get 15 s.
const GONE_WITHIN: Duration = Duration::from_secs(30);

/// Polling interval for processes and files.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// Runs a play on a stage of its own.
///
/// `stage` is the program of that name.
pub(super) fn perform(stage: &Path, play: &Play) -> Result<Record, String> {
    let mut command = Command::new("unshare");
    if !rustix::process::geteuid().is_root() {
        command.arg("--map-root-user");
    }
    command.args(["--net", "--pid", "--fork", "--mount-proc", "--kill-child"]);
    command.args(["sh", "-c", "ip link set lo up && exec \"$0\"", &stage.to_string_lossy()]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot run unshare (package util-linux): {error}"))?;
    let text = serde_json::to_vec(play).map_err(|error| error.to_string())?;
    // A stage that cannot be set up does not read; its standard error tells why.
    let _ = child.stdin.take().map(|mut input| input.write_all(&text));
    let output = child.wait_with_output().map_err(|error| error.to_string())?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        format!(
            "no stage for the agent: namespaces need root, or a kernel that lets users have their own, and `ip` (package iproute2): {}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        )
    })
}

/// The program `stage`: plays what standard input says, and prints the record.
pub fn stage_main() -> ExitCode {
    match play_from(io::stdin()).and_then(|record| io::stdout().write_all(&serde_json::to_vec(&record)?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "stage: {error}");
            ExitCode::FAILURE
        }
    }
}

fn play_from(mut input: impl Read) -> io::Result<Record> {
    let mut text = Vec::new();
    input.read_to_end(&mut text)?;
    let play: Play = serde_json::from_slice(&text)?;
    let model = Model::start(play.turns.clone())?;
    let said = tempfile::NamedTempFile::new()?;
    let begun = Instant::now();
    let mut agent = start(&play, said.as_file())?;
    let mut record = Record::default();
    if let Some(stop) = &play.stop {
        stop_agent(&mut agent, stop, &mut record)?;
    }
    record.ended = wait(&mut agent, begun + AGENT_AT_MOST)?;
    record.seconds = begun.elapsed().as_secs_f64();
    record.said = String::from_utf8_lossy(&std::fs::read(said.path())?).into_owned();
    record.requests = model.seen();
    Ok(record)
}

fn start(play: &Play, said: &std::fs::File) -> io::Result<Child> {
    Command::new(&play.program)
        .args(&play.arguments)
        .env_clear()
        .envs(&play.environment)
        .current_dir(&play.directory)
        .stdin(Stdio::null())
        .stdout(said.try_clone()?)
        .stderr(said.try_clone()?)
        .process_group(0)
        .spawn()
        .map_err(|error| io::Error::other(format!("cannot run {}: {error}", play.program.display())))
}

/// Waits for the agent's end, and kills it at the deadline.
fn wait(agent: &mut Child, deadline: Instant) -> io::Result<String> {
    loop {
        if let Some(status) = agent.try_wait()? {
            return Ok(status.to_string());
        }
        if Instant::now() > deadline {
            agent.kill()?;
            agent.wait()?;
            return Ok(format!("killed after {} s", AGENT_AT_MOST.as_secs()));
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

/// Stops the agent once its command runs, and watches the command's processes go.
fn stop_agent(agent: &mut Child, stop: &Stop, record: &mut Record) -> io::Result<()> {
    let deadline = Instant::now() + AGENT_AT_MOST;
    while !stop.when.exists() {
        if Instant::now() > deadline || agent.try_wait()?.is_some() {
            return Ok(());
        }
        std::thread::sleep(LOOK_EVERY);
    }
    if marked(&stop.mark).is_empty() {
        return Err(io::Error::other(format!("no process carries {} although the command runs", stop.mark)));
    }
    let leader = pid(agent.id());
    match (stop.by, leader) {
        (StopBy::Interrupt, Some(leader)) => kill_process_group(leader, Signal::INT)?,
        (StopBy::Kill, _) => kill_agent(agent.id()),
        (_, None) => {}
    }
    let stopped = Instant::now();
    while stopped.elapsed() < GONE_WITHIN {
        if marked(&stop.mark).is_empty() {
            record.gone_after = Some(stopped.elapsed().as_secs_f64());
            break;
        }
        std::thread::sleep(LOOK_EVERY);
    }
    record.survivors = marked(&stop.mark);
    kill_agent(agent.id());
    Ok(())
}

fn pid(raw: u32) -> Option<Pid> {
    i32::try_from(raw).ok().and_then(Pid::from_raw)
}

/// Kills the agent and its helpers, down to bashful's processes, which have to notice that by themselves.
fn kill_agent(leader: u32) {
    let mut victims = vec![leader];
    let all = processes();
    let mut next = 0;
    while let Some(&parent) = victims.get(next) {
        victims.extend(
            all.iter().filter(|process| process.parent == parent && !process.is_bashful()).map(|process| process.pid),
        );
        next += 1;
    }
    for victim in victims.into_iter().filter_map(pid) {
        // The process may be gone already.
        let _ = kill_process(victim, Signal::KILL);
    }
}

/// Command lines that contain a word.
fn marked(mark: &str) -> Vec<String> {
    // The shell's own command line has the whole script in it, so it counts too.
    processes().into_iter().map(|process| process.line).filter(|line| line.contains(mark)).collect()
}

struct Process {
    pid: u32,
    parent: u32,
    /// Empty for a process that has ended and was not waited for.
    line: String,
}

impl Process {
    fn is_bashful(&self) -> bool {
        let program = self.line.split(' ').next().unwrap_or_default();
        program.rsplit('/').next().is_some_and(|name| name.starts_with("bashful"))
    }
}

/// All processes of the stage.
fn processes() -> Vec<Process> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = std::fs::read_to_string(entry.path().join("stat")).ok()?;
            // The name stands in parentheses and may contain anything.
            let parent = stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()?;
            let line = std::fs::read(entry.path().join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ").trim_end().to_owned();
            Some(Process { pid, parent, line })
        })
        .collect()
}
