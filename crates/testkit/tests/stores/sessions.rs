//! A session is one shell for many commands: what one leaves in it, the next finds; and when that is lost, it is said.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bashful_engine::{
    End, EndSessionError, Engine, Exit, Grace, Lifetime, Outcome, Reply, Request, RunError, SessionEntry,
    SessionLimits, SessionName, SessionOutcome, SessionOwner, SessionStore, StartError, StopReason, Streams, WhenBusy,
};
use bashful_testkit::{Place, Starts, WIDE, eventually, finished, output, patient, request};

use crate::PUPPET;

fn name(name: &str) -> SessionName {
    SessionName::new(name).expect("a name")
}

/// A request for a script in the session `s`.
fn in_session(script: impl Into<Vec<u8>>) -> Request {
    let mut request = request(script);
    request.session = Some(name("s"));
    request
}

async fn run(engine: &Engine, request: Request) -> Outcome {
    let reply = tokio::time::timeout(WIDE, engine.run(request)).await.expect("it comes back");
    finished(reply.expect("it starts"))
}

fn session(outcome: &Outcome) -> &SessionOutcome {
    outcome.session.as_ref().expect("it ran in a session")
}

/// Runs a script in the session, and compares what it writes and its exit code. The shell has to stay.
async fn check(engine: &Engine, script: &str, written: &str, code: u8) {
    let outcome = run(engine, in_session(script)).await;
    assert_eq!((output(&outcome).as_str(), outcome.end), (written, End::Own(Exit::Code(code))), "{script}");
    assert!(session(&outcome).shell_stays, "{script}");
}

/// Runs a script that ends the shell, and looks whether the next reply says so.
async fn check_loses(script: &str, written: &str, exit: Exit, why: &str) {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    check(&engine, "kept=1", "", 0).await;
    let outcome = run(&engine, in_session(script)).await;
    assert_eq!((output(&outcome).as_str(), outcome.end), (written, End::Own(exit)), "{script}");
    assert!(!session(&outcome).shell_stays, "{script}");
    let next = run(&engine, in_session("echo \"${kept-gone}\"")).await;
    assert_eq!(output(&next), "gone\n", "{script}");
    assert_eq!(session(&next).lost_before.as_deref(), Some(why), "{script}");
    assert!(session(&next).is_new && session(&next).shell_stays, "{script}");
    // The notice comes once.
    let third = run(&engine, in_session("true")).await;
    assert_eq!((session(&third).lost_before.as_deref(), session(&third).is_new), (None, false), "{script}");
}

fn store(place: &mut Place, limits: SessionLimits, owner: SessionOwner) -> Arc<SessionStore> {
    let store = Arc::new(SessionStore::new(place.path().join("sessions"), limits, owner));
    place.options.sessions = Some(Arc::clone(&store));
    store
}

async fn listed(store: &SessionStore) -> Vec<SessionEntry> {
    store.list().await.expect("they can be listed")
}

#[tokio::test]
async fn what_one_command_leaves_the_next_one_finds() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let first = run(&engine, in_session("x='a b'; export y=2; f() { echo \"f: $1\"; }; alias l=echo; shopt -s expand_aliases; declare -A m=([k]=v); cd /usr; umask 027; ulimit -n 77; set -o pipefail")).await;
    assert!(session(&first).is_new);
    check(&engine, "echo \"$x\"; printenv y; f \"$x\"; l aliased; echo ${m[k]}; pwd; umask; ulimit -n; shopt -qo pipefail && echo strict", "a b\n2\nf: a b\naliased\nv\n/usr\n0027\n77\nstrict\n", 0).await;
    // Nothing of it is anybody else's business.
    let own_umask = std::process::Command::new("sh").args(["-c", "umask"]).output().expect("it runs").stdout;
    let expected = format!("none\n{}\n{}", place.path().display(), String::from_utf8_lossy(&own_umask));
    let other = run(&engine, request("echo \"${x-none}\"; pwd; umask; ulimit -n")).await;
    assert!(output(&other).starts_with(&expected), "{}, not {expected}", output(&other));
    let mut elsewhere = in_session("echo \"${x-none}\"");
    elsewhere.session = Some(name("other"));
    assert_eq!(output(&run(&engine, elsewhere).await), "none\n");
}

