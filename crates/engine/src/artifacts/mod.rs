//! The store of artifacts: the whole raw output of commands, on disk.
//!
//! A directory of plain files named by their ids: `7` holds the bytes, `7.gap` lists the missing ones if there are any,
//! and `next` holds the next id and when the next sweep is due. Any number of processes may share it. Everything here
//! blocks, and nothing runs by itself: callers decide when to write and when to sweep. They also redact, because the
//! bytes are kept as they came.
//!
//! Invariants: an id is never given out twice; an artifact that is being written is never removed; a missing byte is
//! never read as a NUL.

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

/// Limits on the size and age of artifacts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ArtifactLimits {
    /// Limit on one artifact. Beyond it, the first half and the newest part are kept; at least 64 KiB.
    pub one: ByteSize,
    /// Limit on all artifacts together.
    pub store: ByteSize,
    /// Age, since the last write, at which an artifact is swept.
    pub age: Duration,
}

impl Default for ArtifactLimits {
    /// A full build log is some hundred megabytes, so 1 GiB cuts only runaway output. Eight of those fit the disk of
    /// any machine that builds. Nobody returns to a command of last week.
    fn default() -> Self {
        Self { one: ByteSize::mib(1024), store: ByteSize::mib(8 * 1024), age: Duration::from_hours(7 * 24) }
    }
}

/// Facts about an artifact on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArtifactEntry {
    /// Id of the artifact, which is the name of its file.
    pub id: u64,
    /// Path of its file.
    pub path: PathBuf,
    /// Length of the file, in bytes. It includes gaps, so that offsets stay valid.
    pub bytes: u64,
    /// Space that it takes on the disk.
    pub on_disk: ByteSize,
    /// Time of the last write.
    pub modified: SystemTime,
    /// True if a process may still write to it.
    pub in_use: bool,
    /// Missing byte ranges, in order.
    pub missing: Vec<Gap>,
}

impl ArtifactEntry {
    /// URI of the artifact, such as `artifact://7`.
    pub fn uri(&self) -> String {
        uri(self.id)
    }
}

/// Error: a text that names no artifact.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{given:?} is not an artifact: give a number as in `7` or `artifact://7`")]
pub struct NotAnArtifact {
    given: String,
}

/// Parses the id in `7` or `artifact://7`.
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
