//! The messages, as they stand on a line.
//!
//! This is the only place where names of types and fields are written. [`schema`](crate::schema()) is made from these types.

mod error;
mod event;
mod id;
mod request;
mod response;

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use error::{ErrorCode, RpcError};
pub use event::{AsyncState, AsyncWord, Event, FindingInfo};
pub use id::{LONGEST_ID, RequestId};
pub use request::{
    AbortRequest, AnswerRequest, BashRequest, BehindChoice, HelloRequest, JobRequest, JobSendRequest, JobStopRequest,
    JobWaitRequest, JobsRequest, Mode, ReadRequest, ResizeRequest, ResourcesRequest, ScreenEvent, ScreenRequest,
    SessionEndRequest, SessionsRequest, ShutdownRequest, StreamRequest, Surface, ToolRequest, ToolsRequest,
};
pub(crate) use response::Response;
pub use response::{
    AbilitiesData, AbortData, BashData, ConclusionWord, DoneData, HelloData, JobChangedData, JobData, JobInfo,
    JobOutputData, JobWaitData, JobsData, LimitsData, ProcessInfo, ReadData, ResourceInfo, ResourcesData, ScreenData,
    SessionInfo, SessionsData, SignalInfo, StreamSummary, ToolData, ToolsData,
};

/// Version of the messages.
pub const PROTOCOL: u32 = 1;

/// The `command` of an error about a line that is no request.
pub(crate) const NO_REQUEST: &str = "parse";

/// The list of requests, written once: type on the wire, variant, fields, and data of the response.
macro_rules! requests {
    ($($name:literal => $variant:ident($fields:ty) -> $data:ty,)*) => {
        /// A request.
        #[derive(Debug, Clone)]
        #[expect(missing_docs, reason = "the structs are documented")]
        pub enum Request {
            $($variant($fields),)*
        }

        impl Request {
            /// The types of all requests.
            pub const TYPES: &[&str] = &[$($name),*];

            /// The type on the wire.
            pub fn name(&self) -> &'static str {
                match self {
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// Reads the fields of a request of this type; none for an unknown type.
            fn read(name: &str, fields: Value) -> Option<Result<Self, RpcError>> {
                Some(match name {
                    $($name => read_fields(fields).map(Self::$variant),)*
                    _ => return None,
                })
            }
        }

        /// The schemas of all requests: type, fields, and data of the response.
        pub(crate) fn request_schemas(
            requests: &mut SchemaGenerator,
            responses: &mut SchemaGenerator,
        ) -> Vec<(&'static str, Schema, Schema)> {
            vec![$((
                $name,
                <$fields>::json_schema(requests),
                responses.subschema_for::<$data>(),
            )),*]
        }
    };
}

requests! {
    "hello" => Hello(HelloRequest) -> HelloData,
    "bash" => Bash(BashRequest) -> CommandData,
    "abort_bash" => AbortBash(AbortRequest) -> AbortData,
    "stream_pause" => StreamPause(StreamRequest) -> DoneData,
    "stream_resume" => StreamResume(StreamRequest) -> DoneData,
    "tool" => Tool(ToolRequest) -> ToolData,
    "tools" => Tools(ToolsRequest) -> ToolsData,
    "jobs" => Jobs(JobsRequest) -> JobsData,
    "job" => Job(JobRequest) -> JobData,
    "job_wait" => JobWait(JobWaitRequest) -> JobWaitData,
    "job_stop" => JobStop(JobStopRequest) -> JobChangedData,
    "job_send" => JobSend(JobSendRequest) -> JobChangedData,
    "screen" => Screen(ScreenRequest) -> ScreenData,
    "resize" => Resize(ResizeRequest) -> JobChangedData,
    "sessions" => Sessions(SessionsRequest) -> SessionsData,
    "session_end" => SessionEnd(SessionEndRequest) -> DoneData,
    "resources" => Resources(ResourcesRequest) -> ResourcesData,
    "read" => Read(ReadRequest) -> ReadData,
    "answer" => Answer(AnswerRequest) -> DoneData,
    "shutdown" => Shutdown(ShutdownRequest) -> DoneData,
}

/// The data of `bash`, in the schema: that of its surface.
struct CommandData;

impl JsonSchema for CommandData {
    fn schema_name() -> Cow<'static, str> {
        "CommandData".into()
    }

    fn json_schema(schemas: &mut SchemaGenerator) -> Schema {
        let either = [schemas.subschema_for::<BashData>(), schemas.subschema_for::<ToolData>()];
        schemars::json_schema!({ "description": "By the surface that ran the command.", "anyOf": either })
    }
}

/// A line that is no request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BadLine {
    /// The id, if it could be read.
    pub(crate) id: Option<RequestId>,
    /// The type, if it could be read.
    pub(crate) command: String,
    pub(crate) error: RpcError,
}

