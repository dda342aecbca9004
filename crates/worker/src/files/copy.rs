//! Copies whole workspaces, with a manifest of their content: for snapshots, restores and forks.

use headwater_contract::{Fault, FaultKind};
use headwater_workspace::sparse::{self, IsCancelled};
use headwater_workspace::{
    CopiedEntry, Fidelity, MAX_DEPTH, Room, TreeCopy, Workspace, WorkspaceError, WorkspacePath,
};

use super::manifest::{Manifest, ManifestEntry};

/// The most entries of a tree that is copied: all of them are in its manifest.
pub(crate) const MAX_ENTRIES: u64 = 500_000;

/// Copies a tree into an empty one; returns its manifest. `bytes` limits what is written and is checked before anything
/// is.
pub(crate) fn copy(
    from: &Workspace,
    to: &Workspace,
    bytes: u64,
    is_cancelled: IsCancelled<'_>,
) -> Result<Manifest, Fault> {
    fits(from, bytes, is_cancelled)?;
    let folder = WorkspacePath::root();
    let room = Room { bytes, inodes: MAX_ENTRIES };
    let copy = TreeCopy { from, folder: &folder, to, room, fidelity: Fidelity::Exact, is_cancelled };
    let mut manifest = Manifest::default();
    let copied = copy.run(|path, entry, made| {
        let mut known = ManifestEntry::of(entry);
        match made {
            CopiedEntry::Folder => {}
            CopiedEntry::Link(target) => known.hash = Some(blake3::hash(&target).to_hex().to_string()),
            CopiedEntry::File(file) => {
                let hashed = sparse::hash(&file, is_cancelled);
                let (hash, size) = hashed.map_err(|error| WorkspaceError::io(path, &error))?;
                (known.hash, known.size) = (Some(hash), size);
            }
        }
        manifest.put(path, known);
        Ok(())
    });
    // It may have grown since the check.
    let copied = copied.map_err(|error| match error {
        WorkspaceError::Full { .. } if manifest.len() as u64 >= MAX_ENTRIES => too_many(),
        WorkspaceError::Full { .. } => too_large(),
        error => error.into(),
    })?;
    if copied.cut {
        let fault = Fault::new(FaultKind::Conflict, "a folder cannot be read, or is nested too deep");
        return Err(fault.hint("make all folders readable in the session, and nest them at most 128 deep"));
    }
    Ok(manifest)
}

/// Checks by their allocated bytes, without reading them, whether the files of a tree fit.
fn fits(tree: &Workspace, bytes: u64, is_cancelled: IsCancelled<'_>) -> Result<(), Fault> {
    let (mut entries, mut needed) = (0, 0_u64);
    for step in tree.walk(&WorkspacePath::root(), MAX_DEPTH, None)? {
        entries += 1;
        if entries > MAX_ENTRIES {
            return Err(too_many());
        }
        if is_cancelled() {
            return Err(cancelled());
        }
        needed = needed.saturating_add(step.entry.allocated_bytes);
        if needed > bytes {
            return Err(too_large());
        }
    }
    Ok(())
}

fn too_many() -> Fault {
    let message = format!("a copy may have at most {MAX_ENTRIES} files");
    Fault::new(FaultKind::Conflict, message).hint("remove some, or use an archive")
}

fn too_large() -> Fault {
    let message = "the copy would exceed the session's disk limit";
    Fault::new(FaultKind::Full, message)
        .hint("remove files or snapshots, or raise `limits.disk_bytes` of the session")
}

/// The session has ended, or the worker is stopping.
pub(crate) fn cancelled() -> Fault {
    Fault::new(FaultKind::Conflict, "the session has ended").hint("the copy was removed")
}
