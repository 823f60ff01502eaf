//! The examples run, and do what they show.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Runs an example with this input, and returns what it prints.
#[track_caller]
fn example(name: &str, input: &str) -> String {
    let tests = std::env::current_exe().expect("a path");
    let built = tests.ancestors().nth(2).map(|debug| debug.join("examples").join(name)).unwrap_or_default();
    assert!(built.exists(), "{} is missing: cargo build -p bashful-dialect --examples", built.display());
    let mut child = Command::new(built)
        .current_dir(PathBuf::from(env!("CARGO_MANIFEST_DIR")))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it runs");
    child.stdin.take().expect("a pipe").write_all(input.as_bytes()).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{name}: {said}");
    said
}

/// Lines of an example.
fn length(name: &str) -> usize {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("examples").join(name).with_extension("rs");
    std::fs::read_to_string(path).expect("it is there").lines().count()
}

#[test]
fn a_tool_loop_shows_live_output_in_sixty_lines() {
    let said = example("tool_loop", "");
    assert!(said.contains(" file 1\n"), "{said}");
    assert!(
        said.ends_with("the tool said \"[command failed: exit code 3]\\nfile 1\\nfile 2\\nfile 3\\n\"\n"),
        "{said}"
    );
    assert!(length("tool_loop") <= 60, "{} lines", length("tool_loop"));
}

#[test]
fn a_url_scheme_finds_files_and_nothing_else() {
    let said = example("url_scheme", "");
    assert!(said.contains("source://lib.rs\n") && said.contains("Path traversal is not allowed"), "{said}");
    assert!(said.contains("Unknown source: nothing.rs"), "{said}");
}

#[test]
fn an_approval_counts_once() {
    let said = example("approval", "y\nn\n");
    assert_eq!(said.matches(" Run it? [git/force-push]\nin /\n").count(), 2, "{said}");
    assert!(said.contains("not a git repository") && said.contains("the user said no"), "{said}");
}

#[test]
fn a_client_terminal_is_released_after_an_end_and_after_a_timeout() {
    let said = example("client_terminal", "");
    assert!(said.contains("Command exited with code 3") && said.contains("\"panel-1\""), "{said}");
    assert!(said.contains("Command timed out after 1 seconds"), "{said}");
    assert_eq!(said.matches("is released]").count(), 2, "{said}");
}

#[test]
fn a_stream_draws_a_few_pictures_of_a_flood() {
    let said = example("stream_to_ui", "");
    assert!(said.contains("bytes | the end\n") && said.ends_with("after 300001 lines\n"), "{said}");
}
