//! The walls of a session. init builds them around itself.
//!
//! [`enter`] does this in order, as root (`host_uid` given):
//! 1. a new pid namespace and a fork: the child is pid 1 inside, the parent creates the [network](net) and
//!    exits;
//! 2. new mount, ipc, uts and cgroup namespaces, owned like the others by the host's user namespace; a
//!    neutral host name;
//! 3. a root on tmpfs ([`root`]) and `pivot_root`: nothing of the host is left;
//! 4. the session's own host user, then a user namespace that maps only that user, as 1000. Since the mounts
//!    belong to the host's user namespace, no process inside can ever change one;
//! 5. no capabilities, no new privileges, the [`seccomp`] filter, non-dumpable.
//!
//! A session with the host's network gets no network namespace; [`landlock`] then blocks the host's abstract
//! sockets, if the kernel supports that.
//!
//! As an ordinary user, the user namespace comes first and owns the others; the rest is the same.
//!
//! What stays visible: `/proc/self/mountinfo` shows, for each bind, the path within its own file system (the
//! workspace included). The kernel has no way to hide it. Host paths above the root of that file system are
//! not shown.

mod dev;
mod etc;
mod etc_image;
mod failure;
mod identity;
mod landlock;
pub(crate) mod mounts;
mod net;
mod owners;
mod place;
mod privileges;
mod proc;
mod process;
mod root;
pub mod seccomp;

use std::sync::atomic::{AtomicU64, Ordering};

use rustix::thread::UnshareFlags;

use crate::wire::{NetworkNamespace, Setup, WallFailure};
use failure::{OrWall, Wall};

pub use etc_image::prepare_etc;
pub use owners::UNMAPPABLE;

/// The secret with which init tags a process; see [`tag_cookie`].
static TAG_COOKIE: AtomicU64 = AtomicU64::new(0);

/// The user id and the group id of programs inside.
pub const INSIDE_ID: u32 = 1000;

/// The namespaces that pid 1 creates for itself.
const NAMESPACES: UnshareFlags = UnshareFlags::NEWNS
    .union(UnshareFlags::NEWIPC)
    .union(UnshareFlags::NEWUTS)
    .union(UnshareFlags::NEWCGROUP);

/// Builds all walls around the calling process, which must be single-threaded.
///
/// This function forks. When it returns, with success or with a failure after the fork, the caller is the
/// child; the original process has ended with `_exit(0)`. On success the caller is pid 1 of the session: in
/// the workspace, user 1000, without capabilities, non-dumpable, under the filter, and with no descriptor
/// above 4.
pub fn enter(setup: &Setup) -> Result<(), WallFailure> {
    let ordinary = identity::ordinary_user(setup)?;
    process::drop_inherited_state()?;
    // Before the pid namespace: the maps are written by the pids that the host's `/proc` shows.
    let owners = owners::Maps::new(setup)?;
    if ordinary {
        identity::own_user_namespace()?;
    }
    let network = match setup.network {
        NetworkNamespace::Session => Some(net::Handover::new()?),
        NetworkNamespace::Host => None,
    };
    unshare(UnshareFlags::NEWPID, "unshare the pid namespace")?;
    process::continue_in_child(|| {
        if let Some(network) = &network {
            network.make();
        }
    })?;
    unshare(NAMESPACES, "unshare the mount, ipc, uts and cgroup namespaces")?;
    rustix::system::sethostname(b"headwater").or_wall(Wall::Namespaces, "set the host name")?;
    root::build(setup, &owners)?;
    drop(owners);
    if let Some(network) = network {
        network.take()?;
    }
    if let Some(uid) = setup.host_uid {
        identity::become_user(uid, setup.place.as_ref().and_then(|place| place.host_gid).unwrap_or(uid))?;
    }
    let cookie = random_cookie()?;
    privileges::drop_all()?;
    if setup.network == NetworkNamespace::Host {
        landlock::hide_abstract_sockets()?;
    }
    process::close_from(FIRST_FREE_FD)?;
    seccomp::install(&seccomp::program(cookie, setup.kernel))?;
    process::set_dumpable(false)?;
    TAG_COOKIE.store(cookie, Ordering::Relaxed);
    Ok(())
}

/// Starts the same init without walls, which the operator has to choose explicitly.
///
/// Forks like [`enter`], so that init becomes no zombie of its starter; makes init the subreaper of its
/// programs' orphans; keeps the worker's user; ends up in the workspace, non-dumpable, with no descriptor
/// above 4.
pub fn without(setup: &Setup) -> Result<(), WallFailure> {
    process::drop_inherited_state()?;
    process::continue_in_child(|| ())?;
    process::become_subreaper()?;
    rustix::process::chdir(setup.workspace.as_str()).or_wall(Wall::Process, "enter the workspace")?;
    process::close_from(FIRST_FREE_FD)?;
    process::set_dumpable(false)
}

/// Descriptors 0 to 2, the listening socket and the link are init's; the others are closed.
const FIRST_FREE_FD: u32 = 5;

/// The required sixth argument of `prlimit64` for setting `RLIMIT_RTTIME`; 0 when there is no filter.
///
/// init tags every process of an execution with a number in that limit, which is inherited and has no effect
/// on programs without real-time scheduling. The filter allows setting the limit only with these 64 random
/// bits, which never leave init: it is non-dumpable, exec clears memory and registers, and reading a filter
/// requires a capability on the host. So no program can change its tag:
/// `libc::syscall(SYS_prlimit64, pid, RLIMIT_RTTIME, &new, 0, 0, tag_cookie())`.
pub fn tag_cookie() -> u64 {
    TAG_COOKIE.load(Ordering::Relaxed)
}

/// Moves this process into new namespaces.
fn unshare(flags: UnshareFlags, what: &str) -> Result<(), WallFailure> {
    // SAFETY: this process has one thread, and none of the flags separates descriptors from their owners.
    unsafe { rustix::thread::unshare_unsafe(flags) }.or_wall(Wall::Namespaces, what)
}

fn random_cookie() -> Result<u64, WallFailure> {
    let mut bytes = [0; 8];
    rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())
        .or_wall(Wall::Seccomp, "get random bits")?;
    Ok(u64::from_le_bytes(bytes).max(1))
}
