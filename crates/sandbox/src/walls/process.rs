//! What belongs to the process itself: its fork into the session, limits, descriptors, dumpability.

use rustix::io::Errno;
use rustix::process::{DumpableBehavior, Resource, Rlimit};

use super::failure::{OrWall, Wall};
use crate::wire::WallFailure;

/// Sheds what the host gave: its file mask, its key ring; and no program of the session may dump core.
pub(super) fn drop_inherited_state() -> Result<(), WallFailure> {
    rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
    // 1 and not 0: the kernel skips a core handler (a pipe to a program of the host's root) only for this value.
    let least = Rlimit { current: Some(1), maximum: Some(1) };
    rustix::process::setrlimit(Resource::Core, least).or_wall(Wall::Process, "forbid core dumps")?;
    leave_key_ring();
    Ok(())
}

/// Starts a session key ring of its own. A kernel without key rings has nothing to leave.
fn leave_key_ring() {
    const KEYCTL_JOIN_SESSION_KEYRING: libc::c_long = 1;
    let anonymous: *const libc::c_char = std::ptr::null();
    // SAFETY: the call takes a null name and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, anonymous) };
}

/// Forks; the parent does its last deed and ends, the child goes on.
pub(super) fn continue_in_child(before_exit: impl FnOnce()) -> Result<(), WallFailure> {
    // SAFETY: this process has one thread, so that the child finds every lock as it should be.
    match unsafe { libc::fork() } {
        -1 => Err(last_errno()).or_wall(Wall::Namespaces, "fork the first process of the session"),
        0 => Ok(()),
        _ => {
            before_exit();
            // SAFETY: ends this process at once, without the exit handlers that are the child's to run.
            unsafe { libc::_exit(0) }
        }
    }
}

/// All orphans among the descendants come to this process.
pub(super) fn become_subreaper() -> Result<(), WallFailure> {
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))
        .or_wall(Wall::Process, "become the reaper of orphans")
}

/// Closes every descriptor from `first` on.
pub(super) fn close_from(first: u32) -> Result<(), WallFailure> {
    // SAFETY: callers own no descriptor above `first`; the walls dropped theirs.
    match unsafe { libc::syscall(libc::SYS_close_range, first, u32::MAX, 0) } {
        0 => Ok(()),
        _ => Err(last_errno()).or_wall(Wall::Process, "close descriptors"),
    }
}

/// Whether others of the same user may trace this process and read its memory.
pub(super) fn set_dumpable(dumpable: bool) -> Result<(), WallFailure> {
    let behavior = if dumpable { DumpableBehavior::Dumpable } else { DumpableBehavior::NotDumpable };
    rustix::process::set_dumpable_behavior(behavior).or_wall(Wall::Process, "change who may trace init")
}

/// The error of the libc call just made.
pub(super) fn last_errno() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO)
}
