//! Whole files, for builds: taken out of one workspace, put into another.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use headwater_protocol::ExecutionId;

use super::{BENEATH, Workspace, WorkspaceError, WorkspacePath, look_at, open_beneath, told};

/// A file of a workspace that is there.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) file: File,
    pub(crate) bytes: u64,
}

/// The mode of what can be run.
const PROGRAM_MODE: Mode = Mode::from_raw_mode(0o755);
/// The mode of what cannot.
const PLAIN_MODE: Mode = Mode::from_raw_mode(0o644);

impl Workspace {
    /// Opens an ordinary file to read, through no link. None if there is none.
    pub(crate) fn take(&self, path: &WorkspacePath) -> Result<Option<Whole>, WorkspaceError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let text = path.to_string();
        let opened = rustix::io::retry_on_intr(|| {
            rustix::fs::openat2(&self.root, text.as_str(), flags, Mode::empty(), BENEATH)
        });
        let fd = match opened {
            Ok(fd) => fd,
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::XDEV | Errno::NXIO) => return Ok(None),
            Err(error) => return Err(told(path, error)),
        };
        let stat = rustix::fs::fstat(&fd).map_err(|error| told(path, error))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Ok(None);
        }
        Ok(Some(Whole { file: fd.into(), bytes: u64::try_from(stat.st_size).unwrap_or(0) }))
    }

    /// All of a file, if it is there and no longer than this.
    pub(crate) fn take_all(&self, path: &WorkspacePath, most: u64) -> Result<Option<Vec<u8>>, WorkspaceError> {
        let Some(whole) = self.take(path)? else { return Ok(None) };
        let mut bytes = Vec::with_capacity(usize::try_from(whole.bytes.min(most)).unwrap_or(0));
        // One more than may be: a program may make it longer while it is read.
        let read = whole.file.take(most + 1).read_to_end(&mut bytes);
        read.map_err(|error| io_told(path, &error))?;
        Ok((bytes.len() as u64 <= most).then_some(bytes))
    }

    /// Writes a file from what can be read, in place of the one that is there; the folders above it are made.
    pub(crate) fn put(
        &self,
        path: &WorkspacePath,
        source: &mut dyn Read,
        runs: bool,
    ) -> Result<(), WorkspaceError> {
        let (folders, name) = path.split();
        let mut folder: Option<OwnedFd> = None;
        for next in folders {
            let parent = folder.as_ref().unwrap_or(&self.root).as_fd();
            folder = Some(self.enter(parent, next).map_err(|error| told(path, error))?);
        }
        let folder = folder.as_ref().unwrap_or(&self.root).as_fd();
        look_at(folder, name, path)?;
        let new = format!(".headwater-{}", ExecutionId::random());
        let written = || {
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL;
            let mut file: File = open_beneath(folder, &new, flags, Mode::RUSR | Mode::WUSR)?.into();
            io::copy(source, &mut file).map_err(|error| errno(&error))?;
            self.hand_over(file.as_fd(), if runs { PROGRAM_MODE } else { PLAIN_MODE })?;
            drop(file); // what is open for writing cannot be run
            rustix::fs::renameat(folder, &new, folder, name)
        };
        let mut written = written;
        written().map_err(|error| {
            let _ = rustix::fs::unlinkat(folder, &new, AtFlags::empty()); // it may never have been
            told(path, error)
        })
    }

    /// The paths of all ordinary files, but for those that `skip` says; none if there are more than `most` entries.
    pub(crate) fn all_files(
        &self,
        most: usize,
        skip: &dyn Fn(&str) -> bool,
    ) -> Result<Option<Vec<String>>, WorkspaceError> {
        let (mut found, mut folders, mut seen) = (Vec::new(), vec![String::new()], 0);
        while let Some(folder) = folders.pop() {
            for (name, kind) in self.entries(&folder)? {
                seen += 1;
                if seen > most {
                    return Ok(None);
                }
                let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                match kind {
                    _ if skip(&path) => {}
                    FileType::Directory => folders.push(path),
                    FileType::RegularFile => found.push(path),
                    _ => {}
                }
            }
        }
        found.sort();
        Ok(Some(found))
    }

    /// What is in a folder, as far as its name is text. A folder that has gone is empty.
    fn entries(&self, folder: &str) -> Result<Vec<(String, FileType)>, WorkspaceError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let path = if folder.is_empty() { "." } else { folder };
        let opened = rustix::io::retry_on_intr(|| {
            rustix::fs::openat2(&self.root, path, flags, Mode::empty(), BENEATH)
        });
        let Ok(fd) = opened else { return Ok(Vec::new()) };
        let failed = |source| WorkspaceError::Io { path: path.to_owned(), source };
        let mut entries = Vec::new();
        for entry in rustix::fs::Dir::new(fd).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let Ok(name) = entry.file_name().to_str() else { continue };
            if !matches!(name, "." | "..") {
                entries.push((name.to_owned(), entry.file_type()));
            }
        }
        Ok(entries)
    }
}

fn errno(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

fn io_told(path: &WorkspacePath, error: &io::Error) -> WorkspaceError {
    told(path, errno(error))
}
