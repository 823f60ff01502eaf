//! Answers to tool calls, before and after redaction.

use bashful_engine::{ByteSize, Output, Redacted, Redactor};
use serde_json::{Value, json};

use crate::{compose, facts};

/// The answer to one call, redacted.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// The text for the model. It stands alone: many clients show nothing else.
    pub text: Redacted,
    /// The shown output alone, for screens that show the facts in their own way. None if no command has ended.
    pub output: Option<Redacted>,
    /// The facts, in the schema [`crate::Tool::facts`]. They repeat nothing of the output.
    pub facts: Value,
    /// The text as JSON fields, in a dialect whose text is JSON.
    fields: Option<Value>,
    /// True if the call failed, or the command did not end with exit code 0.
    pub is_error: bool,
    /// The way a host should raise this answer.
    pub conclusion: Conclusion,
    /// Resources with more to read.
    pub links: Vec<ResourceLink>,
    /// The job that the command of this call has become.
    pub job: Option<u64>,
}

/// The kind of an answer, for hosts whose tools raise errors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Conclusion {
    /// The command ended by itself with any code, or became a job; or the call was about jobs.
    #[default]
    Result,
    /// The command did not run, was stopped, or its end is unknown. In pi, a `ToolError`.
    Error,
    /// The caller cancelled the call. In pi, a `ToolAbortError`. The text has the output up to then.
    Abort,
}

/// An answer before redaction. Only [`redact`](Self::redact) turns it into an [`Answer`].
#[derive(Debug)]
pub(crate) struct RawAnswer {
    pub(crate) text: String,
    pub(crate) output: Option<String>,
    pub(crate) facts: Value,
    pub(crate) fields: Option<Value>,
    pub(crate) is_error: bool,
    pub(crate) conclusion: Conclusion,
    pub(crate) links: Vec<ResourceLink>,
}

/// A resource that a client can read: an artifact or the output of a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceLink {
    /// The address, as in `artifact://7`.
    pub uri: String,
    /// The name that clients show to people.
    pub name: String,
    /// Size in bytes.
    pub size: u64,
}

impl Answer {
    /// The facts together with the text, in the schema [`crate::Tool::output`]. Some clients show their model nothing else.
    pub fn structured(&self) -> Value {
        if let Some(fields) = &self.fields {
            return fields.clone();
        }
        let mut structured = self.facts.clone();
        structured["output"] = self.text.as_str().into();
        structured
    }

    /// True if the text is JSON because the dialect says so.
    pub fn is_json(&self) -> bool {
        self.fields.is_some()
    }

    /// [`structured`](Self::structured) as JSON text. A reply whose text is JSON keeps the order of its keys.
    pub fn structured_text(&self) -> String {
        if self.fields.is_some() { self.text.as_str().to_owned() } else { self.structured().to_string() }
    }
}

impl RawAnswer {
    /// A successful answer.
    pub(crate) fn new(text: String, facts: Value) -> Self {
        let conclusion = Conclusion::Result;
        Self { text, output: None, facts, fields: None, is_error: false, conclusion, links: Vec::new() }
    }

    /// An error answer. The status is `refused` or `failed`.
    pub(crate) fn failure(status: &str, text: &str) -> Self {
        Self { is_error: true, ..Self::new(text.to_owned(), json!({ "status": status, "error": text })) }
    }

    /// Replaces withheld values in text, facts and fields. A path, a notice or a script may have brought them.
    pub(crate) fn redact(self, redactor: &Redactor) -> Answer {
        Answer {
            text: redactor.redact(self.text),
            output: self.output.map(|output| redactor.redact(output)),
            facts: facts::redact(self.facts, redactor),
            fields: self.fields.map(|fields| facts::redact(fields, redactor)),
            is_error: self.is_error,
            conclusion: self.conclusion,
            links: self.links,
            job: None,
        }
    }

    /// Redacts, and cuts a text that redaction made too long for `limit` bytes of output and its notices.
    pub(crate) fn redact_within(self, redactor: &Redactor, limit: ByteSize) -> Answer {
        let mut answer = self.redact(redactor);
        if answer.text.len() > compose::longest(limit) {
            answer.text = redactor.redact(compose::at_most(answer.text.into_string(), limit));
        }
        answer
    }

    /// Adds a link for each artifact of these outputs.
    pub(crate) fn with_links<'a>(mut self, outputs: impl IntoIterator<Item = &'a Output>) -> Self {
        let artifacts = outputs.into_iter().filter_map(|output| Some((output, output.artifact.as_ref()?)));
        self.links.extend(artifacts.map(|(output, artifact)| ResourceLink {
            uri: format!("artifact://{}", artifact.id),
            name: match &output.condensed {
                Some(_) => format!("{}: raw output kept as artifact {}", facts::RAW_OUTPUT, artifact.id),
                None => format!("output kept as artifact {}", artifact.id),
            },
            size: artifact.bytes,
        }));
        self
    }
}
