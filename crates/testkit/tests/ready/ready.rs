//! A shell that was started ahead of time is never the wrong one, and its loss is never the command's.

use std::collections::HashSet;
use std::ffi::OsString;
use std::time::{Duration, Instant};

use bashful_engine::{End, Engine, Exit, Request};
use bashful_sys::Errno;
use bashful_sys::proc::Process;
use bashful_testkit::oracle::{Oracle, Way};
use bashful_testkit::{Place, WIDE, eventually, output, request, run};
use rustix::process::{Pid, Signal, kill_process};

use crate::PUPPET;

fn process(pid: i32) -> Pid {
    Pid::from_raw(pid).expect("a process id")
}

fn lives(pid: i32) -> bool {
    Process::read(process(pid)).is_some_and(|process| !process.has_ended())
}

fn is_stopped(pid: i32) -> bool {
    std::fs::read_to_string(format!("/proc/{pid}/status")).is_ok_and(|status| status.contains("State:\tT"))
}

/// None if it is gone: one shell more than was wanted may have been among those that wait. Then the shell's parent is
/// somebody else, who must not be taken for a keeper.
fn keeper_of(shell: i32) -> Option<i32> {
    let parent = Process::read(process(shell))?.parent;
    let name = std::fs::read_to_string(format!("/proc/{parent}/comm")).ok()?;
    (name == "bashful-keeper\n").then_some(parent)
}

/// Kills a process, unless it is gone already.
fn kill(pid: i32) {
    assert!(matches!(kill_process(process(pid), Signal::KILL), Ok(()) | Err(Errno::SRCH)), "it is ours");
}

/// Plain bash, a cold shell and a waiting one agree about a request whose environment is out of the ordinary.
async fn check(oracle: &Oracle, request: &Request) {
    let plain = oracle.plain(request);
    for way in [Way::Cold, Way::Ready] {
        assert_eq!(oracle.ours(way, request).await, plain, "{way:?}");
    }
}

/// No shell waits for such a request, and its result is right.
async fn check_never_waits(oracle: &Oracle, request: &Request) {
    let plain = oracle.plain(request);
    for _ in 0..3 {
        oracle.ready.prepare(&oracle.check(request).await);
        // Time enough for one that should not be there to come.
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(oracle.place.survivors(), [""; 0]);
        assert_eq!(seen(&oracle.ready, request).await, plain.text());
    }
    assert_eq!(oracle.ours(Way::Cold, request).await, plain);
}

async fn seen(engine: &Engine, request: &Request) -> String {
    let reply = tokio::time::timeout(WIDE, engine.run(request.clone())).await.expect("it comes back");
    output(&bashful_testkit::finished(reply.expect("it starts")))
}

