//! The gRPC service `Files`: single files of a workspace. Each call opens the workspace, works on a blocking thread, and
//! returns the new metadata.

mod change;
mod entry;
mod read;
mod read_many;
mod write;

use std::sync::Arc;

use headwater_contract::v1::files_server::Files as Contract;
use headwater_contract::{Fault, FaultKind, v1};
use headwater_workspace::{CopyTotals, Entry, Kind, Overwrite, Room, WorkspaceError, WorkspacePath};
use tonic::{Request, Response, Status, Streaming};

use crate::detached::blocking;
use crate::engine::Engine;
use crate::files::open_workspace::OpenWorkspace;
use crate::rpc::files::entry::{entry_at, to_proto};

type Answer<T> = Result<Response<T>, Status>;

/// The most entries of one list response.
const MAX_LISTED: u32 = 1000;
/// The default number of entries of one list response.
const DEFAULT_LISTED: u32 = 100;
/// The name of a folder's copy in the staging folder.
const TREE_NAME: &str = "tree";

/// Serves the calls of `Files`.
#[derive(Debug)]
pub(crate) struct FilesService {
    engine: Arc<Engine>,
}

impl FilesService {
    pub(crate) const fn new(engine: Arc<Engine>) -> Self {
        Self { engine }
    }

    /// Reads from a session's workspace.
    async fn look<T: Send + 'static>(
        &self,
        session: &str,
        work: impl FnOnce(&OpenWorkspace) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (engine, id) = (Arc::clone(&self.engine), session.parse()?);
        blocking(move || OpenWorkspace::open(&engine, id)?.attempt(work)).await
    }

    /// Changes a session's workspace, to the end even if the caller goes away.
    async fn alter<T: Send + 'static>(
        &self,
        session: &str,
        work: impl FnOnce(&OpenWorkspace) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let (engine, id) = (Arc::clone(&self.engine), session.parse()?);
        let open = blocking(move || OpenWorkspace::open(&engine, id)).await?;
        let lock = open.lock().await;
        blocking(move || {
            let done = open.attempt(work);
            drop(lock);
            done
        })
        .await
    }
}

#[tonic::async_trait]
impl Contract for FilesService {
    async fn stat(&self, request: Request<v1::StatFileRequest>) -> Answer<v1::FileEntry> {
        let request = request.into_inner();
        let look = move |open: &OpenWorkspace| {
            let path = open.path(&request.path)?;
            entry_at(open, &path)
        };
        Ok(Response::new(self.look(&request.session_id, look).await?))
    }

    async fn list(&self, request: Request<v1::ListFilesRequest>) -> Answer<v1::ListFilesResponse> {
        let request = request.into_inner();
        let session = request.session_id.clone();
        Ok(Response::new(self.look(&session, move |open| list(open, &request)).await?))
    }

    type ReadStream = read::Pieces;

    async fn read(&self, request: Request<v1::ReadFileRequest>) -> Answer<read::Pieces> {
        let request = request.into_inner();
        let session = request.session_id.clone();
        let opened = self.look(&session, move |open| read::open(open, &request)).await?;
        Ok(Response::new(read::pieces(opened)))
    }

    async fn write(
        &self,
        request: Request<Streaming<v1::WriteFileRequest>>,
    ) -> Answer<v1::WriteFileResponse> {
        let written = write::write(&self.engine, request.into_inner()).await?;
        Ok(Response::new(written))
    }

    async fn make_folder(&self, request: Request<v1::MakeFolderRequest>) -> Answer<v1::WriteFileResponse> {
        let request = request.into_inner();
        let make = move |open: &OpenWorkspace| {
            let path = open.path(&request.path)?;
            let room = open.room()?;
            let missing = path.names().len() as u64; // at most
            if room.inodes < missing && open.workspace.stat(&path).is_err() {
                return Err(open.full(room));
            }
            let (entry, created) = open.workspace.create_folder(&path)?;
            open.has_grown(4096 * u64::from(created), u64::from(created));
            Ok(v1::WriteFileResponse { entry: Some(to_proto(&path, &entry, None)), created })
        };
        Ok(Response::new(self.alter(&request.session_id.clone(), make).await?))
    }

