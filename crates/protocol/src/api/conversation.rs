//! Bodies of conversations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{McpServerBody, McpServerRequest, Timestamp};
use crate::SessionId;
use crate::conversation::{
    Answer, ApprovalDecision, Attachment, ConversationId, Delivery, LogEntry, Message, MessageId, PlanStep,
    QueuedMessage, Turn,
};

/// When a person is asked before a command of the agent runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ApprovalPolicyName {
    /// Never: what needs consent is refused.
    Never,
    /// Only for a command that has failed with its session's rights.
    OnFailure,
    /// When the agent asks for more than its session's rights.
    #[default]
    OnRequest,
    /// For every command that is not known to only read.
    UnlessTrusted,
}

/// What the agent may do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ConversationMode {
    /// It works.
    #[default]
    Default,
    /// It plans: it reads, and changes nothing.
    Plan,
}

/// A request for a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({"title": "Fix the build", "model": "local"}))))]
#[serde(default, deny_unknown_fields)]
pub struct ConversationRequest {
    /// The id, if the client chooses it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<ConversationId>,
    /// The title; the first message gives one if it is absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The session that the agent works in: its id or its name. If absent, the first call of a tool creates one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The model, by its name in the configuration; the default one if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When a person is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicyName>,
    /// What the agent may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ConversationMode>,
    /// What is added to the instructions of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Whether the end of a command that runs on in the background begins a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wakes: Option<bool>,
    /// Whether the model's provider may search the web for it: not if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_search: Option<bool>,
    /// More MCP servers for the agent, by name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub mcp_servers: BTreeMap<String, McpServerRequest>,
}

/// A change of a conversation. Absent fields keep their values.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({"title": "Fix the build"}))))]
#[serde(default, deny_unknown_fields)]
pub struct ConversationPatch {
    /// Another title.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// Whether it is put aside.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_archived: Option<bool>,
    /// Another model; an empty text selects the default one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// When a person is asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval_policy: Option<ApprovalPolicyName>,
    /// What the agent may do.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ConversationMode>,
    /// Another session: its id or its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// Other instructions; an empty text removes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// Whether the end of a command that runs on in the background begins a turn.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub wakes: Option<bool>,
    /// Whether the model's provider may search the web for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub web_search: Option<bool>,
    /// MCP servers that are added or replaced, by name; `null` removes one. Others stay.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[cfg_attr(feature = "openapi", schema(value_type = BTreeMap<String, McpServerRequest>))]
    pub mcp_servers: BTreeMap<String, Option<McpServerRequest>>,
}

/// A conversation with an agent.
#[allow(clippy::struct_excessive_bools, reason = "each is a field of the API that clients read by its name")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConversationBody {
    /// Its id.
    pub id: ConversationId,
    /// The title, if it has one.
    pub title: Option<String>,
    /// The owner.
    pub owner: String,
    /// The session that the agent works in, once there is one.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub session_id: Option<SessionId>,
    /// The model, by its name in the configuration; the default one if absent.
    pub model: Option<String>,
    /// When a person is asked.
    pub approval_policy: ApprovalPolicyName,
    /// What the agent may do.
    pub mode: ConversationMode,
    /// What is added to the instructions of the agent.
    pub instructions: Option<String>,
    /// The conversation that started this one for a sub-agent.
    pub parent_id: Option<ConversationId>,
    /// Whether it is put aside.
    pub is_archived: bool,
    /// Whether the end of a command that runs on in the background begins a turn.
    pub wakes: bool,
    /// Whether the model's provider may search the web for it.
    #[serde(default)]
    pub web_search: bool,
    /// The MCP servers that were added to it, by name. Those of the server's configuration are not listed.
    #[serde(default)]
    pub mcp_servers: BTreeMap<String, McpServerBody>,
    /// Whether a turn runs.
    pub is_running: bool,
    /// Whether a person is asked.
    pub is_waiting: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// When somebody last wrote, or was asked something.
    pub last_activity_at: Timestamp,
    /// The beginning of the last message.
    pub excerpt: Option<String>,
}

