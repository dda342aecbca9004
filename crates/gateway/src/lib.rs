//! The gateway: the one process that clients talk to. It knows the worker by the contract only, and keeps nothing
//! that cannot be rebuilt from it but tokens and the audit.
//!
//! A request's way through: [`serve`] takes the connection, [`routes`] finds the door, the guard in [`auth`] says who
//! asks, a door in [`doors`] says what for, and [`state::Gateway`] holds what all of them share.

pub mod accounts;
mod audit;
pub mod auth;
mod background;
mod bodies;
mod builds;
pub mod config;
mod error;
mod executions;
mod http;
mod languages;
mod metrics;
mod packages;
mod quota;
mod routes;
pub mod serve;
mod sessions;
mod state;
mod store_ticks;
mod streams;
mod terminals;
mod worker;

pub use crate::routes::table::openapi_json;
pub use config::Config;
pub use error::ApiError;
pub use serve::{ServeError, serve};
pub use state::Gateway;

/// Now, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
