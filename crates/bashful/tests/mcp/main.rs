//! `bashful mcp`, spoken to line by line: what a client may do wrong, and what becomes of commands.

mod asking;
mod condense;
mod documents;
mod edges;
mod fenced;
mod following;
mod lost_keepers;
mod notices;
mod pi_runtime;
mod pi_tool;
mod replies;
mod server;
mod tasks;
mod terminals;

use bashful_testkit::{Home, eventually};
use rustix::process::Signal;
use serde_json::{Value, json};

use server::{Server, text};

const BASHFUL: &str = env!("CARGO_BIN_EXE_bashful");

/// Is there as long as `go` is not, and says so with a file.
const WAITS: &str = "touch begun; until [ -e go ]; do sleep 0.01; done; echo done";

fn home() -> Home {
    Home::new(BASHFUL)
}

#[track_caller]
fn ends_well(mut server: Server, home: &Home) {
    assert_eq!(text(&server.call("bash", &json!({ "command": "echo well" }))), "well\n");
    server.close();
    assert!(server.end().success());
    home.check_nothing_survives();
}

#[test]
fn a_client_of_the_first_era_is_served() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    assert_eq!(server.ask("ping", &json!({}))["result"], json!({}));
    let tools = server.ask("tools/list", &json!({}))["result"].clone();
    assert!(tools.to_string().len() < 4096, "{tools}");
    let printed: Value = serde_json::from_slice(&home.run(&["schema"]).stdout).expect("JSON");
    assert_eq!(tools["tools"], printed["tools"], "what is printed is what is served");
    ends_well(server, &home);
}

#[test]
fn a_client_of_the_second_era_is_served() {
    let home = home();
    let mut server = Server::start(&home, &[], &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { "name": "test", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = server.ask("server/discover", &json!({ "_meta": meta }))["result"].clone();
    let versions = found["supportedVersions"].as_array().expect("versions");
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-11-25")), "{found}");
    let call = json!({ "_meta": meta, "name": "bash", "arguments": { "command": "echo hi; exit 3" } });
    let result = server.ask("tools/call", &call)["result"].clone();
    assert_eq!(result["resultType"], "complete", "{result}");
    assert_eq!(text(&result), "[command failed: exit code 3]\nhi\n");
    assert_eq!(result["isError"], true);
    // No session: the next request has to say again who it is.
    let refused = server.ask("tools/call", &json!({ "name": "bash", "arguments": { "command": "echo hi" } }));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    server.close();
    assert!(server.end().success());
    home.check_nothing_survives();
}

#[test]
fn a_result_has_a_text_that_stands_alone_and_the_facts_where_only_programs_look() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    let result = server.call("bash", &json!({ "command": "echo out; echo err >&2" }));
    assert_eq!(text(&result), "out\nerr\n");
    assert_eq!(result["isError"], false);
    let facts = &result["_meta"]["bashful/facts"];
    assert_eq!((&facts["status"], &facts["exit_code"]), (&json!("exited"), &json!(0)));
    assert!(!facts.to_string().contains("out\\n"), "{facts}");
    assert_eq!(result.get("structuredContent"), None, "some clients would show the model nothing else");
    let result = server.call("bash", &json!({ "command": "kill -9 $$" }));
    assert_eq!(result["isError"], true);
    assert_eq!(result["_meta"]["bashful/facts"]["signal"]["name"], "SIGKILL");
    ends_well(server, &home);
}

#[test]
fn much_output_is_little_on_the_wire_and_whole_on_disk() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    let result = server.call("bash", &json!({ "command": "seq 5000000", "mode": "slow" }));
    assert!(result.to_string().len() < 100_000);
    let said = text(&result);
    assert!(said.contains("\n1\n2\n3\n") && said.contains("\n4999999\n5000000\n"), "{said}");
    assert!(said.contains("artifact://1") && result["content"].as_array().is_some_and(|parts| parts.len() == 1));
    let path = result["_meta"]["bashful/facts"]["artifact"]["path"].as_str().expect("a path").to_owned();
    assert_eq!(std::fs::metadata(path).expect("it is there").len(), 38_888_896);
    ends_well(server, &home);
}

