//! Looking into a workspace: whether something is there, the names in a folder, the beginning of a small file. All of it
//! may change at once, and is told as it was.

use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags};

use super::{Workspace, WorkspacePath, open_beneath};

impl Workspace {
    /// Whether something has this name, a link for one.
    pub(crate) fn is_there(&self, path: &WorkspacePath) -> bool {
        let (folders, name) = path.split();
        let Some(folder) = self.folder(folders) else {
            return false;
        };
        rustix::fs::statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// The names in a folder, at most so many and in order; none if it is not there or is no folder.
    pub(crate) fn names(&self, path: &WorkspacePath, most: usize) -> Vec<String> {
        let (folders, name) = path.split();
        let open = |folder: OwnedFd| {
            open_beneath(folder.as_fd(), name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty()).ok()
        };
        let Some(entries) =
            self.folder(folders).and_then(open).and_then(|folder| Dir::read_from(folder).ok())
        else {
            return Vec::new();
        };
        let names = entries
            .filter_map(Result::ok)
            .filter_map(|entry| entry.file_name().to_str().ok().map(Into::into));
        let mut names: Vec<String> = names.filter(|name| name != "." && name != "..").take(most).collect();
        names.sort_unstable();
        names
    }

    /// The beginning of an ordinary file, at most so many bytes.
    pub(crate) fn beginning(&self, path: &WorkspacePath, most: usize) -> Option<Vec<u8>> {
        let (folders, name) = path.split();
        let folder = self.folder(folders)?;
        // Not held up by a FIFO that somebody put there.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = open_beneath(folder.as_fd(), name, flags, Mode::empty()).ok()?;
        let there = rustix::fs::fstat(&file).ok()?;
        if FileType::from_raw_mode(there.st_mode) != FileType::RegularFile {
            return None;
        }
        let mut bytes = vec![0; most.min(usize::try_from(there.st_size).unwrap_or(most))];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match rustix::io::retry_on_intr(|| rustix::io::read(&file, &mut *rest)).ok()? {
                0 => break,
                n => filled += n,
            }
        }
        bytes.truncate(filled);
        Some(bytes)
    }

    /// The folder that these names lead to.
    fn folder(&self, names: &[String]) -> Option<OwnedFd> {
        let mut folder = self.root.try_clone().ok()?;
        for name in names {
            let flags = OFlags::PATH | OFlags::DIRECTORY;
            folder = open_beneath(folder.as_fd(), name, flags, Mode::empty()).ok()?;
        }
        Some(folder)
    }
}
