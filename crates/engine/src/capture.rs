//! Takes what a command writes on one stream: counts it, keeps what is to be shown, and saves the whole when it is too much.
//!
//! ```text
//! raw bytes ──┬─▶ counted
//!             ├─▶ held, and from the first overflow on written to an artifact
//!             └─▶ cleaned for the eyes ─▶ window ─▶ clip
//! ```
//!
//! Invariant: memory held is bounded, whatever comes, and nothing that happens to the artifact touches the rest.

pub(crate) mod aside;

use std::fs::File;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::artifacts::{ArtifactFacts, ArtifactStore, ArtifactWriter};
use crate::clean::{Cleaner, Settled};
use crate::cluster;
use crate::last_lines::{LastOfFirst, Total};
use crate::mask::{Edges, Mask};
use crate::outcome::Output;
use crate::running::OutputForm;
use crate::units::ByteSize;
use crate::window::{Clip, View, Window};
use aside::WriterThread;

/// So many raw bytes are held in memory before they go to an artifact. Progress bars write far more than what is left of
/// them to show.
const HELD: usize = 256 * 1024;

/// An artifact of more bytes is written by a thread of its own. Starting one takes as long as writing some 100 KiB.
const LONG: u64 = 4 << 20;

/// Notices of a reply need up to this much of its limit. Output that leaves less gets a second, smaller clip.
const ROOM_FOR_NOTICES: ByteSize = ByteSize::kib(4);

/// How what is shown differs from what was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cleaning {
    /// Escape sequences are removed, redrawn lines folded to their last state, control characters dropped.
    ForEyes,
    /// Not at all.
    None,
}

/// One stream of a command.
pub(crate) struct Capture {
    bytes: u64,
    cleaner: Option<Cleaner>,
    view: View,
    /// Lines of more columns than this are shortened in what is shown.
    columns: Option<usize>,
    /// The lines that `head` and then `tail` leave; none if not both are limits.
    last_of_first: Option<LastOfFirst>,
    /// The form in which a listener hears the output; none if nobody listens.
    told: Option<OutputForm>,
    /// More raw bytes than this go to an artifact, also while all of the text is shown.
    save_beyond: usize,
    whole: Whole,
    /// False once the system has refused a thread.
    may_write_aside: bool,
}

/// A file that others may go on writing to.
pub(crate) struct HandedOver<'a> {
    pub(crate) file: &'a File,
    pub(crate) path: &'a Path,
    /// So much of it is kept.
    pub(crate) at_most: u64,
    /// What is missing in its middle.
    pub(crate) gap: Range<u64>,
}

/// Hears output as it comes.
type Listener<'a> = dyn FnMut(&[u8]) + 'a;

/// Where settled text goes.
struct ShownAndTold<'a, 'b> {
    view: &'a mut View,
    last_of_first: Option<&'a mut LastOfFirst>,
    listener: Option<&'a mut Listener<'b>>,
}

impl Settled for ShownAndTold<'_, '_> {
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

/// The part of a text that is shown.
struct ClippedOutput {
    clip: Clip,
    /// Lines that lack their end.
    shortened: u64,
}

/// Where the raw bytes are.
enum Whole {
    /// All of them in memory, so far.
    Held { store: Option<Arc<ArtifactStore>>, bytes: Vec<u8> },
    /// In a file.
    Saved(ArtifactWriter),
    /// On their way to a file.
    Saving(WriterThread),
    /// Not kept, and this is why.
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
            told: None,
            save_beyond: HELD,
            whole: Whole::Held { store, bytes: Vec::new() },
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

    /// Saves more than so many bytes, because whoever shows them may have to show less.
    pub(crate) fn save_beyond(mut self, bytes: Option<ByteSize>) -> Self {
        self.save_beyond = bytes.map_or(HELD, |bytes| bytes.in_memory().min(HELD));
        self
    }

    /// A listener hears the output from now on, in this form.
    pub(crate) fn tell(&mut self, form: OutputForm) {
        self.told = Some(form);
    }

    /// Takes what has arrived, and tells a listener, if there is one, the text that it settled, or the bytes as they are.
    #[cfg(test)]
    pub(crate) fn push(&mut self, raw: &[u8], listener: &mut dyn FnMut(&[u8])) {
        self.push_buffer(&mut raw.to_vec(), raw.len(), listener);
    }

    /// Takes what has arrived at the beginning of a buffer, and tells a listener, if there is one, the text that it settled,
    /// or the bytes as they are. The buffer may be another one of the same size afterwards.
    pub(crate) fn push_buffer(&mut self, buffer: &mut Vec<u8>, length: usize, listener: &mut dyn FnMut(&[u8])) {
        self.show(&buffer[..length], listener);
        match &mut self.whole {
            Whole::Saving(thread) => thread.push_buffer(buffer, length),
            _ => self.save(&buffer[..length]),
        }
    }

