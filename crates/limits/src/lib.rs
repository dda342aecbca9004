//! Limits on what the callers of one process may use at once: file descriptors, and permits for each session, each
//! owner and in all.

pub mod descriptors;
pub mod permits;
