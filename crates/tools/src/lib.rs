//! The tools that agents call: their arguments and schemas, their execution, and their results as text for a
//! model. This crate has no HTTP and no MCP in it.
//!
//! [`schema::Call::parse`] reads a call; [`Agent::call`] executes it in a session and returns an [`Outcome`].
//! Each tool is a view of executions, their logs and the workspace: nothing that a program prints is drained,
//! lost or capped.

mod agent;
pub mod code;
mod commands;
mod error;
mod files;
mod host;
mod outcome;
pub mod output;
pub mod patch;
pub mod policy;
pub mod schema;
mod secrets;

pub use agent::{Agent, AgentInfo, Request};
pub use commands::{AGENT_METADATA, Ending, MAX_LIVE, extra_of, number_of};
pub use error::ToolError;
pub use host::{Host, LocalHost, nothing_to_grant};
pub use outcome::{Image, Outcome, Progress};
pub use secrets::secrets_of;
