//! A tool loop with live output. A script stands for the model; put the call of your provider in its place.
#![expect(clippy::print_stdout, reason = "it shows its result")]

use std::error::Error;

use bashful_dialect::{Dialect, Format, Limits, ReplyForm, ToolCaller, Toolbox};
use bashful_engine::{Engine, Options};
use serde_json::{Value, json};
use tokio::sync::mpsc;

fn main() -> Result<(), Box<dyn Error>> {
    bashful_engine::keeper_main(); // first thing in `main`
    tokio::runtime::Builder::new_multi_thread().enable_all().build()?.block_on(talk())
}

async fn talk() -> Result<(), Box<dyn Error>> {
    let here = std::env::current_dir()?;
    let engine = Engine::new(Options::new("/bin/bash".into(), here.clone()).inherit())?;
    let toolbox = Toolbox::new(engine, Dialect::NATIVE, Limits::default(), &here);
    let tools = Format::Anthropic.write(toolbox.tools(), ReplyForm::default());
    let mut messages = vec![json!({ "role": "user", "content": "How many lines has the longest file here?" })];
    loop {
        let reply = model(&tools, &messages);
        messages.push(json!({ "role": "assistant", "content": reply }));
        let calls = reply.as_array().into_iter().flatten().filter(|block| block["type"] == "tool_use");
        let mut results = Vec::new();
        for call in calls {
            let answer = call_tool(&toolbox, call).await?;
            results.push(json!({ "type": "tool_result", "tool_use_id": call["id"], "content": answer }));
        }
        if results.is_empty() {
            println!("model: {}", reply[0]["text"].as_str().unwrap_or_default());
            return Ok(());
        }
        messages.push(json!({ "role": "user", "content": results }));
    }
}

/// Calls a tool, and shows the newest line of its output meanwhile.
async fn call_tool(toolbox: &Toolbox, call: &Value) -> Result<String, Box<dyn Error>> {
    let (send, mut updates) = mpsc::channel(16);
    let caller = ToolCaller { updates: Some(send), ..ToolCaller::default() };
    let name = call["name"].as_str().unwrap_or_default();
    let mut calling = Box::pin(toolbox.call(name, call["input"].clone(), caller));
    loop {
        tokio::select! {
            answer = &mut calling => return Ok(answer?.text.into_string()),
            Some(update) = updates.recv() => println!("  {:?} {}", update.elapsed, update.last_line()),
        }
    }
}

/// Two turns of a model: a call, and an answer.
fn model(_tools: &Value, messages: &[Value]) -> Value {
    let input = json!({ "command": "for i in 1 2 3; do echo \"file $i\"; sleep 0.1; done; exit 3" });
    let [.., last] = messages else { return Value::Null };
    let text = format!("the tool said {}", last["content"][0]["content"]);
    let call = json!([{ "type": "tool_use", "id": "1", "name": "bash", "input": input }]);
    if messages.len() == 1 { call } else { json!([{ "type": "text", "text": text }]) }
}
