//! How much a session may still put into its workspace. Programs are watched (`watch`); what comes over the contract is
//! measured before it is written.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use headwater_contract::{Fault, FaultKind};

use crate::space::Space;
use crate::workspace::Room;
use crate::{tree, trees};

/// A measure is believed for so long: walking a large workspace takes longer than writing a small file. What is written
/// meanwhile over the contract is added to it.
const BELIEVED: Duration = Duration::from_secs(1);
/// Workspaces remembered at once.
const REMEMBERED: usize = 1024;

/// What workspaces were found to hold.
#[derive(Debug, Default)]
pub(crate) struct Quotas(Mutex<HashMap<PathBuf, Measured>>);

#[derive(Debug, Clone, Copy)]
struct Measured {
    bytes: u64,
    inodes: u64,
    at: Instant,
}

impl Quotas {
    fn known(&self) -> MutexGuard<'_, HashMap<PathBuf, Measured>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What may still be put into a workspace. Blocks while it is measured.
    pub(crate) fn room(&self, space: &Space) -> Result<Room, Fault> {
        let limits = &space.limits;
        if limits.disk_bytes.is_none() && limits.inodes.is_none() {
            return Ok(Room { bytes: u64::MAX, inodes: u64::MAX });
        }
        let known = self.known().get(space.folder()).copied();
        let used = match known.filter(|known| known.at.elapsed() < BELIEVED) {
            Some(used) => used,
            None => self.measure(space)?,
        };
        let left = |limit: Option<u64>, used: u64| limit.map_or(u64::MAX, |limit| limit.saturating_sub(used));
        Ok(Room { bytes: left(limits.disk_bytes, used.bytes), inodes: left(limits.inodes, used.inodes) })
    }

    fn measure(&self, space: &Space) -> Result<Measured, Fault> {
        let usage = tree::measure(space.folder()).map_err(|error| {
            Fault::new(FaultKind::Unavailable, format!("cannot measure the workspace: {error}"))
        })?;
        // Snapshots count towards the same limit.
        let kept = space.folder().parent().map_or(0, trees::kept_bytes);
        let measured = Measured { bytes: usage.bytes + kept, inodes: usage.inodes, at: Instant::now() };
        let mut known = self.known();
        if known.len() >= REMEMBERED {
            known.retain(|_, known| known.at.elapsed() < BELIEVED);
        }
        known.insert(space.folder().to_owned(), measured);
        Ok(measured)
    }

    /// So much was put there.
    pub(crate) fn add(&self, space: &Space, bytes: u64, inodes: u64) {
        if let Some(known) = self.known().get_mut(space.folder()) {
            known.bytes = known.bytes.saturating_add(bytes);
            known.inodes = known.inodes.saturating_add(inodes);
        }
    }

    /// Something was removed or replaced: it must be measured again.
    pub(crate) fn forget(&self, workspace: &Path) {
        self.known().remove(workspace);
    }
}

/// It does not fit.
pub(crate) fn full(space: &Space, room: Room) -> Fault {
    let limits = &space.limits;
    let message = match (limits.disk_bytes, limits.inodes) {
        (_, Some(inodes)) if room.inodes == 0 => {
            format!("the workspace may hold {inodes} files and folders, and has them")
        }
        (Some(bytes), _) => {
            let left = room.bytes;
            format!("it does not fit: the workspace may hold {bytes} bytes, of which {left} are left")
        }
        _ => "it does not fit".to_owned(),
    };
    Fault::new(FaultKind::Full, message).hint("remove something first, or raise the session's `disk_bytes`")
}
