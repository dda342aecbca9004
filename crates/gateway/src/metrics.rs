//! The server's metrics, for Prometheus.

use std::time::Duration;

use axum::http::StatusCode;
use headwater_contract::panics;
use headwater_contract::v1::{DiskResponse, OwnerDisk};
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

/// A part of the data on the disk.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Kind {
    kind: &'static str,
}

/// One of the processes: `server` or `worker`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Process {
    process: &'static str,
}

/// Why a log was removed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Rule {
    reason: String,
}

/// The metrics that `GET /metrics` returns.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Status, Counter>,
    seconds: Histogram,
    /// Open connections.
    pub(crate) connections: Gauge,
    /// Open streams, by kind.
    pub(crate) streams: Family<StreamKind, Gauge>,
    /// Executions that this process started.
    pub(crate) started: Counter,
    ended: Family<Ending, Counter>,
    /// Bytes of output that were sent to clients.
    pub(crate) sent_bytes: Counter,
    flags: Family<Flag, Counter>,
    disk_bytes: Family<Kind, Gauge>,
    disk_free: Gauge,
    disk_total: Gauge,
    logs: Gauge,
    /// Counted by the worker since it started. A gauge, because a restart of the worker resets it.
    logs_removed: Family<Rule, Gauge>,
    logs_removed_bytes: Family<Rule, Gauge>,
    panics: Family<Process, Gauge>,
    /// Rows of executions, sessions and credentials that were removed because of their age or number.
    pub(crate) rows_removed: Counter,
    /// Audit rows that were removed.
    pub(crate) audit_removed: Counter,
}

impl Metrics {
    /// Creates all metrics, with the value 0.
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("headwater");
        let requests = Family::default();
        registry.register("requests", "requests, by the status of the response", requests.clone());
        let seconds = Histogram::new(exponential_buckets(0.000_1, 4.0, 10));
        registry.register("request_seconds", "time until the response began", seconds.clone());
        let connections = Gauge::default();
        registry.register("connections", "open connections", connections.clone());
        let streams = Family::default();
        registry.register("streams", "open streams of events", streams.clone());
        let started = Counter::default();
        registry.register("executions_started", "executions that were started", started.clone());
        let ended = Family::default();
        registry.register("executions_ended", "executions that ended, by reason", ended.clone());
        let sent_bytes = Counter::default();
        registry.register("sent_bytes", "bytes of output that were sent to clients", sent_bytes.clone());
        let flags = Family::default();
        registry.register("watchdog_flags", "suspected abuse, by reason", flags.clone());
        let disk_bytes = Family::default();
        registry.register(
            "disk_bytes",
            "bytes on the disk: logs, workspaces, snapshots, store",
            disk_bytes.clone(),
        );
        let disk_free = Gauge::default();
        registry.register(
            "disk_free_bytes",
            "free bytes of the data folder's file system",
            disk_free.clone(),
        );
        let disk_total = Gauge::default();
        registry.register("disk_total_bytes", "bytes of the data folder's file system", disk_total.clone());
        let logs = Gauge::default();
        registry.register("logs", "logs of ended executions that are kept", logs.clone());
        let logs_removed = Family::default();
        let help = "logs that retention removed since the worker started, by reason";
        registry.register("logs_removed", help, logs_removed.clone());
        let logs_removed_bytes = Family::default();
        let help = "bytes of the logs that retention removed since the worker started, by reason";
        registry.register("logs_removed_bytes", help, logs_removed_bytes.clone());
        let panics = Family::default();
        registry.register(
            "panics",
            "bugs that ended a request, a stream or a session, by process",
            panics.clone(),
        );
        let rows_removed = Counter::default();
        registry.register("rows_removed", "rows of the store that were removed", rows_removed.clone());
        let audit_removed = Counter::default();
        registry.register("audit_removed", "audit rows that were removed", audit_removed.clone());
        Self {
            registry,
            requests,
            seconds,
            connections,
            streams,
            started,
            ended,
            sent_bytes,
            flags,
            disk_bytes,
            disk_free,
            disk_total,
            logs,
            logs_removed,
            logs_removed_bytes,
            panics,
            rows_removed,
            audit_removed,
        }
    }

    /// Updates the metrics of the disk from the worker's report.
    pub(crate) fn disk(&self, report: &DiskResponse) {
        let sum = |part: fn(&OwnerDisk) -> u64| report.owners.iter().map(part).sum::<u64>();
        self.kept("logs", sum(|one| one.log_bytes));
        self.kept("workspaces", sum(|one| one.workspace_bytes));
        self.kept("snapshots", sum(|one| one.snapshot_bytes));
        self.logs.set(signed(sum(|one| one.logs)));
        self.disk_free.set(signed(report.free_bytes));
        self.disk_total.set(signed(report.total_bytes));
        self.panics.get_or_create(&Process { process: "worker" }).set(signed(report.panics));
        for removed in &report.removed {
            let rule = Rule { reason: removed.reason.clone() };
            self.logs_removed.get_or_create(&rule).set(signed(removed.logs));
            self.logs_removed_bytes.get_or_create(&rule).set(signed(removed.bytes));
        }
    }

    /// Sets the size of a part of the data on the disk.
    pub(crate) fn kept(&self, kind: &'static str, bytes: u64) {
        self.disk_bytes.get_or_create(&Kind { kind }).set(signed(bytes));
    }

    /// Counts a response.
    pub(crate) fn answered(&self, status: StatusCode, after: Duration) {
        self.requests.get_or_create(&Status { status: status.as_u16() }).inc();
        self.seconds.observe(after.as_secs_f64());
    }

    /// Counts an execution that ended.
    pub(crate) fn ended(&self, reason: &'static str) {
        self.ended.get_or_create(&Ending { reason }).inc();
    }

    /// Counts a case of suspected abuse.
    pub(crate) fn flagged(&self, reason: &'static str) {
        self.flags.get_or_create(&Flag { reason }).inc();
    }

    /// Returns all metrics in the text format of Prometheus.
    pub(crate) fn text(&self) -> String {
        self.panics.get_or_create(&Process { process: "server" }).set(signed(panics::count()));
        let mut text = String::new();
        // Writing to memory does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// Converts a number for a gauge, which is signed.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
