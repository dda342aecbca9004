//! The gRPC services of the contract on one socket: each call is dispatched by the name of its service.

mod access_log;
mod builds;
pub(crate) mod connections;
pub(crate) mod files;
pub(crate) mod languages;
pub(crate) mod ports;
pub(crate) mod response_stream;
mod terminals;
pub(crate) mod trees;
pub(crate) mod worker;

use std::convert::Infallible;
use std::sync::Arc;
use std::task::{Context, Poll};

use headwater_contract::v1::builds_server::BuildsServer;
use headwater_contract::v1::files_server::FilesServer;
use headwater_contract::v1::languages_server::LanguagesServer;
use headwater_contract::v1::terminals_server::TerminalsServer;
use headwater_contract::v1::trees_server::TreesServer;
use headwater_contract::v1::worker_server::WorkerServer;
use headwater_contract::{Fault, FaultKind, MAX_MESSAGE_BYTES, panics};
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{Request, Response};
use tonic::codegen::{BoxFuture, Service as Tower};

use self::access_log::{Call, logged};
use self::builds::BuildsService;
use self::terminals::TerminalsService;
use self::trees::TreesService;
use crate::engine::Engine;
use crate::rpc::files::FilesService;
use crate::rpc::languages::LanguagesService;
use crate::rpc::worker::WorkerService;

/// All services of a worker; cheap to clone.
#[derive(Debug, Clone)]
pub(crate) struct Services {
    worker: WorkerServer<WorkerService>,
    files: FilesServer<FilesService>,
    trees: TreesServer<TreesService>,
    builds: BuildsServer<BuildsService>,
    terminals: TerminalsServer<TerminalsService>,
    languages: LanguagesServer<LanguagesService>,
}

macro_rules! server {
    ($server:ident, $service:expr) => {
        $server::new($service)
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    };
}

impl Services {
    pub(crate) fn new(engine: &Arc<Engine>) -> Self {
        Self {
            worker: server!(WorkerServer, WorkerService::new(Arc::clone(engine))),
            files: server!(FilesServer, FilesService::new(Arc::clone(engine))),
            trees: server!(TreesServer, TreesService::new(Arc::clone(engine))),
            builds: server!(BuildsServer, BuildsService::new(Arc::clone(engine))),
            languages: server!(LanguagesServer, LanguagesService::new(Arc::clone(engine))),
            terminals: server!(TerminalsServer, TerminalsService::new(Arc::clone(engine))),
        }
    }
}

/// The name of the service in the path of a call: `/headwater.worker.v1.Files/Read`.
fn service_of(path: &str) -> &str {
    let service = path.strip_prefix("/headwater.worker.v1.").unwrap_or(path);
    service.split('/').next().unwrap_or_default()
}

impl<B> Tower<Request<B>> for Services
where
    B: tonic::codegen::Body + Send + 'static,
    B::Error: Into<tonic::codegen::StdError> + Send + 'static,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<Response<Body>, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let call = Call::of(&request);
        Box::pin(logged(call, answered(self.dispatch(request))))
    }
}

/// The response of a call; a panic in it is an error of this call alone.
async fn answered(
    call: impl Future<Output = Result<Response<Body>, Infallible>>,
) -> Result<Response<Body>, Infallible> {
    let panicked = || {
        let fault = Fault::new(FaultKind::Internal, "the call panicked; the worker's log has the cause");
        Ok(Status::from(fault).into_http())
    };
    panics::caught(call).await.unwrap_or_else(panicked)
}

impl Services {
    fn dispatch<B>(&mut self, request: Request<B>) -> BoxFuture<Response<Body>, Infallible>
    where
        B: tonic::codegen::Body + Send + 'static,
        B::Error: Into<tonic::codegen::StdError> + Send + 'static,
    {
        match service_of(request.uri().path()) {
            "Files" => self.files.call(request),
            "Trees" => self.trees.call(request),
            "Builds" => self.builds.call(request),
            "Languages" => self.languages.call(request),
            "Terminals" => self.terminals.call(request),
            _ => self.worker.call(request), // also unknown services: it answers `unimplemented`
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_call_that_panics_answers_with_an_internal_error() {
        let Ok(answer) = answered(async { panic!("a bug") }).await;
        let status = Status::from_header_map(answer.headers()).unwrap();
        let error = headwater_contract::ContractError::from(status);
        assert_eq!(error.fault().unwrap().kind, FaultKind::Internal);
    }

    #[test]
    fn a_call_is_led_by_the_name_of_its_service() {
        assert_eq!(service_of("/headwater.worker.v1.Files/Read"), "Files");
        assert_eq!(service_of("/headwater.worker.v1.Worker/Start"), "Worker");
        assert_eq!(service_of("/other.Files/Read"), "");
    }
}
