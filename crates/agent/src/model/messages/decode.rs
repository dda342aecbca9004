//! The answer: blocks, each with a beginning, deltas and an end.

use std::collections::BTreeMap;

use headwater_protocol::conversation::ModelUsage;
use serde_json::{Value, json};

use super::super::decoding::{CallIds, Decoder, broken_off, usage};
use super::super::fault::Fault;
use super::super::opaque;
use super::super::web_search::{self, Sources};
use super::super::{FinishReason, ModelEvent};

#[derive(Debug)]
pub(in super::super) struct MessagesDecoder {
    /// The name of the model in the configuration.
    name: String,
    ids: CallIds,
    blocks: BTreeMap<u64, Block>,
    next_part: u32,
    usage: ModelUsage,
    finish: Option<FinishReason>,
    sources: Sources,
    /// The text part that is open between two blocks: a citation cuts a text in three.
    open_text: Option<u32>,
}

/// A block that is being written.
#[derive(Debug)]
struct Block {
    part: u32,
    kind: Kind,
    /// Whether an event of the part was sent.
    has_begun: bool,
}

#[derive(Debug)]
enum Kind {
    Text,
    Thinking {
        signature: String,
    },
    Redacted {
        data: String,
    },
    /// A tool call, with the arguments that came at once instead of in pieces.
    ToolUse {
        input: Value,
        has_arguments: bool,
    },
    /// A search of the provider, with its arguments as JSON text.
    Search {
        input: String,
    },
}

impl MessagesDecoder {
    pub(in super::super) fn new(ids: CallIds, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ids,
            blocks: BTreeMap::new(),
            next_part: 0,
            usage: ModelUsage::default(),
            finish: None,
            sources: Sources::default(),
            open_text: None,
        }
    }

    /// Ends the text that another block of text could have continued.
    fn end_text(&mut self, out: &mut Vec<ModelEvent>) {
        out.extend(self.open_text.take().map(|part| ModelEvent::PartEnded { part }));
    }

    fn start(&mut self, index: u64, block: &Value, out: &mut Vec<ModelEvent>) {
        let text = |name: &str| block[name].as_str().unwrap_or_default().to_owned();
        let kind = match block["type"].as_str() {
            Some("text") => Kind::Text,
            Some("thinking") => Kind::Thinking { signature: text("signature") },
            Some("redacted_thinking") => Kind::Redacted { data: text("data") },
            Some("tool_use") => Kind::ToolUse { input: block["input"].clone(), has_arguments: false },
            Some("server_tool_use") => {
                let input = block["input"].as_object().filter(|input| !input.is_empty());
                Kind::Search { input: input.map(|_| block["input"].to_string()).unwrap_or_default() }
            }
            _ => return, // what the provider's own tools found
        };
        let part = if let (Kind::Text, Some(part)) = (&kind, self.open_text) {
            part
        } else {
            self.end_text(out);
            self.next_part += 1;
            self.next_part - 1
        };
        let mut has_begun = true;
        match &kind {
            Kind::Text => {
                let has_text = !text("text").is_empty();
                has_begun = has_text || self.open_text.is_some();
                let citations = block["citations"].as_array().into_iter().flatten();
                citations.for_each(|citation| self.sources.add(citation));
                if has_text {
                    out.push(ModelEvent::Text { part, delta: text("text") });
                }
            }
            Kind::Thinking { .. } => out.push(ModelEvent::Reasoning { part, delta: text("thinking") }),
            Kind::Redacted { .. } => out.push(ModelEvent::Reasoning { part, delta: String::new() }),
            Kind::Search { .. } => has_begun = false,
            Kind::ToolUse { .. } => {
                let id = self.ids.unique(block["id"].as_str());
                out.push(ModelEvent::ToolCall { part, id, name: text("name") });
            }
        }
        self.blocks.insert(index, Block { part, kind, has_begun });
    }

    fn delta(&mut self, index: u64, delta: &Value, out: &mut Vec<ModelEvent>) {
        let Some(Block { part, kind, has_begun }) = self.blocks.get_mut(&index) else { return };
        let part = *part;
        let text = |name: &str| delta[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let event = match kind {
            Kind::Text if delta["type"] == "citations_delta" => {
                self.sources.add(&delta["citation"]);
                None
            }
            Kind::Search { input } => {
                input.push_str(&text("partial_json").unwrap_or_default());
                return;
            }
            Kind::Text => text("text").map(|delta| ModelEvent::Text { part, delta }),
            Kind::Thinking { signature } => {
                signature.push_str(&text("signature").unwrap_or_default());
                text("thinking").map(|delta| ModelEvent::Reasoning { part, delta })
            }
            Kind::Redacted { .. } => None,
            Kind::ToolUse { has_arguments, .. } => text("partial_json").map(|delta| {
                *has_arguments = true;
                ModelEvent::Arguments { part, delta }
            }),
        };
        *has_begun |= event.is_some();
        out.extend(event);
    }

    fn stop(&mut self, index: u64, out: &mut Vec<ModelEvent>) {
        let Some(Block { part, kind, has_begun }) = self.blocks.remove(&index) else { return };
        match kind {
            Kind::Thinking { signature } if !signature.is_empty() => {
                let opaque = opaque::wrap(&self.name, json!({"signature": signature}));
                out.push(ModelEvent::Opaque { part, opaque });
            }
            Kind::Redacted { data } => {
                let opaque = opaque::wrap(&self.name, json!({"redacted": data}));
                out.push(ModelEvent::Opaque { part, opaque });
            }
            Kind::ToolUse { input, has_arguments: false } => {
                let input = if input.is_null() { json!({}) } else { input };
                out.push(ModelEvent::Arguments { part, delta: input.to_string() });
            }
            Kind::Search { input } => {
                let input: Value = serde_json::from_str(&input).unwrap_or_default();
                web_search::searched(input["query"].as_str().unwrap_or_default(), out);
            }
            Kind::Text if has_begun => {
                self.open_text = Some(part);
                return;
            }
            _ => {}
        }
        if has_begun {
            out.push(ModelEvent::PartEnded { part });
        }
    }

    /// Tokens that were cached or are cached now are not in `input_tokens`.
    fn note_usage(&mut self, used: &Value) {
        let number = |name: &str| used[name].as_u64().unwrap_or(0);
        let more = number("cache_read_input_tokens").saturating_add(number("cache_creation_input_tokens"));
        let now = usage(used, "input_tokens", "output_tokens", &used["cache_read_input_tokens"], more);
        // The numbers grow, and the last event has only some of them.
        self.usage.input_tokens = self.usage.input_tokens.max(now.input_tokens);
        self.usage.cached_tokens = self.usage.cached_tokens.max(now.cached_tokens);
        self.usage.output_tokens = self.usage.output_tokens.max(now.output_tokens);
    }

    fn note_finish(&mut self, reason: &Value) {
        self.finish = match reason.as_str() {
            None => self.finish,
            Some("tool_use") => Some(FinishReason::ToolCalls),
            Some("max_tokens" | "model_context_window_exceeded") => Some(FinishReason::Length),
            Some("refusal") => Some(FinishReason::ContentFilter),
            Some(_) => Some(FinishReason::Stop),
        };
    }

    fn finish(&mut self, out: &mut Vec<ModelEvent>) {
        for index in self.blocks.keys().copied().collect::<Vec<_>>() {
            self.stop(index, out);
        }
        self.end_text(out);
        let part = self.next_part;
        self.sources.text(part, out);
        out.push(ModelEvent::Usage(self.usage));
        out.push(ModelEvent::Finished(self.finish.unwrap_or(FinishReason::Stop)));
    }
}