    async fn r#move(&self, request: Request<v1::MoveFileRequest>) -> Answer<v1::FileEntry> {
        let request = request.into_inner();
        let rename = move |open: &OpenWorkspace| {
            let (from, to) = (open.path(&request.from)?, open.path(&request.to)?);
            open.workspace.rename(&from, &to, overwrite(request.overwrite))?;
            open.has_changed();
            entry_at(open, &to)
        };
        Ok(Response::new(self.alter(&request.session_id.clone(), rename).await?))
    }

    async fn copy(&self, request: Request<v1::CopyFileRequest>) -> Answer<v1::CopyFileResponse> {
        let request = request.into_inner();
        let session = request.session_id.clone();
        let copied = self.alter(&session, move |open| copy(open, &request)).await?;
        Ok(Response::new(copied))
    }

    async fn remove(&self, request: Request<v1::RemoveFileRequest>) -> Answer<v1::RemoveFileResponse> {
        let request = request.into_inner();
        let remove = move |open: &OpenWorkspace| {
            open.workspace.remove(&open.path(&request.path)?, request.recursive)?;
            open.has_changed();
            Ok(v1::RemoveFileResponse {})
        };
        Ok(Response::new(self.alter(&request.session_id.clone(), remove).await?))
    }

    async fn chmod(&self, request: Request<v1::ChmodFileRequest>) -> Answer<v1::FileEntry> {
        let request = request.into_inner();
        if request.mode > 0o777 {
            let message =
                format!("the mode `{:o}` is not valid: it may only contain permission bits", request.mode);
            return Err(Fault::new(FaultKind::Invalid, message).hint("use a mode from `0` to `777`").into());
        }
        let change = move |open: &OpenWorkspace| {
            let path = open.path(&request.path)?;
            if path.is_root() {
                return Err(WorkspaceError::Root.into());
            }
            Ok(to_proto(&path, &open.workspace.chmod(&path, request.mode)?, None))
        };
        Ok(Response::new(self.alter(&request.session_id.clone(), change).await?))
    }

    type ReadManyStream = read_many::States;

    async fn read_many(&self, request: Request<v1::ReadManyRequest>) -> Answer<read_many::States> {
        let request = request.into_inner();
        let (engine, id) = (Arc::clone(&self.engine), request.session_id.parse().map_err(Fault::from)?);
        let open = blocking(move || OpenWorkspace::open(&engine, id)).await?;
        Ok(Response::new(read_many::states(open, request)?))
    }

    async fn change(
        &self,
        request: Request<Streaming<v1::ChangeFilesRequest>>,
    ) -> Answer<v1::ChangeFilesResponse> {
        Ok(Response::new(change::change(&self.engine, request.into_inner()).await?))
    }
}

const fn overwrite(yes: bool) -> Overwrite {
    if yes { Overwrite::Replace } else { Overwrite::Never }
}

fn list(open: &OpenWorkspace, request: &v1::ListFilesRequest) -> Result<v1::ListFilesResponse, Fault> {
    let path = open.path(&request.path)?;
    let after = request.after.as_deref().map(|after| open.path(after)).transpose()?;
    let limit = if request.limit == 0 { DEFAULT_LISTED } else { request.limit.min(MAX_LISTED) };
    let depth = usize::try_from(request.depth.max(1)).unwrap_or(usize::MAX);
    let folder = entry_at(open, &path)?;
    let mut walk = open.workspace.walk(&path, depth, after.as_ref())?;
    let mut entries = Vec::new();
    for step in walk.by_ref().take(limit as usize) {
        let target = (step.entry.kind == Kind::Link).then(|| open.workspace.read_link(&step.path).ok());
        entries.push(to_proto(&step.path, &step.entry, target.flatten()));
    }
    let last = entries.last().filter(|_| entries.len() == limit as usize && walk.next().is_some());
    let next = last.map(|last| last.path.clone());
    Ok(v1::ListFilesResponse { folder: Some(folder), entries, next, home: open.home.clone() })
}

fn copy(open: &OpenWorkspace, request: &v1::CopyFileRequest) -> Result<v1::CopyFileResponse, Fault> {
    let (from, to) = (open.path(&request.from)?, open.path(&request.to)?);
    let (room, overwrite) = (open.room()?, overwrite(request.overwrite));
    let workspace = &open.workspace;
    let copied: Result<(Entry, CopyTotals), Fault> = match workspace.stat(&from)?.kind {
        Kind::File if room.inodes == 0 => return Err(open.full(room)),
        Kind::Folder => copy_folder(open, &from, &to, overwrite, room),
        _ => workspace.copy_file(&from, &to, overwrite, room, &|| open.is_over()).map_err(
            |error| match error {
                WorkspaceError::Full { .. } => open.full(room),
                error => error.into(),
            },
        ),
    };
    open.has_changed();
    let (entry, copied) = copied?;
    Ok(v1::CopyFileResponse {
        entry: Some(to_proto(&to, &entry, None)),
        bytes: copied.bytes,
        files: copied.inodes,
        skipped: copied.skipped,
    })
}

fn copy_folder(
    open: &OpenWorkspace,
    from: &WorkspacePath,
    to: &WorkspacePath,
    overwrite: Overwrite,
    room: Room,
) -> Result<(Entry, CopyTotals), Fault> {
    open.refuse_in_place("copying a folder")?; // it may be on another file system than the staging folder
    let workspace = &open.workspace;
    let (stage, mode) = (open.stage()?, workspace.stat(from)?.mode);
    let tree = open.staged_tree(&stage, TREE_NAME)?;
    let copied = match workspace.copy_tree(from, to, &tree, room, &|| open.is_over()) {
        Err(WorkspaceError::Full { .. }) => return Err(open.full(room)),
        copied => copied?,
    };
    workspace.publish(&stage, TREE_NAME, to, overwrite)?;
    Ok((workspace.chmod(to, mode)?, copied))
}
