//! The vocabulary of Headwater: every type that crosses a boundary between processes, and nothing that does
//! I/O.
//!
//! A session is an isolated environment; an execution is one program run in it; an execution's log is a
//! numbered list of [`Event`]s, and a [`Seq`] is the resume token everywhere.

pub mod api;
pub mod build;
mod clock;
pub mod conversation;
mod detail;
mod documented;
mod event;
mod execution;
pub mod frames;
mod id;
mod limits;
mod place;
mod session;
#[cfg(feature = "config")]
pub mod settings;
mod shell;
mod spec;
mod text;
pub mod units;

pub use clock::{now_ms, now_us};
pub use detail::{ExitDetail, LimitKind};
pub use event::{Event, EventKind, Reason, Seq, Stream, Usage, Verdict};
pub use execution::{Execution, ExecutionState, LogRemoved, Process};
pub use id::{BuildId, ExecutionId, IdError, SessionId, SnapshotId};
pub use limits::{LimitError, Limits};
pub use place::{Place, PlaceMode};
pub use session::{
    LOCAL_OWNER, Network, OWNER_METADATA, SandboxKind, Session, SessionSpec, SessionState, SessionUsage,
};
pub use shell::shell_quote;
pub use spec::{
    CALL_METADATA, CONVERSATION_METADATA, Children, Command, OnOutputLimit, SpecError, StartSpec, Stdin,
    TOOL_CALL_METADATA, TtySize,
};
pub use text::{Utf8Carry, Utf8Stream};
