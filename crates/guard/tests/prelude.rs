//! The guard on scripts in a shell about which more is known than the script says.

use bashful_guard::{Guard, Level, Prelude, Verdict};

fn judge_after(definitions: &str, script: &str) -> Verdict {
    let prelude = Prelude { definitions: definitions.to_owned(), ..Prelude::default() };
    Guard::default().judge(script, &prelude)
}

/// Judges a script whose shell outlives it.
fn judge_in_session(script: &str) -> Verdict {
    Guard::default().judge(script, &Prelude { persistent: true, ..Prelude::default() })
}

const DEFINITIONS: &str =
    "ship () \n{ \n    git push --force \"$@\"\n}\nalias wipe='rm -rf ~'\nshopt -s expand_aliases\n";

#[test]
fn a_definition_counts_where_the_script_calls_it() {
    for script in ["ship", "cd x && ship now", "\"sh\"ip", "wipe", "trap ship EXIT", "eval 'wipe now'"] {
        assert!(judge_after(DEFINITIONS, script).refuses(), "{script}");
        assert!(!Guard::default().judge(script, &Prelude::default()).refuses(), "{script} without definitions");
    }
    for script in ["echo ship", "ls wipe", "\\wipe", "bash -c ship", "ship() { :; }; ship", "unset -f ship; ship"] {
        assert!(!judge_after(DEFINITIONS, script).refuses(), "{script}");
    }
}

#[test]
fn a_definition_takes_no_finding_away() {
    let verdict = judge_after("rm () \n{ \n    trash \"$@\"\n}\n", "echo; rm -rf ~");
    let spans: Vec<_> = verdict.findings.iter().map(|finding| (finding.span.start, finding.span.end)).collect();
    assert_eq!(spans, [(6, 14)]);
}

#[test]
fn a_finding_in_a_definition_is_about_the_whole_script_and_shows_what_the_definition_says() {
    let script = "echo one\nship now";
    let verdict = judge_after(DEFINITIONS, script);
    assert_eq!(verdict.findings[0].span, 0..script.len());
    assert_eq!(verdict.findings[0].chain[0], "git push --force \"$@\"");
}

#[test]
fn places_are_those_of_the_script_whatever_stands_before_it() {
    let script = "ü; git push -f\n'open";
    let verdict = judge_after(DEFINITIONS, script);
    assert_eq!(verdict, Guard::default().judge(script, &Prelude::default()));
    assert_eq!(&script[verdict.findings[0].span.clone()], "git push -f");
    assert!(verdict.incomplete);
}

#[test]
fn a_definition_that_does_not_end_swallows_nothing_of_the_script() {
    for definitions in ["broken () {\n", "echo 'open\n", "cat <<E\n", "x=$(\n"] {
        assert!(judge_after(&format!("{DEFINITIONS}{definitions}"), "ship").refuses(), "{definitions}");
    }
}

#[test]
fn definitions_that_are_too_much_are_not_held_against_the_script() {
    let nested = format!("ship () {{\n{}:{}\n}}\n", "if :; then ".repeat(200), "; fi".repeat(200));
    assert!(judge_after(&nested, "ship").findings.is_empty());
    assert_eq!(judge_after("", &nested).level(), Some(Level::Ask));
}

#[test]
fn what_a_script_leaves_behind_in_a_session_is_judged_as_if_it_were_called() {
    for script in [
        "f() { git push -f; }",
        "function f { rm -rf \"$HOME\"; }",
        "f() { g() { rm -rf ~; }; }",
        "alias gone='rm -rf ~'",
        "if true; then f() { rm -rf /; }; fi",
        "BASH_ALIASES[gone]='rm -rf ~'",
        "eval 'f() { rm -rf ~; }'",
        "name='f'; eval \"$name() { rm -rf ~; }\"",
        "f() { rm -rf ~; }\necho 'open",
        "alias gone='rm -rf ~'; f() { gone; }",
    ] {
        assert!(judge_in_session(script).refuses(), "{script}");
        assert!(!Guard::default().judge(script, &Prelude::default()).refuses(), "{script} in a shell that ends");
    }
}

