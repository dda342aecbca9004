//! The workspace as the sections of a patch leave it, in memory.

use std::collections::{BTreeMap, BTreeSet};

use super::{Change, FilePath, Kind, PatchError, Workspace};

/// Changes on top of a workspace.
pub(super) struct Overlay<'a> {
    workspace: &'a dyn Workspace,
    states: BTreeMap<FilePath, State>,
}

/// A path that the patch names.
struct State {
    /// The version of the file in the workspace, if it exists there.
    original: Option<String>,
    /// The file after the sections so far.
    now: Option<Draft>,
}

/// A file after the sections so far.
struct Draft {
    /// The file of the workspace that this one was; absent for a new file.
    origin: Option<FilePath>,
    /// Its content; absent if it is that of `origin`.
    bytes: Option<Vec<u8>>,
    /// The line of the section that put it here, for errors.
    line: usize,
}

impl<'a> Overlay<'a> {
    pub(super) fn new(workspace: &'a dyn Workspace) -> Self {
        Self { workspace, states: BTreeMap::new() }
    }

    pub(super) fn must_exist(&mut self, line: usize, path: &FilePath) -> Result<(), PatchError> {
        let exists = self.state(line, path)?.now.is_some();
        if exists { Ok(()) } else { Err(PatchError::Missing { line, path: path.to_string() }) }
    }

    /// The content of an existing file.
    pub(super) fn read(&mut self, line: usize, path: &FilePath) -> Result<Vec<u8>, PatchError> {
        let workspace = self.workspace;
        match &self.state(line, path)?.now {
            Some(Draft { bytes: Some(bytes), .. }) => Ok(bytes.clone()),
            Some(Draft { origin: Some(origin), .. }) => content(workspace, line, origin),
            _ => Err(PatchError::Missing { line, path: path.to_string() }),
        }
    }

    /// Changes the content of an existing file.
    pub(super) fn change(&mut self, path: &FilePath, bytes: Vec<u8>) {
        if let Some(draft) = self.states.get_mut(path).and_then(|state| state.now.as_mut()) {
            draft.bytes = Some(bytes);
        }
    }

    /// Creates a file or replaces one.
    pub(super) fn write(&mut self, line: usize, path: &FilePath, bytes: Vec<u8>) -> Result<(), PatchError> {
        self.check_place(line, path)?;
        self.state(line, path)?.now = Some(Draft { origin: None, bytes: Some(bytes), line });
        Ok(())
    }

    pub(super) fn delete(&mut self, line: usize, path: &FilePath) -> Result<(), PatchError> {
        self.must_exist(line, path)?;
        self.state(line, path)?.now = None;
        Ok(())
    }

    /// Moves a file and replaces an existing one.
    pub(super) fn rename(&mut self, line: usize, from: &FilePath, to: &FilePath) -> Result<(), PatchError> {
        self.check_place(line, to)?;
        self.state(line, to)?;
        let draft = self.state(line, from)?.now.take();
        self.state(line, to)?.now = draft.map(|draft| Draft { line, ..draft });
        Ok(())
    }

    fn state(&mut self, line: usize, path: &FilePath) -> Result<&mut State, PatchError> {
        if !self.states.contains_key(path) {
            let state = match self.kind(line, path)? {
                Kind::Nothing => State { original: None, now: None },
                Kind::File { version } => {
                    let now = Draft { origin: Some(path.clone()), bytes: None, line };
                    State { original: Some(version), now: Some(now) }
                }
                Kind::Folder | Kind::Other => {
                    return Err(PatchError::NotAFile { line, path: path.to_string() });
                }
            };
            self.states.insert(path.clone(), state);
        }
        let missing = || PatchError::Missing { line, path: path.to_string() };
        self.states.get_mut(path).ok_or_else(missing)
    }

    fn kind(&self, line: usize, path: &FilePath) -> Result<Kind, PatchError> {
        self.workspace.kind(path).map_err(|reason| PatchError::Unreadable {
            line,
            path: path.to_string(),
            reason,
        })
    }

