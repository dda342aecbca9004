//! System files that compilers read: headers, libraries, the compilers themselves. Sessions cannot change them, but the
//! operator can at any time. So they are hashed, and hashed again when their metadata changes.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use headwater_sandbox::wire::Bind;

use super::key::Key;

/// The most cached hashes; over that, all are dropped.
const MAX_HASHED_FILES: usize = 200_000;
/// The folders of the host that sessions see at the same path.
const SYSTEM_FOLDERS: [&str; 7] = ["/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin"];

/// The metadata by which a change is detected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    dev: u64,
    ino: u64,
    size: i64,
    changed: (i64, i64),
    written: (i64, i64),
}

/// The hashes of system files.
#[derive(Debug, Default)]
pub(crate) struct SystemFiles {
    known: Mutex<HashMap<PathBuf, (FileStamp, Key)>>,
}

fn stamp(path: &Path) -> io::Result<FileStamp> {
    let stat = rustix::fs::stat(path)?;
    Ok(FileStamp {
        dev: stat.st_dev,
        ino: stat.st_ino,
        size: stat.st_size,
        changed: (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
        written: (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
    })
}

impl SystemFiles {
    /// The hash of a file.
    pub(crate) fn hash(&self, path: &Path) -> io::Result<Key> {
        let now = stamp(path)?;
        {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, key)) = known.get(path).filter(|(stamp, _)| *stamp == now) {
                return Ok(*key);
            }
        }
        let key = Key::read(File::open(path)?)?;
        if stamp(path)? == now {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= MAX_HASHED_FILES {
                known.clear();
            }
            known.insert(path.to_owned(), (now, key));
        }
        Ok(key)
    }
}

/// The path on the host of a path in a session, if no session can change the file.
pub(crate) fn host_path(inside: &str, binds: &[Bind]) -> Option<PathBuf> {
    let path = normalise(Path::new(inside))?;
    for bind in binds {
        if let Ok(rest) = path.strip_prefix(&bind.inside) {
            return Some(Path::new(&bind.host).join(rest));
        }
    }
    SYSTEM_FOLDERS.iter().any(|root| path.starts_with(root)).then_some(path)
}

/// The path without `.` and `..`, without resolving links: compilers write `/usr/lib/gcc/x/12/../../../y`.
fn normalise(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                normal.pop();
            }
            Component::CurDir => {}
            other => normal.push(other),
        }
    }
    normal.is_absolute().then_some(normal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_sessions_cannot_change_has_a_place_on_the_host() {
        let binds = [Bind { host: "/srv/sdk".into(), inside: "/opt/sdk".into(), optional: false }];
        let host = |path: &str| host_path(path, &binds).map(|path| path.to_string_lossy().into_owned());
        assert_eq!(host("/usr/lib/gcc/../x.so").as_deref(), Some("/usr/lib/x.so"));
        assert_eq!(host("/opt/sdk/a.h").as_deref(), Some("/srv/sdk/a.h"));
        for other in ["/tmp/x", "/workspace/a.h", "/usr/../tmp/x", "/usrx", "x.h", "/proc/self/x", "/opt/x"] {
            assert_eq!(host(other), None, "{other}");
        }
    }

    #[test]
    fn a_file_that_was_changed_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let (path, files) = (folder.path().join("a"), SystemFiles::default());
        std::fs::write(&path, "one").unwrap();
        assert_eq!(files.hash(&path).unwrap(), Key::of(b"one"));
        std::fs::write(folder.path().join("b"), "two").unwrap();
        std::fs::rename(folder.path().join("b"), &path).unwrap();
        assert_eq!(files.hash(&path).unwrap(), Key::of(b"two"));
        std::fs::remove_file(&path).unwrap();
        assert!(files.hash(&path).is_err());
    }
}
