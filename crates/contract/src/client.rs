//! A typed client for a worker's socket.
//!
//! One method per call. Streams have their own files: [`Follower`] and [`StdinWriter`].

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use headwater_protocol::{
    Execution, ExecutionId, Process, Session, SessionId, SessionSpec, SessionUsage, StartSpec, TtySize,
};
use hyper_util::rt::TokioIo;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::{Channel, Endpoint, Uri};
use tonic::{Code, Status};
use tower::service_fn;

use crate::error::{ContractError, Fault};
use crate::follower::{FollowOptions, Follower};
use crate::ports::{ListeningPorts, PortConnection};
use crate::request_id::SendRequestId;
use crate::retry::WorkerRestarter;
use crate::stdin::StdinWriter;
use crate::transport;
use crate::v1::{
    self, builds_client::BuildsClient, files_client::FilesClient, languages_client::LanguagesClient,
    terminals_client::TerminalsClient, trees_client::TreesClient, worker_client::WorkerClient,
};

type Result<T> = std::result::Result<T, ContractError>;

/// The largest message either side sends: one event of the log is at most 1 MiB.
pub const MAX_MESSAGE_BYTES: usize = 16 << 20;
/// The receive window of one stream: it bounds what a reader that never reads costs the worker.
const STREAM_WINDOW_BYTES: u32 = 256 << 10;
/// The receive window of a connection. A gateway shares one among thousands of readers, and those that do not
/// read must never block the others, so it is the maximum.
const CONNECTION_WINDOW_BYTES: u32 = (1 << 31) - 1;

/// The largest frame that the worker may send: a large event with its envelope, in one write and one read
/// instead of five.
const MAX_FRAME_BYTES: u32 = 128 << 10;

/// The connection of the generated clients, which adds the id of the request to each call.
pub type Transport = InterceptedService<Channel, SendRequestId>;

/// A connection to a worker; cheap to clone.
#[derive(Debug, Clone)]
pub struct Client {
    channel: Transport,
    worker: WorkerClient<Transport>,
    socket: PathBuf,
    restarter: Option<Arc<dyn WorkerRestarter>>,
}

/// Connects to the worker that listens on this socket.
pub async fn connect(socket: &Path) -> Result<Client> {
    connect_with(socket, STREAM_WINDOW_BYTES).await
}

