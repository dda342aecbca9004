//! Archives: packs a workspace as tar or ZIP, and unpacks archives into it.

pub(crate) mod pack;
pub(crate) mod unpack;
pub(crate) mod upload;
pub(crate) mod zip;
