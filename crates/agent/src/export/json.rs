//! All branches and the log as JSON.

use headwater_protocol::api::Timestamp;
use headwater_protocol::conversation::{
    ConversationEvent, ConversationId, LogEntry, Message, MessageId, Part, PlanStep,
};
use serde::Serialize;

use super::Export;

/// The name and version of the format, for programs that read it.
const FORMAT: &str = "headwater.conversation";
const VERSION: u32 = 1;

#[derive(Serialize)]
struct File<'a> {
    format: &'static str,
    version: u32,
    id: &'a ConversationId,
    title: &'a str,
    created_at: Option<Timestamp>,
    leaf_id: Option<&'a MessageId>,
    messages: Vec<Message>,
    plan: &'a [PlanStep],
    log: Vec<LogEntry>,
}

pub(super) fn text(export: &Export<'_>) -> String {
    let conversation = export.conversation;
    let file = File {
        format: FORMAT,
        version: VERSION,
        id: export.id,
        title: export.title(),
        created_at: conversation.messages.first().map(|message| Timestamp(message.created_at_ms)),
        leaf_id: conversation.leaf.as_ref(),
        messages: conversation.messages.iter().cloned().map(without_opaque).collect(),
        plan: &conversation.plan,
        log: export.log.iter().cloned().map(entry_without_opaque).collect(),
    };
    // Writing plain data to memory does not fail.
    serde_json::to_string_pretty(&file).unwrap_or_default() + "\n"
}

fn without_opaque(mut message: Message) -> Message {
    for part in &mut message.parts {
        if let Part::Text(text) | Part::Reasoning(text) = part {
            text.opaque = None;
        }
    }
    message
}

fn entry_without_opaque(mut entry: LogEntry) -> LogEntry {
    match &mut entry.event {
        ConversationEvent::TextEnded { opaque, .. } => *opaque = None,
        ConversationEvent::MessageAdded { message } => {
            *message = without_opaque(message.clone());
        }
        _ => {}
    }
    entry
}
