//! Looks at what sessions use, now and then: for the quotas, and for what looks like abuse (requirement 292): full load
//! without output for long over all sessions of an owner, and programs under the names of well-known miners.
//!
//! What is found goes to the audit log and is counted; if the operator wishes, the sessions are put to sleep.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_contract::v1::SessionUsage;
use headwater_protocol::SessionId;

use crate::config::{Action, Watchdog};
use crate::state::Gateway;

/// Less than this between two looks is no output: a miner may print a line now and then.
const SILENCE_BYTES: u64 = 1024;

/// What an owner's sessions use together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Sum {
    cpu_ms: u64,
    printed_bytes: u64,
    /// Processor time of each.
    sessions: HashMap<SessionId, u64>,
}

/// What is remembered of an owner between two looks.
#[derive(Debug)]
struct Seen {
    sum: Sum,
    at: Instant,
    /// Since when it has been under full load and silent.
    loaded_since: Option<Instant>,
    flagged: bool,
}

/// What the dog remembers.
#[derive(Debug, Default)]
struct Memory {
    owners: HashMap<String, Seen>,
    /// Miners that were told of already.
    known: BTreeSet<(SessionId, String)>,
}

/// One thing that looks like abuse.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Finding {
    owner: String,
    reason: &'static str,
    sessions: Vec<SessionId>,
    detail: String,
}

impl Memory {
    /// Compares an owner's use with the last look.
    fn look_at(&mut self, owner: &str, sum: Sum, now: Instant, rules: &Watchdog) -> Option<Finding> {
        let after = rules.after?;
        let seen = self.owners.entry(owner.to_owned()).or_insert_with(|| Seen {
            sum: sum.clone(),
            at: now,
            loaded_since: None,
            flagged: false,
        });
        let passed = now.saturating_duration_since(seen.at);
        if passed.is_zero() {
            return None;
        }
        let worked = Duration::from_millis(sum.cpu_ms.saturating_sub(seen.sum.cpu_ms));
        let printed = sum.printed_bytes.abs_diff(seen.sum.printed_bytes);
        let is_loaded = worked.as_secs_f64() >= rules.cpus * passed.as_secs_f64() && printed < SILENCE_BYTES;
        let before = std::mem::replace(&mut seen.sum, sum);
        let begun = std::mem::replace(&mut seen.at, now);
        if !is_loaded {
            (seen.loaded_since, seen.flagged) = (None, false);
            return None;
        }
        let since = *seen.loaded_since.get_or_insert(begun);
        if seen.flagged || now.saturating_duration_since(since) < after {
            return None;
        }
        seen.flagged = true;
        let seconds = now.saturating_duration_since(since).as_secs();
        let detail = format!("full load without output for {seconds} s");
        let sessions = carriers(&before, &seen.sum);
        Some(Finding { owner: owner.to_owned(), reason: "silent_load", sessions, detail })
    }

    /// Looks for names of miners in a session, each told of once.
    fn miners(&mut self, owner: &str, id: SessionId, usage: &SessionUsage, names: &[String]) -> Vec<Finding> {
        let is_miner = |name: &str| names.iter().any(|miner| name.to_lowercase().starts_with(miner.as_str()));
        let found = usage.processes.iter().filter(|process| is_miner(&process.name));
        let found: BTreeSet<String> =
            found.map(|process| process.name.escape_default().to_string()).collect();
        let fresh = found.into_iter().filter(|name| self.known.insert((id, name.clone())));
        let finding = |name: String| Finding {
            owner: owner.to_owned(),
            reason: "miner",
            sessions: vec![id],
            detail: format!("a program calls itself `{name}`"),
        };
        fresh.map(finding).collect()
    }

    /// Forgets what is no longer there.
    fn tidy(&mut self, sums: &HashMap<String, Sum>) {
        self.owners.retain(|owner, _| sums.contains_key(owner));
        let alive: BTreeSet<_> = sums.values().flat_map(|sum| sum.sessions.keys().copied()).collect();
        self.known.retain(|(session, _)| alive.contains(session));
    }
}

/// The sessions that did at least a tenth of what was done between two looks: one that was idle is not to blame.
fn carriers(before: &Sum, now: &Sum) -> Vec<SessionId> {
    let worked = |(id, cpu_ms): (&SessionId, &u64)| {
        (*id, cpu_ms.saturating_sub(before.sessions.get(id).copied().unwrap_or(0)))
    };
    let all: Vec<_> = now.sessions.iter().map(worked).collect();
    let total: u64 = all.iter().map(|(_, ms)| ms).sum();
    all.into_iter().filter(|(_, ms)| ms * 10 >= total.max(1)).map(|(id, _)| id).collect()
}

