//! The form and the size of replies, by settings and by client.

use serde_json::{Value, json};

use super::server::{Server, text};
use super::{ends_well, home};

/// Lines of 50 bytes, newline included.
fn lines(count: usize, status: u8) -> Value {
    json!({ "command": format!("yes {} | head -n {count} | cat; exit {status}", "x".repeat(49)) })
}

/// The text that a client of this name gets of a command that writes so many lines of 50 bytes, and whether it was cut. Then it
/// names the artifact, which holds all of them.
#[track_caller]
fn shown(client: &str, dialect: &str, count: usize, status: u8) -> (String, bool) {
    let home = home();
    let mut server = Server::greeted_by(client, &home, &["--dialect", dialect], &[]);
    let said = text(&server.call("bash", &lines(count, status))).to_owned();
    server.close();
    assert!(server.end().success());
    home.check_nothing_survives();
    let is_cut = said.contains("artifact://1");
    if is_cut {
        let begin = said.find(home.path().to_str().expect("UTF-8")).expect("the path of the artifact");
        let path = said[begin..].split(|char: char| !(char.is_alphanumeric() || "/.-_".contains(char))).next();
        let saved = std::fs::read(path.expect("a path")).expect("the artifact is there");
        assert_eq!(saved.len(), count * 50, "all of it is saved");
    }
    (said, is_cut)
}

#[test]
fn no_reply_is_longer_than_its_client_shows() {
    for (client, least, success, failure) in [
        ("claude-code", 1900, 50_000, 10_000),
        ("codex-mcp-client", 3000, 12_000, 12_000),
        ("gemini-cli-mcp-client", 3000, 40_000, 40_000),
        ("qwen-cli-mcp-client-bashful", 3000, 28_000, 14_000),
        ("opencode", 3000, 51_200, 51_200),
        ("copilot-cli", 800, 20_000, 20_000),
    ] {
        for dialect in ["native", "pi", "plain"] {
            for (status, most) in [(0, success), (1, failure)] {
                let (said, is_cut) = shown(client, dialect, 1150, status);
                assert!(said.len() < most, "{client}, {dialect}, status {status}: {} bytes", said.len());
                assert!(said.len() > least, "{client}, {dialect}, status {status}: only {} bytes", said.len());
                assert!(is_cut, "{client}, {dialect}, status {status}");
                // Just below the limit nothing is cut.
                let (said, is_cut) = shown(client, dialect, most / 50 * 4 / 5, status);
                assert!(!is_cut, "{client}, {dialect}, status {status}: {said}");
            }
        }
    }
}

#[test]
fn a_text_that_is_json_reaches_clients_that_would_read_it() {
    let home = home();
    std::fs::write(home.path().join("package.json"), "{\n  \"name\": \"x\"\n}\n").expect("a file");
    let mut gemini = Server::greeted_by("gemini-cli-mcp-client", &home, &[], &[]);
    for (script, printed) in [("echo 42", "42\n"), ("echo '[1, 2]'", "[1, 2]\n"), ("echo null", "null\n")] {
        let result = gemini.call("bash", &json!({ "command": script }));
        assert_eq!((text(&result), &result["structuredContent"]), (printed, &json!({})));
    }
    ends_well(gemini, &home);
    let mut copilot = Server::greeted_by("copilot-cli", &home, &[], &[]);
    let result = copilot.call("bash", &json!({ "command": "cat package.json" }));
    assert_eq!(text(&result), "{\n  \"name\": \"x\"\n}\n[end of output]");
    let result = copilot.call("bash", &json!({ "command": "echo '{no json}'" }));
    assert_eq!((text(&result), &result["structuredContent"]), ("{no json}\n", &Value::Null));
    ends_well(copilot, &home);
}

#[test]
fn an_exit_code_is_no_error_for_clients_that_wrap_errors() {
    let home = home();
    for (client, is_error) in [("gemini-cli-mcp-client", false), ("qwen-cli-mcp-client-x", false), ("opencode", true)] {
        let mut server = Server::greeted_by(client, &home, &[], &[]);
        let result = server.call("bash", &json!({ "command": "exit 3" }));
        assert_eq!(result["isError"], is_error, "{client}: {result}");
        assert!(text(&result).contains("exit code 3"), "{result}");
        // A command that did not run, or not to its end, is an error everywhere.
        for arguments in [json!({ "command": "git push -f" }), json!({ "command": "sleep 1000", "timeout": 1 })] {
            assert_eq!(server.call("bash", &arguments)["isError"], true, "{client}: {arguments}");
        }
        ends_well(server, &home);
    }
}

