//! Requests about the terminals of jobs.

use bashful_dialect::terminal_calls::{SETTLE_WAIT, TerminalUntil, compile, look};
use bashful_engine::TerminalSize;

use crate::jobs::error_of_terminal;
use crate::service::{Answered, Connection, seconds};
use crate::wire::{ErrorCode, JobChangedData, ResizeRequest, RpcError, ScreenData, ScreenEvent, ScreenRequest};

impl Connection {
    pub(crate) async fn screen(&self, request: ScreenRequest) -> Result<Answered, RpcError> {
        let until = match (request.until, request.pattern) {
            (Some(_), Some(_)) => return Err(RpcError::in_field("pattern", "give `until` or `pattern`, not both")),
            (None, Some(pattern)) => {
                compile(&pattern).map_err(|why| RpcError::in_field("pattern", why))?;
                Some(TerminalUntil::Pattern(pattern))
            }
            (until, None) => until.map(TerminalUntil::from),
        };
        let at_most = request.seconds.map(|given| seconds("seconds", given)).transpose()?.unwrap_or(SETTLE_WAIT);
        let toolbox = &self.service.toolbox;
        let terminal = toolbox.terminal(self.job_store()?, request.job).await;
        let terminal = terminal.map_err(|error| error_of_terminal(&error))?;
        let redactor = toolbox.engine().redactor();
        let view = look(&terminal, until.as_ref(), at_most, request.colors.unwrap_or(false), &redactor).await;
        let view = view.map_err(|why| RpcError::new(ErrorCode::Failed, why))?;
        let title = view.snapshot.title.as_ref().map(|title| redactor.redact(title).into_string());
        Ok(Answered::new(&ScreenData {
            state: view.state_word().to_owned(),
            text: view.text,
            rows: view.rows,
            columns: view.snapshot.size.columns(),
            cursor_row: view.snapshot.cursor.row + 1,
            cursor_column: view.snapshot.cursor.column + 1,
            cursor_visible: view.snapshot.cursor.visible,
            title,
            full_screen: view.snapshot.alternate,
            waited_ms: u64::try_from(view.waited.as_millis()).unwrap_or(u64::MAX),
            job: self.job_info(request.job)?,
        }))
    }

    pub(crate) async fn resize(&self, request: &ResizeRequest) -> Result<Answered, RpcError> {
        let size = TerminalSize::new(request.columns, request.rows);
        let limits = "a terminal has 20 to 400 columns and 5 to 200 rows";
        if size.columns() != request.columns {
            return Err(RpcError::in_field("columns", limits));
        }
        if size.rows() != request.rows {
            return Err(RpcError::in_field("rows", limits));
        }
        let terminal = self.service.toolbox.terminal(self.job_store()?, request.job).await;
        let terminal = terminal.map_err(|error| error_of_terminal(&error))?;
        terminal.resize(size).await.map_err(|error| error_of_terminal(&error))?;
        Ok(Answered::new(&JobChangedData { job: self.job_info(request.job)? }))
    }
}

impl From<ScreenEvent> for TerminalUntil {
    fn from(event: ScreenEvent) -> Self {
        match event {
            ScreenEvent::Settled => Self::Settled,
            ScreenEvent::Input => Self::Input,
            ScreenEvent::Quiet => Self::Quiet,
            ScreenEvent::End => Self::End,
        }
    }
}
