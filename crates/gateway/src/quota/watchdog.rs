//! Measures at intervals what sessions use, for the quotas and to find abuse: full load without output for a long time
//! over all sessions of an owner, and programs with the names of well-known miners.
//!
//! Findings are written to the audit log and counted; with `action = "stop"` the sessions are hibernated.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_contract::v1::SessionUsage;
use headwater_protocol::SessionId;
use tokio_util::sync::CancellationToken;

use crate::audit::Audit;
use crate::auth::Auth;
use crate::config::{Action, Watchdog as Rules};
use crate::executions::recorder::Recorder;
use crate::metrics::Metrics;
use crate::quota::Quota;
use crate::state::Gateway;
use crate::worker::Worker;

/// Less output than this between two measurements counts as none: a miner may print a line now and then.
const SILENCE_BYTES: u64 = 1024;

/// What all sessions of an owner use together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Total {
    cpu_ms: u64,
    printed_bytes: u64,
    /// The CPU time of each session, in milliseconds.
    sessions: HashMap<SessionId, u64>,
}

/// The last measurement of an owner.
#[derive(Debug)]
struct Last {
    total: Total,
    at: Instant,
    /// The beginning of full load without output.
    loaded_since: Option<Instant>,
    /// Whether this load was reported.
    flagged: bool,
}

/// The last measurements, and what was reported.
#[derive(Debug, Default)]
struct History {
    owners: HashMap<String, Last>,
    /// Miners that were reported already.
    reported: BTreeSet<(SessionId, String)>,
}

/// Something that looks like abuse.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    owner: String,
    reason: &'static str,
    sessions: Vec<SessionId>,
    detail: String,
}

impl History {
    /// Compares an owner's usage with the last measurement.
    fn silent_load(&mut self, owner: &str, total: Total, now: Instant, rules: &Rules) -> Option<Finding> {
        let after = rules.after?;
        let last = self.owners.entry(owner.to_owned()).or_insert_with(|| Last {
            total: total.clone(),
            at: now,
            loaded_since: None,
            flagged: false,
        });
        let passed = now.saturating_duration_since(last.at);
        if passed.is_zero() {
            return None;
        }
        let worked = Duration::from_millis(total.cpu_ms.saturating_sub(last.total.cpu_ms));
        let printed = total.printed_bytes.abs_diff(last.total.printed_bytes);
        let is_loaded = worked.as_secs_f64() >= rules.cpus * passed.as_secs_f64() && printed < SILENCE_BYTES;
        let before = std::mem::replace(&mut last.total, total);
        let begun = std::mem::replace(&mut last.at, now);
        if !is_loaded {
            (last.loaded_since, last.flagged) = (None, false);
            return None;
        }
        let since = *last.loaded_since.get_or_insert(begun);
        if last.flagged || now.saturating_duration_since(since) < after {
            return None;
        }
        last.flagged = true;
        let seconds = now.saturating_duration_since(since).as_secs();
        let detail = format!("full load without output for {seconds} s");
        let sessions = busy_sessions(&before, &last.total);
        Some(Finding { owner: owner.to_owned(), reason: "silent_load", sessions, detail })
    }

    /// Finds programs with the names of miners, each reported once.
    fn miners(&mut self, owner: &str, id: SessionId, usage: &SessionUsage, names: &[String]) -> Vec<Finding> {
        let is_miner = |name: &str| names.iter().any(|miner| name.to_lowercase().starts_with(miner.as_str()));
        let found = usage.processes.iter().filter(|process| is_miner(&process.name));
        let found: BTreeSet<String> =
            found.map(|process| process.name.escape_default().to_string()).collect();
        let new = found.into_iter().filter(|name| self.reported.insert((id, name.clone())));
        let finding = |name: String| Finding {
            owner: owner.to_owned(),
            reason: "miner",
            sessions: vec![id],
            detail: format!("a program is named `{name}`"),
        };
        new.map(finding).collect()
    }

    /// Removes owners and sessions that no longer exist.
    fn tidy(&mut self, totals: &HashMap<String, Total>) {
        self.owners.retain(|owner, _| totals.contains_key(owner));
        let alive: BTreeSet<_> = totals.values().flat_map(|total| total.sessions.keys().copied()).collect();
        self.reported.retain(|(session, _)| alive.contains(session));
    }
}

/// The sessions that used at least a tenth of the CPU time between two measurements. Idle sessions are not reported.
fn busy_sessions(before: &Total, now: &Total) -> Vec<SessionId> {
    let worked = |(id, cpu_ms): (&SessionId, &u64)| {
        (*id, cpu_ms.saturating_sub(before.sessions.get(id).copied().unwrap_or(0)))
    };
    let all: Vec<_> = now.sessions.iter().map(worked).collect();
    let total: u64 = all.iter().map(|(_, ms)| ms).sum();
    all.into_iter().filter(|(_, ms)| ms * 10 >= total.max(1)).map(|(id, _)| id).collect()
}

/// Measures what sessions use and reports what looks like abuse.
#[derive(Debug)]
pub(crate) struct Watchdog {
    rules: Rules,
    worker: Arc<Worker>,
    auth: Arc<Auth>,
    quota: Arc<Quota>,
    recorder: Arc<Recorder>,
    audit: Arc<Audit>,
    metrics: Arc<Metrics>,
    stopping: CancellationToken,
}

impl Watchdog {
    /// A watchdog over the parts of this gateway.
    pub(crate) fn new(gateway: &Gateway) -> Self {
        Self {
            rules: gateway.config.watchdog.clone(),
            worker: Arc::clone(&gateway.worker),
            auth: Arc::clone(&gateway.auth),
            quota: Arc::clone(&gateway.quota),
            recorder: Arc::clone(&gateway.recorder),
            audit: Arc::clone(&gateway.audit),
            metrics: Arc::clone(&gateway.metrics),
            stopping: gateway.background.stopping.clone(),
        }
    }

