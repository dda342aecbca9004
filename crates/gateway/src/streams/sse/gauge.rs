//! Counts open streams for the metrics, while this guard exists.

use std::sync::Arc;

use crate::metrics::Kind;
use crate::state::Gateway;

/// An open stream, counted in the metrics.
pub(crate) struct OpenStream {
    gateway: Arc<Gateway>,
    kind: &'static str,
}

impl OpenStream {
    /// Counts one more stream of this kind.
    pub(crate) fn new(gateway: &Arc<Gateway>, kind: &'static str) -> Self {
        gateway.metrics.streams.get_or_create(&Kind { kind }).inc();
        Self { gateway: Arc::clone(gateway), kind }
    }

    /// Counts bytes of output that were sent.
    pub(crate) fn sent(&self, bytes: usize) {
        self.gateway.metrics.sent_bytes.inc_by(bytes as u64);
    }

    /// The gateway that serves the stream.
    pub(crate) const fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.gateway.metrics.streams.get_or_create(&Kind { kind: self.kind }).dec();
    }
}
