//! Files of a workspace, one at a time: the service. Each call opens the workspace, does what it was asked on a thread that
//! may block, and tells what lies there then.

mod read;
mod told;
mod write;

use std::sync::Arc;

use headwater_contract::v1::files_server::Files as Contract;
use headwater_contract::{Fault, FaultKind, v1};
use tonic::{Request, Response, Status, Streaming};

use self::told::{told, told_at};
use crate::engine::Engine;
use crate::quota::{Quotas, full};
use crate::space::Space;
use crate::workspace::{Copied, Entry, Kind, Overwrite, Room, WorkspaceError, WorkspacePath};

type Answer<T> = Result<Response<T>, Status>;

/// What one answer lists at most.
const MAX_LISTED: u32 = 1000;
/// What one answer lists, unless told.
const LISTED: u32 = 100;

/// Answers the contract's calls.
#[derive(Debug)]
pub(crate) struct Files {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    engine: Arc<Engine>,
}

impl Files {
    pub(crate) fn new(engine: Arc<Engine>) -> Self {
        let shared = Shared { engine };
        Self { shared: Arc::new(shared) }
    }

    /// Looks at a session's workspace.
    async fn look<T: Send + 'static>(
        &self,
        session: &str,
        work: impl FnOnce(&Space) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (engine, session) = (Arc::clone(&self.shared.engine), session.parse()?);
        blocking(move || work(&engine.space(session)?)).await
    }

    /// Changes something in a session's workspace, to the end, whoever still waits for it.
    async fn change<T: Send + 'static>(
        &self,
        session: &str,
        work: impl FnOnce(&Space, &Quotas) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (shared, session) = (Arc::clone(&self.shared), session.parse()?);
        // Of two who expect the same state one is told that it is another by now.
        let turn = shared.engine.workspace_turn(session).await;
        blocking(move || {
            let _turn = turn;
            work(&shared.engine.space(session)?, &shared.engine.quotas)
        })
        .await
    }
}

/// Does it on a thread that may block.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    let stopped = |_| Err(Fault::new(FaultKind::Internal, "the worker is stopping"));
    tokio::task::spawn_blocking(work).await.unwrap_or_else(stopped)
}

#[tonic::async_trait]
impl Contract for Files {
    async fn stat(&self, request: Request<v1::StatFileRequest>) -> Answer<v1::FileEntry> {
        let request = request.into_inner();
        let look = move |space: &Space| {
            let path = space.path(&request.path)?;
            told_at(space, &path)
        };
        Ok(Response::new(self.look(&request.session_id, look).await?))
    }

    async fn list(&self, request: Request<v1::ListFilesRequest>) -> Answer<v1::ListFilesResponse> {
        let request = request.into_inner();
        let session = request.session_id.clone();
        Ok(Response::new(self.look(&session, move |space| list(space, &request)).await?))
    }

    type ReadStream = read::Pieces;

    async fn read(&self, request: Request<v1::ReadFileRequest>) -> Answer<read::Pieces> {
        let request = request.into_inner();
        let session = request.session_id.clone();
        let opened = self.look(&session, move |space| read::open(space, &request)).await?;
        Ok(Response::new(read::pieces(opened)))
    }

    async fn write(
        &self,
        request: Request<Streaming<v1::WriteFileRequest>>,
    ) -> Answer<v1::WriteFileResponse> {
        let written = write::write(&self.shared, request.into_inner()).await?;
        Ok(Response::new(written))
    }

    async fn make_folder(&self, request: Request<v1::MakeFolderRequest>) -> Answer<v1::WriteFileResponse> {
        let request = request.into_inner();
        let make = move |space: &Space, quotas: &Quotas| {
            let path = space.path(&request.path)?;
            let room = quotas.room(space)?;
            let missing = path.names().len() as u64; // at most
            if room.inodes < missing && space.workspace.stat(&path).is_err() {
                return Err(full(space, room));
            }
            let (entry, created) = space.workspace.make_folder(&path)?;
            quotas.add(space, 4096 * u64::from(created), u64::from(created));
            Ok(v1::WriteFileResponse { entry: Some(told(&path, &entry, None)), created })
        };
        Ok(Response::new(self.change(&request.session_id.clone(), make).await?))
    }

