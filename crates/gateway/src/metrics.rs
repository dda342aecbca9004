//! What the server counts, for Prometheus.

use std::time::Duration;

use axum::http::StatusCode;
use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Status {
    status: u16,
}

/// The kind of a stream to a client.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct StreamKind {
    pub(crate) kind: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ending {
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Flag {
    reason: &'static str,
}

/// All that is counted.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Status, Counter>,
    seconds: Histogram,
    /// Open connections.
    pub(crate) connections: Gauge,
    /// Open streams, by kind.
    pub(crate) streams: Family<StreamKind, Gauge>,
    /// Executions that were started here.
    pub(crate) started: Counter,
    ended: Family<Ending, Counter>,
    /// Bytes of output that went to clients.
    pub(crate) sent_bytes: Counter,
    flags: Family<Flag, Counter>,
}

impl Metrics {
    /// Everything at 0.
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("headwater");
        let requests = Family::default();
        registry.register("requests", "requests by the status of their answer", requests.clone());
        let seconds = Histogram::new(exponential_buckets(0.000_1, 4.0, 10));
        registry.register("request_seconds", "time until an answer began", seconds.clone());
        let connections = Gauge::default();
        registry.register("connections", "open connections", connections.clone());
        let streams = Family::default();
        registry.register("streams", "open streams of events", streams.clone());
        let started = Counter::default();
        registry.register("executions_started", "executions that were started", started.clone());
        let ended = Family::default();
        registry.register("executions_ended", "executions that ended, by reason", ended.clone());
        let sent_bytes = Counter::default();
        registry.register("sent_bytes", "bytes of output that went to clients", sent_bytes.clone());
        let flags = Family::default();
        registry.register("watchdog_flags", "what looked like abuse, by reason", flags.clone());
        Self { registry, requests, seconds, connections, streams, started, ended, sent_bytes, flags }
    }

    /// A request was answered.
    pub(crate) fn answered(&self, status: StatusCode, after: Duration) {
        self.requests.get_or_create(&Status { status: status.as_u16() }).inc();
        self.seconds.observe(after.as_secs_f64());
    }

    /// An execution ended.
    pub(crate) fn ended(&self, reason: &'static str) {
        self.ended.get_or_create(&Ending { reason }).inc();
    }

    /// Something looks like abuse.
    pub(crate) fn flagged(&self, reason: &'static str) {
        self.flags.get_or_create(&Flag { reason }).inc();
    }

    /// All of it as text.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to memory does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}
