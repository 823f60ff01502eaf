//! The screen at several sizes, on the test backend, compared with files. `GOLDEN=write` writes them anew.

use std::path::Path;
use std::time::{Duration, Instant};

use bashful_render::{CardExit, CardState, Look};
use bashful_testkit::check_golden;
use ratatui_core::backend::TestBackend;
use ratatui_core::terminal::Terminal;

use super::*;
use crate::model::{
    CardId, ConsoleSettings, Ending, Event, JobNews, Question, QuestionId, SessionRow, WatchedCommand, WatchedKey,
};

const SIZES: [(u16, u16); 3] = [(80, 24), (120, 40), (300, 100)];

fn model(size: (u16, u16)) -> (Model, Instant) {
    let title = "native  ~/src".to_owned();
    let settings = ConsoleSettings { title, timeout: Some(Duration::from_hours(1)), ..ConsoleSettings::default() };
    let look = Look { expand_key: Some("Ctrl-O".to_owned()), ..Look::default() };
    (Model::new(settings, look, Vec::new(), size), Instant::now())
}

fn enter(model: &mut Model, line: &str, now: Instant) {
    model.handle(Event::Paste(line.to_owned()), now);
    model.handle(Event::Key("Enter".parse().expect("a key")), now);
}

fn end(model: &mut Model, card: u64, state: CardState, code: Option<i64>, text: &str, now: Instant) {
    let ending = Ending {
        state,
        text: text.to_owned(),
        exit: code.map(CardExit::Code),
        elapsed: Some(Duration::from_millis(1234)),
        size: Some(text.len() as u64),
        notices: Vec::new(),
        ..Ending::failed(String::new())
    };
    model.handle(Event::Ended { card: CardId(card), ending: Box::new(ending) }, now);
}

/// A console in the middle of its work.
fn busy(size: (u16, u16)) -> (Model, Instant) {
    let (mut model, now) = model(size);
    enter(&mut model, "seq 30", now);
    end(&mut model, 1, CardState::Done, Some(0), &(1..=30).map(|n| n.to_string()).collect::<Vec<_>>().join("\n"), now);
    enter(&mut model, "!cargo test", now);
    let colored =
        "running 2 tests\ntest one ... \x1b[32mok\x1b[0m\ntest two ... \x1b[1;31mFAILED\x1b[0m\n日本語 und e\u{301}\n";
    end(&mut model, 2, CardState::Failed, Some(101), colored, now);
    enter(&mut model, "make all", now);
    model.handle(Event::Progress { card: CardId(3), text: "cc -c main.c\n".to_owned(), bytes: 13, lines: 1 }, now);
    let command = WatchedCommand {
        key: WatchedKey { host_pid: 77, pid: Some(78), began_ms: 0 },
        origin: "mcp (process 77)".to_owned(),
        script: "npm test".to_owned(),
        directory: "/home/you/app".to_owned(),
        age: Duration::from_secs(3),
        timeout: Duration::from_secs(30),
        bytes: 2048,
        lines: 40,
        last_line: "PASS src/app.test.js".to_owned(),
    };
    model.handle(Event::Watched(vec![command]), now);
    let job = JobNews {
        id: 4,
        script: "npm start".to_owned(),
        directory: "/home/you/app".to_owned(),
        age: Duration::from_secs(65),
        timeout: Duration::from_hours(24),
        takes_input: true,
        hides_input: false,
        text: "listening on port 3000\n".to_owned(),
        bytes: 23,
        end: None,
    };
    model.handle(Event::Job(Box::new(job)), now);
    (model, now)
}

#[track_caller]
fn check(name: &str, make: impl Fn((u16, u16)) -> Model) {
    for (columns, rows) in SIZES {
        let mut model = make((columns, rows));
        let mut terminal = Terminal::new(TestBackend::new(columns, rows)).expect("a terminal");
        let drawn = terminal.draw(|frame| {
            let cursor = draw(&mut model, frame.buffer_mut());
            if let Some(cursor) = cursor {
                frame.set_cursor_position(cursor);
            }
        });
        let buffer = drawn.expect("it is drawn").buffer.clone();
        let mut text = String::new();
        for row in 0..rows {
            let mut line = String::new();
            let mut column = 0;
            while column < columns {
                let symbol = buffer[(column, row)].symbol();
                line.push_str(symbol);
                column += u16::try_from(unicode_width::UnicodeWidthStr::width(symbol).max(1)).expect("a width");
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("golden/{name}-{columns}x{rows}.txt"));
        check_golden(&path, &text);
    }
}

#[test]
fn an_empty_console_says_how_to_begin() {
    check("empty", |size| model(size).0);
}

#[test]
fn cards_of_every_owner() {
    check("cards", |size| busy(size).0);
}

#[test]
fn a_search_in_cards() {
    check("search", |size| {
        let (mut model, now) = busy(size);
        enter(&mut model, "/search 7", now);
        model
    });
}

#[test]
fn a_question() {
    check("question", |size| {
        let (mut model, now) = busy(size);
        let about = "May this run in /home/you/app?\n\n  | git push --force\n\ngit/force-push: git push --force is not allowed.";
        let origin = Some("mcp (process 77)".to_owned());
        model.handle(Event::Question(Question { id: QuestionId::Own(1), origin, about: about.to_owned() }), now);
        draw(&mut model, &mut Buffer::empty(Rect::new(0, 0, size.0, size.1)));
        model.shown(now);
        model.handle(Event::QuestionDue, now + Duration::from_secs(1));
        model
    });
}

#[test]
fn the_overlay_of_a_program() {
    check("overlay", |size| {
        let (mut model, now) = busy(size);
        model.handle(Event::TerminalBegan { card: CardId(3) }, now);
        let overlay = model.overlay.as_mut().expect("an overlay");
        overlay.push(b"\x1b]0;menu\x07\x1b[2J\x1b[2;3H\x1b[7mOpen\x1b[0m\x1b[3;3HQuit\ttab \xe6\x97\xa5\xe6\x9c\xac \x1b[31mred\x1b[0m\x1b[2;3H");
        overlay.draw_some();
        model
    });
}

#[test]
fn help_and_sessions() {
    check("help", |size| {
        let (mut model, now) = busy(size);
        model.handle(Event::Key("F1".parse().expect("a key")), now);
        model
    });
    check("sessions", |size| {
        let (mut model, now) = busy(size);
        let row = |name: &str, state: &str| SessionRow {
            name: name.to_owned(),
            state: state.to_owned(),
            is_busy: state.starts_with("busy"),
            directory: "/home/you".to_owned(),
            commands: 3,
        };
        model.handle(Event::Sessions(vec![row("work", "idle 5s"), row("bang-console-7", "busy 1s")]), now);
        model
    });
}

#[test]
fn a_tiny_screen_is_no_error() {
    for (columns, rows) in [(1, 1), (5, 3), (19, 8), (20, 8), (21, 9), (80, 2)] {
        for overlay in [false, true] {
            let (mut model, now) = busy((columns, rows));
            if overlay {
                model.handle(Event::TerminalBegan { card: CardId(3) }, now);
            }
            let mut buffer = Buffer::empty(Rect::new(0, 0, columns, rows));
            draw(&mut model, &mut buffer);
        }
    }
}