#[test]
fn what_is_no_message_is_passed_over() {
    let home = home();
    let mut server = Server::start(&home, &[], &[]);
    // Before the greeting, too.
    server.tell("notifications/initialized", &json!({}));
    server.line(b"not JSON at all");
    server.line(b"{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\":");
    server.line(b"");
    let hello =
        json!({ "protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    assert_eq!(server.ask("initialize", &hello)["result"]["protocolVersion"], "2024-11-05");
    for line in [
        &b"\xff\xfe\x00"[..],
        b"[]",
        b"[1, 2]",
        b"7",
        b"null",
        b"{}",
        b"{\"id\": 5}",
        b"\r",
        "[".repeat(100_000).as_bytes(),
    ] {
        server.line(line);
    }
    ends_well(server, &home);
}

#[test]
fn what_is_not_there_is_refused_by_its_name() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    let answer = server.ask("tools/call", &json!({ "name": "fly", "arguments": {} }));
    assert_eq!(answer["error"]["code"], -32602);
    assert!(answer["error"]["message"].as_str().is_some_and(|text| text.contains("fly")), "{answer}");
    assert_eq!(server.ask("no/such/method", &json!({}))["error"]["code"], -32601);
    for (arguments, part) in [
        (json!({ "command": "true", "timout": 3 }), "unknown field `timout`"),
        (json!({ "command": [7] }), "`command`: invalid type: sequence"),
        (json!({ "command": "true", "timeout": "soon" }), "`timeout`: invalid type: string"),
        (json!({}), "missing field `command`"),
    ] {
        let result = server.call("bash", &arguments);
        assert_eq!(result["isError"], true);
        assert!(text(&result).contains(part), "{result}");
    }
    for params in [json!({ "name": 7 }), json!({ "name": "bash", "arguments": "true" }), json!([])] {
        let answer = server.ask("tools/call", &params);
        assert!(answer["error"]["code"].is_i64(), "{answer}");
    }
    ends_well(server, &home);
}

#[test]
fn arguments_in_the_habit_of_other_agents_are_taken_and_told_once() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    let list = server.ask("tools/list", &json!({}))["result"]["tools"].clone();
    for tool in list.as_array().expect("tools") {
        assert!(tool["inputSchema"]["additionalProperties"].is_null(), "a client would refuse them: {tool}");
    }
    let given = json!({ "cmd": "pwd", "workdir": "/usr", "timeout": "20", "description": "Say where" });
    let first = server.call("bash", &given);
    assert_eq!(text(&first), "/usr\n[`cmd` is `command` here]\n[`workdir` is `cwd` here]");
    assert_eq!(text(&server.call("bash", &given)), "/usr\n");
    let job = server.call("bash", &json!({ "command": "true", "run_in_background": true }));
    assert!(text(&job).contains("job"), "{job}");
    server.call("job", &json!({ "action": "wait", "ids": [1] }));
    ends_well(server, &home);
}

#[test]
fn a_command_that_ran_into_the_usual_limit_is_told_how_to_get_more_time() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[("BASHFUL_LIFETIME_DEFAULT_SECONDS", "1")]);
    let result = server.call("bash", &json!({ "command": "echo begun; sleep 1000" }));
    let expected = "[command timed out after 1s]\nbegun\n\
                    [for more time: `timeout` (up to 3600), or mode \"slow\" or \"background\"]";
    assert_eq!(text(&result), expected);
    ends_well(server, &home);
}

#[test]
fn a_script_of_16_mebibytes_is_run_and_a_longer_one_refused() {
    let home = home();
    // The guard judges no more than a mebibyte.
    let mut server = Server::greeted(&home, &[], &[("BASHFUL_GUARD_ENABLED", "false")]);
    let script = |bytes: usize| format!("echo $((6 * 7)) #{}", "x".repeat(bytes - 17));
    server.begin("longest", &json!({ "command": script(16 << 20) }));
    server.begin("longer", &json!({ "command": script((16 << 20) + 1) }));
    assert_eq!(text(&server.answer("longest")["result"]), "42\n");
    let refused = server.answer("longer")["result"].clone();
    assert!(text(&refused).contains("longer than 16MB"), "{refused}");
    ends_well(server, &home);
}

#[test]
fn fifty_calls_run_at_once() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    // None of them can end before all of them have begun.
    let command = "until [ \"$(ls here.* | wc -l)\" = 50 ]; do sleep 0.05; done";
    for number in 0..50 {
        let command = format!("touch here.{number}; {command}; echo {number}");
        server.begin(&number.to_string(), &json!({ "command": command, "timeout": 300 }));
    }
    for number in 0..50 {
        let answer = server.answer(&number.to_string());
        assert_eq!(text(&answer["result"]), format!("{number}\n"), "{answer}");
    }
    ends_well(server, &home);
}

