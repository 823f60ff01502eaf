//! `bashful mcp install`: adds this server to a client's settings, with the approvals it needs, or removes it.

mod approve;
pub(crate) mod change;
mod client;
mod edit;
mod file;
mod jsonc;
mod layout;
#[cfg(test)]
mod properties;
pub(crate) mod record;
mod show;
pub(crate) mod stage;
mod toml;
mod variables;

use std::error::Error;
use std::path::{Path, PathBuf};

use bashful_dialect::Dialect;
use clap::{Args, ValueEnum};
use thiserror::Error;

pub(crate) use client::Client;

use crate::exit::Exit;
use crate::print;
use crate::setup;
use crate::surroundings::Surroundings;
use approve::{Extent, Wanted};
use change::{AppliedChange, Change, Edit};
use record::Installation;
use stage::{Asking, Noted, StageOutcome};

#[derive(Debug, Args)]
#[command(after_help = "\
Every change is shown first, then one yes writes all of them. Nothing else in the files is
touched, and --remove takes back exactly what was written.

Without --approve a client asks before it uses the tool, or refuses it where nobody can be asked.
--approve lets every command of this tool run without asking. Where a client wants a folder to
be trusted, that is the current directory. --replace also turns the client's own shell tool off,
so that the model uses this one. Both work for claude, codex, gemini, qwen and opencode. For
copilot, --approve works, and the flag that stands for --replace is printed.

Exit code: 0 if it is there, or gone; 1 if you said no; 125 if it cannot be done.

Examples:
  bashful mcp install claude --approve
  bashful mcp install codex --replace --cwd ~/project
  bashful mcp install gemini --remove")]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
pub(crate) struct InstallArgs {
    /// claude, claude-desktop, codex, gemini, qwen, vscode, cursor, windsurf, zed, copilot or opencode.
    #[arg(value_enum, hide_possible_values = true)]
    client: Client,
    /// Run every command of this tool without asking.
    #[arg(long, conflicts_with = "remove")]
    approve: bool,
    /// Turn the client's own shell tool off; includes --approve.
    #[arg(long, conflicts_with = "remove")]
    replace: bool,
    /// Write the settings of the project in the current directory.
    #[arg(long)]
    project: bool,
    /// Remove everything that was written.
    #[arg(long, conflicts_with_all = ["dialect", "cwd"])]
    remove: bool,
    /// Tools to serve: native, plain or pi.
    #[arg(long, value_name = "DIALECT")]
    dialect: Option<Dialect>,
    /// Directory that commands run in, if not where the client starts the server.
    #[arg(short = 'C', long, value_name = "DIR")]
    cwd: Option<PathBuf>,
    /// Name of the server in the settings.
    #[arg(long, value_name = "NAME", default_value = "bashful", value_parser = server_name)]
    name: String,
    /// Write without asking; approves nothing by itself.
    #[arg(short, long)]
    yes: bool,
    /// Show the changes and write nothing.
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

/// An error that keeps an installation from starting.
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
}

/// Installs or removes this server.
pub(crate) fn main(args: &InstallArgs, config: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let here = std::env::current_dir().and_then(|here| here.canonicalize()).map_err(InstallError::NoDirectory)?;
    let file = settings_path(args, &around, &here)?;
    let records = around.state_part("installed");
    let client = args.client.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let of = Installation { name: args.name.clone(), project: args.project.then(|| here.clone()) };
    let noted = records.as_deref().map(|directory| Noted { directory, client: &client, of });
    if args.remove {
        return remove(args, &file, noted.as_ref());
    }
    let extent = match (args.approve, args.replace) {
        (_, true) => Extent::Replaced,
        (true, false) => Extent::Approved,
        (false, false) => Extent::Server,
    };
    let wanted = Wanted {
        client: args.client,
        name: &args.name,
        extent,
        file: &file,
        project: args.project,
        here: &here,
        around: &around,
    };
    let arguments = arguments(args, config, &around)?;
    install(args, &wanted, &arguments, config, noted.as_ref())
}

fn install(
    args: &InstallArgs,
    wanted: &Wanted<'_>,
    arguments: &[String],
    config: Option<&Path>,
    noted: Option<&Noted<'_>>,
) -> Result<Exit, Box<dyn Error>> {
    let program = program_text(wanted.around)?;
    let mut keys = args.client.server_keys(&program, arguments, wanted.extent >= Extent::Approved);
    // The file of a project belongs to others too, whose shells have other variables.
    if !args.project {
        let (settings, _) = wanted.around.settings(config)?;
        let path = args.client.server_path(&args.name);
        let entry = read_settings(wanted.file).ok();
        let entry = entry.as_ref().and_then(|entry| path.iter().try_fold(entry, |value, name| value.get(name)));
        keys.extend(variables::key(args.client, entry, &settings, wanted.around)?);
    }
    let mut extras = wanted.extras();
    extras.changes.insert(0, server(args, wanted.file, keys));
    let staged = stage::stage(&extras.changes)?;
    let say_the_rest = || {
        let mut lines = extras.remarks.clone();
        lines.extend(wanted.steps());
        for line in lines {
            print::talk(&format!("[{line}]"));
        }
    };
    if staged.is_empty() {
        print::talk(&format!("{} has it already: {}; nothing to do", wanted.file.display(), args.name));
        say_the_rest();
        return Ok(Exit::Code(0));
    }
    let warning = wanted.warning();
    let expects = Some(args.client.title()).filter(|_| !args.project);
    let asking = Asking { yes: args.yes, dry_run: args.dry_run, loosens: true, warning: &warning, expects };
    let answer = stage::carry_out(&staged, asking, noted, false)?;
    if answer == StageOutcome::Declined {
        return Ok(Exit::Code(1));
    }
    if answer == StageOutcome::Written {
        let when = match args.client {
            Client::Zed | Client::Vscode => "it is used from now on",
            _ => "it is used when the client is started next",
        };
        print::talk(&format!("[written; {when}]"));
        if noted.is_none() {
            let why = wanted.around.state().problem().unwrap_or_else(|| "there is no state directory".to_owned());
            print::talk(&format!("[{why}; this is not noted, so --remove will take out the server alone]"));
        }
    }
    say_the_rest();
    Ok(Exit::Code(0))
}

