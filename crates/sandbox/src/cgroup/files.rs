//! Reading and writing the files of a cgroup folder.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::io::Errno;

/// Writes a value with one call, as the kernel requires. Errors name the file but not its folder: users see
/// them.
pub(super) fn write(folder: &Path, file: &str, value: &str) -> io::Result<()> {
    let path = folder.join(file);
    let named = |error: io::Error| {
        // Writing to a file of a cgroup that has been removed meanwhile fails with ENODEV.
        let gone = error.raw_os_error() == Some(Errno::NODEV.raw_os_error());
        let kind = if gone { io::ErrorKind::NotFound } else { error.kind() };
        io::Error::new(kind, format!("write `{value}` to `{file}`: {error}"))
    };
    OpenOptions::new()
        .write(true)
        .open(&path)
        .and_then(|mut open| open.write_all(value.as_bytes()))
        .map_err(named)
}

/// Reads a whole file as text.
pub(super) fn read(folder: &Path, file: &str) -> io::Result<String> {
    let path = folder.join(file);
    fs::read_to_string(&path).map_err(|error| io::Error::new(error.kind(), format!("read `{file}`: {error}")))
}

/// Reads a file that contains a number.
pub(super) fn read_number(folder: &Path, file: &str) -> Option<u64> {
    read(folder, file).ok()?.trim().parse().ok()
}

/// Reads the number after `key` in a file of `key number` lines.
pub(super) fn read_keyed(folder: &Path, file: &str, key: &str) -> Option<u64> {
    keyed(&read(folder, file).ok()?, key)
}

fn keyed(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(' ')?.trim().parse().ok())
}

/// Opens the file through which a process joins the cgroup.
pub(super) fn open_procs(folder: &Path) -> io::Result<OwnedFd> {
    let path = folder.join("cgroup.procs");
    let file = OpenOptions::new().write(true).open(&path);
    file.map(<File as Into<OwnedFd>>::into)
        .map_err(|error| io::Error::new(error.kind(), format!("open `cgroup.procs`: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyed_number_is_found_by_its_whole_key() {
        let text = "low 0\noom 3\noom_kill 7\noom_group_kill 1\n";
        assert_eq!(keyed(text, "oom"), Some(3));
        assert_eq!(keyed(text, "oom_kill"), Some(7));
        assert_eq!(keyed(text, "high"), None);
    }
}
