//! Sessions in the API.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::Timestamp;
use crate::{Limits, Network, SandboxKind, Session, SessionId, SessionSpec, SessionState};

/// A request for a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({
    "name": "demo", "env": {"LANG": "C.UTF-8"}, "limits": {"memory_bytes": 536_870_912, "cpus": 1.0},
    "network": "packages", "metadata": {"project": "docs"}
}))))]
#[serde(deny_unknown_fields, default)]
pub struct SessionRequest {
    /// A name for people; it need not be unique.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Environment variables for every execution in the session.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The names of the variables in `env` whose values are secret: no response contains them, and they are masked
    /// in the results of tools. A secret value has at least 4 bytes.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub secret_env: BTreeSet<String>,
    /// The template that it starts from (`GET /v1/templates`): its files are written into the workspace, and its limits
    /// apply where `limits` has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
    /// Limits of the session.
    pub limits: Limits,
    /// The session ends after this long without an execution.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout_ms: Option<u64>,
    /// Metadata for the client's own use.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
    /// Network access; none by default.
    pub network: Network,
}

/// Without the template, which the gateway applies.
impl From<SessionRequest> for SessionSpec {
    fn from(request: SessionRequest) -> Self {
        let SessionRequest { name, env, secret_env, limits, idle_timeout_ms, metadata, network, template: _ } =
            request;
        Self {
            name,
            env,
            secret_env,
            limits,
            idle_timeout_ms,
            metadata,
            one_shot: false,
            network,
            place: None,
        }
    }
}

/// A change of a session; absent fields stay as they are.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({
    "name": "another name", "limits": {"wall_ms": 60_000}, "metadata": {"project": ""}
}))))]
#[serde(deny_unknown_fields, default)]
pub struct SessionPatch {
    /// The new name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The limits to change; absent ones stay as they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<Limits>,
    /// The new idle timeout; 0 removes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idle_timeout_ms: Option<u64>,
    /// Merged with the existing metadata; an empty value removes a key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub metadata: BTreeMap<String, String>,
}

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SessionStateName {
    /// It can run executions.
    Ready,
    /// Nothing runs in it and its workspace is kept; the next use resumes it.
    Hibernated,
    /// It has ended; the logs of its executions remain.
    Ended,
}

/// A workspace with its own sandbox, in which executions run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[cfg_attr(feature = "openapi", schema(examples(json!({
    "id": "ses_0123456789abcdef0123456789abcdef", "owner": "ann", "name": "demo", "state": "ready",
    "sandbox": "full", "env": {"LANG": "C.UTF-8"}, "limits": {"memory_bytes": 536_870_912},
    "idle_timeout_ms": null, "metadata": {"project": "docs"}, "network": "packages", "one_shot": false,
    "created_at": "2026-01-02T03:04:05.678Z", "ended_at": null, "running": 0
}))))]
pub struct SessionBody {
    /// The id: `ses_` and 32 hexadecimal digits.
    pub id: SessionId,
    /// The user that it belongs to.
    #[serde(default)]
    pub owner: String,
    /// A name for people.
    pub name: Option<String>,
    /// The current state.
    pub state: SessionStateName,
    /// The isolation of the session.
    pub sandbox: SandboxKind,
    /// Environment variables for every execution in the session. The values of secret variables are empty. Users
    /// with read-only access get all names with empty values. Absent in lists, because it can be large.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Whether the values of `env` are hidden from this user.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub env_hidden: bool,
    /// The names of the variables in `env` whose values are secret.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub secret_env: BTreeSet<String>,
    /// Limits of the session.
    pub limits: Limits,
    /// The session ends after this long without an execution.
    pub idle_timeout_ms: Option<u64>,
    /// Metadata that the client set.
    pub metadata: BTreeMap<String, String>,
    /// Network access.
    pub network: Network,
    /// Whether it was created for one execution and ends with it.
    pub one_shot: bool,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it ended; absent while it exists.
    pub ended_at: Option<Timestamp>,
    /// When something last happened in it: the last start or end of an execution, or its creation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_activity_at: Option<Timestamp>,
    /// The number of executions in it that have not ended.
    pub running: u32,
}

impl SessionBody {
    /// The form used in lists: without the environment.
    #[must_use]
    pub fn in_brief(self) -> Self {
        Self { env: None, secret_env: BTreeSet::new(), ..self }
    }
}

impl From<Session> for SessionBody {
    fn from(session: Session) -> Self {
        let owner = session.spec.owner().to_owned();
        let SessionSpec {
            name,
            mut env,
            secret_env,
            limits,
            idle_timeout_ms,
            metadata,
            one_shot,
            network,
            place: _,
        } = session.spec;
        for (_, value) in env.iter_mut().filter(|(name, _)| secret_env.contains(*name)) {
            value.clear();
        }
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
            owner,
            name,
            state,
            sandbox: session.sandbox,
            env: Some(env),
            env_hidden: false,
            secret_env,
            limits,
            idle_timeout_ms,
            metadata,
            network,
            one_shot,
            created_at: Timestamp(session.created_at_ms),
            ended_at,
            last_activity_at: None, // only the gateway knows it
            running: session.running,
        }
    }
}
