//! Abstract unix sockets belong to a network namespace. A session in the host's would reach those of the host's services,
//! many of which trust whoever reaches them. Landlock closes that way, on kernels that can (6.12 and later).

use std::os::fd::{FromRawFd, OwnedFd};

use super::failure::{OrWall, Wall};
use super::process::last_errno;
use crate::wire::WallFailure;

/// `struct landlock_ruleset_attr`, as of version 6 of the interface.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
struct Ruleset {
    handled_access_fs: u64,
    handled_access_net: u64,
    scoped: u64,
}

const LANDLOCK_CREATE_RULESET_VERSION: libc::c_uint = 1;
const LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET: u64 = 1;
/// The first version that knows scopes.
const SCOPES_SINCE: libc::c_long = 6;

/// From now on this process and all it starts connect only to abstract sockets that are theirs. A kernel that cannot do
/// this leaves them reachable: the documentation of `network: full` says so.
pub(super) fn hide_abstract_sockets() -> Result<(), WallFailure> {
    if version() < SCOPES_SINCE {
        return Ok(());
    }
    let rules =
        Ruleset { handled_access_fs: 0, handled_access_net: 0, scoped: LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET };
    let flags: libc::c_uint = 0;
    // SAFETY: `rules` outlives the call, which reads so many bytes from it and returns a new descriptor.
    let made = unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, &raw const rules, size_of::<Ruleset>(), flags)
    };
    let made = libc::c_int::try_from(made).unwrap_or(-1);
    if made < 0 {
        return Err(last_errno()).or_wall(Wall::Privileges, "make rules for abstract sockets");
    }
    // SAFETY: the descriptor is new, and nobody else knows it.
    let ruleset = unsafe { OwnedFd::from_raw_fd(made) };
    // SAFETY: takes the descriptor, which lives through the call, and a number.
    let set = unsafe {
        libc::syscall(libc::SYS_landlock_restrict_self, std::os::fd::AsRawFd::as_raw_fd(&ruleset), flags)
    };
    if set == 0 { Ok(()) } else { Err(last_errno()).or_wall(Wall::Privileges, "hide abstract sockets") }
}

/// Of the kernel's interface; -1 if it has none.
fn version() -> libc::c_long {
    let none: *const Ruleset = std::ptr::null();
    // SAFETY: with this flag the call takes a null pointer and touches no memory.
    unsafe {
        libc::syscall(libc::SYS_landlock_create_ruleset, none, 0_usize, LANDLOCK_CREATE_RULESET_VERSION)
    }
}
