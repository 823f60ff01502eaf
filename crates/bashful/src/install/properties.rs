//! Whatever settings look like: an entry goes in and comes out, and nothing else changes.

use proptest::prelude::*;
use serde_json::json;

use super::edit::{Entry, Spot, remove, set};
use super::jsonc;

const SPOT: Spot<'_> = Spot { groups: &["servers"], name: "me" };

/// Space and comments, with all in them that could be taken for more.
fn space() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => Just(""), 3 => Just(" "), 2 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\t"),
        1 => Just("// \"a\": { } ,\n"), 1 => Just("/* } \" , */"), 1 => Just("/*\n*/"),
    ];
    proptest::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![Just("\"a\""), Just("\"//\""), Just("\"{\\\"\""), Just("\"é\""), Just("\"\\u0062\"")]
        .prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![Just("1"), Just("-2.5e3"), Just("null"), Just("\"}\""), Just("[]"), Just("{}")];
    leaf.prop_map(str::to_owned).prop_recursive(3, 20, 4, |inner| {
        let list = (proptest::collection::vec((space(), inner.clone(), space()), 1..4), any::<bool>());
        let list = list.prop_map(|(parts, comma)| {
            let parts: Vec<String> = parts.into_iter().map(|(a, value, b)| format!("{a}{value}{b}")).collect();
            format!("[{}{}]", parts.join(","), if comma { "," } else { "" })
        });
        prop_oneof![list, object(inner, Just(None))]
    })
}

/// An object, maybe with a member of its own among others of different names.
fn object(
    value: impl Strategy<Value = String>,
    own: impl Strategy<Value = Option<String>>,
) -> impl Strategy<Value = String> {
    let member = (space(), name(), space(), space(), value, space());
    (proptest::collection::vec(member, 0..4), own, any::<bool>(), space(), 0..4_usize).prop_map(
        |(members, own, comma, end, at)| {
            let mut names = Vec::new();
            let mut parts = Vec::new();
            for (a, name, b, c, value, d) in members {
                if !names.contains(&name) {
                    parts.push(format!("{a}{name}{b}:{c}{value}{d}"));
                    names.push(name);
                }
            }
            if let Some(own) = own {
                parts.insert(at.min(parts.len()), own);
            }
            let comma = if comma && !parts.is_empty() { "," } else { "" };
            format!("{{{}{comma}{end}}}", parts.join(","))
        },
    )
}

fn settings() -> impl Strategy<Value = String> {
    let servers = (space(), object(value(), Just(None)), space());
    let servers = servers.prop_map(|(a, servers, b)| format!("{a}\"servers\":{a}{servers}{b}"));
    (space(), object(value(), proptest::option::of(servers)), space()).prop_map(|(a, all, b)| format!("{a}{all}{b}"))
}

/// What is written there, without space.
fn ink(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().filter(|char| !char.is_whitespace())
}

proptest! {
    #[test]
    fn an_entry_goes_in_and_comes_out_and_nothing_else_changes(text in settings()) {
        let entry = Entry(vec![("command", json!("/x")), ("args", json!(["mcp"]))]);
        let before = jsonc::read(&text).expect("JSON").expect("an object").value;
        let with = set(&text, SPOT, &entry).expect("possible").expect("a change");
        // All that was there is there, in its order.
        let mut rest = ink(&with);
        prop_assert!(ink(&text).all(|wanted| rest.any(|char| char == wanted)), "{with}");
        prop_assert_eq!(set(&with, SPOT, &entry).expect("possible"), None);
        let without = remove(&with, SPOT).expect("possible").expect("a change");
        let mut after = jsonc::read(&without).expect("JSON").expect("an object").value;
        if before.get("servers").is_none() {
            after.as_object_mut().expect("an object").remove("servers");
        }
        prop_assert_eq!(after, before);
        let mut rest = ink(&without);
        prop_assert!(ink(&text).all(|wanted| rest.any(|char| char == wanted)), "{without}");
    }

    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}", junk in "[{}\\[\\]\",:/* \n\\\\a]{0,80}") {
        let entry = Entry(vec![("command", json!("/x"))]);
        for text in [text, junk] {
            let _ = set(&text, SPOT, &entry);
            let _ = remove(&text, SPOT);
            let _ = super::toml::set(&text, SPOT, &entry);
            let _ = super::toml::remove(&text, SPOT);
        }
    }
}
