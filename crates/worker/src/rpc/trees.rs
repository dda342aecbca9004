//! The calls, each taken apart and handed to whoever does it.

use std::sync::Arc;
use std::time::Duration;

use headwater_contract::v1::trees_server::Trees as Contract;
use headwater_contract::v1::{self, ArchiveFormat};
use headwater_contract::{Fault, FaultKind};
use headwater_limits::permits::{Most, Place, Places};
use headwater_protocol::{SessionId, SessionSpec, SnapshotId};
use headwater_workspace::Kind;
use tonic::{Request, Response, Status, Streaming};

use super::stream::{Answers, Chunks, answers, work};
use crate::builds::reserved;
use crate::detached::{blocking, to_the_end};
use crate::engine::Engine;
use crate::files::archive::pack::{pack, survey};
use crate::files::archive::upload::{Upload, max_length};
use crate::files::diff::Diff;
use crate::files::fork::Order;
use crate::files::open_workspace::OpenWorkspace;
use crate::files::search::Search;
use crate::files::snapshots;
use crate::files::watch;

type Answer<T> = Result<Response<T>, Status>;

/// How often it is seen whether a session that sleeps has ended.
const LOOK: Duration = Duration::from_secs(1);
/// Differences in one message, and the bytes of their patches, about.
const DIFFERENCES: usize = 256;
const DIFFERENCES_BYTES: usize = 256 << 10;

/// Searches, archives, comparisons and copies that work at the same time; a thread works on each.
const MAX_WORKING: usize = 64;
/// The same with those whose reader is slow, which only wait: each keeps its thread, of which the runtime has 512.
const OPEN: Most = Most { all: 256, of_owner: 16, of_session: 8 };
/// Watches at once; the kernel gives a user 128 unless told otherwise.
const WATCHES: Most = Most { all: 100, of_owner: 24, of_session: 16 };

/// Answers the contract's calls.
#[derive(Debug)]
pub(crate) struct Trees {
    engine: Arc<Engine>,
    work: Places,
    watches: Places,
}

impl Trees {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        Self { engine, work: Places::new(OPEN, Some(MAX_WORKING)), watches: Places::new(WATCHES, None) }
    }
}

/// Takes a place for work on a session.
fn place(places: &Places, open: &OpenWorkspace, what: &str) -> Result<Place, Fault> {
    places.take(open.record.spec.owner(), open.id, what)
}

fn archive_format(number: i32) -> Result<ArchiveFormat, Fault> {
    match ArchiveFormat::try_from(number) {
        Ok(format) if format != ArchiveFormat::Unspecified => Ok(format),
        _ => Err(Fault::new(FaultKind::Invalid, "no such format").hint("`tar`, `tar.gz` or `zip`")),
    }
}

/// Waits until a session has ended; one that sleeps has not.
async fn ended(engine: Arc<Engine>, id: SessionId) {
    loop {
        match engine.live_session(id) {
            Ok(session) => session.wait_until_over().await,
            Err(_) if engine.asleep(id).is_some() => tokio::time::sleep(LOOK).await,
            Err(_) => return,
        }
    }
}

impl Trees {
    async fn open(&self, id: &str) -> Result<OpenWorkspace, Fault> {
        let (engine, id) = (Arc::clone(&self.engine), id.parse()?);
        blocking(move || OpenWorkspace::open(&engine, id)).await
    }

    /// Does something with a session's trees as a whole while nobody else changes its files.
    async fn in_turn<T: Send + 'static>(
        &self,
        id: &str,
        act: impl FnOnce(&OpenWorkspace) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let open = self.open(id).await?;
        let permit = place(&self.work, &open, "changes of trees")?;
        let lock = open.lock().await;
        blocking(move || {
            let done = act(&open);
            open.has_changed();
            open.limit_disk(); // snapshots count
            drop((lock, permit));
            done
        })
        .await
    }
}

#[tonic::async_trait]
impl Contract for Trees {
    type WatchStream = Answers<v1::WatchResponse>;

    async fn watch(&self, request: Request<v1::WatchRequest>) -> Answer<Self::WatchStream> {
        let request = request.into_inner();
        let open = self.open(&request.session_id).await?;
        let path = open.path(&request.path)?;
        let permit = place(&self.watches, &open, "watches")?;
        let over = ended(Arc::clone(&self.engine), open.id);
        let messages = watch::watch(open.workspace, path, request.recursive, over, permit).await?;
        Ok(Response::new(answers(messages)))
    }

    type SearchStream = Answers<v1::SearchResponse>;

    async fn search(&self, request: Request<v1::SearchRequest>) -> Answer<Self::SearchStream> {
        let request = request.into_inner();
        let open = self.open(&request.session_id).await?;
        let search = Search::new(&request, open.path(&request.path)?)?;
        let permit = place(&self.work, &open, "searches")?;
        Ok(Response::new(work(&self.work, permit, move |teller| {
            use v1::search_response::Told;
            let say = |told| teller.tell(v1::SearchResponse { told: Some(told) });
            let summary =
                search.run(&open.workspace, |found| say(Told::Match(found)), || teller.is_heard())?;
            say(Told::Summary(summary));
            Ok(())
        })))
    }

    type PackStream = Answers<v1::PackResponse>;

