//! The disk usage of a log.

use std::path::Path;

use super::Log;

/// All files that the folder of an execution may have; `execution.json`, `sizes`, `screen` and `replays` are stored
/// beside the log.
const FILES: [&str; 11] = [
    "index",
    "stdout",
    "stderr",
    "output",
    "message",
    "detail",
    "trim",
    "execution.json",
    "sizes",
    "screen",
    "replays",
];
/// The kernel counts allocated blocks in units of 512 bytes, whatever the block size of the file system is.
const BLOCK_BYTES: u64 = 512;
/// The block of the folder itself.
const FOLDER_BYTES: u64 = 4096;

/// The disk usage of a log, and when it was last written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LogSize {
    /// Allocated bytes: holes do not count.
    pub bytes: u64,
    /// The time of the last record, in milliseconds since 1970.
    pub changed_at_ms: u64,
}

/// Measures the folder of an execution. Files that cannot be read count as empty.
pub fn measure(dir: &Path) -> LogSize {
    let mut size = LogSize { bytes: FOLDER_BYTES, changed_at_ms: 0 };
    for name in FILES {
        let Ok(stat) = rustix::fs::lstat(dir.join(name)) else { continue };
        size.bytes = size.bytes.saturating_add(u64::try_from(stat.st_blocks).unwrap_or(0) * BLOCK_BYTES);
        if name == "index" {
            let seconds = u64::try_from(stat.st_mtime).unwrap_or(0);
            size.changed_at_ms = seconds.saturating_mul(1000).saturating_add(stat.st_mtime_nsec / 1_000_000);
        }
    }
    size
}

impl Log {
    /// The bytes that are kept, computed from the index without reading the disk.
    pub fn kept_bytes(&self) -> u64 {
        let view = self.state.borrow().view;
        let gone = view.trim.map_or(0, |trim| trim.tail.cost().saturating_sub(trim.head.cost()));
        view.last.cost().saturating_sub(gone)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use headwater_protocol::{ExecutionId, Reason, Stream, Verdict};

    use super::*;
    use crate::{LogOptions, Writer};

    fn written(folder: &Path, limit: u64, bytes: usize) -> (Arc<Log>, Writer) {
        let options = LogOptions::new(limit);
        let (log, mut writer) = Log::create(&folder.join("log"), ExecutionId::random(), options).unwrap();
        writer.started(1, 1).unwrap();
        let piece = vec![b'x'; 64 << 10];
        for _ in 0..bytes / piece.len() {
            writer.append(Stream::Stdout, &piece).unwrap();
        }
        (log, writer)
    }

    #[test]
    fn a_log_counts_what_it_takes_and_its_holes_do_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let (log, mut writer) = written(folder.path(), 64 << 20, 8 << 20);
        assert!((8 << 20..9 << 20).contains(&log.kept_bytes()), "{}", log.kept_bytes());
        writer.exited(&Verdict::new(Reason::Exited), 2).unwrap();
        writer.closed(3).unwrap();
        let whole = measure(&folder.path().join("log"));
        assert!((8 << 20..9 << 20).contains(&whole.bytes), "{whole:?}");
        assert!(whole.changed_at_ms > 0);
        let folder = tempfile::tempdir().unwrap();
        let (log, _writer) = written(folder.path(), 1 << 20, 8 << 20);
        assert!(log.kept_bytes() < 2 << 20, "{}", log.kept_bytes());
        let trimmed = measure(&folder.path().join("log"));
        assert!(trimmed.bytes < 2 << 20, "{trimmed:?}");
    }
}
