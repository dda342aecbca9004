//! The current usage of a session: its processes and their CPU time. Read from the processes of its cgroup, because the
//! host may not account CPU time for each cgroup.

use std::collections::BTreeMap;
use std::fs;

use headwater_contract::{panics, process_usage, v1};
use headwater_sandbox::cgroup::SessionCgroup;
use rustix::fs::StatVfs;

use crate::engine::Engine;
use crate::sessions::hibernation::Hibernated;
use crate::sessions::session::Session;
use crate::usage::disk::Measured;

/// Ticks of the kernel's clock in a second, as `/proc` counts: 100 on every Linux.
const TICKS_PER_SECOND: u64 = 100;

/// A process of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Member {
    /// Its process id on the host.
    pub(crate) pid: i32,
    /// Its name, which the program can change.
    pub(crate) name: String,
    /// Its CPU time in milliseconds.
    pub(crate) cpu_ms: u64,
}

/// The usage of a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// The CPU time of all its processes since it was resumed, in milliseconds, as far as known.
    pub(crate) cpu_ms: u64,
    /// The output of running executions, in bytes.
    pub(crate) printed_bytes: u64,
    /// Its processes, without its init.
    pub(crate) members: Vec<Member>,
}

/// Measures a session. Blocks for a moment: a few reads in `/proc` for each process.
pub(crate) fn measure(session: &Session) -> Usage {
    let init = session.init_pid();
    let mut usage = Usage { printed_bytes: session.printed_bytes(), ..Usage::default() };
    for pid in session.cgroup().map(SessionCgroup::processes).unwrap_or_default() {
        // Ended meanwhile: init counts it.
        let Some(stat) = fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|text| parse(&text))
        else {
            continue;
        };
        if Some(pid) == init {
            usage.cpu_ms += stat.children_ms;
        } else {
            // A child that was waited for counts with its parent, and with init once the parent has ended.
            usage.cpu_ms += stat.own_ms + stat.children_ms;
            usage.members.push(Member { pid, name: stat.name, cpu_ms: stat.own_ms });
        }
    }
    usage.members.sort_by_key(|member| member.pid);
    usage
}

/// The usage of all sessions, including hibernated ones. Blocks.
pub(crate) fn all(engine: &Engine) -> Vec<v1::SessionUsage> {
    let awake: Vec<_> =
        engine.sessions.all_live().iter().map(|session| session_usage(engine, session)).collect();
    let asleep = engine.sessions.all_hibernated().into_iter().map(|asleep| {
        let id = asleep.record.id;
        let (disk_bytes, snapshot_bytes) = hibernated_disk_use(engine, &asleep);
        v1::SessionUsage {
            session_id: id.to_string(),
            disk_bytes,
            snapshot_bytes,
            log_bytes: engine.retention.of_session(id).bytes,
            ..v1::SessionUsage::default()
        }
    });
    awake.into_iter().chain(asleep).collect()
}

/// Bytes of the workspace and the snapshots of a hibernated session together, and of its snapshots alone. Blocks if they
/// were not measured since its files were last used.
pub(crate) fn hibernated_disk_use(engine: &Engine, hibernated: &Hibernated) -> (u64, u64) {
    hibernated.disk_bytes.unwrap_or_else(|| {
        let walked = Measured::now(&engine.folder.session(hibernated.record.id), None);
        let bytes = walked.map_or((0, 0), |walked| (walked.bytes(), walked.snapshot_bytes()));
        engine.sessions.note_disk_use(hibernated, bytes);
        bytes
    })
}

/// The usage of a session for the contract.
pub(crate) fn session_usage(engine: &Engine, session: &Session) -> v1::SessionUsage {
    let usage = measure(session);
    let process = |member: Member| v1::SessionProcess { name: member.name, cpu_ms: member.cpu_ms };
    v1::SessionUsage {
        session_id: session.id().to_string(),
        cpu_ms: usage.cpu_ms,
        printed_bytes: usage.printed_bytes,
        memory_bytes: session.cgroup().and_then(SessionCgroup::memory_current).unwrap_or(0),
        processes: usage.members.into_iter().map(process).collect(),
        disk_bytes: session.disk_bytes(),
        snapshot_bytes: session.snapshot_bytes(),
        log_bytes: engine.retention.of_session(session.id()).bytes + session.live_log_bytes(),
    }
}

/// The disk usage of each owner, from totals in memory, and what the worker itself uses. Blocks.
pub(crate) fn disk(engine: &Engine) -> v1::DiskResponse {
    let mut owners: BTreeMap<String, v1::OwnerDisk> = BTreeMap::new();
    for (owner, sum) in engine.retention.of_owners() {
        let disk = owners.entry(owner).or_default();
        (disk.log_bytes, disk.logs) = (sum.bytes, sum.logs);
    }
    for session in engine.sessions.all_live() {
        let owner = session.record().spec.owner().to_owned();
        let disk = owners.entry(owner).or_default();
        disk.log_bytes += session.live_log_bytes();
        disk.snapshot_bytes += session.snapshot_bytes();
        disk.workspace_bytes += session.disk_bytes().saturating_sub(session.snapshot_bytes());
    }
    for asleep in engine.sessions.all_hibernated() {
        let disk = owners.entry(asleep.record.spec.owner().to_owned()).or_default();
        let (bytes, snapshots) = asleep.disk_bytes.unwrap_or_default();
        disk.snapshot_bytes += snapshots;
        disk.workspace_bytes += bytes.saturating_sub(snapshots);
    }
    let named = owners.into_iter().map(|(owner, disk)| v1::OwnerDisk { owner, ..disk });
    let found = rustix::fs::statvfs(engine.folder.root()).ok();
    let bytes = |blocks: fn(&StatVfs) -> u64| found.as_ref().map_or(0, |all| blocks(all) * all.f_frsize);
    v1::DiskResponse {
        owners: named.collect(),
        free_bytes: bytes(|all| all.f_bavail),
        total_bytes: bytes(|all| all.f_blocks),
        free_inodes: found.as_ref().map_or(0, |all| all.f_favail),
        total_inodes: found.as_ref().map_or(0, |all| all.f_files),
        removed: engine.retention.removed(),
        panics: panics::count(),
        process: Some(process_usage()),
        caches: vec![engine.build_cache.usage("builds"), engine.network.package_cache()],
    }
}

struct Stat {
    name: String,
    own_ms: u64,
    /// The CPU time of its children that have ended and were waited for.
    children_ms: u64,
}

/// Reads `/proc/PID/stat`. The name is in brackets and may contain anything, even brackets.
fn parse(text: &str) -> Option<Stat> {
    let (open, close) = (text.find('(')?, text.rfind(')')?);
    let name = text.get(open + 1..close)?.to_owned();
    let fields: Vec<_> = text.get(close + 1..)?.split_whitespace().collect();
    let ms = |n: usize| Some(fields.get(n)?.parse::<u64>().ok()? * 1000 / TICKS_PER_SECOND);
    Some(Stat { name, own_ms: ms(11)? + ms(12)?, children_ms: ms(13)? + ms(14)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_call_itself_anything() {
        let text = "42 (a) b (c) S 1 42 42 0 -1 4194560 1 2 3 4 150 50 7 3 20 0 1 0 5 6 7";
        let stat = parse(text).unwrap();
        assert_eq!((stat.name.as_str(), stat.own_ms, stat.children_ms), ("a) b (c", 2000, 100));
        assert!(parse("nothing").is_none());
    }
}
