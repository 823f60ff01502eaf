//! Rewriting of scripts: the result is the same as in bash, except for notices.

use std::num::NonZeroU64;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bashful_engine::{
    ArtifactUrls, Clip, CutOff, End, Engine, Exit, JobUrls, Lines, LocalUrls, Outcome, Output, RewriteFor, Rewriting,
    Rewritten, SkillUrls, Streams,
};
use bashful_testkit::{Place, WIDE, finished, request};

mod properties;
mod urls;

use crate::PUPPET;

/// A place where everything is rewritten that can be.
fn place() -> Place {
    let mut place = Place::new(PUPPET);
    let store = |place: &Place| (place.options.artifacts.clone(), place.options.jobs.clone());
    let (Some(artifacts), Some(jobs)) = store(&place) else { panic!("every place has both") };
    place.options.rewriting = Rewriting {
        directory: true,
        lines: true,
        schemes: vec![
            Arc::new(ArtifactUrls(artifacts)),
            Arc::new(JobUrls(jobs)),
            Arc::new(LocalUrls(place.path().join("scratch"))),
            Arc::new(SkillUrls(vec![place.path().join("skills")])),
        ],
        unsupported: vec!["agent".to_owned()],
        prefix: String::new(),
    };
    place
}

fn rewrite(engine: &Engine, script: &str) -> Rewritten {
    engine.rewrite(request(script), RewriteFor::Reply).expect("it is rewritten")
}

/// The script that is left.
fn script(rewritten: &Rewritten) -> &str {
    str::from_utf8(rewritten.request.script.as_bytes()).expect("text")
}

async fn run(engine: &Engine, script: &str) -> Outcome {
    let rewritten = rewrite(engine, script);
    rewritten.make_room().expect("there is room");
    let reply = tokio::time::timeout(WIDE, engine.run(rewritten.request)).await.expect("it comes back");
    finished(reply.expect("it starts"))
}

