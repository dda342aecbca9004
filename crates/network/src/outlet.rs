//! The outlet of a session: accepts the connections of its programs, a limited number at a time.

use std::io;
use std::net::TcpListener as StdListener;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use headwater_contract::{Backoff, WriteTimeout};
use headwater_limits::descriptors::{self, Hold, Purpose};
use headwater_protocol::SessionId;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

use super::connection_permits::{ConnectionPermit, refuse};
use super::meter::{Meter, add};
use super::{Network, proxy};

/// Open connections of one session; more wait in the socket's queue.
const MAX_SESSION_CONNECTIONS: usize = 64;
/// The largest head of a request.
const MAX_HEAD_BYTES: usize = 16 * 1024;
/// How long the head of a request may take, and a connection may be idle between two requests.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);
/// How long a program may read nothing of a response.
const WRITE_TIMEOUT: Duration = Duration::from_mins(2);
/// Pauses before the next `accept` when no descriptor is free, at first and at last.
const MIN_ACCEPT_PAUSE: Duration = Duration::from_millis(100);
const MAX_ACCEPT_PAUSE: Duration = Duration::from_secs(2);

/// One connection of a program. Every task that works for it holds a reference: the last one releases the permits.
#[derive(Debug)]
pub(crate) struct Connection {
    pub network: Arc<Network>,
    pub meter: Arc<Meter>,
    /// Set when the session ends.
    pub over: CancellationToken,
    /// The owner of the session.
    pub owner: Arc<str>,
    _session_permit: OwnedSemaphorePermit,
    _permit: ConnectionPermit,
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
                tracing::error!(%session, %error, "cannot serve a session's outlet");
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
        let session_permits = Arc::new(Semaphore::new(MAX_SESSION_CONNECTIONS));
        let mut backoff = Backoff::new(MIN_ACCEPT_PAUSE, MAX_ACCEPT_PAUSE);
        loop {
            let next = async {
                let session_permit =
                    Arc::clone(&session_permits).acquire_owned().await.map_err(io::Error::other)?;
                Ok::<_, io::Error>((listener.accept().await, session_permit))
            };
            let (accepted, session_permit) = tokio::select! {
                () = over.cancelled() => return Ok(()),
                next = next => next?,
            };
            let taken = accepted.ok().zip(descriptors::hold(descriptors::CONNECTION, Purpose::Start).ok());
            let Some(((stream, _), descriptors)) = taken else {
                backoff.pause().await;
                continue;
            };
            backoff.reset();
            let permit = match self.permits.try_acquire(&owner) {
                Ok(permit) => permit,
                Err(why) => {
                    tokio::spawn(async move {
                        refuse(stream, &why).await;
                        drop((session_permit, descriptors));
                    });
                    continue;
                }
            };
            add(&meter.connections, 1);
            let connection = Connection {
                network: Arc::clone(&self),
                meter: Arc::clone(&meter),
                over: over.clone(),
                owner: Arc::clone(&owner),
                _session_permit: session_permit,
                _permit: permit,
                _descriptors: descriptors,
            };
            tokio::spawn(serve_connection(Arc::new(connection), stream));
        }
    }
}

/// Answers the requests of one connection in order.
async fn serve_connection(connection: Arc<Connection>, stream: TcpStream) {
    let _ = stream.set_nodelay(true);
    let over = connection.over.clone();
    let service = service_fn(move |request| proxy::handle(Arc::clone(&connection), request));
    let serving = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_TIMEOUT)
        .max_buf_size(MAX_HEAD_BYTES)
        .serve_connection(TokioIo::new(WriteTimeout::new(stream, WRITE_TIMEOUT)), service)
        .with_upgrades();
    tokio::select! {
        () = over.cancelled() => {}
        // A broken connection or an invalid request concerns only the program at the other end.
        _ = serving => {}
    }
}
