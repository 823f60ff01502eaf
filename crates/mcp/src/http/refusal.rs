//! Errors for requests that are refused or broken.

use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::header::{ALLOW, CONNECTION, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use rmcp::service::TxJsonRpcMessage;
use serde_json::Value;

use super::head::Flaw;
use crate::bad_message;

pub(crate) type HttpAnswer = Response<BoxBody<Bytes, std::convert::Infallible>>;

/// The reason why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HttpRefusal {
    Malformed(Flaw),
    HostsDiffer,
    Host,
    Origin,
    Path,
    NoToken,
    WrongToken,
    Method,
    NoSession,
    TooManySessions,
    TooManyConnections,
    TooLong,
    CutOff,
    TooSlow,
}

impl HttpRefusal {
    fn status(self) -> StatusCode {
        match self {
            Self::Host | Self::Origin => StatusCode::FORBIDDEN,
            Self::Path | Self::NoSession => StatusCode::NOT_FOUND,
            Self::NoToken | Self::WrongToken => StatusCode::UNAUTHORIZED,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::TooManySessions | Self::TooManyConnections => StatusCode::SERVICE_UNAVAILABLE,
            Self::TooLong => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Malformed(_) | Self::HostsDiffer | Self::CutOff => StatusCode::BAD_REQUEST,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
        }
    }

    /// True if the connection ends with this answer: a client without the token gets only one, and after a malformed
    /// head the next request cannot be found.
    fn ends_connection(self) -> bool {
        match self {
            Self::Malformed(_)
            | Self::HostsDiffer
            | Self::Host
            | Self::Origin
            | Self::Path
            | Self::NoToken
            | Self::WrongToken
            | Self::TooManyConnections => true,
            Self::Method | Self::NoSession | Self::TooManySessions | Self::TooLong | Self::CutOff | Self::TooSlow => {
                false
            }
        }
    }

    fn text(self) -> String {
        let text = match self {
            Self::Malformed(flaw) => return format!("malformed request: {flaw}\n"),
            Self::HostsDiffer => "malformed request: its target and its `Host` name different hosts\n",
            Self::Host => "not a host of this server; names that are its own go into the setting `[mcp] hosts`\n",
            Self::Origin => "pages of other servers have no access\n",
            Self::Path => "nothing is here; the server is at /mcp\n",
            Self::NoToken => "no token; send `Authorization: Bearer TOKEN`\n",
            Self::WrongToken => "this is not the token\n",
            Self::Method => "this server takes GET, POST and DELETE\n",
            Self::NoSession => "there is no such session\n",
            Self::TooManySessions => "too many sessions; end one, or try again later\n",
            Self::TooManyConnections => "too many connections; close one, or try again later\n",
            Self::TooLong => "the message is too long\n",
            Self::CutOff => "the message is cut off\n",
            Self::TooSlow => "the rest of the message did not come\n",
        };
        text.to_owned()
    }

    fn header(self) -> Option<(HeaderName, &'static str)> {
        match self {
            Self::NoToken => Some((WWW_AUTHENTICATE, "Bearer realm=\"bashful\"")),
            Self::WrongToken => Some((WWW_AUTHENTICATE, "Bearer realm=\"bashful\", error=\"invalid_token\"")),
            Self::Method => Some((ALLOW, "GET, POST, DELETE")),
            Self::TooManySessions | Self::TooManyConnections => Some((RETRY_AFTER, "10")),
            _ => None,
        }
    }

    pub(crate) fn answer(self) -> HttpAnswer {
        let mut answer = Response::new(Full::from(self.text()).boxed());
        *answer.status_mut() = self.status();
        answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        if let Some((name, value)) = self.header() {
            answer.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        if self.ends_connection() {
            end_connection(&mut answer);
        }
        answer
    }
}

/// Closes the connection after an answer.
pub(crate) fn end_connection(answer: &mut HttpAnswer) {
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
}

/// The answer to a body that is no message or not JSON.
pub(crate) fn no_message(message: &[u8]) -> HttpAnswer {
    let nobody = || match serde_json::from_slice::<Value>(message) {
        Err(error) => (None, ErrorData::new(ErrorCode::PARSE_ERROR, format!("not JSON: {error}"), None)),
        Ok(_) => (None, ErrorData::invalid_params("the notification does not take these parameters", None)),
    };
    let (id, error) = bad_message::refusal(message).unwrap_or_else(nobody);
    refuse(id, error)
}

/// The answer with a protocol error.
pub(crate) fn refuse(id: Option<RequestId>, error: ErrorData) -> HttpAnswer {
    let said = serde_json::to_vec(&TxJsonRpcMessage::<RoleServer>::error(error, id)).unwrap_or_default();
    let mut answer = Response::new(Full::from(said).boxed());
    *answer.status_mut() = StatusCode::BAD_REQUEST;
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    answer
}
