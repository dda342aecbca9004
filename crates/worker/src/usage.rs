//! The resource usage of sessions, and how their limits are enforced.

pub(crate) mod deleted_files;
pub(crate) mod disk;
pub mod limit_descriptions;
pub(crate) mod ports;
pub(crate) mod processes;
pub mod project_quotas;
pub(crate) mod session;
