//! What the parts of one turn share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use headwater_protocol::conversation::{
    Conversation, ConversationEvent, Message, MessageId, MessageRole, Part, ToolCall, Turn,
};
use headwater_tools::Agent;

use crate::approvals;
use crate::journal::{Journal, JournalError};
use crate::model::Content;
use crate::place::PlaceError;
use crate::tools::Toolbox;
use crate::turn::TurnContext;

/// Reads the conversation as it is now.
pub(crate) fn read<T>(journal: &dyn Journal, reader: impl FnOnce(&Conversation) -> T) -> T {
    reader(&journal.conversation().read().unwrap_or_else(PoisonError::into_inner))
}

/// A turn that the agent works on.
#[derive(Debug)]
pub(crate) struct Work {
    pub(crate) context: TurnContext,
    pub(crate) turn: Turn,
    /// Whether an earlier call of [`run`](crate::run) has worked on it.
    pub(crate) is_resumed: bool,
    pub(crate) tools: Toolbox,
    /// Files that were read for the model, by path: they stay the same for the turn.
    pub(crate) files: Mutex<HashMap<String, Content>>,
}

impl Work {
    pub(crate) fn new(context: TurnContext, turn: Turn, tools: Toolbox) -> Self {
        let is_resumed = read(context.journal.as_ref(), |now| own_leaf(now, &turn).is_some());
        Self { context, turn, is_resumed, tools, files: Mutex::default() }
    }

    pub(crate) fn read<T>(&self, reader: impl FnOnce(&Conversation) -> T) -> T {
        read(self.context.journal.as_ref(), reader)
    }

    pub(crate) async fn append(&self, events: Vec<ConversationEvent>) -> Result<(), JournalError> {
        if events.is_empty() {
            return Ok(());
        }
        self.context.journal.append(events).await.map(drop)
    }

    pub(crate) fn journal(&self) -> Arc<dyn Journal> {
        Arc::clone(&self.context.journal)
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.context.stop.is_cancelled()
    }

    /// The tools in the session, with the policy and the grants of this conversation.
    pub(crate) async fn agent(&self) -> Result<Agent, PlaceError> {
        let agent = self.context.place.tools().await?;
        agent.policy().set_approval(self.context.settings.approval);
        agent.policy().set_granted(self.read(|now| approvals::granted(now, &self.turn)));
        Ok(agent)
    }

    /// The message of this turn that the next step adds to, if there is one.
    pub(crate) fn message(&self) -> Option<MessageId> {
        self.read(|now| own_leaf(now, &self.turn).map(|message| message.id.clone()))
    }

    /// The steps that this turn has made.
    pub(crate) fn steps(&self) -> u32 {
        let number = |part: &Part| if let Part::Step { number } = part { Some(*number) } else { None };
        self.read(|now| {
            own(now, &self.turn).flat_map(|message| message.parts.iter().filter_map(number)).max()
        })
        .unwrap_or(0)
    }

    /// The tool calls that have no result yet, in the order of the answer.
    pub(crate) fn open_calls(&self) -> Vec<ToolCall> {
        self.read(|now| {
            let parts = own_leaf(now, &self.turn).map(|message| message.parts.as_slice()).unwrap_or_default();
            let calls = parts.iter().filter_map(|part| match part {
                Part::ToolCall(call) if !call.state.is_end() => Some(call.as_ref().clone()),
                _ => None,
            });
            calls.collect()
        })
    }
}

/// The messages of the agent in this turn.
fn own<'a>(now: &'a Conversation, turn: &Turn) -> impl Iterator<Item = &'a Message> {
    let since = turn.started_at_ms;
    let is_own =
        move |message: &&Message| message.role == MessageRole::Assistant && message.created_at_ms >= since;
    now.branch().into_iter().filter(is_own)
}

/// The last message, if it is the agent's in this turn.
fn own_leaf<'a>(now: &'a Conversation, turn: &Turn) -> Option<&'a Message> {
    own(now, turn).last().filter(|message| Some(&message.id) == now.leaf.as_ref())
}
