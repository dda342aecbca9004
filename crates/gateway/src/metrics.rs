//! The server's metrics, for Prometheus. This file counts events as they happen; [`figures`] has the values that are
//! read when `/metrics` is requested.
//!
//! Every label value of a closed set exists from the start, with the value 0: `rate()` and `increase()` do not see the
//! first event of a series that appears with it.

mod figures;

use std::time::Duration;

use axum::http::StatusCode;
use headwater_protocol::api::ErrorCode;
use headwater_protocol::{Reason, Verdict};
use prometheus_client::encoding::{EncodeLabelSet, text::encode};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Metric, Registry};

pub(crate) use self::figures::Figures;
use crate::quota::admission::Refusal;

/// The kinds of streams to clients.
const STREAMS: [&str; 13] = [
    "archive",
    "chat",
    "feed",
    "file",
    "json",
    "raw",
    "recording",
    "search",
    "sse",
    "terminal",
    "tool",
    "watch",
    "websocket",
];
/// What the watchdog flags.
const FLAGS: [&str; 2] = ["miner", "silent_load"];
/// Why the queue refuses a start.
const REFUSALS: [&str; 2] = ["full", "timeout"];
/// What clients upload: input of programs, and files and archives.
const UPLOADS: [&str; 2] = ["files", "stdin"];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Status {
    status: u16,
}

/// The kind of a stream to a client, of an upload, or of data on the disk.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub(crate) struct Kind {
    pub(crate) kind: &'static str,
}

/// The reason of an end, a refusal or a flag.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Why {
    reason: &'static str,
}

/// The code of an error response.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Code {
    code: &'static str,
}

/// The metrics that `GET /metrics` returns.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<Status, Counter>,
    errors: Family<Code, Counter>,
    seconds: Histogram,
    /// Open connections.
    pub(crate) connections: Gauge,
    /// Open streams, by kind.
    pub(crate) streams: Family<Kind, Gauge>,
    started: Counter,
    start_seconds: Histogram,
    ended: Family<Why, Counter>,
    execution_seconds: Histogram,
    output_bytes: Counter,
    queue_seconds: Histogram,
    queue_refused: Family<Why, Counter>,
    /// Bytes of output that were sent to clients.
    pub(crate) sent_bytes: Counter,
    received_bytes: Family<Kind, Counter>,
    flags: Family<Why, Counter>,
    /// Turns of agents that run.
    pub(crate) turns_running: Gauge,
    /// Turns of agents that were begun or resumed.
    pub(crate) turns: Counter,
    /// How often another worker was found than before.
    pub(crate) worker_restarts: Counter,
    /// Rows of executions, sessions and credentials that were removed because of their age or number.
    pub(crate) rows_removed: Counter,
    /// Audit rows that were removed.
    pub(crate) audit_removed: Counter,
    /// What is read when the metrics are requested.
    pub(crate) figures: Figures,
}

/// Registers a metric that starts with no value or 0.
fn register<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    registered(registry, name, help, M::default())
}

fn registered<M: Metric + Clone>(registry: &mut Registry, name: &str, help: &str, metric: M) -> M {
    registry.register(name, help, metric.clone());
    metric
}

/// Registers a histogram of seconds whose buckets grow by the factor 4.
fn histogram(registry: &mut Registry, name: &str, help: &str, first: f64, buckets: u16) -> Histogram {
    registered(registry, name, help, Histogram::new(exponential_buckets(first, 4.0, buckets)))
}

impl Metrics {
    /// Creates all metrics, with the value 0.
    pub(crate) fn new() -> Self {
        let mut registry = Registry::with_prefix("headwater");
        let all = &mut registry;
        let metrics = Self {
            requests: register(all, "requests", "requests, by the status of the response"),
            errors: register(all, "errors", "error responses, by code"),
            seconds: histogram(all, "request_seconds", "time until the response began", 0.000_1, 10),
            connections: register(all, "connections", "open connections"),
            streams: register(all, "streams", "open streams of events"),
            started: register(all, "executions_started", "executions that were started"),
            start_seconds: histogram(
                all,
                "start_seconds",
                "time until the worker has accepted a start, with the wait in the queue",
                0.001,
                9, // up to 66 s: a start waits 30 s at most by default
            ),
            ended: register(all, "executions_ended", "executions that ended, by reason"),
            execution_seconds: histogram(
                all,
                "execution_seconds",
                "wall-clock time of executions that ended",
                0.01,
                11, // up to 3 h
            ),
            output_bytes: register(all, "output_bytes", "bytes of output of executions that ended"),
            queue_seconds: histogram(all, "queue_seconds", "time of starts in the queue", 0.001, 9),
            queue_refused: register(all, "queue_refused", "starts that the queue refused, by reason"),
            sent_bytes: register(all, "sent_bytes", "bytes of output that were sent to clients"),
            received_bytes: register(
                all,
                "received_bytes",
                "bytes of input and files that clients sent, by kind",
            ),
            turns_running: register(all, "turns_running", "turns of agents that run"),
            turns: register(all, "turns", "turns of agents that were begun or resumed"),
            flags: register(all, "watchdog_flags", "suspected abuse, by reason"),
            worker_restarts: register(all, "worker_restarts", "restarts of the worker that were noticed"),
            rows_removed: register(all, "rows_removed", "rows of the store that were removed"),
            audit_removed: register(all, "audit_removed", "audit rows that were removed"),
            figures: Figures::new(all),
            registry,
        };
        metrics.create_series();
        metrics
    }

