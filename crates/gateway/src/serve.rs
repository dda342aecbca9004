//! The HTTP server: the listener, its connections, and the shutdown.
//!
//! A shutdown is graceful: streams ask their clients to reconnect, and requests in flight complete. Programs, sessions and
//! the worker keep running.

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
use headwater_contract::{Backoff, Client, ContractError, WorkerRestarter, WriteTimeout};
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
use crate::previews;
use crate::reports::Reports;
use crate::routes::router;
pub(crate) use crate::serve::connection_permits::ConnectionPermit;
use crate::serve::connection_permits::{ConnectionPermits, refuse};
use crate::serve::slow_reader::IsLive;
pub(crate) use crate::serve::slow_reader::Live;
use crate::state::Gateway;

/// The largest number of headers of a request.
const MAX_HEADERS: usize = 100;
/// The largest size of all headers of a request, to within one read.
const MAX_HEADER_BYTES: usize = 64 << 10;
/// Time without traffic after which the kernel checks whether the client still exists.
const KEEPALIVE: Duration = Duration::from_secs(30);
/// A client that acknowledges nothing for this long is disconnected; it can resume.
const UNACKNOWLEDGED_TIMEOUT: Duration = Duration::from_mins(5);
/// The most bytes that wait in the kernel for one client. Enough that a client never waits for the server; the default of
/// the kernel is megabytes, which would be spent on every client that does not read.
const UNSENT_BYTES: u32 = 256 << 10;

/// The first pause after a failed `accept`. The kernel queues new connections meanwhile.
const ACCEPT_PAUSE: Duration = Duration::from_millis(20);
/// The longest pause after failed `accept`s.
const LONGEST_ACCEPT_PAUSE: Duration = Duration::from_secs(1);
/// File descriptors that are reserved for the store, the worker and served files.
const RESERVED_DESCRIPTORS: u64 = 128;

/// Why the gateway cannot serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// The listening socket cannot be used.
    #[error("cannot use the listening socket: {0}")]
    Listen(io::Error),
    /// Another gateway holds the lock of the data folder.
    #[error("another server uses the data folder `{0}`")]
    AlreadyRunning(String),
    /// The data folder cannot be used.
    #[error("cannot use the data folder `{0}`: {1}")]
    Data(String, io::Error),
    /// The store cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The first token cannot be created.
    #[error(transparent)]
    Token(#[from] FirstTokenError),
    /// The secret of access tokens cannot be used.
    #[error(transparent)]
    Jwt(#[from] JwtError),
    /// The worker cannot be reached.
    #[error(transparent)]
    Worker(#[from] ContractError),
}

/// Facts for the caller, once the server listens.
#[derive(Debug)]
pub struct Ready {
    /// The address that the server listens on.
    pub address: SocketAddr,
    /// The first token, if it was created by this start.
    pub first_token: Option<NewToken>,
}

/// Serves connections of `listener` until `stop`. `ready` is called once requests are served.
pub async fn serve(
    config: Config,
    listener: std::net::TcpListener,
    worker: Client,
    restarter: Arc<dyn WorkerRestarter>,
    reports: Arc<dyn Reports>,
    stop: CancellationToken,
    ready: impl FnOnce(&Ready),
) -> Result<(), ServeError> {
    release_reserve_if_full(&config.data);
    let _lock = lock(&config)?;
    raise_open_files();
    let listener = listener.set_nonblocking(true).and_then(|()| TcpListener::from_std(listener));
    let listener = listener.map_err(ServeError::Listen)?;
    let address = listener.local_addr().map_err(ServeError::Listen)?;
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&config.store_path()).await?);
    let first_token = first_token(store.as_ref(), &config.token_path()).await?;
    let jwts = Jwts::new(&config.jwt_key_path(), &config.auth)?;
    let gateway = Gateway::new(config, address, store, worker, restarter, reports, jwts).await?;
    write_address(&gateway.config.address_path(), address)
        .map_err(|error| ServeError::Data(gateway.config.data.display().to_string(), error))?;
    gateway.begin().await;
    ready(&Ready { address, first_token });
    accept(&gateway, listener, stop).await;
    let _ = std::fs::remove_file(gateway.config.address_path());
    gateway.store.close().await?;
    Ok(())
}

