//! Definitions of tools, and the forms in which others want them.

use std::path::Path;
use std::str::FromStr;

use bashful_engine::Engine;
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::arguments::Limits;

/// The key in a result's `_meta` under which programs find the facts.
pub const FACTS: &str = "bashful/facts";

/// A tool, as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// What it is called by.
    pub name: &'static str,
    /// What people call it.
    pub title: &'static str,
    /// What it does.
    pub description: String,
    /// What it takes.
    pub input: Map<String, Value>,
    /// Schema of the facts that a program finds in a result's `_meta`.
    pub facts: Map<String, Value>,
    /// Schema of `structuredContent`, for clients that are sent it.
    pub output: Map<String, Value>,
    /// Whether it may destroy something, as a shell may.
    pub destructive: bool,
    /// Whether it may reach out into the world.
    pub open_world: bool,
}

impl Tool {
    pub(crate) fn new(name: &'static str, title: &'static str, description: String, files: [&str; 2]) -> Self {
        let [input, facts] =
            files.map(|file| -> Map<String, Value> { serde_json::from_str(file).expect("a test reads every schema") });
        let mut output = facts.clone();
        // A client that shows only this part to its model must not show less than the text.
        if let Some(properties) = output.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert("output".to_owned(), json!({ "type": "string", "description": "The text of the reply" }));
        }
        Self { name, title, description, input, facts, output, destructive: true, open_world: true }
    }
}

/// The parts of an engine that definitions speak of. A model is offered nothing that would always fail.
#[expect(clippy::struct_excessive_bools, reason = "an engine may have any of them without the others")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Commands can become jobs.
    pub jobs: bool,
    /// Commands can share a persistent shell.
    pub sessions: bool,
    /// Long output is kept on disk.
    pub artifacts: bool,
    /// The guard refuses to delete what nobody means to lose.
    pub guard: bool,
}

impl Abilities {
    /// An engine with a place for everything.
    pub const ALL: Self = Self { jobs: true, sessions: true, artifacts: true, guard: true };

    /// Those of an engine.
    pub fn of(engine: &Engine) -> Self {
        Self {
            jobs: engine.jobs().is_some(),
            sessions: engine.sessions().is_some(),
            artifacts: engine.artifacts().is_some(),
            guard: engine.refuses("rm -rf /"),
        }
    }
}

/// Takes arguments out of a schema.
pub(crate) fn remove_properties(schema: &mut Map<String, Value>, names: &[&str]) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| !names.contains(&name.as_str()));
    }
}

/// How results are put into the protocol. By default a result is its text, with the facts in `_meta`.
///
/// Several clients show the model `structuredContent` *instead of* the text, and others show it both; a link to a resource
/// repeats an address that the text has named. So both are only for clients that ask for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplyForm {
    /// Definitions have an `outputSchema`, and results a `structuredContent` that includes the shown text.
    pub structured: bool,
    /// Results link to the artifacts that their text names.
    pub links: bool,
    /// Results have no facts in `_meta`, for clients that show them to the model.
    pub without_facts: bool,
}

/// Whose form of definitions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// The answer to `tools/list`.
    #[default]
    Mcp,
    /// `tools` of the Messages API.
    Anthropic,
    /// `tools` of Chat Completions.
    OpenAi,
    /// `tools` of `generateContent`.
    Gemini,
}

/// There is no such form.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no form {given:?}; there are mcp, anthropic, openai and gemini")]
pub struct UnknownFormat {
    given: String,
}

impl FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(given: &str) -> Result<Self, UnknownFormat> {
        let formats = [Self::Mcp, Self::Anthropic, Self::OpenAi, Self::Gemini];
        let named = Self::NAMES.into_iter().zip(formats).find(|(name, _)| *name == given);
        named.map(|(_, format)| format).ok_or_else(|| UnknownFormat { given: given.to_owned() })
    }
}

impl Format {
    /// The names that people choose them by.
    pub const NAMES: [&str; 4] = ["mcp", "anthropic", "openai", "gemini"];

    /// The definitions, ready to paste.
    pub fn write(self, tools: &[Tool], form: ReplyForm) -> Value {
        match self {
            Self::Mcp => json!({ "tools": tools.iter().map(|tool| mcp(tool, form)).collect::<Value>() }),
            Self::Anthropic => tools.iter().map(|tool| named(tool, "input_schema")).collect(),
            Self::OpenAi => {
                let function = |tool| json!({ "type": "function", "function": named(tool, "parameters") });
                tools.iter().map(function).collect()
            }
            Self::Gemini => {
                let functions: Value = tools.iter().map(|tool| named(tool, "parametersJsonSchema")).collect();
                json!([{ "functionDeclarations": functions }])
            }
        }
    }
}

fn named(tool: &Tool, schema: &str) -> Value {
    json!({ "name": tool.name, "description": tool.description, schema: tool.input })
}

fn mcp(tool: &Tool, form: ReplyForm) -> Value {
    let mut definition = json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description,
        "inputSchema": tool.input,
        "annotations": { "destructiveHint": tool.destructive, "openWorldHint": tool.open_world },
        "_meta": tool_meta(),
    });
    if form.structured {
        definition["outputSchema"] = tool.output.clone().into();
    }
    definition
}

/// The `_meta` of every definition. Claude Code lists only the name of a tool until its model searches for it, unless the tool
/// asks to be loaded at once.
pub fn tool_meta() -> Map<String, Value> {
    [("anthropic/alwaysLoad".to_owned(), Value::Bool(true))].into_iter().collect()
}

/// The schemas of the facts that results carry in `_meta`, by the name of their tool.
pub fn facts_schemas(tools: &[Tool], run: &Value) -> Value {
    let schemas: Map<String, Value> =
        tools.iter().map(|tool| (tool.name.to_owned(), tool.facts.clone().into())).collect();
    json!({ "_meta": FACTS, "tools": schemas, "run --json": run })
}

/// What the texts of definitions have in common: names in braces, and what stands for them.
#[derive(Debug)]
pub(crate) struct Words([(&'static str, String); 5]);

impl Words {
    pub(crate) fn new(limits: &Limits, directory: &Path) -> Self {
        Self([
            ("{default}", limits.default.to_string()),
            ("{slow}", limits.slow.to_string()),
            ("{background}", limits.background.to_string()),
            ("{shown}", limits.shown.to_string()),
            // The last one, so that nothing in it is taken for a name.
            ("{pwd}", directory.display().to_string()),
        ])
    }

    pub(crate) fn fill(&self, text: &str) -> String {
        self.0.iter().fold(text.trim_end().to_owned(), |text, (name, word)| text.replace(name, word))
    }
}
