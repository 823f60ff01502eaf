//! The figures of the peers as tables for people.

use std::fmt::Write;

use serde_json::Value;

/// Both tables, as markdown.
pub(super) fn all(figures: &Value, load: &str) -> String {
    let servers = figures["servers"].as_array().map_or(&[][..], Vec::as_slice);
    let mut out = format!("Load: {load}. Floor (`bash -c true`): {}.\n\n", time(&figures["floor"]));
    out.push_str("| server | a call of `true`, p50 | ÷ floor | ÷ bashful | start to first result, p50 | ÷ bashful |\n");
    out.push_str("|---|--:|--:|--:|--:|--:|\n");
    let ours = servers.first().unwrap_or(&Value::Null);
    for server in servers {
        let (call, first) = (&server["call"], &server["first"]);
        // Writing to a string cannot fail, here and below.
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            text(&server["package"]),
            time(call),
            ratio(call, &figures["floor"]),
            ratio(call, &ours["call"]),
            time(first),
            ratio(first, &ours["first"]),
        );
    }
    let patience = &figures["patience_s"];
    let _ = write!(
        out,
        "\nIs the command's process gone within {patience} s? Otherwise it survives.\n\n\
         | server | cancel | client killed | server killed | timeout: child | timeout: `setsid` child | reply to `sleep 86411 & seq 41 42; true` | \
         38 MB of output: bytes sent | shown | whole | secret |\n|---|---|---|---|---|---|---|--:|---|---|---|\n"
    );
    for server in servers {
        let _ = writeln!(out, "| {} | {} |", text(&server["name"]), row(&server["cases"]).join(" | "));
    }
    out
}

/// The cells of one server's cases.
fn row(cases: &Value) -> [String; 10] {
    let (timeout, output) = (&cases["timeout"], &cases["output"]);
    [
        fate(&cases["cancel"]),
        fate(&cases["client_death"]),
        fate(&cases["server_death"]),
        fate(timeout.get("child").unwrap_or(timeout)),
        fate(timeout.get("setsid").unwrap_or(timeout)),
        daemon(&cases["daemon"]),
        output["wire_bytes"].as_u64().map_or_else(|| "no answer".to_owned(), thousands),
        shown(output).to_owned(),
        kept(output).to_owned(),
        if cases["secret"]["leaks"] == true { "leaks" } else { "withheld" }.to_owned(),
    ]
}

fn fate(case: &Value) -> String {
    match (case["none"].as_bool(), case["refused"].as_str(), case["gone_ms"].as_f64()) {
        (Some(true), ..) => "no timeout".to_owned(),
        (_, Some(_), _) => "refused".to_owned(),
        (.., Some(millis)) => format!("gone, {:.2} s", millis / 1000.0),
        _ => "**survives**".to_owned(),
    }
}

fn daemon(case: &Value) -> String {
    match (case["answered_ms"].as_f64(), case["shown"].as_bool()) {
        (None, _) => "**no reply**".to_owned(),
        (Some(millis), Some(true)) => format!("{:.2} s", millis / 1000.0),
        (Some(millis), _) => format!("{:.2} s, **output lost**", millis / 1000.0),
    }
}

fn shown(output: &Value) -> &'static str {
    match (output["head"] == true, output["tail"] == true) {
        (true, true) => "head, tail",
        (true, false) => "head",
        (false, true) => "tail",
        (false, false) => "none",
    }
}

fn kept(output: &Value) -> &'static str {
    match (output["whole"] == true, output["on_disk"] == true) {
        (true, _) => "sent",
        (false, true) => "on disk",
        (false, false) => "**no**",
    }
}

/// A median, in milliseconds.
fn time(times: &Value) -> String {
    format!("{:.1} ms", times["p50_us"].as_f64().unwrap_or_default() / 1000.0)
}

fn ratio(times: &Value, other: &Value) -> String {
    let micros = |times: &Value| times["p50_us"].as_f64().unwrap_or_default();
    format!("{:.2} ×", micros(times) / micros(other))
}

/// A count with a comma between thousands.
fn thousands(count: u64) -> String {
    let digits = count.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_process_that_outlives_the_wait_survives() {
        assert_eq!(fate(&json!({ "gone_ms": 12 })), "gone, 0.01 s");
        assert_eq!(fate(&json!({ "gone_ms": null })), "**survives**");
        assert_eq!(fate(&json!({ "refused": "no" })), "refused");
        assert_eq!(fate(&json!({ "none": true })), "no timeout");
    }

    #[test]
    fn output_that_is_neither_sent_nor_on_disk_is_not_whole() {
        assert_eq!(kept(&json!({ "whole": false, "on_disk": false })), "**no**");
        assert_eq!(kept(&json!({ "whole": false, "on_disk": true })), "on disk");
        assert_eq!(kept(&json!({ "whole": true, "on_disk": false })), "sent");
    }

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!([7, 999, 1000, 38_888_896].map(thousands), ["7", "999", "1,000", "38,888,896"]);
    }
}
