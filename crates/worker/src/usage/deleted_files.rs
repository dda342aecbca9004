//! Deleted files that programs hold open: they use disk space, and no walk finds them.
//!
//! They are found in the kernel's lists of the session's processes: open descriptors and, where permitted, mapped files.
//! Not found: files in flight in a socket; and none at all on kernels without `CONFIG_PROC_CHILDREN`, which
//! distributions have.

use std::collections::HashSet;
use std::fs;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use headwater_workspace::tree::Usage;

/// The most descriptors of one session that are checked: more are an attack on the worker.
const MAX_DESCRIPTORS: usize = 300_000;

/// The process of a pidfd.
pub(crate) fn pid_of(pidfd: BorrowedFd<'_>) -> Option<i32> {
    let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd())).ok()?;
    let pid = info.lines().find_map(|line| line.strip_prefix("Pid:"))?;
    pid.trim().parse().ok().filter(|pid| *pid > 0)
}

/// Adds the deleted files on the workspace's disk that the processes below this init hold open.
pub(crate) fn add(init: i32, workspace: &Path, usage: &mut Usage) {
    let Ok(mut found) = fs::metadata(workspace).map(|meta| Found::new(&meta)) else {
        return;
    };
    // Without init itself: its own executable is a deleted file after an upgrade.
    for pid in below(init).into_iter().skip(1) {
        for kind in ["fd", "map_files"] {
            found.look(Path::new(&format!("/proc/{pid}/{kind}")), usage);
        }
    }
    usage.too_deep |= found.looked > MAX_DESCRIPTORS;
}

/// The processes below init, which adopts all orphans of its session.
fn below(init: i32) -> Vec<i32> {
    let mut all = vec![init];
    let mut next = 0;
    while let Some(pid) = all.get(next) {
        let found = children(*pid);
        all.extend(found);
        next += 1;
    }
    all
}

/// The children of a process, by thread, as the kernel lists them.
fn children(pid: i32) -> Vec<i32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split(' ').filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// The files that were found, each once. Only files of the session's user: a library of the host that was replaced while
/// a program uses it does not count.
struct Found {
    disk: u64,
    owner: u32,
    seen: HashSet<u64>,
    looked: usize,
}

impl Found {
    fn new(workspace: &fs::Metadata) -> Self {
        Self { disk: workspace.dev(), owner: workspace.uid(), seen: HashSet::new(), looked: 0 }
    }

    fn look(&mut self, folder: &Path, usage: &mut Usage) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            self.looked += 1;
            if self.looked > MAX_DESCRIPTORS {
                return;
            }
            let Ok(file) = fs::metadata(entry.path()) else {
                continue; // closed meanwhile, or not accessible
            };
            let its_own = file.dev() == self.disk && file.uid() == self.owner;
            if file.nlink() == 0 && its_own && self.seen.insert(file.ino()) {
                usage.bytes += file.blocks() * 512;
                usage.inodes += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::AsFd;

    use rustix::process::{PidfdFlags, getpid, pidfd_open};

    use super::*;

    #[test]
    fn a_removed_file_counts_while_it_is_open_and_a_named_one_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mut file = fs::File::create(&path).unwrap();
        file.write_all(&vec![1; 4 << 20]).unwrap();
        file.sync_all().unwrap();
        let meta = file.metadata().unwrap();
        let found = || {
            let (mut found, mut usage) = (Found::new(&meta), Usage::default());
            found.look(Path::new("/proc/self/fd"), &mut usage);
            (found.seen.contains(&meta.ino()), usage.bytes >= 4 << 20)
        };
        assert!(!found().0, "it has a name");
        fs::remove_file(&path).unwrap();
        assert_eq!(found(), (true, true));
        drop(file);
        assert!(!found().0, "it is gone");
    }

    #[test]
    fn a_removed_file_of_another_user_does_not_count() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[1; 4096]).unwrap();
        let meta = file.metadata().unwrap();
        let mut found = Found { owner: meta.uid() + 1, ..Found::new(&meta) };
        found.look(Path::new("/proc/self/fd"), &mut Usage::default());
        assert!(!found.seen.contains(&meta.ino()));
    }

    #[test]
    fn child_processes_are_found_below_their_parent() {
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        let found = below(getpid().as_raw_nonzero().get());
        assert!(found.contains(&i32::try_from(child.id()).unwrap()));
        assert!(!found.contains(&1));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_pidfd_leads_to_its_process() {
        let pidfd = pidfd_open(getpid(), PidfdFlags::empty()).unwrap();
        assert_eq!(pid_of(pidfd.as_fd()), Some(getpid().as_raw_nonzero().get()));
    }
}
