//! What an owner may use, and who waits.

pub(crate) mod admission;
pub(crate) mod owner_permits;
pub(crate) mod quotas;
pub(crate) mod watchdog;
