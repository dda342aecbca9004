//! Making things below a folder by their descriptors: for trees that are built where no program sees them.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{AtFlags, Gid, Mode, OFlags, Timespec, Timestamps, Uid};
use rustix::io::Errno;

use super::{Workspace, WorkspacePath, hand_over, open_beneath};

/// Rights that are kept. Bits that lend a program its owner's rights are not among them.
const RIGHTS: u32 = 0o777;

impl Workspace {
    /// Makes a folder that its owner can fill, whatever its rights are to be; the one above it must be there.
    pub fn plant_folder(&self, path: &WorkspacePath, mode: u32) -> Result<(), Errno> {
        let (parent, name) = self.parent_of(path)?;
        rustix::fs::mkdirat(&parent, name.as_slice(), Mode::RWXU)?;
        let folder = open_beneath(parent.as_fd(), &name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        self.give(folder.as_fd(), mode | 0o700)
    }

    /// Makes a file, open for writing. [`Self::give`] finishes it.
    pub fn plant_file(&self, path: &WorkspacePath) -> Result<OwnedFd, Errno> {
        let (parent, name) = self.parent_of(path)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        open_beneath(parent.as_fd(), &name, flags, Mode::RUSR | Mode::WUSR)
    }

    /// Makes a symbolic link with this text.
    pub fn plant_link(&self, path: &WorkspacePath, target: &[u8]) -> Result<(), Errno> {
        let (parent, name) = self.parent_of(path)?;
        rustix::fs::symlinkat(target, &parent, name.as_slice())?;
        match self.owner {
            Some(id) => {
                let (uid, gid) = (Some(Uid::from_raw(id)), Some(Gid::from_raw(id)));
                rustix::fs::chownat(&parent, name.as_slice(), uid, gid, AtFlags::SYMLINK_NOFOLLOW)
            }
            None => Ok(()),
        }
    }

    /// Gives what we made to the session, with these rights.
    pub fn give(&self, fd: BorrowedFd<'_>, mode: u32) -> Result<(), Errno> {
        hand_over(self.owner, fd, Mode::from_raw_mode(mode & RIGHTS))
    }

    fn parent_of(&self, path: &WorkspacePath) -> Result<(OwnedFd, Vec<u8>), Errno> {
        let (folders, name) = path.split();
        let parent = if folders.is_empty() { b".".to_vec() } else { folders.join(&b'/') };
        let parent =
            open_beneath(self.root.as_fd(), &parent, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty())?;
        Ok((parent, name.to_vec()))
    }
}

/// Sets when a file was changed last, in nanoseconds since 1970.
pub fn set_modified(fd: BorrowedFd<'_>, modified_ns: i128) -> io::Result<()> {
    const NS: i128 = 1_000_000_000;
    let at = Timespec {
        tv_sec: i64::try_from(modified_ns.div_euclid(NS)).map_err(io::Error::other)?,
        tv_nsec: i64::try_from(modified_ns.rem_euclid(NS)).map_err(io::Error::other)?,
    };
    Ok(rustix::fs::futimens(fd, &Timestamps { last_access: at, last_modification: at })?)
}
