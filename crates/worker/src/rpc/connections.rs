//! The worker's connections: HTTP/2 by hand, because what a stream may hold that its reader does not take has to be
//! bounded, and tonic's own server does not let that be said.

use std::time::Duration;

use headwater_contract::Backoff;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::rpc::Services;

/// What one stream may hold of input that was not taken yet; and all of one connection.
const WINDOW_BYTES: u32 = 8 << 20;
/// The largest frame.
const FRAME_BYTES: u32 = 1 << 20;
/// What is encoded ahead for a reader that does not read; the default of 400 KiB is most of what a stuck one costs.
const AHEAD_BYTES: usize = 64 << 10;
/// Streams that were opened and dropped before they were looked at; more in one moment is taken for an attack. A
/// gateway carries all its watchers on few connections, and many may leave at the same moment.
const MAX_RESETS: usize = 100_000;

/// Waits when no connection can be taken, at first and at last: the kernel keeps those that come meanwhile.
const REST: Duration = Duration::from_millis(20);
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Serves until told to stop, then waits for the calls that are answered.
pub(crate) async fn serve(listener: UnixListener, services: Services, stop: CancellationToken) {
    let connections = TaskTracker::new();
    let mut backoff = Backoff::new(REST, LONGEST_REST);
    loop {
        let accepted = tokio::select! {
            () = stop.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => {
                backoff.reset();
                connections.spawn(connection(stream, services.clone(), stop.clone()));
            }
            Err(error) => {
                // Out of descriptors, or whoever called has gone: neither ends the worker.
                tracing::warn!(%error, "a connection could not be taken");
                backoff.pause().await;
            }
        }
    }
    connections.close();
    connections.wait().await;
}

async fn connection(stream: UnixStream, services: Services, stop: CancellationToken) {
    let mut builder = hyper::server::conn::http2::Builder::new(TokioExecutor::new());
    builder
        .initial_stream_window_size(WINDOW_BYTES)
        .initial_connection_window_size(WINDOW_BYTES)
        .max_frame_size(FRAME_BYTES)
        .max_send_buf_size(AHEAD_BYTES)
        .max_concurrent_streams(None)
        .max_pending_accept_reset_streams(MAX_RESETS);
    let served = builder.serve_connection(TokioIo::new(stream), TowerToHyperService::new(services));
    let mut served = std::pin::pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = stop.cancelled() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended badly");
    }
}
