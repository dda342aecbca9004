//! The cgroup of a session, or of an execution that has its own limits within its session.
//!
//! Version 2 allows processes only in cgroups that delegate no controllers. A session needs both, so its
//! processes are in a leaf below it, [`LEAF`]; executions with their own limits are beside that leaf.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headwater_protocol::Limits;

use super::files::{open_procs, read, read_keyed, read_number, write};
use super::{Controllers, Folder, Version, kill};

/// The child of a version 2 cgroup that contains its processes.
const LEAF: &str = "leaf";

/// The period for CPU bandwidth: the kernel's default.
const CPU_PERIOD_US: u32 = 100_000;

/// Removing fails while the last process is still exiting: the number of attempts, each a little later.
const MAX_REMOVE_ATTEMPTS: u32 = 60;

/// A cgroup: one folder in each hierarchy in use.
#[derive(Debug, Clone)]
pub struct SessionCgroup {
    pub(super) folders: Vec<Folder>,
    /// Folders above that are removed with their last cgroup.
    pub(super) above: Vec<PathBuf>,
}

/// The descriptors through which a new process is placed in a cgroup.
#[derive(Debug)]
pub(crate) struct JoinFds {
    /// The version 2 folder in which it can be created, with `CLONE_INTO_CGROUP`.
    pub(crate) clone_into: Option<OwnedFd>,
    /// The `cgroup.procs` files of the other hierarchies.
    pub(crate) others: Vec<OwnedFd>,
}

/// Creates a folder that may exist already.
pub(super) fn make(folder: &Folder) -> io::Result<()> {
    match fs::create_dir(&folder.path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(io::Error::new(error.kind(), format!("create a cgroup: {error}")))
        }
        _ => Ok(()),
    }
}

/// Delegates the controllers of a version 2 folder to the folders below it.
pub(super) fn delegate_controllers(folder: &Folder) -> io::Result<()> {
    if folder.version != Version::Two || !folder.controllers.any() {
        return Ok(());
    }
    let line = folder.controllers.names().map(|name| format!("+{name}")).collect::<Vec<_>>().join(" ");
    write(&folder.path, "cgroup.subtree_control", &line)
}

impl SessionCgroup {
    pub(super) fn create(folders: Vec<Folder>, above: Vec<PathBuf>) -> io::Result<Self> {
        let cgroup = Self { folders, above };
        let made: io::Result<()> = cgroup.folders.iter().try_for_each(|folder| {
            fs::create_dir(&folder.path)
                .map_err(|error| io::Error::new(error.kind(), format!("create a cgroup: {error}")))?;
            if needs_leaf(folder) {
                delegate_controllers(folder)?;
                fs::create_dir(folder.path.join(LEAF))?;
            }
            Ok(())
        });
        match made {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(error),
            Err(error) => {
                let _ = cgroup.remove();
                Err(error)
            }
            Ok(()) => Ok(cgroup),
        }
    }

    pub(super) fn reopen(mut folders: Vec<Folder>, above: Vec<PathBuf>) -> io::Result<Self> {
        folders.retain(|folder| folder.path.is_dir());
        if folders.is_empty() {
            return Err(ErrorKind::NotFound.into());
        }
        Ok(Self { folders, above })
    }

    /// The cgroup called `name` that a process is in, wherever that is; `NotFound` if there is none.
    ///
    /// For adoption: a worker that was started in another cgroup than its predecessor creates new sessions'
    /// cgroups elsewhere, and [`CgroupRoot::reopen`](super::CgroupRoot::reopen) does not find the old ones
    /// there.
    pub fn of_process(pid: i32, name: &str) -> io::Result<Self> {
        let mounts = read(Path::new("/proc/self"), "mountinfo")?;
        let own = read(Path::new(&format!("/proc/{pid}")), "cgroup")?;
        let mut folders = super::mountinfo::own_folders(&mounts, &own);
        for folder in &mut folders {
            if folder.path.ends_with(LEAF) {
                folder.path.pop();
            }
            if folder.version == Version::Two {
                let there = read(&folder.path, "cgroup.controllers").unwrap_or_default();
                folder.controllers = Controllers::parse(there.trim(), ' ');
            }
        }
        folders.retain(|folder| folder.path.ends_with(name));
        let above = folders.iter().filter_map(|folder| folder.path.parent());
        let above = above.filter(|path| is_workers(path)).map(Path::to_owned).collect();
        Self::reopen(folders, above)
    }

