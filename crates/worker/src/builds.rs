//! C and C++ builds: from a request to a binary, with a cache.
//!
//! `rpc` → [`service`] (the steps of a build) → [`plan`] (compiler, [`flags`], [`inputs`], keys) → [`cache`]. If something
//! must be compiled, the script of [`driver`] runs in a dedicated session, and [`collect`] reads its results.

mod cache;
mod collect;
mod compiler;
pub(crate) mod config;
mod depfile;
mod driver;
mod flags;
mod gcc;
mod inputs;
mod key;
mod plan;
mod record;
pub(crate) mod reserved;
mod sandbox;
mod scan;
pub(crate) mod service;
mod system;
