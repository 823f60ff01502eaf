//! Notifications about changed, new and removed resources.

use std::time::{Duration, Instant};

use bashful_testkit::Home;
use serde_json::{Value, json};

use crate::server::Server;
use crate::{ends_well, home};

const UPDATED: &str = "notifications/resources/updated";
const LISTED: &str = "notifications/resources/list_changed";

/// A job that writes a line for each file that it finds, and ends with the file `end`.
const JOB: &str = "for name in one two end; do until [ -e $name ]; do sleep 0.01; done; echo $name; done";

fn starts_job(server: &mut Server, command: &str) -> String {
    let result = server.call("bash", &json!({ "command": command, "mode": "background" }));
    result["_meta"]["bashful/facts"]["job"]["uri"].as_str().expect("a job").to_owned()
}

fn touch(home: &Home, name: &str) {
    std::fs::write(home.path().join(name), "").expect("written");
}

fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

#[test]
fn a_client_of_the_first_era_hears_of_what_it_has_subscribed_to() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    let uri = starts_job(&mut server, JOB);
    server.notice(LISTED, |_| true);
    let part = format!("{uri}?tail=1");
    for uri in [&uri, &uri, &part] {
        let answer = server.ask("resources/subscribe", &json!({ "uri": uri }));
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
    touch(&home, "one");
    server.notice(UPDATED, |params| params["uri"] == *uri);
    server.notice(UPDATED, |params| params["uri"] == *part);
    let read = server.ask("resources/read", &json!({ "uri": part }));
    assert_eq!(read["result"]["contents"][0]["text"], "one\n");
    let answer = server.ask("resources/unsubscribe", &json!({ "uri": uri }));
    assert_eq!(answer["result"], json!({}), "{answer}");
    touch(&home, "two");
    server.notice(UPDATED, |params| params["uri"] == *part);
    touch(&home, "end");
    server.notice(UPDATED, |params| params["uri"] == *part);
    assert!(server.notices.iter().all(|notice| notice["params"]["uri"] != *uri), "{:?}", server.notices);
    ends_well(server, &home);
}

#[test]
fn jobs_of_others_count_too() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    // The client is initialized before the first list, so the server knows it.
    server.ask("ping", &json!({}));
    assert!(home.run(&["run", "--mode", "background", JOB]).status.success());
    server.notice(LISTED, |_| true);
    server.ask("resources/subscribe", &json!({ "uri": "job://1" }));
    touch(&home, "one");
    server.notice(UPDATED, |params| params["uri"] == "job://1");
    for file in ["two", "end"] {
        touch(&home, file);
    }
    assert!(home.run(&["jobs", "wait", "1"]).status.success());
    server.notice(UPDATED, |params| params["uri"] == "job://1");
    assert!(home.run(&["jobs", "rm", "1"]).status.success());
    server.notice(LISTED, |_| true);
    ends_well(server, &home);
}

#[test]
fn a_job_that_writes_without_end_is_told_of_once_a_second() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    let uri = starts_job(&mut server, "until [ -e end ]; do echo more; sleep 0.01; done");
    server.ask("resources/subscribe", &json!({ "uri": uri }));
    let began = Instant::now();
    let mut told = 0;
    while told < 4 {
        server.notice(UPDATED, |_| true);
        told += 1;
    }
    assert!(began.elapsed() > Duration::from_millis(2900), "{:?}", began.elapsed());
    touch(&home, "end");
    ends_well(server, &home);
}

