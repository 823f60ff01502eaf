//! One turn: a prompt's command from its start to its end, told as a tool call.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use agent_client_protocol::v1::schema::{
    ContentChunk, PromptResponse, SessionId, SessionNotification, SessionUpdate, StopReason, Terminal, ToolCall,
    ToolCallContent, ToolCallId, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Client, Error};
use bashful_dialect::{Answer, BangCaller, BashCall, ToolCaller, Update};
use bashful_engine::{Approver, Cancellation, Canceller, ClientTerminal, Live};
use bashful_render::{Card, CardKind, visible};
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use crate::agent::Agent;
use crate::asking::PermissionForm;
use crate::cards::{self, CardText, fenced};
use crate::mode::CommandMode;
use crate::prompt::PromptCommand;
use crate::terminals::SessionTerminals;

/// Shortest time between two updates of a running command. The client may read slowly, and each has the newest output.
const UPDATE_INTERVAL: Duration = Duration::from_millis(250);

/// Updates of the toolbox that wait to be sent.
const WAITING_UPDATES: usize = 4;

/// Longest title of a tool call, in characters.
const LONGEST_TITLE: usize = 200;

/// Directory and mode of a turn.
#[derive(Debug)]
pub(crate) struct TurnPlace {
    pub(crate) directory: PathBuf,
    pub(crate) mode: CommandMode,
}

/// A turn that has begun. Dropping it stops its command.
#[derive(Debug)]
pub(crate) struct Turn {
    pub(crate) agent: Arc<Agent>,
    pub(crate) connection: ConnectionTo<Client>,
    pub(crate) session_id: SessionId,
    pub(crate) call_id: ToolCallId,
    pub(crate) command: PromptCommand,
    pub(crate) place: TurnPlace,
    pub(crate) canceller: Canceller,
    pub(crate) cancellation: Option<Cancellation>,
    pub(crate) is_cancelled: Arc<AtomicBool>,
    /// True while the command cannot run before the client answers: a question, or a terminal to create.
    pub(crate) waits: Arc<AtomicBool>,
}

/// Marks a command as waiting for its client, until dropped.
pub(crate) struct WaitingForClient<'a>(&'a AtomicBool);

impl<'a> WaitingForClient<'a> {
    pub(crate) fn new(waits: &'a AtomicBool) -> Self {
        waits.store(true, Ordering::Relaxed);
        Self(waits)
    }
}

impl Drop for WaitingForClient<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.agent.turn_ended(&self.session_id);
    }
}

/// The end of a tool call.
struct CallEnd {
    status: ToolCallStatus,
    card: Card,
    terminal_id: Option<String>,
    facts: Value,
}

impl Turn {
    /// Runs the command, and answers the prompt.
    pub(crate) async fn run(mut self, responder: Responder<PromptResponse>) -> Result<(), Error> {
        let request = responder.cancellation();
        let canceller = self.canceller.clone();
        let is_cancelled = Arc::clone(&self.is_cancelled);
        // A client may also cancel the request itself.
        let withdrawn = async {
            request.cancelled().await;
            is_cancelled.store(true, Ordering::Relaxed);
            canceller.cancel();
            std::future::pending::<()>().await;
        };
        self.announce()?;
        let end = tokio::select! {
            // The future of a call is large, so it goes on the heap.
            end = Box::pin(self.carry_out()) => end,
            () = withdrawn => unreachable!("it only cancels"),
        };
        self.tell_end(end)?;
        let is_cancelled = self.is_cancelled.load(Ordering::Relaxed);
        // The session takes the next prompt before the client knows that it may send one.
        drop(self);
        responder.respond(PromptResponse::new(if is_cancelled { StopReason::Cancelled } else { StopReason::EndTurn }))
    }

    async fn carry_out(&mut self) -> CallEnd {
        match &self.command {
            PromptCommand::Tool(script) => {
                let script = script.clone();
                self.call_tool(&script).await
            }
            PromptCommand::Bang(script) => {
                let script = script.clone();
                self.bang(&script).await
            }
        }
    }

