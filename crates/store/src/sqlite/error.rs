//! Conversion of errors of SQLite and sqlx.

use std::io;
use std::path::Path;
use std::sync::Arc;

use sqlx::error::{DatabaseError, Error};
use sqlx::migrate::MigrateError;

use crate::StoreError;

// Result codes of SQLite: the low byte of an extended code is the kind.
const BUSY: i64 = 5;
const LOCKED: i64 = 6;
const READONLY: i64 = 8;
const CORRUPT: i64 = 11;
const FULL: i64 = 13;
const CONSTRAINT: i64 = 19;
const NOTADB: i64 = 26;
/// The shared memory beside the WAL could not grow; on a working disk that means a lack of space.
const IOERR_SHMSIZE: i64 = 4874;

pub(super) fn from_sqlx(error: Error) -> StoreError {
    match error {
        Error::Database(said) => from_database(said),
        Error::Io(said) => from_io(said),
        Error::PoolTimedOut => StoreError::Busy { message: "all its connections are in use".into() },
        Error::PoolClosed => StoreError::Closed,
        Error::ColumnDecode { .. } | Error::Decode(_) | Error::ColumnNotFound(_) => {
            StoreError::Corrupt { message: error.to_string() }
        }
        other => unavailable(other),
    }
}

fn from_database(said: Box<dyn DatabaseError>) -> StoreError {
    let code: i64 = said.code().and_then(|code| code.parse().ok()).unwrap_or_default();
    let message = said.message().to_owned();
    match (code, code & 0xff) {
        (_, BUSY | LOCKED) => StoreError::Busy { message },
        (_, FULL) | (IOERR_SHMSIZE, _) => StoreError::Full { message },
        (_, READONLY) => StoreError::ReadOnly { message },
        (_, CORRUPT | NOTADB) => StoreError::Corrupt { message },
        (_, CONSTRAINT) => StoreError::Conflict { message },
        _ => unavailable(Error::Database(said)),
    }
}

pub(super) fn from_io(said: io::Error) -> StoreError {
    let message = said.to_string();
    match said.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => StoreError::Full { message },
        io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied => {
            StoreError::ReadOnly { message }
        }
        _ => unavailable(said),
    }
}

pub(super) fn from_migrate(error: MigrateError) -> StoreError {
    match error {
        MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => from_sqlx(error),
        MigrateError::VersionMissing(version) => {
            StoreError::Newer { message: format!("it has migration {version}, which is unknown here") }
        }
        MigrateError::VersionMismatch(version) => {
            StoreError::Newer { message: format!("its migration {version} differs from the one here") }
        }
        other => unavailable(other),
    }
}

fn unavailable(error: impl std::error::Error + Send + Sync + 'static) -> StoreError {
    StoreError::Unavailable { message: error.to_string(), source: Some(Arc::new(error)) }
}

/// Adds the file's path to an error, for the operator who starts the server. (Later errors reach users, who
/// should not see paths.)
pub(super) fn naming(path: &Path, mut error: StoreError) -> StoreError {
    match &mut error {
        StoreError::Busy { message }
        | StoreError::Full { message }
        | StoreError::ReadOnly { message }
        | StoreError::Corrupt { message }
        | StoreError::Newer { message }
        | StoreError::Conflict { message }
        | StoreError::Unavailable { message, .. } => *message = format!("`{}`: {message}", path.display()),
        StoreError::NameTaken | StoreError::Closed => {}
    }
    error
}
