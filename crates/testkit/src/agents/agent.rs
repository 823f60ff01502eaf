//! The agents: where each comes from, how it is started headless, and how it is pointed to the scripted model.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::model::PORT;
use super::package::Package;

/// The prompt of the agent. The scripted model decides the rest.
const PROMPT: &str = "run the script";

/// The source of an agent.
#[derive(Debug, Clone, Copy)]
pub struct Source {
    /// The package on npm.
    pub package: Package,
    /// The executable below `node_modules`. `{cpu}` and `{machine}` stand for `x64` and `x86_64`, or what this machine has.
    program: &'static str,
    /// True if Node runs it.
    script: bool,
}

/// A program that lets a model use tools.
#[derive(Debug, Clone, Copy)]
pub struct Agent {
    /// Its name in `bashful mcp install` and `bashful hook install`.
    pub name: &'static str,
    /// The pinned package.
    pub source: Source,
    /// Arguments for one headless run.
    arguments: fn() -> Vec<String>,
    /// Arguments that approve of every call of bashful's tools and of the agent's own shell.
    approval: &'static [&'static str],
    /// Arguments by which it trusts a hook that its user has not looked at yet.
    hook_trust: &'static [&'static str],
    /// Environment variables beside `HOME` and `PATH`.
    environment: fn() -> Vec<(&'static str, String)>,
    /// A settings file that has to be there before anything is installed: its path below `HOME`, and its text.
    pub(super) settings: Option<(&'static str, &'static str)>,
    /// The agent's own shell tool, and the arguments with which it runs a command.
    pub(super) own_shell: (&'static str, fn(&str) -> Value),
    /// Bytes of ten results beside those of the agent's own shell, at most, in percent.
    pub(super) cost_percent: usize,
    /// Cases that do not apply to this agent, each with the reason.
    pub(super) excused: &'static [(&'static str, &'static str)],
}

/// All agents of the matrix.
pub const AGENTS: [Agent; 6] = [CLAUDE, CODEX, GEMINI, OPENCODE, COPILOT, QWEN];

const NO_AUTO_MODE: (&str, &str) = ("auto mode", "this is about Claude Code's");
const NO_WORKTREE: (&str, &str) = ("worktree", "it has no tool to enter a worktree");

const CLAUDE: Agent = Agent {
    name: "claude",
    source: Source {
        package: Package::Npm("@anthropic-ai/claude-code@2.1.327"),
        program: "@anthropic-ai/claude-code-linux-{cpu}/claude",
        script: false,
    },
    arguments: || words(&["-p", PROMPT]),
    approval: &["--allowedTools", "mcp__bashful,Bash"],
    hook_trust: &[],
    environment: || {
        vec![
            ("ANTHROPIC_BASE_URL", base_url("")),
            ("ANTHROPIC_API_KEY", "sk-ant-dummy-0000000000000000000000".to_owned()),
            ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
            ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ]
    },
    settings: None,
    own_shell: ("Bash", |command| json!({ "command": command, "description": "part of the script" })),
    cost_percent: 105,
    excused: &[],
};

const CODEX: Agent = Agent {
    name: "codex",
    source: Source {
        package: Package::Npm("@openai/codex@0.169.0"),
        program: "@openai/codex-linux-{cpu}/vendor/{machine}-unknown-linux-musl/bin/codex",
        script: false,
    },
    arguments: || {
        let provider = format!(
            "model_providers.rig={{name=\"rig\",base_url=\"{}\",wire_api=\"responses\",env_key=\"RIG_KEY\",\
             request_max_retries=0,stream_max_retries=0}}",
            base_url("/v1")
        );
        // Plugins and analytics would wait for servers that the stage cannot reach.
        let offline = ["check_for_update_on_startup=false", "features.plugins=false", "analytics.enabled=false"];
        let settings = ["model_provider=\"rig\"", &provider, "model=\"gpt-5.4\""].into_iter().chain(offline);
        let mut all = words(&["exec", "--skip-git-repo-check"]);
        all.extend(settings.flat_map(|setting| words(&["-c", setting])));
        all.extend(words(&[PROMPT]));
        all
    },
    approval: &["--dangerously-bypass-approvals-and-sandbox"],
    hook_trust: &["--dangerously-bypass-hook-trust"],
    environment: || vec![("RIG_KEY", "dummy".to_owned())],
    settings: None,
    own_shell: ("exec_command", |command| json!({ "cmd": command })),
    cost_percent: 100,
    excused: &[NO_AUTO_MODE, NO_WORKTREE],
};

const GEMINI: Agent = Agent {
    name: "gemini",
    source: Source {
        package: Package::Npm("@google/gemini-cli@0.61.0"),
        program: "@google/gemini-cli/bundle/gemini.js",
        script: true,
    },
    arguments: || words(&["-m", "gemini-2.5-pro", "-p", PROMPT]),
    approval: &["--yolo"],
    hook_trust: &[],
    environment: || {
        vec![
            ("GEMINI_API_KEY", "dummy".to_owned()),
            ("GOOGLE_GEMINI_BASE_URL", base_url("")),
            ("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()),
            ("NO_BROWSER", "1".to_owned()),
        ]
    },
    settings: Some((
        ".gemini/settings.json",
        "{ \"security\": { \"auth\": { \"selectedType\": \"gemini-api-key\" } } }\n",
    )),
    own_shell: ("run_shell_command", |command| json!({ "command": command })),
    cost_percent: 100,
    excused: &[NO_AUTO_MODE, NO_WORKTREE],
};

const OPENCODE: Agent = Agent {
    name: "opencode",
    source: Source {
        package: Package::Npm("opencode-ai@1.18.33"),
        program: "opencode-linux-{cpu}/bin/opencode",
        script: false,
    },
    arguments: || words(&["run", "-m", "rig/scripted", PROMPT]),
    approval: &[],
    hook_trust: &[],
    environment: || {
        let model = json!({ "name": "scripted", "tool_call": true, "limit": { "context": 200_000, "output": 8_000 } });
        let provider = json!({
            "npm": "@ai-sdk/openai-compatible", "name": "rig", "models": { "scripted": model },
            "options": { "baseURL": base_url("/v1"), "apiKey": "dummy" },
        });
        let settings = json!({
            "provider": { "rig": provider }, "model": "rig/scripted", "small_model": "rig/scripted",
            "autoupdate": false, "share": "disabled",
        });
        vec![
            ("OPENCODE_CONFIG_CONTENT", settings.to_string()),
            ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
            ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
        ]
    },
    settings: None,
    own_shell: ("bash", |command| json!({ "command": command, "description": "part of the script" })),
    cost_percent: 100,
    excused: &[NO_AUTO_MODE, NO_WORKTREE],
};

const COPILOT: Agent = Agent {
    name: "copilot",
    source: Source {
        package: Package::Npm("@github/copilot@1.0.102"),
        program: "@github/copilot/npm-loader.js",
        script: true,
    },
    arguments: || words(&["-p", PROMPT]),
    approval: &["--allow-all-tools"],
    hook_trust: &[],
    environment: || {
        vec![
            ("COPILOT_PROVIDER_BASE_URL", base_url("/v1")),
            ("COPILOT_PROVIDER_TYPE", "openai".to_owned()),
            ("COPILOT_PROVIDER_API_KEY", "dummy".to_owned()),
            ("COPILOT_MODEL", "scripted".to_owned()),
            ("COPILOT_OFFLINE", "true".to_owned()),
            ("COPILOT_AUTO_UPDATE", "false".to_owned()),
        ]
    },
    settings: None,
    own_shell: ("bash", |command| json!({ "command": command, "description": "part of the script" })),
    cost_percent: 105,
    excused: &[NO_AUTO_MODE, NO_WORKTREE, ("replace", "no setting hides its shell, only the flag --excluded-tools")],
};

const QWEN: Agent = Agent {
    name: "qwen",
    source: Source {
        package: Package::Npm("@qwen-code/qwen-code@0.24.4"),
        program: "@qwen-code/qwen-code/cli-entry.js",
        script: true,
    },
    arguments: || words(&["--auth-type", "openai", "-p", PROMPT]),
    approval: &["--yolo"],
    hook_trust: &[],
    environment: || {
        vec![
            ("OPENAI_API_KEY", "dummy".to_owned()),
            ("OPENAI_BASE_URL", base_url("/v1")),
            ("OPENAI_MODEL", "scripted".to_owned()),
        ]
    },
    settings: None,
    own_shell: ("run_shell_command", |command| json!({ "command": command, "is_background": false })),
    cost_percent: 105,
    excused: &[NO_AUTO_MODE, NO_WORKTREE],
};

impl Agent {
    /// The agent of this name.
    pub fn named(name: &str) -> Option<&'static Self> {
        AGENTS.iter().find(|agent| agent.name == name)
    }

    /// The directory that npm installs it to, below `target/clients`.
    pub fn prefix(&self, clients: &Path) -> PathBuf {
        clients.join("agents").join(self.name)
    }

    /// The program and its first arguments; an error if it is not installed at the pinned version.
    pub(super) fn program(&self, clients: &Path) -> Result<(PathBuf, Vec<String>), String> {
        let prefix = self.prefix(clients);
        self.source.package.check_installed(&prefix)?;
        let machine = std::env::consts::ARCH;
        let cpu = if machine == "x86_64" { "x64" } else { "arm64" };
        let program = self.source.program.replace("{cpu}", cpu).replace("{machine}", machine);
        let program = prefix.join("node_modules").join(program);
        if !program.exists() {
            return Err(format!("{} has no {}", self.source.package.text(), program.display()));
        }
        Ok(if self.source.script {
            (clients.join("node/node"), vec![program.to_string_lossy().into_owned()])
        } else {
            (program, Vec::new())
        })
    }

    /// Arguments for a headless run, with every call approved in advance or not.
    pub(super) fn arguments(&self, approved: bool) -> Vec<String> {
        let mut arguments = (self.arguments)();
        if approved {
            arguments.extend(words(self.approval));
            arguments.extend(words(self.hook_trust));
        }
        arguments
    }

    /// Variables that point the agent to the scripted model and keep it from its maker's servers.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        (self.environment)()
    }
}

/// The URL of the scripted model, with this path.
fn base_url(path: &str) -> String {
    format!("http://127.0.0.1:{PORT}{path}")
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}
