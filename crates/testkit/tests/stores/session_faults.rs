//! Faults around a session: its turn does not come, its keeper is stopped, its directory is taken away, its shell is
//! killed. Each time something true is said, and a script runs once or not at all.

use std::path::{Path, PathBuf};
use std::time::Duration;

use bashful_dialect::{self as dialect, Dialect, Limits, Toolbox};
use bashful_engine::{
    Caller, End, Engine, Exit, Grace, Lifetime, Outcome, Patience, Reply, Request, RunError, Running, SessionName,
    SessionStore, StartError, StopReason,
};
use bashful_testkit::{Place, Starts, WIDE, eventually, finished, output, patient, request};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::PUPPET;

/// Until it may go on.
const UNTIL_GO: &str = "touch begun; until [ -e go ]; do sleep 0.01; done";

fn name() -> SessionName {
    SessionName::new("s").expect("a name")
}

fn in_session(script: &str) -> Request {
    let mut request = request(script);
    request.session = Some(name());
    request
}

async fn reply(engine: &Engine, request: Request, caller: Caller) -> Result<Reply, RunError> {
    tokio::time::timeout(WIDE, engine.call(request, caller)).await.expect("it comes back")
}

async fn run(engine: &Engine, script: &str) -> Outcome {
    finished(reply(engine, in_session(script), Caller::default()).await.expect("it starts"))
}

/// Runs a script, and compares what it writes. It has to end well, and the shell has to stay.
async fn check(engine: &Engine, script: &str, written: &str) {
    let outcome = run(engine, script).await;
    assert_eq!((output(&outcome).as_str(), outcome.end), (written, End::Own(Exit::Code(0))), "{script}");
    assert!(stays(&outcome), "{script}");
}

fn stays(outcome: &Outcome) -> bool {
    outcome.session.as_ref().expect("it ran in a session").shell_stays
}

fn lost_before(outcome: &Outcome) -> Option<&str> {
    outcome.session.as_ref().expect("it ran in a session").lost_before.as_deref()
}

fn sessions(engine: &Engine) -> &SessionStore {
    engine.sessions().expect("a place has them")
}

/// The directory of the only session.
fn directory(place: &Path) -> PathBuf {
    let mut entries = std::fs::read_dir(place.join("sessions")).expect("it is there");
    entries.next().expect("there is one").expect("it can be read").path()
}

/// The processes that a command has named.
fn pids(outcome: &Outcome) -> Vec<Pid> {
    let number = |word: &str| Pid::from_raw(word.parse().expect("a number")).expect("a process id");
    output(outcome).split_whitespace().map(number).collect()
}

fn send(pid: Pid, signal: Signal) {
    kill_process(pid, signal).expect("it is ours");
}

/// A command that keeps the session busy until there is a file `go`.
async fn keep_busy(place: &Place, engine: &Engine) -> Running {
    let job = engine.started(in_session(UNTIL_GO)).await.expect("it starts");
    place.wait_for("begun");
    job
}

