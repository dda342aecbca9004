//! Terminals: what an emulator knows of an execution on a terminal. The service.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::Stream;
use headwater_contract::v1::{self, terminals_server::Terminals as Contract};
use tonic::{Request, Response, Status};

use crate::engine::Engine;

/// Answers the contract's calls.
#[derive(Debug)]
pub(crate) struct Terminals {
    _engine: Arc<Engine>,
}

impl Terminals {
    pub(crate) const fn new(engine: Arc<Engine>) -> Self {
        Self { _engine: engine }
    }
}

#[tonic::async_trait]
impl Contract for Terminals {
    async fn snapshot(
        &self,
        _: Request<v1::SnapshotRequest>,
    ) -> Result<Response<v1::SnapshotResponse>, Status> {
        Err(Status::unimplemented("snapshot"))
    }

    async fn list_sizes(
        &self,
        _: Request<v1::ListSizesRequest>,
    ) -> Result<Response<v1::ListSizesResponse>, Status> {
        Err(Status::unimplemented("list_sizes"))
    }

    type FollowMarksStream = Pin<Box<dyn Stream<Item = Result<v1::FollowMarksResponse, Status>> + Send>>;

    async fn follow_marks(
        &self,
        _: Request<v1::FollowMarksRequest>,
    ) -> Result<Response<Self::FollowMarksStream>, Status> {
        Err(Status::unimplemented("follow_marks"))
    }
}
