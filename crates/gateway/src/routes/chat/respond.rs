//! Does what a client of the AI SDK wants, and returns the stream of the response.
//!
//! The server's history is the truth: of the client's messages only the new one is taken, and its answers to requests for
//! consent that are open. Outputs of tools that a client sends are never read.

use std::sync::Arc;

use headwater_protocol::api::{ApprovalRequest, ConversationRequest, ErrorCode, MessageRequest};
use headwater_protocol::conversation::{ApprovalDecision, ConversationId, MessageId, MessageRole, Part};
use headwater_store::ConversationRow;

use super::executions::unrestricted;
use super::files;
use super::request::{Act, ChatRequest, Consent, UiMessage};
use crate::auth::{Identity, Need};
use crate::conversations::{Live, NewRequest};
use crate::error::ApiError;
use crate::state::Gateway;
use crate::streams::ui_messages::{ProgressMode, UiStream};

/// Does what a request wants.
pub(super) async fn respond(
    gateway: &Arc<Gateway>,
    who: &Identity,
    request: ChatRequest,
) -> Result<UiStream, ApiError> {
    // A link to a conversation writes there and creates none.
    if who.bounds.conversation.is_none() {
        unrestricted(who, Need::Write)?;
    }
    match request.act()? {
        Act::Say(message) => say(gateway, who, request, message).await,
        Act::Continue(message) => go_on(gateway, who, &request, &message).await,
        Act::Again => again(gateway, who, request).await,
    }
}

/// The stream of the turn that runs; none if nothing runs. A client that has everything up to an event gets the rest, also
/// of a turn that has ended meanwhile.
pub(super) async fn resume(
    gateway: &Arc<Gateway>,
    who: &Identity,
    id: &ConversationId,
    (after, mode): (Option<u64>, ProgressMode),
) -> Result<Option<UiStream>, ApiError> {
    let row = gateway.auth.may_use_conversation(who, Need::Read, id).await?;
    let live = gateway.conversations.of(&row).await?;
    let (last_seq, turn) = {
        let now = live.fold();
        (now.last_seq, now.turn.clone())
    };
    if after.is_some_and(|after| after > last_seq) {
        let message = format!("the last event has the `seq` {last_seq}");
        return Err(ApiError::new(ErrorCode::AfterPastEnd, message, "send no `after`"));
    }
    let Some(turn) = turn else { return Ok(None) };
    Ok(match after {
        Some(seq) if seq >= turn.first_seq => Some(UiStream::after(gateway, live, &turn, seq, mode).await?),
        _ if turn.outcome.is_none() => Some(UiStream::of_turn(gateway, live, &turn, mode)),
        _ => None,
    })
}

/// Gives the agent a message.
async fn say(
    gateway: &Arc<Gateway>,
    who: &Identity,
    request: ChatRequest,
    message: UiMessage,
) -> Result<UiStream, ApiError> {
    let id = match message.id.as_str() {
        "" => MessageId::random(),
        id => id.parse().map_err(|error| ApiError::invalid(format!("`messages`: {error}")))?,
    };
    let text = message.text();
    let files = files::checked(message.files()?)?;
    let new = MessageRequest { text, model: request.model.clone(), ..MessageRequest::default() };
    if files.is_empty() {
        // Before a conversation is created for it.
        NewRequest::new(who, new.clone())?;
    }
    let row = ensured(gateway, who, &request).await?;
    let live = gateway.conversations.of(&row).await?;
    consent(gateway, who, &live, &request).await?;
    let (known, is_queued, before) = {
        let now = live.fold();
        let known = now.message(&id).filter(|known| known.role == MessageRole::User).cloned();
        (known, now.queue.iter().any(|queued| queued.message_id == id), now.last_seq)
    };
    let is_edit = known.is_some() && request.message_id.as_deref() == Some(id.as_str());
    if !is_edit && (known.is_some() || is_queued) {
        // It was sent again, because its first response did not arrive.
        return Ok(UiStream::answer_to(gateway, &live, id, request.progress));
    }
    let parts: &[Part] = known.as_ref().map_or(&[], |known| &known.parts);
    let attachments = files::attached(gateway, who, &row, files, parts).await?;
    // The client keeps the id of a message that it edits; here, the new version is a message beside the old one.
    let (id, parent_id) = match known {
        Some(known) => (MessageId::random(), Some(known.parent_id)),
        None => (id, None),
    };
    let new = MessageRequest { id: Some(id.clone()), attachments, parent_id, ..new };
    gateway.send_message(who, &row.id, NewRequest::new(who, new)?).await?;
    let turn = live.fold().turn.clone().filter(|turn| turn.first_seq > before);
    let begun = turn.filter(|_| live.fold().turn_of(&id).is_none() && live.fold().message(&id).is_some());
    Ok(match begun {
        Some(turn) => UiStream::of_turn(gateway, live, &turn, request.progress),
        None => UiStream::answer_to(gateway, &live, id, request.progress),
    })
}

