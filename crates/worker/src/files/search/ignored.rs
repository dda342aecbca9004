//! Applies `.gitignore` files.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use headwater_workspace::{Workspace, WorkspacePath};

/// Longer files are ignored.
const MAX_GITIGNORE_BYTES: u64 = 256 << 10;

/// The `.gitignore` files from the workspace down to the current folder of a walk.
pub(crate) struct Ignored<'a> {
    workspace: &'a Workspace,
    heeded: bool,
    /// One entry for each folder from the workspace down, even without a file.
    files: Vec<(WorkspacePath, Option<Gitignore>)>,
}

impl<'a> Ignored<'a> {
    /// Reads the files from the workspace down to the folder where the walk begins.
    pub(crate) fn new(workspace: &'a Workspace, top: &WorkspacePath, heeded: bool) -> Self {
        let mut ignored = Self { workspace, heeded, files: Vec::new() };
        let mut folder = WorkspacePath::root();
        ignored.enter(folder.clone());
        for name in top.names() {
            let Some(next) = folder.join(name) else { break };
            folder = next;
            ignored.enter(folder.clone());
        }
        ignored
    }

    fn enter(&mut self, folder: WorkspacePath) {
        if self.heeded {
            let file = read(self.workspace, &folder);
            self.files.push((folder, file));
        }
    }

    /// Whether a path is excluded. Must be called for every entry of the walk, in order.
    pub(crate) fn is_ignored(&mut self, path: &WorkspacePath, is_folder: bool) -> bool {
        while self.files.last().is_some_and(|(folder, _)| !path.is_within(folder)) {
            self.files.pop();
        }
        let text = PathBuf::from(super::as_path(&path.bytes()));
        // The innermost file with a matching rule decides.
        let said = self.files.iter().rev().filter_map(|(_, file)| file.as_ref()).find_map(|file| match file
            .matched(&text, is_folder)
        {
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
            Match::None => None,
        });
        let is_ignored = said.unwrap_or(false);
        if is_folder && !is_ignored {
            self.enter(path.clone());
        }
        is_ignored
    }
}

fn read(workspace: &Workspace, folder: &WorkspacePath) -> Option<Gitignore> {
    let path = folder.join(b".gitignore")?;
    let (file, entry) = workspace.open_file(&path).ok()?;
    if entry.size > MAX_GITIGNORE_BYTES {
        return None;
    }
    let mut text = Vec::new();
    File::from(file).take(MAX_GITIGNORE_BYTES).read_to_end(&mut text).ok()?;
    let mut builder = GitignoreBuilder::new(super::as_path(&folder.bytes()));
    for line in String::from_utf8_lossy(&text).lines() {
        let _ = builder.add_line(None, line); // invalid lines are ignored
    }
    builder.build().ok()
}
