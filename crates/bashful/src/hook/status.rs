//! `bashful hook status`: reports whether hooks work.

use std::error::Error;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use clap::Args;
use regex::Regex;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::Agent;
use super::places::FoundHook;
use crate::exit::Exit;
use crate::install::read_settings;
use crate::print;
use crate::surroundings::Surroundings;

/// Seconds that Codex gives a hook that names no timeout. They are part of the hash.
const CODEX_TIMEOUT: u64 = 600;

#[derive(Debug, Args)]
#[command(after_help = "\
It reads the settings of the agents: your own, and those of the current directory. For Codex, it
compares the hash that Codex has noted for a trusted hook. Flags of a running agent are not seen.

Exit code: 0 if the agent has a hook in force (without a name: every agent with a hook of bashful
in its settings); 1 if not.

Example: bashful hook status codex")]
pub(crate) struct StatusArgs {
    /// claude, codex, gemini, copilot, qwen or opencode; without it, all of them.
    #[arg(value_enum, hide_possible_values = true)]
    agent: Option<Agent>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// One agent's hook.
#[derive(Debug)]
struct HookStatus {
    agent: Agent,
    /// The settings that hold the hook; none if there is no hook.
    file: Option<PathBuf>,
    /// Reasons why the hook does not work. None means that it is in force.
    problems: Vec<String>,
}

impl HookStatus {
    fn is_in_force(&self) -> bool {
        self.file.is_some() && self.problems.is_empty()
    }

