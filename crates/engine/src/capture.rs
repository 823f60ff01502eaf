//! Captures one stream of a command: counts its bytes, keeps the part to show, and saves the whole in an artifact if it
//! is too long.
//!
//! ```text
//! raw bytes ──┬─▶ counted
//!             ├─▶ held, and from the first overflow on written to an artifact
//!             └─▶ cleaned for the eyes ─▶ window ─▶ clip
//! ```
//!
//! Invariant: memory is bounded, whatever comes, and a failure of the artifact affects nothing else.

pub(crate) mod aside;
mod complete_text;

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::artifacts::{ArtifactFacts, ArtifactStore, ArtifactWriter};
use crate::clean::{Cleaner, Settled};
use crate::condensing::ShorterText;
use crate::last_lines::LastOfFirst;
use crate::mask::{Edges, Mask};
use crate::outcome::{CondensedOutput, Output};
use crate::running::OutputForm;
use crate::units::ByteSize;
use crate::window::{Budget, Clip, View, Window};
use aside::WriterThread;
use complete_text::{ClippedOutput, CompleteText};

/// Raw bytes held in memory before they go to an artifact. Progress bars write far more than the text that is left of
/// them.
const HELD_IN_MEMORY: usize = 256 * 1024;

/// An artifact of more bytes than this is written by a thread of its own. Starting one takes as long as writing some
/// 100 KiB.
const THREAD_FROM: u64 = 4 << 20;

/// Part of a reply's limit that its notices may need. Output that leaves less gets a second, smaller clip.
const ROOM_FOR_NOTICES: ByteSize = ByteSize::kib(4);

/// Difference between the shown text and the raw output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleaning {
    /// Escape sequences are removed, redrawn lines are reduced to their last state, and control characters are dropped.
    ForEyes,
    /// Nothing is removed.
    None,
}

/// One stream of a command.
pub(crate) struct Capture {
    bytes: u64,
    cleaner: Option<Cleaner>,
    view: View,
    /// Longest line that is shown, in columns; longer ones are shortened.
    columns: Option<usize>,
    /// The lines that `head` and then `tail` leave; none if not both are limits.
    last_of_first: Option<LastOfFirst>,
    /// Size of the largest text that may be condensed.
    condense_within: Option<Budget>,
    /// The text that is shown in place of the output.
    condensed: Option<ShorterText>,
    /// Form in which a listener gets the output; none without a listener.
    listener_form: Option<OutputForm>,
    /// Raw bytes beyond which an artifact is written, even while all of the text is shown.
    save_beyond: usize,
    raw: RawBytes,
    /// False once the system has refused a thread.
    may_write_aside: bool,
}

/// A file that another process may continue to write to.
pub(crate) struct ContinuedFile<'a> {
    pub(crate) file: &'a File,
    pub(crate) path: &'a Path,
    /// Limit on the file, in bytes.
    pub(crate) at_most: u64,
    /// Byte range that is missing in the middle.
    pub(crate) gap: Range<u64>,
}

/// Gets output as it comes.
type Listener<'a> = dyn FnMut(&[u8]) + 'a;

/// Destinations of finished text: the view, and a listener.
struct ViewAndListener<'a, 'b> {
    view: &'a mut View,
    last_of_first: Option<&'a mut LastOfFirst>,
    listener: Option<&'a mut Listener<'b>>,
}

impl Settled for ViewAndListener<'_, '_> {
    fn text(&mut self, text: &[u8]) {
        self.view.push(text);
        if let Some(lines) = &mut self.last_of_first {
            lines.push(text);
        }
        if let Some(listener) = &mut self.listener {
            listener(text);
        }
    }

    fn repeated(&mut self, three: [u8; 3], times: usize) {
        self.view.push_repeated(three, times);
        if let Some(lines) = &mut self.last_of_first {
            lines.push_repeated(three, times);
        }
        if let Some(listener) = &mut self.listener {
            listener.repeated(three, times);
        }
    }
}

/// Place of the raw bytes.
enum RawBytes {
    /// All bytes are in memory, so far.
    Held { store: Option<Arc<ArtifactStore>>, bytes: Vec<u8> },
    /// All bytes are in a file.
    Saved(ArtifactWriter),
    /// A thread is writing the bytes to a file.
    Saving(WriterThread),
    /// No bytes are kept, for this reason.
    NotSaved(String),
}

