//! Loads the state of a log from its last record and the sizes of its files, without reading all of it.

use std::sync::Arc;

use headwater_protocol::{ExecutionId, Stream};

use super::files::Files;
use super::positions::{Ends, Position};
use super::record::{Body, MAX_SEQ, RECORD_BYTES, Record, decode_header};
use super::state::{Started, State};
use super::trim::Trim;
use super::{LogError, message};

/// The state of a log on disk.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub id: ExecutionId,
    pub state: State,
    /// The time of the last intact record.
    pub at_us: u64,
    /// Whether the range in `state` differs from the file `trim`, because raw files are too short.
    pub trim_changed: bool,
}

/// Loads a log. Records after the last intact one are ignored; bytes that a record refers to and that are missing from
/// the raw file become part of the range that is not kept.
pub(crate) fn load(files: &Files) -> Result<Loaded, LogError> {
    let id = decode_header(&files.read_index(0, 1)?)
        .ok_or_else(|| LogError::corrupt(&files.path("index"), "its header is damaged"))?;
    let stored_trim = Trim::load(files)?;
    let (found_seq, found) = last_intact(files, stored_trim)?;
    let mut state = State::default();
    state.view.trim = stored_trim;
    state.view.last = found.map_or_else(Position::default, |record| record.position(found_seq));
    state.view.closed = found.is_some_and(|record| record.body == Body::Closed);
    if let Some(record) = found.filter(|record| record.exited_seq != 0) {
        load_verdict(files, &mut state, record.exited_seq)?;
    }
    continue_after_trim(&mut state);
    state_lost_bytes(files, &mut state)?;
    let at_us = found.map_or(0, |record| record.at_us);
    load_start(files, &mut state, at_us)?;
    let trim_changed = state.view.trim != stored_trim;
    Ok(Loaded { id, state, at_us, trim_changed })
}

/// The last intact record. Only a damaged index needs more than two reads, and the range that is not kept is skipped,
/// so the work is bounded by the records that are kept.
fn last_intact(files: &Files, trim: Option<Trim>) -> Result<(u64, Option<Record>), LogError> {
    let mut seq = (files.index_size()? / RECORD_BYTES).saturating_sub(1).min(MAX_SEQ);
    while seq > 0 {
        match files.record(seq) {
            Ok(record) => return Ok((seq, Some(record))),
            Err(LogError::Corrupt { .. }) => seq -= 1,
            Err(error) => return Err(error),
        }
        if let Some(trim) = trim.filter(|trim| trim.contains(seq)) {
            seq = trim.head.seq;
        }
    }
    Ok((0, None))
}

fn load_verdict(files: &Files, state: &mut State, seq: u64) -> Result<(), LogError> {
    let record = files.record(seq)?;
    let Body::Exited(numbers) = record.body else {
        return Err(LogError::corrupt(&files.path("index"), format!("record `{seq}` is not a verdict")));
    };
    let message = message::load(files, numbers.message)?;
    let detail = if numbers.has_detail { message::load_detail(files)? } else { None };
    state.verdict = Some(Arc::new(numbers.verdict(&record.ends, message, detail)));
    state.view.exited = Some(record.position(seq));
    Ok(())
}

/// An index that was cut off inside or before the range that is not kept continues after it.
fn continue_after_trim(state: &mut State) {
    let view = &mut state.view;
    if let Some(trim) = view.trim.as_mut().filter(|trim| view.last.seq < trim.tail.seq) {
        if view.last.seq < trim.head.seq {
            trim.head = view.last;
        }
        view.last = trim.tail;
        view.closed = false;
    }
}

/// If a raw file is shorter than the records require, everything from there on counts as not kept.
fn state_lost_bytes(files: &Files, state: &mut State) -> Result<(), LogError> {
    let mut sizes = Ends::default();
    for stream in Stream::ALL {
        sizes = sizes.plus(stream, files.raw_state(stream)?.0);
    }
    let view = &mut state.view;
    if view.last.ends.within(&sizes) {
        return Ok(());
    }
    let exists = |position: &Position| position.ends.within(&sizes);
    let head_end = view.trim.map_or(view.last.seq, |trim| trim.head.seq);
    let head = files.last_where(Position::default(), head_end, exists)?;
    // `closed` has no bytes and stays the last event.
    let seq = view.last.seq - u64::from(view.closed);
    let tail = Position { seq, ends: view.last.ends };
    view.trim = Some(Trim { head, tail });
    Ok(())
}

fn load_start(files: &Files, state: &mut State, fallback_us: u64) -> Result<(), LogError> {
    state.view.base_us = fallback_us;
    if state.view.last.seq == 0 {
        return Ok(());
    }
    match files.record(1) {
        Ok(record) => {
            state.view.base_us = record.at_us;
            if let Body::Started { pid } = record.body {
                state.started = Some(Started { pid, at_us: record.at_us });
            }
            Ok(())
        }
        Err(LogError::Corrupt { .. }) => Ok(()),
        Err(error) => Err(error),
    }
}
