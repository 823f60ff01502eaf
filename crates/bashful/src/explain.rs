//! `bashful explain`: prints the plan of a command without running it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error;
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;

use bashful_dialect::{facts, visible};
use bashful_engine::{Fence, Layer, Lines, Network, Plan, RewriteFor};
use serde_json::json;

use crate::cli::{ExplainArgs, Mode};
use crate::exit::Exit;
use crate::request;
use crate::setup;
use crate::surroundings::Surroundings;
use crate::{check, guard, print};

/// Shows the plan, and runs nothing.
pub(crate) fn main(args: &ExplainArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (mut settings, _) = around.settings(file)?;
    args.command.change(&mut settings);
    let (request, mut notices) = request::request(&args.command, &settings, false)?;
    let engine = setup::engine(&settings, &around, args.command.cwd.as_deref())?;
    engine.recall_snapshot();
    let purpose = if args.command.mode() == Mode::Background { RewriteFor::Job } else { RewriteFor::Reply };
    let rewritten = engine.rewrite(request, purpose)?;
    notices.extend(rewritten.remarks().map(str::to_owned));
    let plan = engine.plan(rewritten.request)?;
    let verdict = engine.verdict(&plan);
    let redactor = engine.redactor_for(&plan);
    if args.json {
        let mut facts = as_json(&plan, &notices);
        facts["guard"] = check::as_json(&verdict);
        print::json(facts, &redactor)?;
    } else {
        let found = if verdict.findings.is_empty() {
            "passes".to_owned()
        } else {
            guard::findings(&String::from_utf8_lossy(plan.script.as_bytes()), &verdict, &redactor)
        };
        let plan = as_text(&plan, &notices);
        print::text(&format!("guard:       {}\n{plan}", found.replace('\n', "\n             ")))?;
    }
    Ok(Exit::Code(0))
}

/// The fence in one line.
fn sandbox(fence: &Fence) -> String {
    let writes: Vec<String> = fence.writable.iter().map(|path| visible(&path.to_string_lossy())).collect();
    let hidden = fence.layers.iter().filter(|layer| matches!(layer, Layer::Hidden { .. })).count();
    let network = match fence.network {
        Network::Off => "loopback only".to_owned(),
        Network::List => fence.domains.join(", "),
        Network::On => "that of this machine".to_owned(),
    };
    let writes = if writes.is_empty() { "nothing but its own /tmp".to_owned() } else { writes.join(", ") };
    format!("{}; writes: {writes}; hidden: {hidden} paths; network: {network}", fence.mode)
}

fn as_text(plan: &Plan, notices: &[String]) -> String {
    let mut text = String::new();
    let script = String::from_utf8_lossy(plan.script.as_bytes());
    // Writing to a string cannot fail.
    let shell = plan.shell.display();
    let _ = match &plan.session {
        None => writeln!(text, "shell:       {shell} -c"),
        Some(session) => writeln!(text, "shell:       {shell}, that of session {:?}", session.name.as_str()),
    };
    let _ = writeln!(text, "script:      {}", script.trim_end().replace('\n', "\n             "));
    let _ = writeln!(text, "directory:   {}", visible(&plan.directory.to_string_lossy()));
    if let Some(fence) = &plan.fence {
        let _ = writeln!(text, "sandbox:     {}", sandbox(fence));
    }
    let _ = writeln!(text, "stopped:     after {}, killed {} later", plan.lifetime, plan.grace);
    let _ = writeln!(text, "shown:       {}", shown(plan));
    if let Some(snapshot) = &plan.snapshot {
        let _ = writeln!(text, "sourced:     {}", snapshot.path().display());
    }
    let withheld = withheld(plan);
    let _ =
        writeln!(text, "withheld:    {}", if withheld.is_empty() { "nothing".to_owned() } else { withheld.join(" ") });
    for notice in notices {
        let _ = writeln!(text, "notice:      {notice}");
    }
    let _ = writeln!(text, "environment:");
    for (name, value) in variables(plan) {
        let (name, value) = (visible(&name.to_string_lossy()), value.to_string_lossy());
        let _ = writeln!(text, "  {name}={}", value.escape_debug());
    }
    text
}

/// The variables of the command. In a session, `PWD` is that of the running shell.
fn variables(plan: &Plan) -> BTreeMap<&OsStr, &OsStr> {
    let variables = plan.environment.variables.iter();
    let mut variables: BTreeMap<_, _> = variables.map(|(name, value)| (name.as_os_str(), value.as_os_str())).collect();
    if plan.session.is_some() {
        variables.insert(OsStr::new("PWD"), plan.directory.as_os_str());
    }
    variables
}

/// The names of withheld variables, without duplicates: host and rc files may set the same one.
fn withheld(plan: &Plan) -> Vec<Cow<'_, str>> {
    let mut names = Vec::new();
    let withheld = plan.environment.withheld.iter().filter(|withheld| !withheld.is_passed());
    for name in withheld.map(|withheld| withheld.name.to_string_lossy()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The shown part of the output, in words.
fn shown(plan: &Plan) -> String {
    let window = plan.window;
    match plan.lines {
        Some(Lines::First(count)) => format!("the first {count} lines, up to {}", window.whole.bytes),
        Some(Lines::Last(count)) => format!("the last {count} lines, up to {}", window.whole.bytes),
        Some(Lines::LastOfFirst { first, last }) => {
            format!("the last {last} of the first {first} lines, up to {}", window.whole.bytes)
        }
        None => format!(
            "all up to {}, else the first {} and the last {}",
            window.whole.bytes, window.head.bytes, window.tail.bytes
        ),
    }
}

fn as_json(plan: &Plan, notices: &[String]) -> serde_json::Value {
    let environment: serde_json::Map<_, _> = variables(plan)
        .into_iter()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into()))
        .collect();
    let withheld = withheld(plan);
    json!({
        "shell": plan.shell.to_string_lossy(),
        "script": String::from_utf8_lossy(plan.script.as_bytes()),
        "cwd": plan.directory.to_string_lossy(),
        "session": plan.session.as_ref().map(|session| session.name.as_str()),
        "sandbox": plan.fence.as_ref().map(|fence| facts::of_fence(fence)),
        "lifetime_seconds": plan.lifetime.0.as_secs_f64(),
        "grace_seconds": plan.grace.0.as_secs_f64(),
        "shown_bytes": { "whole": plan.window.whole.bytes.0, "head": plan.window.head.bytes.0, "tail": plan.window.tail.bytes.0 },
        "sourced": plan.snapshot.as_ref().map(|snapshot| snapshot.path().to_string_lossy()),
        "shown_lines": match plan.lines {
            Some(Lines::First(count)) => json!({ "first": count }),
            Some(Lines::Last(count)) => json!({ "last": count }),
            Some(Lines::LastOfFirst { first, last }) => json!({ "first": first, "last": last }),
            None => json!(null),
        },
        "withheld": withheld,
        "environment": environment,
        "notices": notices,
    })
}
