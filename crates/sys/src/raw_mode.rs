//! Raw mode of standard input, which comes back however this program ends.
//!
//! Two places put the modes back: [`leave`], and the hook of a panic, after which the program may end at once.

use std::io::{self, Write};
use std::panic;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use crate::terminal::{RESET, SavedModes};

/// The modes to put back, while standard input is in raw mode.
static SAVED: Mutex<Option<SavedModes>> = Mutex::new(None);

fn saved() -> MutexGuard<'static, Option<SavedModes>> {
    // It is replaced as a whole.
    SAVED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Puts standard input into raw mode. In the background, this is where the system stops this program until somebody brings it
/// to the foreground.
pub fn enter() -> io::Result<()> {
    leave_on_panic();
    let stdin = io::stdin();
    let modes = SavedModes::read(&stdin)?;
    *saved() = Some(modes.clone());
    retried(|| modes.make_raw(&stdin))
}

/// Puts the modes back as they were before [`enter`]. Without effect in any other mode.
pub fn leave() {
    if let Some(modes) = saved().take() {
        // There is nothing else to try.
        let _ = retried(|| modes.restore(io::stdin()));
    }
}

/// Tries again after a signal, such as the one that has continued this program.
fn retried(mut set: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    loop {
        match set() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// Puts the terminal back before the message of a panic.
fn leave_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            // Whoever holds the lock puts it back just now, or is about to panic in the middle of that.
            if let Some(modes) = SAVED.try_lock().ok().and_then(|mut saved| saved.take()) {
                let _ = io::stdout().write_all(RESET).and_then(|()| io::stdout().flush());
                let _ = modes.restore(io::stdin());
            }
            before(panic);
        }));
    });
}
