//! The durable log of an execution: one writer, any number of readers, and nothing that is only in memory.
//!
//! # Files
//! A folder for each execution, holding
//! - `stdout`, `stderr` or `output`: the raw bytes of a stream, created with its first byte. A byte's place in
//!   the file is its place in the stream, for ever;
//! - `index`: a record of 64 bytes for each event, record `n` being seq `n` (`record.rs` has the layout).
//!   Each record holds the ends of all streams after it, so the last one alone tells all totals, and any
//!   position is found by halving;
//! - `message`: the words of a verdict, if it has any;
//! - `trim`: which range of records is no longer kept, if there is one.
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
//! # Full disk
//! Room for the records of the bytes on their way, `exited` and `closed` is always reserved ahead (where the file
//! system can), so an execution can end properly when there is no room for another byte.

mod bytes;
mod error;
mod files;
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
pub use marks::{Ends, Streams};
pub use reader::{Reader, ReaderOptions};
pub use size::{LogSize, measure};
pub use state::{Head, Started};
pub use writer::{Taken, Writer};

use crate::descriptors::Hold;
use files::{Access, Files};
use load::load;
use state::State;

/// How a log is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogOptions {
    /// Past this many bytes (counting 64 for each record) only the beginning and the end are kept; at least
    /// [`LogOptions::MIN_OUTPUT_BYTES`].
    pub output_bytes: u64,
}

impl LogOptions {
    /// Less than this would not hold a handful of records; a lower wish is taken as this.
    pub const MIN_OUTPUT_BYTES: u64 = 4096;
}

/// The log of one execution, to read from: shared by its writer and all readers.
#[derive(Debug)]
pub struct Log {
    id: ExecutionId,
    files: Files,
    state: watch::Sender<State>,
    /// What a log that was opened to be read counts for.
    descriptors: OnceLock<Hold>,
}

impl Log {
    /// A new log in the folder `dir`, which is created; its parent must be there. A folder that has no log yet will do,
    /// with or without an empty index.
    pub fn create(dir: &Path, id: ExecutionId, options: LogOptions) -> Result<(Arc<Self>, Writer), LogError> {
        let files = Files::create(dir)?;
        let log = Self::new(id, files, State::default());
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
        Ok(Self::new(loaded.id, files, loaded.state))
    }

    fn new(id: ExecutionId, files: Files, state: State) -> Arc<Self> {
        Arc::new(Self { id, files, state: watch::Sender::new(state), descriptors: OnceLock::new() })
    }

    /// Keeps the hold on its descriptors for as long as it is open.
    pub(crate) fn keep(&self, descriptors: Hold) {
        let _ = self.descriptors.set(descriptors);
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
}
