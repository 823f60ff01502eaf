//! What pi's `job` answers.

use bashful_engine::{End, Exit, JobRecord, StopReason};
use serde_json::{Value, json};

use super::replies::milliseconds;
use super::updates::JobCut;
use super::{id, label};
use crate::answer::RawAnswer;
use crate::arguments::JobsCall;
use crate::job::state_text;
use crate::job_calls::{JobView, JobsReply, Problem, ProblemKind};

/// Those that were cancelled, those that are over, and those that go on.
pub(crate) fn jobs(seen: &JobsReply) -> RawAnswer {
    let nothing = seen.looks.is_empty() && seen.problems.is_empty();
    match &seen.call {
        JobsCall::List { .. } if nothing => {
            return RawAnswer::new("No background jobs.".to_owned(), json!({ "jobs": [] }));
        }
        _ if nothing => {
            return RawAnswer::new("No running background jobs to wait for.".to_owned(), json!({ "jobs": [] }));
        }
        JobsCall::CancelAndPoll { cancel, poll, .. } if seen.looks.is_empty() && cancel.is_empty() => {
            let ids: Vec<String> = poll.iter().map(|job| id(*job)).collect();
            let text = format!("No matching jobs found for IDs: {}", ids.join(", "));
            return RawAnswer { is_error: true, ..RawAnswer::new(text.clone(), json!({ "jobs": [], "error": text })) };
        }
        _ => {}
    }
    let (cancelled, others): (Vec<_>, Vec<_>) = seen.looks.iter().partition(|look| look.cancelled);
    let (over, running): (Vec<_>, Vec<_>) = others.into_iter().partition(|look| look.job.is_over());
    let sections = [
        section("Cancelled", &cancelled, |look| format!("- `{}` [bash] — {}", id(look.job.id), label(&look.job))),
        section("Completed", &over, over_text),
        section("Still Running", &running, |look| format!("- `{}` [bash] — {}", id(look.job.id), label(&look.job))),
    ];
    let problems = seen.problems.iter().map(problem_text);
    let text = problems.chain(sections.into_iter().flatten()).collect::<Vec<_>>().join("\n\n");
    let facts = |looks: &[&JobView]| looks.iter().map(|look| job_facts(look)).collect::<Value>();
    let mut all = json!({ "jobs": facts(&[over, running].concat()) });
    if !cancelled.is_empty() {
        all["cancelled"] = facts(&cancelled);
    }
    RawAnswer { is_error: seen.looks.is_empty(), ..RawAnswer::new(text, all) }
}

fn section(name: &str, looks: &[&JobView], line: impl Fn(&JobView) -> String) -> Option<String> {
    if looks.is_empty() {
        return None;
    }
    let lines: Vec<String> = looks.iter().map(|look| line(look)).collect();
    Some(format!("## {name} ({})\n{}", looks.len(), lines.join("\n")))
}

fn over_text(look: &JobView) -> String {
    let job = &look.job;
    let mut lines = vec![format!("### {} [bash] — {}", id(job.id), status(job)), format!("Label: {}", label(job))];
    if let Some(shown) = &look.output {
        let fence = fence(&shown.text);
        lines.push(format!("{fence}\n{}\n{fence}", shown.text.trim_end_matches('\n')));
        lines.extend(JobCut::of(job, shown).map(|cut| cut.text(job)));
    }
    if status(job) == "failed" {
        lines.push(format!("Error: {}", state_text(job)));
    }
    lines.join("\n")
}

/// Longer than whatever in the text could be taken for its end.
fn fence(text: &str) -> String {
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(3.max(longest + 1))
}

fn problem_text(problem: &Problem) -> String {
    match problem.kind {
        ProblemKind::NotFound => format!("Background job not found: {}", id(problem.id)),
        ProblemKind::Ended => format!("Background job {} is already completed.", id(problem.id)),
        ProblemKind::Other => problem.text.clone(),
    }
}

pub(super) fn status(job: &JobRecord) -> &'static str {
    match job.end() {
        _ if !job.is_over() => "running",
        Some(End::Own(Exit::Code(0))) => "completed",
        Some(End::Stopped { why: StopReason::Cancelled, .. }) => "cancelled",
        _ => "failed",
    }
}

fn job_facts(look: &JobView) -> Value {
    let job = &look.job;
    json!({
        "id": id(job.id),
        "type": "bash",
        "status": if look.cancelled { "cancelled" } else { status(job) },
        "label": label(job),
        "durationMs": milliseconds(job.elapsed),
    })
}
