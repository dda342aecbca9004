//! The calls, each taken apart and handed to whoever does it.

use std::sync::Arc;
use std::time::Duration;

use headwater_contract::v1::trees_server::Trees as Contract;
use headwater_contract::v1::{self, ArchiveFormat};
use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{SessionId, SessionSpec, SnapshotId};
use tonic::{Request, Response, Status, Streaming};

use super::diff::Diff;
use super::fork::Order;
use super::ground::{Ground, cannot};
use super::pack::{pack, survey};
use super::search::Search;
use super::stream::{Answers, Chunks, answers, work};
use super::upload::{Upload, max_length};
use super::{Trees, place, snapshots, watch};
use crate::builds::mark;
use crate::engine::Engine;
use crate::workspace::Kind;

type Answer<T> = Result<Response<T>, Status>;

/// How often it is seen whether a session that sleeps has ended.
const LOOK: Duration = Duration::from_secs(1);
/// Differences in one message, and the bytes of their patches, about.
const DIFFERENCES: usize = 256;
const DIFFERENCES_BYTES: usize = 256 << 10;

fn archive_format(number: i32) -> Result<ArchiveFormat, Fault> {
    match ArchiveFormat::try_from(number) {
        Ok(format) if format != ArchiveFormat::Unspecified => Ok(format),
        _ => Err(Fault::new(FaultKind::Invalid, "no such format").hint("`tar`, `tar.gz` or `zip`")),
    }
}