impl Capture {
    pub(crate) fn new(window: Window, cleaning: Cleaning, store: Option<Arc<ArtifactStore>>) -> Self {
        Self {
            bytes: 0,
            cleaner: (cleaning == Cleaning::ForEyes).then(Cleaner::new),
            view: View::new(window),
            columns: window.columns,
            last_of_first: None,
            condense_within: None,
            condensed: None,
            listener_form: None,
            save_beyond: HELD_IN_MEMORY,
            raw: RawBytes::Held { store, bytes: Vec::new() },
            may_write_aside: true,
        }
    }

    /// Shows the last of the first lines, as `head` and then `tail` would.
    pub(crate) fn only_last_of_first(mut self, lines: Option<LastOfFirst>) -> Self {
        self.last_of_first = lines;
        self
    }

    /// Redacts a line before it is redrawn over a withheld value.
    pub(crate) fn redacting(mut self, mask: &Arc<Mask>) -> Self {
        self.cleaner = self.cleaner.take().map(|cleaner| cleaner.redacting(mask));
        self
    }

    /// Saves output of more than so many bytes, because the caller may have to show less.
    pub(crate) fn save_beyond(mut self, bytes: Option<ByteSize>) -> Self {
        self.save_beyond = bytes.map_or(HELD_IN_MEMORY, |bytes| bytes.in_memory().min(HELD_IN_MEMORY));
        self
    }

    /// Keeps all of a text of at most this size, because it may be condensed.
    pub(crate) fn condense_within(mut self, at_most: Option<Budget>) -> Self {
        self.condense_within = at_most;
        self.view = self.view.holding(at_most.map_or(0, |most| most.bytes.in_memory()));
        self
    }

    /// Passes the output on to a listener from now on, in this form.
    pub(crate) fn set_listener(&mut self, form: OutputForm) {
        self.listener_form = Some(form);
    }

    /// Captures bytes, and passes them on to the listener, if there is one.
    pub(crate) fn push(&mut self, raw: &[u8], listener: &mut dyn FnMut(&[u8])) {
        self.push_buffer(&mut raw.to_vec(), raw.len(), listener);
    }

    /// Captures the first `length` bytes of a buffer, and passes finished text or raw bytes on to the listener. The
    /// buffer may be another one of the same size afterwards.
    pub(crate) fn push_buffer(&mut self, buffer: &mut Vec<u8>, length: usize, listener: &mut dyn FnMut(&[u8])) {
        self.show(&buffer[..length], listener);
        match &mut self.raw {
            RawBytes::Saving(thread) => thread.push_buffer(buffer, length),
            _ => self.save(&buffer[..length]),
        }
    }

    fn show(&mut self, raw: &[u8], listener: &mut dyn FnMut(&[u8])) {
        self.bytes += raw.len() as u64;
        if self.listener_form == Some(OutputForm::Raw) {
            listener(raw);
        }
        let listener = (self.listener_form == Some(OutputForm::Text)).then_some(listener);
        let mut shown = ViewAndListener { view: &mut self.view, last_of_first: self.last_of_first.as_mut(), listener };
        match &mut self.cleaner {
            Some(cleaner) => cleaner.push(raw, &mut shown),
            None => shown.text(raw),
        }
    }

    fn save(&mut self, raw: &[u8]) {
        match &mut self.raw {
            RawBytes::Held { bytes, .. } => {
                bytes.extend_from_slice(raw);
                if bytes.len() > self.save_beyond || !self.view.is_whole() {
                    self.open_artifact();
                }
            }
            RawBytes::Saved(writer) => {
                // The facts of the artifact contain the error; the command continues.
                let is_right = writer.push(raw).is_ok();
                if is_right && writer.written() >= THREAD_FROM {
                    self.move_to_thread();
                }
            }
            RawBytes::Saving(thread) => thread.push(raw),
            RawBytes::NotSaved(_) => {}
        }
    }

    /// Moves the writing to a thread, if the system allows one.
    fn move_to_thread(&mut self) {
        if !self.may_write_aside {
            return;
        }
        self.raw = match std::mem::replace(&mut self.raw, RawBytes::NotSaved(String::new())) {
            RawBytes::Saved(writer) => match WriterThread::start(writer) {
                Ok(thread) => RawBytes::Saving(thread),
                Err(writer) => {
                    self.may_write_aside = false;
                    RawBytes::Saved(*writer)
                }
            },
            other => other,
        };
    }