#[test]
fn a_client_that_counts_lines_is_shown_no_more_of_them() {
    let home = home();
    let mut server = Server::greeted_by("opencode", &home, &[], &[]);
    let result = server.call("bash", &json!({ "command": "seq 2500" }));
    let said = text(&result);
    assert!(said.lines().count() < 2000 && said.contains("\n1\n") && said.contains("\n2500\n"), "{said}");
    assert!(said.contains("artifact://1"), "{said}");
    ends_well(server, &home);
}

#[test]
fn output_of_jobs_is_within_the_limit_of_the_client_too() {
    let home = home();
    let mut server = Server::greeted_by("codex-mcp-client", &home, &[], &[]);
    for _ in 0..2 {
        let mut arguments = lines(1000, 0);
        arguments["mode"] = "background".into();
        server.call("bash", &arguments);
    }
    for id in 1..=2 {
        server.call("job", &json!({ "action": "wait", "ids": [id] }));
    }
    let result = server.call("job", &json!({ "action": "show", "ids": [1, 2], "lines": 900 }));
    let said = text(&result);
    assert!(said.len() < 12_000 && said.matches("next: since").count() == 2, "{} bytes", said.len());
    ends_well(server, &home);
}

#[test]
fn an_unknown_client_has_the_limit_of_the_dialect_and_settings_can_lower_it() {
    let (said, is_cut) = shown("somebody", "native", 2500, 1);
    assert!(said.len() > 125_000 && !is_cut, "{}", said.len());
    let home = home();
    let row = [("BASHFUL_MCP_CLIENTS", "{ \"some*\" = { shown_bytes = 6000, head_bytes = 100, tail_bytes = 300 } }")];
    let mut server = Server::greeted_by("somebody", &home, &[], &row);
    let said = text(&server.call("bash", &lines(200, 0))).to_owned();
    assert!(said.len() < 1000 && said.contains("of 200 ("), "{said}");
    ends_well(server, &home);
}

#[test]
fn structured_results_hold_the_shown_text_and_fit_the_schema_that_is_listed() {
    let home = home();
    let settings = [("BASHFUL_MCP_STRUCTURED", "true")];
    for (args, variables) in [(&["--structured"][..], &[][..]), (&[], &settings)] {
        let mut server = Server::greeted(&home, args, variables);
        let tools = server.ask("tools/list", &json!({}))["result"]["tools"].clone();
        for tool in tools.as_array().expect("tools") {
            assert_eq!(tool["outputSchema"]["properties"]["output"]["type"], "string", "{tool}");
        }
        let result = server.call("bash", &json!({ "command": "echo out; exit 3" }));
        assert_eq!(result["structuredContent"]["output"], text(&result));
        assert_eq!(result["structuredContent"]["exit_code"], 3);
        let result = server.call("job", &json!({ "action": "list" }));
        assert_eq!(result["structuredContent"]["output"], text(&result));
        ends_well(server, &home);
    }
    let mut server = Server::greeted(&home, &["--structured", "--dialect", "plain"], &[]);
    let result = server.call("bash", &json!({ "command": "echo out; echo err >&2" }));
    let fields = json!({ "stdout": "out\n", "stderr": "err\n", "exitCode": 0 });
    assert_eq!(result["structuredContent"], fields);
    server.close();
    assert!(server.end().success());
}

#[test]
fn links_to_artifacts_are_for_those_who_ask_for_them() {
    let home = home();
    let file = home.path().join(".config/bashful/config.toml");
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
    std::fs::write(&file, "[mcp.clients.\"*\"]\nresource_links = true\n").expect("a file");
    let mut server = Server::greeted(&home, &[], &[]);
    let result = server.call("bash", &json!({ "command": "seq 100000" }));
    let link = &result["content"][1];
    assert_eq!((&link["type"], &link["uri"]), (&json!("resource_link"), &json!("artifact://1")));
    assert_eq!(link["size"], 588_895);
    ends_well(server, &home);
}

#[test]
fn the_schemas_of_facts_are_printed_and_the_row_of_a_client_too() {
    let home = home();
    let printed: Value = serde_json::from_slice(&home.run(&["schema", "--facts"]).stdout).expect("JSON");
    assert_eq!(printed["_meta"], "bashful/facts");
    assert_eq!(printed["tools"]["bash"]["required"], json!(["status"]));
    assert!(printed["tools"]["job"].is_object(), "{printed}");
    let row = home.run(&["doctor", "--client", "Claude-Code", "--json"]);
    let row: Value = serde_json::from_slice(&row.stdout).expect("JSON");
    assert_eq!(
        (&row["row"], &row["patience_seconds"], &row["structured"]),
        (&json!("claude-code"), &json!(110.0), &json!(false))
    );
    let unknown = home.run(&["doctor", "--client", "nobody"]);
    assert!(String::from_utf8_lossy(&unknown.stdout).contains("has no row in [mcp.clients]"), "{unknown:?}");
}

