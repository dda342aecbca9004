//! The request.

use serde_json::{Map, Value, json};

use super::super::images::data_url;
use super::super::quirks::Quirks;
use super::super::{Content, Item, ModelConfig, Prompt};

pub(in super::super) fn body(prompt: &Prompt, config: &ModelConfig, quirks: Quirks) -> Value {
    let mut body = json!({
        "model": config.model,
        "stream": true,
        "messages": messages(prompt),
    });
    if !quirks.no_stream_options {
        body["stream_options"] = json!({"include_usage": true});
    }
    if let Some(tokens) = prompt.output_tokens(config) {
        let name = if quirks.completion_tokens { "max_completion_tokens" } else { "max_tokens" };
        body[name] = json!(tokens);
    }
    if !prompt.tools.is_empty() {
        let tools = prompt.tools.iter().map(|tool| {
            let function =
                json!({"name": tool.name, "description": tool.description, "parameters": tool.schema});
            json!({"type": "function", "function": function})
        });
        body["tools"] = tools.collect();
    }
    body
}

fn messages(prompt: &Prompt) -> Vec<Value> {
    let mut messages = Vec::new();
    if !prompt.system.is_empty() {
        messages.push(json!({"role": "system", "content": prompt.system}));
    }
    // Results of tools are text only. Their images follow after all results, because nothing may come between those.
    let mut images = Vec::new();
    for item in &prompt.items {
        if !matches!(item, Item::ToolResult { .. }) {
            messages.extend(message_of_images(&mut images));
        }
        match item {
            Item::User(content) => messages.push(json!({"role": "user", "content": contents(content)})),
            Item::Reasoning { .. } => {} // these APIs do not take it back
            Item::Text(text) => assistant(&mut messages, |message| {
                let before = message["content"].as_str().unwrap_or_default();
                message.insert("content".into(), json!(format!("{before}{text}")));
            }),
            Item::ToolCall { id, name, arguments } => assistant(&mut messages, |message| {
                let call =
                    json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
                let calls = message.entry("tool_calls").or_insert_with(|| json!([]));
                if let Some(calls) = calls.as_array_mut() {
                    calls.push(call);
                }
            }),
            Item::ToolResult { id, name, content, .. } => {
                messages.push(json!({"role": "tool", "tool_call_id": id, "content": text(content)}));
                let shown = content.iter().filter(|content| content.as_text().is_none());
                let shown: Vec<_> = shown.map(part).collect();
                if !shown.is_empty() {
                    images
                        .push(json!({"type": "text", "text": format!("The image that `{name}` returned:")}));
                    images.extend(shown);
                }
            }
        }
    }
    messages.extend(message_of_images(&mut images));
    messages
}

/// Changes the message of the assistant at the end, or a new one.
fn assistant(messages: &mut Vec<Value>, change: impl FnOnce(&mut Map<String, Value>)) {
    if messages.last().is_none_or(|last| last["role"] != "assistant") {
        messages.push(json!({"role": "assistant", "content": ""}));
    }
    if let Some(message) = messages.last_mut().and_then(Value::as_object_mut) {
        change(message);
    }
}

fn message_of_images(images: &mut Vec<Value>) -> Option<Value> {
    (!images.is_empty()).then(|| json!({"role": "user", "content": std::mem::take(images)}))
}

/// Text alone is a string, which even the simplest endpoints understand.
fn contents(content: &[Content]) -> Value {
    if content.iter().all(|content| content.as_text().is_some()) {
        return json!(text(content));
    }
    content.iter().map(part).collect()
}

fn part(content: &Content) -> Value {
    match content {
        Content::Text(text) => json!({"type": "text", "text": text}),
        Content::Image { media_type, bytes } => {
            json!({"type": "image_url", "image_url": {"url": data_url(media_type, bytes)}})
        }
    }
}

fn text(content: &[Content]) -> String {
    content.iter().filter_map(Content::as_text).collect::<Vec<_>>().join("\n")
}
