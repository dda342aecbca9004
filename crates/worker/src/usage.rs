//! What a session uses of the host, and how its limits are enforced.

pub(crate) mod deleted_files;
pub(crate) mod disk;
pub mod enforcement;
pub(crate) mod processes;
pub mod project_quotas;