    /// A cgroup within this one, for an execution with its own limits, which apply in addition to the
    /// session's.
    ///
    /// It is only in hierarchies with a controller, at most three: a message to init carries no more
    /// descriptors.
    pub fn child(&self, name: &str) -> io::Result<Self> {
        Self::create(self.limiting(name), Vec::new())
    }

    /// The cgroup of an execution that an earlier worker created; `NotFound` if it does not exist.
    pub fn reopen_child(&self, name: &str) -> io::Result<Self> {
        Self::reopen(self.limiting(name), Vec::new())
    }

    fn limiting(&self, name: &str) -> Vec<Folder> {
        self.folders
            .iter()
            .filter(|folder| folder.controllers.any())
            .map(|folder| folder.child(name))
            .collect()
    }

    /// The controllers that apply here.
    pub fn controllers(&self) -> Controllers {
        self.folders.iter().fold(Controllers::default(), |all, folder| all.union(folder.controllers))
    }

    /// Sets the limits on memory, processors and processes as far as the host supports them. `None` changes
    /// nothing.
    pub fn set_limits(&self, limits: &Limits) -> io::Result<()> {
        for folder in &self.folders {
            if let (Some(bytes), true) = (limits.memory_bytes, folder.controllers.memory) {
                set_memory(folder, bytes)?;
            }
            if let (Some(cpus), true) = (limits.cpus, folder.controllers.cpu) {
                for (file, value) in cpu_files(folder.version, cpus) {
                    write(&folder.path, file, &value)?;
                }
            }
            if let (Some(pids), true) = (limits.pids, folder.controllers.pids) {
                write(&folder.path, "pids.max", &pids.to_string())?;
            }
        }
        Ok(())
    }

    /// The `cgroup.procs` files through which a process joins: it writes `0` to each.
    pub fn procs_files(&self) -> io::Result<Vec<OwnedFd>> {
        self.process_folders().map(|place| open_procs(&place)).collect()
    }

    /// The descriptors through which a new process is placed here.
    pub(crate) fn join_fds(&self) -> io::Result<JoinFds> {
        let mut join_fds = JoinFds { clone_into: None, others: Vec::new() };
        for (folder, place) in self.folders.iter().zip(self.process_folders()) {
            if folder.version == Version::Two && join_fds.clone_into.is_none() {
                join_fds.clone_into = Some(File::open(place)?.into());
            } else {
                join_fds.others.push(open_procs(&place)?);
            }
        }
        Ok(join_fds)
    }

    /// How many processes the kernel has killed here for lack of memory. Under version 1 those in a
    /// [`child`](Self::child) are counted there and not here.
    pub fn oom_kills(&self) -> u64 {
        self.memory(|folder| match folder.version {
            Version::One => read_keyed(&folder.path, "memory.oom_control", "oom_kill"),
            Version::Two => read_keyed(&folder.path, "memory.events", "oom_kill"),
        })
        .unwrap_or(0)
    }

    /// The peak of memory use, if the kernel reports it.
    pub fn memory_peak(&self) -> Option<u64> {
        self.memory(|folder| match folder.version {
            Version::One => read_number(&folder.path, "memory.max_usage_in_bytes"),
            Version::Two => read_number(&folder.path, "memory.peak"),
        })
    }

    /// The memory in use now, if the kernel reports it.
    pub fn memory_current(&self) -> Option<u64> {
        self.memory(|folder| match folder.version {
            Version::One => read_number(&folder.path, "memory.usage_in_bytes"),
            Version::Two => read_number(&folder.path, "memory.current"),
        })
    }

    /// The processes and threads in it and its children now, if the kernel counts them.
    pub fn pids_current(&self) -> Option<u64> {
        let mut counting = self.folders.iter().filter(|folder| folder.controllers.pids);
        counting.find_map(|folder| read_number(&folder.path, "pids.current"))
    }

    /// Kills every process in it and its children with SIGKILL. They may take a moment to disappear.
    pub fn kill(&self) -> io::Result<()> {
        kill::kill(&self.folders)
    }

