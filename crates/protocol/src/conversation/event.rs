//! The events of a conversation's log.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    Answer, Approval, ApprovalDecision, ConversationId, InputQuestion, Message, MessageId, ModelUsage, Part,
    PlanStep,
};
use crate::ExecutionId;

/// A numbered event.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogEntry {
    /// Its number in the log, from 1: the resume token. Numbers of removed deltas are missing.
    pub seq: u64,
    /// When it happened, in milliseconds since 1970.
    pub at_ms: u64,
    /// What happened.
    #[serde(flatten)]
    pub event: ConversationEvent,
}

/// When a message that arrives during a turn reaches the agent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Delivery {
    /// Before its next step.
    #[default]
    Steer,
    /// After the turn.
    Queue,
}

/// Where a title is from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum TitleSource {
    /// It is the beginning of the first message, until there is a better one.
    Message,
    /// A model has written it.
    Model,
    /// A person has chosen it: it stays.
    #[default]
    Person,
}

/// How a turn ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum TurnOutcome {
    /// The agent has answered.
    Completed,
    /// A person stopped it.
    Stopped,
    /// The model could not be called, or something else failed.
    Failed,
    /// It has made as many steps as it may.
    StepLimit,
}

/// The result of a tool call.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(as = ToolCallOutput))]
pub struct ToolOutput {
    /// The text that the model gets. The whole output is in the log of the execution.
    pub text: String,
    /// Whether the tool failed.
    #[serde(default)]
    pub is_error: bool,
    /// The same result for programs, by the schema of the tool.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub structured: Option<Value>,
    /// An image for the model: its path in the workspace, and its type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub image: Option<super::Attachment>,
}

/// An event of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ConversationEvent {
    /// A message was added, and its branch is the current one. That of a person is complete; that of the agent grows by
    /// the events that follow.
    MessageAdded {
        /// The message.
        message: Message,
    },
    /// Another branch became the current one: the one that ends with this message.
    BranchSelected {
        /// The last message of the branch.
        message_id: MessageId,
    },
    /// The agent began to work on the current branch.
    TurnStarted {
        /// Unique in the conversation.
        turn_id: String,
        /// The model, by its name in the configuration; none for a turn without a model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<String>,
    },
    /// The model is called. `attempt` is above 1 if an earlier call for the same step failed.
    StepStarted {
        /// The message that the step adds to.
        message_id: MessageId,
        /// Which step of the turn, from 1.
        step: u32,
        /// Which attempt, from 1.
        attempt: u32,
    },
    /// The call of the model broke off. Everything that the step has added is void.
    StepDiscarded {
        /// The message of the step.
        message_id: MessageId,
        /// One sentence.
        reason: String,
    },
    /// A text begins.
    TextStarted {
        /// The message.
        message_id: MessageId,
        /// The part.
        part_id: String,
        /// Whether it is reasoning.
        #[serde(default)]
        reasoning: bool,
    },
    /// A text goes on.
    TextDelta {
        /// The message.
        message_id: MessageId,
        /// The part.
        part_id: String,
        /// More of it.
        text: String,
    },
    /// A text is complete. From here on the log needs its deltas no more.
    TextEnded {
        /// The message.
        message_id: MessageId,
        /// The part.
        part_id: String,
        /// Whether it is reasoning.
        #[serde(default)]
        reasoning: bool,
        /// The whole text.
        text: String,
        /// What the provider wants to get back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
        opaque: Option<Value>,
    },
    /// The model begins to call a tool.
    ToolCallStarted {
        /// The message.
        message_id: MessageId,
        /// The call.
        tool_call_id: String,
        /// The name of the tool.
        tool: String,
    },
    /// The arguments go on.
    ToolCallDelta {
        /// The call.
        tool_call_id: String,
        /// More of the arguments, as JSON text.
        text: String,
    },
    /// The arguments are complete.
    ToolCallReady {
        /// The message.
        message_id: MessageId,
        /// The call.
        tool_call_id: String,
        /// The name of the tool.
        tool: String,
        /// The arguments; a text if they are not JSON.
        #[cfg_attr(feature = "openapi", schema(value_type = Value))]
        input: Value,
    },
    /// The tool runs.
    ToolCallRunning {
        /// The call.
        tool_call_id: String,
        /// An execution whose output belongs to the call.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        execution_id: Option<ExecutionId>,
        /// The conversation of the sub-agent that it started.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        child_id: Option<ConversationId>,
    },
    /// A person is asked for consent.
    ApprovalRequested {
        /// The call.
        tool_call_id: String,
        /// The question.
        approval: Approval,
    },
    /// A person has decided.
    ApprovalAnswered {
        /// The call.
        tool_call_id: String,
        /// The question.
        approval_id: String,
        /// The decision.
        decision: ApprovalDecision,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
        /// Who decided.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// The agent asks a person something.
    InputRequested {
        /// The call.
        tool_call_id: String,
        /// The questions.
        questions: Vec<InputQuestion>,
    },
    /// A person has answered.
    InputAnswered {
        /// The call.
        tool_call_id: String,
        /// The answers.
        answers: Vec<Answer>,
    },
    /// A tool call ended.
    ToolCallEnded {
        /// The call.
        tool_call_id: String,
        /// How: an end of [`ToolCallState`](super::ToolCallState).
        state: super::ToolCallState,
        /// The result.
        output: ToolOutput,
        /// The executions that it started or shows.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        execution_ids: Vec<ExecutionId>,
    },
    /// The plan of the agent changed.
    PlanUpdated {
        /// All steps.
        plan: Vec<PlanStep>,
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        explanation: Option<String>,
    },
    /// Something that readers of a message should know.
    Noticed {
        /// The message.
        message_id: MessageId,
        /// One sentence.
        text: String,
    },
    /// The model has finished a step.
    StepEnded {
        /// The message.
        message_id: MessageId,
        /// What it used.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        usage: Option<ModelUsage>,
    },
    /// The agent stopped working.
    TurnEnded {
        /// The turn.
        turn_id: String,
        /// How.
        outcome: TurnOutcome,
        /// What went wrong, for a person.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<String>,
    },
    /// A message arrived during a turn.
    MessageQueued {
        /// The id that it will have.
        message_id: MessageId,
        /// What it consists of.
        parts: Vec<Part>,
        /// Who sent it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        author: Option<String>,
        /// When the agent gets it.
        delivery: Delivery,
    },
    /// A message that waited was withdrawn. One that reaches the agent is added instead.
    MessageUnqueued {
        /// The message.
        message_id: MessageId,
    },
    /// The messages up to this one are given to the model as a summary from now on. They stay in the log.
    Compacted {
        /// The last message of the current branch that the summary covers.
        message_id: MessageId,
        /// The summary.
        summary: String,
    },
    /// The conversation got another title.
    TitleChanged {
        /// The title.
        title: String,
        /// Where it is from.
        #[serde(default)]
        source: TitleSource,
    },
}
