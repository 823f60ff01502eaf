//! The outcome of a command, as facts.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bashful_fence::Fence;
use bashful_keeper::{End, Exit};

use crate::artifacts::ArtifactFacts;
use crate::clean::Changes;
use crate::request::Lines;
use crate::sessions::{SessionName, SessionOutcome};
use crate::units::ByteSize;
use crate::window::{Clip, LimitHit, Part};

pub use bashful_keeper::protocol::Leftover;

/// A command that has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// End of the command: by itself or stopped, and the exit status.
    pub end: End,
    /// Output; stdout only, if the streams were split.
    pub output: Output,
    /// Stderr, if the streams were split.
    pub stderr: Option<Output>,
    /// Processes that it left running.
    pub leftover: Option<LeftBehind>,
    /// Time from the start to the end.
    pub elapsed: Duration,
    /// Process id of the shell, which was also that of its process group. None if the keeper was lost before it
    /// reported one.
    pub pid: Option<i32>,
    /// State of its session, if it ran in one.
    pub session: Option<SessionOutcome>,
    /// Facts about a command whose output was closed because all wanted lines had come. `end` is then a success, as for
    /// a pipeline into `head`.
    pub cut_off: Option<CutOff>,
    /// Names of withheld variables in the script or in the shown output of a failed command.
    pub missed: Vec<String>,
    /// Name of the client's terminal in which the command ran; none if it ran on its own.
    pub client_terminal: Option<Arc<str>>,
    /// True if the beginning of the output is lost, so that all counts are too small.
    pub lost_beginning: bool,
    /// True if nobody reported the exit status of a stopped command. The one in `end` only stands for it.
    pub exit_is_unknown: bool,
    /// Facts about the end that the reply has to name.
    pub notices: Vec<String>,
    /// Fence that the command was in.
    pub fence: Option<Arc<Fence>>,
}

/// A command whose output was closed before it had ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutOff {
    /// Number of lines that were wanted.
    pub after_lines: u64,
    /// Exit status of the command itself, often `SIGPIPE`.
    pub end: Exit,
}

impl Outcome {
    /// The output that was condensed, which is at most one of the two streams.
    pub fn condensed_output(&self) -> Option<&Output> {
        std::iter::once(&self.output).chain(&self.stderr).find(|output| output.condensed.is_some())
    }
}

/// Output of a command on one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// Shown part, without withheld values. If `condensed` is present, a part of the condensed text.
    pub clip: Clip,
    /// A smaller clip, for a reply whose notices need the room that `clip` takes. Present if `clip` comes close to the
    /// limit; the artifact then has everything.
    pub narrower: Option<Clip>,
    /// Limit on the shown text of the command's output, in bytes. `clip` keeps to it.
    pub limit: ByteSize,
    /// Lines that were asked for; none if there was no limit.
    pub wanted: Option<Lines>,
    /// Number of raw bytes written.
    pub bytes: u64,
    /// Number of lines written; a last one without a newline counts.
    pub lines: u64,
    /// Size of the cleaned text, in bytes: the shown and the omitted part together, unless the text is condensed.
    pub text_bytes: u64,
    /// Facts about the condensed text. The artifact then has the whole raw output. None if the text is as it was
    /// written.
    pub condensed: Option<CondensedOutput>,
    /// Changes of the text that a reader cannot see.
    pub changes: Changes,
    /// Number of shown lines that were shortened.
    pub shortened: u64,
    /// The artifact with the whole output; none if it was short enough.
    pub artifact: Option<ArtifactFacts>,
    /// Reason why there is no artifact, or an incomplete one.
    pub not_saved: Option<String>,
}

/// A text that stands for an output, without lines that went well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CondensedOutput {
    /// Account of the lines that are missing: `left out: passing tests (40 lines)`.
    pub account: String,
    /// Names of the filters that know the commands: `cargo-test`.
    pub filters: Vec<String>,
    /// Families of these filters, each once: `tests`.
    pub families: Vec<String>,
    /// Number of lines of the condensed text.
    pub lines: u64,
    /// Size of the condensed text, in bytes: the shown and the omitted part together.
    pub text_bytes: u64,
    /// Bytes of text that would be shown of the output as it was written.
    pub shown_otherwise: u64,
}

/// The omitted part of an output, as data. Totals are those of the condensed text, if there is one. Sizes are those of the cleaned text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncation {
    /// Part that is shown.
    pub direction: Direction,
    /// Limit that was exceeded.
    pub by: LimitHit,
    /// Number of all lines.
    pub total_lines: u64,
    /// Size of the whole text, in bytes.
    pub total_bytes: u64,
    /// Number of lines that are shown, at least in part.
    pub output_lines: u64,
    /// Bytes that are shown; shortened lines and redacted values count with their original size.
    pub output_bytes: u64,
    /// First and last line of each shown part, counted from 1.
    pub shown: Vec<(u64, u64)>,
    /// Id of the artifact with the whole output.
    pub artifact: Option<u64>,
}

