//! Builds, as typed calls.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_protocol::build::{BuildResult, CompileSpec};
use headwater_protocol::{BuildId, ExecutionId, SessionId, SessionSpec, StartSpec};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::ContractError;
use crate::{Client, v1};

/// What is to be built, under ids that the caller has chosen.
#[derive(Debug, Clone)]
pub struct BuildOrder {
    /// The build's.
    pub id: BuildId,
    /// Whose workspace the files are in, and the binary goes to.
    pub session: SessionId,
    /// The execution that it is to have if something must be compiled.
    pub execution: ExecutionId,
    /// The session that this runs in.
    pub build_session: SessionId,
    /// Who may be given what this build leaves in the cache.
    pub owner: String,
    /// Of the build's own session.
    pub metadata: BTreeMap<String, String>,
    /// What.
    pub spec: CompileSpec,
}

/// How a build stands.
#[derive(Debug, Clone)]
pub struct BuildTold {
    /// What became of it, once it has ended.
    pub result: Option<BuildResult>,
    /// Whether an execution of the id that was given runs it, or ran it.
    pub executed: bool,
    /// What that and its session were started with, if this call did it.
    pub specs: Option<(SessionSpec, StartSpec)>,
}

impl Client {
    /// Begins a build, or tells how the one of this id stands.
    pub async fn begin_build(&self, order: &BuildOrder) -> Result<BuildTold, ContractError> {
        let request = v1::BeginBuildRequest {
            build_id: order.id.to_string(),
            session_id: order.session.to_string(),
            execution_id: order.execution.to_string(),
            build_session_id: order.build_session.to_string(),
            owner: order.owner.clone(),
            metadata: order.metadata.clone().into_iter().collect(),
            spec: json(&order.spec)?,
        };
        told(&self.builds().begin(request).await?.into_inner())
    }

    /// How a build stands, when it has ended or after so long.
    pub async fn build(&self, id: BuildId, at_most: Duration) -> Result<BuildTold, ContractError> {
        let wait_ms = u64::try_from(at_most.as_millis()).unwrap_or(u64::MAX);
        let request = v1::GetBuildRequest { build_id: id.to_string(), wait_ms };
        told(&self.builds().get_build(request).await?.into_inner())
    }
}

fn told(state: &v1::BuildState) -> Result<BuildTold, ContractError> {
    let specs = match (&state.session_spec, &state.start_spec) {
        (Some(session), Some(start)) => Some((read(session)?, read(start)?)),
        _ => None,
    };
    Ok(BuildTold { result: state.result.as_deref().map(read).transpose()?, executed: state.executed, specs })
}

fn json(value: &impl Serialize) -> Result<bytes::Bytes, ContractError> {
    serde_json::to_vec(value).map(Into::into).map_err(|error| ContractError::Malformed(error.to_string()))
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ContractError> {
    serde_json::from_slice(bytes).map_err(|error| ContractError::Malformed(error.to_string()))
}
