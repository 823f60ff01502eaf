//! A job with a terminal: its screen, typing, waiting, and the same promises as any other job.

use std::sync::Arc;
use std::time::Duration;

use bashful_engine::{
    ControlError, End, Exit, JobInput, JobInputError, JobInputs, JobRecord, JobStore, JobTerminal, Keys, Request,
    ScreenUntil, Stop, StopReason, TerminalError, TerminalSize, WaitOver,
};
use bashful_testkit::{Place, Starts, WIDE, request};

use super::at_terminal;
use crate::PUPPET;

fn store(place: &Place) -> Arc<JobStore> {
    Arc::clone(place.options.jobs.as_ref().expect("a place has one"))
}

async fn start(place: &Place, request: Request) -> (JobRecord, JobTerminal) {
    let job = place.engine().started_job(request).await.expect("it starts");
    let terminal = store(place).terminal(job.id).await.expect("it has a terminal");
    (job, terminal)
}

async fn wait(terminal: &JobTerminal, until: ScreenUntil<'_>) -> WaitOver {
    terminal.wait(&until, WIDE).await.expect("the job is there")
}

async fn wait_for_text(terminal: &JobTerminal, text: &str) {
    let matches = |screen: &str| screen.contains(text);
    let over = wait(terminal, ScreenUntil::Matches(&matches)).await;
    assert_eq!(over, WaitOver::Matched, "no {text:?} on the screen:\n{}", terminal.screen().text());
}

fn keys(names: &[&str]) -> Keys {
    Keys::parse(names.iter().copied()).expect("known keys")
}

/// Types as a person does, unjudged.
async fn try_to_type(place: &Place, terminal: &JobTerminal, text: &str, names: &[&str]) -> Result<(), JobInputError> {
    let inputs = JobInputs { judge: None, ..place.engine().job_inputs().expect("a store of jobs") };
    let input = JobInput { text: text.as_bytes().to_vec(), keys: keys(names), end: false };
    inputs.type_at(terminal, input, WIDE).await
}

async fn type_text(place: &Place, terminal: &JobTerminal, text: &str, names: &[&str]) {
    try_to_type(place, terminal, text, names).await.expect("it is typed");
}

async fn end(store: &JobStore, id: u64) -> End {
    let job = tokio::time::timeout(WIDE, store.wait_until_gone(id)).await.expect("it ends").expect("it is there");
    job.end().expect("it has ended")
}

#[tokio::test]
async fn a_shell_is_used_line_by_line() {
    let place = Place::new(PUPPET);
    let (job, terminal) = start(&place, at_terminal("PS1='% ' bash --norc -i")).await;
    assert!(job.has_terminal && !job.takes_input);
    wait_for_text(&terminal, "%").await;
    let over = wait(&terminal, ScreenUntil::Input).await;
    assert!(matches!(over, WaitOver::WaitsForInput { password: false, .. }), "{over:?}");
    type_text(&place, &terminal, "x=4; echo $((x * 10 + 2))\n", &[]).await;
    wait_for_text(&terminal, "\n42").await;
    type_text(&place, &terminal, "stty size", &["Enter"]).await;
    wait_for_text(&terminal, "24 80").await;
    terminal.resize(TerminalSize::new(100, 30)).await.expect("it is resized");
    type_text(&place, &terminal, "stty size", &["Enter"]).await;
    wait_for_text(&terminal, "30 100").await;
    assert_eq!(terminal.screen().size, TerminalSize::new(100, 30));
    type_text(&place, &terminal, "exit 7", &["Enter"]).await;
    let WaitOver::Ended(job) = wait(&terminal, ScreenUntil::End).await else { panic!("it ends") };
    assert_eq!(job.end(), Some(End::Own(Exit::Code(7))));
    let screen = terminal.screen().text();
    assert!(screen.contains("[background process failed: exit status: 7]"), "{screen}");
    place.check_nothing_survives();
}

#[tokio::test]
async fn a_password_prompt_is_told_and_the_password_is_never_on_the_screen() {
    let place = Place::new(PUPPET);
    let (job, terminal) = start(&place, at_terminal("read -rsp 'Password: ' p; echo; echo got ${#p}")).await;
    let over = wait(&terminal, ScreenUntil::Input).await;
    assert_eq!(over, WaitOver::WaitsForInput { password: true, certain: true });
    type_text(&place, &terminal, "hunter2", &["Enter"]).await;
    wait(&terminal, ScreenUntil::End).await;
    let screen = terminal.screen().text();
    assert!(screen.contains("got 7") && !screen.contains("hunter2"), "{screen}");
    assert_eq!(end(&store(&place), job.id).await, End::Own(Exit::Code(0)));
}

#[tokio::test]
async fn the_screen_is_that_of_a_full_screen_program_and_keys_are_as_it_wants_them() {
    let place = Place::new(PUPPET);
    let lines: String = (1..=200).fold(String::new(), |text, line| text + "line " + &line.to_string() + "\n");
    std::fs::write(place.path().join("file"), lines).expect("it is written");
    let (job, terminal) = start(&place, at_terminal("LESS= less file")).await;
    wait_for_text(&terminal, "line 23").await;
    wait(&terminal, ScreenUntil::Input).await;
    assert!(terminal.screen().alternate && !terminal.screen().text().contains("line 30"));
    type_text(&place, &terminal, "", &["PageDown"]).await;
    wait_for_text(&terminal, "line 40").await;
    type_text(&place, &terminal, "/line 150", &["Enter"]).await;
    wait_for_text(&terminal, "line 150").await;
    type_text(&place, &terminal, "q", &[]).await;
    assert!(matches!(wait(&terminal, ScreenUntil::End).await, WaitOver::Ended(_)));
    assert_eq!(end(&store(&place), job.id).await, End::Own(Exit::Code(0)));
}

