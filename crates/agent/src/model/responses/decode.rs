//! The answer: items, each with a beginning, deltas and an end that repeats the whole item. Endpoints that send no deltas
//! are understood, too: what was not sent before comes with the end.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::decoding::{CallIds, Decoder, broken_off, usage};
use super::super::fault::Fault;
use super::super::opaque;
use super::super::web_search::{self, Sources};
use super::super::{FinishReason, ModelEvent};

#[derive(Debug)]
pub(in super::super) struct ResponsesDecoder {
    /// The name of the model in the configuration.
    name: String,
    ids: CallIds,
    items: BTreeMap<u64, Item>,
    next_part: u32,
    has_calls: bool,
    sources: Sources,
}

/// An item of the answer.
#[derive(Debug, Default)]
struct Item {
    /// The part, if it has begun.
    part: Option<u32>,
    /// The text or the arguments so far.
    text: String,
    is_done: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Reasoning,
    Arguments,
}

impl ResponsesDecoder {
    pub(in super::super) fn new(ids: CallIds, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ids,
            items: BTreeMap::new(),
            next_part: 0,
            has_calls: false,
            sources: Sources::default(),
        }
    }

    /// Begins the part of an item, if it has not begun.
    fn part(&mut self, index: u64) -> u32 {
        let item = self.items.entry(index).or_default();
        *item.part.get_or_insert_with(|| {
            self.next_part += 1;
            self.next_part - 1
        })
    }

    fn begin(&mut self, index: u64, item: &Value, out: &mut Vec<ModelEvent>) {
        if self.items.get(&index).is_some_and(|item| item.part.is_some()) {
            return;
        }
        match item["type"].as_str() {
            Some("reasoning") => {
                let part = self.part(index);
                out.push(ModelEvent::Reasoning { part, delta: String::new() });
            }
            Some("function_call") => {
                let part = self.part(index);
                self.has_calls = true;
                let id = self.ids.unique(item["call_id"].as_str());
                let name = item["name"].as_str().unwrap_or_default().to_owned();
                out.push(ModelEvent::ToolCall { part, id, name });
            }
            _ => {} // a message begins with its text
        }
    }

    fn add(&mut self, index: u64, kind: Kind, text: &str, out: &mut Vec<ModelEvent>) {
        if text.is_empty() {
            return;
        }
        let part = self.part(index);
        if let Some(item) = self.items.get_mut(&index) {
            item.text.push_str(text);
        }
        let delta = text.to_owned();
        out.push(match kind {
            Kind::Text => ModelEvent::Text { part, delta },
            Kind::Reasoning => ModelEvent::Reasoning { part, delta },
            Kind::Arguments => ModelEvent::Arguments { part, delta },
        });
    }

    fn done(&mut self, index: u64, item: &Value, out: &mut Vec<ModelEvent>) {
        if self.items.get(&index).is_some_and(|item| item.is_done) {
            return;
        }
        self.begin(index, item, out);
        let (kind, text) = match item["type"].as_str() {
            Some("message") => {
                let parts = item["content"].as_array().into_iter().flatten();
                let cited = parts.filter_map(|part| part["annotations"].as_array()).flatten();
                cited.for_each(|annotation| self.sources.add(annotation));
                (Kind::Text, texts(&item["content"], ""))
            }
            Some("web_search_call") => {
                self.items.entry(index).or_default().is_done = true;
                // Opening a page and finding a text in it are actions, too.
                let action = &item["action"];
                if action["type"].as_str().unwrap_or("search") == "search" {
                    web_search::searched(action["query"].as_str().unwrap_or_default(), out);
                }
                return;
            }
            Some("reasoning") => (Kind::Reasoning, reasoning(item)),
            Some("function_call") => (Kind::Arguments, arguments(item)),
            _ => return, // what other tools of the provider did
        };
        let sent = self.items.get(&index).map(|item| item.text.clone()).unwrap_or_default();
        if let Some(rest) = text.strip_prefix(&sent) {
            self.add(index, kind, rest, out);
        }
        let state = self.items.entry(index).or_default();
        state.is_done = true;
        let Some(part) = state.part else { return };
        if let Some(encrypted) = item["encrypted_content"].as_str() {
            let opaque = opaque::wrap(&self.name, json!({"encrypted_content": encrypted}));
            out.push(ModelEvent::Opaque { part, opaque });
        }
        out.push(ModelEvent::PartEnded { part });
    }

    /// The response at the end of the stream, or instead of one.
    fn finish(&mut self, response: &Value, out: &mut Vec<ModelEvent>) -> Result<(), Fault> {
        if !response["error"].is_null() {
            return Err(Fault::in_answer(&response["error"]));
        }
        for (index, item) in (0..).zip(response["output"].as_array().into_iter().flatten()) {
            self.done(index, item, out);
        }
        for item in self.items.values().filter(|item| !item.is_done) {
            out.extend(item.part.map(|part| ModelEvent::PartEnded { part }));
        }
        let part = self.next_part;
        self.sources.text(part, out);
        let used = &response["usage"];
        if used.is_object() {
            let cached = &used["input_tokens_details"]["cached_tokens"];
            out.push(ModelEvent::Usage(usage(used, "input_tokens", "output_tokens", cached, 0)));
        }
        out.push(ModelEvent::Finished(match response["incomplete_details"]["reason"].as_str() {
            Some("content_filter") => FinishReason::ContentFilter,
            Some(_) => FinishReason::Length,
            None if self.has_calls => FinishReason::ToolCalls,
            None => FinishReason::Stop,
        }));
        Ok(())
    }
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, event: &Value, out: &mut Vec<ModelEvent>) -> Result<(), Fault> {
        let index = event["output_index"].as_u64().unwrap_or(0);
        let delta = event["delta"].as_str().unwrap_or_default();
        match event["type"].as_str().unwrap_or_default() {
            "response.output_item.added" => self.begin(index, &event["item"], out),
            "response.output_text.delta" | "response.refusal.delta" => {
                self.add(index, Kind::Text, delta, out);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.add(index, Kind::Reasoning, delta, out);
            }
            // Several summaries are paragraphs of one text.
            "response.reasoning_summary_part.added" if event["summary_index"].as_u64() > Some(0) => {
                self.add(index, Kind::Reasoning, PARAGRAPH, out);
            }
            "response.function_call_arguments.delta" => self.add(index, Kind::Arguments, delta, out),
            "response.output_item.done" => self.done(index, &event["item"], out),
            "response.completed" | "response.incomplete" | "response.failed" => {
                return self.finish(&event["response"], out);
            }
            "error" if event["error"].is_object() => return Err(Fault::in_answer(&event["error"])),
            "error" => return Err(Fault::in_answer(event)),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, answer: &Value, out: &mut Vec<ModelEvent>) -> Result<(), Fault> {
        if !answer["output"].is_array() {
            return Err(Fault::garbage("it has no output"));
        }
        self.finish(answer, out)
    }

    fn end(&mut self, _: bool, _: &mut Vec<ModelEvent>) -> Result<(), Fault> {
        Err(broken_off())
    }
}

const PARAGRAPH: &str = "\n\n";

/// The texts of a list of parts.
fn texts(parts: &Value, separator: &str) -> String {
    let text = |part: &Value| part["text"].as_str().or(part["refusal"].as_str()).map(str::to_owned);
    let parts = parts.as_array().into_iter().flatten();
    parts.filter_map(text).collect::<Vec<_>>().join(separator)
}

/// The summary; open models have the reasoning itself.
fn reasoning(item: &Value) -> String {
    let summary = texts(&item["summary"], PARAGRAPH);
    if summary.is_empty() { texts(&item["content"], "") } else { summary }
}

fn arguments(item: &Value) -> String {
    match item["arguments"].as_str() {
        None | Some("") => "{}".to_owned(),
        Some(arguments) => arguments.to_owned(),
    }
}
