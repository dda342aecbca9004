//! Serving: the listener, its connections, and the end.
//!
//! Closing is gentle: streams are told to come back, requests in flight end, and nothing else is touched: programs, the
//! worker and its sessions run on.

mod connection_permits;
pub(crate) mod disk_reserve;
mod slow_reader;

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::Request;
use headwater_contract::{Backoff, Client, ContractError, WorkerRestarter};
use headwater_protocol::SessionId;
use headwater_store::{Free, Reserve, SqliteStore, Store, StoreError};
use hyper::body::Incoming;
use hyper_util::rt::{TokioIo, TokioTimer};
use socket2::{SockRef, TcpKeepalive};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tower::ServiceExt;
use tower_http::timeout::TimeoutBody;

use crate::auth::{FirstTokenError, JwtError, Jwts, NewToken, first_token};
use crate::config::Config;
use crate::routes::table;
pub(crate) use crate::serve::connection_permits::Seat;
use crate::serve::connection_permits::{Seats, refuse};
pub(crate) use crate::serve::slow_reader::Live;
use crate::serve::slow_reader::{IsLive, Patient};
use crate::state::Gateway;

/// The most headers of a request, and (to within one read) the most bytes of all of them.
const MAX_HEADERS: usize = 100;
const MAX_HEADER_BYTES: usize = 64 << 10;
/// A connection whose other end vanished is found out after about so long without traffic ...
const KEEPALIVE: Duration = Duration::from_secs(30);
/// ... and a client that takes nothing of what it was sent for so long is let go: it can resume.
const STUCK: Duration = Duration::from_mins(5);
/// So much may wait in the kernel to be sent to one client: enough that it never waits for us. The kernel's own bound is
/// megabytes, which would be made and copied for every client that does not read.
const UNSENT_BYTES: u32 = 256 << 10;

/// Waits when no connection can be taken, at first and at last: the kernel keeps those that come meanwhile.
const REST: Duration = Duration::from_millis(20);
const LONGEST_REST: Duration = Duration::from_secs(1);
/// Descriptors that connections leave to the store, the worker and files that are served.
const OTHER_DESCRIPTORS: u64 = 128;

/// Why the gateway does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The listening socket cannot be used.
    #[error("cannot use the listening socket: {0}")]
    Listen(io::Error),
    /// Another gateway has the folder.
    #[error("another server uses the data folder `{0}`")]
    AlreadyRunning(String),
    /// The data folder cannot be used.
    #[error("cannot use the data folder `{0}`: {1}")]
    Data(String, io::Error),
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// No first token.
    #[error(transparent)]
    Token(#[from] FirstTokenError),
    /// No secret for access tokens.
    #[error(transparent)]
    Jwt(#[from] JwtError),
    /// No worker.
    #[error(transparent)]
    Worker(#[from] ContractError),
}

/// What is known once the server listens.
#[derive(Debug)]
pub struct Ready {
    /// Where.
    pub address: SocketAddr,
    /// The first token, if it was made just now.
    pub first_token: Option<NewToken>,
}

/// Serves until `stop`, over this worker, whoever connects to `listener`. `ready` is called once requests are answered.
pub async fn serve(
    config: Config,
    listener: std::net::TcpListener,
    worker: Client,
    restarter: Arc<dyn WorkerRestarter>,
    stop: CancellationToken,
    ready: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    make_room(&config.data);
    let _lock = lock(&config)?;
    raise_descriptors();
    let listener = listener.set_nonblocking(true).and_then(|()| TcpListener::from_std(listener));
    let listener = listener.map_err(ServeError::Listen)?;
    let address = listener.local_addr().map_err(ServeError::Listen)?;
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&config.store_path()).await?);
    let first_token = first_token(store.as_ref(), &config.token_path()).await?;
    let jwts = Jwts::new(&config.jwt_key_path(), &config.auth)?;
    let gateway = Gateway::new(config, address, store, worker, restarter, jwts).await?;
    announce(&gateway.config.address_path(), address)
        .map_err(|error| ServeError::Data(gateway.config.data.display().to_string(), error))?;
    gateway.begin().await;
    ready(&Ready { address, first_token });
    accept(&gateway, listener, stop).await;
    let _ = std::fs::remove_file(gateway.config.address_path());
    gateway.store.close().await?;
    Ok(())
}

/// Takes connections until told to stop, then waits for those that are open.
async fn accept(gateway: &Arc<Gateway>, listener: TcpListener, stop: CancellationToken) {
    let router = table::router(gateway);
    let room = Arc::new(Semaphore::new(gateway.config.max_connections.min(most_connections())));
    let seats = Seats::new(&gateway.config, gateway.metrics.connections.clone());
    let mut backoff = Backoff::new(REST, LONGEST_REST);
    let connections = TaskTracker::new();
    let abandon = CancellationToken::new();
    loop {
        let permit = tokio::select! {
            () = stop.cancelled() => break,
            permit = Arc::clone(&room).acquire_owned() => permit,
        };
        let Ok(permit) = permit else { break };
        let (stream, address) = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of descriptors, or the client was gone before we came: neither ends the server.
                    tracing::warn!(%error, "a connection could not be taken");
                    backoff.pause().await;
                    continue;
                }
            },
        };
        backoff.reset();
        let Some(seat) = seats.take(address.ip(), permit) else {
            refuse(&stream);
            continue;
        };
        let (router, gateway, abandon) = (router.clone(), Arc::clone(gateway), abandon.clone());
        connections.spawn(async move {
            tokio::select! {
                () = connection(gateway, router, stream, address, seat) => {}
                () = abandon.cancelled() => {}
            }
        });
    }
    drop(listener);
    gateway.background.stopping.cancel();
    connections.close();
    gateway.background.tasks.close();
    let all = async {
        connections.wait().await;
        gateway.background.tasks.wait().await;
    };
    if tokio::time::timeout(gateway.config.shutdown_grace, all).await.is_err() {
        tracing::warn!("some requests were still in flight when the server ended");
        abandon.cancel();
    }
}

