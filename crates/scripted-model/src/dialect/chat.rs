//! Chat completions.

use serde_json::{Value, json};

use super::{Answer, Encoder, Event, Sent};
use crate::pieces::Part;
use crate::request::{Entry, Request, text_of};
use crate::script::{Finish, Usage};

pub(super) fn request(body: &Value) -> Request {
    let mut request = Request::common(body);
    for message in body["messages"].as_array().into_iter().flatten() {
        match message["role"].as_str() {
            Some("system" | "developer") => request.add_system(&message["content"]),
            Some("assistant") => request.entries.push(Entry::Answer),
            Some("tool") => request.entries.push(Entry::Result(text_of(&message["content"]))),
            _ => request.entries.push(Entry::User(text_of(&message["content"]))),
        }
    }
    request
}

#[derive(Default)]
pub(super) struct Chat {
    calls: usize,
}

impl Chat {
    fn chunk(answer: &Answer, delta: &Value, finish: Option<&str>) -> Event {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
        Event::data(&json!({
            "id": answer.id, "object": "chat.completion.chunk", "model": answer.model, "choices": [choice],
        }))
    }
}

impl Encoder for Chat {
    fn begin(&mut self, answer: &Answer) -> Vec<Event> {
        vec![Self::chunk(answer, &json!({"role": "assistant", "content": ""}), None)]
    }

    fn open(&mut self, answer: &Answer) -> Vec<Event> {
        let Some((_, Sent { part: Part::Call { id, name }, .. })) = answer.last() else { return Vec::new() };
        let mut call =
            json!({"index": self.calls, "type": "function", "function": {"name": name, "arguments": ""}});
        if let Some(id) = id {
            call["id"] = json!(id);
        }
        self.calls += 1;
        vec![Self::chunk(answer, &json!({"tool_calls": [call]}), None)]
    }

    fn delta(&mut self, answer: &Answer, text: &str) -> Vec<Event> {
        let delta = match answer.last().map(|(_, sent)| &sent.part) {
            Some(Part::Reasoning) => json!({"reasoning_content": text}),
            Some(Part::Call { .. }) => {
                json!({"tool_calls": [{"index": self.calls - 1, "function": {"arguments": text}}]})
            }
            _ => json!({"content": text}),
        };
        vec![Self::chunk(answer, &delta, None)]
    }

    fn close(&mut self, _: &Answer) -> Vec<Event> {
        Vec::new()
    }

    fn finish(&mut self, answer: &Answer) -> Vec<Event> {
        let end = Self::chunk(answer, &json!({}), Some(finish_reason(answer.finish)));
        let usage = json!({
            "id": answer.id, "object": "chat.completion.chunk", "choices": [], "usage": usage(answer.usage),
        });
        vec![end, Event::data(&usage), Event("data: [DONE]\n\n".to_owned())]
    }

    fn error(&mut self, _: &Answer, message: &str) -> Vec<Event> {
        vec![Event::data(&json!({"error": {"message": message, "type": "server_error", "code": 500}}))]
    }
}

fn finish_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop => "stop",
        Finish::ToolCalls => "tool_calls",
        Finish::Length => "length",
        Finish::ContentFilter => "content_filter",
    }
}

fn usage(usage: Usage) -> Value {
    let mut value = json!({
        "prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
    });
    if let Some(cost) = usage.cost {
        value["cost"] = json!(cost);
    }
    value
}

pub(super) fn whole(answer: &Answer) -> Value {
    let text = |wanted: &Part| -> String {
        answer.parts.iter().filter(|sent| sent.part == *wanted).map(|sent| sent.text.as_str()).collect()
    };
    let calls: Vec<_> = answer.parts.iter().filter_map(call).collect();
    let mut message = json!({"role": "assistant", "content": text(&Part::Text)});
    if !calls.is_empty() {
        message["tool_calls"] = json!(calls);
    }
    let reasoning = text(&Part::Reasoning);
    if !reasoning.is_empty() {
        message["reasoning_content"] = json!(reasoning);
    }
    json!({
        "id": answer.id, "object": "chat.completion", "model": answer.model, "usage": usage(answer.usage),
        "choices": [{"index": 0, "message": message, "finish_reason": finish_reason(answer.finish)}],
    })
}

fn call(sent: &Sent) -> Option<Value> {
    let Part::Call { id, name } = &sent.part else { return None };
    let mut call = json!({"type": "function", "function": {"name": name, "arguments": sent.text}});
    if let Some(id) = id {
        call["id"] = json!(id);
    }
    Some(call)
}
