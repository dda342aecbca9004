//! What the kernel notes of a workspace: an inotify watch on each folder, set on a descriptor that was reached without
//! following a link, never by a path that a program could turn.

use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;

use headwater_contract::v1::{Change, ChangeType, FileKind};
use headwater_contract::{Fault, FaultKind};
use headwater_limits::descriptors::{self, Hold, Purpose};
use headwater_workspace::{Kind, MAX_DEPTH, Workspace, WorkspaceError, WorkspacePath};
use rustix::fs::inotify::{self, ReadFlags, Reader, WatchFlags};
use rustix::io::Errno;

use super::instances;
use super::pending::Pending;

/// Folders of one watch.
const MAX_FOLDERS: usize = 8192;
/// Notes that are read in one go, at most, before what they say is told.
const MAX_READ: usize = 16_384;
const BUFFER_BYTES: usize = 64 << 10;

/// A watch on a workspace, and what it has to tell.
#[derive(Debug)]
pub(crate) struct Notes {
    inotify: Arc<OwnedFd>,
    workspace: Workspace,
    /// The folder that is watched; of a single file, the one it is in.
    top: WorkspacePath,
    /// The single file.
    only: Option<Vec<u8>>,
    recursive: bool,
    /// The folder of each watch.
    folders: HashMap<i32, WorkspacePath>,
    pending: Pending,
    /// What has left its place and may turn up at another one.
    moving: Option<(u32, WorkspacePath, FileKind)>,
    /// It was said that there are too many folders.
    full: bool,
    #[allow(dead_code)] // held for its end
    descriptors: Hold,
}

/// One note, as far as it concerns us.
struct Note {
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

impl Drop for Notes {
    fn drop(&mut self) {
        instances::give_back(&self.inotify, self.folders.keys().copied());
    }
}

impl Notes {
    pub(crate) fn begin(workspace: Workspace, path: WorkspacePath, recursive: bool) -> Result<Self, Fault> {
        let descriptors = descriptors::hold(descriptors::WATCH, Purpose::Start)?;
        let entry = workspace.stat(&path)?;
        let (top, only) = if entry.kind == Kind::Folder { (path, None) } else { above(&path) };
        let inotify = instances::take().map_err(no_more)?;
        let mut notes = Self {
            inotify,
            workspace,
            recursive: recursive && only.is_none(),
            top,
            only,
            folders: HashMap::new(),
            pending: Pending::default(),
            moving: None,
            full: false,
            descriptors,
        };
        notes.pending.say(ChangeType::Ready, &notes.top.bytes());
        let top = notes.top.clone();
        notes.add(&top)?;
        notes.add_below(&top, false);
        Ok(notes)
    }

    pub(crate) fn inotify(&self) -> Arc<OwnedFd> {
        Arc::clone(&self.inotify)
    }

    /// Whether there is something to tell.
    pub(crate) fn has_more(&self) -> bool {
        !self.pending.is_empty() || self.moving.is_some()
    }

    /// What there is to tell.
    pub(crate) fn take(&mut self, at_most: usize) -> Vec<Change> {
        self.give_up_moving();
        self.pending.take(at_most)
    }

    /// Sets a watch on a folder.
    fn add(&mut self, folder: &WorkspacePath) -> Result<(), Fault> {
        if self.folders.len() >= MAX_FOLDERS {
            self.is_full(folder);
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
                self.is_full(folder);
                Ok(())
            }
            Err(error) => Err(no_more(error)),
        }
    }

    fn is_full(&mut self, folder: &WorkspacePath) {
        if !self.full {
            self.full = true;
            self.pending.say(ChangeType::Limit, &folder.bytes());
        }
    }

    /// Watches the folders below this one. Of a folder that is new, what is in it is new as well: the watch is set first, so
    /// that whatever is made meanwhile is met by one or the other.
    fn add_below(&mut self, folder: &WorkspacePath, is_new: bool) {
        if !self.recursive {
            return;
        }
        let Ok(walk) = self.workspace.walk(folder, MAX_DEPTH, None) else { return };
        for step in walk {
            if is_new {
                self.pending.note(
                    ChangeType::Created,
                    &step.path.bytes(),
                    super::super::node_kind(step.entry.kind),
                );
            }
            if step.entry.kind == Kind::Folder && !self.full {
                // It may be gone by now.
                let _ = self.add(&step.path);
            }
        }
    }

