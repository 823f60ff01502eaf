//! Commands: their results, their shell, their options, and how they are aborted.

use serde_json::{Value, json};

use crate::host::Host;
use crate::{WAITS, ends_well, home, seq};

fn keys(data: &Value) -> Vec<&str> {
    let mut keys: Vec<&str> = data.as_object().expect("an object").keys().map(String::as_str).collect();
    keys.sort_unstable();
    keys
}

#[test]
fn a_command_answers_with_its_result() {
    let home = home();
    let mut host = Host::new(&home);
    let response = host.ask(&json!({ "id": 7, "type": "bash", "command": "echo out; echo err >&2; false" }));
    assert_eq!((&response["id"], &response["command"]), (&json!(7), &json!("bash")));
    let data = &response["data"];
    assert_eq!(
        keys(data),
        [
            "cancelled",
            "exitCode",
            "notices",
            "output",
            "outputBytes",
            "outputLines",
            "timedOut",
            "totalBytes",
            "totalLines",
            "truncated",
            "wallTimeMs",
            "workingDir",
        ]
    );
    assert_eq!((&data["output"], &data["exitCode"]), (&json!("out\nerr\n"), &json!(1)));
    assert_eq!((&data["totalLines"], &data["totalBytes"]), (&json!(2), &json!(8)));
    assert_eq!((&data["outputLines"], &data["outputBytes"]), (&json!(2), &json!(8)));
    assert_eq!(data["workingDir"], home.path().to_str().expect("text"));
    for flag in ["cancelled", "timedOut", "truncated"] {
        assert_eq!(data[flag], false, "{data}");
    }
    assert_eq!(host.bash("kill -9 $$")["exitCode"], 137);
    ends_well(host, &home);
}

#[test]
fn directory_variables_and_functions_carry_over_to_the_next_command() {
    let home = home();
    let mut host = Host::new(&home);
    assert_eq!(host.bash("X=5; f() { echo f; }; mkdir sub; cd sub")["exitCode"], 0);
    assert_eq!(host.bash("echo $X; f; basename $PWD")["output"], "5\nf\nsub\n");
    // A tool call has a shell of its own, in the directory of the service.
    let tool = host.data(&json!({ "id": 1, "type": "bash", "as": "tool", "command": "echo \"<$X>\"; pwd" }));
    assert_eq!(tool["text"], format!("<>\n{}\n", home.path().display()));
    let other = host.data(&json!({ "id": 2, "type": "bash", "command": "echo \"<$X>\"", "session": "other" }));
    assert_eq!(other["output"], "<>\n");
    let moved =
        host.data(&json!({ "id": 3, "type": "bash", "command": "pwd; echo $A", "cwd": "/", "env": { "A": "b" } }));
    assert_eq!((&moved["output"], &moved["workingDir"]), (&json!("/\nb\n"), &json!("/")));
    assert_eq!(host.bash("echo \"<$A>\"")["output"], "<>\n");
    let removed = host.bash("mkdir /tmp/$$; cd /tmp/$$; rmdir $PWD; echo -n $PWD");
    assert_eq!(removed["workingDir"], removed["output"]);
    ends_well(host, &home);
}

#[test]
fn commands_are_run_at_the_same_time_and_nothing_is_rewritten() {
    let home = home();
    let mut host = Host::new(&home);
    host.send(&json!({ "id": "one", "type": "bash", "command": WAITS }));
    home.wait_for("begun");
    // The second lets the first go on, and is in a shell of its own meanwhile.
    assert_eq!(host.bash("touch go")["exitCode"], 0);
    assert_eq!(host.response(&json!("one"))["data"]["output"], "done\n");
    let cut = host.bash("cd /; seq 5 | head -2; (exit 3)");
    assert_eq!((&cut["output"], &cut["exitCode"], &cut["workingDir"]), (&json!("1\n2\n"), &json!(3), &json!("/")));
    ends_well(host, &home);
}

#[test]
fn an_aborted_command_answers_with_what_it_wrote_and_the_others_go_on() {
    let home = home();
    let mut host = Host::new(&home);
    host.send(&json!({ "id": "wait", "type": "bash", "command": WAITS }));
    home.wait_for("begun");
    host.send(&json!({ "id": "long", "type": "bash", "command": "echo begun; touch long; sleep 1000" }));
    home.wait_for("long");
    let answer = host.data(&json!({ "id": "a", "type": "abort_bash", "target": "long" }));
    assert_eq!(answer, json!({ "aborted": 1 }));
    let data = host.response(&json!("long"))["data"].clone();
    assert_eq!((&data["cancelled"], &data["timedOut"]), (&json!(true), &json!(false)), "{data}");
    assert_eq!(data["output"], "[Command cancelled]\nbegun\n");
    assert_eq!(data.get("exitCode"), None);
    std::fs::write(home.path().join("go"), "").expect("a file");
    assert_eq!(host.response(&json!("wait"))["data"]["output"], "done\n");
    ends_well(host, &home);
}