fn with(script: &str, variables: &[(&str, &str)]) -> Request {
    let env = variables.iter().map(|(name, value)| ((*name).to_owned(), OsString::from(value))).collect();
    Request { env, ..request(script) }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runs_in_the_directory_that_is_there_now() {
    let oracle = Oracle::new(PUPPET);
    let request = request("ls; pwd -P; touch made");
    oracle.waiting(&request).await;
    let directory = oracle.place.path().join("work");
    std::fs::remove_dir(&directory).expect("an empty directory");
    std::fs::create_dir(&directory).expect("the same path again");
    std::fs::write(directory.join("new"), "").expect("a file");
    assert_eq!(seen(&oracle.ready, &request).await, format!("new\n{}\n", directory.display()));
    assert!(directory.join("made").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_runs_in_the_directory_that_a_link_leads_to_now() {
    let oracle = Oracle::new(PUPPET);
    let [old, new, link] = ["old", "new", "link"].map(|name| oracle.place.path().join(name));
    std::fs::create_dir(&old).expect("a directory");
    std::fs::create_dir(&new).expect("a directory");
    std::os::unix::fs::symlink(&old, &link).expect("a link");
    let request = Request { workdir: Some(link.clone()), ..request("pwd; pwd -P") };
    oracle.waiting(&request).await;
    std::fs::remove_file(&link).expect("the link");
    std::os::unix::fs::symlink(&new, &link).expect("another link");
    assert_eq!(seen(&oracle.ready, &request).await, format!("{}\n{}\n", link.display(), new.display()));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_clock_of_a_script_begins_with_the_script() {
    let oracle = Oracle::new(PUPPET);
    let age = "read -r up _ </proc/uptime; set -- $(sed 's/.*) //' /proc/$$/stat); echo $((${up%.*} - ${20} / 100))";
    let waiting = oracle.waiting(&request(":")).await;
    // Bash counts whole seconds: two of them have passed on any clock.
    tokio::time::sleep(Duration::from_millis(2100)).await;
    let script = "echo $SECONDS; now=$EPOCHSECONDS; printf '%(%s)T\\n' -2 >a; echo $((now - $(<a) < 2))";
    let outcome = run(&oracle.ready, format!("{script}; {age}")).await;
    assert!(outcome.pid.is_some_and(|pid| waiting.contains(&pid)));
    let said = output(&outcome);
    let [seconds, began_now, age] = said.lines().collect::<Vec<_>>()[..] else { panic!("{said}") };
    assert_eq!([seconds, began_now], ["0", "1"]);
    // The system's facts about the process cannot be reset.
    assert!(age.parse::<u32>().expect("a number") >= 1, "{age}");
}

/// Told before it has even begun, a shell has its variables all the same. Many at once, so that some are late.
#[tokio::test(flavor = "multi_thread")]
async fn a_shell_may_be_told_at_once() {
    let rounds = (0..12).map(|_| {
        tokio::spawn(async {
            for _ in 0..10 {
                let mut place = Place::new(PUPPET);
                place.options.ready = 1;
                let engine = place.engine();
                let checked =
                    engine.check(engine.plan(request(":")).expect("a plan"), None).await.expect("it is allowed");
                engine.prepare(&checked);
                let deadline = Instant::now() + WIDE;
                while engine.ready_for(&checked) == 0 {
                    assert!(Instant::now() < deadline, "no shell ever waited");
                    tokio::task::yield_now().await;
                }
                assert_eq!(seen(&engine, &request("echo $HOME")).await, format!("{}\n", place.path().display()));
            }
        })
    });
    for round in rounds.collect::<Vec<_>>() {
        round.await.expect("it goes well");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_variables_are_passed_on() {
    let oracle = Oracle::new(PUPPET);
    let variables: Vec<_> =
        (0..1000).map(|number| (format!("VARIABLE_{number}"), format!("{number} 'a\n\"b$"))).collect();
    let variables: Vec<_> = variables.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    check(&oracle, &with("env; echo \"${VARIABLE_999}\"; declare -p VARIABLE_0; compgen -e | wc -l", &variables)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn odd_variables_mean_what_they_mean_to_bash() {
    let oracle = Oracle::new(PUPPET);
    let script = "echo \"$_\"; export -p; echo $BASH_SUBSHELL $LINENO $FUNCNAME; f() { f; }; f; env";
    check(&oracle, &with(script, &[("_", "it's \"odd\""), ("FUNCNEST", "5"), ("SHLVL", "7"), ("PS4", "> ")])).await;
    check(&oracle, &with("env", &[("BASH_EXECUTION_STRING", "x"), ("PIPESTATUS", "7"), ("BASHPID", "7")])).await;
    check(&oracle, &with("read x; echo $?; set -x; echo a", &[("TMOUT", "1"), ("BASH_XTRACEFD", "1")])).await;
    check(&oracle, &with("echo é; x=é; echo ${#x}", &[("LC_ALL", "C")])).await;
    check(&oracle, &with("pwd; echo $PWD; cd -", &[("PWD", "/nowhere"), ("OLDPWD", "/"), ("CDPATH", "/")])).await;
    check(
        &oracle,
        &with("echo $IFS $OPTIND $PATH; /bin/echo a", &[("IFS", "x"), ("OPTIND", "3"), ("PATH", "/usr/bin:/bin")]),
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_bash_says_before_it_waits_is_not_lost() {
    let oracle = Oracle::new(PUPPET);
    check(&oracle, &with("echo script", &[("LC_ALL", "xx_XX.UTF-8")])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_shell_waits_where_the_environment_changes_its_start() {
    let oracle = Oracle::new(PUPPET);
    let file = oracle.place.path().join("bash_env");
    std::fs::write(&file, "echo sourced; X=from_file").expect("a file");
    let path = file.to_str().expect("its name is plain");
    check_never_waits(&oracle, &with("echo \"$X\" \"$BASH_ENV\"", &[("BASH_ENV", path)])).await;
    check_never_waits(&oracle, &with("echo $SHELLOPTS", &[("POSIXLY_CORRECT", "1")])).await;
    check_never_waits(&oracle, &with("echo $SHELLOPTS; false; echo a", &[("SHELLOPTS", "errexit:xtrace")])).await;
    check_never_waits(&oracle, &with("shopt extglob; echo $BASHOPTS", &[("BASHOPTS", "extglob")])).await;
    check_never_waits(&oracle, &with("echo $SECONDS", &[("SECONDS", "100")])).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exported_functions_are_the_scripts_and_not_ours() {
    for (name, waits) in [("greet", true), ("unset", false), (":", false)] {
        let mut oracle = Oracle::new(PUPPET);
        let function = (OsString::from(format!("BASH_FUNC_{name}%%")), OsString::from("() {  echo function \"$@\"\n}"));
        oracle.place.options.host_environment.push(function);
        oracle.ready = oracle.place.engine();
        oracle.place.options.ready = 0;
        oracle.cold = oracle.place.engine();
        let request = request(format!("{name} one; echo two"));
        if waits { check(&oracle, &request).await } else { check_never_waits(&oracle, &request).await }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_shell_that_was_killed_is_not_missed() {
    let oracle = Oracle::new(PUPPET);
    for _ in 0..5 {
        for shell in oracle.waiting(&request(":")).await {
            kill(shell);
            assert!(eventually(|| !lives(shell)), "it was killed");
        }
        // At once, while their keepers may not know yet.
        let outcome = run(&oracle.ready, "echo done; exit 3").await;
        assert_eq!(output(&outcome), "done\n");
        assert_eq!(outcome.end, End::Own(Exit::Code(3)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_shell_that_was_stopped_goes_on_when_it_is_needed() {
    let oracle = Oracle::new(PUPPET);
    let shells = oracle.waiting(&request(":")).await;
    for stopped in shells.iter().flat_map(|shell| keeper_of(*shell).into_iter().chain([*shell])) {
        kill_process(process(stopped), Signal::STOP).expect("it is ours");
        // The signal takes effect a moment later.
        assert!(eventually(|| is_stopped(stopped)), "it does not stop");
    }
    let outcome = run(&oracle.ready, "echo done; exit 3").await;
    assert_eq!((output(&outcome).as_str(), outcome.end), ("done\n", End::Own(Exit::Code(3))));
    assert!(outcome.pid.is_some_and(|pid| shells.contains(&pid)), "another shell did it");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_keeper_of_a_waiting_shell_that_was_killed_is_not_missed() {
    let oracle = Oracle::new(PUPPET);
    for _ in 0..5 {
        let shells = oracle.waiting(&request(":")).await;
        for keeper in shells.iter().filter_map(|shell| keeper_of(*shell)) {
            kill(keeper);
        }
        let outcome = run(&oracle.ready, "echo done; exit 3").await;
        assert_eq!(output(&outcome), "done\n");
        assert_eq!(outcome.end, End::Own(Exit::Code(3)));
        assert!(eventually(|| !shells.iter().any(|shell| lives(*shell))), "a shell outlives its keeper");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn preparing_for_different_commands_at_once_comes_to_rest() {
    let oracle = Oracle::new(PUPPET);
    for _ in 0..10 {
        for number in 0..4 {
            oracle.ready.prepare(&oracle.check(&with(":", &[("NUMBER", &number.to_string())])).await);
        }
        let outcome = run(&oracle.ready, "echo still there").await;
        assert_eq!(output(&outcome), "still there\n");
    }
    assert!(eventually(|| oracle.place.survivors().len() <= 2), "{:?}", oracle.place.survivors());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_waits_for_an_engine_that_is_gone() {
    let oracle = Oracle::new(PUPPET);
    let shells = oracle.waiting(&request(":")).await;
    let keepers: Vec<_> = shells.iter().filter_map(|shell| keeper_of(*shell)).collect();
    let Oracle { place, cold, ready, .. } = oracle;
    drop((cold, ready));
    place.check_nothing_survives();
    assert!(eventually(|| !keepers.iter().any(|keeper| lives(*keeper))), "a keeper outlives its engine");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shell_may_be_told_what_to_do_before_it_waits() {
    let oracle = Oracle::new(PUPPET);
    let request = request("echo \"$0|$-|$_|$#|$?|$LINENO|${BASH_ENV-unset}|$BASH_EXECUTION_STRING\"; exit 3");
    let plain = oracle.plain(&request);
    for _ in 0..30 {
        oracle.ready.prepare(&oracle.check(&request).await);
        // The engine counts a shell as soon as its keeper has been told to start it.
        let deadline = Instant::now() + WIDE;
        while oracle.ready.ready_for(&oracle.check(&request).await) == 0 {
            assert!(Instant::now() < deadline, "no shell ever waited");
            tokio::task::yield_now().await;
        }
        assert_eq!(seen(&oracle.ready, &request).await, plain.text());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_commands_at_once_each_gets_its_own_shell() {
    let oracle = Oracle::new(PUPPET);
    oracle.waiting(&request(":")).await;
    let runs: Vec<_> = (0..40)
        .map(|number| {
            let engine = oracle.ready.clone();
            tokio::spawn(async move {
                let outcome = run(&engine, format!("echo {number}; echo $$; exit {number}")).await;
                assert_eq!(outcome.end, End::Own(Exit::Code(number)));
                let pid = outcome.pid.expect("it was told");
                assert_eq!(output(&outcome), format!("{number}\n{pid}\n"));
                pid
            })
        })
        .collect();
    let mut pids = HashSet::new();
    for run in runs {
        assert!(pids.insert(run.await.expect("it does not panic")), "two commands had one shell");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_that_take_turns_leave_each_other_a_shell() {
    let oracle = Oracle::new(PUPPET);
    let [one, other] = ["1", "2"].map(|number| with("echo $NUMBER", &[("NUMBER", number)]));
    let is_waited_for = async |request: &Request| {
        let deadline = Instant::now() + WIDE;
        while oracle.ready.ready_for(&oracle.check(request).await) != 1 {
            assert!(Instant::now() < deadline, "no shell ever waited");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    for _ in 0..3 {
        assert_eq!(seen(&oracle.ready, &one).await, "1\n");
        is_waited_for(&one).await;
        assert_eq!(seen(&oracle.ready, &other).await, "2\n");
        is_waited_for(&other).await;
        is_waited_for(&one).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiting_shell_says_in_a_few_words_what_it_is() {
    let oracle = Oracle::new(PUPPET);
    for shell in oracle.waiting(&request("true")).await {
        let line = || std::fs::read(format!("/proc/{shell}/cmdline")).unwrap_or_default();
        // The padding goes a moment after the shell has come.
        let is_short = || line().iter().rposition(|byte| *byte != 0).is_none_or(|last| last < 80);
        assert!(eventually(is_short), "{}", String::from_utf8_lossy(&line()));
        assert!(line().is_empty() || String::from_utf8_lossy(&line()).contains("# bashful: waiting for a command"));
    }
}
