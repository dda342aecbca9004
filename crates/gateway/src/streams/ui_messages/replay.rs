//! What a response has so far, from the conversation as it is: each text in one delta, each call in its present state.

use headwater_protocol::conversation::{Conversation, Message, MessageId, MessageRole};

use super::chunk::{Chunk, FinishReason, Plan};
use super::encoder::{Encoder, Output, PLAN_ID, Scope, Stage};

impl Encoder {
    /// Everything that the response has, and its end if it is over. The events after it are [pushed](Self::push).
    pub(crate) fn replay(&mut self, conversation: &Conversation) -> Vec<Output> {
        self.seq = conversation.last_seq;
        let (is_there, messages) = messages_of(&self.scope, conversation);
        let mut out = Vec::new();
        if !is_there {
            // It may reach the agent during the turn that runs.
            self.turn_id = conversation.running().map(|turn| turn.turn_id.clone());
            return out;
        }
        self.stage = Stage::Begun;
        let shown = messages.iter().find_map(|message| conversation.turn_of(&message.id));
        let last = conversation.turn.as_ref();
        let turn = last.filter(|turn| shown.is_none_or(|shown| shown == turn.turn_id));
        self.turn_id = turn.map(|turn| turn.turn_id.clone()).or_else(|| shown.map(str::to_owned));
        self.model = turn.and_then(|turn| turn.model.clone());
        for message in messages {
            self.message(message, message.created_at_ms, &mut out);
        }
        add_plan(conversation, &mut out);
        match turn {
            Some(turn) => match turn.outcome {
                None => {}
                Some(outcome) => out.extend(self.turn_ended(outcome, turn.error.as_deref())),
            },
            None => out.extend(self.finish(FinishReason::Stop)),
        }
        out
    }
}

/// The plan, if the response has changed it.
fn add_plan(conversation: &Conversation, out: &mut Vec<Output>) {
    let is_plan = |output: &Output| matches!(output, Output::Chunk(Chunk::ToolInputAvailable { tool_name, .. }) if tool_name == "update_plan");
    if conversation.plan.is_empty() || !out.iter().any(is_plan) {
        return;
    }
    let data = Plan { plan: conversation.plan.clone(), explanation: None };
    out.push(Chunk::Plan { id: PLAN_ID, data }.into());
}

/// Whether the conversation has got to the response, and the messages of it.
fn messages_of<'a>(scope: &Scope, conversation: &'a Conversation) -> (bool, Vec<&'a Message>) {
    match scope {
        Scope::Turn(id) => {
            let of_turn = |message: &&Message| conversation.turn_of(&message.id) == Some(id);
            let is_last = conversation.turn.as_ref().is_some_and(|turn| turn.turn_id == *id);
            let messages: Vec<_> = conversation.messages.iter().filter(of_turn).collect();
            (is_last || !messages.is_empty(), messages)
        }
        Scope::AnswerTo(id) => (conversation.message(id).is_some(), answer_to(id, conversation)),
    }
}

/// The messages of the newest turn that answers a message. Several messages that waited may be answered together.
fn answer_to<'a>(id: &MessageId, conversation: &'a Conversation) -> Vec<&'a Message> {
    let Some(leaf) = conversation.newest_leaf(id) else { return Vec::new() };
    let branch = conversation.branch_to(leaf).into_iter().skip_while(|message| message.id != *id);
    let mut answers = branch.skip_while(|message| message.role == MessageRole::User).peekable();
    let turn = answers.peek().and_then(|first| conversation.turn_of(&first.id));
    answers.take_while(|message| conversation.turn_of(&message.id) == turn).collect()
}
