//! What a session reaches of the network: nothing, the operator's registries, or what the host reaches.

#![allow(clippy::unwrap_used)] // a test may panic

mod corporate;
mod crates;
mod fair;
mod first_use;
mod full;
mod lifetime;
mod npm;
mod outlet;
mod passed;
mod pip;
mod reach;
mod registry;
mod sample_packages;
mod tls;
mod upstream;
