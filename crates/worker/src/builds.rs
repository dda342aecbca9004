//! Builds: the service, and the parts of a build that need to be told apart.
//!
//! `service` → [`run`] (the course of a build) → [`plan`] (compiler, [`flags`], [`inputs`], keys) → [`cache`]; what must
//! be compiled goes to a session of its own as the script of [`driver`], and [`collect`] reads what that left.

mod cache;
mod collect;
mod compiler;
pub(crate) mod config;
mod depfile;
mod driver;
mod flags;
mod gcc;
mod inputs;
mod key;
pub(crate) mod mark;
mod own;
mod plan;
mod record;
mod run;
mod scan;
mod system;

use std::sync::Arc;
use std::time::Duration;

use headwater_contract::v1::builds_server::Builds as Contract;
use headwater_contract::{Fault, FaultKind, v1};
use serde::Serialize;
use tonic::{Request, Response, Status};

use self::run::{Order, State, Workshop};
use crate::engine::Engine;
use crate::tasks::to_the_end;

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
        Ok(Response::new(told(begun)?))
    }

    async fn get_build(
        &self,
        request: Request<v1::GetBuildRequest>,
    ) -> Result<Response<v1::BuildState>, Status> {
        let request = request.into_inner();
        let id = request.build_id.parse().map_err(Fault::from)?;
        let wait = Duration::from_millis(request.wait_ms).min(MAX_WAIT);
        Ok(Response::new(told(self.workshop.state(id, wait).await?)?))
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
        spec: serde_json::from_slice(&request.spec).map_err(nonsense)?,
    })
}

fn told(state: State) -> Result<v1::BuildState, Fault> {
    match state {
        State::Running(None) => Ok(v1::BuildState { executed: true, ..v1::BuildState::default() }),
        State::Running(Some(specs)) => Ok(v1::BuildState {
            executed: true,
            session_spec: Some(json(&specs.0)?),
            start_spec: Some(json(&specs.1)?),
            result: None,
        }),
        State::Ended { result, executed } => {
            Ok(v1::BuildState { result: Some(json(&*result)?), executed, ..v1::BuildState::default() })
        }
    }
}

fn json(value: &impl Serialize) -> Result<bytes::Bytes, Fault> {
    let text = serde_json::to_vec(value);
    text.map(Into::into).map_err(|error| Fault::new(FaultKind::Internal, error.to_string()))
}
