//! The slots of a change: new files that are staged where a rename into the workspace is possible.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::{AtFlags, Mode, OFlags, StatxFlags};
use rustix::io::Errno;

use super::entry::Entry;
use super::journal::slot_name;
use super::write::{hidden_name, unnamed_file};
use super::{StagingDir, Workspace, WorkspaceError, WorkspacePath, from_errno, open_beneath, tree};

impl Workspace {
    /// Whether entries of the two can be renamed into each other: they are on the same file system and the same mount.
    pub fn shares_mount(&self, other: &Self) -> io::Result<bool> {
        Ok(mount_of(&self.root)? == mount_of(&other.root)?)
    }

    /// A name for a folder of slots that no program can guess.
    pub fn hidden_slots_name() -> String {
        hidden_name()
    }

    /// Creates a folder for slots in the workspace itself, which is on another disk than the session's folder.
    pub fn create_hidden_slots(&self, name: &str) -> Result<Self, WorkspaceError> {
        let path = WorkspacePath::root().join(name.as_bytes()).ok_or(WorkspaceError::Root)?;
        let (parent, name) = self.parent(&path, false)?;
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let root = rustix::fs::mkdirat(&parent, name, Mode::RWXU)
            .and_then(|()| open_beneath(parent.as_fd(), name, flags, Mode::empty()))
            .map_err(|error| from_errno(&path, error))?;
        Ok(Self { root, ..self.again().map_err(|error| from_errno(&path, error))? })
    }

    /// Opens the same workspace again.
    pub fn reopen(&self) -> io::Result<Self> {
        Ok(self.again()?)
    }

    /// Opens such a folder.
    pub fn open_hidden_slots(&self, name: &str) -> io::Result<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY;
        let root = open_beneath(self.root.as_fd(), name.as_bytes(), flags, Mode::empty())?;
        Ok(Self { root, owner: self.owner, guard: None })
    }

    /// Removes such a folder with its content. A missing one is not an error.
    pub fn remove_hidden_slots(&self, name: &str) -> io::Result<()> {
        let name = std::ffi::CString::new(name)?;
        match tree::remove_below(self.root.as_fd(), &name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Creates a slot, and opens it for writing.
    pub fn create_slot(&self, slot: u32) -> Result<OwnedFd, Errno> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL;
        open_beneath(self.root.as_fd(), slot_name(slot).as_bytes(), flags, Mode::RUSR | Mode::WUSR)
    }

    /// Whether files can be created here without a name.
    pub fn supports_unnamed_files(&self) -> bool {
        unnamed_file(self.root.as_fd()).is_ok()
    }

    /// Gives a slot to the session with this mode, and returns its inode.
    pub fn finish_slot(&self, slot: u32, mode: u32) -> Result<u64, Errno> {
        let flags = OFlags::RDONLY;
        let file = open_beneath(self.root.as_fd(), slot_name(slot).as_bytes(), flags, Mode::empty())?;
        self.give(file.as_fd(), mode)?;
        Ok(rustix::fs::fstat(&file)?.st_ino)
    }

    /// Refuses a change that adds, replaces or removes this entry, if the workspace does not allow it.
    pub fn may_change_entry(&self, path: &WorkspacePath) -> Result<(), WorkspaceError> {
        self.guarded(|guard| guard.check_entry(path))
    }

    /// Refuses to add entries to the workspace's own folder, if that is read-only.
    pub fn may_add_entries(&self) -> Result<(), WorkspaceError> {
        self.guarded(|guard| guard.check_content(&WorkspacePath::root()))
    }

    /// Whether a file may be replaced: it is a regular file with a single hard link.
    pub fn may_replace(&self, path: &WorkspacePath, entry: &Entry) -> Result<(), WorkspaceError> {
        super::write::may_change(path, entry)
    }
}

/// The device and the mount of a folder. Old kernels do not report the mount.
fn mount_of(folder: &OwnedFd) -> io::Result<(u32, u32, u64)> {
    let wanted = StatxFlags::BASIC_STATS | StatxFlags::MNT_ID;
    let stat = rustix::fs::statx(folder, "", AtFlags::EMPTY_PATH, wanted)?;
    let has_mount = stat.stx_mask & StatxFlags::MNT_ID.bits() != 0;
    Ok((stat.stx_dev_major, stat.stx_dev_minor, if has_mount { stat.stx_mnt_id } else { 0 }))
}

impl StagingDir {
    /// Whether a file of this name exists in it.
    pub fn has(&self, name: &str) -> bool {
        self.path().join(name).exists()
    }

    /// Keeps the folder.
    pub fn keep(self) {
        std::mem::forget(self);
    }
}
