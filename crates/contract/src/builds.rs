//! Typed calls for builds.

use std::collections::BTreeMap;
use std::time::Duration;

use headwater_protocol::build::{BuildResult, CompileSpec};
use headwater_protocol::{BuildId, ExecutionId, SessionId, SessionSpec, StartSpec};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::client::malformed;
use crate::error::{ContractError, Fault};
use crate::{Client, v1};

/// A build to run, with ids that the caller has chosen.
#[derive(Debug, Clone)]
pub struct BuildSpec {
    /// The id of the build.
    pub id: BuildId,
    /// The session whose workspace has the sources and gets the binary.
    pub session: SessionId,
    /// The id of the execution, if something must be compiled.
    pub execution: ExecutionId,
    /// The id of the session that the execution runs in.
    pub build_session: SessionId,
    /// The owner, who may reuse the cache entries of this build.
    pub owner: String,
    /// The metadata of the build's session.
    pub metadata: BTreeMap<String, String>,
    /// The sources, the output and the flags.
    pub spec: CompileSpec,
}

/// The state of a build.
#[derive(Debug, Clone)]
pub struct BuildInfo {
    /// The result, once the build has ended.
    pub result: Option<BuildResult>,
    /// Whether the execution with the given id runs the build, or ran it.
    pub executed: bool,
    /// The specs of the build's session and execution, if this call started them.
    pub specs: Option<(SessionSpec, StartSpec)>,
}

impl Client {
    /// Begins a build, or returns the state of an existing one with this id.
    pub async fn begin_build(&self, order: &BuildSpec) -> Result<BuildInfo, ContractError> {
        let request = v1::BeginBuildRequest {
            build_id: order.id.to_string(),
            session_id: order.session.to_string(),
            execution_id: order.execution.to_string(),
            build_session_id: order.build_session.to_string(),
            owner: order.owner.clone(),
            metadata: order.metadata.clone().into_iter().collect(),
            spec: json(&order.spec)?,
            compile: Some((&order.spec).into()),
        };
        build_info(self.builds().begin(request).await?.into_inner())
    }

    /// The state of a build, when it has ended or after this time.
    pub async fn build(&self, id: BuildId, at_most: Duration) -> Result<BuildInfo, ContractError> {
        let wait_ms = u64::try_from(at_most.as_millis()).unwrap_or(u64::MAX);
        let request = v1::GetBuildRequest { build_id: id.to_string(), wait_ms };
        build_info(self.builds().get_build(request).await?.into_inner())
    }
}

/// Converts the state. Also reads the JSON of a worker of an earlier version.
fn build_info(state: v1::BuildState) -> Result<BuildInfo, ContractError> {
    let specs = match (state.session, state.start, &state.session_spec, &state.start_spec) {
        (Some(session), Some(start), ..) => Some((typed(session)?, typed(start)?)),
        (_, _, Some(session), Some(start)) => Some((read(session)?, read(start)?)),
        _ => None,
    };
    let result = match (state.ended, &state.result) {
        (Some(ended), _) => Some(typed(ended)?),
        (None, Some(json)) => Some(read(json)?),
        (None, None) => None,
    };
    Ok(BuildInfo { result, executed: state.executed, specs })
}

fn typed<T>(message: impl TryInto<T, Error = Fault>) -> Result<T, ContractError> {
    message.try_into().map_err(|fault| malformed(&fault))
}

fn json(value: &impl Serialize) -> Result<bytes::Bytes, ContractError> {
    serde_json::to_vec(value).map(Into::into).map_err(|error| ContractError::Malformed(error.to_string()))
}

fn read<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ContractError> {
    serde_json::from_slice(bytes).map_err(|error| ContractError::Malformed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use headwater_protocol::build::BuildStatus;

    use super::*;

    #[test]
    fn the_state_of_a_build_is_read_from_messages_and_from_the_json_of_an_earlier_worker() {
        let result = BuildResult::ended(BuildStatus::Failed, "no");
        let (session, start) = (SessionSpec::default(), StartSpec::shell("make"));
        let now = v1::BuildState {
            executed: true,
            ended: Some((&result).into()),
            session: Some((&session).into()),
            start: Some((&start).into()),
            ..v1::BuildState::default()
        };
        let earlier = v1::BuildState {
            executed: true,
            result: Some(json(&result).unwrap()),
            session_spec: Some(json(&session).unwrap()),
            start_spec: Some(json(&start).unwrap()),
            ..v1::BuildState::default()
        };
        for state in [now, earlier] {
            let info = build_info(state).unwrap();
            assert_eq!(info.result.as_ref(), Some(&result));
            assert_eq!((info.executed, info.specs), (true, Some((session.clone(), start.clone()))));
        }
        let running = build_info(v1::BuildState::default()).unwrap();
        assert!(running.result.is_none() && running.specs.is_none());
    }
}
