//! Sessions as the API asks for and tells of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Timestamp;
use crate::{Limits, Network, SandboxKind, Session, SessionId, SessionSpec, SessionState};

/// A request for a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SessionRequest {
    /// For people; need not be unique.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Variables of every execution in it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// What it may use.
    pub limits: Limits,
    /// It ends by itself after so long without an execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout_ms: Option<u64>,
    /// Anything the caller wants to find again.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// What it reaches of the network: nothing, unless it says so.
    pub network: Network,
}

impl From<SessionRequest> for SessionSpec {
    fn from(request: SessionRequest) -> Self {
        let SessionRequest { name, env, limits, idle_timeout_ms, metadata, network } = request;
        Self { name, env, limits, idle_timeout_ms, metadata, one_shot: false, network }
    }
}

/// A change of a session: what is absent stays.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(deny_unknown_fields, default)]
pub struct SessionPatch {
    /// The new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Limits that are present are changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// 0 removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout_ms: Option<u64>,
    /// Merged; an empty value removes.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// Whether a session can run things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionStateName {
    /// It can.
    Ready,
    /// Nothing runs in it and its workspace is kept; the next use wakes it.
    Hibernated,
    /// It is over; its executions' logs remain.
    Ended,
}

/// A session as told to clients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SessionBody {
    /// `ses_` and 32 hexadecimal digits.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub id: SessionId,
    /// For people.
    pub name: Option<String>,
    /// Whether it can run things.
    pub state: SessionStateName,
    /// Which walls stand around it.
    pub sandbox: SandboxKind,
    /// Variables of every execution in it. Whoever may only look at the session is sent their names, with empty values.
    /// Absent in lists: they can be large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// The values of `env` are not shown to whoever asked.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub env_hidden: bool,
    /// What it may use.
    pub limits: Limits,
    /// It ends by itself after so long without an execution.
    pub idle_timeout_ms: Option<u64>,
    /// What the caller wants to find again.
    pub metadata: BTreeMap<String, String>,
    /// What it reaches of the network.
    pub network: Network,
    /// Made for one execution; it ends with that.
    pub one_shot: bool,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
    /// How many executions in it have not ended.
    pub running: u32,
}

impl SessionBody {
    /// As it is in a list: without its environment.
    #[must_use]
    pub fn in_brief(self) -> Self {
        Self { env: None, ..self }
    }
}

impl From<Session> for SessionBody {
    fn from(session: Session) -> Self {
        let SessionSpec { name, env, limits, idle_timeout_ms, metadata, one_shot, network } = session.spec;
        let ended_at = match session.state {
            SessionState::Ready | SessionState::Hibernated => None,
            SessionState::Ended { ended_at_ms } => Some(Timestamp(ended_at_ms)),
        };
        let state = match session.state {
            SessionState::Ready => SessionStateName::Ready,
            SessionState::Hibernated => SessionStateName::Hibernated,
            SessionState::Ended { .. } => SessionStateName::Ended,
        };
        Self {
            id: session.id,
            name,
            state,
            sandbox: session.sandbox,
            env: Some(env),
            env_hidden: false,
            limits,
            idle_timeout_ms,
            metadata,
            network,
            one_shot,
            created_at: Timestamp(session.created_at_ms),
            ended_at,
            running: session.running,
        }
    }
}