#[test]
fn an_abort_without_a_name_is_one_of_all_commands() {
    let home = home();
    let mut host = Host::new(&home);
    for id in ["a", "b", "c"] {
        host.send(&json!({ "id": id, "type": "bash", "command": format!("touch {id}; sleep 1000") }));
        home.wait_for(id);
    }
    host.send(&json!({ "id": "wait", "type": "job_wait", "jobs": [] }));
    assert_eq!(host.response(&json!("wait"))["success"], true, "there is nothing to wait for");
    let answer = host.data(&json!({ "type": "abort_bash" }));
    assert_eq!(answer, json!({ "aborted": 3 }));
    for id in ["a", "b", "c"] {
        assert_eq!(host.response(&json!(id))["data"]["cancelled"], true);
    }
    // Nothing runs, which is no error.
    assert_eq!(host.data(&json!({ "id": 1, "type": "abort_bash" })), json!({ "aborted": 0 }));
    ends_well(host, &home);
}

#[test]
fn an_abort_with_the_id_of_a_command_is_for_it_alone_also_after_its_end() {
    let home = home();
    let mut host = Host::new(&home);
    host.send(&json!({ "id": "wait", "type": "bash", "command": WAITS }));
    home.wait_for("begun");
    host.send(&json!({ "id": 4, "type": "bash", "command": "touch four; sleep 1000" }));
    home.wait_for("four");
    for aborted in [1, 0] {
        host.send(&json!({ "id": 4, "type": "abort_bash" }));
        let answer = host.response_of("abort_bash", &json!(4));
        assert_eq!(answer["data"], json!({ "aborted": aborted }));
        if aborted == 1 {
            assert_eq!(host.response_of("bash", &json!(4))["data"]["cancelled"], true);
        }
    }
    std::fs::write(home.path().join("go"), "").expect("a file");
    assert_eq!(host.response(&json!("wait"))["data"]["cancelled"], false);
    ends_well(host, &home);
}

#[test]
fn a_second_abort_kills_at_once() {
    let home = home();
    let mut host = Host::start(&home, &[], &[("BASHFUL_STOP_GRACE_SECONDS", "3600")]);
    let deaf = "trap '' TERM; touch begun; while :; do sleep 1000; done";
    host.send(&json!({ "id": 1, "type": "bash", "as": "tool", "command": deaf }));
    home.wait_for("begun");
    for _ in 0..2 {
        host.data(&json!({ "type": "abort_bash", "id": "a", "target": 1 }));
    }
    let data = host.response(&json!(1))["data"].clone();
    assert_eq!(data["conclusion"], "abort", "{data}");
    ends_well(host, &home);
}

#[test]
fn a_command_has_a_timeout_and_a_wrong_one_is_brought_into_its_range() {
    let home = home();
    let mut host = Host::new(&home);
    let late = host.data(&json!({ "id": 1, "type": "bash", "command": "echo a; sleep 1000", "timeout": 0.2 }));
    assert_eq!((&late["timedOut"], &late["cancelled"]), (&json!(true), &json!(true)), "{late}");
    let output = late["output"].as_str().expect("text");
    assert!(output.contains("timed out") && output.ends_with("\na\n"), "{output}");
    assert!(late["notices"].to_string().contains("Timeout clamped to 1s"), "{late}");
    let slow = host.data(&json!({ "id": 2, "type": "bash", "command": "echo a", "mode": "slow" }));
    assert_eq!(slow["output"], "a\n");
    ends_well(host, &home);
}

