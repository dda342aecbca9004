//! `OpenAI` Responses.

use serde_json::{Value, json};

use super::{Answer, Encoder, Event, Sent};
use crate::pieces::Part;
use crate::request::{Entry, Request, text_of};
use crate::script::Finish;

pub(super) fn request(body: &Value) -> Request {
    let mut request = Request::common(body);
    request.add_system(&body["instructions"]);
    if let Some(text) = body["input"].as_str() {
        request.entries.push(Entry::User(text.to_owned()));
    }
    for item in body["input"].as_array().into_iter().flatten() {
        let kind = item["type"].as_str().unwrap_or("message");
        match (kind, item["role"].as_str()) {
            ("message", Some("system" | "developer")) => request.add_system(&item["content"]),
            ("message", Some("user")) => request.entries.push(Entry::User(text_of(&item["content"]))),
            ("function_call_output", _) => request.entries.push(Entry::Result(text_of(&item["output"]))),
            _ => request.entries.push(Entry::Answer),
        }
    }
    request
}

#[derive(Default)]
pub(super) struct Responses {
    sequence_number: u64,
}

impl Responses {
    fn event(&mut self, kind: &str, mut data: Value) -> Event {
        data["type"] = json!(kind);
        data["sequence_number"] = json!(self.sequence_number);
        self.sequence_number += 1;
        Event::named(kind, &data)
    }

    /// An event of a part: with the item that it belongs to.
    fn of_part(&mut self, kind: &str, index: usize, answer: &Answer, mut data: Value) -> Event {
        data["output_index"] = json!(index);
        data["item_id"] = json!(item_id(answer, index));
        self.event(kind, data)
    }
}

impl Encoder for Responses {
    fn begin(&mut self, answer: &Answer) -> Vec<Event> {
        let response = whole(answer, "in_progress");
        ["response.created", "response.in_progress"]
            .map(|kind| self.event(kind, json!({"response": response})))
            .into()
    }

    fn open(&mut self, answer: &Answer) -> Vec<Event> {
        let Some((index, sent)) = answer.last() else { return Vec::new() };
        let item = item(answer, index, "in_progress");
        let added = self.event("response.output_item.added", json!({"output_index": index, "item": item}));
        let part = match sent.part {
            Part::Reasoning => ("response.reasoning_summary_part.added", "summary_index", "summary_text"),
            Part::Text => ("response.content_part.added", "content_index", "output_text"),
            Part::Call { .. } => return vec![added],
            Part::Search(_) => {
                let states = ["response.web_search_call.in_progress", "response.web_search_call.searching"];
                let states = states.map(|kind| self.of_part(kind, index, answer, json!({})));
                return std::iter::once(added).chain(states).collect();
            }
        };
        let data = json!({part.1: 0, "part": {"type": part.2, "text": ""}});
        vec![added, self.of_part(part.0, index, answer, data)]
    }

    fn delta(&mut self, answer: &Answer, text: &str) -> Vec<Event> {
        let Some((index, sent)) = answer.last() else { return Vec::new() };
        let (kind, data) = match sent.part {
            Part::Reasoning => {
                ("response.reasoning_summary_text.delta", json!({"summary_index": 0, "delta": text}))
            }
            Part::Text => ("response.output_text.delta", json!({"content_index": 0, "delta": text})),
            Part::Call { .. } => ("response.function_call_arguments.delta", json!({"delta": text})),
            Part::Search(_) => return Vec::new(),
        };
        vec![self.of_part(kind, index, answer, data)]
    }

    fn close(&mut self, answer: &Answer) -> Vec<Event> {
        let Some((index, sent)) = answer.last() else { return Vec::new() };
        let (kind, data) = match sent.part {
            Part::Reasoning => {
                ("response.reasoning_summary_text.done", json!({"summary_index": 0, "text": sent.text}))
            }
            Part::Text => ("response.output_text.done", json!({"content_index": 0, "text": sent.text})),
            Part::Call { .. } => ("response.function_call_arguments.done", json!({"arguments": sent.text})),
            Part::Search(_) => ("response.web_search_call.completed", json!({})),
        };
        let mut events = Vec::new();
        if sent.part == Part::Text {
            for (number, annotation) in annotations(answer).into_iter().enumerate() {
                let data = json!({"content_index": 0, "annotation_index": number, "annotation": annotation});
                events.push(self.of_part("response.output_text.annotation.added", index, answer, data));
            }
        }
        let item = item(answer, index, "completed");
        events.extend([
            self.of_part(kind, index, answer, data),
            self.event("response.output_item.done", json!({"output_index": index, "item": item})),
        ]);
        events
    }

    fn finish(&mut self, answer: &Answer) -> Vec<Event> {
        let reason = match answer.finish {
            Finish::Stop | Finish::ToolCalls => {
                let response = whole(answer, "completed");
                return vec![self.event("response.completed", json!({"response": response}))];
            }
            Finish::Length => "max_output_tokens",
            Finish::ContentFilter => "content_filter",
        };
        let mut response = whole(answer, "incomplete");
        response["incomplete_details"] = json!({"reason": reason});
        vec![self.event("response.incomplete", json!({"response": response}))]
    }

    fn error(&mut self, answer: &Answer, message: &str) -> Vec<Event> {
        let mut response = whole(answer, "failed");
        response["error"] = json!({"code": "server_error", "message": message});
        vec![self.event("response.failed", json!({"response": response}))]
    }
}

fn annotations(answer: &Answer) -> Vec<Value> {
    let annotation = |(url, title): (&String, &String)| json!({"type": "url_citation", "url": url, "title": title, "start_index": 0, "end_index": 0});
    answer.pages().map(annotation).collect()
}

fn item_id(answer: &Answer, index: usize) -> String {
    format!("item_{}_{index}", answer.id)
}

fn item(answer: &Answer, index: usize, status: &str) -> Value {
    let Sent { part, text } = &answer.parts[index];
    let id = item_id(answer, index);
    let is_done = status == "completed";
    match part {
        Part::Reasoning => {
            let summary = if is_done { json!([{"type": "summary_text", "text": text}]) } else { json!([]) };
            let encrypted = is_done.then(|| format!("encrypted-{}-bytes", text.len()));
            json!({"type": "reasoning", "id": id, "summary": summary, "encrypted_content": encrypted})
        }
        Part::Text => {
            let content = json!([{"type": "output_text", "text": text, "annotations": annotations(answer)}]);
            let content = if is_done { content } else { json!([]) };
            json!({"type": "message", "id": id, "role": "assistant", "status": status, "content": content})
        }
        Part::Search(search) => json!({
            "type": "web_search_call", "id": id, "status": status,
            "action": is_done.then(|| json!({"type": "search", "query": search.query})),
        }),
        Part::Call { id: call_id, name } => json!({
            "type": "function_call", "id": id, "call_id": call_id, "name": name, "status": status,
            "arguments": if is_done { text.as_str() } else { "" },
        }),
    }
}

pub(super) fn whole(answer: &Answer, status: &str) -> Value {
    let output: Vec<_> = match status {
        "in_progress" => Vec::new(),
        _ => (0..answer.parts.len()).map(|index| item(answer, index, "completed")).collect(),
    };
    let usage = answer.usage;
    json!({
        "id": answer.id, "object": "response", "model": answer.model, "status": status, "output": output,
        "error": null, "incomplete_details": null,
        "usage": (status != "in_progress").then(|| json!({
            "input_tokens": usage.input_tokens, "input_tokens_details": {"cached_tokens": usage.cached_tokens},
            "output_tokens": usage.output_tokens, "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": usage.input_tokens + usage.output_tokens,
        })),
    })
}
