//! The gRPC service `Worker`: sessions, executions, output, usage and retention.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use headwater_contract::v1::worker_server::Worker;
use headwater_contract::{Fault, FaultKind, v1};
use headwater_protocol::{ExecutionId, SessionId, SessionSpec, StartSpec, TtySize};
use headwater_sandbox::wire::{Cause, Target};
use tonic::{Request, Response, Status, Streaming};

use crate::builds::reserved;
use crate::detached::{blocking, detached};
use crate::engine::Engine;
use crate::executions::execution::Execution;
use crate::executions::follow::{self, FollowStream};
use crate::executions::output;
use crate::executions::stdin::StdinPipe;
use crate::executions::{ended, start};
use crate::retention;
use crate::rpc::ports;
use crate::rpc::response_stream::ResponseStream;
use crate::sessions::session::{Accepted, Expects, Session, grace};
use crate::sessions::{create, end, hibernation, update};
use crate::usage::{self, processes};

type Answer<T> = Result<Response<T>, Status>;

/// The longest wait of a call for the end of an execution.
const MAX_WAIT: Duration = Duration::from_mins(10);

/// The most removals in one response.
const MAX_REMOVED: usize = 1_000;

/// Serves the calls of `Worker`.
#[derive(Debug)]
pub(crate) struct WorkerService {
    engine: Arc<Engine>,
}

impl WorkerService {
    pub(crate) const fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    fn execution(&self, id: &str) -> Result<Arc<Execution>, Fault> {
        self.engine.execution(id.parse()?)
    }

    /// An execution whose program may still run, and its session.
    fn running(&self, id: &str) -> Result<(Arc<Execution>, Arc<Session>), Fault> {
        let execution = self.execution(id)?;
        if execution.head().closed {
            let fault = Fault::new(FaultKind::Conflict, format!("`{id}` has ended"));
            return Err(fault.hint("its output can still be read"));
        }
        let session = self.engine.sessions.live(execution.session_id())?;
        Ok((execution, session))
    }

    async fn begin(&self, request: Option<v1::StartRequest>, expects: Expects) -> Result<Accepted, Fault> {
        let request = request.ok_or_else(|| Fault::new(FaultKind::Invalid, "nothing to start"))?;
        let session: SessionId = request.session_id.parse()?;
        let id: Option<ExecutionId> = request.execution_id.map(|id| id.parse()).transpose()?;
        let spec: StartSpec =
            request.spec.ok_or_else(|| Fault::new(FaultKind::Invalid, "nothing to start"))?.try_into()?;
        let engine = Arc::clone(&self.engine);
        detached(async move { start::start(&engine, session, id, spec, expects).await }).await
    }
}

const fn expects(lossless: bool) -> Expects {
    if lossless { Expects::LosslessReader } else { Expects::Nobody }
}

