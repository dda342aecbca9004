//! Putting what an archive holds into a folder, entry by entry, within bounds.

use std::collections::HashMap;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};

use headwater_contract::{Fault, FaultKind};
use headwater_workspace::sparse::IsCancelled;
use headwater_workspace::{MAX_DEPTH, Workspace, WorkspacePath, set_modified};
use rustix::io::Errno;

use super::refused;

/// The longest text of a link: the kernel's limit.
const MAX_TARGET_BYTES: usize = 4095;
/// The names of folders that are remembered, together.
const MAX_NAMES_BYTES: usize = 64 << 20;
/// What is written at once. A piece that is all zeros becomes a hole.
const PIECE_BYTES: usize = 64 << 10;

/// What an archive may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// What may be written to the disk.
    pub(crate) bytes: u64,
    /// How long all files may be together, holes included.
    pub(crate) length: u64,
    pub(crate) entries: u64,
}

/// What it held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sown {
    pub(crate) files: u64,
    pub(crate) folders: u64,
    pub(crate) links: u64,
    /// The length of all files.
    pub(crate) bytes: u64,
}

/// What is known of a folder that was met. Nothing else is remembered: the disk knows what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Met {
    /// Something lies in it, and it has not come itself.
    Implied,
    Itself,
}

/// Puts entries in their places.
pub(crate) struct Sower<'a> {
    into: &'a Workspace,
    bounds: Bounds,
    met: HashMap<WorkspacePath, Met>,
    names_bytes: usize,
    entries: u64,
    /// Written to the disk.
    written: u64,
    sown: Sown,
    /// Folders that their owner may not change, which get their rights when they are in their place: until then they are
    /// filled and moved.
    shut: Vec<(WorkspacePath, u32)>,
    is_cancelled: IsCancelled<'a>,
}

impl<'a> Sower<'a> {
    pub(crate) fn new(into: &'a Workspace, bounds: Bounds, is_cancelled: IsCancelled<'a>) -> Self {
        Self {
            into,
            bounds,
            met: HashMap::new(),
            names_bytes: 0,
            entries: 0,
            written: 0,
            sown: Sown::default(),
            shut: Vec::new(),
            is_cancelled,
        }
    }

    /// What was unpacked, and the folders that are to get these rights yet.
    pub(crate) fn finish(self) -> (Sown, Vec<(WorkspacePath, u32)>) {
        (self.sown, self.shut)
    }

    /// The most entries that there may be.
    pub(crate) const fn max_entries(&self) -> u64 {
        self.bounds.entries
    }

    pub(crate) fn folder(&mut self, name: &[u8], mode: u32) -> Result<(), Fault> {
        let Some(path) = checked(name)? else { return Ok(()) }; // the folder that all of it goes into
        match self.met.get_mut(&path) {
            Some(Met::Itself) => return Err(twice(&path)),
            Some(met) => *met = Met::Itself,
            None => {
                self.make_parents(&path)?;
                self.make_folder(path.clone(), mode, Met::Itself)?;
            }
        }
        if mode & 0o700 != 0o700 {
            self.shut.push((path, mode & 0o777));
        }
        Ok(())
    }

    pub(crate) fn file(
        &mut self,
        name: &[u8],
        mode: u32,
        modified_s: Option<u64>,
        data: &mut impl Read,
    ) -> Result<(), Fault> {
        let path = self.leaf(name)?;
        self.sown.files += 1;
        let file = self.into.plant_file(&path).map_err(|error| made(&path, error))?;
        self.fill(file.as_fd(), &path, data)?;
        if let Some(at) = modified_s.filter(|at| *at > 0) {
            // A time that the disk cannot hold is left out.
            let _ = set_modified(file.as_fd(), i128::from(at) * 1_000_000_000);
        }
        self.into.give(file.as_fd(), mode).map_err(|error| failed(&path, error))
    }

    /// Writes what an entry holds; zeros become holes.
    fn fill(
        &mut self,
        file: BorrowedFd<'_>,
        path: &WorkspacePath,
        data: &mut impl Read,
    ) -> Result<(), Fault> {
        let mut buffer = vec![0; PIECE_BYTES];
        let (mut at, mut ends_with_hole) = (0, false);
        loop {
            let n = read_piece(data, &mut buffer).map_err(|error| broken(path, &error))?;
            let Some(piece) = buffer.get(..n).filter(|piece| !piece.is_empty()) else { break };
            ends_with_hole = piece.iter().all(|byte| *byte == 0);
            self.count(n as u64, if ends_with_hole { 0 } else { n as u64 })?;
            if !ends_with_hole {
                write_all_at(file, piece, at).map_err(|error| failed(path, error))?;
            }
            at += n as u64;
        }
        if ends_with_hole {
            rustix::fs::ftruncate(file, at).map_err(|error| failed(path, error))?;
        }
        Ok(())
    }

    pub(crate) fn link(&mut self, name: &[u8], target: &[u8]) -> Result<(), Fault> {
        let path = self.leaf(name)?;
        // Its text is data: it may say anything, because nothing on the host follows it.
        if target.is_empty() || target.len() > MAX_TARGET_BYTES || target.contains(&0) {
            return Err(refused(format!("the link `{path}` leads nowhere: `{}`", shown(target))));
        }
        self.sown.links += 1;
        self.into.plant_link(&path, target).map_err(|error| made(&path, error))
    }

