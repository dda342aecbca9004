//! Why something in a workspace cannot be done, in words for people.

use headwater_contract::{Fault, FaultKind};
use rustix::io::Errno;

use super::{PathError, WorkspacePath};

/// Why something in a workspace cannot be done.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each variant has its message
pub enum WorkspaceError {
    #[error("there is no `{path}` in the workspace")]
    Missing { path: String },
    #[error("`{path}` goes through a link or something else that is no folder")]
    NoFolder { path: String },
    #[error("`{path}` is there and is no ordinary file")]
    NoFile { path: String },
    #[error("`{path}` has another name besides")]
    Linked { path: String },
    #[error("`{path}` is there already")]
    Exists { path: String },
    #[error("the folder `{path}` is not empty")]
    NotEmpty { path: String },
    #[error("`{path}` lies in what is to be moved or copied there")]
    Within { path: String },
    #[error("that is the workspace itself")]
    Root,
    #[error("`{path}` would be larger than what the session may still hold")]
    Full { path: String },
    #[error("`{path}` is not in the state that was expected")]
    Changed { path: String },
    #[error("`{path}`: {source}")]
    Io { path: String, source: Errno },
}

pub(crate) fn told(path: &WorkspacePath, error: Errno) -> WorkspaceError {
    let path = path.to_string();
    match error {
        Errno::NOENT => WorkspaceError::Missing { path },
        Errno::LOOP | Errno::NOTDIR | Errno::XDEV => WorkspaceError::NoFolder { path },
        Errno::ISDIR => WorkspaceError::NoFile { path },
        Errno::EXIST => WorkspaceError::Exists { path },
        Errno::NOTEMPTY => WorkspaceError::NotEmpty { path },
        source => WorkspaceError::Io { path, source },
    }
}

impl WorkspaceError {
    /// What a read or a write of a file came to.
    pub fn io(path: &WorkspacePath, error: &std::io::Error) -> Self {
        told(path, Errno::from_io_error(error).unwrap_or(Errno::IO))
    }

    /// Whether a program took it away, or put something else there, since it was met.
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
                fault(FaultKind::NotFound, "list the folder to see what is there")
            }
            WorkspaceError::Changed { .. } => {
                fault(FaultKind::Mismatch, "read it again, and then change that")
            }
            WorkspaceError::Exists { .. } => {
                fault(FaultKind::Conflict, "remove it first, or choose another path")
            }
            WorkspaceError::Within { .. } => fault(FaultKind::Invalid, "choose a path outside of it"),
            WorkspaceError::Root => {
                fault(FaultKind::Invalid, "name something in it, for example `src/main.py`")
            }
            WorkspaceError::Full { .. } => {
                fault(FaultKind::Full, "remove something first, or raise the limit")
            }
            WorkspaceError::NotEmpty { .. } => fault(FaultKind::Conflict, "remove what is in it, too"),
            WorkspaceError::Io { source: Errno::NOSPC | Errno::DQUOT, .. } => fault(
                FaultKind::NoSpace,
                "free space on the disk of the data folder, or remove files of the session",
            ),
            WorkspaceError::Io { source: Errno::CANCELED, .. } => {
                Self::new(FaultKind::Conflict, "the session has ended")
            }
            WorkspaceError::Io { source: Errno::ACCESS | Errno::PERM | Errno::ROFS, .. } => {
                fault(FaultKind::Conflict, "make it readable and writable in the session first")
            }
            WorkspaceError::Io { source: Errno::NAMETOOLONG, .. } => {
                fault(FaultKind::Invalid, "choose a shorter path")
            }
            WorkspaceError::Io { source: Errno::FBIG | Errno::INVAL | Errno::OVERFLOW, .. } => {
                fault(FaultKind::Invalid, "choose a smaller offset")
            }
            WorkspaceError::Io { .. } => Self::new(FaultKind::Unavailable, message),
            _ => fault(FaultKind::Conflict, "choose another path, or remove what is there in the session"),
        }
    }
}

impl From<PathError> for Fault {
    fn from(error: PathError) -> Self {
        Self::new(FaultKind::Invalid, error.to_string()).hint(error.hint())
    }
}
