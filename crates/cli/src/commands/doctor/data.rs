//! The data folder: can it be written, is it private, is there room.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use headwater_sandbox::doctor::Check;
use headwater_worker::config::socket_path;

use crate::connect::SOCKET_PATH_BYTES;

/// Less than this is soon used up by the logs and workspaces of a few sessions.
const LITTLE_BYTES: u64 = 1 << 30;

/// Looks at it.
pub fn check(data: &Path) -> Vec<Check> {
    let folder = match writable(data) {
        Ok(folder) => folder,
        Err(error) => {
            let fix = format!("chown -R \"$(id -un)\" '{}', or name another with --data DIR", data.display());
            return vec![Check::failure("data folder", format!("{}: {error}", data.display()), fix)];
        }
    };
    let mut checks = vec![private(data, &folder), room(&folder)];
    checks.extend(long_path(data));
    checks
}

/// The folder that is there: itself, or the one that it will be made in. A file can be made in it.
pub fn writable(data: &Path) -> io::Result<PathBuf> {
    let nearest = data.ancestors().find(|path| path.symlink_metadata().is_ok()).unwrap_or(data);
    if !nearest.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let probe = nearest.join(format!(".headwater-doctor-{}", std::process::id()));
    OpenOptions::new().write(true).create_new(true).open(&probe)?;
    fs::remove_file(&probe)?;
    Ok(nearest.to_owned())
}

fn private(data: &Path, folder: &Path) -> Check {
    let (name, shown) = ("data folder", data.display());
    if folder != data {
        return Check::fine(name, format!("{shown}, made when it is needed, for this user only"));
    }
    let Ok(meta) = data.metadata() else {
        return Check::fine(name, format!("{shown} can be written"));
    };
    let mode = meta.permissions().mode() & 0o777;
    let ours = rustix::process::geteuid().as_raw();
    if meta.uid() != ours {
        let detail = format!("{shown} belongs to user {}, who can read all that is run here", meta.uid());
        return Check::warning(name, detail, format!("chown {ours} '{shown}'"));
    }
    if mode & 0o077 != 0 {
        let detail = format!("{shown} can be written, but others may look into it: its mode is {mode:04o}");
        return Check::warning(name, detail, format!("chmod 700 '{shown}'"));
    }
    Check::fine(name, format!("{shown} can be written, by this user only"))
}

fn room(folder: &Path) -> Check {
    let name = "disk space";
    let Ok(found) = rustix::fs::statvfs(folder) else {
        return Check::fine(name, "unknown");
    };
    let (free, files) = (found.f_bavail.saturating_mul(found.f_frsize), found.f_favail);
    // File systems that make their inodes as they need them have none to count.
    let counted = found.f_files > 0;
    let detail = format!("{} free where the data folder is", amount(free));
    if free < LITTLE_BYTES || counted && files < 10_000 {
        let detail = if free < LITTLE_BYTES { detail } else { format!("{detail}, but only {files} inodes") };
        return Check::warning(name, detail, "make room, or name a folder on another disk with --data DIR");
    }
    Check::fine(name, detail)
}

fn amount(bytes: u64) -> String {
    if bytes >= 10 << 30 { format!("{} GiB", bytes >> 30) } else { format!("{} MiB", bytes >> 20) }
}

/// A socket's path is short.
fn long_path(data: &Path) -> Option<Check> {
    let length = socket_path(data).as_os_str().len();
    (length > SOCKET_PATH_BYTES).then(|| {
        let detail =
            format!("too long for the worker's socket: {length} bytes, {SOCKET_PATH_BYTES} are possible");
        Check::failure("data folder's path", detail, "choose a shorter --data DIR")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_cannot_be_written_is_told_with_its_fix() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let checks = check(&file);
        assert!(!checks[0].ok && checks[0].fix.is_some(), "{checks:?}");
        assert!(check(&folder.path().join("new/deep"))[0].detail.contains("made when it is needed"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing is left behind");
    }

    #[test]
    fn a_folder_that_others_may_look_into_is_a_warning() {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o700)).unwrap();
        assert_eq!(private(folder.path(), folder.path()).fix, None);
        fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        let check = private(folder.path(), folder.path());
        assert!(check.ok && check.fix.unwrap().starts_with("chmod 700"), "{}", check.detail);
    }

    #[test]
    fn a_path_that_no_socket_can_have_fails() {
        assert_eq!(long_path(Path::new("/d")), None);
        assert!(!long_path(Path::new(&format!("/{}", "x".repeat(100)))).unwrap().ok);
    }
}
