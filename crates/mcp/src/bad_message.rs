//! Errors for broken messages: JSON that is no message, and text that is not JSON.
//!
//! Invariant: a complete message with an id gets an answer with that id, however its content is broken. Without it
//! the client would wait forever.

use bashful_dialect::{Envelope, json_problem};
use rmcp::model::{ErrorCode, ErrorData, RequestId};
use serde_json::Value;

/// Requests of all protocol versions. The library reports wrong parameters of a known request as an unknown request.
const METHODS: [&str; 8] = [
    "completion/complete",
    "prompts/get",
    "prompts/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "tools/call",
    "tools/list",
];

/// Requests of some versions of the protocol only.
const FIRST_ERA: [&str; 5] = ["initialize", "logging/setLevel", "ping", "resources/subscribe", "resources/unsubscribe"];

/// The error for a broken message, with its id if it has one. None for a notification or a fragment, whose sender
/// waits for nothing.
pub(crate) fn refusal(message: &[u8]) -> Option<(Option<RequestId>, ErrorData)> {
    let said: Value = match serde_json::from_slice(message) {
        Ok(said) => said,
        Err(error) => {
            let Envelope { id, method } = Envelope::read(message)?;
            let method = method.as_deref().map_or("the message", known);
            let text = format!("{method} cannot be read as JSON: {}", json_problem(&error));
            return Some((Some(known_id(id)?), ErrorData::new(ErrorCode::PARSE_ERROR, text, None)));
        }
    };
    let id = known_id(said.get("id").cloned());
    let error = match said.get("method").and_then(Value::as_str) {
        Some(method) if id.is_some() => wrong_parameters(known(method), said.get("params")),
        Some(_) => return None,
        None => ErrorData::invalid_request("not a message of JSON-RPC", None),
    };
    Some((id, error))
}

/// The id of a request; none if the message is no request.
pub(crate) fn request_id(message: &[u8]) -> Option<RequestId> {
    let Envelope { id, method } = Envelope::read(message)?;
    method.and(known_id(id))
}

fn known_id(id: Option<Value>) -> Option<RequestId> {
    serde_json::from_value(id?).ok()
}

/// The error for an id that an unanswered request already has.
pub(crate) fn id_in_use(id: &RequestId) -> ErrorData {
    ErrorData::invalid_request(format!("the request with the id {id} has not been answered yet; use another id"), None)
}

/// The error for a request that the library did not recognize.
pub(crate) fn unknown_request(method: &str, params: Option<&Value>) -> ErrorData {
    if METHODS.contains(&method) {
        return wrong_parameters(method, params);
    }
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method {method:?}"), None)
}

/// The method's name if the server knows it. An unknown name is not repeated, because it may contain a secret.
fn known(method: &str) -> &str {
    if METHODS.contains(&method) || FIRST_ERA.contains(&method) { method } else { "the request" }
}

fn wrong_parameters(method: &str, params: Option<&Value>) -> ErrorData {
    let kind = |value: &Value| match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    };
    let arguments = params.and_then(|params| params.get("arguments")).filter(|arguments| !arguments.is_object());
    let text = match (params, arguments) {
        (Some(params), _) if !params.is_object() => format!("{method}: params must be an object, not {}", kind(params)),
        (_, Some(arguments)) => format!("{method}: arguments must be an object, not {}", kind(arguments)),
        _ => format!("{method} does not take these parameters"),
    };
    ErrorData::invalid_params(text, None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(message: &[u8], id: &str, code: i32, text: &str) {
        let (found, error) = refusal(message).expect("an answer");
        assert_eq!(found, Some(serde_json::from_str(id).expect("an id")));
        assert_eq!(error.code.0, code, "{error:?}");
        assert!(error.message.contains(text), "{}", error.message);
    }

    #[test]
    fn a_broken_message_with_an_id_is_answered_with_it() {
        let call = |arguments: &str| {
            format!(r#"{{"jsonrpc":"2.0","id":"a\"b","method":"tools/call","params":{{"arguments":{arguments}}}}}"#)
        };
        let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
        check(call(&deep).as_bytes(), r#""a\"b""#, -32700, "tools/call cannot be read as JSON: recursion limit");
        let surrogate = r#"{"command":"echo \ud800"}"#;
        check(call(surrogate).as_bytes(), r#""a\"b""#, -32700, "surrogate");
        let not_utf8 = [br#"{"id":7,"x":""#.as_slice(), &[0xff], br#"" , "method" : "ping"}"#].concat();
        check(&not_utf8, "7", -32700, "ping cannot be read");
        check(call("\"ls\"").as_bytes(), r#""a\"b""#, -32602, "arguments must be an object, not a string");
        check(br#"{"id":1,"method":"tools/call","params":[]}"#, "1", -32602, "params must be an object, not an array");
    }

    #[test]
    fn nobody_waits_for_an_answer_to_a_piece_or_a_notification() {
        for message in
            ["", "{", "not JSON", r#"{"id":1,"method":"#, r#"{"id":1,"a":[}"#, r#"{"method":"x","a":"\ud800"}"#]
        {
            assert_eq!(refusal(message.as_bytes()).map(|(id, _)| id), None, "{message}");
        }
        assert_eq!(refusal(br#"{"method":"notifications/cancelled"}"#).map(|(id, _)| id), None);
    }

    #[test]
    fn a_method_of_ours_with_wrong_parameters_is_not_called_unknown() {
        let string = serde_json::json!({ "name": "bash", "arguments": "ls" });
        assert_eq!(unknown_request("tools/call", Some(&string)).code, ErrorCode::INVALID_PARAMS);
        assert_eq!(unknown_request("tools/fly", None).code, ErrorCode::METHOD_NOT_FOUND);
    }
}
