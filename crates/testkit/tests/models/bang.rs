//! Commands that a person types: run as they stand, in a shell that keeps its state.

use std::time::Duration;

use bashful_dialect::{BangCaller, BangError, BashResult, Dialect, Limits, Toolbox};
use bashful_engine::{Canceller, Interceptor, Lifetime, Rewriting};
use bashful_testkit::Place;

use crate::PUPPET;

fn toolbox(place: &mut Place) -> Toolbox {
    let limits = Limits::default();
    Dialect::PI.adjust(&mut place.options, &limits);
    Toolbox::new(place.engine(), Dialect::PI, limits, place.path())
}

fn caller() -> BangCaller {
    BangCaller { key: "console".to_owned(), ..BangCaller::default() }
}

async fn bang(toolbox: &Toolbox, command: &str) -> BashResult {
    toolbox.bang(command, caller()).await.expect("it runs")
}

#[tokio::test]
async fn directory_variables_and_functions_stay_for_the_next_command() {
    let mut place = Place::new(PUPPET);
    let toolbox = toolbox(&mut place);
    let moved = bang(&toolbox, "mkdir below; cd below; word=kept; shout() { echo \"$word!\"; }").await;
    assert_eq!(moved.working_dir, place.path().join("below").display().to_string());
    assert_eq!((moved.output.as_str(), moved.exit_code), ("", Some(0)));
    let next = bang(&toolbox, "shout; basename \"$PWD\"; (exit 3)").await;
    assert_eq!((next.output.as_str(), next.exit_code), ("kept!\nbelow\n", Some(3)));
    let other = toolbox.bang("echo ${word-none}", BangCaller { key: "other".to_owned(), ..BangCaller::default() });
    assert_eq!(other.await.expect("it runs").output, "none\n");
}

#[tokio::test]
async fn a_command_runs_where_no_shell_can_stay() {
    let mut place = Place::new(PUPPET);
    let store = place.options.sessions.as_ref().expect("a place has them").directory().to_path_buf();
    std::fs::write(&store, "in the way").expect("it can be written");
    let toolbox = toolbox(&mut place);
    for _ in 0..2 {
        let result = bang(&toolbox, "echo it runs").await;
        assert_eq!((result.output.as_str(), result.exit_code), ("it runs\n", Some(0)));
        let [notice] = result.notices.as_slice() else { panic!("{result:?}") };
        assert!(notice.contains("no shell can stay") && notice.contains(store.to_str().expect("text")), "{notice}");
    }
}

#[tokio::test]
async fn variables_of_one_call_are_gone_in_the_next() {
    let mut place = Place::new(PUPPET);
    let toolbox = toolbox(&mut place);
    let with = BangCaller { env: vec![("GIVEN".to_owned(), "yes".into())], ..caller() };
    assert_eq!(toolbox.bang("echo $GIVEN", with).await.expect("it runs").output, "yes\n");
    assert_eq!(bang(&toolbox, "echo ${GIVEN-no}").await.output, "no\n");
}

/// Proposes another tool for everything.
#[derive(Debug)]
struct Everything;

impl Interceptor for Everything {
    fn intercept(&self, _: &[u8]) -> Option<bashful_engine::Interception> {
        Some(bashful_engine::Interception {
            script: String::new(),
            suggested_tool: "read".to_owned(),
            message: "use read".to_owned(),
        })
    }
}

#[tokio::test]
async fn nothing_is_rewritten_or_redirected_but_the_prefix_applies() {
    let mut place = Place::new(PUPPET);
    place.options.rewriting =
        Rewriting { directory: true, lines: true, prefix: "PREFIXED=1".to_owned(), ..Rewriting::default() };
    let mut toolbox = toolbox(&mut place);
    toolbox.interceptor = Some(std::sync::Arc::new(Everything));
    let result = bang(&toolbox, "bash -c 'echo $PREFIXED; seq 100' | head -n 2; echo ${PIPESTATUS[0]}").await;
    assert!(result.output.starts_with("1\n1\n"), "{result:?}");
    assert!(result.notices.iter().all(|notice| !notice.contains("line limit")), "{result:?}");
}

#[tokio::test]
async fn a_command_beside_another_gets_a_new_shell_in_the_same_directory() {
    let mut place = Place::new(PUPPET);
    let toolbox = toolbox(&mut place);
    bang(&toolbox, "mkdir below; cd below").await;
    let first = bang(&toolbox, "touch begun; until [ -e go ]; do sleep 0.01; done; echo first");
    let second = async {
        while !place.path().join("below/begun").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        bang(&toolbox, "basename \"$PWD\"; touch go").await
    };
    let (first, second) = tokio::join!(first, second);
    assert_eq!((first.output.as_str(), second.output.as_str()), ("first\n", "below\n"));
    assert!(second.notices.iter().any(|notice| notice.contains("ran in a new shell")), "{second:?}");
    assert_eq!(bang(&toolbox, "echo again").await.notices, Vec::<String>::new());
}

#[tokio::test]
async fn a_cancelled_command_returns_its_output_so_far() {
    let mut place = Place::new(PUPPET);
    let toolbox = toolbox(&mut place);
    let (canceller, cancellation) = Canceller::new();
    let calling = toolbox
        .bang("echo begun; touch begun; sleep 1000", BangCaller { cancellation: Some(cancellation), ..caller() });
    let (result, ()) = tokio::join!(calling, async {
        while !place.path().join("begun").exists() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        canceller.cancel();
    });
    let result = result.expect("a result");
    assert_eq!(result.output, "[Command cancelled]\nbegun\n");
    assert_eq!((result.cancelled, result.timed_out, result.exit_code), (true, false, None));
    drop(toolbox);
    place.check_nothing_survives();
}

#[tokio::test]
async fn a_command_whose_time_is_up_says_so_before_its_output() {
    let mut place = Place::new(PUPPET);
    let toolbox = toolbox(&mut place);
    let short = BangCaller { lifetime: Some(Lifetime(Duration::from_millis(500))), ..caller() };
    let result = toolbox.bang("echo begun; sleep 1000", short).await.expect("a result");
    assert_eq!(result.output, "[Command timed out after 0.5 seconds]\nbegun\n");
    assert_eq!((result.cancelled, result.timed_out, result.exit_code), (true, true, None));
}

#[tokio::test]
async fn long_output_is_truncated_counted_and_kept() {
    let mut place = Place::new(PUPPET);
    let toolbox = toolbox(&mut place);
    let result = bang(&toolbox, "seq 50000").await;
    assert!(result.truncated && result.output.ends_with("\n49999\n50000\n"), "{result:?}");
    assert_eq!((result.total_lines, result.total_bytes), (50_000, 288_894));
    let numbers = result.output.lines().filter(|line| line.parse::<u32>().is_ok()).count();
    assert_eq!(result.output_lines, numbers as u64);
    assert!(result.artifact_id.is_some());
}

#[tokio::test]
async fn an_impossible_command_or_directory_is_an_error_that_names_it() {
    let mut place = Place::new(PUPPET);
    let toolbox = toolbox(&mut place);
    let nul = toolbox.bang("echo a\0b", caller()).await;
    assert!(matches!(nul, Err(BangError::Script(_))), "{nul:?}");
    let nowhere = BangCaller { workdir: Some("/nowhere".into()), ..caller() };
    let nowhere = toolbox.bang("pwd", nowhere).await.expect_err("no such directory").to_string();
    assert!(nowhere.contains("/nowhere"), "{nowhere}");
    assert_eq!(bang(&toolbox, "echo the shell is free again").await.output, "the shell is free again\n");
}
