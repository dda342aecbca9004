//! Describes how each limit is enforced on this host, so that operators know which limits they can rely on.

use std::collections::BTreeMap;

use headwater_sandbox::cgroup::CgroupRoot;

/// Used if the file system of the data folder has project quotas. `tests/vm/quotas.sh` matches the beginning.
const BY_PROJECT_QUOTA: &str =
    "project quota: the kernel refuses writes that exceed the limit (EDQUOT, ENOSPC). In addition, ";
/// Used on every host.
const BY_MEASUREMENT: &str = concat!(
    "RLIMIT_FSIZE limits each file to the space that is left; the workspace is measured while programs run, ",
    "more often if the disk fills fast; programs of a session that exceeds its limit are ended, and none ",
    "can start until files are removed. /tmp and /dev/shm are file systems of a fixed size",
);

/// How each limit is enforced, by its name.
pub fn describe(cgroups: Option<&CgroupRoot>, project_quotas: bool) -> BTreeMap<String, String> {
    let has = cgroups.map(CgroupRoot::controllers).unwrap_or_default();
    let either = |first: bool, with: &str, without: &str| if first { with } else { without }.to_owned();
    let by_cgroup = "cgroup, for the whole session";
    let limits = [
        ("memory_bytes", either(has.memory, by_cgroup, "RLIMIT_DATA, for each process: no cgroup")),
        ("cpus", either(has.cpu, "cgroup bandwidth", "not enforced: no cgroup")),
        ("pids", either(has.pids, by_cgroup, "RLIMIT_NPROC, in the session: no cgroup")),
        ("open_files", "RLIMIT_NOFILE, for each process".to_owned()),
        ("file_bytes", "RLIMIT_FSIZE, for each file".to_owned()),
        ("disk_bytes", either(project_quotas, BY_PROJECT_QUOTA, "") + BY_MEASUREMENT),
        ("inodes", "like disk_bytes".to_owned()),
        (
            "output_bytes",
            "the log keeps the beginning and the end, or the program is ended if requested".to_owned(),
        ),
        ("wall_ms", "a clock in the session's init".to_owned()),
        ("cpu_ms", "RLIMIT_CPU, for each process, in whole seconds".to_owned()),
    ];
    limits.into_iter().map(|(name, how)| (name.to_owned(), how)).collect()
}
