//! Runs a shell that reads the rc files, and captures its state.
//!
//! The shell is a command like any other: under a keeper, with a lifetime. Everything that it or the rc files start is
//! stopped before its answer is read. It writes the answer to a named pipe, which it opens after the rc files. So
//! nothing that they print or do to descriptors interferes, and no secret is written to a disk. (A descriptor of this
//! program, opened through `/proc`, would need no name; but a program that forbids inspection cannot offer one.)

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bashful_keeper::quote;
use bashful_keeper::{End, StopReason};
use bashful_sys::terminal::Terminal;
use rustix::io::Errno;
use tokio::io::unix::AsyncFd;

use crate::call::Caller;
use crate::engine::{Engine, Options};
use crate::environment::Environment;
use crate::plan::Plan;
use crate::request::{Request, Script};
use crate::units::{Grace, Lifetime};
use crate::{Dropped, LeftoverPolicy, Outcome};

use super::filter::ShellFacts;
use super::parse::{Captured, parse};
use super::store::SnapshotDraft;
use super::{GRACE, LARGEST, NoSnapshot, Snapshot};

/// Script that the shell runs after the rc files.
const ANSWER_SCRIPT: &str = include_str!("capture.sh");

/// Input of the terminal: end of file. Typed again and again, because a program that asks may discard earlier input.
const END_OF_FILE: [u8; 1] = [4];

/// Longest time that a program waits for an answer.
const TYPE_EVERY: Duration = Duration::from_millis(10);

/// Plan of a shell that reads the rc files, without its script; none without a home directory.
pub(super) fn plan(engine: &Engine, limit: Duration) -> Option<Plan> {
    let options = engine.options();
    let mut environment = options.environment.resolve(&options.host_environment, &[]).ok()?;
    for name in ["BASH_ENV", "ENV", "SHELLOPTS", "BASHOPTS", "POSIXLY_CORRECT"] {
        environment.variables.remove(std::ffi::OsStr::new(name));
    }
    // Not in the commands' directory: files that the rc files find there would affect all later snapshots.
    let home = environment.variables.get(std::ffi::OsStr::new("HOME"))?.into();
    let mut request = Request::new(Script::new(":").ok()?);
    request.workdir = Some(home);
    let mut plan = Plan::resolve(request, options, &**engine.backend(), &environment, None).ok()?;
    environment.variables.insert("PWD".into(), plan.directory.clone().into());
    plan.environment = environment;
    plan.lifetime = Lifetime(limit);
    plan.grace = Grace(GRACE);
    Some(plan)
}

/// Captures the state of an interactive shell after the rc files.
pub(super) async fn interactive(
    engine: &Engine,
    plan: Plan,
    mut answer_pipe: AnswerPipe,
    limit: Duration,
) -> Result<(Captured, ShellFacts), NoSnapshot> {
    let no_terminal = |error| NoSnapshot::system("no terminal can be had for reading the rc files", error);
    let terminal = Terminal::new().map_err(no_terminal)?;
    let outside = bashful_sys::event::readable(terminal.outside).map_err(no_terminal)?;
    let script = in_terminal(&terminal.path, &plan.shell, &answer_pipe.script());
    let outcome = tokio::select! {
        outcome = run(engine, Plan { script: as_script(script)?, ..plan }) => outcome?,
        never = serve_terminal(&outside) => match never {},
        never = answer_pipe.listen() => match never {},
    };
    let facts = ShellFacts { terminal: terminal.path, took: outcome.elapsed };
    if matches!(outcome.end, End::Stopped { why: StopReason::TimeUp, .. }) {
        // Its answer does not count: a program that it waited for was stopped, and it may have continued with half of
        // the result.
        return Err(NoSnapshot::TooSlow { limit });
    }
    Ok((answer_pipe.answer()?.ok_or(NoSnapshot::Ended)?, facts))
}

/// Captures the state of a shell after it has sourced a file, as a command would. If the file contains more than
/// definitions, it finds no programs to run.
pub(super) async fn plain(
    engine: &Engine,
    file: &Path,
    environment: &Environment,
    mut answer_pipe: AnswerPipe,
    limit: Duration,
) -> Result<Captured, NoSnapshot> {
    let plan = plan(engine, limit).ok_or(NoSnapshot::Garbled)?;
    let script = as_script(answer_pipe.script())?;
    let mut environment = environment.clone();
    environment.variables.insert("PATH".into(), "/nonexistent".into());
    let plan = Plan { script, environment, snapshot: Some(Arc::new(Snapshot::draft(file))), ..plan };
    tokio::select! {
        ran = run(engine, plan) => drop(ran?),
        never = answer_pipe.listen() => match never {},
    }
    answer_pipe.answer()?.ok_or(NoSnapshot::Garbled)
}