#[tokio::test]
async fn children_in_the_background_stay_with_the_session() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let outcome =
        run(&engine, in_session("(echo early; until [ -e go ]; do sleep 0.01; done; echo late) & echo $!")).await;
    let left = outcome.leftover.as_ref().expect("somebody is left");
    assert_eq!((left.session.as_ref(), left.job), (Some(&name("s")), None));
    let file = left.output_file.clone().expect("what they write is kept");
    // The next command neither reports it nor ends it.
    let next = run(&engine, in_session("jobs | grep -c Running; touch go; wait; echo waited")).await;
    assert_eq!((output(&next).as_str(), next.leftover), ("1\nwaited\n", None));
    let kept = || std::fs::read_to_string(&file).unwrap_or_default();
    assert!(eventually(|| kept().ends_with("late\n")), "{}", kept());
}

#[tokio::test]
async fn a_shell_that_cannot_make_sense_of_a_script_stays() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    for script in
        ["echo 'unbalanced", "echo \"unbalanced", "if true; then", "echo )", "case x in", "f() {", "$(", "${x"]
    {
        let outcome = run(&engine, in_session(script)).await;
        assert!(matches!(outcome.end, End::Own(Exit::Code(1 | 2))), "{script}: {outcome:?}");
        assert!(session(&outcome).shell_stays, "{script}");
        check(&engine, "echo right", "right\n", 0).await;
    }
    let outcome = run(&engine, in_session("cat <<EOF\nnot ended")).await;
    assert!(output(&outcome).ends_with("not ended\n"), "{outcome:?}");
    check(&engine, "return 7", "", 7).await;
    check(&engine, "break; continue; echo on", "bash: break: only meaningful in a `for', `while', or `until' loop\nbash: continue: only meaningful in a `for', `while', or `until' loop\non\n", 0).await;
    check(&engine, "set -u; echo $nothing; echo not reached", "bash: nothing: unbound variable\n", 1).await;
    check(&engine, "set +u; echo $((1/0)); echo not reached", "bash: 1/0: division by 0 (error token is \"0\")\n", 1)
        .await;
    check(&engine, ": ${nothing?message}; echo not reached", "bash: nothing: message\n", 1).await;
}

#[tokio::test]
async fn a_shell_that_ends_is_told_of_and_replaced() {
    let code = Exit::Code;
    check_loses("echo bye; exit 3", "bye\n", code(3), "its shell ended with exit code 3").await;
    check_loses("set -e; echo a; false; echo b", "a\n", code(1), "its shell ended with exit code 1").await;
    check_loses("exec echo replaced", "replaced\n", code(0), "its shell ended with exit code 0").await;
    check_loses("trap 'echo at the end' EXIT; exit 4", "at the end\n", code(4), "its shell ended with exit code 4")
        .await;
    check_loses(
        "set -e; trap 'echo cleanup $?' EXIT; false",
        "cleanup 1\n",
        code(1),
        "its shell ended with exit code 1",
    )
    .await;
    check_loses("kill -KILL $$", "", Exit::Signal(9), "its shell was killed by signal 9 (SIGKILL)").await;
    check_loses("f() { exit 5; }; f | cat; f", "", code(5), "its shell ended with exit code 5").await;
}

#[tokio::test]
async fn a_shell_that_ends_with_its_first_command_says_nothing_of_its_own() {
    let place = Place::new(PUPPET);
    for script in ["exit 3", "set -e; (exit 3)"] {
        let outcome = run(&place.engine(), in_session(script)).await;
        assert_eq!((output(&outcome).as_str(), outcome.end), ("", End::Own(Exit::Code(3))), "{script}");
        assert!(session(&outcome).is_new && !session(&outcome).shell_stays);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_trap_waits_for_the_end_of_the_shell() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    check(&engine, "trap 'echo over > over' EXIT", "", 0).await;
    check(&engine, "ls", "sessions\n", 0).await;
    let sessions = place.options.sessions.clone().expect("a place has one");
    assert_eq!(sessions.end(&name("s")).await.expect("it ends"), 1);
    assert_eq!(place.wait_for("over"), "over\n");
}

#[tokio::test]
async fn descriptors_are_the_scripts_to_spoil() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    check(&engine, "exec >file; echo to the file; exec 2>&-", "", 0).await;
    assert_eq!(place.wait_for("file"), "to the file\n");
    check(&engine, "echo seen; exec 3>three; echo again", "seen\nagain\n", 0).await;
    check(&engine, "echo third >&3; cat three", "third\n", 0).await;
    let _ = run(&engine, in_session("exec 0<&- 1>&- 2>&-; echo lost")).await;
    check(&engine, "echo seen; read line || echo nothing to read", "seen\nnothing to read\n", 0).await;
    // Also those that are not its own.
    let all = "for fd in /proc/$$/fd/*; do fd=${fd##*/}; eval \"exec $fd>&-\" 2>/dev/null; done";
    let outcome = run(&engine, in_session(all)).await;
    assert!(matches!(outcome.end, End::Own(_)), "{outcome:?}");
    let next = run(&engine, in_session("echo \"here: $x\"")).await;
    assert_eq!(output(&next), "here: \n");
}

