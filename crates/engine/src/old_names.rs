//! Names as bashful 0.1 made them, so that its sessions are found as long as they live.
//!
//! The names depend on the standard library's hash, which may change with any compiler. After a change, the sessions of
//! bashful 0.1 are still listed and ended by their records, but not found for the next command.

use std::ffi::OsString;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use crate::plan::Plan;
use crate::sessions::SessionName;

/// Version that was part of every name.
pub(crate) const VERSION: &str = "0.1.0";

/// A name of 32 digits for everything that `put` hashes; the halves differ by their first byte.
pub(crate) fn digest(first: [u8; 2], put: impl Fn(&mut DefaultHasher)) -> String {
    let half = |first: u8| {
        let mut hasher = DefaultHasher::new();
        first.hash(&mut hasher);
        put(&mut hasher);
        hasher.finish()
    };
    format!("{:016x}{:016x}", half(first[0]), half(first[1]))
}

/// Name of a session's directory, without the owner's tag.
pub(crate) fn session<'a>(
    plan: &'a Plan,
    name: &SessionName,
    snapshot: Option<&Path>,
    variables: &[(&'a OsString, &'a OsString)],
) -> String {
    digest([0, 1], |hasher| {
        (name, &plan.shell, snapshot).hash(hasher);
        for variable in variables {
            variable.hash(hasher);
        }
    })
}