/// Runs a plan to its end, and stops the processes that it leaves behind.
async fn run(engine: &Engine, plan: Plan) -> Result<Outcome, NoSnapshot> {
    let failed = |error: &dyn std::fmt::Display| NoSnapshot::system("the rc files could not be read", error);
    let options = Options {
        leftovers: LeftoverPolicy::Stop,
        // A script of our own, which runs once.
        judge: None,
        ready: 0,
        artifacts: None,
        jobs: None,
        registry: None,
        ..engine.options().clone()
    };
    let engine = engine.with_options(options);
    let checked = engine.check(plan, None).await.map_err(|error| failed(&error))?;
    let begun = engine
        .begin(checked, Arc::clone(engine.backend()), None, &Caller::default())
        .await
        .map_err(|error| failed(&error))?;
    let (mut run, _handles) = begun.map_err(|error| failed(&error))?;
    run.until_end().await.ok_or_else(|| failed(&Dropped))
}

fn as_script(text: Vec<u8>) -> Result<Script, NoSnapshot> {
    Script::new(text).map_err(|error| NoSnapshot::system("the rc files could not be read", error))
}

/// The named pipe for a shell's answer.
pub(super) struct AnswerPipe {
    path: PathBuf,
    pipe: AsyncFd<OwnedFd>,
    answer: Vec<u8>,
}

impl AnswerPipe {
    /// Makes a pipe in place of the draft.
    pub(super) fn new(draft: &SnapshotDraft<'_>) -> io::Result<Self> {
        let pipe = bashful_sys::event::readable(draft.make_pipe()?)?;
        Ok(Self { path: draft.path().to_path_buf(), pipe, answer: Vec::new() })
    }

    /// Script that writes the answer.
    fn script(&self) -> Vec<u8> {
        let lines: Vec<&str> = ANSWER_SCRIPT.lines().filter(|line| !line.starts_with('#')).collect();
        // A prefix with the time, which nobody can have made read-only before.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos();
        let mut script = lines.join("\n").replace("BASHFUL", &format!("BASHFUL_{now}")).into_bytes();
        quote(&mut script, self.path.as_os_str().as_bytes());
        script.push(b'\n');
        script
    }

    /// Reads the answer, so that a shell with a long one does not have to wait.
    async fn listen(&mut self) -> std::convert::Infallible {
        loop {
            let Ok(mut ready) = self.pipe.readable().await else { return std::future::pending().await };
            if read_answer(self.pipe.get_ref(), &mut self.answer) == Err(Errno::AGAIN) {
                ready.clear_ready();
            }
        }
    }

    /// The whole answer, once every writer is gone; none if it is incomplete.
    fn answer(mut self) -> Result<Option<Captured>, NoSnapshot> {
        while let Ok(1..) = read_answer(self.pipe.get_ref(), &mut self.answer) {}
        if self.answer.len() as u64 > LARGEST {
            return Err(NoSnapshot::TooLarge);
        }
        Ok(parse(&self.answer))
    }
}

/// Reads once, and keeps a little more than the largest answer that counts.
fn read_answer(pipe: &OwnedFd, answer: &mut Vec<u8>) -> Result<usize, Errno> {
    let mut buffer = [0; 16 * 1024];
    let count = rustix::io::read(pipe, &mut buffer)?;
    if answer.len() as u64 <= LARGEST {
        answer.extend_from_slice(&buffer[..count]);
    }
    Ok(count)
}

/// Script that becomes an interactive shell in a terminal: the first one that a session opens is its own.
fn in_terminal(terminal: &Path, shell: &Path, script: &[u8]) -> Vec<u8> {
    let mut line = b"exec <>".to_vec();
    quote(&mut line, terminal.as_os_str().as_bytes());
    line.extend(b" >&0 2>&0 && exec -a bash ");
    quote(&mut line, shell.as_os_str().as_bytes());
    line.extend(b" -i -c ");
    quote(&mut line, script);
    line
}

/// Serves the terminal: reads its output, so that nobody waits for a reader, and types end of file for programs that
/// ask.
async fn serve_terminal(outside: &AsyncFd<OwnedFd>) -> std::convert::Infallible {
    let mut typing = tokio::time::interval(TYPE_EVERY);
    let mut buffer = [0; 4096];
    loop {
        tokio::select! {
            // A full input buffer means that enough was typed.
            _ = typing.tick() => drop(rustix::io::write(outside.get_ref(), &END_OF_FILE)),
            ready = outside.readable() => match rustix::io::read(outside.get_ref(), &mut buffer) {
                Err(Errno::AGAIN) => drop(ready.map(|mut ready| ready.clear_ready())),
                Err(Errno::INTR) | Ok(1..) => {}
                // The terminal was closed in an unexpected way.
                Ok(0) | Err(_) => return std::future::pending().await,
            },
        }
    }
}