/// Continues a message of the agent, after a person has decided.
async fn go_on(
    gateway: &Arc<Gateway>,
    who: &Identity,
    request: &ChatRequest,
    message: &UiMessage,
) -> Result<UiStream, ApiError> {
    let row = gateway.auth.may_use_conversation(who, Need::Write, &request.id).await?;
    let live = gateway.conversations.of(&row).await?;
    let (last_seq, turn) = {
        let now = live.fold();
        (now.last_seq, now.turn.clone())
    };
    let seen = message.seq().filter(|seq| *seq <= last_seq).unwrap_or(last_seq);
    consent(gateway, who, &live, request).await?;
    match turn.filter(|turn| turn.first_seq <= seen) {
        Some(turn) => UiStream::after(gateway, live, &turn, seen, request.progress).await,
        // Of an earlier turn there is nothing more.
        None => Ok(UiStream::nothing(gateway, live)),
    }
}

/// Lets the agent answer again.
async fn again(gateway: &Arc<Gateway>, who: &Identity, request: ChatRequest) -> Result<UiStream, ApiError> {
    let row = gateway.auth.may_use_conversation(who, Need::Write, &request.id).await?;
    let live = gateway.conversations.of(&row).await?;
    let named = request.message_id.as_deref().map(str::parse).transpose();
    let named = named.map_err(|error| ApiError::invalid(format!("`messageId`: {error}")))?;
    let last = || live.fold().leaf.clone();
    let Some(message_id) = named.or_else(last) else {
        return Err(ApiError::invalid("the conversation has no message to answer"));
    };
    let began = gateway.regenerate(who, &row.id, message_id, request.model).await?;
    let turn = live.fold().turn.clone().filter(|turn| turn.turn_id == began.turn_id);
    Ok(match turn {
        Some(turn) => UiStream::of_turn(gateway, live, &turn, request.progress),
        // It has ended, and another one has begun.
        None => UiStream::nothing(gateway, live),
    })
}

/// The conversation, which is created if it does not exist. Somebody else's does not exist for the caller.
async fn ensured(
    gateway: &Arc<Gateway>,
    who: &Identity,
    request: &ChatRequest,
) -> Result<ConversationRow, ApiError> {
    let find = || gateway.auth.may_use_conversation(who, Need::Write, &request.id);
    match find().await {
        Err(error) if error.code == ErrorCode::NotFound => {}
        found => return found,
    }
    let (session_id, model) = (request.session_id.clone(), request.model.clone());
    let new = ConversationRequest {
        id: Some(request.id.clone()),
        session_id,
        model,
        ..ConversationRequest::default()
    };
    match gateway.create_conversation(who, new).await {
        // It is somebody else's, or another request of the caller was faster.
        Err(error) if error.code == ErrorCode::Conflict => find().await,
        created => created,
    }
}

/// Applies the answers to requests that are open. A client sends all its messages each time, so most are old; what was never
/// asked is not open either.
async fn consent(
    gateway: &Gateway,
    who: &Identity,
    live: &Live,
    request: &ChatRequest,
) -> Result<(), ApiError> {
    let open = live.open_approvals();
    for Consent { id, approved, reason } in request.consents().filter(|consent| open.contains(&consent.id)) {
        let decision = if approved { ApprovalDecision::AllowOnce } else { ApprovalDecision::Deny };
        let answered = gateway.answer_approval(who, &request.id, id, ApprovalRequest { decision, reason });
        match answered.await {
            // Somebody was faster.
            Err(error) if error.code == ErrorCode::Conflict => {}
            answered => drop(answered?),
        }
    }
    Ok(())
}
