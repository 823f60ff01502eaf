//! Bounds on figures, and whether this run kept them.

use std::fmt::Write;

use serde_json::{Value, json};

use super::latency::{FLOOR_IN_A_ROW, IN_A_ROW};
use super::tables::{code, p50_of, rows};

/// A bound on one figure.
pub(crate) struct Bar {
    name: String,
    unit: &'static str,
    at_most: f64,
    /// None if it was not measured, and then the bound fails.
    measured: Option<f64>,
}

impl Bar {
    fn holds(&self) -> bool {
        self.measured.is_some_and(|measured| measured <= self.at_most)
    }
}

/// Bounds as multiples of the floor: a script, a way, and how many times the floor it may take.
const RATIOS: [(&str, &str, f64); 7] = [
    ("true", "ready", 0.5),
    ("true", "cold", 1.3),
    ("true", "none fits", 1.3),
    ("true", "session", 0.2),
    ("/bin/true", "session", 0.8),
    ("echo a | cat", "ready", 1.1),
    ("5 programs", "ready", 1.1),
];

/// Compares the figures with their bounds.
pub(crate) fn judge(figures: &Value) -> Vec<Bar> {
    let mut bars = Vec::new();
    for (part, where_from) in [("latency", ""), ("latency-2gb", ", host with 2 GB")] {
        let figures = &figures[part];
        let p50 = |script, way| p50_of(figures, script, way);
        for (script, way, at_most) in RATIOS {
            // The second part has only the shortest script.
            let Some(floor) = p50(script, "floor") else { continue };
            let name = format!("engine {}, {way}{where_from}", code(script));
            bars.push(Bar { name, unit: "× floor", at_most, measured: p50(script, way).map(|time| time / floor) });
        }
        let in_a_row = p50("true", IN_A_ROW).zip(p50("true", FLOOR_IN_A_ROW)).map(|(time, floor)| time / floor);
        let name = format!("engine `true`, {IN_A_ROW}{where_from}");
        bars.push(Bar { name, unit: "× floor in a row", at_most: 1.0, measured: in_a_row });
        let over = p50("true", "program").zip(p50("true", "floor")).map(|(time, floor)| (time - floor) / 1000.0);
        let name = format!("`bashful run true`{where_from}");
        bars.push(Bar { name, unit: "ms over the floor", at_most: 2.5, measured: over });
    }
    for process in ["keeper of a running `sleep`", "ready keeper"] {
        let row = rows(&figures["memory"]).iter().find(|row| row["process"] == process);
        let measured = row.and_then(|row| row["private_dirty_kb"].as_f64());
        bars.push(Bar { name: process.to_owned(), unit: "KB private", at_most: 200.0, measured });
    }
    let console = &figures["console"];
    let micros = |key: &str| console[key]["p95_us"].as_f64().map(|micros| micros / 1000.0);
    let bounds = [
        ("console, idle", "% of a processor", 1.0, console["idle_percent"].as_f64()),
        ("console, idle", "MB resident", 15.0, console["idle_kb"].as_f64().map(|kb| kb / 1024.0)),
        ("console, a key beside 100 commands, p95", "ms", 50.0, micros("running_key")),
        ("console, a key beside 1 GB of output, p95", "ms", 50.0, micros("flood_key")),
    ];
    bars.extend(bounds.map(|(name, unit, at_most, measured)| Bar { name: name.to_owned(), unit, at_most, measured }));
    let many = &figures["many"];
    let wrong = many["commands"].as_f64().zip(many["right"].as_f64()).map(|(all, right)| all - right);
    bars.push(Bar { name: "many at once".to_owned(), unit: "wrong", at_most: 0.0, measured: wrong });
    bars.extend(output(&figures["output"]));
    bars.extend(terminal(&figures["terminal"]));
    bars.extend(jobs(&figures["jobs"]));
    bars.extend(store(&figures["store"]));
    bars.extend(guard(&figures["guard"]));
    bars.extend(condense(&figures["condense"]));
    bars.extend(mcp(&figures["mcp"]));
    bars.extend(rpc(&figures["rpc"]));
    bars
}

