//! Checks the expectations of a change, and plans its steps.

use std::collections::HashSet;

use headwater_contract::{Fault, FaultKind};
use headwater_workspace::{
    Entry, Expect, FileIdentity, Journal, Kind, Step, Workspace, WorkspaceError, WorkspacePath,
};

use super::draft::{Change, ChangeKind};
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
pub(super) fn plan(open: &OpenWorkspace, changes: &[Change], slots: &Workspace) -> Result<Planned, Fault> {
    let planned = Planner::new(&open.workspace, slots, changes)?.plan(changes)?;
    let room = open.room()?;
    if planned.grown > room.inodes {
        return Err(open.full(room));
    }
    Ok(planned)
}

/// The same without limits.
pub(super) struct Planner<'a> {
    workspace: &'a Workspace,
    slots: &'a Workspace,
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
        slots: &'a Workspace,
        changes: &'a [Change],
    ) -> Result<Self, Fault> {
        let (mut named, mut taken) = (HashSet::new(), HashSet::new());
        for change in changes {
            let to = match &change.kind {
                ChangeKind::Move { to, .. } => Some(to),
                ChangeKind::Write | ChangeKind::Remove => None,
            };
            if let Some(path) =
                [Some(&change.path), to].into_iter().flatten().find(|path| !named.insert(*path))
            {
                let message = format!("two changes name `{path}`");
                return Err(Fault::new(FaultKind::Invalid, message).hint("name each path once"));
            }
            if !matches!(change.kind, ChangeKind::Write) {
                taken.insert(&change.path);
            }
        }
        Ok(Self { workspace, slots, taken, folders: HashSet::new(), steps: Vec::new(), inodes: 0 })
    }

    pub(super) fn plan(mut self, changes: &[Change]) -> Result<Planned, Fault> {
        let created: Result<Vec<_>, Fault> = changes.iter().map(|change| self.change(change)).collect();
        let grown = u64::try_from(self.inodes).unwrap_or(0);
        Ok(Planned { journal: Journal::new(self.steps), created: created?, grown })
    }

    /// Plans one change; returns whether it creates a file.
    fn change(&mut self, change: &Change) -> Result<bool, Fault> {
        let Change { path, expect, slot, .. } = change;
        self.workspace.may_change_entry(path)?;
        if let ChangeKind::Move { to, .. } = &change.kind {
            self.workspace.may_change_entry(to)?;
        }
        match &change.kind {
            ChangeKind::Write => {
                let existing = self.existing(path)?;
                let mode = change.mode.or_else(|| existing.as_ref().map(|there| there.mode));
                self.write(
                    *slot,
                    Content::Staged(mode.unwrap_or(NEW_MODE)),
                    path,
                    expect,
                    existing.as_ref(),
                )?;
                Ok(existing.is_none())
            }
            ChangeKind::Remove => {
                let there = self.required(path, expect)?;
                self.steps.push(take(path, *slot, &there));
                self.inodes -= 1;
                Ok(false)
            }
            ChangeKind::Move { to, expect: expect_to, content } => {
                let there = self.required(path, expect)?;
                let existing = self.existing(to)?;
                if let Some(content) = content {
                    // The file is at its new path before it leaves the old one.
                    let mode = change.mode.unwrap_or(there.mode);
                    self.write(*content, Content::Staged(mode), to, expect_to, existing.as_ref())?;
                    self.steps.push(take(path, *slot, &there));
                } else {
                    self.steps.push(take(path, *slot, &there));
                    self.write(*slot, Content::Taken(there.inode), to, expect_to, existing.as_ref())?;
                }
                self.inodes -= 1;
                Ok(existing.is_none())
            }
        }
    }

    /// Plans to put a slot at a path.
    fn write(
        &mut self,
        slot: u32,
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
        let inode = match content {
            Content::Taken(inode) => inode,
            Content::Staged(mode) => {
                self.slots.finish_slot(slot, mode).map_err(|error| disk_fault(&error.into()))?
            }
        };
        let path = path.clone();
        self.steps.push(if let Some(existing) = existing {
            Step::Replace { slot, path, inode, was: FileIdentity::from(existing) }
        } else {
            self.inodes += 1;
            Step::Put { slot, path, inode }
        });
        Ok(())
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

/// The file in a slot.
#[derive(Clone, Copy)]
enum Content {
    /// Staged; it gets this mode.
    Staged(u32),
    /// A file of the workspace, which keeps its mode; its inode.
    Taken(u64),
}

fn take(path: &WorkspacePath, slot: u32, there: &Entry) -> Step {
    Step::Take { path: path.clone(), slot, was: FileIdentity::from(there) }
}
