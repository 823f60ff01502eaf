//! Asks the person in the console about commands that need approval.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bashful_dialect::question;
use bashful_engine::{Approval, Approver, BoxFuture, Plan, Verdict};
use tokio::sync::{mpsc, oneshot};

use super::Message;
use crate::model::{Event, Question, QuestionId};

/// Asks in the console; refuses to if a command has started the console, because no command may answer for a person.
pub(super) struct PersonApprover {
    pub(super) messages: mpsc::UnboundedSender<Message>,
    pub(super) no_person: Option<String>,
    pub(super) next: Arc<AtomicU64>,
}

impl Approver for PersonApprover {
    fn approve<'a>(&'a self, plan: &'a Plan, verdict: &'a Verdict) -> BoxFuture<'a, Approval> {
        Box::pin(async move {
            let about = match question(plan, verdict) {
                Ok(about) => about.into_string(),
                Err(not_asked) => return not_asked,
            };
            if let Some(why) = &self.no_person {
                return Approval::Unavailable(why.clone());
            }
            let id = QuestionId::Own(self.next.fetch_add(1, Ordering::Relaxed));
            let (answer, answered) = oneshot::channel();
            let _withdrawal = Withdrawal { id: id.clone(), messages: self.messages.clone() };
            let question = Question { id, origin: None, about };
            if self.messages.send(Message::Question { question, answer }).is_err() {
                return Approval::NotAsked;
            }
            match answered.await {
                Ok(true) => Approval::Approved,
                Ok(false) => Approval::Declined,
                Err(_) => Approval::Dismissed,
            }
        })
    }
}

/// Takes a question back when nobody waits for its answer any more.
struct Withdrawal {
    id: QuestionId,
    messages: mpsc::UnboundedSender<Message>,
}

impl Drop for Withdrawal {
    fn drop(&mut self) {
        let _ = self.messages.send(Message::Event(Event::Withdrawn(self.id.clone())));
    }
}
