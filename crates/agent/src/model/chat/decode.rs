//! The answer.
//!
//! Endpoints differ: reasoning has two names or stands in `<think>` tags, tool calls may have no index or no id, the
//! arguments of parallel calls may be interleaved, and usage may come once at the end or with every event.

use headwater_protocol::conversation::ModelUsage;
use serde_json::Value;

use super::super::decoding::{CallIds, Decoder, broken_off, usage};
use super::super::fault::Fault;
use super::super::think_tags::{Kind, ThinkTags};
use super::super::{FinishReason, ModelEvent};

#[derive(Debug)]
pub(in super::super) struct ChatDecoder {
    ids: CallIds,
    tags: ThinkTags,
    parts: Parts,
    calls: Vec<Call>,
    usage: Option<ModelUsage>,
    finish: Option<FinishReason>,
}

/// The numbers of parts, and the text that is being written.
#[derive(Debug, Default)]
struct Parts {
    next: u32,
    open: Option<(Kind, u32)>,
}

/// A tool call. It is open until the end, because more of its arguments may follow at any time.
#[derive(Debug)]
struct Call {
    part: u32,
    index: Option<u64>,
    /// The id that the provider gave.
    given_id: Option<String>,
    is_named: bool,
    /// Arguments that came before the name, and then whether any came.
    early: String,
    has_arguments: bool,
}

impl Parts {
    fn new_part(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    fn text(&mut self, kind: Kind, text: &str, out: &mut Vec<ModelEvent>) {
        if self.open.is_none_or(|(open, _)| open != kind) {
            self.close(out);
        }
        let part = self.open.map_or_else(|| self.new_part(), |(_, part)| part);
        self.open = Some((kind, part));
        let delta = text.to_owned();
        out.push(match kind {
            Kind::Text => ModelEvent::Text { part, delta },
            Kind::Reasoning => ModelEvent::Reasoning { part, delta },
        });
    }

    fn close(&mut self, out: &mut Vec<ModelEvent>) {
        if let Some((_, part)) = self.open.take() {
            out.push(ModelEvent::PartEnded { part });
        }
    }
}

impl ChatDecoder {
    pub(in super::super) fn new(ids: CallIds) -> Self {
        Self {
            ids,
            tags: ThinkTags::default(),
            parts: Parts::default(),
            calls: Vec::new(),
            usage: None,
            finish: None,
        }
    }

    /// A message, or what was added to it.
    fn message(&mut self, message: &Value, out: &mut Vec<ModelEvent>) {
        let reasoning = [&message["reasoning_content"], &message["reasoning"]];
        let reasoning = reasoning.into_iter().filter_map(Value::as_str).find(|text| !text.is_empty());
        if let Some(text) = reasoning {
            self.parts.text(Kind::Reasoning, text, out);
        }
        for text in [&message["content"], &message["refusal"]] {
            if let Some(text) = text.as_str().filter(|text| !text.is_empty()) {
                self.tags.push(text, |kind, text| self.parts.text(kind, text, out));
            }
        }
        for call in message["tool_calls"].as_array().into_iter().flatten() {
            self.tags.flush(|kind, text| self.parts.text(kind, text, out));
            self.parts.close(out);
            self.call(call, out);
        }
    }

