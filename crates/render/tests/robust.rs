//! Any card at any width: no panic, no line too wide, no control character, and no output lost.

use bashful_render::{Card, CardKind, CardState, Look, NARROWEST, PartialArguments, lines};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::json;

fn texts() -> impl Strategy<Value = String> {
    let text = "[a-z\n\r\t\x08 日é\u{301}👍👩\u{200d}\u{fe0f}\u{202e}\u{2066}\u{9b}\u{85}\u{e0041}\u{7f}]{0,40}";
    let csi = "\x1b\\[[0-9;:?]{0,12}[ !$]?[@-~]";
    let string = "\x1b[\\]PX^_][a-z0-9;?]{0,9}(\x07|\x1b\\\\|\u{9c})?";
    vec(prop_oneof![3 => text, 2 => csi, 1 => string, 1 => ".{0,20}", 1 => "\x1b.?", 1 => "[a-z]{100,300}"], 0..12)
        .prop_map(|parts| parts.concat())
}

fn cards() -> impl Strategy<Value = Card> {
    let kind = prop_oneof![Just(CardKind::Tool), Just(CardKind::Bang), Just(CardKind::Watched)];
    let state = proptest::sample::select(CardState::ALL.to_vec());
    let words = (texts(), vec((texts(), texts()), 0..3), vec(texts(), 0..3), proptest::option::of(texts()));
    (kind, state, words, texts(), any::<bool>()).prop_map(|(kind, state, words, output, expanded)| {
        let (command, env, notices, other) = words;
        let mut card = Card::new(kind, command);
        card.directory.clone_from(&other);
        card.job.clone_from(&other);
        card.truncated.clone_from(&other);
        Card { state, env, notices, output, expanded, artifact: other, ..card }
    })
}

/// The characters of an output that are shown in any case: those that nothing can combine with or hide.
fn letters(text: &str) -> String {
    text.chars().filter(char::is_ascii_lowercase).collect()
}

proptest! {
    #[test]
    fn lines_fit_and_have_no_control_characters(card in cards(), width in 0..90usize) {
        for line in lines(&card, width, &Look::default()) {
            let text = line.plain();
            prop_assert!(line.width() <= width.max(NARROWEST), "{:?} at {}", text, width);
            let is_hidden = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
            prop_assert!(!text.contains(is_hidden), "{:?}", text);
        }
    }

    #[test]
    fn styled_text_has_nothing_but_colors_beside_the_text(card in cards(), width in 16..90usize) {
        for line in lines(&card, width, &Look::default()) {
            let styled = line.ansi();
            let mut parts = styled.split('\u{1b}');
            let mut text = parts.next().unwrap_or_default().to_owned();
            for part in parts {
                let (numbers, rest) = part.split_once('m').expect("every sequence is SGR");
                let numbers = numbers.strip_prefix('[').expect("every sequence is CSI");
                prop_assert!(numbers.bytes().all(|byte| byte.is_ascii_digit() || byte == b';'), "{:?}", styled);
                text.push_str(rest);
            }
            prop_assert_eq!(text, line.plain());
            let ends_plain = styled.rfind("\u{1b}[0m") == styled.rfind('\u{1b}');
            prop_assert!(ends_plain, "{:?}", styled);
        }
    }

    #[test]
    fn an_expanded_card_shows_all_text_of_the_output(output in "[a-z\n\t 日é👍\u{301}]{0,300}", width in 16..90usize) {
        let card = Card { output: output.clone(), expanded: true, ..Card::new(CardKind::Tool, "") };
        let drawn = lines(&card, width, &Look::default());
        let shown: String = drawn[1..drawn.len() - 1].iter().map(bashful_render::Line::plain).collect();
        prop_assert_eq!(letters(&shown), letters(&output));
        let wide = |text: &str| text.matches(['日', '👍', 'é']).count();
        prop_assert_eq!(wide(&shown), wide(&output));
    }

    #[test]
    fn a_collapsed_card_counts_the_lines_that_it_hides(output in "([a-z日]{0,60}\n){0,30}", width in 24..60usize) {
        let look = Look::default();
        let mut card = Card { output, ..Card::new(CardKind::Tool, "") };
        let collapsed = lines(&card, width, &look);
        card.expanded = true;
        let expanded = lines(&card, width, &look);
        let all = &expanded[1..expanded.len() - 1];
        let hidden = all.len().saturating_sub(look.tool_lines);
        let shown = &collapsed[1..collapsed.len() - 1];
        if hidden == 0 {
            prop_assert_eq!(shown, all);
        } else {
            let said = format!("… {hidden} earlier line{}", if hidden == 1 { "" } else { "s" });
            prop_assert_eq!(shown[0].plain(), said);
            prop_assert_eq!(&shown[1..], &all[hidden..]);
        }
    }

    #[test]
    fn arguments_grow_as_they_arrive(command in ".{0,40}", value in ".{0,20}", after in any::<bool>(), spaced in any::<bool>()) {
        let json = if after {
            json!({ "a": [1, { "command": "no" }], "command": command, "env": { "A": value }, "timeout": 30 })
        } else {
            json!({ "env": { "A": value }, "command": command })
        };
        let text = if spaced { format!("{json:#}") } else { json.to_string() };
        for (end, _) in text.char_indices() {
            let read = PartialArguments::read(&text[..end]);
            prop_assert!(command.starts_with(&read.command), "{:?} of {:?}", read.command, command);
            for (name, so_far) in &read.env {
                prop_assert!(name == "A" && value.starts_with(so_far.as_str()));
            }
        }
        let whole = PartialArguments::read(&text);
        prop_assert_eq!(whole, PartialArguments { command, env: vec![("A".to_owned(), value)] });
    }

    #[test]
    fn arguments_in_escapes_of_code_units_are_read(command in ".{0,20}", cut in 0..200usize) {
        let escaped: String = command.encode_utf16().fold(String::new(), |text, unit| format!("{text}\\u{unit:04x}"));
        let text = format!("{{\"command\":\"{escaped}\"}}");
        prop_assert_eq!(&PartialArguments::read(&text).command, &command);
        let cut = PartialArguments::read(&text[..cut.min(text.len())]).command;
        prop_assert!(command.starts_with(&cut), "{:?} of {:?}", cut, command);
    }

    #[test]
    fn no_arguments_are_too_strange(
        text in prop_oneof![".{0,60}", "[{}\\[\\]:,\"\\\\u0-9a-f \n]{0,60}", "\\{\"(command|env)\":[{\"]([a-f\":,}\\\\ud89]){0,30}"],
    ) {
        PartialArguments::read(&text);
    }
}
