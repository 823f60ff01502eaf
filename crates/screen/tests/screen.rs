//! The screen shows what a terminal would show, and answers what a program asks.

use std::time::{Duration, Instant};

use bashful_screen::{Attributes, Budget, Color, Cursor, Mouse, Screen, Size, Snapshot, Width};

fn shown(output: &str) -> Screen {
    fed(Size::new(20, 5), output.as_bytes())
}

fn fed(size: Size, output: &[u8]) -> Screen {
    let mut screen = Screen::new(size);
    let fed = screen.feed(output, Budget::UNLIMITED);
    assert_eq!(fed.consumed, output.len());
    screen
}

#[track_caller]
fn check(output: &str, text: &str) {
    assert_eq!(shown(output).snapshot().text(), text, "{output:?}");
}

fn answers(output: &str) -> String {
    String::from_utf8(shown(output).take_answers(Instant::now())).expect("answers are ASCII")
}

#[test]
fn text_is_shown_by_row_without_trailing_blanks() {
    check("one  \r\n\r\n two\r\n", "one\n\n two");
}

#[test]
fn a_line_beyond_the_last_column_wraps() {
    check("abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrst\nuvwxyz");
}

#[test]
fn wide_combining_and_emoji_characters_are_as_sent() {
    check("日本語 e\u{301} 👍🏽 ok", "日本語 e\u{301} 👍🏽 ok");
    let screen = shown("日b");
    let widths: Vec<Width> = screen.cells(0).take(3).map(|cell| cell.width).collect();
    assert_eq!(widths, [Width::Wide, Width::Continuation, Width::Narrow]);
    assert_eq!(screen.cursor(), Cursor { row: 0, column: 3, visible: true });
}

#[test]
fn a_wide_character_that_does_not_fit_goes_to_the_next_row() {
    check("abcdefghijklmnopqrs日", "abcdefghijklmnopqrs\n日");
}

#[test]
fn line_drawing_is_drawn() {
    check("\x1b(0lqqk\x1b(B\r\n\x0e\x1b)0x\x0f x", "┌──┐\n│ x");
}

#[test]
fn invalid_bytes_become_replacement_characters() {
    let screen = fed(Size::new(20, 5), b"a\xffb\xe2\x82\x1b[mc\xe2\x82");
    assert_eq!(screen.row_text(0), "a\u{fffd}b\u{fffd}c");
}

#[test]
fn invisible_characters_do_not_get_on_the_screen() {
    check("a\u{202e}b\u{2028}c\u{e0041}d\u{85}e\0f", "abcdef");
}

#[test]
fn erasing_up_to_the_cursor_erases_every_row_above() {
    for rows in 0..4 {
        check(&format!("1\r\n2\r\n3\r\n4\x1b[{};1H\x1b[1J", rows + 1), ["\n2\n3\n4", "\n\n3\n4", "\n\n\n4", ""][rows]);
    }
}

#[test]
fn a_screen_can_be_sent_to_a_thread() {
    let screen = shown("text");
    let text = std::thread::spawn(move || screen.snapshot().text()).join().ok();
    assert_eq!(text.as_deref(), Some("text"));
}

#[test]
fn the_alternate_screen_comes_and_goes() {
    for number in [47, 1047, 1049] {
        let mut screen = shown(&format!("shell\x1b[?{number}h\x1b[H\x1b[2Jvim"));
        assert!(screen.is_alternate());
        assert_eq!(screen.snapshot().text(), "vim");
        let _ = screen.feed(format!("\x1b[?{number}l").as_bytes(), Budget::UNLIMITED);
        assert!(!screen.is_alternate());
        assert_eq!(screen.snapshot().text(), "shell");
    }
}

#[test]
fn modes_follow_the_program() {
    let modes = shown("\x1b[?1;2004;1004h\x1b=\x1b[?1002;1006h").modes();
    assert!(modes.application_cursor && modes.application_keypad && modes.bracketed_paste);
    assert!(modes.focus_events && modes.sgr_mouse);
    assert_eq!(modes.mouse, Mouse::Drags);
    assert_eq!(shown("\x1b[?1;2004h\x1b=\x1bc").modes(), shown("").modes());
    assert!(!shown("\x1b[?1h\x1b[?25l\x1b[!p").modes().application_cursor);
    assert!(!shown("\x1b[?25l").cursor().visible);
}

#[test]
fn a_soft_reset_leaves_text_and_cursor() {
    let screen = shown("one\x1b[2;4r\x1b[3;2Htwo\x1b[!p");
    assert_eq!(screen.snapshot().text(), "one\n\n two");
    assert_eq!(screen.cursor(), Cursor { row: 2, column: 4, visible: true });
}

