//! Archives: a workspace as tar or ZIP, and back.

pub(crate) mod pack;
pub(crate) mod unpack;
pub(crate) mod upload;
pub(crate) mod zip;
