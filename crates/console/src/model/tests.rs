//! The model as a whole: events in, effects out.

use std::time::{Duration, Instant};

use bashful_render::{CardExit, CardState, Look};
use bashful_screen::Size;

use super::*;

struct Visit {
    model: Model,
    now: Instant,
}

impl Visit {
    fn new() -> Self {
        Self::with(ConsoleSettings::default())
    }

    fn with(settings: ConsoleSettings) -> Self {
        let mut model = Model::new(settings, Look::default(), vec!["make".to_owned()], (80, 24));
        model.list.fit(78, 21);
        Self { model, now: Instant::now() }
    }

    fn event(&mut self, event: Event) -> Vec<Effect> {
        let effects = self.model.handle(event, self.now);
        self.model.list.fit(78, 21);
        effects
    }

    /// Presses keys by their names, and returns what the last one leads to.
    fn keys(&mut self, names: &[&str]) -> Vec<Effect> {
        let mut effects = Vec::new();
        for name in names {
            effects = self.event(Event::Key(name.parse().expect("a key")));
        }
        effects
    }

    fn types(&mut self, text: &str) -> Vec<Effect> {
        self.event(Event::Paste(text.to_owned()));
        self.keys(&["Enter"])
    }

    /// Runs a command to its end.
    fn ran(&mut self, command: &str, output: &str) -> CardId {
        let card = run_of(&self.types(command)).0;
        let ending = Ending {
            state: CardState::Done,
            text: output.to_owned(),
            exit: Some(CardExit::Code(0)),
            notices: Vec::new(),
            ..Ending::failed(String::new())
        };
        self.event(Event::Ended { card, ending: Box::new(ending) });
        card
    }

    /// Draws the screen, and returns its rows.
    fn draw(&mut self, columns: u16, rows: u16) -> String {
        let mut buffer = ratatui_core::buffer::Buffer::empty(ratatui_core::layout::Rect::new(0, 0, columns, rows));
        crate::view::draw(&mut self.model, &mut buffer);
        self.model.shown(self.now);
        let row = |row| (0..columns).map(|column| buffer[(column, row)].symbol()).collect::<String>();
        (0..rows).map(row).collect::<Vec<_>>().join("\n")
    }

    /// Lets time pass.
    fn wait(&mut self, time: Duration) {
        self.now += time;
    }

    /// A question comes, is drawn, and can be answered.
    fn asked(&mut self, number: u64, about: &str) -> QuestionId {
        let id = QuestionId::Own(number);
        self.event(Event::Question(Question { id: id.clone(), origin: None, about: about.to_owned() }));
        self.draw(80, 24);
        self.wait(question::READING);
        self.event(Event::QuestionDue);
        id
    }

    fn note(&self) -> &str {
        self.model.note.as_deref().unwrap_or_default()
    }
}

fn run_of(effects: &[Effect]) -> (CardId, How, String) {
    let found = effects.iter().find_map(|effect| match effect {
        Effect::Run { card, how, command, .. } => Some((*card, *how, command.clone())),
        _ => None,
    });
    found.expect("a command is run")
}

fn watched(pid: i32) -> WatchedCommand {
    WatchedCommand {
        key: WatchedKey { host_pid: 7, pid: Some(pid), began_ms: 0 },
        origin: "mcp (process 7)".to_owned(),
        script: "make all".to_owned(),
        directory: "/src".to_owned(),
        age: Duration::from_secs(3),
        timeout: Duration::from_secs(30),
        bytes: 10,
        lines: 2,
        last_line: "cc -c main.c".to_owned(),
    }
}

fn job(id: u64, end: Option<JobEnd>) -> JobNews {
    JobNews {
        id,
        script: "npm start".to_owned(),
        directory: "/src".to_owned(),
        age: Duration::from_secs(5),
        timeout: Duration::from_hours(24),
        takes_input: true,
        hides_input: false,
        text: "listening".to_owned(),
        bytes: 9,
        end,
    }
}

