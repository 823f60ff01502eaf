//! Which clients are known, where they keep their servers, and in what form.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::edit::{EditError, Entry, Spot};
use super::{edit, toml};
use crate::setup::Surroundings;

/// A program that talks to servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Claude Code: `~/.claude.json`; of a project, `.mcp.json`.
    Claude,
    /// Claude Desktop: `~/.config/Claude/claude_desktop_config.json`.
    ClaudeDesktop,
    /// Codex: `~/.codex/config.toml`; of a project that it trusts, `.codex/config.toml`.
    Codex,
    /// Gemini CLI: `~/.gemini/settings.json`; of a project, `.gemini/settings.json`.
    Gemini,
    /// VS Code: `~/.config/Code/User/mcp.json`; of a project, `.vscode/mcp.json`.
    Vscode,
    /// Cursor: `~/.cursor/mcp.json`; of a project, `.cursor/mcp.json`.
    Cursor,
    /// Windsurf: `~/.codeium/windsurf/mcp_config.json`.
    Windsurf,
    /// Zed: `~/.config/zed/settings.json`; of a project, `.zed/settings.json`.
    Zed,
    /// GitHub Copilot CLI: `~/.copilot/mcp-config.json`; of a project, `.github/mcp.json`.
    Copilot,
    /// opencode: `~/.config/opencode/opencode.json`; of a project, `opencode.json`.
    Opencode,
}

impl Client {
    /// What people call it.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Vscode => "VS Code",
            Self::Cursor => "Cursor",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
            Self::Copilot => "GitHub Copilot CLI",
            Self::Opencode => "opencode",
        }
    }

    /// The file that holds for the user everywhere; none without a home directory.
    pub(super) fn user_file(self, around: &Surroundings) -> Option<PathBuf> {
        let home = || around.home();
        let named = |variable: &str, otherwise: &str| around.named(variable).or_else(|| Some(home()?.join(otherwise)));
        Some(match self {
            Self::Claude => named("CLAUDE_CONFIG_DIR", "")?.join(".claude.json"),
            Self::ClaudeDesktop => around.config_home()?.join("Claude/claude_desktop_config.json"),
            Self::Codex => named("CODEX_HOME", ".codex")?.join("config.toml"),
            Self::Gemini => home()?.join(".gemini/settings.json"),
            Self::Vscode => around.config_home()?.join("Code/User/mcp.json"),
            Self::Cursor => home()?.join(".cursor/mcp.json"),
            Self::Windsurf => home()?.join(".codeium/windsurf/mcp_config.json"),
            Self::Zed => around.config_home()?.join("zed/settings.json"),
            Self::Copilot => named("COPILOT_HOME", ".copilot")?.join("mcp-config.json"),
            Self::Opencode => either(&around.config_home()?.join("opencode")),
        })
    }

    /// The file that holds for one project; none if the client has no such file.
    pub(super) fn project_file(self, project: &Path) -> Option<PathBuf> {
        Some(match self {
            Self::Claude => project.join(".mcp.json"),
            Self::Codex => project.join(".codex/config.toml"),
            Self::Gemini => project.join(".gemini/settings.json"),
            Self::Vscode => project.join(".vscode/mcp.json"),
            Self::Cursor => project.join(".cursor/mcp.json"),
            Self::Zed => project.join(".zed/settings.json"),
            Self::Copilot => project.join(".github/mcp.json"),
            Self::Opencode => either(project),
            Self::ClaudeDesktop | Self::Windsurf => return None,
        })
    }

    /// What has to be done, or known, once the file has been written.
    pub(super) fn then(self, project: bool) -> &'static str {
        match self {
            Self::Claude if project => "Claude Code asks whether to use it when it is started here",
            Self::Codex if project => "Codex reads it only in a project that it trusts",
            Self::Zed | Self::Vscode => "it is used from now on",
            _ => "it is used when the client is started next",
        }
    }

    /// The groups in which servers are.
    fn groups(self) -> &'static [&'static str] {
        match self {
            Self::Codex => &["mcp_servers"],
            Self::Vscode => &["servers"],
            Self::Zed => &["context_servers"],
            Self::Opencode => &["mcp"],
            _ => &["mcpServers"],
        }
    }

    /// How it wants to be told of a server.
    pub(super) fn entry(self, program: &str, arguments: &[String]) -> Entry {
        let command = ("command", json!(program));
        let arguments = ("args", json!(arguments));
        Entry(match self {
            Self::Claude | Self::Vscode => vec![("type", json!("stdio")), command, arguments],
            Self::Copilot => vec![("type", json!("local")), command, arguments, ("tools", json!(["*"]))],
            Self::Opencode => {
                let mut whole = vec![Value::from(program)];
                whole.extend(arguments.1.as_array().into_iter().flatten().cloned());
                vec![("type", json!("local")), ("command", whole.into()), ("enabled", json!(true))]
            }
            _ => vec![command, arguments],
        })
    }

    /// The text with the entry. None if it is there already.
    pub(super) fn set(self, text: &str, name: &str, entry: &Entry) -> Result<Option<String>, EditError> {
        let spot = Spot { groups: self.groups(), name };
        if self == Self::Codex { toml::set(text, spot, entry) } else { edit::set(text, spot, entry) }
    }

    /// The text without the entry. None if it is not there.
    pub(super) fn remove(self, text: &str, name: &str) -> Result<Option<String>, EditError> {
        let spot = Spot { groups: self.groups(), name };
        if self == Self::Codex { toml::remove(text, spot) } else { edit::remove(text, spot) }
    }
}

/// Its settings may have comments, and are called otherwise then.
fn either(directory: &Path) -> PathBuf {
    let with_comments = directory.join("opencode.jsonc");
    if with_comments.exists() { with_comments } else { directory.join("opencode.json") }
}
