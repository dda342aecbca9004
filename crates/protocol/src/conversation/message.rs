//! Messages, their parts, and what belongs to a tool call, as views show them.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{MessageId, ToolOutput};
use crate::ExecutionId;

/// Who wrote a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum MessageRole {
    /// A person, or the agent that started a sub-agent.
    User,
    /// The agent.
    Assistant,
}

/// A message. Those with the same parent are branches of each other.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Message {
    /// Its id.
    pub id: MessageId,
    /// The message that it follows; none for a first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<MessageId>,
    /// Who wrote it.
    pub role: MessageRole,
    /// The user that sent it, or the model that wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// When it was added, in milliseconds since 1970.
    #[serde(default)]
    pub created_at_ms: u64,
    /// What it consists of, in order.
    #[serde(default)]
    pub parts: Vec<Part>,
    /// What the model used for it, in all its steps.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub usage: Option<ModelUsage>,
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Part {
    /// Markdown text.
    Text(TextPart),
    /// What the model thought before it answered.
    Reasoning(TextPart),
    /// A call of a tool.
    ToolCall(Box<ToolCall>),
    /// A file of the workspace that a person added.
    Attachment(Attachment),
    /// The beginning of a step: one call of the model.
    Step {
        /// Which one, from 1.
        number: u32,
    },
    /// Something that the server did and readers should know, for example that a call of the model was repeated.
    Notice {
        /// One sentence.
        text: String,
    },
}

/// Text that may still arrive.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TextPart {
    /// Unique in its message; empty in messages of people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub part_id: String,
    /// The text so far.
    pub text: String,
    /// Whether more may follow.
    #[serde(default, skip_serializing_if = "is_false")]
    pub is_streaming: bool,
    /// What the provider wants to get back with this part: a signature, or encrypted reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub opaque: Option<Value>,
}

/// A file of the workspace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Attachment {
    /// The name that the person gave it.
    pub name: String,
    /// Its path in the workspace.
    pub path: String,
    /// For example `image/png`.
    pub media_type: String,
    /// Its length.
    pub size_bytes: u64,
}

/// Where a tool call stands. Every view shows this state and decides nothing itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ToolCallState {
    /// The model is still writing the arguments.
    Writing,
    /// The arguments are complete; it waits for its turn.
    Ready,
    /// It waits for a person's consent or answer.
    Waiting,
    /// It runs.
    Running,
    /// It has a result.
    Succeeded,
    /// It failed, or its program did.
    Failed,
    /// A person refused it.
    Denied,
    /// It was interrupted.
    Stopped,
}

impl ToolCallState {
    /// Whether nothing more will happen.
    pub const fn is_end(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Denied | Self::Stopped)
    }
}

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ToolCall {
    /// Unique in its conversation.
    pub tool_call_id: String,
    /// The name of the tool.
    pub tool: String,
    /// Where it stands.
    pub state: ToolCallState,
    /// The arguments as the model has written them so far.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub input_text: String,
    /// The arguments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub input: Option<Value>,
    /// The executions that it started or shows, whose output is read live.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub execution_ids: Vec<ExecutionId>,
    /// What a person is or was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval: Option<Approval>,
    /// The questions of `request_user_input`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input_request: Option<InputRequest>,
    /// The conversation of the sub-agent that it started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub child_id: Option<super::ConversationId>,
    /// The result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<ToolOutput>,
    /// When it began to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started_at_ms: Option<u64>,
    /// When it ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at_ms: Option<u64>,
}

/// A person's consent to one command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Approval {
    /// Unique in the conversation.
    pub approval_id: String,
    /// What the person reads: the exact command, why they are asked, and the marked words of the agent.
    pub text: String,
    /// What would be allowed from now on, if the agent proposes a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule_text: Option<String>,
    /// The proposed rule as the tools know it, by which later commands of the conversation are allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>))]
    pub rule: Option<Value>,
    /// The fingerprint of what is allowed: a consent holds for nothing else.
    pub fingerprint: String,
    /// The answer, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<ApprovalDecision>,
    /// Why the person decided so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
}

/// What a person decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ApprovalDecision {
    /// This command, this time.
    AllowOnce,
    /// Commands like this, in this conversation.
    AllowConversation,
    /// Not this command.
    Deny,
}

/// Questions of an agent to a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InputRequest {
    /// One to three questions.
    pub questions: Vec<InputQuestion>,
    /// The answers, once there are some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<Vec<Answer>>,
}

/// A question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct InputQuestion {
    /// Unique in its request.
    pub id: String,
    /// A few words.
    pub header: String,
    /// The question.
    pub question: String,
    /// Answers to choose from; a person may always write their own.
    #[serde(default)]
    pub options: Vec<QuestionOption>,
}

/// An answer to choose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QuestionOption {
    /// The answer.
    pub label: String,
    /// What it means.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
}

/// An answer to a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Answer {
    /// The question.
    pub id: String,
    /// The answer.
    pub answer: String,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct PlanStep {
    /// What is to be done.
    pub step: String,
    /// Where it stands.
    pub status: PlanStepStatus,
}

/// Where a step of a plan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum PlanStepStatus {
    /// Not begun.
    Pending,
    /// Being done; one step at most.
    InProgress,
    /// Done.
    Completed,
}

/// What calls of a model used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelUsage {
    /// Tokens of the prompt.
    pub input_tokens: u64,
    /// Tokens of the prompt that the provider had cached.
    #[serde(default)]
    pub cached_tokens: u64,
    /// Tokens that the model wrote.
    pub output_tokens: u64,
    /// What the provider says it cost, in US dollars.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl ModelUsage {
    /// Adds what another call used.
    pub fn add(&mut self, other: &Self) {
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.cached_tokens = self.cached_tokens.saturating_add(other.cached_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (Some(own), Some(more)) => Some(own + more),
            (own, more) => own.or(more),
        };
    }
}

/// A message that waits for the agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct QueuedMessage {
    /// The id that it will have.
    pub message_id: MessageId,
    /// What it consists of.
    pub parts: Vec<Part>,
    /// Who sent it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// When the agent gets it.
    pub delivery: super::Delivery,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(value: &bool) -> bool {
    !*value
}