    /// Counts what was unpacked, as it is: what an archive says of its sizes means nothing.
    fn count(&mut self, length: u64, written: u64) -> Result<(), Fault> {
        if (self.is_cancelled)() {
            return Err(crate::files::copy::cancelled());
        }
        self.sown.bytes += length;
        self.written += written;
        if self.written > self.bounds.bytes {
            let message = format!(
                "the archive holds more than the {} bytes that the session may still use",
                self.bounds.bytes
            );
            return Err(
                Fault::new(FaultKind::Full, message).hint("remove files, or raise `limits.disk_bytes`")
            );
        }
        if self.sown.bytes > self.bounds.length {
            return Err(refused(format!(
                "its files are longer than `{}` bytes together",
                self.bounds.length
            )));
        }
        Ok(())
    }

    /// The path of something that is no folder and comes for the first time.
    fn leaf(&mut self, name: &[u8]) -> Result<WorkspacePath, Fault> {
        if name.ends_with(b"/") {
            return Err(refused(format!("`{}` is no folder and has the name of one", shown(name))));
        }
        let path = checked(name)?.ok_or_else(|| refused("something in it has no name"))?;
        if self.met.contains_key(&path) {
            return Err(twice(&path));
        }
        self.make_parents(&path)?;
        self.note()?;
        Ok(path)
    }

    /// Folders that are named by what lies in them only.
    fn make_parents(&mut self, path: &WorkspacePath) -> Result<(), Fault> {
        let mut parent = WorkspacePath::root();
        let folders = path.names().split_last().map(|(_, folders)| folders);
        for name in folders.unwrap_or_default() {
            parent = parent.join(name).ok_or_else(|| refused("a path in it is too long"))?;
            if !self.met.contains_key(&parent) {
                self.make_folder(parent.clone(), 0o755, Met::Implied).map_err(|fault| match fault.kind {
                    FaultKind::Invalid => refused(format!("`{path}` lies in `{parent}`, which is no folder")),
                    _ => fault,
                })?;
            }
        }
        Ok(())
    }

    fn make_folder(&mut self, path: WorkspacePath, mode: u32, met: Met) -> Result<(), Fault> {
        self.note()?;
        self.sown.folders += 1;
        self.into.plant_folder(&path, mode).map_err(|error| made(&path, error))?;
        self.names_bytes += path.bytes().len();
        self.met.insert(path, met);
        Ok(())
    }

    /// One more thing is made.
    fn note(&mut self) -> Result<(), Fault> {
        self.entries += 1;
        if self.entries > self.bounds.entries || self.names_bytes > MAX_NAMES_BYTES {
            let most = self.bounds.entries;
            return Err(refused(format!("it has more than {most} entries, or too long names")));
        }
        Ok(())
    }
}

/// The path of an entry; none for the top of the archive.
fn checked(name: &[u8]) -> Result<Option<WorkspacePath>, Fault> {
    if name.starts_with(b"/") {
        return Err(refused(format!("`{}` is an absolute path", shown(name))));
    }
    let path = WorkspacePath::any(name, "/workspace").map_err(refused)?;
    if path.names().len() > MAX_DEPTH {
        return Err(refused(format!("`{}` is nested too deep", shown(name))));
    }
    Ok((!path.is_root()).then_some(path))
}

fn twice(path: &WorkspacePath) -> Fault {
    refused(format!("`{path}` is in it twice"))
}

fn shown(name: &[u8]) -> String {
    name.escape_ascii().to_string().chars().take(256).collect()
}

fn broken(path: &WorkspacePath, error: &io::Error) -> Fault {
    refused(format!("`{path}` cannot be unpacked: {error}"))
}

/// Fills the buffer, unless the data ends before.
fn read_piece(data: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match data.read(rest) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

fn write_all_at(file: BorrowedFd<'_>, mut piece: &[u8], mut at: u64) -> Result<(), Errno> {
    while !piece.is_empty() {
        let n = rustix::io::retry_on_intr(|| rustix::io::pwrite(file, piece, at))?;
        at += n as u64;
        piece = piece.get(n..).unwrap_or_default();
    }
    Ok(())
}

/// Something could not be made: what is there already came twice.
fn made(path: &WorkspacePath, error: Errno) -> Fault {
    if error == Errno::EXIST { twice(path) } else { failed(path, error) }
}

fn failed(path: &WorkspacePath, error: Errno) -> Fault {
    match error {
        Errno::NOSPC | Errno::DQUOT => Fault::new(FaultKind::NoSpace, "the disk of the data folder is full"),
        Errno::NAMETOOLONG | Errno::EXIST | Errno::NOTDIR | Errno::INVAL | Errno::ILSEQ => {
            refused(format!("`{path}` cannot be made: {error}"))
        }
        error => Fault::new(FaultKind::Unavailable, format!("`{path}` cannot be made: {error}")),
    }
}
