//! The file-creation mask of this program, and the one that it was started with.
//!
//! With `umask 0777` the program could not read its own state: jobs, artifacts, the log. So it gives itself the permission bits
//! of the owner back. Commands get the mask that the program was started with.

use std::sync::OnceLock;

use rustix::fs::Mode;
use rustix::process::umask;

static GIVEN: OnceLock<u32> = OnceLock::new();

/// Lets this process read the files it writes. Call it first in `main`: all threads share the mask.
pub(crate) fn make_usable() {
    let given = umask(Mode::RWXG | Mode::RWXO);
    umask(given - Mode::RWXU);
    if given.intersects(Mode::RWXU) {
        let _ = GIVEN.set(given.as_raw_mode());
    }
}

/// The original mask; none if it is still in force.
pub(crate) fn given() -> Option<u32> {
    GIVEN.get().copied()
}
