//! The cgroup below which sessions get theirs.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::session::{self, SessionCgroup};
use super::{Controllers, Folder, Unusable};

/// A place for sessions' cgroups: one folder in each hierarchy in use.
#[derive(Debug, Clone)]
pub struct CgroupRoot {
    folders: Vec<Folder>,
    missing: Vec<Unusable>,
    keep: Keep,
}

/// Whether a place for cgroups stays when none is left in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// It is the worker's own.
    Always,
    /// It is there for its sessions only. A folder left behind would keep whoever gave us the cgroup above from
    /// removing it, also after a worker that was killed.
    WhileUsed,
}

/// How often a folder is made again that the last session's removal takes away between our two steps.
const MAX_CREATE_ATTEMPTS: u32 = 8;

impl CgroupRoot {
    pub(super) fn new(folders: Vec<Folder>, missing: Vec<Unusable>) -> Self {
        Self { folders, missing, keep: Keep::Always }
    }

    /// What sessions here can be limited in.
    pub fn controllers(&self) -> Controllers {
        self.folders.iter().fold(Controllers::default(), |all, folder| all.union(folder.controllers))
    }

    /// Hierarchies that could not be used, each with the reason; for doctor.
    pub fn missing(&self) -> &[Unusable] {
        &self.missing
    }

    /// Where they are, for people: one path for each hierarchy.
    pub fn paths(&self) -> impl Iterator<Item = &std::path::Path> {
        self.folders.iter().map(|folder| folder.path.as_path())
    }

    /// A folder below this one: one for each data folder, so that workers do not meet. `name` begins with
    /// [`WORKERS_FOLDER`](super::WORKERS_FOLDER). It is made with the first
    /// session in it and goes with the last.
    pub fn below(&self, name: &str) -> io::Result<Self> {
        let below = Self {
            folders: self.folders.iter().map(|folder| folder.child(name)).collect(),
            missing: self.missing.clone(),
            keep: Keep::WhileUsed,
        };
        // Made now to see whether it can be, while there is somebody to tell.
        let made = below.make();
        below.clear()?;
        made.map(|()| below)
    }

    /// A new cgroup for a session. It is an error if there is one of this name.
    pub fn create_session(&self, name: &str) -> io::Result<SessionCgroup> {
        let folders: Vec<_> = self.folders.iter().map(|folder| folder.child(name)).collect();
        let create = || {
            self.make()?;
            SessionCgroup::create(folders.clone(), self.above())
        };
        for _ in 0..MAX_CREATE_ATTEMPTS {
            match create() {
                Err(error) if error.kind() == io::ErrorKind::NotFound && self.keep == Keep::WhileUsed => {}
                other => return other,
            }
        }
        create()
    }

    /// The cgroup of a session that an earlier worker made; `NotFound` if there is none.
    pub fn reopen(&self, name: &str) -> io::Result<SessionCgroup> {
        SessionCgroup::reopen(self.folders.iter().map(|folder| folder.child(name)).collect(), self.above())
    }

    /// The names of all cgroups that are here, in any of the hierarchies.
    pub fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for folder in &self.folders {
            let entries = match fs::read_dir(&folder.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other?,
            };
            for entry in entries {
                let entry = entry?;
                if entry.file_type()?.is_dir() {
                    names.extend(entry.file_name().into_string());
                }
            }
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Makes the folder if it is not there.
    fn make(&self) -> io::Result<()> {
        if self.keep == Keep::WhileUsed {
            for folder in &self.folders {
                session::make(folder)?;
                session::delegate_controllers(folder)?;
            }
        }
        Ok(())
    }

    /// Removes the folder unless a session is in it.
    fn clear(&self) -> io::Result<()> {
        self.above().iter().try_for_each(|path| session::remove_unused(path))
    }

    /// What goes with the last session.
    fn above(&self) -> Vec<PathBuf> {
        match self.keep {
            Keep::Always => Vec::new(),
            Keep::WhileUsed => self.folders.iter().map(|folder| folder.path.clone()).collect(),
        }
    }
}
