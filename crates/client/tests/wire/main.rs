//! The client against a server that is scripted byte by byte: cut, slow, silent, restarted, invalid.

#![allow(clippy::unwrap_used, clippy::expect_used)] // a server that fails its script fails its test

mod attach;
mod calls;
mod follow;
mod run;
mod script;
