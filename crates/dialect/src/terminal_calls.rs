//! Carries out calls about jobs with a terminal: shows the screen, and waits for something to happen.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bashful_engine::{
    JobStore, JobTerminal, Keys, Redactor, ScreenSnapshot, ScreenUntil, TerminalError, WaitOver, error_chain,
};
use regex::Regex;
use unicode_width::UnicodeWidthStr as _;

use bashful_render::visible_lines;

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
        // Another call may have come first. A job that has ended is drawn anew if somebody asks for it.
        terminals.retain(|other| other.id() != terminal.id() && !other.is_over());
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
    /// All rows without colors, redacted. A withheld value that wraps makes one long row of several.
    pub rows: Vec<String>,
    /// The screen as data.
    pub snapshot: ScreenSnapshot,
    /// The reason why the wait is over.
    pub over: WaitOver,
    /// The time that the wait took.
    pub waited: Duration,
}

/// Longest time for a call that only shows the screen: a program that never pauses is shown as far as it is drawn.
const SHOW_WAIT: Duration = Duration::from_millis(500);

/// Most bytes of a screen in a reply.
const MOST_SHOWN: usize = 32 * 1024;

/// Waits at a terminal, and reads its screen, redacted.
pub async fn look(
    terminal: &JobTerminal,
    until: Option<&TerminalUntil>,
    at_most: Duration,
    colors: bool,
    redactor: &Redactor,
) -> Result<ScreenView, String> {
    let begun = std::time::Instant::now();
    let pattern = match until {
        Some(TerminalUntil::Pattern(pattern)) => Some(compile(pattern)?),
        _ => None,
    };
    // A withheld value must not be found out letter by letter.
    let matches = |text: &str| pattern.as_ref().is_some_and(|pattern| pattern.is_match(redactor.redact(text).as_str()));
    let (event, at_most) = match until {
        None => (ScreenUntil::Now, at_most.min(SHOW_WAIT)),
        Some(TerminalUntil::Settled) => (ScreenUntil::Settled, at_most),
        Some(TerminalUntil::Input) => (ScreenUntil::Input, at_most),
        Some(TerminalUntil::Quiet) => (ScreenUntil::Quiet(QUIET), at_most),
        Some(TerminalUntil::End) => (ScreenUntil::End, at_most),
        Some(TerminalUntil::Pattern(_)) => (ScreenUntil::Matches(&matches), at_most),
    };
    let over = terminal.wait(&event, at_most).await.map_err(|error| error_chain(&error))?;
    let over = if until.is_none() && over == WaitOver::TimeUp { WaitOver::UpToDate } else { over };
    let snapshot = terminal.screen();
    let columns = usize::from(snapshot.size.columns());
    let rows = redacted_rows(&snapshot.rows, columns, redactor);
    let plain = visible_lines(&rows.join("\n"));
    let mut text = folded(plain.trim_end_matches('\n'));
    if colors {
        let colored = folded(colored_rows(terminal, &snapshot.rows, columns, redactor).join("\n").trim_end());
        if colored.len() <= MOST_SHOWN {
            text = colored;
        }
    }
    Ok(ScreenView { text: cut(text), rows, snapshot, over, waited: begun.elapsed() })
}

/// The rows without withheld values. A row that fills its line may go on in the next one, and so may a value.
fn redacted_rows(rows: &[String], columns: usize, redactor: &Redactor) -> Vec<String> {
    let mut redacted = Vec::new();
    for line in rows.chunk_by(|row, _| row.width() >= columns) {
        let joined = line.concat();
        let shown = redactor.redact(&joined);
        if shown.as_str() == joined {
            redacted.extend(line.iter().cloned());
        } else {
            redacted.push(shown.into_string());
        }
    }
    redacted
}

/// The rows with colors. The screen itself has written the escape sequences. Rows with a withheld value have no colors, because a
/// sequence may stand inside of the value.
fn colored_rows(terminal: &JobTerminal, rows: &[String], columns: usize, redactor: &Redactor) -> Vec<String> {
    let colored = terminal.colored_rows();
    let mut at = 0;
    let mut shown = Vec::new();
    for line in rows.chunk_by(|row, _| row.width() >= columns) {
        let joined = line.concat();
        let redacted = redactor.redact(&joined);
        if redacted.as_str() == joined {
            shown.extend(colored.iter().skip(at).take(line.len()).cloned());
        } else {
            shown.push(redacted.into_string());
        }
        at += line.len();
    }
    shown
}

/// A text that fits into a reply.
fn cut(mut text: String) -> String {
    if text.len() > MOST_SHOWN {
        text.truncate(text.floor_char_boundary(MOST_SHOWN));
        text.push_str("\n[the rest of the screen is not shown]");
    }
    text
}

/// Compiles a pattern for the screen. `^` and `$` match at every row.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    regex::RegexBuilder::new(pattern)
        .multi_line(true)
        .size_limit(1 << 20)
        .build()
        .map_err(|error| format!("the pattern is no regular expression: {error}"))
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
    use bashful_engine::EnvironmentPolicy;

    #[test]
    fn many_equal_rows_are_counted_and_few_are_shown() {
        assert_eq!(folded("a\na\na\nb"), "a\na\na\nb");
        assert_eq!(folded("x\n~\n~\n~\n~\n~\nend"), "x\n~\n[4 more rows like this]\nend");
        assert_eq!(folded("\n\n\n\n+--+"), "\n[3 more rows like this]\n+--+");
        assert_eq!(folded(""), "");
    }

    #[test]
    fn a_withheld_value_is_redacted_also_where_it_wraps_at_the_edge_of_the_screen() {
        let host = [("API_TOKEN".into(), "s3cr3t-value-abcdef".into())];
        let redactor = EnvironmentPolicy::default().resolve(&host, &[]).expect("valid").redactor();
        let rows = ["12345678s3cr3t-value".to_owned(), "-abcdef".to_owned(), "plain".to_owned()];
        let shown = redacted_rows(&rows, 20, &redactor).join("\n");
        assert!(!shown.contains("s3cr3t") && !shown.contains("abcdef") && shown.ends_with("\nplain"), "{shown}");
        assert_eq!(redacted_rows(&rows[2..], 20, &redactor), ["plain"]);
    }

    #[test]
    fn an_unknown_key_is_refused_with_the_nearest_names() {
        let refused = parse_keys(&["Entr".to_owned()]).expect_err("no such key");
        assert!(refused.contains("\"Entr\"") && refused.contains("did you mean Enter"), "{refused}");
    }
}
