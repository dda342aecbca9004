//! The kernel's inotify instances. A user has 128 of them, and if the worker is not root, its sessions run as the same
//! user: programs can take them all. So some are created when the worker starts and reserved for watches of the API.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::inotify::{self, CreateFlags};
use rustix::io::Errno;

/// Reserved instances: enough for all watches of one session.
const RESERVED_INSTANCES: usize = 16;

/// How many instances to reserve. None if the worker is root: its sessions run as other users.
fn wanted() -> usize {
    if rustix::process::geteuid().is_root() { 0 } else { RESERVED_INSTANCES }
}

/// The reserved instances that are not in use.
static RESERVE: Mutex<Vec<Arc<OwnedFd>>> = Mutex::new(Vec::new());

fn reserved() -> MutexGuard<'static, Vec<Arc<OwnedFd>>> {
    RESERVE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn create() -> Result<OwnedFd, Errno> {
    inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
}

/// Creates the reserve, before the first session starts.
pub(crate) fn reserve() {
    let mut reserved = reserved();
    while reserved.len() < wanted() {
        match create() {
            Ok(instance) => reserved.push(Arc::new(instance)),
            Err(error) => {
                tracing::warn!(%error, "cannot reserve inotify instances for watches");
                return;
            }
        }
    }
}

/// A new instance, or one of the reserve if the kernel's limit is reached.
pub(crate) fn take() -> Result<Arc<OwnedFd>, Errno> {
    create().map(Arc::new).or_else(|error| match error {
        Errno::MFILE | Errno::NFILE => reserved().pop().ok_or(error),
        _ => Err(error),
    })
}

/// Returns an instance with these watches to the reserve, unless it is full.
pub(crate) fn release(instance: &Arc<OwnedFd>, watches: impl Iterator<Item = i32>) {
    let mut reserved = reserved();
    if reserved.len() >= wanted() {
        return;
    }
    for watch in watches {
        // A folder that was removed has no watch any more.
        let _ = inotify::remove_watch(&**instance, watch);
    }
    let mut buffer = [0_u8; 4096];
    while rustix::io::read(&**instance, &mut buffer).is_ok_and(|read| read > 0) {}
    reserved.push(Arc::clone(instance));
}
