//! The request.

use serde_json::{Value, json};

use super::super::images::base64;
use super::super::opaque;
use super::super::web_search;
use super::super::{Content, Item, ModelConfig, Prompt};

/// The API needs a bound. All present models may write this much.
const MAX_OUTPUT_TOKENS: u64 = 16_384;

/// Searches of the web for one answer. More could make the API pause in the middle.
const MAX_SEARCHES: u32 = 5;

/// `name` is the model in the configuration, which gets back only its own reasoning.
pub(in super::super) fn body(prompt: &Prompt, config: &ModelConfig, name: &str) -> Value {
    let mut messages = messages(prompt, name);
    // The next request begins with everything up to here, so the provider keeps it.
    let last = messages.last_mut().and_then(|message| message["content"].as_array_mut()?.last_mut());
    if let Some(block) = last.filter(|block| block["type"] != "thinking") {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
    let mut body = json!({
        "model": config.model,
        "stream": true,
        "max_tokens": prompt.output_tokens(config).unwrap_or(MAX_OUTPUT_TOKENS),
        "messages": messages,
    });
    if !prompt.system.is_empty() {
        // Tools come before the instructions, so they are kept, too.
        let cache = json!({"type": "ephemeral"});
        body["system"] = json!([{"type": "text", "text": prompt.system, "cache_control": cache}]);
    }
    if !prompt.tools.is_empty() {
        let tools = prompt.tools.iter().map(
            |tool| json!({"name": tool.name, "description": tool.description, "input_schema": tool.schema}),
        );
        body["tools"] = tools.collect();
    }
    if prompt.web_search {
        let search = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": MAX_SEARCHES});
        web_search::declare(&mut body, &search);
    }
    body
}

/// Messages whose roles alternate.
fn messages(prompt: &Prompt, name: &str) -> Vec<Value> {
    let mut messages: Vec<Value> = Vec::new();
    for item in &prompt.items {
        let (role, blocks) = blocks(item, name);
        if blocks.is_empty() {
            continue;
        }
        let last = messages.last_mut().filter(|last| last["role"] == role);
        match last.and_then(|last| last["content"].as_array_mut()) {
            Some(content) => content.extend(blocks),
            None => messages.push(json!({"role": role, "content": blocks})),
        }
    }
    messages
}

fn blocks(item: &Item, name: &str) -> (&'static str, Vec<Value>) {
    match item {
        Item::User(content) => ("user", content.iter().filter_map(content_block).collect()),
        Item::Text(text) => ("assistant", text_block(text).into_iter().collect()),
        Item::Reasoning { text, opaque } => {
            ("assistant", reasoning(text, opaque.as_ref(), name).into_iter().collect())
        }
        Item::ToolCall { id, name, arguments } => {
            let input = serde_json::from_str(arguments).ok().filter(Value::is_object);
            // What the model wrote is kept, even if it is no object, which the API demands.
            let input = input.unwrap_or_else(|| json!({"invalid_arguments": arguments}));
            ("assistant", vec![json!({"type": "tool_use", "id": wire_id(id), "name": name, "input": input})])
        }
        Item::ToolResult { id, content, is_error, .. } => {
            let content: Vec<_> = content.iter().filter_map(content_block).collect();
            let mut block = json!({"type": "tool_result", "tool_use_id": wire_id(id), "content": content});
            if *is_error {
                block["is_error"] = json!(true);
            }
            ("user", vec![block])
        }
    }
}

fn reasoning(text: &str, opaque: Option<&Value>, name: &str) -> Option<Value> {
    let own = opaque::of(opaque?, name)?;
    if let Some(data) = own["redacted"].as_str() {
        return Some(json!({"type": "redacted_thinking", "data": data}));
    }
    Some(json!({"type": "thinking", "thinking": text, "signature": own["signature"].as_str()?}))
}

fn content_block(content: &Content) -> Option<Value> {
    match content {
        Content::Text(text) => text_block(text),
        Content::Image { media_type, bytes } => {
            let source = json!({"type": "base64", "media_type": media_type, "data": base64(bytes)});
            Some(json!({"type": "image", "source": source}))
        }
    }
}

/// The API refuses empty text.
fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}

/// The API refuses ids with other characters, which other providers use.
fn wire_id(id: &str) -> String {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    id.chars().map(|c| if allowed(c) { c } else { '_' }).collect()
}
