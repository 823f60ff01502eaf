//! Finds bashful's hooks in the settings of agents.

use std::error::Error;
use std::path::{Path, PathBuf};

use bashful_bash::{Opening, OpeningKind};
use bashful_dialect::shell_quoted;
use serde_json::{Value, json};

use super::Agent;
use crate::install::change::Edit;
use crate::install::{program_text, read_settings, read_text};
use crate::surroundings::Surroundings;

/// The plugin of opencode, in which a placeholder stands for the command.
const PLUGIN: &str = include_str!("opencode.js");
const PLUGIN_COMMAND: &str = "COMMAND_OF_THE_HOOK";

/// A hook of bashful in an agent's settings.
#[derive(Debug)]
pub(super) struct FoundHook {
    pub(super) file: PathBuf,
    /// Places in the list of groups, and in the list of one group's hooks.
    pub(super) at: (usize, usize),
    /// The tools it gets; empty means every tool.
    pub(super) matcher: Option<String>,
    pub(super) hook: Value,
}

impl FoundHook {
    pub(super) fn command(&self) -> &str {
        self.hook["command"].as_str().unwrap_or_default()
    }

    /// The program in the hook's command line, as written.
    pub(super) fn program(&self) -> Option<PathBuf> {
        program(self.command())
    }
}

impl Agent {
    /// The user's settings that hold hooks; none without a home directory.
    pub(super) fn user_file(self, around: &Surroundings) -> Option<PathBuf> {
        let named = |variable: &str, below: &str| around.named(variable).or_else(|| Some(around.home()?.join(below)));
        Some(match self {
            Self::Claude => named("CLAUDE_CONFIG_DIR", ".claude")?.join("settings.json"),
            Self::Codex => named("CODEX_HOME", ".codex")?.join("hooks.json"),
            Self::Gemini => named("GEMINI_CLI_HOME", "")?.join(".gemini/settings.json"),
            Self::Copilot => named("COPILOT_HOME", ".copilot")?.join("settings.json"),
            Self::Qwen => named("QWEN_HOME", ".qwen")?.join("settings.json"),
            Self::Opencode => around.config_home()?.join("opencode/plugins/bashful.js"),
        })
    }

    /// All settings that hold hooks for a directory, the user's first.
    pub(super) fn files(self, around: &Surroundings, here: &Path) -> Vec<PathBuf> {
        let below: &[&str] = match self {
            Self::Claude => &[".claude/settings.json", ".claude/settings.local.json"],
            Self::Codex => &[".codex/hooks.json"],
            Self::Gemini => &[".gemini/settings.json"],
            // Hooks of a repository are left to those who share it.
            Self::Copilot => &[],
            Self::Qwen => &[".qwen/settings.json"],
            Self::Opencode => &[".opencode/plugins/bashful.js"],
        };
        let mut files: Vec<PathBuf> = self.user_file(around).into_iter().collect();
        files.extend(below.iter().map(|file| here.join(file)));
        // In the home directory both are the same file.
        files.dedup();
        files
    }

    /// The change that puts the hook into the agent's settings.
    pub(super) fn edit(self, command: &str) -> Edit {
        if self == Self::Opencode {
            return Edit::Whole { text: PLUGIN.replace(PLUGIN_COMMAND, &Value::from(command).to_string()) };
        }
        let path = vec!["hooks".to_owned(), self.event().to_owned()];
        let hook = json!({ "type": "command", "command": command });
        Edit::Add { path, item: json!({ "matcher": self.matcher(), "hooks": [hook] }) }
    }

    /// All hooks of bashful in a file.
    pub(super) fn hooks_in(self, file: &Path) -> Result<Vec<FoundHook>, Box<dyn Error>> {
        let settings = if self == Self::Opencode { plugin_as_settings(file)? } else { read_settings(file)? };
        let groups = settings["hooks"][self.event()].as_array().map_or(&[][..], Vec::as_slice);
        let all = groups.iter().enumerate().flat_map(|(group_at, group)| {
            let hooks = group["hooks"].as_array().map_or(&[][..], Vec::as_slice);
            hooks.iter().enumerate().map(move |(hook_at, hook)| FoundHook {
                file: file.to_path_buf(),
                at: (group_at, hook_at),
                matcher: group["matcher"].as_str().map(str::to_owned),
                hook: hook.clone(),
            })
        });
        let arguments = format!(" hook {}", self.word());
        let is_ours = |found: &FoundHook| {
            let is_bashful = found.program().is_some_and(|program| program.ends_with("bashful"));
            is_bashful && found.command().contains(&arguments)
        };
        Ok(all.filter(is_ours).collect())
    }
}

/// A plugin's command as the settings of other agents hold it.
fn plugin_as_settings(file: &Path) -> Result<Value, Box<dyn Error>> {
    let text = read_text(file)?;
    let command = text.lines().find_map(|line| line.strip_prefix("const command = ")?.strip_suffix(';'));
    let command: Value = command.and_then(|command| serde_json::from_str(command).ok()).unwrap_or_default();
    Ok(json!({ "hooks": { "PreToolUse": [{ "hooks": [{ "command": command }] }] } }))
}

/// The command line of a hook, with the absolute path of this program.
pub(super) fn command(agent: Agent, around: &Surroundings, config: Option<&Path>) -> Result<String, Box<dyn Error>> {
    let mut command = format!("{} hook {}", shell_quoted(&program_text(around)?), agent.word());
    if let Some(config) = config {
        around.settings(Some(config))?;
        let config = std::path::absolute(config)?;
        command = format!("{command} --config {}", shell_quoted(&config.to_string_lossy()));
    }
    Ok(command)
}

/// The program of a hook's command line, without quotes. A variable in its path stays as it is spelled.
fn program(command: &str) -> Option<PathBuf> {
    match Opening::of(command).kind {
        OpeningKind::Command { name, spelled } => Some(PathBuf::from(name.unwrap_or_else(|| spelled.to_owned()))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_again_however_it_is_quoted() {
        for path in ["/usr/bin/bashful", "/a b/bashful", "/it's/bashful", "/ä\\\"/bashful"] {
            let command = format!("{} hook claude", shell_quoted(path));
            assert_eq!(program(&command), Some(PathBuf::from(path)), "{command}");
        }
        assert_eq!(program(r#""/a b/bashful" hook"#), Some(PathBuf::from("/a b/bashful")));
        assert_eq!(program("$HOME/bin/bashful hook"), Some(PathBuf::from("$HOME/bin/bashful")));
        assert_eq!(program("~/bin/bashful;x"), Some(PathBuf::from("~/bin/bashful")));
        assert_eq!(program(""), None);
    }
}
