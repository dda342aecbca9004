//! The outlet of a session: takes the connections of its programs, a bounded number at a time.

use std::io;
use std::net::TcpListener as StdListener;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use headwater_contract::Backoff;
use headwater_limits::descriptors::{self, Hold, Purpose};
use headwater_protocol::SessionId;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::meter::{Meter, add};
use super::patient::Patient;
use super::seats::{Seat, send_away};
use super::{Network, proxy};

/// Connections of one session at once; more wait in the socket.
const SEATS: usize = 64;
/// The longest head of a request.
const HEAD_BYTES: usize = 16 * 1024;
/// How long a head may take, and a connection may be idle between two.
const HEAD_PATIENCE: Duration = Duration::from_secs(30);
/// How long a program may take nothing of what it is sent.
const STUCK: Duration = Duration::from_mins(2);
/// Waits when there is no descriptor to spare, at first and at last.
const REST: Duration = Duration::from_millis(100);
const LONGEST_REST: Duration = Duration::from_secs(2);

/// One connection. Whoever works for it holds it: its seats are free when nobody does.
#[derive(Debug)]
pub(crate) struct Visit {
    pub network: Arc<Network>,
    pub meter: Arc<Meter>,
    /// Set when the session is over.
    pub over: CancellationToken,
    /// Whose session it is.
    pub owner: Arc<str>,
    _of_session: OwnedSemaphorePermit,
    _seat: Seat,
    _descriptors: Hold,
}

impl Network {
    /// Serves a session's outlet until `over` is set.
    pub fn open(
        self: &Arc<Self>,
        session: SessionId,
        owner: Arc<str>,
        outlet: OwnedFd,
        over: CancellationToken,
    ) {
        let network = Arc::clone(self);
        self.runtime.spawn(async move {
            if let Err(error) = network.serve(session, owner, outlet, over).await {
                tracing::error!(%session, %error, "a session's outlet cannot be served");
            }
        });
    }

    async fn serve(
        self: Arc<Self>,
        session: SessionId,
        owner: Arc<str>,
        outlet: OwnedFd,
        over: CancellationToken,
    ) -> io::Result<()> {
        let listener = StdListener::from(outlet);
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let meter = Arc::new(Meter::new(session));
        let own = Arc::new(Semaphore::new(SEATS));
        let mut backoff = Backoff::new(REST, LONGEST_REST);
        loop {
            let next = async {
                let own = Arc::clone(&own).acquire_owned().await.map_err(io::Error::other)?;
                Ok::<_, io::Error>((listener.accept().await, own))
            };
            let (accepted, of_session) = tokio::select! {
                () = over.cancelled() => return Ok(()),
                next = next => next?,
            };
            let taken = accepted.ok().zip(descriptors::hold(descriptors::VISIT, Purpose::Start).ok());
            let Some(((stream, _), descriptors)) = taken else {
                backoff.pause().await;
                continue;
            };
            backoff.reset();
            let seat = match self.seats.take(&owner) {
                Ok(seat) => seat,
                Err(why) => {
                    tokio::spawn(async move {
                        send_away(stream, &why).await;
                        drop((of_session, descriptors));
                    });
                    continue;
                }
            };
            add(&meter.connections, 1);
            let visit = Visit {
                network: Arc::clone(&self),
                meter: Arc::clone(&meter),
                over: over.clone(),
                owner: Arc::clone(&owner),
                _of_session: of_session,
                _seat: seat,
                _descriptors: descriptors,
            };
            tokio::spawn(receive(Arc::new(visit), stream));
        }
    }
}

/// Answers the requests of one connection, one after the other.
async fn receive(visit: Arc<Visit>, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let over = visit.over.clone();
    let answer = service_fn(move |request| proxy::answer(Arc::clone(&visit), request));
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_PATIENCE)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(Patient::new(stream, STUCK)), answer)
        .with_upgrades();
    tokio::select! {
        () = over.cancelled() => {}
        // Broken off or nonsense: the program at the other end knows, and nobody else has to.
        _ = serving => {}
    }
}
