//! An uploaded archive: stored in the session's folder until it is complete, then unpacked where no program sees it, and
//! finally moved to its path.

use std::fs::File;
use std::io::Write;

use headwater_contract::v1::{self, ArchiveFormat};
use headwater_contract::{Fault, FaultKind};
use headwater_protocol::Limits;
use headwater_workspace::{StagingDir, WorkspacePath};
use tonic::Streaming;

use super::unpack::{Bounds, Extracted, unpack};
use crate::detached::blocking;
use crate::files::open_workspace::{OpenWorkspace, disk_fault};

/// The most entries, if the session has no lower limit: as many as an archive that we pack.
const MAX_ENTRIES: u64 = 1_000_000;
/// The largest archive, if the session has no lower limit.
const MAX_ARCHIVE_BYTES: u64 = 64 << 30;
/// The name of the archive in the staging folder.
const ARCHIVE_NAME: &str = "archive";

/// An archive that is being uploaded.
#[derive(Debug)]
pub(crate) struct Upload {
    stage: StagingDir,
    file: File,
    bytes: u64,
    /// The disk space that the session has left.
    free: u64,
}

/// The path in the workspace of a path in the archive.
fn target_of(into: &WorkspacePath, path: &WorkspacePath) -> Option<WorkspacePath> {
    path.names().iter().try_fold(into.clone(), |at, name| at.join(name))
}

/// The longest total length of all files of an archive. Higher than the disk limit, because holes count here.
pub(crate) fn max_length(limits: &Limits) -> u64 {
    limits.disk_bytes.map_or(MAX_ARCHIVE_BYTES, |bytes| bytes.saturating_mul(4).min(MAX_ARCHIVE_BYTES))
}

fn full(free: u64) -> Fault {
    Fault::new(FaultKind::Full, format!("the archive exceeds the {free} bytes that the session has left"))
        .hint("remove files or snapshots, or raise `limits.disk_bytes` of the session")
}

impl Upload {
    /// Starts an upload. Blocks while the workspace is measured.
    pub(crate) fn begin(open: &OpenWorkspace) -> Result<Self, Fault> {
        let (free, stage) = (open.room_now()?.bytes.min(MAX_ARCHIVE_BYTES), open.stage()?);
        let file = File::create_new(stage.path().join(ARCHIVE_NAME)).map_err(|error| disk_fault(&error))?;
        Ok(Self { stage, file, bytes: 0, free })
    }

    /// Receives the archive.
    pub(crate) async fn receive(mut self, mut messages: Streaming<v1::UnpackRequest>) -> Result<Self, Fault> {
        let cut = || Fault::new(FaultKind::Invalid, "the upload was incomplete").hint("send it again");
        loop {
            let message = messages.message().await.map_err(|_| cut())?.ok_or_else(cut)?;
            if message.end {
                return Ok(self);
            }
            self.bytes += message.data.len() as u64;
            if self.bytes > self.free {
                return Err(full(self.free));
            }
            let write = move || match self.file.write_all(&message.data) {
                Ok(()) => Ok(self),
                Err(error) => Err(disk_fault(&error)),
            };
            self = blocking(write).await?;
        }
    }

    /// Unpacks the archive and moves its content to its path.
    pub(crate) fn unpack(
        self,
        open: &OpenWorkspace,
        into: &WorkspacePath,
        format: ArchiveFormat,
    ) -> Result<Extracted, Fault> {
        let tree = open.staged_tree(&self.stage, "tree")?;
        let archive = File::open(self.stage.path().join(ARCHIVE_NAME)).map_err(|error| disk_fault(&error))?;
        let inodes = open.limits().inodes.unwrap_or(MAX_ENTRIES);
        let bounds = Bounds {
            // Measured again: other uploads may have been unpacked meanwhile.
            bytes: open.room_now()?.bytes.min(self.free).saturating_sub(self.bytes),
            length: max_length(open.limits()),
            entries: inodes.min(MAX_ENTRIES),
        };
        let (extracted, mut restricted) = unpack(archive, format, &tree, bounds, &|| open.is_over())?;
        open.workspace.check_move_in(&tree, into)?;
        // An existing folder keeps its mode.
        restricted.retain(|(path, _)| {
            target_of(into, path).is_some_and(|path| open.workspace.stat(&path).is_err())
        });
        open.workspace.move_in(&tree, into)?;
        for (path, mode) in restricted.iter().rev() {
            if let Some(path) = target_of(into, path) {
                // A program may have removed it meanwhile.
                let _ = open.workspace.chmod(&path, *mode);
            }
        }
        Ok(extracted)
    }
}