#[test]
fn long_output_is_cut_and_read_whole_from_its_artifact() {
    let home = home();
    let mut host = Host::new(&home);
    let data = host.bash("seq 200000");
    assert_eq!((&data["truncated"], &data["totalLines"]), (&json!(true), &json!(200_000)), "{data}");
    assert!(data["output"].as_str().expect("text").ends_with("\n200000\n"));
    let mut uri = Some(format!("artifact://{}", data["artifactId"].as_str().expect("an artifact")));
    let mut whole = String::new();
    while let Some(next) = uri {
        let read = host.data(&json!({ "id": next, "type": "read", "uri": next }));
        whole += read["text"].as_str().expect("text");
        uri = read["next"].as_str().map(str::to_owned);
        assert_eq!(uri.is_some(), read["cut"] == true);
    }
    let expected = seq(200_000);
    assert!(whole == expected, "{} bytes instead of {}", whole.len(), expected.len());
    let listed = host.data(&json!({ "id": "list", "type": "resources", "count": 1 }));
    assert_eq!(listed["resources"][0]["size"], expected.len());
    let gone = host.error(&json!({ "id": "gone", "type": "read", "uri": "artifact://999" }));
    assert_eq!((&gone["code"], &gone["field"]), (&json!("not_found"), &json!("uri")));
    let wrong = host.error(&json!({ "id": "wrong", "type": "read", "uri": "artifact://1?lines=x" }));
    assert_eq!((&wrong["code"], &wrong["field"]), (&json!("invalid_field"), &json!("uri")));
    ends_well(host, &home);
}

#[test]
fn a_command_as_a_tool_is_rewritten_and_answers_as_the_tool_does() {
    let home = home();
    let mut host = Host::new(&home);
    let data =
        host.data(&json!({ "id": 1, "type": "bash", "as": "tool", "command": "cd / && seq 5 | head -2; exit 3" }));
    assert_eq!(keys(&data), ["conclusion", "facts", "isError", "links", "text"]);
    assert_eq!((&data["isError"], &data["conclusion"]), (&json!(true), &json!("result")));
    let data = host.data(&json!({ "id": 2, "type": "bash", "as": "tool", "command": "cd / && seq 5 | head -2" }));
    assert_eq!((&data["facts"]["cwd"], &data["facts"]["exit_code"]), (&json!("/"), &json!(0)), "{data}");
    let refused = host.data(&json!({ "id": 3, "type": "bash", "as": "tool", "command": "git push --force" }));
    assert_eq!((&refused["conclusion"], &refused["facts"]["status"]), (&json!("error"), &json!("refused")));
    let bang = host.error(&json!({ "id": 4, "type": "bash", "command": "git push --force" }));
    assert_eq!(bang["code"], "refused", "{bang}");
    ends_well(host, &home);
}

#[test]
fn a_model_is_given_the_tools_and_calls_them() {
    let home = home();
    let mut host = Host::start(&home, &["--dialect", "plain"], &[]);
    let tools = host.data(&json!({ "id": 1, "type": "tools", "format": "openai" }));
    assert_eq!((&tools["dialect"], &tools["tools"][0]["function"]["name"]), (&json!("plain"), &json!("bash")));
    let plain = host.data(&json!({ "id": 2, "type": "tools" }));
    assert_eq!(plain["tools"][0]["name"], "bash");
    let called =
        json!({ "id": 3, "type": "tool", "name": "bash", "arguments": { "command": "echo out; echo err >&2" } });
    let data = host.data(&called);
    let text: Value = serde_json::from_str(data["text"].as_str().expect("text")).expect("JSON");
    assert_eq!((&text["stdout"], &text["stderr"]), (&json!("out\n"), &json!("err\n")));
    let none = host.error(&json!({ "id": 4, "type": "tool", "name": "fly", "arguments": {} }));
    assert_eq!((&none["code"], &none["field"]), (&json!("not_found"), &json!("name")));
    let form = host.error(&json!({ "id": 5, "type": "tools", "format": "latin" }));
    assert_eq!((&form["code"], &form["field"]), (&json!("invalid_field"), &json!("format")));
    // The plain tool has neither sessions nor a background.
    for (field, value) in [("session", json!("s")), ("mode", json!("background")), ("pty", json!(true))] {
        let mut request = json!({ "id": field, "type": "bash", "as": "tool", "command": "true" });
        request[field] = value;
        let error = host.error(&request);
        assert_eq!((&error["code"], &error["field"]), (&json!("invalid_field"), &json!(field)));
    }
    ends_well(host, &home);
}

