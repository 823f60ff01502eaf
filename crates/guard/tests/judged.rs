//! The guard on scripts, each with what is to become of it.

use bashful_guard::{Guard, Prelude};

/// The scripts of a file that has one a line.
fn scripts(text: &str) -> impl Iterator<Item = String> {
    text.lines().filter(|line| !line.starts_with("# ") && !line.is_empty()).map(|line| line.replace('⏎', "\n"))
}

fn refuses(script: &str) -> bool {
    Guard::default().judge(script, &Prelude::default()).refuses()
}

#[test]
fn what_would_do_harm_is_refused_however_it_is_spelled() {
    let missed: Vec<String> = scripts(include_str!("refused.txt")).filter(|script| !refuses(script)).collect();
    assert!(missed.is_empty(), "let pass:\n{}", missed.join("\n"));
}

#[test]
fn what_does_no_harm_passes_however_it_looks() {
    let wrong: Vec<String> = scripts(include_str!("allowed.txt")).filter(|script| refuses(script)).collect();
    assert!(wrong.is_empty(), "refused:\n{}", wrong.join("\n"));
}

#[test]
fn a_relative_path_is_judged_by_where_the_script_starts() {
    let guard = Guard::default();
    let check = |directory: &str, script: &str, refuses: bool| {
        let place = Prelude { directory: Some(directory.into()), home: Some("/data/u".into()), ..Prelude::default() };
        assert_eq!(guard.judge(script, &place).refuses(), refuses, "{script} in {directory}");
    };
    for script in ["rm -rf etc", "rm -rf ./usr", "find etc -delete", "bash -c 'rm -rf var'", "sudo rm -rf home"] {
        check("/", script, true);
        check("/data/u/project", script, false);
    }
    check("/etc", "rm -rf ../usr", true);
    check("/data/u/project/.git", "rm -rf refs", true);
    check("/data/u/project/.git", "rm -rf hooks", false);
    check("/usr", "rm -rf lib", true);
    check("/home", "rm -rf somebody", true);
    check("/opt", "rm -rf build", false);
    check("/tmp", "rm -rf build", false);
}

#[test]
fn the_place_counts_however_it_is_spelled() {
    let place =
        Prelude { directory: Some("/data/u/project".into()), home: Some("/data/u".into()), ..Prelude::default() };
    let refuses = |script: &str| Guard::default().judge(script, &place).refuses();
    for script in [
        "rm -rf /data/u",
        "rm -rf /data",
        "rm -rf /data/u/project/",
        "cd ..; rm -rf project",
        "rm -rf ../../u",
        "rm -rf \"${PWD%/*}\"",
        "git add /data/u/project",
        "d=$(dirname \"$PWD\"); rm -rf \"$d\"",
    ] {
        assert!(refuses(script), "{script}");
    }
    for script in
        ["rm -rf /data/u/project/build", "rm -rf /data/u/other", "cd ..; rm -rf other", "git add /data/u/project/x"]
    {
        assert!(!refuses(script), "{script}");
    }
}
