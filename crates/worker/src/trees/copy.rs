//! Copying a tree: by sharing its blocks where the file system can, else by copying them, holes left out.
//!
//! Programs may change the workspace meanwhile: each file is as it was when it was copied, not all of them as of one moment.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use headwater_contract::{Fault, FaultKind};
use rustix::fs::SeekFrom;
use rustix::io::Errno;

use super::manifest::{Known, Manifest};
use super::pack::is_gone;
use crate::workspace::{Kind, MAX_DEPTH, Step, Workspace, WorkspacePath, set_modified};

/// Things in a tree that is copied, at most: all of them are in its manifest.
pub(super) const MAX_ENTRIES: usize = 500_000;
/// What is copied by one call.
const PIECE: u64 = 64 << 20;

/// Copies everything of one tree into another that is empty; answers what it holds. `bytes` bounds what is written.
pub(super) fn copy(from: &Workspace, to: &Workspace, bytes: u64) -> Result<Manifest, Fault> {
    let mut manifest = Manifest::default();
    let mut left = bytes;
    let mut walk = from.walk(&WorkspacePath::root(), MAX_DEPTH, None)?;
    for step in &mut walk {
        if manifest.len() >= MAX_ENTRIES {
            let message = format!("more than {MAX_ENTRIES} files are too many to copy");
            return Err(Fault::new(FaultKind::Conflict, message).hint("remove some, or take an archive"));
        }
        if let Some(known) = copy_one(from, to, &step, &mut left)? {
            manifest.put(&step.path, known);
        }
    }
    if walk.is_cut() {
        let fault = Fault::new(FaultKind::Conflict, "a folder cannot be read, or is nested too deep");
        return Err(fault.hint("make all folders readable in the session, and none deeper than 128"));
    }
    Ok(manifest)
}

/// Copies one thing; none if it is of a kind that is not kept, or gone.
fn copy_one(from: &Workspace, to: &Workspace, step: &Step, left: &mut u64) -> Result<Option<Known>, Fault> {
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
                share_or_copy(source.as_fd(), file.as_fd(), left).map_err(failed)?;
                let file = File::from(file);
                let (hash, size) = hash(&file).map_err(|error| super::ground::cannot(&error))?;
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

/// The hash and the length of all of a file.
pub(super) fn hash(file: &File) -> io::Result<(String, u64)> {
    let mut hasher = blake3::Hasher::new();
    let mut buffer = vec![0; 128 << 10];
    let mut at = 0;
    loop {
        let n = std::os::unix::fs::FileExt::read_at(file, &mut buffer, at)?;
        let Some(piece) = buffer.get(..n).filter(|piece| !piece.is_empty()) else { break };
        hasher.update(piece);
        at += n as u64;
    }
    Ok((hasher.finalize().to_hex().to_string(), at))
}

fn share_or_copy(from: BorrowedFd<'_>, to: BorrowedFd<'_>, left: &mut u64) -> Result<(), Errno> {
    if rustix::fs::ioctl_ficlone(to, from).is_ok() {
        return Ok(());
    }
    let end = u64::try_from(rustix::fs::fstat(from)?.st_size).unwrap_or(0);
    rustix::fs::ftruncate(to, end)?;
    let mut at = 0;
    while at < end {
        // Past the last byte of data there is nothing, or only a hole.
        let data = match rustix::fs::seek(from, SeekFrom::Data(at)) {
            Err(Errno::NXIO) => return Ok(()),
            data => data?,
        };
        let hole = rustix::fs::seek(from, SeekFrom::Hole(data)).unwrap_or(end).min(end);
        *left = left.checked_sub(hole.saturating_sub(data)).ok_or(Errno::DQUOT)?;
        copy_range(from, to, data, hole)?;
        at = hole.max(data + 1);
    }
    Ok(())
}

fn copy_range(from: BorrowedFd<'_>, to: BorrowedFd<'_>, begin: u64, end: u64) -> Result<(), Errno> {
    let (mut read, mut written) = (begin, begin);
    while read < end {
        let wanted = usize::try_from((end - read).min(PIECE)).unwrap_or(usize::MAX);
        match rustix::fs::copy_file_range(from, Some(&mut read), to, Some(&mut written), wanted) {
            Ok(0) => return Ok(()), // it became shorter
            Ok(_) | Err(Errno::INTR) => {}
            Err(Errno::XDEV | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL) => {
                return copy_by_hand(from, to, read, end);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn copy_by_hand(from: BorrowedFd<'_>, to: BorrowedFd<'_>, mut at: u64, end: u64) -> Result<(), Errno> {
    let mut buffer = vec![0; 128 << 10];
    while at < end {
        let n = rustix::io::retry_on_intr(|| rustix::io::pread(from, &mut *buffer, at))?;
        if n == 0 {
            return Ok(());
        }
        let mut piece = buffer.get(..n).unwrap_or_default();
        while !piece.is_empty() {
            let written = rustix::io::retry_on_intr(|| rustix::io::pwrite(to, piece, at))?;
            at += written as u64;
            piece = piece.get(written..).unwrap_or_default();
        }
    }
    Ok(())
}

fn failed(path: &WorkspacePath, error: Errno) -> Fault {
    match error {
        Errno::DQUOT => {
            Fault::new(FaultKind::Full, "the copy is larger than the session's disk limit leaves room for")
                .hint("remove files or snapshots, or raise `limits.disk_bytes` of the session")
        }
        Errno::NOSPC => {
            Fault::new(FaultKind::Unavailable, "the disk of the data folder is full").hint("free space on it")
        }
        error => Fault::new(FaultKind::Unavailable, format!("`{path}` cannot be copied: {error}")),
    }
}