/// Reads a request from a line.
pub(crate) fn read_line(line: &[u8]) -> Result<(Option<RequestId>, Request), Box<BadLine>> {
    let bad = |id: Option<RequestId>, command: &str, error: RpcError| {
        Box::new(BadLine { id, command: command.to_owned(), error })
    };
    let text = std::str::from_utf8(line)
        .map_err(|error| bad(None, NO_REQUEST, RpcError::new(ErrorCode::NotUtf8, error.to_string())))?;
    let message = serde_json::from_str(text)
        .map_err(|error| bad(None, NO_REQUEST, RpcError::new(ErrorCode::BadJson, error.to_string())))?;
    let Value::Object(mut fields) = message else {
        return Err(bad(None, NO_REQUEST, RpcError::new(ErrorCode::BadMessage, "a request is a JSON object")));
    };
    let id = fields.remove("id").filter(|id| !id.is_null());
    let name = fields.remove("type");
    let name = name.as_ref().and_then(Value::as_str);
    let id = id.map(RequestId::try_from).transpose();
    let id = id.map_err(|why| bad(None, name.unwrap_or(NO_REQUEST), RpcError::in_field("id", why)))?;
    let Some(name) = name else {
        let error = RpcError {
            field: Some("type".to_owned()),
            ..RpcError::new(ErrorCode::BadMessage, "a request has a `type`")
        };
        return Err(bad(id, NO_REQUEST, error));
    };
    match Request::read(name, Value::Object(fields)) {
        Some(Ok(request)) => Ok((id, request)),
        Some(Err(error)) => Err(bad(id, name, error)),
        None => {
            let message = format!("there is no request {name:?}; there are {}", Request::TYPES.join(", "));
            let error = RpcError { field: Some("type".to_owned()), ..RpcError::new(ErrorCode::UnknownType, message) };
            // A long name would come back whole.
            Err(bad(id, name.get(..name.floor_char_boundary(LONGEST_ID)).unwrap_or_default(), error))
        }
    }
}

/// Reads the fields of a request. The error names the wrong one.
fn read_fields<T: DeserializeOwned>(fields: Value) -> Result<T, RpcError> {
    serde_path_to_error::deserialize(fields).map_err(|error| {
        let path = error.path().to_string();
        let message = error.into_inner().to_string();
        // A missing field is named only in the message.
        let missing = message.strip_prefix("missing field `").and_then(|rest| rest.split('`').next());
        let field = missing.map(str::to_owned).or(Some(path).filter(|path| path != "."));
        RpcError { code: ErrorCode::InvalidField, message, field }
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check_bad(line: &[u8], code: ErrorCode, field: Option<&str>) -> Box<BadLine> {
        let bad = read_line(line).expect_err("it is no request");
        assert_eq!((bad.error.code, bad.error.field.as_deref()), (code, field), "{bad:?}");
        bad
    }

    #[test]
    fn a_bad_line_is_named_by_its_kind_and_its_field() {
        check_bad(b"\xff", ErrorCode::NotUtf8, None);
        check_bad(b"{\"type\":\"bash\",\"command\":\"\0\"}", ErrorCode::BadJson, None);
        check_bad(b"{", ErrorCode::BadJson, None);
        check_bad(b"[]", ErrorCode::BadMessage, None);
        check_bad(b"{}", ErrorCode::BadMessage, Some("type"));
        check_bad(br#"{"type":7}"#, ErrorCode::BadMessage, Some("type"));
        check_bad(br#"{"type":"bash","id":[]}"#, ErrorCode::InvalidField, Some("id"));
        check_bad(br#"{"type":"bash"}"#, ErrorCode::InvalidField, Some("command"));
        check_bad(br#"{"type":"bash","command":7}"#, ErrorCode::InvalidField, Some("command"));
        check_bad(br#"{"type":"bash","command":"a","env":{"A":1}}"#, ErrorCode::InvalidField, Some("env.A"));
        check_bad(br#"{"type":"bash","command":"a","mode":"fast"}"#, ErrorCode::InvalidField, Some("mode"));
        let bad = check_bad(br#"{"type":"bsh","id":1}"#, ErrorCode::UnknownType, Some("type"));
        assert_eq!((bad.id, bad.command.as_str()), (RequestId::try_from(json!(1)).ok(), "bsh"));
    }

    #[test]
    fn fields_that_nobody_knows_and_nulls_are_passed_over() {
        let line = br#"{"id":null,"type":"bash","command":"a","cwd":null,"stream":null,"colour":"red"}"#;
        let (id, request) = read_line(line).expect("it is a request");
        assert_eq!((id, request.name()), (None, "bash"));
    }

    #[test]
    fn an_id_is_echoed_as_it_was_sent() {
        for id in [json!("a"), json!(1), json!(-1), json!(1.5), json!(u64::MAX), json!("")] {
            let echoed = RequestId::try_from(id.clone()).expect("an id");
            assert_eq!(serde_json::to_value(&echoed).expect("JSON"), id);
        }
        for id in [json!(true), json!({}), json!("x".repeat(LONGEST_ID + 1))] {
            assert!(RequestId::try_from(id).is_err());
        }
    }
}