#[test]
fn only_so_many_are_watched_and_only_what_is_there() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    let uri = starts_job(&mut server, JOB);
    let missing = server.ask("resources/subscribe", &json!({ "uri": "job://99" }));
    assert!(missing["error"]["message"].as_str().is_some_and(|text| text.contains("job://99")), "{missing}");
    for count in 1..=32 {
        let answer = server.ask("resources/subscribe", &json!({ "uri": format!("{uri}?tail={count}") }));
        assert_eq!(answer["result"], json!({}), "{answer}");
    }
    let refused = server.ask("resources/subscribe", &json!({ "uri": uri }));
    assert!(refused["error"]["message"].as_str().is_some_and(|text| text.contains("no more than 32")), "{refused}");
    server.ask("resources/unsubscribe", &json!({ "uri": format!("{uri}?tail=1") }));
    // The place is free as soon as its watcher is gone.
    let free =
        bashful_testkit::eventually(|| server.ask("resources/subscribe", &json!({ "uri": uri }))["result"].is_object());
    assert!(free, "no place came free");
    for file in ["one", "two", "end"] {
        touch(&home, file);
    }
    ends_well(server, &home);
}

#[test]
fn a_client_of_the_second_era_listens_for_as_long_as_it_likes() {
    let home = home();
    let mut server = Server::start(&home, &[], &[]);
    let call = json!({ "_meta": meta(), "name": "bash", "arguments": { "command": JOB, "mode": "background" } });
    let result = server.ask("tools/call", &call);
    let uri = result["result"]["_meta"]["bashful/facts"]["job"]["uri"].as_str().expect("a job").to_owned();
    let wanted = json!({ "resourcesListChanged": true, "toolsListChanged": true, "resourceSubscriptions": [uri, uri, "job://99"] });
    server.request("ear", "subscriptions/listen", &json!({ "_meta": meta(), "notifications": wanted }));
    let heard = server.notice("notifications/subscriptions/acknowledged", |_| true);
    assert_eq!(heard["notifications"], json!({ "resourcesListChanged": true, "resourceSubscriptions": [uri, uri] }));
    let is_heard = |params: &Value| params["_meta"]["io.modelcontextprotocol/subscriptionId"] == "ear";
    touch(&home, "one");
    server.notice(UPDATED, |params| is_heard(params) && params["uri"] == *uri);
    let call = json!({ "_meta": meta(), "name": "bash", "arguments": { "command": "seq 100000" } });
    server.ask("tools/call", &call);
    server.notice(LISTED, is_heard);
    server.tell("notifications/cancelled", &json!({ "requestId": "ear" }));
    touch(&home, "two");
    touch(&home, "end");
    assert!(home.run(&["jobs", "wait", "1"]).status.success());
    // Whoever does not listen is told nothing; the call below comes after whatever would have been told.
    server.notices.clear();
    server.ask("tools/call", &json!({ "_meta": meta(), "name": "bash", "arguments": { "command": "sleep 1.5" } }));
    assert_eq!(server.notices, Vec::<Value>::new());
    server.close();
    assert!(server.end().success());
    home.check_nothing_survives();
}

#[test]
fn a_client_that_goes_away_takes_its_wishes_along() {
    let home = home();
    let mut server = Server::start(&home, &[], &[]);
    let wanted = json!({ "resourcesListChanged": true });
    server.request("ear", "subscriptions/listen", &json!({ "_meta": meta(), "notifications": wanted }));
    server.notice("notifications/subscriptions/acknowledged", |_| true);
    server.close();
    assert!(server.end().success());
}

#[test]
fn an_artifact_that_a_job_goes_on_writing_is_told_of_too() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[("BASHFUL_MCP_PATIENCE_SECONDS", "1")]);
    let command = format!("seq 60000; {JOB}");
    let result = server.call("bash", &json!({ "command": command, "mode": "slow" }));
    assert_eq!(result["_meta"]["bashful/facts"]["status"], "running", "{result}");
    server.ask("resources/subscribe", &json!({ "uri": "artifact://1" }));
    for file in ["one", "two", "end"] {
        touch(&home, file);
    }
    server.notice(UPDATED, |params| params["uri"] == "artifact://1");
    assert!(home.run(&["jobs", "wait", "1"]).status.success());
    ends_well(server, &home);
}
