//! The four protocols by which agents talk to models: reading their requests, and answering them.

use serde_json::{Value, json};

/// A protocol of a model provider, told by the path of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// Anthropic Messages.
    Messages,
    /// `OpenAI` Responses.
    Responses,
    /// `OpenAI` Chat Completions.
    Chat,
    /// Gemini `generateContent` and `streamGenerateContent`.
    Gemini,
}

/// A tool that a request offers to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offered {
    /// The namespace that holds it, where the protocol has those.
    pub(super) namespace: Option<String>,
    /// The name of the tool, as the agent offers it.
    pub(super) name: String,
}

/// A call that the model decided on.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    /// Contains the number of the turn, so that the next request tells how far the script has come.
    pub(super) id: String,
    /// The tool, under the name by which the agent offers it.
    pub(super) tool: Offered,
    /// Arguments of the call.
    pub(super) arguments: Value,
}

/// The model's answer to one request.
#[derive(Debug, Clone)]
pub(super) enum Answer {
    /// The model only talks.
    Text(String),
    /// The model calls tools.
    Calls(Vec<Planned>),
}

/// The result of a call, as the agent showed it to the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shown {
    /// Number of the turn and of the call in it; both begin with 0.
    pub(super) call: (usize, usize),
    /// The text of the result. Other parts are in it as JSON.
    pub(super) text: String,
}

/// The id of a call of the script.
pub(super) fn call_id(turn: usize, index: usize) -> String {
    format!("call_T{turn}_{index}")
}

/// The place in the script that an id stands for.
fn place(id: &str) -> Option<(usize, usize)> {
    let (turn, index) = id.rsplit_once("call_T")?.1.split_once('_')?;
    // Agents may append something of their own.
    let index = index.split(|other: char| !other.is_ascii_digit()).next()?;
    Some((turn.parse().ok()?, index.parse().ok()?))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

impl Wire {
    /// The protocol of a request, unless its path belongs to none.
    pub(super) fn of(path: &str) -> Option<Self> {
        if path.ends_with("/messages") {
            Some(Self::Messages)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else if path.ends_with("enerateContent") {
            Some(Self::Gemini)
        } else {
            None
        }
    }

    /// Every tool that a request offers.
    pub(super) fn offered(body: &Value) -> Vec<Offered> {
        let plain = |tool: &Value| {
            let name = tool["name"].as_str().or_else(|| tool["function"]["name"].as_str())?;
            Some(Offered { namespace: None, name: name.to_owned() })
        };
        let inside = |tools: &Value, namespace: Option<&str>| -> Vec<Offered> {
            let namespace = namespace.map(ToOwned::to_owned);
            list(tools).iter().filter_map(plain).map(|tool| Offered { namespace: namespace.clone(), ..tool }).collect()
        };
        list(&body["tools"])
            .iter()
            .flat_map(|tool| {
                if tool["functionDeclarations"].is_array() {
                    inside(&tool["functionDeclarations"], None)
                } else if tool["type"] == "namespace" {
                    inside(&tool["tools"], tool["name"].as_str())
                } else {
                    plain(tool).into_iter().collect()
                }
            })
            .collect()
    }

    /// Number of turns of the script that a conversation has completed.
    pub(super) fn turns_done(self, body: &Value) -> usize {
        match self {
            // Gemini's protocol has no ids that every client returns.
            Self::Gemini => list(&body["contents"])
                .iter()
                .filter(|content| content["role"] == "model")
                .filter(|content| list(&content["parts"]).iter().any(|part| part["functionCall"].is_object()))
                .count(),
            Self::Messages => {
                last_turn(list(&body["messages"]).iter().flat_map(|message| list(&message["content"])), "id")
            }
            Self::Responses => last_turn(list(&body["input"]).iter(), "call_id"),
            Self::Chat => {
                last_turn(list(&body["messages"]).iter().flat_map(|message| list(&message["tool_calls"])), "id")
            }
        }
    }

    /// Results of calls in a request.
    pub(super) fn shown(self, body: &Value) -> Vec<Shown> {
        match self {
            Self::Messages => list(&body["messages"])
                .iter()
                .flat_map(|message| list(&message["content"]))
                .filter(|part| part["type"] == "tool_result")
                .filter_map(|part| shown(&part["tool_use_id"], &part["content"]))
                .collect(),
            Self::Responses => list(&body["input"])
                .iter()
                .filter(|item| item["type"] == "function_call_output")
                .filter_map(|item| shown(&item["call_id"], &item["output"]))
                .collect(),
            Self::Chat => list(&body["messages"])
                .iter()
                .filter(|message| message["role"] == "tool")
                .filter_map(|message| shown(&message["tool_call_id"], &message["content"]))
                .collect(),
            Self::Gemini => list(&body["contents"])
                .iter()
                .filter(|content| list(&content["parts"]).iter().any(|part| part["functionResponse"].is_object()))
                .enumerate()
                .flat_map(|(turn, content)| {
                    let responses = list(&content["parts"]).iter().filter(|part| part["functionResponse"].is_object());
                    responses.enumerate().map(move |(index, part)| Shown {
                        call: (turn, index),
                        text: text(&part["functionResponse"]["response"]),
                    })
                })
                .collect(),
        }
    }

    /// The body of a response, as JSON or, if `stream`, as server-sent events.
    pub(super) fn encode(self, answer: &Answer, stream: bool) -> String {
        match self {
            Self::Messages => messages(answer, stream),
            Self::Responses => responses(answer, stream),
            Self::Chat => chat(answer, stream),
            Self::Gemini => gemini(answer, stream),
        }
    }
}

fn last_turn<'a>(items: impl Iterator<Item = &'a Value>, key: &str) -> usize {
    items.filter_map(|item| place(item[key].as_str()?)).map(|(turn, _)| turn + 1).max().unwrap_or(0)
}

fn shown(id: &Value, content: &Value) -> Option<Shown> {
    Some(Shown { call: place(id.as_str()?)?, text: text(content) })
}

/// The text of a result, in any of its forms.
fn text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            parts.iter().map(|part| part["text"].as_str().map_or_else(|| part.to_string(), ToOwned::to_owned)).collect()
        }
        Value::Object(fields) if fields.len() == 1 => match fields.values().next() {
            Some(Value::String(text)) => text.clone(),
            _ => content.to_string(),
        },
        other => other.to_string(),
    }
}

