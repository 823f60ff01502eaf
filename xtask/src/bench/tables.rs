//! Figures as tables for people.

use std::fmt::Write;

use serde_json::Value;

use super::latency::{FLOOR_IN_A_ROW, IN_A_ROW};

/// All tables, as markdown.
pub(crate) fn all(figures: &Value) -> String {
    let mut out = String::new();
    out.push_str("## Call latency\n\n");
    out.push_str(
        "Times in µs, all ways of a table interleaved, 5 ms of rest before each call. Floor: `posix_spawn` of `bash -c`, \
         one pipe read to its end, `waitpid`. Ready and cold: engine in process, runtime of one thread; ready: a keeper \
         and its bash wait; none fits: one waits, for another environment; session: the same bash again. In a row: 30 \
         calls without a pause, after 10 that use up what was ready. Program: `bashful run`, from its start to its end.\n\n",
    );
    line(&mut out, format_args!("Load: {}.\n", text(&figures["load"])));
    latency(&mut out, &figures["latency"]);
    out.push_str("\nThe same from a host that holds 2 GB:\n\n");
    latency(&mut out, &figures["latency-2gb"]);
    out.push_str("\n## Memory\n\n| process | private KB | Pss KB |\n|---|--:|--:|\n");
    for row in rows(&figures["memory"]) {
        line(&mut out, format_args!("| {} | {} | {} |", text(&row["process"]), row["private_dirty_kb"], row["pss_kb"]));
    }
    let many = &figures["many"];
    out.push_str(
        "\n## Many at once\n\n| `sleep 1; echo N` at once | right | ms | peak descriptors |\n|--:|--:|--:|--:|\n",
    );
    line(
        &mut out,
        format_args!(
            "| {} | {} | {} | {} |",
            many["commands"], many["right"], many["time_ms"], many["peak_descriptors"]
        ),
    );
    if let Some(error) = many["first_error"].as_str() {
        line(&mut out, format_args!("\nThe first that was wrong: {error}"));
    }
    output(&mut out, &figures["output"]);
    terminal(&mut out, &figures["terminal"]);
    console(&mut out, &figures["console"]);
    jobs(&mut out, &figures["jobs"]);
    store(&mut out, &figures["store"]);
    out.push_str(&condense(&figures["condense"]));
    mcp(&mut out, &figures["mcp"]);
    out.push_str(&rpc(&figures["rpc"]));
    out
}

/// The table of condensing.
pub(crate) fn condense(figures: &Value) -> String {
    let mut out =
        "\n## Condensing 100 KB of output\n\n| command | MB a second | ms | the first time, ms |\n|---|--:|--:|--:|\n"
            .to_owned();
    for row in rows(&figures["rows"]) {
        let figure = |key: &str| row[key].as_f64().unwrap_or_default();
        line(
            &mut out,
            format_args!(
                "| {} | {:.0} | {:.2} | {:.1} |",
                code(text(&row["command"])),
                figure("mb_a_second"),
                figure("ms_for_100_kb"),
                figure("first_ms")
            ),
        );
    }
    out
}

fn terminal(out: &mut String, figures: &Value) {
    out.push_str("\n## Terminals\n\n| what | measured |\n|---|--:|\n");
    let number = |name: &str| figures[name].as_f64().unwrap_or_default();
    line(out, format_args!("| `true`, cold, with a pipe, p50 | {} µs |", figures["pipe"]["p50_us"]));
    let ratio = number("cold_ratio");
    line(out, format_args!("| the same at a terminal | {} µs, {ratio:.2} × |", figures["terminal"]["p50_us"]));
    line(out, format_args!("| flood, a loop that only reads the terminal | {:.0} MB/s |", number("read_only_mb_s")));
    let ratio = number("flood_ratio");
    line(out, format_args!("| the same through the engine | {:.0} MB/s, {ratio:.2} × |", number("engine_mb_s")));
    line(out, format_args!("| memory that the flood took | {} KB |", figures["flood_grew_kb"]));
}

