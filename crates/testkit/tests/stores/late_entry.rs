//! A host that becomes a keeper inside of its runtime still keeps its promises, and says what it costs.

use std::process::Command;

use bashful_testkit::Place;

const LATE: &str = env!("CARGO_BIN_EXE_late");

/// Runs the host on this script; what it says. Nothing of the script may be left.
fn check(script: &str) -> String {
    let place = Place::new(crate::PUPPET);
    let output = Command::new(LATE)
        .arg(script)
        .env_clear()
        .envs(place.options.host_environment.iter().cloned())
        .current_dir(place.path())
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(said.starts_with("keepers are small: false\n"), "{said}{}", String::from_utf8_lossy(&output.stderr));
    place.check_nothing_survives();
    said
}

#[test]
fn a_signal_to_a_keeper_with_threads_stops_its_tree() {
    for signal in ["TERM", "INT", "HUP"] {
        let script = format!(
            r#"(setsid "$PUPPET" make ready hold &); until [ -e ready ]; do sleep 0.01; done; $PUPPET signal {signal} $PPID; "$PUPPET" hold"#
        );
        let said = check(&script);
        assert!(said.contains("KeeperSignaled"), "{said}");
    }
}

#[test]
fn a_keeper_with_threads_tells_how_its_command_ended() {
    let said = check("sleep 0.01; exit 7");
    assert!(said.contains("Own(Code(7))"), "{said}");
}
