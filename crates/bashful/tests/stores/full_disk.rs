//! Output that a keeper carries to a full disk: what is missing is told byte by byte, and the rest is where it belongs.

use bashful_testkit::Home;
use serde_json::Value;

use crate::BASHFUL;

/// Runs a command with these arguments, whose output does not fit on the disk until the gap was recorded. Then checks
/// each byte of the output against the list of gaps.
#[track_caller]
fn check(arguments: &str, script: &str) {
    let home = Home::new(BASHFUL);
    let around = format!(
        "mkdir state && mount -t tmpfs -o size=1m none state && export XDG_STATE_HOME=$PWD/state SCRIPT=$PWD/script
        head -c 400000 /dev/zero >state/filler
        \"$0\" run -t 300 {arguments} '{script}' >&2
        until grep -qs space state/bashful/*/1*/*.gap state/bashful/*/*.gap || [ $((waited += 1)) -gt 3000 ]; do
            sleep 0.02
        done
        \"$0\" jobs list --json >while-full
        rm -f state/filler
        \"$0\" jobs wait 1 >&2
        \"$0\" jobs show 1 --json && cp \"$(ls state/bashful/artifacts/1 || echo state/bashful/jobs/1/output)\" kept"
    );
    let write =
        "sleep 0.5; echo begin; seq 200000; until [ ! -e state/filler ]; do sleep 0.02; done; seq 1000; echo END";
    std::fs::write(home.path().join("script"), write).expect("it is written");
    let args = ["--user", "--map-root-user", "--mount", "sh", "-c", &around, BASHFUL];
    let output = home.wrapped("unshare", &args).output().expect("unshare");
    let job: Value = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {output:?}"));
    let numbers = |upto: u32| (1..=upto).fold(String::new(), |text, number| text + &number.to_string() + "\n");
    let written = format!("begin\n{}{}END\n", numbers(200_000), numbers(1000));
    let kept = std::fs::read(home.path().join("kept")).expect("it was copied");
    assert!(kept.len() >= written.len(), "{} of {}: {job}", kept.len(), written.len());
    let gaps = job["missing"].as_array().expect("a list");
    assert!(!gaps.is_empty(), "{job}");
    let mut at = 0;
    for gap in gaps {
        assert!(gap["why"].as_str().is_some_and(|why| why.contains("No space left")), "{gap}");
        let bound = |which: usize| usize::try_from(gap["bytes"][which].as_u64().expect("a number")).expect("small");
        assert!(kept[at..bound(0)] == written.as_bytes()[at..bound(0)], "before {gap}");
        at = bound(1);
    }
    assert!(kept[at..written.len()] == written.as_bytes()[at..], "behind {at}: {job}");
    assert!(String::from_utf8_lossy(&kept).contains("END\n"), "there was room again");
    let while_full = std::fs::read_to_string(home.path().join("while-full")).expect("it was written");
    assert!(while_full.contains("No space left"), "{while_full}");
    home.check_nothing_survives();
}

#[test]
fn output_of_a_command_that_became_a_job_is_missed_on_a_full_disk_and_goes_on_later() {
    check("--patience 0.1", ". $SCRIPT");
}

#[test]
fn output_of_a_command_that_left_its_session_is_missed_on_a_full_disk_and_goes_on_later() {
    check("--patience 0.1 -s work", ". $SCRIPT");
}

#[test]
fn output_of_leftover_processes_is_missed_on_a_full_disk_and_goes_on_later() {
    check("", ". $SCRIPT &");
}

#[test]
fn output_at_a_terminal_is_missed_on_a_full_disk_and_goes_on_later() {
    check("-b --pty", "stty -opost; . $SCRIPT");
}
