//! The worker's calls, typed. All of them are repeated over a restart of the worker, except those of [`Once`].
//!
//! A call is repeated if two calls have the effect of one. Calls that create something take its id, so that the worker
//! recognises a repetition.

use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use headwater_contract::{
    BuildInfo, BuildSpec, ContractError, FileReader, FileWriter, FollowOptions, Follower, KeptOutput,
    ListeningPorts, MarkFollower, Messages, OutputReader, OutputSelector, PortConnection, SizeChange,
    Snapshot, StdinWriter, v1,
};
use headwater_protocol::{
    BuildId, Execution, ExecutionId, Process, Seq, Session, SessionId, SessionSpec, SessionUsage, SnapshotId,
    StartSpec, TtySize,
};
use tokio::time::Instant;

use super::Worker;

type Result<T> = std::result::Result<T, ContractError>;

/// Methods of [`Worker`] that repeat the client's method of the same name on this kind of connection.
macro_rules! repeated {
    ($connection:ident: $($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        impl Worker {
            $(
                #[doc = concat!("The client's `", stringify!($name), "`, repeated over a restart of the worker.")]
                pub(crate) async fn $name(&self, $($argument: $type),*) -> Result<$answer> {
                    self.$connection().retry(|client| client.$name($(Clone::clone(&$argument)),*)).await
                }
            )*
        }
    };
}

repeated! { calls:
    info() -> v1::InfoResponse;
    disk() -> v1::DiskResponse;
    usage() -> Vec<v1::SessionUsage>;
    session_usage(id: SessionId) -> SessionUsage;
    removed(after: u64, limit: u32) -> Vec<v1::RemovedLog>;
    prune(request: v1::PruneRequest) -> v1::PruneResponse;

    session(id: SessionId) -> Session;
    sessions(include_ended: bool) -> Vec<Session>;
    sessions_in_brief() -> Vec<Session>;
    update_session(request: v1::UpdateSessionRequest) -> Session;
    hibernate_session(id: SessionId) -> Session;
    end_session(id: SessionId, forget: bool) -> Session;
    fork_session(request: v1::ForkRequest) -> ();

    execution(id: ExecutionId) -> Execution;
    executions(session: Option<SessionId>, running_only: bool) -> Vec<Execution>;
    executions_since(started_after_ms: u64) -> Vec<Execution>;
    running_in_brief(session: Option<SessionId>) -> Vec<Execution>;
    processes(id: ExecutionId) -> Vec<Process>;
    listening_ports(session: SessionId) -> ListeningPorts;
    kept(output: OutputSelector) -> KeptOutput;
    cancel(id: ExecutionId, grace: Option<Duration>) -> ();
    resize(id: ExecutionId, size: TtySize) -> ();
    forget(id: ExecutionId) -> ();

    snapshot(id: ExecutionId, scrollback_lines: Option<u32>) -> Snapshot;
    terminal_title(id: ExecutionId) -> String;
    sizes(id: ExecutionId) -> Vec<SizeChange>;

    stat_file(session: SessionId, path: Bytes) -> v1::FileEntry;
    list_files(request: v1::ListFilesRequest) -> v1::ListFilesResponse;
    create_folder(session: SessionId, path: Bytes) -> v1::WriteFileResponse;
    chmod_file(session: SessionId, path: Bytes, mode: u32) -> v1::FileEntry;

    create_snapshot(session: SessionId, id: SnapshotId, name: &str) -> v1::Snapshot;
    snapshots(session: SessionId) -> Vec<v1::Snapshot>;
    remove_snapshot(session: SessionId, id: SnapshotId) -> ();
    restore_snapshot(session: SessionId, id: SnapshotId) -> v1::Snapshot;

    begin_build(order: &BuildSpec) -> BuildInfo;
    build_tools() -> Vec<v1::BuildTool>;
    known_languages(wait: Duration) -> Vec<v1::KnownLanguage>;
    packages(session: SessionId, ecosystem: v1::Ecosystem) -> v1::ListPackagesResponse;
}

repeated! { streams:
    run(session: SessionId, id: ExecutionId, spec: &StartSpec, options: FollowOptions) -> Follower;
    follow(id: ExecutionId, options: FollowOptions) -> Follower;
    follow_marks(id: ExecutionId, after: Seq) -> MarkFollower;
    stdin(id: ExecutionId) -> StdinWriter;
    connect_port(session: SessionId, port: u16) -> PortConnection;
    read_file(request: v1::ReadFileRequest) -> FileReader;
    watch_tree(session: SessionId, path: Bytes, recursive: bool) -> Messages<v1::WatchResponse>;
    search_tree(request: v1::SearchRequest) -> Messages<v1::SearchResponse>;
    pack(session: SessionId, path: Bytes, format: v1::ArchiveFormat) -> Messages<v1::PackResponse>;
    diff(session: SessionId, snapshot: Option<SnapshotId>, content: bool) -> Messages<v1::DiffResponse>;
}

/// Repeated calls whose arguments are not those of the client's method.
impl Worker {
    /// Creates a session. The id is not optional: without one a repetition would create a second session.
    pub(crate) async fn create_session(&self, id: SessionId, spec: &SessionSpec) -> Result<Session> {
        // A folder of the host is only for people at this machine: no request can name one, and none is passed on.
        let spec = &SessionSpec { place: None, ..spec.clone() };
        self.calls().retry(|client| client.create_session(Some(id), spec)).await
    }

    /// Starts an execution. The id is not optional: without one a repetition would start a second execution.
    pub(crate) async fn start(
        &self,
        session: SessionId,
        id: ExecutionId,
        spec: &StartSpec,
    ) -> Result<Execution> {
        self.calls().retry(|client| client.start(session, Some(id), spec)).await
    }

    /// Starts an execution that a lossless reader follows at once.
    pub(crate) async fn start_lossless(
        &self,
        session: SessionId,
        id: ExecutionId,
        spec: &StartSpec,
    ) -> Result<Execution> {
        self.calls().retry(|client| client.start_lossless(session, Some(id), spec)).await
    }

    /// The execution, when it has ended (or is closed) or after `at_most`, restarts of the worker included.
    pub(crate) async fn wait(&self, id: ExecutionId, at_most: Duration, closed: bool) -> Result<Execution> {
        let until = Instant::now() + at_most;
        self.streams().retry(|client| client.wait(id, left(until), closed)).await
    }

    /// The build, when it has ended or after `at_most`, restarts of the worker included.
    pub(crate) async fn build(&self, id: BuildId, at_most: Duration) -> Result<BuildInfo> {
        let until = Instant::now() + at_most;
        self.streams().retry(|client| client.build(id, left(until))).await
    }

    /// Reads bytes `from..to` of an output. The reader opens its stream itself, again after a restart of the worker.
    pub(crate) fn read(&self, output: OutputSelector, from: u64, to: u64) -> OutputReader {
        self.streams().read(output, from, to)
    }

    /// Calls that are never repeated.
    pub(crate) const fn once(&self) -> Once<'_> {
        Once(self)
    }
}

fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

/// Calls that are never repeated. Most would have another effect the second time; some send data that can be sent only
/// once. After a lost connection it is unknown whether the worker has executed them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Once<'a>(&'a Worker);

impl Once<'_> {
    /// Checks whether the worker answers now, without a restart.
    pub(crate) async fn info(&self) -> Result<v1::InfoResponse> {
        self.0.calls().info().await
    }

    /// Sends a signal: a second signal would have its own effect.
    pub(crate) async fn signal(&self, id: ExecutionId, signal: i32, tree: bool) -> Result<()> {
        self.0.calls().signal(id, signal, tree).await
    }

    /// Renames a file: the second time it would not exist, or be another one.
    pub(crate) async fn move_file(&self, request: v1::MoveFileRequest) -> Result<v1::FileEntry> {
        self.0.calls().move_file(request).await
    }

    /// Copies a file or a tree: the second time the copy would already exist.
    pub(crate) async fn copy_file(&self, request: v1::CopyFileRequest) -> Result<v1::CopyFileResponse> {
        self.0.calls().copy_file(request).await
    }

    /// Removes a file or a tree: the second time it would not exist, or be another one.
    pub(crate) async fn remove_file(&self, session: SessionId, path: Bytes, recursive: bool) -> Result<()> {
        self.0.calls().remove_file(session, path, recursive).await
    }

    /// Writes a file: its content comes from a client and is not kept.
    pub(crate) async fn write_file(&self, head: v1::WriteFileHead) -> FileWriter {
        self.0.streams().write_file(head).await
    }

    /// Unpacks an archive: it comes from a client and is not kept.
    pub(crate) async fn unpack(
        &self,
        messages: impl Stream<Item = v1::UnpackRequest> + Send + 'static,
    ) -> Result<v1::UnpackResponse> {
        self.0.streams().unpack(messages).await
    }
}
