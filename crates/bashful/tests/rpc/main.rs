//! `bashful rpc` as a host program meets it: every message, every fault, and what becomes of commands.
//!
//! Every line of the service that a test reads is checked against `docs/rpc.schema.json`.

mod as_dialect;
mod asking;
mod commands;
mod documents;
mod events;
mod faults;
mod host;
mod jobs;
mod own_clients;
mod schema;
mod slow;

use bashful_testkit::Home;
use serde_json::json;

use host::Host;

const BASHFUL: &str = env!("CARGO_BIN_EXE_bashful");

/// Is there as long as `go` is not, and says so with a file.
const WAITS: &str = "touch begun; until [ -e go ]; do sleep 0.01; done; echo done";

fn home() -> Home {
    Home::new(BASHFUL)
}

/// The output of `seq`.
fn seq(last: u32) -> String {
    let lines: Vec<String> = (1..=last).map(|number| format!("{number}\n")).collect();
    lines.concat()
}

/// Checks that the service still serves, and ends with nothing left.
#[track_caller]
fn ends_well(mut host: Host, home: &Home) {
    let data = host.data(&json!({ "id": "last", "type": "bash", "command": "echo well" }));
    assert_eq!((&data["output"], &data["exitCode"]), (&json!("well\n"), &json!(0)));
    host.close();
    assert!(host.end().success());
    home.check_nothing_survives();
}
