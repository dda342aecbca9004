//! Turns the events of a conversation's log into chunks. It does no input or output: its state is what the client has.
//!
//! A stream shows one response: all that the agent writes in one turn, or after one message. [`Encoder::replay`] sends
//! what there is, in as few chunks as possible; [`Encoder::push`] sends what follows.

use headwater_protocol::ExecutionId;
use headwater_protocol::api::Timestamp;
use headwater_protocol::conversation::{
    ConversationEvent, LogEntry, Message, MessageId, MessageRole, ModelUsage, Part, TurnOutcome,
};

use super::calls::Calls;
use super::chunk::{Chunk, FinishReason, Metadata, Notice, Plan};
use super::result::CallEnd;
use super::texts::Texts;
use super::user::user_parts;

/// The id of the part with the plan: a new plan replaces the old one.
pub(super) const PLAN_ID: &str = "plan";

/// Which response a stream shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    /// That of a turn.
    Turn(String),
    /// That to a message, which may still wait in the queue.
    AnswerTo(MessageId),
}

/// What the encoder wants to be done.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Output {
    /// Send this.
    Chunk(Chunk),
    /// From now on, send the output of this execution as progress of this call.
    Follow {
        /// The call.
        tool_call_id: String,
        /// The execution.
        execution_id: ExecutionId,
    },
    /// Send the result of a call that has executions, whose output is in their logs.
    Result(Box<CallEnd>),
}

impl From<Chunk> for Output {
    fn from(chunk: Chunk) -> Self {
        Self::Chunk(chunk)
    }
}

/// Whether a response waits for a person's consent. A client can send its answer only after the stream has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Waiting {
    /// No.
    No,
    /// A person is asked, and other calls have not begun: they may do so by themselves.
    Perhaps,
    /// Nothing happens before a person answers.
    Yes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The turn or the message of the scope is not in the log yet.
    Ahead,
    /// The agent has not begun to write.
    Begun,
    /// The client has the `start`.
    Open,
    /// Everything was sent.
    Over,
}

/// The state of one stream.
#[derive(Debug)]
pub(crate) struct Encoder {
    pub(super) scope: Scope,
    pub(super) stage: Stage,
    /// The messages of the agent that belong to the response.
    pub(super) answers: Vec<MessageId>,
    pub(super) texts: Texts,
    pub(super) calls: Calls,
    /// The number of steps that the client has.
    pub(super) steps: u32,
    pub(super) is_step_open: bool,
    pub(super) turn_id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) usage: Option<ModelUsage>,
    pub(super) seq: u64,
    /// The URL of a file of the workspace, up to its path.
    pub(super) files: Option<String>,
}

impl Encoder {
    /// A stream that has sent nothing. `files` is the beginning of the URL of a file of the workspace.
    pub(crate) fn new(scope: Scope, files: Option<String>) -> Self {
        Self {
            scope,
            stage: Stage::Ahead,
            answers: Vec::new(),
            texts: Texts::default(),
            calls: Calls::default(),
            steps: 0,
            is_step_open: false,
            turn_id: None,
            model: None,
            usage: None,
            seq: 0,
            files,
        }
    }

    /// The last event that was encoded.
    pub(crate) const fn seq(&self) -> u64 {
        self.seq
    }

    /// Whether the turn or the message of the scope is not in the log yet.
    pub(crate) fn is_ahead(&self) -> bool {
        self.stage == Stage::Ahead
    }

    /// Whether nothing more will be sent.
    pub(crate) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Whether the response waits for a person's consent.
    pub(crate) fn waiting(&self) -> Waiting {
        if self.stage == Stage::Open && self.texts.is_empty() { self.calls.waiting() } else { Waiting::No }
    }

    /// The end of a stream that waits for a person's consent: the client sends it with its next request.
    pub(crate) fn pause(&mut self) -> Vec<Output> {
        self.finish(FinishReason::ToolCalls)
    }

    /// The beginning of a stream that continues a message which the client has up to [`seq`](Self::seq).
    pub(crate) fn continued(&mut self) -> Vec<Output> {
        let mut out = Vec::new();
        if let (Stage::Open | Stage::Over, Some(first)) = (self.stage, self.answers.first()) {
            out.push(self.start(first.clone(), None).into());
        }
        if self.stage == Stage::Over {
            out.push(self.end(FinishReason::Stop).into());
        }
        out.extend(self.calls.followed());
        out
    }

    /// What an event adds. One that was encoded before adds nothing.
    pub(crate) fn push(&mut self, entry: &LogEntry) -> Vec<Output> {
        let mut out = Vec::new();
        if entry.seq <= self.seq || self.stage == Stage::Over {
            return out;
        }
        self.seq = entry.seq;
        match &entry.event {
            ConversationEvent::TurnStarted { turn_id, model } => {
                if self.scope == Scope::Turn(turn_id.clone()) {
                    self.stage = Stage::Begun;
                }
                if self.stage == Stage::Begun || matches!(self.scope, Scope::AnswerTo(_)) {
                    self.turn_id = Some(turn_id.clone());
                    self.model.clone_from(model);
                }
            }
            ConversationEvent::MessageAdded { message }
                if self.stage == Stage::Ahead && self.scope == Scope::AnswerTo(message.id.clone()) =>
            {
                self.stage = Stage::Begun;
            }
            ConversationEvent::MessageUnqueued { message_id }
                if self.stage == Stage::Ahead && self.scope == Scope::AnswerTo(message_id.clone()) =>
            {
                out = self.finish(FinishReason::Interrupted);
            }
            ConversationEvent::TurnEnded { .. } | ConversationEvent::MessageAdded { .. }
                if self.stage == Stage::Ahead => {}
            ConversationEvent::TurnEnded { outcome, error, .. } => {
                out = self.turn_ended(*outcome, error.as_deref());
            }
            ConversationEvent::MessageAdded { message } => self.message(message, entry.at_ms, &mut out),
            event if self.stage == Stage::Open => self.event(event, &mut out),
            _ => {}
        }
        out
    }

