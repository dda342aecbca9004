//! The highest limits that a session may request by default: what this machine can provide.

use std::fs;
use std::path::Path;

use headwater_protocol::Limits;

/// Processes and threads: more than builds and servers start, few enough that several sessions fit a kernel.
const PIDS: u64 = 4096;
/// Descriptors of one process.
const OPEN_FILES: u64 = 65_536;
/// The kept output of one execution.
const OUTPUT_BYTES: u64 = 4 << 30;
/// The assumed memory if the machine does not report it.
const UNKNOWN_MEMORY: u64 = 4 << 30;

/// The highest limits of one session: three quarters of the memory, all processors, half of the file system of the data
/// folder. `usual` are the default limits: a small file system limits itself, so the disk limit is never lower.
pub(super) fn max_limits(data: &Path, usual: &Limits) -> Limits {
    let (disk, inodes) = file_system(data).unwrap_or_default();
    let disk = (disk / 2).max(usual.disk_bytes.unwrap_or(0));
    let inodes = (inodes / 2).max(usual.inodes.unwrap_or(0));
    Limits {
        memory_bytes: Some(memory().unwrap_or(UNKNOWN_MEMORY) / 4 * 3),
        #[allow(clippy::cast_precision_loss)] // a number of processors
        cpus: Some(std::thread::available_parallelism().map_or(1, std::num::NonZero::get) as f64),
        pids: Some(PIDS),
        open_files: Some(OPEN_FILES),
        file_bytes: Some(disk),
        disk_bytes: Some(disk),
        inodes: Some(inodes),
        output_bytes: Some(OUTPUT_BYTES),
        wall_ms: None,
        cpu_ms: None,
    }
}

/// The bytes of memory of this machine.
fn memory() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().trim_end_matches(" kB").parse::<u64>().ok()?.checked_mul(1024)
}

/// The bytes and the inodes of the file system that a folder is on, or will be.
fn file_system(data: &Path) -> Option<(u64, u64)> {
    let data = std::path::absolute(data).ok()?;
    let stat = data.ancestors().find_map(|path| rustix::fs::statvfs(path).ok())?;
    Some((stat.f_blocks.saturating_mul(stat.f_frsize), stat.f_files))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_bounds_what_a_session_may_ask_for() {
        let usual = Limits { disk_bytes: Some(1 << 60), inodes: Some(7), ..Limits::default() };
        let most = max_limits(Path::new("/nowhere/at/all"), &usual);
        assert!(most.memory_bytes.is_some_and(|bytes| bytes > 64 << 20 && bytes < 1 << 50));
        assert!(most.cpus.is_some_and(|cpus| (1.0..=4096.0).contains(&cpus)));
        assert_eq!(most.disk_bytes, Some(1 << 60), "never less than a session has anyway");
        let much = Limits { memory_bytes: Some(u64::MAX), ..Limits::default() };
        assert!(much.above(&most).is_some_and(|why| why.contains("limits.memory_bytes")));
    }
}
