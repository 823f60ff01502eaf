//! The same script by plain `bash -c` and by the engine gives the same bytes and the same end, whichever way the engine
//! starts its shell.
//!
//! The scripts are in `oracle/`, one file for each theme, separated by lines of `#---`; those that an editor would spoil
//! and those that are made by rule are below. They do nothing that depends on time or chance, so nothing has to be
//! smoothed over before comparing. What cannot be the same has a test of its own here, whose name says what it is.

use bashful_engine::Exit;
use bashful_testkit::oracle::{Oracle, Seen, Way};
use bashful_testkit::request;

const PUPPET: &str = env!("CARGO_BIN_EXE_puppet");
const ALL: [Way; 3] = [Way::Cold, Way::Ready, Way::Session];

/// Most of the scripts are compared in a session too.
#[test]
fn few_scripts_can_tell_that_they_are_in_a_session() {
    let all: Vec<String> = THEMES.iter().flat_map(|theme| scripts(theme)).collect();
    let compared = all.iter().filter(|script| !shows_a_session(script.as_bytes())).count();
    assert!(compared * 10 > all.len() * 8, "only {compared} of {}", all.len());
}

/// Rc files that define something of each kind, and set what scripts must not be given. Options about the patterns of file names
/// are given, and change what scripts do; the tests of snapshots have those.
const RC: &str = "\
    alias alias_of_rc='echo alias'
    function_of_rc() { echo function; }
    export VARIABLE_OF_RC=variable
    shopt -s failglob nocasematch xpg_echo lastpipe
    set -o noclobber -o nounset -o pipefail
    CDPATH=/ IFS=: TMOUT=1
    trap 'echo trapped' EXIT DEBUG ERR
    cd /
    umask 077
";

/// Holds the engine to what plain bash does with each of these scripts.
async fn check<S: AsRef<[u8]>>(scripts: impl IntoIterator<Item = S>) {
    check_by(&Oracle::new(PUPPET), scripts).await;
}

async fn check_by<S: AsRef<[u8]>>(oracle: &Oracle, scripts: impl IntoIterator<Item = S>) {
    let mut different = Vec::new();
    for script in scripts {
        let request = request(script.as_ref());
        let plain = oracle.plain(&request);
        for way in ALL {
            if way == Way::Session && shows_a_session(script.as_ref()) {
                continue;
            }
            let ours = oracle.ours(way, &request).await;
            let same = if way == Way::Session { in_words(&ours) == in_words(&plain) } else { ours == plain };
            if !same {
                let script = script.as_ref();
                let shown = script.get(..500).unwrap_or(script).escape_ascii().to_string().replace("\\n", "\n");
                different.push(format!("{way:?}: {shown}\n--- bash: {plain:?}\n--- ours: {ours:?}\n"));
            }
        }
    }
    assert!(different.is_empty(), "{} differ\n{}", different.len(), different.join("\n"));
}

/// Words by which a script can tell that it is one of many in an interactive shell, and is sourced. What differs then is in
/// `docs/gotchas.md`.
const SHOW_A_SESSION: [&str; 33] = [
    "$-",
    "${#-}",
    "$_",
    "SHLVL",
    "BASH_SOURCE",
    "BASH_LINENO",
    "BASH_ARG",
    "FUNCNAME",
    "FUNCNEST",
    "PIPESTATUS",
    "caller",
    "SHELLOPTS",
    "trap",
    "kill -",
    "kill $$",
    "SIGKILL)",
    "set -x",
    "set -n",
    "set -u",
    "{fd}",
    "/proc/$$",
    "[[ -f ]]",
    "[[ a == ]]",
    "[[ a b c ]]",
    "$(if)",
    "a; done)",
    "u?",
    "u:?",
    "x?",
    ". ./s",
    "source ./s",
    "return 5; echo",
    "return; echo",
];

/// True if a script could tell the difference.
fn shows_a_session(script: &[u8]) -> bool {
    let script = String::from_utf8_lossy(script);
    SHOW_A_SESSION.iter().any(|word| script.contains(word))
}

