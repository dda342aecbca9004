//! The tables `conversation_events` and `conversation_texts`.

use headwater_protocol::conversation::{ConversationEvent, LogEntry, MessageRole, Part};

use super::{Columns, Statement, Value, from_json, json, time};
use crate::{ConversationState, StoreError};

/// How much of one text of a message can be found.
const MAX_TEXT_BYTES: usize = 64 << 10;
/// Characters of an excerpt.
const EXCERPT_CHARS: usize = 160;

/// Appends entries, removes deltas that are needed no more, and brings the row of the conversation up to date.
pub(crate) fn append(
    number: i64,
    entries: &[LogEntry],
    state: ConversationState,
) -> Result<Vec<Statement>, StoreError> {
    let mut all = Vec::with_capacity(entries.len() + 1);
    let mut row = RowChange::default();
    for entry in entries {
        let event = json("event", &entry.event)?;
        let part = part_of_delta(&entry.event);
        if part.is_none() {
            row.bytes += event.len() as u64;
        }
        all.push(Statement::new(
            "INSERT INTO conversation_events (conversation, seq, at_ms, part, event) VALUES ($1, $2, $3, $4, $5)",
            [
                number.into(),
                entry.seq.into(),
                entry.at_ms.into(),
                part.as_deref().into(),
                event.into(),
            ],
        ));
        all.extend(pruned(number, entry));
        if let Some((message, text)) = text_of(&entry.event) {
            all.push(put_text(number, message, &text));
        }
        row.add(entry);
    }
    if row.bytes > 0 {
        all.push(row.statement(number, state));
    }
    Ok(all)
}

/// What a delta belongs to; `None` for other events.
fn part_of_delta(event: &ConversationEvent) -> Option<String> {
    match event {
        ConversationEvent::TextDelta { message_id, part_id, .. } => Some(text_part(message_id, part_id)),
        ConversationEvent::ToolCallDelta { tool_call_id, .. } => Some(call_part(tool_call_id)),
        _ => None,
    }
}

fn text_part(message: &impl std::fmt::Display, part: &str) -> String {
    format!("text {message} {part}")
}

fn call_part(call: &str) -> String {
    format!("call {call}")
}

/// Removes the deltas that this entry replaces.
fn pruned(number: i64, entry: &LogEntry) -> Option<Statement> {
    let part = match &entry.event {
        ConversationEvent::TextEnded { message_id, part_id, .. } => text_part(message_id, part_id),
        ConversationEvent::ToolCallReady { tool_call_id, .. } => call_part(tool_call_id),
        // Only parts of the running step have deltas: a step ends its parts before it ends itself.
        ConversationEvent::StepDiscarded { .. } => {
            return Some(Statement::new(
                "DELETE FROM conversation_events WHERE conversation = $1 AND part IS NOT NULL",
                [number.into()],
            ));
        }
        _ => return None,
    };
    Some(Statement::new(
        "DELETE FROM conversation_events WHERE conversation = $1 AND part = $2",
        [number.into(), part.into()],
    ))
}

/// A text to be found: its message (none for the title), and the text.
fn text_of(event: &ConversationEvent) -> Option<(&str, String)> {
    match event {
        ConversationEvent::TitleChanged { title, .. } => Some(("", title.clone())),
        ConversationEvent::MessageAdded { message } => {
            let texts = message.parts.iter().filter_map(|part| match part {
                Part::Text(text) => Some(text.text.as_str()),
                Part::Attachment(attachment) => Some(attachment.name.as_str()),
                _ => None,
            });
            let text = texts.collect::<Vec<_>>().join("\n");
            (!text.trim().is_empty()).then_some((message.id.as_str(), text))
        }
        ConversationEvent::TextEnded { message_id, reasoning: false, text, .. }
            if !text.trim().is_empty() =>
        {
            Some((message_id.as_str(), text.clone()))
        }
        _ => None,
    }
}

