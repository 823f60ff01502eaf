//! Requests of the host: one struct for the fields of each type.
//!
//! Fields that are not listed here are ignored, so that a newer client can talk to an older service. Every optional field
//! may also be null.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::RequestId;

/// Introduces the client and asks for the abilities of the service. Optional; may come at any time.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HelloRequest {
    /// The client answers `approve` events. Without it, a command that needs approval is refused.
    pub approve: Option<bool>,
    /// Seconds that an `approve` event waits for its answer; 300 unless given.
    pub approve_seconds: Option<f64>,
}

/// Runs a command.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BashRequest {
    /// The script for bash.
    pub command: String,
    /// The surface that runs it; `bang` unless given.
    #[serde(rename = "as")]
    pub surface: Option<Surface>,
    /// Working directory. Without it, `bang` stays where the shell is, and `tool` runs in the directory of the service.
    pub cwd: Option<String>,
    /// Variables for this command alone.
    pub env: Option<BTreeMap<String, String>>,
    /// Seconds until the command is stopped, 1 to 3600; in mode `background` up to 30 days.
    pub timeout: Option<f64>,
    /// Decides about the timeout, unless `timeout` does. `background` needs `"as": "tool"`.
    pub mode: Option<Mode>,
    /// Name of a persistent shell. Without it, `bang` uses the shell of the connection, and `tool` a new one.
    pub session: Option<String>,
    /// Runs at a terminal, as a job. Needs `"as": "tool"` and mode `background`.
    pub pty: Option<bool>,
    /// Keeps the standard input of a job open for `job_send`. Needs `"as": "tool"` and mode `background`.
    pub stdin: Option<bool>,
    /// Seconds after which a command that still runs becomes a job. Needs `"as": "tool"`.
    pub patience: Option<f64>,
    /// Sends `chunk` events with the output. Needs an `id`.
    pub stream: Option<bool>,
    /// The choice for a client that reads more slowly than the command writes; `drop` unless given.
    pub when_behind: Option<BehindChoice>,
    /// `update` events: true also while the call waits, false never. Otherwise once the command is a job.
    pub updates: Option<bool>,
}

impl BashRequest {
    /// A request with this script and nothing else.
    pub fn new(command: String) -> Self {
        Self {
            command,
            surface: None,
            cwd: None,
            env: None,
            timeout: None,
            mode: None,
            session: None,
            pty: None,
            stdin: None,
            patience: None,
            stream: None,
            when_behind: None,
            updates: None,
        }
    }
}

/// Calls a tool of the dialect, as a model does.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolRequest {
    /// Name of the tool, as in the answer to `tools`.
    pub name: String,
    /// The arguments that the model gave.
    pub arguments: Option<Map<String, Value>>,
    /// Seconds after which a command that still runs becomes a job.
    pub patience: Option<f64>,
    /// Sends `chunk` events with the output. Needs an `id`.
    pub stream: Option<bool>,
    /// The choice for a client that reads more slowly than the command writes; `drop` unless given.
    pub when_behind: Option<BehindChoice>,
    /// `update` events: true also while the call waits, false never. Otherwise once the command is a job.
    pub updates: Option<bool>,
}

/// The surface that runs a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Surface {
    /// The script as it is, in the persistent shell of the connection. The data is a `BashData`.
    #[default]
    Bang,
    /// The dialect's `bash` tool, with its rewriting and interceptor. The data is a `ToolData`.
    Tool,
}

/// The kind of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// An ordinary command.
    #[default]
    Default,
    /// A build or a test run: 15 minutes unless set otherwise.
    Slow,
    /// A job, which outlives the service.
    Background,
}

/// The choice for a client that reads more slowly than a command writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BehindChoice {
    /// Leave output out of the events and count it in `dropped`. The command never waits.
    #[default]
    Drop,
    /// The command waits, as for any reader of a pipe. Other commands do not.
    Wait,
}

/// Aborts running commands. Each of them then answers with the output so far.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AbortRequest {
    /// The `id` of the one request to abort, of any type. Without it, an `id` of this message that is that of a command means
    /// that command, and any other `id`, or none, all commands of this connection.
    pub target: Option<RequestId>,
}

