//! What can go wrong with a log.

use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::holds::MAX_READERS;

/// Why a log could not be written or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// No room, or a quota reached. Nothing was harmed: the same call can be made again when there is room.
    #[error("no room left on the disk for `{}`", shown(path))]
    DiskFull {
        /// The file that could not grow.
        path: PathBuf,
    },
    /// The kernel refused.
    #[error("cannot {action} `{}`", shown(path))]
    Io {
        /// What was tried.
        action: &'static str,
        /// With which file.
        path: PathBuf,
        /// The kernel's answer.
        source: Errno,
    },
    /// A file does not hold what this module wrote into it.
    #[error("`{}` is damaged: {what}", shown(path))]
    Corrupt {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// `started` is the first record of a log, or is not there at all.
    #[error("`started` can only be the first record of a log")]
    NotFirst,
    /// There is a verdict already, and a log has only one.
    #[error("the log already has its verdict")]
    AlreadyExited,
    /// A log is closed after its verdict, never before.
    #[error("a log without a verdict cannot be closed")]
    NotExited,
    /// Whoever wrote the log is gone and has not closed it.
    #[error("the log has no end: its writer is gone")]
    NotClosed,
    /// Bytes were asked for that are no longer kept.
    #[error("the bytes from `{from}` to `{to}` are no longer kept")]
    NotKept {
        /// The first of them.
        from: u64,
        /// The one after the last.
        to: u64,
    },
    /// A position that the log has not reached.
    #[error("`after` is `{after}`, and the last event of the log is `{last}`")]
    PastEnd {
        /// The position.
        after: u64,
        /// The last event.
        last: u64,
    },
    /// There are as many lossless readers as may be.
    #[error("at most `{MAX_READERS}` lossless readers may follow an execution at once")]
    TooManyReaders,
    /// A lossless reader stopped the program for too long.
    #[error("the reader read nothing for too long while the program waited for it")]
    TooSlow,
    /// Nothing follows `closed`.
    #[error("the log is closed")]
    Closed,
}

/// The file within its execution's folder: users see this, and the path of the data folder is none of their business.
fn shown(path: &Path) -> String {
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    path.parent().map_or_else(|| name(path), |folder| format!("{}/{}", name(folder), name(path)))
}

impl LogError {
    pub(crate) fn io(action: &'static str, path: &Path, source: Errno) -> Self {
        let path = path.to_owned();
        match source {
            Errno::NOSPC | Errno::DQUOT => Self::DiskFull { path },
            source => Self::Io { action, path, source },
        }
    }

    pub(crate) fn corrupt(path: &Path, what: impl Into<String>) -> Self {
        Self::Corrupt { path: path.to_owned(), what: what.into() }
    }

    /// Whether there was no room: wait for some and call again.
    pub const fn is_disk_full(&self) -> bool {
        matches!(self, Self::DiskFull { .. })
    }
}