fn event(name: &str, data: &Value) -> String {
    format!("event: {name}\ndata: {data}\n\n")
}

/// Events whose data has their name as `type`.
fn typed_events(events: Vec<(&str, Value)>) -> String {
    events
        .into_iter()
        .map(|(name, mut data)| {
            data["type"] = name.into();
            event(name, &data)
        })
        .collect()
}

fn messages(answer: &Answer, stream: bool) -> String {
    let (blocks, reason) = match answer {
        Answer::Text(text) => (vec![json!({ "type": "text", "text": text })], "end_turn"),
        Answer::Calls(calls) => (
            calls
                .iter()
                .map(|call| json!({ "type": "tool_use", "id": call.id, "name": call.tool.name, "input": call.arguments }))
                .collect(),
            "tool_use",
        ),
    };
    let usage = json!({ "input_tokens": 10, "output_tokens": 5 });
    let mut message = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    if !stream {
        message["content"] = blocks.into();
        message["stop_reason"] = reason.into();
        return message.to_string();
    }
    let mut events = vec![("message_start", json!({ "message": message }))];
    for (index, mut block) in blocks.into_iter().enumerate() {
        let delta = if block["type"] == "text" {
            let text = std::mem::replace(&mut block["text"], "".into());
            json!({ "type": "text_delta", "text": text })
        } else {
            let input = std::mem::replace(&mut block["input"], json!({}));
            json!({ "type": "input_json_delta", "partial_json": input.to_string() })
        };
        events.push(("content_block_start", json!({ "index": index, "content_block": block })));
        events.push(("content_block_delta", json!({ "index": index, "delta": delta })));
        events.push(("content_block_stop", json!({ "index": index })));
    }
    let delta = json!({ "stop_reason": reason, "stop_sequence": null });
    events.push(("message_delta", json!({ "delta": delta, "usage": { "output_tokens": 5 } })));
    events.push(("message_stop", json!({})));
    typed_events(events)
}