    /// Waits until all bytes are in the file.
    fn finish_writing(&mut self) {
        self.raw = match std::mem::replace(&mut self.raw, RawBytes::NotSaved(String::new())) {
            RawBytes::Saving(thread) => RawBytes::Saved(thread.finish()),
            other => other,
        };
    }

    /// Moves the held bytes to an artifact.
    fn open_artifact(&mut self) {
        let RawBytes::Held { store, bytes } = &mut self.raw else { return };
        let held = std::mem::take(bytes);
        self.raw = match store.take().map(|store| store.create()) {
            None => RawBytes::NotSaved("the engine has no store for artifacts".to_owned()),
            Some(Err(error)) => {
                tracing::warn!(%error, "no artifact");
                RawBytes::NotSaved(with_cause(&error))
            }
            Some(Ok(mut writer)) => {
                drop(writer.push(&held));
                RawBytes::Saved(writer)
            }
        };
    }

    /// The unfinished last line, which listeners have not got yet.
    pub(crate) fn unfinished_line(&self) -> Vec<u8> {
        self.cleaner
            .as_ref()
            .filter(|_| self.listener_form == Some(OutputForm::Text))
            .map(Cleaner::pending)
            .unwrap_or_default()
    }

    /// Number of raw bytes so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Number of lines so far; a last one without a newline counts.
    pub(crate) fn lines(&self) -> u64 {
        self.finished_view().lines()
    }

    /// Number of lines that have ended with a newline.
    pub(crate) fn ended_lines(&self) -> u64 {
        self.view.ended_lines()
    }

    /// The newest text, redacted, of at most this many bytes.
    pub(crate) fn newest(&self, at_most: usize, mask: &Mask) -> Vec<u8> {
        let view = self.finished_view();
        let newest = view.newest(at_most);
        let edges = if newest.len() as u64 == view.bytes() { Edges::End } else { Edges::Both };
        mask.apply(&newest, edges).unwrap_or(newest)
    }

    /// The output so far, redacted, with at most `at_most` bytes of text. The raw bytes go to an artifact unless the
    /// clip shows all of them.
    pub(crate) fn output(&mut self, mask: &Mask, at_most: ByteSize) -> Output {
        self.finish_writing();
        let raw = CompleteText {
            view: self.finished_view(),
            last_of_first: self.finished_last_of_first(),
            columns: self.columns,
        };
        let condensed = self.condensed.as_ref().map(|shorter| raw.replaced(shorter.text.as_bytes()));
        let clip_within = |at_most| match &condensed {
            // It was made of redacted text.
            Some(text) => text.clip_within(&Mask::default(), at_most),
            None => raw.clip_within(mask, at_most),
        };
        let ClippedOutput { clip, shortened } = clip_within(at_most);
        let spare = at_most.0 - clip.text_bytes();
        let room = ROOM_FOR_NOTICES.0.min(at_most.0 / 8);
        let narrower = (spare < room).then(|| clip_within(ByteSize(at_most.0 - room)).clip);
        let condensed = self.condensed.as_ref().zip(condensed).map(|(shorter, text)| CondensedOutput {
            account: shorter.account.clone(),
            filters: shorter.filters.clone(),
            families: shorter.families.clone(),
            lines: text.view.lines(),
            text_bytes: text.view.bytes(),
            shown_otherwise: raw.clip_within(mask, at_most).clip.text_bytes(),
        });
        let may_be_shown_less = clip.text_bytes() > self.save_beyond as u64;
        if shortened > 0 || narrower.is_some() || may_be_shown_less || matches!(clip, Clip::Cut { .. }) {
            self.open_artifact();
        }
        Output {
            clip,
            narrower,
            limit: at_most,
            wanted: None,
            shortened,
            changes: self.cleaner.as_ref().map(Cleaner::changes).unwrap_or_default(),
            bytes: self.bytes,
            lines: raw.view.lines(),
            text_bytes: raw.view.bytes(),
            condensed,
            artifact: self.artifact(),
            not_saved: match &self.raw {
                RawBytes::NotSaved(why) => Some(why.clone()),
                RawBytes::Saved(writer) => writer.facts().error,
                RawBytes::Held { .. } | RawBytes::Saving(_) => None,
            },
        }
    }

    /// Shows the text that `shorten` makes of the whole output, if it makes one and the raw bytes can be saved first.
    pub(crate) fn condense(&mut self, mask: &Mask, shorten: impl FnOnce(&str) -> Option<ShorterText>) {
        if let Some(shorter) = self.whole_text(mask).and_then(|text| shorten(&text))
            && self.save_whole()
        {
            self.condensed = Some(shorter);
        }
    }

