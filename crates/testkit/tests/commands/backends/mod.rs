//! Whatever runs the commands, an engine keeps these promises: the contract of every backend.
//!
//! Four are held to it: this machine with a keeper process, this machine with a thread as keeper, a backend that is not
//! part of the engine, and the terminals of a client. Where [`Promises`] differ, each is held to what it says.

mod client;
mod plain;

use std::sync::Arc;
use std::time::Duration;

use bashful_engine::{
    Backend, ByteSize, CLIENT_OUTPUT_LIMIT, Caller, Cleaning, ClientBackend, Clip, End, Engine, Exit, Grace,
    KeeperForm, Lifetime, Live, PlanError, Promises, Redacted, Reply, Request, RunError, Running, SessionName,
    StartError, StopReason, Streams, Window,
};
use bashful_testkit::{Place, ProcessTerminals, Starts, WIDE, eventually, output, patient, request, run};
use plain::Plain;
use tokio::sync::watch;

use crate::PUPPET;

/// A place for commands, and the backend that runs them.
struct World {
    place: Place,
    backend: Option<Arc<dyn Backend>>,
}

impl World {
    fn with_processes() -> Self {
        Self { place: Place::new(PUPPET), backend: None }
    }

    fn outside(backend: Plain) -> Self {
        Self { backend: Some(Arc::new(backend)), ..Self::with_processes() }
    }

    fn of_client() -> Self {
        let world = Self::with_processes();
        let environment = world.place.options.host_environment.clone();
        let terminals = Arc::new(ProcessTerminals::new(environment.clone()));
        Self { backend: Some(Arc::new(ClientBackend::new(terminals, environment))), ..world }
    }

    fn engine(&self) -> Engine {
        match &self.backend {
            Some(backend) => Engine::with_backend(self.place.options.clone(), Arc::clone(backend)),
            None => self.place.engine(),
        }
    }

    fn promises(&self) -> Promises {
        self.engine().promises()
    }

    /// The processes of a stopped command that should be gone: all of them, or its shell.
    fn not_stopped(&self) -> Vec<String> {
        let mut left = self.place.survivors();
        if !self.promises().stops_the_tree {
            left.retain(|process| process.contains("bash -c"));
        }
        left
    }

    /// Waits until everything is gone that a stop ends.
    #[track_caller]
    fn check_is_stopped(&self) {
        assert!(eventually(|| self.not_stopped().is_empty()), "survived: {:?}", self.not_stopped());
    }

    /// A command that has made the file `ready`.
    async fn started(&self, script: &str) -> (Engine, Running) {
        let engine = self.engine();
        let running = engine.started(request(script)).await.expect("it starts");
        self.place.wait_for("ready");
        (engine, running)
    }

