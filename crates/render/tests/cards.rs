//! Cards of every kind as lines, at several widths.
//!
//! The lines are in `crates/render/golden`. To take over a change, run this with `GOLDEN=write`, look at the difference,
//! and commit it.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use bashful_render::{Card, CardExit, CardKind, CardState, Line, Look, PartialArguments, Signs, lines};
use bashful_testkit::check_golden;

const WIDTHS: [usize; 5] = [20, 40, 80, 120, 300];

fn look() -> Look {
    Look { expand_key: Some("Ctrl-O".to_owned()), ..Look::default() }
}

fn numbered(count: usize) -> String {
    (1..=count).fold(String::new(), |text, number| format!("{text}line {number}\n"))
}

/// One card for each state, with the facts that it has in life.
fn states() -> Vec<(String, Card)> {
    let card = |state: CardState| {
        let mut card = Card::new(CardKind::Tool, "cargo test --workspace");
        card.state = state;
        card.timeout = Some(Duration::from_mins(5));
        match state {
            CardState::Writing => card.command.truncate(8),
            CardState::Refused => {
                card.notices.push("refused by the guard: rm -rf ~ deletes the home directory".to_owned());
            }
            CardState::Intercepted => card.notices = vec!["use the read tool instead of cat".to_owned()],
            _ => {
                card.output.push_str("Compiling bashful v0.2.0\n    Finished in 3.1s\n");
                card.elapsed = Some(Duration::from_millis(3149));
                card.size = Some(49);
            }
        }
        match state {
            CardState::Done => card.exit = Some(CardExit::Code(0)),
            CardState::Failed => card.exit = Some(CardExit::Code(101)),
            CardState::Cancelled => card.exit = Some(CardExit::Signal(15)),
            CardState::TimedOut => card.elapsed = Some(Duration::from_mins(5)),
            CardState::Backgrounded => card.job = Some("17".to_owned()),
            _ => {}
        }
        (format!("state {}", state.word()), card)
    };
    CardState::ALL.into_iter().map(card).collect()
}

fn done(kind: CardKind, command: &str, output: &str) -> Card {
    let mut card = Card::new(kind, command);
    card.state = CardState::Done;
    card.output.push_str(output);
    card.exit = Some(CardExit::Code(0));
    card.elapsed = Some(Duration::from_millis(40));
    card
}

