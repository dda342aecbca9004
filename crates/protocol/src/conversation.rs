//! A conversation: a durable log of messages, parts and tool calls, as an execution is a durable log of output.
//!
//! The log is a numbered list of [`ConversationEvent`]s, and its numbers are the resume tokens of every view. A view folds
//! the events with [`Conversation::apply`]: the page of the web app, the stream of an AI SDK, an export, and the prompt of
//! a model are all functions of the same log.
//!
//! Text of a model arrives as deltas. When a part ends, its end has the whole text, and the deltas before it may be removed
//! from the log: a reader that has seen some of them loses nothing, because the end replaces what it has.

mod event;
mod fold;
mod id;
mod message;
#[cfg(test)]
mod tests;

pub use event::{ConversationEvent, Delivery, LogEntry, TitleSource, ToolOutput, TurnOutcome};
pub use fold::{Conversation, OpenStep, Turn};
pub use id::{ConversationId, MessageId, TextIdError};
pub use message::{
    Answer, Approval, ApprovalDecision, Attachment, InputQuestion, InputRequest, Message, MessageRole,
    ModelUsage, Part, PlanStep, PlanStepStatus, QuestionOption, QueuedMessage, TextPart, ToolCall,
    ToolCallState,
};
