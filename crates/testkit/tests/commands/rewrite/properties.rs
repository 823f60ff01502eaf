//! Properties of rewriting that hold for every script.

use std::os::unix::ffi::OsStrExt;

use bashful_engine::{End, Exit, RewriteFor, Streams};
use bashful_testkit::{finished, request};
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

use super::{place, plain_bash, rewrite, shown};

fn cases(cases: u32) -> Config {
    Config { cases, failure_persistence: None, ..Config::default() }
}

/// Statements that hold nothing to rewrite where they stand.
const INNOCENT: [&str; 14] = [
    "echo hi",
    "cd -",
    "cd plain",
    "cd $x && ls",
    "x=$(seq 5 | head -2)",
    "seq 5 | head -2 | cat",
    "echo 'artifact://1' \"see local://x\"",
    "cat <<E\nartifact://1 $x\nE\n",
    "curl https://example.org/ git+ssh://a/b file:///x",
    "if true; then cd plain && ls | head -1; fi",
    "tail -f log &",
    "f() { cd plain && ls; }",
    "# cd plain && ls artifact://1 | head -5",
    "head -5 file",
];

#[test]
fn a_script_without_anything_to_rewrite_is_never_changed() {
    let place = place();
    std::fs::create_dir_all(place.path().join("plain")).expect("made");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let engine = runtime.block_on(async { place.engine() });
    let statements = proptest::collection::vec((0..INNOCENT.len(), prop_oneof![Just("\n"), Just("\n\n")]), 2..8);
    let built = statements.prop_map(|parts| {
        // The first statement and the last keep the others from being all that there is.
        let inner: String = parts.iter().flat_map(|(index, end)| [INNOCENT[*index], *end]).collect();
        format!(": begin\n{inner}: end").into_bytes()
    });
    // Whatever a model may send, and without the words that are looked for.
    let is_tame = |bytes: &Vec<u8>| {
        let text = String::from_utf8_lossy(bytes);
        !["cd", "head", "tail", "://"].iter().any(|word| text.contains(word)) && !bytes.contains(&0)
    };
    let noise = proptest::collection::vec(any::<u8>(), 1..200).prop_filter("nothing to rewrite", is_tame);
    let torn = (any::<prop::sample::Index>(), 0..INNOCENT.len()).prop_map(|(at, index)| {
        let text = format!(": begin\n{}", INNOCENT[index]);
        text.as_bytes()[..=at.index(text.len())].to_vec()
    });
    let scripts = prop_oneof![built, noise, torn].prop_filter("a script", |bytes| !bytes.trim_ascii().is_empty());
    let check = |bytes: Vec<u8>| {
        let given = request(bytes.clone());
        let rewritten =
            engine.rewrite(given, RewriteFor::Reply).map_err(|error| TestCaseError::fail(error.to_string()))?;
        prop_assert_eq!(rewritten.request.script.as_bytes(), bytes.as_slice());
        prop_assert_eq!((rewritten.request.workdir, rewritten.request.lines), (None, None));
        Ok(())
    };
    TestRunner::new(cases(2000)).run(&scripts, check).expect("it holds");
}

/// Whatever could confuse somebody who looks for these things.
const CONFUSING: [&str; 44] = [
    "cd ",
    "plain",
    " && ",
    "&&",
    " | ",
    "|",
    "|& ",
    "head",
    "tail",
    " -n ",
    "-5",
    "5",
    "artifact://",
    "local://",
    "skill://",
    "agent://",
    "https://",
    "1",
    "é",
    "\"",
    "'",
    "\\",
    "\n",
    "$(",
    ")",
    "`",
    "<<E",
    "\nE\n",
    "#",
    " #",
    "=",
    "@",
    "{ ",
    "}",
    "; ",
    "&",
    "%2e",
    "..",
    "/",
    " ",
    "~",
    "$x",
    "echo ",
    "\u{10FFFF}",
];

fn confusing() -> impl Strategy<Value = String> {
    let parts = proptest::collection::vec(0..CONFUSING.len(), 1..24);
    parts.prop_map(|parts| parts.into_iter().map(|index| CONFUSING[index]).collect())
}

