//! Builds of C++: from a request to a binary, with a cache.
//!
//! `service` → [`run`] (the course of a build) → [`plan`] (compiler, [`flags`], [`inputs`], keys) → [`cache`]; what must
//! be compiled goes to a session of its own as the script of [`driver`], and [`collect`] reads what that left.

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
pub(crate) mod run;
mod sandbox;
mod scan;
mod system;
