//! `bashful jobs show`: prints the state of a job and the end of its output.

use std::error::Error;

use bashful_dialect::job::{self, one_line, state_text};
use bashful_engine::{ByteSize, JobPart, JobState, JobStore, JobText, OutputRedactor};
use serde_json::json;

use super::args::ShowArgs;
use crate::exit::Exit;
use crate::print;

/// Prints the state of a job and a part of its output.
pub(super) fn main(
    store: &JobStore,
    args: &ShowArgs,
    at_most: ByteSize,
    redactor: &impl Fn() -> Result<OutputRedactor, Box<dyn Error>>,
) -> Result<Exit, Box<dyn Error>> {
    let mut job = store.get(args.id)?;
    job::redact(&mut job, print::redactor());
    let part = args.since.map_or(JobPart::LastLines(args.lines), JobPart::Since);
    let (text, gone) = match job.text(part, at_most) {
        Ok(text) => (text, None),
        // A missing output is no error: the record still has the state.
        Err(error) => (JobText::default(), Some(bashful_engine::error_chain(&error))),
    };
    let shown = print::lossy(redactor()?.show_part(&text.before, &text.raw, &text.after));
    let stderr = match job.stderr() {
        Some(Ok(stderr)) => {
            let mut raw = Vec::new();
            stderr.tail(args.lines, &mut raw)?;
            let (before, _) = stderr.around(stderr.tail_begin(args.lines)?..u64::MAX);
            Some(print::lossy(redactor()?.show_part(&before, &raw, &[])))
        }
        Some(Err(_)) | None => None,
    };
    if args.json {
        let mut facts = job::facts(&job);
        facts["output_error"] = gone.into();
        if let Some(stderr) = stderr {
            facts["stderr"] = String::from_utf8_lossy(&stderr).into();
        }
        facts["output_bytes"] = text.total.into();
        facts["output"] = String::from_utf8_lossy(&shown).into();
        facts["shown"] = json!({ "bytes": [text.range.start, text.range.end] });
        facts["next"] = text.range.end.into();
        print::pretty_json(facts)?;
        return Ok(Exit::Code(0));
    }
    print::talk(&format!("[job {}: {}; {}]", job.id, state_text(&job), one_line(&job.script)));
    if let Some(note) = job::version_note(&job) {
        print::talk(&format!("[{note}]"));
    }
    if let JobState::Left { processes, .. } = &job.state {
        for process in processes {
            print::talk(&format!("  {} {}", process.pid, process.command));
        }
    }
    print::data(&shown)?;
    if !shown.is_empty() && !shown.ends_with(b"\n") {
        print::data(b"\n")?;
    }
    print::data_to_stderr(stderr.as_deref().unwrap_or_default())?;
    if let Some(gone) = gone {
        print::talk(&format!("[its output is gone: {gone}]"));
        return Ok(Exit::Code(0));
    }
    print::talk(&format!(
        "[bytes {}-{} of {}; next: bashful jobs show {} --since {}]",
        text.range.start, text.range.end, text.total, job.id, text.range.end
    ));
    Ok(Exit::Code(0))
}
