//! Updates of a call, and the kinds of its end, as a host of the library gets them.

use bashful_dialect::{Answer, Conclusion, Dialect, Limits, ToolCaller, Toolbox, Update, UpdateState};
use bashful_engine::{Canceller, Patience};
use bashful_testkit::{Place, WIDE};
use serde_json::{Value, json};
use std::time::Duration;
use tokio::sync::mpsc::{Receiver, channel};
use tokio::time::timeout;

use crate::PUPPET;

fn toolbox(place: &mut Place) -> Toolbox {
    let limits = Limits::default();
    Dialect::PI.adjust(&mut place.options, &limits);
    Toolbox::new(place.engine(), Dialect::PI, limits, place.path())
}

async fn call(toolbox: &Toolbox, arguments: Value, caller: ToolCaller) -> Answer {
    toolbox.call("bash", arguments, caller).await.expect("a tool")
}

/// The next update that is as wanted. Those before it are checked, too.
async fn until(updates: &mut Receiver<Update>, mut is_wanted: impl FnMut(&Update) -> bool) -> Update {
    loop {
        let update = timeout(WIDE, updates.recv()).await.expect("it comes").expect("the job is not over");
        if is_wanted(&update) {
            return update;
        }
    }
}

#[tokio::test]
async fn a_job_is_running_in_its_updates_once_it_is_in_the_background_and_ends_with_its_final_text() {
    let mut place = Place::new(PUPPET);
    let toolbox = toolbox(&mut place);
    let (send, mut updates) = channel(16);
    let caller = ToolCaller {
        updates: Some(send),
        patience: Some(Patience(Duration::from_millis(300))),
        ..ToolCaller::default()
    };
    let script =
        "echo one; until [ -e go ]; do sleep 0.01; done; echo two; until [ -e end ]; do sleep 0.01; done; exit 3";
    let answer = call(&toolbox, json!({ "command": script }), caller).await;
    assert_eq!((&answer.facts["async"]["state"], answer.conclusion), (&json!("running"), Conclusion::Result));
    std::fs::write(place.path().join("go"), "").expect("a file");
    let mut before = Vec::new();
    let running = until(&mut updates, |update| {
        before.push((update.state, update.facts["async"]["state"].clone()));
        update.state == UpdateState::Running && update.text.contains("two")
    });
    let running = running.await;
    assert_eq!((running.text.as_str(), &running.facts["async"]["jobId"]), ("one\ntwo\n", &json!("bg_1")));
    for (state, word) in before {
        let expected = if state == UpdateState::Foreground { Value::Null } else { json!("running") };
        assert_eq!(word, expected, "{state:?}");
    }
    std::fs::write(place.path().join("end"), "").expect("a file");
    let last = until(&mut updates, |update| update.state.is_last()).await;
    assert_eq!((last.state, &last.facts["async"]["state"]), (UpdateState::Failed, &json!("failed")));
    assert_eq!(last.facts["exitCode"], 3);
    assert!(last.text.starts_with("one\ntwo\n\nWall time: "), "{}", last.text);
    assert!(last.text.ends_with("\n\nCommand exited with code 3"), "{}", last.text);
    assert_eq!(timeout(WIDE, updates.recv()).await.expect("the channel closes"), None);
    place.check_nothing_survives();
}

#[tokio::test]
async fn a_job_that_ends_well_is_completed() {
    let mut place = Place::new(PUPPET);
    let toolbox = toolbox(&mut place);
    let (send, mut updates) = channel(1);
    let caller = ToolCaller { updates: Some(send), ..ToolCaller::default() };
    call(&toolbox, json!({ "command": "printf done", "async": true }), caller).await;
    let last = until(&mut updates, |update| update.state.is_last()).await;
    assert_eq!((last.state, &last.facts["async"]["state"]), (UpdateState::Completed, &json!("completed")));
    assert!(last.text.starts_with("done\n\nWall time: ") && last.text.ends_with(" seconds"), "{}", last.text);
}

#[tokio::test]
async fn a_host_that_does_not_read_its_updates_holds_up_nothing_and_still_gets_the_last() {
    let mut place = Place::new(PUPPET);
    let toolbox = toolbox(&mut place);
    let (send, mut updates) = channel(1);
    let caller = ToolCaller {
        updates: Some(send),
        patience: Some(Patience(Duration::from_millis(300))),
        ..ToolCaller::default()
    };
    let script = "for i in {1..20}; do echo $i; sleep 0.05; done; touch written";
    call(&toolbox, json!({ "command": script }), caller).await;
    place.wait_for("written");
    let last = until(&mut updates, |update| update.state.is_last()).await;
    assert!(last.text.starts_with("1\n2\n") && last.text.contains("\n20\n\nWall time: "), "{}", last.text);
}

#[tokio::test]
async fn a_call_that_its_host_cancels_is_an_abort_with_the_output_up_to_then() {
    let mut place = Place::new(PUPPET);
    let toolbox = toolbox(&mut place);
    let (canceller, cancellation) = Canceller::new();
    let caller = ToolCaller { cancellation: Some(cancellation), ..ToolCaller::default() };
    let calling = call(&toolbox, json!({ "command": "echo begun; touch begun; sleep 1000" }), caller);
    let (answer, ()) = tokio::join!(calling, async {
        while !place.path().join("begun").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        canceller.cancel();
    });
    assert_eq!((answer.conclusion, answer.is_error), (Conclusion::Abort, true));
    assert!(answer.text.starts_with("[Command cancelled]\nbegun\n\nWall time: "), "{}", answer.text);
    assert_eq!((&answer.facts["cancelled"], &answer.facts["timedOut"]), (&json!(true), &Value::Null));
    place.check_nothing_survives();
}

#[tokio::test]
async fn other_ends_are_errors_or_results() {
    let mut place = Place::new(PUPPET);
    let toolbox = toolbox(&mut place);
    let check = async |arguments: Value, conclusion| {
        let answer = call(&toolbox, arguments.clone(), ToolCaller::default()).await;
        assert_eq!(answer.conclusion, conclusion, "{arguments}: {}", answer.text);
    };
    check(json!({ "command": "exit 3" }), Conclusion::Result).await;
    check(json!({ "command": "sleep 1000", "timeout": 1 }), Conclusion::Error).await;
    check(json!({ "command": "$PUPPET signal KILL $PPID; sleep 1000" }), Conclusion::Error).await;
    check(json!({ "command": "true", "cwd": "/none" }), Conclusion::Error).await;
    check(json!({ "command": "true", "unknown": 1 }), Conclusion::Error).await;
    place.check_nothing_survives();
}
