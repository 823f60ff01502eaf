//! `bashful log --savings`: sums up what condensing has saved.

use std::collections::BTreeMap;

use bashful_dialect::table::Table;
use bashful_dialect::visible;
use bashful_engine::ByteSize;
use serde_json::{Value, json};

use crate::condense::{percent_saved, tokens};
use crate::print::{self, PrintError};

/// The sums of all lines of the log that were wanted.
#[derive(Debug, Default)]
pub(super) struct SavingsReport {
    /// Commands that have ended, condensed or not.
    ended: u64,
    /// By families and filters. A command with several filters counts once, under all of their names.
    by_filter: BTreeMap<(String, String), Sum>,
}

/// Sizes of the shown texts of several commands.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    commands: u64,
    before: u64,
    after: u64,
}

impl Sum {
    fn add(&mut self, other: Self) {
        self.commands += other.commands;
        self.before += other.before;
        self.after += other.after;
    }

    fn saved(self) -> u64 {
        self.before.saturating_sub(self.after)
    }

    fn facts(self) -> Value {
        json!({
            "commands": self.commands,
            "before_bytes": self.before,
            "after_bytes": self.after,
            "saved_bytes": self.saved(),
            "saved_tokens": tokens(self.saved()),
        })
    }

    fn row(self, family: &str, filter: &str) -> [String; 7] {
        [
            visible(family),
            visible(filter),
            self.commands.to_string(),
            ByteSize(self.before).to_string(),
            ByteSize(self.after).to_string(),
            format!("{} %", percent_saved(self.before, self.after)),
            tokens(self.saved()).to_string(),
        ]
    }
}

impl SavingsReport {
    /// Counts one line of the log.
    pub(super) fn add(&mut self, entry: &Value) {
        let is_over = entry["verdict"] == "allowed" && entry["status"] != "running" && entry["status"] != "failed";
        self.ended += u64::from(is_over);
        let condensed = &entry["condensed"];
        let size = |key: &str| condensed[key].as_u64();
        let (Some(before), Some(after)) = (size("before_bytes"), size("after_bytes")) else { return };
        let names = |key: &str| {
            let names = condensed[key].as_array().into_iter().flatten().filter_map(Value::as_str);
            names.collect::<Vec<_>>().join(", ")
        };
        let sum = self.by_filter.entry((names("families"), names("filters"))).or_default();
        sum.add(Sum { commands: 1, before, after });
    }

    /// Prints a table, or one JSON object.
    pub(super) fn print(&self, as_json: bool) -> Result<(), PrintError> {
        let mut total = Sum::default();
        self.by_filter.values().for_each(|sum| total.add(*sum));
        let mut rows: Vec<_> = self.by_filter.iter().collect();
        rows.sort_by_key(|(names, sum)| (std::cmp::Reverse(sum.saved()), *names));
        if as_json {
            let of_filter = |((families, filters), sum): (&(String, String), &Sum)| {
                let mut facts = sum.facts();
                facts["families"] = families.split(", ").collect();
                facts["filters"] = filters.split(", ").collect();
                facts
            };
            let by_filter: Vec<Value> = rows.into_iter().map(of_filter).collect();
            return print::json(
                json!({ "ended": self.ended, "total": total.facts(), "by_filter": by_filter }),
                print::redactor(),
            );
        }
        if total.commands == 0 {
            let ended = self.ended;
            print::talk(&format!("[no output was condensed: {ended} commands ended]"));
            return Ok(());
        }
        let mut table: Vec<_> = rows.into_iter().map(|((families, filters), sum)| sum.row(families, filters)).collect();
        table.push(total.row("all", &format!("{} of {} commands", total.commands, self.ended)));
        let heads = ["FAMILY", "FILTER", "COMMANDS", "BEFORE", "AFTER", "SAVED", "TOKENS"];
        print::table(&Table::new(heads, table, &[2, 3, 4, 5, 6]))
    }
}
