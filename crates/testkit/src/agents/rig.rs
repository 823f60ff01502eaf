//! One agent in a home of its own, with bashful installed, and the requests that its model received.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::agent::Agent;
use super::play::{Call, Play, Record, Stop, Tool};
use super::stage::perform;
use super::wire::Wire;

/// Characters of a result that a failure message shows, from its start and from its end.
const QUOTED: usize = 700;

/// The programs that all cases share.
#[derive(Debug, Clone)]
pub struct Rig {
    /// The program under test. The program `stage` lies beside it.
    pub bashful: PathBuf,
    /// `target/clients`, where agents, SDKs and Node are installed.
    pub clients: PathBuf,
}

impl Rig {
    /// A rig for this build of bashful, with the clients of this workspace.
    pub fn new(bashful: impl Into<PathBuf>) -> Self {
        let clients = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/clients");
        Self { bashful: bashful.into(), clients: clients.canonicalize().unwrap_or(clients) }
    }

    /// The program that runs inside the namespace.
    pub(super) fn stage(&self) -> Result<PathBuf, String> {
        let stage = self.bashful.with_file_name("stage");
        if !stage.exists() {
            return Err(format!("no stage beside {}: build the whole workspace", self.bashful.display()));
        }
        Ok(stage)
    }

    /// `HOME`, `PATH` and the like, for an agent and for bashful alike.
    pub(super) fn environment(&self, home: &Path) -> BTreeMap<String, String> {
        let beside = [self.bashful.parent().unwrap_or(Path::new("/")).to_path_buf(), self.clients.join("node")];
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = std::env::join_paths(beside.into_iter().chain(std::env::split_paths(&path))).unwrap_or(path);
        [
            ("HOME", home.to_string_lossy()),
            ("PATH", path.to_string_lossy()),
            ("TMPDIR", home.join("tmp").to_string_lossy()),
            ("LANG", "C.UTF-8".into()),
            ("JAVA_HOME", "/opt/java".into()),
            ("KUBECONFIG", "/opt/kube".into()),
            ("SSH_AUTH_SOCK", "/tmp/agent.sock".into()),
            ("VIRTUAL_ENV", "/opt/venv".into()),
            ("RIG_SECRET_TOKEN", "canary-12345".into()),
            ("TERM", "dumb".into()),
        ]
        .map(|(name, value)| (name.to_owned(), value.into_owned()))
        .into()
    }
}

/// An agent in a home directory that is removed with it.
#[derive(Debug)]
pub(super) struct AgentHome<'a> {
    rig: &'a Rig,
    pub(super) agent: &'static Agent,
    directory: TempDir,
}

impl<'a> AgentHome<'a> {
    /// An empty home, but for the settings without which the agent asks its user something first.
    pub(super) fn new(rig: &'a Rig, agent: &'static Agent) -> Result<Self, String> {
        let directory = TempDir::with_prefix("bashful-agent-").map_err(|error| error.to_string())?;
        let home = Self { rig, agent, directory };
        for directory in [home.project(), home.path().join("tmp")] {
            std::fs::create_dir(&directory).map_err(|error| error.to_string())?;
        }
        if let Some((path, text)) = agent.settings {
            home.write(path, text)?;
        }
        Ok(home)
    }

    /// Writes a file, given by its path below the home.
    pub(super) fn write(&self, path: &str, text: &str) -> Result<(), String> {
        let path = self.path().join(path);
        let made = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        made.and_then(|()| std::fs::write(&path, text)).map_err(|error| error.to_string())
    }

    /// A home with the server installed by `bashful mcp install` and these options.
    pub(super) fn with_server(rig: &'a Rig, agent: &'static Agent, options: &[&str]) -> Result<Self, String> {
        let home = Self::new(rig, agent)?;
        home.install_server(options)?;
        Ok(home)
    }

    pub(super) fn install_server(&self, options: &[&str]) -> Result<(), String> {
        self.bashful(&[&["mcp", "install", self.agent.name, "--yes"], options].concat())
    }

    pub(super) fn path(&self) -> &Path {
        self.directory.path()
    }

    /// The agent's working directory.
    pub(super) fn project(&self) -> PathBuf {
        self.path().join("project")
    }

    /// Runs bashful here, as the user would.
    pub(super) fn bashful(&self, arguments: &[&str]) -> Result<(), String> {
        self.command(&self.rig.bashful, arguments)
    }

