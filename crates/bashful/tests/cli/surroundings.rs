//! Commands run, or the reason is named, where the system lacks what is usually there.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

use bashful_testkit::Home;
use rustix::process::geteuid;

use crate::BASHFUL;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a shell script in which `"$0"` is the program.
fn in_shell(home: &Home, script: &str) -> Output {
    home.wrapped("/bin/bash", &["-c", script, BASHFUL]).output().expect("it runs")
}

#[track_caller]
fn check(output: &Output, stdout: &str, code: i32) {
    assert_eq!((text(&output.stdout).as_str(), output.status.code()), (stdout, Some(code)), "{}", text(&output.stderr));
}

fn make_program(home: &Home, path: &str, text: &str) {
    let path = home.path().join(path);
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("it is made");
    std::fs::write(&path, text).expect("it is written");
    std::fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("it is ours");
}

#[test]
fn a_stack_of_a_few_pages_is_enough() {
    let home = Home::new(BASHFUL);
    for kilobytes in [64, 128, 1024] {
        check(
            &in_shell(&home, &format!("ulimit -s {kilobytes}; exec \"$0\" run 'echo hi; ulimit -s'")),
            &format!("hi\n{kilobytes}\n"),
            0,
        );
        // The guard recurses into each of these.
        let nested = format!(
            "ulimit -s {kilobytes}; exec \"$0\" check \"$(printf '%.0s(' {{1..80}}) true $(printf '%.0s)' {{1..80}})\""
        );
        let output = in_shell(&home, &nested);
        assert!(matches!(output.status.code(), Some(0..=2)), "{output:?}");
    }
    check(&in_shell(&home, "ulimit -s 64; exec \"$0\" run --session s 'echo hi'"), "hi\n", 0);
    check(&home.run(&["sessions", "end", "s"]), "", 0);
    home.check_nothing_survives();
}

#[test]
fn state_is_readable_whatever_the_umask_and_commands_see_it_as_it_was_given() {
    let home = Home::new(BASHFUL);
    check(&in_shell(&home, "umask 0777; exec \"$0\" run 'umask; touch made'"), "0777\n", 0);
    check(&in_shell(&home, "umask 0777; exec \"$0\" run --session s umask"), "0777\n", 0);
    check(&home.run(&["sessions", "end", "s"]), "", 0);
    check(
        &in_shell(
            &home,
            "umask 0777; \"$0\" run --mode background umask >&2; \"$0\" jobs wait 1 >&2; \"$0\" jobs logs 1",
        ),
        "0777\n\n[background process completed]\n",
        0,
    );
    check(&in_shell(&home, "umask 0027; exec \"$0\" run umask"), "0027\n", 0);
    let mode = |path: &str| home.path().join(path).metadata().expect("it is there").permissions().mode() & 0o777;
    assert_eq!(mode("made"), 0);
    let state = ".local/state/bashful";
    for (path, expected) in [
        (String::from(".local"), 0o700),
        (state.to_owned(), 0o700),
        (format!("{state}/jobs/1"), 0o700),
        (format!("{state}/jobs/1/output"), 0o600),
        (format!("{state}/log/commands.jsonl"), 0o600),
    ] {
        assert_eq!(mode(&path), expected, "{path}");
    }
    home.check_nothing_survives();
}

#[test]
fn bash_is_found_without_a_path() {
    let home = Home::new(BASHFUL);
    check(&Command::new(BASHFUL).args(["run", "echo hi"]).env_clear().output().expect("it runs"), "hi\n", 0);
    for path in ["", "/nowhere", "relative"] {
        check(&home.command(&["run", "echo hi"]).env("PATH", path).output().expect("it runs"), "hi\n", 0);
    }
}

/// Runs a script of `sh` in which `"$0"` is the program and file systems can be mounted.
fn with_mounts(home: &Home, script: &str) -> Output {
    let namespace: &[&str] = if geteuid().is_root() { &["--mount"] } else { &["--user", "--map-root-user", "--mount"] };
    home.wrapped("unshare", &[namespace, &["sh", "-c", script, BASHFUL]].concat()).output().expect("it runs")
}

#[test]
fn a_missing_bash_is_named() {
    let home = Home::new(BASHFUL);
    // A file that nobody may run takes its place.
    let script = r#"touch plain && mount --bind plain /usr/bin/bash || exit 99
        [ ! -x /bin/bash ] || mount --bind plain /bin/bash || exit 99
        PATH=/no/where exec "$0" run true"#;
    let output = with_mounts(&home, script);
    check(&output, "", 125);
    let expected =
        "bashful: no bash found on PATH (/no/where), in /bin or in /usr/bin; install it, or set `[shell] path`\n";
    assert_eq!(text(&output.stderr), expected);
}

