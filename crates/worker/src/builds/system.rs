//! Files of the host that compilers read: headers, libraries, the compilers themselves. Sessions cannot change them; the
//! operator can, at any time. So they count by content, which is read again whenever the file looks changed.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use headwater_sandbox::wire::Bind;

use super::key::Key;

/// Files remembered at once; past that, all are looked at anew.
const REMEMBERED: usize = 200_000;
/// The folders of the host that sessions see where they are.
const SEEN: [&str; 7] = ["/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin"];

/// How a file looks from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Looks {
    dev: u64,
    ino: u64,
    size: i64,
    changed: (i64, i64),
    written: (i64, i64),
}

/// The contents of files of the host.
#[derive(Debug, Default)]
pub(crate) struct SystemFiles {
    known: Mutex<HashMap<PathBuf, (Looks, Key)>>,
}

fn looks(path: &Path) -> io::Result<Looks> {
    let stat = rustix::fs::stat(path)?;
    Ok(Looks {
        dev: stat.st_dev,
        ino: stat.st_ino,
        size: stat.st_size,
        changed: (stat.st_ctime, i64::try_from(stat.st_ctime_nsec).unwrap_or(0)),
        written: (stat.st_mtime, i64::try_from(stat.st_mtime_nsec).unwrap_or(0)),
    })
}

impl SystemFiles {
    /// The hash of a file of the host.
    pub(crate) fn hash(&self, path: &Path) -> io::Result<Key> {
        let now = looks(path)?;
        {
            let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some((_, key)) = known.get(path).filter(|(looks, _)| *looks == now) {
                return Ok(*key);
            }
        }
        let key = Key::read(File::open(path)?)?;
        if looks(path)? == now {
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            if known.len() >= REMEMBERED {
                known.clear();
            }
            known.insert(path.to_owned(), (now, key));
        }
        Ok(key)
    }
}

/// Where on the host a file is that a session sees at this absolute path, if no session can change it.
pub(crate) fn host_path(inside: &str, binds: &[Bind]) -> Option<PathBuf> {
    let path = normal(Path::new(inside))?;
    for bind in binds {
        if let Ok(rest) = path.strip_prefix(&bind.inside) {
            return Some(Path::new(&bind.host).join(rest));
        }
    }
    SEEN.iter().any(|root| path.starts_with(root)).then_some(path)
}

/// The path without `.` and `..`, by its text: compilers write `/usr/lib/gcc/x/12/../../../y`.
fn normal(path: &Path) -> Option<PathBuf> {
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
