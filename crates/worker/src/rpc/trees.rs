//! The gRPC service `Trees`: watch, search, archives, diff, snapshots and fork.

use std::sync::Arc;
use std::time::Duration;

use headwater_contract::v1::trees_server::Trees as Contract;
use headwater_contract::v1::{self, ArchiveFormat};
use headwater_contract::{Fault, FaultKind};
use headwater_limits::permits::{Permit, PermitLimits, Permits};
use headwater_protocol::{SessionId, SessionSpec, SnapshotId};
use headwater_workspace::Kind;
use tonic::{Request, Response, Status, Streaming};

use super::response_stream::{Chunks, ResponseStream, responses, run};
use crate::builds::reserved;
use crate::detached::{blocking, detached};
use crate::engine::Engine;
use crate::files::archive::pack::{pack, survey};
use crate::files::archive::upload::{Upload, max_length};
use crate::files::diff::Diff;
use crate::files::fork::{self, ForkSpec};
use crate::files::open_workspace::OpenWorkspace;
use crate::files::search::Search;
use crate::files::snapshots;
use crate::files::watch;

type Answer<T> = Result<Response<T>, Status>;

/// How often a watch checks whether a hibernated session has ended.
const HIBERNATED_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Differences in one message, and the approximate bytes of their patches.
const MAX_DIFFERENCES: usize = 256;
const MAX_DIFFERENCES_BYTES: usize = 256 << 10;

/// Searches, archives, comparisons and copies that work at the same time; each takes a thread.
const MAX_WORKING: usize = 64;
/// Open calls, including those that wait for a slow reader: each keeps its thread, of which the runtime has 512.
const CALL_LIMITS: PermitLimits = PermitLimits { total: 256, per_owner: 16, per_session: 8 };
/// Open watches; the kernel allows a user 128 by default.
const WATCH_LIMITS: PermitLimits = PermitLimits { total: 100, per_owner: 24, per_session: 16 };

/// Serves the calls of `Trees`.
#[derive(Debug)]
pub(crate) struct TreesService {
    engine: Arc<Engine>,
    work: Permits,
    watches: Permits,
}

impl TreesService {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self {
            engine,
            work: Permits::new(CALL_LIMITS, Some(MAX_WORKING)),
            watches: Permits::new(WATCH_LIMITS, None),
        }
    }
}

/// Takes a permit for a call on this workspace.
fn acquire(permits: &Permits, open: &OpenWorkspace, what: &str) -> Result<Permit, Fault> {
    permits.try_acquire(open.record.spec.owner(), open.id, what)
}

fn archive_format(number: i32) -> Result<ArchiveFormat, Fault> {
    match ArchiveFormat::try_from(number) {
        Ok(format) if format != ArchiveFormat::Unspecified => Ok(format),
        _ => Err(Fault::new(FaultKind::Invalid, "no such format").hint("`tar`, `tar.gz` or `zip`")),
    }
}

/// Waits until a session has ended; a hibernated one has not.
async fn ended(engine: Arc<Engine>, id: SessionId) {
    loop {
        match engine.sessions.live(id) {
            Ok(session) => session.until_gone().await,
            Err(_) if engine.sessions.is_hibernated(id) => {
                tokio::time::sleep(HIBERNATED_CHECK_INTERVAL).await;
            }
            Err(_) => return,
        }
    }
}

impl TreesService {
    async fn open(&self, id: &str) -> Result<OpenWorkspace, Fault> {
        let (engine, id) = (Arc::clone(&self.engine), id.parse()?);
        blocking(move || OpenWorkspace::open(&engine, id)).await
    }

    /// Changes a session's workspace as a whole, while no other call changes its files.
    async fn change<T: Send + 'static>(
        &self,
        id: &str,
        act: impl FnOnce(&OpenWorkspace) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let open = self.open(id).await?;
        let permit = acquire(&self.work, &open, "changes of workspaces")?;
        let lock = open.lock().await;
        blocking(move || {
            let done = open.attempt(act);
            open.has_changed();
            open.limit_disk(); // snapshots count
            drop((lock, permit));
            done
        })
        .await
    }
}