    async fn call_tool(&mut self, script: &str) -> CallEnd {
        let (mode, cwd) = (self.place.mode.into(), Some(self.place.directory.clone()));
        let arguments = BashCall { mode, cwd, ..BashCall::new(script) };
        let (updates, mut told) = mpsc::channel(WAITING_UPDATES);
        let caller = ToolCaller {
            connection: Some(self.session_id.to_string()),
            updates: Some(updates),
            approver: self.approver(),
            cancellation: self.cancellation.take(),
            client_terminal: self.client_terminal(),
            ..ToolCaller::default()
        };
        let toolbox = self.agent.toolbox.clone();
        let mut call = Box::pin(toolbox.run(arguments, caller));
        let mut shown = ShownCall::default();
        let answer = loop {
            tokio::select! {
                answer = &mut call => break answer,
                Some(update) = told.recv() => self.show_update(script, &update, &mut shown),
            }
        };
        let answer = answer.expect("the native dialect has these arguments");
        self.end_of_call(script, &answer)
    }

    fn end_of_call(&self, script: &str, answer: &Answer) -> CallEnd {
        CallEnd {
            status: if answer.is_error { ToolCallStatus::Failed } else { ToolCallStatus::Completed },
            card: cards::of_answer(script, &self.place.directory, answer),
            terminal_id: answer.facts["client_terminal"].as_str().map(str::to_owned),
            facts: answer.facts.clone(),
        }
    }

    async fn bang(&mut self, script: &str) -> CallEnd {
        let (progress, mut live) = watch::channel(Live::default());
        let caller = BangCaller {
            key: self.session_id.to_string(),
            starts_in: Some(self.place.directory.clone()),
            approver: self.approver(),
            cancellation: self.cancellation.take(),
            progress: Some(progress),
            ..BangCaller::default()
        };
        let toolbox = self.agent.toolbox.clone();
        let mut running = Box::pin(toolbox.bang(script, caller));
        let began = Instant::now();
        let mut shown = ShownCall::default();
        let result = loop {
            tokio::select! {
                result = &mut running => break result,
                Ok(()) = live.changed() => if shown.is_due() {
                    let newest = cards::newest(&live.borrow_and_update());
                    self.show(cards::running(CardKind::Bang, script, &newest, began.elapsed()));
                },
            }
        };
        if !self.agent.has_session(&self.session_id) {
            // The session was closed while its shell started.
            let _ = toolbox.end_bang(&self.session_id.to_string()).await;
        }
        if let Ok(result) = &result {
            self.agent.moved_to(&self.session_id, PathBuf::from(&result.working_dir));
        }
        let has_succeeded = matches!(&result, Ok(result) if result.exit_code == Some(0));
        CallEnd {
            status: if has_succeeded { ToolCallStatus::Completed } else { ToolCallStatus::Failed },
            card: cards::of_bang(script, &result),
            terminal_id: None,
            facts: match &result {
                Ok(result) => bang_facts(result),
                Err(error) => json!({ "error": error.to_string() }),
            },
        }
    }

    fn approver(&self) -> Option<Arc<dyn Approver>> {
        let form = PermissionForm {
            connection: self.connection.clone(),
            session_id: self.session_id.clone(),
            call_id: self.call_id.clone(),
            waits: Arc::clone(&self.waits),
        };
        self.agent.options.can_answer.then(|| Arc::new(form) as Arc<dyn Approver>)
    }

    fn client_terminal(&self) -> Option<Arc<dyn ClientTerminal>> {
        let terminals = SessionTerminals {
            connection: self.connection.clone(),
            session_id: self.session_id.clone(),
            agent: Arc::clone(&self.agent),
            waits: Arc::clone(&self.waits),
            open: Mutex::default(),
        };
        self.agent.uses_client_terminals().then(|| Arc::new(terminals) as Arc<dyn ClientTerminal>)
    }

