//! The last measurement of what each owner uses.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use headwater_contract::v1::OwnerDisk;

/// A younger measurement of the disk is not repeated.
const DISK_MAX_AGE: Duration = Duration::from_secs(1);
/// The most that an execution adds to its owner's log before the next measurement: the default limit of a log.
const MAX_LOG_BYTES_OF_EXECUTION: u64 = 256 << 20;

/// Bytes that an owner keeps on the disk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Disk {
    pub(crate) workspace_bytes: u64,
    pub(crate) snapshot_bytes: u64,
    /// Of all logs, those of running executions included.
    pub(crate) log_bytes: u64,
    /// Logs of ended executions.
    pub(crate) logs: u64,
}

impl Disk {
    /// The sum of all parts.
    pub(crate) const fn total(&self) -> u64 {
        self.workspace_bytes.saturating_add(self.snapshot_bytes).saturating_add(self.log_bytes)
    }
}

#[derive(Debug, Default)]
struct Measured {
    /// CPU time of live processes, in milliseconds. That of ended ones is in the store.
    cpu_ms: HashMap<String, u64>,
    disk: HashMap<String, Disk>,
    /// When the disk was last measured; `None` if something was removed since.
    disk_at: Option<Instant>,
}

/// The last measurement of all owners.
#[derive(Debug, Default)]
pub(crate) struct Meter(Mutex<Measured>);

impl Meter {
    fn measured(&self) -> MutexGuard<'_, Measured> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Replaces the CPU time of live processes.
    pub(crate) fn set_cpu(&self, cpu_ms: HashMap<String, u64>) {
        self.measured().cpu_ms = cpu_ms;
    }

    /// Replaces the measurement of the disk.
    pub(crate) fn set_disk(&self, owners: Vec<OwnerDisk>) {
        let mut measured = self.measured();
        measured.disk = owners.into_iter().map(|one| (one.owner.clone(), disk(&one))).collect();
        measured.disk_at = Some(Instant::now());
    }

    /// Something was removed: the next check measures the disk again.
    pub(crate) fn outdate(&self) {
        self.measured().disk_at = None;
    }

    pub(super) fn is_fresh(&self) -> bool {
        self.measured().disk_at.is_some_and(|at| at.elapsed() < DISK_MAX_AGE)
    }

    /// An execution has ended with a log of this size, which counts before the next measurement.
    pub(super) fn add_log(&self, owner: &str, bytes: u64) {
        self.measured().disk.entry(owner.to_owned()).or_default().log_bytes +=
            bytes.min(MAX_LOG_BYTES_OF_EXECUTION);
    }

    pub(super) fn cpu_of(&self, owner: &str) -> u64 {
        self.measured().cpu_ms.get(owner).copied().unwrap_or_default()
    }

    /// What this owner keeps on the disk by the last measurement.
    pub(crate) fn disk_of(&self, owner: &str) -> Disk {
        self.measured().disk.get(owner).copied().unwrap_or_default()
    }
}

fn disk(owner: &OwnerDisk) -> Disk {
    let OwnerDisk { workspace_bytes, snapshot_bytes, log_bytes, logs, .. } = *owner;
    Disk { workspace_bytes, snapshot_bytes, log_bytes, logs }
}
