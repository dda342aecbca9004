//! An archive on its way in: kept in the session's folder until all of it is there, then unpacked where no program sees it, and
//! only then moved to its place.

use std::fs::File;
use std::io::Write;

use headwater_contract::v1::{self, ArchiveFormat};
use headwater_contract::{Fault, FaultKind};
use tonic::Streaming;

use super::ground::{Ground, Stage, cannot};
use super::unpack::{Bounds, Sown, unpack};
use crate::workspace::WorkspacePath;

/// Entries of an archive, where the session has no smaller limit.
const MAX_ENTRIES: u64 = 200_000;
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
        let tree = self.stage.tree("tree", ground.owner)?;
        let path = self.stage.path().join("archive");
        let archive = File::open(&path).map_err(|error| cannot(&error))?;
        let inodes = ground.limits.inodes.unwrap_or(MAX_ENTRIES);
        let bounds = Bounds {
            bytes: self.free.saturating_sub(self.bytes),
            entries: inodes.min(MAX_ENTRIES),
            archive_bytes: self.bytes,
        };
        let sown = unpack(archive, format, &tree, bounds)?;
        ground.workspace.fits(&tree, into)?;
        ground.workspace.settle(&tree, into)?;
        Ok(sown)
    }
}
