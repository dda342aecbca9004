//! Cgroups, which count and limit a session's memory, processor time and processes.
//!
//! The cgroups of sessions are below the cgroup that the worker was started in, in one folder for each data
//! folder. Both versions are supported. On a host with both, a session has a folder in each useful hierarchy:
//! version 1 for the limits, version 2 to kill all processes at once. If there is none,
//! [`Discovered::Nothing`] has the reasons, and resource limits of each process are used instead.
//!
//! Moving a process into a cgroup can take milliseconds. So init is placed there once, when it starts (under
//! version 2 it is created there, which costs nothing), and its programs inherit that.

mod discover;
mod files;
mod kill;
mod mountinfo;
mod root;
mod session;

#[cfg(test)]
mod tests;

pub use discover::{Discovered, Unusable};
pub use root::CgroupRoot;
pub(crate) use session::JoinFds;
pub use session::SessionCgroup;

/// The prefix of workers' folders, by which [`SessionCgroup::of_process`] recognises them.
pub const WORKERS_FOLDER: &str = "headwater-";

/// What the cgroups of a host can count and limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Controllers {
    /// Memory, and kills for lack of it.
    pub memory: bool,
    /// Processor time, by bandwidth.
    pub cpu: bool,
    /// The number of processes and threads.
    pub pids: bool,
}

impl Controllers {
    /// The names of the available controllers.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        [("memory", self.memory), ("cpu", self.cpu), ("pids", self.pids)]
            .into_iter()
            .filter_map(|(name, there)| there.then_some(name))
    }

    /// Parses the kernel's list of controllers.
    fn parse(list: &str, separator: char) -> Self {
        let has = |name| list.split(separator).any(|item| item.trim() == name);
        Self { memory: has("memory"), cpu: has("cpu"), pids: has("pids") }
    }

    fn any(self) -> bool {
        self.memory || self.cpu || self.pids
    }

    fn union(self, other: Self) -> Self {
        Self {
            memory: self.memory || other.memory,
            cpu: self.cpu || other.cpu,
            pids: self.pids || other.pids,
        }
    }
}

/// The kernel's cgroup interface version of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A folder in one hierarchy.
#[derive(Debug, Clone)]
struct Folder {
    path: std::path::PathBuf,
    version: Version,
    controllers: Controllers,
}

impl Folder {
    fn child(&self, name: &str) -> Self {
        Self { path: self.path.join(name), ..self.clone() }
    }
}
