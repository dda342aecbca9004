//! Extracts the entries of an archive into a folder, within limits.

use std::collections::HashMap;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};

use headwater_contract::{Fault, FaultKind};
use headwater_workspace::sparse::IsCancelled;
use headwater_workspace::{MAX_DEPTH, Workspace, WorkspacePath, set_modified};
use rustix::io::Errno;

use super::refused;

/// The longest target of a link: the kernel's limit.
const MAX_TARGET_BYTES: usize = 4095;
/// The total length of the folder names in memory.
const MAX_NAMES_BYTES: usize = 64 << 20;
/// The bytes of one write. A chunk of zeros becomes a hole.
const CHUNK_BYTES: usize = 64 << 10;

/// The limits of an archive.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    /// Bytes that may be written to the disk.
    pub(crate) bytes: u64,
    /// The total length of all files, holes included.
    pub(crate) length: u64,
    pub(crate) entries: u64,
}

/// The totals of an extracted archive.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Extracted {
    pub(crate) files: u64,
    pub(crate) folders: u64,
    pub(crate) links: u64,
    /// The total length of all files.
    pub(crate) bytes: u64,
}

/// A folder that was created. Other entries are not kept in memory: the disk detects duplicates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SeenFolder {
    /// Only as a parent of another entry so far.
    Implied,
    Explicit,
}

/// Extracts entries into a folder.
pub(crate) struct Extractor<'a> {
    into: &'a Workspace,
    bounds: Bounds,
    folders: HashMap<WorkspacePath, SeenFolder>,
    names_bytes: usize,
    entries: u64,
    /// Bytes written to the disk.
    written: u64,
    extracted: Extracted,
    /// Folders that their owner may not change. They get their mode after they were filled and moved in.
    restricted: Vec<(WorkspacePath, u32)>,
    is_cancelled: IsCancelled<'a>,
}

impl<'a> Extractor<'a> {
    pub(crate) fn new(into: &'a Workspace, bounds: Bounds, is_cancelled: IsCancelled<'a>) -> Self {
        Self {
            into,
            bounds,
            folders: HashMap::new(),
            names_bytes: 0,
            entries: 0,
            written: 0,
            extracted: Extracted::default(),
            restricted: Vec::new(),
            is_cancelled,
        }
    }

    /// The totals, and the folders that still get a restrictive mode.
    pub(crate) fn finish(self) -> (Extracted, Vec<(WorkspacePath, u32)>) {
        (self.extracted, self.restricted)
    }

    /// The most entries.
    pub(crate) const fn max_entries(&self) -> u64 {
        self.bounds.entries
    }