#[tonic::async_trait]
impl Contract for TreesService {
    type WatchStream = ResponseStream<v1::WatchResponse>;

    async fn watch(&self, request: Request<v1::WatchRequest>) -> Answer<Self::WatchStream> {
        let request = request.into_inner();
        let open = self.open(&request.session_id).await?;
        let path = open.path(&request.path)?;
        let permit = acquire(&self.watches, &open, "watches")?;
        let over = ended(Arc::clone(&self.engine), open.id);
        let messages = watch::watch(open.workspace, path, request.recursive, over, permit).await?;
        Ok(Response::new(responses(messages)))
    }

    type SearchStream = ResponseStream<v1::SearchResponse>;

    async fn search(&self, request: Request<v1::SearchRequest>) -> Answer<Self::SearchStream> {
        let request = request.into_inner();
        let open = self.open(&request.session_id).await?;
        let search = Search::new(&request, open.path(&request.path)?)?;
        let permit = acquire(&self.work, &open, "searches")?;
        Ok(Response::new(run(&self.work, permit, move |sender| {
            use v1::search_response::Item;
            let send = |message| sender.send(v1::SearchResponse { item: Some(message) });
            let summary = open.attempt(|open| {
                search.run(&open.workspace, |found| send(Item::Match(found)), || sender.is_open())
            })?;
            send(Item::Summary(summary));
            Ok(())
        })))
    }

    type PackStream = ResponseStream<v1::PackResponse>;

    async fn pack(&self, request: Request<v1::PackRequest>) -> Answer<Self::PackStream> {
        let request = request.into_inner();
        let open = self.open(&request.session_id).await?;
        let (path, format) = (open.path(&request.path)?, archive_format(request.format)?);
        if open.workspace.stat(&path).map_err(Fault::from)?.kind != Kind::Folder {
            let fault = Fault::new(FaultKind::Conflict, format!("`{path}` is not a folder"));
            return Err(fault
                .hint("to read a single file, use `GET /v1/sessions/{id}/files/content`")
                .into());
        }
        let permit = acquire(&self.work, &open, "archives")?;
        Ok(Response::new(run(&self.work, permit, move |sender| {
            let is_cancelled = || !sender.is_open() || open.is_over();
            let left_out = survey(&open.workspace, &path, max_length(open.limits()), &is_cancelled)?;
            sender.send(v1::PackResponse { left_out, ..v1::PackResponse::default() });
            pack(&open.workspace, &path, format, Chunks::new(sender), &is_cancelled).map_err(|error| {
                Fault::new(FaultKind::Unavailable, format!("the archive is incomplete: {error}"))
            })
        })))
    }

    async fn unpack(&self, request: Request<Streaming<v1::UnpackRequest>>) -> Answer<v1::UnpackResponse> {
        let mut messages = request.into_inner();
        let nothing = || Fault::new(FaultKind::Invalid, "nothing to unpack");
        let to = messages.message().await?.and_then(|first| first.to).ok_or_else(nothing)?;
        let open = self.open(&to.session_id).await?;
        open.refuse_in_place("unpacking an archive")?;
        let (path, format) = (open.path(&to.path)?, archive_format(to.format)?);
        let (upload, open) = blocking(move || Ok((open.attempt(Upload::begin)?, open))).await?;
        let upload = upload.receive(messages).await?;
        let permit = acquire(&self.work, &open, "archives")?; // not earlier: a slow upload must not hold a permit
        let lock = open.lock().await;
        let extracted = blocking(move || {
            let extracted = open.attempt(|open| upload.unpack(open, &path, format));
            open.has_changed();
            drop((lock, permit));
            extracted
        })
        .await?;
        Ok(Response::new(v1::UnpackResponse {
            files: extracted.files,
            folders: extracted.folders,
            links: extracted.links,
            bytes: extracted.bytes,
        }))
    }

    type DiffStream = ResponseStream<v1::DiffResponse>;

