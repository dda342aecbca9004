//! A conversation as a function of its log.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{
    ConversationEvent, InputRequest, LogEntry, Message, MessageId, ModelUsage, Part, PlanStep, QueuedMessage,
    TextPart, TitleSource, ToolCall, ToolCallState, TurnOutcome,
};

/// A turn: the agent's work between two messages of a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Turn {
    /// Unique in the conversation.
    pub turn_id: String,
    /// The model, by its name in the configuration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The event with which it began.
    pub first_seq: u64,
    /// When it began.
    pub started_at_ms: u64,
    /// How it ended; none while it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<TurnOutcome>,
    /// What went wrong.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A call of the model that has not ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenStep {
    /// The message that it adds to.
    pub message_id: MessageId,
    /// Which step of the turn, from 1.
    pub step: u32,
    /// Which attempt, from 1.
    pub attempt: u32,
}

/// What a log says so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Conversation {
    /// The number of the last event.
    pub last_seq: u64,
    /// The title, if it has one.
    pub title: Option<String>,
    /// Where the title is from.
    pub title_source: Option<TitleSource>,
    /// All messages of all branches, in the order in which they were added.
    pub messages: Vec<Message>,
    /// The last message of the current branch.
    pub leaf: Option<MessageId>,
    /// The last turn.
    pub turn: Option<Turn>,
    /// The step that the model works on.
    pub open_step: Option<OpenStep>,
    /// The plan of the agent.
    pub plan: Vec<PlanStep>,
    /// Messages that wait for the agent.
    pub queue: Vec<QueuedMessage>,
    /// Summaries, by the last message that each covers.
    pub summaries: HashMap<MessageId, String>,
    index: HashMap<MessageId, usize>,
    calls: HashMap<String, (usize, usize)>,
    turns: HashMap<MessageId, String>,
}

