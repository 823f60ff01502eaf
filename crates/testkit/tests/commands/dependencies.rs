//! The library stays small: the crates that a host builds with it.

use std::collections::BTreeSet;
use std::process::Command;

/// The crates that this one needs to be built, itself among them.
fn crates_of(package: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args([
            "tree",
            "--package",
            package,
            "--edges",
            "normal,build",
            "--prefix",
            "none",
            "--format",
            "{p}",
            "--offline",
        ])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let tree = String::from_utf8_lossy(&output.stdout).into_owned();
    let name = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    tree.lines().filter(|line| !line.trim().is_empty()).map(name).collect()
}

#[test]
fn the_engine_alone_is_less_than_sixty_crates() {
    let crates = crates_of("bashful-engine");
    assert!(crates.iter().any(|name| name.starts_with("tokio v")), "{crates:?}");
    assert!(crates.len() < 60, "{} crates: {crates:?}", crates.len());
}

#[test]
fn no_protocol_reaches_the_crates_below_its_own() {
    for package in ["bashful-engine", "bashful-dialect", "bashful-render"] {
        let crates = crates_of(package);
        let protocol =
            crates.iter().find(|name| name.starts_with("rmcp ") || name.starts_with("agent-client-protocol"));
        assert_eq!(protocol, None, "{package}");
    }
}
