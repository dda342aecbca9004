//! The agent: it answers in a conversation and works in a session. This crate has no HTTP server in it; the server and
//! the command line use it.
//!
//! Everything that happens in a conversation is an event of its log ([`headwater_protocol::conversation`]). A turn reads
//! the log, calls the model, runs tools, and appends events through a [`Journal`]. What people do meanwhile (messages,
//! answers, consent) reaches the turn through the same log. So a turn that a crash interrupted is continued from the log
//! alone.

mod approvals;
mod calls;
mod compaction;
pub mod export;
mod instructions;
mod journal;
mod mcp;
pub mod model;
mod notebook;
mod place;
mod prompt;
mod recorder;
mod resume;
mod run;
mod step;
mod submit;
mod text;
mod title;
mod tools;
mod turn;
mod wake;
mod work;
mod writer;

pub use journal::{Decide, Journal, JournalError};
pub use place::{ChildSpec, McpServer, Place, PlaceError, RecordedCall};
pub use run::run;
pub use submit::{NewMessage, Parent, submit, turn_started};
pub use title::{first_title, title};
pub use turn::{TurnContext, TurnSettings};
pub use wake::wake;
