//! The worker's HTTP/2 connections. Not tonic's own server, because it cannot limit the buffer of a stream whose reader
//! does not read.

use std::time::Duration;

use headwater_contract::Backoff;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::service::TowerToHyperService;
use tokio::net::{UnixListener, UnixStream};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::rpc::Services;

/// The receive window of one stream, and of a whole connection.
const WINDOW_BYTES: u32 = 8 << 20;
/// The largest frame.
const FRAME_BYTES: u32 = 1 << 20;
/// The send buffer of a stream: the default of 400 KiB is most of the memory of a stalled reader.
const MAX_SEND_BUFFER_BYTES: usize = 64 << 10;
/// Streams that may be reset before they were accepted; more at a time count as an attack. A gateway has all its clients
/// on a few connections, and many of them may disconnect at the same moment.
const MAX_RESETS: usize = 100_000;

/// Pauses when no connection can be accepted, at first and at last: the kernel queues new ones meanwhile.
const MIN_ACCEPT_PAUSE: Duration = Duration::from_millis(20);
const MAX_ACCEPT_PAUSE: Duration = Duration::from_secs(1);

/// Serves until the worker stops, then waits for running calls.
pub(crate) async fn serve(listener: UnixListener, services: Services, stop: CancellationToken) {
    let connections = TaskTracker::new();
    let mut backoff = Backoff::new(MIN_ACCEPT_PAUSE, MAX_ACCEPT_PAUSE);
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
                // Out of descriptors, or the client is gone: neither ends the worker.
                tracing::warn!(%error, "cannot accept a connection");
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
        .max_send_buf_size(MAX_SEND_BUFFER_BYTES)
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
        tracing::debug!(%error, "connection closed with an error");
    }
}
