//! Recovers a log whose writer was killed.

use std::path::Path;
use std::sync::Arc;

use headwater_protocol::{ExecutionId, Stream};

use super::files::{Access, Files, write_full};
use super::load::{Loaded, load};
use super::record::{RECORD_BYTES, encode_header};
use super::{LOSSLESS, Log, LogError, LogOptions, Writer};

/// Repairs the log and returns a new writer for it.
pub(crate) fn recover(dir: &Path, options: LogOptions) -> Result<(Arc<Log>, Writer), LogError> {
    let files = Files::open(dir, Access::Write)?;
    repair_header(&files)?;
    let loaded = load(&files)?;
    repair_sizes(&files, &loaded)?;
    let log = Log::new(loaded.id, files, loaded.state, options.lossless);
    if options.expects_reader || log.files.path(LOSSLESS).exists() {
        let trim = log.state.borrow().view.trim;
        log.lossless.expect_back(trim.map_or(0, |trim| trim.tail.cost()));
    }
    let mut writer = Writer::new(Arc::clone(&log), options);
    writer.resume(loaded.at_us)?;
    Ok((log, writer))
}

/// Writes an incomplete header again, if the folder's name is the id of the execution.
fn repair_header(files: &Files) -> Result<(), LogError> {
    if files.index_size()? >= RECORD_BYTES {
        return Ok(());
    }
    let name = files.dir().file_name().and_then(|name| name.to_str());
    let Some(id) = name.and_then(|name| name.parse::<ExecutionId>().ok()) else {
        return Ok(()); // `load` reports the error
    };
    write_full(files.index(), &encode_header(id), 0)
        .map_err(|e| LogError::io("write", &files.path("index"), e))
}

/// Sets the sizes of the files according to the state. First stores the range that is lost, because afterwards it
/// cannot be distinguished from zeros.
fn repair_sizes(files: &Files, loaded: &Loaded) -> Result<(), LogError> {
    let view = &loaded.state.view;
    if let Some(trim) = view.trim.filter(|_| loaded.trim_changed) {
        trim.store(files)?;
    }
    let size = (view.last.seq + 1) * RECORD_BYTES;
    if files.index_size()? != size {
        files.resize_index(size)?;
    }
    for stream in Stream::ALL {
        let end = view.last.ends.of(stream);
        if files.raw_state(stream)?.0 < end {
            files.resize_raw(stream, end)?;
        }
    }
    Ok(())
}