#[test]
fn titles_are_clean_and_can_be_saved() {
    let title = |output: &str| shown(output).title().map(str::to_owned);
    assert_eq!(title("\x1b]0;a \x01\u{202e}title\x07").as_deref(), Some("a title"));
    assert_eq!(title("\x1b]2;st\x1b\\").as_deref(), Some("st"));
    assert_eq!(title("\x1b]0;called off\x18").as_deref(), None);
    assert_eq!(title("\x1b]0;x\x07\x1b[22;0t\x1b]0;y\x07\x1b[23;0t").as_deref(), Some("x"));
    assert_eq!(title(&format!("\x1b]0;{}\x07", "x".repeat(9999))).map(|title| title.len()), Some(256));
    assert_eq!(title("\x1b]1;icon\x07\x1b]52;c;aGk=\x07"), None);
}

#[test]
fn questions_are_answered() {
    assert_eq!(answers("\x1b[c"), "\x1b[?62;22c");
    assert_eq!(answers("\x1b[>c"), "\x1b[>0;10;1c");
    assert_eq!(answers("\x1b[5n"), "\x1b[0n");
    assert_eq!(answers("ab\r\nc\x1b[6n"), "\x1b[2;2R");
    assert_eq!(answers("\x1b[?6n"), "\x1b[?1;1R");
    assert_eq!(answers("\x1b[18t"), "\x1b[8;5;20t");
    assert_eq!(answers("\x1b[?2004h\x1b[?2004$p\x1b[?1$p\x1b[?4242$p"), "\x1b[?2004;1$y\x1b[?1;2$y\x1b[?4242;0$y");
}

#[test]
fn clipboard_colors_and_kitty_keys_are_not_answered() {
    let output = "\x1b]52;c;?\x07\x1b]11;?\x07\x1b[?u\x1b[>1u\x1b[<u\x1b[=1;1u\x1bP+q544e\x1b\\\x1b[>q\x1b[14t\x1b[21t";
    assert_eq!(answers(output), "");
    check(output, "");
}

#[test]
fn answers_are_bounded_in_size_and_rate() {
    let mut screen = Screen::new(Size::default());
    let start = Instant::now();
    assert_eq!(screen.take_answers(start), b"");
    let _ = screen.feed(&b"\x1b[6n".repeat(100_000), Budget::UNLIMITED);
    let first = screen.take_answers(start);
    assert_eq!(first.len(), 4096 / 6 * 6);
    assert!(first.ends_with(b"\x1b[1;1R"), "an answer was cut");
    assert_eq!(screen.dropped_answers(), 100_000 - 4096 / 6);

    let _ = screen.feed(&b"\x1b[6n".repeat(1000), Budget::UNLIMITED);
    assert_eq!(screen.take_answers(start).len(), 0, "the allowance is used up");
    assert!(screen.has_answers());
    let later = screen.take_answers(start + Duration::from_millis(10));
    assert_eq!(later.len(), 16 * 1024 / 100 / 6 * 6);
}

#[test]
fn a_synchronized_update_is_shown_and_ends_by_time() {
    let mut screen = shown("\x1b[?2026hhalf");
    assert_eq!(screen.snapshot().text(), "half");
    let start = Instant::now();
    assert!(!screen.is_settled(start));
    assert!(!screen.is_settled(start + Duration::from_millis(149)));
    assert!(screen.is_settled(start + Duration::from_millis(150)));
    let _ = screen.feed(b"\x1b[?2026h", Budget::UNLIMITED);
    assert!(!screen.is_settled(start + Duration::from_secs(1)));
    let _ = screen.feed(b"\x1b[?2026l", Budget::UNLIMITED);
    assert!(screen.is_settled(start + Duration::from_secs(1)));
    assert_eq!(answers("\x1b[?2026$p"), "\x1b[?2026;2$y");
}

#[test]
fn cells_have_colors_and_attributes() {
    let screen = shown("\x1b[1;31;44ma\x1b[0;38;5;200;7mb\x1b[0;38;2;1;2;3;4:3mc\x1b[0;93;38:5:9md");
    let cells: Vec<_> = screen.cells(0).take(4).collect();
    assert_eq!(cells[0].style.foreground, Color::Ansi(1));
    assert_eq!(cells[0].style.background, Color::Ansi(4));
    assert!(cells[0].style.attributes.contains(Attributes::BOLD));
    assert_eq!(cells[1].style.foreground, Color::Indexed(200));
    assert!(cells[1].style.attributes.contains(Attributes::REVERSE));
    assert_eq!(cells[2].style.foreground, Color::Rgb(1, 2, 3));
    assert!(cells[2].style.attributes.contains(Attributes::UNDERLINE));
    assert_eq!(cells[3].style.foreground, Color::Ansi(9));
    assert_eq!(screen.cells(5).count(), 0);
}

