//! Keepers that were killed or cannot act: the server ends what they supervised.

use bashful_testkit::{Home, eventually};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::home;
use crate::server::{Server, text};

/// A tree with a daemon in it that has made `ready`.
const TREE: &str = r#"(setsid "$PUPPET" make ready hold &); "$PUPPET" hold"#;

/// Attaches to the keeper as a debugger, which holds it, and makes `held`.
const HOLD_KEEPER: &str =
    r#"gdb --batch -nx -p $PPID -ex 'shell touch held' -ex 'shell "$PUPPET" hold' >gdb.log 2>&1 &"#;

fn read_pid(home: &Home, file: &str) -> Pid {
    home.wait_for(file);
    let text = std::fs::read_to_string(home.path().join(file)).expect("it is there");
    Pid::from_raw(text.trim().parse().expect("a number")).expect("a process id")
}

/// Fails if the tree goes on.
#[track_caller]
fn check_tree_ends(home: &Home) {
    let tree = || home.survivors().into_iter().filter(|line| line.trim_end().ends_with(" hold")).collect::<Vec<_>>();
    assert!(eventually(|| tree().is_empty()), "{:?}", tree());
}

#[test]
fn a_job_whose_keeper_is_killed_leaves_nothing_behind() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    let script = format!("echo $PPID >keeper.new; mv keeper.new keeper; {TREE}");
    server.call("bash", &json!({ "command": script, "mode": "background" }));
    home.wait_for("ready");
    kill_process(read_pid(&home, "keeper"), Signal::KILL).expect("it is there");
    check_tree_ends(&home);
    let listed = server.call("job", &json!({ "action": "list" }));
    assert!(text(&listed).contains("lost"), "{listed}");
    server.close();
    assert!(server.end().success());
    home.check_nothing_survives();
}

#[test]
fn a_command_that_traces_its_keeper_is_ended_with_its_call() {
    let home = home();
    let mut server = Server::greeted(&home, &[], &[]);
    server.begin("traces", &json!({ "command": format!("{HOLD_KEEPER} {TREE}"), "timeout": 300 }));
    home.wait_for("held");
    server.tell("notifications/cancelled", &json!({ "requestId": "traces" }));
    check_tree_ends(&home);
    server.close();
    assert!(server.end().success());
}

#[test]
fn a_command_that_traces_its_keeper_ends_with_the_server() {
    for by_signal in [false, true] {
        let home = home();
        let mut server = Server::greeted(&home, &[], &[]);
        server.begin("traces", &json!({ "command": format!("{HOLD_KEEPER} {TREE}"), "timeout": 300 }));
        home.wait_for("held");
        if by_signal {
            let pid = i32::try_from(server.pid()).ok().and_then(Pid::from_raw).expect("a process id");
            kill_process(pid, Signal::TERM).expect("it is there");
        } else {
            server.close();
        }
        server.end();
        home.check_nothing_survives();
    }
}
