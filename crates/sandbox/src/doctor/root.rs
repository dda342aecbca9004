//! The root of a session: a tmpfs of a fixed size, read-only copies of the host's folders, a new `/proc`.

use std::ffi::CStr;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{
    MountAttrFlags, MountPropagationFlags, MoveMountFlags, OpenTreeFlags, UnmountFlags, move_mount, open_tree,
};
use rustix::thread::UnshareFlags;

use super::Check;
use super::child::{continue_in_child, in_child};
use super::facts::{Facts, Topic};
use super::namespaces::{enter_owner, not_reached, unshare};
use super::refusal::{Finding, OrRefused, Refusal, last_errno, needed};
use crate::walls::mounts;

/// A trial: its name, its topic, and the function to run.
type Trial = (&'static str, Topic, fn(&Facts) -> Finding);

const NAMESPACES: UnshareFlags = UnshareFlags::NEWNS.union(UnshareFlags::NEWPID);

const TRIALS: [Trial; 3] = [
    ("read-only binds", Topic::Mounts, binds),
    ("root on tmpfs", Topic::Mounts, root),
    ("proc", Topic::Proc, proc),
];

/// Runs the trials, each in new namespaces.
pub(super) fn check(facts: &Facts) -> Vec<Check> {
    let reachable = reachable(facts);
    let trial = |(name, topic, try_it): Trial| {
        if !reachable {
            return not_reached(name, facts);
        }
        let tried = in_child(|| {
            enter(facts)?;
            try_it(facts)
        });
        needed(name, topic, facts, tried)
    };
    TRIALS.into_iter().map(trial).collect()
}

/// Whether new mount and pid namespaces can be created; if not, another check reports it.
pub(super) fn reachable(facts: &Facts) -> bool {
    let tried = in_child(|| {
        enter_owner(facts)?;
        unshare(NAMESPACES).or_refused("create a mount and a pid namespace")
    });
    tried.is_ok()
}

/// Enters new mount and pid namespaces, as the first process in them.
pub(super) fn enter(facts: &Facts) -> Result<(), Refusal> {
    enter_owner(facts)?;
    unshare(NAMESPACES).or_refused("create a mount and a pid namespace")?;
    continue_in_child()?;
    rustix::mount::mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)
        .or_refused("make all mounts private")
}

/// Attaches a detached mount at `path`.
fn attach(tree: &OwnedFd, path: &CStr) -> Result<(), Errno> {
    move_mount(tree, c"", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Binds `/usr` read-only and checks that nothing in it can be changed.
fn binds(_: &Facts) -> Finding {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, c"/usr", flags).or_refused("copy the mount of /usr (open_tree)")?;
    set_read_only(&tree).or_refused("make a bind read-only (mount_setattr)")?;
    attach(&tree, c"/usr").or_refused("attach a bind (move_mount)")?;
    let probe = format!("/usr/.headwater-doctor-{}", std::process::id());
    let written = fs::File::create(&probe);
    match written.map_err(|error| error.raw_os_error()) {
        Err(Some(libc::EROFS)) => Ok("system folders are shown read-only, nosuid, nodev".to_owned()),
        Err(other) => {
            Err(Refusal::unexpected(format_args!("a write to a read-only bind returned {other:?}")))
        }
        Ok(_) => {
            let _ = fs::remove_file(&probe);
            Err(Refusal::unexpected("a read-only bind can be written"))
        }
    }
}

fn set_read_only(tree: &OwnedFd) -> Result<(), Errno> {
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV;
    // `struct mount_attr`: set, clear, propagation, user namespace.
    let attr: [u64; 4] = [attributes.bits().into(), 0, 0, 0];
    let flags = libc::AT_EMPTY_PATH | libc::AT_RECURSIVE;
    // SAFETY: the path is a C string, the size is that of `attr`, and both outlive the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            flags,
            attr.as_ptr(),
            size_of_val(&attr),
        )
    };
    if result == 0 { Ok(()) } else { Err(last_errno()) }
}

/// Pivots into an empty tmpfs and fills it beyond its size.
fn root(_: &Facts) -> Finding {
    let plain = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let options = [(c"size", "1m"), (c"nr_inodes", "16"), (c"mode", "0755")];
    let tree = mounts::new(c"tmpfs", &options, plain).or_refused("mount a tmpfs of 1 MiB")?;
    attach(&tree, c"/").or_refused("attach a tmpfs (move_mount)")?;
    rustix::process::fchdir(&tree).or_refused("enter a tmpfs")?;
    rustix::process::pivot_root(".", ".").or_refused("pivot_root")?;
    rustix::mount::unmount(".", UnmountFlags::DETACH).or_refused("unmount the host's root")?;
    rustix::process::chdir("/").or_refused("enter the new root")?;
    if fs::exists("/usr").unwrap_or(true) {
        return Err(Refusal::unexpected("the host's root is still visible after pivot_root"));
    }
    let full = fs::write("/file", vec![1; 2 << 20]).map_err(|error| error.raw_os_error());
    if full != Err(Some(libc::ENOSPC)) {
        return Err(Refusal::unexpected("a tmpfs of 1 MiB holds 2 MiB: tmpfs sizes are not enforced"));
    }
    Ok("pivot_root into a tmpfs, nothing of the host is left; sizes of /tmp and /dev/shm are enforced"
        .to_owned())
}

/// Mounts a `/proc` that shows only the session's processes.
fn proc(_: &Facts) -> Finding {
    let plain = MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    let tree = mounts::new(c"proc", &[], plain).or_refused("mount proc")?;
    attach(&tree, c"/proc").or_refused("attach /proc")?;
    let entries = fs::read_dir("/proc").or_refused("list /proc")?;
    let processes = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|byte| byte.is_ascii_digit()))
        .count();
    if processes != 1 {
        return Err(Refusal::unexpected(format_args!(
            "a new /proc shows {processes} processes instead of one"
        )));
    }
    Ok("a new one, with the session's processes only".to_owned())
}