impl Gateway {
    /// Looks until the server ends.
    pub(crate) async fn watch_usage(self: &Arc<Self>) {
        let mut memory = Memory::default();
        loop {
            tokio::select! {
                () = self.background.stopping.cancelled() => return,
                () = tokio::time::sleep(self.config.watchdog.interval) => {}
            }
            // A worker that is away is brought back by whoever looks after it.
            if let Ok(usage) = self.worker.usage().await {
                self.look_at_usage(&mut memory, usage).await;
            }
            // Told in the log; the next look does it.
            let _ = self.quota.refresh_disk().await;
            let _ = self.recorder.note_removed_logs().await;
        }
    }

    async fn look_at_usage(self: &Arc<Self>, memory: &mut Memory, usage: Vec<SessionUsage>) {
        let (mut sums, mut live) = (HashMap::<String, Sum>::new(), HashMap::<String, u64>::new());
        let mut findings = Vec::new();
        for one in usage {
            let Ok(id) = one.session_id.parse() else { continue };
            let Ok(Some(owner)) = self.auth.owner_of(id).await else { continue };
            findings.extend(memory.miners(&owner, id, &one, &self.config.watchdog.names));
            let alive: u64 = one.processes.iter().map(|process| process.cpu_ms).sum();
            *live.entry(owner.clone()).or_default() += alive;
            let sum = sums.entry(owner).or_default();
            sum.cpu_ms += one.cpu_ms;
            sum.printed_bytes += one.printed_bytes;
            sum.sessions.insert(id, one.cpu_ms);
        }
        self.quota.meter.set_cpu(live);
        memory.tidy(&sums);
        let now = Instant::now();
        for (owner, sum) in sums {
            findings.extend(memory.look_at(&owner, sum, now, &self.config.watchdog));
        }
        for finding in findings {
            self.report(finding).await;
        }
    }

    async fn report(self: &Arc<Self>, finding: Finding) {
        let Finding { owner, reason, sessions, detail } = finding;
        self.metrics.flagged(reason);
        tracing::warn!(owner, reason, detail, "this looks like abuse");
        let stop = self.config.watchdog.action == Action::Stop;
        for session in sessions {
            self.audit.record_finding(
                &owner,
                "watchdog.flag",
                session.to_string(),
                format!("{reason}: {detail}"),
            );
            if stop {
                let slept = self.worker.hibernate_session(session).await;
                let told = slept.map_or_else(|error| error.to_string(), |_| "put to sleep".to_owned());
                self.audit.record_finding(&owner, "watchdog.stop", session.to_string(), told);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use headwater_contract::v1::SessionProcess;

    use super::*;

    fn rules() -> Watchdog {
        Watchdog { after: Some(Duration::from_mins(1)), ..Watchdog::default() }
    }

    fn sum(cpu_s: u64, printed_bytes: u64) -> Sum {
        Sum { cpu_ms: cpu_s * 1000, printed_bytes, sessions: HashMap::new() }
    }

    /// Looks every 10 s; answers after which look something was found.
    fn first_flag(uses: impl IntoIterator<Item = (u64, u64)>) -> Option<usize> {
        let (mut memory, begin) = (Memory::default(), Instant::now());
        uses.into_iter().enumerate().position(|(n, (cpu_s, printed))| {
            let now = begin + Duration::from_secs(10) * u32::try_from(n).unwrap();
            memory.look_at("ann", sum(cpu_s, printed), now, &rules()).is_some()
        })
    }

    #[test]
    fn full_load_without_output_is_reported_once_after_it_has_lasted() {
        assert_eq!(first_flag((0..20).map(|n| (n * 10, 0))), Some(6));
        let (mut memory, begin) = (Memory::default(), Instant::now());
        let flags = (0..20).filter(|n| {
            let now = begin + Duration::from_secs(10 * n);
            memory.look_at("ann", sum(n * 10, 0), now, &rules()).is_some()
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
        let at =
            |busy_ms, idle_ms| Sum { sessions: [(busy, busy_ms), (idle, idle_ms)].into(), ..Sum::default() };
        assert_eq!(carriers(&at(1000, 500), &at(11_000, 510)), [busy]);
        assert_eq!(carriers(&at(0, 0), &at(1000, 1000)).len(), 2);
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
        let mut memory = Memory::default();
        let found = memory.miners("ann", id, &usage, &names);
        assert_eq!(found.iter().map(|one| one.reason).collect::<Vec<_>>(), ["miner"]);
        assert_eq!(memory.miners("ann", id, &usage, &names), []);
        memory.tidy(&HashMap::new());
        assert_eq!(memory.miners("ann", id, &usage, &names).len(), 1);
    }
}
