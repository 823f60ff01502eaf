//! Text without withheld values, as a type.
//!
//! Notices, answers, error texts, labels and log lines accept a [`Redacted`] and nothing else, and only a [`Redactor`]
//! makes one. So text that was not redacted does not reach a model, a person or a file:
//!
//! ```compile_fail,E0308
//! # fn demo(line: String) {
//! let redacted: bashful_engine::Redacted = line;
//! # }
//! ```
//!
//! ```compile_fail,E0423
//! # fn demo(line: String) {
//! let redacted = bashful_engine::Redacted(line);
//! # }
//! ```

use std::error::Error;
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::mask::Mask;
use crate::units::ByteSize;

/// Marks the place where a text was cut off.
const CUT: char = '…';

/// Replaces withheld values in text. Cheap to clone.
#[derive(Clone)]
pub struct Redactor(Arc<Mask>);

/// A text without withheld values.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Redacted(String);

impl Redactor {
    pub(crate) fn new(mask: Arc<Mask>) -> Self {
        Self(mask)
    }

    /// Replaces withheld values by labels. A value that a `…` has cut short is replaced too.
    ///
    /// ```
    /// # use bashful_engine::{Engine, Options};
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut options = Options::new("/bin/bash".into(), "/".into());
    /// options.host_environment.push(("API_TOKEN".into(), "hunter2-hunter2".into()));
    /// let redactor = Engine::new(options)?.redactor();
    /// assert_eq!(redactor.redact("cannot enter /srv/hunter2-hunter2").as_str(), "cannot enter /srv/[withheld: API_TOKEN]");
    /// # Ok(()) }
    /// ```
    pub fn redact(&self, text: impl Into<String>) -> Redacted {
        let text = text.into();
        Redacted(self.0.sentence(&text).unwrap_or(text))
    }

    /// Redacts an error and its causes, in one line.
    pub fn redact_error(&self, error: &(dyn Error + 'static)) -> Redacted {
        self.redact(error_chain(error))
    }

    /// True if the text contains a withheld value.
    pub fn finds_any_in(&self, text: &str) -> bool {
        self.0.sentence(text).is_some_and(|redacted| redacted != text)
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Redactor").finish_non_exhaustive()
    }
}

impl Redacted {
    /// The redacted text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text, for a larger one that is redacted by then.
    pub fn into_string(self) -> String {
        self.0
    }

    /// Cuts a text that is longer than this, and marks the place.
    #[must_use]
    pub fn truncated(mut self, at_most: ByteSize) -> Self {
        if self.0.len() > at_most.in_memory() {
            self.0.truncate(self.0.floor_char_boundary(at_most.in_memory()));
            self.0.push(CUT);
        }
        self
    }
}

/// An error and its causes, in one line.
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}

/// Static texts of the program contain no values.
impl From<&'static str> for Redacted {
    fn from(text: &'static str) -> Self {
        Self(text.to_owned())
    }
}

impl Deref for Redacted {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Redacted {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.0)
    }
}

impl PartialEq<str> for Redacted {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

impl PartialEq<&str> for Redacted {
    fn eq(&self, other: &&str) -> bool {
        self.0 == *other
    }
}