#[tonic::async_trait]
impl Worker for WorkerService {
    async fn info(&self, _: Request<v1::InfoRequest>) -> Answer<v1::InfoResponse> {
        let engine = &self.engine;
        let sessions = engine.sessions.all_live();
        let running: u32 = sessions.iter().map(|session| session.info().running).sum();
        let language = |language: &crate::languages::Language| v1::Language {
            name: language.name.clone(),
            interpreter: language.interpreter.clone(),
        };
        Ok(Response::new(v1::InfoResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            pid: std::process::id(),
            sandbox: engine.config.sandbox.name().to_owned(),
            started_at_ms: engine.started_at_ms,
            sessions: u32::try_from(sessions.len()).unwrap_or(u32::MAX),
            running,
            hibernated: u32::try_from(engine.sessions.count_hibernated()).unwrap_or(u32::MAX),
            prepared: u32::try_from(engine.pool.len()).unwrap_or(u32::MAX),
            languages: engine.languages.present().map(language).collect(),
            enforcement: usage::limit_descriptions::describe(
                engine.cgroups.as_ref(),
                engine.projects.are_on(),
            )
            .into_iter()
            .collect::<HashMap<_, _>>(),
        }))
    }

    async fn create_session(&self, request: Request<v1::CreateSessionRequest>) -> Answer<v1::Session> {
        let request = request.into_inner();
        let id = request.session_id.map(|id| id.parse()).transpose().map_err(Fault::from)?;
        let mut spec: SessionSpec = request.spec.map(TryInto::try_into).transpose()?.unwrap_or_default();
        reserved::strip(&mut spec);
        let engine = Arc::clone(&self.engine);
        let session = detached(async move { create::create(&engine, id, spec).await }).await?;
        Ok(Response::new((&session).into()))
    }

    async fn get_session(&self, request: Request<v1::GetSessionRequest>) -> Answer<v1::Session> {
        let id = request.into_inner().session_id.parse().map_err(Fault::from)?;
        Ok(Response::new((&self.engine.sessions.info(id)?).into()))
    }

    async fn list_sessions(
        &self,
        request: Request<v1::ListSessionsRequest>,
    ) -> Answer<v1::ListSessionsResponse> {
        let request = request.into_inner();
        let sessions = self.engine.sessions.list(request.include_ended, request.brief);
        Ok(Response::new(v1::ListSessionsResponse { sessions: sessions.iter().map(Into::into).collect() }))
    }

    async fn update_session(&self, request: Request<v1::UpdateSessionRequest>) -> Answer<v1::Session> {
        let request = request.into_inner();
        let id = request.session_id.parse().map_err(Fault::from)?;
        Ok(Response::new((&update::update(&self.engine, id, request).await?).into()))
    }

    async fn end_session(&self, request: Request<v1::EndSessionRequest>) -> Answer<v1::Session> {
        let request = request.into_inner();
        let id = request.session_id.parse().map_err(Fault::from)?;
        let engine = Arc::clone(&self.engine);
        let ended = detached(async move { end::end(&engine, id, request.forget).await }).await?;
        Ok(Response::new((&ended).into()))
    }

    async fn hibernate_session(&self, request: Request<v1::HibernateSessionRequest>) -> Answer<v1::Session> {
        let id = request.into_inner().session_id.parse().map_err(Fault::from)?;
        let engine = Arc::clone(&self.engine);
        let session = detached(async move { hibernation::hibernate(&engine, id).await }).await?;
        Ok(Response::new((&session).into()))
    }

    async fn list_usage(&self, _: Request<v1::ListUsageRequest>) -> Answer<v1::ListUsageResponse> {
        let engine = Arc::clone(&self.engine);
        let sessions = blocking(move || Ok(processes::all(&engine))).await?;
        Ok(Response::new(v1::ListUsageResponse { sessions }))
    }

    async fn get_usage(&self, request: Request<v1::GetUsageRequest>) -> Answer<v1::GetUsageResponse> {
        let id = request.into_inner().session_id.parse().map_err(Fault::from)?;
        Ok(Response::new((&usage::session::current(&self.engine, id).await?).into()))
    }

    async fn disk(&self, _: Request<v1::DiskRequest>) -> Answer<v1::DiskResponse> {
        let engine = Arc::clone(&self.engine);
        Ok(Response::new(blocking(move || Ok(processes::disk(&engine))).await?))
    }

    async fn list_removed(
        &self,
        request: Request<v1::ListRemovedRequest>,
    ) -> Answer<v1::ListRemovedResponse> {
        let request = request.into_inner();
        let limit = usize::try_from(request.limit).unwrap_or(usize::MAX).min(MAX_REMOVED);
        let logs = self.engine.retention.removed_after(request.after, limit);
        Ok(Response::new(v1::ListRemovedResponse { logs }))
    }

    async fn prune(&self, request: Request<v1::PruneRequest>) -> Answer<v1::PruneResponse> {
        let request = request.into_inner();
        let filter = retention::Filter {
            owner: request.owner,
            session: request.session_id.map(|id| id.parse()).transpose().map_err(Fault::from)?,
            older_than_ms: request.older_than_ms,
            keep: request.keep,
            all: request.all,
        };
        let engine = Arc::clone(&self.engine);
        let pruned =
            detached(async move { retention::prune(&engine, filter, request.dry_run).await }).await?;
        Ok(Response::new(pruned))
    }

    async fn start(&self, request: Request<v1::StartRequest>) -> Answer<v1::Execution> {
        let request = request.into_inner();
        let expects = expects(request.lossless);
        let accepted = self.begin(Some(request), expects).await?;
        // The sender is dropped if there is nothing to wait for.
        let _ = accepted.answered.await;
        Ok(Response::new((&accepted.execution.info()).into()))
    }

    type RunStream = FollowStream;

    async fn run(&self, request: Request<v1::RunRequest>) -> Answer<FollowStream> {
        let v1::RunRequest { start, follow } = request.into_inner();
        let follow = follow.unwrap_or_default();
        let accepted = self.begin(start, expects(follow.lossless)).await?;
        let log = accepted.execution.log()?;
        let redactor = self.engine.terminals.redactor(&accepted.execution, &log);
        Ok(Response::new(follow::follow(&log, &follow, redactor)?))
    }

    async fn get_execution(&self, request: Request<v1::GetExecutionRequest>) -> Answer<v1::Execution> {
        let request = request.into_inner();
        let execution = self.execution(&request.execution_id)?;
        if request.wait_ms > 0 {
            let closed = request.until == i32::from(v1::Until::Closed);
            execution.wait(Duration::from_millis(request.wait_ms).min(MAX_WAIT), closed).await;
        }
        Ok(Response::new((&execution.full_info()).into()))
    }

    async fn list_executions(
        &self,
        request: Request<v1::ListExecutionsRequest>,
    ) -> Answer<v1::ListExecutionsResponse> {
        let request = request.into_inner();
        let session = request.session_id.map(|id| id.parse()).transpose().map_err(Fault::from)?;
        let infos = self.engine.executions.list(session).into_iter().map(|execution| execution.info());
        let wanted = infos.filter(|info| {
            (!request.running_only || info.state.verdict().is_none())
                && request.started_after_ms.is_none_or(|after| info.started_at_ms > after)
        });
        let executions = wanted.map(|mut info| {
            if request.brief {
                info.spec.env.clear();
            }
            (&info).into()
        });
        let executions = executions.collect();
        Ok(Response::new(v1::ListExecutionsResponse { executions }))
    }

    type FollowStream = FollowStream;

    async fn follow(&self, request: Request<v1::FollowRequest>) -> Answer<FollowStream> {
        let request = request.into_inner();
        let execution = self.execution(&request.execution_id)?;
        let log = execution.log()?;
        let redactor = self.engine.terminals.redactor(&execution, &log);
        Ok(Response::new(follow::follow(&log, &request.options.unwrap_or_default(), redactor)?))
    }

    async fn kept(&self, request: Request<v1::KeptRequest>) -> Answer<v1::KeptResponse> {
        let request = request.into_inner();
        let log = self.execution(&request.execution_id)?.log()?;
        Ok(Response::new(output::kept(&log, &request)?))
    }

    type ReadStream = output::ReadStream;

    async fn read(&self, request: Request<v1::ReadRequest>) -> Answer<output::ReadStream> {
        let request = request.into_inner();
        let execution = self.execution(&request.execution_id)?;
        let log = execution.log()?;
        let redactor = self.engine.terminals.redactor(&execution, &log);
        Ok(Response::new(output::read(&log, &request, redactor)?))
    }

    type WriteStdinStream =
        std::pin::Pin<Box<dyn futures_util::Stream<Item = Result<v1::StdinWritten, Status>> + Send>>;

    async fn write_stdin(
        &self,
        request: Request<Streaming<v1::StdinChunk>>,
    ) -> Answer<Self::WriteStdinStream> {
        let mut chunks = request.into_inner();
        let nothing = || Fault::new(FaultKind::Invalid, "nothing to write");
        let first = chunks.message().await?.ok_or_else(nothing)?;
        let (execution, session) = self.running(&first.execution_id)?;
        let stdin = execution.stdin().await?;
        let chunks = futures_util::stream::once(async { Ok(first) }).chain(chunks);
        let written = chunks.then(move |chunk: Result<v1::StdinChunk, Status>| {
            let (stdin, session, execution) =
                (Arc::clone(&stdin), Arc::clone(&session), Arc::clone(&execution));
            async move {
                let chunk = chunk?;
                session.touch();
                if let Some(screen) = execution.screen() {
                    screen.touch();
                }
                let offset = if chunk.data.is_empty() {
                    stdin.written().await?
                } else {
                    stdin.write(chunk.offset, chunk.data).await?
                };
                if chunk.eof
                    && let Err(fault) = end_input(&stdin, &session, execution.id()).await
                {
                    // A program that has ended no longer reads, so its input has ended as requested.
                    if execution.head().verdict.is_none() {
                        return Err(fault.into());
                    }
                }
                Ok(v1::StdinWritten { offset })
            }
        });
        Ok(Response::new(Box::pin(written)))
    }

    async fn signal(&self, request: Request<v1::SignalRequest>) -> Answer<v1::SignalResponse> {
        let request = request.into_inner();
        if !(1..=64).contains(&request.signal) {
            let fault = Fault::new(FaultKind::Invalid, format!("signal {} does not exist", request.signal));
            return Err(fault.hint("signals are numbered from 1 to 64").into());
        }
        let (execution, session) = self.running(&request.execution_id)?;
        let target = if request.tree { Target::Tree } else { Target::Group };
        session.signal(execution.id(), request.signal, target).await?;
        Ok(Response::new(v1::SignalResponse {}))
    }

    async fn cancel(&self, request: Request<v1::CancelRequest>) -> Answer<v1::CancelResponse> {
        let request = request.into_inner();
        let execution = self.execution(&request.execution_id)?;
        // Cancelling an execution that has ended is not an error: it ends daemons that it left. Those of a session
        // that is not live have ended with it.
        let session = match self.engine.sessions.live(execution.session_id()) {
            Err(_) if execution.head().closed => None,
            session => Some(session?),
        };
        if let Some(session) = session {
            let own = grace(&execution.record().spec);
            let grace = request.grace_ms.map_or(own, Duration::from_millis);
            session.stop(execution.id(), Cause::Cancelled, grace).await?;
        }
        Ok(Response::new(v1::CancelResponse {}))
    }

    async fn resize(&self, request: Request<v1::ResizeRequest>) -> Answer<v1::ResizeResponse> {
        let request = request.into_inner();
        let size = request.size.ok_or_else(|| Fault::new(FaultKind::Invalid, "the size is missing"))?;
        let size: TtySize = size.try_into()?;
        self.execution(&request.execution_id)?.resize(size)?;
        Ok(Response::new(v1::ResizeResponse {}))
    }

    async fn list_processes(
        &self,
        request: Request<v1::ListProcessesRequest>,
    ) -> Answer<v1::ListProcessesResponse> {
        let execution = self.execution(&request.into_inner().execution_id)?;
        let processes = match self.engine.sessions.live(execution.session_id()) {
            Ok(session) => session.processes(execution.id()).await?,
            Err(_) => Vec::new(), // the session has ended, and all its processes with it
        };
        let processes = processes.iter().map(Into::into).collect();
        Ok(Response::new(v1::ListProcessesResponse { processes }))
    }

    async fn list_ports(&self, request: Request<v1::ListPortsRequest>) -> Answer<v1::ListPortsResponse> {
        let id = request.into_inner().session_id.parse().map_err(Fault::from)?;
        Ok(Response::new(usage::ports::listening(&self.engine, id).await?))
    }

    type ConnectPortStream = ResponseStream<v1::ConnectPortResponse>;

    async fn connect_port(
        &self,
        request: Request<Streaming<v1::ConnectPortRequest>>,
    ) -> Answer<Self::ConnectPortStream> {
        let mut chunks = request.into_inner();
        let nothing = || Fault::new(FaultKind::Invalid, "the port is missing");
        let first = chunks.message().await?.ok_or_else(nothing)?;
        let session = self.engine.sessions.live(first.session_id.parse().map_err(Fault::from)?)?;
        Ok(Response::new(ports::connect(&self.engine, session, first.port, chunks).await?))
    }

    async fn forget(&self, request: Request<v1::ForgetRequest>) -> Answer<v1::ForgetResponse> {
        let id = request.into_inner().execution_id.parse().map_err(Fault::from)?;
        ended::forget(&self.engine, id)?;
        Ok(Response::new(v1::ForgetResponse {}))
    }

    async fn shutdown(&self, request: Request<v1::ShutdownRequest>) -> Answer<v1::ShutdownResponse> {
        let (engine, request) = (Arc::clone(&self.engine), request.into_inner());
        detached(async move {
            let mut done = v1::ShutdownResponse::default();
            if request.hibernate || request.sessions {
                done = hibernation::hibernate_all(&engine).await;
            }
            engine.stop.cancel();
            Ok(Response::new(done))
        })
        .await
        .map_err(Into::into)
    }
}

/// Ends a program's input, in the worker and in init.
async fn end_input(stdin: &StdinPipe, session: &Session, id: ExecutionId) -> Result<(), Fault> {
    if stdin.end().await? {
        session.close_stdin(id).await?;
    }
    Ok(())
}
