//! Replies of `bash` and `job`.

use bashful_engine::{Budget, End, JobRecord, JobState, Output, ShownSoFar, StopReason};
use serde_json::{Value, json};

use crate::answer::RawAnswer;
use crate::arguments::{JobsCall, MOST_SECONDS};
use crate::compose::{Draft, fitting, lines};
use crate::dialect::{CallFacts, EndedCommand};
use crate::facts::{self, structured};
use crate::job::{one_line, state_text, table};
use crate::job_calls::{JobView, JobsReply};
use crate::terminal_calls::ScreenView;
use crate::text::{self, Reader};

/// The reply to a command that has ended: end, output, notices, leftover processes.
pub(crate) fn ended(ended: &EndedCommand<'_>) -> RawAnswer {
    let EndedCommand { outcome, directory, whole, call, .. } = *ended;
    let end = match outcome.end {
        End::Lost => Some(format!("[{}]", text::lost(outcome))),
        end => text::end(end, call.lifetime),
    };
    let is_error = end.is_some();
    let mut notices = call.notices.clone();
    notices.extend(text::session_notices(outcome));
    notices.extend(text::withheld_notice(outcome));
    notices.extend(outcome.cut_off.as_ref().map(text::cut_off));
    // A call that named its timeout knows of it.
    if call.has_usual_lifetime && matches!(outcome.end, End::Stopped { why: StopReason::TimeUp, .. }) {
        notices.push(format!("for more time: `timeout` (up to {MOST_SECONDS}), or mode \"slow\" or \"background\""));
    }
    let outputs = [Some(&outcome.output), outcome.stderr.as_ref()].into_iter().flatten();
    notices.extend(outputs.clone().filter(|output| text::binary(output).is_none()).flat_map(text::output_notices));
    let leftover = outcome.leftover.as_ref().map(|left| text::leftover(left, Reader::Tools));
    let beside = fitting(&notices);
    let text = Draft { output: &outcome.output, stderr: outcome.stderr.as_ref() }.fit(|output, stderr| {
        let before = end.iter().cloned().chain([shown(output, stderr, whole)]);
        lines(before.chain(bracketed(&beside)).chain(leftover.clone()))
    });
    let facts = structured(facts::of_outcome(outcome, directory, &notices));
    RawAnswer { is_error, ..RawAnswer::new(text, facts) }.with_links(outputs)
}

/// The reply to a background start.
pub(crate) fn started(job: &JobRecord, screen: Option<&ScreenView>, call: &CallFacts) -> RawAnswer {
    let start = std::iter::once(text::background(job, Reader::Tools)).chain(bracketed(&call.notices));
    let text = lines(start.chain(screen.map(screen_text)));
    let mut facts = structured(facts::of_background(job, &call.notices));
    if let Some(screen) = screen {
        facts["screen"] = screen.facts();
    }
    RawAnswer::new(text, facts)
}

/// The reply to a command that outlasted its call: the output so far, and how to wait for the rest.
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

/// The reply to a call about jobs.
pub(crate) fn jobs(reply: &JobsReply) -> RawAnswer {
    let problems: Vec<String> = reply.problems.iter().map(|problem| problem.text.clone()).collect();
    let mut parts = match (&reply.call, reply.views.is_empty()) {
        (JobsCall::List { .. }, true) => vec!["no jobs".to_owned()],
        (JobsCall::Wait { ids, .. }, true) if ids.is_empty() => vec!["no job is running".to_owned()],
        (JobsCall::List { .. }, false) => job_tables(&reply.views),
        _ => reply.views.iter().map(job_text).collect(),
    };
    parts.extend(bracketed(&problems));
    let jobs: Value = reply.views.iter().map(job_facts).collect();
    let mut facts = json!({ "jobs": structured(jobs) });
    if !problems.is_empty() {
        facts["problems"] = problems.into();
    }
    // A missing job is an error only if no other job could be shown.
    let is_error = !reply.problems.is_empty() && reply.views.is_empty();
    RawAnswer { is_error, ..RawAnswer::new(parts.join("\n"), facts) }
}

/// The table of jobs, this server's first. A model has to know that it did not start the others in this conversation.
fn job_tables(views: &[JobView]) -> Vec<String> {
    let (own, others): (Vec<&JobView>, Vec<&JobView>) = views.iter().partition(|view| view.is_own);
    let rows = |views: &[&JobView]| {
        let jobs: Vec<JobRecord> = views.iter().map(|view| view.job.clone()).collect();
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

fn job_text(view: &JobView) -> String {
    let job = &view.job;
    let mut lines = vec![format!("[job {}: {}; {}]", job.id, state_text(job), one_line(&job.script))];
    if let JobState::Left { processes, .. } = &job.state {
        lines.extend(processes.iter().map(|process| format!("  {} {}", process.pid, process.command)));
    }
    lines.extend(view.screen.as_ref().map(screen_text));
    if let Some(shown) = &view.output {
        lines.push(text::or_no_output(shown.text.trim_end_matches('\n')));
        let (start, end, total) = (shown.range.start, shown.range.end, shown.total);
        lines.push(format!("[bytes {start}-{end} of {total}; next: since {end}]"));
    }
    lines.join("\n")
}

/// The rows of a screen, and a line about it.
fn screen_text(screen: &ScreenView) -> String {
    let rows = if screen.text.is_empty() { "(blank screen)" } else { screen.text.as_str() };
    format!("{rows}\n[{}]", screen.summary())
}

fn job_facts(view: &JobView) -> Value {
    let mut facts = crate::job::facts(&view.job);
    facts["own"] = view.is_own.into();
    if let Some(screen) = &view.screen {
        facts["screen"] = screen.facts();
    }
    if let Some(shown) = &view.output {
        facts["output_bytes"] = shown.total.into();
        facts["shown"] = json!({ "bytes": [shown.range.start, shown.range.end] });
        facts["next"] = shown.range.end.into();
    }
    facts
}

/// The shown text of both streams, or `(no output)`.
fn shown(output: &Output, stderr: Option<&Output>, whole: Budget) -> String {
    text::or_no_output(&String::from_utf8_lossy(&text::outputs(output, stderr, whole, Reader::Tools)))
}

fn bracketed(notices: &[String]) -> impl Iterator<Item = String> + '_ {
    notices.iter().map(|notice| format!("[{notice}]"))
}
