//! Requests that run commands: `bash` on both surfaces, and `tool`.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bashful_dialect::{
    Answer, BangCaller, BangError, BashResult, Conclusion, Format, MOST_SECONDS, ReplyForm, ResourceLink, Tool,
    ToolCaller, UnknownFormat, Update, UpdateState, clamp_timeout,
};
use bashful_engine::{
    Approver, Lifetime, Listening, OutputForm, OutputListener, OutputStream, Patience, WhenBehind, job_id,
};
use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};

use crate::calls::Call;
use crate::chunks;
use crate::outbox::{Events, HungUp};
use crate::service::{Answered, Connection, seconds};
use crate::sessions::CONNECTION;
use crate::wire::{
    AsyncState, AsyncWord, BashData, BashRequest, BehindChoice, ConclusionWord, ErrorCode, Event, Mode, RequestId,
    ResourceInfo, RpcError, StreamSummary, Surface, ToolData, ToolRequest, ToolsData, ToolsRequest,
};

/// Timeout of a person's command that names none. People wait longer than models: for an install, or a test run.
const BANG_LIFETIME: Lifetime = Lifetime(Duration::from_mins(5));

/// Most updates that wait to be sent. Each shows the text of the ones before.
const WAITING_UPDATES: usize = 4;

/// The wishes of a request about events.
#[derive(Debug, Clone, Copy)]
struct EventWishes {
    stream: bool,
    when_behind: BehindChoice,
    updates: Option<bool>,
}

/// The live output of a command on its way to the host.
struct Streaming {
    stream: OutputStream,
    id: RequestId,
}

impl EventWishes {
    /// The listener for the command, and the stream behind it, if the host wants `chunk` events.
    fn listen(self, events: &Events) -> Result<(Option<OutputListener>, Option<Streaming>), RpcError> {
        if !self.stream {
            return Ok((None, None));
        }
        let Some(id) = events.id().cloned() else {
            return Err(RpcError::in_field("stream", "`stream` needs an `id`, which its events repeat"));
        };
        let when_behind = match self.when_behind {
            BehindChoice::Drop => WhenBehind::Drop,
            BehindChoice::Wait => WhenBehind::Wait,
        };
        let (listener, stream) = OutputListener::new(Listening { form: OutputForm::Raw, when_behind });
        Ok((Some(listener), Some(Streaming { stream, id })))
    }
}

/// Sends all chunks; their sum.
async fn send_chunks(streaming: Option<Streaming>, events: &Events) -> Option<StreamSummary> {
    let Streaming { stream, id } = streaming?;
    Some(chunks::send(stream, &id, events).await)
}

impl Connection {
    pub(crate) async fn bash(
        &self,
        request: BashRequest,
        events: &Events,
        call: &mut Call,
    ) -> Result<Answered, RpcError> {
        let wishes = EventWishes {
            stream: request.stream.unwrap_or(false),
            when_behind: request.when_behind.unwrap_or_default(),
            updates: request.updates,
        };
        match request.surface.unwrap_or_default() {
            Surface::Bang => self.bang(request, wishes, events, call).await,
            Surface::Tool => {
                let patience = request.patience;
                let arguments = self.arguments(request)?;
                self.call_tool(("bash", arguments), patience, wishes, events, call).await
            }
        }
    }

    pub(crate) async fn tool(
        &self,
        request: ToolRequest,
        events: &Events,
        call: &mut Call,
    ) -> Result<Answered, RpcError> {
        let wishes = EventWishes {
            stream: request.stream.unwrap_or(false),
            when_behind: request.when_behind.unwrap_or_default(),
            updates: request.updates,
        };
        let arguments = request.arguments.unwrap_or_default();
        self.call_tool((&request.name, arguments), request.patience, wishes, events, call).await
    }