    /// Whether a file can be at this path: its parents are folders or can be created, and it is not a folder.
    fn check_place(&self, line: usize, path: &FilePath) -> Result<(), PatchError> {
        for parent in path.parents() {
            let is_possible = match self.states.get(&parent) {
                Some(state) => state.now.is_none(),
                None => matches!(self.kind(line, &parent)?, Kind::Nothing | Kind::Folder),
            };
            if !is_possible {
                let (path, parent) = (path.to_string(), parent.to_string());
                return Err(PatchError::ParentNotAFolder { line, path, parent });
            }
        }
        let mut below = self.states.range(path.below_bound()..).take_while(|(other, _)| other.is_below(path));
        let is_folder = below.any(|(_, state)| state.now.is_some());
        if is_folder { Err(PatchError::NotAFile { line, path: path.to_string() }) } else { Ok(()) }
    }

    /// The changes that give this state: removals make room, moves take files away, then files are written.
    pub(super) fn changes(self) -> Result<Vec<Change>, PatchError> {
        let renames = self.renames();
        let done: BTreeSet<_> = renames.iter().flat_map(|(from, to)| [from.clone(), to.clone()]).collect();
        let mut changes = Vec::new();
        let mut moves = Vec::new();
        for (from, to) in renames {
            moves.extend(self.rename_change(from, to));
        }
        let mut writes = Vec::new();
        for (path, state) in self.states.into_iter().filter(|(path, _)| !done.contains(path)) {
            match (state.original, state.now) {
                (Some(version), None) => changes.push(Change::Delete { path, version }),
                (original, Some(draft)) => writes.extend(write(self.workspace, path, original, draft)?),
                (None, None) => {}
            }
        }
        changes.extend(moves);
        changes.extend(writes);
        Ok(changes)
    }

    /// The files that were moved as a whole: from a path where nothing is now. They can be moved in any order,
    /// because none is moved below a path that another one leaves: such a file is written anew.
    fn renames(&self) -> Vec<(FilePath, FilePath)> {
        let is_gone = |path: &FilePath| self.states.get(path).is_some_and(|state| state.now.is_none());
        let moved = self.states.iter().filter_map(|(to, state)| {
            let from = state.now.as_ref()?.origin.as_ref()?;
            is_gone(from).then(|| (from.clone(), to.clone()))
        });
        let moved: Vec<_> = moved.collect();
        let left: BTreeSet<_> = moved.iter().map(|(from, _)| from.clone()).collect();
        let is_free = |to: &FilePath| !to.parents().any(|parent| left.contains(&parent));
        moved.into_iter().filter(|(_, to)| is_free(to)).collect()
    }

    fn rename_change(&self, from: FilePath, to: FilePath) -> Option<Change> {
        let version = self.states.get(&from)?.original.clone()?;
        let state = self.states.get(&to)?;
        let (replaces, bytes) = (state.original.clone(), state.now.as_ref()?.bytes.clone());
        Some(Change::Rename { from, version, to, replaces, bytes })
    }
}

/// The change that writes a file which is not moved as a whole.
fn write(
    workspace: &dyn Workspace,
    path: FilePath,
    original: Option<String>,
    draft: Draft,
) -> Result<Option<Change>, PatchError> {
    let bytes = match (draft.bytes, draft.origin) {
        (Some(bytes), _) => bytes,
        (None, Some(origin)) if origin != path => content(workspace, draft.line, &origin)?,
        (None, _) => return Ok(None),
    };
    Ok(Some(match original {
        Some(version) => Change::Overwrite { path, version, bytes },
        None => Change::Create { path, bytes },
    }))
}

fn content(workspace: &dyn Workspace, line: usize, path: &FilePath) -> Result<Vec<u8>, PatchError> {
    workspace.read(path).map_err(|reason| PatchError::Unreadable { line, path: path.to_string(), reason })
}
