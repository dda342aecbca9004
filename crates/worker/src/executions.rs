//! Executions: the program, its input, moving its output to the log, and reading the log.

pub(crate) mod code;
pub(crate) mod ended;
pub(crate) mod execution;
pub(crate) mod follow;
pub(crate) mod output;
pub mod permits;
pub(crate) mod program;
pub(crate) mod pump;
pub(crate) mod start;
pub(crate) mod stdin;
pub(crate) mod table;
