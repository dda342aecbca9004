//! Project quotas of ext4 and XFS: the kernel counts all files below a folder and refuses writes above a
//! limit.
//!
//! A folder gets a project id, which new files and folders in it inherit; limits are set for the id. The
//! calls are `FS_IOC_FSSETXATTR` and `quotactl_fd(2)` (Linux 5.14), which both file systems support. Changing
//! a project id requires the host's user namespace, so no program of a session can leave its project.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The state of project quotas on a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// Limits are enforced.
    Enforced,
    /// Usage is counted, but limits are not enforced.
    Counted,
    /// They are off, but the file system (ext4 or XFS) supports them.
    Off,
    /// The file system or the kernel does not support them.
    Unsupported,
}

/// Hard limits of a project; `None` means no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProjectLimits {
    /// The limit on allocated bytes.
    pub bytes: Option<u64>,
    /// Files and folders, including the project's root folder.
    pub inodes: Option<u64>,
}

/// The usage of a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProjectUsage {
    /// The bytes that are allocated.
    pub bytes: u64,
    /// The number of files and folders.
    pub inodes: u64,
}

/// The magic numbers of the file systems with project quotas, from `statfs(2)`.
const EXT4: u64 = 0xef53;
const XFS: u64 = 0x5846_5342;

/// `struct fsxattr`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Attributes {
    flags: u32,
    extent_size: u32,
    extents: u32,
    project: u32,
    copy_extent_size: u32,
    padding: [u8; 8],
}

const GET_ATTRIBUTES: libc::Ioctl = 0x801c_581f;
const SET_ATTRIBUTES: libc::Ioctl = 0x401c_5820;
/// `FS_XFLAG_PROJINHERIT`.
const INHERITED: u32 = 0x200;

/// `struct if_dqblk`.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Quota {
    hard_blocks: u64,
    soft_blocks: u64,
    bytes: u64,
    hard_inodes: u64,
    soft_inodes: u64,
    inodes: u64,
    block_time: u64,
    inode_time: u64,
    valid: u32,
}

/// The unit of byte limits.
const BLOCK_BYTES: u64 = 1024;
/// `QIF_BLIMITS` and `QIF_ILIMITS`: both kinds of limits are set.
const LIMITS: u32 = 1 | 4;

/// `struct fs_quota_stat`, of which only the flags are read.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Status {
    version: i8,
    flags: u16,
    padding: i8,
    files: [[u64; 3]; 2],
    rest: [u64; 3],
}

/// `FS_QUOTA_PDQ_ACCT` and `FS_QUOTA_PDQ_ENFD`.
const ACCOUNTING: u16 = 1 << 4;
const ENFORCEMENT: u16 = 1 << 5;

const GET_QUOTA: u32 = 0x80_0007;
const SET_QUOTA: u32 = 0x80_0008;
const GET_STATUS: u32 = 0x5805;
/// `PRJQUOTA`.
const PROJECT_QUOTA: u32 = 2;

/// How many ids are tried for a folder, and their distance: more than the number of host users of sessions.
const MAX_ID_ATTEMPTS: u32 = 8;
const ID_STRIDE: u32 = 1 << 24;

/// The state of project quotas on the file system of this folder.
pub fn state(folder: BorrowedFd<'_>) -> State {
    let kind = rustix::fs::fstatfs(folder).ok().and_then(|stat| u64::try_from(stat.f_type).ok());
    if !matches!(kind, Some(EXT4 | XFS)) {
        return State::Unsupported;
    }
    let mut status = Status { version: 1, ..Status::default() };
    // SAFETY: the kernel writes a `struct fs_quota_stat`, 80 bytes, which is what `Status` has.
    match unsafe { quotactl(folder, GET_STATUS, 0, (&raw mut status).cast()) } {
        Ok(()) if status.flags & ENFORCEMENT != 0 => State::Enforced,
        Ok(()) if status.flags & ACCOUNTING != 0 => State::Counted,
        _ => State::Off,
    }
}

/// The project that new files in this folder inherit, if any.
pub fn project(folder: BorrowedFd<'_>) -> io::Result<Option<u32>> {
    let attributes = attributes(folder)?;
    Ok((attributes.flags & INHERITED != 0 && attributes.project != 0).then_some(attributes.project))
}

/// Assigns an unused project to an empty folder: `first`, or one after it. Requires root.
pub fn claim(folder: BorrowedFd<'_>, first: u32) -> io::Result<u32> {
    for number in 0..MAX_ID_ATTEMPTS {
        let id = first.wrapping_add(number.wrapping_mul(ID_STRIDE));
        join(folder, id)?;
        // Checked after joining: if two callers try the same id at the same time, at least one sees the
        // other.
        if usage(folder, id)?.inodes == 1 {
            return Ok(id);
        }
    }
    leave(folder)?;
    Err(io::Error::other("every project id tried is in use"))
}

/// Assigns this project to a folder. Existing files in it keep theirs. Requires root.
pub fn join(folder: BorrowedFd<'_>, id: u32) -> io::Result<()> {
    let before = attributes(folder)?;
    set_attributes(folder, Attributes { project: id, flags: before.flags | INHERITED, ..before })
}