    async fn r#move(&self, request: Request<v1::MoveFileRequest>) -> Answer<v1::FileEntry> {
        let request = request.into_inner();
        let rename = move |space: &Space, quotas: &Quotas| {
            let (from, to) = (space.path(&request.from)?, space.path(&request.to)?);
            space.workspace.rename(&from, &to, overwrite(request.overwrite))?;
            quotas.forget(space.folder());
            told_at(space, &to)
        };
        Ok(Response::new(self.change(&request.session_id.clone(), rename).await?))
    }

    async fn copy(&self, request: Request<v1::CopyFileRequest>) -> Answer<v1::CopyFileResponse> {
        let request = request.into_inner();
        let session = request.session_id.clone();
        let copied = self.change(&session, move |space, quotas| copy(space, quotas, &request)).await?;
        Ok(Response::new(copied))
    }

    async fn remove(&self, request: Request<v1::RemoveFileRequest>) -> Answer<v1::RemoveFileResponse> {
        let request = request.into_inner();
        let remove = move |space: &Space, quotas: &Quotas| {
            space.workspace.remove(&space.path(&request.path)?, request.recursive)?;
            quotas.forget(space.folder());
            Ok(v1::RemoveFileResponse {})
        };
        Ok(Response::new(self.change(&request.session_id.clone(), remove).await?))
    }

    async fn chmod(&self, request: Request<v1::ChmodFileRequest>) -> Answer<v1::FileEntry> {
        let request = request.into_inner();
        if request.mode > 0o777 {
            let message = format!("the mode `{:o}` has more than rights in it", request.mode);
            return Err(Fault::new(FaultKind::Invalid, message).hint("`0` to `777` can be given").into());
        }
        let change = move |space: &Space, _: &Quotas| {
            let path = space.path(&request.path)?;
            if path.is_root() {
                return Err(WorkspaceError::Root.into());
            }
            Ok(told(&path, &space.workspace.chmod(&path, request.mode)?, None))
        };
        Ok(Response::new(self.change(&request.session_id.clone(), change).await?))
    }
}

const fn overwrite(yes: bool) -> Overwrite {
    if yes { Overwrite::Replace } else { Overwrite::Never }
}

fn list(space: &Space, request: &v1::ListFilesRequest) -> Result<v1::ListFilesResponse, Fault> {
    let path = space.path(&request.path)?;
    let after = request.after.as_deref().map(|after| space.path(after)).transpose()?;
    let limit = if request.limit == 0 { LISTED } else { request.limit.min(MAX_LISTED) };
    let depth = usize::try_from(request.depth.max(1)).unwrap_or(usize::MAX);
    let folder = told_at(space, &path)?;
    let mut walk = space.workspace.walk(&path, depth, after.as_ref())?;
    let mut entries = Vec::new();
    for step in walk.by_ref().take(limit as usize) {
        let target = (step.entry.kind == Kind::Link).then(|| space.workspace.read_link(&step.path).ok());
        entries.push(told(&step.path, &step.entry, target.flatten()));
    }
    let last = entries.last().filter(|_| entries.len() == limit as usize && walk.next().is_some());
    let next = last.map(|last| last.path.clone());
    Ok(v1::ListFilesResponse { folder: Some(folder), entries, next })
}

fn copy(
    space: &Space,
    quotas: &Quotas,
    request: &v1::CopyFileRequest,
) -> Result<v1::CopyFileResponse, Fault> {
    let (from, to) = (space.path(&request.from)?, space.path(&request.to)?);
    let (room, overwrite) = (quotas.room(space)?, overwrite(request.overwrite));
    let workspace = &space.workspace;
    let copied: Result<(Entry, Copied), Fault> = match workspace.stat(&from)?.kind {
        Kind::File if room.inodes == 0 => return Err(full(space, room)),
        Kind::Folder => copy_folder(space, &from, &to, overwrite, room),
        _ => {
            workspace.copy_file(&from, &to, overwrite, room, &|| space.is_over()).map_err(|error| match error
            {
                WorkspaceError::Full { .. } => full(space, room),
                error => error.into(),
            })
        }
    };
    quotas.forget(space.folder());
    let (entry, copied) = copied?;
    Ok(v1::CopyFileResponse {
        entry: Some(told(&to, &entry, None)),
        bytes: copied.bytes,
        files: copied.inodes,
        skipped: copied.skipped,
    })
}

fn copy_folder(
    space: &Space,
    from: &WorkspacePath,
    to: &WorkspacePath,
    overwrite: Overwrite,
    room: Room,
) -> Result<(Entry, Copied), Fault> {
    let staging = space.stage()?;
    let mode = space.workspace.stat(from)?.mode;
    let copied = match space.workspace.copy_tree(from, to, &staging, room, &|| space.is_over()) {
        Err(WorkspaceError::Full { .. }) => return Err(full(space, room)),
        copied => copied?,
    };
    staging.publish(&space.workspace, to, overwrite)?;
    Ok((space.workspace.chmod(to, mode)?, copied))
}
