//! A typed client for a worker's socket.
//!
//! One method a call; what streams has a file of its own: [`Follower`] and [`StdinWriter`].

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use headwater_protocol::{
    Execution, ExecutionId, Process, Session, SessionId, SessionSpec, StartSpec, TtySize,
};
use hyper_util::rt::TokioIo;
use tokio::net::UnixStream;
use tonic::Status;
use tonic::transport::{Channel, Endpoint, Uri};
use tower::service_fn;

use crate::error::{ContractError, Fault};
use crate::follower::{FollowOptions, Follower};
use crate::retry::WorkerRestarter;
use crate::stdin::StdinWriter;
use crate::v1::{
    self, builds_client::BuildsClient, files_client::FilesClient, languages_client::LanguagesClient,
    terminals_client::TerminalsClient, trees_client::TreesClient, worker_client::WorkerClient,
};

type Result<T> = std::result::Result<T, ContractError>;

/// The largest message either side sends: one event of the log is at most 1 MiB.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;
/// What one stream may hold that its reader has not read: it bounds what a reader that never reads costs the worker.
const STREAM_WINDOW_BYTES: u32 = 256 << 10;
/// The same for all streams of a connection, which a gateway shares among thousands of readers: those that are stuck
/// must never hold up the others, so it is no bound at all.
const CONNECTION_WINDOW_BYTES: u32 = (1 << 31) - 1;

/// The largest frame that the worker may send: an event of a flood with what surrounds it, in one write and one read
/// instead of five.
const FRAME_BYTES: u32 = 128 << 10;

/// A connection to a worker; cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    channel: Channel,
    worker: WorkerClient<Channel>,
    socket: PathBuf,
    restarter: Option<Arc<dyn WorkerRestarter>>,
}

/// Connects to the worker that listens on this socket.
pub async fn connect(socket: &Path) -> Result<Client> {
    connect_with(socket, STREAM_WINDOW_BYTES).await
}

/// The same with another bound on what one stream may hold that its reader has not read.
pub async fn connect_with(socket: &Path, stream_window_bytes: u32) -> Result<Client> {
    let path = socket.to_owned();
    let endpoint = Endpoint::from_static("http://worker.invalid") // the address is the socket's path
        .initial_stream_window_size(stream_window_bytes)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES);
    let connector = service_fn(move |_: Uri| {
        let path = path.clone();
        async move { Ok::<_, io::Error>(TokioIo::new(UnixStream::connect(path).await?)) }
    });
    let channel = endpoint
        .connect_with_connector(connector)
        .await
        .map_err(|error| ContractError::Disconnected(innermost(&error)))?;
    let worker = WorkerClient::new(channel.clone())
        .max_decoding_message_size(MAX_MESSAGE_BYTES)
        .max_encoding_message_size(MAX_MESSAGE_BYTES);
    Ok(Client { channel, worker, socket: socket.to_owned(), restarter: None })
}

