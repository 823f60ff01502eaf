//! Condensed output: what the reply shows, what is kept, and every case in which the output stays as it is.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bashful_dialect::{BangCaller, Dialect, Limits, Toolbox};
use bashful_engine::{
    ArtifactLimits, ArtifactStore, ByteSize, Caller, Canceller, Clip, CommandLog, CommandRecord, End, Engine, Exit,
    Heard, Lines, Listening, Outcome, OutputForm, OutputListener, ReplyLimit, Request, Savings, Streams,
    TerminalRequest, WhenBehind, Window,
};
use bashful_testkit::{Place, finished, output, patient, request, run};

use crate::PUPPET;

/// The beginning of a makefile whose targets are compile steps, 80 of them.
const STEPS: &str = "all: $(addprefix step,$(shell seq 10 89))\nstep%:; @echo '  CC      src/$@.o'\n";

/// All lines that `make` writes for [`STEPS`].
fn raw() -> String {
    lines((10..90).map(|number| format!("  CC      src/step{number}.o")))
}

/// Each text on a line.
fn lines(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<_>>().join("\n") + "\n"
}

const SHORT: &str = "  CC      src/step89.o\n";

fn place(makefile: &str) -> Place {
    let mut place = Place::new(PUPPET);
    place.options.condensing.enabled = true;
    std::fs::write(place.path().join("makefile"), makefile).expect("a file");
    place
}

fn artifacts(place: &Place) -> Vec<u64> {
    place.options.artifacts.as_ref().expect("every place has them").ids()
}

#[track_caller]
fn check_raw(outcome: &Outcome, expected: &str) {
    assert_eq!(output(outcome), expected);
    assert_eq!((&outcome.output.condensed, &outcome.output.not_saved), (&None, &None));
}

async fn call(engine: &Engine, request: Request, caller: Caller) -> Outcome {
    finished(engine.call(request, caller).await.expect("it starts"))
}

#[tokio::test]
async fn the_raw_output_is_kept_and_named_behind_the_shorter_one() {
    let place = place(STEPS);
    let outcome = run(&place.engine(), "make").await;
    let condensed = outcome.output.condensed.as_ref().expect("it is condensed");
    assert_eq!((condensed.lines, condensed.text_bytes), (1, SHORT.len() as u64));
    assert_eq!(condensed.families, ["builds"]);
    assert_eq!((outcome.output.bytes, outcome.output.lines), (raw().len() as u64, 80), "those of the raw output");
    let end = "[left out: compile steps (79 lines)]\n[raw output: artifact://1]\n";
    assert_eq!(outcome.output.text(), format!("{SHORT}{end}"));
    let artifact = outcome.output.artifact.as_ref().expect("it is kept");
    assert_eq!(std::fs::read_to_string(&artifact.path).expect("text"), raw());
    assert_eq!(run(&place.engine(), "make").await.output.clip, outcome.output.clip, "the same every time");
}

#[tokio::test]
async fn a_failing_run_keeps_its_errors() {
    let place = place(&format!("{STEPS}step50:; @echo 'src/50.c:7:13: error: missing' >&2; exit 1\n"));
    let outcome = run(&place.engine(), "make -k").await;
    assert_eq!(outcome.end, End::Own(Exit::Code(2)));
    let text = outcome.output.text();
    for line in
        ["src/50.c:7:13: error: missing\n", "make: *** [makefile:3: step50] Error 1\n", "\n[raw output: artifact://"]
    {
        assert!(text.contains(line), "{text}");
    }
    assert!(text.len() < 500, "{text}");
}

