//! The chunks of an AI SDK UI message stream. A client ends the stream at a type that it does not know, so this list is
//! closed: nothing else is ever sent.

use headwater_protocol::conversation::{ConversationId, MessageId, ModelUsage, PlanStep};
use headwater_protocol::{ExecutionId, api::Timestamp};
use serde::Serialize;
use serde_json::Value;

/// A chunk of the stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(crate) enum Chunk {
    /// A response begins.
    Start {
        /// The message of the agent.
        message_id: MessageId,
        /// What the server adds to the message.
        message_metadata: Metadata,
    },
    /// The response is over, or waits for a person.
    Finish {
        /// Why.
        finish_reason: FinishReason,
        /// What the server adds to the message.
        message_metadata: Metadata,
    },
    /// The response failed.
    Error {
        /// One sentence for a person.
        error_text: String,
    },
    /// A call of the model begins.
    StartStep,
    /// A call of the model has ended.
    FinishStep,
    /// The parts of the current step are void.
    ResetStep,
    /// A text begins.
    TextStart {
        /// The part.
        id: String,
    },
    /// A text goes on.
    TextDelta {
        /// The part.
        id: String,
        /// More of it.
        delta: String,
    },
    /// A text is complete.
    TextEnd {
        /// The part.
        id: String,
    },
    /// Reasoning begins.
    ReasoningStart {
        /// The part.
        id: String,
    },
    /// Reasoning goes on.
    ReasoningDelta {
        /// The part.
        id: String,
        /// More of it.
        delta: String,
    },
    /// Reasoning is complete.
    ReasoningEnd {
        /// The part.
        id: String,
    },
    /// The model begins to call a tool.
    ToolInputStart {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// Always true: clients need no types of our tools.
        dynamic: bool,
        /// Always true: the server runs the tool.
        provider_executed: bool,
    },
    /// The arguments go on.
    ToolInputDelta {
        /// The call.
        tool_call_id: String,
        /// More of the JSON text.
        input_text_delta: String,
    },
    /// The arguments are complete. It is sent again when an execution starts, with its id.
    ToolInputAvailable {
        /// The call.
        tool_call_id: String,
        /// The tool.
        tool_name: String,
        /// The arguments.
        input: Value,
        /// Always true.
        dynamic: bool,
        /// Always true.
        provider_executed: bool,
        /// Where the output of the call is.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_metadata: Option<ToolMetadata>,
    },
    /// The result of a call, or its state so far.
    ToolOutputAvailable {
        /// The call.
        tool_call_id: String,
        /// The result.
        output: Value,
        /// Always true.
        dynamic: bool,
        /// Always true.
        provider_executed: bool,
        /// Whether another output replaces this one.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        preliminary: bool,
        /// Where the output of the call is.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_metadata: Option<ToolMetadata>,
    },
    /// A call failed.
    ToolOutputError {
        /// The call.
        tool_call_id: String,
        /// The text that the model gets.
        error_text: String,
        /// Always true.
        dynamic: bool,
        /// Always true.
        provider_executed: bool,
        /// Where the output of the call is.
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_metadata: Option<ToolMetadata>,
    },
    /// A person refused a call.
    ToolOutputDenied {
        /// The call.
        tool_call_id: String,
    },
    /// A person is asked for consent.
    ToolApprovalRequest {
        /// The question.
        approval_id: String,
        /// The call.
        tool_call_id: String,
        /// The exact command, and why a person is asked.
        reason: String,
        /// What would be allowed from now on, if the agent proposes a rule.
        #[serde(skip_serializing_if = "Option::is_none")]
        approval_descriptor: Option<ApprovalDescriptor>,
    },
    /// A person has decided.
    ToolApprovalResponse {
        /// The question.
        approval_id: String,
        /// Whether the call may run.
        approved: bool,
        /// Why.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A message reached the agent while it worked.
    SteeringMessage {
        /// The message.
        id: MessageId,
        /// Its parts.
        parts: Vec<UserPart>,
    },
    /// Output of a running call. It is not kept in the message.
    #[serde(rename = "data-tool-progress")]
    ToolProgress {
        /// Always true.
        transient: bool,
        /// The update.
        data: Progress,
    },
    /// The plan of the agent.
    #[serde(rename = "data-plan")]
    Plan {
        /// Always the same: a new plan replaces the old one.
        id: &'static str,
        /// The plan.
        data: Plan,
    },
    /// Something that the server did and readers should know.
    #[serde(rename = "data-notice")]
    Notice {
        /// The notice.
        data: Notice,
    },
}

/// Why a response is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum FinishReason {
    /// The agent has answered.
    Stop,
    /// It waits for a person's consent.
    ToolCalls,
    /// A person stopped it.
    Interrupted,
    /// It has made as many steps as it may.
    Other,
}

/// What the server adds to a message.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Metadata {
    /// The turn that the message belongs to: `POST /v1/chat/{id}/stop` takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) stream_id: Option<String>,
    /// The model, by its name in the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<String>,
    /// The last event of the conversation's log that the message shows: a response that waited for a person continues
    /// after it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seq: Option<u64>,
    /// When the message began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) created_at: Option<Timestamp>,
    /// What the model used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) usage: Option<ModelUsage>,
}

/// Where the output of a call is.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ToolMetadata {
    /// Its executions: `GET /v1/executions/{id}/events` follows the output of one.
    pub(crate) execution_ids: Vec<ExecutionId>,
    /// The conversation of the sub-agent that it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) child_id: Option<ConversationId>,
}

/// What a person is asked besides this one call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ApprovalDescriptor {
    /// The rule in words.
    pub(crate) rule_text: String,
}

/// A part of a message of a person.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(crate) enum UserPart {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// A file of the workspace.
    File {
        /// For example `image/png`.
        media_type: String,
        /// Its URL.
        url: String,
        /// Its name.
        filename: String,
    },
}

/// Output of a running call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Progress {
    /// The call.
    pub(crate) tool_call_id: String,
    /// The execution.
    pub(crate) execution_id: ExecutionId,
    /// `stdout`, `stderr` or `status`.
    pub(crate) r#type: &'static str,
    /// The text that follows the earlier text; or the state of the call.
    pub(crate) content: String,
    /// The last event of the execution's log that it shows.
    pub(crate) seq: u64,
    /// When it happened, in milliseconds since 1970-01-01T00:00:00Z.
    pub(crate) timestamp: u64,
}

/// The plan of the agent.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Plan {
    /// All steps.
    pub(crate) plan: Vec<PlanStep>,
    /// Why it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) explanation: Option<String>,
}

/// Something that the server did and readers should know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Notice {
    /// One sentence.
    pub(crate) text: String,
}

impl Chunk {
    /// Whether it shows the output of a running call, and nothing of the log.
    pub(super) const fn is_progress(&self) -> bool {
        matches!(self, Self::ToolProgress { .. } | Self::ToolOutputAvailable { preliminary: true, .. })
    }

    /// A chunk of a text or of reasoning: its beginning.
    pub(super) const fn part_start(reasoning: bool, id: String) -> Self {
        if reasoning { Self::ReasoningStart { id } } else { Self::TextStart { id } }
    }

    /// The same: more of it.
    pub(super) const fn part_delta(reasoning: bool, id: String, delta: String) -> Self {
        if reasoning { Self::ReasoningDelta { id, delta } } else { Self::TextDelta { id, delta } }
    }

    /// The same: its end.
    pub(super) const fn part_end(reasoning: bool, id: String) -> Self {
        if reasoning { Self::ReasoningEnd { id } } else { Self::TextEnd { id } }
    }
}