#[test]
fn what_is_not_told_was_not_done() {
    let place = place();
    std::fs::create_dir_all(place.path().join("plain")).expect("made");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let engine = runtime.block_on(async { place.engine() });
    let scripts = confusing().prop_filter("a script", |text| !text.trim().is_empty());
    let check = |text: String| {
        let Ok(rewritten) = engine.rewrite(request(text.clone()), RewriteFor::Reply) else { return Ok(()) };
        let same = rewritten.request.script.as_bytes() == text.as_bytes();
        prop_assert!(same || rewritten.remarks().next().is_some(), "{:?} in silence", text);
        prop_assert!(same || !text.contains('\r'));
        Ok(())
    };
    TestRunner::new(cases(20_000)).run(&scripts, check).expect("it holds");
}

#[test]
fn what_was_a_script_is_one_and_what_was_none_is_none() {
    let place = place();
    std::fs::create_dir_all(place.path().join("plain")).expect("made");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let engine = runtime.block_on(async { place.engine() });
    // With something in front that makes it worth a look.
    let scripts = (confusing(), 0..3_usize).prop_map(|(text, kind)| match kind {
        0 => format!("cd plain && {text}"),
        1 => format!("{text} | head -3"),
        _ => format!("echo {text} \"local://a\""),
    });
    let parses = |script: &[u8]| {
        let script = std::ffi::OsStr::from_bytes(script);
        let shell = std::process::Command::new(&place.options.shell)
            .args(["-n".as_ref(), "-c".as_ref(), "--".as_ref(), script])
            .output();
        let shell = shell.expect("bash runs");
        // A mere warning of bash is fine.
        shell.status.success()
    };
    let check = |text: String| {
        let Ok(rewritten) = engine.rewrite(request(text.clone()), RewriteFor::Reply) else { return Ok(()) };
        let now = rewritten.request.script.as_bytes();
        if now != text.as_bytes() {
            prop_assert_eq!(
                parses(now),
                parses(text.as_bytes()),
                "{:?} became {:?}",
                &text,
                String::from_utf8_lossy(now)
            );
        }
        Ok(())
    };
    TestRunner::new(cases(600)).run(&scripts, check).expect("it holds");
}