    fn event(&mut self, event: &ConversationEvent, out: &mut Vec<Output>) {
        use ConversationEvent as E;
        match event {
            E::StepStarted { message_id, .. } if self.is_answer(message_id) => self.start_step(out),
            E::StepEnded { message_id, usage } if self.is_answer(message_id) => {
                if let Some(usage) = usage {
                    self.usage.get_or_insert_default().add(usage);
                }
                self.finish_step(out);
            }
            E::StepDiscarded { message_id, reason } if self.is_answer(message_id) => {
                self.texts.clear();
                self.calls.discard(self.steps);
                self.is_step_open = false;
                out.push(Chunk::ResetStep.into());
                out.push(notice(reason));
            }
            E::Noticed { message_id, text } if self.is_answer(message_id) => out.push(notice(text)),
            E::TextStarted { message_id, part_id, reasoning } if self.is_answer(message_id) => {
                self.texts.start(message_id, part_id, *reasoning, out);
            }
            E::TextDelta { message_id, part_id, text } => self.texts.more(message_id, part_id, text, out),
            E::TextEnded { message_id, part_id, reasoning, text, .. } if self.is_answer(message_id) => {
                self.texts.end(message_id, part_id, *reasoning, text, out);
            }
            E::ToolCallStarted { message_id, .. } | E::ToolCallReady { message_id, .. }
                if !self.is_answer(message_id) => {}
            E::PlanUpdated { plan, explanation } => {
                let data = Plan { plan: plan.clone(), explanation: explanation.clone() };
                out.push(Chunk::Plan { id: PLAN_ID, data }.into());
            }
            event => self.calls.event(event, self.steps, out),
        }
    }

    fn is_answer(&self, id: &MessageId) -> bool {
        self.answers.contains(id)
    }

    /// A message of the response: the agent's next one, or one that reached it while it worked.
    pub(super) fn message(&mut self, message: &Message, at_ms: u64, out: &mut Vec<Output>) {
        match message.role {
            MessageRole::Assistant if self.is_answer(&message.id) => {}
            MessageRole::Assistant => {
                if self.stage == Stage::Begun {
                    self.stage = Stage::Open;
                    out.push(self.start(message.id.clone(), Some(Timestamp(at_ms))).into());
                }
                self.answers.push(message.id.clone());
                if let Some(usage) = &message.usage {
                    self.usage.get_or_insert_default().add(usage);
                }
                for part in &message.parts {
                    self.part(&message.id, part, out);
                }
            }
            MessageRole::User if self.stage == Stage::Open => {
                let parts = user_parts(&message.parts, self.files.as_deref());
                out.push(Chunk::SteeringMessage { id: message.id.clone(), parts }.into());
            }
            MessageRole::User => {}
        }
    }

    /// A part of a message as it is now.
    fn part(&mut self, message: &MessageId, part: &Part, out: &mut Vec<Output>) {
        match part {
            Part::Step { .. } => self.start_step(out),
            Part::Text(text) => self.texts.part(message, text, false, out),
            Part::Reasoning(text) => self.texts.part(message, text, true, out),
            Part::ToolCall(call) => self.calls.part(call, self.steps, out),
            Part::Notice { text } => out.push(notice(text)),
            Part::Attachment(_) => {}
        }
    }

    fn start_step(&mut self, out: &mut Vec<Output>) {
        self.finish_step(out);
        self.steps += 1;
        self.is_step_open = true;
        out.push(Chunk::StartStep.into());
    }

    fn finish_step(&mut self, out: &mut Vec<Output>) {
        if std::mem::take(&mut self.is_step_open) {
            out.push(Chunk::FinishStep.into());
        }
    }

    pub(super) fn turn_ended(&mut self, outcome: TurnOutcome, error: Option<&str>) -> Vec<Output> {
        match outcome {
            TurnOutcome::Completed => self.finish(FinishReason::Stop),
            TurnOutcome::Stopped => self.finish(FinishReason::Interrupted),
            TurnOutcome::StepLimit => self.finish(FinishReason::Other),
            TurnOutcome::Failed => self.fail(error.unwrap_or("the answer could not be written").to_owned()),
        }
    }

    /// The end of a stream that cannot continue.
    pub(crate) fn fail(&mut self, error_text: String) -> Vec<Output> {
        let mut out = Vec::new();
        self.texts.end_all(&mut out);
        self.finish_step(&mut out);
        self.stage = Stage::Over;
        out.push(Chunk::Error { error_text }.into());
        out
    }

    pub(super) fn finish(&mut self, reason: FinishReason) -> Vec<Output> {
        let mut out = Vec::new();
        self.texts.end_all(&mut out);
        self.finish_step(&mut out);
        self.stage = Stage::Over;
        out.push(self.end(reason).into());
        out
    }

    fn start(&self, message_id: MessageId, created_at: Option<Timestamp>) -> Chunk {
        let (stream_id, model) = (self.turn_id.clone(), self.model.clone());
        let message_metadata = Metadata { stream_id, model, created_at, ..Metadata::default() };
        Chunk::Start { message_id, message_metadata }
    }

    fn end(&self, finish_reason: FinishReason) -> Chunk {
        let message_metadata = Metadata { seq: Some(self.seq), usage: self.usage, ..Metadata::default() };
        Chunk::Finish { finish_reason, message_metadata }
    }
}

fn notice(text: &str) -> Output {
    Chunk::Notice { data: Notice { text: text.to_owned() } }.into()
}