/// Connects with a different receive window for each stream.
pub async fn connect_with(socket: &Path, stream_window_bytes: u32) -> Result<Client> {
    let path = socket.to_owned();
    let endpoint = Endpoint::from_static("http://worker.invalid") // the address is the socket's path
        .initial_stream_window_size(stream_window_bytes)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_frame_size(MAX_FRAME_BYTES);
    let connector = service_fn(move |_: Uri| {
        let path = path.clone();
        async move { Ok::<_, io::Error>(TokioIo::new(transport::open(&path).await?)) }
    });
    let channel = endpoint
        .connect_with_connector(connector)
        .await
        .map_err(|error| ContractError::Disconnected(innermost(&error)))?;
    let channel = InterceptedService::new(channel, SendRequestId);
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

fn convert<T, M: TryInto<T, Error = Fault>>(
    answer: std::result::Result<tonic::Response<M>, Status>,
) -> Result<T> {
    answer?.into_inner().try_into().map_err(|fault| malformed(&fault))
}

impl Client {
    /// Adds a restarter, which starts the worker again when it does not answer.
    #[must_use]
    pub fn with_restarter(mut self, restarter: Arc<dyn WorkerRestarter>) -> Self {
        self.restarter = Some(restarter);
        self
    }

    pub(crate) fn restarter(&self) -> Option<&dyn WorkerRestarter> {
        self.restarter.as_deref()
    }

    /// The generated client, for calls that have no method here.
    pub fn raw(&self) -> WorkerClient<Transport> {
        self.worker.clone()
    }

    /// The generated client of single files.
    pub fn files(&self) -> FilesClient<Transport> {
        FilesClient::new(self.channel.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    /// The generated client of whole trees of files.
    pub fn trees(&self) -> TreesClient<Transport> {
        TreesClient::new(self.channel.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    /// The generated client of builds.
    pub fn builds(&self) -> BuildsClient<Transport> {
        BuildsClient::new(self.channel.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    /// The generated client of languages and packages.
    pub fn languages(&self) -> LanguagesClient<Transport> {
        LanguagesClient::new(self.channel.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    /// The generated client of terminals.
    pub fn terminals(&self) -> TerminalsClient<Transport> {
        TerminalsClient::new(self.channel.clone())
            .max_decoding_message_size(MAX_MESSAGE_BYTES)
            .max_encoding_message_size(MAX_MESSAGE_BYTES)
    }

    /// The socket this client talks to.
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// The worker's version, sandbox, pool and limits.
    pub async fn info(&self) -> Result<v1::InfoResponse> {
        Ok(self.raw().info(v1::InfoRequest {}).await?.into_inner())
    }

    /// Creates a session. With an id, repeating the call creates only one.
    pub async fn create_session(&self, id: Option<SessionId>, spec: &SessionSpec) -> Result<Session> {
        let request =
            v1::CreateSessionRequest { session_id: id.map(|id| id.to_string()), spec: Some(spec.into()) };
        convert(self.raw().create_session(request).await)
    }

    /// Returns a session by its id.
    pub async fn session(&self, id: SessionId) -> Result<Session> {
        convert(self.raw().get_session(v1::GetSessionRequest { session_id: id.to_string() }).await)
    }

    /// Returns all sessions, with or without those that have ended.
    pub async fn sessions(&self, include_ended: bool) -> Result<Vec<Session>> {
        self.list_sessions(v1::ListSessionsRequest { include_ended, brief: false }).await
    }

    /// Returns all sessions that have not ended, without environments and metadata, which can be large.
    pub async fn sessions_in_brief(&self) -> Result<Vec<Session>> {
        self.list_sessions(v1::ListSessionsRequest { include_ended: false, brief: true }).await
    }

    async fn list_sessions(&self, request: v1::ListSessionsRequest) -> Result<Vec<Session>> {
        let answer = self.raw().list_sessions(request).await?.into_inner();
        let sessions =
            answer.sessions.into_iter().map(TryInto::try_into).collect::<std::result::Result<_, _>>();
        sessions.map_err(|fault| malformed(&fault))
    }

    /// Changes a session's name, limits, idle timeout or metadata.
    pub async fn update_session(&self, request: v1::UpdateSessionRequest) -> Result<Session> {
        convert(self.raw().update_session(request).await)
    }

    /// Ends a session; with `forget`, removes everything about it.
    pub async fn end_session(&self, id: SessionId, forget: bool) -> Result<Session> {
        convert(self.raw().end_session(v1::EndSessionRequest { session_id: id.to_string(), forget }).await)
    }

    /// Hibernates a session: its programs end, its workspace stays.
    pub async fn hibernate_session(&self, id: SessionId) -> Result<Session> {
        let request = v1::HibernateSessionRequest { session_id: id.to_string() };
        convert(self.raw().hibernate_session(request).await)
    }

    /// The current usage of each session, hibernated ones included.
    pub async fn usage(&self) -> Result<Vec<v1::SessionUsage>> {
        Ok(self.raw().list_usage(v1::ListUsageRequest {}).await?.into_inner().sessions)
    }

    /// The current usage of a session, which stays hibernated if it is.
    pub async fn session_usage(&self, id: SessionId) -> Result<SessionUsage> {
        let request = v1::GetUsageRequest { session_id: id.to_string() };
        Ok(self.raw().get_usage(request).await?.into_inner().into())
    }

    /// The disk usage of each owner. Cheap.
    pub async fn disk(&self) -> Result<v1::DiskResponse> {
        Ok(self.raw().disk(v1::DiskRequest {}).await?.into_inner())
    }

    /// Logs that were removed after the removal with this number. A worker of an earlier version does not know the call,
    /// and removes no logs.
    pub async fn removed(&self, after: u64, limit: u32) -> Result<Vec<v1::RemovedLog>> {
        match self.raw().list_removed(v1::ListRemovedRequest { after, limit }).await {
            Err(status) if status.code() == Code::Unimplemented => Ok(Vec::new()),
            answer => Ok(answer?.into_inner().logs),
        }
    }

    /// Removes logs of ended executions, or reports which ones it would remove.
    pub async fn prune(&self, request: v1::PruneRequest) -> Result<v1::PruneResponse> {
        Ok(self.raw().prune(request).await?.into_inner())
    }

    /// Starts an execution. With an id, repeating the call starts only one.
    pub async fn start(
        &self,
        session: SessionId,
        id: Option<ExecutionId>,
        spec: &StartSpec,
    ) -> Result<Execution> {
        convert(self.raw().start(start_request(session, id, spec)).await)
    }

    /// Starts an execution that a lossless reader will follow at once: until then no output is dropped, for a
    /// grace period.
    pub async fn start_lossless(
        &self,
        session: SessionId,
        id: Option<ExecutionId>,
        spec: &StartSpec,
    ) -> Result<Execution> {
        let request = v1::StartRequest { lossless: true, ..start_request(session, id, spec) };
        convert(self.raw().start(request).await)
    }

    /// Starts an execution and follows it, in one round trip. Repeating the call with the same id starts only
    /// one. The stream continues over a restart of the worker.
    pub async fn run(
        &self,
        session: SessionId,
        id: ExecutionId,
        spec: &StartSpec,
        options: FollowOptions,
    ) -> Result<Follower> {
        Follower::open(self.clone(), id, options, Some(start_request(session, Some(id), spec))).await
    }

    /// Returns an execution by its id, without waiting.
    pub async fn execution(&self, id: ExecutionId) -> Result<Execution> {
        self.wait(id, Duration::ZERO, false).await
    }

    /// Returns an execution when it has exited (or closed), or after this time.
    pub async fn wait(&self, id: ExecutionId, at_most: Duration, closed: bool) -> Result<Execution> {
        let until = if closed { v1::Until::Closed } else { v1::Until::Exited };
        let request = v1::GetExecutionRequest {
            execution_id: id.to_string(),
            wait_ms: u64::try_from(at_most.as_millis()).unwrap_or(u64::MAX),
            until: until.into(),
        };
        convert(self.raw().get_execution(request).await)
    }

    /// Returns all executions, or those of one session.
    pub async fn executions(&self, session: Option<SessionId>, running_only: bool) -> Result<Vec<Execution>> {
        self.list_executions(v1::ListExecutionsRequest {
            session_id: session.map(|id| id.to_string()),
            running_only,
            ..Default::default()
        })
        .await
    }

    /// Returns all executions of a session, ended ones included, without their environments.
    pub async fn executions_in_brief(&self, session: SessionId) -> Result<Vec<Execution>> {
        let session_id = Some(session.to_string());
        self.list_executions(v1::ListExecutionsRequest { session_id, brief: true, ..Default::default() })
            .await
    }

    /// Returns the executions that were accepted later than this time.
    pub async fn executions_since(&self, started_after_ms: u64) -> Result<Vec<Execution>> {
        let started_after_ms = Some(started_after_ms);
        self.list_executions(v1::ListExecutionsRequest { started_after_ms, ..Default::default() }).await
    }

    /// Returns running executions, of one session or of all, without their environments.
    pub async fn running_in_brief(&self, session: Option<SessionId>) -> Result<Vec<Execution>> {
        let session_id = session.map(|id| id.to_string());
        let request =
            v1::ListExecutionsRequest { session_id, running_only: true, brief: true, started_after_ms: None };
        self.list_executions(request).await
    }

    async fn list_executions(&self, request: v1::ListExecutionsRequest) -> Result<Vec<Execution>> {
        let answer = self.raw().list_executions(request).await?.into_inner();
        let all = answer.executions.into_iter().map(TryInto::try_into).collect::<std::result::Result<_, _>>();
        all.map_err(|fault| malformed(&fault))
    }

    /// Follows a log. The stream continues over a restart of the worker.
    pub async fn follow(&self, id: ExecutionId, options: FollowOptions) -> Result<Follower> {
        Follower::open(self.clone(), id, options, None).await
    }

    /// Opens a program's standard input for writing.
    pub async fn stdin(&self, id: ExecutionId) -> Result<StdinWriter> {
        StdinWriter::open(self.raw(), id).await
    }

    /// Sends a signal to an execution's (foreground) process group, or to all its processes.
    pub async fn signal(&self, id: ExecutionId, signal: i32, tree: bool) -> Result<()> {
        self.raw().signal(v1::SignalRequest { execution_id: id.to_string(), signal, tree }).await?;
        Ok(())
    }

    /// Cancels an execution. A grace period of 0 kills it at once; without one, the execution's own applies.
    pub async fn cancel(&self, id: ExecutionId, grace: Option<Duration>) -> Result<()> {
        let grace_ms = grace.map(|grace| u64::try_from(grace.as_millis()).unwrap_or(u64::MAX));
        self.raw().cancel(v1::CancelRequest { execution_id: id.to_string(), grace_ms }).await?;
        Ok(())
    }

    /// Resizes an execution's terminal.
    pub async fn resize(&self, id: ExecutionId, size: TtySize) -> Result<()> {
        let request = v1::ResizeRequest { execution_id: id.to_string(), size: Some(size.into()) };
        self.raw().resize(request).await?;
        Ok(())
    }

    /// The current processes of an execution.
    pub async fn processes(&self, id: ExecutionId) -> Result<Vec<Process>> {
        let request = v1::ListProcessesRequest { execution_id: id.to_string() };
        let answer = self.raw().list_processes(request).await?.into_inner();
        Ok(answer.processes.into_iter().map(Into::into).collect())
    }

    /// The TCP ports that programs of a session listen on now.
    pub async fn listening_ports(&self, session: SessionId) -> Result<ListeningPorts> {
        let request = v1::ListPortsRequest { session_id: session.to_string() };
        let answer = self.raw().list_ports(request).await?.into_inner();
        let ports = answer.tcp.into_iter().filter_map(|port| u16::try_from(port).ok()).collect();
        Ok(ListeningPorts { ports, can_connect: answer.can_connect })
    }

    /// Connects to a port on the loopback device of a session.
    pub async fn connect_port(&self, session: SessionId, port: u16) -> Result<PortConnection> {
        PortConnection::open(self.raw(), session, port).await
    }

    /// Removes the log of a closed execution.
    pub async fn forget(&self, id: ExecutionId) -> Result<()> {
        self.raw().forget(v1::ForgetRequest { execution_id: id.to_string() }).await?;
        Ok(())
    }

    /// Stops the worker; with `hibernate`, its running sessions are hibernated first.
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