#[tokio::test]
async fn commands_are_known_behind_directories_prefixes_wrappers_and_in_sessions() {
    let mut place = place(STEPS);
    place.options.rewriting.directory = true;
    std::fs::create_dir(place.path().join("sub")).expect("a directory");
    std::fs::copy(place.path().join("makefile"), place.path().join("sub/makefile")).expect("copied");
    let engine = place.engine();
    for script in ["cd sub && make", "cd sub; A=1 timeout 60 make 2>&1", "nice -n 5 make || echo failed"] {
        let outcome = run(&engine, script).await;
        assert_eq!(output(&outcome), SHORT, "{script}");
        let in_session = Request { session: Some("s".parse().expect("a name")), ..request(script) };
        assert_eq!(output(&call(&engine, in_session, Caller::default()).await), SHORT, "{script} in a session");
        call(&engine, Request { session: Some("s".parse().expect("a name")), ..request("cd ..") }, Caller::default())
            .await;
    }
    std::fs::write(place.path().join("around"), "#!/bin/sh\nexec \"$@\"\n").expect("a file");
    place.options.rewriting.prefix = "sh ./around".to_owned();
    assert_eq!(output(&run(&place.engine(), "make").await), SHORT);
}

#[tokio::test]
async fn everything_else_stays_as_it_is_and_nothing_is_kept() {
    let binary = "nul:; @printf 'a\\0b\\n'\nlatin:; @printf '\\377\\n'\nwait:; @touch begun; sleep 1000\n";
    let mut place = place(&format!("{STEPS}{binary}"));
    place.options.rewriting.lines = true;
    let engine = place.engine();
    for script in ["make | cat", "(make)", "make > log; cat log", "f() { make; }; f", "make; kill -9 $$"] {
        check_raw(&run(&engine, script).await, &raw());
    }
    for (script, end) in [("make all nul", "a␀b\n"), ("make all latin", "\u{FFFD}\n")] {
        check_raw(&run(&engine, script).await, &format!("{}{end}", raw()));
    }
    let (canceller, cancellation) = Canceller::new();
    let caller = Caller { cancellation: Some(cancellation), ..Caller::default() };
    let (stopped, ()) = tokio::join!(call(&engine, request("make all wait"), caller), async {
        while !place.path().join("begun").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        canceller.cancel();
    });
    assert!(matches!(stopped.end, End::Stopped { .. }) && output(&stopped).starts_with(&raw()), "{stopped:?}");
    assert_eq!((stopped.output.condensed, artifacts(&place)), (None, Vec::new()));
    // A pipe into `head` is left alone, also where it became a limit.
    let outcome = run(&engine, "make | head -n 70").await;
    assert_eq!((outcome.output.condensed, outcome.output.lines), (None, 80));
    place.options.condensing.enabled = false;
    check_raw(&run(&place.engine(), "make").await, &raw());
    place.options.condensing.enabled = true;
    place.options.artifacts = None;
    check_raw(&run(&place.engine(), "make").await, &raw());
}

#[tokio::test]
async fn output_of_a_terminal_and_output_that_goes_on_stay_as_they_are() {
    let place = place(STEPS);
    let engine = place.engine();
    let terminal = Request { streams: Streams::Terminal(TerminalRequest::default()), ..request("make") };
    check_raw(&call(&engine, terminal, Caller::default()).await, &raw());
    let left = run(&engine, "make; sleep 1000 & :").await;
    assert!(left.leftover.is_some());
    check_raw(&left, &raw());
    // Known commands alone, and a process that stays.
    std::fs::write(place.path().join("makefile"), format!("{STEPS}step20:; @sleep 1000 &\n")).expect("a file");
    let left = run(&engine, "make").await;
    assert!(left.leftover.is_some() && left.output.condensed.is_none(), "{left:?}");
    std::fs::write(place.path().join("makefile"), format!("{STEPS}wait:; @sleep 1000\n")).expect("a file");
    let reply = engine.call(request("make all wait"), patient(Duration::from_secs(2))).await;
    let bashful_engine::Reply::Background(job) = reply.expect("it starts") else { panic!("it outlasts the call") };
    assert_eq!(job.shown.expect("so far").output.condensed, None);
}