#[test]
fn the_jobs_of_this_server_come_first_and_others_are_said_to_be_older() {
    let home = home();
    let job = json!({ "command": "true", "mode": "background" });
    let mut before = Server::greeted(&home, &[], &[]);
    before.call("bash", &job);
    before.call("job", &json!({ "action": "wait", "ids": [1] }));
    ends_well(before, &home);
    let mut server = Server::greeted(&home, &[], &[]);
    let list = json!({ "action": "list" });
    assert!(text(&server.call("job", &list)).starts_with("[jobs that this server did not start"));
    server.call("bash", &job);
    server.call("job", &json!({ "action": "wait", "ids": [2] }));
    let result = server.call("job", &list);
    let said = text(&result);
    let (own, others) = said.split_once("[jobs that this server").expect("both kinds");
    assert!(own.contains("\n2 ") && others.contains("\n1 "), "{said}");
    let facts = &result["_meta"]["bashful/facts"]["jobs"];
    assert_eq!((&facts[0]["own"], &facts[1]["own"]), (&json!(false), &json!(true)), "{facts}");
    ends_well(server, &home);
}

#[test]
fn clients_that_show_facts_to_their_model_get_none() {
    let home = home();
    let mut server = Server::greeted_by("gemini-cli-mcp-client", &home, &[], &[]);
    assert_eq!(server.call("bash", &json!({ "command": "exit 3" })).get("_meta"), None);
    ends_well(server, &home);
}

#[test]
fn every_resource_is_on_one_page_of_the_list() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    server.call("bash", &json!({ "command": "true", "mode": "background" }));
    server.call("job", &json!({ "action": "wait", "ids": [1] }));
    let (jobs, artifacts) = (home.state().join("jobs"), home.state().join("artifacts"));
    for id in 2..=150 {
        let copy = jobs.join(id.to_string());
        std::fs::create_dir(&copy).expect("it is made");
        for name in ["job.json", "status.json", "output"] {
            std::fs::copy(jobs.join("1").join(name), copy.join(name)).expect("it is copied");
        }
    }
    for id in 1..=120 {
        std::fs::write(artifacts.join(id.to_string()), "x").expect("it is written");
    }
    let (mut uris, mut sizes, mut page) = (Vec::new(), Vec::new(), json!({}));
    loop {
        let result = server.ask("resources/list", &page)["result"].clone();
        let listed = result["resources"].as_array().expect("a list");
        uris.extend(listed.iter().map(|entry| entry["uri"].as_str().expect("text").to_owned()));
        sizes.push(listed.len());
        if result["nextCursor"].is_null() {
            break;
        }
        page = json!({ "cursor": result["nextCursor"] });
    }
    let jobs = (1..=150).rev().map(|id| format!("job://{id}"));
    let artifacts = (1..=120).rev().map(|id| format!("artifact://{id}"));
    assert_eq!(uris, jobs.chain(artifacts).collect::<Vec<_>>());
    assert_eq!(sizes, [100, 100, 70]);
    server.close();
    assert!(server.end().success());
}

#[test]
fn clients_of_the_python_sdk_that_wait_get_the_end_of_their_commands() {
    let home = home();
    let call = |token: Value| {
        json!({ "name": "bash", "arguments": { "command": "sleep 1.5; echo waited", "mode": "slow" }, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": { "name": "mcp", "version": "0.1.0" },
            "io.modelcontextprotocol/clientCapabilities": {}, "progressToken": token,
        } })
    };
    let file = home.path().join(".config/bashful/config.toml");
    std::fs::create_dir_all(file.parent().expect("a directory")).expect("a directory");
    std::fs::write(&file, "[mcp.clients.mcp]\npatience_seconds = 0.3\n").expect("a file");
    let mut server = Server::start(&home, &[], &[]);
    let told = server.ask("tools/call", &call(json!("mine")))["result"].clone();
    assert_eq!(text(&told), "waited\n");
    let untold = server.ask("tools/call", &call(Value::Null))["result"].clone();
    assert!(text(&untold).contains("now job 1"), "{untold}");
    server.close();
    assert!(server.end().success());
    let mut first_era = Server::greeted_by("mcp", &home, &[], &[]);
    let result = first_era.call("bash", &json!({ "command": "sleep 1.5; echo waited", "mode": "slow" }));
    assert_eq!(text(&result), "waited\n");
    ends_well(first_era, &home);
}