    /// All of the text, redacted; none if it is too long to be condensed, or binary. Redaction comes first: a value of
    /// several lines would not be found in a text that lacks some of them.
    fn whole_text(&self, mask: &Mask) -> Option<String> {
        let at_most = self.condense_within?;
        let view = self.finished_view();
        let is_binary = self.cleaner.as_ref().is_some_and(|cleaner| cleaner.changes().nuls > 0);
        let is_short = at_most.holds(view.bytes(), view.lines());
        let text = view.everything().filter(|text| is_short && !is_binary && !text.contains(&0))?;
        String::from_utf8(mask.apply(&text, Edges::None).unwrap_or(text)).ok()
    }

    /// Saves all raw bytes in an artifact. False if it lacks any of them; bytes that were in memory then still are.
    fn save_whole(&mut self) -> bool {
        self.finish_writing();
        if let RawBytes::Held { store, bytes } = &self.raw {
            let Some(mut writer) = store.as_ref().and_then(|store| store.create().ok()) else { return false };
            if writer.push(bytes).is_err() {
                let id = writer.id();
                drop(writer);
                // A sweep removes what cannot be removed now.
                let _ = store.as_ref().map(|store| store.remove(id));
                return false;
            }
            self.raw = RawBytes::Saved(writer);
        }
        self.artifact().is_some_and(|artifact| artifact.error.is_none() && artifact.missing.is_empty())
    }

    /// The file that has all raw bytes, for another process to continue. None while a thread writes:
    /// [`save_now`](Self::save_now) and [`output`](Self::output) wait for it.
    pub(crate) fn file(&self) -> Option<ContinuedFile<'_>> {
        match &self.raw {
            // After a failed write, appended bytes would be at the wrong offset.
            RawBytes::Saved(writer) if writer.can_be_continued() => Some(ContinuedFile {
                file: writer.file(),
                path: writer.path(),
                at_most: writer.limit(),
                gap: writer.gap(),
            }),
            RawBytes::Saving(_) => {
                debug_assert!(false, "nobody asks for the file before all of it is written");
                None
            }
            RawBytes::Saved(_) | RawBytes::Held { .. } | RawBytes::NotSaved(_) => None,
        }
    }

    /// All raw bytes, while they are in memory.
    pub(crate) fn bytes_in_memory(&self) -> Option<&[u8]> {
        match &self.raw {
            RawBytes::Held { bytes, .. } => Some(bytes),
            RawBytes::Saved(_) | RawBytes::Saving(_) | RawBytes::NotSaved(_) => None,
        }
    }

    /// Moves the bytes to an artifact, if they are in none and one can be created, and waits until all of them are
    /// there.
    pub(crate) fn save_now(&mut self) {
        self.open_artifact();
        self.finish_writing();
    }

    /// Prepares the file for another process to write to from now on.
    pub(crate) fn make_way(&mut self) {
        self.finish_writing();
        if let RawBytes::Saved(writer) = &mut self.raw {
            writer.make_way();
        }
    }

    /// Size of the artifact on disk, in bytes; none without an artifact.
    pub(crate) fn saved_on_disk(&self) -> Option<u64> {
        match &self.raw {
            RawBytes::Saved(writer) => Some(writer.on_disk()),
            RawBytes::Held { .. } | RawBytes::Saving(_) | RawBytes::NotSaved(_) => None,
        }
    }

    fn artifact(&self) -> Option<ArtifactFacts> {
        match &self.raw {
            RawBytes::Saved(writer) => Some(writer.facts()),
            RawBytes::Held { .. } | RawBytes::Saving(_) | RawBytes::NotSaved(_) => None,
        }
    }

    /// The view with the unfinished last line.
    fn finished_view(&self) -> View {
        let mut view = self.view.clone();
        if let Some(cleaner) = &self.cleaner {
            view.push(&cleaner.pending());
        }
        view
    }

    /// The last of the first lines as they would be if nothing more came.
    fn finished_last_of_first(&self) -> Option<LastOfFirst> {
        let mut lines = self.last_of_first.clone()?;
        if let Some(cleaner) = &self.cleaner {
            lines.push(&cleaner.pending());
        }
        Some(lines)
    }
}

/// The error with its cause, for a reader who learns that output was not saved.
fn with_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

#[cfg(test)]
mod tests;