    /// Measures at every interval until the server stops.
    pub(crate) async fn run(&self) {
        let mut history = History::default();
        loop {
            tokio::select! {
                () = self.stopping.cancelled() => return,
                () = tokio::time::sleep(self.rules.interval) => {}
            }
            // A worker that does not answer is restarted by its supervisor.
            if let Ok(usage) = self.worker.usage().await {
                self.metrics.figures.set_sessions(&usage);
                self.check(&mut history, usage).await;
            }
            // Errors are in the log, and the next interval tries again.
            let _ = self.quota.refresh_disk().await;
            let _ = self.recorder.note_removed_logs().await;
        }
    }

    async fn check(&self, history: &mut History, usage: Vec<SessionUsage>) {
        let (mut totals, mut live) = (HashMap::<String, Total>::new(), HashMap::<String, u64>::new());
        let mut findings = Vec::new();
        for one in usage {
            let Ok(id) = one.session_id.parse() else { continue };
            let Ok(Some(owner)) = self.auth.owner_of(id).await else { continue };
            findings.extend(history.miners(&owner, id, &one, &self.rules.names));
            let alive: u64 = one.processes.iter().map(|process| process.cpu_ms).sum();
            *live.entry(owner.clone()).or_default() += alive;
            let total = totals.entry(owner).or_default();
            total.cpu_ms += one.cpu_ms;
            total.printed_bytes += one.printed_bytes;
            total.sessions.insert(id, one.cpu_ms);
        }
        self.quota.meter.set_cpu(live);
        history.tidy(&totals);
        let now = Instant::now();
        for (owner, total) in totals {
            findings.extend(history.silent_load(&owner, total, now, &self.rules));
        }
        for finding in findings {
            self.report(finding).await;
        }
    }

    async fn report(&self, finding: Finding) {
        let Finding { owner, reason, sessions, detail } = finding;
        self.metrics.flagged(reason);
        tracing::warn!(owner, reason, detail, "possible abuse");
        for session in sessions {
            let id = session.to_string();
            self.audit.record_finding(&owner, "watchdog.flag", id.clone(), format!("{reason}: {detail}"));
            if self.rules.action == Action::Stop {
                let hibernated = self.worker.hibernate_session(session).await;
                let result = hibernated.map_or_else(|error| error.to_string(), |_| "hibernated".to_owned());
                self.audit.record_finding(&owner, "watchdog.stop", id, result);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use headwater_contract::v1::SessionProcess;

    use super::*;

    fn rules() -> Rules {
        Rules { after: Some(Duration::from_mins(1)), ..Rules::default() }
    }

    fn total(cpu_s: u64, printed_bytes: u64) -> Total {
        Total { cpu_ms: cpu_s * 1000, printed_bytes, sessions: HashMap::new() }
    }

    /// Measures every 10 s; returns the number of the measurement with the first finding.
    fn first_flag(uses: impl IntoIterator<Item = (u64, u64)>) -> Option<usize> {
        let (mut history, begin) = (History::default(), Instant::now());
        uses.into_iter().enumerate().position(|(n, (cpu_s, printed))| {
            let now = begin + Duration::from_secs(10) * u32::try_from(n).unwrap();
            history.silent_load("ann", total(cpu_s, printed), now, &rules()).is_some()
        })
    }

    #[test]
    fn full_load_without_output_is_reported_once_after_it_has_lasted() {
        assert_eq!(first_flag((0..20).map(|n| (n * 10, 0))), Some(6));
        let (mut history, begin) = (History::default(), Instant::now());
        let flags = (0..20).filter(|n| {
            let now = begin + Duration::from_secs(10 * n);
            history.silent_load("ann", total(n * 10, 0), now, &rules()).is_some()
        });
        assert_eq!(flags.count(), 1);
    }

    #[test]
    fn output_pauses_and_half_load_are_not_abuse() {
        assert_eq!(first_flag((0..20).map(|n| (n * 10, n * 4096))), None);
        assert_eq!(first_flag((0..20).map(|n| (n * 5, 0))), None);
        assert_eq!(first_flag((0..20).map(|n| (n / 4 * 40, 0))), None);
    }

    #[test]
    fn a_session_that_did_nothing_is_not_to_blame() {
        let (busy, idle) = (SessionId::random(), SessionId::random());
        let at = |busy_ms, idle_ms| Total {
            sessions: [(busy, busy_ms), (idle, idle_ms)].into(),
            ..Total::default()
        };
        assert_eq!(busy_sessions(&at(1000, 500), &at(11_000, 510)), [busy]);
        assert_eq!(busy_sessions(&at(0, 0), &at(1000, 1000)).len(), 2);
    }

    #[test]
    fn a_miner_is_recognised_by_its_name_and_reported_once() {
        let id = SessionId::random();
        let names: Vec<_> = ["xmrig".to_owned()].into();
        let process = |name: &str| SessionProcess { name: name.into(), cpu_ms: 1 };
        let usage = SessionUsage {
            session_id: id.to_string(),
            processes: vec![process("bash"), process("XMRig-6.2")],
            ..SessionUsage::default()
        };
        let mut history = History::default();
        let found = history.miners("ann", id, &usage, &names);
        assert_eq!(found.iter().map(|one| one.reason).collect::<Vec<_>>(), ["miner"]);
        assert_eq!(history.miners("ann", id, &usage, &names), []);
        history.tidy(&HashMap::new());
        assert_eq!(history.miners("ann", id, &usage, &names).len(), 1);
    }
}