#[test]
fn cancelled_calls_stop_their_commands_and_no_others() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    for number in 0..10 {
        let command = format!("(setsid sleep {number}1000 &); touch begun.{number}; {WAITS} {number}");
        server.begin(&number.to_string(), &json!({ "command": command, "timeout": 300 }));
    }
    for number in 0..10 {
        home.wait_for(&format!("begun.{number}"));
    }
    for number in (0..10).step_by(2) {
        server.tell("notifications/cancelled", &json!({ "requestId": number.to_string(), "reason": "enough" }));
    }
    let is_one = |line: &&String| line.split(' ').nth(1) == Some("sleep") && line.contains("1000");
    let sleeps = || home.survivors().iter().filter(is_one).count();
    assert!(eventually(|| sleeps() == 5), "{:?}", home.survivors());
    // A second cancellation, or one of an unknown call, is ignored.
    server.tell("notifications/cancelled", &json!({ "requestId": "0" }));
    server.tell("notifications/cancelled", &json!({ "requestId": "nothing" }));
    std::fs::write(home.path().join("go"), "").expect("they may go on");
    for number in (1..10).step_by(2) {
        let answer = server.answer(&number.to_string());
        assert!(text(&answer["result"]).starts_with(&format!("done {number}\n")), "{answer}");
    }
    server.call("job", &json!({ "action": "list" }));
    assert_eq!(server.unasked(), Vec::<&String>::new());
    let left: Vec<u64> = (1..=5).collect();
    server.call("job", &json!({ "action": "kill", "ids": left }));
    ends_well(server, &home);
}

/// Starts a command and a job, ends the server in some way, and looks at what is left.
#[track_caller]
fn check_end(end: impl FnOnce(&mut Server), succeeds: bool) {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    let job = json!({ "command": "echo job; until [ -e go ]; do sleep 0.01; done", "mode": "background" });
    assert_eq!(server.call("bash", &job)["_meta"]["bashful/facts"]["job"]["id"], 1);
    let command = format!("(setsid sleep 1000 &); trap '' HUP; {WAITS}");
    server.begin("under way", &json!({ "command": command, "timeout": 300 }));
    home.wait_for("begun");
    end(&mut server);
    assert_eq!(server.end().success(), succeeds);
    let foreground = || home.survivors().iter().any(|line| line.contains("sleep 1000") || line.contains("touch begun"));
    assert!(eventually(|| !foreground()), "{:?}", home.survivors());
    let job: Value = serde_json::from_slice(&home.run(&["jobs", "show", "1", "--json"]).stdout).expect("JSON");
    assert_eq!((&job["status"], &job["output"]), (&json!("running"), &json!("job\n")), "{job}");
    std::fs::write(home.path().join("go"), "").expect("it may go on");
    home.check_nothing_survives();
}

#[test]
fn the_end_of_the_input_ends_commands_and_leaves_jobs() {
    check_end(Server::close, true);
}

#[test]
fn asking_the_server_to_end_ends_commands_and_leaves_jobs() {
    for signal in [Signal::TERM, Signal::INT, Signal::HUP] {
        check_end(|server| server.signal(signal), true);
    }
}

#[test]
fn killing_the_server_ends_commands_and_leaves_jobs() {
    check_end(|server| server.signal(Signal::KILL), false);
}

#[test]
fn a_message_that_is_cut_off_is_no_reason_to_stay() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    server.begin("under way", &json!({ "command": WAITS, "timeout": 300 }));
    home.wait_for("begun");
    let mut input = b"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\"".to_vec();
    input.truncate(30);
    server.line(&input);
    server.close();
    assert!(server.end().success());
    home.check_nothing_survives();
}

#[test]
fn a_client_that_says_nothing_is_served_until_it_goes() {
    let home = home();
    let mut server = Server::start(&home, &[], &[]);
    server.close();
    assert!(server.end().success());
    home.check_nothing_survives();
}

