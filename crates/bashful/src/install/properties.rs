//! Properties: adding and removing a key or an item changes nothing else, whatever the settings look like.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::edit::{EditError, add, discard, read, set, unset, value_at};

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
    leaf.prop_map(str::to_owned)
        .prop_recursive(3, 20, 4, |inner| prop_oneof![list(inner.clone()), object(inner, Just(None))])
}

fn list(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    (proptest::collection::vec((space(), value, space()), 0..4), any::<bool>(), space()).prop_map(
        |(parts, comma, end)| {
            let comma = if comma && !parts.is_empty() { "," } else { "" };
            let parts: Vec<String> = parts.into_iter().map(|(a, value, b)| format!("{a}{value}{b}")).collect();
            format!("[{}{comma}{end}]", parts.join(","))
        },
    )
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

/// Settings that may have a group `servers` with other things in it, and in that a list `names`.
fn settings() -> impl Strategy<Value = String> {
    let names = (space(), list(value()), space()).prop_map(|(a, list, b)| format!("{a}\"names\":{a}{list}{b}"));
    let servers = (space(), object(value(), proptest::option::of(names)), space());
    let servers = servers.prop_map(|(a, servers, b)| format!("{a}\"servers\":{a}{servers}{b}"));
    (space(), object(value(), proptest::option::of(servers)), space()).prop_map(|(a, all, b)| format!("{a}{all}{b}"))
}

/// A text without its space.
fn ink(text: &str) -> String {
    text.chars().filter(|char| !char.is_whitespace()).collect()
}

/// Number of names of a path that exist.
fn found(text: &str, path: &[&str]) -> usize {
    let value = read(text).expect("JSON");
    (0..=path.len()).rev().find(|length| value_at(&value, &path[..*length]).is_some()).unwrap_or_default()
}

/// Makes a change and takes it back. The ink of both texts is the same, so that comments, order and values are.
fn goes_in_and_comes_out(
    text: &str,
    path: &[&str],
    put: impl Fn(&str) -> Result<Option<String>, EditError>,
    take: impl Fn(&str, usize) -> Result<Option<String>, EditError>,
) -> Result<(), TestCaseError> {
    let with = put(text).expect("possible").expect("a change");
    prop_assert_eq!(put(&with).expect("possible"), None, "it is there already");
    // All earlier members are still there, in order.
    let all = ink(&with);
    let mut rest = all.chars();
    prop_assert!(ink(text).chars().all(|wanted| rest.any(|char| char == wanted)), "{}", with);
    let without = take(&with, found(text, path)).expect("possible").expect("a change");
    prop_assert_eq!(read(&without).expect("JSON"), read(text).expect("JSON"));
    prop_assert_eq!(ink(&without), ink(text));
    Ok(())
}

proptest! {
    #[test]
    fn a_key_goes_in_and_comes_out_and_nothing_else_changes(text in settings()) {
        let path = ["servers", "me", "command"];
        goes_in_and_comes_out(&text, &path, |text| set(text, &path, &json!("/x")), |text, found| unset(text, &path, found))?;
    }

    #[test]
    fn an_item_goes_in_and_comes_out_and_nothing_else_changes(text in settings(), deep in any::<bool>()) {
        let item = if deep { json!({ "matcher": "x", "hooks": [{ "command": "y" }] }) } else { json!("Bash") };
        let path = ["servers", "names"];
        goes_in_and_comes_out(&text, &path, |text| add(text, &path, &item), |text, found| discard(text, &path, &item, found))?;
    }

    #[test]
    fn no_text_makes_it_panic(text in ".{0,200}", junk in "[{}\\[\\]\",:/* \n\\\\a]{0,80}", toml in "[\\[\\]ab.= \"\n#{}1]{0,60}") {
        let value = Value::from("x");
        let path = ["a", "b"];
        for text in [text, junk, toml] {
            let _ = set(&text, &path, &value);
            let _ = unset(&text, &path, 0);
            let _ = add(&text, &path, &value);
            let _ = discard(&text, &path, &value, 0);
            let _ = super::toml::set(&text, &path, &value);
            let _ = super::toml::unset(&text, &path, 0);
        }
    }
}
