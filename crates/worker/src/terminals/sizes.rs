//! The sizes of a terminal: one line for each change, in a file beside the log.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use headwater_protocol::TtySize;

use crate::layout::ExecutionRecord;

const SIZES_NAME: &str = "sizes";
/// More changes than fit are not recorded.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// A size, and when it was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    /// Milliseconds since the start.
    pub(crate) at_ms: u64,
    /// The last record of the log before the change.
    pub(crate) after: u64,
    pub(crate) size: TtySize,
}

/// Appends a change in this execution's folder.
pub(crate) fn append(dir: &Path, change: Change) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.append(true).create(true).mode(0o600).open(dir.join(SIZES_NAME))?;
    if file.metadata()?.len() >= MAX_FILE_BYTES {
        return Ok(());
    }
    let Change { at_ms, after, size } = change;
    // A single write: a killed worker leaves the whole line or none.
    file.write_all(format!("{at_ms} {after} {} {}\n", size.rows, size.cols).as_bytes())
}

/// All sizes, including the first one. Invalid lines are left out.
pub(crate) fn read(dir: &Path, record: &ExecutionRecord) -> Vec<Change> {
    let first = Change { at_ms: 0, after: 0, size: record.spec.tty.unwrap_or_default() };
    let text = fs::read_to_string(dir.join(SIZES_NAME)).unwrap_or_default();
    std::iter::once(first).chain(text.lines().filter_map(parse)).collect()
}

fn parse(line: &str) -> Option<Change> {
    let mut words = line.split(' ');
    let at_ms = words.next()?.parse().ok()?;
    let after = words.next()?.parse().ok()?;
    let size = TtySize { rows: words.next()?.parse().ok()?, cols: words.next()?.parse().ok()? };
    words.next().is_none().then_some(Change { at_ms, after, size })
}