#[tokio::test]
async fn what_looks_like_a_word_of_ours_is_output() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    check(&engine, "echo 0; echo n1; printf '7\\n' >&2; exit_code=9; echo $exit_code", "0\nn1\n7\n9\n", 0).await;
    let bytes = b"printf '\\xff'; printf '%s' \"\xc3\xa9'\"".to_vec();
    let outcome = run(&engine, in_session(bytes)).await;
    assert_eq!(outcome.output.bytes, 4);
    let long = format!("x='{}'; echo ${{#x}}", "a'\\''b".repeat(40_000));
    check(&engine, &long, "120000\n", 0).await;
    let longer = format!("x={}; echo ${{#x}}", "y".repeat(1_000_000));
    check(&engine, &longer, "1000000\n", 0).await;
    check(&engine, "alias echo=false; alias builtin=false; printf() { false; }; echo() { false; }; declare -f echo >/dev/null; command echo right", "right\n", 0).await;
    check(&engine, "command echo still right", "still right\n", 0).await;
}

#[tokio::test]
async fn lines_are_counted_from_the_first_of_each_script() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    check(&engine, "\n\necho $LINENO", "3\n", 0).await;
    check(&engine, "echo $LINENO\necho $LINENO", "1\n2\n", 0).await;
}

#[tokio::test]
async fn a_shell_outlives_what_is_stopped_in_it() {
    let scripts = [
        "sleep 1000; touch went-on",
        "f() { sleep 1000; touch went-on; }; g() { f; touch went-on; }; g; touch went-on",
        "while :; do sleep 1000; touch went-on; done",
        "while :; do :; done; touch went-on",
        "(sleep 1000; touch went-on); touch went-on",
        "x=$(sleep 1000; touch went-on); touch went-on",
        "sleep 1000 | cat; touch went-on",
        "sleep 1000 & wait; touch went-on",
        "mkfifo fifo 2>/dev/null; exec 5<>fifo; read line <&5; touch went-on",
        "for i in {1..20000000}; do :; done; touch went-on",
        "trap 'touch went-on' INT; sleep 1000; touch went-on",
        "trap : TERM; sleep 1000; touch went-on",
        "setsid sleep 1000; touch went-on",
        "sleep 1000 || touch went-on",
        "! sleep 1000; touch went-on",
        "eval 'sleep 1000; touch went-on'; touch went-on",
        "bash -c \"trap '' TERM; sleep 1000\"; touch went-on",
    ];
    let mut place = Place::new(PUPPET);
    place.options.grace = Grace(Duration::from_millis(300));
    let engine = place.engine();
    for script in scripts {
        let mut request = in_session(format!("state=kept; touch began; {script}"));
        request.lifetime = Some(Lifetime(Duration::from_millis(150)));
        let outcome = run(&engine, request).await;
        assert!(matches!(outcome.end, End::Stopped { why: StopReason::TimeUp, .. }), "{script}: {outcome:?}");
        assert!(session(&outcome).shell_stays, "{script}: {outcome:?}");
        check(&engine, "echo $state; unset state; trap - INT TERM; [ ! -e went-on ]", "kept\n", 0).await;
        assert_eq!(place.survivors().len(), 1, "{script}: {:?}", place.survivors());
    }
}

/// A chain of processes, each the child of one that is gone. It ignores `SIGTERM`.
const CHAIN: &str = r"trap '' TERM; perl -e 'while (1) { fork and exit }' & sleep 1000";

#[tokio::test]
async fn a_chain_of_processes_that_never_lasts_ends_with_its_command() {
    let mut place = Place::new(PUPPET);
    place.options.grace = Grace(Duration::from_millis(50));
    let engine = place.engine();
    for round in 0..8 {
        let mut request = in_session(CHAIN);
        request.lifetime = Some(Lifetime(Duration::from_millis(300)));
        let outcome = run(&engine, request).await;
        assert!(matches!(outcome.end, End::Stopped { why: StopReason::TimeUp, .. }), "{outcome:?}");
        // One look may miss a chain.
        let seen = (0..20).flat_map(|_| place.survivors()).find(|line| line.contains("perl"));
        assert_eq!(seen, None, "in round {round}");
    }
}

