//! Registers descriptors with the runtime, which reports when they are ready.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

/// Types that may be registered: they own their descriptor, so that it stays open and the same while registered.
pub(crate) trait Owner: AsRawFd {}
impl Owner for OwnedFd {}
impl Owner for Arc<OwnedFd> {}

/// Registers a descriptor with the current runtime.
pub(crate) fn register<T: Owner>(fd: T, interest: Interest) -> io::Result<AsyncFd<T>> {
    // The new constructor is `unsafe` because an `AsRawFd` may lie about its descriptor. An `Owner` cannot, and this
    // crate has no `unsafe`.
    #[allow(deprecated)]
    AsyncFd::with_interest(fd, interest)
}
