//! Responses: one for each request, with data or an error.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use super::{RequestId, RpcError, Surface};

/// The response to a request.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase", tag = "type", rename = "response")]
pub(crate) struct Response<'a> {
    /// None if the request had none, or could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) id: Option<&'a RequestId>,
    /// The type of the request; `parse` for a line that is none.
    pub(crate) command: &'a str,
    pub(crate) success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) data: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stream: Option<StreamSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) error: Option<RpcError>,
}

/// The sum of a command's `chunk` events. All of them came before the response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StreamSummary {
    /// Number of `chunk` events.
    pub chunks: u64,
    /// Bytes of output in them.
    pub bytes: u64,
    /// Bytes of output that were left out, because the client read too slowly.
    pub dropped_bytes: u64,
}

/// The service and its abilities.
#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HelloData {
    /// `bashful`.
    pub name: &'static str,
    /// Version of the program.
    pub version: &'static str,
    /// Version of these messages. A change that breaks clients raises it.
    pub protocol: u32,
    /// The dialect of the tools.
    pub dialect: &'static str,
    /// Directory in which commands begin.
    pub cwd: String,
    /// Types of requests that the service knows.
    pub requests: Vec<&'static str>,
    /// Parts that this service has.
    pub abilities: AbilitiesData,
    /// Limits of the connection.
    pub limits: LimitsData,
}

/// Parts that a service may have.
#[expect(clippy::struct_excessive_bools, reason = "a service may have any of them without the others")]
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AbilitiesData {
    /// Commands can become jobs.
    pub jobs: bool,
    /// Persistent shells can be named.
    pub sessions: bool,
    /// Long output is kept on disk.
    pub artifacts: bool,
    /// Jobs can have a terminal.
    pub terminals: bool,
    /// The guard judges commands.
    pub guard: bool,
    /// The service takes answers to `approve` events.
    pub approve: bool,
}

/// Limits of a connection.
#[derive(Debug, Clone, Copy, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct LimitsData {
    /// Longest request line in bytes.
    pub line_bytes: u64,
    /// Most requests that may be unanswered.
    pub requests: u64,
}

/// The result of a command on the surface `bang`.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BashData {
    /// Standard output and standard error in their true order, as clean text: of a long output the beginning and the end,
    /// with a line between them. A command that was stopped has a line about it at the beginning.
    pub output: String,
    /// Exit code; 128+N after signal N. Absent if the command was stopped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i64>,
    /// True if the command was aborted, or stopped after its timeout.
    pub cancelled: bool,
    /// True if the command was stopped after its timeout.
    pub timed_out: bool,
    /// True if `output` does not show everything.
    pub truncated: bool,
    /// Lines that the command wrote.
    pub total_lines: u64,
    /// Bytes that the command wrote.
    pub total_bytes: u64,
    /// Lines of `output`.
    pub output_lines: u64,
    /// Bytes of `output`.
    pub output_bytes: u64,
    /// Artifact with the full output: `read` it as `artifact://ID`. Absent if `output` has everything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact_id: Option<String>,
    /// Directory of the shell after the command.
    pub working_dir: String,
    /// Milliseconds from its start to its end.
    pub wall_time_ms: u64,
    /// Facts to know: processes left running, a shell that was lost, a changed timeout.
    pub notices: Vec<String>,
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ToolData {
    /// The text for the model.
    pub text: String,
    /// True if the call failed, or the command did not end with exit code 0.
    pub is_error: bool,
    /// The way a host should raise it.
    pub conclusion: ConclusionWord,
    /// The job that the command became, or was started as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<u64>,
    /// The facts in the dialect's form: `bashful schema --facts` has their schema.
    pub facts: Value,
    /// Artifacts and outputs with more to `read`.
    pub links: Vec<ResourceInfo>,
}

/// The kind of a tool's answer, for hosts whose tools raise errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ConclusionWord {
    /// The command ended by itself with any code, or became a job; or the call was about jobs.
    Result,
    /// The command did not run, was stopped, or its end is unknown.
    Error,
    /// The call was aborted. `text` has the output up to then.
    Abort,
}

/// The end of `abort_bash`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AbortData {
    /// Number of requests that were aborted; 0 if none ran any more.
    pub aborted: u64,
}

/// Definitions of tools.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ToolsData {
    /// The dialect of the tools.
    pub dialect: &'static str,
    /// The definitions, in the form that was asked for.
    pub tools: Value,
}

/// A list of jobs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JobsData {
    /// The jobs.
    pub jobs: Vec<JobInfo>,
}

/// A job and a part of its output.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JobData {
    /// The job.
    pub job: JobInfo,
    /// The part of its output.
    pub output: JobOutputData,
}

