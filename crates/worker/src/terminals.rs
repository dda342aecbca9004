//! Terminals: emulators that follow executions on a terminal.
//!
//! Every running execution that is a terminal ([`is_terminal`]) has an emulator that follows its log ([`feeder`]), never the
//! terminal itself: so the screen after a record is the same for every viewer, and a new worker builds it again from the
//! log ([`rebuild`]). The emulator answers queries of programs to their terminal; viewers must not.

mod checkpoint;
mod feeder;
mod hub;
pub(crate) mod live;
pub(crate) mod marks;
pub(crate) mod rebuild;
pub(crate) mod redact;
mod shell;
pub(crate) mod sizes;

use headwater_protocol::{TtySize, now_us};

pub(crate) use feeder::begin;
pub(crate) use hub::{Hub, is_terminal};
pub(crate) use live::Live;

use crate::executions::execution::Execution;
use sizes::Change;

/// Records a new size of an execution's terminal.
pub(crate) fn note_size(execution: &Execution, size: TtySize) {
    let head = execution.head();
    let at_ms = head.started.map_or(0, |started| now_us().saturating_sub(started.at_us) / 1000);
    if let (Some(live), Ok(log)) = (execution.screen(), execution.log()) {
        live.touch();
        return live.resize(&log, at_ms, size);
    }
    let change = Change { at_ms, after: head.last_seq.0, size };
    if let Err(error) = sizes::append(execution.dir(), change) {
        tracing::warn!(execution = %execution.id(), %error, "cannot record a terminal's size");
    }
}