    fn show(&mut self, raw: &[u8], listener: &mut dyn FnMut(&[u8])) {
        self.bytes += raw.len() as u64;
        if self.told == Some(OutputForm::Raw) {
            listener(raw);
        }
        let listener = (self.told == Some(OutputForm::Text)).then_some(listener);
        let mut shown = ShownAndTold { view: &mut self.view, last_of_first: self.last_of_first.as_mut(), listener };
        match &mut self.cleaner {
            Some(cleaner) => cleaner.push(raw, &mut shown),
            None => shown.text(raw),
        }
    }

    fn save(&mut self, raw: &[u8]) {
        match &mut self.whole {
            Whole::Held { bytes, .. } => {
                bytes.extend_from_slice(raw);
                if bytes.len() > self.save_beyond || !self.view.is_whole() {
                    self.open();
                }
            }
            Whole::Saved(writer) => {
                // What went wrong is in its facts; the command goes on.
                let is_right = writer.push(raw).is_ok();
                if is_right && writer.written() >= LONG {
                    self.write_aside();
                }
            }
            Whole::Saving(thread) => thread.push(raw),
            Whole::NotSaved(_) => {}
        }
    }

    /// Lets a thread write the rest, if there is one to be had.
    fn write_aside(&mut self) {
        if !self.may_write_aside {
            return;
        }
        self.whole = match std::mem::replace(&mut self.whole, Whole::NotSaved(String::new())) {
            Whole::Saved(writer) => match WriterThread::start(writer) {
                Ok(thread) => Whole::Saving(thread),
                Err(writer) => {
                    self.may_write_aside = false;
                    Whole::Saved(*writer)
                }
            },
            other => other,
        };
    }

    /// Waits until all bytes are in the file.
    fn finish_writing(&mut self) {
        self.whole = match std::mem::replace(&mut self.whole, Whole::NotSaved(String::new())) {
            Whole::Saving(thread) => Whole::Saved(thread.finish()),
            other => other,
        };
    }

    /// Moves what is held to a file.
    fn open(&mut self) {
        let Whole::Held { store, bytes } = &mut self.whole else { return };
        let held = std::mem::take(bytes);
        self.whole = match store.take().map(|store| store.create()) {
            None => Whole::NotSaved("there is no place for artifacts".to_owned()),
            Some(Err(error)) => {
                tracing::warn!(%error, "no artifact");
                Whole::NotSaved(with_cause(&error))
            }
            Some(Ok(mut writer)) => {
                drop(writer.push(&held));
                Whole::Saved(writer)
            }
        };
    }

    /// The unfinished last line, which listeners have not heard yet.
    pub(crate) fn untold(&self) -> Vec<u8> {
        self.cleaner.as_ref().filter(|_| self.told == Some(OutputForm::Text)).map(Cleaner::pending).unwrap_or_default()
    }

    /// How many bytes were written.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// How many lines were written; a last one without its newline counts.
    pub(crate) fn lines(&self) -> u64 {
        self.finished_view().lines()
    }

    /// How many lines have come to their end.
    pub(crate) fn ended_lines(&self) -> u64 {
        self.view.ended_lines()
    }

    /// The newest text, at most so many bytes, without withheld values.
    pub(crate) fn newest(&self, at_most: usize, mask: &Mask) -> Vec<u8> {
        let view = self.finished_view();
        let newest = view.newest(at_most);
        let edges = if newest.len() as u64 == view.bytes() { Edges::End } else { Edges::Both };
        mask.apply(&newest, edges).unwrap_or(newest)
    }

    /// The stream as it is now, redacted, with at most `at_most` bytes of text. The raw bytes go to a file unless the clip
    /// shows all of them.
    pub(crate) fn output(&mut self, mask: &Mask, at_most: ByteSize) -> Output {
        self.finish_writing();
        let view = self.finished_view();
        let ClippedOutput { clip, shortened } = self.shown(&view, mask, at_most);
        let spare = at_most.0 - clip.text_bytes();
        let room = ROOM_FOR_NOTICES.0.min(at_most.0 / 8);
        let narrower = (spare < room).then(|| self.shown(&view, mask, ByteSize(at_most.0 - room)).clip);
        let may_be_shown_less = clip.text_bytes() > self.save_beyond as u64;
        if shortened > 0 || narrower.is_some() || may_be_shown_less || matches!(clip, Clip::Cut { .. }) {
            self.open();
        }
        Output {
            clip,
            narrower,
            limit: at_most,
            wanted: None,
            shortened,
            changes: self.cleaner.as_ref().map(Cleaner::changes).unwrap_or_default(),
            bytes: self.bytes,
            lines: view.lines(),
            text_bytes: view.bytes(),
            artifact: self.artifact(),
            not_saved: match &self.whole {
                Whole::NotSaved(why) => Some(why.clone()),
                Whole::Saved(writer) => writer.facts().error,
                Whole::Held { .. } | Whole::Saving(_) => None,
            },
        }
    }

