//! The user of the session's processes: one unprivileged user of the host, mapped to 1000 inside.

use std::fs;

use rustix::process::{Gid, Uid};
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};

use super::INSIDE_ID;
use super::failure::{OrWall, Wall};
use super::process::set_dumpable;
use crate::wire::{Setup, WallFailure};

/// Whether the session runs as the worker's own, ordinary user. Refuses every configuration that would be
/// root inside.
pub(super) fn ordinary_user(setup: &Setup) -> Result<bool, WallFailure> {
    match (rustix::process::geteuid().is_root(), setup.host_uid) {
        (true, Some(1..)) => Ok(false),
        (false, None) => Ok(true),
        (true, _) => {
            Err(Wall::Identity.refused("the worker is root, and the session has no dedicated host user"))
        }
        (false, Some(uid)) => {
            Err(Wall::Identity.refused(format_args!("only root can run a session as host user `{uid}`")))
        }
    }
}

/// Enters a user namespace with all capabilities in it, as the current user.
pub(super) fn own_user_namespace() -> Result<(), WallFailure> {
    let (uid, gid) = (rustix::process::geteuid(), rustix::process::getegid());
    // SAFETY: this process has one thread.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWUSER) }
        .or_wall(Wall::User, "unshare the user namespace")?;
    // The change of credentials has made the process non-dumpable, and then its maps belong to root.
    set_dumpable(true)?;
    write_map("setgroups", "deny")?;
    write_map("uid_map", &format!("{INSIDE_ID} {} 1", uid.as_raw()))?;
    write_map("gid_map", &format!("{INSIDE_ID} {} 1", gid.as_raw()))
}

fn write_map(file: &str, text: &str) -> Result<(), WallFailure> {
    fs::write(format!("/proc/self/{file}"), text).map_err(|error| {
        let errno = rustix::io::Errno::from_io_error(&error).unwrap_or(rustix::io::Errno::IO);
        Wall::User.failed(format_args!("write `{text}` to /proc/self/{file}"), errno)
    })
}

/// Changes from root to the session's host user, irreversibly, and enters a user namespace as that user.
pub(super) fn become_user(uid: u32, gid: u32) -> Result<(), WallFailure> {
    let what = format!("become host user `{uid}`");
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    // Some hosts deny user namespaces to ordinary users: keep the one capability that allows them.
    rustix::thread::set_keep_capabilities(true).or_wall(Wall::Identity, &what)?;
    rustix::thread::set_thread_groups(&[]).or_wall(Wall::Identity, &what)?;
    rustix::thread::set_thread_res_gid(gid, gid, gid).or_wall(Wall::Identity, &what)?;
    rustix::thread::set_thread_res_uid(uid, uid, uid).or_wall(Wall::Identity, &what)?;
    let admin = CapabilitySet::SYS_ADMIN;
    let sets = CapabilitySets { effective: admin, permitted: admin, inheritable: CapabilitySet::empty() };
    rustix::thread::set_capabilities(None, sets).or_wall(Wall::Identity, &what)?;
    own_user_namespace()
}
