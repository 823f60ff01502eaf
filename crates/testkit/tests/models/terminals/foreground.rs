//! A terminal while a call waits for its command.

use std::time::Duration;

use bashful_engine::{
    AttendedTerminal, Caller, End, Engine, Exit, Grace, InputWait, Lifetime, Outcome, Reply, Request, RunError,
    StopReason, TerminalSize, TypeError,
};
use bashful_testkit::{Place, WIDE, eventually};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::at_terminal;
use crate::PUPPET;

const WELL: End = End::Own(Exit::Code(0));

/// The numbers up to this one, each on a line.
fn numbers(last: u32) -> String {
    (1..=last).fold(String::new(), |text, number| text + &number.to_string() + "\n")
}

/// Runs a script at a terminal to its end.
async fn run(place: &Place, script: &str) -> Outcome {
    let reply = tokio::time::timeout(WIDE, place.engine().run(at_terminal(script))).await.expect("it ends");
    match reply.expect("it runs") {
        Reply::Finished(finished) => finished.outcome,
        other => panic!("it did not run: {other:?}"),
    }
}

#[track_caller]
fn check(script: &str, text: &str, end: End) {
    block_on(async {
        let place = Place::new(PUPPET);
        let outcome = run(&place, script).await;
        assert_eq!((outcome.output.text().as_str(), outcome.end), (text, end));
        place.check_nothing_survives();
    });
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .worker_threads(2)
        .build()
        .expect("a runtime")
        .block_on(future)
}

/// A command that runs, and its terminal.
struct Attended {
    call: JoinHandle<Result<Reply, RunError>>,
    terminal: AttendedTerminal,
}

async fn attend(engine: &Engine, request: Request) -> Attended {
    let (host, terminal) = oneshot::channel();
    let caller = Caller { terminal: Some(host), ..Caller::default() };
    let engine = engine.clone();
    let call = tokio::spawn(async move { engine.call(request, caller).await });
    let terminal = tokio::time::timeout(WIDE, terminal).await.expect("it starts").expect("it has a terminal");
    Attended { call, terminal }
}

impl Attended {
    async fn end(self) -> Outcome {
        drop(self.terminal);
        let reply = tokio::time::timeout(WIDE, self.call).await.expect("it ends").expect("no panic").expect("it runs");
        match reply {
            Reply::Finished(finished) => finished.outcome,
            other => panic!("it did not run: {other:?}"),
        }
    }

    async fn types(&self, bytes: &[u8]) {
        self.terminal.terminal.type_bytes(bytes, WIDE).await.expect("it is typed");
    }

    async fn waits_for_input(&self) -> InputWait {
        let terminal = self.terminal.terminal.clone();
        tokio::task::spawn_blocking(move || {
            // An editor of lines, as bash has one, waits for several things at once.
            let waits = || matches!(terminal.input_wait(), InputWait::Waiting { .. } | InputWait::Perhaps);
            assert!(eventually(waits), "it never waits for input: {:?}", terminal.input_wait());
            terminal.input_wait()
        })
        .await
        .expect("no panic")
    }
}

#[test]
fn the_terminal_is_the_controlling_terminal_and_has_its_size() {
    check(
        "test -t 0 -a -t 1 -a -t 2 && echo tty >/dev/tty; stty size; echo $TERM",
        "tty\n24 80\nxterm-256color\n",
        WELL,
    );
}

#[test]
fn exit_codes_and_signals_are_as_without_a_terminal() {
    check("echo out; echo err >&2; exit 7", "out\nerr\n", End::Own(Exit::Code(7)));
    check("kill -9 $$", "", End::Own(Exit::Signal(9)));
}

#[test]
fn what_is_written_last_is_not_lost() {
    let lines: String = numbers(3000);
    check("seq 3000", &lines, WELL);
}

#[test]
fn a_terminal_that_was_closed_can_be_opened_again() {
    check(
        "exec </dev/null >/dev/null 2>&1; sleep 0.1; seq 2000 >/dev/tty; echo end >/dev/tty",
        &{
            let mut lines: String = numbers(2000);
            lines.push_str("end\n");
            lines
        },
        WELL,
    );
}

