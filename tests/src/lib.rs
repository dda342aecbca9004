//! What the end-to-end tests, the attacks and the benchmarks stand on: a real worker in a folder of its own.

mod collect;
pub mod host;
mod worker;

pub use collect::{Collected, Watcher, collect, collect_until_closed};
pub use worker::{Options, TestWorker, binary};
