//! The limit on a reply that a client passes on to its model.
//!
//! Clients cut long replies, each at its own size, and keep nothing of the rest. A reply below that size names the
//! artifact with the whole output instead. A limit only lowers what the dialect shows.

use crate::outcome::{Outcome, Output};
use crate::plan::Plan;
use crate::request::Streams;
use crate::units::ByteSize;
use crate::window::{Budget, Clip, Window};

/// The limit for one client. The dialect's own limit holds where a number is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ReplyLimit {
    /// Bytes of output shown. Clients that count characters never cut sooner than that.
    pub bytes: Option<ByteSize>,
    /// Lines of output shown.
    pub lines: Option<u64>,
    /// Bytes of the beginning, once output is cut in the middle.
    pub head: Option<ByteSize>,
    /// Bytes of the end, once output is cut in the middle.
    pub tail: Option<ByteSize>,
    /// Bytes shown of a command that failed; some clients cut errors sooner than other replies.
    pub failed_bytes: Option<ByteSize>,
}

impl ReplyLimit {
    /// Adapts a plan: the window, and the size from which output is saved.
    pub(crate) fn apply(&self, plan: &mut Plan) {
        plan.window = self.window(plan.window, self.bytes);
        let least = [self.bytes, self.failed_bytes].into_iter().flatten().min().map(narrower);
        plan.save_beyond = match plan.streams {
            Streams::Combined | Streams::Terminal(_) => least,
            // Both streams are in one text, where every byte may be escaped.
            Streams::Split => least.map(|least| ByteSize(least.0 / 4)),
        };
    }

    /// Shortens the output of a failed command, if its client shows less of failures.
    pub(crate) fn shorten(&self, outcome: &mut Outcome, window: Window) -> Window {
        let Some(most) = self.failed_bytes else { return window };
        let smaller = self.window(window, Some(most));
        for output in std::iter::once(&mut outcome.output).chain(&mut outcome.stderr) {
            output.shorten(smaller);
        }
        smaller
    }

    /// Bytes shown of each of several jobs that share a reply.
    pub fn for_each_of(&self, jobs: usize, usual: ByteSize) -> ByteSize {
        let most = self.bytes.map_or(usual.0, |bytes| bytes.0 / (jobs.max(1) as u64));
        ByteSize(usual.0.min(most))
    }

    fn window(&self, window: Window, most: Option<ByteSize>) -> Window {
        let lower = |end: Budget, most: Option<ByteSize>| Budget {
            bytes: most.map_or(end.bytes, |most| end.bytes.min(most)),
            ..end
        };
        // A window with one end shows what its dialect promises of that end.
        let has_both = window.head.bytes.0 > 0 && window.tail.bytes.0 > 0;
        let (head, tail) = if has_both { (self.head, self.tail) } else { (None, None) };
        let window = Window { head: lower(window.head, head), tail: lower(window.tail, tail), ..window };
        window.within(Budget { bytes: most.unwrap_or(ByteSize(u64::MAX)), lines: self.lines })
    }
}

impl Output {
    /// Shows less of the output. The artifact, if there is one, has all of it.
    pub fn shorten(&mut self, window: Window) {
        let clip = std::mem::replace(&mut self.clip, Clip::Whole(Vec::new()));
        self.clip = clip.within(window);
        self.limit = window.limit();
        if let Some(condensed) = &mut self.condensed {
            condensed.shown_otherwise = condensed.shown_otherwise.min(self.limit.0);
        }
        let smaller = window.within(Budget::bytes(narrower(self.limit)));
        self.narrower = Some(self.clip.clone().within(smaller));
    }
}

/// The part of a limit that output may take if the notices of its reply need room too.
fn narrower(limit: ByteSize) -> ByteSize {
    ByteSize(limit.0 - limit.0 / 8)
}
