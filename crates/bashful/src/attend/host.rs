//! The terminal of the person who has started this program.
//!
//! It is in raw mode while a command has it, and comes back whatever happens. Three places put it back: this one at the end, when
//! the command is paused, and when this program panics; and the keeper, if this program is killed.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bashful_engine::TerminalSize;
use bashful_sys::raw_mode;
use bashful_sys::terminal::{self, RESET};

use super::screen::ScreenModes;

/// A terminal that does not know its size has the one of old.
const USUAL: (u16, u16) = (80, 24);

/// The terminal of a person. Dropping it puts it back, as the last defense.
#[derive(Debug)]
pub(super) struct HostTerminal {
    /// A person types at standard input.
    pub(super) has_keys: bool,
    /// Standard output is a screen.
    has_screen: bool,
    screen: Arc<Mutex<ScreenModes>>,
}

impl HostTerminal {
    pub(super) fn new() -> Self {
        let (has_keys, has_screen) = (io::stdin().is_terminal(), io::stdout().is_terminal());
        Self { has_keys, has_screen, screen: Arc::default() }
    }

    /// The size of the screen; that of the keyboard's terminal where output goes elsewhere; none without a terminal.
    pub(super) fn size(&self) -> Option<TerminalSize> {
        let size = match (self.has_screen, self.has_keys) {
            (true, _) => terminal::size(io::stdout()),
            (false, true) => terminal::size(io::stdin()),
            (false, false) => return None,
        };
        let (columns, rows) = size.ok().filter(|(columns, rows)| *columns > 0 && *rows > 0).unwrap_or(USUAL);
        Some(TerminalSize::new(columns, rows))
    }

    /// Notes what is written to the screen.
    pub(super) fn watch_screen(&self) -> impl FnMut(&[u8]) + Send + 'static {
        let screen = Arc::clone(&self.screen);
        move |bytes| locked(&screen).push(bytes)
    }

    /// True if what is printed next would stand behind other text.
    pub(super) fn is_mid_line(&self) -> bool {
        self.has_screen && locked(&self.screen).is_mid_line()
    }

    /// Takes the keyboard, and turns on again what the program had turned on before it was paused.
    pub(super) fn take_over(&self) -> io::Result<()> {
        if self.has_keys {
            raw_mode::enter()?;
        }
        self.write(locked(&self.screen).again().as_bytes());
        Ok(())
    }

    /// Gives keyboard and screen back as they were.
    pub(super) fn give_back(&self) {
        if locked(&self.screen).is_in_use() {
            self.write(RESET);
        }
        raw_mode::leave();
    }

    fn write(&self, bytes: &[u8]) {
        if self.has_screen && !bytes.is_empty() {
            // A terminal that is gone needs nothing.
            let mut out = io::stdout().lock();
            let _ = out.write_all(bytes).and_then(|()| out.flush());
        }
    }
}

impl Drop for HostTerminal {
    fn drop(&mut self) {
        raw_mode::leave();
    }
}

fn locked(screen: &Mutex<ScreenModes>) -> MutexGuard<'_, ScreenModes> {
    // At worst a sequence is taken for text.
    screen.lock().unwrap_or_else(PoisonError::into_inner)
}
