//! What a call of a tool is answered with.

use bashful_engine::{ByteSize, Eyes, Output};
use serde_json::{Value, json};

use crate::{compose, facts};

/// The answer to one call.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    /// What the model reads. It stands alone: many clients show nothing else.
    pub text: String,
    /// The facts, as [`crate::Tool::facts`] says. They repeat nothing of the output.
    pub facts: Value,
    /// The shown text as fields, in a dialect whose text is JSON itself.
    pub(crate) fields: Option<Value>,
    /// Whether the call came to nothing, or the command did not end well.
    pub is_error: bool,
    /// Where there is more to read.
    pub links: Vec<Link>,
}

/// Something that can be read beside an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// `artifact://7`.
    pub uri: String,
    /// What it is called.
    pub name: String,
    /// How long it is, in bytes.
    pub size: u64,
}

impl Answer {
    /// A call that went well.
    pub(crate) fn new(text: String, facts: Value) -> Self {
        Self { text, facts, fields: None, is_error: false, links: Vec::new() }
    }

    /// An answer whose text is these fields as JSON.
    pub(crate) fn of_fields(fields: Value, facts: Value) -> Self {
        let text = fields.to_string();
        Self { fields: Some(fields), ..Self::new(text, facts) }
    }

    /// The facts together with the shown text, as [`crate::Tool::output`] says: for clients that show nothing else.
    pub fn structured(&self) -> Value {
        if let Some(fields) = &self.fields {
            return fields.clone();
        }
        let mut structured = self.facts.clone();
        structured["output"] = self.text.as_str().into();
        structured
    }

    /// A call that came to nothing, because of this.
    pub(crate) fn failure(status: &str, text: &str) -> Self {
        Self { is_error: true, ..Self::new(text.to_owned(), json!({ "status": status, "error": text })) }
    }

    /// Without withheld values, wherever they may have come from: a path, a notice, the text of a command.
    pub(crate) fn masked(mut self, eyes: &Eyes) -> Self {
        self.text = eyes.mask(self.text);
        self.facts = facts::masked(self.facts, eyes);
        self.fields = self.fields.map(|fields| facts::masked(fields, eyes));
        self
    }

    /// With a text of at most `limit` bytes of output and the notices beside it. Redaction of notices may have made it
    /// longer.
    pub(crate) fn at_most(mut self, limit: ByteSize) -> Self {
        self.text = compose::at_most(self.text, limit);
        self
    }

    /// With links to what is too long to show.
    pub(crate) fn with_links<'a>(mut self, outputs: impl IntoIterator<Item = &'a Output>) -> Self {
        let artifacts = outputs.into_iter().filter_map(|output| output.artifact.as_ref());
        self.links.extend(artifacts.map(|artifact| Link {
            uri: format!("artifact://{}", artifact.id),
            name: format!("output kept as artifact {}", artifact.id),
            size: artifact.bytes,
        }));
        self
    }
}