    /// Reads what the kernel has noted; answers whether that was all of it.
    pub(crate) fn read(&mut self) -> bool {
        let mut buffer = vec![MaybeUninit::uninit(); BUFFER_BYTES];
        let inotify = Arc::clone(&self.inotify);
        let mut reader = Reader::new(&*inotify, &mut buffer);
        for _ in 0..MAX_READ {
            let note = match reader.next() {
                Ok(event) => Note {
                    wd: event.wd(),
                    flags: event.events(),
                    cookie: event.cookie(),
                    name: event.file_name().map(|name| name.to_bytes().to_vec()).unwrap_or_default(),
                },
                Err(Errno::INTR) => continue,
                Err(_) => return true,
            };
            self.hear(&note);
        }
        false
    }

    fn hear(&mut self, note: &Note) {
        if note.flags.contains(ReadFlags::QUEUE_OVERFLOW) {
            return self.begin_again();
        }
        if note.flags.contains(ReadFlags::IGNORED) {
            self.folders.remove(&note.wd);
            return;
        }
        let Some(folder) = self.folders.get(&note.wd) else { return };
        if note.flags.contains(ReadFlags::DELETE_SELF) {
            // Of a folder within another the latter tells.
            if *folder == self.top {
                let path = self.top.bytes();
                self.pending.note(ChangeType::Removed, &path, FileKind::Folder);
            }
            return;
        }
        if note.name.is_empty() || self.only.as_ref().is_some_and(|only| *only != note.name) {
            return;
        }
        let Some(path) = folder.join(&note.name) else { return };
        self.hear_of(note, path);
    }

    fn hear_of(&mut self, note: &Note, path: WorkspacePath) {
        let is_folder = note.flags.contains(ReadFlags::ISDIR);
        let kind = if is_folder { FileKind::Folder } else { FileKind::File };
        if note.flags.contains(ReadFlags::MOVED_TO) {
            match self.moving.take() {
                Some((cookie, from, _)) if cookie == note.cookie => {
                    return self.has_moved(&from, &path, kind);
                }
                other => self.moving = other,
            }
        }
        self.give_up_moving();
        if note.flags.contains(ReadFlags::MOVED_FROM) {
            self.moving = Some((note.cookie, path, kind));
            return;
        }
        let change = if note.flags.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            ChangeType::Created
        } else if note.flags.contains(ReadFlags::DELETE) {
            ChangeType::Removed
        } else {
            ChangeType::Modified
        };
        let kind = if change == ChangeType::Created && !is_folder { self.kind_of(&path) } else { kind };
        self.pending.note(change, &path.bytes(), kind);
        if change == ChangeType::Created && is_folder && self.recursive && self.add(&path).is_ok() {
            self.add_below(&path, true);
        }
    }

    fn kind_of(&self, path: &WorkspacePath) -> FileKind {
        let found: Result<_, WorkspaceError> = self.workspace.stat(path);
        found.map_or(FileKind::File, |entry| super::super::node_kind(entry.kind))
    }

    /// Something went from one place that is watched to another; so did the watches in it.
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

    /// What left its place turned up nowhere: it is gone, with all that was in it.
    fn give_up_moving(&mut self) {
        let Some((_, path, kind)) = self.moving.take() else { return };
        self.pending.note(ChangeType::Removed, &path.bytes(), kind);
        let gone: Vec<_> =
            self.folders.iter().filter(|(_, folder)| folder.is_within(&path)).map(|(wd, _)| *wd).collect();
        for wd in gone {
            self.folders.remove(&wd);
            // It may be gone by itself.
            let _ = inotify::remove_watch(&*self.inotify, wd);
        }
    }

    /// The kernel could not note everything: folders may have come that are not watched.
    fn begin_again(&mut self) {
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
    // The folders of a path that was understood are one, too.
    let top = WorkspacePath::any(&folders, "/").unwrap_or_else(|_| WorkspacePath::root());
    (top, Some(path.name().to_vec()))
}

fn no_more(error: Errno) -> Fault {
    match error {
        Errno::NOSPC | Errno::MFILE | Errno::NFILE | Errno::NOMEM => {
            Fault::new(FaultKind::Exhausted, "the host can watch no more folders")
                .hint("close other watches, or raise `fs.inotify.max_user_watches` and `max_user_instances`")
        }
        error => Fault::new(FaultKind::Unavailable, format!("the folder cannot be watched: {error}")),
    }
}
