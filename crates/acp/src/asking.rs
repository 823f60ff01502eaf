//! Questions to the user of the client about commands that need approval.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use agent_client_protocol::Client;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    PermissionOption, PermissionOptionKind, RequestPermissionOutcome, RequestPermissionRequest, SessionId, ToolCallId,
    ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields,
};
use bashful_dialect::question;
use bashful_engine::{Approval, Approver, BoxFuture, Plan, Verdict};

use crate::cards;
use crate::terminals::error_text;
use crate::turn::WaitingForClient;

/// The option that approves. Nothing else does.
const ALLOW: &str = "allow";

/// The user of a client, asked about one tool call. A dropped question is withdrawn.
#[derive(Debug)]
pub(crate) struct PermissionForm {
    pub(crate) connection: ConnectionTo<Client>,
    pub(crate) session_id: SessionId,
    pub(crate) call_id: ToolCallId,
    pub(crate) waits: Arc<AtomicBool>,
}

impl Approver for PermissionForm {
    fn approve<'a>(&'a self, plan: &'a Plan, verdict: &'a Verdict) -> BoxFuture<'a, Approval> {
        Box::pin(async move {
            let question = match question(plan, verdict) {
                Ok(question) => question,
                Err(not_asked) => return not_asked,
            };
            let fields = ToolCallUpdateFields::new()
                .status(ToolCallStatus::Pending)
                .content(vec![cards::fenced(question.as_str()).into()]);
            let options = vec![
                PermissionOption::new(ALLOW, "Run it this once", PermissionOptionKind::AllowOnce),
                PermissionOption::new("reject", "Do not run it", PermissionOptionKind::RejectOnce),
            ];
            let call = ToolCallUpdate::new(self.call_id.clone(), fields);
            let request = RequestPermissionRequest::new(self.session_id.clone(), call, options);
            let _waiting = WaitingForClient::new(&self.waits);
            let asked = Instant::now();
            match self.connection.send_request(request).block_task().await {
                Ok(answer) => approval(&answer.outcome).after(asked.elapsed()),
                Err(error) => Approval::Unavailable(format!("the client could not ask: {}", error_text(&error))),
            }
        })
    }
}

fn approval(outcome: &RequestPermissionOutcome) -> Approval {
    match outcome {
        RequestPermissionOutcome::Selected(selected) if &*selected.option_id.0 == ALLOW => Approval::Approved,
        RequestPermissionOutcome::Selected(_) => Approval::Declined,
        // Future outcomes of the protocol do not approve.
        _ => Approval::Dismissed,
    }
}
