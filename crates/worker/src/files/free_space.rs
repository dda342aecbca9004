//! The space that is left in a workspace. The janitor checks programs; calls over the contract are measured before they
//! write.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::SessionId;
use headwater_workspace::Room;

use crate::files::open_workspace::OpenWorkspace;
use crate::usage::disk::{self, is_limited};

/// How long a measurement is used: walking a large workspace takes longer than writing a small file. Bytes that are
/// written over the contract meanwhile are added to it.
const MEASURE_VALID_FOR: Duration = Duration::from_secs(1);
/// The most measurements in memory.
const MAX_MEASURES: usize = 1024;

/// The measured usage of workspaces.
#[derive(Debug, Default)]
pub(crate) struct FreeSpace(Mutex<HashMap<SessionId, Measured>>);

#[derive(Debug, Clone, Copy)]
struct Measured {
    bytes: u64,
    inodes: u64,
    at: Instant,
}

impl FreeSpace {
    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, Measured>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The space that is left in a workspace. Blocks while it is measured.
    pub(crate) fn room(&self, open: &OpenWorkspace) -> Result<Room, Fault> {
        let limits = open.limits();
        if !is_limited(limits) {
            return Ok(Room { bytes: u64::MAX, inodes: u64::MAX });
        }
        let known = self.known().get(&open.id).copied();
        let used = match known.filter(|known| known.at.elapsed() < MEASURE_VALID_FOR) {
            Some(used) => used,
            None => self.measure(open)?,
        };
        let left = |limit: Option<u64>, used: u64| limit.map_or(u64::MAX, |limit| limit.saturating_sub(used));
        Ok(Room { bytes: left(limits.disk_bytes, used.bytes), inodes: left(limits.inodes, used.inodes) })
    }

    fn measure(&self, open: &OpenWorkspace) -> Result<Measured, Fault> {
        let now = disk::Measured::now(&open.dir, open.walled_init()).map_err(|error| {
            Fault::new(FaultKind::Unavailable, format!("cannot measure the workspace: {error}"))
        })?;
        let measured = Measured { bytes: now.bytes(), inodes: now.inodes(), at: Instant::now() };
        let mut known = self.known();
        if known.len() >= MAX_MEASURES {
            known.retain(|_, known| known.at.elapsed() < MEASURE_VALID_FOR);
        }
        known.insert(open.id, measured);
        Ok(measured)
    }

    /// Adds to the measured usage.
    pub(crate) fn add(&self, id: SessionId, bytes: u64, inodes: u64) {
        if let Some(known) = self.known().get_mut(&id) {
            known.bytes = known.bytes.saturating_add(bytes);
            known.inodes = known.inodes.saturating_add(inodes);
        }
    }

    /// Discards the measurement after something was removed or replaced.
    pub(crate) fn forget(&self, id: SessionId) {
        self.known().remove(&id);
    }
}
