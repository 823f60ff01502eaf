//! The page about RPC: its examples are real messages, and it leaves none out.

use std::path::Path;

use serde_json::Value;

use crate::schema::{check, check_sent, schema};

/// The lines of the examples: true for one of the host.
fn examples() -> Vec<(bool, String)> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rpc.md");
    let page = std::fs::read_to_string(file).expect("it is there");
    let line = |line: &str| {
        let of_host = line.strip_prefix("→ ").map(|line| (true, line.to_owned()));
        of_host.or_else(|| line.strip_prefix("← ").map(|line| (false, line.to_owned())))
    };
    page.lines().filter_map(line).collect()
}

#[test]
fn every_line_of_an_example_is_a_message_and_every_refused_one_is_none() {
    let examples = examples();
    assert!(examples.len() > 30, "{}", examples.len());
    for (at, (is_request, line)) in examples.iter().enumerate() {
        let is_refused = examples.get(at + 1).is_some_and(|(_, next)| next.contains("\"success\":false"));
        match serde_json::from_str::<Value>(line) {
            Ok(message) if *is_request && !is_refused => check(&message, "Request"),
            Ok(message) if !is_request => check_sent(&message),
            other => assert!(*is_request && is_refused, "{line}: {other:?}"),
        }
    }
}

#[test]
fn every_type_of_request_response_and_event_has_an_example_or_a_row() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rpc.md");
    let page = std::fs::read_to_string(file).expect("it is there");
    let examples = examples();
    let has = |is_request: bool, kind: &str| {
        let is_it = |line: &str| serde_json::from_str::<Value>(line).is_ok_and(|line| line["type"] == kind);
        examples.iter().any(|(of_host, line)| *of_host == is_request && is_it(line))
    };
    let forms = |name: &str, forms: &str| schema()["$defs"][name][forms].as_array().expect("forms").clone();
    for form in forms("Request", "anyOf") {
        let kind = form["properties"]["type"]["const"].as_str().expect("a type").to_owned();
        assert!(has(true, &kind), "no example of {kind}");
        for field in form["properties"].as_object().expect("fields").keys() {
            assert!(page.contains(&format!("`{field}`")) || page.contains(&format!("\"{field}\"")), "{kind}: {field}");
        }
    }
    for form in forms("Event", "oneOf") {
        let kind = form["properties"]["type"]["const"].as_str().expect("a type").to_owned();
        assert!(has(false, &kind), "no example of {kind}");
    }
    for code in forms("ErrorCode", "oneOf") {
        let code = code["const"].as_str().expect("a code").to_owned();
        assert!(page.contains(&format!("`{code}`")), "{code}");
    }
}
