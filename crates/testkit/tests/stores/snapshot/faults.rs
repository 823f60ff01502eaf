//! Rc files that go wrong: the snapshot is right or there is none, somebody is told once, and the command runs.

use bashful_engine::NoSnapshot;
use bashful_testkit::Place;

use super::{hasty_home, home, says, says_waiting, why_not, working};

/// Whatever these files do, what comes after it is there, in a fresh shell and in one that has waited.
async fn check_captured(what: &str) {
    let place =
        home(format!("{what}\nalias word='echo alias'\nfunction_of_rc() {{ echo function; }}\nexport VARIABLE=rc\n"));
    check_has_all(&place, what).await;
}

/// The same for what comes before it.
async fn check_captured_before(what: &str) {
    let place =
        home(format!("alias word='echo alias'\nfunction_of_rc() {{ echo function; }}\nexport VARIABLE=rc\n{what}\n"));
    check_has_all(&place, what).await;
}

async fn check_has_all(place: &Place, what: &str) {
    let script = "word; function_of_rc; echo $VARIABLE; echo $?; pwd";
    let expected = format!("alias\nfunction\nrc\n0\n{}\n", place.path().display());
    let engine = working(place).await;
    assert_eq!(says(&engine, script).await, expected, "{what}");
    assert_eq!(says_waiting(place, script).await, expected, "{what}");
    assert_eq!(engine.why_no_snapshot(), None, "{what}");
    drop(engine);
    place.check_nothing_survives();
}

/// Nothing comes of these files, which is told once, and remembered.
async fn check_fails(what: &str, is_why: impl FnOnce(&NoSnapshot) -> bool) {
    let place = hasty_home(format!("echo read >>~/count\n{what}\nalias word='echo alias'\n"));
    let engine = place.engine();
    let why = why_not(&engine).await.expect(what);
    assert!(is_why(&why), "{what}: {why:?}");
    assert_eq!(why_not(&engine).await, None, "{what}");
    // Another program does not try it either.
    assert_eq!(why_not(&place.engine()).await, None, "{what}");
    assert_eq!(std::fs::read_to_string(place.path().join("count")).expect("a file"), "read\n", "{what}");
    drop(engine);
    place.check_nothing_survives();
}

fn ended(why: &NoSnapshot) -> bool {
    *why == NoSnapshot::Ended
}

