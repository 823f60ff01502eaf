//! Every case of the rig, for every agent and SDK: installs those that are missing, runs them, and prints a table.

use std::fmt::Write;
use std::time::Instant;

use bashful_testkit::agents::{AGENTS, CASES, Held, Rig, SDKS, Verdict};

use crate::{Done, cargo, packages, print};

/// Runs the agents and SDKs of these names, or all.
pub(crate) fn main(names: &[&str]) -> Done {
    let known: Vec<&str> = AGENTS.iter().map(|agent| agent.name).chain(SDKS.iter().map(|sdk| sdk.name)).collect();
    if names.iter().any(|name| ["--help", "-h"].contains(name)) {
        print::data(&format!(
            "usage: cargo xtask agents [NAME...]\n\n\
             Runs real agents and SDK clients against a scripted model, and prints a table of what held. Without a name, all\n\
             of them. Those that are missing are installed below target/clients first.\n\n\
             names: {}\n\nexample: cargo xtask agents codex python-2\n",
            known.join(" ")
        ));
        return Ok(());
    }
    if let Some(unknown) = names.iter().find(|name| !known.contains(name)) {
        return Err(format!("xtask agents: no agent or SDK {unknown:?}; known are: {}", known.join(" ")).into());
    }
    let wanted = |name: &str| names.is_empty() || names.contains(&name);
    let rig = Rig::new(cargo::build("bashful", &["--package", "bashful-testkit"])?);
    let mut table = Table::default();
    for agent in AGENTS.iter().filter(|agent| wanted(agent.name)) {
        packages::install(agent.source.package, &agent.prefix(&rig.clients), &[])?;
        for case in &CASES {
            table.add(agent.name, case.name, || case.run(&rig, agent));
        }
    }
    for sdk in SDKS.iter().filter(|sdk| wanted(sdk.name)) {
        packages::install(sdk.package, &sdk.prefix(&rig.clients), &[])?;
        table.add(sdk.name, "output", || sdk.run(&rig));
    }
    print::data(&table.text());
    match table.failed {
        0 => Ok(()),
        failed => Err(format!("xtask agents: {failed} of {} cases failed", table.rows.len()).into()),
    }
}

/// Verdicts in the order in which they came.
#[derive(Default)]
struct Table {
    rows: Vec<[String; 4]>,
    failed: usize,
}

impl Table {
    /// Runs a case and says at once how it went.
    fn add(&mut self, who: &str, case: &str, run: impl FnOnce() -> Verdict) {
        let begun = Instant::now();
        let verdict = run();
        let seconds = format!("{:.1}", begun.elapsed().as_secs_f64());
        let verdict = match verdict {
            Ok(Held::Yes(note)) if note.is_empty() => "ok".to_owned(),
            Ok(Held::Yes(note)) => format!("ok: {note}"),
            Ok(Held::NotApplicable(why)) => format!("not applicable: {why}"),
            Err(why) => {
                self.failed += 1;
                print::talk(&format!("--- {who}, {case}: {why}\n---"));
                format!("FAILED: {}", why.lines().next().unwrap_or_default())
            }
        };
        print::talk(&format!("xtask agents: {who}, {case}: {verdict} ({seconds} s)"));
        self.rows.push([who.to_owned(), case.to_owned(), seconds, verdict]);
    }

    fn text(&self) -> String {
        let mut text = "| agent | case | s | verdict |\n|---|---|--:|---|\n".to_owned();
        for [who, case, seconds, verdict] in &self.rows {
            let _ = writeln!(text, "| {who} | {case} | {seconds} | {verdict} |");
        }
        text
    }
}