    async fn diff(&self, request: Request<v1::DiffRequest>) -> Answer<Self::DiffStream> {
        let request = request.into_inner();
        let open = self.open(&request.session_id).await?;
        open.refuse_in_place("a comparison with the session's start")?;
        let snapshot = Some(request.snapshot_id).filter(|id| !id.is_empty());
        let snapshot: Option<SnapshotId> = snapshot.map(|id| id.parse()).transpose().map_err(Fault::from)?;
        let permit = acquire(&self.work, &open, "comparisons")?;
        Ok(Response::new(run(&self.work, permit, move |sender| {
            let base = snapshots::base(&open, snapshot)?;
            let (mut differences, mut bytes) = (Vec::new(), 0);
            let is_cancelled = || !sender.is_open() || open.is_over();
            let diff = Diff {
                workspace: &open.workspace,
                base,
                content: request.content,
                patched: 0,
                is_cancelled: &is_cancelled,
            };
            diff.run(|difference| {
                bytes += difference.patch.as_ref().map_or(0, bytes::Bytes::len);
                differences.push(difference);
                if differences.len() < MAX_DIFFERENCES && bytes < MAX_DIFFERENCES_BYTES {
                    return true;
                }
                bytes = 0;
                sender.send(v1::DiffResponse { differences: std::mem::take(&mut differences) })
            })
            .map_err(|fault| open.cause(fault))?;
            sender.send(v1::DiffResponse { differences });
            Ok(())
        })))
    }

    async fn create_snapshot(&self, request: Request<v1::CreateSnapshotRequest>) -> Answer<v1::Snapshot> {
        let request = request.into_inner();
        let id = request.snapshot_id.parse().map_err(Fault::from)?;
        let name = request.name;
        let created = self
            .change(&request.session_id, move |open| {
                open.refuse_in_place("a snapshot")?;
                snapshots::create(open, id, name)
            })
            .await?;
        Ok(Response::new(created))
    }

    async fn list_snapshots(
        &self,
        request: Request<v1::ListSnapshotsRequest>,
    ) -> Answer<v1::ListSnapshotsResponse> {
        let open = self.open(&request.into_inner().session_id).await?;
        let snapshots = blocking(move || Ok(snapshots::list(&open))).await?;
        Ok(Response::new(v1::ListSnapshotsResponse { snapshots }))
    }

    async fn remove_snapshot(
        &self,
        request: Request<v1::RemoveSnapshotRequest>,
    ) -> Answer<v1::RemoveSnapshotResponse> {
        let request = request.into_inner();
        let id = request.snapshot_id.parse().map_err(Fault::from)?;
        self.change(&request.session_id, move |open| snapshots::remove(open, id)).await?;
        Ok(Response::new(v1::RemoveSnapshotResponse {}))
    }

    async fn restore_snapshot(&self, request: Request<v1::RestoreSnapshotRequest>) -> Answer<v1::Snapshot> {
        let request = request.into_inner();
        let id = request.snapshot_id.parse().map_err(Fault::from)?;
        let restored = self
            .change(&request.session_id, move |open| {
                open.refuse_in_place("restoring a snapshot")?;
                snapshots::restore(open, id)
            })
            .await?;
        Ok(Response::new(restored))
    }

    async fn fork(&self, request: Request<v1::ForkRequest>) -> Answer<v1::ForkResponse> {
        let request = request.into_inner();
        let from = request.session_id.parse().map_err(Fault::from)?;
        let id = request.new_session_id.parse().map_err(Fault::from)?;
        let snapshot = Some(request.snapshot_id).filter(|id| !id.is_empty());
        let snapshot = snapshot.map(|id| id.parse()).transpose().map_err(Fault::from)?;
        let open = self.open(&request.session_id).await?;
        open.refuse_in_place("a fork")?;
        let permit = acquire(&self.work, &open, "copies")?;
        let mut spec = SessionSpec {
            name: request.name,
            metadata: request.metadata.into_iter().collect(),
            one_shot: false,
            ..open.record.spec.clone()
        };
        reserved::strip(&mut spec);
        let lock = open.lock().await;
        let engine = Arc::clone(&self.engine);
        let forked = detached(async move {
            let created = fork::fork(&engine, ForkSpec { from, id, snapshot, spec }).await;
            drop((lock, permit, open));
            created
        })
        .await?;
        Ok(Response::new(v1::ForkResponse { session_id: forked.id.to_string() }))
    }
}
