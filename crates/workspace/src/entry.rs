//! The metadata of a file, folder or link in a workspace.

use rustix::fs::{FileType, Stat};

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, which is never followed.
    Link,
    /// A FIFO, a socket or a device, which is never opened.
    Other,
}

/// The metadata of an entry at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// The kind of the entry.
    pub kind: Kind,
    /// The bytes of a file or of the target of a link; not meaningful for other kinds.
    pub size: u64,
    /// The permission bits, without the kind.
    pub mode: u32,
    /// The inode; with `device` it identifies a file.
    pub inode: u64,
    /// The device of the file system.
    pub device: u64,
    /// The number of hard links.
    pub links: u64,
    /// The host user that owns it.
    pub owner: u32,
    /// The bytes that are allocated on the disk.
    pub allocated_bytes: u64,
    /// The modification time in nanoseconds since 1970. Programs can set it.
    pub modified_ns: i128,
    /// The time of the last change of content or metadata. Programs cannot set it.
    pub changed_ns: i128,
}

const NS: i128 = 1_000_000_000;

impl From<&Stat> for Entry {
    fn from(stat: &Stat) -> Self {
        Self {
            kind: match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Kind::File,
                FileType::Directory => Kind::Folder,
                FileType::Symlink => Kind::Link,
                _ => Kind::Other,
            },
            size: u64::try_from(stat.st_size).unwrap_or(0),
            mode: stat.st_mode & 0o7777,
            inode: stat.st_ino,
            device: stat.st_dev,
            links: stat.st_nlink,
            owner: stat.st_uid,
            allocated_bytes: u64::try_from(stat.st_blocks).unwrap_or(0) * 512,
            modified_ns: i128::from(stat.st_mtime) * NS + i128::from(stat.st_mtime_nsec),
            changed_ns: i128::from(stat.st_ctime) * NS + i128::from(stat.st_ctime_nsec),
        }
    }
}

impl Entry {
    /// The entity tag of this state, from the inode, the size and both times: it changes with every change, even if a
    /// program sets the modification time.
    pub fn etag(&self) -> String {
        format!("{:x}-{:x}-{:x}-{:x}", self.inode, self.size, self.modified_ns, self.changed_ns)
    }

    /// The modification time in milliseconds since 1970.
    pub fn modified_at_ms(&self) -> u64 {
        u64::try_from(self.modified_ns / 1_000_000).unwrap_or(0)
    }
}
