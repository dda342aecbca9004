//! Copying a tree: by sharing its blocks where the file system can, else by copying them, holes left out.
//!
//! Programs may change the workspace meanwhile: each file is as it was when it was copied, not all of them as of one moment.

use std::fs::File;
use std::os::fd::AsFd;

use headwater_contract::{Fault, FaultKind};
use rustix::io::Errno;

use super::manifest::{Known, Manifest};
use super::pack::is_gone;
use crate::open_workspace::disk_fault;
use crate::sparse::{self, IsCancelled};
use crate::workspace::{Kind, MAX_DEPTH, Step, Workspace, WorkspacePath, set_modified};

/// Things in a tree that is copied, at most: all of them are in its manifest.
pub(super) const MAX_ENTRIES: usize = 500_000;

/// What the owner of a folder needs to fill it. A folder that lacks some of it gets its own rights when it is filled.
const FILLABLE: u32 = 0o700;

/// Copies everything of one tree into another that is empty; answers what it holds. `bytes` bounds what is written, and is
/// checked before anything is. Ends when `is_cancelled` says so.
pub(super) fn copy(
    from: &Workspace,
    to: &Workspace,
    bytes: u64,
    is_cancelled: IsCancelled<'_>,
) -> Result<Manifest, Fault> {
    fits(from, bytes, is_cancelled)?;
    let (mut manifest, mut shut) = (Manifest::default(), Vec::new());
    let mut left = bytes;
    let mut walk = from.walk(&WorkspacePath::root(), MAX_DEPTH, None)?;
    for step in &mut walk {
        // It may have grown since.
        if manifest.len() >= MAX_ENTRIES {
            return Err(too_many());
        }
        if is_cancelled() {
            return Err(cancelled());
        }
        if let Some(known) = copy_one(from, to, &step, &mut left, is_cancelled)? {
            manifest.put(&step.path, known);
        }
        if step.entry.kind == Kind::Folder && step.entry.mode & FILLABLE != FILLABLE {
            shut.push((step.path, step.entry.mode));
        }
    }
    if walk.is_cut() {
        let fault = Fault::new(FaultKind::Conflict, "a folder cannot be read, or is nested too deep");
        return Err(fault.hint("make all folders readable in the session, and none deeper than 128"));
    }
    // The innermost first: behind a folder that is shut nothing can be changed.
    for (path, mode) in shut.iter().rev() {
        to.chmod(path, *mode)?;
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
            return Err(failed(&step.path, Errno::DQUOT));
        }
    }
    Ok(())
}

fn too_many() -> Fault {
    let message = format!("more than {MAX_ENTRIES} files are too many to copy");
    Fault::new(FaultKind::Conflict, message).hint("remove some, or take an archive")
}

/// The session has ended, or the worker is stopping.
pub(super) fn cancelled() -> Fault {
    Fault::new(FaultKind::Conflict, "the session has ended").hint("nothing was kept of the copy")
}

/// Copies one thing; none if it is of a kind that is not kept, or gone.
fn copy_one(
    from: &Workspace,
    to: &Workspace,
    step: &Step,
    left: &mut u64,
    is_cancelled: IsCancelled<'_>,
) -> Result<Option<Known>, Fault> {
    let failed = |error: Errno| failed(&step.path, error);
    let mut known = Known::of(&step.entry);
    match step.entry.kind {
        Kind::Folder => to.plant_folder(&step.path, step.entry.mode).map_err(failed)?,
        Kind::Link => match from.read_link(&step.path) {
            Ok(target) => {
                to.plant_link(&step.path, &target).map_err(failed)?;
                known.hash = Some(blake3::hash(&target).to_hex().to_string());
            }
            Err(error) if is_gone(&error) => return Ok(None),
            Err(error) => return Err(error.into()),
        },
        Kind::File => match from.open_file(&step.path) {
            Ok((source, entry)) => {
                known = Known::of(&entry);
                let file = to.plant_file(&step.path).map_err(failed)?;
                sparse::copy(source.as_fd(), file.as_fd(), left, is_cancelled).map_err(failed)?;
                let file = File::from(file);
                let hashed = sparse::hash(&file, is_cancelled);
                let (hash, size) = hashed.map_err(|error| disk_fault(&error))?;
                (known.hash, known.size) = (Some(hash), size);
                // A time that the disk cannot hold is left out.
                let _ = set_modified(file.as_fd(), entry.modified_ns);
                to.give(file.as_fd(), entry.mode).map_err(failed)?;
            }
            Err(error) if is_gone(&error) => return Ok(None),
            Err(error) => return Err(error.into()),
        },
        Kind::Other => return Ok(None),
    }
    Ok(Some(known))
}

fn failed(path: &WorkspacePath, error: Errno) -> Fault {
    match error {
        Errno::DQUOT => {
            Fault::new(FaultKind::Full, "the copy is larger than the session's disk limit leaves room for")
                .hint("remove files or snapshots, or raise `limits.disk_bytes` of the session")
        }
        Errno::NOSPC => Fault::new(FaultKind::NoSpace, "the disk of the data folder is full"),
        Errno::CANCELED => cancelled(),
        error => Fault::new(FaultKind::Unavailable, format!("`{path}` cannot be copied: {error}")),
    }
}
