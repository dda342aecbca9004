//! The way to the worker: a few connections, and somebody who brings it back.
//!
//! Calls and streams have connections of their own, so that a flood to a watcher does not hold up a start.

mod calls;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use headwater_contract::{Client, ContractError, FaultKind, WorkerRestarter, connect_with};
use tokio_util::sync::CancellationToken;

/// Connections for streams: what one of them carries goes through one task on either side.
const STREAM_CONNECTIONS: usize = 4;
/// What a watcher that does not read may hold here of what the worker has sent.
const STREAM_WINDOW_BYTES: u32 = 64 << 10;
/// How often the worker is asked whether it lives.
const PULSE: Duration = Duration::from_secs(1);

/// The worker.
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

    /// For calls with one answer.
    const fn calls(&self) -> &Client {
        &self.calls
    }

    /// For calls that stream.
    fn streams(&self) -> &Client {
        let n = self.next.fetch_add(1, Ordering::Relaxed) % STREAM_CONNECTIONS;
        self.streams.get(n).unwrap_or(&self.calls)
    }

    /// Looks after the worker until told to stop: one that dies is started again, and adopts what it left.
    pub(crate) async fn supervise(&self, stopping: CancellationToken, came_back: impl Fn()) {
        let mut pid = 0;
        loop {
            match self.info().await {
                Ok(info) => {
                    if pid != 0 && pid != info.pid {
                        tracing::warn!(pid = info.pid, "the worker was started again");
                        came_back();
                    }
                    pid = info.pid;
                }
                Err(error) => tracing::error!(%error, "the worker cannot be brought back"),
            }
            tokio::select! {
                () = stopping.cancelled() => return,
                () = tokio::time::sleep(PULSE) => {}
            }
        }
    }
}

/// What a question for all of something tells. Nothing, where there is more of it than one answer can carry: whoever
/// asks must then be able to ask for each by itself, or one user with many things would leave none to the others.
pub(crate) fn if_it_fits<T>(told: Result<Vec<T>, ContractError>) -> Result<Vec<T>, ContractError> {
    match told {
        Err(ContractError::Fault(fault)) if fault.kind == FaultKind::Invalid => {
            tracing::warn!(%fault, "the worker has more to tell than fits into one answer");
            Ok(Vec::new())
        }
        told => told,
    }
}
