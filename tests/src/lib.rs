//! What the end-to-end tests, the attacks and the benchmarks stand on: a real worker in a folder of its own.

mod collect;
mod events;
pub mod host;
pub mod raw;
mod server;
mod socket;
mod worker;

pub use collect::{Collected, Watcher, collect, collect_until_closed};
pub use events::{SseEvent, SseStream};
pub use server::{ServerOptions, TestServer};
pub use socket::{Received, Socket};
pub use worker::{Options, TestWorker, binary};
