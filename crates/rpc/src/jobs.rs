//! Requests about jobs: list, get, wait, stop, send.

use std::sync::Arc;
use std::time::Duration;

use bashful_dialect::terminal_calls::parse_keys;
use bashful_dialect::{JobOutput, job, unique};
use bashful_engine::{
    ByteSize, ControlError, GetJobError, JobInput, JobInputError, JobPart, JobRecord, JobStore, SendError, Stop,
    TerminalError, error_chain,
};
use bashful_sys::signal;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::service::{Answered, Connection, seconds};
use crate::wire::{
    ErrorCode, JobChangedData, JobData, JobInfo, JobOutputData, JobRequest, JobSendRequest, JobStopRequest,
    JobWaitData, JobWaitRequest, JobsData, JobsRequest, RpcError,
};

/// Last lines of output in an answer, unless the host names a part.
const USUAL_LINES: u64 = 20;

/// Most output of a job in one answer, as in one `read`.
const OUTPUT_SHOWN: ByteSize = ByteSize::kib(256);

/// Longest wait for a stopped job to end: the grace, and some more.
const STOP_WAIT: Duration = Duration::from_secs(20);

/// Longest time for a program to take what is typed at its terminal.
const TYPING_WAIT: Duration = Duration::from_secs(10);

impl Connection {
    pub(crate) fn job_store(&self) -> Result<&Arc<JobStore>, RpcError> {
        self.service.toolbox.engine().jobs().ok_or_else(no_jobs)
    }

    fn record(&self, id: u64) -> Result<JobRecord, RpcError> {
        self.job_store()?.get(id).map_err(|error| error_of_control(&error.into()))
    }

    pub(crate) fn job_info(&self, id: u64) -> Result<JobInfo, RpcError> {
        Ok(self.info_of(self.record(id)?))
    }

    fn info_of(&self, mut record: JobRecord) -> JobInfo {
        job::redact(&mut record, &self.service.toolbox.engine().redactor());
        let mut facts = job::facts(&record);
        facts["has_terminal"] = record.has_terminal.into();
        serde_json::from_value(facts).expect("a test reads the facts of a job as these fields")
    }

    fn changed(&self, id: u64) -> Result<Answered, RpcError> {
        Ok(Answered::new(&JobChangedData { job: self.job_info(id)? }))
    }

    pub(crate) fn jobs(&self, request: &JobsRequest) -> Result<Answered, RpcError> {
        let store = self.job_store()?;
        let jobs = if request.running.unwrap_or(false) { store.list_live() } else { store.list() };
        let jobs = jobs.map_err(|error| RpcError::new(ErrorCode::Failed, error_chain(&error)))?;
        Ok(Answered::new(&JobsData { jobs: jobs.into_iter().map(|job| self.info_of(job)).collect() }))
    }

    pub(crate) fn job(&self, request: &JobRequest) -> Result<Answered, RpcError> {
        let record = self.record(request.job)?;
        let part = match (request.since, request.lines) {
            (Some(_), Some(_)) => return Err(RpcError::in_field("lines", "give `since` or `lines`, not both")),
            (Some(since), None) => JobPart::Since(since),
            (None, lines) => JobPart::LastLines(lines.unwrap_or(USUAL_LINES)),
        };
        let output = JobOutput::read(&record, part, OUTPUT_SHOWN, self.service.toolbox.engine().output_redactor());
        let output = JobOutputData {
            text: output.text,
            begin: output.range.start,
            end: output.range.end,
            total_bytes: output.total,
        };
        Ok(Answered::new(&JobData { job: self.info_of(record), output }))
    }

    pub(crate) async fn job_wait(&self, request: JobWaitRequest) -> Result<Answered, RpcError> {
        let at_most = request.seconds.map(|given| seconds("seconds", given)).transpose()?.unwrap_or(Duration::MAX);
        let store = self.job_store()?;
        let ids = if let Some(ids) = request.jobs {
            unique(ids)
        } else {
            let live = store.list_live();
            let live = live.map_err(|error| RpcError::new(ErrorCode::Failed, error_chain(&error)))?;
            live.iter().filter(|job| !job.is_over()).map(|job| job.id).collect()
        };
        for id in &ids {
            self.record(*id)?;
        }
        let mut waits = JoinSet::new();
        for id in ids.clone() {
            let store = Arc::clone(store);
            waits.spawn(async move { store.wait(id).await.is_ok() });
        }
        let timed_out = timeout(at_most, waits.join_next()).await.is_err();
        let jobs = ids.into_iter().map(|id| self.job_info(id)).collect::<Result<_, _>>()?;
        Ok(Answered::new(&JobWaitData { jobs, timed_out }))
    }

