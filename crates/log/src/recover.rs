//! Taking up a log whose writer was killed.

use std::path::Path;
use std::sync::Arc;

use headwater_protocol::{ExecutionId, Stream};

use super::files::{Access, Files, write_full};
use super::load::{Loaded, load};
use super::record::{RECORD_BYTES, encode_header};
use super::{LOSSLESS, Log, LogError, LogOptions, Writer};

/// Mends the log and gives it a writer.
pub(crate) fn recover(dir: &Path, options: LogOptions) -> Result<(Arc<Log>, Writer), LogError> {
    let files = Files::open(dir, Access::Write)?;
    mend_header(&files)?;
    let loaded = load(&files)?;
    mend_sizes(&files, &loaded)?;
    let log = Log::new(loaded.id, files, loaded.state, options.holds);
    if options.expects_reader || log.files.path(LOSSLESS).exists() {
        let trim = log.state.borrow().view.trim;
        log.holds.expect_back(trim.map_or(0, |trim| trim.tail.cost()));
    }
    let mut writer = Writer::new(Arc::clone(&log), options);
    writer.take_up(loaded.at_us)?;
    Ok((log, writer))
}

/// A header that was never written whole is written again, if the folder's name says whose log this is.
fn mend_header(files: &Files) -> Result<(), LogError> {
    if files.index_size()? >= RECORD_BYTES {
        return Ok(());
    }
    let name = files.dir().file_name().and_then(|name| name.to_str());
    let Some(id) = name.and_then(|name| name.parse::<ExecutionId>().ok()) else {
        return Ok(()); // loading says what is wrong
    };
    write_full(files.index(), &encode_header(id), 0)
        .map_err(|e| LogError::io("write", &files.path("index"), e))
}

/// Brings the files to the sizes that the state speaks of; first of all remembers what is lost, for afterwards
/// there is no telling it from zeros.
fn mend_sizes(files: &Files, loaded: &Loaded) -> Result<(), LogError> {
    let view = &loaded.state.view;
    if let Some(trim) = view.trim.filter(|_| loaded.trim_changed) {
        trim.store(files)?;
    }
    let size = (view.last.seq + 1) * RECORD_BYTES;
    if files.index_size()? != size {
        files.cut_index(size)?;
    }
    for stream in Stream::ALL {
        let end = view.last.ends.of(stream);
        if files.raw_state(stream)?.0 < end {
            files.cut_raw(stream, end)?;
        }
    }
    Ok(())
}
