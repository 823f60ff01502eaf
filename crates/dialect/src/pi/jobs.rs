//! Replies of pi's `job`.

use bashful_engine::{End, Exit, JobRecord, StopReason};
use serde_json::{Value, json};

use super::replies::milliseconds;
use super::updates::JobCut;
use super::{id, label};
use crate::answer::RawAnswer;
use crate::arguments::JobsCall;
use crate::job::state_text;
use crate::job_calls::{JobProblem, JobView, JobsReply, ProblemKind};

/// The reply to a call about jobs: cancelled, completed and running ones, in sections.
pub(crate) fn jobs(reply: &JobsReply) -> RawAnswer {
    let nothing = reply.views.is_empty() && reply.problems.is_empty();
    match &reply.call {
        JobsCall::List { .. } if nothing => {
            return RawAnswer::new("No background jobs.".to_owned(), json!({ "jobs": [] }));
        }
        _ if nothing => {
            return RawAnswer::new("No running background jobs to wait for.".to_owned(), json!({ "jobs": [] }));
        }
        JobsCall::CancelAndPoll { cancel, poll, .. } if reply.views.is_empty() && cancel.is_empty() => {
            let ids: Vec<String> = poll.iter().map(|job| id(*job)).collect();
            let text = format!("No matching jobs found for IDs: {}", ids.join(", "));
            return RawAnswer { is_error: true, ..RawAnswer::new(text.clone(), json!({ "jobs": [], "error": text })) };
        }
        _ => {}
    }
    let (cancelled, others): (Vec<_>, Vec<_>) = reply.views.iter().partition(|view| view.cancelled);
    let (over, running): (Vec<_>, Vec<_>) = others.into_iter().partition(|view| view.job.is_over());
    let sections = [
        section("Cancelled", &cancelled, |view| format!("- `{}` [bash] — {}", id(view.job.id), label(&view.job))),
        section("Completed", &over, over_text),
        section("Still Running", &running, |view| format!("- `{}` [bash] — {}", id(view.job.id), label(&view.job))),
    ];
    let problems = reply.problems.iter().map(problem_text);
    let text = problems.chain(sections.into_iter().flatten()).collect::<Vec<_>>().join("\n\n");
    let facts = |views: &[&JobView]| views.iter().map(|view| job_facts(view)).collect::<Value>();
    let mut all = json!({ "jobs": facts(&[over, running].concat()) });
    if !cancelled.is_empty() {
        all["cancelled"] = facts(&cancelled);
    }
    RawAnswer { is_error: reply.views.is_empty(), ..RawAnswer::new(text, all) }
}

fn section(name: &str, views: &[&JobView], line: impl Fn(&JobView) -> String) -> Option<String> {
    if views.is_empty() {
        return None;
    }
    let lines: Vec<String> = views.iter().map(|view| line(view)).collect();
    Some(format!("## {name} ({})\n{}", views.len(), lines.join("\n")))
}

fn over_text(view: &JobView) -> String {
    let job = &view.job;
    let mut lines = vec![format!("### {} [bash] — {}", id(job.id), status(job)), format!("Label: {}", label(job))];
    if let Some(shown) = &view.output {
        let fence = fence(&shown.text);
        lines.push(format!("{fence}\n{}\n{fence}", shown.text.trim_end_matches('\n')));
        lines.extend(JobCut::of(job, shown).map(|cut| cut.text(job)));
    }
    if status(job) == "failed" {
        lines.push(format!("Error: {}", state_text(job)));
    }
    lines.join("\n")
}

/// A code fence longer than any run of backticks in the text.
fn fence(text: &str) -> String {
    let longest = text.split(|char| char != '`').map(str::len).max().unwrap_or_default();
    "`".repeat(3.max(longest + 1))
}

fn problem_text(problem: &JobProblem) -> String {
    match problem.kind {
        ProblemKind::NotFound => format!("Background job not found: {}", id(problem.id)),
        ProblemKind::Ended => format!("Background job {} is already completed.", id(problem.id)),
        ProblemKind::Other => problem.text.clone(),
    }
}

/// The state word of pi: `running`, `completed`, `cancelled` or `failed`.
pub(super) fn status(job: &JobRecord) -> &'static str {
    match job.end() {
        _ if !job.is_over() => "running",
        Some(End::Own(Exit::Code(0))) => "completed",
        Some(End::Stopped { why: StopReason::Cancelled, .. }) => "cancelled",
        _ => "failed",
    }
}

fn job_facts(view: &JobView) -> Value {
    let job = &view.job;
    json!({
        "id": id(job.id),
        "type": "bash",
        "status": if view.cancelled { "cancelled" } else { status(job) },
        "label": label(job),
        "durationMs": milliseconds(job.elapsed),
    })
}
