//! Raw output made fit for the eyes, piece by piece: cleaned, and without withheld values.

use std::sync::Arc;

use crate::capture::Cleaning;
use crate::clean::Cleaner;
use crate::mask::{Edges, Mask};

/// Turns raw bytes into text to show.
pub struct Eyes {
    /// Large, and held by every call while it waits.
    cleaner: Option<Box<Cleaner>>,
    mask: Arc<Mask>,
}

impl std::fmt::Debug for Eyes {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Eyes").finish_non_exhaustive()
    }
}

impl Eyes {
    pub(crate) fn new(cleaning: Cleaning, mask: Arc<Mask>) -> Self {
        Self { cleaner: (cleaning == Cleaning::ForEyes).then(|| Box::new(Cleaner::new())), mask }
    }

    /// The text that is settled by these bytes. A line that may still be redrawn comes when it is finished.
    pub fn push(&mut self, raw: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        match &mut self.cleaner {
            Some(cleaner) => cleaner.push(raw, &mut |settled: &[u8]| text.extend_from_slice(settled)),
            None => text.extend_from_slice(raw),
        }
        self.mask.apply(&text, Edges::Both).unwrap_or(text)
    }

    /// The line that is not finished, as it looks now.
    pub fn pending(&self) -> Vec<u8> {
        let text = self.cleaner.as_ref().map(|cleaner| cleaner.pending()).unwrap_or_default();
        self.mask.apply(&text, Edges::Both).unwrap_or(text)
    }

    /// A text that is no output, without withheld values.
    pub fn mask(&self, text: impl Into<String>) -> String {
        let text = text.into();
        let masked = self.mask.apply(text.as_bytes(), Edges::None);
        masked.map_or(text, |masked| String::from_utf8_lossy(&masked).into_owned())
    }

    /// All of it at once.
    pub fn show(mut self, raw: &[u8]) -> Vec<u8> {
        let mut text = self.push(raw);
        text.extend(self.pending());
        text
    }
}
