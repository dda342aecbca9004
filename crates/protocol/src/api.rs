//! The JSON bodies of the HTTP API between a client and the gateway.
//!
//! The internal types ([`crate::Session`], [`crate::Execution`], [`crate::Event`]) are converted to these in
//! answers, and [`StartRequest`] is converted to a [`crate::StartSpec`] in requests.

mod conversation;
mod error;
mod event;
mod execution;
mod file;
mod info;
mod mcp_server;
mod page;
mod prune;
mod session;
mod start;
mod timestamp;
mod tree;

pub use conversation::{
    AnswersRequest, ApprovalPolicyName, ApprovalRequest, BranchBody, ConversationBody, ConversationDetail,
    ConversationMode, ConversationPatch, ConversationRequest, LogPage, MessageAccepted, MessageRef,
    MessageRequest, ModelBody, ModelList, ModelStatus, StopBody, TurnAccepted,
};
pub use error::{ErrorBody, ErrorCode, ErrorDetail};
pub use event::{EventBody, EventJsonError, EventViews, read_event, write_event};
pub use execution::{ExecutionBody, ExecutionStateName, ExitBody, LogRemovedBody};
pub use file::{
    ChmodRequest, CopyBody, FileBody, FileType, MoveRequest, PathEncoding, PathRequest, path_bytes,
    path_text, percent_decoded, percent_encoded,
};
pub use info::{InfoBody, LanguageBody, LanguagesBody};
pub use mcp_server::{McpServerBody, McpServerRequest};
pub use page::PageBody;
pub use prune::{PruneBody, PruneRequest};
pub use session::{SessionBody, SessionPatch, SessionRequest, SessionStateName};
pub use start::{RequestError, ResizeRequest, SignalName, SignalRequest, StartRequest, StdinRequest};
pub use timestamp::{Timestamp, TimestampError};
pub use tree::{
    ChangeBody, ChangeName, DiffBody, DifferenceBody, DifferenceName, ForkRequest, MatchBody, SearchBody,
    SearchSummaryBody, SnapshotBody, SnapshotRequest, SnapshotsBody, UnpackedBody,
};