fn console(out: &mut String, figures: &Value) {
    out.push_str("\n## The console\n\n| what | measured |\n|---|--:|\n");
    let share = figures["idle_percent"].as_f64().unwrap_or_default();
    line(out, format_args!("| idle: processor, bytes drawn | {share:.1} %, {} |", figures["idle_bytes_drawn"]));
    line(out, format_args!("| idle: resident memory | {} KB |", figures["idle_kb"]));
    for (what, key) in [("idle", "idle_key"), ("100 commands run", "running_key"), ("and one writes 1 GB", "flood_key")]
    {
        let time = &figures[key];
        line(
            out,
            format_args!("| from a key to the screen, {what} | p50 {} µs, p95 {} µs |", time["p50_us"], time["p95_us"]),
        );
    }
    line(out, format_args!("| resident memory after that | {} KB |", figures["after_kb"]));
}

fn mcp(out: &mut String, figures: &Value) {
    out.push_str("\n## The MCP server\n\n| what | measured |\n|---|--:|\n");
    for way in rows(&figures["ways"]) {
        let (ratio, p50) = (way["ratio"].as_f64().unwrap_or_default(), &way["time"]["p50_us"]);
        line(out, format_args!("| `true`, {}, p50 | {p50} µs, {ratio:.2} × floor |", text(&way["way"])));
    }
    line(out, format_args!("| all of a bare `bash -c true`, p50 | {} µs |", figures["floor"]["p50_us"]));
    line(out, format_args!("| from its start to the first result, p50 | {} µs |", figures["first"]["p50_us"]));
    line(out, format_args!("| memory when idle, Pss | {} KB |", figures["idle"]["pss_kb"]));
    line(out, format_args!("| after {} calls | {} KB |", figures["calls"], figures["after"]["pss_kb"]));
    line(out, format_args!("| 38 MB of output on the wire | {} bytes |", figures["wire_bytes"]));
    for row in rows(&figures["load"]) {
        let a_second = row["a_second"].as_f64().unwrap_or_default();
        let what = format!("{} calls, {} at once, {}", row["calls"], row["at_once"], text(&row["way"]));
        line(
            out,
            format_args!(
                "| {what} | {a_second:.0} a second, p50 {} µs, {} right |",
                row["time"]["p50_us"], row["right"]
            ),
        );
    }
}

/// The table of RPC.
pub(crate) fn rpc(figures: &Value) -> String {
    let mut out = "\n## RPC from Python\n\n| what | measured |\n|---|--:|\n".to_owned();
    for (way, beside) in [("rpc", "mcp"), ("rpc bang", "mcp session")] {
        let (p50, other) = (&figures["p50_us"][way], &figures["p50_us"][beside]);
        line(&mut out, format_args!("| `true`, {way}, p50 | {p50} µs; {beside} {other} µs |"));
    }
    for stream in rows(&figures["streams"]) {
        line(
            &mut out,
            format_args!(
                "| 1 GB streamed, `{}` | {} s, {} bytes dropped; service holds {} KB; grown after a tenth: service {} KB, Python {} KB |",
                text(&stream["when_behind"]),
                stream["seconds"],
                stream["dropped_bytes"],
                stream["service_holds_kb"],
                stream["service_grew_kb"],
                stream["reader_grew_kb"]
            ),
        );
    }
    let many = &figures["many"];
    line(
        &mut out,
        format_args!(
            "| {} calls, {} at once | {} a second, {} right |",
            many["calls"], many["at_once"], many["a_second"], many["right"]
        ),
    );
    out
}

fn jobs(out: &mut String, figures: &Value) {
    let (start, idle, list, write) = (&figures["start"], &figures["idle"], &figures["list"], &figures["write"]);
    out.push_str("\n## Jobs\n\n| what | measured |\n|---|--:|\n");
    line(out, format_args!("| starting one, p50 | {} µs |", start["job"]["p50_us"]));
    line(out, format_args!("| all of a bare `bash -c true`, p50 | {} µs |", start["floor"]["p50_us"]));
    line(out, format_args!("| keeper of an idle one, private | {} KB |", idle["private_dirty_kb"]));
    line(out, format_args!("| its wake-ups in {} s | {} |", idle["seconds"], idle["wake_ups"]));
    line(out, format_args!("| listing {}, p50 | {} µs |", list["jobs"], list["time"]["p50_us"]));
    line(out, format_args!("| writing 256 MiB in 64 KiB writes | {} ms |", write["ms"]));
    line(out, format_args!("| the same by a read loop that writes to a file | {} ms |", write["floor_ms"]));
}

