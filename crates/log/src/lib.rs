//! The durable log of an execution: one writer, any number of readers, and nothing that exists only in memory.
//!
//! # Files
//! A folder for each execution, holding
//! - `stdout`, `stderr` or `output`: the raw bytes of a stream, created with its first byte. The offset of a byte in
//!   the file is always its offset in the stream;
//! - `index`: a record of 64 bytes for each event, record `n` being seq `n` (`record.rs` has the layout).
//!   Each record contains the ends of all streams after it, so the last one has all totals, and any position is
//!   found by binary search;
//! - `message` and `detail`: why the program ended, for people and for programs, if there is more than the reason;
//! - `trim`: the range of records that is no longer kept, if there is one;
//! - `lossless`: an empty file; it exists if a lossless reader has followed this log.
//!
//! # Order of writing
//! 1. bytes go from the pipe to the raw file with `splice(2)`, never through our memory (`writer.rs`);
//! 2. the record that numbers them is written (`index.rs`);
//! 3. followers are woken.
//!
//! A worker killed between 1 and 2 leaves bytes without a record, and [`Log::recover`] writes one. Nothing is
//! synced: the log survives `kill -9` of any process, but the last seconds may not survive a power loss. Then a
//! record may refer to missing bytes; recovery reports them as a gap.
//!
//! # Retention
//! **A log keeps its beginning and its end, each about half of `output_bytes`.** Whole records are dropped after the
//! beginning, oldest first, so the missing part is one range of records, and its bytes in each stream are known
//! exactly. A record costs its bytes plus 64 for itself: a program that prints single bytes cannot fill the disk
//! with records. Disk space is released by punching holes, in steps of a sixteenth of the limit (at most 1 MiB), by
//! which the log may exceed the limit for a moment. A verdict is never dropped.
//!
//! # Lossless readers
//! Output that a lossless reader has not read is not dropped: if the log cannot grow for that reason, the writer is
//! full, and the program waits in its pipe (`lossless.rs`). While it has such readers, the log may exceed its limit by
//! the output that is kept behind them: half of the limit, but at least 1 MiB and at most 16 MiB.
//!
//! # Full disk
//! Disk space for the records of bytes in flight, `exited` and `closed` is always reserved (where the file system
//! supports that), so an execution can end properly when the disk is full.

mod bytes;
mod error;
mod files;
mod index;
mod load;
mod lossless;
mod message;
mod positions;
mod reader;
mod record;
mod recover;
mod retention;
mod size;
mod skip;
mod state;
mod trim;

mod writer;

#[cfg(test)]
mod tests;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use headwater_protocol::{ExecutionId, Seq};
use tokio::sync::watch;

pub use bytes::{ByteReader, Kept};
pub use error::LogError;
pub use lossless::LosslessOptions;
pub use positions::{Ends, Streams};
pub use reader::{Reader, ReaderOptions};
pub use size::{LogSize, measure};
pub use state::{Head, Started};
pub use writer::{Taken, Writer};

use files::{Access, Files};
use load::load;
use lossless::LosslessReaders;
use state::State;

/// A value that is dropped together with a log.
pub trait Guard: std::fmt::Debug + Send + Sync + 'static {}

impl<T: std::fmt::Debug + Send + Sync + 'static> Guard for T {}

/// The limits of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogOptions {
    /// Over this many bytes (counting 64 for each record) only the beginning and the end are kept; at least
    /// [`LogOptions::MIN_OUTPUT_BYTES`].
    pub output_bytes: u64,
    /// How lossless readers are served.
    pub lossless: LosslessOptions,
    /// Whether a lossless reader is expected, or followed the log before a restart: nothing is dropped until it
    /// registers or its grace is over.
    pub expects_reader: bool,
}

impl LogOptions {
    /// The minimum of `output_bytes`: less would not hold a handful of records.
    pub const MIN_OUTPUT_BYTES: u64 = 4096;

