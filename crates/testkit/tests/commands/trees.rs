//! Whatever a command's processes do, the reply comes, says what happened, and nothing is left that it does not name.

use std::time::Duration;

use bashful_engine::{
    End, Engine, Exit, Finished, Grace, LeftoverPolicy, Lifetime, Outcome, Reply, Running, StopReason,
};
use bashful_testkit::{Place, Starts, WIDE, eventually, finished, output, patient, request, run};
use rustix::process::{Pid, Signal, kill_process};

use crate::PUPPET;

/// Starts a script and waits until it has made the file `ready`.
async fn start(place: &Place, script: &str) -> (Engine, Running) {
    let engine = place.engine();
    let job = engine.started(request(script)).await.expect("it starts");
    place.wait_for("ready");
    (engine, job)
}

async fn ends(job: &mut Running) -> Outcome {
    tokio::time::timeout(WIDE, job.wait()).await.expect("the reply comes").expect("nobody dropped it")
}

fn send(pid: i32, signal: Signal) {
    kill_process(Pid::from_raw(pid).expect("a process id"), signal).expect("it is there");
}

/// Cancels a script that has made `ready`: it has to be gone, all of it, long before the grace is over.
#[track_caller]
fn check_cancelled(script: &str, exit: Exit) {
    check_cancelled_in(&Place::new(PUPPET), script, exit);
}