#[test]
fn a_call_that_takes_too_long_is_answered_with_a_job() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[("BASHFUL_MCP_PATIENCE_SECONDS", "1")]);
    let result = server.call("bash", &json!({ "command": format!("echo first; {WAITS}"), "mode": "slow" }));
    assert_eq!(result["_meta"]["bashful/facts"]["status"], "running", "{result}");
    assert_eq!(result["isError"], false);
    let said = text(&result);
    assert!(said.starts_with("first\n[still running after "), "{said}");
    assert!(said.contains("now job 1; do not start it again; to wait: job tool, action \"wait\", ids [1]"), "{said}");
    let waited = server.call("job", &json!({ "action": "wait", "ids": [1] }));
    assert_eq!(
        waited["_meta"]["bashful/facts"]["jobs"][0]["status"], "running",
        "no longer than the client has patience"
    );
    std::fs::write(home.path().join("go"), "").expect("it may go on");
    let ended =
        || server.call("job", &json!({ "action": "wait", "ids": [1] }))["_meta"]["bashful/facts"]["jobs"][0].clone();
    assert!(eventually({
        let mut ended = ended;
        move || ended()["exit_code"] == 0
    }));
    ends_well(server, &home);
}

#[test]
fn a_command_that_fails_on_its_way_to_a_job_is_an_error() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[("BASHFUL_MCP_PATIENCE_SECONDS", "0.3")]);
    // Some end just before they would become a job, some just after, and some meanwhile.
    for step in 0..30 {
        let command = format!("sleep 0.{}; exit 5", 285 + step);
        let result = server.call("bash", &json!({ "command": command }));
        let facts = &result["_meta"]["bashful/facts"];
        assert_eq!(facts["exit_code"] == 5, result["isError"] == true, "{result}");
    }
    ends_well(server, &home);
}

#[test]
fn a_call_that_became_a_job_has_the_lifetime_of_a_job_unless_it_named_one() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[("BASHFUL_MCP_PATIENCE_SECONDS", "1")]);
    for (id, timeout, lifetime) in [(1, Value::Null, 86_400_000), (2, json!(20), 20_000)] {
        server.call("bash", &json!({ "command": WAITS, "timeout": timeout }));
        let shown = server.call("job", &json!({ "action": "show", "ids": [id] }));
        assert_eq!(shown["_meta"]["bashful/facts"]["jobs"][0]["lifetime_ms"], lifetime, "{shown}");
    }
    std::fs::write(home.path().join("go"), "").expect("they may go on");
    server.call("job", &json!({ "action": "wait", "ids": [1, 2] }));
    ends_well(server, &home);
}

#[test]
fn who_gave_a_token_is_told_how_far_it_has_come() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    let call = json!({
        "name": "bash",
        "arguments": { "command": format!("echo one; echo two; {WAITS}"), "timeout": 300 },
        "_meta": { "progressToken": "mine" },
    });
    server.request("call", "tools/call", &call);
    let first = server.next();
    assert_eq!(first["params"]["progressToken"], "mine");
    let command = first["params"]["message"].as_str().expect("a message");
    assert!(command.starts_with("$ echo one; echo two; "), "what runs, because some clients hide it: {command}");
    let told: Vec<Value> = (0..2).map(|_| server.next()).collect();
    for notice in &told {
        assert_eq!(notice["method"], "notifications/progress", "{notice}");
        assert_eq!(notice["params"]["progressToken"], "mine");
        assert!(notice["params"]["message"].as_str().is_some_and(|text| text.ends_with("s, 8 bytes: two")), "{notice}");
    }
    let far = |notice: &Value| notice["params"]["progress"].as_f64().expect("a number");
    assert!(far(&told[0]) < far(&told[1]));
    std::fs::write(home.path().join("go"), "").expect("it may go on");
    assert_eq!(text(&server.answer("call")["result"]), "one\ntwo\ndone\n");
    let told = server.notices.len();
    server.call("bash", &json!({ "command": "sleep 1.5" }));
    assert_eq!(server.notices.len(), told, "nobody else is told");
    ends_well(server, &home);
}

