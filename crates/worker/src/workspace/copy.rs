//! Copying files and trees, by the disk itself where it can.

use std::os::fd::{AsFd, BorrowedFd};

use rustix::io::Errno;

use super::change::{Overwrite, within};
use super::entry::{Entry, Kind};
use super::put::Expect;
use super::walk::Step;
use super::{Workspace, WorkspaceError, WorkspacePath, told};
use crate::sparse::{self, IsCancelled};

/// Things that one call copies at most: more is no work for a call that somebody waits for.
pub(crate) const MAX_COPIED: u64 = 1_000_000;
/// Moved by one call into the kernel: so often at least it is looked whether more may be copied.
const PIECE: usize = 64 << 20;

/// How much may be copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) bytes: u64,
    pub(crate) inodes: u64,
}

/// What was copied.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Copied {
    pub(crate) bytes: u64,
    pub(crate) inodes: u64,
    /// FIFOs, sockets, devices, and what the session's owner may not read.
    pub(crate) skipped: u64,
}

impl Workspace {
    /// Copies a file. The copy appears in one step.
    pub(crate) fn copy_file(
        &self,
        from: &WorkspacePath,
        to: &WorkspacePath,
        overwrite: Overwrite,
        room: Room,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<(Entry, Copied), WorkspaceError> {
        if from == to {
            return Err(WorkspaceError::Exists { path: to.to_string() });
        }
        let (source, entry) = self.open_file(from)?;
        let new = self.create(to)?;
        let bytes = copy_bytes(source.as_fd(), new.fd(), room.bytes, to, is_cancelled)?;
        let expect = if overwrite == Overwrite::Never { Expect::Nothing } else { Expect::Anything };
        let made = new.commit(&expect, Some(entry.mode))?;
        Ok((made, Copied { bytes, inodes: 1, skipped: 0 }))
    }

    /// Writes all bytes of a draft into the file that is there: from this byte on, or at its end.
    pub(crate) fn write_into(
        &self,
        path: &WorkspacePath,
        draft: BorrowedFd<'_>,
        at: Option<u64>,
        expect: &Expect,
    ) -> Result<Entry, WorkspaceError> {
        let file = self.open_to_write(path, expect)?;
        let look = || rustix::fs::fstat(&file).map(|stat| Entry::from(&stat));
        let written = look().and_then(|before| {
            put_into(draft, file.as_fd(), at.unwrap_or(before.size))?;
            look()
        });
        written.map_err(|error| told(path, error))
    }

    /// Copies what is in a folder into a tree that is to lie at `to`. Links are copied as links.
    pub(crate) fn copy_tree(
        &self,
        from: &WorkspacePath,
        to: &WorkspacePath,
        into: &Workspace,
        room: Room,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Copied, WorkspaceError> {
        if to.is_within(from) {
            return Err(within(to));
        }
        let (mut copied, mut folders) = (Copied { inodes: 1, ..Copied::default() }, Vec::new());
        let mut walk = self.walk(from, usize::MAX, None)?;
        for step in walk.by_ref() {
            if copied.inodes >= room.inodes.min(MAX_COPIED) {
                return Err(WorkspaceError::Full { path: to.to_string() });
            }
            if is_cancelled() {
                return Err(told(to, Errno::CANCELED));
            }
            let place = step.path.below(from);
            if step.entry.kind == Kind::Folder {
                folders.push((place.clone(), step.entry.mode));
            }
            let left = room.bytes.saturating_sub(copied.bytes);
            match self.copy_step(&step, &place, into, left, is_cancelled) {
                Ok(Some(bytes)) => {
                    copied.bytes += bytes;
                    copied.inodes += 1;
                }
                Ok(None) => copied.skipped += 1,
                Err(WorkspaceError::Full { .. }) => {
                    return Err(WorkspaceError::Full { path: to.to_string() });
                }
                Err(error) => return Err(error),
            }
        }
        copied.skipped += u64::from(walk.is_cut());
        // Rights last: a folder without them could not be filled.
        for (place, mode) in folders.into_iter().rev() {
            into.chmod(&place, mode)?;
        }
        Ok(copied)
    }
}

impl Workspace {
    /// Copies one thing of a tree; tells how many bytes it has, or nothing if it is not to be copied or gone by now.
    fn copy_step(
        &self,
        step: &Step,
        place: &WorkspacePath,
        into: &Workspace,
        room: u64,
        is_cancelled: IsCancelled<'_>,
    ) -> Result<Option<u64>, WorkspaceError> {
        match step.entry.kind {
            Kind::Folder => into.make_folder(place).map(|_| Some(0)),
            Kind::Link => match self.read_link(&step.path) {
                Ok(target) => into.make_link(place, &target).map(|()| Some(0)),
                Err(_) => Ok(None),
            },
            Kind::File => {
                let Ok((source, entry)) = self.open_file(&step.path) else {
                    return Ok(None);
                };
                let new = into.create(place)?;
                let bytes = copy_bytes(source.as_fd(), new.fd(), room, place, is_cancelled)?;
                new.commit(&Expect::Nothing, Some(entry.mode))?;
                Ok(Some(bytes))
            }
            Kind::Other => Ok(None),
        }
    }
}

/// Copies the bytes of a file, without its holes; answers how many.
fn copy_bytes(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    room: u64,
    path: &WorkspacePath,
    is_cancelled: IsCancelled<'_>,
) -> Result<u64, WorkspaceError> {
    let mut left = room;
    match sparse::copy(from, to, &mut left, is_cancelled) {
        Ok(()) => Ok(room - left),
        Err(Errno::DQUOT) => Err(WorkspaceError::Full { path: path.to_string() }),
        Err(error) => Err(told(path, error)),
    }
}

/// Puts all bytes of one file at a place of another; neither's position counts.
fn put_into(from: BorrowedFd<'_>, to: BorrowedFd<'_>, mut at: u64) -> Result<(), Errno> {
    let mut read = 0;
    loop {
        let copy = || rustix::fs::copy_file_range(from, Some(&mut read), to, Some(&mut at), PIECE);
        match rustix::io::retry_on_intr(copy) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(Errno::XDEV | Errno::INVAL | Errno::OPNOTSUPP | Errno::NOSYS) => {
                return put_through_memory(from, to, read, at);
            }
            Err(error) => return Err(error),
        }
    }
}

fn put_through_memory(
    from: BorrowedFd<'_>,
    to: BorrowedFd<'_>,
    mut read: u64,
    mut at: u64,
) -> Result<(), Errno> {
    let mut buffer = vec![0; 1 << 20];
    loop {
        let n = rustix::io::retry_on_intr(|| rustix::io::pread(from, &mut buffer, read))?;
        if n == 0 {
            return Ok(());
        }
        read += n as u64;
        let mut left = buffer.get(..n).unwrap_or_default();
        while !left.is_empty() {
            let n = rustix::io::retry_on_intr(|| rustix::io::pwrite(to, left, at))?;
            left = left.get(n..).unwrap_or_default();
            at += n as u64;
        }
    }
}
