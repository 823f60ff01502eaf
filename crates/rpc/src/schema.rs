//! The JSON schema of all messages, made from their types.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::wire::{self, ErrorCode, Event, RequestId, RpcError, StreamSummary};

/// The JSON schema (draft 2020-12) of every line in either direction. `docs/rpc.schema.json` in the repository is its copy.
///
/// ```
/// let schema = bashful_rpc::schema();
/// assert_eq!(schema["$defs"]["BashData"]["properties"]["output"]["type"], "string");
/// ```
pub fn schema() -> Value {
    let mut requests = SchemaSettings::draft2020_12().for_deserialize().into_generator();
    let mut responses = SchemaSettings::draft2020_12().for_serialize().into_generator();
    let id = json!({ "$ref": "#/$defs/RequestId" });
    let mut request_forms = Vec::new();
    let mut response_forms = Vec::new();
    responses.subschema_for::<RequestId>();
    responses.subschema_for::<ErrorCode>();
    let summary = responses.subschema_for::<StreamSummary>();
    for (name, fields, data) in wire::request_schemas(&mut requests, &mut responses) {
        request_forms.push(request(name, fields.to_value(), &id));
        response_forms.push(json!({
            "title": format!("{name}: response"),
            "type": "object",
            "properties": {
                "id": id,
                "type": { "const": "response" },
                "command": { "const": name },
                "success": { "const": true },
                "data": data,
                "stream": summary,
            },
            "required": ["type", "command", "success", "data"],
        }));
    }
    response_forms.push(json!({
        "title": "error",
        "type": "object",
        "properties": {
            "id": id,
            "type": { "const": "response" },
            "command": { "type": "string", "description": "The type of the request; `parse` for a line that is none" },
            "success": { "const": false },
            "error": responses.subschema_for::<RpcError>(),
        },
        "required": ["type", "command", "success", "error"],
    }));
    let event = responses.subschema_for::<Event>();
    let mut definitions = Map::new();
    for part in [requests.take_definitions(true), responses.take_definitions(true)] {
        definitions.extend(part);
    }
    definitions.insert("Request".to_owned(), json!({ "description": "A line to the service", "anyOf": request_forms }));
    definitions
        .insert("Response".to_owned(), json!({ "description": "The answer to a request", "anyOf": response_forms }));
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Messages of `bashful rpc`",
        "description": "One JSON object a line, in UTF-8. Ignore fields and events that you do not know.",
        "anyOf": [{ "$ref": "#/$defs/Request" }, { "$ref": "#/$defs/Response" }, event],
        "$defs": definitions,
    })
}

/// The schema of a request: its fields, its type and an id.
fn request(name: &str, mut schema: Value, id: &Value) -> Value {
    schema["title"] = name.into();
    let mut properties = json!({ "id": id, "type": { "const": name } });
    if let (Some(all), Some(own)) = (properties.as_object_mut(), schema["properties"].as_object()) {
        all.extend(own.clone());
    }
    schema["properties"] = properties;
    let mut required = vec![json!("type")];
    required.extend(schema["required"].as_array().cloned().unwrap_or_default());
    schema["required"] = required.into();
    schema
}
