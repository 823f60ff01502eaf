//! `bashful jobs logs`: prints and follows the output of a job.

use std::error::Error;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use bashful_dialect::job::state_text;
use bashful_dialect::visible;
use bashful_engine::{Followed, JobStore, OutputRedactor};
use tokio::time::timeout;

use super::args::LogsArgs;
use crate::exit::Exit;
use crate::print;

/// Time after which an unfinished line is shown, because it may be a prompt.
const PROMPT_AFTER: Duration = Duration::from_millis(100);

/// Prints a job's output; with `-f` until the job ends.
pub(super) async fn main(
    store: &Arc<JobStore>,
    args: &LogsArgs,
    redactor: &impl Fn() -> Result<OutputRedactor, Box<dyn Error>>,
) -> Result<Exit, Box<dyn Error>> {
    let mut follow = store.follow(args.id, args.since)?;
    let end = store.get(args.id)?.output_file.metadata().map_or(u64::MAX, |metadata| metadata.len());
    let before =
        if args.since > 0 { store.get(args.id)?.output()?.around(args.since..args.since).0 } else { Vec::new() };
    let mut page = FollowedOutput { redactor: redactor()?.behind(before), raw: args.raw, begun: Vec::new() };
    while args.follow || follow.offset() < end {
        let patience = if page.has_prompt() { PROMPT_AFTER } else { Duration::MAX };
        let Ok(next) = timeout(patience, follow.next()).await else {
            page.prompt()?;
            continue;
        };
        let next = next?;
        let wanted = match next {
            Followed::Output { bytes, .. } => page.bytes(&bytes)?,
            Followed::Missing(missing) => {
                page.prompt()?;
                page = FollowedOutput { redactor: redactor()?, raw: args.raw, begun: Vec::new() };
                write(format!("\n[{}]\n", visible(&missing.to_string())).as_bytes())?
            }
            Followed::Over(job) => {
                page.prompt()?;
                print::talk(&format!("[job {}: {}]", job.id, state_text(&job)));
                return Ok(Exit::Code(0));
            }
        };
        if !wanted {
            // The reader has closed its end, as in `logs -f 7 | head`.
            return Ok(Exit::Code(0));
        }
    }
    page.prompt()?;
    Ok(Exit::Code(0))
}

/// The state of printing.
struct FollowedOutput {
    redactor: OutputRedactor,
    raw: bool,
    /// The part of an unfinished line that was printed already.
    begun: Vec<u8>,
}

impl FollowedOutput {
    /// False if the reader has closed its end.
    fn bytes(&mut self, bytes: &[u8]) -> io::Result<bool> {
        if self.raw {
            return write(bytes);
        }
        let text = self.redactor.push(bytes);
        if text.is_empty() {
            return Ok(true);
        }
        let begun = std::mem::take(&mut self.begun);
        match text.strip_prefix(begun.as_slice()) {
            Some(rest) => write(&print::lossy_on_terminal(rest.to_vec())),
            // The line was redrawn, so it is printed again.
            None => write(&print::lossy_on_terminal([b"\n", text.as_slice()].concat())),
        }
    }

    /// True if an unfinished line has text that is not printed yet.
    fn has_prompt(&self) -> bool {
        !self.raw && self.redactor.pending().strip_prefix(self.begun.as_slice()).is_some_and(|rest| !rest.is_empty())
    }

    /// Prints the new part of the unfinished line.
    fn prompt(&mut self) -> io::Result<()> {
        let pending = self.redactor.pending();
        if let Some(rest) = pending.strip_prefix(self.begun.as_slice())
            && !rest.is_empty()
        {
            write(&print::lossy_on_terminal(rest.to_vec()))?;
            self.begun = pending;
        }
        Ok(())
    }
}

/// False if the reader has closed its end.
fn write(text: &[u8]) -> io::Result<bool> {
    let mut out = io::stdout().lock();
    match out.write_all(text).and_then(|()| out.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(false),
        written => written.map(|()| true),
    }
}
