//! Rate limits of requests: for each credential, each user and each address, and for failed credentials.

use std::net::IpAddr;
use std::time::Instant;

use crate::auth::{Identity, too_many};
use crate::config::Config;
use crate::error::ApiError;
use crate::http::rate_limit::Buckets;

/// The rate limits of all clients.
#[derive(Debug)]
pub(crate) struct Rates {
    credentials: Buckets<String>,
    users: Buckets<String>,
    addresses: Buckets<IpAddr>,
    failures: Buckets<IpAddr>,
}

impl Rates {
    /// The limits of the configuration.
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            credentials: Buckets::new(config.requests_per_second),
            users: Buckets::new(config.requests_per_second_of_user),
            addresses: Buckets::new(config.requests_per_second_of_address),
            failures: Buckets::new(config.failures_per_second),
        }
    }

    /// Counts a request of an address, before anything else is known of it.
    pub(crate) fn count_address(&self, address: IpAddr) -> Result<(), ApiError> {
        self.addresses.take(address, Instant::now()).map_err(too_many)
    }

    /// Counts a request of a credential and of its user.
    pub(crate) fn count_request(&self, who: &Identity) -> Result<(), ApiError> {
        let now = Instant::now();
        self.credentials.take(who.token_id.clone(), now).map_err(too_many)?;
        self.users.take(who.owner.clone(), now).map_err(too_many)
    }

    /// Counts a credential that was refused. Only failures are slowed down: a client with a valid credential is let
    /// in, whatever others at its address do.
    pub(crate) fn count_failure(&self, address: IpAddr) -> Result<(), ApiError> {
        self.failures.take(address, Instant::now()).map_err(too_many)
    }
}
