//! CONNECT: relays bytes to and from a host that was allowed and checked.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::meter::add;
use super::outlet::Connection;
use super::response::{Body, Refusal, whole};
use super::target::Target;

/// A tunnel that is idle for this long is closed.
const IDLE_TIMEOUT: Duration = Duration::from_mins(2);
/// The buffer for each direction.
const BUFFER_BYTES: usize = 16 * 1024;

/// Connects to the host and relays bytes between it and the program.
pub(crate) async fn open(
    connection: &Arc<Connection>,
    mut request: Request<Incoming>,
    target: &Target,
) -> Result<Response<Body>, Refusal> {
    let host = connection.network.dialler.tunnel(target).await.map_err(|error| {
        tracing::debug!(%error, "cannot open a tunnel");
        Refusal::from(error)
    })?;
    let program = hyper::upgrade::on(&mut request);
    let connection = Arc::clone(connection);
    tokio::spawn(async move {
        tokio::select! {
            () = connection.over.cancelled() => {}
            // Either side may close it at any time.
            _ = relay(&connection, program, host) => {}
        }
    });
    Ok(Response::new(whole("")))
}

async fn relay(connection: &Connection, program: OnUpgrade, host: TcpStream) -> io::Result<()> {
    let program = TokioIo::new(program.await.map_err(io::Error::other)?);
    let (from_program, to_program) = tokio::io::split(program);
    let (from_host, to_host) = host.into_split();
    let activity = Activity::new();
    let both = async {
        tokio::try_join!(
            pump(from_program, to_host, &connection.meter.sent, &activity),
            pump(from_host, to_program, &connection.meter.received, &activity),
        )
    };
    tokio::select! {
        done = both => done.map(drop),
        () = activity.idle_for(IDLE_TIMEOUT) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Copies bytes up to the end of the stream, and then closes the other one.
async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    moved: &AtomicU64,
    activity: &Activity,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        to.write_all(buffer.get(..length).unwrap_or_default()).await?;
        add(moved, length);
        activity.touch();
    }
}

/// When bytes last moved through a tunnel.
struct Activity {
    begun: Instant,
    last_ms: AtomicU64,
}

impl Activity {
    fn new() -> Self {
        Self { begun: Instant::now(), last_ms: AtomicU64::new(0) }
    }

    fn touch(&self) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(now, Ordering::Relaxed);
    }

    /// Returns when no bytes have moved for this long.
    async fn idle_for(&self, idle: Duration) {
        loop {
            let end = self.begun + Duration::from_millis(self.last_ms.load(Ordering::Relaxed)) + idle;
            if Instant::now() >= end {
                return;
            }
            tokio::time::sleep_until(end).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_tunnel_is_idle_only_when_nothing_moves() {
        let activity = Activity::new();
        let begun = Instant::now();
        let touching = async {
            for _ in 0..10 {
                tokio::time::sleep(IDLE_TIMEOUT / 2).await;
                activity.touch();
            }
        };
        tokio::join!(touching, activity.idle_for(IDLE_TIMEOUT));
        assert!(begun.elapsed() + Duration::from_millis(10) >= IDLE_TIMEOUT * 6, "{:?}", begun.elapsed());
    }
}
