//! The sizes that a terminal has had: a line for each in a file beside the log, which does not know them.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use headwater_protocol::TtySize;

use crate::layout::ExecutionRecord;

const FILE: &str = "sizes";
/// More changes than this are not remembered.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// A size, and when the terminal got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Change {
    /// Since the start.
    pub(crate) at_ms: u64,
    /// The last record of the log that came before.
    pub(crate) after: u64,
    pub(crate) size: TtySize,
}

/// Remembers a change in this execution's folder.
pub(crate) fn append(dir: &Path, change: Change) -> io::Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options.append(true).create(true).mode(0o600).open(dir.join(FILE))?;
    if file.metadata()?.len() >= MAX_FILE_BYTES {
        return Ok(());
    }
    let Change { at_ms, after, size } = change;
    // One write: a worker that is killed leaves a line or none.
    file.write_all(format!("{at_ms} {after} {} {}\n", size.rows, size.cols).as_bytes())
}

/// All of them, the first one included. What cannot be read is left out.
pub(crate) fn read(dir: &Path, record: &ExecutionRecord) -> Vec<Change> {
    let first = Change { at_ms: 0, after: 0, size: record.spec.tty.unwrap_or_default() };
    let text = fs::read_to_string(dir.join(FILE)).unwrap_or_default();
    std::iter::once(first).chain(text.lines().filter_map(parse)).collect()
}

fn parse(line: &str) -> Option<Change> {
    let mut words = line.split(' ');
    let at_ms = words.next()?.parse().ok()?;
    let after = words.next()?.parse().ok()?;
    let size = TtySize { rows: words.next()?.parse().ok()?, cols: words.next()?.parse().ok()? };
    words.next().is_none().then_some(Change { at_ms, after, size })
}
