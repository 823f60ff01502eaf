//! Properties that hold for every filter, whatever the text.

use proptest::prelude::*;

use crate::built_in;
use crate::condenser::{Condensed, condense};
use crate::filter::Filter;
use crate::redraw;
use crate::rule::Operation;

/// Lines that no tool writes, and some that look a little like those of many tools.
const STRANGE: [&str; 14] = [
    "",
    "  ",
    "something that no tool says",
    "error: it failed",
    "warning: unused variable `x`",
    "src/main.rs:12:5: note: here",
    "FAILED tests/test_a.py::test_b - assert 1 == 2",
    "    at Object.<anonymous> (fail/cart.test.js:24:57)",
    "a/b/{c,d}",
    "a/b/c, d",
    "ü  ä   ö    ß",
    "[3 more lines like the one above]",
    "[left out: passing tests (3 lines)]",
    "=====",
];

fn filter(name: &str) -> &'static Filter {
    built_in::all().find(|filter| filter.name == name).expect("it was listed")
}

/// Texts for a filter: lines of its examples, with other numbers now and then, among lines that it does not know.
fn texts() -> impl Strategy<Value = (&'static str, Vec<String>, i32)> {
    let names: Vec<&'static str> = built_in::all().map(|filter| filter.name.as_str()).collect();
    prop::sample::select(names).prop_flat_map(|name| {
        let known: Vec<String> =
            filter(name).examples.iter().flat_map(|example| example.input.lines()).map(str::to_owned).collect();
        let of_tool = (prop::sample::select(known.clone()), any::<Option<u8>>());
        let line = prop_oneof![
            5 => of_tool.prop_map(|(line, number)| with_number(&line, number)),
            2 => prop::sample::select(&STRANGE[..]).prop_map(str::to_owned),
            1 => "[ -~]{0,40}",
        ];
        // The example in front gives the text its shape.
        let lines = prop::collection::vec(line, 0..60).prop_map(move |lines| [known.clone(), lines].concat());
        (Just(name), lines, prop_oneof![Just(0), Just(1)])
    })
}

fn with_number(line: &str, number: Option<u8>) -> String {
    match (number, line.find(|letter: char| letter.is_ascii_digit())) {
        (Some(number), Some(at)) => format!("{}{number}{}", &line[..at], &line[at + 1..]),
        _ => line.to_owned(),
    }
}

fn shorter(filter: &Filter, text: &str, status: i32) -> Option<(String, crate::Dropped)> {
    match condense(&[filter], text, status, true) {
        Condensed::Shorter { text, dropped } => Some((text, dropped)),
        Condensed::Unchanged => None,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn lines_that_no_rule_names_stay_in_order((name, lines, status) in texts()) {
        let filter = filter(name);
        let text = lines.join("\n");
        let Some((result, _)) = shorter(filter, &text, status) else { return Ok(()) };
        let mut rest = result.lines();
        for line in redraw::settled(&text).lines() {
            if filter.rule(line).is_none() && !line.trim().is_empty() {
                prop_assert!(rest.any(|kept| kept == line), "{name}: {line:?} is missing or out of order in\n{result}");
            }
        }
    }

    #[test]
    fn twice_is_once((name, lines, status) in texts()) {
        let filter = filter(name);
        let Some((once, _)) = shorter(filter, &lines.join("\n"), status) else { return Ok(()) };
        if let Some((twice, _)) = shorter(filter, &once, status) {
            prop_assert_eq!(once, twice, "{}", name);
        }
    }

    #[test]
    fn two_filters_keep_the_lines_of_both((first, lines, status) in texts(), (second, more, _) in texts()) {
        let filters = [filter(first), filter(second)];
        // Only such filters are used together.
        if first == second || filters.iter().any(|filter| filter.needs_own_lines()) {
            return Ok(());
        }
        let text = [lines, more].concat().join("\n");
        let Condensed::Shorter { text: once, .. } = condense(&filters, &text, status, false) else { return Ok(()) };
        let mut rest = once.lines();
        for line in redraw::settled(&text).lines() {
            if filters.iter().all(|filter| filter.rule(line).is_none()) && !line.trim().is_empty() {
                prop_assert!(rest.any(|kept| kept == line), "{first}, {second}: {line:?} is missing in\n{once}");
            }
        }
        if let Condensed::Shorter { text: twice, .. } = condense(&filters, &once, status, false) {
            prop_assert_eq!(once, twice, "{}, {}", first, second);
        }
    }

    #[test]
    fn the_account_is_true((name, lines, status) in texts()) {
        let filter = filter(name);
        let text = lines.join("\n");
        let Some((result, dropped)) = shorter(filter, &text, status) else { return Ok(()) };
        prop_assert!(result.len() < text.len());
        if filter.rules().iter().all(|rule| matches!(rule.operation, Operation::Drop | Operation::Squeeze)) {
            prop_assert_eq!(text.split('\n').count() - dropped.lines_left_out(), result.split('\n').count(), "{}", name);
        }
    }

    #[test]
    fn any_text_is_safe((name, ..) in texts(), text in "\\PC{0,200}", status in 0..2) {
        if let Some((result, _)) = shorter(filter(name), &text, status) {
            prop_assert!(result.len() < text.len());
        }
    }
}