    async fn pack(&self, request: Request<v1::PackRequest>) -> Answer<Self::PackStream> {
        let request = request.into_inner();
        let open = self.open(&request.session_id).await?;
        let (path, format) = (open.path(&request.path)?, archive_format(request.format)?);
        if open.workspace.stat(&path).map_err(Fault::from)?.kind != Kind::Folder {
            let fault = Fault::new(FaultKind::Conflict, format!("`{path}` is no folder"));
            return Err(fault.hint("a single file is read by `GET /v1/sessions/{id}/files/content`").into());
        }
        let permit = place(&self.work, &open, "archives")?;
        Ok(Response::new(work(&self.work, permit, move |teller| {
            let is_cancelled = || !teller.is_heard() || open.is_over();
            let left_out = survey(&open.workspace, &path, max_length(open.limits()), &is_cancelled)?;
            teller.tell(v1::PackResponse { left_out, ..v1::PackResponse::default() });
            pack(&open.workspace, &path, format, Chunks::new(teller), &is_cancelled).map_err(|error| {
                Fault::new(FaultKind::Unavailable, format!("the archive broke off: {error}"))
            })
        })))
    }

    async fn unpack(&self, request: Request<Streaming<v1::UnpackRequest>>) -> Answer<v1::UnpackResponse> {
        let mut messages = request.into_inner();
        let nothing = || Fault::new(FaultKind::Invalid, "nothing to unpack");
        let to = messages.message().await?.and_then(|first| first.to).ok_or_else(nothing)?;
        let open = self.open(&to.session_id).await?;
        let (path, format) = (open.path(&to.path)?, archive_format(to.format)?);
        let (upload, open) = blocking(move || Ok((Upload::begin(&open)?, open))).await?;
        let upload = upload.receive(messages).await?;
        let permit = place(&self.work, &open, "archives")?; // now: a slow sender holds up nobody
        let lock = open.lock().await;
        let sown = blocking(move || {
            let sown = upload.unpack(&open, &path, format);
            open.has_changed();
            drop((lock, permit));
            sown
        })
        .await?;
        Ok(Response::new(v1::UnpackResponse {
            files: sown.files,
            folders: sown.folders,
            links: sown.links,
            bytes: sown.bytes,
        }))
    }

    type DiffStream = Answers<v1::DiffResponse>;

    async fn diff(&self, request: Request<v1::DiffRequest>) -> Answer<Self::DiffStream> {
        let request = request.into_inner();
        let open = self.open(&request.session_id).await?;
        let snapshot = Some(request.snapshot_id).filter(|id| !id.is_empty());
        let snapshot: Option<SnapshotId> = snapshot.map(|id| id.parse()).transpose().map_err(Fault::from)?;
        let permit = place(&self.work, &open, "comparisons")?;
        Ok(Response::new(work(&self.work, permit, move |teller| {
            let base = snapshots::base(&open, snapshot)?;
            let (mut differences, mut bytes) = (Vec::new(), 0);
            let is_cancelled = || !teller.is_heard() || open.is_over();
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
                if differences.len() < DIFFERENCES && bytes < DIFFERENCES_BYTES {
                    return true;
                }
                bytes = 0;
                teller.tell(v1::DiffResponse { differences: std::mem::take(&mut differences) })
            })?;
            teller.tell(v1::DiffResponse { differences });
            Ok(())
        })))
    }

    async fn create_snapshot(&self, request: Request<v1::CreateSnapshotRequest>) -> Answer<v1::Snapshot> {
        let request = request.into_inner();
        let id = request.snapshot_id.parse().map_err(Fault::from)?;
        let name = request.name;
        let made = self.in_turn(&request.session_id, move |open| snapshots::create(open, id, name)).await?;
        Ok(Response::new(made))
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
        self.in_turn(&request.session_id, move |open| snapshots::remove(open, id)).await?;
        Ok(Response::new(v1::RemoveSnapshotResponse {}))
    }

    async fn restore_snapshot(&self, request: Request<v1::RestoreSnapshotRequest>) -> Answer<v1::Snapshot> {
        let request = request.into_inner();
        let id = request.snapshot_id.parse().map_err(Fault::from)?;
        let restored = self.in_turn(&request.session_id, move |open| snapshots::restore(open, id)).await?;
        Ok(Response::new(restored))
    }

    async fn fork(&self, request: Request<v1::ForkRequest>) -> Answer<v1::ForkResponse> {
        let request = request.into_inner();
        let from = request.session_id.parse().map_err(Fault::from)?;
        let id = request.new_session_id.parse().map_err(Fault::from)?;
        let snapshot = Some(request.snapshot_id).filter(|id| !id.is_empty());
        let snapshot = snapshot.map(|id| id.parse()).transpose().map_err(Fault::from)?;
        let open = self.open(&request.session_id).await?;
        let permit = place(&self.work, &open, "copies")?;
        let mut spec = SessionSpec {
            name: request.name,
            metadata: request.metadata.into_iter().collect(),
            one_shot: false,
            ..open.record.spec.clone()
        };
        reserved::strip(&mut spec);
        let lock = open.lock().await;
        let engine = Arc::clone(&self.engine);
        let told = to_the_end(async move {
            let made = engine.fork_session(Order { from, id, snapshot, spec }).await;
            drop((lock, permit, open));
            made
        })
        .await?;
        Ok(Response::new(v1::ForkResponse { session_id: told.id.to_string() }))
    }
}