#[test]
fn what_does_not_stay_in_a_session_is_not_judged_as_if_it_did() {
    for script in [
        "# f() { rm -rf ~; }",
        "echo 'f() { rm -rf ~; }'",
        "(f() { rm -rf ~; })",
        "f() { rm -rf ~; }; unset -f f",
        "alias gone='rm -rf ~'; unalias gone",
        "cat <<'E'\nf() { rm -rf ~; }\nE\n",
        "f() { rm -rf \"$1/build\"; }",
        "alias ll='ls -l'; f() { cd \"$1\" && ls; }",
        "f() { git push \"$@\"; }",
    ] {
        assert!(!judge_in_session(script).refuses(), "{script}");
    }
}

#[test]
fn a_finding_in_a_function_that_stays_points_at_the_function() {
    let script = "echo\nf() { git push -f; }";
    let verdict = judge_in_session(script);
    assert_eq!(&script[verdict.findings[0].span.clone()], "git push -f");
    let script = "echo\nalias gone='rm -rf ~'";
    let verdict = judge_in_session(script);
    assert_eq!(verdict.findings[0].span, 0..script.len());
    assert_eq!(verdict.findings[0].chain[0], "alias gone='rm -rf ~'");
}

#[test]
fn many_functions_that_stay_need_nobody_to_look_at_them() {
    let functions: String =
        (0..400).map(|n| format!("f{n}() {{ for a in 1 2 3 4; do f{}; done; }}\n", n + 1)).collect::<Vec<_>>().concat();
    assert!(judge_in_session(&functions).findings.is_empty());
}

/// Judges a script in a shell that starts with these variables alone.
fn refuses_with_only(names: &[&str], script: &str) -> bool {
    let environment = Some(names.iter().map(|name| (*name).to_owned()).collect());
    Guard::default().judge(script, &Prelude { environment, ..Prelude::default() }).refuses()
}

#[test]
fn a_variable_that_nobody_has_set_is_empty_where_the_whole_environment_is_known() {
    for script in [
        "rm -rf \"$PREFIX\"/etc",
        "rm -rf ${PREFIX}/*",
        "cd $PREFIX && rm -rf *",
        "rm -rf \"$HOME/$PREFIX\"",
        "bash -c 'rm -rf \"$PREFIX\"/usr'",
        "PREFIX=/tmp/x; bash -c 'rm -rf $PREFIX/usr'",
    ] {
        assert!(refuses_with_only(&["HOME", "PATH"], script), "{script}");
        assert!(!Guard::default().judge(script, &Prelude::default()).refuses() || script.contains("HOME"), "{script}");
    }
}

#[test]
fn a_variable_that_may_be_set_or_is_tested_first_is_unknown() {
    for script in [
        "rm -rf \"$HOME_DIR\"/etc",
        "[ -n \"$PREFIX\" ] && rm -rf \"$PREFIX\"/*",
        "[ -d \"$PREFIX/etc\" ] && rm -rf \"$PREFIX/etc\"",
        "if [[ -z $PREFIX ]]; then exit 1; fi; rm -rf \"$PREFIX\"/*",
        ": \"${PREFIX:?}\"; rm -rf \"$PREFIX\"/*",
        "set -eu; rm -rf \"$PREFIX\"/*",
        ". ./settings; rm -rf \"$PREFIX\"/*",
        "eval \"$(cat settings)\"; rm -rf \"$PREFIX\"/*",
        "export $(xargs < .env); rm -rf \"$PREFIX\"/*",
        "ssh host 'rm -rf \"$PREFIX\"/*'",
        "bash -lc 'rm -rf \"$PREFIX\"/*'",
        "PREFIX=${PREFIX:-build}; rm -rf \"$PREFIX\"/*",
    ] {
        assert!(!refuses_with_only(&["HOME", "HOME_DIR"], script), "{script}");
    }
}