    /// Tells the client of the command before it runs.
    fn announce(&self) -> Result<(), Error> {
        let script = self.redacted(self.command.script());
        let title: String = visible(script.lines().next().unwrap_or_default()).chars().take(LONGEST_TITLE).collect();
        let input = json!({ "command": script, "cwd": self.place.directory, "mode": self.place.mode.id() });
        let call = ToolCall::new(self.call_id.clone(), if title.trim().is_empty() { "bash".to_owned() } else { title })
            .kind(ToolKind::Execute)
            .status(ToolCallStatus::InProgress)
            .raw_input(input);
        self.notify(SessionUpdate::ToolCall(call))
    }

    fn redacted(&self, text: &str) -> String {
        self.agent.toolbox.engine().redactor().redact(text).into_string()
    }

    fn show_update(&self, script: &str, update: &Update, shown: &mut ShownCall) {
        if let Some(id) = update.facts["client_terminal"].as_str() {
            // The client shows its own terminal. It has to know before the terminal is released.
            if !std::mem::replace(&mut shown.has_terminal, true) {
                self.update(ToolCallStatus::InProgress, vec![terminal(id)], json!({ "terminalId": id }));
            }
        } else if !self.waits.load(Ordering::Relaxed) && shown.is_due() {
            self.show(cards::running(CardKind::Tool, script, update.text.as_str(), update.elapsed));
        }
    }

    fn show(&self, card: Card) {
        self.update(ToolCallStatus::InProgress, self.content(&CardText::new(card), None), Value::Null);
    }

    /// The output first, which a terminal of the client shows itself, and the facts behind.
    fn content(&self, text: &CardText, terminal_id: Option<&str>) -> Vec<ToolCallContent> {
        let block = |text: &str| fenced(&self.redacted(text)).into();
        let output = match terminal_id {
            Some(id) => Some(terminal(id)),
            None => (!text.output.is_empty()).then(|| block(&text.output)),
        };
        output.into_iter().chain([block(&text.facts)]).collect()
    }

    /// Sends an update of the running command. A client that is gone is noticed by the connection.
    fn update(&self, status: ToolCallStatus, content: Vec<ToolCallContent>, facts: Value) {
        let _ = self.send_update(status, content, facts);
    }

    fn tell_end(&self, end: CallEnd) -> Result<(), Error> {
        let CallEnd { status, card, terminal_id, mut facts } = end;
        let text = CardText::new(card);
        let content = self.content(&text, terminal_id.as_deref());
        if let Some(id) = terminal_id {
            facts["terminalId"] = id.into();
        }
        self.send_update(status, content, facts)?;
        if self.agent.client_reads_messages() {
            let reply = ContentChunk::new(self.redacted(&text.reply()).into());
            self.notify(SessionUpdate::AgentMessageChunk(reply))?;
        }
        Ok(())
    }

    fn send_update(&self, status: ToolCallStatus, content: Vec<ToolCallContent>, facts: Value) -> Result<(), Error> {
        let mut fields = ToolCallUpdateFields::new().status(status).content(content);
        if !facts.is_null() {
            fields = fields.raw_output(facts);
        }
        self.notify(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(self.call_id.clone(), fields)))
    }

    fn notify(&self, update: SessionUpdate) -> Result<(), Error> {
        self.connection.send_notification(SessionNotification::new(self.session_id.clone(), update))
    }
}

fn terminal(id: &str) -> ToolCallContent {
    ToolCallContent::Terminal(Terminal::new(id.to_owned()))
}

/// The facts of a person's command, without its output.
fn bang_facts(result: &bashful_dialect::BashResult) -> Value {
    let mut facts = serde_json::to_value(result).unwrap_or_default();
    if let Some(fields) = facts.as_object_mut() {
        fields.remove("output");
    }
    facts
}

/// The part of a call that the client has seen.
#[derive(Debug, Default)]
struct ShownCall {
    has_terminal: bool,
    at: Option<Instant>,
}

impl ShownCall {
    /// True if the next update is due, which then counts as sent.
    fn is_due(&mut self) -> bool {
        let is_due = self.at.is_none_or(|at| at.elapsed() >= UPDATE_INTERVAL);
        if is_due {
            self.at = Some(Instant::now());
        }
        is_due
    }
}