    /// Runs a program in the project, as the user would.
    pub(super) fn command(&self, program: &Path, arguments: &[&str]) -> Result<(), String> {
        let mut command = Command::new(program);
        command.args(arguments).env_clear().envs(self.rig.environment(self.path()));
        command.current_dir(self.project()).stdin(Stdio::null());
        let line = format!("{} {}", program.display(), arguments.join(" "));
        let output = command.output().map_err(|error| format!("cannot run {line}: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!("`{line}` failed: {}", String::from_utf8_lossy(&output.stderr).trim_end()))
    }

    /// Runs the agent through a script.
    pub(super) fn play(
        &self,
        turns: Vec<Vec<Call>>,
        approved: bool,
        stop: Option<Stop>,
    ) -> Result<Performance, String> {
        let (program, mut arguments) = self.agent.program(&self.rig.clients)?;
        arguments.extend(self.agent.arguments(approved));
        let mut environment = self.rig.environment(self.path());
        environment.extend(self.agent.environment().into_iter().map(|(name, value)| (name.to_owned(), value)));
        let play = Play { program, arguments, environment, directory: self.project(), turns, stop };
        Ok(Performance { record: perform(&self.rig.stage()?, &play)? })
    }
}

/// A play that is over.
#[derive(Debug)]
pub(super) struct Performance {
    pub(super) record: Record,
}

impl Performance {
    /// The text that the model was shown as the result of the first call of a turn.
    pub(super) fn result(&self, turn: usize) -> Result<String, String> {
        self.result_of((turn, 0))
    }

    /// The text that the model was shown as the result of a call.
    pub(super) fn result_of(&self, call: (usize, usize)) -> Result<String, String> {
        let results =
            self.record.requests.iter().filter_map(|seen| Some(Wire::of(&seen.path)?.shown(&seen.body))).flatten();
        let mut results = results.filter(|shown| shown.call == call);
        results
            .next()
            .map(|shown| shown.text)
            .ok_or_else(|| format!("the model never saw a result of call {call:?}\n{self}"))
    }

    /// Requires every one of these texts in a result.
    pub(super) fn expect(&self, turn: usize, texts: &[&str]) -> Result<(), String> {
        let result = self.result(turn)?;
        match texts.iter().find(|text| !result.contains(**text)) {
            None => Ok(()),
            Some(text) => Err(format!("the result of turn {turn} lacks {text:?}\n{self}")),
        }
    }

    /// True if the agent offered a tool in its first request with tools: before the model could search for it.
    pub(super) fn offers_at_once(&self, tool: &Tool) -> bool {
        let offered =
            self.record.requests.iter().map(|seen| Wire::offered(&seen.body)).find(|offered| !offered.is_empty());
        offered.into_iter().flatten().any(|offered| tool.is(offered.namespace.as_deref(), &offered.name))
    }
}

/// All that helps to understand a failure: how the agent ended, the tools it offered, the results, its own words.
impl std::fmt::Display for Performance {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let record = &self.record;
        writeln!(out, "the agent ended after {:.1} s: {}", record.seconds, record.ended)?;
        let mut paths = BTreeMap::<&str, usize>::new();
        for seen in &record.requests {
            *paths.entry(&seen.path).or_default() += 1;
        }
        writeln!(out, "requests: {paths:?}")?;
        let offered = record.requests.iter().flat_map(|seen| Wire::offered(&seen.body));
        let names: BTreeSet<String> =
            offered.map(|tool| tool.namespace.into_iter().chain([tool.name]).collect::<Vec<_>>().join("/")).collect();
        writeln!(out, "tools offered: {}", names.into_iter().collect::<Vec<_>>().join(" "))?;
        let last = record.requests.iter().rev().find_map(|seen| {
            let shown = Wire::of(&seen.path)?.shown(&seen.body);
            (!shown.is_empty()).then_some(shown)
        });
        for shown in last.unwrap_or_default() {
            writeln!(out, "the model saw as result {:?}:\n{}", shown.call, quote(&shown.text))?;
        }
        write!(out, "the agent said:\n{}", quote(&record.said))
    }
}

fn quote(text: &str) -> String {
    let count = text.chars().count();
    if count <= 2 * QUOTED {
        return text.to_owned();
    }
    let mut quoted: String = text.chars().take(QUOTED).collect();
    let _ = write!(quoted, "\n[… {} characters …]\n", count - 2 * QUOTED);
    quoted.extend(text.chars().skip(count - QUOTED));
    quoted
}
