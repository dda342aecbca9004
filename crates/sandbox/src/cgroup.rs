//! Cgroups: where a session's memory, processor time and processes are counted and limited.
//!
//! Sessions live below the cgroup that the worker was started in, in a folder for each data folder. Both versions
//! are used as the host has them; on a host with both, a session has a folder in each hierarchy that helps:
//! version 1 for the limits, version 2 to end all processes at once. Where there is nothing, [`Discovered::Nothing`]
//! says why, and resource limits of each process stand in.
//!
//! Putting a process into a cgroup costs milliseconds after idling. So init is put there once, at its start (under
//! version 2 it is born there, which costs nothing), and its programs inherit that.

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

/// How the names of workers' folders begin, by which [`SessionCgroup::of_process`] knows them.
pub const WORKERS_FOLDER: &str = "headwater-";

/// What a host can count and limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Controllers {
    /// Memory, and ends of programs for want of it.
    pub memory: bool,
    /// Processor time.
    pub cpu: bool,
    /// Processes and threads.
    pub pids: bool,
}

impl Controllers {
    /// The names of those that are there.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        [("memory", self.memory), ("cpu", self.cpu), ("pids", self.pids)]
            .into_iter()
            .filter_map(|(name, there)| there.then_some(name))
    }

    /// Those of a list as the kernel writes it, separated by `separator`.
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

/// Which of the kernel's two interfaces a folder has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// One folder in one hierarchy.
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
