//! `bashful doctor`: checks what this machine supports.

mod client;
mod sandbox;
mod snapshot;
mod trial;

use std::error::Error;
use std::fmt::Write;
use std::path::Path;

use bashful_engine::{Engine, KeeperForm, Promises, Request, SandboxMode, Script};
use bashful_sys::{limits, probe};
use serde_json::{Value, json};

use crate::cli::DoctorArgs;
use crate::condense;
use crate::exit::Exit;
use crate::guard;
use crate::log::log_problem;
use crate::print;
use crate::setup;
use crate::surroundings::Surroundings;

/// Checks this machine, and prints the promises that hold here.
pub(crate) fn main(args: &DoctorArgs, file: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let (settings, used, problem) = around.settings_for_diagnosis(file);
    let problem = problem.map(|problem| bashful_engine::error_chain(problem.as_ref()));
    if let Some(name) = &args.client {
        let row = client::examine(&settings.mcp, name);
        if args.json {
            print::pretty_json(row)?;
        } else {
            print::text(&client::as_text(&row))?;
        }
        return Ok(Exit::Code(0));
    }
    let (log_problem, thread_problem) = (log_problem(&settings, &around), thread_problem());
    let runtime = setup::runtime()?;
    let report = runtime.block_on(async {
        let mut options = setup::options(&settings, &around, None)?;
        // The trials are bashful's own commands, and one of them kills its keeper.
        options.judge = None;
        let engine = Engine::new(options.clone())?;
        let mut report = examine(&engine, &around, &used).await?;
        report["settings_problem"] = problem.clone().into();
        report["log_problem"] = log_problem.clone().into();
        report["thread_problem"] = thread_problem.clone().into();
        report["prefix"] = settings.shell.prefix.trim().into();
        let skipped = guard::text_rules(&settings).filter_map(|rule| Some(rule.err()?.to_string()));
        report["skipped_interceptor_rules"] = skipped.collect();
        let filters_problem =
            condense::condenser(&settings, &around).err().map(|error| bashful_engine::error_chain(&error));
        report["condense"] = json!({
            "problem": filters_problem,
            "enabled": settings.condense.enabled,
            "pi_enabled": settings.condense.pi_enabled,
            "own_filters": condense::own_filters(&around).map(|path| path.to_string_lossy().into_owned()),
        });
        report["sandbox"] = sandbox::examine(&settings, options).await?;
        report["snapshot"] = snapshot::examine(&settings, &around).await?;
        Ok::<_, Box<dyn Error>>(report)
    })?;
    if args.json {
        print::pretty_json(report.clone())?;
    } else {
        print::text(&as_text(&report))?;
    }
    let problems = [problem.is_some(), around.state().problem().is_some(), log_problem.is_some()];
    let sandbox_problem = settings.sandbox.mode.mode() != SandboxMode::Off && report["sandbox"]["namespaces"] != true;
    let needs_attention = sandbox_problem || thread_problem.is_some() || problems.contains(&true);
    Ok(Exit::Code(u8::from(needs_attention)))
}

/// The reason why this program gets no threads. It works without them, but one slow reader or file holds up everything.
fn thread_problem() -> Option<String> {
    let error = std::thread::Builder::new().spawn(|| ()).err()?;
    Some(format!("the system starts no thread ({error}), so a slow reader or disk holds up every command"))
}

async fn examine(engine: &Engine, around: &Surroundings, used: &[String]) -> Result<Value, Box<dyn Error>> {
    let shell = engine.plan(Request::new(Script::new("true")?))?.shell;
    // The shell itself reports its version, as an ordinary command.
    let reply = engine.run(Request::new(Script::new("echo \"$BASH_VERSION\"")?)).await?;
    let version = reply.finished().map(|outcome| outcome.output.text().trim().to_owned()).unwrap_or_default();
    let Promises {
        keeper,
        catches_daemons,
        survives_own_death,
        survives_keeper_death,
        leftovers_keep_writing,
        keepers_are_small,
        stops_the_tree,
        withholds_variables,
        keeps_whole_output,
    } = trial::hold(engine, engine.promises()).await;
    Ok(json!({
        "bashful": env!("CARGO_PKG_VERSION"),
        "bash": { "path": shell.to_string_lossy(), "version": version },
        "kernel": probe::kernel(),
        "settings": used,
        "state_directory": around.state().path().map(|path| path.to_string_lossy()),
        "state_problem": around.state().problem(),
        "promises": {
            "keeper": match keeper {
                KeeperForm::Process => "process",
                KeeperForm::Backend => "backend",
            },
            "catches_daemons": catches_daemons,
            "survives_own_death": survives_own_death,
            "survives_keeper_death": survives_keeper_death,
            "leftovers_keep_writing": leftovers_keep_writing,
            "keepers_are_small": keepers_are_small,
            "stops_the_tree": stops_the_tree,
            "withholds_variables": withholds_variables,
            "keeps_whole_output": keeps_whole_output,
        },
        "machine": {
            "subreaper": probe::subreaper(),
            "pidfd": bashful_sys::pidfd::is_usable(),
            "children_lists": probe::children_lists(),
            "user_namespaces": probe::user_namespaces(),
            "landlock_version": probe::landlock(),
            "cgroup_v2": probe::cgroup_v2(),
            "descriptors": limits::Limit::descriptors().soft,
        },
    }))
}

