//! An archive on its way in: kept in the session's folder until all of it is there, then unpacked where no program sees it, and
//! only then moved to its place.

use std::fs::File;
use std::io::Write;

use headwater_contract::v1::{self, ArchiveFormat};
use headwater_contract::{Fault, FaultKind};
use headwater_protocol::Limits;
use headwater_workspace::{Stage, WorkspacePath};
use tonic::Streaming;

use super::unpack::{Bounds, Sown, unpack};
use crate::detached::blocking;
use crate::files::open_workspace::{OpenWorkspace, disk_fault};

/// Entries of an archive, where the session has no smaller limit: as many as an archive of ours has at most.
const MAX_ENTRIES: u64 = 1_000_000;
/// The largest archive that is taken, where the session has no smaller limit.
const MAX_BYTES: u64 = 64 << 30;
/// Its name in the stage.
const ARCHIVE: &str = "archive";

/// An archive that comes, or has come.
#[derive(Debug)]
pub(crate) struct Upload {
    stage: Stage,
    file: File,
    bytes: u64,
    /// How much more the session may have on the disk.
    free: u64,
}

/// Where a path of the archive comes to lie.
fn placed(into: &WorkspacePath, path: &WorkspacePath) -> Option<WorkspacePath> {
    path.names().iter().try_fold(into.clone(), |at, name| at.join(name))
}

/// How long all files of an archive may be together, out and in. More than the session may hold, because holes count here.
pub(crate) fn max_length(limits: &Limits) -> u64 {
    limits.disk_bytes.map_or(MAX_BYTES, |bytes| bytes.saturating_mul(4).min(MAX_BYTES))
}

fn full(free: u64) -> Fault {
    Fault::new(
        FaultKind::Full,
        format!("the archive is larger than the {free} bytes that the session may still use"),
    )
    .hint("remove files or snapshots, or raise `limits.disk_bytes` of the session")
}

impl Upload {
    /// Makes room for it. Blocks while the workspace is measured.
    pub(crate) fn begin(open: &OpenWorkspace) -> Result<Self, Fault> {
        let (free, stage) = (open.room_now()?.bytes.min(MAX_BYTES), open.stage()?);
        let file = File::create_new(stage.path().join(ARCHIVE)).map_err(|error| disk_fault(&error))?;
        Ok(Self { stage, file, bytes: 0, free })
    }

    /// Takes it.
    pub(crate) async fn receive(mut self, mut messages: Streaming<v1::UnpackRequest>) -> Result<Self, Fault> {
        let cut = || Fault::new(FaultKind::Invalid, "the archive did not arrive whole").hint("send it again");
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

    /// Unpacks it and moves what was in it to its place.
    pub(crate) fn unpack(
        self,
        open: &OpenWorkspace,
        into: &WorkspacePath,
        format: ArchiveFormat,
    ) -> Result<Sown, Fault> {
        let tree = open.staged_tree(&self.stage, "tree")?;
        let archive = File::open(self.stage.path().join(ARCHIVE)).map_err(|error| disk_fault(&error))?;
        let inodes = open.limits().inodes.unwrap_or(MAX_ENTRIES);
        let bounds = Bounds {
            // Measured anew: others may have unpacked something meanwhile.
            bytes: open.room_now()?.bytes.min(self.free).saturating_sub(self.bytes),
            length: max_length(open.limits()),
            entries: inodes.min(MAX_ENTRIES),
        };
        let (sown, mut shut) = unpack(archive, format, &tree, bounds, &|| open.is_over())?;
        open.workspace.fits(&tree, into)?;
        // A folder that is there already keeps its rights.
        shut.retain(|(path, _)| placed(into, path).is_some_and(|path| open.workspace.stat(&path).is_err()));
        open.workspace.settle(&tree, into)?;
        for (path, mode) in shut.iter().rev() {
            if let Some(path) = placed(into, path) {
                // A program may have removed it since.
                let _ = open.workspace.chmod(&path, *mode);
            }
        }
        Ok(sown)
    }
}
