//! Every dialect, word by word: what a model is told, and what it reads when it calls.
//!
//! The conversations are in `crates/dialect/golden`. To take over what has changed, run this with `GOLDEN=write` and look at
//! the difference.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use bashful_dialect::{Answer, Dialect, Format, Limits, ReplyForm, ToolCaller, Toolbox, Update, UpdateState};
use bashful_engine::{ArtifactUrls, ByteSize, CommandLog, CommandRecord, Fate, Patience, Rewriting, Scheme, Window};
use bashful_testkit::{Place, WIDE, check_golden, eventually};
use regex::Regex;
use serde_json::{Value, json};

use crate::PUPPET;

/// A conversation, as it is written down.
struct Talk {
    place: Place,
    toolbox: Toolbox,
    text: String,
}

impl Talk {
    fn new(dialect: Dialect) -> Self {
        let mut place = Place::new(PUPPET);
        // A small window keeps the golden file readable.
        place.options.window = Window::middle(ByteSize(200), ByteSize(10));
        let artifacts = place.options.artifacts.clone().expect("every place has them");
        let schemes: Vec<Arc<dyn Scheme>> = vec![Arc::new(ArtifactUrls(artifacts))];
        let unsupported = vec!["agent".to_owned()];
        place.options.rewriting =
            Rewriting { directory: true, lines: true, schemes, unsupported, ..Rewriting::default() };
        dialect.adjust(&mut place.options, &Limits::default());
        let toolbox = Toolbox::new(place.engine(), dialect, Limits::default(), Path::new("/place"));
        let mut text = format!("# The `{dialect}` dialect\n\n## Definitions\n\n");
        for tool in toolbox.tools() {
            let _ = writeln!(text, "### {}\n\n{}\n", tool.name, tool.description);
        }
        let definitions = Format::Mcp.write(toolbox.tools(), ReplyForm::default());
        let _ = writeln!(text, "```json\n{definitions:#}\n```\n\n## Calls");
        Self { place, toolbox, text }
    }

    async fn say(&mut self, tool: &str, arguments: Value) -> Answer {
        self.say_with(tool, arguments, connected()).await
    }

    async fn say_with(&mut self, tool: &str, arguments: Value, caller: ToolCaller) -> Answer {
        let call = self.toolbox.call(tool, arguments.clone(), caller);
        let answer = tokio::time::timeout(WIDE, call).await.expect("it comes back").expect("a tool");
        let error = if answer.is_error { ", an error" } else { "" };
        let facts = self.settled(&format!("{:#}", answer.facts));
        let text = self.settled(&answer.text);
        let _ = writeln!(
            self.text,
            "\n### `{tool}` {arguments}\n\n````text\n{text}\n````\n\nfacts{error}:\n\n```json\n{facts}\n```"
        );
        for link in &answer.links {
            let _ = writeln!(self.text, "\nlink: {} ({}, {} bytes)", link.uri, link.name, link.size);
        }
        answer
    }

