//! Putting what an archive holds into a folder, entry by entry, within bounds.

use std::collections::HashMap;
use std::io::{self, Read};
use std::os::fd::AsFd;

use headwater_contract::{Fault, FaultKind};
use rustix::io::Errno;

use super::refused;
use crate::workspace::{Workspace, WorkspacePath, set_modified, write_all};

/// Folders below folders.
const MAX_DEPTH: usize = 100;
/// The longest text of a link.
const MAX_TARGET_BYTES: usize = 4096;
/// A file may be so many times larger than what it was packed to ...
const MAX_RATIO: u64 = 100;
/// ... as far as it is larger than this.
const FREE_BYTES: u64 = 16 << 20;
/// The names that are remembered to find those that come twice.
const MAX_NAMES_BYTES: usize = 64 << 20;

/// What an archive may hold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Bounds {
    pub(crate) bytes: u64,
    pub(crate) entries: u64,
    /// How large the archive is.
    pub(crate) archive_bytes: u64,
}

/// What it held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Sown {
    pub(crate) files: u64,
    pub(crate) folders: u64,
    pub(crate) links: u64,
    pub(crate) bytes: u64,
}

/// What is known of a path that was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Met {
    /// A folder that something lies in, and that has not come itself.
    Implied,
    Folder,
    Leaf,
}

/// Puts entries in their places.
pub(super) struct Sower<'a> {
    into: &'a Workspace,
    bounds: Bounds,
    met: HashMap<WorkspacePath, Met>,
    names_bytes: usize,
    sown: Sown,
}

impl<'a> Sower<'a> {
    pub(super) fn new(into: &'a Workspace, bounds: Bounds) -> Self {
        Self { into, bounds, met: HashMap::new(), names_bytes: 0, sown: Sown::default() }
    }

    pub(super) const fn sown(&self) -> Sown {
        self.sown
    }

    /// The most entries that there may be.
    pub(super) const fn max_entries(&self) -> u64 {
        self.bounds.entries
    }

    pub(super) fn folder(&mut self, name: &[u8], mode: u32) -> Result<(), Fault> {
        let Some(path) = checked(name)? else { return Ok(()) }; // the folder that all of it goes into
        match self.met.get(&path) {
            Some(Met::Implied) => {
                self.met.insert(path, Met::Folder);
                Ok(())
            }
            Some(_) => Err(twice(&path)),
            None => {
                self.make_parents(&path)?;
                self.sown.folders += 1;
                self.note(path.clone(), Met::Folder)?;
                self.into.plant_folder(&path, mode).map_err(|error| failed(&path, error))
            }
        }
    }

    pub(super) fn file(
        &mut self,
        name: &[u8],
        mode: u32,
        modified_s: Option<u64>,
        data: &mut impl Read,
    ) -> Result<(), Fault> {
        let path = self.leaf(name)?;
        self.sown.files += 1;
        let file = self.into.plant_file(&path).map_err(|error| failed(&path, error))?;
        let mut buffer = vec![0; 64 << 10];
        loop {
            let n = data.read(&mut buffer).map_err(|error| broken(&path, &error))?;
            let Some(piece) = buffer.get(..n).filter(|piece| !piece.is_empty()) else { break };
            self.count(n as u64)?;
            write_all(file.as_fd(), piece).map_err(|error| failed(&path, error))?;
        }
        if let Some(at) = modified_s.filter(|at| *at > 0) {
            // A time that the disk cannot hold is left out.
            let _ = set_modified(file.as_fd(), i128::from(at) * 1_000_000_000);
        }
        self.into.give(file.as_fd(), mode).map_err(|error| failed(&path, error))
    }

    pub(super) fn link(&mut self, name: &[u8], target: &[u8]) -> Result<(), Fault> {
        let path = self.leaf(name)?;
        stays_within(&path, target)?;
        self.sown.links += 1;
        self.into.plant_link(&path, target).map_err(|error| failed(&path, error))
    }

    /// Counts what was unpacked, as it is: what an archive says of its sizes means nothing.
    fn count(&mut self, bytes: u64) -> Result<(), Fault> {
        self.sown.bytes += bytes;
        if self.sown.bytes > self.bounds.bytes {
            let message = format!(
                "the archive holds more than the {} bytes that the session may still use",
                self.bounds.bytes
            );
            return Err(
                Fault::new(FaultKind::Full, message).hint("remove files, or raise `limits.disk_bytes`")
            );
        }
        let packed = self.bounds.archive_bytes.max(1);
        if self.sown.bytes > FREE_BYTES && self.sown.bytes / packed > MAX_RATIO {
            return Err(refused(format!("it unpacks to more than {MAX_RATIO} times its size")));
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
        self.note(path.clone(), Met::Leaf)?;
        Ok(path)
    }

    /// Folders that are named by what lies in them only.
    fn make_parents(&mut self, path: &WorkspacePath) -> Result<(), Fault> {
        let mut parent = WorkspacePath::root();
        let folders = path.names().split_last().map(|(_, folders)| folders);
        for name in folders.unwrap_or_default() {
            parent = parent.join(name).ok_or_else(|| refused("a path in it is too long"))?;
            match self.met.get(&parent) {
                Some(Met::Implied | Met::Folder) => {}
                Some(Met::Leaf) => {
                    return Err(refused(format!("`{path}` lies in `{parent}`, which is no folder")));
                }
                None => {
                    self.sown.folders += 1;
                    self.note(parent.clone(), Met::Implied)?;
                    self.into.plant_folder(&parent, 0o755).map_err(|error| failed(&parent, error))?;
                }
            }
        }
        Ok(())
    }

    fn note(&mut self, path: WorkspacePath, met: Met) -> Result<(), Fault> {
        self.names_bytes += path.bytes().len();
        self.met.insert(path, met);
        if self.met.len() as u64 > self.bounds.entries || self.names_bytes > MAX_NAMES_BYTES {
            return Err(refused(format!(
                "it has more than {} entries, or too long names",
                self.bounds.entries
            )));
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

/// A link may lead anywhere within the archive, and nowhere else.
fn stays_within(path: &WorkspacePath, target: &[u8]) -> Result<(), Fault> {
    let out = || refused(format!("the link `{path}` leads out of it, to `{}`", shown(target)));
    if target.is_empty() || target.len() > MAX_TARGET_BYTES || target.starts_with(b"/") || target.contains(&0)
    {
        return Err(out());
    }
    let mut depth = path.names().len() - 1;
    for name in target.split(|byte| *byte == b'/') {
        match name {
            b"" | b"." => {}
            b".." => depth = depth.checked_sub(1).ok_or_else(out)?,
            _ => depth += 1,
        }
    }
    Ok(())
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

fn failed(path: &WorkspacePath, error: Errno) -> Fault {
    match error {
        Errno::NOSPC | Errno::DQUOT => {
            Fault::new(FaultKind::Unavailable, "the disk of the data folder is full").hint("free space on it")
        }
        Errno::NAMETOOLONG | Errno::EXIST | Errno::NOTDIR | Errno::INVAL | Errno::ILSEQ => {
            refused(format!("`{path}` cannot be made: {error}"))
        }
        error => Fault::new(FaultKind::Unavailable, format!("`{path}` cannot be made: {error}")),
    }
}