/// A full store costs a call no more than an empty one. Listing may cost four times as much for four times the jobs.
fn store(figures: &Value) -> Vec<Bar> {
    let flat = rows(&figures["rows"]).iter().map(|row| Bar {
        name: format!("full store: {}", row["call"].as_str().unwrap_or_default()),
        unit: "× empty",
        at_most: 1.2,
        measured: row["ratio"].as_f64(),
    });
    let list = Bar {
        name: "listing four times the jobs".to_owned(),
        unit: "× the time",
        at_most: 4.0 * 1.2,
        measured: figures["list"]["ratio"].as_f64(),
    };
    flat.chain([list]).collect()
}

/// A terminal costs little more than a pipe, and its output passes almost as fast as a bare reader takes it.
fn terminal(figures: &Value) -> [Bar; 3] {
    let bar = |name: &str, unit, at_most, measured| Bar { name: name.to_owned(), unit, at_most, measured };
    let slower = figures["flood_ratio"].as_f64().map(|ratio| 1.0 / ratio);
    [
        bar("engine `true` at a terminal, cold", "× with a pipe, cold", 1.3, figures["cold_ratio"].as_f64()),
        bar("flood at a terminal", "× the time of a bare reader", 1.0 / 0.8, slower),
        bar("flood at a terminal, memory", "KB more", 8192.0, figures["flood_grew_kb"].as_f64()),
    ]
}

fn mcp(figures: &Value) -> [Bar; 10] {
    let bar = |name: &str, unit, at_most, measured| Bar { name: name.to_owned(), unit, at_most, measured };
    let ratio = |way: &str| rows(&figures["ways"]).iter().find(|row| row["way"] == way)?["ratio"].as_f64();
    let pss = |when: &str| figures[when]["pss_kb"].as_f64();
    let first = figures["first"]["p50_us"].as_f64().map(|micros| micros / 1000.0);
    let wrong = |way: &str| {
        let row = rows(&figures["load"]).iter().find(|row| row["way"] == way)?;
        Some(row["calls"].as_f64()? - row["right"].as_f64()?)
    };
    let grown = pss("after").zip(pss("idle")).map(|(after, idle)| after - idle);
    [
        bar("server `true`, ready", "× floor", 0.6, ratio("ready")),
        bar("server `true`, cold", "× floor", 1.3, ratio("cold")),
        bar("server `true`, session", "× floor", 0.3, ratio("session")),
        bar("server `true`, in a row", "× floor in a row", 1.0, ratio(IN_A_ROW)),
        bar("server, start to first result", "ms", 10.0, first),
        bar("server, idle", "KB Pss", 10_240.0, pss("idle")),
        bar("server, grown by many calls", "KB Pss", 1024.0, grown),
        bar("server, 38 MB on the wire", "bytes", 100_000.0, figures["wire_bytes"].as_f64()),
        bar("server, 500 calls, 10 at once, stdio", "wrong", 0.0, wrong("stdio")),
        bar("server, 500 calls, 10 at once, http", "wrong", 0.0, wrong("http")),
    ]
}

/// A host over RPC waits no longer than one over MCP, and a gigabyte of live output costs no memory on either side.
fn rpc(figures: &Value) -> [Bar; 6] {
    let bar = |name: &str, unit, at_most, measured| Bar { name: name.to_owned(), unit, at_most, measured };
    let p50 = |way: &str| figures["p50_us"][way].as_f64();
    let ratio = |way, beside| p50(way).zip(p50(beside)).map(|(time, other)| time / other);
    let stream = rows(&figures["streams"]).iter().find(|row| row["when_behind"] == "wait");
    let of_stream = |key: &str| stream.and_then(|row| row[key].as_f64());
    let missing = of_stream("total_bytes").zip(of_stream("bytes")).map(|(total, bytes)| total - bytes);
    let many = &figures["many"];
    let wrong = many["calls"].as_f64().zip(many["right"].as_f64()).map(|(calls, right)| calls - right);
    [
        bar("rpc `true` from Python, as a tool", "× MCP", 1.15, ratio("rpc", "mcp")),
        bar("rpc `true` from Python, bang", "× MCP in a session", 1.15, ratio("rpc bang", "mcp session")),
        bar("rpc, 1 GB streamed, service", "KB more than after a tenth", 1024.0, of_stream("service_grew_kb")),
        bar("rpc, 1 GB streamed, Python", "KB more than after a tenth", 1024.0, of_stream("reader_grew_kb")),
        bar("rpc, 1 GB streamed", "bytes missing", 0.0, missing),
        bar("rpc, 1,000 calls, 50 at once", "wrong", 0.0, wrong),
    ]
}

