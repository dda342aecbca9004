//! Executions: the program, its input, its output on the way to the log, and readers of the log.

pub(crate) mod code;
pub(crate) mod ended;
pub(crate) mod execution;
pub(crate) mod follow;
pub mod open_limits;
pub(crate) mod output;
pub(crate) mod program;
pub(crate) mod pump;
pub(crate) mod start;
pub(crate) mod stdin;
pub(crate) mod table;