fn leave(folder: BorrowedFd<'_>) -> io::Result<()> {
    let before = attributes(folder)?;
    set_attributes(folder, Attributes { project: 0, flags: before.flags & !INHERITED, ..before })
}

/// The usage of a project on the file system of this folder.
pub fn usage(folder: BorrowedFd<'_>, id: u32) -> io::Result<ProjectUsage> {
    let mut quota = Quota::default();
    // SAFETY: the kernel writes a `struct if_dqblk`, which is what `Quota` is.
    unsafe { quotactl(folder, GET_QUOTA, id, (&raw mut quota).cast()) }?;
    Ok(ProjectUsage { bytes: quota.bytes, inodes: quota.inodes })
}

/// Sets the limits of a project on the file system of this folder. Requires root.
pub fn set_limits(folder: BorrowedFd<'_>, id: u32, limits: ProjectLimits) -> io::Result<()> {
    // 0 means no limit, so the lowest limit is 1.
    let hard = |limit: Option<u64>| limit.map_or(0, |limit| limit.max(1));
    let mut quota = Quota {
        hard_blocks: hard(limits.bytes.map(|bytes| bytes / BLOCK_BYTES)),
        hard_inodes: hard(limits.inodes),
        valid: LIMITS,
        ..Quota::default()
    };
    // SAFETY: the kernel reads a `struct if_dqblk`, which is what `Quota` is.
    unsafe { quotactl(folder, SET_QUOTA, id, (&raw mut quota).cast()) }
}

fn attributes(folder: BorrowedFd<'_>) -> io::Result<Attributes> {
    let mut attributes = Attributes::default();
    // SAFETY: the kernel writes a `struct fsxattr`, which is what `Attributes` is.
    let done = unsafe { libc::ioctl(folder.as_raw_fd(), GET_ATTRIBUTES, &raw mut attributes) };
    if done == 0 { Ok(attributes) } else { Err(io::Error::last_os_error()) }
}

fn set_attributes(folder: BorrowedFd<'_>, attributes: Attributes) -> io::Result<()> {
    // SAFETY: the kernel reads a `struct fsxattr`, which is what `Attributes` is.
    let done = unsafe { libc::ioctl(folder.as_raw_fd(), SET_ATTRIBUTES, &raw const attributes) };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// # Safety
///
/// `value` points to what the kernel reads or writes for this command.
unsafe fn quotactl(
    folder: BorrowedFd<'_>,
    command: u32,
    id: u32,
    value: *mut libc::c_void,
) -> io::Result<()> {
    let command = command << 8 | PROJECT_QUOTA;
    // SAFETY: as the caller promises.
    match unsafe { libc::syscall(libc::SYS_quotactl_fd, folder.as_raw_fd(), command, id, value) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::fd::AsFd;

    use super::*;

    #[test]
    fn kernel_structures_have_their_sizes() {
        assert_eq!(size_of::<Attributes>(), 28);
        assert_eq!(size_of::<Quota>(), 72);
        assert_eq!(size_of::<Status>(), 80);
        assert_eq!(std::mem::offset_of!(Status, flags), 2);
        assert_eq!(std::mem::offset_of!(Status, files), 8);
    }

    #[test]
    fn a_file_system_without_project_quotas_is_reported_as_such() {
        assert_eq!(state(File::open("/proc").unwrap().as_fd()), State::Unsupported);
        assert!(project(File::open("/proc").unwrap().as_fd()).is_err());
    }

    /// The same on a file system with project quotas: `make test-v2`.
    #[test]
    fn a_new_folder_gets_its_own_project_where_quotas_are_enforced() {
        let top = tempfile::tempdir().unwrap();
        let open = |name: &str| {
            let path = top.path().join(name);
            std::fs::create_dir_all(&path).unwrap();
            File::open(path).unwrap()
        };
        let (a, b) = (open("a"), open("b"));
        if state(a.as_fd()) != State::Enforced || !rustix::process::geteuid().is_root() {
            return assert_eq!(project(a.as_fd()).unwrap_or(None), None);
        }
        let first = 0x6900_0000;
        let one = claim(a.as_fd(), first).unwrap();
        let other = claim(b.as_fd(), first).unwrap();
        assert_ne!(one, other);
        assert_eq!(project(a.as_fd()).unwrap(), Some(one));
        assert_eq!(project(open("a/new").as_fd()).unwrap(), Some(one), "inherited");
        assert_eq!(usage(a.as_fd(), one).unwrap().inodes, 2);
        std::fs::rename(top.path().join("b"), top.path().join("a/b")).unwrap_err();
        join(b.as_fd(), one).unwrap();
        std::fs::rename(top.path().join("b"), top.path().join("a/b")).unwrap();
        set_limits(a.as_fd(), one, ProjectLimits { bytes: Some(1 << 20), inodes: Some(9) }).unwrap();
        set_limits(a.as_fd(), one, ProjectLimits::default()).unwrap();
    }
}
