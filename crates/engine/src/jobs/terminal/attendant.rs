//! Keeps the screen of a job up to date, and answers the questions that programs ask their terminal.
//!
//! The keeper writes every byte to the job's output first. The attendant reads that file: it is never in the way of the output,
//! and it may fall behind. Then it skips to the newest part, and the screen says so.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bashful_screen::{Budget, Screen};
use tokio::sync::watch;

use super::sizes::Sizes;
use super::{Progress, Shared};
use crate::jobs::{Follow, Followed};
use crate::terminal::CommandTerminal;

/// An attendant that is further behind skips output.
const BEHIND_AT_MOST: u64 = 1024 * 1024;

/// The part that is drawn after output was skipped. Full-screen programs draw everything anew in far less.
const DRAWN_AFTER_SKIP: u64 = 256 * 1024;

/// Answers that may not be given yet are tried again after this time.
const ANSWER_AGAIN: Duration = Duration::from_millis(100);

/// Follows the output of one job to its end.
pub(super) struct Attendant {
    follow: Follow,
    sizes: Sizes,
    shared: Arc<Shared>,
    progress: watch::Sender<Progress>,
    /// Gets the answers, if this attendant is the one that answers.
    answers_to: Option<CommandTerminal>,
    /// Questions before this offset were asked before this attendant came, and are not answered any more.
    answers_from: u64,
    /// Output was skipped: the next byte may be in the middle of a sequence.
    resumes: bool,
}

impl Attendant {
    pub(super) fn new(
        follow: Follow,
        sizes: Sizes,
        shared: Arc<Shared>,
        progress: watch::Sender<Progress>,
        answers_to: Option<CommandTerminal>,
        answers_from: u64,
    ) -> Self {
        let resumes = follow.offset() > 0;
        Self { follow, sizes, shared, progress, answers_to, answers_from, resumes }
    }

    /// Runs until the job has ended or its output cannot be read.
    pub(super) async fn run(mut self) {
        loop {
            let answers_wait = self.shared.screen().has_answers();
            let followed = tokio::select! {
                followed = self.follow.next() => followed,
                () = tokio::time::sleep(ANSWER_AGAIN), if answers_wait => {
                    self.answer(u64::MAX);
                    continue;
                }
            };
            match followed {
                Ok(Followed::Output { offset, bytes }) => self.draw(offset, &bytes).await,
                Ok(Followed::Missing(gap)) => self.skip(gap.range.end - gap.range.start),
                Ok(Followed::Over(_)) | Err(_) => {
                    // Whoever waits reads the job's record for the reason.
                    self.progress.send_modify(|progress| progress.is_over = true);
                    return;
                }
            }
        }
    }

    /// Draws a piece of output that begins at this offset, in the sizes that hold for it.
    async fn draw(&mut self, offset: u64, bytes: &[u8]) {
        self.sizes.refresh();
        let mut rest = bytes;
        if std::mem::take(&mut self.resumes) {
            // A sequence, or a line, begins here.
            let start = bytes.iter().position(|byte| matches!(byte, b'\x1b' | b'\n')).unwrap_or(bytes.len());
            rest = &bytes[start..];
        }
        let mut at = offset + (bytes.len() - rest.len()) as u64;
        while !rest.is_empty() {
            let until_change = self.sizes.next_change(at).map_or(u64::MAX, |change| change - at);
            let length = usize::try_from(until_change).map_or(rest.len(), |until| rest.len().min(until));
            let consumed = {
                let mut screen = self.shared.screen();
                screen.resize(self.sizes.at(at));
                screen.feed(&rest[..length], Budget::default()).consumed
            };
            at += consumed as u64;
            rest = &rest[consumed..];
            if self.is_far_behind() {
                // A cancelled sequence has no effect, and lets the screen forget what it shows.
                self.shared.screen().skip(if rest.is_empty() { b"\x18" } else { rest });
                self.resumes = true;
                let before = self.follow.offset();
                self.follow.skip_to_newest(DRAWN_AFTER_SKIP);
                self.skip(self.follow.offset() - before);
                return;
            }
            // Other commands of this thread come first: drawing is never urgent.
            tokio::task::yield_now().await;
        }
        // A size that was changed behind the last byte.
        self.sizes.refresh();
        self.shared.screen().resize(self.sizes.at(at));
        self.answer(at);
        self.tell(at);
    }

    fn is_far_behind(&self) -> bool {
        self.follow.length() > self.follow.offset() + BEHIND_AT_MOST
    }

    /// Notes that so many bytes are not drawn.
    fn skip(&mut self, bytes: u64) {
        self.shared.add_skipped(bytes);
        self.shared.screen().resize(self.sizes.last());
        self.tell(self.follow.offset());
    }

    fn tell(&self, offset: u64) {
        self.progress.send_modify(|progress| {
            progress.drawn_to = offset;
            progress.last_output = Instant::now();
        });
    }

    /// Types the screen's answers, if they are to questions that were asked since this attendant came.
    fn answer(&self, offset: u64) {
        let answers = self.shared.screen().take_answers(Instant::now());
        if let Some(terminal) = &self.answers_to
            && offset > self.answers_from
            && !answers.is_empty()
        {
            // A program that does not read its input waits for no answer.
            let _ = terminal.type_now(&answers);
        }
    }
}

/// A screen of this size.
pub(super) fn blank(sizes: &Sizes, offset: u64) -> Screen {
    Screen::new(sizes.at(offset))
}
