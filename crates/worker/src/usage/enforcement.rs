//! Describes how each limit is enforced on this host, so that nobody relies on one that is not.

use std::collections::BTreeMap;

use headwater_sandbox::cgroup::CgroupRoot;

/// If the file system of the data folder has project quotas.
const BY_PROJECT_QUOTA: &str =
    "project quota: the kernel refuses to programs what passes the limit (EDQUOT, ENOSPC). Besides, ";
/// On every host.
const BY_MEASUREMENT: &str = "RLIMIT_FSIZE at what is left, of each file; the workspace is measured while programs run, more \
                        often the faster the disk fills; what runs in a session that is over its limit is ended, and \
                        nothing more starts in it until files are removed. /tmp and /dev/shm are file systems of a \
                        fixed size";

/// How each limit is enforced, by its name.
pub fn describe(cgroups: Option<&CgroupRoot>, project_quotas: bool) -> BTreeMap<String, String> {
    let has = cgroups.map(CgroupRoot::controllers).unwrap_or_default();
    let either = |there: bool, with: &str, without: &str| if there { with } else { without }.to_owned();
    let limits = [
        (
            "memory_bytes",
            either(
                has.memory,
                "cgroup, of the session as a whole",
                "RLIMIT_DATA, of each process: no cgroup",
            ),
        ),
        ("cpus", either(has.cpu, "cgroup bandwidth", "not enforced: no cgroup")),
        (
            "pids",
            either(
                has.pids,
                "cgroup, of the session as a whole",
                "RLIMIT_NPROC, within the session: no cgroup",
            ),
        ),
        ("open_files", "RLIMIT_NOFILE, of each process".to_owned()),
        ("file_bytes", "RLIMIT_FSIZE, of each file".to_owned()),
        ("disk_bytes", either(project_quotas, BY_PROJECT_QUOTA, "") + BY_MEASUREMENT),
        ("inodes", "as disk_bytes".to_owned()),
        (
            "output_bytes",
            "the log keeps the beginning and the end, or the program is ended if asked so".to_owned(),
        ),
        ("wall_ms", "init's own clock".to_owned()),
        ("cpu_ms", "RLIMIT_CPU, of each process, in whole seconds".to_owned()),
    ];
    limits.into_iter().map(|(name, how)| (name.to_owned(), how)).collect()
}
