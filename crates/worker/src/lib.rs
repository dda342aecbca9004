//! The worker: sessions, executions and their logs, served over the contract.
//!
//! The path of an execution: the service (`rpc`) receives the request, the engine finds the session, the session passes
//! it to its init, the pump moves its output from the pipes to the log, and followers read the log.

mod async_fd;
mod builds;
pub mod config;
mod data_dir_lock;
mod detached;
mod engine;
pub mod executions;
mod files;
pub mod languages;
mod layout;
pub mod retention;
mod rpc;
mod serve;
mod sessions;
mod terminals;
pub mod usage;

pub use serve::{ServeError, serve};
