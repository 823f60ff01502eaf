//! One connection: reads requests, starts each on a task of its own, and ends them all.

use std::io;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bashful_dialect::{Abilities, Limits, MessageLine, MessageLines, Toolbox};
use serde::Serialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::asking::{ANSWER_WAIT, HostApprover, Questions};
use crate::calls::{Aborted, Call, Calls};
use crate::outbox::{Events, HungUp, Outbox};
use crate::wire::{
    self, AbilitiesData, AbortData, AbortRequest, AnswerRequest, BadLine, BashRequest, DoneData, ErrorCode, HelloData,
    HelloRequest, LimitsData, NO_REQUEST, PROTOCOL, Request, RequestId, Response, RpcError, StreamRequest,
    StreamSummary,
};

/// Longest line in bytes, without its newline: the longest script, if hardly anything of it is escaped.
const LONGEST_LINE: usize = 16 * 1024 * 1024;

/// Most requests that may be unanswered. Each may hold a response that the host does not read.
pub(crate) const MOST_REQUESTS: usize = 1024;

/// Time for requests that are about to answer when the input ends. All others are dropped.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// A host that takes nothing for so long does not read.
const STALLED: Duration = Duration::from_secs(5);

/// The same when a signal ends the service: who sent it may soon send SIGKILL.
const LAST_WRITES: Duration = Duration::from_secs(1);

/// A toolbox for one host program.
#[derive(Debug)]
pub struct Service {
    /// The tools, and the engine behind them.
    pub toolbox: Toolbox,
    /// Directory in which commands begin.
    pub directory: PathBuf,
    /// Timeouts of commands that name none.
    pub limits: Limits,
    /// True if a person may be behind the host, so that its answers count as approval.
    pub can_answer: bool,
}

/// The data of a response.
#[derive(Debug)]
pub(crate) struct Answered {
    pub(crate) data: Box<RawValue>,
    pub(crate) stream: Option<StreamSummary>,
}

impl Answered {
    pub(crate) fn new(data: &impl Serialize) -> Self {
        let data = to_raw_value(data).expect("messages have string keys, and numbers that JSON knows");
        Self { data, stream: None }
    }
}

/// The wishes of the host about questions.
#[derive(Debug, Clone, Copy)]
struct HostWishes {
    is_asked: bool,
    answer_wait: Duration,
}

/// The connection to a host.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) service: Service,
    pub(crate) outbox: Outbox,
    calls: Calls,
    questions: Questions,
    wishes: Mutex<HostWishes>,
    /// True when requests that are not answered yet are dropped.
    is_closing: watch::Sender<bool>,
    /// Tasks that send news of jobs whose requests are answered.
    pub(crate) followers: Mutex<JoinSet<()>>,
}

/// The reason why no more requests are read.
enum Over {
    EndOfInput,
    Stop,
    Shutdown(Option<RequestId>),
}

/// Serves a host until the input ends, the host asks for it, or `stop` resolves. Commands are stopped then with their whole
/// process trees, and jobs go on. What has been answered is then written to its end, as long as the host reads. The error is one of reading or writing; a host that hangs up is none. A dropped future stops
/// all commands too.
///
/// ```standalone_crate
/// # use bashful_dialect::{Dialect, Limits, Toolbox};
/// # use bashful_engine::{Engine, Options};
/// # use bashful_rpc::{Service, serve};
/// # use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, duplex};
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # bashful_engine::keeper_main();
/// let engine = Engine::new(Options::new("/bin/bash".into(), "/".into()).inherit())?;
/// let toolbox = Toolbox::new(engine, Dialect::NATIVE, Limits::default(), "/".as_ref());
/// let service = Service { toolbox, directory: "/".into(), limits: Limits::default(), can_answer: false };
/// let ((mut requests, input), (output, responses)) = (duplex(1024), duplex(1024));
/// let host = async move {
///     requests.write_all(b"{\"id\": 1, \"type\": \"bash\", \"command\": \"echo hello\"}\n").await?;
///     let mut line = String::new();
///     BufReader::new(responses).read_line(&mut line).await?;
///     Ok::<_, std::io::Error>(line) // dropping `requests` ends the service
/// };
/// let (served, line) = tokio::join!(serve(service, input, output, std::future::pending()), host);
/// served?;
/// assert!(line?.contains("\"output\":\"hello\\n\",\"exitCode\":0"));
/// # Ok(()) }
/// ```
pub async fn serve(
    service: Service,
    input: impl AsyncRead + Send + Unpin,
    output: impl AsyncWrite + Send + Unpin + 'static,
    stop: impl Future<Output = ()>,
) -> io::Result<()> {
    let (outbox, writing) = Outbox::new(output);
    let patience = outbox.patience();
    let (halt, halted) = oneshot::channel();
    let served = async {
        let served = tokio::select! {
            served = serve_requests(service, input, outbox.clone(), halted) => served,
            () = outbox.hung_up() => Ok(()),
        };
        drop(outbox);
        // The task itself fails only by a panic, which is reported already.
        served.and(writing.await.unwrap_or(Ok(())))
    };
    let mut served = pin!(served);
    tokio::select! {
        served = &mut served => return served,
        () = stop => {}
    }
    patience.limit_to(LAST_WRITES);
    // The receiver is gone once no more requests are read.
    let _ = halt.send(());
    served.await
}

