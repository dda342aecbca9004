//! Messages for the agent: how they reach a conversation that rests, and one whose turn runs.

use headwater_protocol::conversation::{
    Conversation, ConversationEvent, Delivery, Message, MessageId, MessageRole, Part, QueuedMessage,
};

/// A message for the agent.
#[derive(Debug, Clone, PartialEq)]
pub struct NewMessage {
    /// The id that it will have.
    pub id: MessageId,
    /// What it consists of.
    pub parts: Vec<Part>,
    /// Who sent it.
    pub author: Option<String>,
    /// The message that it follows.
    pub parent: Parent,
    /// When the agent gets it, if a turn runs.
    pub delivery: Delivery,
}

/// What a new message follows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Parent {
    /// The last message of the current branch.
    #[default]
    Leaf,
    /// Nothing: it begins a branch.
    Root,
    /// This message.
    Message(MessageId),
}

impl NewMessage {
    /// A message of this text, for the current branch.
    pub fn text(text: impl Into<String>) -> Self {
        let text = headwater_protocol::conversation::TextPart { text: text.into(), ..Default::default() };
        Self {
            id: MessageId::random(),
            parts: vec![Part::Text(text)],
            author: None,
            parent: Parent::Leaf,
            delivery: Delivery::Steer,
        }
    }
}

/// The events that give the agent a message: it waits in the queue while a turn runs; otherwise a turn begins, and the
/// caller must [`run`](crate::run) it. `model` is the name of its model. A message that is there already is not added again.
///
/// For [`Journal::update`](crate::Journal::update), so that no turn begins or ends meanwhile.
pub fn submit(
    conversation: &Conversation,
    message: NewMessage,
    model: Option<&str>,
) -> Vec<ConversationEvent> {
    let NewMessage { id, parts, author, parent, delivery } = message;
    let is_queued = conversation.queue.iter().any(|queued| queued.message_id == id);
    if is_queued || conversation.message(&id).is_some() {
        return Vec::new();
    }
    if conversation.running().is_some() {
        return vec![ConversationEvent::MessageQueued { message_id: id, parts, author, delivery }];
    }
    let parent_id = match parent {
        Parent::Leaf => conversation.leaf.clone(),
        Parent::Root => None,
        Parent::Message(id) => Some(id),
    };
    vec![added(id, parent_id, MessageRole::User, author, parts), turn_started(model)]
}

/// The beginning of a turn on the current branch.
pub fn turn_started(model: Option<&str>) -> ConversationEvent {
    let turn_id = MessageId::random().to_string().replacen("msg_", "turn_", 1);
    ConversationEvent::TurnStarted { turn_id, model: model.map(str::to_owned) }
}

/// A queued message, as the agent gets it.
pub(crate) fn delivered(queued: &QueuedMessage, parent: Option<MessageId>) -> ConversationEvent {
    let QueuedMessage { message_id, parts, author, .. } = queued.clone();
    added(message_id, parent, MessageRole::User, author, parts)
}

/// A new message.
pub(crate) fn added(
    id: MessageId,
    parent_id: Option<MessageId>,
    role: MessageRole,
    author: Option<String>,
    parts: Vec<Part>,
) -> ConversationEvent {
    // The fold sets the time.
    let message = Message { id, parent_id, role, author, created_at_ms: 0, parts, usage: None };
    ConversationEvent::MessageAdded { message }
}

/// The messages that come next when a turn is over: those that were meant for it and came too late, together, or the next
/// one that waits for its own turn.
pub(crate) fn next_of(queue: &[QueuedMessage]) -> &[QueuedMessage] {
    let late = queue.iter().take_while(|queued| queued.delivery == Delivery::Steer).count();
    &queue[..late.max(1).min(queue.len())]
}

#[cfg(test)]
mod tests {
    use headwater_protocol::conversation::LogEntry;

    use super::*;

    fn apply(conversation: &mut Conversation, events: Vec<ConversationEvent>) {
        for event in events {
            let seq = conversation.last_seq + 1;
            conversation.apply(&LogEntry { seq, at_ms: seq, event });
        }
    }

    #[test]
    fn a_message_begins_a_turn_or_waits_for_the_one_that_runs() {
        let mut conversation = Conversation::default();
        let first = NewMessage::text("one");
        let events = submit(&conversation, first.clone(), Some("m"));
        apply(&mut conversation, events);
        assert_eq!(conversation.running().and_then(|turn| turn.model.as_deref()), Some("m"));
        assert_eq!(submit(&conversation, first, None), [], "it is there already");
        let second = NewMessage::text("two");
        let events = submit(&conversation, second.clone(), None);
        assert!(matches!(events.as_slice(), [ConversationEvent::MessageQueued { .. }]));
        apply(&mut conversation, events);
        assert_eq!(submit(&conversation, second, None), [], "it waits already");
    }

    #[test]
    fn late_messages_for_a_turn_begin_the_next_one_together_and_others_have_their_own() {
        let queued = |delivery| QueuedMessage {
            message_id: MessageId::random(),
            parts: Vec::new(),
            author: None,
            delivery,
        };
        let (steer, queue) = (queued(Delivery::Steer), queued(Delivery::Queue));
        assert_eq!(next_of(&[]).len(), 0);
        assert_eq!(next_of(&[steer.clone(), steer.clone(), queue.clone()]).len(), 2);
        assert_eq!(next_of(&[queue.clone(), queue, steer]).len(), 1);
    }
}
