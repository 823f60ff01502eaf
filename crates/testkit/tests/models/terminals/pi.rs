//! Terminals of the dialect pi: only before the eyes of a person.

use std::sync::Arc;
use std::time::Duration;

use bashful_dialect::{Answer, Dialect, Limits, TerminalView, ToolCaller, Toolbox};
use bashful_engine::{
    AttendedTerminal, Heard, KeeperProgram, Listening, OutputForm, OutputListener, OutputStream, Patience,
    SessionLimits, SessionOwner, SessionStore, TerminalSize, WhenBehind,
};
use bashful_testkit::{Place, WIDE};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::PUPPET;

fn toolbox(place: &mut Place, limits: Limits) -> Toolbox {
    Dialect::PI.adjust(&mut place.options, &limits);
    Toolbox::new(place.engine(), Dialect::PI, limits, place.path())
}

/// A person who types this line, and looks on until the end. The task has what they saw.
fn person(line: &'static [u8]) -> (TerminalView, JoinHandle<Vec<u8>>) {
    let (host, terminal) = oneshot::channel();
    let (listener, stream) = OutputListener::new(Listening { form: OutputForm::Raw, when_behind: WhenBehind::Wait });
    let view = TerminalView { size: TerminalSize::new(90, 30), host, listener };
    (view, tokio::spawn(look_on(terminal, stream, line)))
}

async fn look_on(terminal: oneshot::Receiver<AttendedTerminal>, mut stream: OutputStream, line: &[u8]) -> Vec<u8> {
    let attended = terminal.await;
    if let Ok(attended) = &attended {
        attended.terminal.type_bytes(line, WIDE).await.expect("it is typed");
    }
    let mut seen = Vec::new();
    while let Some(heard) = stream.next().await {
        let Heard::Chunk(chunk) = heard else { panic!("nothing is dropped") };
        seen.extend(chunk.bytes);
    }
    seen
}

async fn call(toolbox: &Toolbox, arguments: Value, caller: ToolCaller) -> Answer {
    timeout(WIDE, toolbox.call("bash", arguments, caller)).await.expect("it ends").expect("a tool")
}

/// The first line of the answer to a question about the terminal, with a person before it.
async fn first_line(toolbox: &Toolbox, arguments: Value) -> String {
    let (view, _) = person(b"");
    let answer = call(toolbox, arguments, ToolCaller { terminal: Some(view), ..ToolCaller::default() }).await;
    answer.text.lines().next().expect("a line").to_owned()
}

const ASKS: &str = "test -t 0 -a -t 1 && stty size || echo plain";

#[tokio::test]
async fn a_person_sees_and_types_and_the_model_reads_text() {
    let mut place = Place::new(PUPPET);
    let toolbox = toolbox(&mut place, Limits::default());
    let (view, seen) = person(b"Zo\xc3\xab\n");
    let caller = ToolCaller { terminal: Some(view), ..ToolCaller::default() };
    let script = "stty size; stty -echo; read -r name; printf '\\033[31mhi %s\\033[0m\\n' \"$name\"; exit 3";
    let answer = call(&toolbox, json!({ "command": script, "pty": true }), caller).await;
    let text = answer.text.to_string();
    assert!(text.contains("30 90\n") && text.contains("hi Zoë\n\nWall time: "), "{text}");
    // What is typed early is echoed; that every line ends in CRLF is no news.
    assert!(!text.contains("CRLF"), "{text}");
    assert!(text.ends_with("Command exited with code 3") && answer.is_error, "{text}");
    let seen = String::from_utf8(seen.await.expect("no panic")).expect("text");
    assert!(seen.contains("\x1b[31mhi Zoë\x1b[0m\r\n"), "{seen:?}");
    place.check_nothing_survives();
}

#[tokio::test]
async fn a_terminal_takes_a_person_a_wish_and_a_setting_and_is_left_out_without_a_word() {
    let asked = json!({ "command": ASKS, "pty": true });
    let mut place = Place::new(PUPPET);
    let tools = toolbox(&mut place, Limits::default());
    assert_eq!(first_line(&tools, asked.clone()).await, "30 90");
    assert_eq!(first_line(&tools, json!({ "command": ASKS })).await, "plain");
    let unseen = call(&tools, asked.clone(), ToolCaller::default()).await.text.to_string();
    assert!(unseen.starts_with("plain\n\nWall time: ") && !unseen.contains("pty"), "{unseen}");
    let off = toolbox(&mut place, Limits { virtual_terminal: false, ..Limits::default() });
    assert_eq!(first_line(&off, asked.clone()).await, "plain");
    for (name, value, expected) in
        [("PI_NO_PTY", "1", "plain"), ("BASHFUL_NO_PTY", "1", "plain"), ("PI_NO_PTY", "0", "30 90")]
    {
        let mut place = Place::new(PUPPET);
        place.options.host_environment.push((name.into(), value.into()));
        let tools = toolbox(&mut place, Limits::default());
        assert_eq!(first_line(&tools, asked.clone()).await, expected, "{name}={value}");
    }
}