#[test]
fn another_program_called_bash_is_skipped() {
    let home = Home::new(BASHFUL);
    make_program(&home, "fake/bash", "#!/bin/sh\necho fake\n");
    std::fs::create_dir(home.path().join("dash")).expect("it is made");
    std::fs::copy("/bin/sh", home.path().join("dash/bash")).expect("it is copied");
    make_program(&home, "wrapper/bash", "#!/bin/sh\nexec /bin/bash \"$@\"\n");
    std::fs::create_dir(home.path().join("real")).expect("it is made");
    std::fs::copy("/bin/bash", home.path().join("real/bash")).expect("it is copied");
    let sh_is_bash =
        text(&Command::new("/bin/sh").args(["-c", "echo $BASH_VERSION"]).output().expect("it runs").stdout);
    for (directory, is_skipped) in
        [("fake", true), ("dash", sh_is_bash.trim().is_empty()), ("wrapper", false), ("real", false)]
    {
        let path = format!("{}:/usr/bin:/bin", home.path().join(directory).display());
        let output = home.command(&["run", "echo ${BASH_VERSION:+bash}"]).env("PATH", path).output().expect("it runs");
        check(&output, "bash\n", 0);
        let notice = format!("the shell {} is not bash", home.path().join(directory).join("bash").display());
        assert_eq!(text(&output.stderr).contains(&notice), is_skipped, "{directory}: {}", text(&output.stderr));
    }
}

#[test]
fn a_directory_that_may_not_be_entered_is_named() {
    let home = Home::new(BASHFUL);
    let closed = home.path().join("closed");
    std::fs::create_dir_all(closed.join("inner")).expect("they are made");
    std::fs::set_permissions(&closed, Permissions::from_mode(0o000)).expect("it is ours");
    for directory in [closed.clone(), closed.join("inner")] {
        let directory = directory.to_str().expect("text");
        let args = [BASHFUL, "run", "--cwd", directory, "true"];
        // Root enters every directory unless it has given that right away.
        let output = if geteuid().is_root() {
            let rights = "--bounding-set=-dac_override,-dac_read_search";
            home.wrapped("setpriv", &[&[rights], &args[..]].concat()).output()
        } else {
            home.wrapped(args[0], &args[1..]).output()
        };
        let output = output.expect("it runs");
        check(&output, "", 125);
        let expected = format!(
            "bashful: cannot enter the working directory {directory}: no permission for {}\n",
            closed.display()
        );
        assert_eq!(text(&output.stderr), expected);
    }
    std::fs::set_permissions(&closed, Permissions::from_mode(0o700)).expect("it is ours");
}

#[test]
fn a_missing_null_device_is_not_needed() {
    let home = Home::new(BASHFUL);
    let script = r#"mount -t tmpfs none /dev || exit 99
        "$0" run 'echo hi; cat; echo $?; [ -e /dev/null ] || echo none'
        "$0" run --session s 'echo in; cat'; "$0" run --session s 'cd /; echo $?'; "$0" sessions end s
        "$0" run --mode background 'cat; echo job' >&2; "$0" jobs wait 1 >&2; "$0" jobs logs 1 | head -1"#;
    check(&with_mounts(&home, script), "hi\n0\nnone\nin\n0\njob\n", 0);
    home.check_nothing_survives();
}

#[test]
fn closed_standard_streams_are_no_obstacle() {
    let home = Home::new(BASHFUL);
    check(&in_shell(&home, "exec \"$0\" run 'cat; echo hi' <&-"), "hi\n", 0);
    check(&in_shell(&home, "exec \"$0\" run 'echo hi; touch ran; exit 3' <&- >&- 2>&-"), "", 3);
    assert!(home.path().join("ran").exists());
}

#[test]
fn limits_that_are_too_low_are_named() {
    let home = Home::new(BASHFUL);
    for (limit, part) in
        [("-n 16", "no file descriptors left (limit 16)"), ("-f 0", "cannot create the record of a job")]
    {
        let output = in_shell(&home, &format!("ulimit {limit}; exec \"$0\" run --mode background 'echo hi'"));
        assert_eq!(output.status.code(), Some(125), "{limit}");
        assert!(text(&output.stderr).contains(part), "{limit}: {}", text(&output.stderr));
    }
    // A command that needs no file runs all the same.
    check(&in_shell(&home, "ulimit -f 0; exec \"$0\" run 'echo hi'"), "hi\n", 0);
    // A limit that is met late, where a thread writes the artifact.
    check(
        &in_shell(
            &home,
            "ulimit -f 5000; \"$0\" run --dialect native 'seq 2000000' >/dev/null; \"$0\" artifacts show 1 --tail 1",
        ),
        "74730\n[bytes 5120000-14888896 are missing: file too large]\n",
        0,
    );
    home.check_nothing_survives();
}
