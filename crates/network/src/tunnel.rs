//! CONNECT: bytes to and from a host that was allowed and checked, as they are.

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

use super::answer::{Body, Refusal, whole};
use super::meter::add;
use super::outlet::Visit;
use super::target::Target;

/// A tunnel through which nothing moves for so long is closed.
const IDLE: Duration = Duration::from_mins(2);
/// Bytes on their way, in each direction.
const BUFFER_BYTES: usize = 16 * 1024;

/// Reaches the host, and lets the program talk to it.
pub(crate) async fn open(
    visit: &Arc<Visit>,
    mut request: Request<Incoming>,
    target: &Target,
) -> Result<Response<Body>, Refusal> {
    let there = visit.network.dialler.connect(target).await.map_err(|error| {
        tracing::debug!(%error, "no tunnel");
        Refusal::from(error)
    })?;
    let here = hyper::upgrade::on(&mut request);
    let visit = Arc::clone(visit);
    tokio::spawn(async move {
        tokio::select! {
            () = visit.over.cancelled() => {}
            // Either side may break it off at any time.
            _ = join(&visit, here, there) => {}
        }
    });
    Ok(Response::new(whole("")))
}

async fn join(visit: &Visit, here: OnUpgrade, there: TcpStream) -> io::Result<()> {
    let here = TokioIo::new(here.await.map_err(io::Error::other)?);
    let (said, answer) = tokio::io::split(here);
    let (answered, say) = there.into_split();
    let pulse = Pulse::new();
    let both = async {
        tokio::try_join!(
            pump(said, say, &visit.meter.sent, &pulse),
            pump(answered, answer, &visit.meter.received, &pulse),
        )
    };
    tokio::select! {
        done = both => done.map(drop),
        () = pulse.stops(IDLE) => Err(io::ErrorKind::TimedOut.into()),
    }
}

/// Moves bytes until their end, which it passes on.
async fn pump(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    moved: &AtomicU64,
    pulse: &Pulse,
) -> io::Result<()> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let length = from.read(&mut buffer).await?;
        if length == 0 {
            return to.shutdown().await;
        }
        to.write_all(buffer.get(..length).unwrap_or_default()).await?;
        add(moved, length);
        pulse.beat();
    }
}

/// When something last moved.
struct Pulse {
    begun: Instant,
    last_ms: AtomicU64,
}

impl Pulse {
    fn new() -> Self {
        Self { begun: Instant::now(), last_ms: AtomicU64::new(0) }
    }

    fn beat(&self) {
        let now = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_ms.store(now, Ordering::Relaxed);
    }

    /// Returns when nothing has moved for so long.
    async fn stops(&self, idle: Duration) {
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
        let pulse = Pulse::new();
        let begun = Instant::now();
        let beating = async {
            for _ in 0..10 {
                tokio::time::sleep(IDLE / 2).await;
                pulse.beat();
            }
        };
        tokio::join!(beating, pulse.stops(IDLE));
        assert!(begun.elapsed() + Duration::from_millis(10) >= IDLE * 6, "{:?}", begun.elapsed());
    }
}
