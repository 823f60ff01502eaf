//! The data between a case and the stage: a [`Play`] goes in, a [`Record`] comes out.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// One start of an agent, and the script of its model.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Play {
    /// The agent's executable.
    pub(super) program: PathBuf,
    /// The arguments of the agent, without the name of the program.
    pub(super) arguments: Vec<String>,
    /// The whole environment of the agent.
    pub(super) environment: BTreeMap<String, String>,
    /// The working directory of the agent.
    pub(super) directory: PathBuf,
    /// The calls that the model makes, turn by turn. After the last turn the model says that it is done.
    pub(super) turns: Vec<Vec<Call>>,
    /// The stop of the agent during a call, if any.
    pub(super) stop: Option<Stop>,
}

/// A call of a tool that the model makes.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Call {
    /// The tool, found among those that the agent offers.
    pub(super) tool: Tool,
    /// The arguments of the call.
    pub(super) arguments: Value,
}

impl Call {
    /// A call of bashful's `bash` with this command.
    pub(super) fn bash(command: &str) -> Self {
        Self::served("bash", serde_json::json!({ "command": command }))
    }

    /// A call of one of bashful's tools.
    pub(super) fn served(tool: &str, arguments: Value) -> Self {
        Self { tool: Tool::Served(tool.to_owned()), arguments }
    }
}

/// A tool, by where it comes from. Agents prefix the names of a server's tools, each in its own way.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Tool {
    /// A tool of bashful's server.
    Served(String),
    /// A tool of the agent itself, by its exact name.
    Own(String),
}

impl Tool {
    /// True if an offered tool, given with its namespace (or none), is this one.
    pub(super) fn is(&self, namespace: Option<&str>, name: &str) -> bool {
        match self {
            Self::Served(tool) => {
                let whole = format!("{}/{name}", namespace.unwrap_or(""));
                whole.contains("bashful")
                    && name.strip_suffix(tool.as_str()).is_some_and(|rest| !rest.ends_with(char::is_alphanumeric))
            }
            Self::Own(tool) => namespace.is_none() && name == tool,
        }
    }
}

/// The end of an agent while a command of its model runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Stop {
    /// The file that the command makes once its processes run.
    pub(super) when: PathBuf,
    /// A word on the command line of every process that has to be gone afterwards.
    pub(super) mark: String,
    /// Done to the agent while it works.
    pub(super) by: StopBy,
}

/// A way to stop an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum StopBy {
    /// SIGINT to its process group, as a terminal sends at Ctrl-C.
    Interrupt,
    /// SIGKILL to the agent and its helpers, but not to bashful.
    Kill,
}

/// All that happened on the stage.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Record {
    /// Requests that the model received, in their order.
    pub(super) requests: Vec<Seen>,
    /// The agent's standard output and error.
    pub(super) said: String,
    /// The end of the agent.
    pub(super) ended: String,
    /// Seconds from the start of the agent to its end.
    pub(super) seconds: f64,
    /// Seconds from the stop until the command's last process was gone; none if there was no stop, or if it never was.
    pub(super) gone_after: Option<f64>,
    /// Command lines of the marked processes that a stop left behind.
    pub(super) survivors: Vec<String>,
}

/// A request that the model received.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Seen {
    /// The path of the URL, without the query.
    pub(super) path: String,
    /// The body, or null if it was not JSON.
    pub(super) body: Value,
}
