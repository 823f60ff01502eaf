//! Every record that the program writes, by the program itself. A change of layout shows here first.
//!
//! The records are in `crates/bashful/golden`. To take over a change, run this with `GOLDEN=write`, look at the difference, and
//! read in docs/gotchas.md whether it needs a new version.

use std::fmt::Write;
use std::path::Path;

use bashful_testkit::{Home, Terminal, check_golden, eventually};
use regex::Regex;

use crate::BASHFUL;

/// Without what differs from run to run.
fn settled(home: &Home, text: &str) -> String {
    let text = text.replace(&home.path().display().to_string(), "/home").replace(BASHFUL, "/bin/bashful");
    let changing = [(r#""(unix_ms|duration_ms|until)":\d+"#, r#""$1":0"#), (r#""time":"[^"]*""#, r#""time":"TIME""#)];
    changing.iter().fold(text, |text, (pattern, put)| {
        Regex::new(pattern).expect("a pattern").replace_all(&text, *put).into_owned()
    })
}

#[test]
fn every_record_of_the_program_is_as_it_is_written_down() {
    let home = Home::new(BASHFUL);
    let mut text = String::new();
    let mut add = |title: &str, file: &Path| {
        let record = std::fs::read_to_string(file).expect("it is there");
        let _ = writeln!(text, "## {title}\n\n```text\n{}\n```\n", settled(&home, &record).trim_end_matches('\n'));
    };
    assert_eq!(home.run(&["run", "cd / && exit 3"]).status.code(), Some(3));
    add("log/commands.jsonl", &home.state().join("log/commands.jsonl"));
    assert!(home.run(&["mcp", "install", "cursor", "--yes"]).status.success());
    add("installed/cursor.json", &home.state().join("installed/cursor.json"));
    let terminal = Terminal::run(&home, &format!("{BASHFUL} allow 'git push -f'; echo \"ended $?\"; sleep 1000"));
    terminal.shows("within 5 minutes?");
    terminal.types(&["y", "Enter"]);
    terminal.shows("ended 0");
    let allowed = home.state().join("allowed");
    let allowance = || std::fs::read_dir(&allowed).ok()?.flatten().next().map(|entry| entry.path());
    assert!(eventually(|| allowance().is_some()));
    add("allowed/NUMBER.json", &allowance().expect("one allowance"));
    check_golden(&Path::new(env!("CARGO_MANIFEST_DIR")).join("golden/records.md"), &text);
}
