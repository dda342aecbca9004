//! What people send to an agent: messages, another try, another branch, and a stop.

use std::sync::Arc;

use headwater_agent::{Journal, NewMessage, Parent, first_title, submit, turn_started};
use headwater_protocol::api::{BranchBody, MessageAccepted, MessageRequest, TurnAccepted};
use headwater_protocol::conversation::{
    Attachment, Conversation, ConversationEvent, ConversationId, Delivery, LogEntry, MessageId, MessageRole,
    Part, TextPart, TitleSource,
};

use super::create::unwritten;
use super::limits::{FIRST_TITLE_CHARS, MAX_ATTACHMENTS, MAX_LOG_BYTES, MAX_QUEUE, MAX_TEXT_BYTES};
use super::{Live, Settings};
use crate::auth::{Identity, Need};
use crate::error::ApiError;
use crate::quota::exceeded;
use crate::state::Gateway;

/// A message of a person, checked.
#[derive(Debug, Clone)]
pub(crate) struct NewRequest {
    message: NewMessage,
    model: Option<String>,
}

impl NewRequest {
    /// Checks a request.
    pub(crate) fn new(who: &Identity, request: MessageRequest) -> Result<Self, ApiError> {
        let MessageRequest { id, text, attachments, parent_id, delivery, model } = request;
        if text.trim().is_empty() && attachments.is_empty() {
            return Err(ApiError::invalid("the message is empty: set `text` or `attachments`"));
        }
        if text.len() > MAX_TEXT_BYTES {
            let message = format!("`text` has {} bytes: it may have at most {MAX_TEXT_BYTES}", text.len());
            return Err(ApiError::invalid(message).hint("send a long text as an attachment"));
        }
        if attachments.len() > MAX_ATTACHMENTS {
            let message = format!("`attachments` may have at most {MAX_ATTACHMENTS} entries");
            return Err(ApiError::invalid(message));
        }
        for attachment in &attachments {
            check_attachment(attachment)?;
        }
        let text = TextPart { text, ..TextPart::default() };
        let text = (!text.text.trim().is_empty()).then_some(Part::Text(text));
        Ok(Self {
            message: NewMessage {
                id: id.unwrap_or_else(MessageId::random),
                parts: attachments.into_iter().map(Part::Attachment).chain(text).collect(),
                author: Some(who.owner.clone()),
                parent: match parent_id {
                    None => Parent::Leaf,
                    Some(None) => Parent::Root,
                    Some(Some(id)) => Parent::Message(id),
                },
                delivery: delivery.unwrap_or(Delivery::Steer),
            },
            model,
        })
    }
}

fn check_attachment(attachment: &Attachment) -> Result<(), ApiError> {
    let Attachment { name, path, media_type, .. } = attachment;
    let is_text =
        |text: &str, most| !text.is_empty() && text.len() <= most && !text.chars().any(char::is_control);
    if !is_text(name, 255) || !is_text(path, 4096) || !is_text(media_type, 255) {
        return Err(ApiError::invalid("`attachments`: `name`, `path` and `media_type` must be plain texts")
            .hint("send what `POST .../attachments` has returned"));
    }
    Ok(())
}

/// Why a request does not fit the conversation as it is. Decided together with what is appended.
type Decided = Result<Vec<ConversationEvent>, ApiError>;

impl Live {
    /// Appends what `decide` returns, unless it refuses.
    pub(super) async fn decide(
        &self,
        decide: impl FnOnce(&Conversation) -> Decided + Send + 'static,
    ) -> Result<Vec<LogEntry>, ApiError> {
        let (refuse, refusal) = std::sync::mpsc::sync_channel(1);
        let appended = self
            .update(Box::new(move |now| {
                decide(now).unwrap_or_else(|error| {
                    let _ = refuse.send(error); // there is room for one
                    Vec::new()
                })
            }))
            .await;
        match refusal.try_recv() {
            Ok(error) => Err(error),
            Err(_) => appended.map_err(|error| unwritten(&error)),
        }
    }
}

/// A turn runs, and the request needs a conversation that rests (409).
fn is_busy() -> ApiError {
    ApiError::conflict("a turn is running in this conversation", "stop it first: `POST .../stop`")
}

fn no_message(id: &MessageId) -> ApiError {
    ApiError::not_found("message", id.as_str()).hint("`GET /v1/conversations/{id}` has all messages")
}

impl Gateway {
    /// Gives the agent a message: it begins a turn, or waits for the one that runs. One that is sent again under the same
    /// id is accepted, and added once.
    pub(crate) async fn send_message(
        self: &Arc<Self>,
        who: &Identity,
        id: &ConversationId,
        request: NewRequest,
    ) -> Result<MessageAccepted, ApiError> {
        let row = self.auth.may_use_conversation(who, Need::Write, id).await?;
        if row.log_bytes >= MAX_LOG_BYTES {
            let message = format!("the conversation has reached its {MAX_LOG_BYTES} bytes");
            return Err(exceeded(message, "begin another conversation", None));
        }
        let model = match &request.model {
            Some(model) => Some(self.conversations.models.known(model)?),
            None => Settings::of(&row).model,
        };
        if Settings::of(&row).web_search {
            self.conversations.models.can_search_web(model.as_deref())?;
        }
        let live = self.conversations.of(&row).await?;
        let (gateway, message_id) = (Arc::clone(self), request.message.id.clone());
        let sent = async move {
            live.decide(move |now| accepted(now, request.message, model.as_deref())).await?;
            let answer = {
                let now = live.fold();
                MessageAccepted {
                    turn_id: now.running().map(|turn| turn.turn_id.clone()),
                    is_queued: now.queue.iter().any(|queued| queued.message_id == message_id),
                    message_id,
                }
            };
            gateway.run_turns(&live);
            Ok(answer)
        };
        self.background.detached(sent).await
    }