    fn call(&mut self, delta: &Value, out: &mut Vec<ModelEvent>) {
        let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let (index, id) = (delta["index"].as_u64(), text(&delta["id"]));
        let name = text(&delta["function"]["name"]);
        let known = self.calls.iter().rposition(|call| call.is(index, id.as_deref(), name.is_some()));
        let number = known.unwrap_or_else(|| {
            let part = self.parts.new_part();
            self.calls.push(Call::new(part, index));
            self.calls.len() - 1
        });
        let Some(call) = self.calls.get_mut(number) else { return };
        call.given_id = call.given_id.take().or(id);
        if let Some(name) = name.filter(|_| !call.is_named) {
            call.is_named = true;
            let id = self.ids.unique(call.given_id.as_deref());
            out.push(ModelEvent::ToolCall { part: call.part, id, name });
            let early = std::mem::take(&mut call.early);
            call.arguments(&early, out);
        }
        match &delta["function"]["arguments"] {
            Value::String(text) => call.arguments(text, out),
            Value::Null => {}
            // Some endpoints send an object.
            arguments => call.arguments(&arguments.to_string(), out),
        }
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) -> Result<(), Fault> {
        self.tags.flush(|kind, text| self.parts.text(kind, text, out));
        self.parts.close(out);
        for call in &mut self.calls {
            if !call.is_named {
                return Err(Fault::garbage("a tool call has no name"));
            }
            if !call.has_arguments {
                call.arguments("{}", out);
            }
            out.push(ModelEvent::PartEnded { part: call.part });
        }
        out.extend(self.usage.take().map(ModelEvent::Usage));
        // Some endpoints say `stop` even if they call tools.
        let finish = match self.finish.unwrap_or(FinishReason::Stop) {
            FinishReason::Stop | FinishReason::ToolCalls if self.calls.is_empty() => FinishReason::Stop,
            FinishReason::Stop => FinishReason::ToolCalls,
            finish => finish,
        };
        out.push(ModelEvent::Finished(finish));
        Ok(())
    }

    fn note(&mut self, event: &Value) -> Result<(), Fault> {
        if !event["error"].is_null() {
            return Err(Fault::in_answer(&event["error"]));
        }
        let used = &event["usage"];
        if used.is_object() {
            let cached = [&used["prompt_tokens_details"]["cached_tokens"], &used["prompt_cache_hit_tokens"]];
            let cached = cached.into_iter().find(|cached| cached.is_u64()).unwrap_or(&Value::Null);
            self.usage = Some(usage(used, "prompt_tokens", "completion_tokens", cached, 0));
        }
        let choice = &event["choices"][0];
        if !choice["error"].is_null() {
            return Err(Fault::in_answer(&choice["error"]));
        }
        self.finish = match choice["finish_reason"].as_str() {
            None => self.finish,
            Some("tool_calls" | "function_call") => Some(FinishReason::ToolCalls),
            Some("length") => Some(FinishReason::Length),
            Some("content_filter") => Some(FinishReason::ContentFilter),
            Some(_) => Some(FinishReason::Stop),
        };
        Ok(())
    }
}

impl Call {
    const fn new(part: u32, index: Option<u64>) -> Self {
        Self { part, index, given_id: None, is_named: false, early: String::new(), has_arguments: false }
    }

    /// Whether a delta belongs to this call. Without an index the id decides, and without both a name begins a new call.
    fn is(&self, index: Option<u64>, id: Option<&str>, has_name: bool) -> bool {
        let own = self.given_id.as_deref();
        match (index, id) {
            // Some endpoints number all calls 0.
            (Some(_), Some(id)) => self.index == index && own.is_none_or(|own| own == id),
            (Some(_), None) => self.index == index,
            (None, Some(id)) => own == Some(id),
            (None, None) => !has_name,
        }
    }

    fn arguments(&mut self, text: &str, out: &mut Vec<ModelEvent>) {
        if text.is_empty() {
            return;
        }
        if !self.is_named {
            self.early.push_str(text);
            return;
        }
        self.has_arguments = true;
        out.push(ModelEvent::Arguments { part: self.part, delta: text.to_owned() });
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, event: &Value, out: &mut Vec<ModelEvent>) -> Result<(), Fault> {
        self.message(&event["choices"][0]["delta"], out);
        self.note(event)
    }

    fn whole(&mut self, answer: &Value, out: &mut Vec<ModelEvent>) -> Result<(), Fault> {
        let message = &answer["choices"][0]["message"];
        if !message.is_object() {
            return Err(Fault::garbage("it has no message"));
        }
        self.message(message, out);
        self.note(answer)?;
        self.finish(out)
    }

    fn end(&mut self, is_marked: bool, out: &mut Vec<ModelEvent>) -> Result<(), Fault> {
        // The connection may break between the end of the answer and the marker.
        if is_marked || self.finish.is_some() { self.finish(out) } else { Err(broken_off()) }
    }
}
