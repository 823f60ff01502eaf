//! A server whose commands run in a sandbox.

use bashful_testkit::eventually;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::home;
use crate::server::{Server, text};

const SANDBOX: (&str, &str) = ("BASHFUL_SANDBOX_MODE", "workspace");

/// The kernel's name of the first process inside.
const IS_FENCED: &str = "read -r name </proc/1/comm; echo $name";

fn said(server: &mut Server, arguments: &Value) -> String {
    text(&server.call("bash", arguments)).to_owned()
}

#[test]
fn every_call_is_fenced_whichever_shell_it_gets() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[SANDBOX]);
    let tools = server.ask("tools/list", &json!({}))["result"]["tools"].clone();
    let description = tools[0]["description"].as_str().expect("a text");
    let told =
        "Commands run in a sandbox: they change files below their workspace and in /tmp alone, and have no network.";
    assert!(description.contains(told), "{description}");
    assert!(tools[0]["inputSchema"]["properties"]["sandbox"].is_object());
    // The first shell is new, and later ones have been waiting.
    for _ in 0..4 {
        assert_eq!(said(&mut server, &json!({ "command": IS_FENCED })), "bashful-init\n");
    }
    for arguments in [
        json!({ "command": IS_FENCED, "session": "s" }),
        json!({ "command": IS_FENCED, "session": "s" }),
        json!({ "command": format!("cat >/dev/null; {IS_FENCED}"), "env": { "A": "b" } }),
        json!({ "command": IS_FENCED, "sandbox": "read-only" }),
        json!({ "command": IS_FENCED, "sandbox": "workspace" }),
    ] {
        assert!(said(&mut server, &arguments).starts_with("bashful-init\n"), "{arguments}");
    }
    assert!(
        said(&mut server, &json!({ "command": "touch x", "sandbox": "read-only" })).contains("Read-only file system")
    );
    let screen =
        said(&mut server, &json!({ "command": format!("{IS_FENCED}; tty; read"), "pty": true, "mode": "background" }));
    let shown = server.call("job", &json!({ "action": "wait", "ids": [1], "until": "input" }));
    assert!(text(&shown).contains("bashful-init"), "{screen} {shown}");
    server.close();
    assert!(server.end().success());
    assert!(home.run(&["jobs", "kill", "1"]).status.success());
    home.check_nothing_survives();
}

#[test]
fn a_server_that_one_command_starts_is_reached_by_the_next_and_ends_with_the_rest() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[SANDBOX]);
    std::fs::write(home.path().join("index.html"), "served inside").expect("a file");
    let started = "python3 -m http.server 8124 --bind 127.0.0.1";
    server.call("bash", &json!({ "command": started, "mode": "background" }));
    let get = "until curl -s 127.0.0.1:8124; do sleep 0.05; done";
    assert_eq!(said(&mut server, &json!({ "command": get })), "served inside");
    assert!(std::net::TcpStream::connect("127.0.0.1:8124").is_err(), "nobody outside reaches it");
    server.call("job", &json!({ "action": "kill", "ids": [1] }));
    let script = "(setsid sleep 888 &); trap '' TERM; touch begun; sleep 889";
    server.begin("call", &json!({ "command": script, "mode": "slow" }));
    home.wait_for("begun");
    server.signal(Signal::KILL);
    server.end();
    home.check_nothing_survives();
}

#[test]
fn a_model_that_asks_for_less_fence_asks_the_user() {
    let home = home();
    let mut mute = Server::greeted(&home, &[], &[SANDBOX]);
    let outside = json!({ "command": "touch ran", "sandbox": "off" });
    let refused = mute.call("bash", &outside);
    let line = format!("bashful allow --cwd {} --sandbox off 'touch ran'", home.path().display());
    assert!(refused["isError"] == true && text(&refused).contains(&line), "{refused}");
    assert!(text(&refused).contains("asks to run outside of the sandbox"), "{refused}");
    assert!(!home.path().join("ran").exists());
    mute.close();
    assert!(mute.end().success());
    let mut server = Server::start(&home, &[], &[SANDBOX]);
    let client = json!({ "name": "test", "version": "1" });
    server.ask(
        "initialize",
        &json!({ "protocolVersion": "2025-11-25", "capabilities": { "elicitation": {} }, "clientInfo": client }),
    );
    server.tell("notifications/initialized", &json!({}));
    server.begin("call", &json!({ "command": IS_FENCED, "sandbox": "off" }));
    let asked = server.asked("elicitation/create");
    let message = asked["params"]["message"].as_str().expect("a text");
    assert!(message.contains("outside of the sandbox. Run it? [sandbox/less]"), "{message}");
    let yes = json!({ "jsonrpc": "2.0", "id": asked["id"], "result": { "action": "accept", "content": {} } });
    server.line(yes.to_string().as_bytes());
    let result = server.answer("call")["result"].clone();
    assert!(!text(&result).contains("bashful-init"), "{result}");
    server.close();
    assert!(server.end().success());
    assert!(eventually(|| !home.path().join("ran").exists()));
    home.check_nothing_survives();
}