    /// Waits until nothing is left, without a stop of the runtime: a task of it may have to end the rest.
    async fn nothing_survives(&self) {
        let gone = async {
            while !self.not_stopped().is_empty() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        soon(gone).await;
    }
}

/// The result of a future that has to come.
fn soon<T>(future: impl Future<Output = T>) -> impl Future<Output = T> {
    // Boxed, because the future of a call is large.
    let future = Box::pin(future);
    async { tokio::time::timeout(WIDE, future).await.expect("it comes back") }
}

/// A test of each promise for each backend.
macro_rules! contract {
    ($($promise:ident,)*) => {
        mod processes { $(#[tokio::test] async fn $promise() { super::$promise(super::World::with_processes()).await; })* }
        mod client_terminals {
            $(#[tokio::test] async fn $promise() { super::$promise(super::World::of_client()).await; })*
        }
        mod outside {
            $(#[tokio::test] async fn $promise() { super::$promise(super::World::outside(super::Plain::Piped)).await; })*
        }
    };
}

contract! {
    a_script_runs_where_and_with_what_it_is_told,
    both_streams_come_as_one_in_their_order,
    both_streams_come_apart,
    bytes_that_are_no_text_come_through,
    output_beyond_all_limits_is_counted_cut_and_kept,
    a_command_that_is_killed_says_by_which_signal,
    a_stop_ends_the_tree,
    a_second_stop_does_not_wait_for_the_grace,
    a_stop_reaches_daemons_where_that_is_promised,
    a_dropped_command_ends,
    a_dropped_call_ends_its_command,
    a_command_ends_when_its_time_is_up,
    a_directory_that_is_not_there_is_named,
    a_command_outlasts_its_call_as_a_job_or_the_call_waits_and_says_why,
    a_background_job_starts_or_is_refused_with_the_reason,
    a_session_keeps_its_shell_or_is_refused_with_the_reason,
}

async fn a_script_runs_where_and_with_what_it_is_told(world: World) {
    std::fs::create_dir(world.place.path().join("below")).expect("a directory");
    let asked = Request {
        workdir: Some("below".into()),
        env: vec![("GIVEN".to_owned(), "a value".into())],
        ..request(r#"echo "${PWD##*/} $GIVEN"; read -r line; echo "read: $?"; exit 7"#)
    };
    let outcome = soon(world.engine().run(asked)).await.expect("it starts").finished().expect("it is over");
    assert_eq!((outcome.end, output(&outcome).as_str()), (End::Own(Exit::Code(7)), "below a value\nread: 1\n"));
    // A client does not say which process it started.
    assert_eq!(outcome.pid.is_some(), outcome.client_terminal.is_none(), "{outcome:?}");
    assert!(outcome.leftover.is_none(), "{outcome:?}");
    world.place.check_nothing_survives();
}

async fn both_streams_come_as_one_in_their_order(world: World) {
    let outcome = run(&world.engine(), "for i in 1 2 3; do echo out $i; echo err $i >&2; done").await;
    assert_eq!(output(&outcome), "out 1\nerr 1\nout 2\nerr 2\nout 3\nerr 3\n");
    assert_eq!(outcome.stderr, None);
}

async fn both_streams_come_apart(world: World) {
    let asked = Request { streams: Streams::Split, ..request("echo out; echo err >&2") };
    let outcome = soon(world.engine().run(asked)).await.expect("it starts").finished().expect("it is over");
    if !world.promises().keeps_whole_output {
        assert_eq!((output(&outcome).as_str(), outcome.stderr), ("out\nerr\n", None));
        return;
    }
    assert_eq!(outcome.output.text(), "out\n");
    assert_eq!(outcome.stderr.expect("it was taken apart").text(), "err\n");
}

async fn bytes_that_are_no_text_come_through(mut world: World) {
    world.place.options.cleaning = Cleaning::None;
    let outcome = run(&world.engine(), r"printf 'a\xff\x00\xfeb'").await;
    let bytes = b"a\xff\x00\xfeb";
    let is_text = !world.promises().keeps_whole_output;
    let expected = if is_text { String::from_utf8_lossy(bytes).into_owned().into_bytes() } else { bytes.to_vec() };
    assert_eq!(outcome.output.clip, Clip::Whole(expected));
}

async fn output_beyond_all_limits_is_counted_cut_and_kept(mut world: World) {
    const BYTES: u64 = 30_000_000;
    world.place.options.window = Window::tail(ByteSize::kib(4));
    let outcome = run(&world.engine(), format!("yes 0123456 | head -c {BYTES}; echo last")).await;
    let keeps_all = world.promises().keeps_whole_output;
    let kept = if keeps_all { BYTES + 5 } else { CLIENT_OUTPUT_LIMIT as u64 };
    assert_eq!((outcome.end, outcome.output.bytes), (End::Own(Exit::Code(0)), kept));
    assert_eq!(outcome.lost_beginning, !keeps_all);
    let Clip::Cut { tail, .. } = &outcome.output.clip else { panic!("all of it is shown") };
    assert!(tail.bytes.ends_with(b"0123456\nlast\n"), "the end is not shown");
    if !keeps_all {
        assert_eq!(outcome.output.artifact, None);
        assert_eq!(outcome.output.not_saved.as_deref(), Some("the client's terminal kept only the end"));
        return;
    }
    let artifact = outcome.output.artifact.expect("all of it is kept");
    assert_eq!(std::fs::metadata(&artifact.path).expect("it is there").len(), BYTES + 5);
}

async fn a_command_that_is_killed_says_by_which_signal(world: World) {
    assert_eq!(run(&world.engine(), "kill -USR1 $$").await.end, End::Own(Exit::Signal(10)));
}

async fn a_stop_ends_the_tree(world: World) {
    let script = r#"("$PUPPET" hold &); "$PUPPET" hold & "$PUPPET" make ready hold"#;
    let (_engine, mut running) = world.started(script).await;
    running.stop(StopReason::Cancelled);
    let outcome = soon(running.wait()).await.expect("nobody dropped it");
    // A client kills.
    let signal = if world.promises().stops_the_tree { 15 } else { 9 };
    assert_eq!(outcome.end, End::Stopped { why: StopReason::Cancelled, exit: Exit::Signal(signal) });
    world.check_is_stopped();
}

async fn a_second_stop_does_not_wait_for_the_grace(mut world: World) {
    world.place.options.grace = Grace(10 * WIDE);
    let (_engine, mut running) = world.started(r#"trap '' TERM; "$PUPPET" make ready hold"#).await;
    running.stop(StopReason::Cancelled);
    running.stop(StopReason::Cancelled);
    let outcome = soon(running.wait()).await.expect("nobody dropped it");
    assert_eq!(outcome.end, End::Stopped { why: StopReason::Cancelled, exit: Exit::Signal(9) });
    world.check_is_stopped();
}

async fn a_stop_reaches_daemons_where_that_is_promised(world: World) {
    let script = r#"("$PUPPET" setsid make ready hold &); "$PUPPET" hold"#;
    let (engine, mut running) = world.started(script).await;
    running.stop(StopReason::Cancelled);
    soon(running.wait()).await.expect("nobody dropped it");
    if !engine.promises().stops_the_tree {
        world.check_is_stopped();
    } else if engine.promises().catches_daemons {
        world.place.check_nothing_survives();
    } else {
        let mut left = Vec::new();
        let only_the_daemon = eventually(|| {
            left = world.place.survivors();
            matches!(left.as_slice(), [daemon] if daemon.contains("setsid"))
        });
        assert!(only_the_daemon, "{left:?}");
    }
}

async fn a_dropped_command_ends(world: World) {
    let (_engine, running) = world.started(r#""$PUPPET" hold & "$PUPPET" make ready hold"#).await;
    drop(running);
    world.nothing_survives().await;
}

async fn a_dropped_call_ends_its_command(world: World) {
    let engine = world.engine();
    let call = engine.run(request(r#""$PUPPET" hold & "$PUPPET" make ready hold"#));
    let ready = async {
        while !world.place.path().join("ready").exists() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    tokio::select! {
        reply = call => panic!("it never ends: {reply:?}"),
        () = soon(ready) => {}
    }
    world.nothing_survives().await;
}

async fn a_command_ends_when_its_time_is_up(mut world: World) {
    world.place.options.grace = Grace(Duration::from_millis(50));
    let asked = Request {
        lifetime: Some(Lifetime(Duration::from_millis(300))),
        ..request(r#"trap '' TERM; echo begun; "$PUPPET" hold"#)
    };
    let outcome = soon(world.engine().run(asked)).await.expect("it starts").finished().expect("it is over");
    assert_eq!(outcome.end, End::Stopped { why: StopReason::TimeUp, exit: Exit::Signal(9) });
    assert_eq!(output(&outcome), "begun\n");
    assert!(outcome.elapsed >= Duration::from_millis(300), "{:?}", outcome.elapsed);
    world.check_is_stopped();
}

async fn a_directory_that_is_not_there_is_named(world: World) {
    let missing = world.place.path().join("missing");
    let asked = Request { workdir: Some("missing".into()), ..request("true") };
    match soon(world.engine().run(asked)).await {
        Err(RunError::Plan(PlanError::NoDirectory { path })) => assert_eq!(path, missing),
        other => panic!("{other:?}"),
    }
}

async fn a_command_outlasts_its_call_as_a_job_or_the_call_waits_and_says_why(world: World) {
    const PATIENCE: Duration = Duration::from_millis(200);
    let engine = world.engine();
    let asked = request("echo begun; until [ -e go ]; do sleep 0.01; done; echo done");
    let go = world.place.path().join("go");
    if engine.promises().leftovers_keep_writing {
        let reply = soon(engine.call(asked, patient(PATIENCE))).await.expect("it starts");
        let id = reply.job().expect("it became a job").id;
        std::fs::write(go, "").expect("a file");
        let jobs = engine.jobs().expect("a store");
        let job = soon(jobs.wait(id)).await.expect("a record");
        assert_eq!(job.end(), Some(End::Own(Exit::Code(0))));
        assert!(std::fs::read_to_string(&job.output_file).expect("it is there").starts_with("begun\ndone\n"));
        soon(jobs.wait_until_gone(id)).await.expect("a record");
        return;
    }
    let (progress, mut live) = watch::channel(Live::default());
    let calling = engine.call(asked, Caller { progress: Some(progress), ..patient(PATIENCE) });
    let letting_go = async {
        live.changed().await.expect("it starts");
        // The call began before this, and its patience ends before this.
        tokio::time::sleep(PATIENCE).await;
        std::fs::write(go, "").expect("a file");
    };
    let (reply, ()) = soon(async { tokio::join!(calling, letting_go) }).await;
    let reply = reply.expect("it starts");
    let Reply::Finished(finished) = reply else { panic!("it was not waited for") };
    assert_eq!(output(&finished.outcome), "begun\ndone\n");
    let notice =
        "could not move it to the background (this backend does not support that), so this call waited until it ended";
    assert_eq!(finished.notices.iter().map(Redacted::as_str).collect::<Vec<_>>(), [notice]);
    assert!(!world.place.path().join("jobs/1").exists(), "a job was written down that is none");
}

async fn a_background_job_starts_or_is_refused_with_the_reason(world: World) {
    let engine = world.engine();
    let Promises { keeper, .. } = engine.promises();
    let started = soon(engine.start_job(request("exit 3"))).await;
    match (keeper, started) {
        (KeeperForm::Process, Ok(reply)) => {
            let jobs = engine.jobs().expect("a store");
            let job = soon(jobs.wait(reply.job().expect("a job").id)).await.expect("a record");
            assert_eq!(job.end(), Some(End::Own(Exit::Code(3))));
            soon(jobs.wait_until_gone(job.id)).await.expect("a record");
        }
        (KeeperForm::Backend, Err(RunError::Start(StartError::JobsUnsupported))) => {
            assert!(!world.place.path().join("jobs/1").exists(), "a job was written down that is none");
        }
        (keeper, started) => panic!("{keeper:?}: {started:?}"),
    }
}

async fn a_session_keeps_its_shell_or_is_refused_with_the_reason(world: World) {
    let engine = world.engine();
    let in_session = |script| Request { session: SessionName::new("s").ok(), ..request(script) };
    let first = soon(engine.run(in_session("x=kept"))).await;
    match (engine.promises().keeper, first) {
        (KeeperForm::Process, Ok(_)) => {
            let reply = soon(engine.run(in_session("echo $x"))).await.expect("it starts");
            assert_eq!(output(&reply.finished().expect("it is over")), "kept\n");
        }
        (KeeperForm::Backend, Err(RunError::Start(StartError::SessionsUnsupported))) => {}
        (keeper, first) => panic!("{keeper:?}: {first:?}"),
    }
}

#[tokio::test]
async fn a_backend_may_give_its_commands_a_terminal() {
    let world = World::outside(Plain::InTerminal);
    let script =
        "[ -t 1 ] && [ -t 2 ] && echo terminal; echo err >&2; for i in {1..20000}; do echo line $i; done; exit 5";
    let outcome = run(&world.engine(), script).await;
    assert_eq!((outcome.end, outcome.output.lines), (End::Own(Exit::Code(5)), 20_002));
    let text = outcome.output.text();
    assert!(text.starts_with("terminal\nerr\nline 1\n") && text.ends_with("line 20000\n"), "{text}");
    world.place.check_nothing_survives();
}