fn responses(answer: &Answer, stream: bool) -> String {
    let items: Vec<Value> = match answer {
        Answer::Text(text) => vec![json!({
            "type": "message", "role": "assistant", "id": "msg_1", "status": "completed",
            "content": [{ "type": "output_text", "text": text, "annotations": [] }],
        })],
        Answer::Calls(calls) => calls
            .iter()
            .map(|call| {
                let mut item = json!({
                    "type": "function_call", "id": format!("fc_{}", call.id), "call_id": call.id, "status": "completed",
                    "name": call.tool.name, "arguments": call.arguments.to_string(),
                });
                if let Some(namespace) = &call.tool.namespace {
                    item["namespace"] = namespace.as_str().into();
                }
                item
            })
            .collect(),
    };
    let usage = json!({
        "input_tokens": 10, "input_tokens_details": { "cached_tokens": 0 },
        "output_tokens": 5, "output_tokens_details": { "reasoning_tokens": 0 }, "total_tokens": 15,
    });
    let whole = json!({
        "id": "resp_1", "object": "response", "created_at": 1, "model": "scripted", "status": "completed",
        "output": items, "usage": usage, "parallel_tool_calls": true, "tool_choice": "auto", "tools": [],
    });
    if !stream {
        return whole.to_string();
    }
    let mut begun = whole.clone();
    begun["status"] = "in_progress".into();
    begun["output"] = json!([]);
    let mut events = vec![("response.created", json!({ "response": begun, "sequence_number": 0 }))];
    for (index, item) in items.iter().enumerate() {
        let data = json!({ "output_index": index, "item": item, "sequence_number": index + 1 });
        events.push(("response.output_item.added", data.clone()));
        events.push(("response.output_item.done", data));
    }
    events.push(("response.completed", json!({ "response": whole, "sequence_number": items.len() + 1 })));
    typed_events(events)
}

fn chat(answer: &Answer, stream: bool) -> String {
    let (message, reason) = match answer {
        Answer::Text(text) => (json!({ "role": "assistant", "content": text }), "stop"),
        Answer::Calls(calls) => {
            let call = |(index, call): (usize, &Planned)| {
                json!({
                    "index": index, "id": call.id, "type": "function",
                    "function": { "name": call.tool.name, "arguments": call.arguments.to_string() },
                })
            };
            let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
            (json!({ "role": "assistant", "content": null, "tool_calls": calls }), "tool_calls")
        }
    };
    let usage = json!({ "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 });
    let whole = |kind: &str, choice: Value| json!({ "id": "chat_1", "object": kind, "created": 1, "model": "scripted", "choices": [choice], "usage": usage });
    if !stream {
        let choice = json!({ "index": 0, "message": message, "finish_reason": reason });
        return whole("chat.completion", choice).to_string();
    }
    let first = whole("chat.completion.chunk", json!({ "index": 0, "delta": message, "finish_reason": null }));
    let last = whole("chat.completion.chunk", json!({ "index": 0, "delta": {}, "finish_reason": reason }));
    format!("data: {first}\n\ndata: {last}\n\ndata: [DONE]\n\n")
}

fn gemini(answer: &Answer, stream: bool) -> String {
    let parts: Vec<Value> = match answer {
        Answer::Text(text) => vec![json!({ "text": text })],
        Answer::Calls(calls) => calls
            .iter()
            .map(|call| json!({ "functionCall": { "id": call.id, "name": call.tool.name, "args": call.arguments } }))
            .collect(),
    };
    let candidate = json!({ "index": 0, "content": { "role": "model", "parts": parts }, "finishReason": "STOP" });
    let usage = json!({ "promptTokenCount": 10, "candidatesTokenCount": 5, "totalTokenCount": 15 });
    let whole = json!({ "candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted" });
    if stream { format!("data: {whole}\n\n") } else { whole.to_string() }
}

#[cfg(test)]
#[path = "wire_tests.rs"]
mod tests;
