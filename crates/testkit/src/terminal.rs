//! A tmux terminal that a test reads and types into.

use std::path::PathBuf;

use crate::{Home, eventually};

/// A command line in a terminal of 100 columns and 30 rows, until it is dropped.
#[derive(Debug)]
pub struct Terminal<'a> {
    home: &'a Home,
    socket: PathBuf,
}

impl<'a> Terminal<'a> {
    /// Runs a shell command in the terminal.
    ///
    /// # Panics
    ///
    /// If tmux is not installed.
    #[track_caller]
    pub fn run(home: &'a Home, line: &str) -> Self {
        let terminal = Self { home, socket: home.path().join("tmux") };
        terminal.tmux(&["new-session", "-d", "-x", "100", "-y", "30", "-s", "test", "bash", "-c", line]);
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
    /// If the text never appears.
    #[track_caller]
    pub fn shows(&self, wanted: &str) -> String {
        let mut screen = String::new();
        let shown = eventually(|| {
            screen = self.screen();
            screen.contains(wanted)
        });
        assert!(shown, "{wanted:?} never came: {screen}");
        screen
    }

    /// Types keys by their tmux names.
    pub fn types(&self, keys: &[&str]) {
        self.tmux(&[&["send-keys", "-t", "test"], keys].concat());
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
        let output = command.args(args).env("LANG", "C.UTF-8").output().expect("tmux");
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
