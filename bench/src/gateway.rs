//! Benchmarks of the gateway: the same as for the engine, measured by a client of the API.

mod bench_server;
pub mod builds;
pub mod chat;
pub mod codex;
pub mod echo;
mod events;
pub mod files;
pub mod first_byte;
pub mod flood;
mod http;
pub mod idle;
pub mod jupyter;
pub mod minimal_server;
pub mod one_shot;
pub mod rate;
pub mod resume;
pub mod run;
pub mod session;
mod socket;
mod stalled_clients;
pub mod throughput;
mod wire;
