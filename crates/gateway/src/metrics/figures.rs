//! The metrics that are read when `/metrics` is requested: the state of the worker, the disk and the processes.

use std::sync::atomic::{AtomicU64, Ordering};

use headwater_contract::v1::{DiskResponse, InfoResponse, OwnerDisk, ProcessUsage, SessionUsage};
use headwater_contract::{panics, v1};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::{Kind, register};

/// The parts of the data on the disk.
const DISK: [&str; 6] = ["builds", "logs", "packages", "snapshots", "store", "workspaces"];
/// The caches of the worker.
const CACHES: [&str; 2] = ["builds", "packages"];
/// Why retention removes a log.
const REMOVALS: [&str; 4] = ["age", "number", "prune", "size"];
const SERVER: Process = Process { process: "server" };
const WORKER: Process = Process { process: "worker" };

/// One of the processes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Process {
    process: &'static str,
}

/// Why a log was removed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Rule {
    reason: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SessionState {
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LookUp {
    cache: &'static str,
    result: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Versions {
    version: &'static str,
    worker_version: String,
}

/// A number with a fraction.
type Fraction = Gauge<f64, AtomicU64>;

/// Values that are set when they are read. Those of the worker are as it last reported them.
#[derive(Debug)]
pub(crate) struct Figures {
    worker_up: Gauge,
    start_time: Family<Process, Fraction>,
    build_info: Family<Versions, Gauge>,
    sessions: Family<SessionState, Gauge>,
    running: Gauge,
    sessions_memory: Gauge,
    sessions_cpu: Fraction,
    queue_length: Gauge,
    conversations: Gauge,
    cache_requests: Family<LookUp, Counter>,
    disk_bytes: Family<Kind, Gauge>,
    disk_free: Gauge,
    disk_total: Gauge,
    free_inodes: Gauge,
    total_inodes: Gauge,
    disk_short: Gauge,
    logs: Gauge,
    /// Counted by the worker since it started. A gauge, because a restart of the worker resets it.
    logs_removed: Family<Rule, Gauge>,
    logs_removed_bytes: Family<Rule, Gauge>,
    panics: Family<Process, Gauge>,
    memory: Family<Process, Gauge>,
    open_files: Family<Process, Gauge>,
    max_files: Family<Process, Gauge>,
    cpu_seconds: Family<Process, Counter<f64, AtomicU64>>,
}

impl Figures {
    /// Registers all of them, with the value 0.
    pub(super) fn new(all: &mut Registry) -> Self {
        let figures = Self {
            worker_up: register(all, "worker_up", "1 if the worker answers, otherwise 0"),
            start_time: register(all, "start_time_seconds", "when the process started, in Unix time"),
            build_info: register(all, "build_info", "always 1; the labels are the versions"),
            sessions: register(all, "sessions", "sessions, by state; `prepared` ones are the pool"),
            running: register(all, "executions_running", "executions that have not ended"),
            sessions_memory: register(
                all,
                "sessions_memory_bytes",
                "memory of all sessions, as last measured",
            ),
            sessions_cpu: register(
                all,
                "sessions_cpu_seconds",
                "CPU time of all sessions that exist, as last measured",
            ),
            queue_length: register(all, "queue_length", "starts in the queue"),
            conversations: register(all, "conversations", "conversations that are in memory"),
            cache_requests: register(all, "cache_requests", "look-ups in the caches, by result"),
            disk_bytes: register(
                all,
                "disk_bytes",
                "bytes on the disk: logs, workspaces, snapshots, store, caches of builds and packages",
            ),
            disk_free: register(all, "disk_free_bytes", "free bytes of the data folder's file system"),
            disk_total: register(all, "disk_total_bytes", "bytes of the data folder's file system"),
            free_inodes: register(all, "disk_free_inodes", "free inodes of the data folder's file system"),
            total_inodes: register(all, "disk_total_inodes", "inodes of the data folder's file system"),
            disk_short: register(all, "disk_short", "1 while a full disk prevents new starts, otherwise 0"),
            logs: register(all, "logs", "logs of ended executions that are kept"),
            logs_removed: register(
                all,
                "logs_removed",
                "logs that retention removed since the worker started, by reason",
            ),
            logs_removed_bytes: register(
                all,
                "logs_removed_bytes",
                "bytes of the logs that retention removed since the worker started, by reason",
            ),
            panics: register(all, "panics", "bugs that ended a request, a stream or a session, by process"),
            memory: register(all, "memory_bytes", "resident memory of the process, without sessions"),
            open_files: register(all, "open_files", "open file descriptors of the process"),
            max_files: register(all, "max_files", "limit of open file descriptors; 0 means none"),
            cpu_seconds: register(all, "cpu_seconds", "CPU time of the process, without sessions"),
        };
        figures.create_series();
        figures
    }

    fn create_series(&self) {
        for state in ["hibernated", "prepared", "ready"] {
            drop(self.sessions.get_or_create(&SessionState { state }));
        }
        for cache in CACHES {
            for result in ["hit", "miss"] {
                drop(self.cache_requests.get_or_create(&LookUp { cache, result }));
            }
        }
        for kind in DISK {
            drop(self.disk_bytes.get_or_create(&Kind { kind }));
        }
        for reason in REMOVALS {
            let rule = Rule { reason: reason.to_owned() };
            drop(self.logs_removed.get_or_create(&rule));
            drop(self.logs_removed_bytes.get_or_create(&rule));
        }
        for process in [SERVER, WORKER] {
            drop(self.panics.get_or_create(&process));
        }
    }

    /// Sets the state of the worker; `None` if it does not answer.
    pub(crate) fn set_worker(&self, worker: Option<&InfoResponse>) {
        self.worker_up.set(i64::from(worker.is_some()));
        let Some(info) = worker else { return };
        self.set_start(&WORKER, info.started_at_ms);
        self.build_info.clear(); // an earlier worker may have had another version
        let worker_version = info.version.clone();
        let versions = Versions { version: env!("CARGO_PKG_VERSION"), worker_version };
        self.build_info.get_or_create(&versions).set(1);
        for (state, count) in
            [("ready", info.sessions), ("hibernated", info.hibernated), ("prepared", info.prepared)]
        {
            self.sessions.get_or_create(&SessionState { state }).set(count.into());
        }
        self.running.set(info.running.into());
    }

    /// Sets the state of the server itself.
    pub(crate) fn set_server(&self, started_at_ms: u64, usage: &ProcessUsage, queued: usize) {
        self.set_start(&SERVER, started_at_ms);
        self.set_process(&SERVER, usage);
        self.panics.get_or_create(&SERVER).set(signed(panics::count()));
        self.queue_length.set(signed(queued as u64));
    }

    /// Sets how many conversations are in memory.
    pub(crate) fn set_conversations(&self, live: usize) {
        self.conversations.set(signed(live as u64));
    }

    /// Sets whether a full disk prevents new starts, and the size of the store.
    pub(crate) fn set_disk(&self, is_short: bool, store_bytes: u64) {
        self.disk_short.set(i64::from(is_short));
        self.set_kept("store", store_bytes);
    }

    /// Sets what the worker reports of the disk, its caches and itself.
    pub(crate) fn set_report(&self, report: &DiskResponse) {
        let sum = |part: fn(&OwnerDisk) -> u64| report.owners.iter().map(part).sum::<u64>();
        self.set_kept("logs", sum(|one| one.log_bytes));
        self.set_kept("workspaces", sum(|one| one.workspace_bytes));
        self.set_kept("snapshots", sum(|one| one.snapshot_bytes));
        self.logs.set(signed(sum(|one| one.logs)));
        self.disk_free.set(signed(report.free_bytes));
        self.disk_total.set(signed(report.total_bytes));
        self.free_inodes.set(signed(report.free_inodes));
        self.total_inodes.set(signed(report.total_inodes));
        self.panics.get_or_create(&WORKER).set(signed(report.panics));
        for removed in &report.removed {
            let rule = Rule { reason: removed.reason.clone() };
            self.logs_removed.get_or_create(&rule).set(signed(removed.logs));
            self.logs_removed_bytes.get_or_create(&rule).set(signed(removed.bytes));
        }
        if let Some(usage) = &report.process {
            self.set_process(&WORKER, usage);
        }
        report.caches.iter().for_each(|cache| self.set_cache(cache));
    }

    /// Sets what all sessions use together.
    pub(crate) fn set_sessions(&self, usage: &[SessionUsage]) {
        self.sessions_memory.set(signed(usage.iter().map(|one| one.memory_bytes).sum()));
        self.sessions_cpu.set(seconds(usage.iter().map(|one| one.cpu_ms).sum()));
    }

    fn set_cache(&self, usage: &v1::CacheUsage) {
        let Some(cache) = CACHES.into_iter().find(|name| *name == usage.name) else { return };
        // The worker counts. A restart of it resets the counters, as Prometheus expects of a counter.
        let set = |result, count| {
            self.cache_requests
                .get_or_create(&LookUp { cache, result })
                .inner()
                .store(count, Ordering::Relaxed);
        };
        set("hit", usage.hits);
        set("miss", usage.misses);
        self.set_kept(cache, usage.bytes);
    }

    fn set_kept(&self, kind: &'static str, bytes: u64) {
        self.disk_bytes.get_or_create(&Kind { kind }).set(signed(bytes));
    }

    fn set_start(&self, process: &Process, at_ms: u64) {
        self.start_time.get_or_create(process).set(seconds(at_ms));
    }

    fn set_process(&self, process: &Process, usage: &ProcessUsage) {
        self.memory.get_or_create(process).set(signed(usage.memory_bytes));
        self.open_files.get_or_create(process).set(signed(usage.open_files));
        self.max_files.get_or_create(process).set(signed(usage.max_files));
        let cpu_seconds = seconds(usage.cpu_ms).to_bits();
        self.cpu_seconds.get_or_create(process).inner().store(cpu_seconds, Ordering::Relaxed);
    }
}

/// Converts a number for a gauge, which is signed.
fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Milliseconds as seconds.
fn seconds(ms: u64) -> f64 {
    std::time::Duration::from_millis(ms).as_secs_f64()
}
