//! The part of JSON Schema that the messages use, to check lines against the schema in the documents.

use std::path::Path;
use std::sync::OnceLock;

use bashful_testkit::check_golden;
use serde_json::Value;

use crate::home;

/// The schema in the documents.
pub(crate) fn schema() -> &'static Value {
    static SCHEMA: OnceLock<Value> = OnceLock::new();
    SCHEMA.get_or_init(|| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rpc.schema.json");
        serde_json::from_str(&std::fs::read_to_string(file).expect("it is there")).expect("JSON")
    })
}

/// Checks a line against one of the definitions.
#[track_caller]
pub(crate) fn check(line: &Value, definition: &str) {
    let all = schema();
    if let Err(why) = fits(line, &all["$defs"][definition], all) {
        panic!("{definition}: {why}: {line}");
    }
}

/// Checks a line of the service.
#[track_caller]
pub(crate) fn check_sent(line: &Value) {
    check(line, if line["type"] == "response" { "Response" } else { "Event" });
}

fn fits(value: &Value, schema: &Value, all: &Value) -> Result<(), String> {
    let Some(keywords) = schema.as_object() else {
        return if schema == &Value::Bool(true) { Ok(()) } else { Err(format!("no schema: {schema}")) };
    };
    for (keyword, wanted) in keywords {
        let is_right = match keyword.as_str() {
            "$ref" => {
                let name = wanted.as_str().and_then(|name| name.strip_prefix('#')).ok_or("a reference")?;
                fits(value, all.pointer(name).ok_or_else(|| format!("no {name}"))?, all)?;
                true
            }
            "type" => match wanted {
                Value::Array(words) => words.iter().any(|word| has_type(value, word)),
                word => has_type(value, word),
            },
            "const" => value == wanted,
            "enum" => wanted.as_array().is_some_and(|all| all.contains(value)),
            "anyOf" | "oneOf" => {
                let tried: Vec<_> = wanted.as_array().into_iter().flatten().map(|one| fits(value, one, all)).collect();
                if tried.iter().all(Result::is_err) {
                    let why: Vec<String> = tried.into_iter().filter_map(Result::err).collect();
                    return Err(format!("none of: {}", why.join("; ")));
                }
                true
            }
            "properties" => {
                for (name, schema) in wanted.as_object().into_iter().flatten() {
                    if let Some(value) = value.get(name) {
                        fits(value, schema, all).map_err(|why| format!("{name}: {why}"))?;
                    }
                }
                true
            }
            "additionalProperties" => {
                for value in value.as_object().into_iter().flat_map(|fields| fields.values()) {
                    fits(value, wanted, all)?;
                }
                true
            }
            "required" => wanted
                .as_array()
                .is_some_and(|names| names.iter().all(|name| value.get(name.as_str().unwrap_or_default()).is_some())),
            "items" => {
                for value in value.as_array().into_iter().flatten() {
                    fits(value, wanted, all)?;
                }
                true
            }
            "minimum" => value.as_f64().is_none_or(|value| wanted.as_f64().is_some_and(|least| value >= least)),
            "maximum" => value.as_f64().is_none_or(|value| wanted.as_f64().is_some_and(|most| value <= most)),
            "maxLength" => {
                value.as_str().is_none_or(|text| wanted.as_u64().is_some_and(|most| text.len() as u64 <= most))
            }
            "description" | "title" | "format" => true,
            other => return Err(format!("this test does not know the keyword {other}")),
        };
        if !is_right {
            return Err(format!("{keyword} {wanted}"));
        }
    }
    Ok(())
}

fn has_type(value: &Value, word: &Value) -> bool {
    match word.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("number") => value.is_number(),
        Some("integer") => value.is_i64() || value.is_u64(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        _ => false,
    }
}

#[test]
fn the_schema_in_the_documents_is_that_of_the_program() {
    let printed = home().run(&["schema", "--rpc"]);
    assert!(printed.status.success());
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rpc.schema.json");
    check_golden(&file, &String::from_utf8(printed.stdout).expect("text"));
}

#[test]
fn every_definition_is_used_and_every_reference_leads_somewhere() {
    let all = schema();
    let text = all.to_string();
    for name in all["$defs"].as_object().expect("definitions").keys() {
        assert!(text.contains(&format!("\"#/$defs/{name}\"")), "{name}");
    }
    for reference in text.split("\"$ref\":\"#/$defs/").skip(1) {
        let name = reference.split('"').next().expect("a name");
        assert!(all["$defs"][name].is_object(), "{name}");
    }
}
