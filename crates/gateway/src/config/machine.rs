//! What an owner may use unless the operator says otherwise: a share of this machine.

use std::fs;
use std::path::Path;

use super::Quota;

/// A session for so many bytes of memory: an idle one takes far less, one that works far more.
const BYTES_OF_SESSION: u64 = 16 << 20;
/// Sessions of an owner, whatever the machine.
const SESSIONS: std::ops::RangeInclusive<u64> = 100..=1000;
/// The least share of a file system that is worth a quota: one that is smaller is its own bound.
const MIN_DISK_BYTES: u64 = 4 << 30;

/// The quota of an owner on the machine with this data folder: sessions by its memory, half of the file system. Executions
/// and processor time have other bounds.
pub(super) fn quota(data: &Path) -> Quota {
    let sessions = memory().map_or(*SESSIONS.start(), |bytes| bytes / BYTES_OF_SESSION);
    Quota {
        sessions: Some(sessions.clamp(*SESSIONS.start(), *SESSIONS.end())),
        disk_bytes: Some((disk(data).unwrap_or(0) / 2).max(MIN_DISK_BYTES)),
        ..Quota::default()
    }
}

/// The bytes of memory of this machine.
fn memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok()?.checked_mul(1024)
}

/// The bytes of the file system that a folder is on, or will be.
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