/// Clients give up on a call of which they hear nothing.
#[test]
fn who_gave_a_token_hears_of_a_silent_command_and_of_a_silent_job_all_the_time() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    server.call("bash", &json!({ "command": format!("exec >&-; {WAITS}"), "mode": "background" }));
    let waits = json!({ "command": "until [ -e go ]; do sleep 0.01; done", "timeout": 300 });
    for (token, tool, arguments) in
        [("command", "bash", waits), ("job", "job", json!({ "action": "wait", "ids": [1], "wait_seconds": 40 }))]
    {
        let call = json!({ "name": tool, "arguments": arguments, "_meta": { "progressToken": token } });
        server.request(token, "tools/call", &call);
    }
    for _ in 0..2 {
        for token in ["command", "job"] {
            let heard = server.progress(&json!(token));
            assert!(heard.ends_with("s, 0 bytes"), "{heard}");
        }
    }
    std::fs::write(home.path().join("go"), "").expect("they may go on");
    for token in ["command", "job"] {
        server.answer(token);
    }
    ends_well(server, &home);
}

#[test]
fn a_server_works_where_it_is_told_to_and_speaks_the_dialect_it_is_told_to() {
    let home = home();
    std::fs::create_dir(home.path().join("there")).expect("a directory");
    let variables = [("MY_TOKEN", "tell-everybody")];
    let mut server = Server::greeted(&home, &["--dialect", "plain", "--cwd", "there"], &variables);
    let there = home.path().join("there");
    let tools = server.ask("tools/list", &json!({}));
    let description = tools["result"]["tools"][0]["description"].as_str().expect("a description");
    assert!(description.ends_with(&format!("<pwd>{}</pwd>", there.display())), "{description}");
    let result = server.call("bash", &json!({ "command": "pwd; echo $MY_TOKEN; echo ${CI-unset} >&2; exit 4" }));
    let facts =
        json!({ "stdout": format!("{}\ntell-everybody\n", there.display()), "stderr": "unset\n", "exitCode": 4 });
    assert_eq!(result["_meta"]["bashful/facts"]["exit_code"], 4);
    assert_eq!(serde_json::from_str::<Value>(text(&result)).expect("JSON"), facts);
    // Settings that come later do not change what a dialect promises.
    let settings = home.path().join(".config/bashful/config.toml");
    std::fs::create_dir_all(settings.parent().expect("a parent")).expect("a directory");
    std::fs::write(settings, "[environment.set]\nCI = \"later\"\n").expect("written");
    let result = server.call("bash", &json!({ "command": "echo ${CI-unset}" }));
    assert!(text(&result).contains("unset\\n"), "{result}");
    server.close();
    assert!(server.end().success());
    for args in [&["mcp", "--cwd", "nowhere"][..], &["mcp", "--dialect", "klingon"], &["schema", "--for", "cobol"]] {
        let output = home.run(args);
        assert_eq!(output.status.code(), Some(125), "{args:?}");
        assert!(!output.stderr.is_empty() && output.stdout.is_empty());
    }
    home.check_nothing_survives();
}

#[test]
fn long_outputs_and_jobs_can_be_read_whole_and_in_parts() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[("MY_TOKEN", "do-not-tell-anybody")]);
    assert_eq!(server.ask("resources/list", &json!({}))["result"]["resources"], json!([]));
    server.call("bash", &json!({ "command": "seq 100000" }));
    server.call(
        "bash",
        &json!({ "command": "echo 'do-not-tell-''anybody'; printf '\\e[1mbold\\e[0m\\n'", "mode": "background" }),
    );
    server.call("job", &json!({ "action": "wait", "ids": [1] }));
    let listed = server.ask("resources/list", &json!({}))["result"]["resources"].clone();
    let uris: Vec<&str> = listed.as_array().expect("a list").iter().filter_map(|entry| entry["uri"].as_str()).collect();
    assert_eq!(uris, ["job://1", "artifact://1"]);
    let templates = server.ask("resources/templates/list", &json!({}))["result"]["resourceTemplates"].clone();
    assert_eq!(templates[0]["uriTemplate"], "artifact://{id}{?lines,bytes,tail}");
    let mut read = |uri: &str| server.ask("resources/read", &json!({ "uri": uri }));
    for (uri, expected) in [
        ("artifact://1?lines=10-12", "10\n11\n12\n"),
        ("artifact://1?bytes=0-4", "1\n2\n"),
        ("artifact://1?tail=2", "99999\n100000\n"),
        ("job://1", "[withheld: MY_TOKEN]\nbold\n\n[background process completed]\n"),
        ("job://1?tail=1", "[background process completed]\n"),
        // A part of a withheld value is none of its pieces.
        ("job://1?bytes=3-9", "[withheld: MY_TOKEN]"),
        ("job://1?bytes=17-20", "[withheld: MY_TOKEN]\n"),
        ("job://1?bytes=0-1", "[withheld: MY_TOKEN]"),
        ("job://1?bytes=19-20", "\n"),
    ] {
        let contents = read(uri)["result"]["contents"][0].clone();
        assert_eq!((&contents["text"], &contents["uri"]), (&json!(expected), &json!(uri)));
    }
    let whole = read("artifact://1")["result"]["contents"][0]["text"].as_str().expect("a text").to_owned();
    let (text, next) = whole.rsplit_once("[cut at 256KB; next: ").expect("there is more");
    let last: u64 = text.lines().next_back().and_then(|line| line.parse().ok()).expect("a whole line");
    let next = next.trim_end().trim_end_matches(']');
    assert_eq!(next, format!("artifact://1?bytes={}-", text.len()));
    let rest = read(next)["result"]["contents"][0]["text"].as_str().expect("a text").to_owned();
    assert!(rest.starts_with(&format!("{}\n", last + 1)), "{}", &rest[..20]);
    for (uri, code) in [
        ("artifact://99", -32002),
        ("job://99", -32002),
        ("file:///etc/passwd", -32002),
        ("artifact://../1", -32002),
        ("artifact://1?lines=0-1", -32602),
    ] {
        assert_eq!(read(uri)["error"]["code"], code, "{uri}");
    }
    assert_eq!(server.ask("prompts/list", &json!({}))["result"]["prompts"], json!([]));
    ends_well(server, &home);
}