#[test]
fn each_mark_has_its_way() {
    let mut visit = Visit::new();
    for (line, how, command) in [
        ("ls", How::Tool, "ls"),
        ("!cd /", How::Bang, "cd /"),
        ("/pty vim", How::Terminal, "vim"),
        ("/bg npm start", How::Background, "npm start"),
    ] {
        let (_, way, told) = run_of(&visit.types(line));
        assert_eq!((way, told.as_str()), (how, command));
    }
    visit.event(Event::Paste("top".to_owned()));
    let effects = visit.keys(&["F2"]);
    assert!(
        effects
            .iter()
            .any(|effect| matches!(effect, Effect::Run { how: How::Terminal, size, .. } if *size == Size::new(78, 20)))
    );
    assert!(effects.contains(&Effect::Remember("top".to_owned())));
    visit.event(Event::Paste("npm start".to_owned()));
    assert_eq!(run_of(&visit.keys(&["F3"])).1, How::Background);
}

#[test]
fn a_backslash_and_alt_enter_continue_the_line() {
    let mut visit = Visit::new();
    assert_eq!(visit.types("echo a \\"), []);
    visit.event(Event::Paste("b".to_owned()));
    visit.keys(&["M-Enter"]);
    let (_, _, command) = run_of(&visit.types("pwd"));
    assert_eq!(command, "echo a \\\nb\npwd");
}

#[test]
fn an_error_is_a_line_of_its_card() {
    let mut visit = Visit::new();
    let (card, ..) = run_of(&visit.types("ls"));
    visit.event(Event::Ended { card, ending: Box::new(Ending::failed("no bash found".to_owned())) });
    let listed = visit.model.list.selected().expect("a card");
    assert_eq!(
        (listed.card.state, listed.card.notices.as_slice()),
        (CardState::Failed, ["no bash found".to_owned()].as_slice())
    );
    assert!(!visit.model.is_ticking());
}

#[test]
fn following_stops_when_scrolled_up_and_new_lines_are_counted() {
    let mut visit = Visit::new();
    for number in 0..5 {
        visit.ran(&format!("echo {number}"), "a\nb\nc\nd\ne\nf\n");
    }
    assert_eq!(visit.model.list.unseen(), None);
    visit.keys(&["PageUp"]);
    assert_eq!(visit.model.list.unseen(), Some(0));
    visit.event(Event::Job(Box::new(job(3, None))));
    assert_eq!(visit.model.list.unseen(), Some(2));
    visit.keys(&["Escape", "End"]);
    assert_eq!(visit.model.list.unseen(), None);
}

#[test]
fn a_search_expands_and_selects() {
    let mut visit = Visit::new();
    let first = visit.ran("one", &format!("needle\n{}", "hay\n".repeat(50)));
    visit.ran("two", "hay");
    visit.keys(&["Escape", "/"]);
    assert_eq!(visit.model.purpose, Purpose::Search);
    visit.types("needle");
    let selected = visit.model.list.selected().expect("a card");
    assert!(selected.id == first && selected.card.expanded);
    visit.keys(&["/"]);
    visit.types("absent");
    assert_eq!(visit.note(), "not found: absent");
}

#[test]
fn output_and_command_are_copied_and_paged() {
    let mut visit = Visit::new();
    visit.ran("ls", "notes\n");
    assert_eq!(visit.keys(&["Escape", "y"]), [Effect::Copy("notes\n".to_owned())]);
    assert_eq!(visit.keys(&["Y"]), [Effect::Copy("ls".to_owned())]);
    assert_eq!(visit.keys(&["o"]), [Effect::Page { text: "notes\n".to_owned(), artifact: None }]);
}

