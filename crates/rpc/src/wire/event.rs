//! Events: messages of the service that nobody asked for by themselves.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::RequestId;

/// An event. Ignore one of an unknown type.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum Event {
    /// A piece of a command's output, in the order in which the command wrote it. Either `text` or `base64` is there.
    Chunk {
        /// The request that runs the command.
        id: RequestId,
        /// Number of this event among those of the request, from 0.
        seq: u64,
        /// The exact piece. A character is never split.
        #[serde(skip_serializing_if = "Option::is_none")]
        text: Option<String>,
        /// The exact piece as base64, if it is not UTF-8.
        #[serde(skip_serializing_if = "Option::is_none")]
        base64: Option<String>,
    },
    /// Output is missing here, because the client read too slowly. The response counts it too.
    Dropped {
        /// The request that runs the command.
        id: RequestId,
        /// Number of this event among those of the request.
        seq: u64,
        /// Number of missing bytes.
        bytes: u64,
    },
    /// News of a command that runs as a tool: while its call waits, and until it is over if it became a job.
    Update {
        /// The request that started the command, which may be answered.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<RequestId>,
        /// Number of this event among those of the request.
        seq: u64,
        /// State of the job; absent while the call waits.
        #[serde(rename = "async", skip_serializing_if = "Option::is_none")]
        job_state: Option<AsyncState>,
        /// The end of the output so far. The last update of a job has the final text.
        text: String,
        /// Bytes that the command has written.
        bytes: u64,
        /// Milliseconds since the command began.
        elapsed_ms: u64,
        /// The facts in the dialect's form.
        facts: Value,
    },
    /// A question: may this command run? Only a client whose `hello` says `"approve": true` gets it. It answers with `answer`.
    Approve {
        /// Name of the question, for the answer.
        question: String,
        /// The request that wants to run the command.
        #[serde(skip_serializing_if = "Option::is_none")]
        id: Option<RequestId>,
        /// The whole question as text for a person.
        text: String,
        /// The script.
        command: String,
        /// The directory in which it would run.
        cwd: String,
        /// The findings of the guard.
        findings: Vec<FindingInfo>,
        /// Milliseconds until no answer counts as a no.
        answer_within_ms: u64,
    },
    /// A question needs no answer any more: its time is over, or its command was aborted.
    ApproveClosed {
        /// Name of the question.
        question: String,
    },
}

/// A finding of the guard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FindingInfo {
    /// The rule, such as `git/force-push`.
    pub rule: String,
    /// The concern, for a person.
    pub text: String,
}

/// The state of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AsyncState {
    /// The state.
    pub state: AsyncWord,
    /// Name of the job, such as `bg_7`.
    pub job_id: String,
    /// The number in it, for `job` and the other requests.
    pub job: u64,
    /// `bash`.
    #[serde(rename = "type")]
    pub kind: &'static str,
}

/// The word for the state of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AsyncWord {
    /// The job runs.
    Running,
    /// The job ended with exit code 0.
    Completed,
    /// The job ended in any other way.
    Failed,
}