    /// Withdraws a message that waits.
    pub(crate) async fn withdraw_message(
        &self,
        who: &Identity,
        id: &ConversationId,
        message_id: MessageId,
    ) -> Result<(), ApiError> {
        let row = self.auth.may_use_conversation(who, Need::Write, id).await?;
        let live = self.conversations.of(&row).await?;
        let withdrawn = live.decide(move |now| {
            if now.queue.iter().any(|queued| queued.message_id == message_id) {
                return Ok(vec![ConversationEvent::MessageUnqueued { message_id }]);
            }
            let message = format!("the message `{message_id}` does not wait");
            Err(ApiError::conflict(message, "the agent has it already, or it was withdrawn"))
        });
        withdrawn.await.map(drop)
    }

    /// Lets the agent answer the same message again, in a new branch; with another model if one is given.
    pub(crate) async fn regenerate(
        self: &Arc<Self>,
        who: &Identity,
        id: &ConversationId,
        message_id: MessageId,
        model: Option<String>,
    ) -> Result<TurnAccepted, ApiError> {
        let row = self.auth.may_use_conversation(who, Need::Write, id).await?;
        let model = match model {
            Some(model) => Some(self.conversations.models.known(&model)?),
            None => Settings::of(&row).model,
        };
        let live = self.conversations.of(&row).await?;
        let gateway = Arc::clone(self);
        let began = async move {
            let entries = live.decide(move |now| again(now, &message_id, model.as_deref())).await?;
            gateway.run_turns(&live);
            let turn = entries.into_iter().find_map(|entry| match entry.event {
                ConversationEvent::TurnStarted { turn_id, .. } => Some(turn_id),
                _ => None,
            });
            Ok(TurnAccepted { turn_id: turn.ok_or_else(is_busy)? })
        };
        self.background.detached(began).await
    }

    /// Makes the newest branch with this message the current one.
    pub(crate) async fn select_branch(
        &self,
        who: &Identity,
        id: &ConversationId,
        message_id: MessageId,
    ) -> Result<BranchBody, ApiError> {
        let row = self.auth.may_use_conversation(who, Need::Write, id).await?;
        let live = self.conversations.of(&row).await?;
        let wanted = message_id.clone();
        live.decide(move |now| {
            let leaf = now.newest_leaf(&wanted).cloned().ok_or_else(|| no_message(&wanted))?;
            if now.leaf.as_ref() == Some(&leaf) {
                return Ok(Vec::new());
            }
            if now.running().is_some() {
                return Err(is_busy());
            }
            Ok(vec![ConversationEvent::BranchSelected { message_id: leaf }])
        })
        .await?;
        let leaf_id = live.fold().leaf.clone().ok_or_else(|| no_message(&message_id))?;
        Ok(BranchBody { leaf_id })
    }

    /// Interrupts the turn that runs, or only a certain one, and waits for its end. Returns whether it ran.
    pub(crate) async fn stop_turn(
        self: &Arc<Self>,
        who: &Identity,
        id: &ConversationId,
        only: Option<&str>,
    ) -> Result<bool, ApiError> {
        let row = self.auth.may_use_conversation(who, Need::Write, id).await?;
        let live = self.conversations.of(&row).await?;
        Ok(self.interrupt(&live, only).await)
    }
}

/// The events that add a message.
fn accepted(now: &Conversation, message: NewMessage, model: Option<&str>) -> Decided {
    if let Some(known) = now.message(&message.id) {
        return match known.role {
            MessageRole::User => Ok(Vec::new()),
            MessageRole::Assistant => {
                Err(ApiError::conflict(format!("the id `{}` is taken", message.id), "choose another id"))
            }
        };
    }
    if now.queue.iter().any(|queued| queued.message_id == message.id) {
        return Ok(Vec::new());
    }
    match (&message.parent, now.running()) {
        (Parent::Leaf, _) => {}
        (Parent::Message(leaf), Some(_)) if now.leaf.as_ref() == Some(leaf) => {}
        (_, Some(_)) => return Err(is_busy()),
        (Parent::Message(id), None) if now.message(id).is_none() => return Err(no_message(id)),
        _ => {}
    }
    if now.running().is_some() && now.queue.len() >= MAX_QUEUE {
        return Err(exceeded(format!("{MAX_QUEUE} messages wait already"), "wait for the agent", None));
    }
    let title = title_of(now, &message);
    let mut events = submit(now, message, model);
    if events.iter().any(|event| matches!(event, ConversationEvent::MessageAdded { .. })) {
        events.extend(title);
    }
    Ok(events)
}

/// The title that the first message gives.
fn title_of(now: &Conversation, message: &NewMessage) -> Option<ConversationEvent> {
    if now.title.is_some() {
        return None;
    }
    let text = message.parts.iter().find_map(|part| match part {
        Part::Text(text) => Some(text.text.as_str()),
        Part::Attachment(attachment) => Some(attachment.name.as_str()),
        _ => None,
    });
    let title = first_title(text?, FIRST_TITLE_CHARS)?;
    Some(ConversationEvent::TitleChanged { title, source: TitleSource::Message })
}

/// The events that answer a message again: that of a person, or the one that an answer is for.
fn again(now: &Conversation, id: &MessageId, model: Option<&str>) -> Decided {
    let message = now.message(id).ok_or_else(|| no_message(id))?;
    if now.running().is_some() {
        return Err(is_busy());
    }
    let question = match message.role {
        MessageRole::User => Some(id),
        MessageRole::Assistant => message.parent_id.as_ref(),
    };
    let question = question.cloned().ok_or_else(|| no_message(id))?;
    let select = ConversationEvent::BranchSelected { message_id: question };
    Ok(vec![select, turn_started(model)])
}
