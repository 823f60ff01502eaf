//! What is done with each request.

use bashful_dialect::{Caller, Toolbox};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, Implementation, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::mpsc;

use crate::convert;
use crate::manners::Manners;

/// The server, whatever it is reached by.
#[derive(Debug, Clone)]
pub(crate) struct Handler {
    toolbox: Toolbox,
    manners: Manners,
}

impl Handler {
    pub(crate) fn new(toolbox: Toolbox, manners: Manners) -> Self {
        Self { toolbox, manners }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let name = Implementation::new("bashful", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(name)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.toolbox.tools().iter().map(convert::tool).collect()))
    }

    /// Runs a tool. Handlers are not dropped when a call is cancelled, so this one has to look for itself; what it drops then is
    /// the call, which stops the command.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let client = context.client_info();
        let patience = self.manners.patience(client.as_ref().map(|client| client.name.as_str()));
        let mut caller = Caller { patience: Some(patience), progress: None };
        let token = context.meta.get_progress_token();
        let (tell, mut told) = mpsc::unbounded_channel();
        if token.is_some() {
            // If nobody is left who could be told, the call is over too.
            caller.progress = Some(Box::new(move |progress| drop(tell.send(progress))));
        }
        let arguments = request.arguments.map_or(Value::Null, Value::Object);
        let call = self.toolbox.call(&request.name, arguments, caller);
        tokio::pin!(call);
        loop {
            tokio::select! {
                answer = &mut call => {
                    let answer = answer.map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
                    return Ok(convert::answer(answer).into());
                }
                // Nobody is sent this.
                () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
                Some(progress) = told.recv() => if let Some(token) = token.clone() {
                    // A client that has gone away is found out by other means.
                    let _ = context.peer.notify_progress(convert::progress(token, &progress)).await;
                },
            }
        }
    }
}
