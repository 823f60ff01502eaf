//! The clients, the files in which each keeps its servers, and the form of an entry there.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::{Value, json};

use crate::surroundings::Surroundings;

/// An MCP client.
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
    /// Qwen Code: `~/.qwen/settings.json`; of a project, `.qwen/settings.json`.
    Qwen,
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
    /// The name for people.
    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Claude => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Codex => "Codex",
            Self::Gemini => "Gemini CLI",
            Self::Qwen => "Qwen Code",
            Self::Vscode => "VS Code",
            Self::Cursor => "Cursor",
            Self::Windsurf => "Windsurf",
            Self::Zed => "Zed",
            Self::Copilot => "GitHub Copilot CLI",
            Self::Opencode => "opencode",
        }
    }

    /// The user's own settings file; none without a home directory.
    pub(super) fn user_file(self, around: &Surroundings) -> Option<PathBuf> {
        let home = || around.home();
        let named = |variable: &str, otherwise: &str| around.named(variable).or_else(|| Some(home()?.join(otherwise)));
        Some(match self {
            Self::Claude => named("CLAUDE_CONFIG_DIR", "")?.join(".claude.json"),
            Self::ClaudeDesktop => around.config_home()?.join("Claude/claude_desktop_config.json"),
            Self::Codex => named("CODEX_HOME", ".codex")?.join("config.toml"),
            Self::Gemini => named("GEMINI_CLI_HOME", "")?.join(".gemini/settings.json"),
            Self::Qwen => named("QWEN_HOME", ".qwen")?.join("settings.json"),
            Self::Vscode => around.config_home()?.join("Code/User/mcp.json"),
            Self::Cursor => home()?.join(".cursor/mcp.json"),
            Self::Windsurf => home()?.join(".codeium/windsurf/mcp_config.json"),
            Self::Zed => around.config_home()?.join("zed/settings.json"),
            Self::Copilot => named("COPILOT_HOME", ".copilot")?.join("mcp-config.json"),
            Self::Opencode => either(&around.config_home()?.join("opencode")),
        })
    }

    /// The settings file of one project; none if the client has no such file.
    pub(super) fn project_file(self, project: &Path) -> Option<PathBuf> {
        Some(match self {
            Self::Claude => project.join(".mcp.json"),
            Self::Codex => project.join(".codex/config.toml"),
            Self::Gemini => project.join(".gemini/settings.json"),
            Self::Qwen => project.join(".qwen/settings.json"),
            Self::Vscode => project.join(".vscode/mcp.json"),
            Self::Cursor => project.join(".cursor/mcp.json"),
            Self::Zed => project.join(".zed/settings.json"),
            Self::Copilot => project.join(".github/mcp.json"),
            Self::Opencode => either(project),
            Self::ClaudeDesktop | Self::Windsurf => return None,
        })
    }

    /// The path of a server's entry in its file.
    pub(super) fn server_path(self, name: &str) -> Vec<String> {
        let group = match self {
            Self::Codex => "mcp_servers",
            Self::Vscode => "servers",
            Self::Zed => "context_servers",
            Self::Opencode => "mcp",
            _ => "mcpServers",
        };
        vec![group.to_owned(), name.to_owned()]
    }

    /// The keys of a server's entry, in their order. `approve` adds those that let it run without questions.
    pub(super) fn server_keys(self, program: &str, arguments: &[String], approve: bool) -> Vec<(String, Value)> {
        let command = ("command", json!(program));
        let arguments = ("args", json!(arguments));
        let mut keys = match self {
            Self::Claude | Self::Vscode => vec![("type", json!("stdio")), command, arguments],
            Self::Copilot => vec![("type", json!("local")), command, arguments, ("tools", json!(["*"]))],
            Self::Opencode => {
                let mut whole = vec![Value::from(program)];
                whole.extend(arguments.1.as_array().into_iter().flatten().cloned());
                vec![("type", json!("local")), ("command", whole.into()), ("enabled", json!(true))]
            }
            _ => vec![command, arguments],
        };
        if approve {
            keys.extend(match self {
                // Loads the tool at once; otherwise the model sees only its name until it searches.
                Self::Claude => vec![("alwaysLoad", json!(true))],
                Self::Codex => {
                    let approved = ("default_tools_approval_mode", json!("approve"));
                    vec![approved, ("supports_parallel_tool_calls", json!(true))]
                }
                Self::Gemini => vec![("trust", json!(true))],
                Self::Qwen => vec![("trust", json!(true)), ("alwaysLoadTools", json!(true))],
                _ => Vec::new(),
            });
        }
        keys.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

/// The settings of opencode have another name if they may have comments.
fn either(directory: &Path) -> PathBuf {
    let with_comments = directory.join("opencode.jsonc");
    if with_comments.exists() { with_comments } else { directory.join("opencode.json") }
}
