//! Tools and answers as the protocol has them.

use std::sync::Arc;

use bashful_dialect::{Answer, Link, Progress, Tool};
use rmcp::model::{
    self, CallToolResult, ContentBlock, ProgressNotificationParam, ProgressToken, Resource, ResourceTemplate,
};

/// A definition.
pub(crate) fn tool(tool: &Tool) -> model::Tool {
    let mut annotations = model::ToolAnnotations::default();
    annotations.destructive_hint = Some(tool.destructive);
    annotations.open_world_hint = Some(tool.open_world);
    model::Tool::new(tool.name, tool.description.clone(), Arc::new(tool.input.clone()))
        .with_title(tool.title)
        .with_raw_output_schema(Arc::new(tool.output.clone()))
        .with_annotations(annotations)
}

/// An answer: its text, what else there is to read, and the facts.
pub(crate) fn answer(answer: Answer) -> CallToolResult {
    let mut content = vec![ContentBlock::text(answer.text)];
    content.extend(answer.links.into_iter().map(|to| ContentBlock::resource_link(link(to))));
    let mut result = CallToolResult::success(content);
    result.is_error = Some(answer.is_error);
    result.structured_content = Some(answer.facts);
    result
}

/// The shape of what can be read.
pub(crate) fn template((uri, what): (&str, &str)) -> ResourceTemplate {
    let name = uri.split(':').next().unwrap_or_default();
    ResourceTemplate::new(uri, name).with_description(what).with_mime_type("text/plain")
}

/// Something that can be read.
pub(crate) fn link(link: Link) -> Resource {
    Resource::new(link.uri, link.name).with_mime_type("text/plain").with_size(link.size)
}

/// How far a call has come: its seconds, so that the number grows even if nothing is written.
pub(crate) fn progress(token: ProgressToken, progress: &Progress) -> ProgressNotificationParam {
    let seconds = progress.elapsed.as_secs_f64();
    let mut message = format!("{seconds:.0}s, {} bytes", progress.bytes);
    if !progress.last_line.is_empty() {
        message = format!("{message}: {}", progress.last_line);
    }
    ProgressNotificationParam::new(token, seconds).with_message(message)
}
