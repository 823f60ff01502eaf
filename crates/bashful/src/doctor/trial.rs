//! Tests the promises about stopping, each with a real daemon.
//!
//! A seccomp filter or an old kernel can break any of them, and only a test shows that.

use std::time::Duration;

use bashful_engine::{Caller, Engine, Promises, Request, Running, Script, Started, StopReason};
use bashful_sys::proc::Process;
use rustix::process::Pid;
use tokio::time::{Instant, sleep, timeout};

/// Starts a daemon outside of the shell's tree and, with `setsid`, outside of its session, and prints its process id.
/// The daemon ends by itself if it cannot be stopped. The empty line comes after the listener is attached.
const DAEMON: &str = "if command -v setsid >/dev/null; then (setsid sleep 5 >/dev/null & echo $!)
else (set -m; sleep 5 >/dev/null & echo $!); fi
sleep 0.1; echo; sleep 0.1\n";

/// Longest time for the daemon to start.
const BEGINS_WITHIN: Duration = Duration::from_secs(3);

/// Longest time for the daemon to be stopped, shorter than its own life.
const ENDS_WITHIN: Duration = Duration::from_secs(1);

/// Tests the promises and returns those that hold. The engine must have no judge: one of the trials kills its own
/// keeper.
pub(super) async fn hold(engine: &Engine, promised: Promises) -> Promises {
    let wait = format!("{DAEMON}sleep 5");
    let stop = |job: &mut Option<Running>| job.iter().for_each(|job| job.stop(StopReason::Cancelled));
    // A dropped command and a killed program look the same to a keeper: the connection closes.
    let drop_it = |job: &mut Option<Running>| drop(job.take());
    let kill_keeper = format!("{DAEMON}kill -9 $PPID; sleep 5");
    Promises {
        catches_daemons: promised.catches_daemons && ends(engine, &wait, stop).await,
        survives_own_death: promised.survives_own_death && ends(engine, &wait, drop_it).await,
        survives_keeper_death: promised.survives_keeper_death && ends(engine, &kill_keeper, |_| ()).await,
        ..promised
    }
}

/// True if the daemon of this script ends after `act` on its command.
async fn ends(engine: &Engine, script: &str, act: impl FnOnce(&mut Option<Running>)) -> bool {
    let Ok(script) = Script::new(script) else { return false };
    let started = engine.start(Request::new(script), Caller::default()).await;
    let Some(job) = started.ok().and_then(Started::running) else { return false };
    let Some(daemon) = daemon_of(&job).await else { return false };
    let mut job = Some(job);
    act(&mut job);
    let ended = has_ended(&daemon).await;
    if let Some(mut job) = job {
        // The search for strays must end before another engine starts a keeper, which it could take for a stray.
        let _ = timeout(BEGINS_WITHIN, job.wait()).await;
    }
    ended
}

async fn has_ended(daemon: &Process) -> bool {
    let give_up = Instant::now() + ENDS_WITHIN;
    while Instant::now() < give_up {
        let now = Process::read(daemon.pid);
        if now.is_none_or(|now| now.has_ended() || now.began != daemon.began) {
            return true;
        }
        sleep(Duration::from_millis(5)).await;
    }
    false
}

/// The daemon, as soon as the script has printed its process id.
async fn daemon_of(job: &Running) -> Option<Process> {
    let mut live = job.live();
    let said = timeout(BEGINS_WITHIN, live.wait_for(|live| live.newest.ends_with(b"\n"))).await.ok()?.ok()?;
    let pid = std::str::from_utf8(&said.newest).ok()?.lines().next()?.parse().ok().and_then(Pid::from_raw)?;
    Process::read(pid)
}
