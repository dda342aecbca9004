//! A conversation in memory, a model that follows a script, and a place with a real worker.

mod desk;
mod journal;
mod model;

use headwater_agent::model::{FinishReason, ModelEvent};
use headwater_protocol::conversation::{Conversation, Part, ToolCall};
use serde_json::Value;

pub(crate) use desk::Desk;
pub(crate) use journal::MemoryJournal;
pub(crate) use model::{Answer, Script, broken_off, refused};

/// An answer that is a text.
pub(crate) fn says(text: &str) -> Answer {
    Answer::whole(vec![ModelEvent::Text { part: 0, delta: text.into() }], FinishReason::Stop)
}

/// An answer that calls tools.
pub(crate) fn calls(all: &[(&str, Value)]) -> Answer {
    let mut events = Vec::new();
    for (part, (name, arguments)) in (0..).zip(all) {
        let id = format!("{name}-{part}");
        events.push(ModelEvent::ToolCall { part, id, name: (*name).into() });
        events.push(ModelEvent::Arguments { part, delta: arguments.to_string() });
        events.push(ModelEvent::PartEnded { part });
    }
    Answer::whole(events, FinishReason::ToolCalls)
}

/// All tool calls of a conversation.
pub(crate) fn tool_calls(now: &Conversation) -> Vec<ToolCall> {
    let parts = now.messages.iter().flat_map(|message| &message.parts);
    let calls = parts
        .filter_map(|part| if let Part::ToolCall(call) = part { Some(call.as_ref().clone()) } else { None });
    calls.collect()
}

/// All texts of the agent's last message.
pub(crate) fn last_text(now: &Conversation) -> String {
    let parts = now.messages.last().map(|message| message.parts.as_slice()).unwrap_or_default();
    let texts = parts
        .iter()
        .filter_map(|part| if let Part::Text(text) = part { Some(text.text.as_str()) } else { None });
    texts.collect::<Vec<_>>().join("|")
}

/// All notices of a conversation.
pub(crate) fn notices(now: &Conversation) -> Vec<String> {
    let parts = now.messages.iter().flat_map(|message| &message.parts);
    parts
        .filter_map(|part| if let Part::Notice { text } = part { Some(text.clone()) } else { None })
        .collect()
}
