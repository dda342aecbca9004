//! The file: only its user may read it, because it contains commands and hashes of tokens.

use std::fs::{self, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Access, access};

const MODE: u32 = 0o600;

/// Creates the file if it does not exist, sets its mode, and checks that SQLite will be able to write. SQLite
/// gives the files beside it the same mode.
///
/// An existing file is not opened: closing it again would release the locks that this process holds on it.
pub(super) fn prepare(path: &Path) -> io::Result<()> {
    match OpenOptions::new().write(true).create_new(true).mode(MODE).open(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    writable(path)?;
    narrow(path)
}

/// Checks the file, and the folder, where SQLite creates the WAL.
fn writable(path: &Path) -> io::Result<()> {
    access(path, Access::WRITE_OK)?;
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => Ok(access(folder, Access::WRITE_OK)?),
        _ => Ok(access(".", Access::WRITE_OK)?),
    }
}

fn narrow(path: &Path) -> io::Result<()> {
    let found = fs::metadata(path)?;
    if found.is_file() && found.permissions().mode() & 0o777 != MODE {
        fs::set_permissions(path, Permissions::from_mode(MODE))?;
    }
    Ok(())
}
