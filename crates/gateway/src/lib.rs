//! The gateway: the process that clients connect to. It reaches the worker through the contract only. Its
//! tables can be rebuilt from the worker, except for accounts, tokens and the audit.
//!
//! The way of a request: [`serve`] accepts the connection, the guard in [`auth`] identifies the caller,
//! [`routes`] has the handlers, and [`state::Gateway`] holds the state that they share.

pub mod accounts;
mod audit;
pub mod auth;
mod background;
mod bodies;
mod builds;
pub mod config;
mod conversations;
mod deferred_writes;
mod error;
mod executions;
mod http;
mod languages;
mod metrics;
mod packages;
mod previews;
mod quota;
pub mod reports;
mod routes;
pub mod serve;
mod sessions;
mod state;
mod streams;
mod terminals;
#[cfg(test)]
mod test_gateway;
mod tools;
mod worker;
mod workspace_path;

pub use crate::routes::router::openapi_json;
pub use config::Config;
pub use error::ApiError;
pub(crate) use headwater_protocol::now_ms;
pub use serve::{ServeError, serve};
pub use state::Gateway;
