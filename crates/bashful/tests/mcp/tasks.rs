//! Jobs as tasks, for clients that know the extension.

use bashful_testkit::{Home, eventually};
use serde_json::{Value, json};

use super::server::{Server, text};
use super::{WAITS, home};

/// A client of the second era, with tasks or without.
struct Client {
    server: Server,
    knows_tasks: bool,
}

impl Client {
    fn new(home: &Home, variables: &[(&str, &str)]) -> Self {
        Self { server: Server::start(home, &[], variables), knows_tasks: true }
    }

    fn ask(&mut self, method: &str, mut params: Value) -> Value {
        let extensions = if self.knows_tasks { json!({ "io.modelcontextprotocol/tasks": {} }) } else { json!({}) };
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
            "io.modelcontextprotocol/clientCapabilities": { "extensions": extensions },
        });
        self.server.ask(method, &params)
    }

    #[track_caller]
    fn bash(&mut self, arguments: &Value) -> Value {
        self.ask("tools/call", json!({ "name": "bash", "arguments": arguments }))["result"].clone()
    }

    fn task(&mut self, method: &str, id: &str) -> Value {
        self.ask(method, json!({ "taskId": id }))
    }

    /// Polls until the task has this status.
    #[track_caller]
    fn until(&mut self, id: &str, status: &str) -> Value {
        let mut task = json!({});
        let reached = eventually(|| {
            task = self.task("tasks/get", id)["result"].clone();
            task["status"] == status
        });
        assert!(reached, "{task}");
        task
    }

    fn end(mut self, home: &Home) {
        self.server.close();
        assert!(self.server.end().success());
        home.check_nothing_survives();
    }
}

#[test]
fn a_background_command_is_a_task_with_the_id_of_its_job_and_ends_with_its_result() {
    let home = home();
    let mut client = Client::new(&home, &[]);
    let found = client.ask("server/discover", json!({}))["result"].clone();
    assert_eq!(found["capabilities"]["extensions"]["io.modelcontextprotocol/tasks"], json!({}));
    let begun = client.bash(&json!({ "command": format!("{WAITS}; exit 3"), "mode": "background" }));
    assert_eq!(
        (&begun["resultType"], &begun["taskId"], &begun["status"]),
        (&json!("task"), &json!("1"), &json!("working"))
    );
    assert_eq!(begun["ttlMs"], Value::Null);
    assert!(begun["createdAt"].as_str().is_some_and(|time| time.ends_with('Z')), "{begun}");
    home.wait_for("begun");
    let working = client.task("tasks/get", "1")["result"].clone();
    assert_eq!((&working["resultType"], &working["status"]), (&json!("complete"), &json!("working")));
    assert_eq!(working["result"], Value::Null);
    std::fs::write(home.path().join("go"), "").expect("it may go on");
    let result = client.until("1", "completed")["result"].clone();
    assert!(
        text(&result).starts_with("[job 1: exit code 3; touch begun;") && text(&result).contains("\ndone\n"),
        "{result}"
    );
    assert_eq!(result["isError"], true);
    assert_eq!(result["_meta"]["bashful/facts"]["jobs"][0]["exit_code"], 3);
    // What has ended is not stopped, and nothing waits for an answer.
    assert_eq!(client.task("tasks/cancel", "1")["result"]["resultType"], "complete");
    assert_eq!(client.ask("tasks/update", json!({ "taskId": "1", "inputResponses": {} }))["error"], Value::Null);
    assert_eq!(client.task("tasks/get", "1")["result"]["status"], "completed");
    client.end(&home);
    // The store of jobs is the only one, so another server knows the task.
    let mut other = Client::new(&home, &[]);
    assert_eq!(other.task("tasks/get", "1")["result"]["status"], "completed");
    other.end(&home);
}

#[test]
fn a_command_that_outlasts_its_call_is_a_task_and_can_be_cancelled() {
    let home = home();
    let mut client = Client::new(&home, &[("BASHFUL_MCP_PATIENCE_SECONDS", "1")]);
    let begun = client.bash(&json!({ "command": format!("(setsid sleep 777 &); {WAITS}"), "timeout": 300 }));
    let id = begun["taskId"].as_str().expect("a task").to_owned();
    assert_eq!(client.task("tasks/cancel", &id)["error"], Value::Null);
    client.until(&id, "cancelled");
    client.end(&home);
}

#[test]
fn who_does_not_know_tasks_sees_no_change_and_unknown_tasks_are_named() {
    let home = home();
    let mut client = Client::new(&home, &[]);
    for (id, about) in [("9", "never been a job 9"), ("x", "\"x\"")] {
        let refused = client.task("tasks/get", id);
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        assert!(refused["error"]["message"].as_str().is_some_and(|message| message.contains(about)), "{refused}");
    }
    // A model has to see what is at a terminal.
    let screen = client.bash(&json!({ "command": "read -p 'name? ' name", "pty": true, "mode": "background" }));
    assert!(text(&screen).contains("name?"), "{screen}");
    client.knows_tasks = false;
    let begun = client.bash(&json!({ "command": "true", "mode": "background" }));
    assert_eq!(begun["resultType"], "complete");
    assert!(text(&begun).contains("<job>2</job>"), "{begun}");
    assert_eq!(client.task("tasks/get", "2")["error"]["code"], -32021);
    assert_eq!(
        client.ask("tools/call", json!({ "name": "job", "arguments": { "action": "kill", "ids": [1] } }))["error"],
        Value::Null
    );
    client.end(&home);
    let mut first_era = Server::start(&home, &[], &[]);
    let hello = json!({
        "protocolVersion": "2025-11-25", "clientInfo": { "name": "test", "version": "1" },
        "capabilities": { "extensions": { "io.modelcontextprotocol/tasks": {} } },
    });
    let answer = first_era.ask("initialize", &hello);
    assert_eq!(answer["result"]["capabilities"]["extensions"], Value::Null, "{answer}");
    first_era.tell("notifications/initialized", &json!({}));
    let begun = first_era.call("bash", &json!({ "command": "true", "mode": "background" }));
    assert!(text(&begun).contains("<job>3</job>"), "{begun}");
    first_era.close();
    assert!(first_era.end().success());
    home.check_nothing_survives();
}
