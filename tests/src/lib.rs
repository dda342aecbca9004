//! What the end-to-end tests, the attacks and the benchmarks stand on: a real worker in a folder of its own.

mod collect;
pub mod host;
pub mod raw;
mod server;
mod worker;

pub use collect::{Collected, Watcher, collect, collect_until_closed};
pub use server::{ServerOptions, TestServer};
pub use worker::{Options, TestWorker, binary};
