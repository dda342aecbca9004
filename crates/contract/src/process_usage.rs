//! What a process uses of its host, for the metrics.

use rustix::process::{Resource, getrlimit};
use rustix::time::{ClockId, clock_gettime};

use crate::v1::ProcessUsage;

/// The memory, descriptors and CPU time of this process. Blocks.
pub fn process_usage() -> ProcessUsage {
    let cpu = clock_gettime(ClockId::ProcessCPUTime);
    let cpu_ms = cpu.tv_sec.saturating_mul(1000).saturating_add(cpu.tv_nsec / 1_000_000);
    ProcessUsage {
        memory_bytes: resident_bytes().unwrap_or(0),
        open_files: open_files(),
        max_files: getrlimit(Resource::Nofile).current.unwrap_or(0),
        cpu_ms: u64::try_from(cpu_ms).unwrap_or(0),
    }
}

/// The second field of `/proc/self/statm` is the number of resident pages.
fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

fn open_files() -> u64 {
    // The listing itself needs a descriptor, which is not counted.
    std::fs::read_dir("/proc/self/fd").map_or(0, |found| found.count().saturating_sub(1) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_counts_its_own_memory_and_descriptors() {
        let before = process_usage();
        assert!(before.memory_bytes > 1 << 20, "{before:?}");
        assert!(before.open_files >= 3 && before.open_files <= before.max_files, "{before:?}");
        // Other tests of this process open and close files, but not hundreds.
        let held: Vec<_> = (0..200).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
        assert!(process_usage().open_files >= before.open_files + 100, "{} are open", held.len());
        assert!(process_usage().cpu_ms >= before.cpu_ms);
    }
}