    /// Runs a command as a person's.
    async fn bang(
        &self,
        request: BashRequest,
        wishes: EventWishes,
        events: &Events,
        call: &mut Call,
    ) -> Result<Answered, RpcError> {
        let needs_tool = |field: &str| Err(RpcError::in_field(field, format!("`{field}` needs \"as\": \"tool\"")));
        match &request {
            BashRequest { pty: Some(true), .. } => return needs_tool("pty"),
            BashRequest { stdin: Some(true), .. } => return needs_tool("stdin"),
            BashRequest { patience: Some(_), .. } => return needs_tool("patience"),
            BashRequest { session: Some(name), .. } if name.is_empty() => {
                return Err(RpcError::in_field("session", "a session needs a name"));
            }
            BashRequest { mode: Some(Mode::Background), .. } => {
                return Err(RpcError::in_field("mode", "mode \"background\" needs \"as\": \"tool\""));
            }
            _ => {}
        }
        let clamped = request.timeout.map(|asked| clamp_timeout(asked, MOST_SECONDS));
        let usual = match request.mode.unwrap_or_default() {
            Mode::Slow => self.service.limits.slow,
            Mode::Default | Mode::Background => BANG_LIFETIME,
        };
        let (listener, stream) = wishes.listen(events)?;
        let caller = BangCaller {
            key: request.session.unwrap_or_else(|| CONNECTION.to_owned()),
            workdir: request.cwd.map(Into::into),
            starts_in: None,
            env: request.env.into_iter().flatten().map(|(name, value)| (name, value.into())).collect(),
            lifetime: Some(clamped.as_ref().map_or(usual, |clamped| clamped.lifetime)),
            approver: self.approver(events).map(|approver| approver as Arc<dyn Approver>),
            cancellation: call.cancellation.take(),
            turn: call.turn.take(),
            listener,
            progress: None,
        };
        let run = self.service.toolbox.bang(&request.command, caller);
        let (result, stream) = tokio::join!(Box::pin(run), send_chunks(stream, events));
        let mut data = BashData::from(result.map_err(error_of_bang)?);
        data.notices.extend(clamped.and_then(|clamped| clamped.notice));
        Ok(Answered { stream, ..Answered::new(&data) })
    }

    /// Calls a tool of the dialect.
    async fn call_tool(
        &self,
        (name, arguments): (&str, Map<String, Value>),
        patience: Option<f64>,
        wishes: EventWishes,
        events: &Events,
        call: &mut Call,
    ) -> Result<Answered, RpcError> {
        let patience = patience.map(|given| seconds("patience", given)).transpose()?;
        let (listener, stream) = wishes.listen(events)?;
        let (updates, following) = self.follow(wishes.updates, events);
        let caller = ToolCaller {
            patience: patience.map(Patience),
            connection: Some(CONNECTION.to_owned()),
            updates,
            follows_jobs: true,
            listener,
            approver: self.approver(events).map(|approver| approver as Arc<dyn Approver>),
            cancellation: call.cancellation.take(),
            turn: call.turn.take(),
            ..ToolCaller::default()
        };
        let run = self.service.toolbox.call(name, Value::Object(arguments), caller);
        let (answer, stream) = tokio::join!(Box::pin(run), send_chunks(stream, events));
        let answer = answer.map_err(|error| RpcError {
            field: Some("name".to_owned()),
            ..RpcError::new(ErrorCode::NotFound, error.to_string())
        })?;
        let data = ToolData::from(answer);
        // Updates of a command that has ended come before its response, and those of a job may come after.
        if let (None, Some(following)) = (data.job, following) {
            // An error means that the task was aborted with the connection.
            let _ = following.await;
        }
        Ok(Answered { stream, ..Answered::new(&data) })
    }

    /// Starts to send updates as the host wishes. The receiver resolves when there are no more.
    fn follow(
        &self,
        wish: Option<bool>,
        events: &Events,
    ) -> (Option<mpsc::Sender<Update>>, Option<oneshot::Receiver<()>>) {
        if wish == Some(false) {
            return (None, None);
        }
        let (send, mut updates) = mpsc::channel::<Update>(WAITING_UPDATES);
        let (done, is_done) = oneshot::channel();
        let (events, with_foreground) = (events.clone(), wish == Some(true));
        let mut followers = self.followers.lock().unwrap_or_else(PoisonError::into_inner);
        while followers.try_join_next().is_some() {}
        followers.spawn(async move {
            while let Some(update) = updates.recv().await {
                let is_wanted = with_foreground || update.state != UpdateState::Foreground;
                if is_wanted && send_update(update, &events).await.is_err() {
                    break;
                }
            }
            // The request may be gone.
            let _ = done.send(());
        });
        (Some(send), Some(is_done))
    }

