//! Protocol versions, and the core that no version may change.
//!
//! Each side of a connection sends a hello before anything else, and neither waits for the other's: the engine sends it
//! along with its first order, the keeper along with its first report. A side without a hello speaks version 0, which
//! is bashful 0.1. The version of a connection is the highest one that both sides speak.
//!
//! Two sides without a common version still share the core: the layout of frames, the hello, the orders
//! [`Stop`](Order::Stop), [`Signal`](Order::Signal) and [`EndSession`](Order::EndSession), and the reports
//! [`Heard`](Report::Heard) and [`NotUnderstood`](Report::NotUnderstood). So every program can stop the work of every
//! keeper.
//!
//! Invariant: the bytes of the core are the same in all versions, past and future. Bytes after its fields are ignored.

use super::fields::{Fields, Garbled, frame};
use super::{Order, Report};
use crate::StopReason;

/// Newest version that this program speaks.
pub const VERSION: u32 = 2;

/// First version with [`Order::Lifetime`].
pub const KNOWS_LIFETIMES: u32 = 2;

/// Oldest version that this program speaks: that of bashful 0.1.
const OLDEST: u32 = 0;

/// Kind of a hello message, in both directions.
const HELLO: u8 = 0;

/// The range of versions that one side speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hello {
    /// Newest version.
    pub version: u32,
    /// Oldest version. Every version between the two is spoken too.
    pub oldest: u32,
}

impl Hello {
    /// Versions that this program speaks.
    pub const OURS: Self = Self { version: VERSION, oldest: OLDEST };

    /// Versions of a side that has sent no hello.
    pub const UNSAID: Self = Self { version: 0, oldest: 0 };

    /// Returns the highest version that both speak; none if they share only the core.
    pub fn common(self, other: Self) -> Option<u32> {
        let version = self.version.min(other.version);
        (version >= self.oldest && version >= other.oldest).then_some(version)
    }

    /// Appends the encoded hello to `out`.
    pub fn encode(self, out: &mut Vec<u8>) {
        frame(out, |out| {
            out.push(HELLO);
            out.extend(self.version.to_le_bytes());
            out.extend(self.oldest.to_le_bytes());
        });
    }

    /// Decodes a hello; none if the message is of another kind.
    pub fn decode(body: &[u8]) -> Option<Result<Self, Garbled>> {
        let mut from = Fields(body);
        let is_hello = from.byte() == Ok(HELLO);
        is_hello.then(|| Ok(Self { version: from.u32()?, oldest: from.u32()? }))
    }
}

impl Order {
    /// Decodes an order of the core, whatever version its sender speaks; none for other orders.
    pub fn decode_core(body: &[u8]) -> Option<Self> {
        let [kind, field, ..] = *body else { return None };
        match kind {
            // A reason that only a newer version knows is still a reason to stop.
            3 => Some(Self::Stop(StopReason::from_number(field).unwrap_or(StopReason::Cancelled))),
            6 => Some(Self::Signal(field)),
            11 => Some(Self::EndSession { makes_room: field == 1 }),
            _ => None,
        }
    }
}

impl Report {
    /// Decodes a report of the core, whatever version its sender speaks; none for other reports.
    pub fn decode_core(body: &[u8]) -> Option<Self> {
        match body.first()? {
            5 => Some(Self::Heard),
            9 => Some(Self::NotUnderstood),
            _ => None,
        }
    }

    /// True if the report is part of the core, which every version understands.
    pub fn is_core(&self) -> bool {
        matches!(self, Self::Heard | Self::NotUnderstood)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(ours: (u32, u32), theirs: (u32, u32), common: Option<u32>) {
        let hello = |(oldest, version)| Hello { version, oldest };
        assert_eq!(hello(ours).common(hello(theirs)), common);
        assert_eq!(hello(theirs).common(hello(ours)), common, "the other side agrees");
    }

    #[test]
    fn two_sides_agree_on_the_highest_version_that_both_speak() {
        check((0, 1), (0, 1), Some(1));
        check((0, 1), (0, 0), Some(0));
        check((0, 1), (1, 2), Some(1));
        check((0, 1), (0, 7), Some(1));
        check((0, 1), (2, 2), None);
        check((2, 3), (0, 0), None);
    }

    #[test]
    fn a_hello_may_say_more_than_is_known_today() {
        let mut bytes = Vec::new();
        Hello { version: 9, oldest: 7 }.encode(&mut bytes);
        bytes.extend(b"a name, perhaps");
        assert_eq!(Hello::decode(&bytes[4..]), Some(Ok(Hello { version: 9, oldest: 7 })));
        assert_eq!(Hello::decode(&bytes[4..9]), Some(Err(Garbled)));
        assert_eq!(Hello::decode(&[3, 2]), None);
        assert_eq!(Hello::decode(&[]), None);
    }

    #[test]
    fn an_order_to_stop_is_understood_from_any_version() {
        for (body, stops) in [(&[3, 2][..], true), (&[3, 200, 1, 2, 3], true), (&[3], false), (&[12], false)] {
            assert_eq!(matches!(Order::decode_core(body), Some(Order::Stop(StopReason::Cancelled))), stops, "{body:?}");
        }
    }
}
