//! Compares a workspace with a snapshot or with the session's start.

use std::fs::File;
use std::io::Read;

use headwater_contract::{Fault, v1};
use headwater_workspace::sparse::{self, IsCancelled};
use headwater_workspace::{Kind, MAX_DEPTH, WalkEntry, Workspace, WorkspacePath};

use super::manifest::{Manifest, ManifestEntry};
use crate::files::open_workspace::disk_fault;
use crate::files::unified_diff::unified;

/// Texts up to this size are compared line by line.
const MAX_TEXT_BYTES: u64 = 1 << 20;
/// The approximate size of all line diffs of one response.
const MAX_PATCH_BYTES: usize = 32 << 20;

/// The state to compare with.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) manifest: Manifest,
    /// The files, if they are kept.
    pub(crate) tree: Option<Workspace>,
}

/// A comparison.
pub(crate) struct Diff<'a> {
    pub(crate) workspace: &'a Workspace,
    pub(crate) base: Base,
    pub(crate) content: bool,
    pub(crate) patched: usize,
    /// Whether the caller has gone.
    pub(crate) is_cancelled: IsCancelled<'a>,
}

impl Diff<'_> {
    /// Calls `tell` with each difference, existing paths first, until it returns false.
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

    fn compare(&mut self, step: &WalkEntry) -> Result<Option<v1::Difference>, Fault> {
        let now = ManifestEntry::of(&step.entry);
        let path = step.path.bytes();
        let before = self.base.manifest.take(&path);
        let change = match &before {
            None => v1::ChangeType::Created,
            Some(before) if self.is_same(before, &now, &step.path)? => return Ok(None),
            Some(_) => v1::ChangeType::Modified,
        };
        let lines = self.patch(&step.path, before.as_ref(), Some(&now));
        let patch_too_long = lines.is_none() && self.is_too_long([before.as_ref(), Some(&now)]);
        let changed = difference(change, path, step.entry.kind, now.size, lines);
        Ok(Some(v1::Difference { patch_too_long, ..changed }))
    }

    fn removed(&mut self, path: Vec<u8>, known: &ManifestEntry) -> v1::Difference {
        let lines = WorkspacePath::parse_any(&path, "/workspace")
            .ok()
            .and_then(|path| self.patch(&path, Some(known), None));
        let patch_too_long = lines.is_none() && self.is_too_long([Some(known), None]);
        let removed = difference(v1::ChangeType::Removed, path, known.kind.into(), known.size, lines);
        v1::Difference { patch_too_long, ..removed }
    }

    /// Whether the files are too long for a line diff.
    fn is_too_long(&self, files: [Option<&ManifestEntry>; 2]) -> bool {
        let is_file = |known: &&ManifestEntry| Kind::from(known.kind) == Kind::File;
        let is_long = |known: &ManifestEntry| known.size > MAX_TEXT_BYTES || self.patched > MAX_PATCH_BYTES;
        self.content && files.into_iter().flatten().filter(is_file).any(is_long)
    }

    /// Whether an entry is unchanged; a file is read only if its metadata does not decide.
    fn is_same(
        &self,
        before: &ManifestEntry,
        now: &ManifestEntry,
        path: &WorkspacePath,
    ) -> Result<bool, Fault> {
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
                Err(_) => None, // it is being changed
            },
        };
        Ok(hash.is_some() && hash == before.hash)
    }

    /// The line diff, if both texts are available.
    fn patch(
        &mut self,
        path: &WorkspacePath,
        before: Option<&ManifestEntry>,
        now: Option<&ManifestEntry>,
    ) -> Option<Vec<u8>> {
        if !self.content || self.patched > MAX_PATCH_BYTES {
            return None;
        }
        let is_file = |known: &&ManifestEntry| Kind::from(known.kind) == Kind::File;
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

/// The content of a file, if it is text and not too long.
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
        kind: super::file_kind(kind).into(),
        size,
        patch: lines.map(Into::into),
        patch_too_long: false,
    }
}
