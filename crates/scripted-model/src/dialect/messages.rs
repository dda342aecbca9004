//! Anthropic messages.

use serde_json::{Value, json};

use super::{Answer, Encoder, Event, Sent};
use crate::pieces::Part;
use crate::request::{Entry, Request, text_of};
use crate::script::{Finish, Search, Usage};

pub(super) fn request(body: &Value) -> Request {
    let mut request = Request::common(body);
    request.add_system(&body["system"]);
    for message in body["messages"].as_array().into_iter().flatten() {
        let content = &message["content"];
        if message["role"] == "assistant" {
            request.entries.push(Entry::Answer);
            continue;
        }
        let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
        let results = blocks.iter().filter(|block| block["type"] == "tool_result");
        request.entries.extend(results.map(|block| Entry::Result(text_of(&block["content"]))));
        let is_message = content.is_string() || blocks.iter().any(|block| block["type"] != "tool_result");
        if is_message {
            request.entries.push(Entry::User(text_of(content)));
        }
    }
    request
}

pub(super) struct Messages;

impl Encoder for Messages {
    fn begin(&mut self, answer: &Answer) -> Vec<Event> {
        let message = json!({
            "id": answer.id, "type": "message", "role": "assistant", "model": answer.model, "content": [],
            "stop_reason": null, "stop_sequence": null, "usage": usage(answer.usage, 1),
        });
        vec![event("message_start", json!({"message": message})), event("ping", json!({}))]
    }

    fn open(&mut self, answer: &Answer) -> Vec<Event> {
        let Some((index, sent)) = answer.last() else { return Vec::new() };
        let empty = match &sent.part {
            Part::Reasoning => json!({"type": "thinking", "thinking": "", "signature": ""}),
            Part::Text => json!({"type": "text", "text": ""}),
            Part::Call { id, name } => json!({"type": "tool_use", "id": id, "name": name, "input": {}}),
            Part::Search(_) => {
                json!({"type": "server_tool_use", "id": search_id(index), "name": "web_search", "input": {}})
            }
        };
        vec![event("content_block_start", json!({"index": index, "content_block": empty}))]
    }

    fn delta(&mut self, answer: &Answer, text: &str) -> Vec<Event> {
        let Some((index, sent)) = answer.last() else { return Vec::new() };
        let delta = match &sent.part {
            Part::Reasoning => json!({"type": "thinking_delta", "thinking": text}),
            Part::Text => json!({"type": "text_delta", "text": text}),
            Part::Call { .. } | Part::Search(_) => json!({"type": "input_json_delta", "partial_json": text}),
        };
        vec![event("content_block_delta", json!({"index": index, "delta": delta}))]
    }

    fn close(&mut self, answer: &Answer) -> Vec<Event> {
        let Some((index, sent)) = answer.last() else { return Vec::new() };
        let mut events = Vec::new();
        if sent.part == Part::Reasoning {
            let delta = json!({"type": "signature_delta", "signature": signature(&sent.text)});
            events.push(event("content_block_delta", json!({"index": index, "delta": delta})));
        }
        if let Part::Search(search) = &sent.part {
            let input = json!({"query": search.query}).to_string();
            let delta = json!({"type": "input_json_delta", "partial_json": input});
            events.push(event("content_block_delta", json!({"index": index, "delta": delta})));
        }
        if sent.part == Part::Text {
            for citation in citations(answer) {
                let delta = json!({"type": "citations_delta", "citation": citation});
                events.push(event("content_block_delta", json!({"index": index, "delta": delta})));
            }
        }
        events.push(event("content_block_stop", json!({"index": index})));
        if let Part::Search(search) = &sent.part {
            // Blocks of the provider's tools are numbered like the others; this number is used by no other block.
            let (index, block) = (index + FOUND, found(index, search));
            events.push(event("content_block_start", json!({"index": index, "content_block": block})));
            events.push(event("content_block_stop", json!({"index": index})));
        }
        events
    }

    fn finish(&mut self, answer: &Answer) -> Vec<Event> {
        let delta = json!({"stop_reason": stop_reason(answer.finish), "stop_sequence": null});
        let usage = json!({"output_tokens": answer.usage.output_tokens});
        vec![
            event("message_delta", json!({"delta": delta, "usage": usage})),
            event("message_stop", json!({})),
        ]
    }

    fn error(&mut self, _: &Answer, message: &str) -> Vec<Event> {
        vec![event("error", json!({"error": {"type": "overloaded_error", "message": message}}))]
    }
}

/// Added to the number of a search for that of its result.
const FOUND: usize = 1000;

fn search_id(index: usize) -> String {
    format!("srvtoolu_{index}")
}

/// What a search has found.
fn found(index: usize, search: &Search) -> Value {
    let page = |(url, title): (&String, &String)| json!({"type": "web_search_result", "url": url, "title": title, "encrypted_content": "sealed", "page_age": null});
    let content: Vec<_> = search.pages.iter().map(page).collect();
    json!({"type": "web_search_tool_result", "tool_use_id": search_id(index), "content": content})
}

fn citations(answer: &Answer) -> Vec<Value> {
    let kind = "web_search_result_location";
    let citation = |(url, title): (&String, &String)| json!({"type": kind, "url": url, "title": title, "encrypted_index": "sealed", "cited_text": "..."});
    answer.pages().map(citation).collect()
}

fn event(kind: &str, mut data: Value) -> Event {
    data["type"] = json!(kind);
    Event::named(kind, &data)
}

fn signature(text: &str) -> String {
    format!("signature-of-{}-bytes", text.len())
}

fn stop_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "end_turn",
        Finish::ToolCalls => "tool_use",
        Finish::Length => "max_tokens",
        Finish::ContentFilter => "refusal",
    }
}

/// This API does not count cached tokens among those of the prompt.
fn usage(usage: Usage, output_tokens: u64) -> Value {
    json!({
        "input_tokens": usage.input_tokens.saturating_sub(usage.cached_tokens),
        "cache_read_input_tokens": usage.cached_tokens, "cache_creation_input_tokens": 0,
        "output_tokens": output_tokens,
    })
}

pub(super) fn whole(answer: &Answer) -> Value {
    let blocks = answer.parts.iter().enumerate().flat_map(|(index, sent)| match &sent.part {
        Part::Search(search) => {
            let input = json!({"query": search.query});
            let id = search_id(index);
            let asked = json!({"type": "server_tool_use", "id": id, "name": "web_search", "input": input});
            vec![asked, found(index, search)]
        }
        Part::Text => vec![json!({"type": "text", "text": sent.text, "citations": citations(answer)})],
        _ => vec![block(sent)],
    });
    let content: Vec<_> = blocks.collect();
    json!({
        "id": answer.id, "type": "message", "role": "assistant", "model": answer.model, "content": content,
        "stop_reason": stop_reason(answer.finish), "stop_sequence": null,
        "usage": usage(answer.usage, answer.usage.output_tokens),
    })
}

fn block(sent: &Sent) -> Value {
    match &sent.part {
        Part::Reasoning => {
            json!({"type": "thinking", "thinking": sent.text, "signature": signature(&sent.text)})
        }
        Part::Text => json!({"type": "text", "text": sent.text}),
        Part::Call { id, name } => {
            let input = serde_json::from_str(&sent.text).unwrap_or(Value::Null);
            json!({"type": "tool_use", "id": id, "name": name, "input": input})
        }
        Part::Search(_) => Value::Null,
    }
}
