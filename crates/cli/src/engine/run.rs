//! Starting something so that asking twice starts one: the names under which it is asked for are chosen before.

use headwater_client::{Client as Server, IdempotencyKey};
use headwater_contract::{Client as Worker, FollowOptions};
use headwater_protocol::api::{ExecutionBody, StartRequest};
use headwater_protocol::{ExecutionId, SessionId, SessionSpec, StartSpec};

use super::{Engine, Events, Result};

/// In which session.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// One of its own that ends with it.
    Own(Box<SessionSpec>),
    /// This one.
    In(SessionId),
}

/// Something that is to be started.
#[derive(Debug)]
pub struct Run {
    target: Target,
    spec: StartSpec,
    /// Of the session of its own, on this machine.
    session: SessionId,
    /// On this machine.
    id: ExecutionId,
    /// At a server.
    key: IdempotencyKey,
}

impl Run {
    /// Chooses the names.
    pub fn new(target: Target, spec: StartSpec) -> Self {
        let session = match target {
            Target::Own(_) => SessionId::random(),
            Target::In(session) => session,
        };
        Self { target, spec, session, id: ExecutionId::random(), key: IdempotencyKey::random() }
    }

    /// The request to a server, and the session it is for. A session of its own gets its limits by the request.
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
    /// Starts it and leaves it alone.
    pub async fn start(&self, run: &Run) -> Result<ExecutionBody> {
        match self {
            Self::Local(worker) => {
                make_session(worker, run).await?;
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

    /// Starts it and follows it until its program has ended.
    pub async fn run(&self, run: &Run) -> Result<(ExecutionId, Events)> {
        match self {
            Self::Local(worker) => {
                make_session(worker, run).await?;
                // As with a pipe: a program waits for whoever reads it.
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

    /// Nothing was started: a session that was made for it is not needed.
    pub async fn undo(&self, run: &Run) {
        // A server makes no session without an execution.
        if let (Self::Local(worker), Target::Own(_)) = (self, &run.target) {
            let _ = worker.end_session(run.session, true).await; // it may not be there, or the worker may not
        }
    }
}

async fn make_session(worker: &Worker, run: &Run) -> Result<()> {
    if let Target::Own(spec) = &run.target {
        worker.retry(|worker| worker.create_session(Some(run.session), spec)).await?;
    }
    Ok(())
}
