//! What a session reaches of the network: nothing, the operator's registries, or what the host reaches.

#![allow(clippy::unwrap_used)] // a test may panic

mod fair;
mod full;
mod lifetime;
mod npm;
mod outlet;
mod pip;
mod reach;
mod registry;
mod sample_packages;
mod tls;