/// Pauses or resumes the `chunk` events of one command.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StreamRequest {
    /// The `id` of the command.
    pub target: RequestId,
}

/// Asks for the definitions of the dialect's tools, for a request to a model.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolsRequest {
    /// `mcp`, `anthropic`, `openai` or `gemini`; `mcp` unless given.
    pub format: Option<String>,
}

/// Lists jobs, the oldest first.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobsRequest {
    /// Lists only jobs that still run.
    pub running: Option<bool>,
}

/// Asks for a job and a part of its output.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobRequest {
    /// Id of the job.
    pub job: u64,
    /// First byte of the output file to show. Continue with the `end` of the answer before.
    pub since: Option<u64>,
    /// Number of last lines to show; 20 unless this or `since` is given.
    pub lines: Option<u64>,
}

/// Waits until one of these jobs is over.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobWaitRequest {
    /// Ids of jobs. Without it, all running jobs.
    pub jobs: Option<Vec<u64>>,
    /// Longest wait in seconds; without end unless given.
    pub seconds: Option<f64>,
}

/// Stops a job, or sends its processes a signal.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobStopRequest {
    /// Id of the job.
    pub job: u64,
    /// A signal such as `INT`, `SIGHUP` or `9`. Without it, SIGTERM, then SIGKILL after the grace.
    pub signal: Option<String>,
}

/// Sends text to the standard input of a job, or types text and keys at its terminal.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobSendRequest {
    /// Id of the job.
    pub job: u64,
    /// The text, sent exactly: end a line with `\n`.
    pub text: Option<String>,
    /// Keys to press after the text, named as in tmux: `Enter`, `C-c`, `Up`, `F1`, `M-x`. Needs a terminal.
    pub keys: Option<Vec<String>>,
    /// Closes the standard input after the text. Not for a terminal: press `C-d` there.
    pub eof: Option<bool>,
}

/// Waits for an event at the terminal of a job, and asks for its screen.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScreenRequest {
    /// Id of the job.
    pub job: u64,
    /// The event to wait for. Without it and without `pattern`, the screen is shown at once.
    pub until: Option<ScreenEvent>,
    /// Waits until the text of the screen matches this regular expression. `^` and `$` match at every row.
    pub pattern: Option<String>,
    /// Longest wait in seconds; 5 unless given.
    pub seconds: Option<f64>,
    /// Adds colors to `text` as escape sequences.
    pub colors: Option<bool>,
}

/// An event at a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ScreenEvent {
    /// A program waits for input, or nothing has changed for a second.
    Settled,
    /// A program waits for input.
    Input,
    /// Nothing has changed for a second.
    Quiet,
    /// The job has ended.
    End,
}

/// Changes the size of a job's terminal.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResizeRequest {
    /// Id of the job.
    pub job: u64,
    /// Columns of the screen.
    pub columns: u16,
    /// Rows of the screen.
    pub rows: u16,
}

/// Lists persistent shells.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct SessionsRequest {}

/// Ends a persistent shell and stops everything that runs in it.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionEndRequest {
    /// Name of the session.
    pub session: String,
}

/// Lists artifacts and outputs of jobs, the newest first.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ResourcesRequest {
    /// Position of the first one: `next` of the answer before.
    pub first: Option<u64>,
    /// Most resources in the answer; 100 unless given.
    pub count: Option<u64>,
}

/// Reads an artifact or the output of a job, or a part of it, as clean text.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReadRequest {
    /// `artifact://7` or `job://3`, also with `?lines=10-20` (from 1), `?bytes=512-1024` (from 0, end excluded) or `?tail=50`.
    pub uri: String,
}

/// Answers an `approve` event.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AnswerRequest {
    /// The `question` of the event.
    pub question: String,
    /// True lets the command run, this once.
    pub approve: bool,
}

/// Stops all commands, waits for their answers, answers itself, and ends the service. Jobs go on.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
pub struct ShutdownRequest {}
