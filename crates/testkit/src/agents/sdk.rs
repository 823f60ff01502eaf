//! SDKs and frameworks: small clients made with them, whose models have to see every output too.
//!
//! A client made with a bare SDK prints the text of its results. One made with a framework talks to the scripted model.

use std::path::{Path, PathBuf};

use serde_json::json;
use tempfile::TempDir;

use super::cases::{Held, Verdict};
use super::model::PORT;
use super::package::Package;
use super::play::{Call, Play, Record, Tool};
use super::rig::Rig;
use super::rows::check_rows;
use super::stage::perform;
use super::wire::Wire;

/// A library for clients of the Model Context Protocol, and the client in `crates/testkit/clients` that uses it.
#[derive(Debug, Clone, Copy)]
pub struct Sdk {
    /// A short name, for the table; also the directory below `target/clients/sdk`.
    pub name: &'static str,
    /// The pinned package.
    pub package: Package,
    /// The client's file name.
    script: &'static str,
}

/// All SDKs of the matrix.
pub const SDKS: [Sdk; 7] = [
    Sdk { name: "typescript-1", package: Package::Npm("@modelcontextprotocol/sdk@1.32.2"), script: "typescript_1.mjs" },
    Sdk {
        name: "typescript-2",
        package: Package::Npm("@modelcontextprotocol/client@2.4.0"),
        script: "typescript_2.mjs",
    },
    Sdk { name: "python-1", package: Package::Pypi("mcp==1.30.0"), script: "python_1.py" },
    Sdk { name: "python-2", package: Package::Pypi("mcp==2.3.0"), script: "python_2.py" },
    Sdk { name: "fastmcp", package: Package::Pypi("fastmcp==4.1.2"), script: "fastmcp_client.py" },
    Sdk { name: "openai-agents", package: Package::Pypi("openai-agents==0.24.0"), script: "openai_agents.py" },
    Sdk {
        name: "pydantic-ai",
        package: Package::Pypi("pydantic-ai-slim[mcp,openai]==2.62.0"),
        script: "pydantic_agent.py",
    },
];

/// Rows of the long output: more than any reply shows.
const ROWS: usize = 30_000;

impl Sdk {
    /// The directory of the installation.
    pub fn prefix(&self, clients: &Path) -> PathBuf {
        clients.join("sdk").join(self.name)
    }

    /// Runs its client: short and long output, and a failure, reach the model.
    pub fn run(&self, rig: &Rig) -> Verdict {
        let commands = [
            "echo seen-$((6*7)); echo heard-$((7*7)) >&2; exit 7".to_owned(),
            format!("for ((i = 1; i <= {ROWS}; i++)); do echo row-$i-of-many; done"),
        ];
        let record = self.perform(rig, &commands)?;
        let results = results(&record);
        let why = |what: &str| format!("{what}; results: {results:.2000?}\nthe client said: {:.2000}", record.said);
        let [short, long] = results.as_slice() else { return Err(why("there are not two results")) };
        for text in ["seen-42", "heard-49", "exit code 7"] {
            if !short.contains(text) {
                return Err(why(&format!("the first result lacks {text:?}")));
            }
        }
        if short.contains("duration_ms") || !long.contains("artifact://1") {
            return Err(why("facts are shown, or the artifact is not named"));
        }
        check_rows(long, ROWS).map_err(|error| why(&error))?;
        Ok(Held::Yes(String::new()))
    }

    fn perform(&self, rig: &Rig, commands: &[String]) -> Result<Record, String> {
        self.package.check_installed(&self.prefix(&rig.clients))?;
        let home = TempDir::with_prefix("bashful-sdk-").map_err(|error| error.to_string())?;
        let (program, script) = self.prepare(rig, home.path()).map_err(|error| format!("{}: {error}", self.name))?;
        let mut arguments = vec![script.to_string_lossy().into_owned(), rig.bashful.to_string_lossy().into_owned()];
        arguments.extend(commands.iter().cloned());
        let mut environment = rig.environment(home.path());
        environment.extend([
            ("OPENAI_API_KEY".to_owned(), "dummy".to_owned()),
            ("OPENAI_BASE_URL".to_owned(), format!("http://127.0.0.1:{PORT}/v1")),
        ]);
        let call = |command| Call { tool: Tool::Own("bash".to_owned()), arguments: json!({ "command": command }) };
        let turns = commands.iter().map(|command| vec![call(command)]).collect();
        let play = Play { program, arguments, environment, directory: home.path().to_path_buf(), turns, stop: None };
        perform(&rig.stage()?, &play)
    }

    /// The interpreter, and the script where that finds its packages.
    fn prepare(&self, rig: &Rig, home: &Path) -> Result<(PathBuf, PathBuf), std::io::Error> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("clients").join(self.script);
        let prefix = self.prefix(&rig.clients);
        std::fs::create_dir(home.join("tmp"))?;
        match self.package {
            Package::Pypi(_) => Ok((prefix.join("bin/python"), script)),
            Package::Npm(_) => {
                // Node looks for packages in the directories above a script.
                std::os::unix::fs::symlink(prefix.join("node_modules"), home.join("node_modules"))?;
                std::fs::copy(script, home.join(self.script))?;
                Ok((rig.clients.join("node/node"), home.join(self.script)))
            }
        }
    }
}

/// Results that a model was shown or, for a bare SDK, those that the client printed.
fn results(record: &Record) -> Vec<String> {
    let last = record.requests.iter().rev().find_map(|seen| Some(Wire::of(&seen.path)?.shown(&seen.body)));
    match last {
        Some(shown) => shown.into_iter().map(|shown| shown.text).collect(),
        None => record.said.lines().find_map(|line| serde_json::from_str(line).ok()).unwrap_or_default(),
    }
}
