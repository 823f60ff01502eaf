//! Nothing of a command survives, also when the program, the keeper or the system is under attack.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, Command, Output, Stdio};

use bashful_testkit::{Home, eventually};
use rustix::process::{Pid, Signal, kill_process};

use crate::BASHFUL;

/// A tree with a daemon in it that has made `ready`.
const TREE: &str = r#"(setsid "$PUPPET" make ready hold &); "$PUPPET" hold"#;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn kill(mut child: Child) {
    child.kill().expect("SIGKILL");
    child.wait().expect("it ends");
}

/// The program with these system calls refused, as seccomp filters and old kernels do.
fn without_calls(home: &Home, calls: &str, args: &[&str]) -> Command {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/refuse_calls.py");
    let mut command = home.wrapped("python3", &[&[script, calls, BASHFUL], args].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

#[test]
fn a_keeper_that_is_stopped_ends_its_tree_when_the_program_is_killed() {
    let home = Home::new(BASHFUL);
    let child = home.start(&["run", &format!("$PUPPET signal STOP $PPID; {TREE}")]);
    home.wait_for("ready");
    kill(child);
    home.check_nothing_survives();
}

#[test]
fn a_keeper_that_is_stopped_again_and_again_ends_its_tree_when_the_program_is_killed() {
    let home = Home::new(BASHFUL);
    let stopper = r#"(setsid bash -c "touch stopping; while $PUPPET signal STOP $PPID; do sleep 0.05; done" &)"#;
    let child = home.start(&["run", &format!("{stopper}; until [ -e stopping ]; do :; done; {TREE}")]);
    home.wait_for("ready");
    kill(child);
    home.check_nothing_survives();
}

#[test]
fn a_job_whose_keeper_is_stopped_ends_when_its_time_is_up() {
    let home = Home::new(BASHFUL);
    let script = format!("$PUPPET signal STOP $PPID; {TREE}");
    let output = home.run(&["run", "--mode", "background", "--timeout", "1", &script]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    home.wait_for("ready");
    home.check_nothing_survives();
    let shown = home.run(&["jobs", "list"]);
    assert!(text(&shown.stdout).contains("timed out"), "{shown:?}");
}

#[test]
fn a_program_that_is_ended_just_as_the_command_stops_its_keeper_knows_that_it_ran() {
    let home = Home::new(BASHFUL);
    let child = home.start(&["run", r#"$PUPPET signal STOP $PPID; "$PUPPET" make ready hold"#]);
    home.wait_for("ready");
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process id")).expect("not zero");
    kill_process(pid, Signal::TERM).expect("it is there");
    let Output { stderr, status, .. } = child.wait_with_output().expect("it ends");
    assert_eq!((text(&stderr).as_str(), status.code()), ("[command cancelled]\n", Some(143)));
    home.check_nothing_survives();
}

#[test]
fn a_chain_of_processes_that_replace_each_other_does_not_outlive_a_killed_keeper() {
    for _ in 0..5 {
        let home = Home::new(BASHFUL);
        let output = home
            .run(&["run", r#""$PUPPET" rush & "$PUPPET" rush & sleep 0.05; $PUPPET signal KILL $PPID; sleep 1000"#]);
        assert_eq!(output.status.code(), Some(125), "{output:?}");
        assert_eq!(home.survivors(), [""; 0], "something was left when the reply came");
    }
}

/// Waits until the keeper of this script has no child but its shell, orphans included.
const ALONE: &str = "while [ \"$(ps -o pid= --ppid $PPID | grep -cvw $$)\" != 0 ]; do :; done; ";

#[test]
fn a_keeper_that_was_started_early_is_used_or_ends() {
    let home = Home::new(BASHFUL);
    let count = "program=$(ps -o ppid= -p $PPID); ps -o pid= --ppid $program | wc -l; ulimit -n";
    let limited = format!("ulimit -Sn 77; exec '{BASHFUL}' run \"$0\"");
    let output = home.wrapped("bash", &["-c", &limited, count]).output().expect("it runs");
    assert_eq!(text(&output.stdout), "1\n77\n", "another keeper was started for it: {output:?}");

    // The outer command adopts the keepers that the inner program leaves.
    for unused in ["run --help", "run --no-such-option x", "run ''", "run --cwd /no/such/directory true"] {
        let output = home.run(&["run", &format!("'{BASHFUL}' {unused} >/dev/null 2>&1; {ALONE} echo alone")]);
        assert_eq!(text(&output.stdout), "alone\n", "{unused}: {output:?}");
    }
}

#[test]
fn a_stop_works_where_the_system_refuses_handles_on_processes() {
    for calls in ["pidfd_open", "pidfd_send_signal", "pidfd_open,pidfd_send_signal"] {
        let home = Home::new(BASHFUL);
        let output = without_calls(&home, calls, &["run", "--timeout", "1", TREE]).output().expect("it runs");
        let said = (text(&output.stderr), output.status.code());
        assert_eq!(said, ("[command timed out after 1s]\n".to_owned(), Some(124)), "{calls}");
        assert_eq!(home.survivors(), [""; 0], "{calls}");

        let home = Home::new(BASHFUL);
        let child = without_calls(&home, calls, &["run", TREE]).spawn().expect("it runs");
        home.wait_for("ready");
        kill(child);
        home.check_nothing_survives();
    }
}

/// Calls and flags that came with Linux 5.1 to 5.9, refused as an older one does.
const OLD_KERNEL: &str = "pidfd_open:ENOSYS,pidfd_send_signal:ENOSYS,clone3:ENOSYS,close_range:ENOSYS,\
                          clone_pidfd:EINVAL,waitid_pidfd:EINVAL";

#[test]
fn commands_start_and_stop_on_a_kernel_without_handles_on_processes() {
    for calls in ["clone_pidfd:EINVAL", "waitid_pidfd:EINVAL", OLD_KERNEL] {
        let home = Home::new(BASHFUL);
        let run = |args: &[&str]| {
            let output = without_calls(&home, calls, args).output().expect("it runs");
            (text(&output.stdout), text(&output.stderr), output.status.code())
        };
        assert_eq!(run(&["run", "echo out; exit 3"]).2, Some(3), "{calls}");
        let stopped = run(&["run", "--timeout", "1", TREE]);
        assert_eq!(stopped, (String::new(), "[command timed out after 1s]\n".to_owned(), Some(124)), "{calls}");
        assert_eq!(run(&["run", "--session", "s", "kept=1; echo begun"]).0, "begun\n", "{calls}");
        assert_eq!(run(&["run", "--session", "s", "echo $kept"]).0, "1\n", "{calls}");
        assert_eq!(run(&["sessions", "end", "s"]).2, Some(0), "{calls}");
        home.check_nothing_survives();

        // A daemon goes with the program, however that ends.
        std::fs::remove_file(home.path().join("ready")).expect("it was made");
        let child = without_calls(&home, calls, &["run", TREE]).spawn().expect("it runs");
        home.wait_for("ready");
        kill(child);
        home.check_nothing_survives();
    }
}

#[test]
fn everything_works_where_the_system_starts_no_thread() {
    let home = Home::new(BASHFUL);
    let run = |args: &[&str]| without_calls(&home, "clone3", args).output().expect("it runs");
    let long = run(&["run", "seq 200000; exit 3"]);
    assert_eq!((long.stdout.len(), long.status.code()), (1_288_895, Some(3)), "{}", text(&long.stderr));
    assert_eq!(run(&["run", "git push --force"]).status.code(), Some(125));
    let doctor = run(&["doctor"]);
    assert_eq!(doctor.status.code(), Some(1));
    assert!(text(&doctor.stdout).contains("PROBLEM: the system starts no thread"), "{doctor:?}");
    let mut server = without_calls(&home, "clone3", &["rpc"]).stdin(Stdio::piped()).spawn().expect("it runs");
    let mut input = server.stdin.take().expect("a pipe");
    writeln!(input, r#"{{"id": 1, "type": "bash", "as": "tool", "command": "seq 200000"}}"#).expect("it reads");
    let mut answer = String::new();
    BufReader::new(server.stdout.take().expect("a pipe")).read_line(&mut answer).expect("a line");
    assert!(answer.contains("artifact://"), "{} bytes", answer.len());
    drop(input);
    assert!(server.wait().expect("it ends").success());
    home.check_nothing_survives();
}

#[test]
fn a_refused_socket_pair_is_named() {
    let home = Home::new(BASHFUL);
    for (calls, part) in [
        ("socketpair", "the system refuses `socketpair`"),
        ("socketpair:ENOSYS", "the system refuses `socketpair`"),
        ("socketpair:EMFILE", "no file descriptors left"),
    ] {
        for args in [&["run", "true"][..], &["mcp"], &["sessions", "list"]] {
            let output = without_calls(&home, calls, args).output().expect("it runs");
            assert_eq!(output.status.code(), Some(125), "{calls} {args:?}");
            assert!(text(&output.stderr).contains(part), "{calls} {args:?}: {}", text(&output.stderr));
        }
    }
}

#[test]
fn doctor_promises_what_it_has_tried() {
    let home = Home::new(BASHFUL);
    let said = text(&home.run(&["doctor"]).stdout);
    assert!(said.contains("catches_daemons         yes"), "{said}");
    assert!(said.contains("pidfd                   yes"), "{said}");
    // A filter under which nothing can be signaled at all.
    let calls = "pidfd_open,pidfd_send_signal,kill";
    let said = text(&without_calls(&home, calls, &["doctor"]).output().expect("it runs").stdout);
    for promise in ["catches_daemons         no", "survives_own_death      no", "pidfd                   no"] {
        assert!(said.contains(promise), "{promise}: {said}");
    }
}

#[test]
fn a_run_whose_output_nobody_reads_ends_at_a_signal() {
    for (round, (signal, arguments)) in
        [(Signal::TERM, &["run"][..]), (Signal::INT, &["run"]), (Signal::TERM, &["run", "--events"])]
            .into_iter()
            .enumerate()
    {
        let home = Home::new(BASHFUL);
        let begun = format!("begun{round}");
        let script = format!("touch {begun}; yes");
        let mut child = home.start(&[arguments, &[&script]].concat());
        home.wait_for(&begun);
        let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(pid, signal).expect("it is there");
        assert!(eventually(|| child.try_wait().expect("it is ours").is_some()), "{signal:?}, {arguments:?}");
        home.check_nothing_survives();
    }
}