    /// Creates the series of all closed sets.
    fn create_series(&self) {
        for code in ErrorCode::ALL {
            drop(self.errors.get_or_create(&Code { code: code.name() }));
        }
        for reason in Reason::ALL {
            drop(self.ended.get_or_create(&Why { reason: reason.name() }));
        }
        for kind in STREAMS {
            drop(self.streams.get_or_create(&Kind { kind }));
        }
        for reason in FLAGS {
            drop(self.flags.get_or_create(&Why { reason }));
        }
        for reason in REFUSALS {
            drop(self.queue_refused.get_or_create(&Why { reason }));
        }
        for kind in UPLOADS {
            drop(self.received_bytes.get_or_create(&Kind { kind }));
        }
    }

    /// Counts a response; `error` is its code if it is an error.
    pub(crate) fn answered(&self, status: StatusCode, error: Option<ErrorCode>, after: Duration) {
        self.requests.get_or_create(&Status { status: status.as_u16() }).inc();
        if let Some(code) = error {
            self.errors.get_or_create(&Code { code: code.name() }).inc();
        }
        self.seconds.observe(after.as_secs_f64());
    }

    /// Counts an execution that was started.
    pub(crate) fn started(&self) {
        self.started.inc();
    }

    /// Counts the time of a start, from the request to the worker's response.
    pub(crate) fn accepted(&self, after: Duration) {
        self.start_seconds.observe(after.as_secs_f64());
    }

    /// Counts the time that a start was in the queue, and a refusal by it.
    pub(crate) fn queued(&self, waited: Duration, refusal: Option<&Refusal>) {
        self.queue_seconds.observe(waited.as_secs_f64());
        let reason = match refusal {
            Some(Refusal::QueueFull(_)) => "full",
            Some(Refusal::TimedOut(_)) => "timeout",
            None => return,
        };
        self.queue_refused.get_or_create(&Why { reason }).inc();
    }

    /// Counts an execution that ended.
    pub(crate) fn ended(&self, verdict: &Verdict) {
        self.ended.get_or_create(&Why { reason: verdict.reason.name() }).inc();
        self.execution_seconds.observe(Duration::from_millis(verdict.duration_ms).as_secs_f64());
        let printed = [verdict.stdout_bytes, verdict.stderr_bytes, verdict.output_bytes];
        self.output_bytes.inc_by(printed.into_iter().fold(0, u64::saturating_add));
    }

    /// Counts bytes of input that a client sent.
    pub(crate) fn received_stdin(&self, bytes: usize) {
        self.received_bytes.get_or_create(&Kind { kind: "stdin" }).inc_by(bytes as u64);
    }

    /// Counts bytes of a file or an archive that a client sent.
    pub(crate) fn received_file(&self, bytes: usize) {
        self.received_bytes.get_or_create(&Kind { kind: "files" }).inc_by(bytes as u64);
    }

    /// Counts a case of suspected abuse.
    pub(crate) fn flagged(&self, reason: &'static str) {
        self.flags.get_or_create(&Why { reason }).inc();
    }

    /// Returns all metrics in the text format of Prometheus.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to memory does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_series_of_a_closed_set_exists_from_the_start() {
        let text = Metrics::new().text();
        let mut expected: Vec<String> =
            Reason::ALL.map(|one| format!("executions_ended_total{{reason=\"{}\"}} 0", one.name())).into();
        expected.extend(ErrorCode::ALL.map(|one| format!("errors_total{{code=\"{}\"}} 0", one.name())));
        expected.extend(STREAMS.map(|kind| format!("streams{{kind=\"{kind}\"}} 0")));
        for line in [
            "queue_refused_total{reason=\"full\"} 0",
            "watchdog_flags_total{reason=\"miner\"} 0",
            "received_bytes_total{kind=\"stdin\"} 0",
            "sessions{state=\"hibernated\"} 0",
            "cache_requests_total{cache=\"packages\",result=\"hit\"} 0",
            "logs_removed{reason=\"age\"} 0",
            "panics{process=\"worker\"} 0",
            "disk_bytes{kind=\"builds\"} 0",
            "worker_restarts_total 0",
        ] {
            expected.push(line.to_owned());
        }
        for line in expected {
            assert!(text.contains(&format!("\nheadwater_{line}\n")), "{line} is missing:\n{text}");
        }
    }

    #[test]
    fn an_end_counts_its_reason_its_duration_and_its_output() {
        let metrics = Metrics::new();
        let verdict = Verdict { duration_ms: 20, stdout_bytes: 5, ..Verdict::new(Reason::Lost) };
        metrics.ended(&verdict);
        metrics.queued(Duration::from_millis(3), Some(&Refusal::TimedOut(1)));
        let text = metrics.text();
        for line in [
            "executions_ended_total{reason=\"lost\"} 1",
            "execution_seconds_bucket{le=\"0.01\"} 0",
            "execution_seconds_bucket{le=\"0.04\"} 1",
            "output_bytes_total 5",
            "queue_refused_total{reason=\"timeout\"} 1",
            "queue_seconds_count 1",
        ] {
            assert!(text.contains(&format!("\nheadwater_{line}\n")), "{line} is missing:\n{text}");
        }
    }
}
