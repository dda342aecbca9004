//! `/dev`: the harmless devices, terminals of its own, shared memory.

use std::os::fd::OwnedFd;

use rustix::mount::MountAttrFlags;

use super::failure::{OrWall, Wall};
use super::mounts;
use super::root::{make_dir, make_file, make_link};
use crate::wire::{Setup, WallFailure};

/// Devices that every host has and any program may use.
const DEVICES: [&str; 6] = ["null", "zero", "full", "random", "urandom", "tty"];

/// How many terminals a session may have open.
const MAX_TERMINALS: &str = "1024";

/// Device files cannot be on a mount without devices; they can do without the rest.
const DEVICE: MountAttrFlags = MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NOEXEC);

/// The host's devices, taken while the host is still in sight.
pub(super) struct Devices(Vec<(&'static str, OwnedFd)>);

impl Devices {
    /// Copies the device files of the host.
    pub(super) fn take() -> Result<Self, WallFailure> {
        let copy = |name| {
            let path = format!("/dev/{name}");
            let tree =
                mounts::copy(path.as_str(), DEVICE).or_wall(Wall::Mounts, format_args!("bind `{path}`"))?;
            Ok((name, tree))
        };
        DEVICES.into_iter().map(copy).collect::<Result<_, _>>().map(Self)
    }

    /// Furnishes `/dev` of the new root.
    pub(super) fn furnish(self, setup: &Setup) -> Result<(), WallFailure> {
        make_dir("/dev")?;
        for (name, tree) in self.0 {
            let path = format!("/dev/{name}");
            make_file(&path, "")?;
            mounts::attach(&tree, path.as_str()).or_wall(Wall::Mounts, format_args!("attach `{path}`"))?;
        }
        terminals()?;
        super::root::furnish_tmpfs("/dev/shm", setup)?;
        make_link("/dev/fd", "/proc/self/fd")?;
        make_link("/dev/stdin", "/proc/self/fd/0")?;
        make_link("/dev/stdout", "/proc/self/fd/1")?;
        make_link("/dev/stderr", "/proc/self/fd/2")
    }
}

/// An instance of the terminal file system that shares nothing with the host's.
fn terminals() -> Result<(), WallFailure> {
    let options = [(c"ptmxmode", "0666"), (c"mode", "0620"), (c"max", MAX_TERMINALS)];
    make_dir("/dev/pts")?;
    let tree = mounts::new(c"devpts", &options, DEVICE).or_wall(Wall::Mounts, "make the terminals")?;
    mounts::attach(&tree, "/dev/pts").or_wall(Wall::Mounts, "attach `/dev/pts`")?;
    make_link("/dev/ptmx", "pts/ptmx")
}
