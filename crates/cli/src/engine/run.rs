//! Starts executions idempotently: ids and keys are chosen before the request, so that repeating it starts only one.

use headwater_client::{Client as Server, IdempotencyKey};
use headwater_contract::{Client as Worker, FollowOptions};
use headwater_protocol::api::{ExecutionBody, StartRequest};
use headwater_protocol::{ExecutionId, SessionId, SessionSpec, StartSpec};

use super::{Engine, Events, Result};
use crate::in_place;

/// The session to run in.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A temporary session that ends with the program.
    Own(Box<SessionSpec>),
    /// This session.
    In(SessionId),
}

/// An execution to start, with the ids chosen for it.
#[derive(Debug)]
pub struct Run {
    target: Target,
    spec: StartSpec,
    /// The id of the temporary session, for the worker on this machine.
    session: SessionId,
    /// The id of the execution, for the worker on this machine.
    id: ExecutionId,
    /// The idempotency key, for a server.
    key: IdempotencyKey,
}

impl Run {
    /// Chooses the ids.
    pub fn new(target: Target, spec: StartSpec) -> Self {
        let session = match target {
            Target::Own(_) => SessionId::random(),
            Target::In(session) => session,
        };
        Self { target, spec, session, id: ExecutionId::random(), key: IdempotencyKey::random() }
    }

    /// The request to a server, and its session. A temporary session gets its limits from the request.
    fn request(&self) -> (Option<SessionId>, StartRequest) {
        let mut request = StartRequest::from(self.spec.clone());
        match &self.target {
            Target::In(session) => (Some(*session), request),
            Target::Own(session) => {
                request.limits.clone_from(&session.limits);
                (None, request)
            }
        }
    }
}

impl Engine {
    /// Starts the execution without following it.
    pub async fn start(&self, run: &Run) -> Result<ExecutionBody> {
        match self {
            Self::Local(worker) => {
                create_session(worker, run).await?;
                Ok(worker.retry(|worker| worker.start(run.session, Some(run.id), &run.spec)).await?.into())
            }
            Self::Remote(server) => {
                let (session, request) = run.request();
                let request = &request;
                let start =
                    |server: Server| async move { server.start(session, request, Some(&run.key)).await };
                Ok(server.retry_known_server(start).await?)
            }
        }
    }

    /// Starts the execution and follows it until its program has ended.
    pub async fn run(&self, run: &Run) -> Result<(ExecutionId, Events)> {
        match self {
            Self::Local(worker) => {
                create_session(worker, run).await?;
                // As with a pipe: the program waits for its reader.
                let options = FollowOptions { lossless: true, ..FollowOptions::default() };
                let run_it =
                    worker.retry(|worker| worker.run(run.session, run.id, &run.spec, options.clone()));
                Ok((run.id, Events::local(run_it.await?)))
            }
            Self::Remote(server) => {
                let (session, request) = run.request();
                let options = headwater_client::FollowOptions {
                    batch_ms: Some(0),
                    lossless: true,
                    ..headwater_client::FollowOptions::default()
                };
                let mut follower = server.run_with_key(session, &request, options, run.key.clone()).await?;
                Ok((follower.identify().await?, Events::started(follower)))
            }
        }
    }

    /// Deletes the temporary session after a failed start.
    pub async fn undo(&self, run: &Run) {
        // A server creates no session without an execution.
        if let (Self::Local(worker), Target::Own(_)) = (self, &run.target) {
            let _ = worker.end_session(run.session, true).await; // the session or the worker may not exist
        }
    }
}

async fn create_session(worker: &Worker, run: &Run) -> Result<()> {
    if let Target::Own(spec) = &run.target {
        let created = worker.retry(|worker| worker.create_session(Some(run.session), spec)).await?;
        in_place::check_created(spec, &created)?;
    }
    Ok(())
}
