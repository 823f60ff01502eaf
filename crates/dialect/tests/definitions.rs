//! The definitions of tools: size, schemas, error messages, forms.

use std::path::Path;

use bashful_dialect::{Abilities, Dialect, Format, Limits, ReplyForm, Tool, ToolCaller, Toolbox};
use bashful_engine::{Engine, Options};
use serde_json::{Value, json};

fn tools(dialect: Dialect) -> Vec<Tool> {
    dialect.tools(&Limits::default(), Path::new("/home/somebody/a/project"), Abilities::ALL)
}

/// Calls a function for every object in a schema.
fn visit(schema: &Value, check: &mut impl FnMut(&serde_json::Map<String, Value>)) {
    match schema {
        Value::Object(fields) => {
            check(fields);
            fields.values().for_each(|value| visit(value, check));
        }
        Value::Array(values) => values.iter().for_each(|value| visit(value, check)),
        _ => {}
    }
}

#[test]
fn definitions_are_short() {
    for dialect in Dialect::ALL {
        let size = Format::Mcp.write(&tools(dialect), ReplyForm::default()).to_string().len();
        // With terminals: they have arguments of their own.
        let most = if dialect == Dialect::NATIVE { 3600 } else { 2600 };
        assert!(size < most, "{dialect}: {size} bytes");
    }
}

#[test]
fn schemas_hold_nothing_that_some_clients_refuse() {
    for tool in Dialect::ALL.into_iter().flat_map(tools) {
        for schema in [&tool.input, &tool.facts, &tool.output] {
            assert_eq!(schema["type"], "object", "{}", tool.name);
            visit(&Value::Object(schema.clone()), &mut |fields| {
                for key in ["$schema", "format", "$ref", "$defs", "anyOf", "oneOf", "allOf", "nullable", "default"] {
                    assert!(!fields.contains_key(key), "{}: {key}", tool.name);
                }
                assert!(!fields.get("type").is_some_and(Value::is_array), "{}: a union", tool.name);
                assert!(fields.get("type").is_none_or(|kind| kind != "array") || fields.contains_key("items"));
            });
        }
        // A client that refuses an unknown argument by itself would keep those in the habit of other agents from `native`.
        assert!(tool.input.get("additionalProperties").is_none_or(|allowed| allowed == false), "{}", tool.name);
    }
}

#[test]
fn the_working_directory_is_named() {
    for dialect in Dialect::ALL {
        let tools = tools(dialect);
        assert_eq!(tools[0].name, "bash");
        assert!(tools[0].description.ends_with("<pwd>/home/somebody/a/project</pwd>"), "{}", tools[0].description);
        assert!(tools.iter().all(|tool| !tool.description.contains('{')), "{tools:?}");
    }
}

/// The names of all arguments, from the message that refuses an unknown one.
fn accepted_names(message: &str) -> Vec<String> {
    let (_, list) = message.split_once("expected ").unwrap_or_else(|| panic!("{message}"));
    let mut names: Vec<String> = list.split('`').skip(1).step_by(2).map(str::to_owned).collect();
    names.sort();
    names
}

