//! The worker: sessions, executions and their logs, served over the contract.
//!
//! The path of an execution: [`service`] takes the request, [`session`] hands it to its init, [`pump`] moves its output
//! from the pipes to the [`log`], and followers read the log.

pub mod config;
pub mod languages;
pub mod log;