#[tokio::test]
async fn split_streams_are_condensed_only_where_one_of_them_is_empty() {
    let place = place(&format!("{STEPS}err:; @echo note >&2\n"));
    let engine = place.engine();
    let split = |script: &str| Request { streams: Streams::Split, ..request(script) };
    let outcome = call(&engine, split("make"), Caller::default()).await;
    assert_eq!(output(&outcome), SHORT);
    let outcome = call(&engine, split("make all err"), Caller::default()).await;
    check_raw(&outcome, &raw());
}

#[tokio::test]
async fn listeners_get_every_byte_and_the_reply_the_shorter_text() {
    let place = place(STEPS);
    let (listener, mut stream) =
        OutputListener::new(Listening { form: OutputForm::Raw, when_behind: WhenBehind::Wait });
    let engine = place.engine();
    let caller = Caller { listener: Some(listener), ..Caller::default() };
    let mut heard = Vec::new();
    let (outcome, ()) = tokio::join!(call(&engine, request("make"), caller), async {
        while let Some(Heard::Chunk(chunk)) = stream.next().await {
            heard.extend(chunk.bytes);
        }
    });
    assert_eq!((String::from_utf8_lossy(&heard).into_owned(), output(&outcome)), (raw(), SHORT.to_owned()));
}

#[tokio::test]
async fn limits_apply_to_the_shorter_text_and_an_output_beyond_the_window_stays() {
    let mut place = place(&format!("{STEPS}all: talk\ntalk:; @seq 1000 1200\n"));
    let engine = place.engine();
    let lines = Lines::First(20.try_into().expect("not zero"));
    let outcome = call(&engine, Request { lines: Some(lines), ..request("make") }, Caller::default()).await;
    let Clip::Cut { head, .. } = &outcome.output.clip else { panic!("it is cut") };
    let shown = String::from_utf8_lossy(&head.bytes).into_owned();
    assert!(shown.starts_with("  CC      src/step89.o\n1000\n") && shown.ends_with("1018\n"), "{shown}");
    let truncation = outcome.output.truncation().expect("it is cut");
    assert_eq!((truncation.total_lines, truncation.output_lines, outcome.output.lines), (202, 20, 281));
    // A client that shows little gets more of what matters.
    let limit = ReplyLimit { bytes: Some(ByteSize(1500)), ..ReplyLimit::default() };
    let limited = call(&engine, request("make"), Caller { limit, ..Caller::default() }).await;
    assert_eq!(limited.output.truncation(), None, "1030 bytes of 3170 are left");
    assert!(limited.output.condensed.is_some());
    place.options.window = Window::middle(ByteSize(2000), ByteSize(200));
    let outcome = run(&place.engine(), "make").await;
    assert!(outcome.output.condensed.is_none() && outcome.output.truncation().is_some());
    assert_eq!(outcome.output.truncation().expect("it is cut").total_lines, 281);
}

#[tokio::test]
async fn withheld_values_are_redacted_before_lines_are_left_out() {
    let mut place = place(&format!(
        "{STEPS}all: tell\ntell:; @printf 'its value:\\ncorrect-horse\\n  CC      src/battery.o\\nend\\n'\n"
    ));
    let secret = "correct-horse\n  CC      src/battery.o";
    place.options.host_environment.push(("MY_TOKEN".into(), secret.into()));
    let outcome = run(&place.engine(), "make").await;
    assert!(outcome.output.condensed.is_some());
    assert_eq!(output(&outcome), format!("{SHORT}its value:\n[withheld: MY_TOKEN]\nend\n"));
}

#[test]
fn a_full_disk_leaves_the_output_as_it_is() {
    let place = Place::new(PUPPET);
    let directory = place.path().join("disk");
    std::fs::create_dir(&directory).expect("it is made");
    let disk = directory.display();
    // Room for the directory and its counter, and not for the output.
    let script = format!("mount -t tmpfs -o size=16k none {disk} && exec \"$@\"");
    let mut command = std::process::Command::new("unshare");
    command.args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"]);
    command.arg(std::env::current_exe().expect("this test")).args([
        "--exact",
        "condense::the_disk_is_full",
        "--nocapture",
    ]);
    let checked = place.path().join("checked");
    let ran = command.env("FULL_DISK", &directory).env("CHECKED", &checked).output().expect("it runs");
    assert!(ran.status.success() && checked.exists(), "{ran:?}");
}

