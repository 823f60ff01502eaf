//! The reply to `bashful run`, for a person or as JSON.

use bashful_dialect::facts;
use bashful_dialect::text::{self, Reader};
use bashful_engine::{Background, Finished, Output, Redacted, Redactor, StreamName};
use serde_json::{Value, json};

use crate::attend::Attendance;
use crate::cli::RunArgs;
use crate::colored::ColoredOutput;
use crate::direct::Direct;
use crate::exit::Exit;
use crate::print::{self, PrintError};
use crate::settings::Settings;
use crate::setup;

/// Prints the reply to one command.
pub(crate) struct Report<'a> {
    pub(crate) args: &'a RunArgs,
    pub(crate) settings: &'a Settings,
    /// Set if the output was written while the command ran.
    pub(crate) direct: Option<Direct>,
    /// The output with its colors, on a terminal.
    pub(crate) colored: Option<ColoredOutput>,
    /// Notices about the arguments.
    pub(crate) notices: Vec<String>,
    /// The command had the terminal, and may have left a line unfinished.
    pub(crate) attendance: Option<Attendance>,
}

impl Report<'_> {
    /// Prints the reply to a command that has ended, and returns the exit code.
    pub(crate) fn finished(mut self, finished: Finished, interrupted: Option<u8>) -> Result<Exit, PrintError> {
        let Finished { outcome, directory, lifetime, explanations, notices, redactor, .. } = finished;
        let shown = self.shown(&outcome.output, outcome.stderr.as_ref());
        self.add(explanations.into_iter().map(|(_, text)| text).chain(notices));
        self.notices.extend(text::session_notices(&outcome));
        self.notices.extend(text::withheld_notice(&outcome));
        self.notices.extend_from_slice(&shown.notices);
        self.notices.extend(outcome.cut_off.as_ref().map(text::cut_off));
        let exit = Exit::of(outcome.end, interrupted);
        let leftover = outcome.leftover.as_ref().map(|left| text::leftover(left, Reader::Program));
        if self.args.json {
            self.notices.extend(leftover);
            shown.print_with(facts::of_outcome(&outcome, &directory, &self.notices), &redactor)?;
            return Ok(exit);
        }
        shown.print()?;
        let ends = leftover.into_iter().chain(text::end(outcome.end, lifetime));
        let said: Vec<String> = self.notices.iter().map(|notice| format!("[{notice}]")).chain(ends).collect();
        if let (Some(attendance), false) = (&self.attendance, said.is_empty()) {
            attendance.begin_line();
        }
        for text in &said {
            print::talk(text);
        }
        Ok(exit)
    }

    /// Prints the reply to a command that became a job.
    pub(crate) fn background(mut self, background: Background) -> Result<Exit, PrintError> {
        let Background { job, shown, explanations, notices, redactor, .. } = background;
        self.add(explanations.into_iter().map(|(_, text)| text).chain(notices));
        let Some(so_far) = shown else {
            if self.args.json {
                print::json(facts::of_background(&job, &self.notices), &redactor)?;
            } else {
                print::text(&text::background(&job, Reader::Program))?;
                self.talk();
            }
            return Ok(Exit::Code(0));
        };
        self.notices.extend(so_far.had_line_limit.then(|| text::LIMIT_ENDED.to_owned()));
        self.notices.extend(text::session_left(&job, &so_far));
        self.notices.push(text::still_running(&job, Reader::Program));
        let shown = self.shown(&so_far.output, so_far.stderr.as_ref());
        if self.args.json {
            shown.print_with(facts::of_outlasted(&job, &so_far, &self.notices), &redactor)?;
        } else {
            shown.print()?;
            self.talk();
            print::talk(&text::background(&job, Reader::Program));
        }
        Ok(Exit::Code(0))
    }

    /// Prints that the command was cancelled before it had started, or just then.
    pub(crate) fn cancelled(self) -> Result<(), PrintError> {
        const TEXT: &str = "cancelled before the command had started; if it had, it was stopped";
        if self.args.json {
            return print::json(json!({ "status": "cancelled", "error": TEXT }), print::redactor());
        }
        print::talk(&format!("[{TEXT}]"));
        Ok(())
    }

    fn add(&mut self, notices: impl IntoIterator<Item = Redacted>) {
        self.notices.extend(notices.into_iter().map(Redacted::into_string));
    }

    fn talk(&self) {
        for notice in &self.notices {
            print::talk(&format!("[{notice}]"));
        }
    }

    /// The text with the colors of the command, if those are known.
    fn painted(&self, stream: StreamName, shown: Vec<u8>) -> Vec<u8> {
        match &self.colored {
            Some(colored) => colored.paint(stream, shown),
            None => shown,
        }
    }

    /// Both streams, apart with `--split`. A line limit on standard output also separates them.
    fn shown(&self, output: &Output, stderr: Option<&Output>) -> ShownOutput {
        let whole = setup::window(&self.settings.output).whole;
        let show =
            |output: &Output, stream| self.painted(stream, print::lossy(text::output(output, whole, Reader::Program)));
        let show_stderr = |output: &Output| show(output, StreamName::Stderr);
        let notices = |outputs: &[Option<&Output>]| {
            outputs.iter().flatten().flat_map(|output| text::output_notices(output)).collect()
        };
        match self.direct {
            Some(Direct { stderr: true }) => ShownOutput { output: Vec::new(), stderr: None, notices: Vec::new() },
            Some(Direct { stderr: false }) => {
                ShownOutput { output: Vec::new(), stderr: stderr.map(show_stderr), notices: notices(&[stderr]) }
            }
            None if self.args.split => ShownOutput {
                output: show(output, StreamName::Output),
                stderr: stderr.map(show_stderr),
                notices: notices(&[Some(output), stderr]),
            },
            None => {
                let shown = print::lossy(text::outputs(output, stderr, whole, Reader::Program));
                let shown = self.painted(StreamName::Output, shown);
                ShownOutput { output: shown, stderr: None, notices: notices(&[Some(output), stderr]) }
            }
        }
    }
}

/// The text of both streams for the reply.
struct ShownOutput {
    output: Vec<u8>,
    stderr: Option<Vec<u8>>,
    notices: Vec<String>,
}

impl ShownOutput {
    fn print(&self) -> Result<(), PrintError> {
        print::data(&self.output)?;
        print::data_to_stderr(self.stderr.as_deref().unwrap_or_default())
    }

    /// Prints the facts and the shown text as one line of JSON.
    fn print_with(&self, mut facts: Value, redactor: &Redactor) -> Result<(), PrintError> {
        let name = if self.stderr.is_some() { "stdout" } else { "output" };
        facts[name] = String::from_utf8_lossy(&self.output).into();
        if let Some(stderr) = &self.stderr {
            facts["stderr"] = String::from_utf8_lossy(stderr).into();
        }
        print::json(facts, redactor)
    }
}
