//! Records on disk that another version of bashful may have written.
//!
//! Every record is a JSON object with a `"version"`; each kind has its own numbers. Bashful 0.1 wrote none, which
//! counts as 0. Within a version, keys may be added that readers can ignore; every other change needs the next number.
//!
//! Invariant: a record of a newer version is never read as if it were known. Two of its keys keep their meaning for
//! ever: `"version"`, and `"protocol"`, the newest version that its keeper speaks.

use serde::Deserialize;
use serde::de::DeserializeOwned;

/// The keys whose meaning never changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct Stamp {
    #[serde(default)]
    pub(crate) version: u32,
    #[serde(default)]
    pub(crate) protocol: u32,
}

/// A record, if this version of bashful can read it, or its stamp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Versioned<T> {
    Known(T),
    Newer(Stamp),
}

impl<T: DeserializeOwned> Versioned<T> {
    /// Reads a record of a version up to `known`, or the stamp of a newer one; none if it is damaged.
    pub(crate) fn read(text: &[u8], known: u32) -> Option<Self> {
        let stamp: Stamp = serde_json::from_slice(text).ok()?;
        if stamp.version > known {
            return Some(Self::Newer(stamp));
        }
        serde_json::from_slice(text).ok().map(Self::Known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Eq, Deserialize)]
    struct Sample {
        size: u64,
    }

    #[track_caller]
    fn check(text: &str, expected: Option<&Versioned<Sample>>) {
        assert_eq!(Versioned::read(text.as_bytes(), 1).as_ref(), expected, "{text}");
    }

    #[test]
    fn a_record_of_a_newer_version_is_not_guessed_at() {
        let known = Versioned::Known(Sample { size: 7 });
        check(r#"{"size": 7}"#, Some(&known));
        check(r#"{"version": 1, "size": 7, "added": true}"#, Some(&known));
        let newer = |protocol| Versioned::Newer(Stamp { version: 2, protocol });
        check(r#"{"version": 2, "size": 7}"#, Some(&newer(0)));
        check(r#"{"version": 2, "protocol": 3, "size": ["seven"]}"#, Some(&newer(3)));
        for damaged in [r#"{"version": 1}"#, r#"{"version": "one", "size": 7}"#, r#"{"size": 7"#, "[]", ""] {
            check(damaged, None);
        }
    }
}