/// The observed output, with messages that name no line, except those about a script that bash could not make sense of: an interactive bash
/// names lines there alone. These do not name the place of the script, which is `-c` or `eval`.
fn in_words(seen: &Seen) -> Seen {
    let mut output = Vec::new();
    for line in seen.output.split_inclusive(|byte| *byte == b'\n') {
        let rest = line.strip_prefix(b"bash: ").or_else(|| line.strip_prefix(b"environment: ")).map(|rest| {
            let begins = |prefix: &[u8]| rest.starts_with(prefix);
            let names = begins(b"line ") || begins(b"-c: line ") || begins(b"eval: line ");
            let behind = rest.windows(2).position(|pair| pair == b": ").filter(|_| names);
            behind.map_or(rest, |at| &rest[at + 2..])
        });
        match rest {
            Some(rest) => output.extend([b"bash: ", rest].concat()),
            None => output.extend(line),
        }
    }
    Seen { output, exit: seen.exit }
}

/// All scripts of a theme.
fn scripts(theme: &str) -> Vec<String> {
    let path = format!("{}/tests/oracle/{theme}.sh", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect("a theme has a file");
    let text = text.strip_suffix('\n').expect("a file ends in a newline");
    text.split("\n#---\n").map(str::to_owned).collect()
}

/// True if a script lists aliases, functions or options, where those of rc files belong, or looks at the status of
/// pipelines before there was one, which shows that something was sourced.
fn tells_of_rc_files(script: &str) -> bool {
    let lists =
        ["; alias;", "compgen -A function", "BASH_ALIASES", "shopt;", "$BASHOPTS", "echo ${PIPESTATUS[@]}; true"];
    lists.iter().any(|list| script.contains(list))
}

macro_rules! themes {
    ($($test:ident: $theme:literal,)*) => {
        /// Aliases and functions of rc files are there, and nothing else is different.
        #[tokio::test(flavor = "multi_thread")]
        async fn what_rc_files_define_changes_nothing_else() {
            let oracle = Oracle::with_rc(PUPPET, RC).await;
            let there = "alias_of_rc; function_of_rc; echo $VARIABLE_OF_RC";
            for way in ALL {
                assert_eq!(oracle.ours(way, &request(there)).await.text(), "alias\nfunction\nvariable\n");
            }
            let all: Vec<_> = [$($theme),*].into_iter().flat_map(scripts).collect();
            check_by(&oracle, all.into_iter().filter(|script| !tells_of_rc_files(script))).await;
        }

        $(
            #[tokio::test(flavor = "multi_thread")]
            async fn $test() {
                check(scripts($theme)).await;
            }
        )*

        const THEMES: &[&str] = &[$($theme),*];

        #[test]
        fn every_theme_has_a_test() {
            let files = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/oracle")).expect("the corpus");
            let mut files: Vec<_> = files.map(|entry| entry.expect("readable").file_name()).collect();
            files.sort();
            let mut known = vec![$(concat!($theme, ".sh")),*];
            known.sort_unstable();
            assert_eq!(files, known);
        }
    };
}

themes! {
    arrays_hold_the_same: "arrays",
    builtins_do_the_same: "builtins",
    descriptors_lead_to_the_same_places: "descriptors",
    scripts_end_the_same_way: "ends",
    errors_are_told_in_the_same_words: "errors",
    expansions_give_the_same: "expansion",
    heredocs_are_read_the_same_way: "heredocs",
    background_jobs_behave_the_same: "jobs",
    programs_find_the_same_world: "programs",
    quotes_mean_the_same: "quoting",
    the_shape_of_a_script_changes_nothing: "shape",
    strict_mode_is_as_strict: "strict",
    substitutions_give_the_same: "substitution",
    traps_are_sprung_the_same_way: "traps",
    variables_hold_the_same: "variables",
}

#[tokio::test(flavor = "multi_thread")]
async fn every_kind_of_exit_code_comes_through() {
    let codes = [0, 1, 2, 63, 64, 124, 125, 126, 127, 128, 129, 130, 137, 141, 143, 192, 254, 255];
    check(codes.map(|code| format!("exit {code}"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_signal_that_ends_a_shell_comes_through() {
    let signals = "HUP QUIT ILL TRAP ABRT BUS FPE KILL USR1 SEGV USR2 PIPE ALRM TERM STKFLT XCPU XFSZ VTALRM PROF IO \
                   PWR SYS RTMIN RTMAX INT CHLD CONT URG WINCH";
    // None of them is to leave a core file behind.
    check(signals.split(' ').map(|signal| format!("ulimit -c 0; echo before; kill -{signal} $$; echo after"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn any_bytes_may_be_in_a_script() {
    let scripts: [&[u8]; 22] = [
        b"\xef\xbb\xbfecho after a byte order mark",
        b"echo a\r\necho b\r\n",
        b"if true; then\r\n  echo a\r\nfi\r\n",
        b"echo a\r",
        b"cat <<END\r\nbody\r\nEND\r\n",
        b"echo \xff\xfe\x80 '\xc3' \"\xe9\"; x=\xff; echo ${#x} \"$x\"",
        b"\xff",
        b"\xc3\x28 arg",
        b"echo '\x01\x02\x7f' \"\x01\x7f\" \x01\x7f a\x01b | od -c",
        b"printf %s \"$BASH_EXECUTION_STRING\" | od -c # \x01\x02\x03\x7f\x80\xff '\"\\ \x1b",
        b"echo \x1b[31mred\x1b[0m",
        b"echo a\x0bb\x0cc",
        b"echo \xc2\xa0nonbreaking\xc2\xa0",
        b"\xe2\x80\x9cecho\xe2\x80\x9d smart quotes",
        b"echo a\xe2\x80\xa8b; echo \xf0\x9f\x98\x80 | od -An -tx1",
        b"\n\n\n  \t\necho after white space\n\n\t \n",
        b"echo trailing spaces   \n   ",
        b"echo ends in a backslash\\",
        b"echo ends in two\\\\",
        b"#",
        b"# only a comment, no newline",
        b"cat <<END\nbody\nEND",
    ];
    check(scripts).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_may_be_as_long_as_an_argument() {
    // A waiting shell has room for 8191 bytes, and Linux takes 131071 as one argument.
    let sizes = [4096, 8190, 8191, 8192, 65_536, 131_070, 131_071];
    let lines = sizes.map(|size| padded("echo $LINENO; wc -c <<<\"$BASH_EXECUTION_STRING\"", size));
    let one_line = sizes.map(|size| format!("x='{}'; echo ${{#x}}", "y".repeat(size - 16)));
    let words = sizes.map(|size| format!("set -- {}; echo $#", "w ".repeat(size / 2 - 10)));
    // Each quote is four bytes in what a waiting shell is told to put back.
    let quotes = format!("echo \"{}\"", "'".repeat(8180));
    check(lines.into_iter().chain(one_line).chain(words).chain([quotes])).await;
}

/// A script with a comment behind it that makes it so long.
fn padded(script: &str, size: usize) -> String {
    let mut padded = format!("{script}\n#");
    padded.extend(std::iter::repeat_n('.', size - padded.len()));
    padded
}

/// Compares plain bash and the engine on a script that is longer than an argument can be.
async fn short_and_long(oracle: &Oracle, script: &str) -> [Seen; 2] {
    let long = oracle.ours(Way::Ready, &request(padded(script, LONGER_THAN_AN_ARGUMENT))).await;
    [oracle.plain(&request(script)), long]
}

const LONGER_THAN_AN_ARGUMENT: usize = 131_072;

#[tokio::test(flavor = "multi_thread")]
async fn a_script_too_long_for_an_argument_does_what_a_short_one_does() {
    let oracle = Oracle::new(PUPPET);
    for theme in ["arrays", "builtins", "shape", "substitution", "traps"] {
        for script in scripts(theme) {
            let [short, long] = short_and_long(&oracle, &script).await;
            assert_eq!(long, short, "{script}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_too_long_for_an_argument_begins_like_any_other() {
    let oracle = Oracle::new(PUPPET);
    for script in ["echo $?", "echo $_", "echo \"$0|$-|$#|$*|$!\"", "\n\necho $LINENO", "caller; jobs; trap", "env; :"]
    {
        let [short, long] = short_and_long(&oracle, script).await;
        assert_eq!(long, short, "{script}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_of_a_mebibyte_runs_to_its_last_line() {
    // The guard bounds the words of a script, and those of a comment do not count.
    const LINE: &str = "echo $LINENO # behind the command is a comment that fills the line\n";
    let oracle = Oracle::new(PUPPET);
    for size in [LONGER_THAN_AN_ARGUMENT, 200_000, 1024 * 1024] {
        let count = size / LINE.len() - 10;
        let last = format!("[ ${{#BASH_EXECUTION_STRING}} = {size} ] && exit 7");
        let script = padded(&(LINE.repeat(count) + &last), size);
        let numbers: Vec<_> = (1..=count).map(|number| number.to_string()).collect();
        let seen = oracle.ours(Way::Cold, &request(script)).await;
        assert_eq!(seen.text(), numbers.join("\n") + "\n");
        assert_eq!(seen.exit, Exit::Code(7));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_script_too_long_for_an_argument_keeps_all_its_bytes() {
    let oracle = Oracle::new(PUPPET);
    let mut script = b"printf %s \"$BASH_EXECUTION_STRING\" | cmp - ../script && echo same; x='".to_vec();
    // Six bytes a pair, so that the borders of whatever buffer they are read by fall into the middle of some.
    script.extend("é😀".repeat(30_000).bytes());
    script.extend(b"'; echo ${#x} # ");
    script.extend((1..=255).filter(|byte| *byte != b'\n'));
    script.extend(b"\r\n \t\n\n");
    std::fs::write(oracle.place.path().join("script"), &script).expect("a file");
    assert_eq!(oracle.ours(Way::Cold, &request(script)).await.text(), "same\n60000\n");
}

/// Differences of scripts too long for an argument. Bash reads those from a file and evaluates them.
mod longer_than_an_argument {
    use super::*;

    #[track_caller]
    fn check(seen: &[Seen; 2], short: (&str, Exit), long: (&str, Exit)) {
        let [was_short, was_long] = seen;
        assert_eq!((was_short.text().as_str(), was_short.exit), short);
        assert_eq!((was_long.text().as_str(), was_long.exit), long);
    }

    #[tokio::test]
    async fn a_syntax_error_names_eval() {
        let seen = short_and_long(&Oracle::new(PUPPET), "echo one\nfi").await;
        let message = |by| {
            format!("one\nbash: {by}: line 2: syntax error near unexpected token `fi'\nbash: {by}: line 2: `fi'\n")
        };
        check(&seen, (&message("-c"), Exit::Code(2)), (&message("eval"), Exit::Code(2)));
    }

    #[tokio::test]
    async fn a_bad_condition_is_a_failure() {
        // Plain `bash -c` says that all went well.
        let [short, long] = short_and_long(&Oracle::new(PUPPET), "[[ a b ]]\necho never").await;
        assert_eq!([short.exit, long.exit], [Exit::Code(0), Exit::Code(2)]);
    }

    #[tokio::test]
    async fn the_last_command_does_not_take_the_place_of_the_shell() {
        let script = "sh -c 'kill -TERM $$; sleep 10'";
        let seen = short_and_long(&Oracle::new(PUPPET), script).await;
        check(&seen, ("", Exit::Signal(15)), ("Terminated\n", Exit::Code(143)));
    }

    #[tokio::test]
    async fn a_trace_is_one_level_deeper() {
        let seen = short_and_long(&Oracle::new(PUPPET), "set -x; :").await;
        check(&seen, ("+ :\n", Exit::Code(0)), ("++ :\n", Exit::Code(0)));
    }

    #[tokio::test]
    async fn the_status_of_an_earlier_pipeline_is_there_from_the_start() {
        let seen = short_and_long(&Oracle::new(PUPPET), "echo ${#PIPESTATUS[@]}").await;
        check(&seen, ("0\n", Exit::Code(0)), ("1\n", Exit::Code(0)));
    }

    #[tokio::test]
    async fn an_exit_trap_sees_eval_as_the_last_command() {
        let script = "trap 'echo \"$BASH_COMMAND\"' EXIT; :";
        let seen = short_and_long(&Oracle::new(PUPPET), script).await;
        check(&seen, (":\n", Exit::Code(0)), ("builtin eval \"$BASH_EXECUTION_STRING\"\n", Exit::Code(0)));
    }
}

/// Differences of a shell that has been waiting. All that a script would look at by chance is the same.
mod waiting {
    use super::*;

    /// The results of plain bash, of a cold and of a waiting shell.
    async fn said(script: &str) -> [String; 3] {
        let oracle = Oracle::new(PUPPET);
        let request = request(script);
        [
            oracle.plain(&request).text(),
            oracle.ours(Way::Cold, &request).await.text(),
            oracle.ours(Way::Ready, &request).await.text(),
        ]
    }

    #[tokio::test]
    async fn the_command_line_in_proc_ends_in_zeros() {
        let script = "x=$(wc -c </proc/$$/cmdline); echo $x";
        let length = ["bash", "-c", script].iter().map(|word| word.len() + 1).sum::<usize>();
        let [plain, cold, ready] = said(script).await;
        assert_eq!([plain, cold], [format!("{length}\n"), format!("{length}\n")]);
        assert_eq!(ready, format!("{}\n", "bash -c ".len() + 8192));
    }

    #[tokio::test]
    async fn the_command_line_reads_the_same_up_to_there() {
        let [plain, cold, ready] = said("tr '\\0' ' ' </proc/$$/cmdline | sed 's/ *$//'; :").await;
        assert_eq!(ready, plain);
        assert_eq!(cold, plain);
    }

    #[tokio::test]
    async fn the_first_environment_in_proc_names_the_pipe_it_waited_for() {
        let [plain, cold, ready] = said("tr '\\0' '\\n' </proc/$$/environ | grep -c ^BASH_ENV=/proc/; :").await;
        assert_eq!([plain, cold, ready], ["0\n", "0\n", "1\n"]);
    }

    #[tokio::test]
    async fn a_list_of_all_variables_has_traces_of_it() {
        for list in ["declare -p", "set", "compgen -v"] {
            let [plain, cold, ready] = said(&format!("{list} | grep -v PPID")).await;
            assert_eq!(cold, plain);
            let more = ready.lines().filter(|line| !plain.lines().any(|other| other == *line));
            let fewer = plain.lines().filter(|line| !ready.lines().any(|other| other == *line));
            let expected: [&[&str]; 2] = match list {
                "declare -p" => [
                    &[
                        "declare -a BASH_ARGC=([0]=\"0\")",
                        "declare -a PIPESTATUS=([0]=\"0\")",
                        "declare -- SECONDS=\"0\"",
                    ],
                    &["declare -a BASH_ARGC=()", "declare -- SECONDS"],
                ],
                "set" => [&["BASH_ARGC=([0]=\"0\")", "PIPESTATUS=([0]=\"0\")", "SECONDS=0"], &["BASH_ARGC=()"]],
                _ => [&["PIPESTATUS"], &[]],
            };
            assert_eq!([more.collect::<Vec<_>>(), fewer.collect()], expected, "{list}");
        }
    }
}

/// Differences that come with a keeper.
mod kept {
    use super::*;

    #[tokio::test]
    async fn the_parent_is_the_keeper() {
        let oracle = Oracle::new(PUPPET);
        for way in ALL {
            let seen = oracle.ours(way, &request("cat /proc/$PPID/comm")).await;
            assert_eq!(seen.text(), "bashful-keeper\n");
        }
    }

    #[tokio::test]
    async fn orphans_become_children_of_the_keeper() {
        let script = "( (until [ -e go ]; do sleep 0.01; done; grep ^PPid /proc/$BASHPID/status >t; mv t out) & )
            touch go; until [ -e out ]; do sleep 0.01; done; read -r _ parent <out; cat /proc/$parent/comm";
        let oracle = Oracle::new(PUPPET);
        for way in ALL {
            assert_eq!(oracle.ours(way, &request(script)).await.text(), "bashful-keeper\n");
        }
    }

    #[tokio::test]
    async fn the_pipe_for_the_output_is_as_large_as_any_until_much_is_written() {
        let oracle = Oracle::new(PUPPET);
        let request = request("python3 -c 'import fcntl; print(fcntl.fcntl(1, 1032))'");
        assert_eq!(oracle.plain(&request).text(), "65536\n");
        for way in ALL {
            assert_eq!(oracle.ours(way, &request).await.text(), "65536\n");
        }
    }
}