impl Conversation {
    /// The conversation of a whole log.
    pub fn of<'a>(log: impl IntoIterator<Item = &'a LogEntry>) -> Self {
        let mut conversation = Self::default();
        for entry in log {
            conversation.apply(entry);
        }
        conversation
    }

    /// The turn that runs.
    pub fn running(&self) -> Option<&Turn> {
        self.turn.as_ref().filter(|turn| turn.outcome.is_none())
    }

    /// A message.
    pub fn message(&self, id: &MessageId) -> Option<&Message> {
        self.index.get(id).and_then(|&at| self.messages.get(at))
    }

    /// A tool call.
    pub fn tool_call(&self, id: &str) -> Option<&ToolCall> {
        let &(message, part) = self.calls.get(id)?;
        match self.messages.get(message)?.parts.get(part)? {
            Part::ToolCall(call) => Some(call),
            _ => None,
        }
    }

    /// The turn during which a message was added: that of an answer, and of a message that reached the agent while it
    /// worked. None for a message that a turn answers.
    pub fn turn_of(&self, id: &MessageId) -> Option<&str> {
        self.turns.get(id).map(String::as_str)
    }

    /// The messages from the first one to this one.
    pub fn branch_to(&self, leaf: &MessageId) -> Vec<&Message> {
        let mut branch = Vec::new();
        let mut next = self.message(leaf);
        while let Some(message) = next {
            branch.push(message);
            // A parent is added before its children, so that this ends.
            next = message.parent_id.as_ref().and_then(|id| self.message(id));
        }
        branch.reverse();
        branch
    }

    /// The current branch.
    pub fn branch(&self) -> Vec<&Message> {
        self.leaf.as_ref().map(|leaf| self.branch_to(leaf)).unwrap_or_default()
    }

    /// The last message of the newest branch that this message is part of.
    pub fn newest_leaf(&self, of: &MessageId) -> Option<&MessageId> {
        let mut below = vec![&self.message(of)?.id];
        // Children come after their parents, so that one pass finds all of them; the last one found is the newest.
        for message in &self.messages {
            if message.parent_id.as_ref().is_some_and(|parent| below.contains(&parent)) {
                below.push(&message.id);
            }
        }
        below.last().copied()
    }

    /// Applies the next event. One that was applied before is ignored.
    pub fn apply(&mut self, entry: &LogEntry) {
        if entry.seq <= self.last_seq {
            return;
        }
        self.last_seq = entry.seq;
        let at_ms = entry.at_ms;
        match &entry.event {
            ConversationEvent::MessageAdded { message } => self.add(message, at_ms),
            ConversationEvent::BranchSelected { message_id } => self.leaf = Some(message_id.clone()),
            ConversationEvent::TurnStarted { turn_id, model } => {
                let (turn_id, model) = (turn_id.clone(), model.clone());
                let first_seq = entry.seq;
                self.turn = Some(Turn {
                    turn_id,
                    model,
                    first_seq,
                    started_at_ms: at_ms,
                    outcome: None,
                    error: None,
                });
            }
            ConversationEvent::TurnEnded { turn_id, outcome, error } => {
                self.open_step = None;
                if let Some(turn) = self.turn.as_mut().filter(|turn| turn.turn_id == *turn_id) {
                    turn.outcome = Some(*outcome);
                    turn.error.clone_from(error);
                }
            }
            ConversationEvent::StepStarted { message_id, step, attempt } => {
                let (step, attempt) = (*step, *attempt);
                self.open_step = Some(OpenStep { message_id: message_id.clone(), step, attempt });
                self.push(message_id, Part::Step { number: step });
            }
            ConversationEvent::StepDiscarded { message_id, reason } => self.discard(message_id, reason),
            ConversationEvent::StepEnded { message_id, usage } => self.end_step(message_id, usage.as_ref()),
            ConversationEvent::TextStarted { message_id, part_id, reasoning } => {
                let text = TextPart { part_id: part_id.clone(), is_streaming: true, ..TextPart::default() };
                self.push(message_id, text_part(*reasoning, text));
            }
            ConversationEvent::TextDelta { message_id, part_id, text } => {
                if let Some(part) = self.text(message_id, part_id) {
                    part.text.push_str(text);
                }
            }
            ConversationEvent::TextEnded { message_id, part_id, reasoning, text, opaque } => {
                let whole = TextPart {
                    part_id: part_id.clone(),
                    text: text.clone(),
                    is_streaming: false,
                    opaque: opaque.clone(),
                };
                match self.text(message_id, part_id) {
                    Some(part) => *part = whole,
                    None => self.push(message_id, text_part(*reasoning, whole)),
                }
            }
            ConversationEvent::Noticed { message_id, text } => {
                self.push(message_id, Part::Notice { text: text.clone() });
            }
            ConversationEvent::PlanUpdated { plan, .. } => self.plan.clone_from(plan),
            ConversationEvent::MessageQueued { message_id, parts, author, delivery } => {
                self.queue.push(QueuedMessage {
                    message_id: message_id.clone(),
                    parts: parts.clone(),
                    author: author.clone(),
                    delivery: *delivery,
                });
            }
            ConversationEvent::MessageUnqueued { message_id } => self.unqueue(message_id),
            ConversationEvent::Compacted { message_id, summary } => {
                self.summaries.insert(message_id.clone(), summary.clone());
            }
            ConversationEvent::TitleChanged { title, source } => {
                (self.title, self.title_source) = (Some(title.clone()), Some(*source));
            }
            event => self.apply_to_call(event, at_ms),
        }
    }

    fn apply_to_call(&mut self, event: &ConversationEvent, at_ms: u64) {
        match event {
            ConversationEvent::ToolCallStarted { message_id, tool_call_id, tool } => {
                self.start_call(message_id, tool_call_id, tool);
            }
            ConversationEvent::ToolCallDelta { tool_call_id, text } => {
                if let Some(call) = self.call(tool_call_id) {
                    call.input_text.push_str(text);
                }
            }
            ConversationEvent::ToolCallReady { message_id, tool_call_id, tool, input } => {
                self.start_call(message_id, tool_call_id, tool);
                if let Some(call) = self.call(tool_call_id) {
                    call.input_text = String::new();
                    call.input = Some(input.clone());
                    call.state = ToolCallState::Ready;
                }
            }
            ConversationEvent::ToolCallRunning { tool_call_id, execution_id, child_id } => {
                if let Some(call) = self.call(tool_call_id) {
                    call.state = ToolCallState::Running;
                    call.started_at_ms.get_or_insert(at_ms);
                    if let Some(id) = execution_id.filter(|id| !call.execution_ids.contains(id)) {
                        call.execution_ids.push(id);
                    }
                    if child_id.is_some() {
                        call.child_id.clone_from(child_id);
                    }
                }
            }
            ConversationEvent::ApprovalRequested { tool_call_id, approval } => {
                if let Some(call) = self.call(tool_call_id) {
                    call.state = ToolCallState::Waiting;
                    call.approval = Some(approval.clone());
                }
            }
            ConversationEvent::ApprovalAnswered { tool_call_id, approval_id, decision, reason, by } => {
                let call = self.call(tool_call_id);
                let approval = call.and_then(|call| call.approval.as_mut());
                if let Some(approval) = approval.filter(|approval| approval.approval_id == *approval_id) {
                    approval.decision = Some(*decision);
                    approval.reason.clone_from(reason);
                    approval.decided_by.clone_from(by);
                }
            }
            ConversationEvent::InputRequested { tool_call_id, questions } => {
                if let Some(call) = self.call(tool_call_id) {
                    call.state = ToolCallState::Waiting;
                    call.input_request = Some(InputRequest { questions: questions.clone(), answers: None });
                }
            }
            ConversationEvent::InputAnswered { tool_call_id, answers } => {
                if let Some(request) = self.call(tool_call_id).and_then(|call| call.input_request.as_mut()) {
                    request.answers = Some(answers.clone());
                }
            }
            ConversationEvent::ToolCallEnded { tool_call_id, state, output, execution_ids } => {
                if let Some(call) = self.call(tool_call_id) {
                    call.state = *state;
                    call.output = Some(output.clone());
                    call.ended_at_ms = Some(at_ms);
                    for id in execution_ids {
                        if !call.execution_ids.contains(id) {
                            call.execution_ids.push(*id);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn add(&mut self, message: &Message, at_ms: u64) {
        if self.index.contains_key(&message.id) {
            return;
        }
        self.unqueue(&message.id);
        if let Some(turn_id) = self.running().map(|turn| turn.turn_id.clone()) {
            self.turns.insert(message.id.clone(), turn_id);
        }
        self.index.insert(message.id.clone(), self.messages.len());
        self.messages.push(Message { created_at_ms: at_ms, ..message.clone() });
        self.leaf = Some(message.id.clone());
    }

    fn unqueue(&mut self, id: &MessageId) {
        self.queue.retain(|queued| queued.message_id != *id);
    }

    fn message_mut(&mut self, id: &MessageId) -> Option<&mut Message> {
        let at = *self.index.get(id)?;
        self.messages.get_mut(at)
    }

    fn push(&mut self, message: &MessageId, part: Part) {
        if let Some(message) = self.message_mut(message) {
            message.parts.push(part);
        }
    }

    fn text(&mut self, message: &MessageId, part_id: &str) -> Option<&mut TextPart> {
        let parts = self.message_mut(message)?.parts.iter_mut().rev();
        parts.filter_map(Part::as_text_mut).find(|part| part.part_id == part_id)
    }

    fn start_call(&mut self, message: &MessageId, id: &str, tool: &str) {
        let Some(&at) = self.index.get(message) else { return };
        if self.calls.contains_key(id) {
            return;
        }
        self.calls.insert(id.to_owned(), (at, self.messages[at].parts.len()));
        self.messages[at].parts.push(Part::ToolCall(Box::new(ToolCall::new(id, tool))));
    }

    fn call(&mut self, id: &str) -> Option<&mut ToolCall> {
        let &(message, part) = self.calls.get(id)?;
        match self.messages.get_mut(message)?.parts.get_mut(part)? {
            Part::ToolCall(call) => Some(call),
            _ => None,
        }
    }

    fn discard(&mut self, id: &MessageId, reason: &str) {
        self.open_step = None;
        let Some(message) = self.message_mut(id) else { return };
        let kept = message.parts.iter().rposition(|part| matches!(part, Part::Step { .. })).unwrap_or(0);
        let removed = message.parts.split_off(kept);
        message.parts.push(Part::Notice { text: reason.to_owned() });
        for part in removed {
            if let Part::ToolCall(call) = part {
                self.calls.remove(&call.tool_call_id);
            }
        }
    }

    fn end_step(&mut self, id: &MessageId, usage: Option<&ModelUsage>) {
        self.open_step = None;
        let Some(message) = self.message_mut(id) else { return };
        if let Some(usage) = usage {
            message.usage.get_or_insert_default().add(usage);
        }
    }
}

fn text_part(is_reasoning: bool, text: TextPart) -> Part {
    if is_reasoning { Part::Reasoning(text) } else { Part::Text(text) }
}

impl Part {
    /// Its text, if it is text or reasoning.
    fn as_text_mut(&mut self) -> Option<&mut TextPart> {
        match self {
            Self::Text(text) | Self::Reasoning(text) => Some(text),
            _ => None,
        }
    }
}

impl ToolCall {
    /// A call whose arguments the model begins to write.
    pub fn new(id: impl Into<String>, tool: impl Into<String>) -> Self {
        Self {
            tool_call_id: id.into(),
            tool: tool.into(),
            state: ToolCallState::Writing,
            input_text: String::new(),
            input: None,
            execution_ids: Vec::new(),
            approval: None,
            input_request: None,
            child_id: None,
            output: None,
            started_at_ms: None,
            ended_at_ms: None,
        }
    }
}