/// Part of an output that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Only the beginning.
    Head,
    /// Only the end.
    Tail,
    /// Beginning and end, without the middle.
    Middle,
}

impl Output {
    /// The shown output as text, with a line in place of the omitted part. Bytes that are not UTF-8 become U+FFFD.
    ///
    /// ```standalone_crate
    /// # use bashful_engine::{Engine, Options, Request, Script};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # bashful_engine::keeper_main();
    /// let engine = Engine::new(Options::new("/bin/bash".into(), "/".into()).inherit())?;
    /// let reply = engine.run(Request::new(Script::new("seq 3; seq 100000")?)).await?;
    /// let text = reply.finished().ok_or("refused")?.output.text();
    /// assert!(text.starts_with("1\n2\n3\n1\n2\n") && text.ends_with("99999\n100000\n"));
    /// assert!(text.contains("\n[... omitted "));
    /// # Ok(()) }
    /// ```
    pub fn text(&self) -> String {
        let mut text = self.clip_text();
        if let Some(lines) = self.condensed_lines() {
            let line_end = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            text = format!("{text}{line_end}{lines}\n");
        }
        text
    }

    fn clip_text(&self) -> String {
        match &self.clip {
            Clip::Whole(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Clip::Cut { head, omitted, tail } => {
                let [head, tail] = [head, tail].map(|part| String::from_utf8_lossy(&part.bytes));
                let line_end = if head.is_empty() || head.ends_with('\n') { "" } else { "\n" };
                let (lines, bytes) = (omitted.lines, omitted.bytes);
                format!("{head}{line_end}[... omitted {lines} lines, {bytes} bytes ...]\n{tail}")
            }
        }
    }

    /// The last two lines of a condensed output: the account of the missing lines, and the artifact with the raw output.
    pub fn condensed_lines(&self) -> Option<String> {
        let (condensed, artifact) = self.condensed.as_ref().zip(self.artifact.as_ref())?;
        Some(format!("[{}]\n[raw output: artifact://{}]", condensed.account, artifact.id))
    }

    /// Number of lines of the text that the clip is a part of: the condensed one, or the output.
    pub fn text_lines(&self) -> u64 {
        self.condensed.as_ref().map_or(self.lines, |condensed| condensed.lines)
    }

    /// Size in bytes of the text that the clip is a part of: the condensed one, or the output.
    pub fn whole_text_bytes(&self) -> u64 {
        self.condensed.as_ref().map_or(self.text_bytes, |condensed| condensed.text_bytes)
    }

    /// The output with its smaller clip, if it has one.
    #[must_use]
    pub fn narrowed(&self) -> Self {
        Self { clip: self.narrower.as_ref().unwrap_or(&self.clip).clone(), narrower: None, ..self.clone() }
    }

    /// The omitted part as data; none if nothing is omitted. Shortened lines do not count.
    pub fn truncation(&self) -> Option<Truncation> {
        let Clip::Cut { head, omitted, tail } = &self.clip else { return None };
        let is_shown = |part: &&Part| !part.range.is_empty();
        let shown = [head, tail].into_iter().filter(is_shown).map(|part| (part.first_line, part.last_line)).collect();
        Some(Truncation {
            direction: match (head.range.is_empty(), tail.range.is_empty()) {
                (_, true) => Direction::Head,
                (true, false) => Direction::Tail,
                (false, false) => Direction::Middle,
            },
            by: omitted.by,
            total_lines: self.text_lines(),
            total_bytes: self.whole_text_bytes(),
            output_lines: self.text_lines().saturating_sub(omitted.lines),
            // A clip that was made smaller after redaction counts the redacted text, which may be longer.
            output_bytes: self.whole_text_bytes().saturating_sub(omitted.bytes),
            shown,
            artifact: self.artifact.as_ref().map(|artifact| artifact.id),
        })
    }
}

/// Processes that outlive their shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftBehind {
    /// Process ids and command lines, redacted.
    pub processes: Vec<Leftover>,
    /// Process id of the keeper that supervises them: `SIGTERM` to it stops all of them. None if the keeper is a
    /// thread.
    pub keeper: Option<i32>,
    /// Id of the job that they became; none if that failed.
    pub job: Option<u64>,
    /// File for their further output, after the output so far; none if it is dropped.
    pub output_file: Option<PathBuf>,
    /// Session in which they run, and with which they end.
    pub session: Option<SessionName>,
}