#[test]
fn every_call_is_in_the_log_and_so_is_what_was_cancelled() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    server.call("bash", &json!({ "command": "exit 3" }));
    server.begin("cancelled", &json!({ "command": WAITS, "timeout": 300 }));
    home.wait_for("begun");
    server.tell("notifications/cancelled", &json!({ "requestId": "cancelled" }));
    let log = || {
        let output = String::from_utf8_lossy(&home.run(&["log", "--json"]).stdout).into_owned();
        output.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")).collect::<Vec<_>>()
    };
    assert!(eventually(|| log().len() == 2));
    server.begin("abandoned", &json!({ "command": format!("touch abandoned; {WAITS}"), "timeout": 300 }));
    home.wait_for("abandoned");
    server.close();
    assert!(server.end().success());
    let lines = log();
    let statuses: Vec<&Value> = lines.iter().map(|line| &line["status"]).collect();
    assert_eq!(statuses, ["exited", "cancelled", "cancelled"]);
    assert!(lines.iter().all(|line| line["surface"] == "mcp"));
    home.check_nothing_survives();
}

#[test]
fn what_the_guard_refuses_is_told_with_what_to_do_instead() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    for mode in ["default", "background"] {
        let result = server.call("bash", &json!({ "command": "touch ran; git push --force", "mode": mode }));
        assert_eq!(
            (&result["isError"], &result["_meta"]["bashful/facts"]["status"]),
            (&json!(true), &json!("refused"))
        );
        let said = text(&result);
        assert!(said.starts_with("permission denied: git push --force is not allowed."), "{said}");
        assert!(said.contains("instead: git push --force-with-lease"), "{said}");
    }
    assert!(!home.path().join("ran").exists());
    let lines = String::from_utf8_lossy(&home.run(&["log", "--json"]).stdout).into_owned();
    assert_eq!(lines.matches("\"verdict\":\"refused\"").count(), 2, "{lines}");
    ends_well(server, &home);
}

#[test]
fn a_better_tool_is_pointed_to_if_the_settings_want_that() {
    let home = home();
    let variables = [("BASHFUL_INTERCEPTOR_ENABLED", "true"), ("BASHFUL_INTERCEPTOR_TOOLS", "[\"read\"]")];
    let mut server = Server::greeted(&home, &["--dialect", "pi"], &variables);
    let result = server.call("bash", &json!({ "command": "cat notes.txt" }));
    let said = text(&result);
    assert!(said.starts_with("Blocked: ") && said.ends_with("Original command: cat notes.txt"), "{said}");
    assert_eq!(result["isError"], true);
    assert!(text(&server.call("bash", &json!({ "command": "grep -c x /etc/passwd" }))).contains("Wall time"));
    server.close();
    assert!(server.end().success());
    home.check_nothing_survives();
}

