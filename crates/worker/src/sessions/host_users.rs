//! Host users: a worker that runs as root gives each session a dedicated one, from a range that belongs to its data folder.
//!
//! The kernel counts processes, pipe pages and more for each user, and files belong to users, so two data folders
//! must not share any. A worker claims a range for its data folder on this host before it creates the first session.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use headwater_contract::{Fault, FaultKind};
use headwater_protocol::SandboxKind;
use rustix::fs::FlockOperation;

use crate::config::{Config, UID_BASE, UID_RANGE, UID_RANGES};

/// The claims of this host: a file for each range, named after its first user, that contains the path of the data folder.
pub(crate) const CLAIMS: &str = "/run/headwater/users";
/// The file of the data folder that records its range, so that the folder keeps it even if it is moved.
const RANGE_FILE: &str = "users";
/// How long to wait for the lock on the claims, which other workers hold for a moment, ...
const LOCK_TIMEOUT: Duration = Duration::from_secs(2);
/// ... and how often to try.
const LOCK_RETRY_INTERVAL: Duration = Duration::from_millis(5);
/// A folder that contains this file is a data folder.
const DATA_FOLDER_MARKER: &str = "worker.lock";

/// The range that a worker requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// This one, which the operator configured.
    Exactly(u32),
    /// This one, or, for a new data folder, the next free one.
    From(u32),
}

/// Why no range could be claimed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClaimError {
    /// Users of this range belong to another data folder.
    #[error("the host users from {base} on belong to the data folder `{}`", other.display())]
    Taken {
        /// The first user of the range.
        base: u32,
        /// That data folder.
        other: PathBuf,
    },
    /// The claims cannot be read or written.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Whether each session gets a dedicated user.
pub(crate) fn are_given_out(config: &Config) -> bool {
    rustix::process::geteuid().is_root() && config.sandbox != SandboxKind::None
}

/// The users of the data folder's range that are in use.
#[derive(Debug)]
pub(crate) struct UidPool {
    /// The first user of the range; `None` if sessions run as the worker's own user.
    base: Option<u32>,
    used: Mutex<BTreeSet<u32>>,
}

impl UidPool {
    /// All users from this one on are free.
    pub(crate) const fn new(base: Option<u32>) -> Self {
        Self { base, used: Mutex::new(BTreeSet::new()) }
    }

    fn used(&self) -> MutexGuard<'_, BTreeSet<u32>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a free user for a session; `None` if sessions run as the worker's own user.
    pub(crate) fn take(&self) -> Result<Option<u32>, Fault> {
        let Some(base) = self.base else { return Ok(None) };
        let mut used = self.used();
        let free = (base..base.saturating_add(UID_RANGE)).find(|uid| !used.contains(uid));
        let uid = free.ok_or_else(|| {
            let message = format!("all {UID_RANGE} host users of this data folder are in use");
            let fault = Fault::new(FaultKind::Exhausted, message);
            fault.hint("end sessions that are not needed any more; hibernated ones keep their user")
        })?;
        used.insert(uid);
        Ok(Some(uid))
    }

    /// A session that was found runs as this user.
    pub(crate) fn keep(&self, uid: Option<u32>) {
        self.used().extend(uid);
    }

    /// Nothing of this user is left on the host.
    pub(crate) fn free(&self, uid: Option<u32>) {
        if let Some(uid) = uid {
            self.used().remove(&uid);
        }
    }
}

/// Claims a range for this data folder; returns its first user.
pub(crate) fn claim(data: &Path, wanted: Wanted, claims: &Path) -> Result<u32, ClaimError> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(claims)?;
    let _lock = lock(&claims.join("lock"))?;
    let data = fs::canonicalize(data)?;
    let others = others(claims, &data)?;
    let taken = |base: u32| others.iter().find(|(other, _)| other.abs_diff(base) < UID_RANGE);
    let base = match (wanted, recorded(&data)) {
        (Wanted::Exactly(base), _) | (_, Some(base)) => match taken(base) {
            Some((_, other)) => return Err(ClaimError::Taken { base, other: other.clone() }),
            None => base,
        },
        (Wanted::From(first), None) => {
            let free = ranges_from(first).find(|base| taken(*base).is_none());
            free.ok_or_else(|| io::Error::other("all ranges of host users are taken"))?
        }
    };
    fs::write(claims.join(base.to_string()), data.as_os_str().as_encoded_bytes())?;
    if matches!(wanted, Wanted::From(_)) {
        fs::write(data.join(RANGE_FILE), base.to_string())?;
    }
    Ok(base)
}

/// Locks the claims for as long as the file is open. A worker that was suspended while it holds the lock must not block all
/// others on the host.
fn lock(path: &Path) -> io::Result<File> {
    let file = File::create(path)?;
    let deadline = Instant::now() + LOCK_TIMEOUT;
    loop {
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::AGAIN) if Instant::now() < deadline => {
                std::thread::sleep(LOCK_RETRY_INTERVAL);
            }
            Err(error) => return Err(error.into()),
            Ok(()) => return Ok(file),
        }
    }
}

/// All ranges, in order, beginning with this one.
fn ranges_from(first: u32) -> impl Iterator<Item = u32> {
    let index = first.saturating_sub(UID_BASE) / UID_RANGE;
    (0..UID_RANGES).map(move |n| UID_BASE + (index + n) % UID_RANGES * UID_RANGE)
}

