//! The tools, prompts and resources of the conformance suite, defined in `fixtures.json`.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorData, GetPromptRequestParams, GetPromptResponse, ListPromptsResult,
    ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, ServerNotification,
    ServerRequest, SubscribeRequestParams, Tool, UnsubscribeRequestParams,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The two fixed parts of the suite's address template.
const TEMPLATE: (&str, &str) = ("test://template/", "/data");

type Context = RequestContext<RoleServer>;

/// A server that offers what the suite asks for.
#[derive(Debug, Clone)]
pub(crate) struct Fixtures(Arc<Value>);

impl Fixtures {
    pub(crate) fn new() -> Self {
        Self(Arc::new(serde_json::from_str(include_str!("fixtures.json")).expect("it is JSON")))
    }

    /// All fixtures of a kind, by name.
    fn all(&self, kind: &str) -> impl Iterator<Item = (&String, &Value)> {
        self.0[kind].as_object().expect("an object").iter()
    }

    fn find(&self, kind: &str, name: &str) -> Result<&Value, ErrorData> {
        self.0[kind].get(name).ok_or_else(|| ErrorData::invalid_params(format!("there is no {name}"), None))
    }
}

/// Parses a fixture into a protocol type.
fn typed<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// Parses a complete result.
fn complete<T: DeserializeOwned>(mut result: Value) -> Result<T, ErrorData> {
    result["resultType"] = "complete".into();
    typed(result)
}