    /// The host pids of the processes in it and its children.
    pub fn processes(&self) -> Vec<i32> {
        kill::processes(&self.folders).into_iter().map(|pid| pid.as_raw_nonzero().get()).collect()
    }

    /// Whether it contains no process.
    pub fn is_empty(&self) -> bool {
        kill::processes(&self.folders).is_empty()
    }

    /// Removes it and its children. Waits a little for processes that are still exiting.
    pub fn remove(&self) -> io::Result<()> {
        self.folders.iter().try_for_each(|folder| remove_tree(&folder.path))?;
        self.above.iter().try_for_each(|path| remove_unused(path))
    }

    /// The folders that contain its processes.
    pub(super) fn process_folders(&self) -> impl Iterator<Item = PathBuf> {
        self.folders.iter().map(
            |folder| {
                if needs_leaf(folder) { folder.path.join(LEAF) } else { folder.path.clone() }
            },
        )
    }

    fn memory<T>(&self, read: impl FnMut(&Folder) -> Option<T>) -> Option<T> {
        self.folders.iter().filter(|folder| folder.controllers.memory).find_map(read)
    }
}

/// Whether a folder was created by a worker for its sessions, so that it may be removed with the last.
fn is_workers(path: &Path) -> bool {
    path.file_name()
        .and_then(|name| name.to_str())
        .is_some_and(|name| name.starts_with(super::WORKERS_FOLDER))
}

fn needs_leaf(folder: &Folder) -> bool {
    folder.version == Version::Two && folder.controllers.any()
}

/// Limits memory, including swap where the kernel supports that.
fn set_memory(folder: &Folder, bytes: u64) -> io::Result<()> {
    let (path, value) = (&folder.path, bytes.to_string());
    if folder.version == Version::Two {
        write(path, "memory.max", &value)?;
        return absent_is_fine(write(path, "memory.swap.max", "0"));
    }
    let (plain, with_swap) = ("memory.limit_in_bytes", "memory.memsw.limit_in_bytes");
    // The second may never be below the first, so the order depends on whether the limit rises or falls.
    if write(path, plain, &value).is_ok() {
        return absent_is_fine(write(path, with_swap, &value));
    }
    absent_is_fine(write(path, with_swap, &value))?;
    write(path, plain, &value)
}

fn absent_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The files that limit processor time, and their values.
fn cpu_files(version: Version, cpus: f64) -> Vec<(&'static str, String)> {
    // Limits are validated to be between 0.01 and 1024, so the number is small and positive.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    let quota = ((cpus * f64::from(CPU_PERIOD_US)).round() as u64).max(1000);
    match version {
        Version::One => {
            vec![("cpu.cfs_period_us", CPU_PERIOD_US.to_string()), ("cpu.cfs_quota_us", quota.to_string())]
        }
        Version::Two => vec![("cpu.max", format!("{quota} {CPU_PERIOD_US}"))],
    }
}

/// Removes a folder unless something is in it.
pub(super) fn remove_unused(path: &Path) -> io::Result<()> {
    match fs::remove_dir(path) {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ResourceBusy) => Ok(()),
        other => other,
    }
}

/// Removes a folder and the folders in it; `rmdir` removes a cgroup folder with its files.
fn remove_tree(path: &Path) -> io::Result<()> {
    let entries = match fs::read_dir(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove_tree(&entry.path())?;
        }
    }
    for attempt in 0..MAX_REMOVE_ATTEMPTS {
        match fs::remove_dir(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) if error.kind() == ErrorKind::ResourceBusy => {
                std::thread::sleep(Duration::from_millis(u64::from(attempt) + 1));
            }
            other => return other,
        }
    }
    fs::remove_dir(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_a_processor_is_half_of_the_period() {
        assert_eq!(cpu_files(Version::Two, 0.5), [("cpu.max", "50000 100000".to_owned())]);
        assert_eq!(
            cpu_files(Version::One, 2.0),
            [("cpu.cfs_period_us", "100000".to_owned()), ("cpu.cfs_quota_us", "200000".to_owned())]
        );
    }

    #[test]
    fn the_least_share_is_what_the_kernel_takes() {
        assert_eq!(cpu_files(Version::Two, 0.001), [("cpu.max", "1000 100000".to_owned())]);
    }
}
