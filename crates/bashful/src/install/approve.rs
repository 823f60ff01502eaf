//! Everything beside the server's entry: approvals, trusted folders, and built-in shells that are turned off.
//!
//! Each setting was tried with the client itself; docs/hooks.md and the README name the versions.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::change::{Change, Edit};
use super::client::Client;
use super::edit;
use crate::surroundings::Surroundings;

/// The policy file of bashful. Gemini CLI reads every file of its directory.
const GEMINI_POLICY: &str = "\
# Written by `bashful mcp install gemini --replace`: the model runs commands through bashful.
[[rule]]
toolName = \"run_shell_command\"
decision = \"deny\"
priority = 999
";

/// The shell tools of Copilot CLI.
const COPILOT_SHELL: &str = "bash,read_bash,write_bash,stop_bash,list_bash";

/// The extent of the user's consent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd)]
pub(super) enum Extent {
    /// Only the server's entry.
    Server,
    /// Commands of the server run without questions.
    Approved,
    /// The client's own shell tool is turned off too.
    Replaced,
}

/// One requested installation.
pub(super) struct Wanted<'a> {
    pub(super) client: Client,
    pub(super) name: &'a str,
    pub(super) extent: Extent,
    /// The client's settings file that gets the server.
    pub(super) file: &'a Path,
    /// The project, if the file belongs to one.
    pub(super) project: bool,
    /// The current directory without links, which is the folder to trust.
    pub(super) here: &'a Path,
    pub(super) around: &'a Surroundings,
}

/// Changes to write, and remarks about those that cannot be written.
#[derive(Debug, Default)]
pub(super) struct Extras {
    pub(super) changes: Vec<Change>,
    pub(super) remarks: Vec<String>,
}