/// Explanations of the facts.
const MEANING: [(&str, &str); 15] = [
    ("keeper", "who watches over a command"),
    ("catches_daemons", "a stop ends processes that left their group and session"),
    ("survives_own_death", "commands end when bashful is killed"),
    ("survives_keeper_death", "nothing stays when a keeper is killed"),
    ("leftovers_keep_writing", "what a command leaves running can write after bashful has ended"),
    ("keepers_are_small", "a keeper has one thread"),
    ("stops_the_tree", "a stop ends everything that a command started"),
    ("withholds_variables", "commands do not get withheld variables"),
    ("keeps_whole_output", "every byte of the output is read"),
    ("subreaper", "orphans can be adopted"),
    ("pidfd", "signals never reach a stranger"),
    ("children_lists", "process trees are found quickly"),
    ("user_namespaces", "sandboxes can be had without root"),
    ("landlock_version", "file access can be limited"),
    ("cgroup_v2", "where groups of processes can be controlled"),
];

fn as_text(report: &Value) -> String {
    let mut text = String::new();
    let plain = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Bool(true) => "yes".to_owned(),
        Value::Bool(false) => "no".to_owned(),
        Value::Null => "none".to_owned(),
        other => other.to_string(),
    };
    // Writing to a string cannot fail.
    let _ = writeln!(text, "bashful {} on Linux {}", plain(&report["bashful"]), plain(&report["kernel"]));
    let _ = writeln!(text, "bash {} at {}", plain(&report["bash"]["version"]), plain(&report["bash"]["path"]));
    let _ = writeln!(text, "state in {}", plain(&report["state_directory"]));
    for problem in ["settings_problem", "state_problem", "log_problem", "thread_problem"]
        .iter()
        .filter_map(|key| report[*key].as_str())
    {
        let _ = writeln!(text, "PROBLEM: {problem}");
    }
    if let Some(prefix) = report["prefix"].as_str().filter(|prefix| !prefix.is_empty()) {
        let _ = writeln!(text, "every command begins with the prefix {prefix}");
    }
    for rule in report["skipped_interceptor_rules"].as_array().into_iter().flatten() {
        let _ = writeln!(text, "PROBLEM: the interceptor skips a rule: {}", plain(rule));
    }
    let condense = &report["condense"];
    let state = |key: &str| if condense[key] == true { "on" } else { "off" };
    let own = condense["own_filters"].as_str().map(|path| format!("; your filters are in {path}"));
    let _ = writeln!(
        text,
        "condensing of output is {}, in the dialect pi {}{}",
        state("enabled"),
        state("pi_enabled"),
        own.unwrap_or_default()
    );
    if let Some(problem) = condense["problem"].as_str() {
        let _ = writeln!(text, "PROBLEM: outputs cannot be condensed: {problem}");
    }
    for section in ["promises", "machine"] {
        let _ = writeln!(text, "\n{section}");
        for (name, value) in report[section].as_object().into_iter().flatten() {
            let meaning = MEANING.iter().find(|(known, _)| known == name).map_or("", |(_, meaning)| meaning);
            let _ = writeln!(text, "  {name:<23} {:<10} {meaning}", plain(value));
        }
    }
    text.push_str(&sandbox::as_text(&report["sandbox"]));
    text.push_str(&snapshot::as_text(&report["snapshot"]));
    text
}
