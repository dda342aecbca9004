//! What one process shares among many: file descriptors, and permits for each session, each owner and all.

pub mod descriptors;
pub mod permits;
