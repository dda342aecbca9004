//! `/proc`: a new one, with the session's processes only. Files that reveal or control the host are masked.

use std::ffi::CStr;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::mount::MountAttrFlags;

use super::failure::{OrWall, Wall};
use super::mounts::{self, PLAIN, READ_ONLY, Reach};
use crate::wire::WallFailure;

/// Nothing in `/proc` is executable.
const ATTRIBUTES: MountAttrFlags = PLAIN.union(MountAttrFlags::MOUNT_ATTR_NOEXEC);

/// Files that read as empty. Most are readable only by root on the host as well; this does not rely on that.
const MASKED_FILES: [&CStr; 24] = [
    c"proc/sysrq-trigger",
    c"proc/kcore",
    c"proc/kmsg",
    c"proc/keys",
    c"proc/key-users",
    c"proc/kallsyms",
    c"proc/timer_list",
    c"proc/timer_stats",
    c"proc/sched_debug",
    c"proc/latency_stats",
    c"proc/kpagecount",
    c"proc/kpageflags",
    c"proc/kpagecgroup",
    c"proc/vmallocinfo",
    c"proc/slabinfo",
    c"proc/pagetypeinfo",
    c"proc/config.gz",
    c"proc/iomem",
    c"proc/ioports",
    c"proc/modules",
    c"proc/mtrr",
    c"proc/cmdline",
    c"proc/diskstats",
    c"proc/partitions",
];

/// Folders that are shown empty.
const MASKED_FOLDERS: [&CStr; 8] = [
    c"proc/acpi",
    c"proc/asound",
    c"proc/bus",
    c"proc/driver",
    c"proc/fs",
    c"proc/irq",
    c"proc/scsi",
    c"proc/tty",
];

/// Mounts a new `/proc`. The host's must still be visible: the kernel gives a user namespace no more than
/// that shows.
pub(super) fn new() -> Result<OwnedFd, WallFailure> {
    mounts::new(c"proc", &[], ATTRIBUTES).or_wall(Wall::Proc, "mount proc")
}

/// Attaches it and masks entries. The root must already be read-only and contain `/dev/null` and the empty
/// folder `/var/empty`: a bind has the attributes of its source.
pub(super) fn populate(proc: &OwnedFd) -> Result<(), WallFailure> {
    mounts::attach(proc, "proc").or_wall(Wall::Proc, "attach `/proc`")?;
    MASKED_FILES.iter().try_for_each(|path| mask(path, c"dev/null"))?;
    MASKED_FOLDERS.iter().try_for_each(|path| mask(path, c"var/empty"))?;
    mask(c"proc/sys", c"proc/sys")?;
    mounts::restrict(c"proc/sys", Reach::One, READ_ONLY).or_wall(Wall::Proc, "make `/proc/sys` read-only")
}

/// Covers `path`. A path that this kernel does not have needs no cover.
fn mask(path: &CStr, cover: &CStr) -> Result<(), WallFailure> {
    match mounts::bind(cover, path) {
        Err(Errno::NOENT) => Ok(()),
        other => other.or_wall(Wall::Proc, format_args!("mask {path:?}")),
    }
}
