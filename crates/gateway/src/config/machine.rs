//! The default quota of an owner: a share of this machine.

use std::fs;
use std::path::Path;

use super::Quota;

/// An owner may have one session per this many bytes of memory: an idle session takes far less, a busy one
/// far more.
const BYTES_OF_SESSION: u64 = 16 << 20;
/// The range of the quota of sessions, whatever the machine.
const SESSIONS: std::ops::RangeInclusive<u64> = 100..=1000;
/// The minimum disk quota in bytes: a smaller file system is a limit by itself.
const MIN_DISK_BYTES: u64 = 4 << 30;

/// The default quota of an owner: sessions by the machine's memory, and half of the data folder's file
/// system. Executions and CPU time have other limits.
pub(super) fn quota(data: &Path) -> Quota {
    let sessions = memory().map_or(*SESSIONS.start(), |bytes| bytes / BYTES_OF_SESSION);
    Quota {
        sessions: Some(sessions.clamp(*SESSIONS.start(), *SESSIONS.end())),
        disk_bytes: Some((disk(data).unwrap_or(0) / 2).max(MIN_DISK_BYTES)),
        ..Quota::default()
    }
}

/// The size of this machine's memory, in bytes.
fn memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok()?.checked_mul(1024)
}

/// The size of the file system of a folder that may not exist yet, in bytes.
fn disk(data: &Path) -> Option<u64> {
    let data = std::path::absolute(data).ok()?;
    let stat = data.ancestors().find_map(|path| rustix::fs::statvfs(path).ok())?;
    Some(stat.f_blocks.saturating_mul(stat.f_frsize))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_has_a_share_of_the_machine() {
        let quota = quota(Path::new("/nowhere/at/all"));
        assert!(quota.sessions.is_some_and(|sessions| SESSIONS.contains(&sessions)));
        assert!(quota.disk_bytes.is_some_and(|bytes| bytes >= MIN_DISK_BYTES));
        assert_eq!((quota.executions, quota.cpu_per_day), (None, None));
    }
}
