//! How a command ended, as facts.

use std::path::PathBuf;
use std::time::Duration;

use bashful_keeper::{End, Exit};

use crate::artifacts::ArtifactFacts;
use crate::clean::Changes;
use crate::request::Lines;
use crate::sessions::{SessionName, SessionOutcome};
use crate::units::ByteSize;
use crate::window::{Clip, LimitHit, Part};

pub use bashful_keeper::protocol::Leftover;

/// A command that is over.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Who ended it, and what the system said.
    pub end: End,
    /// What it wrote; what it wrote to standard output, if the streams were taken apart.
    pub output: Output,
    /// What it wrote to standard error, if the streams were taken apart.
    pub stderr: Option<Output>,
    /// What it left running.
    pub leftover: Option<LeftBehind>,
    /// How long it took.
    pub elapsed: Duration,
    /// The shell's process id, which was that of its group too. None if it was lost before anybody could tell.
    pub pid: Option<i32>,
    /// What became of its session, if it ran in one.
    pub session: Option<SessionOutcome>,
    /// What became of the command after its output was closed, because all lines that were wanted had come. Its end is then
    /// that of a pipeline into `head`, which has done well.
    pub cut_off: Option<CutOff>,
    /// Names of withheld variables that are in the script or in the shown output of a command that failed.
    pub missed: Vec<String>,
}

/// A command whose output was closed before it had ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CutOff {
    /// So many lines were wanted.
    pub after_lines: u64,
    /// How it ended, by itself or of not being able to write.
    pub end: Exit,
}

/// What a command wrote on one stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Output {
    /// What is shown of it, without withheld values.
    pub clip: Clip,
    /// A smaller clip, for a reply whose notices need the room that `clip` takes. Present if `clip` comes close to the
    /// limit; the artifact has everything then.
    pub narrower: Option<Clip>,
    /// The most text that a reply may show of the command's output, in bytes. `clip` keeps to it.
    pub limit: ByteSize,
    /// Which lines were to be shown; all that fit, if nothing was said.
    pub wanted: Option<Lines>,
    /// How many bytes it wrote.
    pub bytes: u64,
    /// How many lines it wrote; a last one without its newline counts.
    pub lines: u64,
    /// How many bytes of text that makes for the eyes. What is shown and what is left out make up this number.
    pub text_bytes: u64,
    /// How the text differs from the bytes, in ways that a reader cannot see.
    pub changes: Changes,
    /// How many of the lines that are shown lack their end, because they were too long.
    pub shortened: u64,
    /// Where the whole of it is, if it was too much to hold.
    pub artifact: Option<ArtifactFacts>,
    /// Why the whole of it is not there, or not complete.
    pub not_saved: Option<String>,
}

/// How what is shown of an output falls short of all of it. Sizes are those of the text for the eyes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Truncation {
    /// Which part is shown.
    pub direction: Direction,
    /// Of what there was too much.
    pub by: LimitHit,
    /// All lines.
    pub total_lines: u64,
    /// All bytes.
    pub total_bytes: u64,
    /// Lines of which something is shown.
    pub output_lines: u64,
    /// Bytes that are shown, those of shortened lines and masked values counted as they were.
    pub output_bytes: u64,
    /// The first and the last line of each part that is shown, counted from 1.
    pub shown: Vec<(u64, u64)>,
    /// The artifact that has the whole.
    pub artifact: Option<u64>,
}

/// Which part of an output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Its beginning.
    Head,
    /// Its end.
    Tail,
    /// Both, without the middle.
    Middle,
}

impl Output {
    /// The shown output as text, with a line that tells how much is left out in its place. Bytes that are not UTF-8 become
    /// U+FFFD.
    ///
    /// ```
    /// # use bashful_engine::{Engine, Options, Request, Script};
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let engine = Engine::new(Options::new("/bin/bash".into(), "/".into()).inherit())?;
    /// let reply = engine.run(Request::new(Script::new("seq 3; seq 100000")?)).await?;
    /// let text = reply.finished().ok_or("refused")?.output.text();
    /// assert!(text.starts_with("1\n2\n3\n1\n2\n") && text.ends_with("99999\n100000\n"));
    /// assert!(text.contains("\n[... omitted "));
    /// # Ok(()) }
    /// ```
    pub fn text(&self) -> String {
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

    /// The output with its smaller clip, if it has one.
    #[must_use]
    pub fn narrowed(&self) -> Self {
        Self { clip: self.narrower.as_ref().unwrap_or(&self.clip).clone(), narrower: None, ..self.clone() }
    }

    /// What is left out, as data; none if nothing is. Lines that were only shortened are no part of it.
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
            total_lines: self.lines,
            total_bytes: self.text_bytes,
            output_lines: self.lines.saturating_sub(omitted.lines),
            // A clip that was made smaller after redaction counts the redacted text, which may be longer.
            output_bytes: self.text_bytes.saturating_sub(omitted.bytes),
            shown,
            artifact: self.artifact.as_ref().map(|artifact| artifact.id),
        })
    }
}

/// Processes that outlive their shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftBehind {
    /// Who they are.
    pub processes: Vec<Leftover>,
    /// The keeper that watches over them: `SIGTERM` to it stops all of them. None where a thread watches.
    pub keeper: Option<i32>,
    /// The job that they are now. None where it could not be written down.
    pub job: Option<u64>,
    /// The file that gets what they write from now on, behind what was written before, if there is one.
    pub output_file: Option<PathBuf>,
    /// The session in which they run, and with which they end.
    pub session: Option<SessionName>,
}
