//! What is known of a thing in a workspace without opening it.

use rustix::fs::{FileType, Stat};

/// What kind of thing it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An ordinary file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link, which is never followed.
    Link,
    /// A FIFO, a socket or a device, which is never opened.
    Other,
}

/// A thing in a workspace, as it was at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// File, folder, link or something else.
    pub kind: Kind,
    /// Of a file or the text of a link; of others it means nothing.
    pub size: u64,
    /// The rights, without the kind.
    pub mode: u32,
    /// With `device`: whether two names are one file.
    pub inode: u64,
    /// The file system.
    pub device: u64,
    /// How many names it has.
    pub links: u64,
    /// The host user it belongs to.
    pub owner: u32,
    /// On the disk.
    pub allocated_bytes: u64,
    /// When its content changed last, in nanoseconds since 1970. Programs can set it.
    pub modified_ns: i128,
    /// When anything about it changed last. Nobody can set it.
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
    /// Names this state of it: another one has another tag. Of inode, size and both times, so that whatever a program does
    /// to its times the tag is another one.
    pub fn etag(&self) -> String {
        format!("{:x}-{:x}-{:x}-{:x}", self.inode, self.size, self.modified_ns, self.changed_ns)
    }

    /// When its content changed last, in milliseconds since 1970.
    pub fn modified_at_ms(&self) -> u64 {
        u64::try_from(self.modified_ns / 1_000_000).unwrap_or(0)
    }
}