    pub(crate) fn folder(&mut self, name: &[u8], mode: u32) -> Result<(), Fault> {
        let Some(path) = checked(name)? else { return Ok(()) }; // the top folder itself
        match self.folders.get_mut(&path) {
            Some(SeenFolder::Explicit) => return Err(twice(&path)),
            Some(met) => *met = SeenFolder::Explicit,
            None => {
                self.create_parents(&path)?;
                self.create_folder(path.clone(), mode, SeenFolder::Explicit)?;
            }
        }
        if mode & 0o700 != 0o700 {
            self.restricted.push((path, mode & 0o777));
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
        self.extracted.files += 1;
        let file = self.into.stage_file(&path).map_err(|error| creation_fault(&path, error))?;
        self.fill(file.as_fd(), &path, data)?;
        if let Some(at) = modified_s.filter(|at| *at > 0) {
            // A time that the file system cannot store is left out.
            let _ = set_modified(file.as_fd(), i128::from(at) * 1_000_000_000);
        }
        self.into.give(file.as_fd(), mode).map_err(|error| failed(&path, error))
    }

    /// Writes the content of an entry; zeros become holes.
    fn fill(
        &mut self,
        file: BorrowedFd<'_>,
        path: &WorkspacePath,
        data: &mut impl Read,
    ) -> Result<(), Fault> {
        let mut buffer = vec![0; CHUNK_BYTES];
        let (mut at, mut ends_with_hole) = (0, false);
        loop {
            let n = read_chunk(data, &mut buffer).map_err(|error| broken(path, &error))?;
            let Some(chunk) = buffer.get(..n).filter(|chunk| !chunk.is_empty()) else { break };
            ends_with_hole = chunk.iter().all(|byte| *byte == 0);
            self.count(n as u64, if ends_with_hole { 0 } else { n as u64 })?;
            if !ends_with_hole {
                write_all_at(file, chunk, at).map_err(|error| failed(path, error))?;
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
        // The target may be anything, because nothing on the host follows it.
        if target.is_empty() || target.len() > MAX_TARGET_BYTES || target.contains(&0) {
            return Err(refused(format!("the link `{path}` has an invalid target: `{}`", shown(target))));
        }
        self.extracted.links += 1;
        self.into.stage_link(&path, target).map_err(|error| creation_fault(&path, error))
    }

    /// Counts the bytes that were really unpacked: the sizes in an archive are not trusted.
    fn count(&mut self, length: u64, written: u64) -> Result<(), Fault> {
        if (self.is_cancelled)() {
            return Err(crate::files::copy::cancelled());
        }
        self.extracted.bytes += length;
        self.written += written;
        if self.written > self.bounds.bytes {
            let message = format!(
                "the content of the archive exceeds the {} bytes that the session has left",
                self.bounds.bytes
            );
            return Err(
                Fault::new(FaultKind::Full, message).hint("remove files, or raise `limits.disk_bytes`")
            );
        }
        if self.extracted.bytes > self.bounds.length {
            return Err(refused(format!("its files have more than {} bytes in total", self.bounds.length)));
        }
        Ok(())
    }

    /// The path of a new entry that is not a folder.
    fn leaf(&mut self, name: &[u8]) -> Result<WorkspacePath, Fault> {
        if name.ends_with(b"/") {
            return Err(refused(format!("`{}` is not a folder, but its name ends with `/`", shown(name))));
        }
        let path = checked(name)?.ok_or_else(|| refused("an entry has no name"))?;
        if self.folders.contains_key(&path) {
            return Err(twice(&path));
        }
        self.create_parents(&path)?;
        self.count_entry()?;
        Ok(path)
    }

    /// Creates parents that are not entries of the archive.
    fn create_parents(&mut self, path: &WorkspacePath) -> Result<(), Fault> {
        let mut parent = WorkspacePath::root();
        let folders = path.names().split_last().map(|(_, folders)| folders);
        for name in folders.unwrap_or_default() {
            parent = parent.join(name).ok_or_else(|| refused("a path is too long"))?;
            if !self.folders.contains_key(&parent) {
                self.create_folder(parent.clone(), 0o755, SeenFolder::Implied).map_err(
                    |fault| match fault.kind {
                        FaultKind::Invalid => {
                            refused(format!("the parent `{parent}` of `{path}` is not a folder"))
                        }
                        _ => fault,
                    },
                )?;
            }
        }
        Ok(())
    }

    fn create_folder(&mut self, path: WorkspacePath, mode: u32, met: SeenFolder) -> Result<(), Fault> {
        self.count_entry()?;
        self.extracted.folders += 1;
        self.into.stage_folder(&path, mode).map_err(|error| creation_fault(&path, error))?;
        self.names_bytes += path.bytes().len();
        self.folders.insert(path, met);
        Ok(())
    }

    /// Counts an entry towards the limit of entries.
    fn count_entry(&mut self) -> Result<(), Fault> {
        self.entries += 1;
        if self.entries > self.bounds.entries || self.names_bytes > MAX_NAMES_BYTES {
            let most = self.bounds.entries;
            return Err(refused(format!("it has more than {most} entries, or its names are too long")));
        }
        Ok(())
    }
}

/// The path of an entry; `None` for the top of the archive.
fn checked(name: &[u8]) -> Result<Option<WorkspacePath>, Fault> {
    if name.starts_with(b"/") {
        return Err(refused(format!("`{}` is an absolute path", shown(name))));
    }
    let path = WorkspacePath::parse_any(name, "/workspace").map_err(refused)?;
    if path.names().len() > MAX_DEPTH {
        return Err(refused(format!("`{}` is nested too deep", shown(name))));
    }
    Ok((!path.is_root()).then_some(path))
}

fn twice(path: &WorkspacePath) -> Fault {
    refused(format!("it contains `{path}` twice"))
}

fn shown(name: &[u8]) -> String {
    name.escape_ascii().to_string().chars().take(256).collect()
}

fn broken(path: &WorkspacePath, error: &io::Error) -> Fault {
    refused(format!("cannot unpack `{path}`: {error}"))
}

/// Fills the buffer, or less at the end of the data.
fn read_chunk(data: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
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

fn write_all_at(file: BorrowedFd<'_>, mut chunk: &[u8], mut at: u64) -> Result<(), Errno> {
    while !chunk.is_empty() {
        let n = rustix::io::retry_on_intr(|| rustix::io::pwrite(file, chunk, at))?;
        at += n as u64;
        chunk = chunk.get(n..).unwrap_or_default();
    }
    Ok(())
}

/// The fault for an entry that could not be created; an existing path is a duplicate.
fn creation_fault(path: &WorkspacePath, error: Errno) -> Fault {
    if error == Errno::EXIST { twice(path) } else { failed(path, error) }
}

fn failed(path: &WorkspacePath, error: Errno) -> Fault {
    match error {
        Errno::NOSPC | Errno::DQUOT => Fault::new(FaultKind::NoSpace, "the disk of the data folder is full"),
        Errno::NAMETOOLONG | Errno::EXIST | Errno::NOTDIR | Errno::INVAL | Errno::ILSEQ => {
            refused(format!("cannot create `{path}`: {error}"))
        }
        error => Fault::new(FaultKind::Unavailable, format!("cannot create `{path}`: {error}")),
    }
}
