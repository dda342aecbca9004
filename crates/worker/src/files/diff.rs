//! What is different in a workspace now from what it was at another time.

use std::fs::File;
use std::io::Read;

use headwater_contract::{Fault, v1};
use headwater_workspace::sparse::{self, IsCancelled};
use headwater_workspace::{Kind, MAX_DEPTH, Step, Workspace, WorkspacePath};

use super::manifest::{Known, Manifest};
use crate::files::open_workspace::disk_fault;
use crate::files::unified_diff::unified;

/// Texts up to this size are compared line by line.
const MAX_TEXT_BYTES: u64 = 1 << 20;
/// All such comparisons of one answer together, about.
const MAX_PATCH_BYTES: usize = 32 << 20;

/// What to compare with.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) manifest: Manifest,
    /// The files themselves, if they are kept.
    pub(crate) tree: Option<Workspace>,
}

/// A comparison.
pub(crate) struct Diff<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) base: Base,
    pub(crate) content: bool,
    pub(crate) patched: usize,
    /// Says whether nobody waits for it any more.
    pub(crate) is_cancelled: IsCancelled<'a>,
}

impl Diff<'_> {
    /// Tells of each difference, those that are there now first, until `tell` answers false.
    pub(crate) fn run(mut self, mut tell: impl FnMut(v1::Difference) -> bool) -> Result<(), Fault> {
        for step in self.workspace.walk(&WorkspacePath::root(), MAX_DEPTH, None)? {
            if let Some(difference) = self.compare(&step)?
                && !tell(difference)
            {
                return Ok(());
            }
        }
        for (path, known) in std::mem::take(&mut self.base.manifest).rest() {
            if !tell(self.removed(path, &known)) {
                return Ok(());
            }
        }
        Ok(())
    }

    fn compare(&mut self, step: &Step) -> Result<Option<v1::Difference>, Fault> {
        let now = Known::of(&step.entry);
        let path = step.path.bytes();
        let before = self.base.manifest.take(&path);
        let change = match &before {
            None => v1::ChangeType::Created,
            Some(before) if self.is_same(before, &now, &step.path)? => return Ok(None),
            Some(_) => v1::ChangeType::Modified,
        };
        let lines = self.patch(&step.path, before.as_ref(), Some(&now));
        let patch_too_long = lines.is_none() && self.is_too_long([before.as_ref(), Some(&now)]);
        let told = difference(change, path, step.entry.kind, now.size, lines);
        Ok(Some(v1::Difference { patch_too_long, ..told }))
    }

    fn removed(&mut self, path: Vec<u8>, known: &Known) -> v1::Difference {
        let lines = WorkspacePath::any(&path, "/workspace")
            .ok()
            .and_then(|path| self.patch(&path, Some(known), None));
        let patch_too_long = lines.is_none() && self.is_too_long([Some(known), None]);
        let told = difference(v1::ChangeType::Removed, path, known.kind.into(), known.size, lines);
        v1::Difference { patch_too_long, ..told }
    }

    /// Whether there is no comparison line by line for the length of these files alone.
    fn is_too_long(&self, files: [Option<&Known>; 2]) -> bool {
        let is_file = |known: &&Known| Kind::from(known.kind) == Kind::File;
        let is_long = |known: &Known| known.size > MAX_TEXT_BYTES || self.patched > MAX_PATCH_BYTES;
        self.content && files.into_iter().flatten().filter(is_file).any(is_long)
    }

    /// Whether nothing about it is different; it is read only if that cannot be seen otherwise.
    fn is_same(&self, before: &Known, now: &Known, path: &WorkspacePath) -> Result<bool, Fault> {
        if before.kind != now.kind || before.mode != now.mode || before.size != now.size {
            return Ok(false);
        }
        if before.is_untouched(now) || !matches!(Kind::from(now.kind), Kind::File | Kind::Link) {
            return Ok(true);
        }
        let hash = match Kind::from(now.kind) {
            Kind::Link => {
                self.workspace.read_link(path).ok().map(|target| blake3::hash(&target).to_hex().to_string())
            }
            _ => match self.workspace.open_file(path) {
                Ok((file, _)) => {
                    let hashed = sparse::hash(&File::from(file), self.is_cancelled);
                    Some(hashed.map_err(|error| disk_fault(&error))?.0)
                }
                Err(_) => None, // it is just being changed
            },
        };
        Ok(hash.is_some() && hash == before.hash)
    }

    /// The lines that differ, where both texts can be had.
    fn patch(
        &mut self,
        path: &WorkspacePath,
        before: Option<&Known>,
        now: Option<&Known>,
    ) -> Option<Vec<u8>> {
        if !self.content || self.patched > MAX_PATCH_BYTES {
            return None;
        }
        let is_file = |known: &&Known| Kind::from(known.kind) == Kind::File;
        let old = match before.filter(is_file) {
            Some(_) => Some(text(self.base.tree.as_ref()?, path)?),
            None => None,
        };
        let new = match now.filter(is_file) {
            Some(_) => Some(text(self.workspace, path)?),
            None => None,
        };
        if old.is_none() && new.is_none() {
            return None;
        }
        let lines = unified(&path.to_string(), old.as_deref(), new.as_deref());
        self.patched += lines.len();
        Some(lines)
    }
}

/// The content of a file, if it is a text and not too long.
fn text(tree: &Workspace, path: &WorkspacePath) -> Option<Vec<u8>> {
    let (file, entry) = tree.open_file(path).ok()?;
    if entry.size > MAX_TEXT_BYTES {
        return None;
    }
    let mut text = Vec::new();
    File::from(file).take(MAX_TEXT_BYTES + 1).read_to_end(&mut text).ok()?;
    (text.len() as u64 <= MAX_TEXT_BYTES && !text.contains(&0)).then_some(text)
}

fn difference(
    change: v1::ChangeType,
    path: Vec<u8>,
    kind: Kind,
    size: u64,
    lines: Option<Vec<u8>>,
) -> v1::Difference {
    v1::Difference {
        r#type: change.into(),
        path: path.into(),
        kind: super::node_kind(kind).into(),
        size,
        patch: lines.map(Into::into),
        patch_too_long: false,
    }
}
