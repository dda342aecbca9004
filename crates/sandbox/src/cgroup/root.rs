//! The cgroup below which the cgroups of sessions are created.

use std::fs;
use std::io;
use std::path::PathBuf;

use super::session::{self, SessionCgroup};
use super::{Controllers, Folder, Unusable};

/// The parent of sessions' cgroups: one folder in each hierarchy in use.
#[derive(Debug, Clone)]
pub struct CgroupRoot {
    folders: Vec<Folder>,
    missing: Vec<Unusable>,
    keep: Keep,
}

/// Whether the folder stays when its last session is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Keep {
    /// It is the worker's own cgroup.
    Always,
    /// It exists for its sessions only. An empty folder left behind, for example by a killed worker, would
    /// keep the owner of the cgroup above from removing that.
    WhileUsed,
}

/// How often a folder is created again because another session's removal has deleted it in between.
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

    /// The paths for people: one for each hierarchy.
    pub fn paths(&self) -> impl Iterator<Item = &std::path::Path> {
        self.folders.iter().map(|folder| folder.path.as_path())
    }

    /// A folder below this one: one for each data folder, so that workers do not interfere. `name` begins
    /// with [`WORKERS_FOLDER`](super::WORKERS_FOLDER). It is created with its first session and removed with
    /// its last.
    pub fn below(&self, name: &str) -> io::Result<Self> {
        let below = Self {
            folders: self.folders.iter().map(|folder| folder.child(name)).collect(),
            missing: self.missing.clone(),
            keep: Keep::WhileUsed,
        };
        // Created now to find out early whether it can be.
        let made = below.make();
        below.clear()?;
        made.map(|()| below)
    }

    /// Creates a cgroup for a session. It is an error if one of this name exists.
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

    /// The cgroup of a session that an earlier worker created; `NotFound` if it does not exist.
    pub fn reopen(&self, name: &str) -> io::Result<SessionCgroup> {
        SessionCgroup::reopen(self.folders.iter().map(|folder| folder.child(name)).collect(), self.above())
    }

    /// The names of all cgroups here, in any of the hierarchies.
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

    /// Creates the folder if it does not exist.
    fn make(&self) -> io::Result<()> {
        if self.keep == Keep::WhileUsed {
            for folder in &self.folders {
                session::make(folder)?;
                session::delegate_controllers(folder)?;
            }
        }
        Ok(())
    }

    /// Removes the folder unless it contains a session.
    fn clear(&self) -> io::Result<()> {
        self.above().iter().try_for_each(|path| session::remove_unused(path))
    }

    /// The folders that are removed with the last session.
    fn above(&self) -> Vec<PathBuf> {
        match self.keep {
            Keep::Always => Vec::new(),
            Keep::WhileUsed => self.folders.iter().map(|folder| folder.path.clone()).collect(),
        }
    }
}
