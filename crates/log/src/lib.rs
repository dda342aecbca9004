//! The durable log of an execution: one writer, any number of readers, and nothing that is only in memory.
//!
//! # Files
//! A folder for each execution, holding
//! - `stdout`, `stderr` or `output`: the raw bytes of a stream, created with its first byte. A byte's place in
//!   the file is its place in the stream, for ever;
//! - `index`: a record of 64 bytes for each event, record `n` being seq `n` (`record.rs` has the layout).
//!   Each record holds the ends of all streams after it, so the last one alone tells all totals, and any
//!   position is found by halving;
//! - `message` and `detail`: why the program ended, for people and for programs, if there is more than the reason;
//! - `trim`: which range of records is no longer kept, if there is one;
//! - `lossless`: empty; a lossless reader has followed this log.
//!
//! # Order of writing
//! 1. bytes go from the pipe to the raw file with `splice(2)`, never through our memory;
//! 2. the record that numbers them is written;
//! 3. followers are woken.
//!
//! A worker killed between 1 and 2 leaves bytes without a record, and [`Log::recover`] gives them one. Nothing is
//! synced: the log survives `kill -9` of any process, but the last seconds may not survive a loss of power. Then a
//! record may speak of bytes that are not there; recovery states them as a gap.
//!
//! # Retention
//! **What is kept is a beginning and a rolling end, each about half of `output_bytes`.** Whole records are dropped
//! after the beginning, oldest first, so what is missing is one range of records, and its bytes in each stream are
//! stated exactly. A record costs its bytes plus 64 for itself: a program that prints single bytes cannot fill the
//! disk with numbers. Dropped bytes are given back by punching holes, in steps of a sixteenth of the limit (at most
//! 1 MiB), by which the log may be larger than the limit for a moment. A verdict is never dropped.
//!
//! # Lossless readers
//! What a lossless reader has not read is not dropped: if the log cannot grow for that reason, the writer is full, and
//! the program waits in its pipe (`holds.rs`). While such readers are there, the log may be larger than its limit by what
//! stays behind them: half of the limit, but at least 1 MiB and at most 16 MiB.
//!
//! # Full disk
//! Room for the records of the bytes on their way, `exited` and `closed` is always reserved ahead (where the file
//! system can), so an execution can end properly when there is no room for another byte.

mod bytes;
mod error;
mod files;
mod holds;
mod load;
mod look;
mod marks;
mod message;
mod put;
mod reader;
mod record;
mod recover;
mod retain;
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
pub use holds::HoldOptions;
pub use marks::{Ends, Streams};
pub use reader::{Reader, ReaderOptions};
pub use size::{LogSize, measure};
pub use state::{Head, Started};
pub use writer::{Taken, Writer};

use files::{Access, Files};
use holds::Holds;
use load::load;
use state::State;

/// What is dropped together with a log.
pub trait Guard: std::fmt::Debug + Send + Sync + 'static {}

impl<T: std::fmt::Debug + Send + Sync + 'static> Guard for T {}

/// How a log is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogOptions {
    /// Past this many bytes (counting 64 for each record) only the beginning and the end are kept; at least
    /// [`LogOptions::MIN_OUTPUT_BYTES`].
    pub output_bytes: u64,
    /// How lossless readers are served.
    pub holds: HoldOptions,
    /// Whether a lossless reader is about to come, or was there before a restart: nothing is dropped before it is here,
    /// or the grace is over.
    pub expects_reader: bool,
}

impl LogOptions {
    /// Less than this would not hold a handful of records; a lower wish is taken as this.
    pub const MIN_OUTPUT_BYTES: u64 = 4096;

    /// A log of this limit, with defaults for the rest.
    pub const fn new(output_bytes: u64) -> Self {
        Self { output_bytes, holds: HoldOptions::DEFAULT, expects_reader: false }
    }
}

/// The file that says that a log had a lossless reader.
const LOSSLESS: &str = "lossless";

/// The log of one execution, to read from: shared by its writer and all readers.
#[derive(Debug)]
pub struct Log {
    id: ExecutionId,
    files: Files,
    state: watch::Sender<State>,
    /// What a log that was opened to be read counts for.
    released: OnceLock<Box<dyn Guard>>,
    holds: Arc<Holds>,
}

impl Log {
    /// A new log in the folder `dir`, which is created; its parent must be there. A folder that has no log yet will do,
    /// with or without an empty index.
    pub fn create(dir: &Path, id: ExecutionId, options: LogOptions) -> Result<(Arc<Self>, Writer), LogError> {
        let files = Files::create(dir)?;
        let log = Self::new(id, files, State::default(), options.holds);
        if options.expects_reader {
            log.holds.expect(0);
        }
        let mut writer = Writer::new(Arc::clone(&log), options);
        if let Err(error) = writer.write_header() {
            log.files.discard();
            return Err(error);
        }
        Ok((log, writer))
    }

    /// Takes up a log whose writer is gone, mending what it left behind.
    ///
    /// There must be no other writer; nothing here can check that.
    pub fn recover(dir: &Path, options: LogOptions) -> Result<(Arc<Self>, Writer), LogError> {
        recover::recover(dir, options)
    }

    /// Opens a log that nobody writes to any more, read-only. What a writer left unfinished stays out of sight.
    pub fn open(dir: &Path) -> Result<Arc<Self>, LogError> {
        let files = Files::open(dir, Access::Read)?;
        let loaded = load(&files)?;
        Ok(Self::new(loaded.id, files, loaded.state, HoldOptions::DEFAULT))
    }

    fn new(id: ExecutionId, files: Files, state: State, holds: HoldOptions) -> Arc<Self> {
        let (state, holds) = (watch::Sender::new(state), Arc::new(Holds::new(holds)));
        Arc::new(Self { id, files, state, released: OnceLock::new(), holds })
    }

    /// Keeps a guard, such as the hold on its descriptors, for as long as it is open.
    pub fn keep(&self, guard: impl Guard) {
        let _ = self.released.set(Box::new(guard));
    }

    /// Whose log this is.
    pub const fn id(&self) -> ExecutionId {
        self.id
    }

    /// The folder it is in.
    pub fn dir(&self) -> &Path {
        self.files.dir()
    }

    /// How far the log has come. Cheap.
    pub fn head(&self) -> Head {
        self.state.borrow().head()
    }

    /// A reader that begins after `after`; `Seq(0)` is before everything.
    pub fn reader(self: &Arc<Self>, after: Seq, options: ReaderOptions) -> Reader {
        Reader::new(Arc::clone(self), self.state.subscribe(), after, options)
    }

    /// The same for a reader that misses nothing: what it has not read is not dropped, and the program waits for it. A
    /// file remembers that there was one, for the worker that comes after this one.
    pub fn lossless_reader(self: &Arc<Self>, after: Seq, options: ReaderOptions) -> Result<Reader, LogError> {
        let reader = self.reader(after, options).hold()?;
        if self.state.borrow().view.writer {
            self.files.touch(LOSSLESS)?;
        }
        Ok(reader)
    }
}
