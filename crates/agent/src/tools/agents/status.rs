//! Where sub-agents stand, from the logs of parent and child.

use headwater_protocol::conversation::{
    Conversation, ConversationId, Message, MessageRole, Part, ToolCall, ToolCallState, TurnOutcome,
};
use serde_json::{Value, json};

use crate::journal::Journal;
use crate::work::read;

/// The calls of tools for sub-agents, in order.
fn calls(now: &Conversation) -> impl Iterator<Item = &ToolCall> {
    now.messages.iter().flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::ToolCall(call) => Some(call.as_ref()),
        _ => None,
    })
}

/// All sub-agents of a conversation, in the order of their start.
pub(super) fn children(now: &Conversation) -> Vec<ConversationId> {
    calls(now).filter_map(|call| call.child_id.clone()).collect()
}

/// Those that are not closed.
pub(super) fn open(now: &Conversation) -> Vec<ConversationId> {
    children(now).into_iter().filter(|id| !is_closed(now, id)).collect()
}

/// Whether a sub-agent was closed, and not opened again.
pub(super) fn is_closed(now: &Conversation, id: &ConversationId) -> bool {
    let names = |call: &&ToolCall| {
        let named = call.input.as_ref().and_then(|input| input.get("id")).and_then(Value::as_str);
        named == Some(id.as_str()) && call.state == ToolCallState::Succeeded
    };
    let last =
        calls(now).filter(names).filter(|call| matches!(call.tool.as_str(), "close_agent" | "resume_agent"));
    last.last().is_some_and(|call| call.tool == "close_agent")
}

/// The sub-agents of a turn that end with it.
pub(super) fn attached(now: &Conversation, since_ms: u64) -> Vec<ConversationId> {
    let is_attached = |call: &&ToolCall| {
        let detached = call.input.as_ref().and_then(|input| input.get("detached")).and_then(Value::as_bool);
        detached != Some(true)
    };
    let recent = now.messages.iter().filter(|message| message.created_at_ms >= since_ms);
    let calls = recent.flat_map(|message| &message.parts).filter_map(|part| match part {
        Part::ToolCall(call) => Some(call.as_ref()),
        _ => None,
    });
    calls.filter(is_attached).filter_map(|call| call.child_id.clone()).collect()
}

/// The status of a sub-agent: `running`, or how its last turn ended.
pub(super) fn of(journal: &dyn Journal) -> Value {
    read(journal, |now| match now.turn.as_ref().map(|turn| (turn.outcome, &turn.error)) {
        None | Some((None, _)) => json!("running"),
        Some((Some(TurnOutcome::Completed | TurnOutcome::StepLimit), _)) => json!({"completed": answer(now)}),
        Some((Some(TurnOutcome::Stopped), _)) => json!({"errored": "it was stopped"}),
        Some((Some(TurnOutcome::Failed), error)) => json!({"errored": error}),
    })
}

/// The last text of the agent.
fn answer(now: &Conversation) -> Option<String> {
    let texts = |message: &Message| {
        let text = |part: &Part| if let Part::Text(text) = part { Some(text.text.clone()) } else { None };
        message.parts.iter().filter_map(text).next_back()
    };
    now.branch()
        .iter()
        .rev()
        .take_while(|message| message.role == MessageRole::Assistant)
        .find_map(|one| texts(one))
}
