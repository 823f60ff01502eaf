use serde_json::{Value, json};

use super::{Answer, Offered, Planned, Shown, Wire, call_id};

fn calls(turn: usize) -> Answer {
    let tool = Offered { namespace: None, name: "bash".to_owned() };
    let call =
        |index| Planned { id: call_id(turn, index), tool: tool.clone(), arguments: json!({ "command": "true" }) };
    Answer::Calls(vec![call(0), call(1)])
}

/// The request of an agent that has run the calls of turn 0: the model's message, and two results.
fn next_request(wire: Wire) -> Value {
    let answer: Value = serde_json::from_str(&wire.encode(&calls(0), false)).expect("JSON");
    let (one, two) = (call_id(0, 0), call_id(0, 1));
    match wire {
        Wire::Messages => json!({ "messages": [
            { "role": "assistant", "content": answer["content"] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": one, "content": "first" },
                { "type": "tool_result", "tool_use_id": two, "content": [{ "type": "text", "text": "second" }] },
            ] },
        ] }),
        Wire::Responses => {
            let mut input = answer["output"].as_array().expect("items").clone();
            input.push(json!({ "type": "function_call_output", "call_id": one, "output": "first" }));
            input.push(json!({ "type": "function_call_output", "call_id": two, "output": [{ "type": "input_text", "text": "second" }] }));
            json!({ "input": input })
        }
        Wire::Chat => json!({ "messages": [
            answer["choices"][0]["message"],
            { "role": "tool", "tool_call_id": one, "content": "first" },
            { "role": "tool", "tool_call_id": two, "content": [{ "type": "text", "text": "second" }] },
        ] }),
        Wire::Gemini => json!({ "contents": [
            answer["candidates"][0]["content"],
            { "role": "user", "parts": [
                { "functionResponse": { "name": "bash", "response": { "output": "first" } } },
                { "functionResponse": { "name": "bash", "response": { "output": "second" } } },
            ] },
        ] }),
    }
}

#[test]
fn a_conversation_tells_how_far_the_script_has_come_and_what_was_shown() {
    for wire in [Wire::Messages, Wire::Responses, Wire::Chat, Wire::Gemini] {
        let request = next_request(wire);
        assert_eq!(wire.turns_done(&request), 1, "{wire:?}");
        let shown = |index, text: &str| Shown { call: (0, index), text: text.to_owned() };
        assert_eq!(wire.shown(&request), [shown(0, "first"), shown(1, "second")], "{wire:?}");
        assert_eq!(wire.turns_done(&json!({})), 0, "{wire:?}");
    }
}

#[test]
fn tools_are_found_in_every_form() {
    let body = json!({ "tools": [
        { "name": "plain", "input_schema": {} },
        { "type": "function", "function": { "name": "chat" } },
        { "type": "namespace", "name": "mcp__bashful", "tools": [{ "type": "function", "name": "bash" }] },
        { "functionDeclarations": [{ "name": "gemini" }] },
        { "type": "web_search" },
    ] });
    let names: Vec<_> = Wire::offered(&body).into_iter().map(|tool| (tool.namespace, tool.name)).collect();
    let name = |name: &str| (None, name.to_owned());
    let inside = (Some("mcp__bashful".to_owned()), "bash".to_owned());
    assert_eq!(names, [name("plain"), name("chat"), inside, name("gemini")]);
}
