//! Checks the expectations of a change, and plans its steps.

use std::collections::HashSet;

use headwater_contract::{Fault, FaultKind};
use headwater_workspace::{
    Entry, Expect, FileIdentity, Journal, Kind, Span, Step, Workspace, WorkspaceError, WorkspacePath,
};

use super::Stage;
use super::draft::{Change, ChangeKind, NewContent};
use crate::files::open_workspace::{OpenWorkspace, disk_fault};

/// The mode of a new file.
const NEW_MODE: u32 = 0o644;

/// The steps of a change.
pub(super) struct Planned {
    pub(super) journal: Journal,
    /// For each change: whether nothing existed before at the path that is written.
    pub(super) created: Vec<bool>,
    /// New files and folders, at least.
    pub(super) grown: u64,
}

/// Plans a change of this workspace, and gives its new files to the session. The caller holds the lock.
pub(super) fn plan(open: &OpenWorkspace, changes: &[Change], stage: &mut Stage) -> Result<Planned, Fault> {
    let planned = Planner::new(&open.workspace, stage, changes)?.plan(changes)?;
    let room = open.room()?;
    if planned.grown > room.inodes {
        return Err(open.full(room));
    }
    Ok(planned)
}

/// The same without limits.
pub(super) struct Planner<'a> {
    workspace: &'a Workspace,
    stage: &'a mut Stage,
    /// Whether files can be created without a name.
    has_unnamed_files: Option<bool>,
    /// Paths that the change removes or moves away.
    taken: HashSet<&'a WorkspacePath>,
    /// Folders that exist, or that a step creates.
    folders: HashSet<WorkspacePath>,
    steps: Vec<Step>,
    inodes: i64,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        workspace: &'a Workspace,
        stage: &'a mut Stage,
        changes: &'a [Change],
    ) -> Result<Self, Fault> {
        let (mut named, mut taken) = (HashSet::new(), HashSet::new());
        for change in changes {
            let to = match &change.kind {
                ChangeKind::Move { to, .. } => Some(to),
                ChangeKind::Write(_) | ChangeKind::Remove(_) => None,
            };
            if let Some(path) =
                [Some(&change.path), to].into_iter().flatten().find(|path| !named.insert(*path))
            {
                let message = format!("two changes name `{path}`");
                return Err(Fault::new(FaultKind::Invalid, message).hint("name each path once"));
            }
            if !matches!(change.kind, ChangeKind::Write(_)) {
                taken.insert(&change.path);
            }
        }
        let (folders, steps) = (HashSet::new(), Vec::new());
        Ok(Self { workspace, stage, has_unnamed_files: None, taken, folders, steps, inodes: 0 })
    }

    pub(super) fn plan(mut self, changes: &[Change]) -> Result<Planned, Fault> {
        let created: Result<Vec<_>, Fault> = changes.iter().map(|change| self.change(change)).collect();
        let grown = u64::try_from(self.inodes).unwrap_or(0);
        Ok(Planned { journal: Journal::new(self.steps), created: created?, grown })
    }

    /// Plans one change; returns whether it creates a file.
    fn change(&mut self, change: &Change) -> Result<bool, Fault> {
        let Change { path, expect, .. } = change;
        self.workspace.may_change_entry(path)?;
        if let ChangeKind::Move { to, .. } = &change.kind {
            self.workspace.may_change_entry(to)?;
        }
        match &change.kind {
            ChangeKind::Write(content) => {
                let existing = self.existing(path)?;
                let mode = change.mode.or_else(|| existing.as_ref().map(|there| there.mode));
                let content = Content::Staged(*content, mode.unwrap_or(NEW_MODE));
                self.write(content, path, expect, existing.as_ref())?;
                Ok(existing.is_none())
            }
            ChangeKind::Remove(slot) => {
                let there = self.required(path, expect)?;
                self.steps.push(take(path, *slot, &there));
                self.inodes -= 1;
                Ok(false)
            }
            ChangeKind::Move { to, expect: expect_to, slot, content } => {
                let there = self.required(path, expect)?;
                let existing = self.existing(to)?;
                if let Some(content) = content {
                    // The file is at its new path before it leaves the old one.
                    let content = Content::Staged(*content, change.mode.unwrap_or(there.mode));
                    self.write(content, to, expect_to, existing.as_ref())?;
                    self.steps.push(take(path, *slot, &there));
                } else {
                    self.steps.push(take(path, *slot, &there));
                    self.write(Content::Taken(*slot, there.inode), to, expect_to, existing.as_ref())?;
                }
                self.inodes -= 1;
                Ok(existing.is_none())
            }
        }
    }

    /// Plans to put a content at a path.
    fn write(
        &mut self,
        content: Content,
        path: &WorkspacePath,
        expect: &Expect,
        existing: Option<&Entry>,
    ) -> Result<(), Fault> {
        if let Some(existing) = existing {
            self.workspace.may_replace(path, existing)?;
        }
        expect.check(path, existing)?;
        self.make_parents(path)?;
        let step = match content {
            Content::Taken(slot, inode) => place(slot, inode, path, existing),
            Content::Staged(NewContent { slot, span }, mode) => {
                let direct = span.map(|span| self.direct(span, path, mode, existing)).transpose()?.flatten();
                direct.map_or_else(|| self.by_slot(slot, span, mode, path, existing), Ok)?
            }
        };
        self.steps.push(step);
        self.inodes += i64::from(existing.is_none());
        Ok(())
    }

    /// Plans to write bytes without a slot, if that is possible: into the existing file, or into a new one.
    fn direct(
        &mut self,
        content: Span,
        path: &WorkspacePath,
        mode: u32,
        existing: Option<&Entry>,
    ) -> Result<Option<Step>, Fault> {
        let Some(existing) = existing else {
            let workspace = self.workspace;
            let is_possible =
                *self.has_unnamed_files.get_or_insert_with(|| workspace.supports_unnamed_files());
            return Ok(is_possible.then(|| Step::Create { path: path.clone(), content, mode }));
        };
        if existing.mode != mode || mode > 0o777 {
            return Ok(None);
        }
        // A file that is not writable, or that runs.
        let Ok((file, there)) = self.workspace.open_to_rewrite(path) else { return Ok(None) };
        let was = FileIdentity::from(existing);
        if FileIdentity::from(&there) != was {
            return Err(WorkspaceError::Changed { path: path.to_string() }.into());
        }
        let kept = self.stage.bytes_mut().and_then(|bytes| bytes.keep(&file, there.size));
        let old = kept.map_err(|error| match error.kind() {
            // A program has shortened it meanwhile.
            std::io::ErrorKind::UnexpectedEof => WorkspaceError::Changed { path: path.to_string() }.into(),
            _ => disk_fault(&error),
        })?;
        Ok(Some(Step::Rewrite { path: path.clone(), content, old, was }))
    }

    /// Plans to move a slot to a path.
    fn by_slot(
        &self,
        slot: u32,
        span: Option<Span>,
        mode: u32,
        path: &WorkspacePath,
        existing: Option<&Entry>,
    ) -> Result<Step, Fault> {
        let filled = || {
            if let (Some(span), Some(bytes)) = (span, &self.stage.bytes) {
                bytes.write_new(span, self.stage.slots.create_slot(slot)?)?;
            }
            Ok(self.stage.slots.finish_slot(slot, mode)?)
        };
        let inode = filled().map_err(|error: std::io::Error| disk_fault(&error))?;
        Ok(place(slot, inode, path, existing))
    }

    /// The file that is moved or removed.
    fn required(&self, path: &WorkspacePath, expect: &Expect) -> Result<Entry, Fault> {
        let existing = self.existing(path)?;
        expect.check(path, existing.as_ref())?;
        let there = existing.ok_or_else(|| WorkspaceError::Missing { path: path.to_string() })?;
        if there.kind != Kind::File {
            return Err(WorkspaceError::NoFile { path: path.to_string() }.into());
        }
        Ok(there)
    }

    /// The entry at a path before the change.
    fn existing(&self, path: &WorkspacePath) -> Result<Option<Entry>, Fault> {
        match self.workspace.stat(path) {
            Ok(entry) => Ok(Some(entry)),
            Err(WorkspaceError::Missing { .. }) => Ok(None),
            // A file that the change takes away can become a folder.
            Err(WorkspaceError::NoFolder { .. }) if self.is_below_taken(path) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    fn is_below_taken(&self, path: &WorkspacePath) -> bool {
        let mut folder = path.parent();
        while !folder.is_root() {
            if self.taken.contains(&folder) {
                return true;
            }
            folder = folder.parent();
        }
        false
    }

    /// Plans to create the missing parents of a path.
    fn make_parents(&mut self, path: &WorkspacePath) -> Result<(), Fault> {
        let mut missing = Vec::new();
        let mut folder = path.parent();
        while !folder.is_root() && !self.folders.contains(&folder) {
            let parent = folder.parent();
            let is_taken = self.taken.contains(&folder);
            if is_taken || self.existing(&folder)?.is_none() {
                missing.push(folder.clone());
                self.inodes += 1;
            }
            self.folders.insert(folder);
            folder = parent;
        }
        self.steps.extend(missing.into_iter().rev().map(|path| Step::MakeFolder { path }));
        Ok(())
    }
}

/// What is put at a path.
#[derive(Clone, Copy)]
enum Content {
    /// A new content, with this mode.
    Staged(NewContent, u32),
    /// A file of the workspace that is taken to this slot, and keeps its mode; its inode.
    Taken(u32, u64),
}

fn take(path: &WorkspacePath, slot: u32, there: &Entry) -> Step {
    Step::Take { path: path.clone(), slot, was: FileIdentity::from(there) }
}

fn place(slot: u32, inode: u64, path: &WorkspacePath, existing: Option<&Entry>) -> Step {
    let path = path.clone();
    match existing {
        Some(existing) => Step::Replace { slot, path, inode, was: FileIdentity::from(existing) },
        None => Step::Put { slot, path, inode },
    }
}
