//! The answer of a model as events of the log. Pure: the same answer gives the same message, however its stream is cut.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use headwater_protocol::conversation::{ConversationEvent, MessageId, ModelUsage, ToolCallState, ToolOutput};
use serde_json::{Value, json};

use crate::model::{FinishReason, ModelEvent};

/// The longest id of a call that providers and metadata accept.
const MAX_ID_BYTES: usize = 64;

/// Whether an id of a tool call is used already.
pub(crate) type IsTaken = Box<dyn Fn(&str) -> bool + Send>;

/// Turns the events of one answer into events of the log.
pub(crate) struct Recorder {
    message_id: MessageId,
    /// Makes the ids of parts unique in the message.
    prefix: String,
    started: u32,
    open: BTreeMap<u32, Open>,
    is_taken: IsTaken,
    ids: HashSet<String>,
    pub(crate) usage: Option<ModelUsage>,
    pub(crate) finish: Option<FinishReason>,
}

/// A part that is not complete.
#[derive(Debug)]
enum Open {
    Text { part_id: String, reasoning: bool, text: String, opaque: Option<Value> },
    Call { id: String, tool: String, arguments: String },
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recorder")
            .field("message_id", &self.message_id)
            .field("open", &self.open)
            .finish_non_exhaustive()
    }
}

impl Recorder {
    /// For an answer that adds to this message.
    pub(crate) fn new(message_id: MessageId, step: u32, attempt: u32, is_taken: IsTaken) -> Self {
        Self {
            message_id,
            prefix: format!("{step}.{attempt}."),
            started: 0,
            open: BTreeMap::new(),
            is_taken,
            ids: HashSet::new(),
            usage: None,
            finish: None,
        }
    }

    /// The message that the answer adds to.
    pub(crate) const fn message_id(&self) -> &MessageId {
        &self.message_id
    }

    /// Adds what the model wrote.
    pub(crate) fn push(&mut self, event: ModelEvent, out: &mut Vec<ConversationEvent>) {
        match event {
            ModelEvent::Text { part, delta } => self.text(part, false, &delta, out),
            ModelEvent::Reasoning { part, delta } => self.text(part, true, &delta, out),
            ModelEvent::Opaque { part, opaque } => {
                self.begin_text(part, true, out);
                if let Some(Open::Text { opaque: kept, .. }) = self.open.get_mut(&part) {
                    *kept = Some(opaque);
                }
            }
            ModelEvent::ToolCall { part, id, name } => self.begin_call(part, &id, name, out),
            ModelEvent::Arguments { part, delta } => self.arguments(part, &delta, out),
            ModelEvent::PartEnded { part } => self.end(part, out),
            ModelEvent::Notice { text } => {
                out.push(ConversationEvent::Noticed { message_id: self.message_id.clone(), text });
            }
            ModelEvent::Usage(usage) => self.usage = Some(usage),
            ModelEvent::Finished(reason) => {
                for part in self.open.keys().copied().collect::<Vec<_>>() {
                    self.end(part, out);
                }
                self.finish = Some(reason);
            }
        }
    }

    /// Ends an answer that is not complete, and keeps what there is of it.
    pub(crate) fn break_off(&mut self, reason: &str, out: &mut Vec<ConversationEvent>) {
        for part in self.open.keys().copied().collect::<Vec<_>>() {
            if let Some(Open::Call { id, .. }) = self.open.get(&part) {
                let output = ToolOutput { text: reason.to_owned(), is_error: true, ..ToolOutput::default() };
                out.push(ConversationEvent::ToolCallEnded {
                    tool_call_id: id.clone(),
                    state: ToolCallState::Stopped,
                    output,
                    execution_ids: Vec::new(),
                });
                self.open.remove(&part);
            } else {
                self.end(part, out);
            }
        }
    }

    fn text(&mut self, part: u32, reasoning: bool, delta: &str, out: &mut Vec<ConversationEvent>) {
        if delta.is_empty() {
            return;
        }
        self.begin_text(part, reasoning, out);
        if let Some(Open::Text { part_id, text, .. }) = self.open.get_mut(&part) {
            text.push_str(delta);
            add(
                out,
                ConversationEvent::TextDelta {
                    message_id: self.message_id.clone(),
                    part_id: part_id.clone(),
                    text: delta.to_owned(),
                },
            );
        }
    }