fn others() -> Vec<(String, Card)> {
    let mut cards = Vec::new();
    let mut add = |name: &str, card: Card| cards.push((name.to_owned(), card));

    add("no output", done(CardKind::Tool, "true", ""));
    add("eleven lines", done(CardKind::Tool, "seq 11", &numbered(11)));
    add("eleven lines, expanded", Card { expanded: true, ..done(CardKind::Tool, "seq 11", &numbered(11)) });
    add("one long line", done(CardKind::Tool, "long", &"0123456789".repeat(100)));
    add("a line that ends at the edge", done(CardKind::Tool, "edge", &format!("{}\nnext", "x".repeat(38))));
    add("empty lines", done(CardKind::Tool, "blank", "\n\na\n\n"));
    add("wide characters", done(CardKind::Tool, "echo 漢字", &"漢字かな交じり文と한국어😀 ".repeat(8)));
    add(
        "combining characters",
        done(
            CardKind::Tool,
            "echo",
            &format!("{}\n{}", "e\u{301}".repeat(50), "👩\u{200d}👩\u{200d}👧 ❤\u{fe0f} 🇩🇪 ".repeat(6)),
        ),
    );
    add("a letter with too many accents", done(CardKind::Tool, "zalgo", &format!("a{}b", "\u{301}".repeat(500))));
    add("tabs", done(CardKind::Tool, "tabs", "a\tb\tc\td\te\n\tindented\n漢\tx\n1234567\t8\n12345678\t9\n"));
    add(
        "hostile output",
        done(
            CardKind::Tool,
            "cat\u{202e}evil\u{1b}[2J\u{200b}",
            "\u{1b}]0;title\u{7}a\u{1b}[2Jb\u{1b}[1;1Hc\u{7}\u{9b}Kd \u{202e}drow\u{202c} \0 \u{1b}[8mhidden\u{1b}[0m\n✓ done · exit 0\n\u{1b}]52;c;AAAA",
        ),
    );
    add("progress bar", done(CardKind::Tool, "wget", "10%\r50%\r100%\r\ndone\r\n"));

    let mut card = done(CardKind::Bang, "seq 25", &numbered(25));
    card.directory = Some("~/src/bashful".to_owned());
    add("bang", card.clone());
    card.expanded = true;
    add("bang, expanded", card);

    let mut card = Card::new(CardKind::Watched, "npm run build");
    card.origin = Some("claude-code, process 4711".to_owned());
    card.output = numbered(3);
    card.elapsed = Some(Duration::from_secs(83));
    (card.size, card.line_count, card.earlier_lines) = (Some(3_400_000), Some(9003), 9000);
    card.hint = Some("x stops it".to_owned());
    add("watched", card.clone());
    card.output = numbered(11);
    add("watched, with more than its end", card.clone());
    card.expanded = true;
    add("watched, expanded", card);

    let mut card = done(CardKind::Tool, "journalctl", &numbered(12));
    card.truncated = Some("output exceeds 50KB; the last 50KB are shown".to_owned());
    card.artifact = Some("42".to_owned());
    card.size = Some(12 * 1024 * 1024 + 300_000);
    add("truncated", card.clone());
    card.artifact = None;
    add("truncated, and no artifact", card);

    let mut card = done(CardKind::Tool, "cat > file <<'EOF'\nfirst\n\tsecond\nEOF\n", "");
    card.env = vec![
        ("LANG".to_owned(), "C.UTF-8".to_owned()),
        ("MESSAGE".to_owned(), "it's two words".to_owned()),
        ("EMPTY".to_owned(), String::new()),
    ];
    add("variables and several lines", card);
    add("long script", done(CardKind::Tool, &numbered(14), ""));
    add("long script, expanded", Card { expanded: true, ..done(CardKind::Tool, &numbered(14), "") });

    let arguments = PartialArguments::read(r#"{"env":{"CI":"1"},"command":"make \"all\"\nmake inst"#);
    let mut card = Card::new(CardKind::Tool, arguments.command);
    (card.env, card.state) = (arguments.env, CardState::Writing);
    add("arguments that are still arriving", card);

    let mut card = done(CardKind::Tool, "make", "ok\n");
    card.notices = vec![
        "standard input was not read; add --stdin (-i) to pass it to the command".to_owned(),
        "approve with:\n  bashful allow 'rm -rf build' --here --and-some-more-words-behind-it".to_owned(),
    ];
    card.directory = Some("/a/directory/with/a/very/long/name/that/does/not/fit/on/a/narrow/screen".to_owned());
    add("notices", card);
    cards
}

fn page(name: &str, lines: &[Line], show: impl Fn(&Line) -> String) -> String {
    let mut text = format!("## {name}\n");
    for line in lines {
        // The bar shows blanks at the end of a line.
        writeln!(text, "{}|", show(line)).expect("a string takes every write");
    }
    text
}

#[track_caller]
fn check(file: &str, text: &str) {
    check_golden(&Path::new(env!("CARGO_MANIFEST_DIR")).join("golden").join(file), text);
}

#[test]
fn cards_look_as_recorded_at_every_width() {
    for width in WIDTHS {
        let cards = states().into_iter().chain(others());
        let text: Vec<String> =
            cards.map(|(name, card)| page(&name, &lines(&card, width, &look()), Line::plain)).collect();
        check(&format!("width-{width}.txt"), &text.join("\n"));
    }
}

#[test]
fn styles_are_as_recorded() {
    let colors = "plain \u{1b}[31mred \u{1b}[1;4;93mloud\u{1b}[22;24m yellow\nstill yellow \u{1b}[0;38;5;208;48;2;1;2;3morange\u{1b}[7m reversed\u{1b}[m plain\u{1b}[3;9m";
    let colored = ("colors of the command".to_owned(), done(CardKind::Tool, "ls --color", colors));
    let cards = states().into_iter().chain(others()).chain([colored]);
    let text: Vec<String> = cards
        .map(|(name, card)| page(&name, &lines(&card, 60, &look()), |line| line.ansi().replace('\u{1b}', "␛")))
        .collect();
    check("styles-60.txt", &text.join("\n"));
}

#[test]
fn a_line_of_a_bang_command_is_cut_after_4000_characters() {
    let card = done(CardKind::Bang, "wide", &format!("{}\nlast", "ä".repeat(4001)));
    for card in [Card { expanded: true, ..card.clone() }, card] {
        let shown: Vec<String> = lines(&card, 102, &look()).iter().map(Line::plain).collect();
        let full = format!("  {}", "ä".repeat(100));
        assert_eq!(shown[1..41], vec![full; 40]);
        assert_eq!(shown[41..43], ["… 1 more character in this line", "  last"]);
    }
}

#[test]
fn signs_can_be_ascii() {
    let look = Look { signs: Signs::Ascii, ..look() };
    let others =
        others().into_iter().filter(|(name, _)| ["eleven lines", "long script", "notices"].contains(&name.as_str()));
    let cards = states().into_iter().chain(others);
    let text: Vec<String> = cards.map(|(name, card)| page(&name, &lines(&card, 60, &look), Line::plain)).collect();
    let text = text.join("\n");
    assert!(text.is_ascii(), "{text}");
    check("ascii-60.txt", &text);
}

#[test]
fn an_output_keeps_its_lines_tabs_and_colors() {
    let drawn = bashful_render::output_lines("a\tb\n\u{1b}[32mgreen\nstill\u{1b}[m \u{1b}[2Jplain\n\nend");
    let styled: Vec<String> = drawn.iter().map(Line::ansi).collect();
    let expected = ["a\tb", "\u{1b}[0;32mgreen\u{1b}[0m", "\u{1b}[0;32mstill\u{1b}[0m plain", "", "end"];
    assert_eq!(styled, expected);
}

#[test]
fn states_differ_in_word_sign_and_style() {
    for look in [look(), Look { signs: Signs::Ascii, ..look() }] {
        let mut seen: Vec<(String, String, String)> = Vec::new();
        for state in CardState::ALL {
            let card = Card { state, ..Card::new(CardKind::Tool, "true") };
            let drawn = lines(&card, 80, &look);
            let footer = &drawn.last().expect("a card has a footer").spans[0];
            let (sign, word) = footer.text.split_once(' ').expect("a sign and a word");
            assert_eq!(drawn[0].spans[0].text, sign, "the header has the same sign");
            let style = Line { spans: vec![footer.clone()] }.ansi().replace(&footer.text, "");
            for (other_sign, other_word, other_style) in &seen {
                assert!(sign != other_sign && word != other_word && style != *other_style, "{word} and {other_word}");
            }
            seen.push((sign.to_owned(), word.to_owned(), style));
        }
    }
}