/// Accepts connections until `stop`, then waits for the open ones.
async fn accept(gateway: &Arc<Gateway>, listener: TcpListener, stop: CancellationToken) {
    let router = router::router(gateway);
    let limit = Arc::new(Semaphore::new(gateway.config.max_connections.min(max_connections())));
    let permits = ConnectionPermits::new(&gateway.config, gateway.metrics.connections.clone());
    let mut backoff = Backoff::new(ACCEPT_PAUSE, LONGEST_ACCEPT_PAUSE);
    let connections = TaskTracker::new();
    let abandon = CancellationToken::new();
    loop {
        let permit = tokio::select! {
            () = stop.cancelled() => break,
            permit = Arc::clone(&limit).acquire_owned() => permit,
        };
        let Ok(permit) = permit else { break };
        let (stream, address) = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    // Out of file descriptors, or the client has gone: neither ends the server.
                    tracing::warn!(%error, "cannot accept a connection");
                    backoff.pause().await;
                    continue;
                }
            },
        };
        backoff.reset();
        let Some(permit) = permits.take(address.ip(), permit) else {
            refuse(&stream);
            continue;
        };
        let (router, gateway, abandon) = (router.clone(), Arc::clone(gateway), abandon.clone());
        connections.spawn(async move {
            tokio::select! {
                () = connection(gateway, router, stream, address, permit) => {}
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
        tracing::warn!("requests were still in flight when the server exited");
        abandon.cancel();
    }
}

async fn connection(
    gateway: Arc<Gateway>,
    router: Router,
    stream: TcpStream,
    address: SocketAddr,
    permit: ConnectionPermit,
) {
    if let Err(error) = set_options(&stream) {
        tracing::debug!(%error, "cannot set the options of a connection");
    }
    let (header_timeout, of_requests) = (gateway.config.header_timeout, Arc::clone(&gateway));
    let is_live = IsLive::default();
    let stream = WriteTimeout::with_policy(stream, gateway.config.write_timeout, is_live.clone());
    let service = hyper::service::service_fn(move |request: Request<Incoming>| {
        // A client that stops sending in the middle of a body fails with a timeout.
        let mut request = request.map(|body| Body::new(TimeoutBody::new(header_timeout, body)));
        request.extensions_mut().insert(ConnectInfo(address));
        request.extensions_mut().insert(permit.clone());
        let (router, is_live, gateway) = (router.clone(), is_live.clone(), Arc::clone(&of_requests));
        async move {
            let preview_url = gateway.config.preview_url.as_ref();
            let preview = previews::requested(&gateway.auth.jwts, preview_url, &request);
            let response = if let Some(target) = preview {
                // A preview has nothing to do with this server: none of its routes, and no identity.
                previews::proxy::serve(&gateway, target, request).await
            } else {
                router::rewrite(&mut request);
                router.oneshot(request).await.unwrap_or_else(|never| match never {})
            };
            is_live.set(&response);
            Ok::<_, Infallible>(response)
        }
    });
    let mut builder = hyper::server::conn::http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        .header_read_timeout(header_timeout)
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
        tracing::debug!(%error, "a connection ended with an error");
    }
}

fn set_options(stream: &TcpStream) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new().with_time(KEEPALIVE).with_interval(KEEPALIVE / 3).with_retries(3);
    socket.set_tcp_keepalive(&keepalive)?;
    socket.set_tcp_notsent_lowat(UNSENT_BYTES)?;
    socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED_TIMEOUT))
}

/// Raises the limit of open files: each stream needs one, and the default of the kernel is 1024.
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    if let Err(error) = setrlimit(Resource::Nofile, Rlimit { current: now.maximum, maximum: now.maximum }) {
        tracing::warn!(%error, "cannot raise the limit of open files");
    }
    // The first random number may open a file that stays open: done now, while file descriptors are available.
    let _ = SessionId::random();
}

/// The largest number of connections: each needs a file descriptor. More connections wait.
fn max_connections() -> usize {
    use rustix::process::{Resource, getrlimit};
    let limit =
        getrlimit(Resource::Nofile).current.map(|limit| limit.saturating_sub(RESERVED_DESCRIPTORS).max(16));
    limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(Semaphore::MAX_PERMITS)
}

/// Takes the lock of the data folder: only one gateway uses a store.
fn lock(config: &Config) -> Result<File, ServeError> {
    let data = &config.data;
    let broken = |error: io::Error| ServeError::Data(data.display().to_string(), error);
    std::fs::create_dir_all(data).map_err(broken)?;
    let mut options = File::options();
    let file = options.create(true).truncate(false).write(true).mode(0o600).open(data.join("server.lock"));
    let file = file.map_err(broken)?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            // A gateway that was killed leaves this file, and its process id may belong to another process by now.
            let _ = std::fs::remove_file(config.address_path());
            Ok(file)
        }
        Err(rustix::io::Errno::AGAIN) => Err(ServeError::AlreadyRunning(data.display().to_string())),
        Err(error) => Err(broken(error.into())),
    }
}

/// On a full disk, releases a part of the reserve for the journal of the store and the server's own files. The rest stays
/// for requests that delete something.
fn release_reserve_if_full(data: &Path) {
    let shortage = Free::of(data).ok().and_then(Free::shortage);
    if let Some(shortage) = shortage {
        tracing::error!(
            "{shortage}: reading and deleting work, but nothing can be started until space is freed"
        );
        Reserve::of(data).release();
    }
}

/// Writes the file with which other commands find the server.
fn write_address(path: &Path, address: SocketAddr) -> io::Result<()> {
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
        assert!(config.address_path().exists(), "the file of a running server stays");
        drop(held);
    }
}
