//! What `bash` and `job` answer.

use bashful_engine::{Budget, JobRecord, JobState, Output, ShownSoFar};
use serde_json::{Value, json};

use crate::answer::RawAnswer;
use crate::arguments::JobsCall;
use crate::compose::{Draft, fitting, lines};
use crate::dialect::{CallFacts, Ended};
use crate::facts::{self, structured};
use crate::job::{one_line, state_text, table};
use crate::job_calls::{JobView, JobsReply};
use crate::text::{self, Reader};

/// How it ended, what it wrote, and what else has to be said.
pub(crate) fn ended(ended: &Ended<'_>) -> RawAnswer {
    let Ended { outcome, directory, whole, call, .. } = *ended;
    let end = text::end(outcome.end, call.lifetime);
    let is_error = end.is_some();
    let mut notices = call.notices.clone();
    notices.extend(text::session_notices(outcome));
    notices.extend(text::missed(outcome));
    notices.extend(outcome.cut_off.as_ref().map(text::cut_off));
    let outputs = [Some(&outcome.output), outcome.stderr.as_ref()].into_iter().flatten();
    notices.extend(outputs.clone().flat_map(text::output_notices));
    let leftover = outcome.leftover.as_ref().map(|left| text::leftover(left, Reader::Tools));
    let beside = fitting(&notices);
    let text = Draft { output: &outcome.output, stderr: outcome.stderr.as_ref() }.fit(|output, stderr| {
        let before = end.iter().cloned().chain([shown(output, stderr, whole)]);
        lines(before.chain(bracketed(&beside)).chain(leftover.clone()))
    });
    let facts = structured(facts::of_outcome(outcome, directory, &notices));
    RawAnswer { is_error, ..RawAnswer::new(text, facts) }.with_links(outputs)
}

/// Where it is and how to stop it.
pub(crate) fn started(job: &JobRecord, call: &CallFacts) -> RawAnswer {
    let text = lines(std::iter::once(text::background(job, Reader::Tools)).chain(bracketed(&call.notices)));
    RawAnswer::new(text, structured(facts::of_background(job, &call.notices)))
}

/// What it had written by then, and how to wait for the rest.
pub(crate) fn outlasted(job: &JobRecord, so_far: &ShownSoFar, call: &CallFacts) -> RawAnswer {
    let mut notices = call.notices.clone();
    notices.extend(text::session_left(job, so_far));
    notices.push(text::still_running(job, Reader::Tools));
    let beside = fitting(&notices);
    let text = Draft { output: &so_far.output, stderr: so_far.stderr.as_ref() }.fit(|output, stderr| {
        let shown = std::iter::once(shown(output, stderr, so_far.window.whole));
        lines(shown.chain(bracketed(&beside)).chain([text::background(job, Reader::Tools)]))
    });
    RawAnswer::new(text, structured(facts::of_outlasted(job, so_far, &notices))).with_links([&so_far.output])
}

/// Jobs, one below the other.
pub(crate) fn jobs(seen: &JobsReply) -> RawAnswer {
    let problems: Vec<String> = seen.problems.iter().map(|problem| problem.text.clone()).collect();
    let mut parts = match (&seen.call, seen.looks.is_empty()) {
        (JobsCall::List { .. }, true) => vec!["no jobs".to_owned()],
        (JobsCall::Wait { ids, .. }, true) if ids.is_empty() => vec!["no job is running".to_owned()],
        (JobsCall::List { .. }, false) => list(&seen.looks),
        _ => seen.looks.iter().map(look_text).collect(),
    };
    parts.extend(bracketed(&problems));
    let jobs: Value = seen.looks.iter().map(look_facts).collect();
    let mut facts = json!({ "jobs": structured(jobs) });
    if !problems.is_empty() {
        facts["problems"] = problems.into();
    }
    // One that is not there spoils nothing for the others.
    let is_error = !seen.problems.is_empty() && seen.looks.is_empty();
    RawAnswer { is_error, ..RawAnswer::new(parts.join("\n"), facts) }
}

/// This server's jobs first. A model that sees others has to know that it did not start them in this conversation.
fn list(looks: &[JobView]) -> Vec<String> {
    let (own, others): (Vec<&JobView>, Vec<&JobView>) = looks.iter().partition(|look| look.is_own);
    let rows = |looks: &[&JobView]| {
        let jobs: Vec<JobRecord> = looks.iter().map(|look| look.job.clone()).collect();
        table(&jobs).to_string().trim_end().to_owned()
    };
    let mut parts = Vec::new();
    if !own.is_empty() {
        parts.push(rows(&own));
    }
    if !others.is_empty() {
        parts.push("[jobs that this server did not start:]".to_owned());
        parts.push(rows(&others));
    }
    parts
}

fn look_text(look: &JobView) -> String {
    let job = &look.job;
    let mut lines = vec![format!("[job {}: {}; {}]", job.id, state_text(job), one_line(&job.script))];
    if let JobState::Left { processes, .. } = &job.state {
        lines.extend(processes.iter().map(|process| format!("  {} {}", process.pid, process.command)));
    }
    if let Some(shown) = &look.output {
        lines.push(text::or_none(shown.text.trim_end_matches('\n')));
        let (start, end, total) = (shown.range.start, shown.range.end, shown.total);
        lines.push(format!("[bytes {start}-{end} of {total}; next: since {end}]"));
    }
    lines.join("\n")
}

fn look_facts(look: &JobView) -> Value {
    let mut facts = crate::job::facts(&look.job);
    facts["own"] = look.is_own.into();
    if let Some(shown) = &look.output {
        facts["output_bytes"] = shown.total.into();
        facts["shown"] = json!({ "bytes": [shown.range.start, shown.range.end] });
        facts["next"] = shown.range.end.into();
    }
    facts
}

/// The output as a model reads it: something in any case.
fn shown(output: &Output, stderr: Option<&Output>, whole: Budget) -> String {
    text::or_none(&String::from_utf8_lossy(&text::outputs(output, stderr, whole, Reader::Tools)))
}

fn bracketed(notices: &[String]) -> impl Iterator<Item = String> + '_ {
    notices.iter().map(|notice| format!("[{notice}]"))
}
