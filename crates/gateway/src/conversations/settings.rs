//! How the agent of a conversation works: what is stored in its row, checked when it is set.

use std::collections::BTreeMap;

use headwater_agent::McpServer;
use headwater_protocol::api::{ApprovalPolicyName, ConversationMode, ConversationPatch, ConversationRequest};
use headwater_store::ConversationRow;
use headwater_tools::policy::ApprovalPolicy;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::limits::{MAX_INSTRUCTIONS_BYTES, MAX_TITLE_CHARS};
use super::{Models, mcp_servers};
use crate::error::ApiError;

/// The settings of a conversation. Fields that an earlier version did not write have their defaults.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Settings {
    /// The model, by its name in the configuration; the default one if absent.
    pub(crate) model: Option<String>,
    /// When a person is asked.
    pub(crate) approval_policy: ApprovalPolicyName,
    /// What the agent may do.
    pub(crate) mode: ConversationMode,
    /// What is added to the instructions of the agent.
    pub(crate) instructions: Option<String>,
    /// Whether the end of a command that runs on in the background begins a turn.
    pub(crate) wakes: bool,
    /// Whether the model's provider may search the web.
    pub(crate) web_search: bool,
    /// MCP servers that were added to it.
    pub(crate) mcp_servers: BTreeMap<String, McpServer>,
}

/// What decides which settings a conversation may have.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds<'a> {
    pub(super) models: &'a Models,
    /// The MCP servers of the configuration.
    pub(super) mcp_servers: &'a BTreeMap<String, McpServer>,
    pub(super) is_operator: bool,
}

impl Settings {
    /// The settings in a row.
    pub(crate) fn of(row: &ConversationRow) -> Self {
        Self::deserialize(&row.settings).unwrap_or_default()
    }

    /// The settings that a request for a conversation asks for.
    pub(super) fn requested(request: &ConversationRequest, bounds: Bounds<'_>) -> Result<Self, ApiError> {
        let mut settings = Self::default();
        settings.change(
            &ConversationPatch {
                model: request.model.clone(),
                approval_policy: request.approval_policy,
                mode: request.mode,
                instructions: request.instructions.clone(),
                wakes: request.wakes,
                web_search: request.web_search,
                mcp_servers: request
                    .mcp_servers
                    .clone()
                    .into_iter()
                    .map(|(name, one)| (name, Some(one)))
                    .collect(),
                ..ConversationPatch::default()
            },
            bounds,
        )?;
        Ok(settings)
    }

    /// Changes what a request names.
    pub(super) fn change(&mut self, patch: &ConversationPatch, bounds: Bounds<'_>) -> Result<(), ApiError> {
        if let Some(model) = &patch.model {
            self.model = if model.is_empty() { None } else { Some(bounds.models.known(model)?) };
        }
        if let Some(instructions) = &patch.instructions {
            if instructions.len() > MAX_INSTRUCTIONS_BYTES {
                let message = format!("`instructions` may have at most {MAX_INSTRUCTIONS_BYTES} bytes");
                return Err(ApiError::invalid(message)
                    .hint("put long instructions into `AGENTS.md` of the workspace"));
            }
            self.instructions = Some(instructions.clone()).filter(|text| !text.trim().is_empty());
        }
        self.approval_policy = patch.approval_policy.unwrap_or(self.approval_policy);
        self.mode = patch.mode.unwrap_or(self.mode);
        self.wakes = patch.wakes.unwrap_or(self.wakes);
        self.web_search = patch.web_search.unwrap_or(self.web_search);
        if self.web_search && (patch.web_search.is_some() || patch.model.is_some()) {
            bounds.models.can_search_web(self.model.as_deref())?;
        }
        mcp_servers::change(&mut self.mcp_servers, &patch.mcp_servers, bounds.mcp_servers, bounds.is_operator)
    }

    /// The settings as they are stored.
    pub(super) fn to_json(&self) -> Value {
        serde_json::json!(self)
    }

    /// When the tools ask a person.
    pub(crate) const fn approval(&self) -> ApprovalPolicy {
        match self.approval_policy {
            ApprovalPolicyName::Never => ApprovalPolicy::Never,
            ApprovalPolicyName::OnFailure => ApprovalPolicy::OnFailure,
            ApprovalPolicyName::OnRequest => ApprovalPolicy::OnRequest,
            ApprovalPolicyName::UnlessTrusted => ApprovalPolicy::UnlessTrusted,
        }
    }
}

/// Checks a title, and returns it on one line.
pub(super) fn checked_title(title: &str) -> Result<String, ApiError> {
    let title = title.split_whitespace().collect::<Vec<_>>().join(" ");
    if title.is_empty() || title.chars().count() > MAX_TITLE_CHARS || title.chars().any(char::is_control) {
        let message =
            format!("`title` must have 1 to {MAX_TITLE_CHARS} characters and no control characters");
        return Err(ApiError::invalid(message));
    }
    Ok(title)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_has_one_line_and_bounds() {
        assert_eq!(checked_title(" a\n b ").unwrap(), "a b");
        for bad in ["", " \n", "\u{7}", &"x".repeat(201)] {
            assert_eq!(checked_title(bad).unwrap_err().status, 400, "{bad:?}");
        }
    }

    #[test]
    fn settings_of_an_earlier_version_are_read() {
        let old: Settings = serde_json::from_str(r#"{"mode": "plan", "unknown": 1}"#).unwrap();
        assert_eq!(old, Settings { mode: ConversationMode::Plan, ..Settings::default() });
    }
}