#[test]
fn only_what_is_shown_is_copied_and_paged() {
    let mut visit = Visit::new();
    visit.ran("ls", "rm -rf /x; \r\x1b[31mls -la \x1b[0m\x1b]0;EVIL\x07\x1b[?1003h\nnext\n");
    assert_eq!(visit.keys(&["Escape", "y"]), [Effect::Copy("ls -la \nnext\n".to_owned())]);
    let text = "\x1b[0;31mls -la \x1b[0m\nnext\n".to_owned();
    assert_eq!(visit.keys(&["o"]), [Effect::Page { text, artifact: None }]);
    visit.ran("echo \u{202e}", "");
    visit.keys(&["Escape"]);
    assert_eq!(visit.keys(&["Y"]), [Effect::Copy("echo \\u{202e}".to_owned())]);
}

#[test]
fn a_paste_that_is_too_long_is_refused_as_a_whole() {
    let mut visit = Visit::new();
    visit.event(Event::Paste("echo ".to_owned()));
    visit.event(Event::Paste("x".repeat(70_000)));
    assert_eq!(visit.note(), "the paste is too long for a line (70000 bytes): nothing of it was typed");
    assert_eq!(visit.model.input.text(), "echo ");
}

#[test]
fn text_for_a_password_prompt_is_neither_shown_nor_kept() {
    let mut visit = Visit::new();
    visit.event(Event::Job(Box::new(JobNews { hides_input: true, ..job(3, None) })));
    assert_eq!(visit.keys(&["Escape", "i"]), [Effect::LookAtJobs]);
    visit.event(Event::Paste("SECRET1".to_owned()));
    let screen = visit.draw(80, 24);
    assert!(screen.contains("to job 3 (hidden): *******") && !screen.contains("SECRET1"), "{screen}");
    // It stays hidden, though the program shows again what is typed.
    visit.event(Event::Job(Box::new(job(3, None))));
    assert!(!visit.draw(80, 24).contains("SECRET1"));
    assert_eq!(visit.keys(&["Enter"]), [Effect::Send { job: 3, text: "SECRET1".to_owned() }]);
    assert!(!visit.draw(80, 24).contains("SECRET1"));
    // A prompt that comes while somebody types.
    visit.keys(&["Escape", "i"]);
    visit.event(Event::Paste("SECRET2".to_owned()));
    visit.event(Event::Job(Box::new(JobNews { hides_input: true, ..job(3, None) })));
    assert!(!visit.draw(80, 24).contains("SECRET2"));
    visit.keys(&["Enter"]);
    assert_eq!(visit.types("/send 3 SECRET3"), [Effect::Send { job: 3, text: "SECRET3".to_owned() }]);
    visit.keys(&["Up"]);
    assert_eq!(visit.model.input.text(), "make");
}

#[test]
fn a_line_that_is_entered_again_confirms() {
    let mut visit = Visit::new();
    visit.types("sleep 100");
    assert_eq!(visit.types("/quit"), [Effect::Remember("/quit".to_owned())]);
    assert_eq!(visit.note(), "1 command runs; /quit again stops it and leaves");
    assert!(visit.types("/quit").contains(&Effect::Quit));
    // Another line comes between.
    let mut visit = Visit::new();
    visit.types("sleep 100");
    visit.types("/quit");
    visit.types("ls");
    assert!(!visit.types("/quit").contains(&Effect::Quit));
    let mut visit = Visit::new();
    visit.event(Event::Watched(vec![watched(1)]));
    visit.types("/stop");
    assert_eq!(visit.note(), "/stop again stops make all");
    assert!(visit.types("/stop").contains(&Effect::StopWatched(watched(1).key)));
}

#[test]
fn control_c_never_leaves() {
    let mut visit = Visit::new();
    assert_eq!(visit.keys(&["C-c"]), []);
    assert_eq!(visit.note(), "nothing runs; Ctrl-D or /quit leaves");
    assert_eq!(visit.keys(&["C-c"]), []);
}