#[test]
fn a_child_in_the_background_writes_on_after_its_shell_has_ended() {
    block_on(async {
        let place = Place::new(PUPPET);
        let outcome = run(&place, "(sleep 0.3; echo late; touch done) & echo early").await;
        assert_eq!((outcome.output.text().as_str(), outcome.end), ("early\n", WELL));
        let left = outcome.leftover.expect("the child is left");
        place.wait_for("done");
        let file = left.output_file.expect("its output continues");
        let text = || std::fs::read_to_string(&file).expect("it is readable");
        assert!(eventually(|| text().contains("late")), "{}", text());
        place.check_nothing_survives();
    });
}

#[test]
fn an_interactive_shell_that_ignores_a_request_to_end_is_hung_up_on() {
    block_on(async {
        let mut place = Place::new(PUPPET);
        place.options.grace = Grace(WIDE);
        let attended = attend(&place.engine(), at_terminal("exec bash --norc -i")).await;
        attended.waits_for_input().await;
        attended.terminal.stop(StopReason::Cancelled);
        let outcome = attended.end().await;
        assert!(matches!(outcome.end, End::Stopped { why: StopReason::Cancelled, .. }), "{:?}", outcome.end);
        assert!(outcome.elapsed < WIDE);
        place.check_nothing_survives();
    });
}

#[test]
fn a_time_limit_ends_all_that_runs_at_a_terminal() {
    block_on(async {
        let mut place = Place::new(PUPPET);
        place.options.grace = Grace(Duration::from_millis(100));
        place.options.lifetime = Lifetime(Duration::from_millis(300));
        let outcome =
            run(&place, "trap '' TERM HUP; setsid sleep 1000 & nohup sleep 1000 & while :; do sleep 1000; done").await;
        assert!(matches!(outcome.end, End::Stopped { why: StopReason::TimeUp, .. }), "{:?}", outcome.end);
        place.check_nothing_survives();
    });
}

#[test]
fn a_dropped_call_ends_all_that_runs_at_a_terminal() {
    block_on(async {
        let place = Place::new(PUPPET);
        let attended = attend(&place.engine(), at_terminal("setsid sleep 1000 & touch begun; sleep 1000")).await;
        place.wait_for("begun");
        attended.call.abort();
        place.check_nothing_survives();
    });
}

#[test]
fn typed_text_reaches_the_program_and_control_c_interrupts_it() {
    block_on(async {
        let place = Place::new(PUPPET);
        let attended = attend(&place.engine(), at_terminal("read -r name; echo \"<$name>\"; cat; echo ended $?")).await;
        assert_eq!(attended.waits_for_input().await, InputWait::Waiting { password: false });
        attended.types("Zoë\n".as_bytes()).await;
        attended.types(b"line\r").await;
        attended.waits_for_input().await;
        attended.types(b"\x04").await;
        let outcome = attended.end().await;
        let text = outcome.output.text();
        assert!(text.contains("<Zoë>\n") && text.ends_with("line\nended 0\n"), "{text}");
        assert_eq!(outcome.end, WELL);

        let attended =
            attend(&place.engine(), at_terminal("trap 'echo interrupted; exit 5' INT; echo ready; sleep 1000")).await;
        let terminal = attended.terminal.terminal.clone();
        let sleeps =
            move || terminal.programs().iter().any(|program| program.is_foreground && program.name.contains("sleep"));
        assert!(tokio::task::spawn_blocking(move || eventually(sleeps)).await.expect("no panic"));
        attended.types(b"\x03").await;
        let outcome = attended.end().await;
        assert!(outcome.output.text().contains("interrupted"), "{}", outcome.output.text());
        assert_eq!(outcome.end, End::Own(Exit::Code(5)));
        place.check_nothing_survives();
    });
}

