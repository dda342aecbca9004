//! Receives a change: its new bytes go to slots or, if they are many, to one file, where no program sees them.

use std::os::fd::OwnedFd;

use bytes::Bytes;
use headwater_contract::v1::file_change::Action;
use headwater_contract::{Fault, FaultKind, v1};
use headwater_workspace::{Expect, Room, Span, WorkspaceError, WorkspacePath};

use super::Stage;
use crate::files::expectation::expectation;
use crate::files::open_workspace::{OpenWorkspace, disk_fault};

/// The most changes of one call.
const MAX_CHANGES: usize = 10_000;
/// The most bytes of all paths of one call, which are kept in memory.
const MAX_PATHS_BYTES: usize = 8 << 20;

/// The most new contents that get a slot. A slot replaces a file atomically, and needs no copy of the old bytes; but
/// creating and removing a file costs about ten times as much as writing into one that exists.
const MAX_SLOT_CONTENTS: u32 = 32;

/// One change, with its new content staged.
#[derive(Debug)]
pub(crate) struct Change {
    pub(super) path: WorkspacePath,
    pub(super) expect: Expect,
    pub(super) kind: ChangeKind,
    pub(super) mode: Option<u32>,
}

#[derive(Debug)]
pub(super) enum ChangeKind {
    Write(NewContent),
    /// The slot of the file that is taken away.
    Remove(u32),
    Move {
        to: WorkspacePath,
        expect: Expect,
        /// The slot of the file that is taken away.
        slot: u32,
        content: Option<NewContent>,
    },
}

/// A new content: in its slot, or among the bytes of the stage.
#[derive(Debug, Clone, Copy)]
pub(super) struct NewContent {
    pub(super) slot: u32,
    pub(super) span: Option<Span>,
}

impl ChangeKind {
    const fn content(&mut self) -> Option<&mut NewContent> {
        match self {
            Self::Write(content) => Some(content),
            Self::Move { content, .. } => content.as_mut(),
            Self::Remove(_) => None,
        }
    }
}

/// The changes of a call so far.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(super) changes: Vec<Change>,
    pub(super) stage: Stage,
    room: Room,
    /// The slot that is being written.
    current: Option<OwnedFd>,
    written: u64,
    /// The bytes of files that are replaced or removed.
    freed: u64,
    paths_bytes: usize,
    next_slot: u32,
    /// The number of new contents.
    contents: u32,
}

impl Draft {
    pub(crate) fn new(open: &OpenWorkspace) -> Result<Self, Fault> {
        Ok(Self {
            changes: Vec::new(),
            stage: Stage::new(open)?,
            room: open.room()?,
            current: None,
            written: 0,
            freed: 0,
            paths_bytes: 0,
            next_slot: 0,
            contents: 0,
        })
    }

    /// Adds bytes to the content of the last change, then the next changes.
    pub(crate) fn add(
        &mut self,
        open: &OpenWorkspace,
        data: &Bytes,
        changes: Vec<v1::FileChange>,
    ) -> Result<(), Fault> {
        if !data.is_empty() {
            self.write(open, data)?;
        }
        changes.into_iter().try_for_each(|change| self.begin(open, change))
    }

    fn begin(&mut self, open: &OpenWorkspace, change: v1::FileChange) -> Result<(), Fault> {
        self.current = None;
        let path = self.path(open, &change.path)?;
        if self.changes.len() == MAX_CHANGES {
            let message = format!("a call changes at most {MAX_CHANGES} files");
            return Err(Fault::new(FaultKind::Invalid, message).hint("make several calls"));
        }
        if change.mode.is_some_and(|mode| mode > 0o777) {
            return Err(Fault::new(FaultKind::Invalid, "`mode` may only contain permission bits"));
        }
        self.freed += open.workspace.stat(&path).map_or(0, |there| there.allocated_bytes);
        let missing = || Fault::new(FaultKind::Invalid, format!("`{path}`: the change has no action"));
        let (kind, bytes) = match change.action.ok_or_else(missing)? {
            Action::Write(bytes) => (ChangeKind::Write(self.new_content()?), Some(bytes)),
            Action::Remove(_) => (ChangeKind::Remove(self.slot()), None),
            Action::Move(moved) => {
                let to = self.path(open, &moved.to)?;
                self.freed += open.workspace.stat(&to).map_or(0, |there| there.allocated_bytes);
                let content = moved.write.is_some().then(|| self.new_content()).transpose()?;
                let expect = expectation(moved.expect);
                (ChangeKind::Move { to, expect, slot: self.slot(), content }, moved.write)
            }
        };
        let expect = expectation(change.expect);
        self.changes.push(Change { path, expect, kind, mode: change.mode });
        bytes.map_or(Ok(()), |bytes| self.write(open, &bytes))
    }

    fn path(&mut self, open: &OpenWorkspace, path: &[u8]) -> Result<WorkspacePath, Fault> {
        self.paths_bytes += path.len();
        if self.paths_bytes > MAX_PATHS_BYTES {
            let message = format!("the paths of a call have at most {MAX_PATHS_BYTES} bytes");
            return Err(Fault::new(FaultKind::Invalid, message).hint("make several calls"));
        }
        let path = open.path(path)?;
        if path.is_root() { Err(WorkspaceError::Root.into()) } else { Ok(path) }
    }

    fn slot(&mut self) -> u32 {
        self.next_slot += 1;
        self.next_slot - 1
    }

    /// Begins a new content.
    fn new_content(&mut self) -> Result<NewContent, Fault> {
        let slot = self.slot();
        self.contents += 1;
        if self.contents > MAX_SLOT_CONTENTS {
            let bytes = self.stage.bytes_mut().map_err(|error| disk_fault(&error))?;
            return Ok(NewContent { slot, span: Some(bytes.begin()) });
        }
        let created = self.stage.slots.create_slot(slot).map_err(|error| disk_fault(&error.into()))?;
        self.current = Some(created);
        Ok(NewContent { slot, span: None })
    }

    /// Adds bytes to the last content.
    fn write(&mut self, open: &OpenWorkspace, bytes: &[u8]) -> Result<(), Fault> {
        let Some(content) = self.changes.last_mut().and_then(|change| change.kind.content()) else {
            return Err(Fault::new(FaultKind::Invalid, "the bytes belong to no change with a content"));
        };
        self.written += bytes.len() as u64;
        if self.written > self.room.bytes.saturating_add(self.freed) {
            return Err(open.full(self.room));
        }
        let written = match (&mut content.span, &self.current) {
            (Some(span), _) => self.stage.bytes_mut().and_then(|all| all.add(span, bytes)),
            (None, Some(slot)) => headwater_workspace::write_to(slot, bytes),
            (None, None) => Ok(()),
        };
        written.map_err(|error| disk_fault(&error))
    }
}
