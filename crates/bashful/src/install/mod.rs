//! `bashful mcp install`: tells a client of this server, in the client's own settings.

mod client;
mod edit;
mod file;
mod jsonc;
#[cfg(test)]
mod properties;
mod toml;

use std::error::Error;
use std::path::{Path, PathBuf};

use bashful_dialect::Dialect;
use clap::Args;
use thiserror::Error;

pub(crate) use client::Client;

use crate::exit::Exit;
use crate::guard::{asks, may_ask};
use crate::print;
use crate::setup::{self, Surroundings};
use edit::EditError;
use file::Settings;

/// What is shown of one line. Some clients keep all of their settings on one.
const LINE_SHOWN: usize = 200;

#[derive(Debug, Args)]
#[command(after_help = "\
What would be written is shown first, and nothing else in the file is touched.

Exit code: 0 if it is there, or gone; 1 if you said no; 125 if it cannot be done.

Example: bashful mcp install claude --cwd ~/project")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
pub(crate) struct InstallArgs {
    /// Which client.
    #[arg(value_enum)]
    client: Client,
    /// Write the project's settings, in the current directory, instead of your own.
    #[arg(long)]
    project: bool,
    /// What the server is called there: letters, digits, `-` and `_`.
    #[arg(long, value_name = "NAME", default_value = "bashful", value_parser = server_name)]
    name: String,
    /// Which tools it has: native, plain or pi.
    #[arg(long, value_name = "DIALECT")]
    dialect: Option<Dialect>,
    /// Where it runs commands. Without it, where the client starts it; some start it anywhere.
    #[arg(long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Take it out again.
    #[arg(long, conflicts_with_all = ["dialect", "cwd"])]
    remove: bool,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
    /// Show what would be written, and write nothing.
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

/// Why a client cannot be told.
#[derive(Debug, Error)]
enum InstallError {
    #[error("there is no place for your settings: HOME is not set")]
    NoHome,
    #[error("{client} has no settings of a project: leave out --project")]
    NoProject { client: &'static str },
    #[error("cannot tell the current directory")]
    NoDirectory(#[source] std::io::Error),
    #[error("cannot tell where this program is")]
    NoProgram(#[source] std::io::Error),
    #[error("{} cannot be written into settings: it is not UTF-8", path.display())]
    NotText { path: PathBuf },
    #[error("{} is left as it is, because {why}\nwhat belongs into it:\n{paste}", path.display())]
    Unusable { path: PathBuf, why: EditError, paste: String },
    #[error("{} is left as it is, because {why}", path.display())]
    Unremovable { path: PathBuf, why: EditError },
    #[error(
        "nothing is written without a yes, and there is no terminal to ask on: add --yes, or --dry-run to see it first"
    )]
    NobodyToAsk,
}

/// Tells a client of this server, or that it is gone.
pub(crate) fn main(args: &InstallArgs, config: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let path = settings_path(args, &around)?;
    let settings = Settings::read(&path)?;
    let Some(text) = changed(args, config, &around, &path, &settings)? else {
        let state = if args.remove { "has no" } else { "has it already:" };
        print::talk(&format!("{} {state} {}; nothing to do", path.display(), args.name));
        return Ok(Exit::Code(0));
    };
    let no_directory = settings.missing_directory().filter(|_| !args.project).map_or_else(String::new, |directory| {
        format!("[{} is not there yet; has {} been installed?]\n", directory.display(), args.client.title())
    });
    let about = format!("{}:\n{}{no_directory}", path.display(), difference(&settings.text, &text));
    settings.check_writable()?;
    if args.dry_run || args.yes {
        print::data(about.as_bytes())?;
    } else if !may_ask() {
        return Err(InstallError::NobodyToAsk.into());
    } else if !asks(&about, "write it?") {
        print::talk("[nothing was written]");
        return Ok(Exit::Code(1));
    }
    if !args.dry_run {
        settings.write(&text)?;
        let then =
            if args.remove { "the client forgets it when it is started next" } else { args.client.then(args.project) };
        print::talk(&format!("[written; {then}]"));
    }
    Ok(Exit::Code(0))
}

/// The file that is to be changed.
fn settings_path(args: &InstallArgs, around: &Surroundings) -> Result<PathBuf, InstallError> {
    if !args.project {
        return args.client.user_file(around).ok_or(InstallError::NoHome);
    }
    let here = std::env::current_dir().map_err(InstallError::NoDirectory)?;
    args.client.project_file(&here).ok_or(InstallError::NoProject { client: args.client.title() })
}

/// What will be in the file. None if it is as it should be.
fn changed(
    args: &InstallArgs,
    config: Option<&Path>,
    around: &Surroundings,
    path: &Path,
    settings: &Settings,
) -> Result<Option<String>, Box<dyn Error>> {
    let path = || path.to_path_buf();
    if args.remove {
        let removed = args.client.remove(&settings.text, &args.name);
        return Ok(removed.map_err(|why| InstallError::Unremovable { path: path(), why })?);
    }
    let entry = args.client.entry(&text(program(around)?)?, &arguments(args, config, around)?);
    let set = args.client.set(&settings.text, &args.name, &entry);
    Ok(set.map_err(|why| {
        let alone = args.client.set("", &args.name, &entry);
        InstallError::Unusable { path: path(), why, paste: alone.ok().flatten().unwrap_or_default() }
    })?)
}

/// What the client starts the server with.
fn arguments(args: &InstallArgs, config: Option<&Path>, around: &Surroundings) -> Result<Vec<String>, Box<dyn Error>> {
    let mut arguments = vec!["mcp".to_owned()];
    if let Some(dialect) = args.dialect {
        arguments.extend(["--dialect".to_owned(), dialect.name().to_owned()]);
    }
    if let Some(cwd) = &args.cwd {
        arguments.extend(["--cwd".to_owned(), text(setup::directory(around, Some(cwd))?)?]);
    }
    if let Some(config) = config {
        // It is read now, so that a client does not find out what is wrong with it.
        around.settings(Some(config))?;
        arguments.extend(["--config".to_owned(), text(std::path::absolute(config)?)?]);
    }
    Ok(arguments)
}

/// This program, by the name that it is found by if it has one: that stays when the program is replaced by a newer one.
fn program(around: &Surroundings) -> Result<PathBuf, InstallError> {
    let this = std::env::current_exe().and_then(|this| this.canonicalize()).map_err(InstallError::NoProgram)?;
    let path = around.variable("PATH").cloned().unwrap_or_default();
    let found = std::env::split_paths(&path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join("bashful"));
    let same = found.into_iter().find(|found| found.canonicalize().is_ok_and(|found| found == this));
    Ok(same.unwrap_or(this))
}

fn text(path: PathBuf) -> Result<String, InstallError> {
    path.into_os_string().into_string().map_err(|path| InstallError::NotText { path: path.into() })
}

/// The lines that go and the lines that come. All of them are in one place.
fn difference(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = |pairs: &mut dyn Iterator<Item = (&&str, &&str)>| pairs.take_while(|(old, new)| old == new).count();
    let head = same(&mut old.iter().zip(&new));
    let tail = same(&mut old[head..].iter().rev().zip(new[head..].iter().rev()));
    let show = |mark: &str, line: &&str| {
        let shown: String = line.chars().take(LINE_SHOWN).collect();
        format!("{mark} {shown}{}\n", if shown.len() < line.len() { "…" } else { "" })
    };
    let gone = old[head..old.len() - tail].iter().map(|line| show("-", line));
    gone.chain(new[head..new.len() - tail].iter().map(|line| show("+", line))).collect()
}

/// A name that every client takes.
fn server_name(given: &str) -> Result<String, String> {
    let is_fine = |char: char| char.is_ascii_alphanumeric() || "-_".contains(char);
    if !given.is_empty() && given.len() <= 64 && given.chars().all(is_fine) {
        return Ok(given.to_owned());
    }
    Err("a server's name has up to 64 letters, digits, `-` and `_`".to_owned())
}
