//! The service of builds: takes calls apart and hands them to [`crate::builds`].

use std::sync::Arc;
use std::time::Duration;

use headwater_contract::v1::builds_server::Builds as Contract;
use headwater_contract::{Fault, FaultKind, v1};
use tonic::{Request, Response, Status};

use crate::builds::run::{Order, State, Workshop};
use crate::detached::to_the_end;
use crate::engine::Engine;

/// The longest that a call waits for an end.
const MAX_WAIT: Duration = Duration::from_mins(10);

/// Answers the contract's calls.
#[derive(Debug)]
pub(crate) struct Builds {
    workshop: Arc<Workshop>,
}

impl Builds {
    /// To be called within the runtime that answers calls.
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        let workshop = Workshop::new(engine);
        tokio::spawn(Arc::clone(&workshop).take_up());
        Self { workshop }
    }
}

#[tonic::async_trait]
impl Contract for Builds {
    async fn begin(
        &self,
        request: Request<v1::BeginBuildRequest>,
    ) -> Result<Response<v1::BuildState>, Status> {
        let order = order(request.into_inner())?;
        let workshop = Arc::clone(&self.workshop);
        let begun = to_the_end(async move { workshop.begin(order).await }).await?;
        Ok(Response::new(told(begun)))
    }

    async fn get_build(
        &self,
        request: Request<v1::GetBuildRequest>,
    ) -> Result<Response<v1::BuildState>, Status> {
        let request = request.into_inner();
        let id = request.build_id.parse().map_err(Fault::from)?;
        let wait = Duration::from_millis(request.wait_ms).min(MAX_WAIT);
        Ok(Response::new(told(self.workshop.state(id, wait).await?)))
    }
}

fn order(request: v1::BeginBuildRequest) -> Result<Order, Fault> {
    let nonsense = |error: serde_json::Error| {
        Fault::new(FaultKind::Invalid, format!("what is to be built makes no sense: {error}"))
    };
    Ok(Order {
        id: request.build_id.parse()?,
        session: request.session_id.parse()?,
        execution: request.execution_id.parse()?,
        build_session: request.build_session_id.parse()?,
        owner: request.owner,
        metadata: request.metadata.into_iter().collect(),
        spec: match request.compile {
            Some(spec) => spec.try_into()?,
            // From a gateway of an earlier version.
            None => serde_json::from_slice(&request.spec).map_err(nonsense)?,
        },
    })
}

fn told(state: State) -> v1::BuildState {
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
            assert_eq!(order(request).unwrap().spec, spec);
        }
        assert_eq!(order(request()).unwrap_err().kind, FaultKind::Invalid);
    }
}