    /// Begins a text, unless it has begun. A part that was something else ends.
    fn begin_text(&mut self, part: u32, reasoning: bool, out: &mut Vec<ConversationEvent>) {
        match self.open.get(&part) {
            Some(Open::Text { reasoning: same, .. }) if *same == reasoning => return,
            Some(_) => self.end(part, out),
            None => {}
        }
        self.started += 1;
        let part_id = format!("{}{}", self.prefix, self.started);
        let (message_id, text) = (self.message_id.clone(), String::new());
        out.push(ConversationEvent::TextStarted { message_id, part_id: part_id.clone(), reasoning });
        self.open.insert(part, Open::Text { part_id, reasoning, text, opaque: None });
    }

    fn begin_call(&mut self, part: u32, wanted: &str, tool: String, out: &mut Vec<ConversationEvent>) {
        self.end(part, out);
        let id = self.unique(wanted);
        out.push(ConversationEvent::ToolCallStarted {
            message_id: self.message_id.clone(),
            tool_call_id: id.clone(),
            tool: tool.clone(),
        });
        self.open.insert(part, Open::Call { id, tool, arguments: String::new() });
    }

    /// The id that the model gave the call, or a new one if it is not unique in the conversation.
    fn unique(&mut self, wanted: &str) -> String {
        let plain = |ch: u8| ch.is_ascii_alphanumeric() || ch == b'_' || ch == b'-';
        let is_id = (1..=MAX_ID_BYTES).contains(&wanted.len()) && wanted.bytes().all(plain);
        let id = if is_id && !(self.is_taken)(wanted) && !self.ids.contains(wanted) {
            wanted.to_owned()
        } else {
            MessageId::random().to_string().replacen("msg_", "call_", 1)
        };
        self.ids.insert(id.clone());
        id
    }

    fn arguments(&mut self, part: u32, delta: &str, out: &mut Vec<ConversationEvent>) {
        let Some(Open::Call { id, arguments, .. }) = self.open.get_mut(&part) else { return };
        if !delta.is_empty() {
            arguments.push_str(delta);
            add(out, ConversationEvent::ToolCallDelta { tool_call_id: id.clone(), text: delta.to_owned() });
        }
    }

    fn end(&mut self, part: u32, out: &mut Vec<ConversationEvent>) {
        let message_id = self.message_id.clone();
        match self.open.remove(&part) {
            Some(Open::Text { part_id, reasoning, text, opaque }) => {
                out.push(ConversationEvent::TextEnded { message_id, part_id, reasoning, text, opaque });
            }
            Some(Open::Call { id, tool, arguments }) => {
                let input = input(arguments);
                out.push(ConversationEvent::ToolCallReady { message_id, tool_call_id: id, tool, input });
            }
            None => {}
        }
    }
}

/// The arguments as JSON, or as a text if they are not.
fn input(arguments: String) -> Value {
    if arguments.trim().is_empty() {
        return json!({});
    }
    serde_json::from_str(&arguments).unwrap_or(Value::String(arguments))
}

/// Adds an event. More of the same text is added to the event before it.
pub(crate) fn add(out: &mut Vec<ConversationEvent>, event: ConversationEvent) {
    match (out.last_mut(), &event) {
        (
            Some(ConversationEvent::TextDelta { part_id, text, message_id }),
            ConversationEvent::TextDelta { part_id: same, text: more, message_id: same_message },
        ) if part_id == same && message_id == same_message => text.push_str(more),
        (
            Some(ConversationEvent::ToolCallDelta { tool_call_id, text }),
            ConversationEvent::ToolCallDelta { tool_call_id: same, text: more },
        ) if tool_call_id == same => text.push_str(more),
        _ => out.push(event),
    }
}

#[cfg(test)]
#[path = "recorder_tests.rs"]
mod tests;
