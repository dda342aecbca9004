//! Limits on the number of open connections, for each owner and in all. Connections over the limit get an error
//! response.

use std::sync::Arc;
use std::time::Duration;

use headwater_limits::descriptors;
use headwater_limits::permits::KeyedSemaphores;
use hyper::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::response::Refusal;

/// How long a refused program has to read the response.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
/// How much of its request is read meanwhile: closing a socket with unread bytes would lose the response.
const DISCARDED_BYTES: u64 = 64 * 1024;

/// The permits of all owners.
#[derive(Debug)]
pub(crate) struct ConnectionPermits {
    total: Arc<Semaphore>,
    owners: KeyedSemaphores<String>,
    per_owner: usize,
}

/// A permit for one connection; dropping it releases it.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    _owner: OwnedSemaphorePermit,
    _total: OwnedSemaphorePermit,
}

impl ConnectionPermits {
    /// An owner gets at most a quarter of the connections that the descriptors suffice for, however high its limit is.
    pub(crate) fn new(total: usize, per_owner: usize) -> Self {
        let per_owner = per_owner.min(descriptors::capacity(descriptors::CONNECTION) / 4).max(1);
        Self { total: Arc::new(Semaphore::new(total)), owners: KeyedSemaphores::default(), per_owner }
    }

    /// Takes a permit without waiting.
    pub(crate) fn try_acquire(&self, owner: &str) -> Result<ConnectionPermit, Refusal> {
        let busy = |message: String| Refusal { status: StatusCode::SERVICE_UNAVAILABLE, message };
        let per_owner = self.owners.of(owner.to_owned(), self.per_owner).try_acquire_owned().map_err(|_| {
            busy(format!(
                "the sessions of this owner have {} open connections, which is the limit; close some and try again, or \
                 have the operator raise `network.max_connections_of_owner` (or the worker's limit of open files)",
                self.per_owner
            ))
        })?;
        let total = Arc::clone(&self.total).try_acquire_owned().map_err(|_| {
            busy("the sessions of all owners have too many connections open; try again later".to_owned())
        })?;
        Ok(ConnectionPermit { _owner: per_owner, _total: total })
    }
}

/// Sends a refusal without waiting for the request.
pub(crate) async fn refuse(mut stream: TcpStream, why: &Refusal) {
    let body = format!("headwater: {}\n", why.message);
    let answer = format!(
        "HTTP/1.1 {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nRetry-After: 1\r\n\
         Connection: close\r\n\r\n{body}",
        why.status,
        body.len()
    );
    let answer_and_discard = async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(DISCARDED_BYTES), &mut tokio::io::sink()).await
    };
    // A program that does not read the response loses nothing else.
    let _ = tokio::time::timeout(REFUSAL_TIMEOUT, answer_and_discard).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_and_all_have_limits_and_a_released_permit_can_be_taken_again() {
        let permits = ConnectionPermits::new(3, 2);
        let held = [permits.try_acquire("ann").unwrap(), permits.try_acquire("ann").unwrap()];
        assert!(permits.try_acquire("ann").unwrap_err().message.contains("max_connections_of_owner"));
        let other = permits.try_acquire("bob").unwrap();
        assert!(permits.try_acquire("bob").unwrap_err().message.contains("all owners"));
        drop(held);
        assert!(permits.try_acquire("ann").is_ok() && permits.try_acquire("bob").is_ok());
        drop(other);
    }
}