fn store(out: &mut String, figures: &Value) {
    let filling = &figures["filling"];
    line(
        out,
        format_args!(
            "\n## A full store\n\nThe same calls with an almost empty state directory and with {} artifacts, {} jobs and {} log \
             lines, in turn; p50 and p95 in µs.\n\n| call | empty p50 | p95 | full p50 | p95 | full ÷ empty |\n|---|--:|--:|--:|--:|--:|",
            filling["artifacts"], filling["jobs"], filling["log_lines"]
        ),
    );
    for row in rows(&figures["rows"]) {
        let (empty, full) = (&row["empty"], &row["full"]);
        let ratio = row["ratio"].as_f64().unwrap_or_default();
        line(
            out,
            format_args!(
                "| {} | {} | {} | {} | {} | {ratio:.2} |",
                text(&row["call"]),
                empty["p50_us"],
                empty["p95_us"],
                full["p50_us"],
                full["p95_us"]
            ),
        );
    }
    let list = &figures["list"];
    line(
        out,
        format_args!(
            "\n`bashful jobs list`: {} µs for all jobs, {} µs for a quarter of them.",
            list["full"]["p50_us"], list["quarter"]["p50_us"]
        ),
    );
}

fn output(out: &mut String, figures: &Value) {
    out.push_str(
        "\n## Output\n\nBeside a read loop: `read` of 256 KiB, and nothing (shown) or `write` to a file (saved to an artifact).\n\n\
         | writer | way | ms | read loop, ms | times as fast |\n|---|---|--:|--:|--:|\n",
    );
    for row in rows(&figures["rows"]) {
        let faster = row["faster"].as_f64().unwrap_or_default();
        line(
            out,
            format_args!(
                "| {} | {} | {} | {} | {faster:.2} |",
                text(&row["writer"]),
                text(&row["way"]),
                row["ms"],
                row["floor_ms"]
            ),
        );
    }
    line(
        out,
        format_args!(
            "\nWhile {} bytes flowed through, the host grew by {} KB.",
            figures["flood_bytes"], figures["flood_grew_kb"]
        ),
    );
}

fn latency(out: &mut String, figures: &Value) {
    out.push_str("| script | way | p50 | p95 | p50 ÷ floor | p50 − floor |\n|---|---|--:|--:|--:|--:|\n");
    for row in rows(figures) {
        let (script, way) = (text(&row["script"]), text(&row["way"]));
        let p50 = row["time"]["p50_us"].as_f64().unwrap_or_default();
        let floor = if way == IN_A_ROW { FLOOR_IN_A_ROW } else { "floor" };
        let floor = p50_of(figures, script, floor).unwrap_or_default();
        line(
            out,
            format_args!(
                "| {} | {way} | {p50:.0} | {} | {:.2} | {:+.0} |",
                code(script),
                row["time"]["p95_us"],
                p50 / floor,
                p50 - floor
            ),
        );
    }
}

/// The median of a script, run this way.
pub(crate) fn p50_of(figures: &Value, script: &str, way: &str) -> Option<f64> {
    let row = rows(figures).iter().find(|row| row["script"] == script && row["way"] == way)?;
    row["time"]["p50_us"].as_f64()
}

/// The rows of a part; none if it has none.
pub(crate) fn rows(figures: &Value) -> &[Value] {
    figures.as_array().map_or(&[], Vec::as_slice)
}

/// A script inside a table, where `|` would begin the next cell.
pub(crate) fn code(script: &str) -> String {
    format!("`{}`", script.replace('|', r"\|"))
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or("?")
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}
