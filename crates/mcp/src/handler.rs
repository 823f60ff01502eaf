//! The handler of all requests.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bashful_dialect::{ResourceError, TEMPLATES, ToolCaller, Toolbox};
use bashful_engine::{CallTurn, FixedName};
use hyper::http::request::Parts;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CancelTaskParams, CustomRequest, CustomResult, ErrorData, GetTaskParams,
    GetTaskResult, Implementation, InitializeRequestParams, InitializeResult, JsonObject, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, ResourceContents, ServerCapabilities, ServerConfig,
    SetLevelRequestMethod, SubscribeRequestParams, SubscriptionFilter, TASKS_EXTENSION_ID, UnsubscribeRequestParams,
    UpdateTaskParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::asking::{Asking, Questions};
use crate::bad_message;
use crate::client::{ClientRow, Clients};
use crate::convert;
use crate::http::{Over, session_of};
use crate::pushing::{self, LowestLevel, SetLevel};
use crate::subscriptions::Subscriptions;
use crate::tasks;

/// Most updates that wait to be sent. Each shows the text of the ones before.
const WAITING_UPDATES: usize = 4;

/// Shortest time between two progress notifications. A little less than the second between updates, which have their
/// own clock.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(900);

/// Resources on one page of the list.
const PAGE_LENGTH: usize = 100;

/// The server, on standard input or over HTTP.
#[derive(Debug, Clone)]
pub(crate) struct Handler {
    pub(crate) toolbox: Toolbox,
    clients: Clients,
    notices: Subscriptions,
    questions: Arc<Questions>,
    level: LowestLevel,
}

