//! Jobs as tasks, for clients that know the extension.

use bashful_testkit::{Home, eventually};
use rustix::process::{Pid, Signal, kill_process};
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
            "io.modelcontextprotocol/clientCapabilities": { "elicitation": {}, "extensions": extensions },
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

/// A task needs no input: its command has not begun before the user has said yes.
#[test]
fn the_user_is_asked_before_there_is_a_task() {
    let home = home();
    let mut client = Client::new(&home, &[("BASHFUL_GUARD_LEVELS", "{\"git/force-push\"=\"ask\"}")]);
    let arguments = json!({ "command": "git push --force 2>/dev/null; echo over", "mode": "background" });
    let asked = client.bash(&arguments);
    assert_eq!((&asked["resultType"], &asked["taskId"]), (&json!("input_required"), &Value::Null), "{asked}");
    assert_eq!(client.task("tasks/get", "1")["error"]["code"], -32602, "nothing has begun");
    let answered = json!({
        "name": "bash", "arguments": arguments, "requestState": asked["requestState"],
        "inputResponses": { "allow": { "action": "accept", "content": {} } },
    });
    let begun = client.ask("tools/call", answered)["result"].clone();
    assert_eq!((&begun["resultType"], &begun["taskId"]), (&json!("task"), &json!("1")), "{begun}");
    assert!(text(&client.until("1", "completed")["result"]).contains("\nover\n"));
    client.end(&home);
}

/// As with the tool `job`: the jobs of a user are one list.
#[test]
fn a_job_of_another_program_is_a_task_and_one_that_was_lost_ends() {
    let home = home();
    let script = format!("echo $PPID >keeper.new; mv keeper.new keeper; {WAITS}");
    for script in ["sleep 777", &script] {
        assert!(home.run(&["run", "-b", script]).status.success());
    }
    let mut client = Client::new(&home, &[]);
    assert_eq!(client.task("tasks/get", "1")["result"]["status"], "working");
    assert_eq!(client.task("tasks/cancel", "1")["error"], Value::Null);
    client.until("1", "cancelled");
    // In the dialect of pi, a client sees its own jobs alone.
    let mut pi = Client { server: Server::start(&home, &["--dialect", "pi"], &[]), knows_tasks: true };
    for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
        let refused = pi.ask(method, json!({ "taskId": "2", "inputResponses": {} }));
        assert_eq!(refused["error"]["code"], -32601, "{refused}");
    }
    pi.server.close();
    assert!(pi.server.end().success());
    home.wait_for("keeper");
    let keeper = std::fs::read_to_string(home.path().join("keeper")).expect("it is there");
    kill_process(keeper.trim().parse().ok().and_then(Pid::from_raw).expect("a process id"), Signal::KILL)
        .expect("there");
    let result = client.until("2", "completed")["result"].clone();
    assert!(result["isError"] == true && text(&result).contains("lost"), "{result}");
    std::fs::write(home.path().join("go"), "").expect("it may go on");
    client.end(&home);
}

#[test]
fn who_does_not_know_tasks_sees_no_change_and_unknown_tasks_are_named() {
    let home = home();
    let mut client = Client::new(&home, &[]);
    for (id, about) in [("9", "never been a job 9"), ("x", "\"x\"")] {
        for method in ["tasks/get", "tasks/cancel", "tasks/update"] {
            let refused = client.ask(method, json!({ "taskId": id, "inputResponses": {} }));
            assert_eq!(refused["error"]["code"], -32602, "{refused}");
            assert!(refused["error"]["message"].as_str().is_some_and(|message| message.contains(about)), "{refused}");
        }
    }
    // The first era had these: a result comes with `tasks/get` now, and nobody lists the tasks of others.
    for method in ["tasks/result", "tasks/list"] {
        assert_eq!(client.task(method, "9")["error"]["code"], -32601);
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
