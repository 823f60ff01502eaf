//! The dialect of pi: `bash` with a timeout and `async`, and `job` with `list`, `poll` and `cancel`.

mod arguments;
mod jobs;
mod replies;

use bashful_engine::{ByteSize, JobRecord, Window};
use serde_json::Value;

pub(crate) use arguments::{bash, job};
pub(crate) use jobs::jobs;
pub(crate) use replies::{ended, failure, outlasted, started};

use crate::arguments::Limits;
use crate::tool::{Tool, Words};
use crate::visible::visible;

/// Of the output, its end is shown.
const WINDOW: Window = Window::tail(ByteSize::kib(50));

/// A label is no longer than this, dots included.
const LABEL: usize = 120;

pub(crate) fn tools(words: &Words, limits: &Limits) -> Vec<Tool> {
    let background = if limits.async_enabled { include_str!("async.md") } else { include_str!("no-async.md") };
    let mut bash = Tool::new(
        "bash",
        "Run a command",
        words.fill(&include_str!("bash.md").replace("{async}", background.trim_end())),
        [include_str!("bash.input.json"), include_str!("bash.facts.json")],
    );
    if !limits.async_enabled
        && let Some(properties) = bash.input.get_mut("properties").and_then(Value::as_object_mut)
    {
        properties.remove("async");
    }
    let job = Tool::new(
        "job",
        "Look after jobs",
        words.fill(include_str!("job.md")),
        [include_str!("job.input.json"), include_str!("job.facts.json")],
    );
    vec![bash, Tool { open_world: false, ..job }]
}

/// What a job is called here.
fn id(job: u64) -> String {
    format!("bg_{job}")
}

/// The command on one line, cut if it is long.
fn label(job: &JobRecord) -> String {
    let flat = visible(&job.script.trim().replace(['\n', '\t'], " "));
    if flat.chars().count() <= LABEL {
        return flat;
    }
    flat.chars().take(LABEL - 3).chain("...".chars()).collect()
}
