//! Errors of workspace operations.

use headwater_contract::{Fault, FaultKind};
use rustix::io::Errno;

use super::{PathError, WorkspacePath};

/// Why an operation on a workspace failed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each variant has its message
pub enum WorkspaceError {
    #[error("`{path}` does not exist in the workspace")]
    Missing { path: String },
    #[error("a parent of `{path}` is a symbolic link or is not a folder")]
    NoFolder { path: String },
    #[error("`{path}` exists and is not a regular file")]
    NoFile { path: String },
    #[error("`{path}` has more than one hard link")]
    Linked { path: String },
    #[error("`{path}` already exists")]
    Exists { path: String },
    #[error("the folder `{path}` is not empty")]
    NotEmpty { path: String },
    #[error("`{path}` is inside the folder to be moved or copied")]
    Within { path: String },
    #[error("`{path}` is read-only in this session")]
    ReadOnly { path: String },
    #[error("this operation does not apply to the workspace folder itself")]
    Root,
    #[error("`{path}` would exceed the disk limit of the session")]
    Full { path: String },
    #[error("`{path}` has changed")]
    Changed { path: String },
    #[error("`{path}`: {source}")]
    Io { path: String, source: Errno },
}

pub(crate) fn from_errno(path: &WorkspacePath, error: Errno) -> WorkspaceError {
    let path = path.to_string();
    match error {
        Errno::NOENT => WorkspaceError::Missing { path },
        Errno::LOOP | Errno::NOTDIR | Errno::XDEV => WorkspaceError::NoFolder { path },
        Errno::ISDIR => WorkspaceError::NoFile { path },
        Errno::EXIST => WorkspaceError::Exists { path },
        Errno::NOTEMPTY => WorkspaceError::NotEmpty { path },
        Errno::ROFS => WorkspaceError::ReadOnly { path },
        source => WorkspaceError::Io { path, source },
    }
}

impl WorkspaceError {
    /// From the error of a read or write.
    pub fn io(path: &WorkspacePath, error: &std::io::Error) -> Self {
        from_errno(path, Errno::from_io_error(error).unwrap_or(Errno::IO))
    }

    /// Whether a program of the session removed or replaced the entry meanwhile.
    pub const fn is_gone(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::NoFile { .. } | Self::NoFolder { .. })
    }
}

impl From<WorkspaceError> for Fault {
    fn from(error: WorkspaceError) -> Self {
        let message = error.to_string();
        let fault = |kind, hint: &str| Self::new(kind, message.clone()).hint(hint);
        match error {
            WorkspaceError::Missing { .. } => {
                fault(FaultKind::NotFound, "list the folder to see what exists")
            }
            WorkspaceError::Changed { .. } => {
                fault(FaultKind::Mismatch, "read it again and repeat the change")
            }
            WorkspaceError::Exists { .. } => {
                fault(FaultKind::Conflict, "remove it first, or choose another path")
            }
            WorkspaceError::ReadOnly { .. } => fault(
                FaultKind::Conflict,
                "write elsewhere; the person who started the session can allow more with `--writable PATH`",
            ),
            WorkspaceError::Within { .. } => fault(FaultKind::Invalid, "choose a path outside of it"),
            WorkspaceError::Root => {
                fault(FaultKind::Invalid, "name a file or folder in it, for example `src/main.py`")
            }
            WorkspaceError::Full { .. } => fault(FaultKind::Full, "remove files first, or raise the limit"),
            WorkspaceError::NotEmpty { .. } => {
                fault(FaultKind::Conflict, "remove its content too, with `recursive`")
            }
            WorkspaceError::Io { source: Errno::NOSPC | Errno::DQUOT, .. } => fault(
                FaultKind::NoSpace,
                "free space on the disk of the data folder, or remove files of the session",
            ),
            WorkspaceError::Io { source: Errno::CANCELED, .. } => {
                Self::new(FaultKind::Conflict, "the session has ended")
            }
            WorkspaceError::Io { source: Errno::ACCESS | Errno::PERM, .. } => {
                fault(FaultKind::Conflict, "make it readable and writable in the session first")
            }
            WorkspaceError::Io { source: Errno::NAMETOOLONG, .. } => {
                fault(FaultKind::Invalid, "choose a shorter path")
            }
            WorkspaceError::Io { source: Errno::FBIG | Errno::INVAL | Errno::OVERFLOW, .. } => {
                fault(FaultKind::Invalid, "choose a smaller offset")
            }
            WorkspaceError::Io { .. } => Self::new(FaultKind::Unavailable, message),
            _ => fault(FaultKind::Conflict, "choose another path, or remove the existing entry"),
        }
    }
}

impl From<PathError> for Fault {
    fn from(error: PathError) -> Self {
        Self::new(FaultKind::Invalid, error.to_string()).hint(error.hint())
    }
}
