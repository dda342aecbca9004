//! Seats: how many connections there are at once, of one owner and in all. Who finds none is told so and sent away.

use std::sync::Arc;
use std::time::Duration;

use headwater_limits::descriptors;
use headwater_limits::permits::Shares;
use hyper::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::answer::Refusal;

/// How long a program that is sent away has to take the answer.
const FAREWELL: Duration = Duration::from_secs(1);
/// As much of its request as is read meanwhile: closing with unread bytes would lose the answer.
const READ_BYTES: u64 = 64 * 1024;

/// The seats of all owners.
#[derive(Debug)]
pub(crate) struct Seats {
    all: Arc<Semaphore>,
    owners: Shares<String>,
    of_owner: usize,
}

/// A seat; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Seat {
    _of_owner: OwnedSemaphorePermit,
    _of_all: OwnedSemaphorePermit,
}

impl Seats {
    /// No owner takes more than a quarter of what there are descriptors for, however high its own limit is.
    pub(crate) fn new(all: usize, of_owner: usize) -> Self {
        let of_owner = of_owner.min(descriptors::capacity(descriptors::VISIT) / 4).max(1);
        Self { all: Arc::new(Semaphore::new(all)), owners: Shares::default(), of_owner }
    }

    /// A seat, or why there is none.
    pub(crate) fn take(&self, owner: &str) -> Result<Seat, Refusal> {
        let busy = |message: String| Refusal { status: StatusCode::SERVICE_UNAVAILABLE, message };
        let of_owner = self.owners.of(owner.to_owned(), self.of_owner).try_acquire_owned().map_err(|_| {
            busy(format!(
                "the sessions of this owner have {} connections open, which is the limit; close some and try again, or \
                 have the operator raise `network.max_connections_of_owner` (or the worker's limit of open files)",
                self.of_owner
            ))
        })?;
        let of_all = Arc::clone(&self.all).try_acquire_owned().map_err(|_| {
            busy("the sessions of all owners have too many connections open; try again later".to_owned())
        })?;
        Ok(Seat { _of_owner: of_owner, _of_all: of_all })
    }
}

/// Tells a program why it is sent away, without waiting for what it has to say.
pub(crate) async fn send_away(mut stream: TcpStream, why: &Refusal) {
    let body = format!("headwater: {}\n", why.message);
    let answer = format!(
        "HTTP/1.1 {}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nRetry-After: 1\r\n\
         Connection: close\r\n\r\n{body}",
        why.status,
        body.len()
    );
    let farewell = async {
        stream.write_all(answer.as_bytes()).await?;
        stream.shutdown().await?;
        tokio::io::copy(&mut stream.take(READ_BYTES), &mut tokio::io::sink()).await
    };
    // A program that does not listen misses the answer, and nothing else.
    let _ = tokio::time::timeout(FAREWELL, farewell).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_and_all_have_limits_and_a_released_permit_can_be_taken_again() {
        let seats = Seats::new(3, 2);
        let held = [seats.take("ann").unwrap(), seats.take("ann").unwrap()];
        assert!(seats.take("ann").unwrap_err().message.contains("max_connections_of_owner"));
        let other = seats.take("bob").unwrap();
        assert!(seats.take("bob").unwrap_err().message.contains("all owners"));
        drop(held);
        assert!(seats.take("ann").is_ok() && seats.take("bob").is_ok());
        drop(other);
    }
}
