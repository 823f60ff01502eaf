//! What is wrong with something that is no message.

use rmcp::model::{ErrorData, RequestId};
use serde_json::Value;

/// Whose it was, if it says so, and what to tell him; none if it was a notification, to which nobody waits for an answer.
pub(crate) fn wrong(said: &Value) -> Option<(Option<RequestId>, ErrorData)> {
    let id = said.get("id").and_then(|id| serde_json::from_value::<RequestId>(id.clone()).ok());
    let error = match said.get("method").and_then(Value::as_str) {
        Some(method) if id.is_some() => {
            ErrorData::invalid_params(format!("{method} does not take these parameters"), None)
        }
        Some(_) => return None,
        None => ErrorData::invalid_request("not a message of JSON-RPC", None),
    };
    Some((id, error))
}
