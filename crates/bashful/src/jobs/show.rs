//! `bashful jobs show`

use std::error::Error;

use bashful_dialect::job::{self, one_line, state_text};
use bashful_engine::{ByteSize, Eyes, JobPart, JobState, JobStore};
use serde_json::json;

use super::args::ShowArgs;
use crate::exit::Exit;
use crate::print;

/// Shows how far a job has come and a part of its output, at most so much of it.
pub(super) fn main(store: &JobStore, args: &ShowArgs, at_most: ByteSize, eyes: Eyes) -> Result<Exit, Box<dyn Error>> {
    let job = store.get(args.id)?;
    let part = args.since.map_or(JobPart::LastLines(args.lines), JobPart::Since);
    let text = job.text(part, at_most)?;
    let shown = eyes.show(&text.raw);
    if args.json {
        let mut facts = job::facts(&job);
        facts["output_bytes"] = text.total.into();
        facts["output"] = String::from_utf8_lossy(&shown).into();
        facts["shown"] = json!({ "bytes": [text.range.start, text.range.end] });
        facts["next"] = text.range.end.into();
        print::data(format!("{facts:#}\n").as_bytes())?;
        return Ok(Exit::Code(0));
    }
    print::talk(&format!("[job {}: {}; {}]", job.id, state_text(&job), one_line(&job.script)));
    if let JobState::Left { processes, .. } = &job.state {
        for process in processes {
            print::talk(&format!("  {} {}", process.pid, process.command));
        }
    }
    print::data(&shown)?;
    if !shown.is_empty() && !shown.ends_with(b"\n") {
        print::data(b"\n")?;
    }
    print::talk(&format!(
        "[bytes {}-{} of {}; what comes next: bashful jobs show {} --since {}]",
        text.range.start, text.range.end, text.total, job.id, text.range.end
    ));
    Ok(Exit::Code(0))
}