#[test]
fn a_busy_session_ends_at_the_second_key() {
    let mut visit = Visit::new();
    let row = |name: &str, is_busy| SessionRow {
        name: name.to_owned(),
        state: String::new(),
        is_busy,
        directory: String::new(),
        commands: 1,
    };
    visit.event(Event::Sessions(vec![row("busy", true), row("idle", false)]));
    assert_eq!(visit.keys(&["s"]), []);
    assert_eq!(visit.note(), "session busy runs a command; s again ends both");
    assert_eq!(visit.keys(&["s"]), [Effect::EndSession("busy".to_owned())]);
    visit.keys(&["s", "Down"]);
    assert_eq!(visit.keys(&["s"]), [Effect::EndSession("idle".to_owned())]);
    assert_eq!(visit.keys(&["Up", "s"]), []);
}

#[test]
fn a_key_for_another_way_takes_the_command_alone() {
    let mut visit = Visit::new();
    for (line, key, how, command) in [
        ("!echo hi", "F2", How::Terminal, "echo hi"),
        ("/pty echo hi", "F3", How::Background, "echo hi"),
        ("/bin/echo hi", "F3", How::Background, "/bin/echo hi"),
    ] {
        visit.event(Event::Paste(line.to_owned()));
        let (_, way, told) = run_of(&visit.keys(&[key]));
        assert_eq!((way, told.as_str()), (how, command), "{line}");
    }
    visit.event(Event::Paste("/quit".to_owned()));
    assert_eq!(visit.keys(&["F2"]), []);
    assert_eq!(visit.note(), "type a command first");
}

#[test]
fn a_command_is_repeated_with_its_way() {
    for line in ["ls", "!ls", "/pty ls", "/bg ls"] {
        let mut visit = Visit::new();
        visit.ran(line, "");
        visit.keys(&["Escape", "r"]);
        assert_eq!(visit.model.input.text(), line);
    }
}

#[test]
fn the_card_of_a_program_with_a_screen_has_its_last_screen() {
    let mut visit = Visit::new();
    let (card, ..) = run_of(&visit.types("/pty menu"));
    visit.event(Event::TerminalBegan { card });
    let overlay = visit.model.overlay.as_mut().expect("an overlay");
    overlay.push(b"\x1b[2J\x1b[1;1Hone\x1b[2;3Htwo\x1b[1;1Hnew");
    visit.event(Event::TerminalEnded { card });
    let ending = Ending { text: "one\n  two\nstairs".to_owned(), ..Ending::failed(String::new()) };
    visit.event(Event::Ended { card, ending: Box::new(ending) });
    assert_eq!(visit.model.list.selected().expect("a card").card.output, "new\n  two");
}

#[test]
fn control_c_empties_the_line_then_stops_the_command_then_leaves() {
    let mut visit = Visit::new();
    let (card, ..) = run_of(&visit.types("sleep 100"));
    visit.event(Event::Paste("half".to_owned()));
    assert_eq!(visit.keys(&["C-c"]), []);
    assert!(visit.model.input.is_empty());
    assert_eq!(visit.keys(&["C-c"]), [Effect::Cancel(card)]);
    assert_eq!(visit.keys(&["C-d"]), []);
    assert_eq!(visit.note(), "1 command runs; Ctrl-D again stops it and leaves");
    assert_eq!(visit.keys(&["C-d"]), [Effect::Quit]);
}

#[test]
fn commands_elsewhere_come_and_go_and_stop_at_the_second_key() {
    let mut visit = Visit::new();
    visit.event(Event::Watched(vec![watched(1), watched(2)]));
    assert_eq!(visit.model.counts(), [0, 2, 0]);
    assert!(visit.model.is_ticking());
    visit.keys(&["Escape"]);
    assert_eq!(visit.keys(&["s"]), []);
    assert_eq!(visit.note(), "s again stops make all");
    assert_eq!(visit.keys(&["s"]), [Effect::StopWatched(watched(2).key)]);
    visit.event(Event::Watched(vec![watched(1)]));
    assert_eq!(visit.note(), "mcp (process 7) has ended: make all");
    assert_eq!(visit.model.counts(), [0, 1, 0]);
}

