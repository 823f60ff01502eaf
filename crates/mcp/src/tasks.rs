//! Jobs as tasks, for clients that declare the extension: they show a job while it runs, and wake their model with its result.
//!
//! The id of a task is that of its job, and the store of jobs is the only one. Questions are asked before a job begins, so a task
//! never needs input.

use bashful_dialect::{Answer, ToolCaller};
use bashful_engine::{End, GetJobError, JobRecord, Stop, StopReason, error_chain};
use chrono::{DateTime, SecondsFormat, Utc};
use rmcp::RoleServer;
use rmcp::model::{
    CallToolResponse, CreateTaskResult, DetailedTask, ErrorData, GetTaskResult, ProtocolVersion, Task, TaskPayload,
    TaskStatus,
};
use rmcp::service::RequestContext;
use serde_json::Value;

use crate::convert;
use crate::handler::Handler;

/// Time between two questions of a client about a task.
const POLL_INTERVAL_MS: u64 = 1000;

/// True if a call may be answered by a task.
pub(crate) fn are_known(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version > ProtocolVersion::LATEST_WITH_INITIALIZE)
        && context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks())
}

impl Handler {
    /// True if calls may be answered by tasks. A dialect that pushes tells of its jobs in its own way.
    pub(crate) fn has_tasks(&self) -> bool {
        self.toolbox.engine().jobs().is_some() && !self.toolbox.pushes()
    }

    /// The task for a command that has become a job. One at a terminal stays a reply: its model has to see the screen.
    pub(crate) fn begun(&self, answer: &Answer) -> Option<CallToolResponse> {
        let job = self.toolbox.engine().jobs()?.get(answer.job?).ok().filter(|job| !job.has_terminal)?;
        Some(CreateTaskResult::new(task(&job).with_status_message(answer.text.as_str())).into())
    }

    /// The state of a task, and the result of one that is over.
    pub(crate) async fn task(
        &self,
        id: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let row = self.client(context);
        let caller = ToolCaller { patience: Some(row.patience), limit: row.limit, ..ToolCaller::default() };
        let polled = self.toolbox.polled(job_id(id)?, caller).await;
        let (job, answer) = polled.map_err(|error| self.no_task(id, &error))?;
        let is_cancelled = matches!(job.end(), Some(End::Stopped { why: StopReason::Cancelled, .. }));
        let payload = match answer {
            None => TaskPayload::Working,
            Some(_) if is_cancelled => TaskPayload::Cancelled,
            Some(answer) => match serde_json::to_value(convert::answer(answer, row.form)) {
                Ok(Value::Object(result)) => TaskPayload::Completed { result },
                _ => return Err(ErrorData::internal_error(format!("the result of task {id} is no JSON"), None)),
            },
        };
        Ok(GetTaskResult::new(DetailedTask::new(task(&job), payload)))
    }

    /// Stops the job of a task. One that is over stays as it is.
    pub(crate) async fn stop_task(&self, id: &str) -> Result<(), ErrorData> {
        let number = job_id(id)?;
        let jobs = self.toolbox.engine().jobs().ok_or_else(|| self.no_task(id, &GetJobError::Never { id: number }))?;
        let job = jobs.get(number).map_err(|error| self.no_task(id, &error))?;
        if job.is_over() {
            return Ok(());
        }
        let failed = |error| ErrorData::internal_error(self.redacted_error(&error), None);
        jobs.stop(number, Stop::Ask).await.map_err(failed)
    }

    fn no_task(&self, id: &str, error: &GetJobError) -> ErrorData {
        let why = self.toolbox.engine().redactor().redact(error_chain(error));
        ErrorData::invalid_params(format!("there is no task {id:?}: {}", why.as_str()), None)
    }
}

fn job_id(task: &str) -> Result<u64, ErrorData> {
    let wrong = |_| ErrorData::invalid_params(format!("there is no task {task:?}: ids are numbers of jobs"), None);
    task.parse().map_err(wrong)
}

fn task(job: &JobRecord) -> Task {
    let stamp = |time| DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Millis, true);
    let changed = job.ended.unwrap_or(job.began);
    Task::new(job.id.to_string(), TaskStatus::Working, stamp(job.began), stamp(changed))
        .with_poll_interval_ms(POLL_INTERVAL_MS)
}
