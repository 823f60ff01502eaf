//! Keeps the screen of a job up to date, and answers the questions that programs ask their terminal.
//!
//! The keeper writes every byte to the job's output first. The attendant reads that file: it is never in the way of the output,
//! and it may fall behind. Then it skips to the newest part, and the screen says so.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bashful_keeper::protocol::Report;
use bashful_screen::{Budget, Screen};
use tokio::sync::watch;

use super::sizes::Sizes;
use super::{Progress, Shared};
use crate::connection::Connection;
use crate::jobs::{Follow, Followed};
use crate::terminal::CommandTerminal;

/// An attendant that is further behind skips output.
const BEHIND_AT_MOST: u64 = 1024 * 1024;

/// The part that is drawn after output was skipped. Full-screen programs draw everything anew in far less.
const DRAWN_AFTER_SKIP: u64 = 256 * 1024;

/// Answers that may not be given yet are tried again after this time.
const ANSWER_AGAIN: Duration = Duration::from_millis(100);

/// The part of an attendant that answers for the terminal. One program at a time does; the keeper says when it is this one.
pub(super) struct Answering {
    /// Whoever closes it passes the right to answer on. None once the keeper is gone.
    pub(super) connection: Option<Connection>,
    pub(super) terminal: CommandTerminal,
    /// True if this attendant is the one that answers.
    pub(super) is_ours: bool,
    /// Questions before this offset were for others, and are not answered any more.
    pub(super) from: u64,
}

/// Waits until the right to answer is passed on to this attendant. It never is if the attendant has it, or the job has ended.
async fn passed_on(answering: Option<&mut Answering>) {
    if let Some(Answering { connection, is_ours: is_ours @ false, .. }) = answering {
        while let Some(link) = connection {
            match link.next().await {
                Ok(Report::Terminal { answers: true }) => {
                    // The outside end of the terminal came before.
                    drop(link.take_descriptor());
                    *is_ours = true;
                    return;
                }
                Ok(_) => {}
                Err(_) => *connection = None,
            }
        }
    }
    std::future::pending::<()>().await;
}

/// Follows the output of one job to its end.
pub(super) struct Attendant {
    follow: Follow,
    sizes: Sizes,
    shared: Arc<Shared>,
    progress: watch::Sender<Progress>,
    /// None if the job had ended when this attendant came.
    answering: Option<Answering>,
    /// Output was skipped: the next byte may be in the middle of a sequence.
    resumes: bool,
}

impl Attendant {
    pub(super) fn new(
        follow: Follow,
        sizes: Sizes,
        shared: Arc<Shared>,
        progress: watch::Sender<Progress>,
        answering: Option<Answering>,
    ) -> Self {
        let resumes = follow.offset() > 0;
        Self { follow, sizes, shared, progress, answering, resumes }
    }

    /// Runs until the job has ended or its output cannot be read.
    pub(super) async fn run(mut self) {
        loop {
            let answers_wait = self.shared.screen().has_answers();
            let followed = tokio::select! {
                () = passed_on(self.answering.as_mut()) => {
                    self.take_over();
                    continue;
                }
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

    /// Answers from now on. Older questions may have been answered by somebody else.
    fn take_over(&mut self) {
        if let Some(answering) = &mut self.answering {
            answering.from = self.follow.length();
        }
    }

    /// Types the screen's answers, if they are to questions that were asked since this attendant came.
    fn answer(&self, offset: u64) {
        let answers = self.shared.screen().take_answers(Instant::now());
        if let Some(answering) = &self.answering
            && answering.is_ours
            && offset > answering.from
            && !answers.is_empty()
        {
            // A program that does not read its input waits for no answer.
            let _ = answering.terminal.type_now(&answers);
        }
    }
}

/// A screen of this size.
pub(super) fn blank(sizes: &Sizes, offset: u64) -> Screen {
    Screen::new(sizes.at(offset))
}