#[test]
fn styled_rows_begin_and_end_plain() {
    let screen = shown("a\x1b[1;31mb\x1b[96mc\x1b[m d\r\n\x1b[7m    \x1b[m  \r\n\x1b[48;5;30mx");
    assert_eq!(screen.row_styled(0), "a\x1b[0;1;31mb\x1b[0;1;96mc\x1b[0m d");
    assert_eq!(screen.row_styled(1), "\x1b[0;7m    \x1b[0m");
    assert_eq!(screen.row_styled(2), "\x1b[0;48;5;30mx\x1b[0m");
    assert_eq!(screen.row_styled(3), "");
}

#[test]
fn styled_rows_of_a_feed_show_the_same_again() {
    let screen = shown("\x1b[1;31mb\x1b[96mc\x1b[m d\x1b[48;2;9;8;7;9;3mé日\x1b[7m");
    let again = shown(&screen.row_styled(0));
    assert!(screen.cells(0).eq(again.cells(0)));
}

#[test]
fn scrollback_is_kept_up_to_its_bound() {
    let mut screen = Screen::with_scrollback(Size::new(20, 5), 100);
    for line in 0..300 {
        let _ = screen.feed(format!("{line}\r\n").as_bytes(), Budget::UNLIMITED);
    }
    assert_eq!(screen.scrollback(), 100);
    assert_eq!(screen.scrollback_text(0), "196");
    assert_eq!(screen.scrollback_text(99), "295");
    assert_eq!(screen.scrollback_text(100), "");
    assert_eq!(screen.row_text(0), "296");
}

#[test]
fn lines_are_wrapped_anew_when_the_size_changes() {
    let mut screen = shown("abcdefghijklmnopqrstuvwxyz");
    screen.resize(Size::new(40, 10));
    assert_eq!(screen.snapshot().text(), "abcdefghijklmnopqrstuvwxyz");
    assert_eq!(screen.size(), Size::new(40, 10));
    screen.resize(Size::new(20, 5));
    // The model scrolls for each row that wrapping adds, although there is room below.
    assert_eq!((screen.scrollback_text(0), screen.row_text(0)), ("abcdefghijklmnopqrst".into(), "uvwxyz".into()));
}

#[test]
fn the_generation_grows_only_with_changes() {
    let mut screen = shown("text");
    let before = screen.generation();
    let _ = screen.feed(b"\x1b]52;c;?\x07\x1b[>1u\x1b[6n", Budget::UNLIMITED);
    screen.resize(screen.size());
    assert_eq!(screen.generation(), before);
    let _ = screen.feed(b"x", Budget::UNLIMITED);
    assert!(screen.generation() > before);
    let before = screen.generation();
    let _ = screen.feed(b"\x1b]0;title\x07", Budget::UNLIMITED);
    assert!(screen.generation() > before);
}

#[test]
fn skipped_output_is_counted_and_keeps_its_modes() {
    let mut screen = shown("old\x1b[?2004h\x1b[?1h");
    screen.skip(b"lost \x1b[5;5H\x1b[?1l\x1b[?1006h\x1b=\x1b]0;new\x07\x1b[");
    let _ = screen.feed(b"1mnew", Budget::UNLIMITED);
    let snapshot = screen.snapshot();
    assert_eq!(snapshot.text(), "new", "the sequence that was cut in two is one");
    assert_eq!(snapshot.skipped_bytes, 36);
    assert_eq!(snapshot.title.as_deref(), Some("new"));
    assert_eq!(screen.scrollback_text(0), "old");
    let modes = screen.modes();
    assert!(!modes.application_cursor && modes.bracketed_paste && modes.sgr_mouse && modes.application_keypad);
    screen.skip(b"\x1b[?1h\x1bc\x1b[?1049h");
    assert!(!screen.modes().application_cursor && !screen.modes().bracketed_paste);
    assert!(screen.is_alternate());
}

#[test]
fn a_snapshot_survives_json() {
    let snapshot = shown("\x1b]0;t\x07日本").snapshot();
    let json = serde_json::to_string(&snapshot).expect("a snapshot is plain data");
    assert_eq!(serde_json::from_str::<Snapshot>(&json).expect("it was written as JSON"), snapshot);
    let size: Size = serde_json::from_str(r#"{"columns":0,"rows":9999}"#).expect("sizes are clamped");
    assert_eq!(size, Size::new(20, 200));
}
