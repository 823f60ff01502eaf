//! Questions to the user of a client about commands that need approval.
//!
//! A client with `initialize` is asked while its call waits. A client without gets the question as the reply, and
//! makes the same call again with the answer. An answer counts once, for the same call, within [`OPEN_FOR`].

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use bashful_dialect::question;
use bashful_engine::{Approval, Approver, BoxFuture, Plan, Verdict};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelledNotificationParam, ClientResult, ElicitRequest,
    ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema, InputRequest, InputRequiredResult,
    ProtocolVersion, RequestId, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, ServiceError};
use serde_json::Value;

/// The name of the one question that a call may come back with.
const QUESTION: &str = "allow";

/// Most open questions. Beyond it the oldest are forgotten, and asked again.
const MOST_OPEN: usize = 64;

/// Longest call in bytes that is kept until it is made again.
const LONGEST_CALL: usize = 64 * 1024;

/// Time after which an open question expires.
const OPEN_FOR: Duration = Duration::from_mins(15);

/// Open questions to clients without `initialize`.
#[derive(Debug, Default)]
pub(crate) struct Questions(Mutex<OpenQuestions>);

#[derive(Debug, Default)]
struct OpenQuestions {
    count: u64,
    open: VecDeque<Open>,
}

/// A question, and the call that it is about.
#[derive(Debug, PartialEq)]
struct Open {
    state: String,
    at: Instant,
    call: String,
    text: String,
}

impl Questions {
    fn put(&self, call: String, text: String) -> String {
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        asked.count += 1;
        let state = format!("question-{}", asked.count);
        asked.open.push_back(Open { state: state.clone(), at: Instant::now(), call, text });
        while asked.open.len() > MOST_OPEN {
            asked.open.pop_front();
        }
        state
    }

    /// Closes the question that this call answers, and returns its text.
    fn take(&self, state: &str, call: &str) -> Option<String> {
        let mut asked = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        asked.open.retain(|open| open.at.elapsed() < OPEN_FOR);
        let at = asked.open.iter().position(|open| open.state == state)?;
        let open = asked.open.remove(at)?;
        (open.call == call).then_some(open.text)
    }
}

/// The way to ask the user of one call.
pub(crate) enum Asking {
    /// The client cannot ask its user.
    Never,
    /// While the call waits.
    Meanwhile(Arc<Form>),
    /// The question is the reply to the call.
    Between(Arc<Answered>),
}

impl Asking {
    pub(crate) fn new(
        questions: &Questions,
        call: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
        patience: Duration,
    ) -> Self {
        let elicitation = context.client_capabilities().and_then(|capabilities| capabilities.elicitation);
        // A client that declares neither forms nor links supports forms.
        if elicitation.is_none_or(|elicitation| elicitation.form.is_none() && elicitation.url.is_some()) {
            return Self::Never;
        }
        if context.protocol_version().is_none_or(|version| version <= ProtocolVersion::LATEST_WITH_INITIALIZE) {
            return Self::Meanwhile(Arc::new(Form { peer: context.peer.clone(), patience }));
        }
        let Some(name) = name(call) else { return Self::Never };
        let answer = call.input_responses.as_ref().and_then(|responses| responses.get(QUESTION));
        let answer = answer.and_then(|answer| serde_json::from_value::<ElicitResult>(answer.clone()).ok());
        // An invalid answer closes the question too.
        let text = call.request_state.as_ref().and_then(|state| questions.take(state, &name));
        let answer = text.and_then(|text| Some((text, approval(&answer?))));
        Self::Between(Arc::new(Answered { call: name, answer, left: Mutex::default() }))
    }

    /// The user of the client, as an approver.
    pub(crate) fn approver(&self) -> Option<Arc<dyn Approver>> {
        match self {
            Self::Never => None,
            Self::Meanwhile(form) => Some(Arc::clone(form) as Arc<dyn Approver>),
            Self::Between(answered) => Some(Arc::clone(answered) as Arc<dyn Approver>),
        }
    }

    /// The question that is the reply to this call, if there is one.
    pub(crate) fn left(&self, questions: &Questions) -> Option<CallToolResponse> {
        let Self::Between(answered) = self else { return None };
        let text = answered.left.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let request = InputRequest::Elicitation(form(text.clone()));
        let state = questions.put(answered.call.clone(), text);
        let requests = BTreeMap::from([(QUESTION.to_owned(), request)]);
        Some(InputRequiredResult::new(Some(requests), Some(state)).into())
    }
}