#[track_caller]
fn check_cancelled_in(place: &Place, script: &str, exit: Exit) {
    let outcome = block_on(async {
        let (_engine, mut job) = start(place, script).await;
        job.stop(StopReason::Cancelled);
        ends(&mut job).await
    });
    assert_eq!(outcome.end, End::Stopped { why: StopReason::Cancelled, exit });
    assert_eq!(outcome.leftover, None);
    assert_eq!(place.survivors(), [""; 0], "something was left when the reply came");
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

const TERMINATED: Exit = Exit::Signal(15);
const KILLED: Exit = Exit::Signal(9);

#[tokio::test]
async fn a_silent_holder_of_the_pipe_does_not_hold_up_the_reply() {
    let place = Place::new(PUPPET);
    let outcome = run(&place.engine(), r#"(exec -a puppet "$PUPPET" hold) & echo started; exit 7"#).await;
    assert_eq!((outcome.end, output(&outcome).as_str()), (End::Own(Exit::Code(7)), "started\n"));
    let left = outcome.leftover.expect("the holder is named");
    assert_eq!(left.processes.len(), 1);
    assert_eq!(left.processes[0].command, "puppet hold", "{left:?}");
    assert_eq!(place.survivors().len(), 1);
    send(left.keeper.expect("a process keeps it"), Signal::TERM);
    place.check_nothing_survives();
}

#[tokio::test]
async fn a_chatty_holder_of_the_pipe_goes_on_into_a_file_even_when_the_engine_is_gone() {
    let place = Place::new(PUPPET);
    let outcome = run(&place.engine(), r#""$PUPPET" chatter failed & echo started"#).await;
    assert_eq!(outcome.end, End::Own(Exit::Code(0)));
    assert!(output(&outcome).contains("started\n"));
    let left = outcome.leftover.expect("the holder is named");
    let file = left.output_file.expect("there is a place for its output");
    let lines = || std::fs::read_to_string(&file).map_or(0, |text| text.lines().count());
    assert!(eventually(|| lines() > 20), "nothing arrives in the file");
    assert!(!place.path().join("failed").exists(), "it could not write");
    send(left.keeper.expect("a process keeps it"), Signal::TERM);
    place.check_nothing_survives();
}

#[tokio::test]
async fn a_flooding_holder_of_the_pipe_does_not_hold_up_the_reply() {
    let place = Place::new(PUPPET);
    let outcome = run(&place.engine(), "yes & exit 5").await;
    assert_eq!(outcome.end, End::Own(Exit::Code(5)));
    send(outcome.leftover.expect("`yes` is named").keeper.expect("a process"), Signal::TERM);
    place.check_nothing_survives();
}

#[tokio::test]
async fn leftovers_are_stopped_before_the_reply_if_the_settings_say_so() {
    let mut place = Place::new(PUPPET);
    place.options.leftovers = LeftoverPolicy::Stop;
    let outcome = run(&place.engine(), r#"(setsid "$PUPPET" hold &) ; echo started"#).await;
    assert_eq!((outcome.end, outcome.leftover.is_none()), (End::Own(Exit::Code(0)), true));
    assert_eq!(place.survivors(), [""; 0]);
}

#[test]
fn a_child_with_its_own_session_is_stopped_with_the_rest() {
    check_cancelled(r#"setsid "$PUPPET" make ready hold & "$PUPPET" hold"#, TERMINATED);
}

#[test]
fn a_daemon_that_lost_its_parents_is_stopped_with_the_rest() {
    check_cancelled(r#"( ( setsid "$PUPPET" make ready hold & ) & ); "$PUPPET" hold"#, TERMINATED);
}

#[test]
fn a_daemon_without_the_environment_is_stopped_with_the_rest() {
    // The process has the mark on its command line.
    check_cancelled(r#"(env -i setsid "$PUPPET" make ready say "$TEST_MARK" hold &); "$PUPPET" hold"#, TERMINATED);
}

#[test]
fn a_child_in_another_group_is_stopped_with_the_rest() {
    check_cancelled(r#""$PUPPET" newgroup make ready hold & "$PUPPET" hold"#, TERMINATED);
}

#[test]
fn a_job_of_job_control_is_stopped_with_the_rest() {
    check_cancelled(r#"set -m; "$PUPPET" make ready hold & "$PUPPET" hold"#, TERMINATED);
}

#[test]
fn a_program_whose_name_is_no_text_is_stopped_with_the_rest() {
    // The system cuts names at 15 bytes, here in the middle of a character.
    check_cancelled(r#"ln -s "$PUPPET" ööööööööö; ./ööööööööö make ready hold & "$PUPPET" hold"#, TERMINATED);
}

/// A program whose first thread ends while another goes on. To the system it looks like one that has ended.
const HEADLESS: &str = r#"python3 -c "import ctypes, threading, time
threading.Thread(target=time.sleep, args=(1000,)).start()
open('ready', 'w').close()
ctypes.CDLL(None).pthread_exit(None)""#;

#[test]
fn a_program_whose_first_thread_has_ended_is_stopped_with_the_rest() {
    check_cancelled(&format!(r#"{HEADLESS} & "$PUPPET" hold"#), TERMINATED);
}

#[tokio::test]
async fn a_program_whose_first_thread_has_ended_is_named_when_it_is_left_behind() {
    let place = Place::new(PUPPET);
    let outcome = run(&place.engine(), format!("{HEADLESS} & until [ -e ready ]; do sleep 0.01; done")).await;
    let left = outcome.leftover.expect("it is named");
    assert_eq!(left.processes.len(), 1);
    send(left.keeper.expect("a process keeps it"), Signal::TERM);
    place.check_nothing_survives();
}

#[test]
fn a_stopped_child_is_woken_to_end() {
    check_cancelled(r#""$PUPPET" make ready stop & "$PUPPET" hold"#, TERMINATED);
}

#[test]
fn what_ignores_the_request_is_killed_when_the_grace_is_over() {
    let mut place = Place::new(PUPPET);
    place.options.grace = Grace(Duration::from_millis(100));
    check_cancelled_in(&place, r#"trap '' TERM; "$PUPPET" make ready hold"#, KILLED);
}

#[test]
fn a_stopped_child_that_ignores_the_request_is_killed_when_the_grace_is_over() {
    let mut place = Place::new(PUPPET);
    place.options.grace = Grace(Duration::from_millis(100));
    check_cancelled_in(&place, r#"(trap '' TERM; exec "$PUPPET" make ready stop stop) & wait"#, TERMINATED);
}

#[test]
fn a_chain_of_processes_that_never_lasts_is_killed() {
    let mut place = Place::new(PUPPET);
    place.options.grace = Grace(Duration::from_millis(100));
    check_cancelled_in(
        &place,
        r#"trap '' TERM; "$PUPPET" respawn & "$PUPPET" make ready; wait; "$PUPPET" hold"#,
        KILLED,
    );
}

#[tokio::test]
async fn a_second_request_to_stop_kills_at_once() {
    let place = Place::new(PUPPET);
    let (_engine, mut job) = start(&place, r#"trap '' TERM; "$PUPPET" make ready hold"#).await;
    job.stop(StopReason::Cancelled);
    job.stop(StopReason::Cancelled);
    let outcome = ends(&mut job).await;
    assert_eq!(outcome.end, End::Stopped { why: StopReason::Cancelled, exit: KILLED });
    assert_eq!(place.survivors(), [""; 0]);
}

#[tokio::test]
async fn a_program_may_use_the_grace_to_clean_up() {
    let place = Place::new(PUPPET);
    let (_engine, mut job) =
        start(&place, r#"trap 'echo cleaned; exit 3' TERM; "$PUPPET" make ready hold & wait"#).await;
    job.stop(StopReason::Cancelled);
    let outcome = ends(&mut job).await;
    assert_eq!(outcome.end, End::Stopped { why: StopReason::Cancelled, exit: Exit::Code(3) });
    assert_eq!(output(&outcome), "cleaned\n");
}

#[tokio::test]
async fn time_up_keeps_what_was_written_so_far() {
    let mut place = Place::new(PUPPET);
    place.options.lifetime = Lifetime(Duration::from_millis(300));
    let outcome = run(&place.engine(), r#"echo partial; printf 'no newline'; "$PUPPET" hold"#).await;
    assert_eq!(outcome.end, End::Stopped { why: StopReason::TimeUp, exit: TERMINATED });
    assert_eq!(output(&outcome), "partial\nno newline");
    assert_eq!((outcome.output.bytes, outcome.output.lines), (18, 2));
    assert_eq!(place.survivors(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_call_stops_its_command() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let call = tokio::spawn(async move { engine.run(request(r#"setsid "$PUPPET" make ready hold"#)).await });
    place.wait_for("ready");
    call.abort();
    place.check_nothing_survives();
}

#[test]
fn what_is_being_started_when_the_request_comes_is_asked_too() {
    let mut place = Place::new(PUPPET);
    place.options.grace = Grace(WIDE * 2);
    for _ in 0..12 {
        let _ = std::fs::remove_file(place.path().join("ready"));
        check_cancelled_in(&place, "echo >ready; for i in {1..400}; do sleep 1000 & done; wait", TERMINATED);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_job_stops_its_command() {
    let place = Place::new(PUPPET);
    let (_engine, job) = start(&place, r#"(setsid "$PUPPET" make ready hold &); "$PUPPET" hold"#).await;
    drop(job);
    place.check_nothing_survives();
}

#[tokio::test]
async fn losing_patience_does_not_harm_the_command() {
    let place = Place::new(PUPPET);
    let mut without_jobs = place.options.clone();
    without_jobs.jobs = None;
    let engine = Engine::new(without_jobs).expect("an engine");
    let request = request(r#"echo one; "$PUPPET" make ready; until [ -e go ]; do sleep 0.01; done; echo two"#);
    // The command cannot become a job, so the call waits on.
    let call = engine.call(request, patient(Duration::from_millis(1)));
    let (reply, ()) = tokio::join!(call, async {
        while !place.path().join("ready").exists() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        std::fs::write(place.path().join("go"), "").expect("a file");
    });
    let Ok(Reply::Finished(finished)) = reply else { panic!("it cannot be over: {reply:?}") };
    let Finished { outcome, notices, .. } = finished;
    assert_eq!((outcome.end, output(&outcome).as_str()), (End::Own(Exit::Code(0)), "one\ntwo\n"));
    let notice = "could not move it to the background (jobs need a state directory: set XDG_STATE_HOME or HOME), so this call waited until it ended";
    assert_eq!(notices.iter().map(bashful_engine::Redacted::as_str).collect::<Vec<_>>(), [notice]);
}

#[tokio::test]
async fn a_storm_of_processes_that_ends_leaves_nothing() {
    let place = Place::new(PUPPET);
    let outcome = run(&place.engine(), r#""$PUPPET" storm 300; echo done"#).await;
    assert_eq!(outcome.end, End::Own(Exit::Code(0)));
    if let Some(left) = outcome.leftover {
        assert!(left.processes.len() < 300, "all of them are still there");
    }
    place.check_nothing_survives();
}

#[tokio::test]
async fn a_program_that_replaces_the_shell_answers_for_it() {
    let place = Place::new(PUPPET);
    let outcome = run(&place.engine(), r#"exec "$PUPPET" say hi exit 7"#).await;
    assert_eq!((outcome.end, output(&outcome).as_str()), (End::Own(Exit::Code(7)), "hi\n"));
}

#[tokio::test]
async fn a_shell_that_kills_itself_is_told_truthfully() {
    let place = Place::new(PUPPET);
    for (name, number) in [("KILL", 9), ("TERM", 15), ("SEGV", 11), ("HUP", 1)] {
        let outcome = run(&place.engine(), format!("echo before; kill -{name} $$; echo after")).await;
        assert_eq!((outcome.end, output(&outcome).as_str()), (End::Own(Exit::Signal(number)), "before\n"));
    }
}

#[tokio::test]
async fn everything_is_counted_when_the_shell_ends_in_the_middle_of_much_output() {
    let place = Place::new(PUPPET);
    let outcome = run(&place.engine(), "yes 0123456 | head -c 50000000; exit 5").await;
    assert_eq!(outcome.end, End::Own(Exit::Code(5)));
    assert_eq!((outcome.output.bytes, outcome.output.lines), (50_000_000, 6_250_000));
}

#[tokio::test]
async fn a_reader_behind_the_shells_back_is_waited_for() {
    let place = Place::new(PUPPET);
    let outcome = run(&place.engine(), "echo a > >(cat; echo b)").await;
    assert_eq!(output(&outcome), "a\nb\n");
    assert_eq!(outcome.leftover, None);
}

#[tokio::test]
async fn a_killed_keeper_takes_its_shell_along_and_the_reply_says_that_it_is_lost() {
    let place = Place::new(PUPPET);
    let outcome = run(&place.engine(), r#"echo before; $PUPPET signal KILL $PPID; "$PUPPET" hold"#).await;
    assert_eq!(outcome.end, End::Lost);
    assert_eq!(output(&outcome), "before\n");
    if let Some(pid) = outcome.pid {
        let shell_is_gone = || !std::path::Path::new(&format!("/proc/{pid}")).exists();
        assert!(eventually(shell_is_gone), "the shell outlived its keeper");
    }
}

#[tokio::test]
async fn a_stopped_keeper_is_woken_when_the_time_of_its_command_is_up() {
    let mut place = Place::new(PUPPET);
    place.options.lifetime = Lifetime(Duration::from_millis(500));
    let outcome = run(&place.engine(), r#"echo before; $PUPPET signal STOP $PPID; exec "$PUPPET" hold"#).await;
    assert_eq!(outcome.end, End::Stopped { why: StopReason::TimeUp, exit: TERMINATED });
    assert_eq!(output(&outcome), "before\n");
    assert_eq!(place.survivors(), [""; 0], "something was left when the reply came");
}

#[tokio::test]
async fn a_stopped_keeper_is_woken_by_a_request_to_stop() {
    let place = Place::new(PUPPET);
    let (_engine, mut job) = start(&place, r#"$PUPPET signal STOP $PPID; "$PUPPET" make ready hold"#).await;
    job.stop(StopReason::Cancelled);
    assert_eq!(ends(&mut job).await.end, End::Stopped { why: StopReason::Cancelled, exit: TERMINATED });
    place.check_nothing_survives();
}

#[tokio::test]
async fn a_keeper_stopped_while_leftovers_are_ended_goes_on() {
    let mut place = Place::new(PUPPET);
    place.options.leftovers = LeftoverPolicy::Stop;
    place.options.grace = Grace(Duration::from_millis(100));
    let script = r#"keeper=$PPID; (trap "$PUPPET signal STOP $keeper" TERM; "$PUPPET" make ready; while :; do sleep 0.1; done) &
        until [ -e ready ]; do sleep 0.01; done"#;
    assert_eq!(run(&place.engine(), script).await.end, End::Own(Exit::Code(0)));
    assert_eq!(place.survivors(), [""; 0], "something was left when the reply came");
}

#[tokio::test]
async fn a_keeper_that_is_stopped_in_a_tight_loop_does_not_hold_up_the_reply_for_ever() {
    let mut place = Place::new(PUPPET);
    place.options.lifetime = Lifetime(Duration::from_millis(100));
    place.options.grace = Grace(Duration::from_millis(100));
    let outcome = run(&place.engine(), r#"echo before; setsid "$PUPPET" pin $PPID & exec "$PUPPET" hold"#).await;
    // Lost, unless the keeper is quicker for once.
    assert!(!matches!(outcome.end, End::Own(_)), "{outcome:?}");
    assert_eq!(output(&outcome), "before\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_at_once_are_all_right() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let calls: Vec<_> = (0..200)
        .map(|number| {
            let engine = engine.clone();
            tokio::spawn(async move { (number, run(&engine, format!("echo {number}; exit {}", number % 256)).await) })
        })
        .collect();
    for call in calls {
        let (number, outcome) = call.await.expect("no panic");
        assert_eq!(outcome.end, End::Own(Exit::Code(u8::try_from(number % 256).expect("a byte"))));
        assert_eq!(output(&outcome), format!("{number}\n"));
    }
    place.check_nothing_survives();
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_may_run_at_once_wait_their_turn() {
    let mut place = Place::new(PUPPET);
    place.options.at_once = 2;
    let engine = place.engine();
    // Each counts who is there with it.
    let script = "mkdir here.$$; ls -d here.* 2>/dev/null | wc -l; sleep 0.01; rmdir here.$$";
    let calls: Vec<_> = (0..12)
        .map(|_| {
            let engine = engine.clone();
            tokio::spawn(async move { run(&engine, script).await })
        })
        .collect();
    for call in calls {
        let outcome = call.await.expect("no panic");
        let there: u32 = output(&outcome).trim().parse().expect("a number");
        assert!((1..=2).contains(&there), "{there} were there at once");
    }
}

#[tokio::test]
async fn a_directory_that_vanishes_while_a_command_runs_is_its_own_concern() {
    let place = Place::new(PUPPET);
    let gone = place.path().join("gone");
    std::fs::create_dir(&gone).expect("a directory");
    let mut asked = request("rmdir ../gone; pwd; ls; echo $?");
    asked.workdir = Some(gone.clone());
    let outcome = finished(place.engine().run(asked).await.expect("it starts"));
    assert_eq!(outcome.end, End::Own(Exit::Code(0)));
    assert_eq!(output(&outcome), format!("{}\n0\n", gone.display()));
}

#[tokio::test]
async fn a_shell_that_is_not_there_is_named() {
    let mut place = Place::new(PUPPET);
    place.options.shell = "/no/such/bash".into();
    let error = place.engine().run(request("true")).await.expect_err("it cannot start").to_string();
    assert_eq!(error, "cannot start the command: /no/such/bash cannot be run");
}

#[tokio::test]
async fn an_environment_too_large_for_the_system_is_refused_with_its_size() {
    let place = Place::new(PUPPET);
    let mut asked = request("true");
    asked.env = (0..40).map(|number| (format!("BIG_{number}"), "x".repeat(100_000).into())).collect();
    let error = place.engine().run(asked).await.expect_err("it cannot start").to_string();
    assert!(error.contains("its environment (40"), "{error}");
}