impl Handler {
    /// The redacted text of an error, which may quote the client's message.
    pub(crate) fn redacted_error(&self, error: &(dyn std::error::Error + 'static)) -> String {
        self.toolbox.engine().redactor().redact_error(error).into_string()
    }

    pub(crate) fn new(toolbox: Toolbox, clients: Clients) -> Self {
        Self {
            toolbox,
            clients,
            notices: Subscriptions::default(),
            questions: Arc::default(),
            level: LowestLevel::default(),
        }
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let mut capabilities = ServerCapabilities::builder()
            .enable_prompts()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_tools()
            .build();
        if self.has_tasks() {
            capabilities.extensions.get_or_insert_default().insert(TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
        }
        if self.toolbox.pushes() {
            pushing::declare(&mut capabilities);
        }
        let name = Implementation::new("bashful", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(name)
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.negotiate_initialize(&request)?;
        // The tasks of this era are others.
        result.capabilities.extensions = None;
        Ok(result)
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let form = self.client(&context).form;
        let tools = self.toolbox.tools().iter().map(|tool| convert::tool(tool, form));
        Ok(ListToolsResult::with_all_items(tools.collect()))
    }

    async fn list_resources(
        &self,
        page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let cursor = page.and_then(|page| page.cursor);
        let wrong = |_| ErrorData::invalid_params("not a cursor of this server", None);
        let first = cursor.map_or(Ok(0), |cursor| cursor.parse::<usize>()).map_err(wrong)?;
        let page = self.toolbox.resources(first, PAGE_LENGTH);
        let mut result = ListResourcesResult::with_all_items(page.links.into_iter().map(convert::link).collect());
        result.next_cursor = page.next.map(|next| next.to_string());
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(TEMPLATES.map(convert::template).into()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        match self.toolbox.read(&request.uri).await {
            Ok(text) => Ok(ReadResourceResult::new(vec![ResourceContents::text(text, request.uri)]).into()),
            Err(error @ ResourceError::NotFound { .. }) => {
                let uri = self.toolbox.engine().redactor().redact(request.uri);
                Err(ErrorData::resource_not_found(self.redacted_error(&error), Some(json!({ "uri": uri.as_str() }))))
            }
            Err(error) => Err(ErrorData::invalid_params(self.redacted_error(&error), None)),
        }
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        self.task(&request.task_id, &context).await
    }

    async fn update_task(
        &self,
        request: UpdateTaskParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        // No task asks for anything, so an answer changes nothing.
        self.task(&request.task_id, &context).await.map(drop)
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.stop_task(&request.task_id).await
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = self.toolbox.engine().redactor().redact(request.method);
        Err(bad_message::unknown_request(&method, request.params.as_ref()))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.notices.notify_listing(&self.toolbox, context.peer);
    }

    async fn set_level(&self, request: SetLevel, _context: RequestContext<RoleServer>) -> Result<(), ErrorData> {
        if !self.toolbox.pushes() {
            return Err(ErrorData::method_not_found::<SetLevelRequestMethod>());
        }
        self.level.set(&request);
        Ok(())
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.notices.subscribe(&self.toolbox, request.uri, context.peer)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.notices.unsubscribe(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, wanted: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(Subscriptions::accept(&self.toolbox, wanted))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        self.notices.listen(&self.toolbox, context).await
    }

    /// Runs a tool. The library does not drop handlers of cancelled calls, so this one watches for cancellation
    /// itself and drops the call, which stops the command.
    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let ClientRow { patience, limit, form } = self.client(&context);
        let may_be_task = self.has_tasks() && tasks::are_known(&context);
        let asking = if self.clients.can_answer {
            Asking::new(&self.questions, &request, &context, patience.0)
        } else {
            Asking::Never
        };
        let connection = connection(&context);
        let mut caller = ToolCaller {
            patience: Some(patience),
            limit,
            connection,
            approver: asking.approver(),
            turn: context.extensions.get::<CallTurn>().cloned(),
            ..ToolCaller::default()
        };
        let token = context.meta.get_progress_token();
        let (updates, mut told) = mpsc::channel(WAITING_UPDATES);
        let pushes = self.toolbox.pushes() && pushing::can_push(&context);
        caller.updates = (token.is_some() || pushes).then_some(updates);
        let mut told_at = Instant::now();
        let arguments = request.arguments.map_or(Value::Null, Value::Object);
        let mut command = convert::command_line(&arguments, &self.toolbox.engine().redactor());
        let call = self.toolbox.call(&request.name, arguments, caller);
        tokio::pin!(call);
        loop {
            tokio::select! {
                answer = &mut call => {
                    if let Some(question) = asking.left(&self.questions) {
                        return Ok(question);
                    }
                    let answer = answer.map_err(|error| ErrorData::invalid_params(self.redacted_error(&error), None))?;
                    if pushes {
                        self.level.push_end(told, context.peer.clone());
                    }
                    if let Some(task) = may_be_task.then(|| self.begun(&answer)).flatten() {
                        return Ok(task);
                    }
                    return Ok(convert::answer(answer, form).into());
                }
                // The client is gone, so nobody receives this error.
                () = is_over(&context) => return Err(ErrorData::internal_error("cancelled", None)),
                Some(update) = told.recv() => if let Some(token) = token.clone().filter(|_| told_at.elapsed() > PROGRESS_INTERVAL) {
                    told_at = Instant::now();
                    // The transport reports a disconnected client.
                    let _ = context.peer.notify_progress(convert::progress(token, &update, command.take())).await;
                },
            }
        }
    }
}

impl Handler {
    /// The settings for the client of a request.
    pub(crate) fn client(&self, context: &RequestContext<RoleServer>) -> ClientRow {
        let client = context.client_info();
        let name = client.as_ref().map(|client| client.name.as_str());
        // The Python SDK gives this name to every program that has none. Those of the first era, and those that take
        // progress, do not give up within seconds.
        let is_patient = || {
            let version = context.protocol_version();
            context.meta.get_progress_token().is_some()
                || version.is_none_or(|version| version <= ProtocolVersion::LATEST_WITH_INITIALIZE)
        };
        self.clients.row(if name == Some("mcp") && is_patient() { Some("mcp-patient") } else { name })
    }
}

/// The name of a request's connection: standard input, or the HTTP session. A request over HTTP without a session has
/// none.
fn connection(context: &RequestContext<RoleServer>) -> Option<String> {
    match context.extensions.get::<Parts>() {
        None => Some(String::new()),
        Some(parts) => session_of(parts).map(|id| {
            // A hash, because the id itself lets its holder act as the client.
            format!("{:08x}", FixedName::new("connection").field(id.as_bytes()).short())
        }),
    }
}

/// Resolves when the call is cancelled, its client disconnects, or the session ends.
async fn is_over(context: &RequestContext<RoleServer>) {
    tokio::select! {
        () = context.ct.cancelled() => {}
        () = Over::of(&context.extensions) => {}
    }
}
