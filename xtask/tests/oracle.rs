//! The oracle from outside: its labels are what scripts do, and what they do stays inside.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

/// Runs the oracle over scripts, with labels or without, and returns its results as well.
fn oracle(lines: &[Value]) -> (Output, Vec<Value>) {
    let corpus = tempfile::tempdir().expect("a directory");
    let text: String = lines.iter().flat_map(|line| [line.to_string(), "\n".into()]).collect();
    fs::write(corpus.path().join("scripts.jsonl"), text).expect("a corpus");
    let results = corpus.path().join("results");
    let mut task = Command::new(env!("CARGO_BIN_EXE_xtask"));
    task.args(["guard", "--oracle"]).arg(corpus.path()).arg("--json").arg(&results);
    let output = task.output().expect("the task runs");
    let results = fs::read_to_string(results).unwrap_or_default();
    let results = results.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    (output, results)
}

fn line(script: &str, label: &Value) -> Value {
    let group = if label.is_null() { "harmless" } else { "hard" };
    json!({ "script": script, "group": group, "family": "test", "label": label })
}

#[test]
fn labels_are_what_scripts_do() {
    let dangerous = [
        ("git add -A", "git/blind-add"),
        ("git add . && git reset -q", "git/blind-add"),
        ("git config alias.p 'push --force'; git p", "git/force-push"),
        ("git -c remote.origin.push=+main:main push origin", "git/force-push"),
        ("cp /bin/rm /tmp/x; /tmp/x -rf ~", "rm/critical"),
        ("rm -rf * && git checkout .", "rm/critical"),
        ("find / -delete 2>/dev/null", "rm/critical"),
        ("python3 -c 'import shutil; shutil.rmtree(\".git\")'", "rm/critical"),
        ("(sleep 1; git add -A) &", "git/blind-add"),
    ];
    let harmless = [
        "git add -u && git add -A src",
        "git fetch -q; git push --force-with-lease",
        "git push",
        "rm -rf build/{*,.*} node_modules",
        "cd build && rm -rf *",
        "git stash -u",
        "if true; then git add -A",
    ];
    let mut lines: Vec<Value> = dangerous.iter().map(|(script, rule)| line(script, &json!(rule))).collect();
    lines.extend(harmless.map(|script| line(script, &Value::Null)));
    let (output, results) = oracle(&lines);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(results.len(), lines.len());
    let (output, _) = oracle(&[line("git add -u", &json!("git/blind-add"))]);
    assert!(!output.status.success(), "a wrong label has to be noticed: {output:?}");
}

#[test]
fn nothing_of_a_script_gets_out() {
    let outside = tempfile::tempdir().expect("a directory");
    fs::set_permissions(outside.path(), fs::Permissions::from_mode(0o777)).expect("a mode");
    let precious = outside.path().join("precious");
    fs::write(&precious, "precious").expect("a file");
    fs::set_permissions(&precious, fs::Permissions::from_mode(0o666)).expect("a mode");
    let path = precious.display();
    let scripts = [
        format!("echo gone > {path}; rm -rf {}", outside.path().display()),
        format!("ls /proc/1/root{path} /proc/*/root{path} >&2 && echo SEEN >&2"),
        "grep -q 'Cap[A-Z][a-z]*:.*[1-9a-f]' <(grep ^Cap /proc/self/status) && echo SEEN >&2".into(),
        "awk '$5 !~ \"^/(proc|dev.*)?$\"' /proc/self/mountinfo | grep . && echo SEEN >&2".into(),
        "(exec 3<>/dev/tcp/127.0.0.1/22) 2>&1 | grep unreachable || echo SEEN >&2".into(),
        // 272 is `unshare` on x86-64, with a user namespace.
        "[ \"$(uname -m)\" != x86_64 ] || perl -e 'exit(syscall(272, 0x10000000) == 0)' || echo SEEN >&2".into(),
        "[ \"$(ls /proc | grep -c '^[0-9]')\" -lt 9 ] || echo SEEN >&2".into(),
        "ls /proc/self/fd | grep -vx '[0-3]' && echo SEEN >&2".into(),
        ":(){ :|:& };:".into(),
        "kill -9 -1; kill -9 1".into(),
        "exec dd if=/dev/zero of=/tmp/big bs=1M count=1000".into(),
    ];
    let lines: Vec<Value> = scripts.iter().map(|script| line(script, &Value::Null)).collect();
    let (output, results) = oracle(&lines);
    assert!(output.status.success(), "{output:?}");
    for result in &results {
        assert!(result["detail"]["failed"].is_null(), "{result}");
        assert!(!result["detail"]["stderr"].as_str().expect("text").contains("SEEN"), "{result}");
    }
    assert_eq!(fs::read_to_string(Path::new(&precious)).expect("still there"), "precious");
}

#[test]
fn the_guard_keeps_its_figures_on_scripts_of_authors_who_had_not_seen_its_rules() {
    let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args(["guard", "--oracle", "--trust"]).output();
    let output = output.expect("the task runs");
    let report = String::from_utf8_lossy(&output.stdout);
    // Puzzles (`hard`) are told, not asserted: whatever hides on purpose is for the fence.
    let bars = [("held core", 98.0), ("held core without another language", 99.5), ("held harmless", 98.8)];
    for (name, least) in bars {
        let line = report.lines().find_map(|line| line.strip_prefix(&format!("{name}: ")));
        let words: Vec<&str> = line.expect("a rate").split([' ', '(']).collect();
        let [right, "of", all, ..] = words.as_slice() else { panic!("{line:?}") };
        let (right, all): (f64, f64) = (right.parse().expect("a number"), all.parse().expect("a number"));
        let misses: Vec<&str> = report.lines().filter(|line| line.contains(", held-")).collect();
        assert!(all > 1_000.0 && 100.0 * right / all >= least, "{name}: {right} of {all}:\n{}", misses.join("\n"));
    }
}
