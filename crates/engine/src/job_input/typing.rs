//! Typing at the terminal of a job.

use std::path::Path;
use std::time::Duration;

use unicode_width::UnicodeWidthChar as _;

use super::{CheckedInput, JobInput, JobInputError, JobInputs, ShellInput, runs_input};
use crate::check::prelude_in;
use crate::command_log::Fate;
use crate::jobs::{JobRecord, JobTerminal, RunLines, ScreenUntil, shell_at};
use crate::terminal::{CommandTerminal, InputWait};

/// Longest wait for the row of the cursor to be drawn before something is typed.
const ROW_WAIT: Duration = Duration::from_secs(1);

impl JobInputs {
    /// Types at the terminal of a job, and gives up after `at_most`. See [`send`](Self::send).
    pub async fn type_at(
        &self,
        terminal: &JobTerminal,
        input: JobInput,
        at_most: Duration,
    ) -> Result<(), JobInputError> {
        if input.end {
            return Err(JobInputError::EndAtTerminal { id: terminal.id() });
        }
        let checked = self.check_typing(&terminal.job()?, terminal, input, at_most).await?;
        Ok(terminal.type_input(&checked, at_most).await?)
    }

    /// Judges what is typed at a terminal, if a shell would run it.
    async fn check_typing(
        &self,
        job: &JobRecord,
        terminal: &JobTerminal,
        input: JobInput,
        at_most: Duration,
    ) -> Result<CheckedInput, JobInputError> {
        // The row of the cursor decides if somebody else has begun the line.
        terminal.wait(&ScreenUntil::Now, ROW_WAIT.min(at_most)).await?;
        let shell = terminal.terminal().and_then(shell_at);
        let hides_input = terminal.terminal().is_some_and(CommandTerminal::hides_input);
        let is_read_by_shell = match &shell {
            // Another program gets the input, unless it does not read: then the shell reads it later.
            Some(shell) => shell.is_foreground || terminal.input_wait() == InputWait::Busy,
            // A password for a program is no command.
            None => !hides_input,
        };
        if !is_read_by_shell {
            return Ok(CheckedInput(input));
        }
        let text = String::from_utf8_lossy(&input.text);
        let screen = terminal.screen();
        let row = screen.rows.get(usize::from(screen.cursor.row)).map_or("", String::as_str);
        let row = if shell.is_some() { at_cursor(row, screen.cursor.column) } else { ("", "") };
        let directory = shell.as_ref().map(|shell| shell.directory.clone());
        let (next, run) =
            terminal.typed_lines().after(&text, &input.keys, row, directory.as_deref().unwrap_or(Path::new("/")));
        // Hidden text is neither logged nor remembered.
        let hiding = JobInputs { log: self.log.clone().filter(|_| !hides_input), ..self.clone() };
        if let Some(run) = run {
            match &directory {
                Some(directory) => hiding.judge_lines(job, &run, directory).await?,
                None => hiding.judge_input(job, "", &run.all).await?,
            }
            if directory.is_some() || runs_input(job) {
                let directory = directory.as_deref().unwrap_or(&job.directory);
                hiding.record(job, ShellInput { lines: &run.new, directory }, Fate::Sent);
            }
        }
        if !hides_input {
            *terminal.typed_lines() = next;
        }
        Ok(CheckedInput(input))
    }

    /// Judges lines for an interactive shell: the new ones alone where the shell is now, and all from where it was at first. Each
    /// view knows something that the other does not: the directory, or variables and functions.
    async fn judge_lines(&self, job: &JobRecord, run: &RunLines, directory: &Path) -> Result<(), JobInputError> {
        let Some(judge) = &self.judge else { return Ok(()) };
        if !run.is_known {
            return Err(JobInputError::UnknownLine { id: job.id });
        }
        for (lines, directory) in [(&run.new, directory), (&run.all, &run.first_directory)] {
            let verdict = judge.verdict_in(lines.clone(), prelude_in(directory)).await;
            self.refuse_unless_allowed(job, ShellInput { lines, directory }, verdict)?;
        }
        Ok(())
    }
}

/// The text of a row before a column, and behind it.
fn at_cursor(row: &str, column: u16) -> (&str, &str) {
    let mut width = 0;
    let at = row.char_indices().find(|(_, character)| {
        let begins = width >= usize::from(column);
        width += character.width().unwrap_or(0);
        begins
    });
    at.map_or((row, ""), |(at, _)| row.split_at(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_split_at_the_cursor_by_columns() {
        assert_eq!(at_cursor("$ rm", 2), ("$ ", "rm"));
        assert_eq!(at_cursor("$ 日本x", 6), ("$ 日本", "x"));
        assert_eq!(at_cursor("$", 5), ("$", ""));
    }
}