#[tokio::test]
async fn a_shell_that_does_not_come_back_is_killed_and_that_is_said() {
    let mut place = Place::new(PUPPET);
    place.options.grace = Grace(Duration::from_millis(200));
    let engine = place.engine();
    for script in
        ["trap '' PWR INT; while :; do :; done", "exec bash -c \"trap '' PWR INT TERM; while :; do sleep 1; done\""]
    {
        check(&engine, "kept=1", "", 0).await;
        let mut request = in_session(script);
        request.lifetime = Some(Lifetime(Duration::from_millis(100)));
        let outcome = run(&engine, request).await;
        assert!(matches!(outcome.end, End::Stopped { why: StopReason::TimeUp, .. }), "{script}: {outcome:?}");
        assert!(!session(&outcome).shell_stays, "{script}");
        let next = run(&engine, in_session("echo \"${kept-gone}\"")).await;
        assert_eq!(output(&next), "gone\n");
        let why = "its shell had to be killed: its time was up";
        assert_eq!(session(&next).lost_before.as_deref(), Some(why), "{script}");
    }
}

#[tokio::test]
async fn a_command_that_is_cancelled_is_stopped_and_the_shell_stays() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    check(&engine, "kept=1", "", 0).await;
    let mut job = engine.started(in_session("touch began; sleep 1000; touch went-on")).await.expect("it starts");
    place.wait_for("began");
    job.stop(StopReason::Cancelled);
    let outcome = tokio::time::timeout(WIDE, job.wait()).await.expect("it ends").expect("it is told");
    assert!(matches!(outcome.end, End::Stopped { why: StopReason::Cancelled, .. }), "{outcome:?}");
    check(&engine, "echo $kept", "1\n", 0).await;
    // A dropped future cancels too.
    let job = engine.started(in_session("touch began2; sleep 1000; touch went-on")).await.expect("it starts");
    place.wait_for("began2");
    drop(job);
    check(&engine, "echo $kept; ls went-on 2>/dev/null; pgrep -P $$ sleep", "1\n", 1).await;
}

