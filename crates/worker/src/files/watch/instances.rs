//! The kernel's inotify instances. It gives a user 128 of them, and the sessions of an ordinary user's worker are that
//! user: programs can take them all. So some are made when the worker starts, and are kept for watches of the API.

use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustix::fs::inotify::{self, CreateFlags};
use rustix::io::Errno;

/// Instances that are kept: enough for all watches of one session.
const RESERVE: usize = 16;

/// How many are kept. None if the worker is root: its sessions are other users, who cannot take those of root.
fn wanted() -> usize {
    if rustix::process::geteuid().is_root() { 0 } else { RESERVE }
}

/// Those that nobody uses.
static RESERVED: Mutex<Vec<Arc<OwnedFd>>> = Mutex::new(Vec::new());

fn reserved() -> MutexGuard<'static, Vec<Arc<OwnedFd>>> {
    RESERVED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn make() -> Result<OwnedFd, Errno> {
    inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC)
}

/// Makes the reserve, before any session is there.
pub(crate) fn reserve() {
    let mut reserved = reserved();
    while reserved.len() < wanted() {
        match make() {
            Ok(instance) => reserved.push(Arc::new(instance)),
            Err(error) => {
                tracing::warn!(%error, "no inotify instances can be kept for watches");
                return;
            }
        }
    }
}

/// An instance: a new one, or one of the reserve if the kernel gives no more.
pub(crate) fn take() -> Result<Arc<OwnedFd>, Errno> {
    make().map(Arc::new).or_else(|error| match error {
        Errno::MFILE | Errno::NFILE => reserved().pop().ok_or(error),
        _ => Err(error),
    })
}

/// Takes back an instance with these watches, if the reserve is not full.
pub(crate) fn give_back(instance: &Arc<OwnedFd>, watches: impl Iterator<Item = i32>) {
    let mut reserved = reserved();
    if reserved.len() >= wanted() {
        return;
    }
    for watch in watches {
        // A folder that is gone has no watch any more.
        let _ = inotify::remove_watch(&**instance, watch);
    }
    let mut buffer = [0_u8; 4096];
    while rustix::io::read(&**instance, &mut buffer).is_ok_and(|read| read > 0) {}
    reserved.push(Arc::clone(instance));
}