async fn connection(
    gateway: Arc<Gateway>,
    router: Router,
    stream: TcpStream,
    address: SocketAddr,
    seat: Seat,
) {
    if let Err(error) = tune(&stream) {
        tracing::debug!(%error, "a connection cannot be tuned");
    }
    let patience = gateway.config.header_timeout;
    let is_live = IsLive::default();
    let stream = Patient::new(stream, gateway.config.write_timeout, is_live.clone());
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        // A client that stops in the middle of a body is not waited for.
        let mut request = request.map(|body| Body::new(TimeoutBody::new(patience, body)));
        table::rewrite(&mut request);
        request.extensions_mut().insert(ConnectInfo(address));
        request.extensions_mut().insert(seat.clone());
        let (router, is_live) = (router.clone(), is_live.clone());
        async move {
            let answer = router.oneshot(request).await.unwrap_or_else(|never| match never {});
            is_live.note(&answer);
            Ok::<_, Infallible>(answer)
        }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(patience)
        .max_headers(MAX_HEADERS)
        .max_buf_size(MAX_HEADER_BYTES);
    let connection = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
    let mut connection = std::pin::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = gateway.background.stopping.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended badly");
    }
}

fn tune(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 3).with_retries(3);
    socket.set_tcp_keepalive(&keepalive)?;
    socket.set_tcp_notsent_lowat(UNSENT_BYTES)?;
    socket.set_tcp_user_timeout(Some(STUCK))
}

/// Many streams need many descriptors; the kernel's default is a thousand.
fn raise_descriptors() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum }) {
        tracing::warn!(%error, "the number of open descriptors cannot be raised");
    }
    // The first random number may open a file, which stays open: now, while there is one.
    let _ = SessionId::random();
}

/// As many connections as there are descriptors for, each takes one; more wait.
fn most_connections() -> usize {
    use rustix::process::{Resource, getrlimit};
    let most =
        getrlimit(Resource::Nofile).current.map(|limit| limit.saturating_sub(OTHER_DESCRIPTORS).max(16));
    most.and_then(|most| usize::try_from(most).ok()).unwrap_or(Semaphore::MAX_PERMITS)
}

/// One gateway for a folder: who has the lock has the store.
fn lock(config: &Config) -> Result<File, ServeError> {
    let data = &config.data;
    let broken = |error: io::Error| ServeError::Data(data.display().to_string(), error);
    std::fs::create_dir_all(data).map_err(broken)?;
    let mut options = File::options();
    let file = options.create(true).truncate(false).write(true).mode(0o600).open(data.join("server.lock"));
    let file = file.map_err(broken)?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            // One that was killed left it, and its process id may be another's by now: while we hold the lock and have
            // not said who we are, nobody shall believe it.
            let _ = std::fs::remove_file(config.address_path());
            Ok(file)
        }
        Err(rustix::io::Errno::AGAIN) => Err(ServeError::AlreadyRunning(data.display().to_string())),
        Err(error) => Err(broken(error.into())),
    }
}

/// A server that starts on a full disk uses a piece of its reserve: for the store's journal, and for what it says of itself.
/// The rest stays for those who delete something.
fn make_room(data: &Path) {
    let shortage = Free::of(data).ok().and_then(Free::shortage);
    if let Some(shortage) = shortage {
        tracing::error!(
            "{shortage}: reading and deleting work, and nothing new can be started until there is room"
        );
        Reserve::of(data).release();
    }
}

/// Tells other commands where the server is.
fn announce(path: &Path, address: SocketAddr) -> io::Result<()> {
    let beside = path.with_extension("new");
    let _ = std::fs::remove_file(&beside);
    let mut file = File::options().create_new(true).write(true).mode(0o600).open(&beside)?;
    let json = serde_json::json!({ "address": address, "pid": std::process::id() });
    file.write_all(json.to_string().as_bytes())?;
    std::fs::rename(&beside, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_server_file_of_a_killed_server_is_removed_before_the_next_one_writes_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let config = Config::new(folder.path());
        std::fs::write(config.address_path(), "{\"pid\":1}").unwrap();
        let held = lock(&config).unwrap();
        assert!(!config.address_path().exists());
        std::fs::write(config.address_path(), "{\"pid\":2}").unwrap();
        assert!(matches!(lock(&config), Err(ServeError::AlreadyRunning(_))));
        assert!(config.address_path().exists(), "what one that runs says of itself stays");
        drop(held);
    }
}