    /// Sends the signal of a `job_stop`. Returns once the keeper has the order.
    pub(crate) async fn order_stop(&self, request: &JobStopRequest) -> Result<(), RpcError> {
        let stopped = self.job_store()?.stop(request.job, way_to_stop(request)?).await;
        stopped.map_err(|error| error_of_control(&error))
    }

    /// Waits for the end of a job after [`order_stop`](Self::order_stop).
    pub(crate) async fn job_stop(&self, request: &JobStopRequest) -> Result<Answered, RpcError> {
        // A job may catch any other signal and go on.
        if matches!(way_to_stop(request)?, Stop::Ask | Stop::Signal(9)) {
            // One that is stuck is shown as it is.
            let _ = timeout(STOP_WAIT, self.job_store()?.wait_until_gone(request.job)).await;
        }
        self.changed(request.job)
    }

    pub(crate) async fn job_send(&self, request: &JobSendRequest) -> Result<Answered, RpcError> {
        let text = request.text.as_deref().unwrap_or_default();
        let names = request.keys.as_deref().unwrap_or_default();
        let keys = parse_keys(names).map_err(|why| RpcError::in_field("keys", why))?;
        let end = request.eof.unwrap_or(false);
        if text.is_empty() && names.is_empty() && !end {
            return Err(RpcError::in_field("text", "give `text`, `keys` or `eof`"));
        }
        let job = self.record(request.job)?;
        let input = JobInput { text: text.as_bytes().to_vec(), keys, end };
        let toolbox = &self.service.toolbox;
        let inputs = toolbox.job_inputs().ok_or_else(no_jobs)?;
        let sent = if job.has_terminal {
            let terminal = toolbox.terminal(&inputs.store, request.job).await;
            let terminal = terminal.map_err(|error| error_of_terminal(&error))?;
            inputs.type_at(&terminal, input, TYPING_WAIT).await
        } else {
            inputs.send(request.job, input, TYPING_WAIT).await
        };
        sent.map_err(|error| error_of_input(&error))?;
        self.changed(request.job)
    }
}

fn way_to_stop(request: &JobStopRequest) -> Result<Stop, RpcError> {
    let Some(name) = &request.signal else { return Ok(Stop::Ask) };
    let unknown = || RpcError::in_field("signal", format!("there is no signal {name:?}"));
    signal::number(name).map(Stop::Signal).ok_or_else(unknown)
}

fn no_jobs() -> RpcError {
    RpcError::new(ErrorCode::Unavailable, "this service keeps no jobs")
}

fn error_of_control(error: &ControlError) -> RpcError {
    let code = match error {
        ControlError::Get(GetJobError::Never { .. } | GetJobError::Removed { .. }) => ErrorCode::NotFound,
        _ => ErrorCode::Failed,
    };
    RpcError { field: Some("job".to_owned()), ..RpcError::new(code, error_chain(error)) }
}

fn error_of_input(error: &JobInputError) -> RpcError {
    let text = error_chain(error);
    match error {
        JobInputError::NoTerminal { .. } => RpcError::in_field("keys", text),
        JobInputError::EndAtTerminal { .. } => RpcError::in_field("eof", text),
        JobInputError::Refused { .. } => RpcError::new(ErrorCode::Refused, text),
        JobInputError::Terminal(error) => error_of_terminal(error),
        JobInputError::Send(SendError::Control(error)) => error_of_control(error),
        _ => RpcError::new(ErrorCode::Failed, text),
    }
}

pub(crate) fn error_of_terminal(error: &TerminalError) -> RpcError {
    match error {
        TerminalError::Control(error) => error_of_control(error),
        TerminalError::NoTerminal { .. } => RpcError::in_field("job", error_chain(error)),
        other => RpcError::new(ErrorCode::Failed, error_chain(other)),
    }
}
