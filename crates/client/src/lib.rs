//! A typed client of the HTTP API, used by the command line, the end-to-end tests and the benchmark.
//!
//! [`Client`] has one method per call. Streams have their own types, which continue over lost connections and
//! restarts of the server: [`Follower`] (server-sent events) and [`Attachment`] (a WebSocket) deliver each
//! event once, by its seq. Calls that are safe to repeat wait when the server asks for it (429 with
//! `Retry-After`); [`Client::retry`] also repeats them over a restart.

mod address;
mod archives;
mod attach;
mod call;
mod client;
mod conversations;
mod error;
mod executions;
mod files;
mod follower;
mod frames;
mod http;
mod log_follower;
mod options;
mod output;
mod position;
mod retry;
mod sessions;
mod socket;
mod stream;

pub use address::is_local;
pub use attach::{AttachInput, Attachment};
pub use client::Client;
pub use conversations::ConversationFilter;
pub use error::{ApiError, ClientError};
pub use executions::{ExecutionFilter, IdempotencyKey};
pub use files::{ListOptions, WriteAt, WriteIf};
pub use follower::Follower;
pub use log_follower::LogFollower;
pub use options::{AttachOptions, FollowOptions};
pub use output::{ByteRange, Output, OutputStream};
pub use reqwest::{Body, Method};
pub use sessions::SessionFilter;

type Result<T> = std::result::Result<T, ClientError>;
