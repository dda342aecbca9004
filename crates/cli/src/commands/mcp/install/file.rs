//! Reads and replaces a configuration file.

use std::fs;
use std::io::{self, ErrorKind as IoErrorKind, Write};
use std::path::{Path, PathBuf};

use crate::error::{CommandError, ErrorKind};

fn failed(path: &Path, what: &str, error: &io::Error) -> CommandError {
    CommandError::new(ErrorKind::Refused, format!("`{}` cannot be {what}: {error}", path.display()))
        .hint("nothing was changed; `--print` prints the lines to add by hand")
}

/// The text of a file; of one that does not exist, none.
pub(super) fn read(path: &Path) -> Result<String, CommandError> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == IoErrorKind::NotFound => Ok(String::new()),
        read => read.map_err(|error| failed(path, "read", &error)),
    }
}

/// Replaces a file as a whole, so that a client that reads it meanwhile finds the old or the new one. A link
/// stays a link, and permissions stay as they are.
pub(super) fn write(path: &Path, text: &str) -> Result<(), CommandError> {
    replace(path, text).map_err(|error| failed(path, "written", &error))
}

fn replace(path: &Path, text: &str) -> io::Result<()> {
    let target = match path.canonicalize() {
        Ok(target) => target,
        Err(error) if error.kind() == IoErrorKind::NotFound => {
            if let Some(folder) = path.parent() {
                fs::create_dir_all(folder)?;
            }
            path.to_owned()
        }
        Err(error) => return Err(error),
    };
    let beside = beside(&target);
    let written = fill(&beside, &target, text).and_then(|()| fs::rename(&beside, &target));
    if written.is_err() {
        let _ = fs::remove_file(&beside); // the first error matters
    }
    written
}

fn fill(new: &Path, old: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create_new(true).open(new)?;
    if let Ok(metadata) = fs::metadata(old) {
        file.set_permissions(metadata.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".headwater-{}", std::process::id()));
    path.with_file_name(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_gets_its_folders() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/b/config.toml");
        assert_eq!(read(&path).unwrap(), "");
        write(&path, "x = 1\n").unwrap();
        assert_eq!(read(&path).unwrap(), "x = 1\n");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_a_link_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let home = tempfile::tempdir().unwrap();
        let (real, link) = (home.path().join("real"), home.path().join("link"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o600)).unwrap();
        symlink(&real, &link).unwrap();
        write(&link, "new").unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