#[tokio::test]
async fn a_terminal_that_cannot_be_started_is_an_error_without_an_exit_status() {
    let mut place = Place::new(PUPPET);
    place.options.keeper = KeeperProgram::At("/no/such/keeper".into());
    let toolbox = toolbox(&mut place, Limits::default());
    let (view, seen) = person(b"");
    let caller = ToolCaller { terminal: Some(view), ..ToolCaller::default() };
    let answer = call(&toolbox, json!({ "command": "echo hi", "pty": true }), caller).await;
    let text = answer.text.to_string();
    assert!(text.starts_with("PTY error: cannot start "), "{text}");
    assert!(text.ends_with("\n\nCommand failed: missing exit status") && answer.is_error, "{text}");
    assert!(answer.facts.get("exitCode").is_none(), "{}", answer.facts);
    assert!(seen.await.expect("no panic").is_empty());
}

#[tokio::test]
async fn time_that_is_up_is_said_last_and_is_a_fact() {
    let mut place = Place::new(PUPPET);
    let toolbox = toolbox(&mut place, Limits::default());
    let (view, _) = person(b"");
    let caller = ToolCaller { terminal: Some(view), ..ToolCaller::default() };
    let arguments = json!({ "command": "echo begun; sleep 1000", "pty": true, "timeout": 1 });
    let answer = call(&toolbox, arguments, caller).await;
    let text = answer.text.to_string();
    assert!(text.starts_with("begun\n\nWall time: ") && text.ends_with("Command timed out after 1 seconds"), "{text}");
    assert_eq!((&answer.facts["timedOut"], answer.is_error), (&json!(true), true));
    place.check_nothing_survives();
}

#[tokio::test]
async fn a_command_before_a_person_sends_no_updates_and_does_not_become_a_job() {
    let mut place = Place::new(PUPPET);
    let limits = Limits { auto_after: Some(Patience(Duration::from_millis(10))), ..Limits::default() };
    let toolbox = toolbox(&mut place, limits);
    let (send, mut updates) = mpsc::channel(16);
    let (view, _) = person(b"");
    let caller = ToolCaller {
        terminal: Some(view),
        updates: Some(send),
        patience: Some(Patience(Duration::from_millis(10))),
        ..ToolCaller::default()
    };
    // Longer than the second after which others hear of a silent command.
    let answer = call(&toolbox, json!({ "command": "echo one; sleep 1.2; echo two", "pty": true }), caller).await;
    assert!(answer.text.starts_with("one\ntwo\n") && answer.facts.get("async").is_none(), "{}", answer.text);
    assert!(updates.recv().await.is_none());
}

#[tokio::test]
async fn a_command_before_a_person_is_not_in_the_shared_shell_and_has_the_unattended_variables() {
    let mut place = Place::new(PUPPET);
    let store = SessionStore::new(place.path().join("sessions"), SessionLimits::default(), SessionOwner::Engine);
    place.options.sessions = Some(Arc::new(store));
    place.options.environment.set = [("PAGER", "cat"), ("EDITOR", "true"), ("TERM", "dumb")]
        .map(|(name, value)| (name.to_owned(), Some(value.to_owned())))
        .into();
    let toolbox = toolbox(&mut place, Limits::default());
    let caller = |terminal| ToolCaller { connection: Some("c".to_owned()), terminal, ..ToolCaller::default() };
    call(&toolbox, json!({ "command": "x=kept" }), caller(None)).await;
    let kept = call(&toolbox, json!({ "command": "echo ${x:-gone}" }), caller(None)).await;
    assert!(kept.text.starts_with("kept\n"), "{}", kept.text);
    let (view, _) = person(b"");
    let script = json!({ "command": "echo ${x:-gone} $PAGER $EDITOR $TERM", "pty": true, "env": { "EDITOR": "vi" } });
    let answer = call(&toolbox, script, caller(Some(view))).await;
    assert!(answer.text.starts_with("gone cat vi dumb\n"), "{}", answer.text);
}