/// The shown text of one stream.
fn shown(output: &Output) -> String {
    let bytes = match &output.clip {
        Clip::Whole(bytes) => bytes.clone(),
        Clip::Cut { head, tail, .. } => [head.bytes.as_slice(), &tail.bytes].concat(),
    };
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Runs a script by bash itself: both streams, and the exit code.
fn plain_bash(script: &str, place: &Place, directory: &Path) -> (String, String, Option<i32>) {
    let output = Command::new(&place.options.shell)
        .arg0("bash")
        .args(["-c", "--", script])
        .current_dir(directory)
        .env_clear()
        .envs(place.options.host_environment.iter().cloned())
        .env("PWD", directory)
        .stdin(Stdio::null())
        .output()
        .expect("bash runs");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (text(output.stdout), text(output.stderr), output.status.code())
}

fn first(count: u64) -> Option<Lines> {
    NonZeroU64::new(count).map(Lines::First)
}

#[tokio::test]
async fn a_leading_cd_is_the_directory() {
    let place = place();
    for directory in ["a b", "a b/c", "plain", "$x", "skills/tool"] {
        std::fs::create_dir_all(place.path().join(directory)).expect("made");
    }
    std::os::unix::fs::symlink(place.path().join("a b/c"), place.path().join("link")).expect("made");
    let engine = place.engine();
    for (given, left, directory) in [
        ("cd plain && pwd", "pwd", "plain"),
        ("cd ./plain/ && pwd", "pwd", "plain"),
        ("cd -- plain && pwd", "pwd", "plain"),
        ("cd 'a b' && pwd", "pwd", "a b"),
        ("cd a\\ b/\"c\" && pwd", "pwd", "a b/c"),
        ("cd '$x' && pwd", "pwd", "$x"),
        ("cd ~/plain && pwd", "pwd", "plain"),
        ("cd ~ && pwd", "pwd", ""),
        ("cd link/.. && pwd", "pwd", ""),
        ("cd link && pwd -P; pwd", "pwd -P; pwd", "link"),
        ("# go\ncd plain &&\n  pwd || exit 9", "# go\n\npwd || exit 9", "plain"),
        ("cd plain && cd - && pwd; echo $OLDPWD", "cd - && pwd; echo $OLDPWD", "plain"),
        ("cd plain && env | grep PWD | sort", "env | grep PWD | sort", "plain"),
        ("cd skill://tool && pwd", "pwd", "skills/tool"),
    ] {
        let rewritten = rewrite(&engine, given);
        assert_eq!(script(&rewritten), left, "{given}");
        let expected = place.path().join(directory);
        assert_eq!(rewritten.request.workdir.as_deref(), Some(expected.as_path()), "{given}");
        let is_said = |remark: &str| remark.ends_with("became the working directory");
        assert!(rewritten.remarks().any(is_said), "{given}");
        let outcome = finished(engine.run(rewritten.request).await.expect("it starts"));
        if !given.contains("://") {
            assert_eq!(shown(&outcome.output), plain_bash(given, &place, place.path()).0, "{given}");
        }
    }
}

#[tokio::test]
async fn a_cd_that_only_bash_can_follow_is_left_to_it() {
    let place = place();
    std::fs::create_dir_all(place.path().join("plain")).expect("made");
    std::fs::write(place.path().join("file"), "").expect("written");
    let engine = place.engine();
    for given in [
        "cd $HOME && pwd",
        "cd pla* && pwd",
        "cd \"$(echo plain)\" && pwd",
        "cd - && pwd",
        "cd && pwd",
        "cd '' && pwd",
        "cd -P plain && pwd",
        "cd plain x && pwd",
        "cd plain; pwd",
        "cd plain || pwd",
        "cd plain && pwd &",
        "cd plain > /dev/null && pwd",
        "cd gone && pwd",
        "cd gone/.. && pwd",
        "cd file && pwd",
        "cd plain\ncd .. && pwd",
        "(cd plain && pwd)",
        "echo cd plain && pwd",
    ] {
        let rewritten = rewrite(&engine, given);
        assert_eq!(script(&rewritten), given);
        assert_eq!(rewritten.request.workdir, None, "{given}");
        assert!(rewritten.remarks().next().is_none(), "{given}");
    }
    let outcome = run(&engine, "cd gone && pwd").await;
    assert_eq!(shown(&outcome.output), "bash: line 1: cd: gone: No such file or directory\n");

    let mut with_cwd = request("cd plain && pwd");
    with_cwd.workdir = Some("plain".into());
    let rewritten = engine.rewrite(with_cwd, RewriteFor::Reply).expect("left alone");
    assert_eq!(script(&rewritten), "cd plain && pwd", "a directory was given");
}

#[tokio::test]
async fn a_path_that_is_searched_for_is_left_to_bash() {
    let mut place = place();
    std::fs::create_dir_all(place.path().join("plain")).expect("made");
    place.options.host_environment.push(("CDPATH".into(), "/usr".into()));
    let engine = place.engine();
    assert_eq!(script(&rewrite(&engine, "cd plain && pwd")), "cd plain && pwd");
    assert_eq!(script(&rewrite(&engine, "cd ./plain && pwd")), "pwd");
}

#[tokio::test]
async fn a_function_of_the_environment_is_not_what_its_name_says() {
    let mut place = place();
    std::fs::create_dir_all(place.path().join("plain")).expect("made");
    for name in ["cd", "tail"] {
        place.options.host_environment.push((format!("BASH_FUNC_{name}%%").into(), "() { echo mine; }".into()));
    }
    let engine = place.engine();
    for given in ["cd plain && pwd", "seq 5 | tail -1"] {
        let rewritten = rewrite(&engine, given);
        assert_eq!(script(&rewritten), given);
        let outcome = finished(engine.run(rewritten.request).await.expect("it starts"));
        assert!(shown(&outcome.output).starts_with("mine\n"), "{given}");
    }
}

#[tokio::test]
async fn what_is_said_is_short_whatever_was_written() {
    let place = place();
    let engine = place.engine();
    let long = "x".repeat(100_000);
    let many = (0..1000).map(|number| format!(" local://{number}/{long:.90}")).collect::<Vec<_>>().concat();
    for given in
        [format!("seq 3 |{}head -1", " ".repeat(100_000)), format!("ls{many}"), format!("cat local://{long:.9000}$x")]
    {
        let rewritten = rewrite(&engine, &given);
        assert!(
            rewritten.notices.len() <= 21 && rewritten.notices.iter().all(|notice| notice.len() < 1000),
            "{given:.20}"
        );
    }
    let error = engine.rewrite(request(format!("cat artifact://{long}")), RewriteFor::Reply).expect_err("unknown");
    assert!(error.to_string().len() < 1000, "{error:.100}");
}

#[tokio::test]
async fn a_trailing_head_or_tail_shows_less_and_keeps_all() {
    let place = place();
    let engine = place.engine();
    for (given, expected, code) in [
        ("seq 100 | head -n 3", "1\n2\n3\n", 0),
        ("seq 100 | tail -2", "99\n100\n", 0),
        ("seq 100 | head", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n", 0),
        ("{ seq 100; exit 3; } | head -1", "1\n", 3),
        ("seq 100 | sort -n | sed s/9/x/ 2>&1 | tail -n1", "100\n", 0),
        ("{ seq 50; seq 50 >&2; exit 4; } |& tail -1", "50\n", 4),
    ] {
        let outcome = run(&engine, given).await;
        assert_eq!(shown(&outcome.output), expected, "{given}");
        assert_eq!(outcome.end, End::Own(Exit::Code(code)), "{given}");
        assert_eq!(outcome.output.lines, 100, "{given}");
        let artifact = outcome.output.artifact.expect("all of it is kept");
        let whole = std::fs::read_to_string(artifact.path).expect("it is there");
        assert_eq!(whole.lines().count(), 100, "{given}");
    }
    let outcome = run(&engine, "false | head -5").await;
    assert_eq!((outcome.end, outcome.output.artifact), (End::Own(Exit::Code(1)), None), "there was nothing to keep");
}

#[tokio::test]
async fn standard_error_does_not_go_through_the_pipe() {
    let place = place();
    let outcome = run(&place.engine(), "{ seq 9; seq 11 19 >&2; } | head -2").await;
    assert_eq!(shown(&outcome.output), "1\n2\n");
    assert_eq!(outcome.stderr.as_ref().map(shown).as_deref(), Some("11\n12\n13\n14\n15\n16\n17\n18\n19\n"));
}

#[tokio::test]
async fn an_endless_producer_is_ended_as_head_would_and_has_not_failed() {
    let place = place();
    let engine = place.engine();
    for (given, end) in [
        ("yes | head -5", Exit::Signal(13)),
        ("while :; do echo y; done | head -5", Exit::Signal(13)),
        ("yes | cat | head -5", Exit::Code(141)),
        ("{ yes; exit 7; } 2>&1 | head -n 5", Exit::Code(7)),
    ] {
        let began = Instant::now();
        let outcome = run(&engine, given).await;
        assert_eq!(shown(&outcome.output), "y\n".repeat(5), "{given}");
        assert_eq!(outcome.end, End::Own(Exit::Code(0)), "{given}");
        assert_eq!(outcome.cut_off, Some(CutOff { after_lines: 5, end }), "{given}");
        assert!(outcome.output.bytes < 64 << 20, "{given} wrote {} bytes", outcome.output.bytes);
        assert!(began.elapsed() < Duration::from_secs(20), "{given} took {:?}", began.elapsed());
    }
    place.check_nothing_survives();
}

#[tokio::test]
async fn a_slow_command_is_waited_for_until_its_lines_are_there() {
    let place = place();
    let outcome = run(&place.engine(), "for i in 1 2 3; do echo $i; sleep 0.4; done | head -2").await;
    assert_eq!(shown(&outcome.output), "1\n2\n");
    assert_eq!(outcome.end, End::Own(Exit::Code(0)));
}

#[tokio::test]
async fn what_cannot_be_a_limit_is_left_alone() {
    let place = place();
    let engine = place.engine();
    for given in [
        "a=1; seq 5 | head -2",
        "true && seq 5 | head -2",
        "seq 5 | head -2 | cat",
        "seq 5 | head -2 > f",
        "seq 5 | head -c 2",
        "seq 5 | tail -n +2",
        "! seq 5 | head -2",
        "time seq 5 | head -2",
        "seq 5 | head -2 &",
        "(seq 5 | head -2)",
        "seq 5 | head -$n",
        "seq 5 | head -n 0",
    ] {
        let rewritten = rewrite(&engine, given);
        assert_eq!((script(&rewritten), rewritten.request.lines), (given, None));
    }
    let job = engine.rewrite(request("seq 5 | head -2"), RewriteFor::Job).expect("left alone");
    assert_eq!(script(&job), "seq 5 | head -2", "what a job writes goes to a file");
}

/// What a caller is told about the changes.
fn remarks(rewritten: &Rewritten) -> Vec<String> {
    rewritten.remarks().map(str::to_owned).collect()
}

#[tokio::test]
async fn a_limit_that_was_asked_for_wins_over_the_one_in_the_script() {
    let place = place();
    let engine = place.engine();
    let taken = |given: &str, asked| {
        let explicit = bashful_engine::Request { lines: asked, ..request(given) };
        let rewritten = engine.rewrite(explicit, RewriteFor::Reply).expect("rewritten");
        assert_eq!(script(&rewritten).trim_end(), "seq 5");
        assert_eq!((rewritten.request.streams, rewritten.request.apart), (Streams::Split, true));
        (rewritten.request.lines, rewritten.request.enough.map(std::num::NonZero::get), remarks(&rewritten))
    };
    let said = |word: &str, became: &str| vec![format!("`| {word} -2` {became}; the exit status is the command's own")];
    let (gave_way, became) = ("gave way to the requested limit", "became a line limit");
    assert_eq!(taken("seq 5 | head -2", first(4)), (first(4), Some(4), said("head", gave_way)));
    assert_eq!(taken("seq 5 | head -2", first(2)), (first(2), Some(2), said("head", became)));
    let both = Lines::of(NonZeroU64::new(2), NonZeroU64::new(4));
    assert_eq!(taken("seq 5 | head -2", Lines::of(None, NonZeroU64::new(4))), (both, Some(2), said("head", became)));
    // `tail` reads to the end.
    let both = Lines::of(NonZeroU64::new(4), NonZeroU64::new(2));
    assert_eq!(taken("seq 5 | tail -2", first(4)), (both, None, said("tail", became)));
}

#[tokio::test]
async fn both_at_once_are_both() {
    let place = place();
    std::fs::create_dir_all(place.path().join("d")).expect("made");
    let rewritten = rewrite(&place.engine(), "cd d && seq 9 2>&1 | head -2");
    assert_eq!(script(&rewritten), "seq 9 2>&1 ");
    assert_eq!(rewritten.request.lines, first(2));
    assert_eq!(
        remarks(&rewritten),
        [
            "`cd d` became the working directory",
            "`| head -2` became a line limit; the exit status is the command's own"
        ]
    );
}

#[tokio::test]
async fn a_prefix_stands_before_the_first_command() {
    let mut place = place();
    place.options.rewriting.prefix = "env GREETING=hello".to_owned();
    let engine = place.engine();
    let rewritten = rewrite(&engine, "\n# a comment\n  bash -c 'echo $GREETING' | head -1");
    assert_eq!(script(&rewritten), "\n# a comment\n  env GREETING=hello bash -c 'echo $GREETING' ");
    assert_eq!(shown(&run(&engine, "bash -c 'echo $GREETING'; echo").await.output), "hello\n\n");
}

#[tokio::test]
async fn what_is_turned_off_is_left_alone() {
    let mut place = place();
    std::fs::create_dir_all(place.path().join("d")).expect("made");
    place.options.rewriting = Rewriting::default();
    let given = "cd d && cat artifact://1 agent://2 | head -1";
    let rewritten = rewrite(&place.engine(), given);
    assert_eq!((script(&rewritten), rewritten.remarks().count()), (given, 0));
}

#[tokio::test]
async fn the_guard_judges_what_runs_and_where() {
    let place = place();
    let engine = place.engine();
    for given in
        ["cd / && rm -rf *", "cd ~ && rm -rf .", "cd /usr && rm -rf ./* | head -3", "git push --force 2>&1 | tail -3"]
    {
        let rewritten = rewrite(&engine, given);
        assert_ne!(script(&rewritten), given, "it was rewritten");
        assert!(engine.verdict(&engine.plan(rewritten.request).expect("a plan")).refuses(), "{given}");
    }
}