/// Serves until no more requests are read and all are answered or dropped.
async fn serve_requests(
    service: Service,
    input: impl AsyncRead + Send + Unpin,
    outbox: Outbox,
    halted: oneshot::Receiver<()>,
) -> io::Result<()> {
    let patience = outbox.patience();
    let connection = Arc::new(Connection::new(service, outbox));
    let mut requests = JoinSet::new();
    let (over, result) = tokio::select! {
        read = connection.read(MessageLines::new(input, LONGEST_LINE), &mut requests) => match read {
            Ok(over) => (over, Ok(())),
            // An input that cannot be read has ended.
            Err(error) => (Over::EndOfInput, Err(error)),
        },
        _ = halted => (Over::Stop, Ok(())),
    };
    patience.limit_to(STALLED);
    if let Over::EndOfInput = over {
        let all = async { while requests.join_next().await.is_some() {} };
        let _ = timeout(LAST_WORDS, all).await;
    }
    if let Over::Shutdown(_) = over {
        connection.calls.abort(Aborted::Everything);
    } else {
        // Commands that run by now are stopped. Others have ended, and their output and responses are sent.
        connection.is_closing.send_replace(true);
    }
    while requests.join_next().await.is_some() {}
    if let Over::Shutdown(id) = over {
        // A host that hung up needs no answer.
        let _ = connection.respond(id.as_ref(), "shutdown", Ok(Answered::new(&DoneData {})));
    }
    result
}

/// Runs one command as a request with the id `"run"` would: its events and its response are written. Each message of
/// `aborts` aborts it, as `abort_bash` does. A host that hangs up does not stop the command, and neither does an output that
/// cannot be written; that is the error.
pub async fn run_one(
    service: Service,
    request: BashRequest,
    output: impl AsyncWrite + Send + Unpin + 'static,
    mut aborts: mpsc::UnboundedReceiver<()>,
) -> io::Result<()> {
    let (outbox, writing) = Outbox::new(output);
    let patience = outbox.patience();
    let connection = Connection::new(service, outbox);
    let calls = connection.calls.clone();
    let ran = async move {
        let id = RequestId::try_from(Value::from("run")).ok();
        if let Some(call) = connection.calls.begin(id, true) {
            connection.finish(Request::Bash(request), call).await;
        }
        drop(connection);
        // The task itself fails only by a panic, which is reported already.
        writing.await.unwrap_or(Ok(()))
    };
    let mut ran = pin!(ran);
    loop {
        tokio::select! {
            ran = &mut ran => return ran,
            Some(()) = aborts.recv() => {
                // Nobody may read the output of a command that is aborted.
                patience.limit_to(STALLED);
                calls.abort(Aborted::Commands);
            }
        }
    }
}

impl Connection {
    fn new(service: Service, outbox: Outbox) -> Self {
        Self {
            service,
            outbox,
            calls: Calls::default(),
            questions: Questions::default(),
            wishes: Mutex::new(HostWishes { is_asked: false, answer_wait: ANSWER_WAIT }),
            is_closing: watch::Sender::new(false),
            followers: Mutex::default(),
        }
    }

    /// Reads requests, and starts them, until the input ends or the host asks for the end.
    async fn read(
        self: &Arc<Self>,
        mut lines: MessageLines<impl AsyncRead + Unpin>,
        requests: &mut JoinSet<()>,
    ) -> io::Result<Over> {
        loop {
            let line = tokio::select! {
                line = lines.next() => line?,
                Some(_) = requests.join_next(), if !requests.is_empty() => continue,
            };
            let Some(line) = line else { return Ok(Over::EndOfInput) };
            match self.accept(line, requests) {
                Ok(None) => {}
                Ok(Some(over)) => return Ok(over),
                // The end of the service follows.
                Err(HungUp) => return Ok(Over::EndOfInput),
            }
        }
    }