fn too_slow(why: &NoSnapshot) -> bool {
    matches!(why, NoSnapshot::TooSlow { .. })
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_talk() {
    check_captured("echo hello; echo error >&2; printf 'bashful-1\\0end\\0'; head -c 1000000 /dev/zero | tr '\\0' x")
        .await;
    check_captured("printf '\\033[6n'; read -t 0.01 -rd R answer").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_ask() {
    check_captured("read -p 'your name? ' name; read -n1 key; read line </dev/tty; cat >/dev/null; select x in a b; do break; done").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_see_a_terminal() {
    check_captured("[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && tty -s && stty -a >/dev/null && : >/dev/tty || exit 1").await;
    check_captured("[ -n \"$PS1\" ] || exit 1; case $- in *i*) ;; *) exit 1;; esac; stty -echo raw").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_leave() {
    check_fails("exit 3", ended).await;
    check_fails("exec true", ended).await;
    // Another shell in its place finds that nobody types.
    check_fails("exec sh", ended).await;
    check_fails("kill -9 $$", ended).await;
    check_fails("kill -SEGV $$", ended).await;
    check_fails("set -e; false", ended).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_take_their_time() {
    check_fails("sleep 1000", too_slow).await;
    check_fails("trap '' TERM HUP INT; while :; do :; done", too_slow).await;
    check_fails("yes", too_slow).await;
    check_fails("exec sleep 1000", too_slow).await;
    check_fails("(trap '' TERM HUP; setsid sleep 1000 &) ; kill -STOP $$", too_slow).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_start_daemons() {
    check_captured("sleep 1000 &").await;
    check_captured(
        "(setsid sleep 1000 </dev/null >/dev/null 2>&1 &); (trap '' TERM HUP; setsid sleep 1000 & disown) &",
    )
    .await;
    check_captured("coproc cat; exec 7> >(cat)").await;
    check_captured("$PUPPET setsid respawn").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_are_wrong() {
    // As in a terminal, what comes before a syntax error is there, and the rest is not.
    let place = home(
        "alias word='echo alias'\nfunction_of_rc() { echo function; }\nexport VARIABLE=rc\nif then fi\nalias never=x\n",
    );
    check_has_all(&place, "a syntax error").await;
    check_captured("no_such_command; false; cd /no/such/directory; . /no/such/file; unalias no_such_alias").await;
    check_captured("return_early() { return 1; }; return_early; $((1/0))").await;
    assert_eq!(why_not(&home("").engine()).await, None);
    assert_eq!(why_not(&home(b"\xff\xfe\x00\x01 binary \x80\n").engine()).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_move_and_close_things() {
    check_captured("cd /; umask 777; ulimit -c 0").await;
    check_captured("exec 0<&- 1>&- 2>&-").await;
    check_captured("exec </dev/null >/dev/null 2>&1; for fd in {3..30}; do eval \"exec $fd>&-\"; done").await;
    check_captured("exec >/dev/full 2>&1").await;
    check_captured("set -- a b c; shift 2; IFS=abcdefu_; HOME=/").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_with_options_of_all_kinds() {
    for options in [
        "-u",
        "-f",
        "-k",
        "-a",
        "-C",
        "-x",
        "-v",
        "-T",
        "-E",
        "-P",
        "-b",
        "-m",
        "+m",
        "+B",
        "+h",
        "-o vi",
        "-o posix",
        "-o pipefail",
    ] {
        check_captured_before(&format!("set {options}")).await;
    }
    check_captured(
        "shopt -s extdebug failglob nullglob nocaseglob nocasematch xpg_echo lastpipe compat42; shopt -u sourcepath",
    )
    .await;
    check_captured("shopt -u expand_aliases interactive_comments extquote checkwinsize promptvars").await;
    check_captured("BASH_COMPAT=3.1; POSIXLY_CORRECT=1").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_with_traps() {
    check_captured(
        "trap 'echo $BASH_COMMAND; false' DEBUG; trap 'echo failed' ERR; trap 'echo bye' EXIT RETURN INT CHLD WINCH",
    )
    .await;
    check_captured("trap 'exec sleep 1000' EXIT; shopt -s extdebug; set -T").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_take_the_place_of_builtins() {
    for name in [
        "builtin", "printf", "declare", "typeset", "unset", "set", "trap", "alias", "unalias", "shopt", "export",
        "read", "eval", ".", "source", ":", "[", "test", "local", "compgen", "command", "return", "exit", "exec",
        "enable", "pwd",
    ] {
        // The script that looks at it uses `echo` and `pwd`.
        let name_of_rc = if name == "pwd" { "printf" } else { name };
        check_captured_before(&format!("function {name_of_rc} {{ \\builtin echo mine; return 1; }}")).await;
    }
    check_captured_before("function builtin { :; }; function unset { :; }; function declare { :; }; function printf { :; }; function shopt { :; }; function alias { command alias \"$@\"; }").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_with_aliases_of_all_kinds() {
    check_captured("alias unset=false set=false trap=false builtin=false printf=false for=false while=false do=false done=false if=false then=false fi=false '{=false' '}=false' '[[=false' IFS=false").await;
    check_captured("alias .=false :=false shopt=false unalias=false declare='x() {' read=\"'\"").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_with_names_like_ours() {
    check_captured("BASHFUL_OPTIONS=x BASHFUL_NAMES=y BASHFUL_I=z; export BASHFUL_NAME=n; BASHFUL_FUNCTIONS() { :; }")
        .await;
    check_captured("declare -A BASHFUL_FUNCTIONS=([x]=y); declare -i BASHFUL_KIND=3").await;
    check_captured("readonly X=1 PS1 PROMPT_COMMAND=; declare -r HISTFILE=/x; readonly -f 2>/dev/null").await;
    check_captured("readonly BASHFUL_OPTIONS=x BASHFUL_NAMES=y POSIXLY_CORRECT=").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_that_cannot_be_written_down_takes_no_other_with_it() {
    // Bash prints these so that they cannot be read again, or mean something else.
    let bad = r"
bad_case() { case $1 in (esac) echo;; esac; }
bad_here_document() { [[ $1 ]] && cat <<ONE || { cat <<TWO; }
one
ONE
two
TWO
}
bad_coprocess() { coproc cat <<END
end
END
}
";
    let around = "aaa() { echo a; }\nalias word='echo alias'\nfunction_of_rc() { echo function; }\nexport VARIABLE=rc\nzzz() { :; }\n";
    let place = home(format!("{bad}{around}"));
    check_has_all(&place, "functions").await;
    let snapshot = working(&place).await.snapshot().expect("it works");
    assert_eq!(snapshot.functions(), ["aaa", "function_of_rc", "zzz"]);
    let mut left_out: Vec<_> = snapshot.left_out().iter().filter(|out| out.contains("bad")).collect();
    left_out.sort();
    assert_eq!(left_out, ["function bad_case", "function bad_coprocess", "function bad_here_document"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn where_there_is_no_home_nothing_is_said() {
    for value in [None, Some("/no/such/home"), Some("relative"), Some("")] {
        let mut place = home("alias word=x\n");
        place.options.host_environment.retain(|(name, _)| name != "HOME");
        place.options.host_environment.extend(value.map(|value| ("HOME".into(), value.into())));
        assert_eq!(why_not(&place.engine()).await, None, "{value:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_rc_file_that_is_none_is_told() {
    let place = home("");
    std::fs::remove_file(place.path().join(".bashrc")).expect("a file");
    std::fs::create_dir(place.path().join(".bashrc")).expect("a directory");
    let engine = place.engine();
    assert!(matches!(why_not(&engine).await, Some(NoSnapshot::Unreadable { .. })));
    assert_eq!(why_not(&engine).await, None);
    std::fs::remove_dir(place.path().join(".bashrc")).expect("a directory");
    // Opening a pipe that nobody writes to would take for ever.
    rustix::fs::mkfifoat(rustix::fs::CWD, place.path().join(".bashrc"), rustix::fs::Mode::RWXU).expect("a pipe");
    assert!(matches!(why_not(&engine).await, Some(NoSnapshot::Unreadable { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_commands_have_a_start_up_file_that_is_the_one() {
    let mut place = home("alias word='echo alias'\n");
    std::fs::write(place.path().join("own"), "word() { echo own; }\n").expect("a file");
    place.options.host_environment.push(("BASH_ENV".into(), place.path().join("own").into()));
    let engine = place.engine();
    engine.refresh_snapshot().await;
    assert_eq!(engine.why_no_snapshot(), Some(NoSnapshot::BashEnv));
    assert_eq!(says(&engine, "word").await, "own\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_that_no_program_could_be_given_are_left_out() {
    check_captured("export BIG=\"$(head -c 3000000 /dev/zero | tr '\\0' x)\"; unset BIG_OTHER").await;
    check_captured("for i in {1..40}; do export \"BIG_$i=$(printf '%0100000d' 1)\"; done").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_write_to_what_they_read_are_not_read_for_every_command() {
    let rc = "echo read >>~/count\necho \"stamp=$RANDOM$RANDOM$EPOCHREALTIME\" >~/.agent\n. ~/.agent\nalias word='echo alias'\n";
    let place = home(rc);
    for _ in 0..3 {
        assert_eq!(says(&working(&place).await, "word").await, "alias\n");
    }
    assert_eq!(std::fs::read_to_string(place.path().join("count")).expect("a file"), "read\n");
    let place = hasty_home(format!("{rc}sleep 1000\n"));
    assert!(why_not(&place.engine()).await.is_some());
    assert_eq!(why_not(&place.engine()).await, None);
    assert_eq!(std::fs::read_to_string(place.path().join("count")).expect("a file"), "read\n");
}
