//! Carries out calls about jobs with a terminal: shows the screen, types, and waits for something to happen.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bashful_engine::{
    JobStore, JobTerminal, Keys, ScreenSnapshot, ScreenUntil, TerminalError, Verdict, WaitOver, error_chain, reason,
    shell_at,
};
use regex::Regex;

use crate::visible::visible_lines;

/// Terminals that one server attends to at once. Each keeps a screen with its scrollback, some 6 MB.
const MOST_ATTENDED: usize = 16;

/// Longest wait for a screen to settle, unless the call names its own.
pub const SETTLE_WAIT: Duration = Duration::from_secs(5);

/// The terminals that a toolbox attends to, by the ids of their jobs.
///
/// An attended terminal stays up to date between two calls, and programs that ask their terminal something are answered.
#[derive(Debug, Default)]
pub(crate) struct AttendedTerminals {
    /// The one that was used last comes last.
    terminals: Mutex<Vec<Arc<JobTerminal>>>,
}

impl AttendedTerminals {
    /// The terminal of a job, which is attended to from now on.
    pub(crate) async fn attend(&self, store: &Arc<JobStore>, id: u64) -> Result<Arc<JobTerminal>, TerminalError> {
        if let Some(known) = self.take(id) {
            return Ok(self.put(known));
        }
        Ok(self.put(Arc::new(store.terminal(id).await?)))
    }

    fn take(&self, id: u64) -> Option<Arc<JobTerminal>> {
        let mut terminals = self.terminals.lock().unwrap_or_else(PoisonError::into_inner);
        let at = terminals.iter().position(|terminal| terminal.id() == id)?;
        Some(terminals.remove(at))
    }

    fn put(&self, terminal: Arc<JobTerminal>) -> Arc<JobTerminal> {
        let mut terminals = self.terminals.lock().unwrap_or_else(PoisonError::into_inner);
        // Another call may have come first.
        terminals.retain(|other| other.id() != terminal.id());
        terminals.push(Arc::clone(&terminal));
        let too_many = terminals.len().saturating_sub(MOST_ATTENDED);
        terminals.drain(..too_many);
        terminal
    }
}

/// The event that ends a wait at a terminal.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum TerminalUntil {
    /// A program waits for input, or nothing has changed for a second.
    #[default]
    Settled,
    /// A program waits for input.
    Input,
    /// Nothing has changed for a second.
    Quiet,
    /// The job has ended.
    End,
    /// The text of the screen matches this regular expression.
    Pattern(String),
}

/// Nothing has changed for so long on a quiet screen.
const QUIET: Duration = Duration::from_secs(1);

/// The part of a call about jobs that concerns terminals.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct TerminalOptions {
    /// Keys to press, by their names.
    pub(crate) keys: Vec<String>,
    /// None if the call does not say.
    pub(crate) until: Option<TerminalUntil>,
    pub(crate) colors: bool,
}

/// The screen of a job, as a reply shows it.
#[derive(Debug)]
pub struct ScreenView {
    /// The rows, with colors if they were asked for, and with a count in place of many equal rows.
    pub text: String,
    /// The screen as data.
    pub snapshot: ScreenSnapshot,
    /// The reason why the wait is over.
    pub over: WaitOver,
    /// The time that the wait took.
    pub waited: Duration,
}

/// Types at a terminal, unless the guard refuses a line that a shell would run.
///
/// `judge` gets the lines that were typed so far, and the directory of the shell that would run them; none if no shell is there.
pub async fn type_at(
    terminal: &JobTerminal,
    text: &str,
    keys: &Keys,
    judge: &(dyn Fn(&str, Option<&Path>) -> Verdict + Sync),
) -> Result<(), String> {
    let hidden = terminal.terminal().is_some_and(bashful_engine::CommandTerminal::hides_input);
    // A password is no command, and is not remembered.
    if !hidden {
        let screen = terminal.screen();
        let row = screen.rows.get(usize::from(screen.cursor.row)).cloned().unwrap_or_default();
        let (next, script) = terminal.typed_lines().after(text, keys, &row);
        if let Some(script) = script {
            let shell = terminal.terminal().and_then(shell_at);
            let verdict = judge(&script, shell.as_ref().map(|shell| shell.directory.as_path()));
            if verdict.refuses() {
                return Err(format!("nothing was sent to job {}: {}", terminal.id(), reason(&verdict)));
            }
        }
        *terminal.typed_lines() = next;
    }
    terminal.type_input(text, keys).await.map_err(|error| error_chain(&error))
}

/// Waits at a terminal, and reads its screen.
pub async fn look(
    terminal: &JobTerminal,
    until: Option<&TerminalUntil>,
    at_most: Duration,
    colors: bool,
) -> Result<ScreenView, String> {
    let begun = std::time::Instant::now();
    let pattern = match until {
        Some(TerminalUntil::Pattern(pattern)) => Some(compile(pattern)?),
        _ => None,
    };
    let matches = |text: &str| pattern.as_ref().is_some_and(|pattern| pattern.is_match(text));
    let event = match until {
        None => ScreenUntil::Now,
        Some(TerminalUntil::Settled) => ScreenUntil::Settled,
        Some(TerminalUntil::Input) => ScreenUntil::Input,
        Some(TerminalUntil::Quiet) => ScreenUntil::Quiet(QUIET),
        Some(TerminalUntil::End) => ScreenUntil::End,
        Some(TerminalUntil::Pattern(_)) => ScreenUntil::Matches(&matches),
    };
    let over = terminal.wait(&event, at_most).await.map_err(|error| error_chain(&error))?;
    let snapshot = terminal.screen();
    let text = folded(&if colors { colored(terminal) } else { visible_lines(&snapshot.text()) });
    Ok(ScreenView { text, snapshot, over, waited: begun.elapsed() })
}

