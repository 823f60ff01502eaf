//! The peers: where each server comes from, how it is started, and how its tool takes a script.
//!
//! Settings are the defaults, except where a server would refuse the script or call its maker's servers.

use std::path::{Path, PathBuf};

use bashful_testkit::agents::Package;
use serde_json::{Value, json};

use crate::packages;

/// A program in the home directory of every server, and the script beside it that it runs: for a server that refuses to run a shell.
pub(super) const SCRIPT_RUNNER: &str = "run-script";
pub(super) const SCRIPT: &str = "script";

/// The timeout for a server whose tool requires one, where the case asks for none. Longer than any case.
const LONG: u64 = 120;

/// Variables of a server, as name and value.
type Variables = Vec<(&'static str, String)>;

/// A request: its method, and its parameters given the home directory.
type Setup = (&'static str, fn(&Path) -> Value);

/// A server that runs shell commands over MCP.
pub(super) struct Peer {
    /// The name in the tables, and of the directory that it is installed to.
    pub(super) name: &'static str,
    /// None for bashful itself, which is built.
    pub(super) package: Option<Package>,
    /// Dependencies that are pinned because the range of the package finds none, as name and version.
    pub(super) overrides: &'static [(&'static str, &'static str)],
    start: Start,
    /// The tool that runs a script.
    pub(super) tool: &'static str,
    /// Arguments of the tool: the script, its directory, and the timeout in seconds that the case asks for.
    pub(super) arguments: fn(&str, &Path, Option<u64>) -> Value,
    /// Variables of the server: its home directory, and the timeout in seconds that the case asks for.
    pub(super) variables: fn(&Path, Option<u64>) -> Variables,
    /// A settings file: its path below the home directory, and its text.
    pub(super) settings: Option<(&'static str, &'static str)>,
    /// A request of its own that the server needs after the greeting.
    pub(super) setup: Option<Setup>,
    /// False if neither the tool nor the server takes a timeout that stops a command.
    pub(super) has_timeout: bool,
}

/// The program of a server.
enum Start {
    /// Built here.
    Own,
    /// A script below `node_modules`, run by Node.
    Node(&'static str),
    /// An executable in a virtual environment.
    Python(&'static str),
}

impl Peer {
    /// The directory that the package is installed to.
    pub(super) fn prefix(&self, peers: &Path) -> PathBuf {
        peers.join(self.name)
    }

    /// The command line of the server, given the path of bashful and the directory with all peers.
    pub(super) fn command(&self, bashful: &Path, peers: &Path) -> Vec<PathBuf> {
        let prefix = self.prefix(peers);
        match self.start {
            Start::Own => vec![bashful.to_path_buf(), "mcp".into()],
            Start::Node(script) => {
                vec![packages::node_tools().join("node"), prefix.join("node_modules").join(script)]
            }
            Start::Python(program) => vec![prefix.join("bin").join(program)],
        }
    }
}

const DEFAULT: Peer = Peer {
    name: "bashful",
    package: None,
    overrides: &[],
    start: Start::Own,
    tool: "bash",
    arguments: |script, _, timeout| match timeout {
        Some(seconds) => json!({ "command": script, "timeout": seconds }),
        None => json!({ "command": script }),
    },
    variables: |_, _| Vec::new(),
    settings: None,
    setup: None,
    has_timeout: true,
};

/// All servers, ours first.
pub(super) const PEERS: [Peer; 8] = [
    DEFAULT,
    Peer {
        name: "codex-shell-tool-mcp",
        package: Some(Package::Npm("@openai/codex-shell-tool-mcp@0.97.0")),
        start: Start::Node(".bin/codex-shell-tool-mcp"),
        tool: "shell",
        arguments: |script, directory, timeout| match timeout {
            Some(seconds) => json!({ "command": script, "workdir": directory, "timeout_ms": seconds * 1000 }),
            None => json!({ "command": script, "workdir": directory }),
        },
        // Its sandbox needs a program that only Codex itself brings along.
        setup: Some((
            "codex/sandbox-state/update",
            |home| json!({ "sandboxPolicy": { "type": "danger-full-access" }, "codexLinuxSandboxExe": null, "sandboxCwd": home }),
        )),
        ..DEFAULT
    },
    Peer {
        name: "mcp-server-commands",
        package: Some(Package::Npm("mcp-server-commands@0.5.0")),
        start: Start::Node(".bin/mcp-server-commands"),
        tool: "run_command",
        arguments: |script, _, _| json!({ "command": script }),
        has_timeout: false,
        ..DEFAULT
    },
    Peer {
        name: "mcp-terminal",
        package: Some(Package::Npm("@rinardnick/mcp-terminal@0.1.1")),
        start: Start::Node(".bin/mcp-terminal"),
        tool: "run_command",
        arguments: |script, _, timeout| match timeout {
            Some(seconds) => json!({ "command": script, "timeoutMs": seconds * 1000 }),
            None => json!({ "command": script }),
        },
        ..DEFAULT
    },
    Peer {
        name: "bash-mcp",
        package: Some(Package::Npm("bash-mcp@1.1.0")),
        start: Start::Node(".bin/bash-mcp"),
        tool: "run",
        arguments: |script, _, timeout| match timeout {
            Some(seconds) => json!({ "command": script, "timeout": seconds * 1000 }),
            None => json!({ "command": script }),
        },
        ..DEFAULT
    },
    Peer {
        name: "cli-mcp-server",
        package: Some(Package::Pypi("cli-mcp-server==0.2.5 mcp==1.30.0")),
        start: Start::Python("cli-mcp-server"),
        tool: "run_command",
        arguments: |script, _, _| json!({ "command": script }),
        variables: |home, timeout| {
            let mut variables = vec![
                ("ALLOWED_DIR", home.display().to_string()),
                ("ALLOWED_COMMANDS", "all".to_owned()),
                ("ALLOWED_FLAGS", "all".to_owned()),
                ("ALLOW_SHELL_OPERATORS", "true".to_owned()),
            ];
            variables.extend(timeout.map(|seconds| ("COMMAND_TIMEOUT", seconds.to_string())));
            variables
        },
        ..DEFAULT
    },
    Peer {
        name: "mcp-shell-server",
        package: Some(Package::Pypi("mcp-shell-server==1.1.14 mcp==1.30.0")),
        start: Start::Python("mcp-shell-server"),
        tool: "shell_execute",
        // A program and its arguments. It refuses shells and operators, so an allowed program runs scripts of several words.
        arguments: |script, directory, timeout| {
            let command = if script.contains(' ') { vec![SCRIPT_RUNNER] } else { vec![script] };
            match timeout {
                Some(seconds) => json!({ "command": command, "directory": directory, "timeout": seconds }),
                None => json!({ "command": command, "directory": directory }),
            }
        },
        variables: |home, _| {
            let path = format!("{}:/usr/local/bin:/usr/bin:/bin", home.display());
            vec![("ALLOW_COMMANDS", format!("true,{SCRIPT_RUNNER}")), ("MCP_SHELL_SAFE_PATH", path)]
        },
        ..DEFAULT
    },
    Peer {
        name: "desktop-commander",
        package: Some(Package::Npm("@wonderwhy-er/desktop-commander@0.2.52")),
        overrides: &[("typedarray.prototype.slice", "1.0.5")],
        start: Start::Node(".bin/desktop-commander"),
        tool: "start_process",
        arguments: |script, _, timeout| json!({ "command": script, "timeout_ms": timeout.unwrap_or(LONG) * 1000 }),
        settings: Some((".claude-server-commander/config.json", "{\"telemetryEnabled\": false}\n")),
        // Its `timeout_ms` is how long a call waits. No command is stopped by it.
        has_timeout: false,
        ..DEFAULT
    },
];
