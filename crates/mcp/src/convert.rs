//! Converts tools, answers and resources to protocol types.

use std::sync::Arc;

use bashful_dialect::{Answer, Conclusion, FACTS, ReplyForm, ResourceLink, Tool, Update, tool_meta};
use bashful_engine::Redactor;
use rmcp::model::{
    self, CallToolResult, ContentBlock, MetaObject, ProgressNotificationParam, ProgressToken, Resource,
    ResourceTemplate,
};
use serde_json::{Value, json};

/// Most characters of a command in a progress message.
const COMMAND_SHOWN: usize = 200;

/// The definition of a tool.
pub(crate) fn tool(tool: &Tool, form: ReplyForm) -> model::Tool {
    let mut annotations = model::ToolAnnotations::default();
    annotations.destructive_hint = Some(tool.destructive);
    annotations.open_world_hint = Some(tool.open_world);
    let definition = model::Tool::new(tool.name, tool.description.clone(), Arc::new(tool.input.clone()))
        .with_title(tool.title)
        .with_annotations(annotations)
        .with_meta(MetaObject(tool_meta()));
    if form.structured { definition.with_raw_output_schema(Arc::new(tool.output.clone())) } else { definition }
}

/// A result: the text for the model, and the facts for programs in `_meta`.
pub(crate) fn answer(answer: Answer, form: ReplyForm) -> CallToolResult {
    let structured = match form {
        ReplyForm { structured: true, .. } => Some(answer.structured()),
        ReplyForm { empty_structured: true, .. } => Some(json!({})),
        _ => None,
    };
    let is_error = answer.is_error && !(form.exits_are_results && answer.conclusion == Conclusion::Result);
    let is_reformatted = form.closed_json && !answer.is_json() && is_json(answer.text.as_str());
    let mut text = answer.text.into_string();
    if is_reformatted {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(END_OF_OUTPUT);
    }
    let mut content = vec![ContentBlock::text(text)];
    if form.links {
        content.extend(answer.links.into_iter().map(|to| ContentBlock::resource_link(link(to))));
    }
    let mut result = CallToolResult::success(content);
    result.is_error = Some(is_error);
    result.structured_content = structured;
    result.meta = (!form.without_facts).then(|| MetaObject([(FACTS.to_owned(), answer.facts)].into_iter().collect()));
    result
}

/// The line behind a text that a client would otherwise write anew.
const END_OF_OUTPUT: &str = "[end of output]";

/// True for a JSON object or list.
fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '[']) && serde_json::from_str::<Value>(text).is_ok()
}

/// The template of a resource address.
pub(crate) fn template((uri, what): (&str, &str)) -> ResourceTemplate {
    let name = uri.split(':').next().unwrap_or_default();
    ResourceTemplate::new(uri, name).with_description(what).with_mime_type("text/plain")
}

/// Converts a link to a resource of the protocol.
pub(crate) fn link(link: ResourceLink) -> Resource {
    Resource::new(link.uri, link.name).with_mime_type("text/plain").with_size(link.size)
}

/// Progress of a call. The number is its elapsed seconds, so that it grows even without output. Clients show the message, and some
/// of them hide the command, so it comes first.
pub(crate) fn progress(token: ProgressToken, update: &Update, command: Option<String>) -> ProgressNotificationParam {
    let seconds = update.elapsed.as_secs_f64().round();
    let last_line = update.last_line();
    let message = match command {
        Some(command) => format!("$ {command}"),
        None if last_line.is_empty() => format!("{seconds}s, {} bytes", update.bytes),
        None => format!("{seconds}s, {} bytes: {last_line}", update.bytes),
    };
    ProgressNotificationParam::new(token, seconds).with_message(message)
}

/// The command of a call on one line, as far as a client shows it. Control characters are removed, because clients print it to
/// terminals.
pub(crate) fn command_line(arguments: &Value, redactor: &Redactor) -> Option<String> {
    // Redact before it is cut: nobody would recognize half a secret.
    let command = redactor.redact(arguments.get("command").or_else(|| arguments.get("cmd"))?.as_str()?);
    let flat = command.split_whitespace().flat_map(|word| word.chars().chain([' ']));
    Some(flat.filter(|char| !char.is_control()).take(COMMAND_SHOWN).collect::<String>().trim_end().to_owned())
}
