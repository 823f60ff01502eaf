//! `bashful doctor --client`: the settings for one MCP client.

use std::fmt::Write;

use bashful_engine::ByteSize;
use bashful_mcp::ClientRow;
use serde_json::{Value, json};

use crate::settings::Mcp;

/// The row in force for a client of this name.
pub(super) fn examine(settings: &Mcp, name: &str) -> Value {
    let ClientRow { patience, limit, form } = settings.clients(false).row(Some(name));
    let bytes = |size: Option<ByteSize>| size.map(|size| size.0);
    json!({
        "client": name,
        "row": settings.client_row_name(name),
        "patience_seconds": patience.0.as_secs_f64(),
        "shown_bytes": bytes(limit.bytes),
        "shown_lines": limit.lines,
        "head_bytes": bytes(limit.head),
        "tail_bytes": bytes(limit.tail),
        "failed_bytes": bytes(limit.failed_bytes),
        "structured": form.structured,
        "resource_links": form.links,
        "facts": !form.without_facts,
        "empty_structured": form.empty_structured,
        "exits_are_results": form.exits_are_results,
        "closed_json": form.closed_json,
    })
}

/// Explanations of the keys.
const MEANING: [(&str, &str); 12] = [
    ("patience_seconds", "a command that takes longer goes on as a job"),
    ("shown_bytes", "output shown of one command"),
    ("shown_lines", "the same in lines"),
    ("head_bytes", "its beginning, once it is cut"),
    ("tail_bytes", "its end, once it is cut"),
    ("failed_bytes", "output shown of a command that failed"),
    ("structured", "results carry structuredContent"),
    ("resource_links", "results link to artifacts"),
    ("facts", "results carry facts in _meta"),
    ("empty_structured", "results carry an empty structuredContent"),
    ("exits_are_results", "an exit code other than 0 is no error"),
    ("closed_json", "a line follows a text that is JSON"),
];

pub(super) fn as_text(row: &Value) -> String {
    let name = row["client"].as_str().unwrap_or_default();
    let mut text = match row["row"].as_str() {
        Some(row) => format!("client {name:?} is answered by [mcp.clients.{row:?}]\n"),
        None => format!("client {name:?} has no row in [mcp.clients]; it is answered like any other\n"),
    };
    for (key, meaning) in MEANING {
        let value = match &row[key] {
            Value::Null => "as the dialect says".to_owned(),
            Value::Bool(true) => "yes".to_owned(),
            Value::Bool(false) => "no".to_owned(),
            other => other.to_string(),
        };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {key:<17} {value:<20} {meaning}");
    }
    text
}
