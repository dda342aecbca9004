//! `/proc`: fresh, of the session's own processes, with what tells of the host or steers it masked.

use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::mount::MountAttrFlags;

use super::failure::{OrWall, Wall};
use super::mounts::{self, PLAIN, READ_ONLY};
use super::root::make_dir;
use crate::wire::WallFailure;

/// Nothing in it is a program.
const ATTRIBUTES: MountAttrFlags = PLAIN.union(MountAttrFlags::MOUNT_ATTR_NOEXEC);

/// Files that read as empty. Most are root's alone on the host as well; this does not rest on that.
const MASKED_FILES: [&str; 24] = [
    "/proc/sysrq-trigger",
    "/proc/kcore",
    "/proc/kmsg",
    "/proc/keys",
    "/proc/key-users",
    "/proc/kallsyms",
    "/proc/timer_list",
    "/proc/timer_stats",
    "/proc/sched_debug",
    "/proc/latency_stats",
    "/proc/kpagecount",
    "/proc/kpageflags",
    "/proc/kpagecgroup",
    "/proc/vmallocinfo",
    "/proc/slabinfo",
    "/proc/pagetypeinfo",
    "/proc/config.gz",
    "/proc/iomem",
    "/proc/ioports",
    "/proc/modules",
    "/proc/mtrr",
    "/proc/cmdline",
    "/proc/diskstats",
    "/proc/partitions",
];

/// Folders that are empty.
const MASKED_FOLDERS: [&str; 8] = [
    "/proc/acpi",
    "/proc/asound",
    "/proc/bus",
    "/proc/driver",
    "/proc/fs",
    "/proc/irq",
    "/proc/scsi",
    "/proc/tty",
];

/// A fresh `/proc`. Made while the host's is in sight: the kernel gives a user namespace no more than that shows.
pub(super) fn new() -> Result<OwnedFd, WallFailure> {
    mounts::new(c"proc", &[], ATTRIBUTES).or_wall(Wall::Proc, "mount proc")
}

/// Attaches it and masks what must be masked. Needs `/dev/null` and the empty folder `/home`.
pub(super) fn furnish(proc: &OwnedFd) -> Result<(), WallFailure> {
    make_dir("/proc")?;
    mounts::attach(proc, "/proc").or_wall(Wall::Proc, "attach `/proc`")?;
    MASKED_FILES.iter().try_for_each(|path| mask(path, "/dev/null", MountAttrFlags::MOUNT_ATTR_RDONLY))?;
    MASKED_FOLDERS.iter().try_for_each(|path| mask(path, "/home", READ_ONLY))?;
    mask("/proc/sys", "/proc/sys", READ_ONLY | ATTRIBUTES)
}

/// Covers `path` with a copy of `cover`. What this kernel does not have needs no cover.
fn mask(path: &str, cover: &str, attributes: MountAttrFlags) -> Result<(), WallFailure> {
    if !std::path::Path::new(path).exists() {
        return Ok(());
    }
    let result = mounts::copy(cover, attributes).and_then(|tree| mounts::attach(&tree, path));
    match result {
        Err(Errno::NOENT) => Ok(()),
        other => other.or_wall(Wall::Proc, format_args!("mask `{path}`")),
    }
}