/// A conversation with its messages.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ConversationDetail {
    /// The conversation.
    #[serde(flatten)]
    pub conversation: ConversationBody,
    /// The number of the last event of its log: `GET .../log?after=` continues here.
    pub last_seq: u64,
    /// The last message of the current branch.
    pub leaf_id: Option<MessageId>,
    /// The messages of all branches, in the order in which they were added.
    pub messages: Vec<Message>,
    /// The last turn.
    pub turn: Option<Turn>,
    /// The plan of the agent.
    pub plan: Vec<PlanStep>,
    /// Messages that wait for the agent.
    pub queue: Vec<QueuedMessage>,
}

/// A page of the log of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogPage {
    /// The events, in order. Numbers of deltas that are needed no more are missing.
    pub items: Vec<LogEntry>,
    /// `after` of the next page; absent on the last one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_after: Option<u64>,
}

/// A message to the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({"text": "Run the tests."}))))]
#[serde(default, deny_unknown_fields)]
pub struct MessageRequest {
    /// The id, if the client chooses it. A message that is sent again under the same id is added once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<MessageId>,
    /// The text; may be empty if there are attachments.
    pub text: String,
    /// Files of the workspace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub attachments: Vec<Attachment>,
    /// The message that it follows. If absent: the last one of the current branch. `null`: none, so that it begins a branch.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<MessageId>))]
    #[allow(clippy::option_option, reason = "absent and null differ")]
    pub parent_id: Option<Option<MessageId>>,
    /// When the agent gets it, if a turn runs: `steer` if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Delivery>,
    /// The model for the answer; that of the conversation if absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

/// A field that is present, though it may be `null`.
#[allow(clippy::option_option, reason = "absent and null differ")]
fn present<'de, D: serde::Deserializer<'de>>(field: D) -> Result<Option<Option<MessageId>>, D::Error> {
    Option::deserialize(field).map(Some)
}

/// A message that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct MessageAccepted {
    /// Its id.
    pub message_id: MessageId,
    /// The turn that works on it, or that it waits for.
    pub turn_id: Option<String>,
    /// Whether it waits for the agent.
    pub is_queued: bool,
}

/// Names a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({"message_id": "msg_0123456789abcdef0123456789abcdef"}))))]
#[serde(deny_unknown_fields)]
pub struct MessageRef {
    /// The message.
    pub message_id: MessageId,
}

/// A turn that has begun.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct TurnAccepted {
    /// The turn.
    pub turn_id: String,
}

/// The current branch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BranchBody {
    /// Its last message.
    pub leaf_id: MessageId,
}

/// What became of a request to stop.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct StopBody {
    /// Whether a turn ran.
    pub was_running: bool,
}

/// The answer of a person to a request for consent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({"decision": "deny", "reason": "not on this machine"}))))]
#[serde(deny_unknown_fields)]
pub struct ApprovalRequest {
    /// The decision.
    pub decision: ApprovalDecision,
    /// Why; the agent reads it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// The answers of a person to questions of the agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({"answers": [{"id": "color", "answer": "green"}]}))))]
#[serde(deny_unknown_fields)]
pub struct AnswersRequest {
    /// One answer for each question.
    pub answers: Vec<Answer>,
}

/// A model of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelBody {
    /// Its name in the configuration.
    pub name: String,
    /// The API that it is called by: `openai-responses`, `openai-chat` or `anthropic`.
    pub api: String,
    /// Its name at the provider.
    pub model: String,
    /// Whether conversations without a model use it.
    pub is_default: bool,
    /// How many tokens of prompt and answer it can hold.
    pub context_tokens: u64,
    /// Whether it can be reached: `unknown` unless it was checked.
    pub status: ModelStatus,
    /// Why it cannot be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Whether a model can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum ModelStatus {
    /// It was not checked.
    Unknown,
    /// It can be reached with its key.
    Ok,
    /// It cannot.
    Failed,
}

/// The models of the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct ModelList {
    /// By name.
    pub items: Vec<ModelBody>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parent_that_is_absent_differs_from_none() {
        let parent = |text: &str| serde_json::from_str::<MessageRequest>(text).unwrap().parent_id;
        assert_eq!(parent(r#"{"text": "a"}"#), None);
        assert_eq!(parent(r#"{"text": "a", "parent_id": null}"#), Some(None));
        assert_eq!(parent(r#"{"text": "a", "parent_id": "m"}"#), Some(Some("m".parse().unwrap())));
        let none = MessageRequest { parent_id: Some(None), ..MessageRequest::default() };
        assert_eq!(serde_json::to_string(&none).unwrap(), r#"{"text":"","parent_id":null}"#);
    }
}