    /// Without what differs from run to run.
    fn settled(&self, text: &str) -> String {
        let text = text.replace(&self.place.path().display().to_string(), "/place");
        let changing = [
            (r#""(pid|keeper|duration_ms|durationMs|wallTimeMs|began_unix_ms|ended_unix_ms)": \d+"#, r#""$1": 0"#),
            (r"<pid>\d+</pid>", "<pid>PID</pid>"),
            (r"kill (-9 -)?\d+", "kill ${1}PID"),
            (r"(?m)^  \d+ ", "  PID "),
            (r"(  |\\n  )\d+ sleep", "${1}PID sleep"),
            (r"Wall time: [\d.]+", "Wall time: 0.00"),
            (r"still running after [\d.]+s", "still running after 0s"),
        ];
        changing.iter().fold(text, |text, (pattern, put)| {
            Regex::new(pattern).expect("a pattern").replace_all(&text, *put).into_owned()
        })
    }

    #[track_caller]
    fn compare(self, name: &str) {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../dialect/golden").join(name);
        check_golden(&path, &self.text);
        // The shell that calls of a dialect may share ends with the tools.
        drop(self.toolbox);
        self.place.check_nothing_survives();
    }
}

/// Reads a line, and ends when it may.
const READER: &str = "read line; until [ -e go ]; do sleep 0.01; done; echo \"got $line\"; exit 4";

/// Forty compile steps, one that fails, and something to say.
const MAKEFILE: &str = "all: $(addprefix step,$(shell seq 10 49))
step%:; @echo '  CC      src/$@.o'
bad:; @echo 'src/bad.c:3:1: error: expected a name'; exit 1
talk:; @seq 9
";

/// Writes five lines, and tries to write more a good while later.
const TOO_MUCH: &str = "{ seq 5; sleep 2; seq 5; } | head -n 2";

/// A client with a connection of its own, as on standard input.
fn connected() -> ToolCaller {
    ToolCaller { connection: Some(String::new()), ..ToolCaller::default() }
}

fn impatient() -> ToolCaller {
    ToolCaller { patience: Some(Patience(Duration::from_secs(2))), ..connected() }
}

#[tokio::test(flavor = "current_thread")]
async fn the_native_dialect_is_as_it_is_written_down() {
    let mut talk = Talk::new(Dialect::NATIVE);
    for arguments in [
        json!({ "command": "echo out; echo err >&2" }),
        json!({ "command": "true" }),
        json!({ "command": "echo not so well; exit 3" }),
        json!({ "command": "kill -9 $$" }),
        json!({ "command": "echo begun; sleep 1000", "timeout": 2 }),
        json!({ "command": "seq 100" }),
        json!({ "command": "pwd; echo $A", "cwd": "/", "env": { "A": "b" } }),
        json!({ "command": "true", "timeout": 9999, "pty": true }),
        json!({ "command": "true", "cwd": "/none" }),
        json!({ "command": "cd /usr && { pwd; echo oh >&2; exit 1; } | head -n 5" }),
        json!({ "command": "seq 9 | tail -2" }),
        json!({ "command": TOO_MUCH }),
        json!({ "command": "wc -l < artifact://2" }),
        json!({ "command": "cat agent://1" }),
    ] {
        talk.say("bash", arguments).await;
    }
    talk.say("job", json!({ "action": "list" })).await;
    talk.say("job", json!({ "action": "wait" })).await;
    talk.say("bash", json!({ "command": "sleep 1000 > /dev/null & echo started" })).await;
    talk.say("job", json!({ "action": "kill", "ids": [1] })).await;
    talk.say("bash", json!({ "command": READER, "mode": "background", "stdin": true })).await;
    talk.say("job", json!({ "action": "show", "ids": [2, 99] })).await;
    talk.say("job", json!({ "action": "send", "ids": [2], "input": "something" })).await;
    std::fs::write(talk.place.path().join("go"), "").expect("it may go on");
    talk.say("job", json!({ "action": "wait", "ids": [2] })).await;
    talk.say("job", json!({ "action": "show", "ids": ["job://2"], "since": 14 })).await;
    talk.say("job", json!({ "action": "send", "ids": [2], "input": "too late" })).await;
    talk.say_with("bash", json!({ "command": "echo begun; sleep 1000", "mode": "slow" }), impatient()).await;
    talk.say_with("job", json!({ "action": "wait", "ids": [3], "wait_seconds": 0.1 }), impatient()).await;
    talk.say("job", json!({ "action": "kill", "ids": [3], "signal": "KILL" })).await;
    talk.say("job", json!({ "action": "kill", "ids": [3] })).await;
    talk.compare("native.md");
}

#[tokio::test(flavor = "current_thread")]
async fn the_plain_dialect_is_as_it_is_written_down() {
    let mut talk = Talk::new(Dialect::PLAIN);
    for arguments in [
        json!({ "command": "echo 'hello world'" }),
        json!({ "command": "echo out; echo err >&2; exit 1" }),
        json!({ "command": "cd /usr && { pwd; exit 1; } | head -1" }),
        json!({ "command": "no-such-program" }),
        json!({ "command": "/" }),
        json!({ "command": "exit 127" }),
        json!({ "command": "kill -9 $$" }),
        json!({ "command": "" }),
        json!({ "command": "true", "cwd": "/" }),
    ] {
        talk.say("bash", arguments).await;
    }
    let answer = talk.say("bash", json!({ "command": "sleep 1000 > /dev/null & echo started" })).await;
    let keeper = answer.facts["leftover"]["keeper"].as_i64().expect("a process keeps it");
    talk.toolbox.call("bash", json!({ "command": format!("kill {keeper}") }), connected()).await.expect("a tool");
    talk.compare("plain.md");
}

#[tokio::test(flavor = "current_thread")]
async fn the_plain_dialect_shows_the_first_megabyte_and_stops_in_time() {
    let mut place = Place::new(PUPPET);
    Dialect::PLAIN.adjust(&mut place.options, &Limits::default());
    let limits = Limits { default: bashful_engine::Lifetime(Duration::from_secs(1)), ..Limits::default() };
    let toolbox = Toolbox::new(place.engine(), Dialect::PLAIN, limits, place.path());
    let much = "head -c 1500000 /dev/zero | tr '\\0' x; echo begun >&2; sleep 1000";
    let answer = toolbox.call("bash", json!({ "command": much }), impatient()).await.expect("a tool");
    let fields = answer.structured();
    assert_eq!(fields["error"], "Command timed out after 1s");
    assert_eq!(fields["stderr"], "begun\n");
    assert!(fields["notice"].as_str().is_some_and(|notice| notice.contains("artifact://1")), "{}", fields["notice"]);
    assert_eq!(fields["stdout"], format!("{}... (truncated)", "x".repeat(1_000_000)));
    assert!(answer.is_error);
    assert_eq!(serde_json::from_str::<Value>(&answer.text).expect("JSON"), fields);
    place.check_nothing_survives();
}

#[tokio::test(flavor = "current_thread")]
async fn the_plain_dialect_passes_all_of_the_environment_and_nothing_else() {
    let mut place = Place::new(PUPPET);
    place.options.host_environment.push(("MY_SECRET_TOKEN".into(), "tell-everybody".into()));
    place.options.environment.withhold.push(bashful_engine::Pattern::new("*TOKEN*"));
    place.options.environment.set.insert("CI".to_owned(), Some("1".to_owned()));
    Dialect::PLAIN.adjust(&mut place.options, &Limits::default());
    let toolbox = Toolbox::new(place.engine(), Dialect::PLAIN, Limits::default(), place.path());
    let command = "echo $MY_SECRET_TOKEN ${CI-unset}";
    let answer = toolbox.call("bash", json!({ "command": command }), ToolCaller::default()).await.expect("a tool");
    assert_eq!(answer.structured()["stdout"], "tell-everybody unset\n");
}

#[tokio::test(flavor = "current_thread")]
async fn the_dialect_of_pi_is_as_it_is_written_down() {
    let mut talk = Talk::new(Dialect::PI);
    std::fs::write(talk.place.path().join("makefile"), MAKEFILE).expect("a file");
    for arguments in [
        json!({ "command": "echo out; echo err >&2" }),
        json!({ "command": "true" }),
        json!({ "command": "echo not so well; exit 3" }),
        json!({ "command": "make" }),
        json!({ "command": "make -k all bad" }),
        json!({ "command": "make all talk", "head": 3 }),
        json!({ "command": "echo begun; sleep 1000", "timeout": 2 }),
        json!({ "command": "pwd; echo $A", "cwd": "/", "env": { "A": "b" }, "timeout": 5000, "pty": true }),
        json!({ "command": "true", "cwd": "/none" }),
        json!({ "command": "true", "env": { "A-B": "" } }),
        json!({ "command": "cd /usr && { pwd; echo oh >&2; exit 1; } | head -n 5" }),
        json!({ "command": "seq 9 | tail -2" }),
        json!({ "command": TOO_MUCH }),
        json!({ "command": "seq 9; exit 2", "head": 5 }),
        json!({ "command": "seq 9 | head -3", "head": 5, "tail": 2 }),
        json!({ "command": "cat agent://1" }),
    ] {
        talk.say("bash", arguments).await;
    }
    talk.say("job", json!({ "list": true })).await;
    talk.say("job", json!({})).await;
    talk.say("bash", json!({ "command": "echo fine", "async": true })).await;
    talk.say("job", json!({ "poll": ["bg_1"] })).await;
    talk.say("bash", json!({ "command": "echo badly; exit 2", "async": true, "timeout": 5000 })).await;
    talk.say("job", json!({ "poll": ["bg_2"] })).await;
    talk.say_with("bash", json!({ "command": "echo begun; sleep 1000" }), impatient()).await;
    talk.say_with("job", json!({ "poll": ["bg_3"] }), impatient()).await;
    talk.say("job", json!({ "cancel": ["bg_3", "bg_1", "bg_9"] })).await;
    talk.say("job", json!({ "poll": ["bg_3"] })).await;
    talk.say("job", json!({ "poll": ["bg_7", "bg_8"] })).await;
    talk.say("job", json!({ "poll": ["bg_1", "tomorrow"] })).await;
    talk.say("job", json!({ "list": true, "poll": ["bg_1"] })).await;
    talk.say("bash", json!({ "command": "true", "timeout": "5" })).await;
    talk.say("bash", json!({ "command": "seq 20000; echo '```'", "async": true })).await;
    let answer = talk.toolbox.call("job", json!({ "poll": ["bg_4"] }), connected()).await.expect("a tool");
    assert!(
        answer.text.contains("\n````\n[Showing lines 1") && answer.text.contains(" Full: job://4 ("),
        "{}",
        answer.text
    );
    talk.compare("pi.md");
}

#[tokio::test(flavor = "current_thread")]
async fn pi_is_shown_the_last_50_kilobytes_and_told_where_the_rest_is() {
    let place = Place::new(PUPPET);
    let toolbox = Toolbox::new(place.engine(), Dialect::PI, Limits::default(), place.path());
    let answer = toolbox.call("bash", json!({ "command": "seq 20000" }), ToolCaller::default()).await.expect("a tool");
    let truncation = &answer.facts["meta"]["truncation"];
    let first = truncation["shownRange"]["start"].as_u64().expect("a line");
    assert!(answer.text.starts_with(&format!("{first}\n{}\n", first + 1)), "{}", &answer.text[..40]);
    let said = format!("[Showing lines {first}-20000 of 20000 (");
    assert!(answer.text.contains(&said), "{said}");
    assert!(answer.text.contains(" Full: artifact://1 ("));
    assert_eq!(truncation["direction"], "tail");
    assert_eq!(truncation["artifactId"], "1");
    assert_eq!(answer.links[0].uri, "artifact://1");
    assert!(truncation["outputBytes"].as_u64().is_some_and(|bytes| bytes <= 50 * 1024 && bytes > 49 * 1024));
}

#[tokio::test(flavor = "current_thread")]
async fn a_caller_is_told_how_far_a_command_has_come() {
    let place = Place::new(PUPPET);
    let toolbox = Toolbox::new(place.engine(), Dialect::NATIVE, Limits::default(), place.path());
    let (updates, mut told) = tokio::sync::mpsc::channel(1);
    let arguments = json!({ "command": "echo one; echo two; until [ -e go ]; do sleep 0.01; done" });
    let call = toolbox.call("bash", arguments, ToolCaller { updates: Some(updates), ..ToolCaller::default() });
    tokio::pin!(call);
    let update = tokio::select! {
        _ = &mut call => panic!("nobody let it go"),
        update = until_bytes(&mut told, 8) => update,
    };
    assert_eq!(
        (update.state, update.text.as_str(), update.facts.clone()),
        (UpdateState::Foreground, "one\ntwo\n", json!({}))
    );
    assert_eq!(update.last_line(), "two");
    std::fs::write(place.path().join("go"), "").expect("it may go on");
    assert_eq!(call.await.expect("a tool").text, "one\ntwo\n");
    // Nothing follows: its caller has the answer.
    while told.recv().await.is_some() {}
}

/// The first update of a command that has written so much.
async fn until_bytes(told: &mut tokio::sync::mpsc::Receiver<Update>, bytes: u64) -> Update {
    loop {
        let update = told.recv().await.expect("word of it");
        if update.bytes >= bytes {
            return update;
        }
    }
}

/// Keeps the last command that it was told of.
#[derive(Debug, Default)]
struct Last(std::sync::Mutex<Option<CommandRecord>>);

impl CommandLog for Last {
    fn record(&self, record: &CommandRecord) {
        *self.0.lock().expect("nobody panics") = Some(record.clone());
    }
}

#[tokio::test]
async fn a_call_that_is_cancelled_is_told_with_the_bytes_that_were_written_by_then() {
    let place = Place::new(PUPPET);
    let mut toolbox = Toolbox::new(place.engine(), Dialect::NATIVE, Limits::default(), place.path());
    let last = Arc::new(Last::default());
    toolbox.log = Some(Arc::clone(&last) as Arc<dyn CommandLog>);
    let (updates, mut told) = tokio::sync::mpsc::channel(1);
    let arguments = json!({ "command": "echo one; echo two >&2; exec sleep 1000" });
    let call = toolbox.call("bash", arguments, ToolCaller { updates: Some(updates), ..ToolCaller::default() });
    tokio::select! {
        _ = call => panic!("nobody let it go"),
        update = until_bytes(&mut told, 8) => assert_eq!(update.bytes, 8),
    }
    let record = last.0.lock().expect("nobody panics").take().expect("it was logged");
    assert!(matches!(record.fate, Fate::Cancelled), "{record:?}");
    assert_eq!(record.output_bytes, 8);
    drop(toolbox);
    place.check_nothing_survives();
}

#[tokio::test(flavor = "current_thread")]
async fn a_change_that_came_before_the_watch_is_told() {
    let place = Place::new(PUPPET);
    let toolbox = Toolbox::new(place.engine(), Dialect::NATIVE, Limits::default(), place.path());
    let call = json!({ "command": "echo one; touch wrote; sleep 1000", "mode": "background" });
    toolbox.call("bash", call, ToolCaller::default()).await.expect("a tool");
    assert!(eventually(|| place.path().join("wrote").exists()));
    let mut running = toolbox.subscribe("job://1").expect("a job");
    tokio::time::timeout(WIDE, running.next()).await.expect("at once").expect("a change");
    toolbox.call("job", json!({ "action": "kill", "ids": [1] }), ToolCaller::default()).await.expect("a tool");
    let mut over = toolbox.subscribe("job://1").expect("a job");
    assert_eq!(tokio::time::timeout(WIDE, over.next()).await.expect("at once"), Some(()));
    assert_eq!(tokio::time::timeout(WIDE, over.next()).await.expect("at once"), None);
    place.check_nothing_survives();
}
