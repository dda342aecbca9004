//! The mount points of the cgroup hierarchies, and the folders of this process in them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{Controllers, Folder, Version};

/// The folders of this process in every mounted hierarchy, from the texts of `/proc/self/mountinfo` and
/// `/proc/self/cgroup`. The controllers of version 2 are not known yet: they are listed in its folder.
///
/// A hierarchy that is mounted more than once is returned once, by its first writable mount if there is one.
pub(super) fn own_folders(mountinfo: &str, own: &str) -> Vec<Folder> {
    let mut found: Vec<Mounted> = mountinfo.lines().filter_map(|line| folder(line, own)).collect();
    found.sort_by_key(|mounted| mounted.read_only);
    let mut seen = HashSet::new();
    found.into_iter().filter(|mounted| seen.insert(mounted.device)).map(|mounted| mounted.folder).collect()
}

/// A folder as seen through one of the mounts of its hierarchy.
struct Mounted<'a> {
    /// The device number of the hierarchy.
    device: &'a str,
    read_only: bool,
    folder: Folder,
}

fn folder<'a>(line: &'a str, own: &str) -> Option<Mounted<'a>> {
    let (mount, source) = line.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(2);
    let device = mount.next()?;
    let (root, point) = (unescape(mount.next()?), unescape(mount.next()?));
    let read_only = mount.next()?.split(',').any(|option| option == "ro");
    let mut source = source.split(' ');
    let version = match source.next()? {
        "cgroup" => Version::One,
        "cgroup2" => Version::Two,
        _ => return None,
    };
    let options = source.nth(1)?;
    let controllers = match version {
        Version::One => Controllers::parse(options, ','),
        Version::Two => Controllers::default(),
    };
    let path = own.lines().find_map(|line| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (list, path) = (parts.next()?, parts.next()?);
        let ours = match version {
            Version::One => {
                !list.is_empty() && list.split(',').all(|name| options.split(',').any(|o| o == name))
            }
            Version::Two => list.is_empty(),
        };
        ours.then_some(path)
    })?;
    // A mount may show only a part of the hierarchy; we cannot act outside it.
    let below = Path::new(path).strip_prefix(&root).ok()?;
    let folder = Folder { path: Path::new(&point).join(below), version, controllers };
    Some(Mounted { device, read_only, folder })
}

/// The kernel writes spaces in paths as octal escapes.
fn unescape(text: &str) -> PathBuf {
    let plain = [(r"\040", " "), (r"\011", "\t"), (r"\012", "\n"), (r"\134", r"\")];
    plain.into_iter().fold(text.to_owned(), |text, (code, plain)| text.replace(code, plain)).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unified_host_has_one_folder() {
        let mounts = "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let folders = own_folders(mounts, "0::/user.slice/user-1000.slice/run-1.scope\n");
        let paths: Vec<_> = folders.iter().map(|f| f.path.to_str().unwrap()).collect();
        assert_eq!(paths, ["/sys/fs/cgroup/user.slice/user-1000.slice/run-1.scope"]);
    }

    #[test]
    fn a_host_with_both_has_one_for_each_hierarchy() {
        let mounts = "31 1 0:1 / /c/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                      32 1 0:2 / /c/memory rw - cgroup cgroup rw,memory\n\
                      33 1 0:3 / /c/sys rw - cgroup cgroup rw,name=systemd\n\
                      34 1 0:4 / /c/unified rw - cgroup2 cgroup2 rw\n\
                      35 1 0:5 / /tmp rw - tmpfs tmpfs rw\n";
        let own = "4:memory:/a b\n3:cpu,cpuacct:/\n1:name=systemd:/\n0::/x\n";
        let folders = own_folders(mounts, own);
        let paths: Vec<_> = folders.iter().map(|f| f.path.to_str().unwrap()).collect();
        assert_eq!(paths, ["/c/cpu/", "/c/memory/a b", "/c/sys/", "/c/unified/x"]);
        assert!(folders[0].controllers.cpu && !folders[0].controllers.memory);
        assert!(!folders[2].controllers.any());
    }

    #[test]
    fn a_hierarchy_that_is_mounted_twice_counts_once() {
        let mounts = "31 1 0:4 /part /elsewhere rw - cgroup2 cgroup2 rw\n\
                      32 1 0:4 / /c/unified rw - cgroup2 cgroup2 rw\n\
                      33 1 0:4 / /tmp/again rw - cgroup2 other rw\n\
                      34 1 0:5 / /c/memory rw - cgroup cgroup rw,memory\n\
                      35 1 0:5 / /tmp/memory rw - cgroup cgroup rw,memory\n";
        let folders = own_folders(mounts, "4:memory:/a\n0::/x\n");
        let paths: Vec<_> = folders.iter().map(|f| f.path.to_str().unwrap()).collect();
        assert_eq!(paths, ["/c/unified/x", "/c/memory/a"]);
    }

    #[test]
    fn of_several_mounts_one_that_can_be_written_to_is_used() {
        let mounts = "30 23 0:26 / /seen ro,nosuid - cgroup2 cgroup2 rw\n\
                      31 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n\
                      32 23 0:26 / /mnt/again rw - cgroup2 cgroup2 rw\n";
        let paths = |mounts| -> Vec<PathBuf> {
            own_folders(mounts, "0::/a\n").into_iter().map(|folder| folder.path).collect()
        };
        assert_eq!(paths(mounts), [PathBuf::from("/sys/fs/cgroup/a")]);
        assert_eq!(paths(mounts.lines().next().unwrap()), [PathBuf::from("/seen/a")]);
    }

    #[test]
    fn a_mount_that_does_not_reach_our_own_folder_is_of_no_use() {
        let mounts = "31 1 0:1 /docker/1 /c/memory rw - cgroup cgroup rw,memory\n";
        assert!(own_folders(mounts, "4:memory:/other\n").is_empty());
        let folders = own_folders(mounts, "4:memory:/docker/1/below\n");
        assert_eq!(folders[0].path.to_str().unwrap(), "/c/memory/below");
    }
}
