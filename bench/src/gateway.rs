//! The gateway's benchmarks: what the engine's measure at the contract, measured again by a client of the API.

mod absent;
pub mod builds;
pub mod echo;
mod events;
pub mod files;
pub mod first_byte;
pub mod flood;
mod http;
pub mod idle;
pub mod jupyter;
pub mod one_shot;
pub mod peer;
pub mod rate;
pub mod resume;
pub mod run;
pub mod session;
mod site;
mod socket;
pub mod throughput;
mod wire;
