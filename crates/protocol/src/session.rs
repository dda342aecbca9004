//! Sessions: what is asked for and what is told of one.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::spec::{check_env, check_metadata, check_name};
use crate::{Limits, SessionId, SpecError};

/// Reserved metadata of a session: its owner. Set by the gateway and kept with the worker.
pub const OWNER_METADATA: &str = "headwater.owner";
/// The owner of sessions that the local command line made.
pub const LOCAL_OWNER: &str = "admin";

/// Which walls stand around a session. Shown wherever the session is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum SandboxKind {
    /// All of them.
    #[default]
    Full,
    /// None: an explicit choice of the operator.
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

/// What a session reaches of the network.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Network {
    /// Nothing.
    #[default]
    None,
    /// The package registries that the operator configured, through a proxy of the worker's.
    Packages,
    /// Everything that the host reaches: an explicit choice, which the operator must allow.
    Full,
}

impl Network {
    /// All of them.
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

/// A request for a session.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SessionSpec {
    /// For people; need not be unique.
    pub name: Option<String>,
    /// Variables of every execution in it.
    pub env: BTreeMap<String, String>,
    /// What it may use.
    pub limits: Limits,
    /// It ends by itself after so long without an execution.
    pub idle_timeout_ms: Option<u64>,
    /// Anything the caller wants to find again.
    pub metadata: BTreeMap<String, String>,
    /// It ends when its first execution has ended and closed.
    pub one_shot: bool,
    /// What it reaches of the network.
    pub network: Network,
}

impl SessionSpec {
    /// Checks what can be known without the host.
    pub fn check(&self) -> Result<(), SpecError> {
        check_name(self.name.as_deref())?;
        check_env(&self.env)?;
        check_metadata(&self.metadata)?;
        self.limits.nonsense().map_or(Ok(()), |wrong| Err(wrong.into()))
    }

    /// The owner: what the gateway wrote into the metadata, or the owner of what the local command line makes.
    pub fn owner(&self) -> &str {
        self.metadata.get(OWNER_METADATA).map_or(LOCAL_OWNER, String::as_str)
    }
}

/// Whether a session can run things.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum SessionState {
    /// Its init waits for work.
    Ready,
    /// Nothing runs in it and its workspace is kept; the next use wakes it.
    Hibernated,
    /// It is over; its executions' logs remain.
    Ended {
        /// When, in milliseconds since 1970.
        ended_at_ms: u64,
    },
}

/// A session as told to others.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Its name for programs.
    pub id: SessionId,
    /// What was asked for, defaults filled in.
    pub spec: SessionSpec,
    /// Which walls stand around it.
    pub sandbox: SandboxKind,
    /// Whether it can run things.
    #[serde(flatten)]
    pub state: SessionState,
    /// When it was handed out, in milliseconds since 1970.
    pub created_at_ms: u64,
    /// How many executions in it have not ended.
    pub running: u32,
}
