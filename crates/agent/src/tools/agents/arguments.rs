//! The arguments of the tools for sub-agents. A model reads the comments of fields.
#![allow(clippy::doc_markdown, reason = "a model reads these comments, and pays for backticks")]

use schemars::JsonSchema;
use serde::Deserialize;

/// How long `wait_agent` waits.
const fn wait_ms() -> u64 {
    30_000
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SpawnAgent {
    /// The task, with everything that the sub-agent must know.
    #[serde(default)]
    pub(super) message: Option<String>,
    /// The task in pieces, instead of message.
    #[serde(default)]
    #[schemars(skip)]
    pub(super) items: Vec<Piece>,
    /// A role, for example reviewer.
    #[serde(default)]
    pub(super) agent_type: Option<String>,
    /// Give it this conversation so far.
    #[serde(default)]
    pub(super) fork_context: bool,
    /// Another model, by its name.
    #[serde(default)]
    pub(super) model: Option<String>,
    /// Accepted for clients that send it.
    #[serde(default, rename = "reasoning_effort")]
    #[schemars(skip)]
    pub(super) _reasoning_effort: Option<String>,
    /// It continues after your turn has ended.
    #[serde(default)]
    pub(super) detached: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SendInput {
    /// The agent_id.
    pub(super) id: String,
    /// The message.
    #[serde(default)]
    pub(super) message: Option<String>,
    /// The message in pieces.
    #[serde(default)]
    #[schemars(skip)]
    pub(super) items: Vec<Piece>,
    /// Stop what it does now first.
    #[serde(default)]
    pub(super) interrupt: bool,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct WaitAgent {
    /// The agent_ids.
    pub(super) ids: Vec<String>,
    /// Milliseconds, from 10000 to 3600000.
    #[serde(default = "wait_ms")]
    pub(super) timeout_ms: u64,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct ResumeAgent {
    /// The agent_id.
    pub(super) id: String,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CloseAgent {
    /// The agent_id.
    pub(super) id: String,
}

/// A piece of a message, as some clients send it.
#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct Piece {
    /// The text.
    #[serde(default)]
    text: Option<String>,
}

/// The text of a message.
pub(super) fn message_of(message: Option<&str>, items: &[Piece]) -> Option<String> {
    let pieces = message.into_iter().chain(items.iter().filter_map(|item| item.text.as_deref()));
    let text = pieces.collect::<Vec<_>>().join("\n");
    (!text.trim().is_empty()).then_some(text)
}