    /// Answers a line, or starts its request.
    fn accept(self: &Arc<Self>, line: MessageLine, requests: &mut JoinSet<()>) -> Result<Option<Over>, HungUp> {
        let line = match line {
            MessageLine::Whole(line) => line,
            MessageLine::TooLong => {
                let text = format!("a line has more than {LONGEST_LINE} bytes; it was skipped");
                self.respond(None, NO_REQUEST, Err(RpcError::new(ErrorCode::LineTooLong, text)))?;
                return Ok(None);
            }
        };
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let (id, request) = match wire::read_line(&line) {
            Ok(read) => read,
            Err(bad) => {
                let BadLine { id, command, error } = *bad;
                self.respond(id.as_ref(), &command, Err(error))?;
                return Ok(None);
            }
        };
        drop(line);
        let name = request.name();
        let answer = match request {
            Request::Shutdown(_) => return Ok(Some(Over::Shutdown(id))),
            Request::Hello(wishes) => self.hello(&wishes),
            Request::AbortBash(abort) => Ok(Answered::new(&self.abort(id.as_ref(), &abort))),
            Request::StreamPause(stream) => self.pause(&stream, true),
            Request::StreamResume(stream) => self.pause(&stream, false),
            Request::Answer(answer) => self.take_answer(&answer),
            other => match self.begin(id.clone(), other, requests) {
                Ok(()) => return Ok(None),
                Err(error) => Err(error),
            },
        };
        self.respond(id.as_ref(), name, answer)?;
        Ok(None)
    }

    /// Starts a request on a task of its own.
    fn begin(
        self: &Arc<Self>,
        id: Option<RequestId>,
        request: Request,
        requests: &mut JoinSet<()>,
    ) -> Result<(), RpcError> {
        if requests.len() >= MOST_REQUESTS {
            let text = format!("{MOST_REQUESTS} requests are unanswered; wait for some of them");
            return Err(RpcError::new(ErrorCode::Busy, text));
        }
        let is_command = matches!(request, Request::Bash(_) | Request::Tool(_));
        let Some(mut call) = self.calls.begin(id, is_command) else {
            let text = "a request with this id is not answered yet";
            return Err(RpcError { field: Some("id".to_owned()), ..RpcError::new(ErrorCode::DuplicateId, text) });
        };
        call.turn = if is_command { self.service.toolbox.engine().take_turn() } else { None };
        let connection = Arc::clone(self);
        requests.spawn(async move { connection.finish(request, call).await });
        Ok(())
    }

    /// Answers a request, and sends its response.
    async fn finish(&self, request: Request, mut call: Call) {
        let name = request.name();
        let answer = self.answer(request, &mut call).await;
        let id = call.id.clone();
        // The host may use the id again as soon as it reads the response.
        drop(call);
        // A host that hung up needs no answer.
        let _ = self.respond(id.as_ref(), name, answer);
    }

    async fn answer(&self, request: Request, call: &mut Call) -> Result<Answered, RpcError> {
        let events = Events::new(self.outbox.clone(), call.id.clone(), call.flow.clone());
        match request {
            Request::Bash(request) => self.bash(request, &events, call).await,
            Request::Tool(request) => self.tool(request, &events, call).await,
            other => {
                // A host that gives up waiting still wants the job stopped and the session ended.
                if let Request::JobStop(request) = &other {
                    self.order_stop(request).await?;
                }
                let can_abort = !matches!(other, Request::SessionEnd(_));
                tokio::select! {
                    answer = self.until_closing(self.look_after(other)) => answer?,
                    () = call.aborted.notified(), if can_abort => {
                        Err(RpcError::new(ErrorCode::Cancelled, "the request was aborted"))
                    }
                }
            }
        }
    }

    /// Drops the work of a request when the service ends.
    pub(crate) async fn until_closing<T>(&self, work: impl Future<Output = T>) -> Result<T, RpcError> {
        let mut is_closing = self.is_closing.subscribe();
        tokio::select! {
            biased;
            done = work => Ok(done),
            _ = is_closing.wait_for(|is_closing| *is_closing) => {
                Err(RpcError::new(ErrorCode::Cancelled, "the service ended before this request did"))
            }
        }
    }

