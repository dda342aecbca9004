//! Counting open streams: one more while this lives.

use std::sync::Arc;

use crate::metrics::StreamKind;
use crate::state::Gateway;

/// A stream that is open, for the metrics.
pub(crate) struct OpenStream {
    gateway: Arc<Gateway>,
    kind: &'static str,
}

impl OpenStream {
    /// One more of this kind.
    pub(crate) fn new(gateway: &Arc<Gateway>, kind: &'static str) -> Self {
        gateway.metrics.streams.get_or_create(&StreamKind { kind }).inc();
        Self { gateway: Arc::clone(gateway), kind }
    }

    /// So many bytes of output went out.
    pub(crate) fn sent(&self, bytes: usize) {
        self.gateway.metrics.sent_bytes.inc_by(bytes as u64);
    }

    /// Whose it is.
    pub(crate) const fn gateway(&self) -> &Arc<Gateway> {
        &self.gateway
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.gateway.metrics.streams.get_or_create(&StreamKind { kind: self.kind }).dec();
    }
}