impl Wanted<'_> {
    /// The changes beside the server's entry.
    pub(super) fn extras(&self) -> Extras {
        let mut extras = Extras::default();
        if self.extent >= Extent::Approved {
            self.approve(&mut extras);
        }
        if self.extent >= Extent::Replaced {
            self.replace(&mut extras);
        }
        extras
    }

    fn approve(&self, extras: &mut Extras) {
        let name = self.name;
        match self.client {
            Client::Claude => {
                extras.add(self.claude_settings(), &["permissions", "allow"], json!(format!("mcp__{name}")));
                if self.project {
                    extras.add(self.claude_settings(), &["enabledMcpjsonServers"], json!(name));
                }
            }
            Client::Codex if self.project => {
                let user = self.client.user_file(self.around);
                self.trust(extras, user, &["projects", &self.here_text(), "trust_level"], "trusted");
            }
            Client::Gemini | Client::Qwen => {
                let user = self.client.user_file(self.around).map(|file| file.with_file_name("trustedFolders.json"));
                self.trust(extras, user, &[&self.here_text()], "TRUST_FOLDER");
            }
            Client::Copilot => {
                // Without a tool name the rule covers all tools of the server.
                let approval = json!({ "kind": "mcp", "serverName": name, "toolName": null });
                if self.is_home(self.folder()) {
                    extras.remarks.push(self.not_trusted());
                } else if let Some(user) = self.client.user_file(self.around) {
                    if self.project {
                        // Without trust the client ignores the project's servers.
                        extras.add(user.with_file_name("config.json"), &["trustedFolders"], json!(self.here_text()));
                    }
                    let file = user.with_file_name("permissions-config.json");
                    extras.add(file, &["locations", &self.folder().to_string_lossy(), "tool_approvals"], approval);
                }
            }
            Client::Opencode => {
                extras.set(self.file.to_path_buf(), &["permission", &format!("{name}_*")], json!("allow"));
            }
            _ => {}
        }
    }

    fn replace(&self, extras: &mut Extras) {
        let file = || self.file.to_path_buf();
        match self.client {
            // `Monitor` runs commands too, so it is turned off as well.
            Client::Claude => extras.add(self.claude_settings(), &["permissions", "deny"], json!("Bash")),
            Client::Codex => extras.set(file(), &["features", "shell_tool"], json!(false)),
            // Rules in a project are not read.
            Client::Gemini if self.project => extras.add(file(), &["tools", "exclude"], json!("run_shell_command")),
            Client::Gemini => {
                let policy = self.file.with_file_name("policies").join("bashful.toml");
                extras.changes.push(Change::new(policy, Edit::Whole { text: GEMINI_POLICY.to_owned() }));
            }
            Client::Qwen => {
                extras.add(file(), &["permissions", "deny"], json!("run_shell_command"));
                extras.add(file(), &["tools", "exclude"], json!("run_shell_command"));
            }
            Client::Opencode => extras.set(file(), &["tools", "bash"], json!(false)),
            _ => {}
        }
    }

    /// In a project, the file that Claude Code keeps out of version control: approvals are one person's.
    fn claude_settings(&self) -> PathBuf {
        if self.project {
            return self.file.with_file_name(".claude").join("settings.local.json");
        }
        let named = self.around.named("CLAUDE_CONFIG_DIR");
        named.unwrap_or_else(|| self.file.with_file_name(".claude")).join("settings.json")
    }

    /// Trusts the current directory, unless it is the home directory or the user has decided otherwise.
    fn trust(&self, extras: &mut Extras, file: Option<PathBuf>, path: &[&str], level: &str) {
        let Some(file) = file else { return };
        if self.is_home(self.here) {
            return extras.remarks.push(self.not_trusted());
        }
        let there = value_in(&file, path);
        if there.as_ref().is_some_and(|there| there != level) {
            let client = self.client.title();
            let remark = format!("you have told {client} not to trust {}; that is left as it is", self.here.display());
            return extras.remarks.push(remark);
        }
        extras.set(file, path, json!(level));
    }

    /// True for the home directory and those above it: trusting them would trust everything.
    fn is_home(&self, folder: &Path) -> bool {
        let home = self.around.home().and_then(|home| home.canonicalize().ok());
        folder == Path::new("/") || home.is_some_and(|home| home.starts_with(folder))
    }

    /// The folder that an approval holds for: the current directory. Copilot CLI has approvals for whole repositories.
    fn folder(&self) -> &Path {
        let repository = self.here.ancestors().find(|folder| folder.join(".git").exists());
        repository.filter(|_| self.client == Client::Copilot).unwrap_or(self.here)
    }

    fn not_trusted(&self) -> String {
        let folder = self.folder().display();
        format!(
            "{folder} is not trusted, because that would trust everything in it: run this again in your project's directory"
        )
    }

    fn here_text(&self) -> String {
        self.here.to_string_lossy().into_owned()
    }

    /// The warning before the question.
    pub(super) fn warning(&self) -> String {
        let (title, mut lines) = (self.client.title(), String::new());
        if self.extent >= Extent::Approved && self.can_approve() {
            lines = format!("[--approve: {title} will run every command of this tool without asking you]\n");
        }
        if self.extent >= Extent::Replaced && self.can_replace() {
            lines = format!("{lines}[--replace: {title} will not offer its own shell tool to the model]\n");
        }
        if self.client == Client::Claude {
            lines += match self.extent {
                Extent::Server => {
                    "[auto mode: Claude Code's safety check decides about each command of this tool, and you are not asked]\n"
                }
                _ => {
                    "[auto mode: Claude Code's safety check skips every command of this tool, because a rule allows it]\n"
                }
            };
            lines += "[Claude Code's sandbox holds its own shell alone: commands of this tool run outside of it]\n";
        }
        if self.client == Client::Codex {
            lines += "[Codex's sandbox does not hold MCP servers: commands of this tool run outside of it, even with `read-only`]\n";
        }
        lines
    }

    fn can_approve(&self) -> bool {
        use Client::{Claude, Codex, Copilot, Gemini, Opencode, Qwen};
        matches!(self.client, Claude | Codex | Gemini | Qwen | Copilot | Opencode)
    }

    fn can_replace(&self) -> bool {
        self.can_approve() && self.client != Client::Copilot
    }

    /// The next steps of the user.
    pub(super) fn steps(&self) -> Vec<String> {
        let (title, name) = (self.client.title(), self.name);
        let mut steps = Vec::new();
        if self.extent < Extent::Approved {
            steps.push(self.approval_step());
        } else if !self.can_approve() {
            steps.push(format!("--approve writes nothing for {title}, which keeps approvals to itself: when it asks, choose to always allow it"));
        } else if matches!(self.client, Client::Gemini | Client::Qwen | Client::Copilot) {
            let otherwise = match self.client {
                Client::Copilot => format!("it asks again, unless you start it with --allow-tool {name}"),
                Client::Gemini => "it asks whether you trust the folder, and `gemini -p` needs --skip-trust".to_owned(),
                _ => "it may ask whether you trust the folder".to_owned(),
            };
            steps.push(format!("this holds for {}; in other folders {otherwise}", self.folder().display()));
        }
        if self.extent >= Extent::Replaced && self.client == Client::Copilot {
            let flags = format!("copilot --excluded-tools={COPILOT_SHELL}");
            steps.push(format!("{title} has no setting that turns its shell off; start it with\n  {flags}"));
        } else if self.extent >= Extent::Replaced && !self.can_replace() {
            steps.push(format!("--replace writes nothing for {title}: turn its own terminal tool off in its settings"));
        }
        steps
    }

    /// The advice about `--approve`, if it was not given.
    fn approval_step(&self) -> String {
        let name = self.name;
        match self.client {
            Client::Claude if self.project => format!(
                "Claude Code asks whether to use the server when it is started here, and then before each use; `claude -p` needs \
                 --allowedTools mcp__{name}. With --approve it is written down"
            ),
            Client::Claude => format!(
                "Claude Code asks before it uses the tool, and `claude -p` refuses it without --allowedTools mcp__{name}. With --approve it \
                 is written down"
            ),
            Client::Codex if self.project => "Codex reads it only in a project that you trust, asks before each call, and `codex exec` \
                 refuses the tool. With --approve it is written down"
                .to_owned(),
            Client::Codex => "Codex asks before each call, and `codex exec` refuses the tool. With --approve it is written down".to_owned(),
            Client::Gemini => "Gemini CLI offers the tool only in folders that you trust, asks before each call, and `gemini -p` refuses it. \
                 With --approve both are written down"
                .to_owned(),
            Client::Qwen => "Qwen Code asks before each call, and `qwen -p` refuses the tool. With --approve it is written down".to_owned(),
            Client::Copilot if self.project => format!(
                "Copilot CLI reads it only in a folder that you trust for good, asks before each call, and `copilot -p` refuses the tool without \
                 --allow-tool {name}. With --approve both are written down"
            ),
            Client::Copilot => format!(
                "Copilot CLI asks before each call, and `copilot -p` refuses the tool without --allow-tool {name}. With --approve it is \
                 written down for this folder"
            ),
            Client::Opencode => {
                "opencode runs the tool without asking, unless `permission` in its settings says otherwise".to_owned()
            }
            _ => format!("{} asks before each call: choose to always allow it there", self.client.title()),
        }
    }
}

impl Extras {
    fn add(&mut self, file: PathBuf, path: &[&str], item: Value) {
        let path = path.iter().map(ToString::to_string).collect();
        self.changes.push(Change::new(file, Edit::Add { path, item }));
    }

    fn set(&mut self, file: PathBuf, path: &[&str], value: Value) {
        let path = path.iter().map(ToString::to_string).collect();
        self.changes.push(Change::new(file, Edit::Set { path, value }));
    }
}

/// A value in a settings file. A file that cannot be read is left to the change, which says why.
fn value_in(file: &Path, path: &[&str]) -> Option<Value> {
    let settings = super::read_settings(file).ok()?;
    edit::value_at(&settings, path).cloned()
}