#[tokio::test]
async fn an_interrupt_never_hits_the_next_command() {
    let mut place = Place::new(PUPPET);
    place.options.grace = Grace(Duration::from_secs(5));
    let engine = place.engine();
    for round in 0..60_u64 {
        let job = engine.started(in_session("for i in {1..200}; do :; done")).await.expect("it starts");
        // Before, while and after it ends.
        tokio::time::sleep(Duration::from_micros(round * 20)).await;
        job.stop(StopReason::Cancelled);
        drop(job);
        check(&engine, "for i in {1..300}; do :; done; echo whole", "whole\n", 0).await;
    }
    let entry = &listed(place.options.sessions.as_ref().expect("a place has one")).await[0];
    assert_eq!(entry.commands, 120, "none was lost, and none was done twice");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_command_at_a_time_and_the_others_wait_or_are_told() {
    let mut place = Place::new(PUPPET);
    let waiting = place.engine();
    let first =
        waiting.started(in_session("until [ -e go ]; do sleep 0.01; done; order=$order-1")).await.expect("it starts");
    let second = tokio::spawn({
        let engine = waiting.clone();
        async move { run(&engine, in_session("order=$order-2; echo $order")).await }
    });
    // Another session does not wait for this one.
    let mut other = in_session("touch go");
    other.session = Some(name("other"));
    run(&waiting, other).await;
    let second = tokio::time::timeout(WIDE, second).await.expect("it comes back").expect("it does not panic");
    assert_eq!(output(&second), "-1-2\n");
    drop(first);

    let limits = SessionLimits { when_busy: WhenBusy::Refuse, ..SessionLimits::default() };
    store(&mut place, limits, SessionOwner::Engine);
    let refusing = place.engine();
    let busy = refusing.started(in_session("sleep 1000")).await.expect("it starts");
    let refused = refusing.run(in_session("true")).await.expect_err("it is busy");
    assert!(matches!(refused, RunError::Start(StartError::SessionBusy)), "{refused:?}");
    drop(busy);
    assert!(eventually(|| futures_now(refusing.run(in_session("true"))).is_some()), "it is never free again");
}

/// Runs a future on its own thread; none if it fails.
fn futures_now<T: Send, E: Send>(future: impl Future<Output = Result<T, E>> + Send) -> Option<T> {
    std::thread::scope(|scope| {
        let runtime = || tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        scope.spawn(move || runtime().block_on(future).ok()).join().expect("it does not panic")
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_his_turn_may_go_away() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let first = engine.started(in_session("until [ -e go ]; do sleep 0.01; done")).await.expect("it starts");
    let second = engine.run(in_session("touch never"));
    assert!(tokio::time::timeout(Duration::from_millis(100), second).await.is_err(), "it waits");
    std::fs::write(place.path().join("go"), "").expect("a file");
    check(&engine, "ls never 2>/dev/null; echo looked", "looked\n", 0).await;
    drop(first);
}

#[tokio::test]
async fn where_a_command_runs_is_where_the_last_one_went_unless_it_says_so() {
    let place = Place::new(PUPPET);
    std::fs::create_dir_all(place.path().join("it's a dir")).expect("a directory");
    let engine = place.engine();
    check(&engine, "pwd", &format!("{}\n", place.path().display()), 0).await;
    check(&engine, "cd /usr", "", 0).await;
    let plan = engine.plan(in_session("pwd")).expect("a plan");
    assert_eq!(plan.directory, Path::new("/usr"), "the guard judges it there");
    check(&engine, "pwd", "/usr\n", 0).await;
    let mut moved = in_session("pwd; echo $OLDPWD");
    moved.workdir = Some("it's a dir".into());
    let expected = format!("{}/it's a dir\n/usr\n", place.path().display());
    assert_eq!(output(&run(&engine, moved).await), expected);
    check(&engine, "pwd", &format!("{}/it's a dir\n", place.path().display()), 0).await;
}

#[tokio::test]
async fn the_guard_looks_at_every_command() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    check(&engine, "cd /usr", "", 0).await;
    let Reply::Refused(refusal) = engine.run(in_session("git push --force")).await.expect("a reply") else {
        panic!("it ran")
    };
    assert!(refusal.reason.contains("git push"), "{refusal:?}");
    let Reply::Refused(_) = engine.run(in_session("rm -rf ./*")).await.expect("a reply") else { panic!("it ran") };
    // Definitions that persist are judged when they arrive.
    for script in
        ["f() { rm -rf ~; }", "function g { git push --force; }", "alias q='rm -rf ~'", "x=1; h ( ) ( rm -rf ~ )"]
    {
        let Reply::Refused(_) = engine.run(in_session(script)).await.expect("a reply") else {
            panic!("it ran: {script}")
        };
    }
    check(&engine, "clean() { rm -rf \"$1\"/build; }; p() { git push \"$@\"; }", "", 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_judged_for_where_it_runs() {
    let place = Place::new(PUPPET);
    std::fs::create_dir_all(place.path().join("w/objects")).expect("a directory");
    std::fs::create_dir_all(place.path().join("precious/.git/objects")).expect("a directory");
    let engine = place.engine();
    check(&engine, "cd w", "", 0).await;
    let first =
        engine.started(in_session("touch began; until [ -e go ]; do sleep 0.01; done; cd ../precious/.git")).await;
    let first = first.expect("it starts");
    assert!(eventually(|| place.path().join("w/began").exists()));
    // Harmless where the shell is now, and not where it will be.
    let queued = tokio::spawn({
        let engine = engine.clone();
        async move { engine.run(in_session("rm -rf objects; echo done")).await }
    });
    tokio::time::sleep(Duration::from_millis(100)).await;
    std::fs::write(place.path().join("w/go"), "").expect("a file");
    let reply = tokio::time::timeout(WIDE, queued).await.expect("it comes back").expect("it does not panic");
    assert!(matches!(reply, Ok(Reply::Refused(_))), "{reply:?}");
    assert!(place.path().join("precious/.git/objects").exists());
    drop(first);
    // A command that is harmless there runs, and prints its directory.
    let outcome = run(&engine, in_session("pwd")).await;
    assert_eq!(session(&outcome).directory, place.path().join("precious/.git"));
}

#[tokio::test]
async fn what_an_earlier_child_starts_is_not_the_later_commands() {
    let mut place = Place::new(PUPPET);
    place.options.grace = Grace(Duration::from_millis(300));
    let engine = place.engine();
    let script = "(touch began; until [ -e go ]; do sleep 0.01; done; sleep 1000; touch ended) & echo started";
    run(&engine, in_session(script)).await;
    let mut request = in_session("touch go; sleep 1000");
    request.lifetime = Some(Lifetime(Duration::from_millis(400)));
    let outcome = run(&engine, request).await;
    assert!(matches!(outcome.end, End::Stopped { .. }), "{outcome:?}");
    check(&engine, "ls ended 2>/dev/null; pgrep -xc sleep -P $(pgrep -P $$)", "1\n", 0).await;
}

#[tokio::test]
async fn a_shell_that_was_stopped_goes_on() {
    let mut place = Place::new(PUPPET);
    place.options.grace = Grace(Duration::from_secs(5));
    let engine = place.engine();
    let mut request = in_session("kept=1; kill -STOP $$; :");
    request.lifetime = Some(Lifetime(Duration::from_millis(200)));
    let outcome = run(&engine, request).await;
    assert!(session(&outcome).shell_stays, "{outcome:?}");
    check(&engine, "echo $kept", "1\n", 0).await;
}

#[tokio::test]
async fn a_shell_that_frees_millions_of_words_comes_back() {
    let mut place = Place::new(PUPPET);
    place.options.grace = Grace(Duration::from_secs(20));
    let engine = place.engine();
    let mut request = in_session("kept=1; for i in {1..2000000}; do :; done");
    request.lifetime = Some(Lifetime(Duration::from_millis(700)));
    let outcome = run(&engine, request).await;
    assert!(session(&outcome).shell_stays, "{outcome:?}");
    check(&engine, "echo $kept", "1\n", 0).await;
}

#[tokio::test]
async fn nobody_is_prompted() {
    let mut place = Place::new(PUPPET);
    for (name, value) in [("TMOUT", "1"), ("PROMPT_COMMAND", "touch prompted"), ("PS0", "$(touch prompted)")] {
        place.options.host_environment.push((name.into(), value.into()));
    }
    let engine = place.engine();
    check(&engine, "x=1", "", 0).await;
    tokio::time::sleep(Duration::from_millis(1500)).await;
    check(&engine, "echo $x; ls prompted 2>/dev/null; true", "1\n", 0).await;
}

#[tokio::test]
async fn other_variables_are_another_shell() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    check(&engine, "x=1", "", 0).await;
    let mut with = in_session("echo \"${x-none} $EXTRA\"");
    with.env = vec![("EXTRA".to_owned(), "e".into())];
    let outcome = run(&engine, with).await;
    assert_eq!(output(&outcome), "none e\n");
    assert!(session(&outcome).is_new && session(&outcome).has_others);
    check(&engine, "echo \"$x ${EXTRA-none}\"", "1 none\n", 0).await;
}

#[tokio::test]
async fn streams_are_taken_apart_and_long_output_is_kept() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let mut split = in_session("echo out; echo err >&2");
    split.streams = Streams::Split;
    let outcome = run(&engine, split).await;
    let stderr = outcome.stderr.clone().expect("it is apart");
    assert_eq!((output(&outcome).as_str(), stderr.bytes), ("out\n", 4));
    let outcome = run(&engine, in_session("seq 100000; echo $((6 * 7))")).await;
    let artifact = outcome.output.artifact.expect("it is on disk");
    assert_eq!(std::fs::read(&artifact.path).expect("it is there").len() as u64, outcome.output.bytes);
    assert_eq!((outcome.output.lines, outcome.end), (100_001, End::Own(Exit::Code(0))));
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_in_a_session_ends_with_its_engine() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let outcome = run(&engine, in_session("setsid sleep 1000 & (sleep 1000 &) ; echo started")).await;
    assert_eq!(outcome.leftover.expect("two are left").processes.len(), 2);
    let busy = engine.started(in_session("sleep 1000")).await.expect("it starts");
    drop((engine, busy));
    place.check_nothing_survives();
    assert!(eventually(|| std::fs::read_dir(place.path().join("sessions")).is_ok_and(|all| all.count() == 0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_of_the_user_stays_for_others() {
    let mut place = Place::new(PUPPET);
    store(&mut place, SessionLimits::default(), SessionOwner::User);
    let one = place.engine();
    check(&one, "x=1; cd /usr", "", 0).await;
    drop(one);
    let store = store(&mut place, SessionLimits::default(), SessionOwner::User);
    let other = place.engine();
    check(&other, "echo $x; pwd", "1\n/usr\n", 0).await;
    let all = listed(&store).await;
    let entry = all.first().expect("there is one");
    assert_eq!((entry.name.as_str(), entry.owner, entry.busy, entry.commands), ("s", SessionOwner::User, false, 2));
    assert_eq!(entry.cwd.as_deref(), Some(Path::new("/usr")));
    assert_eq!(store.end(&name("s")).await.expect("it ends"), 1);
    assert!(matches!(store.end(&name("s")).await, Err(EndSessionError::NoSession { .. })));
    place.check_nothing_survives();
    let outcome = run(&other, in_session("echo \"${x-none}\"")).await;
    assert_eq!(output(&outcome), "none\n");
    assert_eq!(session(&outcome).lost_before.as_deref(), Some("it was ended by request"));
    assert_eq!(store.end(&name("s")).await.expect("it ends"), 1);
}

#[tokio::test]
async fn engines_do_not_find_each_others_sessions() {
    let mut place = Place::new(PUPPET);
    let one = place.engine();
    check(&one, "x=1", "", 0).await;
    store(&mut place, SessionLimits::default(), SessionOwner::Engine);
    let other = place.engine();
    check(&other, "echo \"${x-none}\"", "none\n", 0).await;
    check(&one, "echo \"${x-none}\"", "1\n", 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_session_is_ended_but_not_one_in_which_something_runs() {
    let mut place = Place::new(PUPPET);
    let limits = SessionLimits { idle: Duration::from_millis(200), ..SessionLimits::default() };
    let store = store(&mut place, limits, SessionOwner::Engine);
    let engine = place.engine();
    check(&engine, "x=1", "", 0).await;
    place.check_nothing_survives();
    let outcome = run(&engine, in_session("echo \"${x-none}\"; sleep 1000 & ")).await;
    assert_eq!(output(&outcome), "none\n");
    let why = session(&outcome).lost_before.clone().expect("it was lost");
    assert!(why.starts_with("it was ended because it had nothing to do for "), "{why}");
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(listed(&store).await.len(), 1);
    check(&engine, "kill $!; wait; echo ended", "ended\n", 0).await;
    place.check_nothing_survives();
}

#[tokio::test]
async fn the_one_that_is_idle_for_longest_makes_room() {
    let mut place = Place::new(PUPPET);
    let limits = SessionLimits { at_most: 2, ..SessionLimits::default() };
    let store = store(&mut place, limits, SessionOwner::Engine);
    let engine = place.engine();
    let at = |session: &str, script: &str| {
        let mut request = request(script);
        request.session = Some(name(session));
        request
    };
    for session in ["a", "b", "a", "c"] {
        run(&engine, at(session, "true")).await;
    }
    let names: Vec<_> = listed(&store).await.into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["a", "c"]);
    let outcome = run(&engine, at("b", "true")).await;
    assert_eq!(session(&outcome).lost_before.as_deref(), Some("it made room for another session"));
    store.end(&name("b")).await.expect("it ends");
    for session in ["a", "c"] {
        run(&engine, at(session, "true")).await;
    }
    let _one = engine.started(at("a", "sleep 1000")).await.expect("it starts");
    let _two = engine.started(at("c", "sleep 1000")).await.expect("it starts");
    let refused = engine.run(at("d", "true")).await.expect_err("there is no room");
    assert_eq!(refused.to_string(), "there are 2 sessions already, and all of them are in use (a, c); end one");
}

#[tokio::test]
async fn a_command_that_outlasts_its_call_takes_the_shell_with_it() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    check(&engine, "x=1", "", 0).await;
    let request = in_session("echo \"x is $x\"; until [ -e go ]; do sleep 0.01; done; echo done; (exit 6)");
    let reply = engine.call(request, patient(Duration::from_millis(50))).await.expect("a reply");
    let Reply::Background(sent) = reply else { panic!("it waits: {reply:?}") };
    assert_eq!(sent.shown.expect("it was waited for").session, Some(name("s")));
    let next = run(&engine, in_session("echo \"${x-none}\"; touch go")).await;
    assert_eq!(output(&next), "none\n");
    let why = format!("its shell went on with job {}", sent.job.id);
    assert_eq!(session(&next).lost_before.as_deref(), Some(why.as_str()));
    let jobs = engine.jobs().expect("a place has one");
    let job = tokio::time::timeout(WIDE, jobs.wait_until_gone(sent.job.id)).await.expect("it ends").expect("a job");
    assert_eq!(job.end(), Some(End::Own(Exit::Code(6))));
    let text = std::fs::read_to_string(&job.output_file).expect("it is there");
    assert_eq!(text, "x is 1\ndone\n\n[background process failed: exit status: 6]\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_job_that_came_from_a_session_is_stopped_like_any_other() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let job = engine.started(in_session("touch began; sleep 1000; touch went-on")).await.expect("it starts");
    place.wait_for("began");
    let sent = job.send_to_background().await.expect("it becomes a job");
    let jobs = engine.jobs().expect("a place has one");
    jobs.stop(sent.job.id, bashful_engine::Stop::Ask).await.expect("it is told");
    let job = tokio::time::timeout(WIDE, jobs.wait_until_gone(sent.job.id)).await.expect("it ends").expect("a job");
    assert!(matches!(job.end(), Some(End::Stopped { why: StopReason::Cancelled, .. })), "{job:?}");
    assert!(!place.path().join("went-on").exists());
    place.check_nothing_survives();
}

#[tokio::test]
async fn a_keeper_that_is_killed_takes_its_shell_with_it_and_that_is_said() {
    let place = Place::new(PUPPET);
    let engine = place.engine();
    let outcome = run(&engine, in_session("x=1; echo $PPID")).await;
    let keeper: i32 = output(&outcome).trim().parse().expect("a number");
    let keeper = rustix::process::Pid::from_raw(keeper).expect("a process id");
    rustix::process::kill_process(keeper, rustix::process::Signal::KILL).expect("it is ours");
    let next = run(&engine, in_session("echo \"${x-none}\"")).await;
    assert_eq!(output(&next), "none\n");
    assert_eq!(session(&next).lost_before.as_deref(), Some("its keeper was killed"));
}

#[tokio::test]
async fn a_job_in_the_background_is_not_for_sessions() {
    let place = Place::new(PUPPET);
    let refused = place.engine().started_job(in_session("true")).await.expect_err("it has no shell of its own");
    assert!(matches!(refused, RunError::JobInSession), "{refused:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_sessions_at_once() {
    let mut place = Place::new(PUPPET);
    store(&mut place, SessionLimits { at_most: 40, ..SessionLimits::default() }, SessionOwner::Engine);
    let engine = place.engine();
    let mut all = tokio::task::JoinSet::new();
    for session in 0..20 {
        for _ in 0..5 {
            let engine = engine.clone();
            all.spawn(async move {
                let mut request = request("count=$((count + 1)); echo $count");
                request.session = Some(name(&format!("s{session}")));
                (session, output(&run(&engine, request).await).trim().parse::<u32>().expect("a number"))
            });
        }
    }
    let mut seen: Vec<_> = all.join_all().await;
    seen.sort_unstable();
    let expected: Vec<_> = (0..20).flat_map(|session| (1..=5).map(move |count| (session, count))).collect();
    assert_eq!(seen, expected);
}

/// Number of session directories.
fn directories(store: &SessionStore) -> usize {
    std::fs::read_dir(store.directory()).map_or(0, Iterator::count)
}

fn exits_in(session: &str) -> Request {
    Request { session: Some(name(session)), ..request("exit 3") }
}

#[tokio::test(flavor = "multi_thread")]
async fn ended_sessions_of_an_engine_leave_nothing_when_it_ends() {
    let mut place = Place::new(PUPPET);
    let store = store(&mut place, SessionLimits::default(), SessionOwner::Engine);
    let engine = place.engine();
    for number in 0..20 {
        run(&engine, exits_in(&number.to_string())).await;
    }
    check(&engine, "x=1", "", 0).await;
    assert!(directories(&store) > 1);
    drop(engine);
    place.check_nothing_survives();
    assert!(eventually(|| directories(&store) == 0), "{} directories are left", directories(&store));
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_of_a_dead_engine_and_all_but_the_newest_words_are_swept() {
    let mut place = Place::new(PUPPET);
    let store = store(&mut place, SessionLimits::default(), SessionOwner::User);
    let engine = place.engine();
    // No process has this id: the largest there can be is 4,194,304.
    let dead = store.directory().join("4999999-1-abc");
    std::fs::create_dir_all(&dead).expect("a directory");
    std::fs::write(dead.join("lost"), "its shell ended").expect("a word");
    for number in 0..20 {
        run(&engine, exits_in(&number.to_string())).await;
    }
    listed(&store).await;
    assert!(!dead.exists());
    assert_eq!(directories(&store), 16);
    let last = run(&engine, exits_in("19")).await;
    assert_eq!(session(&last).lost_before.as_deref(), Some("its shell ended with exit code 3"));
}
