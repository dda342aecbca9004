//! Places of connections: so many in all, and a share for each address and each owner, so that no client can take them
//! all.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::StatusCode;
use prometheus_client::metrics::gauge::Gauge;
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

use crate::auth::Identity;
use crate::config::{Config, Network};
use crate::error::ApiError;
use crate::http::response_memory::Holder;

/// The links to an owner's sessions have this part of what the owner has, besides it.
const LINKS: usize = 4;

/// How many connections each has.
#[derive(Debug)]
struct Counts<K>(Mutex<HashMap<K, usize>>);

impl<K: Hash + Eq> Counts<K> {
    fn all(&self) -> MutexGuard<'_, HashMap<K, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more, unless there are so many already.
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

/// The connections of all addresses and owners.
#[derive(Debug)]
pub(super) struct Seats {
    of_address: usize,
    of_owner: usize,
    /// Many clients come from these.
    proxies: Vec<Network>,
    addresses: Counts<IpAddr>,
    owners: Counts<Holder>,
    connections: Gauge,
}

impl Seats {
    /// As many as the configuration says.
    pub(super) fn new(config: &Config, connections: Gauge) -> Arc<Self> {
        let (addresses, owners) = (Counts(Mutex::default()), Counts(Mutex::default()));
        let (of_address, of_owner) = (config.connections_of_address(), config.connections_of_owner());
        let proxies = config.trusted_proxies.clone();
        Arc::new(Self { of_address, of_owner, proxies, addresses, owners, connections })
    }

    /// A place for a connection from this address, unless it has its share already.
    pub(super) fn take(self: &Arc<Self>, address: IpAddr, room: OwnedSemaphorePermit) -> Option<Seat> {
        let is_proxy = self.proxies.iter().any(|network| network.contains(address));
        let most = if is_proxy { usize::MAX } else { self.of_address };
        if !self.addresses.add(address, most) {
            return None;
        }
        self.connections.inc();
        let seats = Arc::clone(self);
        Some(Seat(Arc::new(Taken { _room: room, seats, address, holder: Mutex::default() })))
    }
}

/// A connection's place among all that may be open at once, and in their count. One that became a WebSocket takes it
/// along: it is as open as any other.
#[derive(Debug, Clone)]
pub(crate) struct Seat(Arc<Taken>);

#[derive(Debug)]
struct Taken {
    _room: OwnedSemaphorePermit,
    seats: Arc<Seats>,
    address: IpAddr,
    /// Whose it is, once somebody has asked something over it.
    holder: Mutex<Option<Holder>>,
}

impl Seat {
    /// Notes who asks over this connection; refuses one whose other connections are its share already.
    pub(crate) fn is_used_by(&self, who: &Identity) -> Result<(), ApiError> {
        let (taken, holder) = (&self.0, Holder::of(who));
        let mut known = taken.holder.lock().unwrap_or_else(PoisonError::into_inner);
        if known.as_ref() == Some(&holder) {
            return Ok(());
        }
        let most = taken.seats.of_owner / if holder.by_link { LINKS } else { 1 };
        if !taken.seats.owners.add(holder.clone(), most.max(1)) {
            return Err(too_many("you have"));
        }
        if let Some(before) = known.replace(holder) {
            taken.seats.owners.remove(&before);
        }
        Ok(())
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        self.seats.connections.dec();
        self.seats.addresses.remove(&self.address);
        if let Some(holder) = self.holder.get_mut().unwrap_or_else(PoisonError::into_inner) {
            self.seats.owners.remove(holder);
        }
    }
}

fn too_many(who: &str) -> ApiError {
    let error = ApiError::new(
        StatusCode::TOO_MANY_REQUESTS,
        "too_many_connections",
        format!("{who} as many open connections as one may have"),
        "close some, or use one for several requests",
    );
    ApiError { retry_after: Some(Duration::from_secs(1)), ..error }
}

/// Tells a client that its address has its share already.
pub(super) fn refuse(stream: &TcpStream) {
    let body = serde_json::json!(too_many("your address has").body()).to_string();
    let head = format!(
        "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\nretry-after: 1\r\nconnection: close\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    );
    // As much as fits at once: nobody waits for a client that is refused.
    let _ = stream.try_write(head.as_bytes());
}

#[cfg(test)]
mod tests {
    use tokio::sync::Semaphore;

    use super::*;

    #[test]
    fn an_address_has_its_share_of_connections_and_no_more() {
        let config = Config { max_connections_of_address: Some(2), ..Config::new("/nowhere") };
        let (room, seats) = (Arc::new(Semaphore::new(9)), Seats::new(&config, Gauge::default()));
        let take =
            |last: u8| seats.take([10, 0, 0, last].into(), Arc::clone(&room).try_acquire_owned().unwrap());
        let (one, two) = (take(1), take(1));
        assert!(one.is_some() && two.is_some() && take(1).is_none());
        assert!(take(2).is_some(), "another address has its own");
        drop(one);
        assert!(take(1).is_some());
        drop(two);
        assert!(seats.addresses.all().is_empty() && room.available_permits() == 9);
    }
}
