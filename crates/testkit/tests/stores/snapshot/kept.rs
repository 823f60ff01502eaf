//! The definitions that a snapshot takes over, and those it does not.

use std::ffi::OsString;
use std::os::unix::net::UnixListener;

use bashful_engine::{Pattern, Request};
use bashful_testkit::{finished, output, request};

use super::{home, says, says_waiting, working};

#[tokio::test(flavor = "multi_thread")]
async fn functions_and_aliases_may_have_any_name_and_content() {
    let place = home(
        r#"foo-bar() { echo dashed; }
a.b() { echo dotted "$@"; }
::x() { echo colons; }
function if { echo keyword; }
cd() { builtin cd "$@" && echo "now in ${PWD##*/}"; }
outer() { inner() { echo inner; }; inner; }
seen() { echo "seen $1"; }
export -f seen
alias -- -='echo minus' ..='echo up' quotes='echo "it'\''s \"so\" $HOME"' lines='echo one
echo two' for_each='for x in 1 2; do' g='echo grep '
alias chained='g last' last='echo nested'
"#,
    );
    let script = r"foo-bar; a.b 1 2; ::x; \if; mkdir -p d; cd d; cd ..; outer; bash -c 'seen child'
-; ..; quotes; lines; for_each echo $x; done; g last; chained";
    let expected = format!(
        "dashed\ndotted 1 2\ncolons\nkeyword\nnow in d\nnow in {}\ninner\nseen child\nminus\nup\nit's \"so\" {}\none\ntwo\n\
         1\n2\ngrep echo nested\ngrep echo nested\n",
        place.path().file_name().expect("a name").display(),
        place.path().display()
    );
    assert_eq!(says(&working(&place).await, script).await, expected);
    assert_eq!(says_waiting(&place, script).await, expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_function_keeps_the_meaning_that_it_had_whatever_aliases_there_are() {
    // As in a terminal: an alias is put in when a function is read, and not when it runs.
    let place = home(
        "before() { word; }\nalias word='echo alias'\nafter() { word; }\nunalias word\nword() { echo function; }\n",
    );
    assert_eq!(says(&working(&place).await, "before; after; word").await, "function\nalias\nfunction\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn variables_are_those_of_the_host_as_the_files_leave_them() {
    let mut place = home(
        "export PATH=\"$HOME/bin:$PATH\" NEW='a\nb' CHANGED=\"$CHANGED and more\" PAGER=less\nunset GONE\nNOT_EXPORTED=x\n",
    );
    for (name, value) in [("CHANGED", "host"), ("GONE", "host"), ("KEPT", "host")] {
        place.options.host_environment.push((name.into(), value.into()));
    }
    place.options.environment.set.insert("PAGER".to_owned(), Some("cat".to_owned()));
    let script = r#"printf '%s\n' "${PATH%%:*}" "$NEW" "$CHANGED" "$PAGER" "${GONE-gone}" "$KEPT" "${NOT_EXPORTED-none}"; env | grep ^NEW"#;
    let expected = format!("{}/bin\na\nb\nhost and more\ncat\ngone\nhost\nnone\nNEW=a\n", place.path().display());
    let engine = working(&place).await;
    assert_eq!(says(&engine, script).await, expected);
    assert_eq!(says_waiting(&place, script).await, expected);
    // The caller's values win.
    let given = Request { env: vec![("NEW".to_owned(), OsString::from("given"))], ..request("echo $NEW") };
    assert_eq!(output(&finished(engine.run(given).await.expect("it runs"))), "given\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn secrets_stay_where_they_were() {
    let mut place = home(
        r#"export MY_TOKEN=rc-secret-value COPY="$HOST_TOKEN" SAME=host-secret-value HARMLESS=yes
alias with_secret='curl -H rc-secret-value'
holds_one() { echo host-secret-value; }
holds_none() { echo fine; }
"#,
    );
    place.options.environment.withhold.push(Pattern::new("*TOKEN*"));
    place.options.host_environment.push(("HOST_TOKEN".into(), "host-secret-value".into()));
    let engine = working(&place).await;
    let script = "echo ${MY_TOKEN-none} \"${COPY}\" ${SAME-none} $HARMLESS; alias; declare -F";
    assert_eq!(says(&engine, script).await, "none  none yes\ndeclare -f holds_none\n");
    let snapshot = engine.snapshot().expect("it works");
    let text = std::fs::read_to_string(snapshot.path()).expect("text");
    assert!(!text.contains("secret-value"), "{text}");
    for name in ["variable MY_TOKEN", "variable SAME", "alias with_secret", "function holds_one"] {
        assert!(snapshot.left_out().iter().any(|out| out == name), "{name}: {:?}", snapshot.left_out());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_rc_files_set_and_commands_do_not_get_is_masked() {
    let mut place = home("export MY_TOKEN=rc-secret-value HOST_TOKEN=other-secret-value; echo >> ~/read\n");
    place.options.environment.withhold.push(Pattern::new("*TOKEN*"));
    place.options.host_environment.push(("HOST_TOKEN".into(), "host-secret-value".into()));
    let script = "echo ${MY_TOKEN-none}; cat ~/.bashrc; echo host-secret-value";
    let expected = "none\nexport MY_TOKEN=[withheld: MY_TOKEN] HOST_TOKEN=[withheld: HOST_TOKEN]; echo >> ~/read\n[withheld: HOST_TOKEN]\n";
    let read = |place: &bashful_testkit::Place| std::fs::read(place.path().join("read")).expect("they were read").len();
    let engine = working(&place).await;
    assert_eq!(says(&engine, script).await, expected);
    assert_eq!(engine.output_redactor().mask("rc-secret-value"), "[withheld: MY_TOKEN]", "what is told of jobs, too");
    // The values are written down nowhere, so another program has to read the files again, once.
    let other = working(&place).await;
    assert_eq!((says(&other, script).await.as_str(), read(&place)), (expected, 2));
    // The file is a new one to the first, which knows the values and does not.
    assert_eq!((says(&engine, script).await.as_str(), read(&place)), (expected, 2));
    // Nor does one whose host has them.
    place.options.host_environment.retain(|(name, _)| name != "HOST_TOKEN");
    for (name, value) in [("MY_TOKEN", "rc-secret-value"), ("HOST_TOKEN", "other-secret-value")] {
        place.options.host_environment.push((name.into(), value.into()));
    }
    let third = working(&place).await;
    assert_eq!((says(&third, "cat ~/.bashrc").await.lines().next(), read(&place)), (expected.lines().nth(1), 2));
    // A value that the caller sets is not withheld from this command.
    let given =
        Request { env: vec![("MY_TOKEN".to_owned(), OsString::from("rc-secret-value"))], ..request("echo $MY_TOKEN") };
    assert_eq!(output(&finished(third.run(given).await.expect("it runs"))), "rc-secret-value\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_changes_the_meaning_of_scripts_is_not_taken_over() {
    let place = home(
        r#"shopt -s extglob globstar dotglob nullglob nocaseglob nocasematch lastpipe xpg_echo autocd
pattern() { case $1 in --!(no-*)dir*) echo matches;; esac; }
export PS1='> ' PROMPT_COMMAND='echo prompt' CDPATH=/ IFS=, HISTFILE=/x TMOUT=1 GLOBIGNORE='*' BASH_ENV=/x TTY="$(tty)"
export -f pattern
trap 'echo trapped' EXIT INT DEBUG RETURN ERR
complete -F pattern git
command_not_found_handle() { echo "did you mean"; }
test_alias_last() { echo kept; }
set -o noclobber -o nounset -o pipefail -o noglob -o vi -o physical -o allexport -o errexit
"#,
    );
    let script = r#"test_alias_last; pattern --some-dir; >made; echo again >made; echo $unset_variable
false | true; echo $?; echo ma*; [[ a = A ]] || echo case; trap; complete; echo $PWD; nonsense_command 2>/dev/null; echo $?
echo "${PS1-}${PROMPT_COMMAND-}${CDPATH-}${HISTFILE-}${TMOUT-}${GLOBIGNORE-}${BASH_ENV-}${TTY-}"; echo '\t'; echo $-"#;
    let engine = working(&place).await;
    let expected = format!("kept\nmatches\n\n0\nmade\ncase\n{}\n127\n\n\\t\nhBc\n", place.path().display());
    assert_eq!(says(&engine, script).await, expected);
    std::fs::remove_file(place.path().join("made")).expect("a script has made it");
    assert_eq!(says_waiting(&place, script).await, expected);
    let left_out = engine.snapshot().expect("it works").left_out().to_vec();
    for name in ["option nocasematch", "option noclobber", "variable TTY", "function command_not_found_handle"] {
        assert!(left_out.iter().any(|out| out == name), "{name}: {left_out:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn options_about_the_patterns_of_file_names_are_taken_over() {
    let place =
        home("shopt -s globstar nullglob dotglob nocaseglob extglob failglob checkhash\nset -o errexit -o nounset\n");
    std::fs::create_dir_all(place.path().join("d/e")).expect("a directory");
    std::fs::write(place.path().join("d/e/.Hidden"), "").expect("a file");
    let script = "cd d; echo **/*hid*; echo none*; echo +(e); shopt -p globstar nullglob dotglob nocaseglob failglob; echo $unset";
    let expected = "e/.Hidden\n\ne\nshopt -s globstar\nshopt -s nullglob\nshopt -s dotglob\nshopt -s nocaseglob\nshopt -u failglob\n\n";
    let engine = working(&place).await;
    assert_eq!(says(&engine, script).await, expected);
    assert_eq!(says_waiting(&place, script).await, expected);
    let snapshot = engine.snapshot().expect("it works");
    let mut taken = snapshot.options().to_vec();
    taken.sort_unstable();
    assert_eq!(taken, ["checkhash", "dotglob", "extglob", "globstar", "nocaseglob", "nullglob"]);
    assert!(snapshot.left_out().iter().any(|out| out == "option failglob"), "{:?}", snapshot.left_out());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_ended_with_the_files_is_not_named_and_one_that_lives_is() {
    let place = home("export SSH_AUTH_SOCK=$HOME/$(cat which) SSH_AGENT_PID=$$\n");
    std::fs::write(place.path().join("which"), "dead").expect("a file");
    drop(UnixListener::bind(place.path().join("dead")).expect("a socket"));
    let _alive = UnixListener::bind(place.path().join("alive")).expect("a socket");
    let script = "echo ${SSH_AUTH_SOCK-none} ${SSH_AGENT_PID-none}";
    assert_eq!(says(&working(&place).await, script).await, "none none\n");
    std::fs::write(place.path().join("which"), "alive").expect("a file");
    let engine = working(&place).await;
    engine.renew_snapshot().await;
    assert_eq!(says(&engine, script).await, format!("{}/alive none\n", place.path().display()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_starts_bash_its_own_way_does_so() {
    let place = home("alias word='echo alias'\nexport VARIABLE=rc\n");
    std::fs::write(place.path().join("own"), "echo own start\n").expect("a file");
    let engine = working(&place).await;
    assert_eq!(
        says(&engine, "word $VARIABLE; bash -c 'type word; echo ${BASH_ENV-none}' 2>&1").await,
        "alias rc\nbash: line 1: type: word: not found\nnone\n"
    );
    for (name, value, expected) in
        [("BASH_ENV", "own", "own start\nown\n"), ("POSIXLY_CORRECT", "1", "\n"), ("SHELLOPTS", "xtrace", "+ echo\n\n")]
    {
        let given = Request { env: vec![(name.to_owned(), OsString::from(value))], ..request("echo $BASH_ENV") };
        let said = output(&finished(engine.run(given).await.expect("it runs")));
        assert_eq!(said, expected, "{name}");
    }
}
