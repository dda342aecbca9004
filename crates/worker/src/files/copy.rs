//! Copies of whole workspaces, with a manifest of what they hold: for snapshots, restores and forks.

use headwater_contract::{Fault, FaultKind};
use headwater_workspace::sparse::{self, IsCancelled};
use headwater_workspace::{
    Fidelity, MAX_DEPTH, Made, Room, TreeCopy, Workspace, WorkspaceError, WorkspacePath,
};

use super::manifest::{Known, Manifest};

/// Things in a tree that is copied, at most: all of them are in its manifest.
pub(crate) const MAX_ENTRIES: u64 = 500_000;

/// Copies everything of one tree into another that is empty; answers what it holds. `bytes` bounds what is written, and is
/// checked before anything is. Ends when `is_cancelled` says so.
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
        let mut known = Known::of(entry);
        match made {
            Made::Folder => {}
            Made::Link(target) => known.hash = Some(blake3::hash(&target).to_hex().to_string()),
            Made::File(file) => {
                let hashed = sparse::hash(&file, is_cancelled);
                let (hash, size) = hashed.map_err(|error| WorkspaceError::io(path, &error))?;
                (known.hash, known.size) = (Some(hash), size);
            }
        }
        manifest.put(path, known);
        Ok(())
    });
    // It may have grown since it was found to fit.
    let copied = copied.map_err(|error| match error {
        WorkspaceError::Full { .. } if manifest.len() as u64 >= MAX_ENTRIES => too_many(),
        WorkspaceError::Full { .. } => too_large(),
        error => error.into(),
    })?;
    if copied.cut {
        let fault = Fault::new(FaultKind::Conflict, "a folder cannot be read, or is nested too deep");
        return Err(fault.hint("make all folders readable in the session, and none deeper than 128"));
    }
    Ok(manifest)
}

/// Checks by their allocated bytes, without reading anything, whether all files of a tree may be copied.
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
    let message = format!("more than {MAX_ENTRIES} files are too many to copy");
    Fault::new(FaultKind::Conflict, message).hint("remove some, or take an archive")
}

fn too_large() -> Fault {
    let message = "the copy is larger than the session's disk limit leaves room for";
    Fault::new(FaultKind::Full, message)
        .hint("remove files or snapshots, or raise `limits.disk_bytes` of the session")
}

/// The session has ended, or the worker is stopping.
pub(crate) fn cancelled() -> Fault {
    Fault::new(FaultKind::Conflict, "the session has ended").hint("nothing was kept of the copy")
}
