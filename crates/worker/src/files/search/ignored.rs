//! What `.gitignore` files say is to be left out.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use headwater_workspace::{Workspace, WorkspacePath};

/// Longer ones are not heeded.
const MAX_BYTES: u64 = 256 << 10;

/// The files on the way to where the walk is.
pub(crate) struct Ignored<'a> {
    workspace: &'a Workspace,
    heeded: bool,
    /// From the workspace down; each folder has a place, also one without a file.
    files: Vec<(WorkspacePath, Option<Gitignore>)>,
}

impl<'a> Ignored<'a> {
    /// Those from the workspace to the folder where the walk begins.
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

    /// Whether it is to be left out. To be asked of all that the walk meets, in its order.
    pub(crate) fn is_ignored(&mut self, path: &WorkspacePath, is_folder: bool) -> bool {
        while self.files.last().is_some_and(|(folder, _)| !path.is_within(folder)) {
            self.files.pop();
        }
        let text = PathBuf::from(super::as_path(&path.bytes()));
        // The innermost that says something decides.
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
    if entry.size > MAX_BYTES {
        return None;
    }
    let mut text = Vec::new();
    File::from(file).take(MAX_BYTES).read_to_end(&mut text).ok()?;
    let mut builder = GitignoreBuilder::new(super::as_path(&folder.bytes()));
    for line in String::from_utf8_lossy(&text).lines() {
        let _ = builder.add_line(None, line); // what makes no sense says nothing
    }
    builder.build().ok()
}
