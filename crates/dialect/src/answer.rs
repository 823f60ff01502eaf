//! What a call of a tool is answered with.

use bashful_engine::{ByteSize, Output, Redacted, Redactor};
use serde_json::{Value, json};

use crate::{compose, facts};

/// The answer to one call, redacted.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The text for the model. It stands alone: many clients show nothing else.
    pub text: Redacted,
    /// The facts, as [`crate::Tool::facts`] says. They repeat nothing of the output.
    pub facts: Value,
    /// The shown text as fields, in a dialect whose text is JSON itself.
    fields: Option<Value>,
    /// True if the call came to nothing, or the command did not end well.
    pub is_error: bool,
    /// Resources with more to read.
    pub links: Vec<ResourceLink>,
}

/// An answer in the words of its dialect. [`masked`](Self::masked) makes an [`Answer`] of it, and nothing else does.
#[derive(Debug)]
pub(crate) struct RawAnswer {
    pub(crate) text: String,
    pub(crate) facts: Value,
    pub(crate) fields: Option<Value>,
    pub(crate) is_error: bool,
    pub(crate) links: Vec<ResourceLink>,
}

/// Something that can be read beside an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceLink {
    /// `artifact://7`.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// How long it is, in bytes.
    pub size: u64,
}

impl Answer {
    /// The facts together with the shown text, as [`crate::Tool::output`] says: for clients that show nothing else.
    pub fn structured(&self) -> Value {
        if let Some(fields) = &self.fields {
            return fields.clone();
        }
        let mut structured = self.facts.clone();
        structured["output"] = self.text.as_str().into();
        structured
    }

    /// The same as JSON text. Where the text of the reply is JSON, this is that text, with its keys in the same order.
    pub fn structured_text(&self) -> String {
        if self.fields.is_some() { self.text.as_str().to_owned() } else { self.structured().to_string() }
    }
}

impl RawAnswer {
    /// A call that went well.
    pub(crate) fn new(text: String, facts: Value) -> Self {
        Self { text, facts, fields: None, is_error: false, links: Vec::new() }
    }

    /// A call that came to nothing, because of this.
    pub(crate) fn failure(status: &str, text: &str) -> Self {
        Self { is_error: true, ..Self::new(text.to_owned(), json!({ "status": status, "error": text })) }
    }

    /// The answer without withheld values, wherever they may have come from: a path, a notice, the text of a command.
    pub(crate) fn masked(self, redactor: &Redactor) -> Answer {
        Answer {
            text: redactor.redact(self.text),
            facts: facts::masked(self.facts, redactor),
            fields: self.fields.map(|fields| facts::masked(fields, redactor)),
            is_error: self.is_error,
            links: self.links,
        }
    }

    /// The same with a text of at most `limit` bytes of output and the notices beside it. Redaction may have made it longer.
    pub(crate) fn masked_within(self, redactor: &Redactor, limit: ByteSize) -> Answer {
        let mut answer = self.masked(redactor);
        if answer.text.len() > compose::longest(limit) {
            answer.text = redactor.redact(compose::at_most(answer.text.into_string(), limit));
        }
        answer
    }

    /// The answer with links to what is too long to show.
    pub(crate) fn with_links<'a>(mut self, outputs: impl IntoIterator<Item = &'a Output>) -> Self {
        let artifacts = outputs.into_iter().filter_map(|output| output.artifact.as_ref());
        self.links.extend(artifacts.map(|artifact| ResourceLink {
            uri: format!("artifact://{}", artifact.id),
            name: format!("output kept as artifact {}", artifact.id),
            size: artifact.bytes,
        }));
        self
    }
}