/// Replaces placeholders with the values of arguments.
fn fill(mut value: Value, arguments: &Map<String, Value>) -> Value {
    match &mut value {
        Value::String(text) => {
            for (name, argument) in arguments {
                *text = text.replace(&format!("{{{name}}}"), argument.as_str().unwrap_or_default());
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| *value = fill(value.take(), arguments)),
        Value::Object(values) => values.values_mut().for_each(|value| *value = fill(value.take(), arguments)),
        _ => {}
    }
    value
}

/// The next question to a client of the second era; none if it has answered all.
fn next_round(
    name: &str,
    fixture: &Value,
    answers: &Value,
    state: Option<&str>,
    context: &Context,
) -> Result<Option<Value>, ErrorData> {
    let rounds = fixture["rounds"].as_array().map(Vec::as_slice).unwrap_or_default();
    let state_of = |round: usize| format!("{name} {round}");
    let forged = || ErrorData::invalid_params("the state is not one of ours", None);
    let asked = match state {
        None => 0,
        Some(state) => (0..rounds.len()).find(|round| state_of(*round) == state).ok_or_else(forged)?,
    };
    let Some(questions) = rounds.get(asked).and_then(Value::as_object) else { return Ok(None) };
    let is_answered = questions.keys().all(|key| answers[key].is_object());
    let round = if is_answered { asked + 1 } else { asked };
    let Some(questions) = rounds.get(round).and_then(Value::as_object) else { return Ok(None) };
    let able = serde_json::to_value(&context.meta).unwrap_or_default()[CAPABILITIES].clone();
    let can = |question: &Value| {
        let method = question["method"].as_str().unwrap_or_default();
        able.get(method.split('/').next().unwrap_or_default()).is_some()
    };
    let questions: Map<_, _> = questions.clone().into_iter().filter(|(_, question)| can(question)).collect();
    let mut required = json!({ "resultType": "input_required", "inputRequests": questions });
    if fixture["state"] == true {
        required["requestState"] = state_of(round).into();
    }
    Ok(Some(required))
}

/// Asks a client of the first era, in the middle of a call.
async fn ask(question: Value, context: &Context) -> Result<Value, ErrorData> {
    let question: ServerRequest = typed(question)?;
    let answer = context.peer.send_request(question).await;
    let answer = answer.map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    serde_json::to_value(answer).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

/// Sends a notification, then pauses.
async fn tell(notice: Value, context: &Context) -> Result<(), ErrorData> {
    let notice: ServerNotification = typed(notice)?;
    let told = context.peer.send_notification(notice).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    told.map_err(|error| ErrorData::internal_error(error.to_string(), None))
}

fn tool((name, fixture): (&String, &Value)) -> Result<Tool, ErrorData> {
    let schema = fixture.get("schema").cloned().unwrap_or_else(|| json!({ "type": "object", "properties": {} }));
    typed(json!({ "name": name, "description": format!("What the suite calls {name}."), "inputSchema": schema }))
}

impl ServerHandler for Fixtures {
    fn get_info(&self) -> ServerConfig {
        let can = json!({ "tools": {}, "prompts": {}, "resources": {}, "logging": {}, "completions": {} });
        ServerConfig::new(serde_json::from_value::<ServerCapabilities>(can).expect("they are capabilities"))
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: Context,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.all("tools").map(tool).collect::<Result<_, _>>()?))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tool(self.all("tools").find(|(other, _)| *other == name)?).ok()
    }

    async fn call_tool(&self, call: CallToolRequestParams, context: Context) -> Result<CallToolResponse, ErrorData> {
        let fixture = self.find("tools", &call.name)?;
        if let Some(needed) = fixture.get("needs") {
            return Err(ErrorData::missing_required_client_capability(typed(needed.clone())?));
        }
        let answers = serde_json::to_value(&call.input_responses).unwrap_or_default();
        let next = next_round(&call.name, fixture, &answers, call.request_state.as_deref(), &context)?;
        if let Some(required) = next {
            return Ok(CallToolResponse::InputRequired(typed(required)?));
        }
        for text in fixture["logs"].as_array().into_iter().flatten() {
            let params = json!({ "level": "info", "data": text });
            tell(json!({ "method": "notifications/message", "params": params }), &context).await?;
        }
        for far in fixture["progress"].as_array().into_iter().flatten() {
            let Some(token) = context.meta.get_progress_token() else { break };
            let params = json!({ "progressToken": token, "progress": far, "total": 100 });
            tell(json!({ "method": "notifications/progress", "params": params }), &context).await?;
        }
        let said = match fixture.get("asks") {
            Some(question) => {
                let question = fill(question.clone(), &call.arguments.unwrap_or_default());
                let answer = ask(question, &context).await?;
                format!("action={}, content={}", answer["action"].as_str().unwrap_or_default(), answer["content"])
            }
            None => answers.to_string(),
        };
        let says = fixture["says"].as_str().unwrap_or_default();
        let result = || json!({ "content": [{ "type": "text", "text": format!("{says}{said}") }] });
        Ok(CallToolResponse::Complete(complete(fixture.get("result").cloned().unwrap_or_else(result))?))
    }

    async fn list_prompts(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: Context,
    ) -> Result<ListPromptsResult, ErrorData> {
        let argument = |name: &Value| json!({ "name": name, "required": true });
        let prompt = |(name, fixture): (&String, &Value)| {
            let arguments: Vec<_> = fixture["arguments"].as_array().into_iter().flatten().map(argument).collect();
            typed(json!({ "name": name, "description": "A prompt of the suite.", "arguments": arguments }))
        };
        Ok(ListPromptsResult::with_all_items(self.all("prompts").map(prompt).collect::<Result<_, _>>()?))
    }

    async fn get_prompt(
        &self,
        asked: GetPromptRequestParams,
        context: Context,
    ) -> Result<GetPromptResponse, ErrorData> {
        let fixture = self.find("prompts", &asked.name)?;
        let answers = serde_json::to_value(&asked.input_responses).unwrap_or_default();
        if let Some(required) = next_round(&asked.name, fixture, &answers, asked.request_state.as_deref(), &context)? {
            return Ok(GetPromptResponse::InputRequired(typed(required)?));
        }
        let messages = fill(fixture["messages"].clone(), &asked.arguments.unwrap_or_default());
        Ok(GetPromptResponse::Complete(complete(json!({ "messages": messages }))?))
    }

    async fn list_resources(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: Context,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resource = |(uri, fixture): (&String, &Value)| {
            typed(json!({ "uri": uri, "name": uri, "mimeType": fixture["mimeType"] }))
        };
        Ok(ListResourcesResult::with_all_items(self.all("resources").map(resource).collect::<Result<_, _>>()?))
    }

    async fn list_resource_templates(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: Context,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let (begin, end) = TEMPLATE;
        let template = json!({ "uriTemplate": format!("{begin}{{id}}{end}"), "name": "template" });
        Ok(ListResourceTemplatesResult::with_all_items(vec![typed(template)?]))
    }

    async fn read_resource(
        &self,
        asked: ReadResourceRequestParams,
        _context: Context,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let of_template = || {
            let id = asked.uri.strip_prefix(TEMPLATE.0)?.strip_suffix(TEMPLATE.1)?;
            let text = json!({ "id": id, "templateTest": true, "data": format!("Data for ID: {id}") });
            Some(json!({ "mimeType": "application/json", "text": text.to_string() }))
        };
        let found = self.0["resources"].get(&asked.uri).cloned().or_else(of_template);
        let mut contents = found.ok_or_else(|| {
            ErrorData::resource_not_found("there is no such resource", Some(json!({ "uri": asked.uri })))
        })?;
        contents["uri"] = asked.uri.into();
        Ok(ReadResourceResponse::Complete(complete(json!({ "contents": [contents] }))?))
    }

    async fn subscribe(&self, _asked: SubscribeRequestParams, _context: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn unsubscribe(&self, _asked: UnsubscribeRequestParams, _context: Context) -> Result<(), ErrorData> {
        Ok(())
    }

    #[expect(deprecated, reason = "logging is still a part of the first era")]
    async fn set_level(&self, _asked: rmcp::model::SetLevelRequestParams, _context: Context) -> Result<(), ErrorData> {
        Ok(())
    }
}