    fn line(&self) -> String {
        let title = self.agent.title();
        match &self.file {
            Some(file) if self.problems.is_empty() => format!("{title}: in force ({})", file.display()),
            Some(file) => format!("{title}: NOT in force ({}): {}", file.display(), self.problems.join("; ")),
            None if self.problems.is_empty() => format!("{title}: not installed"),
            None => format!("{title}: not known: {}", self.problems.join("; ")),
        }
    }
}

/// Prints the state of the hooks.
pub(super) fn main(args: &StatusArgs) -> Result<Exit, Box<dyn Error>> {
    let around = Surroundings::read();
    let here = std::env::current_dir()?;
    let agents = args.agent.map_or_else(|| Agent::ALL.to_vec(), |agent| vec![agent]);
    let all: Vec<HookStatus> = agents.into_iter().map(|agent| status(agent, &around, &here)).collect();
    if args.json {
        let facts = all.iter().map(|status| {
            let (agent, in_force) = (status.agent.word(), status.is_in_force());
            json!({ "agent": agent, "in_force": in_force, "file": status.file, "problems": status.problems })
        });
        print::json(facts.collect::<Value>(), print::redactor())?;
    } else {
        let lines: Vec<String> = all.iter().map(HookStatus::line).collect();
        print::text(&format!("{}\n", lines.join("\n")))?;
    }
    let is_fine = |status: &HookStatus| {
        status.is_in_force() || (args.agent.is_none() && status.file.is_none() && status.problems.is_empty())
    };
    Ok(Exit::Code(u8::from(!all.iter().all(is_fine))))
}

/// The best hook of an agent: one that works, or else the first one.
fn status(agent: Agent, around: &Surroundings, here: &Path) -> HookStatus {
    let (mut best, mut unread) = (None, Vec::new());
    let off = switched_off(agent, around, here);
    for file in agent.files(around, here) {
        match agent.hooks_in(&file) {
            Err(error) => unread.push(bashful_engine::error_chain(error.as_ref())),
            Ok(found) => {
                for hook in found {
                    let mut problems = off.clone();
                    problems.extend(problems_of(agent, &hook, around));
                    let is_first = best.is_none();
                    if problems.is_empty() {
                        return HookStatus { agent, file: Some(hook.file), problems };
                    } else if is_first {
                        best = Some(HookStatus { agent, file: Some(hook.file), problems });
                    }
                }
            }
        }
    }
    best.unwrap_or(HookStatus { agent, file: None, problems: unread })
}

/// Switches in the agent's settings that turn all hooks off.
fn switched_off(agent: Agent, around: &Surroundings, here: &Path) -> Vec<String> {
    let mut files = agent.files(around, here);
    let (pointer, off): (&str, bool) = match agent {
        Agent::Claude | Agent::Copilot | Agent::Qwen => ("/disableAllHooks", true),
        Agent::Codex => {
            for file in &mut files {
                *file = file.with_file_name("config.toml");
            }
            ("/features/hooks", false)
        }
        Agent::Gemini => ("/hooksConfig/enabled", false),
        // A plugin has no switch.
        Agent::Opencode => return Vec::new(),
    };
    let is_off =
        |file: &&PathBuf| read_settings(file).is_ok_and(|settings| settings.pointer(pointer) == Some(&json!(off)));
    let name = pointer[1..].replace('/', ".");
    files.iter().filter(is_off).map(|file| format!("hooks are turned off in {} (`{name}`)", file.display())).collect()
}

fn problems_of(agent: Agent, found: &FoundHook, around: &Surroundings) -> Vec<String> {
    let mut problems = Vec::new();
    let missed: Vec<&str> = agent.current_tools().iter().filter(|tool| !covers(found, tool)).copied().collect();
    if !missed.is_empty() {
        let matcher = found.matcher.as_deref().unwrap_or_default();
        problems.push(format!("its matcher {matcher:?} leaves out {}", missed.join(" and ")));
    }
    match found.program() {
        Some(program) if !is_runnable(&program, around) => {
            let then = agent.without_hook();
            problems.push(format!("{} cannot be run, and {} then {then}", program.display(), agent.title()));
        }
        _ => {}
    }
    match agent {
        Agent::Claude | Agent::Copilot | Agent::Qwen | Agent::Opencode => {}
        Agent::Codex => problems.extend(codex_trust(found, around)),
        Agent::Gemini => {
            let disabled = read_settings(&found.file).ok().and_then(|settings| {
                let disabled = settings["hooksConfig"]["disabled"].as_array()?.clone();
                let names = [&found.hook["command"], &found.hook["name"]];
                Some(disabled.iter().any(|name| names.contains(&name)))
            });
            if disabled == Some(true) {
                problems.push("it is among `hooksConfig.disabled`".to_owned());
            }
        }
    }
    problems
}

/// Decides whether a matcher lets a tool through to the hook.
fn covers(found: &FoundHook, tool: &str) -> bool {
    match found.matcher.as_deref() {
        None | Some("" | "*") => true,
        Some(matcher) => Regex::new(&format!("^(?:{matcher})$")).is_ok_and(|matcher| matcher.is_match(tool)),
    }
}

/// Decides whether a program can be started: by its path, or by its name on `PATH`.
fn is_runnable(program: &Path, around: &Surroundings) -> bool {
    if program.components().count() > 1 {
        return is_executable(program);
    }
    let path = around.variable("PATH").cloned().unwrap_or_default();
    std::env::split_paths(&path).any(|directory| is_executable(&directory.join(program)))
}

fn is_executable(program: &Path) -> bool {
    program.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// The reason why Codex ignores a hook: it notes a hash for each hook that the user trusts.
fn codex_trust(found: &FoundHook, around: &Surroundings) -> Option<String> {
    let review = "start `codex` and trust it at \"Hooks need review\"";
    let config = Agent::Codex.user_file(around)?.with_file_name("config.toml");
    let settings = match read_settings(&config) {
        Ok(settings) => settings,
        Err(error) => {
            return Some(format!("Codex's settings cannot be read: {}", bashful_engine::error_chain(error.as_ref())));
        }
    };
    let (group, hook) = found.at;
    let place = format!(":pre_tool_use:{group}:{hook}");
    let is_file = |path: &str| Path::new(path).canonicalize().ok() == found.file.canonicalize().ok();
    let states = settings["hooks"]["state"].as_object();
    let state = states.into_iter().flatten().find(|(key, _)| key.strip_suffix(&place).is_some_and(is_file));
    let Some((_, state)) = state else { return Some(format!("you have not trusted it in Codex: {review}")) };
    if state["enabled"] == json!(false) {
        return Some("it is turned off in Codex (/hooks)".to_owned());
    }
    match state["trusted_hash"].as_str() {
        None => Some(format!("you have not trusted it in Codex: {review}")),
        Some(hash) if hash == codex_hash(found) => None,
        Some(_) => Some(format!("it has changed since you trusted it in Codex: {review}")),
    }
}

/// The hash by which Codex knows a hook: of its event, matcher and command as JSON with sorted names.
fn codex_hash(found: &FoundHook) -> String {
    let mut hook =
        json!({ "type": "command", "command": found.command(), "async": found.hook["async"] == json!(true) });
    hook["timeout"] = found.hook["timeout"].as_u64().unwrap_or(CODEX_TIMEOUT).into();
    for name in ["statusMessage", "commandWindows"] {
        if let Some(value) = found.hook.get(name) {
            hook[name] = value.clone();
        }
    }
    let mut identity = json!({ "event_name": "pre_tool_use", "hooks": [hook] });
    if let Some(matcher) = &found.matcher {
        identity["matcher"] = matcher.as_str().into();
    }
    identity.sort_all_objects();
    let hash = Sha256::digest(identity.to_string());
    hash.iter().fold("sha256:".to_owned(), |text, byte| format!("{text}{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(matcher: Option<&str>, hook: Value) -> FoundHook {
        FoundHook { file: "/x".into(), at: (0, 0), matcher: matcher.map(str::to_owned), hook }
    }

    /// A hash that Codex 0.166.0 wrote into its config.toml.
    #[test]
    fn the_hash_is_the_one_that_codex_writes() {
        let hook = json!({ "type": "command", "command": "/tmp/hk/tee-hook.sh" });
        let expected = "sha256:293ac12c96e5e7fac53eb30be9c20522e2a804f72c617feb441687a019242e0b";
        assert_eq!(codex_hash(&found(Some("Bash"), hook.clone())), expected);
        assert_ne!(codex_hash(&found(Some("Bash|x"), hook.clone())), expected);
        assert_ne!(codex_hash(&found(None, hook)), expected);
        let slow = json!({ "type": "command", "command": "/tmp/hk/tee-hook.sh", "timeout": 5 });
        assert_ne!(codex_hash(&found(Some("Bash"), slow)), expected);
    }

    #[test]
    fn a_matcher_covers_the_tools_that_it_names() {
        let covers = |matcher: Option<&str>, tool: &str| covers(&found(matcher, Value::Null), tool);
        for matcher in [None, Some(""), Some("*"), Some(".*"), Some("Bash"), Some("Read|Bash")] {
            assert!(covers(matcher, "Bash"), "{matcher:?}");
        }
        for matcher in ["Bas", "BashOutput", "Read", "(", "run_shell_command"] {
            assert!(!covers(Some(matcher), "Bash"), "{matcher}");
        }
    }
}