/// The range of this folder. A folder with sessions from a version that did not record ranges has the one that follows from
/// its path, so that their users stay within it.
fn recorded(data: &Path) -> Option<u32> {
    if let Ok(text) = fs::read_to_string(data.join(RANGE_FILE)) {
        return text.trim().parse().ok();
    }
    let has_sessions = fs::read_dir(data.join("sessions")).is_ok_and(|mut all| all.next().is_some());
    has_sessions.then(|| crate::config::uid_base(data))
}

/// The claims of other folders. Claims of folders that no longer exist are removed.
fn others(claims: &Path, data: &Path) -> io::Result<Vec<(u32, PathBuf)>> {
    let mut others = Vec::new();
    for entry in fs::read_dir(claims)? {
        let entry = entry?;
        let Some(base) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let owner = PathBuf::from(fs::read_to_string(entry.path()).unwrap_or_default());
        if owner == data || !owner.join(DATA_FOLDER_MARKER).exists() {
            fs::remove_file(entry.path())?;
        } else {
            others.push((base, owner));
        }
    }
    Ok(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Host(tempfile::TempDir);

    impl Host {
        fn new() -> Self {
            Self(tempfile::tempdir().unwrap())
        }

        fn folder(&self, name: &str) -> PathBuf {
            let data = self.0.path().join(name);
            fs::create_dir_all(&data).unwrap();
            fs::write(data.join(DATA_FOLDER_MARKER), "").unwrap();
            fs::canonicalize(data).unwrap()
        }

        fn claim(&self, data: &Path, wanted: Wanted) -> Result<u32, ClaimError> {
            claim(data, wanted, &self.0.path().join("claims"))
        }
    }

    #[test]
    fn two_folders_whose_paths_decide_for_the_same_range_get_different_ones_and_keep_them() {
        let host = Host::new();
        let (a, b) = (host.folder("a"), host.folder("b"));
        let last = UID_BASE + (UID_RANGES - 1) * UID_RANGE;
        assert_eq!(host.claim(&a, Wanted::From(last)).unwrap(), last);
        assert_eq!(host.claim(&b, Wanted::From(last)).unwrap(), UID_BASE, "the next, from the beginning");
        // In the other order, as after a restart of the host.
        fs::remove_dir_all(host.0.path().join("claims")).unwrap();
        assert_eq!(host.claim(&b, Wanted::From(last)).unwrap(), UID_BASE);
        assert_eq!(host.claim(&a, Wanted::From(last)).unwrap(), last);
    }

    #[test]
    fn a_range_that_overlaps_anothers_is_refused_by_name_until_that_folder_is_gone() {
        let host = Host::new();
        let (a, b) = (host.folder("a"), host.folder("b"));
        host.claim(&a, Wanted::Exactly(1_000_000)).unwrap();
        for base in [1_000_000 - UID_RANGE + 1, 1_000_000, 1_000_000 + UID_RANGE - 1] {
            let refused = host.claim(&b, Wanted::Exactly(base));
            assert!(matches!(refused, Err(ClaimError::Taken { other, .. }) if other == a), "{base}");
        }
        assert_eq!(host.claim(&b, Wanted::Exactly(1_000_000 + UID_RANGE)).unwrap(), 1_000_000 + UID_RANGE);
        fs::remove_dir_all(&a).unwrap();
        assert_eq!(host.claim(&b, Wanted::Exactly(1_000_000)).unwrap(), 1_000_000);
    }

    #[test]
    fn a_folder_with_sessions_keeps_the_range_of_their_users() {
        let host = Host::new();
        let (a, b) = (host.folder("a"), host.folder("b"));
        fs::create_dir_all(b.join("sessions/ses_1")).unwrap();
        let base = crate::config::uid_base(&b);
        host.claim(&a, Wanted::Exactly(base)).unwrap();
        assert!(matches!(host.claim(&b, Wanted::From(base)), Err(ClaimError::Taken { .. })));
    }

    #[test]
    fn a_claim_that_never_ends_blocks_others_only_for_a_moment() {
        let host = Host::new();
        let (a, claims) = (host.folder("a"), host.0.path().join("claims"));
        fs::create_dir_all(&claims).unwrap();
        let held = lock(&claims.join("lock")).unwrap();
        assert!(matches!(host.claim(&a, Wanted::From(UID_BASE)), Err(ClaimError::Io(_))));
        drop(held);
        assert_eq!(host.claim(&a, Wanted::From(UID_BASE)).unwrap(), UID_BASE);
    }

    #[test]
    fn host_users_are_allocated_within_the_range_only() {
        let users = UidPool::new(Some(5_000));
        users.keep(Some(5_003));
        for n in (0..UID_RANGE).filter(|n| *n != 3) {
            assert_eq!(users.take().unwrap(), Some(5_000 + n));
        }
        assert_eq!(users.take().unwrap_err().kind, FaultKind::Exhausted);
        users.free(Some(5_007));
        assert_eq!(users.take().unwrap(), Some(5_007));
        let last = UidPool::new(Some(u32::MAX - 1));
        assert_eq!(last.take().unwrap(), Some(u32::MAX - 1));
        assert!(last.take().is_err(), "never past the end");
        assert_eq!(UidPool::new(None).take().unwrap(), None, "as the worker's own user");
    }
}
