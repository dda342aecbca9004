//! The disk usage of a session and its limit.
//!
//! The kernel has no disk limit that works on every host, so the usage is measured. The last measurement is kept here; the
//! free space of the disk, which is cheap to read, decides when the next one is due. The janitor ends the programs of a
//! session that is over its limit, and nothing more starts in it until a new measurement is below the limit.

use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::{LimitKind, Limits};
use headwater_workspace::tree::{self, Usage};
use tokio::sync::OwnedMutexGuard;

use crate::files;
use crate::layout;
use crate::usage::deleted_files;

/// A program may always write a file of this size: one that cannot write 1 MiB to `/tmp` cannot clean up either.
const MIN_FILE_BYTES: u64 = 1 << 20;
/// Programs of a session that exceeds its limit by more than an eighth are ended without a grace period.
const FAR_OVER_DIVISOR: u64 = 8;

/// A workspace is measured at most this often unless the disk shrinks, ...
const MIN_WALK_INTERVAL: Duration = Duration::from_secs(1);
/// ... and only after this many times the duration of the last walk.
const WALK_INTERVAL_FACTOR: u32 = 50;

/// The free space of a disk.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Free {
    pub(crate) bytes: u64,
    pub(crate) inodes: u64,
}

impl Free {
    /// The free space of the disk of this folder.
    pub(crate) fn of(folder: &Path) -> Self {
        let stat = rustix::fs::statvfs(folder);
        stat.map_or(Self::default(), |stat| Self {
            bytes: stat.f_bavail * stat.f_frsize,
            inodes: stat.f_favail,
        })
    }
}

/// One measurement.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    usage: Usage,
    /// The part of `usage` for its snapshots.
    snapshot_bytes: u64,
    at: Instant,
    /// The duration of the walk.
    took: Duration,
    /// The free space when it began.
    free: Free,
}

impl Measured {
    /// Measures the workspace and the snapshots in a session's folder, and the removed files that the processes below
    /// `init` hold open. Blocks.
    pub(crate) fn now(session: &Path, init: Option<i32>) -> io::Result<Self> {
        let (at, free, workspace) = (Instant::now(), Free::of(session), layout::workspace(session));
        let mut usage = tree::measure(&workspace)?;
        if let Some(init) = init {
            deleted_files::add(init, &workspace, &mut usage);
        }
        let snapshot_bytes = files::kept_bytes(session);
        usage.bytes += snapshot_bytes;
        Ok(Self { usage, snapshot_bytes, at, took: at.elapsed(), free })
    }

    /// The measurement of a new, empty workspace.
    pub(crate) fn empty(session: &Path) -> Self {
        let free = Free::of(session);
        Self { usage: Usage::default(), snapshot_bytes: 0, at: Instant::now(), took: Duration::ZERO, free }
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.usage.bytes
    }

    pub(crate) const fn inodes(&self) -> u64 {
        self.usage.inodes
    }

    pub(crate) const fn snapshot_bytes(&self) -> u64 {
        self.snapshot_bytes
    }

    /// How old it may become before another one is worth its walk. The longer the walk takes, the older.
    pub(crate) fn max_age(&self) -> Duration {
        (self.took * WALK_INTERVAL_FACTOR).max(MIN_WALK_INTERVAL)
    }

    pub(crate) fn age(&self) -> Duration {
        self.at.elapsed()
    }

    /// Whether the session is over its limit.
    pub(crate) fn is_over(&self, limits: &Limits) -> bool {
        self.exceeded(limits).is_some() || (self.usage.too_deep && is_limited(limits))
    }

    /// The limit that the session exceeds, with its value.
    pub(crate) fn exceeded(&self, limits: &Limits) -> Option<(LimitKind, u64)> {
        let over = |which, used: u64, limit: Option<u64>| {
            limit.filter(|limit| used > *limit).map(|limit| (which, limit))
        };
        over(LimitKind::DiskBytes, self.usage.bytes, limits.disk_bytes)
            .or_else(|| over(LimitKind::Inodes, self.usage.inodes, limits.inodes))
    }

    /// Whether it exceeds its limit so far that its programs must end at once.
    pub(crate) fn is_far_over(&self, limits: &Limits) -> bool {
        limits
            .disk_bytes
            .is_some_and(|limit| self.usage.bytes > limit.saturating_add(limit / FAR_OVER_DIVISOR))
    }

    /// Whether the disk has lost so much free space since then that this session may have used half of its remaining space.
    pub(crate) fn is_near(&self, limits: &Limits, free: Free) -> bool {
        let half =
            |limit: Option<u64>, used: u64| limit.map_or(u64::MAX, |limit| limit.saturating_sub(used) / 2);
        self.free.bytes.saturating_sub(free.bytes) > half(limits.disk_bytes, self.usage.bytes)
            || self.free.inodes.saturating_sub(free.inodes) > half(limits.inodes, self.usage.inodes)
    }

    /// The largest file that a program may write: the space that is left plus the size of the largest existing file, which
    /// the program may rewrite or extend. Never more than the limit itself.
    pub(crate) fn file_bytes(&self, limits: &Limits) -> Option<u64> {
        let limit = limits.disk_bytes?;
        let left = limit.saturating_sub(self.usage.bytes);
        Some(left.saturating_add(self.usage.largest_bytes).min(limit).max(MIN_FILE_BYTES))
    }