fn innermost(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

pub(crate) fn malformed(fault: &Fault) -> ContractError {
    ContractError::Malformed(fault.message.clone())
}

fn one<T, M: TryInto<T, Error = Fault>>(
    answer: std::result::Result<tonic::Response<M>, Status>,
) -> Result<T> {
    answer?.into_inner().try_into().map_err(|fault| malformed(&fault))
}

impl Client {
    /// The same, with somebody who brings the worker back when it does not answer.
    #[must_use]
    pub fn with_restarter(mut self, restarter: Arc<dyn WorkerRestarter>) -> Self {
        self.restarter = Some(restarter);
        self
    }

    pub(crate) fn restarter(&self) -> Option<&dyn WorkerRestarter> {
        self.restarter.as_deref()
    }

    /// The generated client, for calls that have no method here.
    pub fn raw(&self) -> WorkerClient<Channel> {
        self.worker.clone()
    }

    /// The generated client of single files.
    pub fn files(&self) -> FilesClient<Channel> {
        FilesClient::new(self.channel.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    /// The generated client of whole trees of files.
    pub fn trees(&self) -> TreesClient<Channel> {
        TreesClient::new(self.channel.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    /// The generated client of builds.
    pub fn builds(&self) -> BuildsClient<Channel> {
        BuildsClient::new(self.channel.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    /// The generated client of languages and packages.
    pub fn languages(&self) -> LanguagesClient<Channel> {
        LanguagesClient::new(self.channel.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    /// The generated client of terminals.
    pub fn terminals(&self) -> TerminalsClient<Channel> {
        TerminalsClient::new(self.channel.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    /// The socket this client talks to.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// Who is there.
    pub async fn info(&self) -> Result<v1::InfoResponse> {
        Ok(self.raw().info(v1::InfoRequest {}).await?.into_inner())
    }

    /// Makes a session; with an id, asking twice makes one.
    pub async fn create_session(&self, id: Option<SessionId>, spec: &SessionSpec) -> Result<Session> {
        let request =
            v1::CreateSessionRequest { session_id: id.map(|id| id.to_string()), spec: Some(spec.into()) };
        one(self.raw().create_session(request).await)
    }

    /// Tells of a session.
    pub async fn session(&self, id: SessionId) -> Result<Session> {
        one(self.raw().get_session(v1::GetSessionRequest { session_id: id.to_string() }).await)
    }

    /// Tells of all sessions.
    pub async fn sessions(&self, include_ended: bool) -> Result<Vec<Session>> {
        self.list_sessions(v1::ListSessionsRequest { include_ended, brief: false }).await
    }

    /// All sessions that have not ended, without their environments and metadata, which can be large.
    pub async fn sessions_in_brief(&self) -> Result<Vec<Session>> {
        self.list_sessions(v1::ListSessionsRequest { include_ended: false, brief: true }).await
    }

    async fn list_sessions(&self, request: v1::ListSessionsRequest) -> Result<Vec<Session>> {
        let answer = self.raw().list_sessions(request).await?.into_inner();
        let sessions =
            answer.sessions.into_iter().map(TryInto::try_into).collect::<std::result::Result<_, _>>();
        sessions.map_err(|fault| malformed(&fault))
    }

    /// Changes a session.
    pub async fn update_session(&self, request: v1::UpdateSessionRequest) -> Result<Session> {
        one(self.raw().update_session(request).await)
    }

    /// Ends a session; with `forget`, removes all trace of it.
    pub async fn end_session(&self, id: SessionId, forget: bool) -> Result<Session> {
        one(self.raw().end_session(v1::EndSessionRequest { session_id: id.to_string(), forget }).await)
    }

    /// Puts a session to sleep: its programs end, its workspace stays.
    pub async fn hibernate_session(&self, id: SessionId) -> Result<Session> {
        let request = v1::HibernateSessionRequest { session_id: id.to_string() };
        one(self.raw().hibernate_session(request).await)
    }

    /// What each session uses now, those that sleep included.
    pub async fn usage(&self) -> Result<Vec<v1::SessionUsage>> {
        Ok(self.raw().list_usage(v1::ListUsageRequest {}).await?.into_inner().sessions)
    }

    /// What each owner keeps on the disk. Cheap.
    pub async fn disk(&self) -> Result<v1::DiskResponse> {
        Ok(self.raw().disk(v1::DiskRequest {}).await?.into_inner())
    }

    /// Logs that were removed after the one of this number.
    pub async fn removed(&self, after: u64, limit: u32) -> Result<Vec<v1::RemovedLog>> {
        Ok(self.raw().list_removed(v1::ListRemovedRequest { after, limit }).await?.into_inner().logs)
    }

    /// Removes logs of ended executions, or reports which ones it would remove.
    pub async fn prune(&self, request: v1::PruneRequest) -> Result<v1::PruneResponse> {
        Ok(self.raw().prune(request).await?.into_inner())
    }

    /// Starts something; with an id, asking twice starts one.
    pub async fn start(
        &self,
        session: SessionId,
        id: Option<ExecutionId>,
        spec: &StartSpec,
    ) -> Result<Execution> {
        one(self.raw().start(start_request(session, id, spec)).await)
    }

    /// The same for what a lossless reader will follow at once: no output is dropped before, within the grace.
    pub async fn start_lossless(
        &self,
        session: SessionId,
        id: Option<ExecutionId>,
        spec: &StartSpec,
    ) -> Result<Execution> {
        let request = v1::StartRequest { lossless: true, ..start_request(session, id, spec) };
        one(self.raw().start(request).await)
    }

    /// Starts something and follows it, in one round trip; asking twice with the same id starts one. The stream
    /// goes on over a restart of the worker.
    pub async fn run(
        &self,
        session: SessionId,
        id: ExecutionId,
        spec: &StartSpec,
        options: FollowOptions,
    ) -> Result<Follower> {
        Follower::open(self.clone(), id, options, Some(start_request(session, Some(id), spec))).await
    }

    /// Tells of an execution.
    pub async fn execution(&self, id: ExecutionId) -> Result<Execution> {
        self.wait(id, Duration::ZERO, false).await
    }

    /// Tells of an execution when it has ended (or is closed), or after so long.
    pub async fn wait(&self, id: ExecutionId, at_most: Duration, closed: bool) -> Result<Execution> {
        let until = if closed { v1::Until::Closed } else { v1::Until::Exited };
        let request = v1::GetExecutionRequest {
            execution_id: id.to_string(),
            wait_ms: u64::try_from(at_most.as_millis()).unwrap_or(u64::MAX),
            until: until.into(),
        };
        one(self.raw().get_execution(request).await)
    }

    /// Tells of all executions, or of those of one session.
    pub async fn executions(&self, session: Option<SessionId>, running_only: bool) -> Result<Vec<Execution>> {
        self.list_executions(v1::ListExecutionsRequest {
            session_id: session.map(|id| id.to_string()),
            running_only,
            brief: false,
        })
        .await
    }

    /// The executions that run, of one session or of all, without their environments.
    pub async fn running_in_brief(&self, session: Option<SessionId>) -> Result<Vec<Execution>> {
        let session_id = session.map(|id| id.to_string());
        self.list_executions(v1::ListExecutionsRequest { session_id, running_only: true, brief: true }).await
    }

    async fn list_executions(&self, request: v1::ListExecutionsRequest) -> Result<Vec<Execution>> {
        let answer = self.raw().list_executions(request).await?.into_inner();
        let all = answer.executions.into_iter().map(TryInto::try_into).collect::<std::result::Result<_, _>>();
        all.map_err(|fault| malformed(&fault))
    }

    /// Follows a log. The stream goes on over a restart of the worker.
    pub async fn follow(&self, id: ExecutionId, options: FollowOptions) -> Result<Follower> {
        Follower::open(self.clone(), id, options, None).await
    }

    /// Opens the way to a program's standard input.
    pub async fn stdin(&self, id: ExecutionId) -> Result<StdinWriter> {
        StdinWriter::open(self.raw(), id).await
    }

    /// Sends a signal to an execution's (foreground) group, or to all its processes.
    pub async fn signal(&self, id: ExecutionId, signal: i32, tree: bool) -> Result<()> {
        self.raw().signal(v1::SignalRequest { execution_id: id.to_string(), signal, tree }).await?;
        Ok(())
    }

    /// Cancels an execution; a grace of 0 kills at once, none means its own.
    pub async fn cancel(&self, id: ExecutionId, grace: Option<Duration>) -> Result<()> {
        let grace_ms = grace.map(|grace| u64::try_from(grace.as_millis()).unwrap_or(u64::MAX));
        self.raw().cancel(v1::CancelRequest { execution_id: id.to_string(), grace_ms }).await?;
        Ok(())
    }

    /// Changes the size of an execution's terminal.
    pub async fn resize(&self, id: ExecutionId, size: TtySize) -> Result<()> {
        let request = v1::ResizeRequest { execution_id: id.to_string(), size: Some(size.into()) };
        self.raw().resize(request).await?;
        Ok(())
    }

    /// The processes that belong to an execution now.
    pub async fn processes(&self, id: ExecutionId) -> Result<Vec<Process>> {
        let request = v1::ListProcessesRequest { execution_id: id.to_string() };
        let answer = self.raw().list_processes(request).await?.into_inner();
        Ok(answer.processes.into_iter().map(Into::into).collect())
    }

    /// Removes the log of a closed execution.
    pub async fn forget(&self, id: ExecutionId) -> Result<()> {
        self.raw().forget(v1::ForgetRequest { execution_id: id.to_string() }).await?;
        Ok(())
    }

    /// Ends the worker; with `hibernate`, its awake sessions are hibernated first.
    pub async fn shutdown(&self, hibernate: bool) -> Result<v1::ShutdownResponse> {
        let request = v1::ShutdownRequest { hibernate, ..v1::ShutdownRequest::default() };
        Ok(self.raw().shutdown(request).await?.into_inner())
    }
}

fn start_request(session: SessionId, id: Option<ExecutionId>, spec: &StartSpec) -> v1::StartRequest {
    v1::StartRequest {
        session_id: session.to_string(),
        execution_id: id.map(|id| id.to_string()),
        spec: Some(spec.into()),
        lossless: false,
    }
}
