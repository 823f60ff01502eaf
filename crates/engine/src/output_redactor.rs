//! Redacts and cleans raw output, piece by piece.

use std::io::{self, Write};
use std::sync::Arc;

use crate::capture::Cleaning;
use crate::clean::Cleaner;
use crate::mask::{Edges, Mask, StreamRedactor};

/// Turns raw bytes into text to show: cleaned, and without withheld values.
pub struct OutputRedactor {
    /// Boxed, because it is large and every waiting call holds one.
    cleaner: Option<Box<Cleaner>>,
    mask: Arc<Mask>,
    redactor: StreamRedactor,
    /// Redacts the raw bytes, if they are a part of something longer.
    raw: Option<StreamRedactor>,
}

impl std::fmt::Debug for OutputRedactor {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("OutputRedactor").finish_non_exhaustive()
    }
}

impl OutputRedactor {
    pub(crate) fn new(cleaning: Cleaning, mask: Arc<Mask>) -> Self {
        let cleaner = (cleaning == Cleaning::ForEyes).then(|| Box::new(Cleaner::new().redacting(&mask)));
        Self { cleaner, mask, redactor: StreamRedactor::default(), raw: None }
    }

    /// A new redactor with the same rules, for other output.
    #[must_use]
    pub fn anew(&self) -> Self {
        let cleaning = if self.cleaner.is_some() { Cleaning::ForEyes } else { Cleaning::None };
        Self::new(cleaning, Arc::clone(&self.mask))
    }

    /// Prepares for output that does not begin at its start. `before` comes before it, and is not shown; see
    /// [`Artifact::around`](crate::Artifact::around).
    #[must_use]
    pub fn behind(mut self, before: Vec<u8>) -> Self {
        self.raw = Some(StreamRedactor::behind(before));
        self
    }

    /// Returns the text that these bytes finish. A line that may still be redrawn comes when it is finished. Bytes that
    /// may begin a withheld value come when it is known that they do not.
    pub fn push(&mut self, raw: &[u8]) -> Vec<u8> {
        let text = match &mut self.raw {
            Some(redactor) => clean(self.cleaner.as_deref_mut(), &redactor.push(&self.mask, raw)),
            None => clean(self.cleaner.as_deref_mut(), raw),
        };
        self.redactor.push(&self.mask, &text).into_owned()
    }

    /// The unfinished rest, as it would be shown now. The beginning of a possible withheld value at its end is hidden.
    pub fn pending(&self) -> Vec<u8> {
        let mut text = self.cleaner.as_ref().map(|cleaner| cleaner.pending()).unwrap_or_default();
        if let Some(redactor) = &self.raw {
            let held = redactor.pending(&self.mask, &[]);
            match self.cleaner {
                Some(_) => {
                    let mut cleaner = Cleaner::new();
                    cleaner.push(&held, &mut |settled: &[u8]| text.extend_from_slice(settled));
                    text.extend(cleaner.pending());
                }
                None => text.extend(held),
            }
        }
        self.redactor.pending(&self.mask, &text)
    }

    /// Redacts a text that is no output. A value cut short by `…` is redacted too.
    pub fn mask(&self, text: impl Into<String>) -> String {
        let text = text.into();
        self.mask.sentence(&text).unwrap_or(text)
    }

    /// Redacts and cleans a whole text. It may be a part of something longer, so pieces of values at its edges are
    /// hidden too.
    pub fn show(mut self, raw: &[u8]) -> Vec<u8> {
        let mut text = clean(self.cleaner.as_deref_mut(), raw);
        text.extend(self.cleaner.as_ref().map(|cleaner| cleaner.pending()).unwrap_or_default());
        self.mask.apply(&text, Edges::Both).unwrap_or(text)
    }

    /// Redacts and cleans a part of something longer. A value that is only partly in `raw` is hidden.
    pub fn show_part(self, before: &[u8], raw: &[u8], after: &[u8]) -> Vec<u8> {
        let shown = before.len()..before.len() + raw.len();
        let raw = self.mask.cut(&[before, raw, after].concat(), shown, Edges::Both);
        self.show(&raw)
    }

    /// Returns a writer that redacts everything that goes through it, and changes nothing else. `before` is as for
    /// [`behind`](Self::behind).
    pub fn writer<W: Write>(&self, to: W, before: Vec<u8>) -> RedactingWriter<W> {
        RedactingWriter { to, mask: Arc::clone(&self.mask), redactor: StreamRedactor::behind(before), taken: 0 }
    }
}

fn clean(cleaner: Option<&mut Cleaner>, raw: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    match cleaner {
        Some(cleaner) => cleaner.push(raw, &mut |settled: &[u8]| text.extend_from_slice(settled)),
        None => text.extend_from_slice(raw),
    }
    text
}

/// Redacts everything that is written to it. Holds back the end until [`finish`](Self::finish), because it may begin a
/// withheld value.
#[derive(Debug)]
pub struct RedactingWriter<W> {
    to: W,
    mask: Arc<Mask>,
    redactor: StreamRedactor,
    taken: u64,
}

impl<W: Write> RedactingWriter<W> {
    /// Number of bytes written to it, before redaction.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Writes the rest. `after` comes after it, and is not shown.
    pub fn finish(mut self, after: &[u8]) -> io::Result<()> {
        let rest = self.redactor.finish(&self.mask, after);
        self.to.write_all(&rest)?;
        self.to.flush()
    }
}

impl<W: Write> Write for RedactingWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let settled = self.redactor.push(&self.mask, bytes);
        self.to.write_all(&settled)?;
        self.taken += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}
