//! `/dev`: harmless devices, a separate devpts instance, shared memory.

use std::ffi::CStr;

use rustix::mount::MountAttrFlags;

use super::failure::{OrWall, Wall};
use super::mounts::{self, Reach};
use super::root::{create_dir, create_file, create_link};
use crate::wire::{Setup, WallFailure};

/// Devices that every host has and any program may use: the path on the host, and the path in the new root.
const DEVICES: [(&CStr, &CStr); 6] = [
    (c"/dev/null", c"dev/null"),
    (c"/dev/zero", c"dev/zero"),
    (c"/dev/full", c"dev/full"),
    (c"/dev/random", c"dev/random"),
    (c"/dev/urandom", c"dev/urandom"),
    (c"/dev/tty", c"dev/tty"),
];

/// The attributes of device mounts: device files do not work with `nodev`.
const DEVICE: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NOEXEC);

/// Binds the host's device files. The host's root must still be reachable.
pub(super) fn show_devices() -> Result<(), WallFailure> {
    create_dir("dev")?;
    for (host, inside) in DEVICES {
        create_file(inside, "")?;
        mounts::bind(host, inside)
            .and_then(|()| mounts::restrict(inside, Reach::One, DEVICE))
            .or_wall(Wall::Mounts, format_args!("bind {host:?}"))?;
    }
    Ok(())
}

/// Populates the rest of `/dev`.
pub(super) fn populate(setup: &Setup) -> Result<(), WallFailure> {
    terminals(setup.kernel.terminals)?;
    super::root::mount_tmpfs("dev/shm", setup)?;
    create_link("dev/fd", "/proc/self/fd")?;
    create_link("dev/stdin", "/proc/self/fd/0")?;
    create_link("dev/stdout", "/proc/self/fd/1")?;
    create_link("dev/stderr", "/proc/self/fd/2")
}

/// Mounts a devpts instance that is separate from the host's.
fn terminals(most: u32) -> Result<(), WallFailure> {
    let most = most.to_string();
    let options = [(c"ptmxmode", "0666"), (c"mode", "0620"), (c"max", most.as_str())];
    create_dir("dev/pts")?;
    mounts::new(c"devpts", &options, DEVICE)
        .and_then(|tree| mounts::attach(&tree, "dev/pts"))
        .or_wall(Wall::Mounts, "mount the terminals")?;
    create_link("dev/ptmx", "pts/ptmx")
}
