//! A command in a terminal of the client, brought by its caller: the commands that run there, and clients that misbehave.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::time::Duration;

use bashful_dialect::{Conclusion, Dialect, Limits, ToolCaller, Toolbox};
use bashful_engine::{
    BoxFuture, CLIENT_OUTPUT_LIMIT, Caller, Canceller, ClientBackend, ClientTerminal, ClientTerminalError, End, Engine,
    Exit, Input, Lifetime, Lines, Listening, Live, OutputForm, OutputListener, Patience, Reply, Request, RunError,
    SessionName, StartError, StopReason, Streams, TerminalCommand, TerminalExit, TerminalRequest, TerminalText,
    Waiting, WhenBehind,
};
use bashful_testkit::{Place, ProcessTerminals, finished, output, request};
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, watch};

use super::soon;
use crate::PUPPET;

/// A client that does some things wrong.
#[derive(Debug)]
struct Faulty {
    terminals: ProcessTerminals,
    /// Terminals that may be created. Others wait.
    may_create: Semaphore,
    /// Terminals that were asked for.
    asked: Semaphore,
    output: Doing,
    wait: Doing,
    kill: Doing,
    release: Doing,
    /// The end that it reports with every text.
    lie: Option<TerminalExit>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Doing {
    Right,
    Never,
    Fails,
}

impl Doing {
    async fn check(self) -> Result<(), ClientTerminalError> {
        match self {
            Self::Right => Ok(()),
            Self::Never => std::future::pending().await,
            Self::Fails => Err(ClientTerminalError("out of order".to_owned())),
        }
    }
}

impl ClientTerminal for Faulty {
    fn create(&self, command: TerminalCommand) -> BoxFuture<'_, Result<String, ClientTerminalError>> {
        Box::pin(async move {
            self.asked.add_permits(1);
            self.may_create.acquire().await.expect("it is open").forget();
            self.terminals.create(command).await
        })
    }

    fn output<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<TerminalText, ClientTerminalError>> {
        Box::pin(async move {
            self.output.check().await?;
            let seen = self.terminals.output(id).await?;
            Ok(TerminalText { exit: self.lie.clone().or(seen.exit), ..seen })
        })
    }

    fn wait_for_exit<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<TerminalExit, ClientTerminalError>> {
        Box::pin(async move {
            self.wait.check().await?;
            self.terminals.wait_for_exit(id).await
        })
    }

    fn kill<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), ClientTerminalError>> {
        Box::pin(async move {
            self.kill.check().await?;
            self.terminals.kill(id).await
        })
    }

    fn release<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), ClientTerminalError>> {
        Box::pin(async move {
            self.terminals.release(id).await?;
            self.release.check().await
        })
    }
}

/// A place, and a client beside it.
struct Desk {
    place: Place,
    client: Arc<Faulty>,
}

impl Desk {
    fn new() -> Self {
        Self::with(|_| ())
    }

    fn with(change: impl FnOnce(&mut Faulty)) -> Self {
        let place = Place::new(PUPPET);
        let mut client = Faulty {
            terminals: ProcessTerminals::new(place.options.host_environment.clone()),
            may_create: Semaphore::new(99),
            asked: Semaphore::new(0),
            output: Doing::Right,
            wait: Doing::Right,
            kill: Doing::Right,
            release: Doing::Right,
            lie: None,
        };
        change(&mut client);
        Self { place, client: Arc::new(client) }
    }

    fn engine(&self) -> Engine {
        self.place.engine()
    }

    fn caller(&self) -> Caller {
        Caller { client_terminal: Some(Arc::clone(&self.client) as _), ..Caller::default() }
    }

    async fn call(&self, request: Request) -> Result<Reply, RunError> {
        soon(self.engine().call(request, self.caller())).await
    }

    fn toolbox(&self, dialect: Dialect) -> Toolbox {
        let mut options = self.place.options.clone();
        let limits = Limits::default();
        dialect.adjust(&mut options, &limits);
        Toolbox::new(Engine::new(options).expect("an engine"), dialect, limits, self.place.path())
    }

    fn tool_caller(&self) -> ToolCaller {
        ToolCaller { client_terminal: Some(Arc::clone(&self.client) as _), ..ToolCaller::default() }
    }

    /// Number of terminals that were created, killed and released.
    fn counts(&self) -> (usize, usize, usize) {
        let (killed, released) = self.client.terminals.killed_and_released();
        (self.client.terminals.created().len(), killed, released)
    }

