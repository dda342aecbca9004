//! An archive on its way in: kept in the session's folder until all of it is there, then unpacked where no program sees it, and
//! only then moved to its place.

use std::fs::File;
use std::io::Write;

use headwater_contract::v1::{self, ArchiveFormat};
use headwater_contract::{Fault, FaultKind};
use headwater_protocol::Limits;
use tonic::Streaming;

use super::ground::{Ground, Stage, cannot};
use super::unpack::{Bounds, Sown, unpack};
use crate::workspace::WorkspacePath;

/// Entries of an archive, where the session has no smaller limit: as many as an archive of ours has at most.
const MAX_ENTRIES: u64 = 1_000_000;
/// The largest archive that is taken, where the session has no smaller limit.
const MAX_BYTES: u64 = 64 << 30;

/// An archive that has come.
#[derive(Debug)]
pub(super) struct Upload {
    stage: Stage,
    bytes: u64,
    /// How much more the session may have on the disk.
    free: u64,
}

/// Where a path of the archive comes to lie.
fn placed(into: &WorkspacePath, path: &WorkspacePath) -> Option<WorkspacePath> {
    path.names().iter().try_fold(into.clone(), |at, name| at.join(name))
}

/// How long all files of an archive may be together, out and in. More than the session may hold, because holes count here.
pub(super) fn max_length(limits: &Limits) -> u64 {
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
    /// Takes it.
    pub(super) async fn receive(
        ground: &Ground,
        mut messages: Streaming<v1::UnpackRequest>,
    ) -> Result<Self, Fault> {
        let free = ground.free_bytes()?.min(MAX_BYTES);
        let stage = Stage::new(&ground.dir)?;
        let mut file = File::create(stage.path().join("archive")).map_err(|error| cannot(&error))?;
        let mut bytes = 0;
        let cut = || Fault::new(FaultKind::Invalid, "the archive did not arrive whole").hint("send it again");
        loop {
            let message = messages.message().await.map_err(|_| cut())?.ok_or_else(cut)?;
            if message.end {
                return Ok(Self { stage, bytes, free });
            }
            bytes += message.data.len() as u64;
            if bytes > free {
                return Err(full(free));
            }
            let write = move || file.write_all(&message.data).map(|()| file);
            let written = tokio::task::spawn_blocking(write).await;
            file = written
                .map_err(std::io::Error::other)
                .and_then(|file| file)
                .map_err(|error| cannot(&error))?;
        }
    }

    /// Unpacks it and moves what was in it to its place.
    pub(super) fn unpack(
        self,
        ground: &Ground,
        into: &WorkspacePath,
        format: ArchiveFormat,
    ) -> Result<Sown, Fault> {
        let tree = ground.project_tree(&self.stage, "tree")?;
        let path = self.stage.path().join("archive");
        let archive = File::open(&path).map_err(|error| cannot(&error))?;
        let inodes = ground.limits.inodes.unwrap_or(MAX_ENTRIES);
        let bounds = Bounds {
            bytes: self.free.saturating_sub(self.bytes),
            length: max_length(&ground.limits),
            entries: inodes.min(MAX_ENTRIES),
        };
        let (sown, mut shut) = unpack(archive, format, &tree, bounds, &|| ground.is_over())?;
        ground.workspace.fits(&tree, into)?;
        // A folder that is there already keeps its rights.
        shut.retain(|(path, _)| placed(into, path).is_some_and(|path| ground.workspace.stat(&path).is_err()));
        ground.workspace.settle(&tree, into)?;
        for (path, mode) in shut.iter().rev() {
            if let Some(path) = placed(into, path) {
                // A program may have removed it since.
                let _ = ground.workspace.chmod(&path, *mode);
            }
        }
        Ok(sown)
    }
}