#[test]
fn a_tool_cannot_name_the_shell_of_a_person() {
    let home = home();
    let mut host = Host::new(&home);
    assert_eq!(host.bash("X=5")["exitCode"], 0);
    let tool = json!({ "id": 1, "type": "bash", "as": "tool", "command": "echo <$X>", "session": "bang-connection" });
    let response = host.ask(&tool).to_string();
    assert!(response.contains("names that begin with `bang-` are for shells of people"), "{response}");
    // A name may be as long on both surfaces.
    let long = "n".repeat(100);
    for surface in ["bang", "tool"] {
        let request = json!({ "id": 2, "type": "bash", "as": surface, "command": "echo $((6 * 7))", "session": long });
        assert!(host.data(&request).to_string().contains("42"));
    }
    // A notice has the name that the host gave.
    let ended = host.bash("exit 3");
    assert_eq!(
        ended["notices"],
        json!(["the shell of session \"connection\" has ended; the next command starts a new one"])
    );
    ends_well(host, &home);
}

#[test]
fn options_of_the_tool_are_refused_by_name_on_the_surface_without_them() {
    let home = home();
    let mut host = Host::new(&home);
    let wrong = [
        ("pty", json!(true)),
        ("stdin", json!(true)),
        ("patience", json!(5)),
        ("mode", json!("background")),
        ("command", json!("")),
        ("command", json!("a\u{0}b")),
        ("session", json!("a/b\n")),
        ("session", json!("")),
        ("cwd", json!("/no/such/directory")),
        ("env", json!({ "A=B": "c" })),
    ];
    for (field, value) in wrong {
        let mut request = json!({ "id": 1, "type": "bash", "command": "true" });
        request[field] = value;
        let error = host.error(&request);
        assert_eq!((&error["code"], &error["field"]), (&json!("invalid_field"), &json!(field)), "{request}");
    }
    let nameless = host.error(&json!({ "type": "bash", "command": "true", "stream": true }));
    assert_eq!((&nameless["code"], &nameless["field"]), (&json!("invalid_field"), &json!("stream")));
    ends_well(host, &home);
}

#[test]
fn hello_tells_version_and_abilities() {
    let home = home();
    let mut host = Host::start(&home, &["--dialect", "pi", "--cwd", "/"], &[]);
    let data = host.data(&json!({ "id": "h", "type": "hello" }));
    assert_eq!((&data["name"], &data["version"]), (&json!("bashful"), &json!(env!("CARGO_PKG_VERSION"))));
    assert_eq!((&data["protocol"], &data["dialect"], &data["cwd"]), (&json!(1), &json!("pi"), &json!("/")));
    assert!(data["requests"].as_array().expect("types").contains(&json!("abort_bash")), "{data}");
    assert_eq!(data["limits"], json!({ "lineBytes": 16 << 20, "requests": 1024 }));
    for ability in ["jobs", "sessions", "artifacts", "terminals", "guard", "approve"] {
        assert_eq!(data["abilities"][ability], true, "{data}");
    }
    ends_well(host, &home);
}

#[test]
fn a_shutdown_answers_every_command_and_itself_last() {
    let home = home();
    let mut host = Host::new(&home);
    host.send(&json!({ "id": "long", "type": "bash", "command": "echo begun; touch begun; (setsid sleep 1000 &); sleep 1000" }));
    home.wait_for("begun");
    host.send(&json!({ "id": "bye", "type": "shutdown" }));
    let rest = host.rest();
    let [long, bye] = &rest[..] else { panic!("{rest:?}") };
    assert_eq!((&long["id"], &long["data"]["cancelled"]), (&json!("long"), &json!(true)));
    assert_eq!(long["data"]["output"], "[Command cancelled]\nbegun\n");
    assert_eq!((&bye["id"], &bye["success"]), (&json!("bye"), &json!(true)));
    assert!(host.end().success());
    home.check_nothing_survives();
}

#[test]
fn a_thousand_calls_with_fifty_at_once_have_no_error() {
    const CALLS: usize = 1000;
    const AT_ONCE: usize = 50;
    let home = home();
    let mut host = Host::new(&home);
    let mut next = 0;
    let mut answered = vec![false; CALLS];
    let mut unanswered = 0;
    while answered.contains(&false) {
        while unanswered < AT_ONCE && next < CALLS {
            host.send(&json!({ "id": next, "type": "bash", "command": format!("echo {next}") }));
            next += 1;
            unanswered += 1;
        }
        let response = host.next().expect("a response");
        unanswered -= 1;
        let id = usize::try_from(response["id"].as_u64().expect("an id")).expect("small");
        assert_eq!((&response["success"], &response["data"]["exitCode"]), (&json!(true), &json!(0)), "{response}");
        assert_eq!(response["data"]["output"], format!("{id}\n"));
        assert!(!std::mem::replace(&mut answered[id], true), "{id} is answered once");
    }
    ends_well(host, &home);
}
