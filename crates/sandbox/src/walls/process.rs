//! The state of the process itself: its fork into the session, limits, descriptors, dumpability.

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Resource, Rlimit};

use super::failure::{OrWall, Wall};
use crate::wire::WallFailure;

/// Drops what was inherited from the host: the umask and the key ring. Disables core dumps for the session.
pub(super) fn drop_inherited_state() -> Result<(), WallFailure> {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    // 1 and not 0: the kernel skips a core handler (a pipe to a program run by the host's root) only for this
    // value.
    let least = Rlimit { current: Some(1), maximum: Some(1) };
    rustix::process::setrlimit(Resource::Core, least).or_wall(Wall::Process, "forbid core dumps")?;
    leave_key_ring();
    Ok(())
}

/// Starts a new session key ring. A kernel without key rings has none to leave.
fn leave_key_ring() {
    const KEYCTL_JOIN_SESSION_KEYRING: libc::c_long = 1;
    let anonymous: *const libc::c_char = std::ptr::null();
    // SAFETY: the call takes a null name and accesses no memory of ours.
    unsafe { libc::syscall(libc::SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, anonymous) };
}

/// Forks. The parent runs `before_exit` and exits, the child continues.
pub(super) fn continue_in_child(before_exit: impl FnOnce()) -> Result<(), WallFailure> {
    // SAFETY: this process has one thread, so the child finds no lock held.
    match unsafe { libc::fork() } {
        -1 => Err(last_errno()).or_wall(Wall::Namespaces, "fork the first process of the session"),
        0 => Ok(()),
        _ => {
            before_exit();
            // SAFETY: exits this process at once, without the exit handlers, which the child will run.
            unsafe { libc::_exit(0) }
        }
    }
}

/// Makes this process the parent of orphans among its descendants.
pub(super) fn become_subreaper() -> Result<(), WallFailure> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .or_wall(Wall::Process, "become the reaper of orphans")
}

/// Closes every descriptor from `first` on.
pub(super) fn close_from(first: u32) -> Result<(), WallFailure> {
    // SAFETY: callers own no descriptor from `first` on; the walls have closed theirs.
    match unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) } {
        0 => Ok(()),
        _ => Err(last_errno()).or_wall(Wall::Process, "close descriptors"),
    }
}

/// Sets whether other processes of the same user may trace this one and read its memory.
pub(super) fn set_dumpable(dumpable: bool) -> Result<(), WallFailure> {
    let behavior = if dumpable { DumpableBehavior::Dumpable } else { DumpableBehavior::NotDumpable };
    rustix::process::set_dumpable_behavior(behavior).or_wall(Wall::Process, "set whether init can be traced")
}

/// The error of the last failed libc call.
pub(super) fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
