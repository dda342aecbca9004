//! The gateway: the one process that clients talk to. It knows the worker by the contract only, and keeps nothing
//! that cannot be rebuilt from it but tokens and the audit.
//!
//! A request's way through: [`serve`] takes the connection, [`routes`] finds the door, the guard in [`auth`] says who
//! asks, a door in [`doors`] says what for, and [`state::Gateway`] holds what all of them share.

mod access;
mod admission;
mod answers;
mod audit;
pub mod auth;
mod builds;
pub mod config;
mod documented;
mod doors;
mod error;
mod executions;
mod extract;
mod fair;
mod feed;
mod idempotency;
mod languages;
mod limits;
mod metrics;
mod packages;
mod paging;
pub mod people;
mod quotas;
mod reconcile;
mod recorder;
mod removed;
mod reserve;
mod routes;
pub mod serve;
mod session_named;
mod sessions;
mod shown;
mod start;
mod state;
mod stream;
mod strict;
mod terminals;
mod tick;
mod to_the_end;
mod watchdog;
mod worker;

pub use config::Config;
pub use error::ApiError;
pub use routes::openapi_json;
pub use serve::{ServeError, serve};
pub use state::Gateway;

/// Now, in milliseconds since 1970.
pub(crate) fn now_ms() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