    /// Waits until these numbers of terminals were created, killed and released.
    async fn counts_become(&self, expected: (usize, usize, usize)) {
        let reached = async {
            while self.counts() != expected {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        soon(reached).await;
    }
}

fn short(script: &str) -> Request {
    Request { lifetime: Some(Lifetime(Duration::from_millis(500))), ..request(script) }
}

#[tokio::test]
async fn a_foreground_command_runs_in_the_terminal_that_its_caller_brings() {
    let desk = Desk::new();
    let asked = Request {
        env: vec![("GIVEN".to_owned(), "a value".into())],
        ..request("echo $GIVEN; [ -n \"$PUPPET\" ]; kill -TERM $$")
    };
    let outcome = finished(desk.call(asked).await.expect("it starts"));
    assert_eq!((outcome.end, output(&outcome).as_str()), (End::Own(Exit::Signal(15)), "a value\n"));
    assert_eq!((outcome.client_terminal.as_deref(), outcome.pid), (Some("term_1"), None));
    assert_eq!(desk.counts(), (1, 0, 1));
    let command = &desk.client.terminals.created()[0];
    assert_eq!((command.output_byte_limit, &*command.args[0]), (CLIENT_OUTPUT_LIMIT, "-c"));
    let names: Vec<&str> = command.env.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["GIVEN", "PWD"], "variables that the client has itself are not sent");
}

#[tokio::test]
async fn a_command_that_wants_what_only_this_machine_has_stays_here() {
    let desk = Desk::new();
    let engine = desk.engine();
    let one = NonZeroU64::new(1);
    let (listener, mut stream) =
        OutputListener::new(Listening { form: OutputForm::Raw, when_behind: WhenBehind::Drop });
    let reading = tokio::spawn(async move { while stream.next().await.is_some() {} });
    let soon_enough = Patience(Duration::from_secs(30));
    let cases = [
        (Request { streams: Streams::Split, ..request("echo a") }, desk.caller()),
        (Request { streams: Streams::Terminal(TerminalRequest::default()), ..request("echo a") }, desk.caller()),
        (Request { input: Input::Host, ..request("echo a") }, desk.caller()),
        (Request { session: SessionName::new("s").ok(), ..request("echo a") }, desk.caller()),
        (Request { lines: Lines::of(one, None), ..request("echo a") }, desk.caller()),
        (request("echo a"), Caller { listener: Some(listener), ..desk.caller() }),
        (request("echo a"), Caller { waiting: Waiting::WithPatience(soon_enough), ..desk.caller() }),
        (request("echo a"), Caller { waiting: Waiting::BeforeTimeout(soon_enough), ..desk.caller() }),
        (request("echo a"), Caller { waiting: Waiting::InBackground, ..desk.caller() }),
    ];
    for (asked, caller) in cases {
        let what = format!("{asked:?} {caller:?}");
        let reply = soon(engine.call(asked, caller)).await.expect("it starts");
        match reply {
            Reply::Background(job) => {
                let jobs = engine.jobs().expect("a store");
                soon(jobs.wait_until_gone(job.job.id)).await.expect("a record");
            }
            reply => assert_eq!(finished(reply).client_terminal, None, "{what}"),
        }
    }
    assert_eq!(desk.counts(), (0, 0, 0));
    let shared = Caller { shared_session: SessionName::new("shared").ok(), ..desk.caller() };
    soon(engine.call(request("x=1; seq 9 | head -n 1"), shared)).await.expect("it starts");
    assert_eq!(desk.counts(), (1, 0, 1));
    assert!(desk.client.terminals.created()[0].args[1].contains("| head -n 1"), "the client cuts from the beginning");
    reading.await.expect("it ends with its command");
}

#[tokio::test]
async fn a_command_there_is_judged_by_no_variables_and_no_functions_of_this_machine() {
    let mut desk = Desk::new();
    std::fs::write(desk.place.path().join(".bashrc"), "greet() { echo from rc; }; export OF_RC=1\n").expect("a file");
    desk.place.take_snapshots();
    let reply = desk.call(request("greet; echo \"rc: $OF_RC\"")).await;
    let outcome = finished(reply.expect("it starts"));
    assert!(output(&outcome).ends_with("greet: command not found\nrc: \n"), "{:?}", output(&outcome));
    // Nobody here knows if the client has it; a plan of this machine would know that it is unset.
    let backend = ClientBackend::new(Arc::clone(&desk.client) as _, Vec::new());
    let there = Engine::with_backend(desk.place.options.clone(), Arc::new(backend));
    assert!(!there.plan(request("$UNKNOWN")).expect("a plan").environment_is_whole);
    assert!(desk.engine().plan(request("$UNKNOWN")).expect("a plan").environment_is_whole);
}

#[tokio::test]
async fn a_refused_command_creates_no_terminal() {
    let desk = Desk::new();
    let reply = desk.call(request("rm -rf /")).await.expect("it is judged");
    assert!(matches!(reply, Reply::Refused(_)), "{reply:?}");
    assert_eq!(desk.counts(), (0, 0, 0));
}

#[tokio::test]
async fn the_first_progress_names_the_terminal_and_later_ones_show_its_text() {
    let desk = Desk::new();
    let (progress, mut live) = watch::channel(Live::default());
    let engine = desk.engine();
    let calling = engine.call(
        request("echo begun; until [ -e go ]; do sleep 0.01; done"),
        Caller { progress: Some(progress), ..desk.caller() },
    );
    let watching = async {
        let first = live.wait_for(|_| true).await.expect("it runs").clone();
        live.changed().await.expect("it runs");
        let named = live.borrow_and_update().clone();
        live.wait_for(|live| live.newest == b"begun\n" && live.lines == 1).await.expect("it is shown");
        std::fs::write(desk.place.path().join("go"), "").expect("a file");
        (first.client_terminal, named)
    };
    let (reply, (before, named)) = soon(async { tokio::join!(calling, watching) }).await;
    assert_eq!((before, named.client_terminal.as_deref(), named.bytes), (None, Some("term_1"), 0));
    assert_eq!(output(&finished(reply.expect("it starts"))), "begun\n");
}

#[tokio::test]
async fn a_withheld_value_is_redacted_there_too() {
    let mut desk = Desk::new();
    desk.place.options.host_environment.push(("API_TOKEN".into(), "hunter2hunter2".into()));
    let outcome = finished(desk.call(request("echo hunter2hunter2")).await.expect("it starts"));
    assert!(!output(&outcome).contains("hunter2"), "{:?}", output(&outcome));
}

#[tokio::test]
async fn a_terminal_that_is_created_after_a_cancel_is_killed_and_released() {
    let desk = Desk::with(|client| client.may_create = Semaphore::new(0));
    let engine = desk.engine();
    let (canceller, cancellation) = Canceller::new();
    let caller = Caller { cancellation: Some(cancellation), ..desk.caller() };
    let calling = engine.call(request("\"$PUPPET\" hold"), caller);
    let cancelling = async {
        desk.client.asked.acquire().await.expect("it is open").forget();
        canceller.cancel();
    };
    let (reply, ()) = soon(async { tokio::join!(calling, cancelling) }).await;
    assert!(matches!(reply.expect("no error"), Reply::Cancelled));
    // The same for a call that is dropped.
    tokio::select! {
        reply = engine.call(request("\"$PUPPET\" hold"), desk.caller()) => panic!("nothing was created: {reply:?}"),
        asked = desk.client.asked.acquire() => asked.expect("it is open").forget(),
    }
    desk.client.may_create.add_permits(9);
    desk.counts_become((2, 2, 2)).await;
}

#[tokio::test]
async fn a_cancelled_command_is_killed_read_and_released() {
    let desk = Desk::new();
    let (canceller, cancellation) = Canceller::new();
    let (progress, mut live) = watch::channel(Live::default());
    let caller = Caller { cancellation: Some(cancellation), progress: Some(progress), ..desk.caller() };
    let engine = desk.engine();
    let calling = engine.call(request("echo begun; exec \"$PUPPET\" hold"), caller);
    let cancelling = async {
        live.wait_for(|live| live.bytes > 0).await.expect("it runs");
        canceller.cancel();
    };
    let (reply, ()) = soon(async { tokio::join!(calling, cancelling) }).await;
    let outcome = finished(reply.expect("it starts"));
    assert_eq!(outcome.end, End::Stopped { why: StopReason::Cancelled, exit: Exit::Signal(9) });
    assert_eq!((output(&outcome).as_str(), desk.counts()), ("begun\n", (1, 1, 1)));
}

#[tokio::test]
async fn a_client_that_creates_no_terminal_costs_the_lifetime_and_no_more() {
    let desk = Desk::with(|client| client.may_create = Semaphore::new(0));
    match desk.call(short("true")).await {
        Err(RunError::Start(StartError::ClientSilent { seconds })) => assert!((seconds - 0.5).abs() < 0.001),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_client_that_answers_nothing_but_the_creation_is_told_to_kill_and_to_release() {
    let desk = Desk::with(|client| {
        (client.output, client.wait, client.kill, client.release) =
            (Doing::Never, Doing::Never, Doing::Never, Doing::Never);
    });
    let Reply::Finished(finished) = desk.call(short("echo lost; exec \"$PUPPET\" hold")).await.expect("it starts")
    else {
        panic!("it is over")
    };
    let outcome = &finished.outcome;
    assert_eq!(outcome.end, End::Stopped { why: StopReason::TimeUp, exit: Exit::Signal(9) });
    assert!(outcome.exit_is_unknown, "{outcome:?}");
    assert!(outcome.elapsed >= Duration::from_millis(500), "{outcome:?}");
    let notices: Vec<&str> = finished.notices.iter().map(bashful_engine::Redacted::as_str).collect();
    assert_eq!(
        notices,
        [
            "the command may still run in the client's terminal term_1: the client did not confirm the kill within 1 s",
            "the client did not show the end of the output: the last look may be older",
            "the client may still keep its terminal term_1: the client did not confirm the release within 1 s",
        ]
    );
    assert_eq!(desk.counts(), (1, 0, 1));
}

#[tokio::test]
async fn a_client_that_cannot_wait_is_polled_and_one_that_cannot_show_is_waited_for() {
    let desk = Desk::with(|client| client.wait = Doing::Fails);
    let outcome = finished(desk.call(request("echo hi; exit 3")).await.expect("it starts"));
    assert_eq!((outcome.end, output(&outcome).as_str()), (End::Own(Exit::Code(3)), "hi\n"));
    let desk = Desk::with(|client| client.output = Doing::Fails);
    let outcome = finished(desk.call(request("echo hi; exit 3")).await.expect("it starts"));
    assert_eq!((outcome.end, output(&outcome).as_str()), (End::Own(Exit::Code(3)), ""));
    let desk = Desk::with(|client| (client.wait, client.output) = (Doing::Fails, Doing::Fails));
    let outcome = finished(desk.call(request("exec \"$PUPPET\" hold")).await.expect("it starts"));
    assert_eq!((outcome.end, desk.counts()), (End::Lost, (1, 1, 1)));
}

#[tokio::test]
async fn a_client_that_reports_two_ends_is_believed_neither() {
    let lie = TerminalExit { code: Some(0), signal: None };
    let desk = Desk::with(|client| client.lie = Some(lie));
    let Reply::Finished(finished) = desk.call(request("exit 3")).await.expect("it starts") else {
        panic!("it is over")
    };
    assert_eq!(finished.outcome.end, End::Lost);
    assert_eq!(finished.notices[0].as_str(), "the client reported two ends: exit code 3, then exit code 0");
}

async fn tool(desk: &Desk, toolbox: &Toolbox, arguments: Value) -> (String, Value, Conclusion) {
    let answer = soon(toolbox.call("bash", arguments, desk.tool_caller())).await.expect("a tool");
    (answer.text.into_string(), answer.facts, answer.conclusion)
}

#[tokio::test]
async fn pi_tells_terminal_wall_time_137_and_the_timeout_at_the_end() {
    let desk = Desk::new();
    let toolbox = desk.toolbox(Dialect::PI);
    let (text, facts, conclusion) = tool(&desk, &toolbox, json!({ "command": "echo out; kill -TERM $$" })).await;
    assert!(text.starts_with("out\n\nWall time: ") && text.ends_with("\n\nCommand exited with code 137"), "{text}");
    assert!(text.contains("\nran in the client's terminal: "), "{text}");
    assert_eq!((&facts["terminalId"], &facts["exitCode"]), (&json!("term_1"), &json!(137)));
    assert!(facts["wallTimeMs"].is_u64() && conclusion == Conclusion::Result, "{facts}");
    let hold = json!({ "command": "echo begun; exec \"$PUPPET\" hold", "timeout": 1 });
    let (text, facts, conclusion) = tool(&desk, &toolbox, hold).await;
    assert!(text.starts_with("begun\n\n") && text.ends_with("\n\nCommand timed out after 1 seconds"), "{text}");
    assert!(!text.contains("ran in the client's terminal"), "that is told once: {text}");
    assert_eq!((&facts["timedOut"], conclusion), (&json!(true), Conclusion::Error));
    let (_, facts, _) = tool(&desk, &toolbox, json!({ "command": "seq 99999" })).await;
    let truncation = &facts["meta"]["truncation"];
    assert_eq!((&truncation["direction"], &truncation["totalBytes"]), (&json!("tail"), &json!(CLIENT_OUTPUT_LIMIT)));
    assert_eq!(desk.counts(), (3, 1, 3));
}

#[tokio::test]
async fn updates_name_the_terminal_from_the_first_on() {
    let desk = Desk::new();
    let toolbox = desk.toolbox(Dialect::PI);
    let (send, mut updates) = mpsc::channel(64);
    let caller = ToolCaller { updates: Some(send), ..desk.tool_caller() };
    let arguments = json!({ "command": "echo begun; until [ -e go ]; do sleep 0.01; done" });
    let watching = async {
        let mut seen = Vec::new();
        while let Some(update) = updates.recv().await {
            if update.text.as_str() == "begun\n" {
                std::fs::write(desk.place.path().join("go"), "").expect("a file");
            }
            seen.push(update.facts["terminalId"].clone());
        }
        seen
    };
    let (answer, seen) = soon(async { tokio::join!(toolbox.call("bash", arguments, caller), watching) }).await;
    assert_eq!(answer.expect("a tool").conclusion, Conclusion::Result);
    assert!(seen.len() >= 2 && seen.iter().all(|id| id == "term_1"), "{seen:?}");
}
