//! A reserve of disk space and inodes beside the store, which removals may use when the disk is full.
//!
//! Removing a row needs space in the journal. On a full disk, releasing a piece of the reserve provides it,
//! so that users can delete what fills the disk. The reserve is created again when there is space.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::FallocateFlags;

/// The number of pieces. Each is enough for some removals, even while programs use up the freed space.
const PIECE_COUNT: u32 = 8;
/// The bytes of a piece: the journal grows by a few pages of 4 KiB for each removal.
const PIECE_BYTES: u64 = 1 << 20;
/// Empty files in a piece: each is an inode.
const PIECE_INODES: u32 = 8;
/// The reserve is created only if this many times its size is free: it must not be what fills a disk.
const MIN_FREE_FACTOR: u64 = 4;

/// The reserve of a data folder.
#[derive(Debug, Clone)]
pub struct Reserve {
    folder: PathBuf,
}

impl Reserve {
    /// The reserve of this data folder, whether it exists or not.
    pub fn of(data: &Path) -> Self {
        Self { folder: data.join("reserve") }
    }

    fn piece(&self, n: u32) -> PathBuf {
        self.folder.join(n.to_string())
    }

    /// Creates missing pieces if there is enough space. Blocks.
    pub fn ensure(&self) -> io::Result<()> {
        let missing: Vec<u32> = (0..PIECE_COUNT).filter(|n| !self.piece(*n).exists()).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let free = Free::of(self.folder.parent().unwrap_or(&self.folder))?;
        let (bytes, inodes) =
            (u64::from(PIECE_COUNT) * PIECE_BYTES, u64::from(PIECE_COUNT * (PIECE_INODES + 1)));
        if free.bytes < MIN_FREE_FACTOR * bytes || free.inodes < MIN_FREE_FACTOR * inodes {
            return Ok(());
        }
        for n in missing {
            let made = self.make(n);
            if made.is_err() {
                let _ = fs::remove_dir_all(self.piece(n)); // an incomplete piece would look complete
            }
            made?;
        }
        Ok(())
    }

    fn make(&self, n: u32) -> io::Result<()> {
        let piece = self.piece(n);
        DirBuilder::new().recursive(true).mode(0o700).create(&piece)?;
        for inode in 0..PIECE_INODES {
            private(&piece.join(inode.to_string()))?;
        }
        let file = private(&piece.join("bytes"))?;
        match rustix::fs::fallocate(&file, FallocateFlags::empty(), 0, PIECE_BYTES) {
            // The file system cannot preallocate: write instead.
            Err(rustix::io::Errno::OPNOTSUPP) => {
                let bytes = vec![0; usize::try_from(PIECE_BYTES).unwrap_or(0)];
                fs::write(piece.join("bytes"), bytes)
            }
            allocated => Ok(allocated?),
        }
    }

    /// Releases a piece; false if none is left. Blocks.
    pub fn release(&self) -> bool {
        let piece = (0..PIECE_COUNT).map(|n| self.piece(n)).find(|piece| piece.exists());
        piece.is_some_and(|piece| fs::remove_dir_all(piece).is_ok())
    }
}

fn private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)
}

/// The free space on the disk of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Free {
    /// Free bytes.
    pub bytes: u64,
    /// Free inodes; `u64::MAX` if the file system does not count them.
    pub inodes: u64,
}

/// Below this the disk counts as full.
const FULL_BYTES: u64 = 1 << 20;
const FULL_INODES: u64 = 16;

impl Free {
    /// Reads the free space. Blocks for a moment.
    pub fn of(folder: &Path) -> io::Result<Self> {
        let stat = rustix::fs::statvfs(folder)?;
        let inodes = if stat.f_files == 0 { u64::MAX } else { stat.f_favail };
        Ok(Self { bytes: stat.f_bavail * stat.f_frsize, inodes })
    }

    /// A message about what the disk lacks; `None` if there is enough.
    pub fn shortage(self) -> Option<String> {
        if self.bytes < FULL_BYTES {
            return Some(format!("the disk of the data folder is full: `{}` bytes are free", self.bytes));
        }
        (self.inodes < FULL_INODES)
            .then(|| format!("the disk of the data folder has only `{}` free inodes", self.inodes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reserve_is_made_given_up_piece_by_piece_and_made_again() {
        let folder = tempfile::tempdir().unwrap();
        let reserve = Reserve::of(folder.path());
        assert!(!reserve.release(), "nothing is there yet");
        for _ in 0..2 {
            reserve.ensure().unwrap();
            for _ in 0..PIECE_COUNT {
                assert!(reserve.release());
            }
            assert!(!reserve.release());
        }
    }

    #[test]
    fn a_disk_is_full_without_bytes_and_without_inodes() {
        assert_eq!(Free { bytes: 1 << 30, inodes: 1000 }.shortage(), None);
        assert!(Free { bytes: 0, inodes: 1000 }.shortage().unwrap().contains("bytes"));
        assert!(Free { bytes: 1 << 30, inodes: 0 }.shortage().unwrap().contains("inodes"));
    }
}
