//! The puppet plays the badly behaved child: it performs its arguments one after the other.
//!
//! Also a host with an entry point for keepers, so that tests need no other program for them.
#![expect(clippy::print_stdout, reason = "saying things is its job")]

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use bashful_engine::{Engine, Grace, JobLimits, JobStore, Options, Request, Script, Stop, find_bash};
use bashful_testkit::Starts;
use rustix::process::{Pid, Signal, getpid, kill_process, setpgid, setsid};

fn main() {
    bashful_engine::keeper_main();
    let mut arguments = std::env::args().skip(1);
    while let Some(action) = arguments.next() {
        let mut next = || arguments.next().expect("this action takes a word");
        match action.as_str() {
            "say" => say(&next()),
            "make" => std::fs::write(next(), std::process::id().to_string()).expect("a file"),
            "setsid" => drop(setsid().expect("a session of its own")),
            "newgroup" => setpgid(None, None).expect("a group of its own"),
            "stop" => kill_process(getpid(), Signal::STOP).expect("a signal to itself"),
            "hold" => hold(),
            "raw" => bashful_sys::raw_mode::enter().expect("a terminal"),
            "panic" => panic!("as asked"),
            "signal" => send_signal(&next(), next().parse().expect("a process id")),
            "pin" => pin(next().parse().expect("a process id")),
            "chatter" => chatter(&next()),
            "storm" => storm(next().parse().expect("a number")),
            "respawn" => respawn("respawn", Duration::from_millis(3)),
            "rush" => respawn("rush", Duration::ZERO),
            "host" => host(next().as_ref(), &next(), &next()),
            "exit" => std::process::exit(next().parse().expect("a number")),
            other => panic!("the puppet knows no action {other:?}"),
        }
    }
}

/// Sends a signal by its name. The guard lets a puppet do what it asks about when `kill` does it.
fn send_signal(name: &str, process: i32) {
    let signal = match name {
        "KILL" => Signal::KILL,
        "STOP" => Signal::STOP,
        "TERM" => Signal::TERM,
        "INT" => Signal::INT,
        "HUP" => Signal::HUP,
        other => panic!("the puppet knows no signal {other:?}"),
    };
    let sent = kill_process(Pid::from_raw(process).expect("not zero"), signal);
    if sent.is_err() {
        std::process::exit(1);
    }
}

/// Starts a job, prints its id, acts on it as the last argument says, and lives until killed.
fn host(jobs: &Path, script: &str, then: &str) -> ! {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let bash = find_bash(&std::env::var_os("PATH").expect("a PATH")).expect("bash");
        let mut options = Options::new(bash, std::env::current_dir().expect("a directory"));
        let store = Arc::new(JobStore::new(jobs.to_path_buf(), JobLimits::default()));
        options.jobs = Some(Arc::clone(&store));
        options.host_environment = std::env::vars_os().collect();
        options.grace = Grace(Duration::from_secs(1));
        let engine = Engine::new(options).expect("an engine");
        let request = Request::new(Script::new(script).expect("a script"));
        let id = match then {
            "outlast" => {
                let job = engine.started(request).await.expect("it starts");
                job.send_to_background().await.expect("it can be sent").job.id
            }
            _ => engine.started_job(request).await.expect("it starts").id,
        };
        if then == "stop" {
            store.stop(id, Stop::Ask).await.expect("its keeper is told");
        }
        say(&id.to_string());
        std::future::pending::<()>().await;
    });
    hold()
}

fn say(text: &str) {
    println!("{text}");
    std::io::stdout().flush().expect("somebody listens");
}

/// Lives until killed, with its descriptors open.
fn hold() -> ! {
    loop {
        std::thread::sleep(Duration::from_hours(1));
    }
}

/// Sends SIGSTOP to a process until that is gone. Ignores SIGTERM.
fn pin(pid: i32) {
    bashful_sys::signal::ignore(Signal::TERM);
    let pid = Pid::from_raw(pid).expect("a process id");
    while kill_process(pid, Signal::STOP).is_ok() {}
}

/// Writes forever; creates a file when writing fails.
fn chatter(failed: &str) -> ! {
    loop {
        if writeln!(std::io::stdout(), "chatter").and_then(|()| std::io::stdout().flush()).is_err() {
            std::fs::write(failed, "nobody listens").expect("a file");
            hold();
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Many short-lived processes, each the child of one that is gone.
fn storm(count: u32) {
    let me = std::env::current_exe().expect("its own path");
    for _ in 0..count {
        let left = Command::new(&me).args(["exit", "0"]).spawn();
        drop(left);
    }
}

/// A chain of sessions: each makes the next and ends, so that no process id lasts.
fn respawn(action: &str, pause: Duration) {
    let _ = setsid();
    let me = std::env::current_exe().expect("its own path");
    std::thread::sleep(pause);
    let successor = Command::new(me).arg(action).spawn().expect("a successor");
    // The child is left behind on purpose.
    drop(successor);
}
