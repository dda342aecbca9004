//! How much a session may still put into its workspace. Programs are watched (`watch`); what comes over the contract is
//! measured before it is written.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::SessionId;
use headwater_workspace::Room;

use crate::files::open_workspace::OpenWorkspace;
use crate::usage::disk::{self, is_limited};

/// A measure is believed for so long: walking a large workspace takes longer than writing a small file. What is written
/// meanwhile over the contract is added to it.
const BELIEVED: Duration = Duration::from_secs(1);
/// Workspaces remembered at once.
const REMEMBERED: usize = 1024;

/// What workspaces were found to hold.
#[derive(Debug, Default)]
pub(crate) struct Quotas(Mutex<HashMap<SessionId, Measured>>);

#[derive(Debug, Clone, Copy)]
struct Measured {
    bytes: u64,
    inodes: u64,
    at: Instant,
}

impl Quotas {
    fn known(&self) -> MutexGuard<'_, HashMap<SessionId, Measured>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What may still be put into a workspace. Blocks while it is measured.
    pub(crate) fn room(&self, open: &OpenWorkspace) -> Result<Room, Fault> {
        let limits = open.limits();
        if !is_limited(limits) {
            return Ok(Room { bytes: u64::MAX, inodes: u64::MAX });
        }
        let known = self.known().get(&open.id).copied();
        let used = match known.filter(|known| known.at.elapsed() < BELIEVED) {
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
        if known.len() >= REMEMBERED {
            known.retain(|_, known| known.at.elapsed() < BELIEVED);
        }
        known.insert(open.id, measured);
        Ok(measured)
    }

    /// So much was put there.
    pub(crate) fn add(&self, id: SessionId, bytes: u64, inodes: u64) {
        if let Some(known) = self.known().get_mut(&id) {
            known.bytes = known.bytes.saturating_add(bytes);
            known.inodes = known.inodes.saturating_add(inodes);
        }
    }

    /// Something was removed or replaced: it must be measured again.
    pub(crate) fn forget(&self, id: SessionId) {
        self.known().remove(&id);
    }
}