#[test]
fn a_job_is_followed_written_to_and_stopped() {
    let mut visit = Visit::new();
    visit.event(Event::Job(Box::new(job(3, None))));
    visit.keys(&["Escape", "i"]);
    assert_eq!(visit.model.purpose, Purpose::Send { job: 3, is_hidden: false });
    assert_eq!(visit.types("yes"), [Effect::Send { job: 3, text: "yes".to_owned() }]);
    visit.keys(&["Escape", "s"]);
    assert_eq!(visit.keys(&["s"]), [Effect::StopJob(3)]);
    let end = JobEnd { state: CardState::Cancelled, exit: None };
    visit.event(Event::Job(Box::new(job(3, Some(end)))));
    assert_eq!(visit.model.list.selected().expect("a card").card.state, CardState::Cancelled);
    assert_eq!(visit.keys(&["i"]), []);
    assert_eq!(visit.note(), "the selected command takes no input");
}

#[test]
fn a_command_that_becomes_a_job_keeps_its_card() {
    let mut visit = Visit::new();
    let (card, ..) = run_of(&visit.types("/bg npm start"));
    // The record is there before the answer to the call is.
    let ending =
        Ending { state: CardState::Backgrounded, job: Some(3), notices: Vec::new(), ..Ending::failed(String::new()) };
    visit.event(Event::Ended { card, ending: Box::new(ending) });
    visit.event(Event::Job(Box::new(job(3, None))));
    assert_eq!(visit.model.list.cards().len(), 1);
    assert_eq!(visit.model.counts(), [0, 0, 1]);
    visit.event(Event::Job(Box::new(job(3, Some(JobEnd { state: CardState::Done, exit: Some(CardExit::Code(0)) })))));
    let listed = &visit.model.list.cards()[0].card;
    assert_eq!((listed.state, listed.output.as_str()), (CardState::Done, "listening"));
}

#[test]
fn a_console_below_a_keeper_acts_on_nothing_of_others() {
    let no_person = Some("a command has started this program".to_owned());
    let mut visit = Visit::with(ConsoleSettings { no_person, ..ConsoleSettings::default() });
    visit.event(Event::Watched(vec![watched(1)]));
    visit.keys(&["Escape"]);
    assert_eq!(visit.keys(&["s", "s"]), []);
    assert_eq!(visit.note(), "not allowed here: a command has started this program");
    visit.event(Event::Job(Box::new(job(3, None))));
    visit.keys(&["End"]);
    assert_eq!(visit.keys(&["s", "s"]), []);
    assert_eq!(visit.keys(&["i"]), []);
    visit.keys(&["Escape"]);
    assert_eq!(visit.types("/stop 3"), [Effect::Remember("/stop 3".to_owned())]);
    assert_eq!(visit.types("/send 3 yes"), []);
}

#[test]
fn a_question_is_answered_by_alt_alone() {
    let mut visit = Visit::new();
    let id = visit.asked(1, "May this run?");
    assert_eq!(visit.keys(&["y"]), []);
    assert_eq!(visit.model.input.text(), "y");
    assert_eq!(visit.keys(&["M-y"]), [Effect::Answer { question: id, yes: true }]);
    assert!(visit.model.questions.is_empty());
    let id = visit.asked(2, "");
    visit.event(Event::Withdrawn(id));
    assert_eq!(visit.keys(&["M-y"]), []);
}

