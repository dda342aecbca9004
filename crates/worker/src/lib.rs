//! The worker: sessions, executions and their logs, served over the contract.
//!
//! The path of an execution: the service takes the request, the engine finds the session, the session hands it to its
//! init, the pump moves its output from the pipes to the [`log`], and followers read the log.

mod adopt;
mod builds;
mod clock;
mod coded;
pub mod config;
mod connections;
pub mod enforcement;
mod engine;
mod execution;
mod files;
mod folder;
mod follow;
mod gauge;
mod hibernation;
mod idle;
mod known;
pub mod languages;
mod leftovers;
mod link;
mod open_workspace;
mod packages;
mod pool;
mod program;
pub mod projects;
mod pump;
mod quota;
mod read;
mod ready;
pub mod retention;
mod serve;
mod service;
mod services;
mod session;
mod stdin;
mod tasks;
mod terminals;
pub mod tickets;
mod trees;
mod unnamed;
mod usage;
mod users;
mod watch;

pub use serve::{ServeError, serve};
