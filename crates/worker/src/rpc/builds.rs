//! The gRPC service `Builds`.

use std::sync::Arc;
use std::time::Duration;

use headwater_contract::v1::builds_server::Builds as Contract;
use headwater_contract::{Fault, FaultKind, v1};
use tonic::{Request, Response, Status};

use crate::builds::service::{BuildService, BuildSpec, State};
use crate::detached::detached;
use crate::engine::Engine;

/// The longest wait of a call for the end of a build.
const MAX_WAIT: Duration = Duration::from_mins(10);

/// Serves the calls of `Builds`.
#[derive(Debug)]
pub(crate) struct BuildsService {
    service: Arc<BuildService>,
}

impl BuildsService {
    /// Must be called within the runtime that answers calls.
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        let service = BuildService::new(engine);
        tokio::spawn(Arc::clone(&service).resume());
        Self { service }
    }
}

#[tonic::async_trait]
impl Contract for BuildsService {
    async fn begin(
        &self,
        request: Request<v1::BeginBuildRequest>,
    ) -> Result<Response<v1::BuildState>, Status> {
        let build = build_spec(request.into_inner())?;
        let service = Arc::clone(&self.service);
        let begun = detached(async move { service.begin(build).await }).await?;
        Ok(Response::new(to_proto(begun)))
    }

    async fn get_build(
        &self,
        request: Request<v1::GetBuildRequest>,
    ) -> Result<Response<v1::BuildState>, Status> {
        let request = request.into_inner();
        let id = request.build_id.parse().map_err(Fault::from)?;
        let wait = Duration::from_millis(request.wait_ms).min(MAX_WAIT);
        Ok(Response::new(to_proto(self.service.state(id, wait).await?)))
    }
}

fn build_spec(request: v1::BeginBuildRequest) -> Result<BuildSpec, Fault> {
    let invalid =
        |error: serde_json::Error| Fault::new(FaultKind::Invalid, format!("invalid build request: {error}"));
    Ok(BuildSpec {
        id: request.build_id.parse()?,
        session: request.session_id.parse()?,
        execution: request.execution_id.parse()?,
        build_session: request.build_session_id.parse()?,
        owner: request.owner,
        metadata: request.metadata.into_iter().collect(),
        spec: match request.compile {
            Some(spec) => spec.try_into()?,
            // From a gateway of an earlier version.
            None => serde_json::from_slice(&request.spec).map_err(invalid)?,
        },
    })
}

fn to_proto(state: State) -> v1::BuildState {
    match state {
        State::Running(None) => v1::BuildState { executed: true, ..v1::BuildState::default() },
        State::Running(Some(specs)) => v1::BuildState {
            executed: true,
            session: Some((&specs.0).into()),
            start: Some((&specs.1).into()),
            ..v1::BuildState::default()
        },
        State::Ended { result, executed } => {
            v1::BuildState { ended: Some((&*result).into()), executed, ..v1::BuildState::default() }
        }
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::build::CompileSpec;
    use headwater_protocol::{BuildId, ExecutionId, SessionId};

    use super::*;

    fn request() -> v1::BeginBuildRequest {
        v1::BeginBuildRequest {
            build_id: BuildId::random().to_string(),
            session_id: SessionId::random().to_string(),
            execution_id: ExecutionId::random().to_string(),
            build_session_id: SessionId::random().to_string(),
            ..v1::BeginBuildRequest::default()
        }
    }

    #[test]
    fn a_build_order_is_read_from_a_message_and_from_the_json_of_an_earlier_gateway() {
        let spec = CompileSpec { source_files: vec!["a.cpp".into()], ..CompileSpec::default() };
        let json = serde_json::to_vec(&spec).unwrap();
        let now = v1::BeginBuildRequest { compile: Some((&spec).into()), ..request() };
        let earlier = v1::BeginBuildRequest { spec: json.into(), ..request() };
        for request in [now, earlier] {
            assert_eq!(build_spec(request).unwrap().spec, spec);
        }
        assert_eq!(build_spec(request()).unwrap_err().kind, FaultKind::Invalid);
    }
}
