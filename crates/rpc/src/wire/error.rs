//! Errors as they stand in a response.

use schemars::JsonSchema;
use serde::Serialize;

/// The kind of an error. New kinds may come; treat an unknown one as `failed`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The line is longer than the limit. All of it was skipped.
    LineTooLong,
    /// The line is not UTF-8.
    NotUtf8,
    /// The line is not JSON.
    BadJson,
    /// The line is JSON, but not an object with a `type`.
    BadMessage,
    /// No request has this `type`.
    UnknownType,
    /// A field is missing, has the wrong type, or makes no sense in this request. `field` names it.
    InvalidField,
    /// A request with this `id` has not been answered yet.
    DuplicateId,
    /// Too many requests are unanswered.
    Busy,
    /// The guard or the interceptor refused the command, or nobody approved it. Nothing ran.
    Refused,
    /// The request was aborted before it had a result.
    Cancelled,
    /// There is no such job, session, artifact, tool or question.
    NotFound,
    /// This service cannot do it: it keeps no jobs, sessions or artifacts.
    Unavailable,
    /// Any other failure. `message` has the reason.
    Failed,
}

/// An error in a response.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RpcError {
    /// The kind, for programs.
    pub code: ErrorCode,
    /// The reason, for people.
    pub message: String,
    /// The field of the request that is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
}

impl RpcError {
    /// An error about the request as a whole.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), field: None }
    }

    /// An error about one field.
    pub fn in_field(field: &str, message: impl Into<String>) -> Self {
        Self { code: ErrorCode::InvalidField, message: message.into(), field: Some(field.to_owned()) }
    }
}
