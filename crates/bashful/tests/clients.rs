//! `bashful mcp` with clients that others have made.

use std::path::PathBuf;

use bashful_testkit::Home;

const BASHFUL: &str = env!("CARGO_BIN_EXE_bashful");

/// Runs the official Python client in one of its modes.
#[track_caller]
fn check_python(mode: &str) {
    let here = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let python = here.join("../../target/clients/python/bin/python");
    assert!(python.exists(), "no client at {}: run .ci/setup", python.display());
    let script = here.join("tests/clients/python.py");
    let home = Home::new(BASHFUL);
    let output =
        home.wrapped(python, &[script.as_os_str(), BASHFUL.as_ref(), mode.as_ref()]).output().expect("it runs");
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
    assert!(output.status.success(), "{}{}", said[0], said[1]);
    assert!(said[0].contains("well"), "{said:?}");
    home.check_nothing_survives();
}

#[test]
fn the_python_client_is_served_in_its_first_era() {
    check_python("legacy");
}

#[test]
fn the_python_client_is_served_in_its_second_era() {
    check_python("2026-07-28");
}

#[test]
fn the_python_client_is_served_when_it_asks_which_era_it_is() {
    check_python("auto");
}
