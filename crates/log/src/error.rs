//! Errors of a log.

use std::path::{Path, PathBuf};

use rustix::io::Errno;

use super::lossless::MAX_READERS;

/// Why a log could not be written or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogError {
    /// The disk is full or a quota reached. The log is intact: the call can be repeated when there is space.
    #[error("no space left on the disk for `{}`", shown(path))]
    DiskFull {
        /// The file that could not grow.
        path: PathBuf,
    },
    /// A system call failed.
    #[error("cannot {action} `{}`", shown(path))]
    Io {
        /// The action that failed.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The error of the system call.
        source: Errno,
    },
    /// A file does not contain what was written to it.
    #[error("`{}` is damaged: {what}", shown(path))]
    Corrupt {
        /// The damaged file.
        path: PathBuf,
        /// A description of the damage.
        what: String,
    },
    /// `started` was appended after other records.
    #[error("`started` can only be the first record of a log")]
    NotFirst,
    /// A second verdict was appended.
    #[error("the log already has its verdict")]
    AlreadyExited,
    /// `closed` was appended before the verdict.
    #[error("a log without a verdict cannot be closed")]
    NotExited,
    /// The writer ended without closing the log.
    #[error("the log is not closed and has no writer")]
    NotClosed,
    /// The requested bytes are no longer kept.
    #[error("the bytes from `{from}` to `{to}` are no longer kept")]
    NotKept {
        /// The first byte of the gap.
        from: u64,
        /// The first byte after the gap.
        to: u64,
    },
    /// The requested position is after the end of the log.
    #[error("`after` is `{after}`, but the last event of the log is `{last}`")]
    PastEnd {
        /// The requested position.
        after: u64,
        /// The last event of the log.
        last: u64,
    },
    /// The log has the maximum number of lossless readers.
    #[error("at most `{MAX_READERS}` lossless readers may follow an execution at once")]
    TooManyReaders,
    /// A lossless reader blocked the program for too long.
    #[error("the reader read nothing for too long while the program waited for it")]
    TooSlow,
    /// A record was appended after `closed`.
    #[error("the log is closed")]
    Closed,
}

/// The path below the execution's folder: users see messages and need not know the path of the data folder.
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

    /// Whether the disk is full: the caller may wait and repeat the call.
    pub const fn is_disk_full(&self) -> bool {
        matches!(self, Self::DiskFull { .. })
    }
}
