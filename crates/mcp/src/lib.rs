//! The server of the Model Context Protocol: the tools of an [`Agent`](headwater_tools::Agent), resources,
//! prompts and tasks, for clients of every version of the protocol from 2024-11-05 to 2026-07-28.
//!
//! [`Server`] is one connection, or one session of a streamable HTTP transport. [`Agents`] decides which agent
//! a request is for: the only one over stdio ([`OneAgent`]), or that of the caller and the session that the
//! request names. [`stdio`] serves on two streams of bytes, [`Http`] answers requests of HTTP.
//!
//! A request goes `stdio` or `http` → `legacy` (what rmcp no longer reads) → rmcp → `handler` → `tools`, `resources`,
//! `prompts` or `tasks`.

mod agents;
mod consent;
mod handler;
mod http;
mod legacy;
mod progress;
mod prompts;
mod resources;
mod server;
pub mod stdio;
mod tasks;
mod tools;

pub use agents::{Access, Agents, Caller, NewCall, OneAgent, Record};
pub use http::{Http, McpSession, Seal};
pub use server::Server;
