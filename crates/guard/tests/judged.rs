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

/// Every command that the first finding names, the first one first.
fn named(script: &str) -> Vec<String> {
    let verdict = Guard::default().judge(script, &Prelude::default());
    let finding = verdict.findings.into_iter().next().expect("a finding");
    finding.chain.into_iter().next_back().into_iter().chain(finding.also).collect()
}

#[test]
fn every_round_of_a_loop_is_named() {
    let words = (0..60).map(|number| format!("sdb{number}")).collect::<Vec<_>>().join(" ");
    let named = named(&format!("for d in {words} sda; do mkfs.ext4 /dev/$d; done"));
    assert_eq!(named.len(), 61);
    assert_eq!((named[0].as_str(), named[60].as_str()), ("mkfs.ext4 /dev/sdb0", "mkfs.ext4 /dev/sda"));
    for script in [
        "printf '%s\\n' sdb1 sda | while read d; do wipefs -a /dev/$d; done",
        "echo sdb1 sda | xargs -n 1 sh -c 'wipefs -a /dev/$0'",
        "w() { wipefs -a /dev/$1; }; w sdb1; w sda",
        "if [ -e x ]; then d=sda; else d=sdb1; fi; wipefs -a /dev/$d",
    ] {
        let mut named = self::named(script);
        named.sort_unstable_by(|one, other| other.cmp(one));
        assert_eq!(named, ["wipefs -a /dev/sdb1", "wipefs -a /dev/sda"], "{script}");
    }
}

#[test]
fn rounds_that_are_not_followed_are_told() {
    let words = (0..100).map(|number| format!("sdb{number}")).collect::<Vec<_>>().join(" ");
    for script in [
        format!("for d in {words}; do mkfs.ext4 /dev/$d; done"),
        format!("for d in {words}; do echo $d; done | while read d; do mkfs.ext4 /dev/$d; done"),
        format!("echo {words} | xargs -n 1 mkfs.ext4"),
        "for ((i = 0; i < 100; i++)); do mkfs.ext4 /dev/sdb$i; done".to_owned(),
    ] {
        let findings = Guard::default().judge(&script, &Prelude::default()).findings;
        let told = findings.iter().any(|finding| finding.message.ends_with("more often than can be named"));
        assert_eq!(told, findings.iter().any(|finding| finding.rule == "disk/overwrite"), "{script}: {findings:?}");
    }
    let harmless = format!("for d in {words}; do echo $d; done; mkfs.ext4 /dev/sda");
    assert_eq!(Guard::default().judge(&harmless, &Prelude::default()).findings.len(), 1);
}

#[test]
fn the_end_of_a_found_command_is_never_cut() {
    let words = "if=/dev/zero ".repeat(2000);
    for (script, end) in [
        (format!("x=dd; $x {} of=/dev/sda", "conv=sync".repeat(50)), "conv=sync of=/dev/sda"),
        (format!("x=dd; $x {words} of=/dev/sda"), "if=/dev/zero of=/dev/sda"),
    ] {
        let verdict = Guard::default().judge(&script, &Prelude::default());
        let command = verdict.findings[0].chain.last().expect("a command");
        assert!(command.starts_with("dd ") && command.ends_with(end), "{command}");
        assert!(verdict.findings[0].text().contains("of=/dev/sda\ninstead"), "{}", verdict.findings[0].text());
    }
}
