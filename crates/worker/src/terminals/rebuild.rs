//! Rebuilds a screen from the last checkpoint, the sizes, and the log after it.

use std::sync::Arc;

use headwater_log::{Log, LogError, Reader, ReaderOptions};
use headwater_protocol::{EventKind, Seq};
use headwater_screen::{Options, Screen};

use super::checkpoint::Checkpoint;
use super::hub::Hub;
use super::live::{Live, Shown, show};
use super::sizes::{self, Change};
use crate::executions::execution::Execution;

/// Without a checkpoint, only this much of the end of a longer log is read.
const MAX_REPLAY_BYTES: u64 = 8 << 20;

/// The beginning of a screen: a checkpoint, and what follows.
pub(crate) struct Beginning {
    pub(super) screen: Screen,
    pub(super) seq: u64,
    pub(super) sizes: u64,
    /// The record with the prompt at which the shell waits for a command.
    pub(super) prompt: Option<u64>,
    pub(super) ahead: Vec<Change>,
}

/// The scrollback, which is also bounded by the log: its kept end must be enough to draw the scrollback again.
fn buffer_bytes(hub: &Hub, execution: &Execution) -> usize {
    let of_log = usize::try_from(execution.record().output_bytes / 4).unwrap_or(usize::MAX);
    hub.config.buffer_bytes.min(of_log)
}

fn begin(hub: &Hub, execution: &Execution) -> Beginning {
    let all = sizes::read(execution.dir(), execution.record());
    let kept = Checkpoint::read(execution.dir());
    let kept = kept.filter(|kept| kept.seq <= execution.head().last_seq.0);
    let sizes = kept.as_ref().map_or(1, |kept| kept.sizes);
    let ahead = all.iter().skip(usize::try_from(sizes).unwrap_or(usize::MAX)).copied().collect();
    let first = all.first().map_or_else(Default::default, |first| first.size);
    let (rows, cols) = kept.as_ref().map_or((first.rows, first.cols), |kept| (kept.rows, kept.cols));
    let mut screen = Screen::new(&Options {
        rows,
        cols,
        buffer_bytes: buffer_bytes(hub, execution),
        secret: hub.secret(execution.id()),
    });
    if let Some(kept) = &kept {
        screen.feed(&kept.snapshot);
        screen.sleep();
    }
    let prompt = kept.as_ref().and_then(|kept| kept.prompt);
    Beginning { screen, seq: kept.map_or(0, |kept| kept.seq), sizes, prompt, ahead }
}

/// The emulator of a running execution, at its last checkpoint.
pub(crate) fn live(hub: &Hub, execution: &Execution) -> Arc<Live> {
    Live::new(execution.dir(), begin(hub, execution))
}

/// An empty emulator, for a log that cannot be read again.
pub(crate) fn empty(hub: &Hub, execution: &Execution) -> Arc<Live> {
    let all = sizes::read(execution.dir(), execution.record());
    let size = all.last().map_or_else(Default::default, |last| last.size);
    let options = Options {
        rows: size.rows,
        cols: size.cols,
        buffer_bytes: buffer_bytes(hub, execution),
        secret: hub.secret(execution.id()),
    };
    let sizes = u64::try_from(all.len()).unwrap_or(u64::MAX);
    let seq = execution.head().last_seq.0;
    let screen = Screen::new(&options);
    Live::new(execution.dir(), Beginning { screen, seq, sizes, prompt: None, ahead: Vec::new() })
}

/// One record at a time: a size may be between any two.
pub(crate) fn reader(log: &Arc<Log>, after: u64) -> Reader {
    log.reader(Seq(after), ReaderOptions { max_bytes: 1, ..ReaderOptions::default() })
}

/// The screen of an execution that has ended. Reads files, so it may block for a moment.
pub(crate) fn shown(hub: &Hub, execution: &Execution, scrollback: Option<usize>) -> Result<Shown, LogError> {
    let Beginning { mut screen, seq, ahead, .. } = begin(hub, execution);
    let log = execution.log().map_err(|_| LogError::NotClosed)?;
    let from_its_end = seq == 0 && log.head().ends.total() > MAX_REPLAY_BYTES;
    let tail = from_its_end.then_some(MAX_REPLAY_BYTES);
    let mut reader = log.reader(Seq(seq), ReaderOptions { max_bytes: 1, tail, ..ReaderOptions::default() });
    let mut ahead = ahead.into_iter().peekable();
    let mut last = seq;
    while let Some(event) = reader.try_next()? {
        let before = |change: &Change| change.after < event.seq.0;
        while let Some(change) = ahead.next_if(before) {
            screen.resize(change.size.rows, change.size.cols);
        }
        if let EventKind::Output { bytes, .. } = &event.kind {
            screen.feed(bytes);
        }
        last = event.seq.0;
    }
    for change in ahead {
        screen.resize(change.size.rows, change.size.cols);
    }
    Ok(show(&mut screen, last, scrollback))
}
