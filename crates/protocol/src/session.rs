//! Sessions: specs and states.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::spec::{check_env, check_metadata, check_name, check_secrets};
use crate::{Limits, Place, SessionId, SpecError};

/// The reserved metadata key of a session's owner. Set by the gateway and kept by the worker.
pub const OWNER_METADATA: &str = "headwater.owner";
/// The owner of sessions that the local command line creates.
pub const LOCAL_OWNER: &str = "admin";

/// The isolation of a session. Shown wherever the session is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SandboxKind {
    /// All walls.
    #[default]
    Full,
    /// No walls: an explicit choice of the operator.
    None,
}

impl SandboxKind {
    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::None => "none",
        }
    }
}

/// The network access of a session.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// No access.
    #[default]
    None,
    /// The package registries that the operator has configured, through the worker's proxy.
    Packages,
    /// Everything that the host can reach. The operator must allow it.
    Full,
}

impl Network {
    /// All kinds of network access.
    pub const ALL: [Self; 3] = [Self::None, Self::Packages, Self::Full];

    /// The name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Packages => "packages",
            Self::Full => "full",
        }
    }
}

/// The parameters of a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionSpec {
    /// A name for people; it need not be unique.
    pub name: Option<String>,
    /// Environment variables for every execution in the session.
    pub env: BTreeMap<String, String>,
    /// The names of the variables in `env` whose values are secret: no response of the API contains them, and
    /// they are masked in what a model reads.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub secret_env: BTreeSet<String>,
    /// Limits of the session.
    pub limits: Limits,
    /// The session ends after this long without an execution.
    pub idle_timeout_ms: Option<u64>,
    /// Metadata for the client's own use.
    pub metadata: BTreeMap<String, String>,
    /// Whether the session ends when its first execution has ended and closed.
    pub one_shot: bool,
    /// Network access.
    pub network: Network,
    /// The folder of the host that is its workspace, instead of an own one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

impl SessionSpec {
    /// Checks everything that does not depend on the host.
    pub fn check(&self) -> Result<(), SpecError> {
        check_name(self.name.as_deref())?;
        check_env(&self.env)?;
        check_secrets(&self.env, &self.secret_env)?;
        check_metadata(&self.metadata)?;
        self.check_place()?;
        self.limits.first_invalid().map_or(Ok(()), |wrong| Err(wrong.into()))
    }

    /// The secret variables with their values.
    pub fn secrets(&self) -> impl Iterator<Item = (&str, &str)> {
        self.env
            .iter()
            .filter(|(name, _)| self.secret_env.contains(*name))
            .map(|(name, value)| (name.as_str(), value.as_str()))
    }

    /// The limits on a workspace do not apply to a folder of the host, which nobody measures.
    fn check_place(&self) -> Result<(), SpecError> {
        let Some(place) = &self.place else { return Ok(()) };
        if self.limits.disk_bytes.is_some() || self.limits.inodes.is_some() {
            let what =
                "an in-place session has no disk limit: leave out `disk_bytes` and `inodes`".to_owned();
            return Err(SpecError::Place { what });
        }
        place.check()
    }

    /// The owner: from the metadata that the gateway sets, or the owner of local sessions.
    pub fn owner(&self) -> &str {
        self.metadata.get(OWNER_METADATA).map_or(LOCAL_OWNER, String::as_str)
    }
}

/// The state of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum SessionState {
    /// Its init is ready to run executions.
    Ready,
    /// Nothing runs in it and its workspace is kept; the next use resumes it.
    Hibernated,
    /// It has ended; the logs of its executions remain.
    Ended {
        /// The end time, in milliseconds since 1970.
        ended_at_ms: u64,
    },
}

/// What a session uses now. An absent amount is one that the host does not count.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionUsage {
    /// Whether it is hibernated: nothing runs in it, and all amounts but `disk_bytes` are 0.
    pub hibernated: bool,
    /// Memory, as the limit `memory_bytes` counts it.
    pub memory_bytes: Option<u64>,
    /// The CPU time of all its programs since it was created or resumed, in milliseconds.
    pub cpu_ms: Option<u64>,
    /// Processes and threads, as the limit `pids` counts them: including its init.
    pub pids: Option<u64>,
    /// The size of its workspace and its snapshots when they were last measured.
    pub disk_bytes: Option<u64>,
    /// The limits that the amounts count towards.
    pub limits: Limits,
}

/// A workspace with its own sandbox, in which executions run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// The id of the session.
    pub id: SessionId,
    /// The spec that it was created with, including defaults.
    pub spec: SessionSpec,
    /// The isolation of the session.
    pub sandbox: SandboxKind,
    /// The current state.
    #[serde(flatten)]
    pub state: SessionState,
    /// When it was handed out from the pool, in milliseconds since 1970.
    pub created_at_ms: u64,
    /// The number of executions in it that have not ended.
    pub running: u32,
}
