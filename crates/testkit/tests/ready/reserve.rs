//! A keeper that has done a command does another, and no command can tell.

use std::time::Duration;

use bashful_engine::{End, Engine, Exit, Lifetime, Reply, Request, StopReason};
use bashful_sys::proc::Process;
use bashful_testkit::{Place, Starts, WIDE, eventually, finished, output, request};
use rustix::process::{Pid, Signal, kill_process};

use crate::PUPPET;

/// An engine that may keep keepers.
fn place() -> (Place, Engine) {
    let mut place = Place::new(PUPPET);
    place.options.ready = 1;
    let engine = place.engine();
    (place, engine)
}

/// Overwrites the beginning of the command line in the keeper's memory. Raises its niceness instead where
/// the system forbids that (`ptrace_scope`).
const OVERWRITE_NAME: &str = r#"KEEPER=$PPID python3 -c '
import os
keeper = os.environ["KEEPER"]
start = int(open(f"/proc/{keeper}/stat").read().rsplit(")", 1)[1].split()[45])
try:
    with open(f"/proc/{keeper}/mem", "r+b", 0) as memory:
        memory.seek(start)
        memory.write(b"x")
except PermissionError:
    os.setpriority(os.PRIO_PROCESS, int(keeper), 19)
'"#;

/// No shell waits for such a request: `SECONDS` changes how bash starts. So the keeper is one of the reserve, or a new one.
fn without_a_waiting_shell(script: &str) -> Request {
    Request { env: vec![("SECONDS".to_owned(), "0".into())], ..request(script) }
}

async fn reply(engine: &Engine, script: &str) -> Reply {
    let reply = tokio::time::timeout(WIDE, engine.run(without_a_waiting_shell(script))).await;
    reply.expect("it comes back").expect("it starts")
}

async fn text(engine: &Engine, script: &str) -> String {
    output(&finished(reply(engine, script).await))
}

async fn keeper(engine: &Engine) -> Pid {
    let id = text(engine, "echo $PPID").await.trim().parse().ok();
    id.and_then(Pid::from_raw).expect("a process id")
}

fn lives(pid: Pid) -> bool {
    Process::read(pid).is_some_and(|process| !process.has_ended())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keeper_whose_command_has_left_nothing_does_the_next() {
    let (_place, engine) = place();
    let first = keeper(&engine).await;
    assert_eq!(text(&engine, "cat /no/such/file; exit 3").await, "cat: /no/such/file: No such file or directory\n");
    for _ in 0..5 {
        assert_eq!(keeper(&engine).await, first);
    }
    drop(engine);
    assert!(eventually(|| !lives(first)), "a keeper outlives its engine");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keeper_that_was_killed_in_the_reserve_is_not_missed() {
    let (_place, engine) = place();
    for signal in [Signal::KILL, Signal::TERM] {
        let first = keeper(&engine).await;
        kill_process(first, signal).expect("it is ours");
        assert!(eventually(|| !lives(first)), "it ends");
        assert_ne!(keeper(&engine).await, first);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keeper_that_is_killed_as_it_is_needed_is_not_missed() {
    let (_place, engine) = place();
    for _ in 0..20 {
        let first = keeper(&engine).await;
        kill_process(first, Signal::KILL).expect("it is ours");
        // Not waited for: the engine may find it alive, and then it is gone.
        assert_eq!(text(&engine, "echo still there").await, "still there\n");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keeper_that_was_stopped_in_the_reserve_goes_on_when_it_is_needed() {
    let (_place, engine) = place();
    let first = keeper(&engine).await;
    kill_process(first, Signal::STOP).expect("it is ours");
    assert_eq!(keeper(&engine).await, first);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_has_changed_about_its_keeper_no_other_inherits() {
    let (_place, engine) = place();
    let inherited = "nice; ulimit -Sn; ionice; cat /proc/self/oom_score_adj /proc/self/coredump_filter";
    let before = text(&engine, inherited).await;
    let changes = [
        "renice -n 19 -p $PPID",
        "prlimit --pid $PPID --nofile=77:77",
        "ionice -c 3 -p $PPID",
        "echo 777 >/proc/$PPID/oom_score_adj",
        "echo 0x7f >/proc/$PPID/coredump_filter",
        OVERWRITE_NAME,
    ];
    for change in changes {
        let first = keeper(&engine).await;
        let outcome = finished(reply(&engine, &format!("{{ {change}; }} >&2")).await);
        assert_eq!(outcome.end, End::Own(Exit::Code(0)), "{change}: {outcome:?}");
        assert_eq!(text(&engine, inherited).await, before, "{change}");
        assert_ne!(keeper(&engine).await, first, "{change}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keeper_that_had_to_stop_something_is_not_used_again() {
    let (place, engine) = place();
    let first = keeper(&engine).await;
    let mut late = without_a_waiting_shell(r#"(setsid "$PUPPET" hold &); "$PUPPET" hold"#);
    late.lifetime = Some(Lifetime(Duration::from_millis(200)));
    let outcome = finished(engine.run(late).await.expect("it starts"));
    assert!(matches!(outcome.end, End::Stopped { why: StopReason::TimeUp, .. }), "{outcome:?}");
    place.check_nothing_survives();
    assert_ne!(keeper(&engine).await, first);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tree_under_a_keeper_of_the_reserve_ends_with_its_engine() {
    let (place, engine) = place();
    let first = keeper(&engine).await;
    let running = engine.started(without_a_waiting_shell(
        r#"echo $PPID >keeper; (setsid "$PUPPET" make ready hold &); "$PUPPET" hold"#,
    ));
    let job = running.await.expect("it starts");
    place.wait_for("ready");
    assert_eq!(place.wait_for("keeper").trim(), first.to_string());
    drop((job, engine));
    place.check_nothing_survives();
    assert!(eventually(|| !lives(first)), "a keeper outlives its engine");
}