#[test]
fn a_password_prompt_is_told_from_others() {
    block_on(async {
        let place = Place::new(PUPPET);
        let attended = attend(&place.engine(), at_terminal("read -rs secret; echo got ${#secret}")).await;
        assert_eq!(attended.waits_for_input().await, InputWait::Waiting { password: true });
        attended.types(b"hunter2\n").await;
        let outcome = attended.end().await;
        assert_eq!(outcome.output.text(), "got 7\n");
    });
}

#[test]
fn a_line_that_the_terminal_would_cut_is_refused_and_raw_mode_takes_it() {
    block_on(async {
        let place = Place::new(PUPPET);
        let long = vec![b'x'; 6000];
        let attended = attend(&place.engine(), at_terminal("read -r line; echo ${#line}")).await;
        attended.waits_for_input().await;
        let refused = attended.terminal.terminal.type_bytes(&long, WIDE).await;
        assert!(matches!(refused, Err(TypeError::LineTooLong { bytes: 6000 })), "{refused:?}");
        attended.types(&long[..4000]).await;
        let refused = attended.terminal.terminal.type_bytes(&long[..96], WIDE).await;
        assert!(matches!(refused, Err(TypeError::LineTooLong { bytes: 4096 })), "{refused:?}");
        attended.types(&[&long[..95], b"\n"].concat()).await;
        let outcome = attended.end().await;
        assert!(outcome.output.text().ends_with("4095\n"), "the line came whole");

        let script = "stty raw -echo; touch raw; head -c 6000 | wc -c";
        let attended = attend(&place.engine(), at_terminal(script)).await;
        place.wait_for("raw");
        attended.types(&long).await;
        assert_eq!(attended.end().await.output.text().trim(), "6000");
    });
}

#[test]
fn a_terminal_is_resized_while_its_program_runs() {
    block_on(async {
        let place = Place::new(PUPPET);
        let script = "trap 'stty size; exit 0' WINCH; touch ready; while :; do sleep 0.05; done";
        let attended = attend(&place.engine(), at_terminal(script)).await;
        place.wait_for("ready");
        attended.terminal.terminal.resize(TerminalSize::new(100, 30)).expect("it is resized");
        let outcome = attended.end().await;
        assert_eq!(outcome.output.text(), "30 100\n");
    });
}

#[test]
fn control_z_is_told_and_the_command_goes_on_when_it_is_resumed() {
    block_on(async {
        let place = Place::new(PUPPET);
        let attended = attend(&place.engine(), at_terminal("echo begun; touch begun; sleep 0.2; echo went on")).await;
        place.wait_for("begun");
        let mut suspensions = attended.terminal.suspensions.clone();
        attended.types(b"\x1a").await;
        tokio::time::timeout(WIDE, suspensions.wait_for(|count| *count == 1))
            .await
            .expect("it is told")
            .expect("it runs");
        attended.terminal.resume();
        let outcome = attended.end().await;
        assert!(outcome.output.text().ends_with("went on\n"), "{}", outcome.output.text());
        assert_eq!(outcome.end, WELL);
    });
}

#[test]
fn control_s_does_not_stop_the_output() {
    block_on(async {
        let place = Place::new(PUPPET);
        let attended =
            attend(&place.engine(), at_terminal("touch begun; until test -e go; do sleep 0.02; done; seq 3000")).await;
        place.wait_for("begun");
        attended.types(b"\x13").await;
        std::fs::write(place.path().join("go"), "").expect("it is written");
        let outcome = attended.end().await;
        assert!(outcome.output.text().ends_with("3000\n"));
    });
}

#[test]
fn a_keeper_that_led_a_terminal_is_not_used_again() {
    block_on(async {
        let place = Place::new(PUPPET);
        let engine = place.engine();
        engine.run(at_terminal("echo hi")).await.expect("it runs");
        let reply = engine
            .run(bashful_testkit::request("test -t 0 || (: </dev/tty) 2>/dev/null && echo terminal || echo none"))
            .await;
        let Ok(Reply::Finished(finished)) = reply else { panic!("{reply:?}") };
        assert_eq!(finished.outcome.output.text(), "none\n");
    });
}
