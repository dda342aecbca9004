//! Permits of connections, limited in all, for each address and for each owner, so that no client can take all of them.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use headwater_protocol::api::ErrorCode;
use prometheus_client::metrics::gauge::Gauge;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

use crate::auth::Identity;
use crate::config::{Config, Network};
use crate::error::ApiError;
use crate::http::response_memory::Holder;

/// The links to an owner's sessions get one part in this many of the owner's limit, in addition to it.
const LINK_SHARE: usize = 4;

/// The number of connections of each key.
#[derive(Debug)]
struct Counts<K>(Mutex<HashMap<K, usize>>);

impl<K: Hash + Eq> Counts<K> {
    fn all(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts one more, unless `most` are counted already.
    fn add(&self, key: K, most: usize) -> bool {
        let mut all = self.all();
        let count = all.entry(key).or_default();
        let fits = *count < most;
        *count += usize::from(fits);
        fits
    }

    fn remove(&self, key: &K) {
        let mut all = self.all();
        if let Some(count) = all.get_mut(key) {
            *count -= 1;
            if *count == 0 {
                all.remove(key);
            }
        }
    }
}

/// The permits of all connections.
#[derive(Debug)]
pub(super) struct ConnectionPermits {
    of_address: usize,
    of_owner: usize,
    /// Trusted proxies, whose addresses many clients share.
    proxies: Vec<Network>,
    addresses: Counts<IpAddr>,
    owners: Counts<Holder>,
    connections: Gauge,
}

impl ConnectionPermits {
    /// The limits of the configuration.
    pub(super) fn new(config: &Config, connections: Gauge) -> Arc<Self> {
        let (addresses, owners) = (Counts(Mutex::default()), Counts(Mutex::default()));
        let (of_address, of_owner) = (config.connections_of_address(), config.connections_of_owner());
        let proxies = config.trusted_proxies.clone();
        Arc::new(Self { of_address, of_owner, proxies, addresses, owners, connections })
    }

    /// A permit for a connection from this address, unless the address is at its limit.
    pub(super) fn take(
        self: &Arc<Self>,
        address: IpAddr,
        of_all: OwnedSemaphorePermit,
    ) -> Option<ConnectionPermit> {
        let is_proxy = self.proxies.iter().any(|network| network.contains(address));
        let most = if is_proxy { usize::MAX } else { self.of_address };
        if !self.addresses.add(address, most) {
            return None;
        }
        self.connections.inc();
        let permits = Arc::clone(self);
        Some(ConnectionPermit(Arc::new(Held { _of_all: of_all, permits, address, holder: Mutex::default() })))
    }
}

/// The permit of an open connection. A connection that becomes a WebSocket keeps it.
#[derive(Debug, Clone)]
pub(crate) struct ConnectionPermit(Arc<Held>);

#[derive(Debug)]
struct Held {
    _of_all: OwnedSemaphorePermit,
    permits: Arc<ConnectionPermits>,
    address: IpAddr,
    /// The sender of the last request on the connection.
    holder: Mutex<Option<Holder>>,
}

impl ConnectionPermit {
    /// Assigns the connection to the sender of a request; fails if the sender is at its limit.
    pub(crate) fn assign(&self, who: &Identity) -> Result<(), ApiError> {
        let (held, holder) = (&self.0, Holder::of(who));
        let mut known = held.holder.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref() == Some(&holder) {
            return Ok(());
        }
        let most = held.permits.of_owner / if holder.by_link { LINK_SHARE } else { 1 };
        if !held.permits.owners.add(holder.clone(), most.max(1)) {
            return Err(too_many("you have"));
        }
        if let Some(before) = known.replace(holder) {
            held.permits.owners.remove(&before);
        }
        Ok(())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.permits.connections.dec();
        self.permits.addresses.remove(&self.address);
        if let Some(holder) = self.holder.get_mut().unwrap_or_else(PoisonError::into_inner) {
            self.permits.owners.remove(holder);
        }
    }
}

fn too_many(who: &str) -> ApiError {
    let error = ApiError::new(
        ErrorCode::TooManyConnections,
        format!("{who} reached the limit of open connections"),
        "close some, or use one connection for several requests",
    );
    ApiError { retry_after: Some(Duration::from_secs(1)), ..error }
}

/// Sends the refusal to a client whose address is at its limit.
pub(super) fn refuse(stream: &TcpStream) {
    let body = serde_json::json!(too_many("your address has").body()).to_string();
    let head = format!(
        "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    // Without waiting for the client: what does not fit into the socket's buffer is not sent.
    let _ = stream.try_write(head.as_bytes());
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;

    #[test]
    fn an_address_has_its_share_of_connections_and_no_more() {
        let config = Config { max_connections_of_address: Some(2), ..Config::new("/nowhere") };
        let (all, permits) = (Arc::new(Semaphore::new(9)), ConnectionPermits::new(&config, Gauge::default()));
        let take =
            |last: u8| permits.take([10, 0, 0, last].into(), Arc::clone(&all).try_acquire_owned().unwrap());
        let (one, two) = (take(1), take(1));
        assert!(one.is_some() && two.is_some() && take(1).is_none());
        assert!(take(2).is_some(), "another address has its own limit");
        drop(one);
        assert!(take(1).is_some());
        drop(two);
        assert!(permits.addresses.all().is_empty() && all.available_permits() == 9);
    }
}