fn remove(args: &InstallArgs, file: &Path, noted: Option<&Noted<'_>>) -> Result<Exit, Box<dyn Error>> {
    let server = server(args, file, Vec::new());
    let mut done = match noted {
        Some(noted) => record::changes(noted.directory, noted.client, &noted.of)?,
        None => Vec::new(),
    };
    let is_server =
        |done: &AppliedChange| done.change.file == server.file && matches!(done.change.edit, Edit::Server { .. });
    if !done.iter().any(is_server) {
        // The entry was added by hand, or by the client.
        done.insert(0, AppliedChange::by_others(server));
    }
    let (staged, left) = stage::unstage(&done)?;
    for line in &left {
        print::talk(&format!("[{line}]"));
    }
    if !staged.iter().any(stage::Staged::is_changed) {
        print::talk(&format!("{} has no {}; nothing to do", file.display(), args.name));
        return Ok(Exit::Code(0));
    }
    let asking = Asking { yes: args.yes, dry_run: args.dry_run, loosens: true, warning: "", expects: None };
    let answer = stage::carry_out(&staged, asking, noted, true)?;
    if answer == StageOutcome::Written {
        print::talk("[written; the client forgets it when it is started next]");
    }
    Ok(Exit::Code(u8::from(answer == StageOutcome::Declined)))
}

fn server(args: &InstallArgs, file: &Path, keys: Vec<(String, serde_json::Value)>) -> Change {
    Change::new(file.to_path_buf(), Edit::Server { path: args.client.server_path(&args.name), keys })
}

/// The settings file for the server's entry.
fn settings_path(args: &InstallArgs, around: &Surroundings, here: &Path) -> Result<PathBuf, InstallError> {
    if !args.project {
        return args.client.user_file(around).ok_or(InstallError::NoHome);
    }
    args.client.project_file(here).ok_or(InstallError::NoProject { client: args.client.title() })
}

/// The arguments that the client starts the server with.
fn arguments(args: &InstallArgs, config: Option<&Path>, around: &Surroundings) -> Result<Vec<String>, Box<dyn Error>> {
    let mut arguments = vec!["mcp".to_owned()];
    if let Some(dialect) = args.dialect {
        arguments.extend(["--dialect".to_owned(), dialect.name().to_owned()]);
    }
    if let Some(cwd) = &args.cwd {
        arguments.extend(["--cwd".to_owned(), text(setup::directory(around, Some(cwd))?)?]);
    }
    if let Some(config) = config {
        // The settings file is checked now, because the client could not show its errors.
        around.settings(Some(config))?;
        arguments.extend(["--config".to_owned(), text(std::path::absolute(config)?)?]);
    }
    Ok(arguments)
}

/// The absolute path of this program for settings. The path on `PATH` is preferred, because it stays valid when a
/// newer version replaces the program.
pub(crate) fn program_text(around: &Surroundings) -> Result<String, Box<dyn Error>> {
    let this = std::env::current_exe().and_then(|this| this.canonicalize()).map_err(InstallError::NoProgram)?;
    let path = around.variable("PATH").cloned().unwrap_or_default();
    let found = std::env::split_paths(&path)
        .filter(|directory| directory.is_absolute())
        .map(|directory| directory.join("bashful"));
    let same = found.into_iter().find(|found| found.canonicalize().is_ok_and(|found| found == this));
    Ok(text(same.unwrap_or(this))?)
}

/// Parses settings, JSON or TOML by the file's name. A missing file is empty.
pub(crate) fn read_settings(file: &Path) -> Result<serde_json::Value, Box<dyn Error>> {
    let text = read_text(file)?;
    let value = change::read(file, &text);
    Ok(value.map_err(|why| stage::StageError::Unreadable { path: file.to_path_buf(), why })?)
}

/// The text of a settings file. A missing file is empty.
pub(crate) fn read_text(file: &Path) -> Result<String, Box<dyn Error>> {
    Ok(file::Settings::read(file)?.text)
}

fn text(path: PathBuf) -> Result<String, InstallError> {
    path.into_os_string().into_string().map_err(|path| InstallError::NotText { path: path.into() })
}

/// A server name that every client accepts.
fn server_name(given: &str) -> Result<String, String> {
    let is_fine = |char: char| char.is_ascii_alphanumeric() || "-_".contains(char);
    if !given.is_empty() && given.len() <= 64 && given.chars().all(is_fine) {
        return Ok(given.to_owned());
    }
    Err("a server's name has up to 64 letters, digits, `-` and `_`".to_owned())
}
