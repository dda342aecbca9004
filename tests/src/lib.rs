//! The harness of the end-to-end tests and the benchmarks: real workers and servers, and clients that see every byte.

mod api;
mod collect;
mod events;
mod fixture;
pub mod host;
pub mod http;
mod process;
#[cfg(test)]
mod scripts;
mod server;
mod socket;
mod tls;
mod worker;

pub use api::Api;
pub use collect::{Collected, Watcher, collect, collect_until_closed};
pub use events::{SseEvent, SseStream};
pub use fixture::Fixture;
pub use process::binary;
pub use server::{ServerOptions, TestServer};
pub use socket::{Received, Socket};
pub use tls::TlsProxy;
pub use worker::{Options, TestWorker};