#[tokio::test]
async fn the_callers_time_is_a_hard_limit_also_while_output_never_pauses() {
    let place = Place::new(PUPPET);
    let (job, terminal) = start(&place, at_terminal("while :; do echo tick; sleep 0.01; done")).await;
    for until in
        [ScreenUntil::Quiet(Duration::from_secs(1)), ScreenUntil::Input, ScreenUntil::End, ScreenUntil::Settled]
    {
        let over = terminal.wait(&until, Duration::from_millis(300)).await.expect("it is there");
        assert_eq!(over, WaitOver::TimeUp, "{until:?}");
    }
    store(&place).stop(job.id, Stop::Ask).await.expect("it is told");
    assert!(matches!(end(&store(&place), job.id).await, End::Stopped { why: StopReason::Cancelled, .. }));
    place.check_nothing_survives();
}

#[tokio::test]
async fn a_program_that_asks_its_terminal_is_answered_once_however_many_attend() {
    let place = Place::new(PUPPET);
    // Asks for the place of the cursor, and shows how many answers came within a moment.
    let script = "stty raw -echo; until test -e go; do sleep 0.02; done; printf '\\033[6n'; sleep 0.5; \
                  IFS= read -rd '' -t 0.5 answer; stty sane; printf '%q\\n' \"$answer\"";
    let (_, first) = start(&place, at_terminal(script)).await;
    let second = store(&place).terminal(first.id()).await.expect("two may look");
    std::fs::write(place.path().join("go"), "").expect("it is written");
    wait(&first, ScreenUntil::End).await;
    wait(&second, ScreenUntil::End).await;
    let screen = first.screen().text();
    assert!(screen.contains("$'\\E[1;1R'"), "{screen}");
    assert_eq!(screen, second.screen().text());
}

#[tokio::test]
async fn the_next_who_attends_answers_when_the_first_is_gone() {
    let place = Place::new(PUPPET);
    // Asks for the place of the cursor until an answer comes.
    let script = "stty raw -echo; until test -e go; do sleep 0.02; done; \
                  until IFS= read -rd R -t 0.2 answer; do printf '\\033[6n'; done; stty sane; printf '%q\\n' \"$answer\"";
    let (_, first) = start(&place, at_terminal(script)).await;
    let second = store(&place).terminal(first.id()).await.expect("two may look");
    let third = store(&place).terminal(first.id()).await.expect("three may look");
    drop((first, second));
    std::fs::write(place.path().join("go"), "").expect("it is written");
    wait(&third, ScreenUntil::End).await;
    let screen = third.screen().text();
    assert!(screen.contains("$'\\E[1;1'"), "{screen}");
    place.check_nothing_survives();
}

#[tokio::test]
async fn a_job_that_has_ended_shows_its_last_screen_and_takes_no_input() {
    let place = Place::new(PUPPET);
    let (job, terminal) = start(&place, at_terminal("printf 'a\\033[2;5Hb\\n'; exit 3")).await;
    drop(terminal);
    assert_eq!(end(&store(&place), job.id).await, End::Own(Exit::Code(3)));
    let terminal = store(&place).terminal(job.id).await.expect("its screen is there");
    assert!(matches!(wait(&terminal, ScreenUntil::Now).await, WaitOver::Ended(_)));
    assert!(terminal.screen().text().starts_with("a\n    b\n"), "{}", terminal.screen().text());
    let refused = try_to_type(&place, &terminal, "x", &[]).await;
    let ended = matches!(refused, Err(JobInputError::Terminal(TerminalError::Control(ControlError::Ended { .. }))));
    assert!(ended, "{refused:?}");
}

#[tokio::test]
async fn a_job_without_a_terminal_says_so() {
    let place = Place::new(PUPPET);
    let job = place.engine().started_job(request("true")).await.expect("it starts");
    let refused = store(&place).terminal(job.id).await;
    assert!(matches!(refused, Err(TerminalError::NoTerminal { .. })), "{refused:?}");
}

#[tokio::test]
async fn a_flood_is_kept_whole_on_disk_and_the_screen_says_that_it_skipped() {
    let place = Place::new(PUPPET);
    let (job, terminal) = start(&place, at_terminal("seq 2000000; echo the end")).await;
    wait(&terminal, ScreenUntil::End).await;
    let screen = terminal.screen();
    assert!(screen.text().contains("the end"), "{}", screen.text());
    assert!(screen.skipped_bytes > 0, "a debug build cannot draw 16 MB in that time");
    let written = std::fs::read_to_string(&job.output_file).expect("it is kept");
    let numbers = written.lines().take(2_000_000).zip(1_u64..).filter(|(line, number)| *line == number.to_string());
    assert_eq!(numbers.count(), 2_000_000);
}

#[tokio::test]
async fn a_keeper_that_is_killed_hangs_up_on_its_job() {
    let place = Place::new(PUPPET);
    let (job, terminal) = start(&place, at_terminal("bash --norc -i")).await;
    wait(&terminal, ScreenUntil::Input).await;
    let keeper = std::fs::read_to_string(place.path().join(format!("jobs/live/{}", job.id))).expect("it lives");
    let keeper: i32 = keeper.split(' ').next().expect("a number").parse().expect("a number");
    let keeper = rustix::process::Pid::from_raw(keeper).expect("a process id");
    rustix::process::kill_process(keeper, rustix::process::Signal::KILL).expect("it is killed");
    place.check_nothing_survives();
    let over = terminal.wait(&ScreenUntil::End, WIDE).await;
    assert!(matches!(over, Ok(WaitOver::Ended(_))), "{over:?}");
}