/// Adds to the text of a message, or replaces the title.
fn put_text(number: i64, message: &str, text: &str) -> Statement {
    let cut = text.floor_char_boundary(MAX_TEXT_BYTES);
    let values = [number.into(), message.into(), text.get(..cut).unwrap_or_default().into()];
    Statement::new(
        "INSERT INTO conversation_texts (conversation, message_id, text) VALUES ($1, $2, $3) \
         ON CONFLICT (conversation, message_id) DO UPDATE SET \
         text = CASE WHEN message_id = '' THEN excluded.text ELSE text || char(10) || excluded.text END",
        values,
    )
}

/// How entries change the row of their conversation.
#[derive(Default)]
struct RowChange {
    title: Option<String>,
    excerpt: Option<String>,
    bytes: u64,
    at_ms: u64,
    is_activity: bool,
}

impl RowChange {
    fn add(&mut self, entry: &LogEntry) {
        use ConversationEvent::{
            ApprovalRequested, InputRequested, MessageAdded, MessageQueued, TextEnded, TitleChanged,
            TurnEnded,
        };
        self.at_ms = entry.at_ms;
        self.is_activity |= matches!(
            entry.event,
            MessageAdded { .. }
                | MessageQueued { .. }
                | TurnEnded { .. }
                | ApprovalRequested { .. }
                | InputRequested { .. }
        );
        match &entry.event {
            TitleChanged { title, .. } => self.title = Some(title.clone()),
            MessageAdded { message } if message.role == MessageRole::Assistant => {}
            MessageAdded { .. } | TextEnded { .. } => {
                if let Some((_, text)) = text_of(&entry.event) {
                    self.excerpt = Some(excerpt(&text));
                }
            }
            _ => {}
        }
    }

    fn statement(self, number: i64, state: ConversationState) -> Statement {
        let mut values: Vec<Value> = vec![
            number.into(),
            state.is_running.into(),
            state.is_waiting.into(),
            self.title.as_deref().into(),
            self.excerpt.as_deref().into(),
            self.bytes.into(),
        ];
        if !self.is_activity {
            return Statement::new(
                "UPDATE conversations SET is_running = $2, is_waiting = $3, title = COALESCE($4, title), \
                 excerpt = COALESCE($5, excerpt), log_bytes = log_bytes + $6 WHERE number = $1",
                values,
            );
        }
        values.push(self.at_ms.into());
        Statement::new(
            "UPDATE conversations SET is_running = $2, is_waiting = $3, title = COALESCE($4, title), \
             excerpt = COALESCE($5, excerpt), log_bytes = log_bytes + $6, last_activity_at_ms = $7, \
             activity = (SELECT MAX(activity) + 1 FROM conversations) WHERE number = $1",
            values,
        )
    }
}

/// The beginning of a text, on one line.
fn excerpt(text: &str) -> String {
    let mut chars = 0;
    let mut excerpt = String::new();
    for word in text.split_whitespace() {
        if chars > 0 {
            excerpt.push(' ');
        }
        let left = EXCERPT_CHARS.saturating_sub(chars);
        excerpt.extend(word.chars().take(left));
        chars += word.chars().count() + 1;
        if chars > EXCERPT_CHARS {
            excerpt.push('…');
            break;
        }
    }
    excerpt
}

pub(crate) fn after(number: i64, after: u64, limit: u32) -> Statement {
    Statement::new(
        "SELECT seq, at_ms, event FROM conversation_events WHERE conversation = $1 AND seq > $2 ORDER BY seq LIMIT $3",
        [number.into(), after.into(), i64::from(limit).into()],
    )
}

pub(crate) fn read(row: &impl Columns) -> Result<LogEntry, StoreError> {
    Ok(LogEntry { seq: time(row, "seq")?, at_ms: time(row, "at_ms")?, event: from_json(row, "event")? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_one_short_line() {
        assert_eq!(excerpt("  Hello\n\tyou  "), "Hello you");
        let long = excerpt(&"äö ".repeat(200));
        assert!(long.ends_with('…') && long.chars().count() <= EXCERPT_CHARS + 2, "{long}");
        assert_eq!(excerpt(&"x".repeat(1000)).chars().count(), EXCERPT_CHARS + 1);
    }
}