async fn let_go(place: &Place, mut job: Running) {
    std::fs::write(place.path().join("go"), "").expect("it can be written");
    let outcome = tokio::time::timeout(WIDE, job.wait()).await.expect("it ends").expect("it was not dropped");
    assert_eq!(outcome.end, End::Own(Exit::Code(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn patience_counts_while_a_command_waits_for_its_turn() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let first = keep_busy(&place, &engine).await;
    let second = reply(&engine, in_session("touch ran"), patient(Duration::from_millis(200))).await;
    assert!(matches!(second, Err(RunError::Start(StartError::NoTurn))), "{second:?}");
    let_go(&place, first).await;
    // Behind it, if it had still been waiting.
    assert_eq!(output(&run(&engine, "ls ran 2>/dev/null; echo next").await), "next\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keeper_that_was_stopped_does_not_run_what_nobody_waits_for() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let keeper = pids(&run(&engine, "echo $PPID").await)[0];
    let first = keep_busy(&place, &engine).await;
    send(keeper, Signal::STOP);
    let second = reply(&engine, in_session("touch ran"), patient(Duration::from_millis(50))).await;
    assert!(matches!(second, Err(RunError::Start(StartError::NoTurn))), "{second:?}");
    let_go(&place, first).await;
    assert_eq!(output(&run(&engine, "ls ran 2>/dev/null; echo next").await), "next\n");
}

#[tokio::test]
async fn a_command_whose_turn_it_is_begins_however_little_patience_there_is() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    for _ in 0..2 {
        let go = place.path().join("go");
        let _ = std::fs::remove_file(&go);
        let reply = reply(&engine, in_session(&format!("{UNTIL_GO}; echo done")), patient(Duration::ZERO)).await;
        let job = reply.expect("it begins").job().expect("it cannot be over");
        std::fs::write(go, "").expect("it is written");
        let job = place.options.jobs.as_ref().expect("jobs").wait(job.id).await.expect("it ends");
        assert_eq!(job.end(), Some(End::Own(Exit::Code(0))));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn patience_counts_while_too_many_commands_run() {
    let mut place = Place::new(PUPPET);
    place.options.at_once = 1;
    let engine = place.engine();
    let mut first = engine.started(request(UNTIL_GO)).await.expect("it starts");
    place.wait_for("begun");
    let second = reply(&engine, request("touch ran"), patient(Duration::from_millis(50))).await;
    assert!(matches!(second, Err(RunError::Start(StartError::TooManyCommands { limit: 1 }))), "{second:?}");
    std::fs::write(place.path().join("go"), "").expect("it can be written");
    first.wait().await.expect("it was not dropped");
    let third = reply(&engine, request("ls ran 2>/dev/null; echo next"), Caller::default()).await;
    assert_eq!(output(&finished(third.expect("it starts"))), "next\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_whose_client_does_not_wait_is_told_that_nothing_was_run() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let first = keep_busy(&place, &engine).await;
    let toolbox = Toolbox::new(engine.clone(), Dialect::NATIVE, Limits::default(), Path::new("/place"));
    let caller =
        dialect::ToolCaller { patience: Some(Patience(Duration::from_millis(200))), ..dialect::ToolCaller::default() };
    let call = toolbox.call("bash", json!({ "command": "touch ran", "session": "s" }), caller);
    let answer = tokio::time::timeout(WIDE, call).await.expect("it comes back").expect("a tool");
    assert!(answer.is_error && answer.text.contains("the command did not run and is no longer queued"), "{answer:?}");
    let_go(&place, first).await;
    assert_eq!(output(&run(&engine, "ls ran 2>/dev/null; echo next").await), "next\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keeper_that_was_stopped_is_listed_and_ended() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let keeper = pids(&run(&engine, "echo $PPID").await)[0];
    let first = keep_busy(&place, &engine).await;
    send(keeper, Signal::STOP);
    let listed = sessions(&engine).list().await.expect("they can be listed");
    assert!(listed.iter().any(|entry| entry.name == "s" && entry.busy), "{listed:?}");
    send(keeper, Signal::STOP);
    let ended = tokio::time::timeout(WIDE, sessions(&engine).end(&name())).await.expect("it comes back");
    assert_eq!(ended.expect("it ends"), 1);
    drop(first);
    place.check_nothing_survives();
}

#[tokio::test]
async fn a_session_that_cannot_say_why_it_ends_was_not_killed() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    run(&engine, "x=1").await;
    // Nothing can be written there any more, as on a full disk.
    let in_the_way = directory(place.path()).join("lost.new");
    std::fs::create_dir(&in_the_way).expect("it can be made");
    sessions(&engine).end(&name()).await.expect("it ends");
    let next = run(&engine, "echo ${x-none}").await;
    assert_eq!(output(&next), "none\n");
    assert_eq!(lost_before(&next), Some("it had ended, and left no word why"));
}

#[tokio::test]
async fn a_session_whose_directory_cannot_be_used_names_it() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    run(&engine, "true").await;
    sessions(&engine).end(&name()).await.expect("it ends");
    let directory = directory(place.path());
    std::fs::create_dir(directory.join("control")).expect("it can be made");
    let refused =
        reply(&engine, in_session("true"), Caller::default()).await.expect_err("there is no room for its socket");
    assert_eq!(refused.to_string(), format!("cannot start a session: {} cannot be used", directory.display()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_with_its_directory() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let shell = pids(&run(&engine, "x=1; setsid sleep 1000 >/dev/null 2>&1 & echo $$").await)[0];
    std::fs::remove_dir_all(place.path().join("sessions")).expect("it can be removed");
    place.check_nothing_survives();
    assert!(eventually(|| !Path::new(&format!("/proc/{}", shell.as_raw_nonzero())).exists()));
    let next = run(&engine, "echo ${x-none}").await;
    assert_eq!((output(&next).as_str(), lost_before(&next)), ("none\n", Some("its directory was removed")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_not_disturbed_when_the_directory_of_its_session_goes() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let first = keep_busy(&place, &engine).await;
    std::fs::remove_dir_all(place.path().join("sessions")).expect("it can be removed");
    let_go(&place, first).await;
    place.check_nothing_survives();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_that_no_shell_has_read_is_given_to_another() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let shell = pids(&run(&engine, r#"x=1; trap '"$PUPPET" make busy hold' USR1; echo $$"#).await)[0];
    // The shell gets the command while its trap runs, and dies before reading it.
    send(shell, Signal::USR1);
    place.wait_for("busy");
    let waiting = engine.clone();
    let next = tokio::spawn(async move { run(&waiting, "echo ${x-none}; echo ran >>ran").await });
    while !sessions(&engine).list().await.expect("they can be listed").iter().any(|entry| entry.busy) {}
    send(shell, Signal::KILL);
    let next = next.await.expect("it comes back");
    assert_eq!((output(&next).as_str(), next.end), ("none\n", End::Own(Exit::Code(0))));
    assert_eq!(lost_before(&next), Some("its shell was killed by signal 9 (SIGKILL)"));
    assert_eq!(std::fs::read_to_string(place.path().join("ran")).expect("it ran"), "ran\n");
}

#[tokio::test]
async fn a_shell_that_is_stopped_while_it_waits_goes_on_with_the_next_script() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let shell = pids(&run(&engine, "x=1; trap 'echo continued' CONT; echo $$").await)[0];
    check(&engine, "echo $x", "1\n").await;
    send(shell, Signal::STOP);
    let next = run(&engine, "echo $x").await;
    assert_eq!((next.end, stays(&next)), (End::Own(Exit::Code(0)), true));
    assert!(output(&next).contains("1\n"), "{next:?}");
}

#[tokio::test]
async fn a_script_that_ends_its_shell_is_not_given_to_another() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    for script in ["echo ran >>ran; kill -KILL $$", "echo ran >>ran; exec sleep 0"] {
        run(&engine, script).await;
        assert_eq!(std::fs::read_to_string(place.path().join("ran")).expect("it ran"), "ran\n", "{script}");
        std::fs::remove_file(place.path().join("ran")).expect("it is there");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_without_its_socket_ends_and_that_is_said() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    run(&engine, "x=1; setsid sleep 1000 >/dev/null 2>&1 &").await;
    std::fs::remove_file(directory(place.path()).join("control")).expect("it can be removed");
    place.check_nothing_survives();
    let next = run(&engine, "echo ${x-none}").await;
    assert_eq!(output(&next), "none\n");
    assert_eq!(lost_before(&next), Some("it had ended, and left no word why"));
}

#[tokio::test]
async fn a_shell_that_cannot_say_how_scripts_end_is_told_of_and_replaced() {
    let spoilers = [
        "enable -n echo",
        "enable -n builtin",
        "builtin() { :; }",
        "set -r",
        "ulimit -n 4",
        "shopt -s extdebug; trap false DEBUG",
    ];
    for spoiler in spoilers {
        let place = Place::new(PUPPET);
        let engine = place.engine();
        let outcome = run(&engine, &format!("echo said; {spoiler}")).await;
        assert!(matches!(outcome.end, End::Stopped { why: StopReason::Mute, .. }), "{spoiler}: {:?}", outcome.end);
        assert!(output(&outcome).starts_with("said\n") && !stays(&outcome), "{spoiler}");
        let next = run(&engine, "echo again").await;
        let lost = lost_before(&next);
        assert_eq!((output(&next).as_str(), lost), ("again\n", Some("its shell could no longer run commands")));
    }
}

#[tokio::test]
async fn a_script_that_the_shell_cannot_read_runs_in_another_one() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    check(&engine, "kept=1; enable -n .", "").await;
    let next = run(&engine, "echo ${kept-gone}").await;
    assert_eq!((output(&next).as_str(), next.end), ("gone\n", End::Own(Exit::Code(0))));
    assert_eq!(lost_before(&next), Some("its shell could no longer run commands"));
    // One that reads from where the shell reads its own lines is not a shell that waits.
    check(&engine, "read -t 0.2 line <&12; echo $?", "142\n").await;
    check(&engine, "trap 'sleep 0.1' DEBUG; echo slow", "slow\n").await;
}

#[tokio::test]
async fn a_shell_never_waits_for_somebody_to_read_what_it_says_itself() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    // Scripts do not inherit it: it is heard before our own lines only.
    check(&engine, "trap 'printf %0200000d 1 >&2' DEBUG", "").await;
    check(&engine, "trap - DEBUG", "").await;
    check(&engine, "set -xv", "").await;
    let outcome = run(&engine, "trap 'echo bye' EXIT; exit 3").await;
    assert_eq!(outcome.end, End::Own(Exit::Code(3)));
    let written = output(&outcome);
    assert!(written.ends_with("bye\n") && !written.contains("/proc/"), "{written}");
}

#[test]
fn an_engine_with_a_session_can_be_dropped_outside_of_a_runtime() {
    let place = Place::new(PUPPET);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let engine = runtime.block_on(async {
        let engine = place.engine();
        check(&engine, "echo there", "there\n").await;
        engine
    });
    drop(engine);
    place.check_nothing_survives();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_ends_just_as_its_shell_is_looked_at_is_reported() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let mut all = tokio::task::JoinSet::new();
    for session in 0..4 {
        let engine = engine.clone();
        all.spawn(async move {
            let in_own_session = |script: &str| {
                let mut request = request(script);
                request.session = Some(SessionName::new(format!("s{session}")).expect("a name"));
                // Far more than they take, and less than a hang.
                request.lifetime = Some(Lifetime(Duration::from_secs(10)));
                request
            };
            let fifo = format!("mkfifo fifo{session}; exec 9<>fifo{session}");
            finished(reply(&engine, in_own_session(&fifo), Caller::default()).await.expect("it starts"));
            // The keeper looks at the shell for the first time after 20 ms.
            for microseconds in (19_600..20_600).step_by(20) {
                let script = format!("read -t 0.0{microseconds} -u 9 || :");
                let outcome =
                    finished(reply(&engine, in_own_session(&script), Caller::default()).await.expect("it starts"));
                assert_eq!(outcome.end, End::Own(Exit::Code(0)), "{script}");
            }
        });
    }
    all.join_all().await;
}

/// Processor time that a process has used so far.
fn processor_time(pid: Pid) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it is there");
    let (_, fields) = stat.rsplit_once(')').expect("a name");
    let ticks = |index: usize| fields.split_whitespace().nth(index).and_then(|ticks| ticks.parse::<u64>().ok());
    // In hundredths of a second on every machine.
    Duration::from_millis(10 * (ticks(11).expect("user time") + ticks(12).expect("system time")))
}

/// Runs scripts in a session, and returns the processor time that its keeper has used for that.
async fn keeper_time(place: &Place, scripts: impl AsyncFnOnce(&Engine)) -> Duration {
    let engine = place.engine();
    let keeper = pids(&run(&engine, "mkfifo fifo; exec 9<>fifo; echo $PPID").await)[0];
    let before = processor_time(keeper);
    scripts(&engine).await;
    processor_time(keeper).saturating_sub(before)
}

#[tokio::test]
async fn a_keeper_sleeps_while_its_shell_ignores_interrupts() {
    let mut place = Place::new(PUPPET);
    place.options.grace = Grace(WIDE);
    let used = keeper_time(&place, async |engine| {
        let mut request = in_session("trap '' PWR INT; read -t 2 -u 9");
        request.lifetime = Some(Lifetime(Duration::from_millis(100)));
        let outcome = finished(reply(engine, request, Caller::default()).await.expect("it starts"));
        assert!(matches!(outcome.end, End::Stopped { why: StopReason::TimeUp, .. }), "{:?}", outcome.end);
        assert!(stays(&outcome));
    })
    .await;
    assert!(used < Duration::from_millis(300), "{used:?} of two seconds");
}

#[tokio::test]
async fn a_keeper_sleeps_while_it_stops_a_command_whose_caller_is_gone() {
    let mut place = Place::new(PUPPET);
    place.options.grace = Grace(WIDE);
    let used = keeper_time(&place, async |engine| {
        let stubborn = "bash -c 'trap \"\" TERM; touch begun; read -t 2 -u 9'";
        let job = engine.started(in_session(stubborn)).await.expect("it starts");
        place.wait_for("begun");
        drop(job);
        check(engine, "echo next", "next\n").await;
    })
    .await;
    assert!(used < Duration::from_millis(300), "{used:?} of two seconds");
}

#[tokio::test]
async fn a_keeper_sleeps_while_leftovers_may_end_by_themselves() {
    let place = Place::new(PUPPET);
    let used = keeper_time(&place, async |engine| {
        for _ in 0..30 {
            run(engine, "sleep 0.1 &").await;
        }
    })
    .await;
    // Fifty milliseconds each.
    assert!(used < Duration::from_millis(600), "{used:?} of a second and a half");
}
