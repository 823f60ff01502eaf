//! `[mcp.clients."NAME"]`: settings for single MCP clients.

use std::borrow::Cow;
use std::collections::BTreeMap;

use bashful_dialect::ReplyForm;
use bashful_engine::{Patience, Pattern, ReplyLimit};
use bashful_mcp::{ClientRow, Clients};
use serde::{Deserialize, Serialize};

use super::Mcp;
use super::value::{Bytes, Count, Merge, Seconds};
use crate::guard::find_no_keeper;

/// Rows by client name, in which `*` matches anything. A later layer changes single keys of a row.
#[derive(Debug, Clone, PartialEq, Deserialize, Serialize)]
#[serde(transparent)]
pub(crate) struct ClientRows(BTreeMap<Cow<'static, str>, RowSettings>);

/// One row. A missing key has the value for all clients.
#[derive(Debug, Clone, Copy, PartialEq, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
struct RowSettings {
    #[serde(skip_serializing_if = "Option::is_none")]
    patience_seconds: Option<Seconds>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shown_bytes: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shown_lines: Option<Count>,
    #[serde(skip_serializing_if = "Option::is_none")]
    head_bytes: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tail_bytes: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_bytes: Option<Bytes>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_links: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    facts: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    empty_structured: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    exits_are_results: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    closed_json: Option<bool>,
}

impl ClientRows {
    /// The rows of clients that were measured or reported. The commented file says how they came about.
    pub(super) fn built_in() -> Self {
        let row = |patience, shown: Option<u64>| RowSettings {
            patience_seconds: Some(Seconds(patience)),
            shown_bytes: shown.map(Bytes),
            ..RowSettings::default()
        };
        let without_facts = |row| RowSettings { facts: Some(false), ..row };
        let exits_are_results = |row| RowSettings { exits_are_results: Some(true), ..row };
        let failing = |bytes, row| RowSettings { failed_bytes: Some(Bytes(bytes)), ..row };
        let ends = |each, row| RowSettings { head_bytes: Some(Bytes(each)), tail_bytes: Some(Bytes(each)), ..row };
        let rows = [
            ("claude-code", ends(950, failing(9000, row(110.0, Some(47_000))))),
            ("codex-mcp-client", row(240.0, Some(10_500))),
            (
                "gemini-cli-mcp-client",
                RowSettings {
                    empty_structured: Some(true),
                    ..exits_are_results(without_facts(row(240.0, Some(37_000))))
                },
            ),
            (
                "qwen-cli-mcp-client-*",
                ends(2200, exits_are_results(without_facts(failing(11_500, row(240.0, Some(25_000)))))),
            ),
            ("opencode", RowSettings { shown_lines: Some(Count(1900)), ..row(240.0, Some(48_000)) }),
            ("copilot-cli", RowSettings { closed_json: Some(true), ..ends(400, row(240.0, Some(18_000))) }),
            ("mcp", row(4.0, None)),
            ("google-adk", without_facts(RowSettings::default())),
            ("claude-ai", row(50.0, None)),
            ("cursor-vscode", row(50.0, Some(48_000))),
            ("Visual Studio Code*", row(50.0, Some(48_000))),
            ("Zed", row(50.0, None)),
        ];
        Self(rows.into_iter().map(|(name, row)| (Cow::Borrowed(name), row)).collect())
    }
}

impl Merge for ClientRows {
    fn merge(&mut self, later: Self) {
        for (name, row) in later.0 {
            // Case does not matter in a client's name.
            let same = self.0.keys().find(|known| known.eq_ignore_ascii_case(&name)).cloned();
            let known = self.0.entry(same.unwrap_or(name)).or_default();
            *known = RowSettings {
                patience_seconds: row.patience_seconds.or(known.patience_seconds),
                shown_bytes: row.shown_bytes.or(known.shown_bytes),
                shown_lines: row.shown_lines.or(known.shown_lines),
                head_bytes: row.head_bytes.or(known.head_bytes),
                tail_bytes: row.tail_bytes.or(known.tail_bytes),
                failed_bytes: row.failed_bytes.or(known.failed_bytes),
                structured: row.structured.or(known.structured),
                resource_links: row.resource_links.or(known.resource_links),
                facts: row.facts.or(known.facts),
                empty_structured: row.empty_structured.or(known.empty_structured),
                exits_are_results: row.exits_are_results.or(known.exits_are_results),
                closed_json: row.closed_json.or(known.closed_json),
            };
        }
    }
}

impl RowSettings {
    fn over(self, usual: ClientRow) -> ClientRow {
        let size = |bytes: Option<Bytes>| bytes.map(Bytes::size);
        ClientRow {
            patience: self.patience_seconds.map_or(usual.patience, |seconds| Patience(seconds.duration())),
            limit: ReplyLimit {
                bytes: size(self.shown_bytes),
                lines: self.shown_lines.map(|lines| lines.count() as u64),
                head: size(self.head_bytes),
                tail: size(self.tail_bytes),
                failed_bytes: size(self.failed_bytes),
            },
            form: ReplyForm {
                structured: self.structured.unwrap_or(usual.form.structured),
                links: self.resource_links.unwrap_or(usual.form.links),
                without_facts: self.facts == Some(false),
                empty_structured: self.empty_structured == Some(true),
                exits_are_results: self.exits_are_results == Some(true),
                closed_json: self.closed_json == Some(true),
            },
        }
    }
}

impl Mcp {
    /// The client rows for the server. `structured` turns structured results on for every client.
    pub(crate) fn clients(&self, structured: bool) -> Clients {
        let form = ReplyForm { structured: structured || self.structured, ..ReplyForm::default() };
        let patience = Patience(self.patience_seconds.duration());
        let usual = ClientRow { patience, form, limit: ReplyLimit::default() };
        let mut rows: Vec<(String, ClientRow)> =
            self.clients.0.iter().map(|(name, row)| (name.to_string(), row.over(usual))).collect();
        if structured {
            for (_, row) in &mut rows {
                row.form.structured = true;
            }
        }
        // Specific patterns come first: names without `*`, then longer patterns.
        rows.sort_by_key(|(name, _)| (name.contains('*'), std::cmp::Reverse(name.len())));
        let rows = rows.into_iter().map(|(name, row)| (Pattern::new(&name), row)).collect();
        // A server that a command started must not take its client's answers for approval.
        Clients { usual, rows, can_answer: find_no_keeper().is_ok() }
    }

    /// The name of the row for a client.
    pub(crate) fn client_row_name(&self, client: &str) -> Option<&str> {
        let fits = self.clients.0.keys().filter(|name| Pattern::new(name).matches(client.as_ref()));
        fits.map(AsRef::as_ref).min_by_key(|name| (name.contains('*'), std::cmp::Reverse(name.len())))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::Settings;
    use super::*;

    fn settings(layer: &str) -> Mcp {
        let mut settings = Settings::built_in();
        settings.apply(toml::from_str(layer).expect("a layer"));
        settings.mcp
    }

    #[test]
    fn a_row_is_changed_key_by_key_and_the_closest_name_wins() {
        let mcp = settings(
            "[mcp.clients.claude-code]\nshown_bytes = 7000\n[mcp.clients.\"claude-*\"]\npatience_seconds = 3\n",
        );
        let clients = mcp.clients(false);
        let claude = clients.row(Some("claude-code"));
        assert_eq!(claude.limit.bytes.map(|size| size.0), Some(7000));
        assert_eq!(claude.patience, Patience(Duration::from_secs(110)), "the key that was not changed");
        assert_eq!(clients.row(Some("Claude-Next")).patience, Patience(Duration::from_secs(3)));
        assert_eq!(mcp.client_row_name("claude-next"), Some("claude-*"));
        assert_eq!(clients.row(Some("somebody")), clients.usual);
        assert_eq!(clients.row(None).limit, ReplyLimit::default());
        assert_eq!(mcp.client_row_name("somebody"), None);
    }

    #[test]
    fn structured_results_are_for_all_clients_or_for_one() {
        let row = |mcp: &Mcp, all, name| mcp.clients(all).row(Some(name)).form.structured;
        let mcp = settings("[mcp.clients.zed]\nstructured = true\n");
        assert!(row(&mcp, false, "Zed") && !row(&mcp, false, "claude-code"));
        assert!(row(&mcp, true, "claude-code"), "the switch on the command line is for all");
        let mcp = settings("[mcp]\nstructured = true\n[mcp.clients.zed]\nstructured = false\n");
        assert!(!row(&mcp, false, "Zed") && row(&mcp, false, "claude-code") && row(&mcp, false, "somebody"));
    }
}
