//! Wrappers of the kernel's mount calls.
//!
//! There are two ways to show a path elsewhere. [`bind`] is one call and much cheaper: for the many small
//! entries. [`copy`] clones a tree while it is reachable, to be [attached](attach) when it no longer is.

use std::ffi::CStr;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::CWD;
use rustix::io::Errno;
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MoveMountFlags, OpenTreeFlags, fsconfig_create,
    fsconfig_set_string, fsmount, fsopen, mount_bind_recursive, move_mount, open_tree,
};
use rustix::path::Arg;

/// `nosuid` and `nodev`: for every mount except the few device files.
pub(super) const PLAIN: MountAttrFlags =
    MountAttrFlags::MOUNT_ATTR_NOSUID.union(MountAttrFlags::MOUNT_ATTR_NODEV);

/// [`PLAIN`] and read-only.
pub(super) const READ_ONLY: MountAttrFlags = PLAIN.union(MountAttrFlags::MOUNT_ATTR_RDONLY);

/// Which mounts a change of attributes affects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// The mount at the path.
    One,
    /// That mount and all below it.
    Tree,
}

/// `struct mount_attr` of the kernel.
#[repr(C)]
struct MountAttr {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Creates a detached file system.
pub(crate) fn new(
    kind: &CStr,
    options: &[(&CStr, &str)],
    attributes: MountAttrFlags,
) -> Result<OwnedFd, Errno> {
    let context = fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)?;
    for (key, value) in options {
        fsconfig_set_string(&context, *key, *value)?;
    }
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, attributes)
}

/// Binds `source`, with the mounts below it, at `target`, with the same attributes.
pub(super) fn bind(source: impl Arg, target: impl Arg) -> Result<(), Errno> {
    mount_bind_recursive(source, target)
}

/// A detached clone of the tree at `path`, with the mounts below it and these attributes.
pub(super) fn copy(path: impl Arg, attributes: MountAttrFlags) -> Result<OwnedFd, Errno> {
    let flags =
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC | OpenTreeFlags::AT_RECURSIVE;
    let tree = open_tree(CWD, path, flags)?;
    set_attributes(tree.as_raw_fd(), c"", Reach::Tree, attributes, MountAttrFlags::empty())?;
    Ok(tree)
}

/// The same, of what a descriptor refers to: its path may have changed meanwhile.
pub(super) fn copy_of(fd: BorrowedFd<'_>, attributes: MountAttrFlags) -> Result<OwnedFd, Errno> {
    let flags = OpenTreeFlags::OPEN_TREE_CLONE
        | OpenTreeFlags::OPEN_TREE_CLOEXEC
        | OpenTreeFlags::AT_RECURSIVE
        | OpenTreeFlags::AT_EMPTY_PATH;
    let tree = open_tree(fd, c"", flags)?;
    set_attributes(tree.as_raw_fd(), c"", Reach::Tree, attributes, MountAttrFlags::empty())?;
    Ok(tree)
}

/// Maps the owners of files in a detached tree, by the maps of a user namespace.
pub(super) fn map_owners(tree: BorrowedFd<'_>, user_namespace: BorrowedFd<'_>) -> Result<(), Errno> {
    let attr = MountAttr {
        set: MountAttrFlags::MOUNT_ATTR_IDMAP.bits().into(),
        clear: 0,
        propagation: 0,
        user_namespace: u64::try_from(user_namespace.as_raw_fd()).map_err(|_| Errno::BADF)?,
    };
    apply(tree.as_raw_fd(), c"", Reach::Tree, &attr)
}

/// Attaches a detached tree at `path`.
pub(super) fn attach(tree: &OwnedFd, path: impl Arg) -> Result<(), Errno> {
    move_mount(tree, c"", CWD, path, MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH)
}

/// Attaches a detached tree on what a descriptor refers to.
pub(super) fn attach_on(tree: &OwnedFd, target: BorrowedFd<'_>) -> Result<(), Errno> {
    let flags = MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH | MoveMountFlags::MOVE_MOUNT_T_EMPTY_PATH;
    move_mount(tree, c"", target, c"", flags)
}

/// Adds restrictions to the mount at `path`.
pub(super) fn restrict(path: &CStr, reach: Reach, attributes: MountAttrFlags) -> Result<(), Errno> {
    set_attributes(libc::AT_FDCWD, path, reach, attributes, MountAttrFlags::empty())
}

/// Makes the one mount at `path` writable.
pub(super) fn make_writable(path: &CStr) -> Result<(), Errno> {
    let none = MountAttrFlags::empty();
    set_attributes(libc::AT_FDCWD, path, Reach::One, none, MountAttrFlags::MOUNT_ATTR_RDONLY)
}

fn set_attributes(
    at: libc::c_int,
    path: &CStr,
    reach: Reach,
    set: MountAttrFlags,
    clear: MountAttrFlags,
) -> Result<(), Errno> {
    let attr =
        MountAttr { set: set.bits().into(), clear: clear.bits().into(), propagation: 0, user_namespace: 0 };
    apply(at, path, reach, &attr)
}

fn apply(at: libc::c_int, path: &CStr, reach: Reach, attr: &MountAttr) -> Result<(), Errno> {
    let flags = libc::AT_EMPTY_PATH | if reach == Reach::Tree { libc::AT_RECURSIVE } else { 0 };
    // SAFETY: the path is a C string, the size is that of `attr`, and both outlive the call.
    let result = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            at,
            path.as_ptr(),
            flags,
            std::ptr::from_ref(attr),
            size_of::<MountAttr>(),
        )
    };
    if result == 0 { Ok(()) } else { Err(super::process::last_errno()) }
}