#[test]
fn calls_share_a_session_and_it_ends_with_the_server() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    let call = |server: &mut Server, script: &str| {
        text(&server.call("bash", &json!({ "command": script, "session": "s" }))).to_owned()
    };
    assert_eq!(call(&mut server, "x=1; cd /usr"), "(no output)");
    assert_eq!(call(&mut server, "echo $x; pwd"), "1\n/usr\n");
    let ended = "[command failed: exit code 2]\n(no output)\n[the shell of session \"s\" has ended; the next command starts a new one]";
    assert_eq!(call(&mut server, "exit 2"), ended);
    let lost = "none\n[session \"s\" was restarted before this command (its shell ended with exit code 2); its variables, functions and directory are gone]";
    assert_eq!(call(&mut server, "echo ${x-none}"), lost);
    assert!(call(&mut server, "setsid sleep 1000 & echo left").contains("part of session \"s\""));
    let refused = server.call("bash", &json!({ "command": "true", "session": "s", "mode": "background" }));
    assert!(text(&refused).contains("a background job has a shell of its own"), "{refused}");
    ends_well(server, &home);
    assert_eq!(std::fs::read_dir(home.state().join("sessions")).expect("it is there").count(), 0);
}

#[test]
fn pi_keeps_variables_and_functions_and_not_the_directory() {
    let home = home();
    let mut server = Server::greeted(&home, &["--dialect", "pi"], &[]);
    let mut call = |script: &str| text(&server.call("bash", &json!({ "command": script }))).to_owned();
    assert!(call("x=1; f() { echo \"f: $x\"; }; cd /usr").starts_with("(no output)"));
    assert!(call("f; pwd").starts_with(&format!("f: 1\n{}\n", home.path().display())));
    server.close();
    assert!(server.end().success());
    home.check_nothing_survives();
}

/// More time for the rc files than a busy machine takes.
const PATIENT: (&str, &str) = ("BASHFUL_SHELL_SNAPSHOT_SECONDS", "60");

const SNAPSHOT_ON: [(&str, &str); 2] = [("BASHFUL_SHELL_SNAPSHOT", "on"), PATIENT];

#[test]
fn the_dialect_pi_has_the_aliases_of_the_user_and_others_do_not() {
    let home = home();
    std::fs::write(home.path().join(".bashrc"), "case $- in *i*) ;; *) return;; esac\nalias word='echo alias'\n")
        .expect("a file");
    let said = |dialect: &str, variables: &[(&str, &str)]| {
        let mut server = Server::greeted(&home, &["--dialect", dialect], variables);
        // More than the first, so that shells that have been waiting are among them.
        let said: Vec<_> = (0..4)
            .map(|_| text(&server.call("bash", &json!({ "command": "word || true" }))).contains("alias\n"))
            .collect();
        server.close();
        assert!(server.end().success());
        said
    };
    assert_eq!(said("pi", &[PATIENT]), [true; 4]);
    assert_eq!(said("pi", &[("BASHFUL_SHELL_SNAPSHOT", "off")]), [false; 4]);
    assert_eq!(said("native", &[]), [false; 4]);
    assert_eq!(said("native", &SNAPSHOT_ON), [true; 4]);
    home.check_nothing_survives();
}

#[test]
fn rc_files_that_do_not_work_are_told_in_one_reply() {
    let home = home();
    std::fs::write(home.path().join(".bashrc"), "exit 3\n").expect("a file");
    let mut server = Server::greeted(&home, &[], &SNAPSHOT_ON);
    let notices: Vec<_> = (0..3)
        .map(|_| server.call("bash", &json!({ "command": "echo hi" }))["_meta"]["bashful/facts"]["notices"].to_string())
        .collect();
    assert!(notices[0].contains("your aliases and functions are not available"), "{notices:?}");
    assert!(notices[1..].iter().all(|notices| !notices.contains("aliases")), "{notices:?}");
    ends_well(server, &home);
}

#[test]
fn sessions_that_made_room_for_others_cost_no_descriptors() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[("BASHFUL_SESSIONS_AT_MOST", "4")]);
    let limit = ["--pid", &server.pid().to_string(), "--nofile=128:"].map(str::to_owned);
    assert!(std::process::Command::new("prlimit").args(limit).status().expect("prlimit").success());
    // Two descriptors for each would be too many.
    for number in 0..80 {
        let result = server.call("bash", &json!({ "command": "echo here", "session": format!("s{number}") }));
        assert_eq!(text(&result), "here\n", "session {number}");
    }
    ends_well(server, &home);
}
