//! Questions to the host about commands that need approval.
//!
//! Invariant: no answer is a no. A question whose time is over, whose command is aborted or whose host hung up lets nothing
//! run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bashful_dialect::question;
use bashful_engine::{Approval, Approver, BoxFuture, Plan, Verdict};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::outbox::Events;
use crate::wire::{Event, FindingInfo};

/// Time for an answer, unless the host names its own.
pub(crate) const ANSWER_WAIT: Duration = Duration::from_mins(5);

/// Open questions of a connection, by name.
#[derive(Debug, Clone, Default)]
pub(crate) struct Questions(Arc<Mutex<OpenQuestions>>);

#[derive(Debug, Default)]
struct OpenQuestions {
    count: u64,
    open: HashMap<String, oneshot::Sender<bool>>,
}

impl Questions {
    fn open(&self) -> MutexGuard<'_, OpenQuestions> {
        // Every change is complete before anything can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ask(&self) -> (String, oneshot::Receiver<bool>) {
        let mut questions = self.open();
        questions.count += 1;
        let name = format!("q{}", questions.count);
        let (send, answer) = oneshot::channel();
        questions.open.insert(name.clone(), send);
        (name, answer)
    }

    fn close(&self, name: &str) -> Option<oneshot::Sender<bool>> {
        self.open().open.remove(name)
    }

    /// Answers a question; false if nobody waits for the answer.
    pub(crate) fn answer(&self, name: &str, approve: bool) -> bool {
        self.close(name).is_some_and(|waiting| waiting.send(approve).is_ok())
    }
}

/// The host as an approver of one request's command.
#[derive(Debug)]
pub(crate) struct HostApprover {
    pub(crate) events: Events,
    pub(crate) questions: Questions,
    pub(crate) patience: Duration,
}

impl Approver for HostApprover {
    fn approve<'a>(&'a self, plan: &'a Plan, verdict: &'a Verdict) -> BoxFuture<'a, Approval> {
        Box::pin(async move {
            let text = match question(plan, verdict) {
                Ok(text) => text,
                Err(not_asked) => return not_asked,
            };
            let redactor = plan.redactor();
            let redact = |text: String| redactor.redact(text).into_string();
            let (name, answer) = self.questions.ask();
            let event = Event::Approve {
                question: name.clone(),
                id: self.events.id().cloned(),
                text: text.into_string(),
                command: redact(String::from_utf8_lossy(plan.script.as_bytes()).into_owned()),
                cwd: redact(plan.directory.to_string_lossy().into_owned()),
                findings: verdict
                    .refusals()
                    .map(|finding| FindingInfo {
                        rule: finding.rule.clone(),
                        text: redact(finding.concern().to_owned()),
                    })
                    .collect(),
                answer_within_ms: u64::try_from(self.patience.as_millis()).unwrap_or(u64::MAX),
            };
            // Dropped with this future if the command is aborted.
            let mut open = OpenQuestion { name, approver: self, is_answered: false };
            if self.events.outbox().send(&event).is_err() {
                return Approval::Unavailable("the host hung up".to_owned());
            }
            let answered = timeout(self.patience, answer).await;
            open.is_answered = matches!(answered, Ok(Ok(_)));
            match answered {
                Ok(Ok(true)) => Approval::Approved,
                Ok(Ok(false)) => Approval::Declined,
                Ok(Err(_)) | Err(_) => Approval::NoAnswer,
            }
        })
    }
}

/// Closes a question when dropped, and tells the host if it has not answered.
struct OpenQuestion<'a> {
    name: String,
    approver: &'a HostApprover,
    is_answered: bool,
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.approver.questions.close(&self.name);
        if self.is_answered {
            return;
        }
        // A host that hung up shows no question.
        let _ = self.approver.events.outbox().send(&Event::ApproveClosed { question: self.name.clone() });
    }
}
