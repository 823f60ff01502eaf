//! `bashful hook install`: adds the hook to an agent's settings, or removes it.

use std::error::Error;
use std::path::Path;

use clap::Args;
use thiserror::Error;

use super::Agent;
use super::places::command;
use crate::exit::Exit;
use crate::guard::{self, NoPerson};
use crate::install::change::{AppliedChange, Change};
use crate::install::record::{self, Installation};
use crate::install::stage::{Asking, Noted, StageOutcome, Staged, carry_out, stage, unstage};
use crate::print;
use crate::surroundings::Surroundings;

/// The name of the hook in the record. There is one for each agent.
const HOOK: &str = "hook";

#[derive(Debug, Args)]
#[command(after_help = "\
The change is shown first, and nothing else in the file is touched. Codex runs no hook before
you have trusted it there; `bashful hook status` tells whether the hook is in force.

Exit code: 0 if it is there, or gone; 1 if you said no; 125 if it cannot be done.

Example: bashful hook install codex")]
pub(crate) struct InstallArgs {
    /// claude, codex, gemini, copilot, qwen or opencode.
    #[arg(value_enum, hide_possible_values = true)]
    agent: Agent,
    /// Remove the hook.
    #[arg(long)]
    remove: bool,
    /// Write without asking.
    #[arg(short, long)]
    yes: bool,
    /// Show the change and write nothing.
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
}

/// The agent's settings file cannot be found.
#[derive(Debug, Error)]
#[error("there is no place for your settings: HOME is not set")]
struct NoHome;

#[derive(Debug, Error)]
#[error("only a person can remove the hook")]
struct OnlyPerson(#[source] NoPerson);

/// Installs or removes the hook.
pub(super) fn main(args: &InstallArgs, config: Option<&Path>) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let agent = args.agent;
    if args.remove && !args.dry_run {
        guard::find_no_agent().map_err(OnlyPerson)?;
    }
    let file = agent.user_file(&around).ok_or(NoHome)?;
    let records = around.state_part("installed");
    let client = format!("{}-{HOOK}", agent.word());
    let of = Installation { name: HOOK.to_owned(), project: None };
    let noted = records.as_deref().map(|directory| Noted { directory, client: &client, of });
    let own = command(agent, &around, config)?;
    let change = Change::new(file.clone(), agent.edit(&own));
    let (staged, removes): (Vec<Staged>, bool) = if args.remove {
        let mut done = match &noted {
            Some(noted) => record::changes(noted.directory, noted.client, &noted.of)?,
            None => Vec::new(),
        };
        if done.is_empty() {
            done.push(AppliedChange::by_others(change));
        }
        (unstage(&done)?.0, true)
    } else {
        (stage(&[change])?, false)
    };
    if staged.iter().any(Staged::is_changed) {
        let asking = Asking { yes: args.yes, dry_run: args.dry_run, loosens: args.remove, warning: "", expects: None };
        match carry_out(&staged, asking, noted.as_ref(), removes)? {
            StageOutcome::Declined => return Ok(Exit::Code(1)),
            StageOutcome::Written => print::talk("[written]"),
            StageOutcome::OnlyShown => {}
        }
    } else {
        let state = if args.remove { "has no hook of ours" } else { "has the hook already" };
        print::talk(&format!("{} {state}; nothing to do", file.display()));
    }
    for hook in agent.hooks_in(&file)?.iter().filter(|hook| args.remove || hook.command() != own) {
        print::talk(&format!("[{} has another hook of bashful, which stays: {}]", file.display(), hook.command()));
    }
    if !args.remove {
        print::talk(&format!("[{}]", next_step(agent)));
    }
    Ok(Exit::Code(0))
}

/// The user's next step, and the effect of a missing program.
fn next_step(agent: Agent) -> String {
    let title = agent.title();
    let when = match agent {
        Agent::Codex => {
            "Codex runs no hook before you have trusted it: start `codex`, and at \"Hooks need review\" choose to trust it. Until then \
             every command runs unjudged, and `codex exec` does not even say so. Once trusted, it holds in `codex exec` too. Check with\n  \
             bashful hook status codex\n"
                .to_owned()
        }
        _ => format!("it is in force when {title} is started next. "),
    };
    format!("{when}If bashful is removed, {title} {}", agent.without_hook())
}
