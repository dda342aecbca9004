//! The cgroup below which sessions get theirs.

use std::fs;
use std::io;

use super::session::SessionCgroup;
use super::{Controllers, Folder};

/// A place for sessions' cgroups: one folder in each hierarchy in use.
#[derive(Debug, Clone)]
pub struct CgroupRoot {
    folders: Vec<Folder>,
    missing: Vec<String>,
}

impl CgroupRoot {
    pub(super) fn new(folders: Vec<Folder>, missing: Vec<String>) -> Self {
        Self { folders, missing }
    }

    /// What sessions here can be limited in.
    pub fn controllers(&self) -> Controllers {
        self.folders.iter().fold(Controllers::default(), |all, folder| all.union(folder.controllers))
    }

    /// Hierarchies that could not be used, each with the reason; for doctor.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// Where they are, for people: one path for each hierarchy.
    pub fn paths(&self) -> impl Iterator<Item = &std::path::Path> {
        self.folders.iter().map(|folder| folder.path.as_path())
    }

    /// A folder below this one, made if need be: one for each data folder, so that workers do not meet.
    pub fn below(&self, name: &str) -> io::Result<Self> {
        let below = Self {
            folders: self.folders.iter().map(|folder| folder.child(name)).collect(),
            missing: self.missing.clone(),
        };
        for folder in &below.folders {
            super::session::make(folder)?;
            super::session::pass_on(folder)?;
        }
        Ok(below)
    }

    /// A new cgroup for a session. It is an error if there is one of this name.
    pub fn create_session(&self, name: &str) -> io::Result<SessionCgroup> {
        SessionCgroup::create(self.folders.iter().map(|folder| folder.child(name)).collect())
    }

    /// The cgroup of a session that an earlier worker made; `NotFound` if there is none.
    pub fn reopen(&self, name: &str) -> io::Result<SessionCgroup> {
        SessionCgroup::reopen(self.folders.iter().map(|folder| folder.child(name)).collect())
    }

    /// The names of all cgroups that are here, in any of the hierarchies.
    pub fn list(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for folder in &self.folders {
            for entry in fs::read_dir(&folder.path)? {
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

    /// Removes the folder itself, which must be empty by now.
    pub fn remove(&self) -> io::Result<()> {
        self.folders.iter().try_for_each(|folder| match fs::remove_dir(&folder.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            other => other,
        })
    }
}
