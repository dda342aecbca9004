//! Plans the changes of a patch: all of them, or none.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use super::apply::apply;
use super::overlay::Overlay;
use super::syntax::{Action, Hunk, NewLine, Patch, Section};
use super::{FilePath, PatchError, Workspace};

/// A change of one file. A version is the one that [`Workspace::kind`] returned: the change is valid only while the
/// file still has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Create a file, which must not exist; missing parent folders are created.
    Create {
        /// The new file.
        path: FilePath,
        /// Its content.
        bytes: Vec<u8>,
    },
    /// Replace the content of a file and keep its mode.
    Overwrite {
        /// The file.
        path: FilePath,
        /// Its version before.
        version: String,
        /// Its new content.
        bytes: Vec<u8>,
    },
    /// Remove a file.
    Delete {
        /// The file.
        path: FilePath,
        /// Its version before.
        version: String,
    },
    /// Move a file and keep its mode; missing parent folders are created.
    Rename {
        /// The path before.
        from: FilePath,
        /// Its version before.
        version: String,
        /// The path after.
        to: FilePath,
        /// The version of the file that is replaced; absent: nothing may exist there.
        replaces: Option<String>,
        /// The new content; absent: it stays the same.
        bytes: Option<Vec<u8>>,
    },
}

/// Everything that a patch changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The changes, in the order in which they are possible: each path at most once as the path that is written.
    pub changes: Vec<Change>,
    /// The files of `*** Add File:` sections.
    pub added: Vec<FilePath>,
    /// The files of `*** Update File:` sections, by their new paths.
    pub modified: Vec<FilePath>,
    /// The files of `*** Delete File:` sections.
    pub deleted: Vec<FilePath>,
}

impl Plan {
    /// The result of the tool, once the changes were made.
    pub fn summary(&self) -> String {
        let mut text = "Success. Updated the following files:".to_owned();
        for (letter, paths) in [('A', &self.added), ('M', &self.modified), ('D', &self.deleted)] {
            for path in paths {
                let _ = write!(text, "\n{letter} {path}"); // writing to a string cannot fail
            }
        }
        text
    }
}

/// Plans the changes of a patch. `home` is the absolute path of the workspace for the session's programs.
///
/// Sections are applied in order, each to the result of those before it. Nothing is written.
pub fn plan(patch: &Patch, home: &str, workspace: &dyn Workspace) -> Result<Plan, PatchError> {
    let mut planner = Planner {
        home,
        overlay: Overlay::new(workspace),
        added: OnceEach::default(),
        modified: OnceEach::default(),
        deleted: OnceEach::default(),
    };
    for section in &patch.sections {
        planner.section(section)?;
    }
    let Planner { overlay, added, modified, deleted, .. } = planner;
    let changes = overlay.changes()?;
    Ok(Plan { changes, added: added.list, modified: modified.list, deleted: deleted.list })
}

struct Planner<'a> {
    home: &'a str,
    overlay: Overlay<'a>,
    added: OnceEach,
    modified: OnceEach,
    deleted: OnceEach,
}

/// Paths in their first order, each once.
#[derive(Default)]
struct OnceEach {
    list: Vec<FilePath>,
    seen: BTreeSet<FilePath>,
}

impl OnceEach {
    fn insert(&mut self, path: FilePath) {
        if self.seen.insert(path.clone()) {
            self.list.push(path);
        }
    }
}

impl Planner<'_> {
    fn section(&mut self, section: &Section) -> Result<(), PatchError> {
        let line = section.line;
        let path = self.path(line, &section.path)?;
        match &section.action {
            Action::Add { lines } => {
                self.overlay.write(line, &path, new_file(lines))?;
                self.added.insert(path);
            }
            Action::Delete => {
                self.overlay.delete(line, &path)?;
                self.deleted.insert(path);
            }
            Action::Update { move_to, hunks } => {
                let target = move_to.as_ref().map(|target| self.path(line, target)).transpose()?;
                self.update(line, &path, hunks)?;
                if let Some(target) = target.as_ref().filter(|target| **target != path) {
                    self.overlay.rename(line, &path, target)?;
                }
                self.modified.insert(target.unwrap_or(path));
            }
        }
        Ok(())
    }

    fn update(&mut self, line: usize, path: &FilePath, hunks: &[Hunk]) -> Result<(), PatchError> {
        self.overlay.must_exist(line, path)?;
        if hunks.is_empty() {
            return Ok(());
        }
        let before = self.overlay.read(line, path)?;
        let after = apply(path, &before, hunks)?;
        if after != before {
            self.overlay.change(path, after);
        }
        Ok(())
    }

    fn path(&self, line: usize, text: &str) -> Result<FilePath, PatchError> {
        FilePath::parse(text, self.home).map_err(|problem| PatchError::Path {
            line,
            path: super::error::short(text),
            problem,
        })
    }
}

/// The content of a new file: every line has a line end.
fn new_file(lines: &[NewLine]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for line in lines {
        bytes.extend_from_slice(line.text.as_bytes());
        bytes.extend_from_slice(if line.carriage_return { b"\r\n" } else { b"\n" });
    }
    bytes
}
