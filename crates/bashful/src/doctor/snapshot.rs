//! The snapshot of the user's rc files, and its cost per command.

use std::error::Error;
use std::fmt::Write;
use std::time::{Duration, Instant};

use bashful_engine::{Checked, Engine, Options, Request, Script, Snapshot};
use serde_json::{Value, json};

use crate::settings::{Settings, Snapshots};
use crate::setup;
use crate::surroundings::Surroundings;

/// Timed commands for each figure, which is their median.
const TIMED: usize = 9;

/// Longest wait for a ready shell.
const READY_WITHIN: Duration = Duration::from_secs(2);

/// Most names of each kind in the text.
const NAMES_TOLD: usize = 8;

/// Takes a new snapshot, and times commands with and without it.
pub(super) async fn examine(settings: &Settings, around: &Surroundings) -> Result<Value, Box<dyn Error>> {
    let without = setup::options(settings, around, None)?;
    let mut with = without.clone();
    let Some(snapshot) = &mut with.snapshot else { return Ok(json!({ "use": "off" })) };
    snapshot.enabled = true;
    let engine = Engine::new(with.clone())?;
    engine.renew_snapshot().await;
    let used = if settings.shell.snapshot == Snapshots::On { "on" } else { "auto" };
    let Some(snapshot) = engine.snapshot() else {
        return Ok(json!({ "use": used, "why_not": engine.why_no_snapshot().map(|why| why.to_string()) }));
    };
    let mut facts = facts(&snapshot);
    facts["use"] = used.into();
    facts["cost_ms"] = json!({
        "waiting": cost(&with, &without, Start::Waiting).await?,
        "fresh": cost(&with, &without, Start::Fresh).await?,
    });
    Ok(facts)
}

fn facts(snapshot: &Snapshot) -> Value {
    json!({
        "file": snapshot.path().to_string_lossy(),
        "bytes": snapshot.bytes(),
        "captured_seconds_ago": snapshot.captured().elapsed().unwrap_or_default().as_secs(),
        "took_ms": round(snapshot.took().as_secs_f64() * 1e3),
        "aliases": snapshot.aliases(),
        "functions": snapshot.functions(),
        "variables": snapshot.variables(),
        "options": snapshot.options(),
        "left_out": snapshot.left_out(),
    })
}

/// The start of the shell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Start {
    /// The shell was started ahead of time.
    Waiting,
    /// The shell is started for the command.
    Fresh,
}

/// The extra time of an empty command, in milliseconds; none if the shell cannot be started that way. The two kinds
/// alternate, so that other load affects both.
async fn cost(with: &Options, without: &Options, start: Start) -> Result<Option<f64>, Box<dyn Error>> {
    let ready = usize::from(start == Start::Waiting);
    let engines = [with, without].map(|options| Engine::new(Options { ready, ..options.clone() }));
    let mut taken = [Vec::new(), Vec::new()];
    for _ in 0..TIMED {
        for (engine, taken) in engines.iter().zip(&mut taken) {
            let engine = engine.as_ref().map_err(ToString::to_string)?;
            engine.refresh_snapshot().await;
            let checked = engine.check(engine.plan(Request::new(Script::new(":")?))?, None).await?;
            if start == Start::Waiting && !becomes_ready(engine, &checked).await {
                return Ok(None);
            }
            let began = Instant::now();
            engine.run(Request::new(Script::new(":")?)).await?;
            taken.push(began.elapsed());
        }
    }
    let [with, without] = taken.map(|mut taken| {
        taken.sort_unstable();
        taken.get(TIMED / 2).copied().unwrap_or_default().as_secs_f64() * 1e3
    });
    Ok(Some(round(with - without)))
}

/// Waits until a ready shell for this command has finished starting.
async fn becomes_ready(engine: &Engine, checked: &Checked) -> bool {
    let give_up = Instant::now() + READY_WITHIN;
    engine.prepare(checked);
    while engine.ready_for(checked) == 0 {
        if Instant::now() > give_up {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // The engine counts a shell from the order to start it, and loading a large snapshot takes a while.
    tokio::time::sleep(Duration::from_millis(50)).await;
    true
}

fn round(milliseconds: f64) -> f64 {
    (milliseconds * 100.0).round() / 100.0
}

/// The facts as text.
pub(super) fn as_text(facts: &Value) -> String {
    let mut text = "\nsnapshot of ~/.bashrc\n".to_owned();
    let mut line = |name: &str, value: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  {name:<23} {value}");
    };
    let used = match facts["use"].as_str() {
        Some("on") => "on",
        Some("auto") => "in the dialect pi (`[shell] snapshot` turns it on everywhere, or off)",
        _ => "off",
    };
    line("used", used);
    if facts["use"] == "off" {
        return text;
    }
    let Some(file) = facts["file"].as_str() else {
        line("captured", facts["why_not"].as_str().map_or("nothing: there is no such file", |why| why));
        return text;
    };
    line("file", &format!("{file}, {} bytes", facts["bytes"]));
    line("captured", &format!("just now, in {} ms", facts["took_ms"]));
    for kind in ["aliases", "functions", "variables", "options", "left_out"] {
        line(kind, &names(&facts[kind]));
    }
    let cost = |start: &str| facts["cost_ms"][start].as_f64().map_or("unknown".to_owned(), |ms| format!("{ms:+} ms"));
    line("cost of a command", &format!("{} from a waiting shell, {} from a fresh one", cost("waiting"), cost("fresh")));
    text
}

/// The number of names, and the first ones.
fn names(names: &Value) -> String {
    let names: Vec<&str> = names.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let shown =
        names.iter().take(NAMES_TOLD).map(|name| name.escape_debug().to_string()).collect::<Vec<_>>().join(", ");
    let more = if names.len() > NAMES_TOLD { ", …" } else { "" };
    if names.is_empty() { "none".to_owned() } else { format!("{}: {shown}{more}", names.len()) }
}
