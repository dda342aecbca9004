//! The connections to the worker, and its supervision.
//!
//! Calls and streams have separate connections, so that the output of a stream does not delay a start.

mod calls;
#[cfg(test)]
pub(crate) mod scripted;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use headwater_contract::{Client, ContractError, FaultKind, WorkerRestarter, connect_with};
use tokio_util::sync::CancellationToken;

/// Connections for streams: one task on either side serves each of them.
const STREAM_CONNECTIONS: usize = 4;
/// The most that a client that does not read may hold here of what the worker has sent.
const STREAM_WINDOW_BYTES: u32 = 64 << 10;
/// Time between two checks of the worker.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The worker, with typed calls that are repeated after a restart of it.
#[derive(Debug)]
pub(crate) struct Worker {
    calls: Client,
    streams: Vec<Client>,
    next: AtomicUsize,
}

impl Worker {
    /// Opens the connections.
    pub(crate) async fn new(
        calls: Client,
        restarter: Arc<dyn WorkerRestarter>,
    ) -> Result<Self, ContractError> {
        let mut streams = Vec::with_capacity(STREAM_CONNECTIONS);
        for _ in 0..STREAM_CONNECTIONS {
            streams.push(
                connect_with(calls.socket(), STREAM_WINDOW_BYTES)
                    .await?
                    .with_restarter(Arc::clone(&restarter)),
            );
        }
        Ok(Self { calls: calls.with_restarter(restarter), streams, next: AtomicUsize::new(0) })
    }

    /// The connection for calls with one response.
    pub(crate) const fn calls(&self) -> &Client {
        &self.calls
    }

    /// A connection for streams.
    pub(crate) fn streams(&self) -> &Client {
        let n = self.next.fetch_add(1, Ordering::Relaxed) % STREAM_CONNECTIONS;
        self.streams.get(n).unwrap_or(&self.calls)
    }

    /// Checks the worker until `stopping`: a worker that has died is restarted by the call, and adopts what it left.
    pub(crate) async fn supervise(&self, stopping: CancellationToken, came_back: impl Fn()) {
        let mut pid = 0;
        loop {
            match self.info().await {
                Ok(info) => {
                    if pid != 0 && pid != info.pid {
                        tracing::warn!(pid = info.pid, "the worker was restarted");
                        came_back();
                    }
                    pid = info.pid;
                }
                Err(error) => tracing::error!(%error, "cannot restart the worker"),
            }
            tokio::select! {
                () = stopping.cancelled() => return,
                () = tokio::time::sleep(CHECK_INTERVAL) => {}
            }
        }
    }
}

/// A list of the worker, empty if it is too large for one response. The caller must then be able to ask for each object
/// by itself; otherwise one user with many objects would block all others.
pub(crate) fn if_it_fits<T>(list: Result<Vec<T>, ContractError>) -> Result<Vec<T>, ContractError> {
    match list {
        Err(ContractError::Fault(fault)) if fault.kind == FaultKind::Invalid => {
            tracing::warn!(%fault, "the list of the worker is too large for one response");
            Ok(Vec::new())
        }
        list => list,
    }
}
