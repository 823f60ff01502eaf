//! A tmux terminal that a test reads and types into.
//!
//! A terminal echoes the keys, and keeps its old text. A test that waits for a text must not find it in the line that it
//! has typed itself, nor on the screen from before: then it would pass, or go on too early, whatever the program does. So
//! [`Terminal::shows`] refuses both. Programs are on `PATH`, because a typed path has the length of the clone's.

use std::cell::RefCell;
use std::ffi::OsString;
use std::path::PathBuf;

use crate::{Home, eventually};

/// A command line in a terminal of 100 columns and 30 rows, until it is dropped.
#[derive(Debug)]
pub struct Terminal<'a> {
    home: &'a Home,
    socket: PathBuf,
    typed: RefCell<Typed>,
}

/// The keys since the last wait.
#[derive(Debug, Default)]
struct Typed {
    keys: String,
    /// The screen before the first of them.
    before: String,
    /// The test has waited since: the next key is the first again.
    is_over: bool,
}

impl Typed {
    /// Requires that only the program can show this text.
    #[track_caller]
    fn check_tells(&self, wanted: &str) {
        let Self { keys, before, .. } = self;
        let is_echo = wanted.lines().all(|line| keys.contains(line.trim()));
        assert!(!is_echo, "{wanted:?} may be the echo of {keys:?}: wait for something else, or for `echoes`");
        assert!(!before.contains(wanted), "{wanted:?} was there before {keys:?} was typed: {before}");
    }
}

impl<'a> Terminal<'a> {
    /// Runs a shell command in the terminal.
    ///
    /// # Panics
    ///
    /// If tmux is not installed.
    #[track_caller]
    pub fn run(home: &'a Home, line: &str) -> Self {
        let terminal = Self { home, socket: home.path().join("tmux"), typed: RefCell::default() };
        terminal.tmux(&["new-session", "-d", "-x", "100", "-y", "30", "-s", "test", "bash", "-c", line]);
        terminal
    }

    /// Runs an interactive shell, as a person has one, and waits for its prompt: `person> `.
    ///
    /// # Panics
    ///
    /// Without tmux, or a prompt.
    #[track_caller]
    pub fn shell(home: &'a Home) -> Self {
        let terminal = Self::run(home, "exec env PS1='person> ' bash --norc --noprofile -i");
        terminal.shows("person>");
        terminal
    }

    /// The current text of the screen.
    pub fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-t", "test"])
    }

    /// The current text of the screen with its colors, as escape sequences of tmux.
    pub fn styled_screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e", "-t", "test"])
    }

    /// Waits until this text is on the screen, and returns the whole screen.
    ///
    /// # Panics
    ///
    /// If the text never appears, if it was there before the last keys, or if those keys would show it by themselves.
    #[track_caller]
    pub fn shows(&self, wanted: &str) -> String {
        self.typed.borrow().check_tells(wanted);
        self.waits_for(wanted)
    }

    /// Waits until typed text is on the screen, and returns the whole screen.
    ///
    /// # Panics
    ///
    /// If the text never appears.
    #[track_caller]
    pub fn echoes(&self, wanted: &str) -> String {
        self.waits_for(wanted)
    }

    /// Waits until this text is no longer on the screen.
    ///
    /// # Panics
    ///
    /// If the text stays.
    #[track_caller]
    pub fn loses(&self, unwanted: &str) {
        let mut screen = String::new();
        let is_gone = eventually(|| {
            screen = self.screen();
            !screen.contains(unwanted)
        });
        assert!(is_gone, "{unwanted:?} stays: {screen}");
        *self.typed.borrow_mut() = Typed::default();
    }

    #[track_caller]
    fn waits_for(&self, wanted: &str) -> String {
        self.typed.borrow_mut().is_over = true;
        let mut screen = String::new();
        let shown = eventually(|| {
            screen = self.screen();
            screen.contains(wanted)
        });
        assert!(shown, "{wanted:?} never came: {screen}");
        screen
    }

    /// Types keys by their tmux names, or text as it is behind `-l`.
    pub fn types(&self, keys: &[&str]) {
        let before = self.screen();
        let mut typed = self.typed.borrow_mut();
        if std::mem::take(&mut typed.is_over) {
            *typed = Typed { before, ..Typed::default() };
        }
        typed.keys.extend(keys.iter().copied());
        self.tmux(&[&["send-keys", "-t", "test"], keys].concat());
    }

    /// Types a line and Enter, and waits for a text.
    ///
    /// # Panics
    ///
    /// As [`shows`](Self::shows) does.
    #[track_caller]
    pub fn enter(&self, line: &str, wanted: &str) -> String {
        self.types(&["-l", line]);
        self.types(&["Enter"]);
        self.shows(wanted)
    }

    /// The current text of the screen with its colors, as tmux writes them.
    pub fn colored_screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-e", "-t", "test"])
    }

    /// Lets programs set the clipboard, which is a buffer of tmux.
    pub fn set_clipboard(&self) {
        self.tmux(&["set-option", "-s", "set-clipboard", "on"]);
    }

    /// The text that a program has copied last; empty without one.
    pub fn buffer(&self) -> String {
        let count = self.tmux(&["list-buffers"]);
        if count.is_empty() { String::new() } else { self.tmux(&["show-buffer"]) }
    }

    /// Changes the size.
    pub fn resize(&self, columns: u16, rows: u16) {
        let (columns, rows) = (columns.to_string(), rows.to_string());
        self.tmux(&["resize-window", "-t", "test", "-x", &columns, "-y", &rows]);
    }

    /// Facts about the terminal, by the names that tmux has for them: `#{alternate_on}` is 1 while the alternate screen is on.
    pub fn facts(&self, format: &str) -> String {
        self.tmux(&["display-message", "-p", "-t", "test", format]).trim_end().to_owned()
    }

    fn tmux(&self, args: &[&str]) -> String {
        let socket = self.socket.to_str().expect("a path of text");
        let mut command = self.home.wrapped("tmux", &["-S", socket, "-f", "/dev/null"]);
        let mut path = OsString::from(self.home.program_directory());
        path.push(":");
        path.push(std::env::var_os("PATH").expect("tests have a PATH"));
        let output = command.args(args).env("LANG", "C.UTF-8").env("PATH", path).output().expect("tmux");
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Ends the tmux server, which would otherwise live as long as its command.
impl Drop for Terminal<'_> {
    fn drop(&mut self) {
        let socket = self.socket.to_str().expect("a path of text");
        // The terminal may have ended by itself.
        let _ = self.home.wrapped("tmux", &["-S", socket, "kill-server"]).output();
    }
}