/// The screen with colors. The screen itself has written the escape sequences, so nothing of the program's passes.
fn colored(terminal: &JobTerminal) -> String {
    terminal.colored_rows().join("\n").trim_end().to_owned()
}

/// Compiles a pattern for the screen. `^` and `$` match at every row.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    regex::RegexBuilder::new(pattern)
        .multi_line(true)
        .size_limit(1 << 20)
        .build()
        .map_err(|error| format!("job: `pattern` is no regular expression: {error}"))
}

/// The names of keys as keys. The error of an unknown name has the names that are most like it.
pub fn parse_keys(names: &[String]) -> Result<Keys, String> {
    Keys::parse(names.iter().map(String::as_str)).map_err(|error| {
        let nearest = match error.nearest.as_slice() {
            [] => "names are as in tmux: Enter, Escape, Tab, Up, PageDown, F1, C-c, M-x".to_owned(),
            nearest => format!("did you mean {}?", nearest.join(", ")),
        };
        format!("{error}; nothing was sent; {nearest}")
    })
}

/// Equal rows that are shown in full. More of them are counted: an editor fills an empty screen with `~`.
const EQUAL_ROWS_SHOWN: usize = 3;

/// The rows of a screen as one text, with a count in place of many equal rows.
fn folded(rows: &str) -> String {
    let mut text = Vec::new();
    let rows: Vec<&str> = rows.split('\n').collect();
    for equal in rows.chunk_by(|one, other| one == other) {
        if equal.len() <= EQUAL_ROWS_SHOWN {
            text.extend(equal.iter().map(|row| (*row).to_owned()));
        } else {
            text.push(equal[0].to_owned());
            text.push(format!("[{} more rows like this]", equal.len() - 1));
        }
    }
    text.join("\n")
}

impl ScreenView {
    /// One line about the screen: size, cursor, title and state.
    pub fn summary(&self) -> String {
        let ScreenSnapshot { size, cursor, title, skipped_bytes, .. } = &self.snapshot;
        let mut parts = vec![format!("screen {}x{}", size.columns(), size.rows())];
        let hidden = if cursor.visible { "" } else { " (hidden)" };
        parts.push(format!("cursor row {}, column {}{hidden}", cursor.row + 1, cursor.column + 1));
        parts.extend(title.as_ref().map(|title| format!("title {title:?}")));
        if *skipped_bytes > 0 {
            parts.push(format!("{skipped_bytes} bytes were not drawn; all are in the output file"));
        }
        parts.extend(self.state());
        parts.join("; ")
    }

    /// The reason why the call came back, in words; none for a job that has ended, because its record says so.
    fn state(&self) -> Option<String> {
        Some(match self.over {
            WaitOver::Ended(_) => return None,
            WaitOver::UpToDate => "running".to_owned(),
            WaitOver::Matched => "pattern found".to_owned(),
            WaitOver::WaitsForInput { password: true, .. } => {
                "waits for hidden input, like a password: ask the user".to_owned()
            }
            WaitOver::WaitsForInput { certain: true, .. } => "waits for input".to_owned(),
            WaitOver::WaitsForInput { .. } => "probably waits for input".to_owned(),
            WaitOver::Quiet => "no change for 1 s".to_owned(),
            WaitOver::TimeUp => format!("still busy after {} s", self.waited.as_secs().max(1)),
        })
    }

    /// The word for the facts of a reply.
    pub fn state_word(&self) -> &'static str {
        match self.over {
            WaitOver::Ended(_) => "ended",
            WaitOver::UpToDate => "running",
            WaitOver::Matched => "matched",
            WaitOver::WaitsForInput { password: true, .. } => "password",
            WaitOver::WaitsForInput { .. } => "input",
            WaitOver::Quiet => "quiet",
            WaitOver::TimeUp => "busy",
        }
    }

    /// The facts of a reply.
    pub fn facts(&self) -> serde_json::Value {
        let ScreenSnapshot { size, cursor, title, alternate, skipped_bytes, .. } = &self.snapshot;
        serde_json::json!({
            "columns": size.columns(),
            "rows": size.rows(),
            "cursor": { "row": cursor.row + 1, "column": cursor.column + 1, "visible": cursor.visible },
            "title": title,
            "full_screen": alternate,
            "skipped_bytes": skipped_bytes,
            "state": self.state_word(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_equal_rows_are_counted_and_few_are_shown() {
        assert_eq!(folded("a\na\na\nb"), "a\na\na\nb");
        assert_eq!(folded("x\n~\n~\n~\n~\n~\nend"), "x\n~\n[4 more rows like this]\nend");
        assert_eq!(folded("\n\n\n\n+--+"), "\n[3 more rows like this]\n+--+");
        assert_eq!(folded(""), "");
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_nearest_names() {
        let refused = parse_keys(&["Entr".to_owned()]).expect_err("no such key");
        assert!(refused.contains("\"Entr\"") && refused.contains("did you mean Enter"), "{refused}");
    }
}
