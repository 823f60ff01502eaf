//! The native dialect: `bash` with modes, and `job`.

mod arguments;
mod replies;

pub(crate) use arguments::{bash, job};
pub(crate) use replies::{ended, jobs, outlasted, started};

use crate::tool::{Tool, Words};

pub(crate) fn tools(words: &Words) -> Vec<Tool> {
    let bash = Tool::new(
        "bash",
        "Run a command",
        words.fill(include_str!("bash.md")),
        [include_str!("bash.input.json"), include_str!("bash.facts.json")],
    );
    let job = Tool::new(
        "job",
        "Look after jobs",
        words.fill(include_str!("job.md")),
        [include_str!("job.input.json"), include_str!("job.facts.json")],
    );
    vec![bash, Tool { open_world: false, ..job }]
}
