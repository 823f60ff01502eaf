//! The id of a request, echoed as it was sent.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Longest id in bytes. Every event of a request repeats it.
pub const LONGEST_ID: usize = 256;

/// The id of a request: a string or a number that the client chose. An integer within 64 bits is echoed exactly.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Value")]
pub struct RequestId(Value);

impl TryFrom<Value> for RequestId {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        match &given {
            Value::String(text) if text.len() > LONGEST_ID => Err(format!("an id has at most {LONGEST_ID} bytes")),
            Value::Number(_) | Value::String(_) => Ok(Self(given)),
            _ => Err("an id is a string or a number".to_owned()),
        }
    }
}

impl JsonSchema for RequestId {
    fn schema_name() -> Cow<'static, str> {
        "RequestId".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "Chosen by the client, and echoed as it was sent.",
            "type": ["string", "number"],
            "maxLength": LONGEST_ID,
        })
    }
}