/// A part of a job's output.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobOutputData {
    /// The part as clean text.
    pub text: String,
    /// First byte of the output file that the text shows.
    pub begin: u64,
    /// Byte after the last one. Give it as `since` to continue.
    pub end: u64,
    /// Size of the output file in bytes.
    pub total_bytes: u64,
}

/// The end of a wait for jobs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct JobWaitData {
    /// All jobs that were waited for.
    pub jobs: Vec<JobInfo>,
    /// True if none of them was over in time.
    pub timed_out: bool,
}

/// A job after something was done to it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JobChangedData {
    /// The job.
    pub job: JobInfo,
}

/// A job.
// The facts of the program's other surfaces, with the names of this one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all(serialize = "camelCase", deserialize = "snake_case"))]
pub struct JobInfo {
    /// Id, never used for another job.
    pub id: u64,
    /// Address for `read`.
    pub uri: String,
    /// Reason why the command is a job: `background`, `outlasted` or `leftover`.
    pub kind: String,
    /// `running`, `exited`, `signaled`, `timed_out`, `cancelled`, `failed`, `lost` or `unknown`.
    pub status: String,
    /// True while processes of the job run.
    pub live: bool,
    /// Exit code, once the job has ended by itself.
    pub exit_code: Option<i64>,
    /// Signal that ended the job.
    pub signal: Option<SignalInfo>,
    /// Process id of its shell.
    pub pid: Option<i64>,
    /// The script.
    pub command: String,
    /// Working directory.
    pub cwd: String,
    /// File with the whole output.
    pub output_file: String,
    /// Size of that file in bytes.
    pub output_bytes: u64,
    /// True if `job_send` can write to its standard input.
    pub takes_input: bool,
    /// True if `screen` can show its terminal.
    pub has_terminal: bool,
    /// Milliseconds after which it is stopped.
    pub lifetime_ms: u64,
    /// Milliseconds that it has run.
    pub duration_ms: u64,
    /// Start, in milliseconds since 1970.
    pub began_unix_ms: u64,
    /// End, in milliseconds since 1970.
    pub ended_unix_ms: Option<u64>,
    /// Processes that still run after the shell has ended.
    pub leftover: Option<Vec<ProcessInfo>>,
}

/// A signal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SignalInfo {
    /// Its number.
    pub number: i64,
    /// Its name, such as `SIGKILL`.
    pub name: Option<String>,
}

/// A process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessInfo {
    /// Process id.
    pub pid: i64,
    /// Its command line.
    pub command: String,
}

/// The screen of a job's terminal.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScreenData {
    /// The rows as one text, without blank rows at the end and with a count in place of many equal rows.
    pub text: String,
    /// The rows as they are, without colors.
    pub rows: Vec<String>,
    /// Columns of the screen.
    pub columns: u16,
    /// Row of the cursor, from 1.
    pub cursor_row: u16,
    /// Column of the cursor, from 1.
    pub cursor_column: u16,
    /// False if the program hides the cursor.
    pub cursor_visible: bool,
    /// Title that the program has set.
    pub title: Option<String>,
    /// True if a program such as an editor uses the whole screen.
    pub full_screen: bool,
    /// `input`, `password`, `quiet`, `matched`, `ended`, `running`, or `busy` after a wait without its event.
    pub state: String,
    /// Milliseconds of the wait.
    pub waited_ms: u64,
    /// The job.
    pub job: JobInfo,
}

/// A list of sessions.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SessionsData {
    /// The sessions.
    pub sessions: Vec<SessionInfo>,
}

/// A session, which is a persistent shell.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionInfo {
    /// Name, as in `session`; `connection` is the shell of the connection.
    pub name: String,
    /// The surface that uses it.
    #[serde(rename = "as")]
    pub surface: Surface,
    /// True while it runs a command.
    pub busy: bool,
    /// Milliseconds that it has been busy or idle.
    pub since_ms: u64,
    /// Process id of its shell.
    pub pid: i64,
    /// Its directory.
    pub cwd: Option<String>,
    /// Commands that it has run.
    pub commands: u64,
}

/// A page of the list of resources.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ResourcesData {
    /// The resources.
    pub resources: Vec<ResourceInfo>,
    /// Position of the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// An artifact or the output of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ResourceInfo {
    /// Address for `read`.
    pub uri: String,
    /// Name for people.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
}

/// A resource, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ReadData {
    /// The part as clean text, at most 256 KiB.
    pub text: String,
    /// True if the part is longer than that.
    pub cut: bool,
    /// Address of the rest; absent if nothing was cut, or for `?tail`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The data of a request that has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DoneData {}