#[test]
fn a_script_does_the_same_however_confusing_it_is() {
    let place = place();
    std::fs::create_dir_all(place.path().join("plain")).expect("made");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let engine = runtime.block_on(async { place.engine() });
    let scripts = (confusing(), 0..4_usize).prop_map(|(text, kind)| match kind {
        0 => format!("cd plain && {text}"),
        1 => format!("{text} | head -3"),
        2 => format!("cd plain && echo {text} 2>&1 | tail -1"),
        _ => format!("echo {text}; seq 5 |& head -2"),
    });
    // What goes on by itself writes when it likes, and so do two who complain through one pipe; paths of URLs are not what bash would print, and a shell by itself has
    // jobs to bring to the foreground that a part of a pipeline has not.
    let is_settled = |text: &String| {
        let alone = !text.replace("&&", "").replace("|&", "").contains('&');
        // Nobody is ended by `head` who writes no more than it takes.
        let alone = alone && text.matches("echo").count() <= 3;
        let one_voice = !text.contains("|&") || !text.contains(['{', '(', '`']);
        alone && one_voice && !text.contains("://") && !text.contains('%')
    };
    // Nor is it settled who of a pipeline complains first.
    let sorted = |text: String| {
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let check = |text: String| {
        let mut given = request(text.clone());
        given.streams = Streams::Split;
        let rewritten =
            engine.rewrite(given, RewriteFor::Reply).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let outcome = runtime.block_on(async { finished(engine.run(rewritten.request).await.expect("it starts")) });
        let (stdout, stderr, _) = plain_bash(&text, &place, place.path());
        prop_assert_eq!(shown(&outcome.output), stdout, "{:?}", &text);
        let complained = outcome.stderr.as_ref().map(shown).unwrap_or_default();
        prop_assert_eq!(sorted(complained), sorted(stderr), "{:?}", &text);
        Ok(())
    };
    TestRunner::new(cases(300)).run(&scripts.prop_filter("settled", is_settled), check).expect("it holds");
}

#[test]
fn every_name_of_a_file_can_be_said_and_is_quoted_right() {
    let place = place();
    let scratch = place.path().join("scratch");
    std::fs::create_dir_all(&scratch).expect("made");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let engine = runtime.block_on(async { place.engine() });
    let letter = prop_oneof![
        proptest::char::any(),
        proptest::sample::select("'\"$`\\ \n!*?[]{}~#&;|<>()%.-".chars().collect::<Vec<_>>())
    ];
    let names = proptest::collection::vec(letter, 1..12).prop_map(|letters| letters.into_iter().collect::<String>());
    let is_name = |name: &String| !name.contains(['/', '\0']) && name != "." && name != "..";
    let check = |name: String| {
        std::fs::write(scratch.join(&name), "found\n").expect("it can be written");
        let said = name.bytes().map(|byte| format!("%{byte:02X}")).collect::<Vec<_>>().concat();
        let script = format!("cat local://{said} \"local://{said}\"; echo \"$(cat <local://{said})\"");
        let rewritten = rewrite(&engine, &script);
        let outcome = runtime.block_on(async { finished(engine.run(rewritten.request).await.expect("it starts")) });
        prop_assert_eq!(shown(&outcome.output), "found\n".repeat(3), "{:?}", &name);
        Ok(())
    };
    TestRunner::new(cases(150)).run(&names.prop_filter("a name", is_name), check).expect("it holds");
}

/// Things that write, and what they can be sent through.
const PRODUCERS: [&str; 9] = [
    "seq 30",
    "printf 'a\\nb\\nc'",
    "printf ''",
    "printf '\\n\\n\\n'",
    "echo one; echo two >&2; echo three",
    "for i in 1 2 3 4 5 6; do echo $i; echo e$i >&2; done",
    "cat <<'E'\nx\ny\nz\nE",
    "ls /nowhere-at-all . ",
    "printf 'caf\\303\\251\\n\\t\\304\\n'; exit 5",
];
const FILTERS: [&str; 5] = ["", "| cat", "| sort -r 2>&1", "| grep -v 3", "| tac"];
const LIMITS: [&str; 8] = [
    "| head -n 2",
    "| head -1",
    "|& head -n4",
    "| tail -2",
    "|& tail -n 3",
    "| head",
    "2>&1 | tail --lines=1",
    "|\\\n tail",
];

#[test]
fn what_is_shown_is_what_bash_shows() {
    let place = place();
    std::fs::create_dir_all(place.path().join("a b")).expect("made");
    // The first output that is cut would make it, between the two listings that are compared.
    bashful_engine::make_directory(&place.path().join("artifacts")).expect("made");
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let engine = runtime.block_on(async { place.engine() });
    let parts = (0..PRODUCERS.len(), 0..FILTERS.len(), 0..LIMITS.len(), any::<bool>());
    let check = |(producer, filter, limit, cd): (usize, usize, usize, bool)| {
        let lead = if cd { "cd 'a b' && " } else { "" };
        let given = format!("{lead}{{ {}\n}} {} {}", PRODUCERS[producer], FILTERS[filter], LIMITS[limit]);
        let rewritten = rewrite(&engine, &given);
        prop_assert!(rewritten.request.lines.is_some(), "{} is not rewritten", given);
        let bare = String::from_utf8_lossy(rewritten.request.script.as_bytes()).into_owned();
        let directory = rewritten.request.workdir.clone();
        let outcome = runtime.block_on(async { finished(engine.run(rewritten.request).await.expect("it starts")) });
        let (stdout, stderr, _) = plain_bash(&given, &place, place.path());
        prop_assert_eq!(shown(&outcome.output), stdout, "{}", &given);
        if outcome.cut_off.is_some() {
            // On a machine that is busy for half a second, `head` has ended it.
            return Ok(());
        }
        // With `head` behind it, a command may be gone before it has complained about everything.
        let complained = outcome.stderr.as_ref().map(shown).unwrap_or_default();
        let as_much = if given.contains("head") { complained.starts_with(&stderr) } else { complained == stderr };
        prop_assert!(as_much, "{}: {:?} instead of {:?}", &given, complained, stderr);
        // And it ends as it does without `head`.
        let (.., code) = plain_bash(&bare, &place, directory.as_deref().unwrap_or(place.path()));
        let own = match outcome.end {
            End::Own(Exit::Code(own)) => Some(i32::from(own)),
            _ => None,
        };
        prop_assert_eq!(own, code, "{}", &given);
        Ok(())
    };
    TestRunner::new(cases(120)).run(&parts, check).expect("it holds");
}