    /// Answers a request that runs no command.
    async fn look_after(&self, request: Request) -> Result<Answered, RpcError> {
        match request {
            Request::Tools(request) => self.tools(&request),
            Request::Jobs(request) => self.jobs(&request),
            Request::Job(request) => self.job(&request),
            Request::JobWait(request) => self.job_wait(request).await,
            Request::JobStop(request) => self.job_stop(&request).await,
            Request::JobSend(request) => self.job_send(&request).await,
            Request::Screen(request) => self.screen(request).await,
            Request::Resize(request) => self.resize(&request).await,
            Request::Sessions(_) => self.sessions().await,
            Request::SessionEnd(request) => self.session_end(&request).await,
            Request::Resources(request) => self.resources(&request),
            Request::Read(request) => self.read_resource(&request).await,
            Request::Hello(_)
            | Request::Bash(_)
            | Request::Tool(_)
            | Request::AbortBash(_)
            | Request::StreamPause(_)
            | Request::StreamResume(_)
            | Request::Answer(_)
            | Request::Shutdown(_) => Err(RpcError::new(ErrorCode::Failed, "it is answered elsewhere")),
        }
    }

    fn respond(&self, id: Option<&RequestId>, command: &str, answer: Result<Answered, RpcError>) -> Result<(), HungUp> {
        let success = answer.is_ok();
        let (answered, error) = match answer {
            Ok(answered) => (Some(answered), None),
            Err(error) => {
                // An error may quote the request, and with it a withheld value.
                let message = self.service.toolbox.engine().redactor().redact(error.message).into_string();
                (None, Some(RpcError { message, ..error }))
            }
        };
        let stream = answered.as_ref().and_then(|answered| answered.stream);
        let data = answered.map(|answered| answered.data);
        self.outbox.send(&Response { id, command, success, data, stream, error })
    }

    fn hello(&self, request: &HelloRequest) -> Result<Answered, RpcError> {
        let answer_wait = request.approve_seconds.map(|given| seconds("approveSeconds", given)).transpose()?;
        let wishes =
            HostWishes { is_asked: request.approve.unwrap_or(false), answer_wait: answer_wait.unwrap_or(ANSWER_WAIT) };
        *self.wishes.lock().unwrap_or_else(PoisonError::into_inner) = wishes;
        let Service { toolbox, directory, can_answer, .. } = &self.service;
        let Abilities { jobs, sessions, artifacts, terminals, guard, .. } = Abilities::of(toolbox.engine());
        Ok(Answered::new(&HelloData {
            name: "bashful",
            version: env!("CARGO_PKG_VERSION"),
            protocol: PROTOCOL,
            dialect: toolbox.dialect().name(),
            cwd: toolbox.engine().redactor().redact(directory.to_string_lossy()).into_string(),
            requests: Request::TYPES.to_vec(),
            abilities: AbilitiesData { jobs, sessions, artifacts, terminals, guard, approve: *can_answer },
            limits: LimitsData { line_bytes: LONGEST_LINE as u64, requests: MOST_REQUESTS as u64 },
        }))
    }

    fn take_answer(&self, request: &AnswerRequest) -> Result<Answered, RpcError> {
        let AnswerRequest { question, approve } = request;
        let is_taken = self.questions.answer(question, *approve);
        let late = || RpcError::new(ErrorCode::NotFound, format!("nobody waits for an answer to {question:?}"));
        is_taken.then(|| Answered::new(&DoneData {})).ok_or_else(late)
    }

    fn abort(&self, id: Option<&RequestId>, request: &AbortRequest) -> AbortData {
        let named = request.target.as_ref().or_else(|| id.filter(|id| self.calls.knows_command(id)));
        AbortData { aborted: self.calls.abort(named.map_or(Aborted::Commands, Aborted::One)) }
    }

    /// Pauses the chunks of a command, or resumes them.
    fn pause(&self, request: &StreamRequest, is_paused: bool) -> Result<Answered, RpcError> {
        let is_known = self.calls.pause(&request.target, is_paused);
        let late = || RpcError::new(ErrorCode::NotFound, "no unanswered command has this id");
        is_known.then(|| Answered::new(&DoneData {})).ok_or_else(late)
    }

    /// The host as the approver of a request's command; none if it does not want to be asked.
    pub(crate) fn approver(&self, events: &Events) -> Option<Arc<HostApprover>> {
        let wishes = *self.wishes.lock().unwrap_or_else(PoisonError::into_inner);
        (wishes.is_asked && self.service.can_answer).then(|| {
            let (events, questions) = (events.clone(), self.questions.clone());
            Arc::new(HostApprover { events, questions, patience: wishes.answer_wait })
        })
    }
}

/// A number of seconds from a field.
pub(crate) fn seconds(field: &str, given: f64) -> Result<Duration, RpcError> {
    Duration::try_from_secs_f64(given)
        .map_err(|_| RpcError::in_field(field, format!("{given} is no number of seconds")))
}