    /// A log with this limit and defaults for the rest.
    pub const fn new(output_bytes: u64) -> Self {
        Self { output_bytes, lossless: LosslessOptions::DEFAULT, expects_reader: false }
    }
}

/// The file that exists if a log had a lossless reader.
const LOSSLESS: &str = "lossless";

/// The log of one execution, shared by its writer and all readers.
#[derive(Debug)]
pub struct Log {
    id: ExecutionId,
    files: Files,
    state: watch::Sender<State>,
    /// Dropped with the log, see [`Log::keep`].
    guard: OnceLock<Box<dyn Guard>>,
    lossless: Arc<LosslessReaders>,
}

impl Log {
    /// Creates a log in the folder `dir`, whose parent must exist. The folder may exist if it has no log yet, with or
    /// without an empty index.
    pub fn create(dir: &Path, id: ExecutionId, options: LogOptions) -> Result<(Arc<Self>, Writer), LogError> {
        let files = Files::create(dir)?;
        let log = Self::new(id, files, State::default(), options.lossless);
        if options.expects_reader {
            log.lossless.expect(0);
        }
        let mut writer = Writer::new(Arc::clone(&log), options);
        if let Err(error) = writer.begin() {
            log.files.discard();
            return Err(error);
        }
        Ok((log, writer))
    }

    /// Opens a log whose writer is gone, repairs it, and continues it.
    ///
    /// There must be no other writer; this is not checked.
    pub fn recover(dir: &Path, options: LogOptions) -> Result<(Arc<Self>, Writer), LogError> {
        recover::recover(dir, options)
    }

    /// Opens a log that has no writer any more, read-only. Unfinished records are ignored.
    pub fn open(dir: &Path) -> Result<Arc<Self>, LogError> {
        let files = Files::open(dir, Access::Read)?;
        let loaded = load(&files)?;
        Ok(Self::new(loaded.id, files, loaded.state, LosslessOptions::DEFAULT))
    }

    fn new(id: ExecutionId, files: Files, state: State, lossless: LosslessOptions) -> Arc<Self> {
        let (state, lossless) = (watch::Sender::new(state), Arc::new(LosslessReaders::new(lossless)));
        Arc::new(Self { id, files, state, guard: OnceLock::new(), lossless })
    }

    /// Keeps a guard, such as the hold on its descriptors, as long as the log is open.
    pub fn keep(&self, guard: impl Guard) {
        let _ = self.guard.set(Box::new(guard));
    }

    /// The execution of this log.
    pub const fn id(&self) -> ExecutionId {
        self.id
    }

    /// The folder of this log.
    pub fn dir(&self) -> &Path {
        self.files.dir()
    }

    /// The current end of the log. Cheap.
    pub fn head(&self) -> Head {
        self.state.borrow().head()
    }

    /// A reader that begins after `after`; `Seq(0)` is the beginning.
    pub fn reader(self: &Arc<Self>, after: Seq, options: ReaderOptions) -> Reader {
        Reader::new(Arc::clone(self), self.state.subscribe(), after, options)
    }

    /// A lossless reader: output that it has not read is not dropped, and the program waits for it. A file records that
    /// there was one, for the next worker.
    pub fn lossless_reader(self: &Arc<Self>, after: Seq, options: ReaderOptions) -> Result<Reader, LogError> {
        let reader = self.reader(after, options).hold()?;
        if self.state.borrow().view.writer {
            self.files.touch(LOSSLESS)?;
        }
        Ok(reader)
    }

    /// Waits until there is a verdict or, with `closed`, until the log is closed.
    pub async fn wait(&self, closed: bool) -> Head {
        let mut changes = self.state.subscribe();
        let done = |head: &Head| head.closed || (head.verdict.is_some() && !closed);
        // The sender lives in `self`, so this cannot fail.
        let _ = changes.wait_for(|state| done(&state.head())).await;
        self.head()
    }
}
