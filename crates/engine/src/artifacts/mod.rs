//! The whole raw output of commands, kept on disk for a second look.
//!
//! A directory of plain files named after their ids: `7` holds the bytes, `7.gap` says which of them are missing if any
//! are, and `next` holds the id to come and when the next sweep is due. Any number of processes may share it. Everything here blocks and nothing runs by
//! itself: when to write and when to sweep is the callers' part, as is masking, for the bytes are kept as they came.
//!
//! Invariants: an id is never given out twice; what is being written is never removed; a missing byte is never read as a
//! NUL.

mod page;
mod read;
mod store;
mod writer;

use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use thiserror::Error;

pub use bashful_keeper::gaps::Gap;
pub use read::{Artifact, LinesRead, ReadError};
pub use store::{ArtifactStore, CreateError, GetError, ListError, RemoveError, SweepReport};
pub use writer::{ArtifactFacts, ArtifactWriter, WriteError};

use crate::units::ByteSize;

/// How much is kept, and for how long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArtifactLimits {
    /// Of one artifact. Beyond it, its first half and its newest part are kept; at least 64 KiB.
    pub one: ByteSize,
    /// Of all of them together.
    pub store: ByteSize,
    /// An artifact that nobody has written to for so long is swept.
    pub age: Duration,
}

impl Default for ArtifactLimits {
    /// A build log with everything in it is some hundred megabytes, so 1 GiB cuts only what runs wild; eight of those fit
    /// the disk of any machine that builds; and nobody comes back to a command of last week.
    fn default() -> Self {
        Self { one: ByteSize::mib(1024), store: ByteSize::mib(8 * 1024), age: Duration::from_hours(7 * 24) }
    }
}

/// What is known about an artifact on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactEntry {
    /// Its number, which is its name.
    pub id: u64,
    /// Where it is.
    pub path: PathBuf,
    /// Its length. What is missing in the middle is counted, for offsets stay true.
    pub bytes: u64,
    /// What it takes of the disk.
    pub on_disk: ByteSize,
    /// When it was last written to.
    pub modified: SystemTime,
    /// Somebody may still write to it.
    pub in_use: bool,
    /// What is not there, in order.
    pub missing: Vec<Gap>,
}

impl ArtifactEntry {
    /// `artifact://7`.
    pub fn uri(&self) -> String {
        uri(self.id)
    }
}

/// The text is not the name of an artifact.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{given:?} is not an artifact: give a number as in `7` or `artifact://7`")]
pub struct NotAnArtifact {
    given: String,
}

/// The id in `7` or `artifact://7`.
pub fn artifact_id(text: &str) -> Result<u64, NotAnArtifact> {
    let number = text.strip_prefix("artifact://").unwrap_or(text);
    crate::id_counter::number(number).ok_or_else(|| NotAnArtifact { given: text.to_owned() })
}

fn uri(id: u64) -> String {
    format!("artifact://{id}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_from_a_number_or_a_uri_and_from_nothing_else() {
        assert_eq!(artifact_id("7"), Ok(7));
        assert_eq!(artifact_id("artifact://12"), Ok(12));
        for wrong in ["", "0", "07", "-1", "+1", "1.gap", "seven", "artifact:7", "artifact://", "99999999999999999999"]
        {
            assert!(artifact_id(wrong).is_err(), "{wrong}");
        }
    }
}
