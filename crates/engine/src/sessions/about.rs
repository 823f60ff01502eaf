//! `about.json`: name and owner of a session, written by the engine that starts it.

use std::fs;
use std::io;
use std::path::Path;

use bashful_keeper::protocol::{self, ABOUT};
use bashful_sys::plain;
use serde::{Deserialize, Serialize};

use super::SessionOwner;
use crate::versioned::Versioned;

/// Version of the file.
const VERSION: u32 = 1;

/// Name of the file while it is being written.
pub(super) const DRAFT: &str = "about.new";

/// Contents of the file. That of bashful 0.1 has neither version nor protocol, and reads the same.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct About {
    #[serde(default)]
    version: u32,
    /// Newest protocol version that the keeper speaks.
    #[serde(default)]
    protocol: u32,
    pub(super) name: String,
    #[serde(with = "OwnerWord")]
    pub(super) owner: SessionOwner,
}

/// An owner, as it is written.
#[derive(Serialize, Deserialize)]
#[serde(remote = "SessionOwner", rename_all = "snake_case")]
enum OwnerWord {
    Engine,
    User,
}

/// The part of a newer file that keeps its meaning beside version and protocol: every program that sees the session can
/// end it.
#[derive(Debug, Deserialize)]
struct Named {
    name: String,
}

impl About {
    /// A session of this version.
    pub(super) fn new(name: &str, owner: SessionOwner) -> Self {
        Self { version: VERSION, protocol: protocol::VERSION, name: name.to_owned(), owner }
    }

    /// Writes the file, whole or not at all.
    pub(super) fn write(&self, place: &Path) -> io::Result<()> {
        let draft = place.join(DRAFT);
        plain::write(&draft, &serde_json::to_vec(self)?)?;
        fs::rename(draft, place.join(ABOUT))
    }

    /// Reads the file; none if it is missing or damaged.
    pub(super) fn read(place: &Path) -> Option<Versioned<Self>> {
        Versioned::read(&plain::read(&place.join(ABOUT)).ok()?, VERSION)
    }
}

/// Newest protocol version that the keeper of a session speaks; 0 if it is unknown.
pub(super) fn protocol_of(place: &Path) -> u32 {
    match About::read(place) {
        Some(Versioned::Known(about)) => about.protocol,
        Some(Versioned::Newer(stamp)) => stamp.protocol,
        None => 0,
    }
}

/// Name of a session, whatever version has written the file.
pub(super) fn name_of(place: &Path) -> Option<String> {
    let Named { name } = serde_json::from_slice(&plain::read(&place.join(ABOUT)).ok()?).ok()?;
    Some(name)
}

/// True if a newer version has written the file.
pub(super) fn is_newer(place: &Path) -> bool {
    matches!(About::read(place), Some(Versioned::Newer(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_is_known_by_its_file_whatever_version_wrote_it() {
        let place = tempfile::tempdir().expect("a directory");
        let read = |text: &str| {
            fs::write(place.path().join(ABOUT), text).expect("it is written");
            let known = match About::read(place.path()) {
                Some(Versioned::Known(about)) => Some((about.name, about.owner)),
                _ => None,
            };
            (known, protocol_of(place.path()), name_of(place.path()), is_newer(place.path()))
        };
        let name = || Some("s".to_owned());
        let old = read(r#"{"name":"s","owner":"user"}"#);
        assert_eq!(old, (Some(("s".to_owned(), SessionOwner::User)), 0, name(), false));
        let newer = read(r#"{"version":2,"protocol":3,"name":"s","owner":["several"]}"#);
        assert_eq!(newer, (None, 3, name(), true));
        assert_eq!(read("{"), (None, 0, None, false));
    }

    #[test]
    fn the_file_is_written_as_it_is_read() {
        let place = tempfile::tempdir().expect("a directory");
        let about = About::new("build 1", SessionOwner::Engine);
        about.write(place.path()).expect("it is written");
        assert_eq!(About::read(place.path()), Some(Versioned::Known(about)));
    }
}