/// Carries out what must not stop half-way when its caller goes away, in a thread of its own.
async fn to_the_end<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let stopped = |_| Err(Fault::new(FaultKind::Unavailable, "the worker is stopping"));
    tokio::task::spawn_blocking(work).await.unwrap_or_else(stopped)
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
    async fn ground(&self, id: &str) -> Result<Ground, Fault> {
        let (engine, id) = (Arc::clone(&self.engine), id.to_owned());
        to_the_end(move || Ground::of(&engine, &id)).await
    }

    /// Does something with a session's trees as a whole, one after the other.
    async fn in_turn<T: Send + 'static>(
        &self,
        id: &str,
        act: impl FnOnce(&Ground) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let ground = self.ground(id).await?;
        let permit = place(&self.work, &ground, "changes of trees")?;
        let turn = self.engine.workspace_turn(ground.id).await;
        let engine = Arc::clone(&self.engine);
        to_the_end(move || {
            let done = act(&ground);
            engine.quotas.forget(&ground.workspace_folder());
            engine.limit_disk(ground.id); // snapshots count
            drop((turn, permit));
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
        let ground = self.ground(&request.session_id).await?;
        let path = ground.path(&request.path)?;
        let permit = place(&self.watches, &ground, "watches")?;
        let over = ended(Arc::clone(&self.engine), ground.id);
        let messages = watch::watch(ground.workspace, path, request.recursive, over, permit).await?;
        Ok(Response::new(answers(messages)))
    }

    type SearchStream = Answers<v1::SearchResponse>;

    async fn search(&self, request: Request<v1::SearchRequest>) -> Answer<Self::SearchStream> {
        let request = request.into_inner();
        let ground = self.ground(&request.session_id).await?;
        let search = Search::new(&request, ground.path(&request.path)?)?;
        let permit = place(&self.work, &ground, "searches")?;
        Ok(Response::new(work(&self.work, permit, move |teller| {
            use v1::search_response::Told;
            let say = |told| teller.tell(v1::SearchResponse { told: Some(told) });
            let summary =
                search.run(&ground.workspace, |found| say(Told::Match(found)), || teller.is_heard())?;
            say(Told::Summary(summary));
            Ok(())
        })))
    }

    type PackStream = Answers<v1::PackResponse>;

    async fn pack(&self, request: Request<v1::PackRequest>) -> Answer<Self::PackStream> {
        let request = request.into_inner();
        let ground = self.ground(&request.session_id).await?;
        let (path, format) = (ground.path(&request.path)?, archive_format(request.format)?);
        if ground.workspace.stat(&path).map_err(Fault::from)?.kind != Kind::Folder {
            let fault = Fault::new(FaultKind::Conflict, format!("`{path}` is no folder"));
            return Err(fault.hint("a single file is read by `GET /v1/sessions/{id}/files/content`").into());
        }
        let permit = place(&self.work, &ground, "archives")?;
        Ok(Response::new(work(&self.work, permit, move |teller| {
            let is_cancelled = || !teller.is_heard() || ground.is_over();
            let left_out = survey(&ground.workspace, &path, max_length(&ground.limits), &is_cancelled)?;
            teller.tell(v1::PackResponse { left_out, ..v1::PackResponse::default() });
            pack(&ground.workspace, &path, format, Chunks::new(teller), &is_cancelled).map_err(|error| {
                Fault::new(FaultKind::Unavailable, format!("the archive broke off: {error}"))
            })
        })))
    }

    async fn unpack(&self, request: Request<Streaming<v1::UnpackRequest>>) -> Answer<v1::UnpackResponse> {
        let mut messages = request.into_inner();
        let nothing = || Fault::new(FaultKind::Invalid, "nothing to unpack");
        let to = messages.message().await?.and_then(|first| first.to).ok_or_else(nothing)?;
        let ground = self.ground(&to.session_id).await?;
        let (path, format) = (ground.path(&to.path)?, archive_format(to.format)?);
        let upload = Upload::receive(&ground, messages).await?;
        let permit = place(&self.work, &ground, "archives")?; // now: a slow sender holds up nobody
        let turn = self.engine.workspace_turn(ground.id).await;
        let engine = Arc::clone(&self.engine);
        let sown = to_the_end(move || {
            let sown = upload.unpack(&ground, &path, format);
            engine.quotas.forget(&ground.workspace_folder());
            drop((turn, permit));
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
        let ground = self.ground(&request.session_id).await?;
        let snapshot = Some(request.snapshot_id).filter(|id| !id.is_empty());
        let snapshot: Option<SnapshotId> = snapshot.map(|id| id.parse()).transpose().map_err(Fault::from)?;
        let permit = place(&self.work, &ground, "comparisons")?;
        Ok(Response::new(work(&self.work, permit, move |teller| {
            let base = snapshots::base(&ground, snapshot)?;
            let (mut differences, mut bytes) = (Vec::new(), 0);
            let is_cancelled = || !teller.is_heard() || ground.is_over();
            let diff = Diff {
                workspace: &ground.workspace,
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
        let made =
            self.in_turn(&request.session_id, move |ground| snapshots::create(ground, id, name)).await?;
        Ok(Response::new(made))
    }

    async fn list_snapshots(
        &self,
        request: Request<v1::ListSnapshotsRequest>,
    ) -> Answer<v1::ListSnapshotsResponse> {
        let ground = self.ground(&request.into_inner().session_id).await?;
        let snapshots = to_the_end(move || Ok(snapshots::list(&ground))).await?;
        Ok(Response::new(v1::ListSnapshotsResponse { snapshots }))
    }

    async fn remove_snapshot(
        &self,
        request: Request<v1::RemoveSnapshotRequest>,
    ) -> Answer<v1::RemoveSnapshotResponse> {
        let request = request.into_inner();
        let id = request.snapshot_id.parse().map_err(Fault::from)?;
        self.in_turn(&request.session_id, move |ground| snapshots::remove(ground, id)).await?;
        Ok(Response::new(v1::RemoveSnapshotResponse {}))
    }

    async fn restore_snapshot(&self, request: Request<v1::RestoreSnapshotRequest>) -> Answer<v1::Snapshot> {
        let request = request.into_inner();
        let id = request.snapshot_id.parse().map_err(Fault::from)?;
        let restored =
            self.in_turn(&request.session_id, move |ground| snapshots::restore(ground, id)).await?;
        Ok(Response::new(restored))
    }

    async fn fork(&self, request: Request<v1::ForkRequest>) -> Answer<v1::ForkResponse> {
        let request = request.into_inner();
        let from = request.session_id.parse().map_err(Fault::from)?;
        let id = request.new_session_id.parse().map_err(Fault::from)?;
        let snapshot = Some(request.snapshot_id).filter(|id| !id.is_empty());
        let snapshot = snapshot.map(|id| id.parse()).transpose().map_err(Fault::from)?;
        let ground = self.ground(&request.session_id).await?;
        let permit = place(&self.work, &ground, "copies")?;
        let spec = ground.spec;
        let mut spec = SessionSpec {
            name: request.name,
            metadata: request.metadata.into_iter().collect(),
            one_shot: false,
            ..spec
        };
        mark::strip(&mut spec);
        let turn = self.engine.workspace_turn(from).await;
        let engine = Arc::clone(&self.engine);
        let forked = tokio::spawn(async move {
            let made = engine.fork_session(Order { from, id, snapshot, spec }).await;
            drop((turn, permit));
            made
        });
        let told = forked.await.map_err(|error| cannot(&std::io::Error::other(error)))??;
        Ok(Response::new(v1::ForkResponse { session_id: told.id.to_string() }))
    }
}