#[tokio::test(flavor = "current_thread")]
async fn schemas_list_just_what_is_taken_and_anything_else_is_refused_by_name() {
    for dialect in Dialect::ALL {
        let engine = Engine::new(Options::new("/bin/bash".into(), "/".into())).expect("an engine");
        let toolbox = Toolbox::new(engine, dialect, Limits::default(), Path::new("/"));
        for tool in tools(dialect) {
            let answer = toolbox.call(tool.name, json!({ "timout": 3 }), ToolCaller::default()).await.expect("a tool");
            assert!(answer.is_error);
            let message = answer.facts["error"].as_str().expect("a message");
            assert!(message.contains("unknown field `timout`"), "{message}");
            let mut listed: Vec<String> =
                tool.input["properties"].as_object().expect("properties").keys().cloned().collect();
            listed.sort();
            assert_eq!(listed, accepted_names(message), "{dialect}: {}", tool.name);
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn wrong_arguments_are_named() {
    let engine = Engine::new(Options::new("/bin/bash".into(), "/".into())).expect("an engine");
    for (dialect, tool, arguments, expected) in [
        (Dialect::NATIVE, "bash", json!({}), "bash: missing field `command`"),
        (Dialect::NATIVE, "bash", json!(null), "bash: missing field `command`"),
        (
            Dialect::NATIVE,
            "bash",
            json!({ "command": 7 }),
            "bash: `command`: invalid type: integer `7`, expected a string",
        ),
        (
            Dialect::NATIVE,
            "bash",
            json!({ "command": "x", "mode": "fast" }),
            "bash: `mode`: unknown variant `fast`, expected one of `default`, `slow`, `background`",
        ),
        (
            Dialect::NATIVE,
            "bash",
            json!({ "command": "x", "env": { "A": 1 } }),
            "bash: `env.A`: invalid type: integer `1`, expected a string",
        ),
        (Dialect::NATIVE, "bash", json!({ "command": " \n" }), "the command is empty"),
        (
            Dialect::NATIVE,
            "bash",
            json!({ "command": "a\u{0}b" }),
            "the command has a NUL byte at offset 1, which bash cannot read",
        ),
        (
            Dialect::NATIVE,
            "bash",
            json!({ "command": "x", "session": " " }),
            "`session`: \" \" cannot be the name of a session: it takes 1 to 100 printable characters",
        ),
        (Dialect::NATIVE, "bash", json!({ "command": "x", "stdin": true }), "`stdin` needs mode \"background\""),
        (Dialect::NATIVE, "job", json!({ "action": "show" }), "job: this action needs `ids`"),
        (Dialect::NATIVE, "job", json!({ "action": "kill", "ids": ["x"] }), "job: `ids[0]`: \"x\" is not a job id"),
        (
            Dialect::NATIVE,
            "job",
            json!({ "action": "kill", "ids": [1], "signal": "STOPP" }),
            "job: there is no signal \"STOPP\"",
        ),
        (Dialect::PLAIN, "bash", json!({ "command": "" }), "the command is empty"),
        (Dialect::PI, "bash", json!({ "command": "x", "env": { "1A": "" } }), "Invalid bash env name: 1A"),
        (Dialect::PI, "bash", json!({ "command": "x", "cwd": "/none" }), "Working directory does not exist: /none"),
        (
            Dialect::PI,
            "bash",
            json!({ "command": "x", "cwd": "/etc/passwd" }),
            "Working directory is not a directory: /etc/passwd",
        ),
        (
            Dialect::PI,
            "bash",
            json!({ "command": "x", "async": true }),
            "Async job manager unavailable for this session.",
        ),
        (
            Dialect::PI,
            "job",
            json!({ "list": true, "poll": ["bg_1"] }),
            "`list` cannot be combined with `poll` or `cancel`.",
        ),
    ] {
        let toolbox = Toolbox::new(engine.clone(), dialect, Limits::default(), Path::new("/"));
        let answer = toolbox.call(tool, arguments, ToolCaller::default()).await.expect("a tool");
        assert!(answer.is_error, "{answer:?}");
        assert_eq!(answer.facts["error"], expected);
        assert!(answer.text.contains(expected) || dialect == Dialect::PLAIN, "{}", answer.text);
    }
}

#[test]
fn definitions_can_be_had_in_every_form() {
    let tools = tools(Dialect::NATIVE);
    let anthropic = Format::Anthropic.write(&tools, ReplyForm::default());
    assert_eq!(anthropic[0]["name"], "bash");
    assert_eq!(anthropic[0]["input_schema"]["required"], json!(["command"]));
    let openai = Format::OpenAi.write(&tools, ReplyForm::default());
    assert_eq!(openai[1]["type"], "function");
    assert_eq!(openai[1]["function"]["name"], "job");
    assert_eq!(openai[1]["function"]["parameters"]["type"], "object");
    let gemini = Format::Gemini.write(&tools, ReplyForm::default());
    assert_eq!(gemini[0]["functionDeclarations"][0]["parametersJsonSchema"]["type"], "object");
    for (name, form) in
        [("mcp", Format::Mcp), ("anthropic", Format::Anthropic), ("openai", Format::OpenAi), ("gemini", Format::Gemini)]
    {
        assert_eq!(name.parse(), Ok(form));
    }
    assert!("xml".parse::<Format>().is_err() && "klingon".parse::<Dialect>().is_err());
}

#[test]
fn a_model_is_offered_only_what_the_engine_can_do() {
    let none = Abilities {
        jobs: false,
        sessions: false,
        artifacts: false,
        terminals: false,
        guard: false,
        condensing: false,
        ..Abilities::ALL
    };
    for dialect in Dialect::ALL {
        let all = dialect.tools(&Limits::default(), Path::new("/"), none);
        assert_eq!(all.iter().map(|tool| tool.name).collect::<Vec<_>>(), ["bash"], "{dialect}");
        let text = format!("{} {}", all[0].description, serde_json::to_string(&all[0].input).expect("JSON"));
        for word in
            ["job", "background", "async", "session", "stdin\"", "artifact", "share", "refused", "left out", "{"]
        {
            let is_there = if word == "{" { all[0].description.contains(word) } else { text.contains(word) };
            assert!(!is_there, "{dialect}: {word} in {text}");
        }
    }
}