fn guard(figures: &Value) -> [Bar; 3] {
    let bar = |name: &str, at_most, key: &str| Bar {
        name: name.to_owned(),
        unit: "µs",
        at_most,
        measured: figures[key].as_f64(),
    };
    [
        bar("judging a script, p50", 50.0, "p50_us"),
        bar("judging a script, p99", 1000.0, "p99_us"),
        bar("judging a script of 64 KiB", 20_000.0, "long_us"),
    ]
}

fn condense(figures: &Value) -> Vec<Bar> {
    let bar = |row: &Value| Bar {
        name: format!("condensing 100 KB of {}", code(row["command"].as_str().unwrap_or_default())),
        unit: "ms",
        at_most: 1.0,
        measured: row["ms_for_100_kb"].as_f64(),
    };
    rows(&figures["rows"]).iter().map(bar).collect()
}

fn jobs(figures: &Value) -> [Bar; 5] {
    let bar = |name: &str, unit, at_most, measured| Bar { name: name.to_owned(), unit, at_most, measured };
    let list = figures["list"]["time"]["p50_us"].as_f64().map(|micros| micros / 1000.0);
    let write = figures["write"]["faster"].as_f64().map(|faster| 1.0 / faster);
    [
        bar("starting a job", "× floor", 1.5, figures["start"]["ratio"].as_f64()),
        bar("keeper of an idle job", "KB private", 1536.0, figures["idle"]["private_dirty_kb"].as_f64()),
        bar("its wake-ups", "times", 0.0, figures["idle"]["wake_ups"].as_f64()),
        bar("listing 1,000 jobs", "ms", 50.0, list),
        bar("a job's writes", "× read loop", 1.0 / 0.9, write),
    ]
}

/// Output flows at 0.9 times the rate of a loop that only reads, or more: how many times as long it may take.
fn output(figures: &Value) -> Vec<Bar> {
    let rows = rows(&figures["rows"]).iter().map(|row| {
        let word = |key: &str| row[key].as_str().unwrap_or_default();
        let measured = row["faster"].as_f64().map(|faster| 1.0 / faster);
        Bar { name: format!("{}, {}", word("writer"), word("way")), unit: "× read loop", at_most: 1.0 / 0.9, measured }
    });
    let grew = figures["flood_grew_kb"].as_f64();
    let flood = Bar { name: "memory while 10 GB flow".to_owned(), unit: "KB more", at_most: 8192.0, measured: grew };
    rows.chain([flood]).collect()
}

/// The bars as markdown.
pub(crate) fn table(bars: &[Bar]) -> String {
    let mut out = "\n## Bars\n\n| what | at most | measured | holds |\n|---|--:|--:|---|\n".to_owned();
    for bar in bars {
        let measured = bar.measured.map_or_else(|| "-".to_owned(), |measured| format!("{measured:.2}"));
        let holds = if bar.holds() { "yes" } else { "**no**" };
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| {} | {:.2} {} | {measured} | {holds} |", bar.name, bar.at_most, bar.unit);
    }
    out
}

/// The bars for programs.
pub(crate) fn as_json(bars: &[Bar]) -> Value {
    bars.iter()
        .map(|bar| {
            json!({
                "name": bar.name,
                "unit": bar.unit,
                "at_most": bar.at_most,
                "measured": bar.measured,
                "holds": bar.holds(),
            })
        })
        .collect()
}