/// The part of the test before that runs beside a small disk.
#[tokio::test]
async fn the_disk_is_full() {
    let Some(disk) = std::env::var_os("FULL_DISK") else { return };
    let mut place =
        place("all: $(addprefix step,$(shell seq 100 899))\nstep%:; @echo '  CC      src/a/rather/long/name/$@.o'\n");
    let store = ArtifactStore::new(Path::new(&disk).join("artifacts"), ArtifactLimits::default());
    place.options.artifacts = Some(Arc::new(store));
    let outcome = run(&place.engine(), "make").await;
    assert_eq!((outcome.output.lines, outcome.end), (800, End::Own(Exit::Code(0))));
    let line = |number| format!("  CC      src/a/rather/long/name/step{number}.o");
    check_raw(&outcome, &lines((100..900).map(line)));
    assert_eq!(outcome.output.artifact, None);
    assert_eq!(artifacts(&place), Vec::<u64>::new(), "nothing is left of the attempt");
    std::fs::write(std::env::var_os("CHECKED").expect("a path"), "").expect("a file");
}

/// Keeps the savings of every command.
#[derive(Debug, Default)]
struct SavingsLog(Mutex<Vec<Option<Savings>>>);

impl CommandLog for SavingsLog {
    fn record(&self, record: &CommandRecord) {
        self.0.lock().expect("nobody panicked").push(record.savings.clone());
    }
}

#[tokio::test]
async fn the_log_has_the_bytes_that_the_reply_shows_and_would_have_shown() {
    let place = place(&format!("{STEPS}step50:; @echo 'src/50.c:7:13: error: missing' >&2; exit 1\n"));
    let log = Arc::new(SavingsLog::default());
    let engine = place.engine();
    let caller = |limit| Caller { log: Some(log.clone() as Arc<dyn CommandLog>), limit, ..Caller::default() };
    let outcome = call(&engine, request("make -k"), caller(ReplyLimit::default())).await;
    let limit = ReplyLimit { failed_bytes: Some(ByteSize(1000)), ..ReplyLimit::default() };
    call(&engine, request("make -k"), caller(limit)).await;
    call(&engine, request("make -k | cat"), caller(limit)).await;
    let savings = log.0.lock().expect("nobody panicked").clone();
    let [Some(whole), Some(limited), None] = savings.as_slice() else { panic!("{savings:?}") };
    assert_eq!((whole.before, &whole.families), (outcome.output.text_bytes, &vec!["builds".to_owned()]));
    assert_eq!(whole.after + 1, outcome.output.text().len() as u64, "all but the last newline");
    assert_eq!((limited.before, limited.after), (1000, whole.after), "a limit would have left out the rest");
}

#[tokio::test]
async fn a_command_that_a_person_types_is_condensed_too() {
    let mut place = place(STEPS);
    let limits = Limits::default();
    Dialect::PI.adjust(&mut place.options, &limits);
    let toolbox = Toolbox::new(place.engine(), Dialect::PI, limits, place.path());
    let caller = BangCaller { key: "console".to_owned(), ..BangCaller::default() };
    let result = toolbox.bang("make", caller).await.expect("it runs");
    assert_eq!(result.output, format!("{SHORT}[left out: compile steps (79 lines)]\n[raw output: artifact://1]\n"));
    assert_eq!((result.total_lines, result.output_lines, result.truncated), (80, 1, false));
    assert_eq!(result.artifact_id.as_deref(), Some("1"));
    assert_eq!(result.notices, Vec::<String>::new());
}
