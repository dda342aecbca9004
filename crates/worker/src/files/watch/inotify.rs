//! Watches a workspace with inotify: one kernel watch for each folder, set on a descriptor that was opened without
//! following a link, never by a path that a program could replace by a link.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use headwater_contract::v1::{Change, ChangeType, FileKind};
use headwater_contract::{Fault, FaultKind};
use headwater_limits::descriptors::{self, Hold, Purpose};
use headwater_workspace::{Kind, MAX_DEPTH, Workspace, WorkspaceError, WorkspacePath, is_hidden_name};
use rustix::fs::inotify::{self, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::instances;
use super::pending::Pending;

/// The maximum number of folders of one watch.
const MAX_FOLDERS: usize = 8192;
/// The maximum number of events that are read before they are reported.
const MAX_EVENTS_PER_READ: usize = 16_384;
const BUFFER_BYTES: usize = 64 << 10;

/// A watch on a workspace, with its pending changes.
#[derive(Debug)]
pub(crate) struct InotifyWatch {
    inotify: Arc<OwnedFd>,
    workspace: Workspace,
    /// The watched folder; for a single file, its parent.
    top: WorkspacePath,
    /// The name of the single file.
    only: Option<Vec<u8>>,
    recursive: bool,
    /// The folder of each kernel watch.
    folders: HashMap<i32, WorkspacePath>,
    pending: Pending,
    /// Entries that were moved away and may appear at another path.
    moving: Option<(u32, WorkspacePath, FileKind)>,
    /// The cookie of a rename from a hidden name: the server is replacing a file.
    replacing: Option<u32>,
    /// Whether it was reported that there are too many folders.
    full: bool,
    #[allow(dead_code)] // released when dropped
    descriptors: Hold,
}

/// The parts of an inotify event that are used.
struct InotifyEvent {
    wd: i32,
    flags: ReadFlags,
    cookie: u32,
    name: Vec<u8>,
}

fn wanted() -> WatchFlags {
    WatchFlags::CREATE
        | WatchFlags::DELETE
        | WatchFlags::MODIFY
        | WatchFlags::ATTRIB
        | WatchFlags::MOVE
        | WatchFlags::DELETE_SELF
        | WatchFlags::ONLYDIR
        | WatchFlags::EXCL_UNLINK
}

impl Drop for InotifyWatch {
    fn drop(&mut self) {
        instances::release(&self.inotify, self.folders.keys().copied());
    }
}

impl InotifyWatch {
    pub(crate) fn begin(workspace: Workspace, path: WorkspacePath, recursive: bool) -> Result<Self, Fault> {
        let descriptors = descriptors::hold(descriptors::WATCH, Purpose::Start)?;
        let entry = workspace.stat(&path)?;
        let (top, only) = if entry.kind == Kind::Folder { (path, None) } else { above(&path) };
        let inotify = instances::take().map_err(watch_fault)?;
        let mut notes = Self {
            inotify,
            workspace,
            recursive: recursive && only.is_none(),
            top,
            only,
            folders: HashMap::new(),
            pending: Pending::default(),
            moving: None,
            replacing: None,
            full: false,
            descriptors,
        };
        notes.pending.announce(ChangeType::Ready, &notes.top.bytes());
        let top = notes.top.clone();
        notes.add(&top)?;
        notes.add_below(&top, false);
        Ok(notes)
    }

    pub(crate) fn inotify(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.inotify)
    }

    /// Whether there are pending changes.
    pub(crate) fn has_more(&self) -> bool {
        !self.pending.is_empty() || self.moving.is_some()
    }

    /// Takes pending changes.
    pub(crate) fn take(&mut self, at_most: usize) -> Vec<Change> {
        self.drop_unmatched_moves();
        self.pending.take(at_most)
    }

    /// Watches a folder.
    fn add(&mut self, folder: &WorkspacePath) -> Result<(), Fault> {
        if self.folders.len() >= MAX_FOLDERS {
            self.report_too_many(folder);
            return Ok(());
        }
        let opened = self.workspace.open_dir(folder)?;
        let path = format!("/proc/self/fd/{}", opened.as_raw_fd());
        match inotify::add_watch(&*self.inotify, path, wanted()) {
            Ok(wd) => {
                self.folders.insert(wd, folder.clone());
                Ok(())
            }
            Err(Errno::NOSPC | Errno::NOMEM) if !self.folders.is_empty() => {
                self.report_too_many(folder);
                Ok(())
            }
            Err(error) => Err(watch_fault(error)),
        }
    }

    fn report_too_many(&mut self, folder: &WorkspacePath) {
        if !self.full {
            self.full = true;
            self.pending.announce(ChangeType::Limit, &folder.bytes());
        }
    }

    /// Watches the folders below this one. The content of a new folder is new as well: the watch is set before the folder is
    /// listed, so that entries that are created meanwhile are found by one or the other.
    fn add_below(&mut self, folder: &WorkspacePath, is_new: bool) {
        if !self.recursive {
            return;
        }
        let Ok(walk) = self.workspace.walk(folder, MAX_DEPTH, None) else { return };
        for step in walk {
            if is_new {
                self.pending.add(
                    ChangeType::Created,
                    &step.path.bytes(),
                    super::super::file_kind(step.entry.kind),
                );
            }
            if step.entry.kind == Kind::Folder && !self.full {
                // It may have been removed meanwhile.
                let _ = self.add(&step.path);
            }
        }
    }

    /// Reads events from the kernel; returns whether those were all.
    pub(crate) fn read(&mut self) -> bool {
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER_BYTES];
        let inotify = Arc::clone(&self.inotify);
        let mut reader = Reader::new(&*inotify, &mut buffer);
        for _ in 0..MAX_EVENTS_PER_READ {
            let event = match reader.next() {
                Ok(event) => InotifyEvent {
                    wd: event.wd(),
                    flags: event.events(),
                    cookie: event.cookie(),
                    name: event.file_name().map(|name| name.to_bytes().to_vec()).unwrap_or_default(),
                },
                Err(Errno::INTR) => continue,
                Err(_) => return true,
            };
            self.handle(&event);
        }
        false
    }

    fn handle(&mut self, event: &InotifyEvent) {
        if event.flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            return self.rescan();
        }
        if event.flags.contains(ReadFlags::IGNORED) {
            self.folders.remove(&event.wd);
            return;
        }
        let Some(folder) = self.folders.get(&event.wd) else { return };
        if event.flags.contains(ReadFlags::DELETE_SELF) {
            // The watch on its parent reports it.
            if *folder == self.top {
                let path = self.top.bytes();
                self.pending.add(ChangeType::Removed, &path, FileKind::Folder);
            }
            return;
        }
        if is_hidden_name(&event.name) {
            if event.flags.contains(ReadFlags::MOVED_FROM) {
                self.replacing = Some(event.cookie);
            }
            return;
        }
        if event.name.is_empty() || self.only.as_ref().is_some_and(|only| *only != event.name) {
            return;
        }
        let Some(path) = folder.join(&event.name) else { return };
        if self.is_nameless(event, &path) {
            return;
        }
        self.handle_entry(event, path);
    }

    fn handle_entry(&mut self, event: &InotifyEvent, path: WorkspacePath) {
        let is_folder = event.flags.contains(ReadFlags::ISDIR);
        let kind = if is_folder { FileKind::Folder } else { FileKind::File };
        if event.flags.contains(ReadFlags::MOVED_TO) {
            match self.moving.take() {
                Some((cookie, from, _)) if cookie == event.cookie => {
                    return self.has_moved(&from, &path, kind);
                }
                other => self.moving = other,
            }
        }
        self.drop_unmatched_moves();
        if event.flags.contains(ReadFlags::MOVED_TO) && self.replacing.take() == Some(event.cookie) {
            self.pending.add(ChangeType::Modified, &path.bytes(), kind);
            return;
        }
        if event.flags.contains(ReadFlags::MOVED_FROM) {
            self.moving = Some((event.cookie, path, kind));
            return;
        }
        let change = if event.flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            ChangeType::Created
        } else if event.flags.contains(ReadFlags::DELETE) {
            ChangeType::Removed
        } else {
            ChangeType::Modified
        };
        let kind = if change == ChangeType::Created && !is_folder { self.kind_of(&path) } else { kind };
        self.pending.add(change, &path.bytes(), kind);
        if change == ChangeType::Created && is_folder && self.recursive && self.add(&path).is_ok() {
            self.add_below(&path, true);
        }
    }

    /// Whether the event is of a file without a name, which the kernel calls `#` and its inode: a file that the server or
    /// a program is still writing. A file that really has such a name exists.
    fn is_nameless(&self, event: &InotifyEvent, path: &WorkspacePath) -> bool {
        let is_named_so = matches!(event.name.as_slice(), [b'#', digits @ ..] if !digits.is_empty()
            && digits.iter().all(u8::is_ascii_digit));
        is_named_so && matches!(self.workspace.stat(path), Err(WorkspaceError::Missing { .. }))
    }

    fn kind_of(&self, path: &WorkspacePath) -> FileKind {
        let found: Result<_, WorkspaceError> = self.workspace.stat(path);
        found.map_or(FileKind::File, |entry| super::super::file_kind(entry.kind))
    }

    /// An entry was moved between watched folders, with the watches below it.
    fn has_moved(&mut self, from: &WorkspacePath, to: &WorkspacePath, kind: FileKind) {
        self.pending.moved(&from.bytes(), &to.bytes(), kind);
        if kind != FileKind::Folder {
            return;
        }
        for folder in self.folders.values_mut().filter(|folder| folder.is_within(from)) {
            let below = folder.names().get(from.names().len()..).unwrap_or_default();
            let moved = below.iter().try_fold(to.clone(), |path, name| path.join(name));
            *folder = moved.unwrap_or_else(|| to.clone());
        }
    }

    /// Entries that were moved away and did not reappear are reported as removed, with their content.
    fn drop_unmatched_moves(&mut self) {
        let Some((_, path, kind)) = self.moving.take() else { return };
        self.pending.add(ChangeType::Removed, &path.bytes(), kind);
        let gone: Vec<_> =
            self.folders.iter().filter(|(_, folder)| folder.is_within(&path)).map(|(wd, _)| *wd).collect();
        for wd in gone {
            self.folders.remove(&wd);
            // The kernel may have removed it already.
            let _ = inotify::remove_watch(&*self.inotify, wd);
        }
    }

    /// The kernel's queue overflowed: there may be new folders that are not watched.
    fn rescan(&mut self) {
        self.moving = None;
        self.pending.overflow();
        let top = self.top.clone();
        if self.add(&top).is_ok() {
            self.add_below(&top, false);
        }
    }
}

fn above(path: &WorkspacePath) -> (WorkspacePath, Option<Vec<u8>>) {
    let names = path.names().split_last();
    let folders = names.map(|(_, folders)| folders.join(&b'/')).unwrap_or_default();
    // The parents of a valid path are a valid path.
    let top = WorkspacePath::parse_any(&folders, "/").unwrap_or_else(|_| WorkspacePath::root());
    (top, Some(path.name().to_vec()))
}

fn watch_fault(error: Errno) -> Fault {
    match error {
        Errno::NOSPC | Errno::MFILE | Errno::NFILE | Errno::NOMEM => {
            Fault::new(FaultKind::Exhausted, "the host's limit of watched folders is reached")
                .hint("close other watches, or raise `fs.inotify.max_user_watches` and `max_user_instances`")
        }
        error => Fault::new(FaultKind::Unavailable, format!("cannot watch the folder: {error}")),
    }
}