    /// The clip of at most `at_most` bytes. Redaction and U+FFFD make text longer than the bytes it came from, so the
    /// window is scaled down until the text fits.
    fn shown(&self, view: &View, mask: &Mask, at_most: ByteSize) -> ClippedOutput {
        let last_of_first = self.finished_last_of_first();
        let widest = last_of_first.as_ref().map_or_else(|| view.window(), LastOfFirst::window);
        let total = Total { bytes: view.bytes(), lines: view.lines() };
        let mut window = widest;
        loop {
            let mut clip = match &last_of_first {
                Some(lines) => lines.clip_to(window, total, mask),
                None => masked(view.clip_to(window), mask),
            };
            let is_whole = matches!(clip, Clip::Whole(_)) && window == widest;
            let shortened = self.columns.map_or(0, |columns| shorten(&mut clip, columns));
            let got = clip.text_bytes();
            if got <= at_most.0 {
                return ClippedOutput { clip, shortened };
            }
            window = if is_whole { window.without_whole() } else { window.scaled(at_most.0, got) };
        }
    }

    /// The file that all of it is in already, and what others need to know who go on writing to it. None while a thread writes:
    /// [`save_now`](Self::save_now) and [`output`](Self::output) wait for that.
    pub(crate) fn file(&self) -> Option<HandedOver<'_>> {
        match &self.whole {
            // Behind a part that could not be written, what others append would stand at the wrong place.
            Whole::Saved(writer) if writer.facts().error.is_none() => Some(HandedOver {
                file: writer.file(),
                path: writer.path(),
                at_most: writer.limit(),
                gap: writer.gap(),
            }),
            Whole::Saving(_) => {
                debug_assert!(false, "nobody asks for the file before all of it is written");
                None
            }
            Whole::Saved(_) | Whole::Held { .. } | Whole::NotSaved(_) => None,
        }
    }

    /// All of it, while it is in memory.
    pub(crate) fn held(&self) -> Option<&[u8]> {
        match &self.whole {
            Whole::Held { bytes, .. } => Some(bytes),
            Whole::Saved(_) | Whole::Saving(_) | Whole::NotSaved(_) => None,
        }
    }

    /// Moves it to an artifact, if it is not in one yet and can be, and waits until all of it is there.
    pub(crate) fn save_now(&mut self) {
        self.open();
        self.finish_writing();
    }

    /// Gives back what was reserved on disk: from now on others write to the file.
    pub(crate) fn reserve_no_more(&mut self) {
        self.finish_writing();
        if let Whole::Saved(writer) = &mut self.whole {
            writer.reserve_no_more();
        }
    }

    /// The size of its artifact on disk, in bytes; none if it has no artifact.
    pub(crate) fn saved_on_disk(&self) -> Option<u64> {
        match &self.whole {
            Whole::Saved(writer) => Some(writer.on_disk()),
            Whole::Held { .. } | Whole::Saving(_) | Whole::NotSaved(_) => None,
        }
    }

    fn artifact(&self) -> Option<ArtifactFacts> {
        match &self.whole {
            Whole::Saved(writer) => Some(writer.facts()),
            Whole::Held { .. } | Whole::Saving(_) | Whole::NotSaved(_) => None,
        }
    }

    /// The view as it would be if nothing more came.
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

/// Shortens the lines that are shown, and tells how many there were. After masking, so that no value is cut in two.
fn shorten(clip: &mut Clip, columns: usize) -> u64 {
    let apply = |bytes: &mut Vec<u8>| {
        cluster::shorten(bytes, columns).map_or(0, |(short, count)| {
            *bytes = short;
            count
        })
    };
    match clip {
        Clip::Whole(bytes) => apply(bytes),
        Clip::Cut { head, tail, .. } => apply(&mut head.bytes) + apply(&mut tail.bytes),
    }
}

/// An error and its cause: who reads that something was not saved wants to know why.
fn with_cause(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(cause) => format!("{error}: {cause}"),
        None => error.to_string(),
    }
}

fn masked(mut clip: Clip, mask: &Mask) -> Clip {
    let apply = |bytes: &mut Vec<u8>, edges| {
        if let Some(masked) = mask.apply(bytes, edges) {
            *bytes = masked;
        }
    };
    match &mut clip {
        Clip::Whole(bytes) => apply(bytes, Edges::None),
        Clip::Cut { head, tail, .. } => {
            apply(&mut head.bytes, Edges::End);
            apply(&mut tail.bytes, Edges::Begin);
        }
    }
    clip
}

#[cfg(test)]
mod tests;