    /// Refuses a start in a session that is over its limit.
    pub(crate) fn refuse_if_over(&self, limits: &Limits) -> Result<(), Fault> {
        if !self.is_over(limits) {
            return Ok(());
        }
        let (bytes, inodes) = (limits.disk_bytes.unwrap_or(u64::MAX), limits.inodes.unwrap_or(u64::MAX));
        let message = if self.usage.bytes > bytes {
            format!("the session uses `{}` bytes of disk, and its limit is `{bytes}`", self.usage.bytes)
        } else if self.usage.inodes > inodes {
            format!("the session has `{}` files and folders, and its limit is `{inodes}`", self.usage.inodes)
        } else {
            "the session's folders are nested too deep to be measured".to_owned()
        };
        let hint = "delete files or snapshots with the API, or raise `limits.disk_bytes` or `limits.inodes` of the \
                    session; then start again";
        Err(Fault::new(FaultKind::OverDisk, message).hint(hint))
    }
}

/// Whether a session has a disk limit.
pub(crate) const fn is_limited(limits: &Limits) -> bool {
    limits.disk_bytes.is_some() || limits.inodes.is_some()
}

/// The last measurement of a session.
#[derive(Debug, Default)]
pub(crate) struct Gauge {
    last: Mutex<Option<Measured>>,
    /// Held during a measurement, so that one walk serves all callers that wait for it.
    turn: Arc<tokio::sync::Mutex<()>>,
}

impl Gauge {
    pub(crate) fn new(last: Option<Measured>) -> Self {
        Self { last: Mutex::new(last), turn: Arc::default() }
    }

    pub(crate) fn last(&self) -> Option<Measured> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set(&self, measured: Option<Measured>) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = measured;
    }

    /// The lock to measure, unless a measurement is running.
    pub(crate) fn try_turn(&self) -> Option<OwnedMutexGuard<()>> {
        Arc::clone(&self.turn).try_lock_owned().ok()
    }

    /// Refuses a start while the session is over its limit, after a measurement if one is due. `walk` blocks.
    pub(crate) async fn admit(
        &self,
        limits: &Limits,
        session: &Path,
        walk: impl FnOnce() -> io::Result<Measured> + Send + 'static,
    ) -> Result<(), Fault> {
        if !is_limited(limits) {
            return Ok(());
        }
        let asked = Instant::now();
        let is_good = |last: &Measured| {
            // A measurement that began after this request is new enough.
            last.at >= asked || !(last.is_over(limits) || last.is_near(limits, Free::of(session)))
        };
        if self.last().as_ref().is_some_and(is_good) {
            return Ok(());
        }
        let _turn = Arc::clone(&self.turn).lock_owned().await;
        if let Some(last) = self.last().filter(is_good) {
            return last.refuse_if_over(limits);
        }
        let walked = tokio::task::spawn_blocking(walk).await.map_err(io::Error::other);
        let measured = walked.and_then(|walked| walked).map_err(|error| {
            Fault::new(FaultKind::Unavailable, format!("cannot measure the workspace: {error}"))
        })?;
        self.set(Some(measured));
        measured.refuse_if_over(limits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(bytes: u64, largest_bytes: u64) -> Measured {
        let usage = Usage { bytes, largest_bytes, ..Usage::default() };
        let free = Free { bytes: 1 << 40, inodes: 1 << 20 };
        Measured { usage, snapshot_bytes: 0, at: Instant::now(), took: Duration::ZERO, free }
    }

    const LIMITS: Limits = Limits {
        disk_bytes: Some(64 << 20),
        memory_bytes: None,
        cpus: None,
        pids: None,
        open_files: None,
        file_bytes: None,
        inodes: None,
        output_bytes: None,
        wall_ms: None,
        cpu_ms: None,
    };

    #[test]
    fn a_file_may_take_what_is_left_and_an_existing_one_may_be_rewritten() {
        let most = |bytes, largest| measured(bytes, largest).file_bytes(&LIMITS);
        assert_eq!(most(0, 0), Some(64 << 20));
        assert_eq!(most(60 << 20, 0), Some(4 << 20), "what is left");
        assert_eq!(most(60 << 20, 50 << 20), Some(54 << 20), "an existing file can grow by what is left");
        assert_eq!(most(64 << 20, 1 << 40), Some(64 << 20), "never more than the limit");
        assert_eq!(most(64 << 20, 0), Some(MIN_FILE_BYTES));
        assert_eq!(measured(0, 0).file_bytes(&Limits::default()), None);
    }

    #[test]
    fn a_session_over_its_limit_is_refused_with_what_it_uses_and_what_it_may() {
        assert!(measured(64 << 20, 0).refuse_if_over(&LIMITS).is_ok());
        let fault = measured((64 << 20) + 1, 0).refuse_if_over(&LIMITS).unwrap_err();
        assert_eq!(fault.kind, FaultKind::OverDisk);
        assert!(fault.message.contains("67108865") && fault.message.contains("67108864"), "{fault}");
        assert!(measured(73 << 20, 0).is_far_over(&LIMITS) && !measured(71 << 20, 0).is_far_over(&LIMITS));
    }

    #[test]
    fn a_measurement_is_due_when_the_disk_lost_half_of_what_was_left() {
        let free = |less: u64| Free { bytes: (1 << 40) - less, inodes: 1 << 20 };
        assert!(!measured(0, 0).is_near(&LIMITS, free(32 << 20)));
        assert!(measured(0, 0).is_near(&LIMITS, free((32 << 20) + 1)));
    }

    #[tokio::test]
    async fn a_start_measures_again_when_the_last_measurement_was_over() {
        let folder = tempfile::tempdir().unwrap();
        let gauge = Gauge::new(Some(measured(65 << 20, 0)));
        let over = gauge.admit(&LIMITS, folder.path(), || Ok(measured(66 << 20, 0))).await;
        assert_eq!(over.unwrap_err().kind, FaultKind::OverDisk);
        let below = gauge.admit(&LIMITS, folder.path(), || Ok(measured(4 << 20, 0))).await;
        assert!(below.is_ok());
        assert_eq!(gauge.last().unwrap().file_bytes(&LIMITS), Some(60 << 20));
    }
}
