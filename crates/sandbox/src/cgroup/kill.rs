//! Killing every process in a cgroup.

use std::collections::HashSet;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal};

use super::files::{read, write};
use super::{Folder, Version};

/// A bound for programs that fork faster than they can be killed, where no process limit stops them.
const MAX_KILL_ROUNDS: u32 = 1000;

/// Kills all processes in these folders and below. The folders are those of one cgroup in several
/// hierarchies.
pub(super) fn kill(folders: &[Folder]) -> io::Result<()> {
    let unified = folders.iter().find(|folder| folder.version == Version::Two);
    let at_once = unified.map(|folder| write(&folder.path, "cgroup.kill", "1"));
    match at_once {
        // Kernels before 5.14 do not have the file.
        Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => one_by_one(folders),
        Some(killed) => killed,
        None => one_by_one(folders),
    }
}

/// Kills processes one by one, without `cgroup.kill`.
pub(super) fn one_by_one(folders: &[Folder]) -> io::Result<()> {
    for folder in folders.iter().filter(|folder| folder.controllers.pids) {
        // No process can fork any more, so no new ones appear.
        write(&folder.path, "pids.max", "0")?;
    }
    for _ in 0..MAX_KILL_ROUNDS {
        if signal_all(folders)? == 0 {
            return Ok(());
        }
        std::thread::yield_now();
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "processes fork faster than they can be killed"))
}

/// Sends SIGKILL to all running processes; returns their number.
fn signal_all(folders: &[Folder]) -> io::Result<usize> {
    let open = |pid| Some((pid, rustix::process::pidfd_open(pid, PidfdFlags::empty()).ok()?));
    let opened: Vec<(Pid, OwnedFd)> = processes(folders).into_iter().filter_map(open).collect();
    // A pid that is still listed now was not reused before it was opened.
    let still = processes(folders);
    let mut count = 0;
    for (_, process) in opened.iter().filter(|(pid, _)| still.contains(pid)) {
        match rustix::process::pidfd_send_signal(process, Signal::KILL) {
            Ok(()) => count += 1,
            Err(Errno::SRCH) => {}
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(count)
}

/// All processes in these folders and below.
pub(super) fn processes(folders: &[Folder]) -> HashSet<Pid> {
    let mut all = HashSet::new();
    for folder in folders {
        collect(&folder.path, &mut all);
    }
    all
}

fn collect(path: &Path, all: &mut HashSet<Pid>) {
    let text = read(path, "cgroup.procs").unwrap_or_default();
    all.extend(text.lines().filter_map(|line| Pid::from_raw(line.parse().ok()?)));
    let folders = std::fs::read_dir(path).into_iter().flatten().flatten();
    for entry in folders.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
        collect(&entry.path(), all);
    }
}
