//! The owners of files in an in-place session of a worker that is root.
//!
//! The session runs as a dedicated host user, as every other one. In each mount of the place that user stands
//! for the owner of the folder, by an id-mapped mount: programs may do what the owner may, files that they
//! create belong to the owner, and nowhere else do they have the owner's rights.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::failure::{OrWall, Wall};
use super::process::last_errno;
use crate::wire::{Setup, WallFailure};

/// The name of the wall that fails if a file system cannot map owners.
pub const UNMAPPABLE: &str = "owners";

/// Above every id of the host: the kernel reserves the last one.
const IDS_END: u32 = u32::MAX;

/// A user namespace for each owner of a mount.
#[derive(Debug, Default)]
pub(super) struct Maps(BTreeMap<(u32, u32), OwnedFd>);

impl Maps {
    /// Creates the maps that the mounts of a place need; none if nothing is mapped.
    pub(super) fn new(setup: &Setup) -> Result<Self, WallFailure> {
        let (Some(place), Some(session)) = (&setup.place, setup.host_uid) else { return Ok(Self::default()) };
        let mut maps = Self::default();
        for owner in place.mounts.iter().filter_map(|mount| mount.owner) {
            if let Entry::Vacant(vacant) = maps.0.entry(owner) {
                let namespace = namespace(owner, session);
                vacant.insert(namespace.or_wall(Wall::Owners, "map the owner of the folder")?);
            }
        }
        Ok(maps)
    }

    /// The user namespace with the map of this owner.
    pub(super) fn get(&self, owner: (u32, u32)) -> Result<BorrowedFd<'_>, WallFailure> {
        let missing = || Wall::Owners.refused("the owner of the folder has no map");
        self.0.get(&owner).map(AsFd::as_fd).ok_or_else(missing)
    }
}

/// A user namespace in which `owner` is `session` outside, and every other id is itself.
fn namespace(owner: (u32, u32), session: u32) -> Result<OwnedFd, Errno> {
    let holder = Holder::start()?;
    let proc = format!("/proc/{}", holder.0);
    let write = |file: &str, text: String| {
        fs::write(format!("{proc}/{file}"), text)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))
    };
    write("uid_map", map(owner.0, session))?;
    write("gid_map", map(owner.1, session))?;
    rustix::fs::openat(CWD, format!("{proc}/ns/user"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// The lines of an id map: the id on the disk, the id that programs and the kernel see, and how many.
fn map(owner: u32, session: u32) -> String {
    let (low, high) = (owner.min(session), owner.max(session));
    let between = |from: u32, to: u32| (from < to).then(|| format!("{from} {from} {}\n", to - from));
    let lines = [
        between(0, low),
        Some(format!("{owner} {session} 1\n")),
        between(low.saturating_add(1), high),
        between(high.saturating_add(1), IDS_END),
    ];
    lines.into_iter().flatten().collect()
}

/// A process that does nothing but keep a new user namespace alive.
struct Holder(libc::pid_t);

impl Holder {
    fn start() -> Result<Self, Errno> {
        let flags = libc::c_long::from(libc::CLONE_NEWUSER | libc::SIGCHLD);
        // SAFETY: without a stack and without shared memory this is a fork; the child only makes system calls.
        match unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) } {
            -1 => Err(last_errno()),
            0 => loop {
                // SAFETY: both calls only concern this process, which ends with the one that started it.
                unsafe {
                    libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
                    libc::pause();
                }
            },
            pid => libc::pid_t::try_from(pid).map(Self).map_err(|_| Errno::OVERFLOW),
        }
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // SAFETY: the process is our child and has not been reaped, so the pid is still its own.
        unsafe {
            libc::kill(self.0, libc::SIGKILL);
            libc::waitpid(self.0, std::ptr::null_mut(), 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an id on the disk is outside.
    fn outside(map: &str, id: u32) -> Option<u32> {
        map.lines().find_map(|line| {
            let numbers: Vec<u32> = line.split(' ').map(|number| number.parse().unwrap()).collect();
            let within = id.checked_sub(numbers[0]).filter(|within| *within < numbers[2])?;
            Some(numbers[1] + within)
        })
    }

    #[test]
    fn the_owner_is_the_session_and_every_other_id_is_itself() {
        for (owner, session) in [(0, 2_000_000), (1000, 2_000_000), (3_000_000, 2_000_000), (1, 2)] {
            let map = map(owner, session);
            assert_eq!(outside(&map, owner), Some(session), "{map}");
            assert_eq!(outside(&map, session), None, "nobody else stands for the owner: {map}");
            for other in [0, 1, 2, 999, 1000, 1001, 1_999_999, 2_000_001, 3_000_000, u32::MAX - 1] {
                if other != owner && other != session {
                    assert_eq!(outside(&map, other), Some(other), "{other} in {map}");
                }
            }
        }
    }
}
