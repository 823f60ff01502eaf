//! Every case of the rig, for every agent and SDK: installs those that are missing, runs them, and prints a table.

use std::error::Error;
use std::fmt::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

use bashful_testkit::agents::{AGENTS, CASES, Held, Package, Rig, SDKS, Verdict};

use crate::{Done, cargo, print};

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
        install(&rig, agent.source.package, &agent.prefix(&rig.clients))?;
        for case in &CASES {
            table.add(agent.name, case.name, || case.run(&rig, agent));
        }
    }
    for sdk in SDKS.iter().filter(|sdk| wanted(sdk.name)) {
        install(&rig, sdk.package, &sdk.prefix(&rig.clients))?;
        table.add(sdk.name, "output", || sdk.run(&rig));
    }
    print::data(&table.text());
    match table.failed {
        0 => Ok(()),
        failed => Err(format!("xtask agents: {failed} of {} cases failed", table.rows.len()).into()),
    }
}

/// Installs a package below `target/clients`, unless it is there in this version. Nothing of it runs while it is installed.
fn install(rig: &Rig, package: Package, prefix: &Path) -> Done {
    if package.check_installed(prefix).is_ok() {
        return Ok(());
    }
    print::talk(&format!("xtask agents: installing {}", package.text()));
    let python = rig.clients.join("python/bin");
    if !python.join("npm").exists() {
        return Err(format!("no npm in {}: run .ci/setup", python.display()).into());
    }
    if prefix.exists() {
        std::fs::remove_dir_all(prefix)?;
    }
    std::fs::create_dir_all(prefix)?;
    match package {
        Package::Npm(text) => {
            // npm is a script that looks for Node on the PATH.
            let path = std::env::var_os("PATH").unwrap_or_default();
            let path = std::env::join_paths(std::iter::once(python.clone()).chain(std::env::split_paths(&path)))?;
            let options =
                ["install", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", text, "--prefix"];
            run(Command::new(python.join("npm")).env("PATH", path).args(options).arg(prefix))?;
        }
        Package::Pypi(text) => {
            run(Command::new("python3").args(["-m", "venv"]).arg(prefix))?;
            let options = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", text];
            run(Command::new(prefix.join("bin/python")).args(options))?;
        }
    }
    std::fs::write(prefix.join("installed"), format!("{}\n", package.text()))?;
    Ok(())
}

fn run(command: &mut Command) -> Result<(), Box<dyn Error>> {
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed: {status}").into()) }
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