#[test]
fn an_answer_counts_for_a_question_that_was_on_the_screen_for_a_while() {
    const TOO_EARLY: &str = "not answered: the question has only just come; read it first";
    let mut visit = Visit::new();
    let ids: Vec<QuestionId> = (1..=4).map(QuestionId::Own).collect();
    for id in &ids {
        visit.event(Event::Question(Question { id: id.clone(), origin: None, about: "May this run?".to_owned() }));
    }
    // It was never drawn.
    visit.wait(question::READING);
    assert_eq!((visit.keys(&["M-y"]), visit.note()), (Vec::new(), TOO_EARLY));
    assert!(visit.draw(80, 24).contains("read it first"));
    visit.wait(question::READING / 2);
    assert_eq!((visit.keys(&["M-n"]), visit.note()), (Vec::new(), TOO_EARLY));
    visit.wait(question::READING / 2);
    assert_eq!(visit.model.question_due(), Some(visit.now));
    visit.event(Event::QuestionDue);
    assert!(visit.draw(80, 24).contains("Alt-Y approves"));
    // Three keys at once answer one question.
    let answers: Vec<Effect> = (0..3).flat_map(|_| visit.keys(&["M-y"])).collect();
    assert_eq!(answers, [Effect::Answer { question: ids[0].clone(), yes: true }]);
    // A question that is withdrawn passes nothing on to the next.
    visit.draw(80, 24);
    visit.wait(question::READING);
    visit.event(Event::Withdrawn(ids[1].clone()));
    assert_eq!(visit.keys(&["M-y"]), []);
    visit.draw(80, 24);
    // A pager that had the screen meanwhile hid it.
    visit.model.see_question(None);
    visit.wait(question::READING);
    assert_eq!(visit.keys(&["M-y"]), []);
}

#[test]
fn a_question_about_a_long_script_shows_its_findings_or_is_not_approved() {
    let script: Vec<String> = (1..=200).map(|line| format!("  | echo {line}")).collect();
    let about = format!("May this run in /src?\n\n{}\n\nrm/root: it removes all\nfound: rm -rf /", script.join("\n"));
    let mut visit = Visit::new();
    let id = visit.asked(1, &about);
    let screen = visit.draw(80, 24);
    for part in ["rm/root: it removes all", "found: rm -rf /", "| echo 1 ", "… 187 more lines, 0 above"] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    assert_eq!(visit.keys(&["M-Down", "M-Down"]), []);
    let screen = visit.draw(80, 24);
    assert!(screen.contains("| echo 3 ") && screen.contains("… 185 more lines, 2 above"), "{screen}");
    (0..300).for_each(|_| drop(visit.keys(&["M-Down"])));
    let screen = visit.draw(80, 24);
    assert!(screen.contains("| echo 200 ") && screen.contains("… 0 more lines, 187 above"), "{screen}");
    // Too small for the findings.
    let screen = visit.draw(80, 9);
    assert!(screen.contains("the window is too small to show why"), "{screen}");
    assert_eq!(visit.keys(&["M-y"]), []);
    assert_eq!(visit.note(), "not approved: the window is too small to show why the guard asks");
    visit.draw(80, 24);
    assert_eq!(visit.keys(&["M-y"]), [Effect::Answer { question: id, yes: true }]);
}

#[test]
fn a_question_is_told_over_a_program_and_shown_by_a_key() {
    let mut visit = Visit::new();
    let (card, ..) = run_of(&visit.types("/pty vim"));
    visit.event(Event::TerminalBegan { card });
    let id = visit.asked(1, "May this run?");
    let screen = visit.draw(80, 24);
    assert!(screen.contains("the guard asks: Ctrl-] a") && !screen.contains("May this run?"), "{screen}");
    assert_eq!(visit.keys(&["M-y"]), [Effect::Type(b"\x1by".to_vec())]);
    visit.keys(&["C-]", "a"]);
    assert!(visit.draw(80, 24).contains("May this run?"));
    // It has only just come on the screen.
    assert_eq!(visit.keys(&["M-y"]), []);
    visit.wait(question::READING);
    assert_eq!(visit.keys(&["M-y"]), [Effect::Answer { question: id, yes: true }]);
    assert_eq!(visit.keys(&["x"]), [Effect::Type(b"x".to_vec())]);
    // Any other key hides it, and is not for the program.
    visit.asked(2, "May that run?");
    visit.keys(&["C-]", "a"]);
    assert_eq!(visit.keys(&["Escape"]), []);
    assert!(!visit.draw(80, 24).contains("May that run?"));
}

