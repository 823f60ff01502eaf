//! Definitions of tools, and the JSON forms that MCP and the APIs of model providers use for them.

use std::path::Path;
use std::str::FromStr;

use bashful_engine::{Engine, KeeperForm, SandboxMode};
use serde_json::{Map, Value, json};
use thiserror::Error;

use crate::arguments::Limits;

/// The key in a result's `_meta` under which programs find the facts.
pub const FACTS: &str = "bashful/facts";

/// The definition of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Tool {
    /// Name in calls.
    pub name: &'static str,
    /// Name for people.
    pub title: &'static str,
    /// Text for the model.
    pub description: String,
    /// Schema of the arguments.
    pub input: Map<String, Value>,
    /// Schema of the facts in a result's `_meta`.
    pub facts: Map<String, Value>,
    /// Schema of `structuredContent`, for clients that get it.
    pub output: Map<String, Value>,
    /// The `destructiveHint` of MCP.
    pub destructive: bool,
    /// The `openWorldHint` of MCP: the tool may use the network.
    pub open_world: bool,
}

impl Tool {
    pub(crate) fn new(name: &'static str, title: &'static str, description: String, files: [&str; 2]) -> Self {
        let [input, facts] =
            files.map(|file| -> Map<String, Value> { serde_json::from_str(file).expect("a test reads every schema") });
        let mut output = facts.clone();
        // Some clients show only this part to their model, so it has the text too.
        if let Some(properties) = output.get_mut("properties").and_then(Value::as_object_mut) {
            properties.insert("output".to_owned(), json!({ "type": "string", "description": "The text of the reply" }));
        }
        Self { name, title, description, input, facts, output, destructive: true, open_world: true }
    }
}

/// The abilities of an engine that definitions mention. A model is offered nothing that would always fail.
#[expect(clippy::struct_excessive_bools, reason = "an engine may have any of them without the others")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Abilities {
    /// Commands can become jobs.
    pub jobs: bool,
    /// Commands can share a persistent shell.
    pub sessions: bool,
    /// Long output is kept on disk.
    pub artifacts: bool,
    /// Jobs can have a terminal.
    pub terminals: bool,
    /// The guard refuses to delete what nobody means to lose.
    pub guard: bool,
    /// Outputs of known commands are condensed.
    pub condensing: bool,
    /// The sandbox of commands that ask for no other.
    pub sandbox: SandboxMode,
}

impl Abilities {
    /// An engine that has all abilities.
    pub const ALL: Self = Self {
        jobs: true,
        sessions: true,
        artifacts: true,
        terminals: true,
        guard: true,
        condensing: true,
        sandbox: SandboxMode::Workspace,
    };

    /// The abilities of an engine.
    pub fn of(engine: &Engine) -> Self {
        Self {
            jobs: engine.jobs().is_some(),
            sessions: engine.sessions().is_some(),
            artifacts: engine.artifacts().is_some(),
            terminals: engine.jobs().is_some() && engine.promises().keeper == KeeperForm::Process,
            guard: engine.refuses("rm -rf /"),
            condensing: engine.condenses(),
            sandbox: engine.sandbox_mode(),
        }
    }
}

/// The sentence about condensed outputs, so that a model does not take them for damaged ones.
pub(crate) const CONDENSED: &str =
    " Lines that went well may be left out of known output; the reply then says so and names the raw output.";

/// Removes arguments from a schema.
pub(crate) fn remove_properties(schema: &mut Map<String, Value>, names: &[&str]) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.retain(|name, _| !names.contains(&name.as_str()));
    }
}

/// The parts of an MCP result. By default a result has its text, and the facts in `_meta`.
///
/// Several clients show the model `structuredContent` *instead of* the text, and others show both. A resource link repeats an
/// address that is in the text. Therefore settings enable both per client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a habit of some client, and independent of the others")]
pub struct ReplyForm {
    /// Definitions have an `outputSchema`, and results a `structuredContent` that includes the shown text.
    pub structured: bool,
    /// Results link to the artifacts that their text names.
    pub links: bool,
    /// Results have no facts in `_meta`, for clients that show them to the model.
    pub without_facts: bool,
    /// Results that are not structured have an empty `structuredContent`, for clients that fill it with a text that is JSON, and
    /// then refuse it.
    pub empty_structured: bool,
    /// A command that ended with another exit code than 0 is no error, for clients that wrap errors in JSON. The text says it.
    pub exits_are_results: bool,
    /// A line follows a text that is JSON, for clients that write it anew.
    pub closed_json: bool,
}

/// The JSON form of definitions.
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

/// The name is not that of a form.
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
    /// The names for `--for`, in the order of the variants.
    pub const NAMES: [&str; 4] = ["mcp", "anthropic", "openai", "gemini"];

    /// The definitions in this form.
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

/// The schemas of the facts in `_meta`, by tool, and of `run --json`.
pub fn facts_schemas(tools: &[Tool], run: &Value) -> Value {
    let schemas: Map<String, Value> =
        tools.iter().map(|tool| (tool.name.to_owned(), tool.facts.clone().into())).collect();
    json!({ "_meta": FACTS, "tools": schemas, "run --json": run })
}

/// The placeholders in the texts of definitions, such as `{pwd}`, with their values.
#[derive(Debug)]
pub(crate) struct Placeholders([(&'static str, String); 5]);

impl Placeholders {
    pub(crate) fn new(limits: &Limits, directory: &Path) -> Self {
        Self([
            ("{default}", limits.default.to_string()),
            ("{slow}", limits.slow.to_string()),
            ("{background}", limits.background.to_string()),
            ("{shown}", limits.shown.to_string()),
            // The directory comes last, so that braces in it are not replaced.
            ("{pwd}", directory.display().to_string()),
        ])
    }

    pub(crate) fn fill(&self, text: &str) -> String {
        self.0.iter().fold(text.trim_end().to_owned(), |text, (name, word)| text.replace(name, word))
    }
}