    /// The arguments of the dialect's `bash` for a request.
    fn arguments(&self, request: BashRequest) -> Result<Map<String, Value>, RpcError> {
        let dialect = self.service.toolbox.dialect();
        let tools = self.service.toolbox.tools();
        let no_bash = || RpcError::in_field("as", format!("the {dialect} dialect has no tool `bash`"));
        let bash = tools.iter().find(|tool| tool.name == "bash").ok_or_else(no_bash)?;
        let lacks =
            |field: &str| RpcError::in_field(field, format!("the {dialect} dialect has no `{field}` like this"));
        let mut arguments = Map::from_iter([("command".to_owned(), Value::from(request.command))]);
        let mode = match request.mode.unwrap_or_default() {
            Mode::Default => None,
            Mode::Slow => Some(dialect.slow().ok_or_else(|| lacks("mode"))?),
            Mode::Background => Some(dialect.background().ok_or_else(|| lacks("mode"))?),
        };
        arguments.extend(mode.map(|(name, value)| (name.to_owned(), value)));
        let env = request.env.map(|env| env.into_iter().map(|(name, value)| (name, value.into())).collect());
        let given = [
            ("timeout", request.timeout.map(Value::from)),
            ("cwd", request.cwd.map(Value::from)),
            ("env", env.map(Value::Object)),
            ("session", request.session.map(Value::from)),
            ("pty", request.pty.map(Value::from)),
            ("stdin", request.stdin.map(Value::from)),
        ];
        for (field, value) in given {
            let Some(value) = value else { continue };
            if takes(bash, field) {
                arguments.insert(field.to_owned(), value);
            } else if value != Value::Bool(false) {
                return Err(lacks(field));
            }
        }
        Ok(arguments)
    }

    pub(crate) fn tools(&self, request: &ToolsRequest) -> Result<Answered, RpcError> {
        let format: Format = match &request.format {
            Some(name) => {
                name.parse().map_err(|error: UnknownFormat| RpcError::in_field("format", error.to_string()))?
            }
            None => Format::default(),
        };
        let toolbox = &self.service.toolbox;
        let mut tools = format.write(toolbox.tools(), ReplyForm::default());
        if format == Format::Mcp {
            // The answer to MCP's `tools/list` is an object, and here the list alone is asked for.
            tools = tools["tools"].take();
        }
        Ok(Answered::new(&ToolsData { dialect: toolbox.dialect().name(), tools }))
    }
}

fn takes(tool: &Tool, argument: &str) -> bool {
    tool.input.get("properties").is_some_and(|properties| properties.get(argument).is_some())
}

async fn send_update(update: Update, events: &Events) -> Result<(), HungUp> {
    let state = match update.state {
        UpdateState::Foreground => None,
        UpdateState::Running => Some(AsyncWord::Running),
        UpdateState::Completed => Some(AsyncWord::Completed),
        UpdateState::Failed => Some(AsyncWord::Failed),
    };
    let job_state = state.and_then(|state| {
        let name = update.facts["async"]["jobId"].as_str()?;
        Some(AsyncState { state, job_id: name.to_owned(), job: job_id(name).ok()?, kind: "bash" })
    });
    let event = |seq| Event::Update {
        id: events.id().cloned(),
        seq,
        job_state,
        text: update.text.into_string(),
        bytes: update.bytes,
        elapsed_ms: u64::try_from(update.elapsed.as_millis()).unwrap_or(u64::MAX),
        facts: update.facts,
    };
    events.send(event).await
}

fn error_of_bang(error: BangError) -> RpcError {
    match error {
        BangError::Script(error) => RpcError::in_field("command", error.to_string()),
        BangError::Key(error) => RpcError::in_field("session", error.to_string()),
        BangError::Directory(text) => RpcError::in_field("cwd", text),
        BangError::Variable(text) => RpcError::in_field("env", text),
        BangError::Refused(text) => RpcError::new(ErrorCode::Refused, text),
        other => RpcError::new(ErrorCode::Failed, other.to_string()),
    }
}

impl From<BashResult> for BashData {
    fn from(result: BashResult) -> Self {
        Self {
            output: result.output,
            exit_code: result.exit_code,
            cancelled: result.cancelled,
            timed_out: result.timed_out,
            truncated: result.truncated,
            total_lines: result.total_lines,
            total_bytes: result.total_bytes,
            output_lines: result.output_lines,
            output_bytes: result.output_bytes,
            artifact_id: result.artifact_id,
            working_dir: result.working_dir,
            wall_time_ms: result.wall_time_ms,
            notices: result.notices,
        }
    }
}

impl From<Answer> for ToolData {
    fn from(answer: Answer) -> Self {
        let named = answer.facts["async"]["jobId"].as_str().and_then(|name| job_id(name).ok());
        Self {
            text: answer.text.into_string(),
            is_error: answer.is_error,
            conclusion: match answer.conclusion {
                Conclusion::Result => ConclusionWord::Result,
                Conclusion::Error => ConclusionWord::Error,
                Conclusion::Abort => ConclusionWord::Abort,
            },
            job: answer.facts["job"]["id"].as_u64().or(named),
            facts: answer.facts,
            links: answer.links.into_iter().map(ResourceInfo::from).collect(),
        }
    }
}

impl From<ResourceLink> for ResourceInfo {
    fn from(ResourceLink { uri, name, size }: ResourceLink) -> Self {
        Self { uri, name, size }
    }
}
