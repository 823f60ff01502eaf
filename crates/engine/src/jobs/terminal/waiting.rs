//! Waiting for something to happen at the terminal of a job.
//!
//! The caller's time is a hard limit. Everything else only ends the wait sooner.

use std::fmt;
use std::sync::PoisonError;
use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout_at};
use unicode_width::UnicodeWidthStr as _;

use super::{JobTerminal, Progress, TerminalError};
use crate::jobs::JobRecord;
use crate::terminal::{CommandTerminal, InputWait};

/// A program that reads from its terminal is looked at this long after its last output. Its input may not have reached it before.
const CERTAIN_AFTER: Duration = Duration::from_millis(60);

/// A program that may wait for keys is taken to do so after this time without output.
const LIKELY_AFTER: Duration = Duration::from_millis(300);

/// The screen of a program that neither reads nor writes is quiet after this time.
const QUIET_AFTER: Duration = Duration::from_secs(1);

/// Pause between two looks at a program that is busy. No event tells that it begins to read.
const LOOK_EVERY: Duration = Duration::from_millis(25);

/// Pause between two looks at the record of a job whose end is awaited. Its shell may end long before its last process.
const END_EVERY: Duration = Duration::from_millis(100);

/// The event that a wait is for.
pub enum ScreenUntil<'a> {
    /// Nothing: the screen is drawn up to date.
    Now,
    /// A program waits for input, or the screen has been quiet for a second.
    Settled,
    /// A program waits for input.
    Input,
    /// Nothing was written for this long.
    Quiet(Duration),
    /// The text of the screen matches.
    Matches(&'a (dyn Fn(&str) -> bool + Send + Sync)),
    /// The job has ended.
    End,
}

impl fmt::Debug for ScreenUntil<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Now => "Now",
            Self::Settled => "Settled",
            Self::Input => "Input",
            Self::Quiet(_) => "Quiet",
            Self::Matches(_) => "Matches",
            Self::End => "End",
        })
    }
}

/// The reason why a wait is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitOver {
    /// The screen is up to date. Only after [`ScreenUntil::Now`].
    UpToDate,
    /// The job has ended.
    Ended(Box<JobRecord>),
    /// The text of the screen matches.
    Matched,
    /// A program waits for input.
    WaitsForInput {
        /// True if typed text is hidden, as at a password prompt.
        password: bool,
        /// False if the program waits for one of several events, and keys are only likely to be one of them.
        certain: bool,
    },
    /// Nothing was written for a while.
    Quiet,
    /// The caller's time is over.
    TimeUp,
}

impl JobTerminal {
    /// Waits for an event, but no longer than this. The screen is up to date afterwards. A dropped future changes nothing.
    pub async fn wait(&self, until: &ScreenUntil<'_>, at_most: Duration) -> Result<WaitOver, TerminalError> {
        let deadline = Instant::now().checked_add(at_most);
        let mut progress = self.progress.clone();
        let mut over_since = None;
        loop {
            let seen = *progress.borrow_and_update();
            if seen.is_over {
                return Ok(WaitOver::Ended(Box::new(self.job()?)));
            }
            // The record comes before the look at the output: the job may write its last lines and end between the two.
            let ended =
                if matches!(until, ScreenUntil::End) { Some(self.job()?).filter(JobRecord::is_over) } else { None };
            let is_drawn = self.is_drawn(&seen);
            // Its shell has ended. Processes that it left may go on writing, so not all of that has to be drawn.
            if let Some(job) = ended {
                let since = *over_since.get_or_insert_with(Instant::now);
                if is_drawn || since.elapsed() >= QUIET_AFTER {
                    return Ok(WaitOver::Ended(Box::new(job)));
                }
            }
            if is_drawn && let Some(over) = self.happened(until, &seen) {
                return Ok(over);
            }
            if let ScreenUntil::Matches(matches) = until
                && self.screen_matches(matches)
            {
                return Ok(WaitOver::Matched);
            }
            if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
                return Ok(WaitOver::TimeUp);
            }
            // Output and the end are told; that a program begins to read is not.
            let look_at = match until {
                ScreenUntil::Matches(_) if is_drawn => deadline,
                ScreenUntil::End if is_drawn => Some(Instant::now() + END_EVERY).into_iter().chain(deadline).min(),
                _ => Some(Instant::now() + LOOK_EVERY).into_iter().chain(deadline).min(),
            };
            let changed = match look_at {
                Some(look_at) => timeout_at(look_at, progress.changed()).await.unwrap_or(Ok(())),
                None => progress.changed().await,
            };
            if changed.is_err() && !progress.borrow().is_over {
                // The attendant ended without a word, which only a panic explains.
                sleep_until(Instant::now() + LOOK_EVERY).await;
            }
        }
    }

    /// True if the text of the screen matches, or the text with the blanks before the cursor, as behind a prompt.
    fn screen_matches(&self, matches: &(dyn Fn(&str) -> bool + Send + Sync)) -> bool {
        let mut screen = self.screen();
        if matches(&screen.text()) {
            return true;
        }
        let column = usize::from(screen.cursor.column);
        let Some(row) = screen.rows.get_mut(usize::from(screen.cursor.row)) else { return false };
        let missing = column.saturating_sub(row.width());
        row.extend(std::iter::repeat_n(' ', missing));
        missing > 0 && matches(&screen.text())
    }

    /// True if the screen shows everything that was written so far.
    fn is_drawn(&self, seen: &Progress) -> bool {
        let unread = self.terminal.as_ref().is_some_and(CommandTerminal::has_unread_output);
        let length = self.store.get(self.id).ok().and_then(|job| std::fs::metadata(job.output_file).ok());
        !unread && length.is_none_or(|facts| facts.len() <= seen.drawn_to)
    }

    /// The event, if it has happened. The screen is drawn.
    fn happened(&self, until: &ScreenUntil<'_>, seen: &Progress) -> Option<WaitOver> {
        let typed_at = *self.typed_at.lock().unwrap_or_else(PoisonError::into_inner);
        let quiet_since = typed_at.map_or(seen.last_output, |typed_at| typed_at.max(seen.last_output));
        let quiet = quiet_since.elapsed();
        match until {
            ScreenUntil::Now => Some(WaitOver::UpToDate),
            ScreenUntil::Quiet(wanted) => (quiet >= *wanted).then_some(WaitOver::Quiet),
            ScreenUntil::Input => self.waits_for_input(quiet),
            ScreenUntil::Settled => {
                self.waits_for_input(quiet).or_else(|| (quiet >= QUIET_AFTER).then_some(WaitOver::Quiet))
            }
            ScreenUntil::Matches(_) | ScreenUntil::End => None,
        }
    }

    fn waits_for_input(&self, quiet: Duration) -> Option<WaitOver> {
        if quiet < CERTAIN_AFTER {
            return None;
        }
        match self.input_wait() {
            // A look at `/proc` takes a while. A program that has prompted and turned the echo off meanwhile is looked at again.
            found @ InputWait::Waiting { password } => {
                let is_settled = self.is_drawn(&self.progress.borrow().clone()) && self.input_wait() == found;
                is_settled.then_some(WaitOver::WaitsForInput { password, certain: true })
            }
            InputWait::Perhaps | InputWait::Unknown if quiet >= LIKELY_AFTER => {
                Some(WaitOver::WaitsForInput { password: false, certain: false })
            }
            InputWait::Perhaps | InputWait::Unknown | InputWait::Busy => None,
        }
    }
}
