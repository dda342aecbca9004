//! The request.

use serde_json::{Value, json};

use super::super::images::data_url;
use super::super::opaque;
use super::super::quirks::Quirks;
use super::super::web_search;
use super::super::{Content, Item, ModelConfig, Prompt};

/// `name` is the model in the configuration, which gets back only its own reasoning.
pub(in super::super) fn body(prompt: &Prompt, config: &ModelConfig, name: &str, quirks: Quirks) -> Value {
    let keeps_reasoning = !quirks.no_reasoning;
    let items = prompt.items.iter().filter_map(|item| input(item, name, keeps_reasoning));
    let mut body = json!({
        "model": config.model,
        "stream": true,
        "store": false,
        "input": items.collect::<Vec<_>>(),
    });
    if keeps_reasoning {
        body["include"] = json!(["reasoning.encrypted_content"]);
        body["reasoning"] = json!({"summary": "auto"});
    }
    if !prompt.system.is_empty() {
        body["instructions"] = json!(prompt.system);
    }
    if let Some(key) = &prompt.cache_key {
        body["prompt_cache_key"] = json!(key);
    }
    if let Some(tokens) = prompt.output_tokens(config) {
        body["max_output_tokens"] = json!(tokens);
    }
    if !prompt.tools.is_empty() {
        let tools = prompt.tools.iter().map(|tool| {
            json!({
                "type": "function", "name": tool.name, "description": tool.description,
                "parameters": tool.schema, "strict": false,
            })
        });
        body["tools"] = tools.collect();
        body["parallel_tool_calls"] = json!(true);
    }
    if prompt.web_search {
        web_search::declare(&mut body, &json!({"type": "web_search"}));
    }
    body
}

fn input(item: &Item, name: &str, keeps_reasoning: bool) -> Option<Value> {
    Some(match item {
        Item::User(content) => json!({"type": "message", "role": "user", "content": contents(content)}),
        Item::Text(text) => {
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]})
        }
        Item::Reasoning { text, opaque } => {
            let own =
                opaque.as_ref().filter(|_| keeps_reasoning).and_then(|opaque| opaque::of(opaque, name))?;
            let summary: Vec<_> = match text.as_str() {
                "" => Vec::new(),
                text => vec![json!({"type": "summary_text", "text": text})],
            };
            let encrypted = own["encrypted_content"].as_str()?;
            json!({"type": "reasoning", "summary": summary, "encrypted_content": encrypted})
        }
        Item::ToolCall { id, name, arguments } => {
            json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments})
        }
        Item::ToolResult { id, content, .. } => {
            json!({"type": "function_call_output", "call_id": id, "output": output(content)})
        }
    })
}

/// A result is a string, unless it contains images.
fn output(content: &[Content]) -> Value {
    let texts: Option<Vec<_>> = content.iter().map(Content::as_text).collect();
    texts.map_or_else(|| contents(content), |texts| json!(texts.join("\n")))
}

fn contents(content: &[Content]) -> Value {
    let part = |content: &Content| match content {
        Content::Text(text) => json!({"type": "input_text", "text": text}),
        Content::Image { media_type, bytes } => {
            json!({"type": "input_image", "image_url": data_url(media_type, bytes)})
        }
    };
    content.iter().map(part).collect()
}