#[test]
fn the_overlay_has_every_key() {
    let mut visit = Visit::new();
    let (card, ..) = run_of(&visit.types("/pty vim"));
    visit.event(Event::TerminalBegan { card });
    assert_eq!(visit.keys(&["C-c"]), [Effect::Type(vec![3])]);
    assert_eq!(visit.keys(&["?"]), [Effect::Type(b"?".to_vec())]);
    assert_eq!(visit.event(Event::Resized { columns: 100, rows: 40 }), [Effect::Resize(Size::new(98, 36))]);
    assert_eq!(visit.keys(&["Escape"]), [Effect::KillTerminal]);
    visit.event(Event::TerminalEnded { card });
    assert!(visit.model.overlay.is_none());
}

#[test]
fn history_and_completion_fill_the_line() {
    let mut visit = Visit::new();
    visit.keys(&["Up"]);
    assert_eq!(visit.model.input.text(), "make");
    visit.keys(&["C-u"]);
    visit.event(Event::Paste("cat no".to_owned()));
    let effects = visit.keys(&["Tab"]);
    let Some(Effect::Complete { word, text }) = effects.into_iter().next() else { panic!("a completion") };
    let names = vec![PathName { name: "notes".to_owned(), is_directory: false }];
    visit.event(Event::Names { word: word.clone(), text: text.clone(), names: names.clone() });
    assert_eq!(visit.model.input.text(), "cat notes ");
    // Names that come late change nothing.
    visit.event(Event::Names { word, text, names });
    assert_eq!(visit.model.input.text(), "cat notes ");
}

#[test]
fn nothing_ticks_while_nothing_runs() {
    let mut visit = Visit::new();
    assert!(!visit.model.is_ticking());
    visit.ran("ls", "");
    assert!(!visit.model.is_ticking());
    visit.types("sleep 100");
    assert!(visit.model.is_ticking());
}

mod any_keys {
    use proptest::prelude::*;

    use super::*;

    const NAMES: &[&str] = &[
        "Enter", "Escape", "Tab", "Up", "Down", "PageUp", "PageDown", "Home", "End", "BSpace", "DC", "Left", "Right",
        "C-c", "C-o", "C-w", "C-u", "C-k", "C-d", "M-y", "M-n", "M-Enter", "F1", "F2", "F3", "/", "n", "N", "y", "s",
        "i", "r", "S", "?", "e", "q", "é", "\\", "!", "x", "g", "G", "k", "j",
    ];

    proptest! {
        #[test]
        fn no_row_of_keys_and_news_breaks_the_model(steps in proptest::collection::vec(0..NAMES.len() + 8, 0..80)) {
            let mut visit = Visit::new();
            let mut cards = Vec::new();
            for step in steps {
                let effects = match step.checked_sub(NAMES.len()) {
                    None => visit.keys(&[NAMES[step]]),
                    Some(0) => visit.event(Event::Watched(vec![watched(1)])),
                    Some(1) => visit.event(Event::Watched(Vec::new())),
                    Some(2) => visit.event(Event::Job(Box::new(job(3, None)))),
                    Some(3) => visit.event(Event::Tick),
                    Some(4) => visit.event(Event::Resized { columns: 10, rows: 3 }),
                    Some(5) => visit.event(Event::Sessions(Vec::new())),
                    Some(6) => match cards.pop() {
                        Some(card) => visit.event(Event::Ended { card, ending: Box::new(Ending::failed("why".to_owned())) }),
                        None => Vec::new(),
                    },
                    Some(_) => match cards.last() {
                        Some(card) => visit.event(Event::TerminalBegan { card: *card }),
                        None => Vec::new(),
                    },
                };
                cards.extend(effects.iter().filter_map(|effect| match effect {
                    Effect::Run { card, .. } => Some(*card),
                    _ => None,
                }));
                let mut buffer = ratatui_core::buffer::Buffer::empty(ratatui_core::layout::Rect::new(0, 0, 30, 9));
                crate::view::draw(&mut visit.model, &mut buffer);
            }
        }
    }
}
