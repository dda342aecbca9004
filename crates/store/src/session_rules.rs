//! Rules of a session, by which commands run without a question: rows and the interface for the gateway.

use std::fmt::Debug;

use async_trait::async_trait;
use headwater_protocol::SessionId;
use serde_json::Value;

use crate::StoreError;

/// A rule that a person added to a session by an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct SessionRuleRow {
    /// Its number, which is never used again. Ignored when it is added.
    pub number: i64,
    /// The session in which it holds.
    pub session_id: SessionId,
    /// The user for whose agents it holds.
    pub owner: String,
    /// What it is about: a rule replaces the one of its owner about the same.
    pub subject: String,
    /// The rule.
    pub rule: Value,
    /// When it was added.
    pub created_at_ms: u64,
}

/// Storage of the rules of sessions.
#[async_trait]
pub trait SessionRules: Send + Sync + Debug {
    /// Adds a rule, in the place of the one of its owner about the same. Returns false and adds nothing if the session
    /// has `most` others. [`StoreError::Conflict`] if the session does not exist.
    async fn put_session_rule(&self, row: &SessionRuleRow, most: u32) -> Result<bool, StoreError>;

    /// The rules of a session, oldest first; with an owner, those that hold for its agents.
    async fn session_rules(
        &self,
        session: SessionId,
        owner: Option<&str>,
    ) -> Result<Vec<SessionRuleRow>, StoreError>;

    /// Removes a rule. Returns false if the session has none of this number.
    async fn remove_session_rule(&self, session: SessionId, number: i64) -> Result<bool, StoreError>;
}