/// A client that shows a form.
pub(crate) struct Form {
    peer: Peer<RoleServer>,
    patience: Duration,
}

impl Approver for Form {
    fn approve<'a>(&'a self, plan: &'a Plan, verdict: &'a Verdict) -> BoxFuture<'a, Approval> {
        Box::pin(async move {
            let question = match question(plan, verdict) {
                Ok(question) => question,
                Err(not_asked) => return not_asked,
            };
            let request = ServerRequest::ElicitRequest(form(question.into_string()));
            let options = PeerRequestOptions::with_timeout(self.patience);
            let asked = Instant::now();
            let sent = self.peer.send_cancellable_request(request, options).await;
            let answer = match sent {
                Ok(sent) => {
                    let open = TakenBack { peer: self.peer.clone(), question: Some(sent.id.clone()) };
                    let answer = sent.await_response().await;
                    open.answered();
                    answer
                }
                Err(error) => Err(error),
            };
            match answer {
                Ok(ClientResult::ElicitResult(answer)) => approval(&answer).after(asked.elapsed()),
                Ok(_) => Approval::Unavailable("the client answered something else".to_owned()),
                Err(ServiceError::Timeout { .. }) => Approval::NoAnswer,
                Err(error) => Approval::Unavailable(format!("the client could not ask: {error}")),
            }
        })
    }
}

/// Withdraws a question when dropped, because its call was cancelled.
struct TakenBack {
    peer: Peer<RoleServer>,
    question: Option<RequestId>,
}

impl TakenBack {
    fn answered(mut self) {
        self.question = None;
    }
}

impl Drop for TakenBack {
    fn drop(&mut self) {
        let Some(question) = self.question.take() else { return };
        let (peer, reason) = (self.peer.clone(), "the call that it is about was cancelled".to_owned());
        let taken_back = CancelledNotificationParam::new(Some(question), Some(reason));
        // A disconnected client shows no question.
        tokio::spawn(async move { peer.notify_cancelled(taken_back).await.ok() });
    }
}

/// The identity of a call: its arguments as text. None if the text is longer than [`LONGEST_CALL`].
fn name(call: &CallToolRequestParams) -> Option<String> {
    let arguments = call.arguments.iter().flatten();
    let length: usize = arguments.map(|(name, value)| name.len() + value.as_str().map_or(0, str::len)).sum();
    let name = (length <= LONGEST_CALL).then(|| serde_json::to_string(&(&call.name, &call.arguments)).ok())?;
    name.filter(|name| name.len() <= 2 * LONGEST_CALL)
}

/// A client that is asked between two calls.
pub(crate) struct Answered {
    call: String,
    /// The question before this call, and its answer.
    answer: Option<(String, Approval)>,
    /// The question that remains open after this call.
    left: Mutex<Option<String>>,
}

impl Approver for Answered {
    fn approve<'a>(&'a self, plan: &'a Plan, verdict: &'a Verdict) -> BoxFuture<'a, Approval> {
        let approval = match (question(plan, verdict), &self.answer) {
            (Err(not_asked), _) => not_asked,
            // The findings may have changed since, and then the answer is to another question.
            (Ok(question), Some((asked, approval))) if *asked == *question => approval.clone(),
            (Ok(question), _) => {
                *self.left.lock().unwrap_or_else(PoisonError::into_inner) = Some(question.into_string());
                Approval::Later
            }
        };
        Box::pin(std::future::ready(approval))
    }
}

/// A form without fields: accepting it as it is approves.
fn form(message: String) -> ElicitRequest {
    let requested_schema = ElicitationSchema::new(BTreeMap::new());
    ElicitRequest::new(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

fn approval(answer: &ElicitResult) -> Approval {
    match answer.action {
        ElicitationAction::Accept if says_nothing_but_yes(answer.content.as_ref()) => Approval::Approved,
        ElicitationAction::Accept | ElicitationAction::Decline => Approval::Declined,
        // Future actions of the protocol do not approve.
        _ => Approval::Dismissed,
    }
}

/// True without content. The form has no fields, but a client or an agent that answers for its user may fill some in:
/// an accepted `{"approve": false}` is a no.
fn says_nothing_but_yes(content: Option<&Value>) -> bool {
    content.is_none_or(|content| match content {
        Value::Null => true,
        Value::Object(fields) => fields.values().all(|value| *value == Value::Bool(true)),
        _ => false,
    })
}
