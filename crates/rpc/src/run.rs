//! Requests that run commands: `bash` on both surfaces, and `tool`.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use bashful_dialect::{
    Answer, BangCaller, BangError, BashCall, BashMode, BashResult, BashTerminal, Conclusion, Format, MOST_SECONDS,
    MissingArgument, ReplyForm, ResourceLink, ToolCaller, UnknownFormat, Update, UpdateState, clamp_timeout,
};
use bashful_engine::{
    Approver, Lifetime, Listening, OutputForm, OutputListener, OutputStream, Patience, WhenBehind, job_id,
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use crate::calls::Call;
use crate::chunks;
use crate::outbox::{Events, HungUp};
use crate::service::{Answered, Connection, seconds};
use crate::sessions::CONNECTION;
use crate::wire::{
    AsyncState, AsyncWord, BashData, BashRequest, BehindChoice, ConclusionWord, ErrorCode, Event, JobStopRequest, Mode,
    RequestId, ResourceInfo, RpcError, StreamSummary, Surface, ToolData, ToolRequest, ToolsData, ToolsRequest,
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
                let run = async |caller| {
                    let answer = self.service.toolbox.run(bash_call(request), caller).await;
                    answer.map_err(|missing: MissingArgument| {
                        RpcError::in_field(missing.argument.field(), missing.to_string())
                    })
                };
                self.call_tool(run, patience, wishes, events, call).await
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
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let run = async |caller| {
            let answer = self.service.toolbox.call(&request.name, arguments, caller).await;
            answer.map_err(|error| RpcError {
                field: Some("name".to_owned()),
                ..RpcError::new(ErrorCode::NotFound, error.to_string())
            })
        };
        self.call_tool(run, request.patience, wishes, events, call).await
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
        let run = self.until_closing(self.service.toolbox.bang(&request.command, caller));
        let (result, stream) = tokio::join!(Box::pin(run), send_chunks(stream, events));
        let mut data = BashData::from(result?.map_err(error_of_bang)?);
        data.notices.extend(clamped.and_then(|clamped| clamped.notice));
        Ok(Answered { stream, ..Answered::new(&data) })
    }

    /// Calls a tool of the dialect as this request's caller.
    async fn call_tool(
        &self,
        run: impl AsyncFnOnce(ToolCaller) -> Result<Answer, RpcError>,
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
        let run = self.until_closing(run(caller));
        let (answer, stream) = tokio::join!(Box::pin(run), send_chunks(stream, events));
        let answer = answer??;
        // An abort can come when the job has begun, and the host forgets a request that it has aborted.
        if let Some(job) = answer.job.filter(|_| call.is_aborted()) {
            let stop = JobStopRequest { job, signal: None };
            if self.order_stop(&stop).await.is_ok() {
                let _ = self.job_stop(&stop).await;
            }
        }
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

/// The request in the dialects' form.
fn bash_call(request: BashRequest) -> BashCall {
    BashCall {
        command: request.command,
        mode: match request.mode.unwrap_or_default() {
            Mode::Default => BashMode::Default,
            Mode::Slow => BashMode::Slow,
            Mode::Background => BashMode::Background,
        },
        timeout: request.timeout,
        cwd: request.cwd.map(Into::into),
        env: request.env.into_iter().flatten().map(|(name, value)| (name, value.into())).collect(),
        session: request.session,
        stdin: request.stdin.unwrap_or(false),
        pty: if request.pty.unwrap_or(false) { BashTerminal::Requested } else { BashTerminal::None },
        lines: None,
        sandbox: None,
    }
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