impl Decoder for MessagesDecoder {
    fn event(&mut self, event: &Value, out: &mut Vec<ModelEvent>) -> Result<(), Fault> {
        let index = event["index"].as_u64().unwrap_or(0);
        match event["type"].as_str() {
            Some("message_start") => self.note_usage(&event["message"]["usage"]),
            Some("content_block_start") => self.start(index, &event["content_block"], out),
            Some("content_block_delta") => self.delta(index, &event["delta"], out),
            Some("content_block_stop") => self.stop(index, out),
            Some("message_delta") => {
                self.note_finish(&event["delta"]["stop_reason"]);
                self.note_usage(&event["usage"]);
            }
            Some("message_stop") => self.finish(out),
            Some("error") => return Err(Fault::in_answer(&event["error"])),
            _ => {} // `ping`, and events of the future
        }
        Ok(())
    }

    fn whole(&mut self, answer: &Value, out: &mut Vec<ModelEvent>) -> Result<(), Fault> {
        let Some(content) = answer["content"].as_array() else {
            return Err(Fault::garbage("it has no content"));
        };
        for (index, block) in (0..).zip(content) {
            self.start(index, block, out);
            self.stop(index, out);
        }
        self.note_finish(&answer["stop_reason"]);
        self.note_usage(&answer["usage"]);
        self.finish(out);
        Ok(())
    }

    fn end(&mut self, _: bool, out: &mut Vec<ModelEvent>) -> Result<(), Fault> {
        if self.finish.is_none() {
            return Err(broken_off());
        }
        self.finish(out);
        Ok(())
    }
}
