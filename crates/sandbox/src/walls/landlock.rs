//! Abstract unix sockets belong to a network namespace. A session in the host's could connect to those of the
//! host's services, many of which trust every client. Landlock blocks that, on kernels that support it (6.12
//! and later).

use std::os::fd::{FromRawFd, OwnedFd};

use super::failure::{OrWall, Wall};
use super::process::last_errno;
use crate::wire::WallFailure;

/// `struct landlock_ruleset_attr`, as of ABI version 6.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Ruleset {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

const LANDLOCK_CREATE_RULESET_VERSION: libc::c_uint = 1;
const LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET: u64 = 1;
/// The first ABI version with scopes.
const SCOPES_SINCE: libc::c_long = 6;

/// Restricts this process and its descendants to their own abstract sockets. Kernels without support leave
/// the others reachable, as the documentation of `network: full` says.
pub(super) fn hide_abstract_sockets() -> Result<(), WallFailure> {
    if version() < SCOPES_SINCE {
        return Ok(());
    }
    let rules =
        Ruleset { handled_access_fs: 0, handled_access_net: 0, scoped: LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET };
    let flags: libc::c_uint = 0;
    // SAFETY: `rules` outlives the call, which reads its size in bytes and returns a new descriptor.
    let made = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, &raw const rules, size_of::<Ruleset>(), flags)
    };
    let made = libc::c_int::try_from(made).unwrap_or(-1);
    if made < 0 {
        return Err(last_errno()).or_wall(Wall::Privileges, "create rules for abstract sockets");
    }
    // SAFETY: a new descriptor that nothing else owns.
    let ruleset = unsafe { OwnedFd::from_raw_fd(made) };
    // SAFETY: takes the descriptor, which outlives the call, and a number.
    let set = unsafe {
        libc::syscall(libc::SYS_landlock_restrict_self, std::os::fd::AsRawFd::as_raw_fd(&ruleset), flags)
    };
    if set == 0 { Ok(()) } else { Err(last_errno()).or_wall(Wall::Privileges, "hide abstract sockets") }
}

/// The Landlock ABI version of the kernel; -1 if it has none.
fn version() -> libc::c_long {
    let none: *const Ruleset = std::ptr::null();
    // SAFETY: with this flag the call takes a null pointer and accesses no memory.
    unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, LANDLOCK_CREATE_RULESET_VERSION)
    }
}
