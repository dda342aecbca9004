//! Looking at the host from the outside: which processes, cgroups and mounts are there, whatever a guest says.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use headwater_protocol::{ExecutionId, SessionId, StartSpec};
use rustix::process::{Pid, Signal, kill_process};

/// How long something may take that must come to pass.
pub const PATIENCE: Duration = Duration::from_mins(1);

/// A word that nothing else on this host carries: processes are found by it in their environment.
/// When it is dropped, those that are left are killed: a test that fails leaves nothing running.
#[derive(Debug)]
pub struct Marker(String);

impl Drop for Marker {
    fn drop(&mut self) {
        for pid in self.processes() {
            // It may have ended since.
            let _ = signal(pid, Signal::KILL);
        }
    }
}

impl Marker {
    /// A new one.
    #[allow(clippy::new_without_default)] // two defaults would differ
    pub fn new() -> Self {
        Self(format!("mark_{}", ExecutionId::random()))
    }

    /// What to start so that all its processes carry the marker.
    #[must_use]
    pub fn on(&self, mut spec: StartSpec) -> StartSpec {
        spec.env.insert("MARKER".into(), self.0.clone());
        spec
    }

    /// The processes that carry it now, the dead that nobody has waited for left out.
    pub fn processes(&self) -> Vec<i32> {
        let carries = |pid: &i32| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            contains(&environ, self.0.as_bytes())
        };
        pids().into_iter().filter(carries).collect()
    }

    /// Waits until exactly so many processes carry it.
    pub async fn count_becomes(&self, count: usize) -> Result<()> {
        eventually(&format!("{count} processes with the marker"), async || self.processes().len() == count)
            .await
            .with_context(|| format!("there are {:?}", self.processes()))
    }
}

/// Whether the bytes are somewhere in there.
pub fn contains(hay: &[u8], needle: &[u8]) -> bool {
    hay.windows(needle.len()).any(|window| window == needle)
}

/// All processes of the host.
pub fn pids() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A field of a process's status, if it is there.
pub fn status(pid: i32, field: &str) -> Option<String> {
    status_of(Path::new(&format!("/proc/{pid}")), field)
}

fn status_of(folder: &Path, field: &str) -> Option<String> {
    let text = fs::read_to_string(folder.join("status")).ok()?;
    let line = text.lines().find(|line| line.starts_with(&format!("{field}:")))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// A number of kilobytes in a process's status, in bytes.
pub fn memory(pid: u32, field: &str) -> Result<u64> {
    let text = status(i32::try_from(pid)?, field).with_context(|| format!("{field} of {pid}"))?;
    let kilobytes: u64 = text.split_whitespace().next().context("no number")?.parse()?;
    Ok(kilobytes * 1024)
}

/// The init above a process: the first process up the tree that is one.
pub fn init_of(pid: i32) -> Result<i32> {
    let mut at = pid;
    loop {
        at = status(at, "PPid").context("it is gone")?.parse()?;
        anyhow::ensure!(at > 1, "no init above {pid}");
        let command = fs::read(format!("/proc/{at}/cmdline")).unwrap_or_default();
        if command.starts_with(b"headwater\0init\0") {
            return Ok(at);
        }
    }
}

/// kill(2).
pub fn signal(pid: i32, signal: Signal) -> Result<()> {
    Ok(kill_process(Pid::from_raw(pid).context("no process")?, signal)?)
}

/// Stops a process and waits until none of its threads runs: kill(2) returns before that, and the others still answer.
pub async fn stop(pid: i32) -> Result<()> {
    signal(pid, Signal::STOP)?;
    eventually("every thread is stopped", async || threads(pid).iter().all(|state| state.starts_with('T')))
        .await
}

/// The state of each thread of a process.
fn threads(pid: i32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks.filter_map(|task| status_of(&task.path(), "State")).collect()
}

/// Whether a process is there and not a zombie.
pub fn is_alive(pid: i32) -> bool {
    status(pid, "State").is_some_and(|state| !state.starts_with('Z'))
}

/// The cgroups of a session, on every hierarchy.
pub fn cgroups(data: &Path, session: SessionId) -> Vec<PathBuf> {
    let record = fs::read(data.join("sessions").join(session.to_string()).join("session.json"));
    let record = record.ok().and_then(|text| serde_json::from_slice::<serde_json::Value>(&text).ok());
    let Some(name) = record.and_then(|record| Some(record["cgroup"].as_str()?.to_owned())) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    find_folders(Path::new("/sys/fs/cgroup"), &name, 0, &mut found);
    found
}

fn find_folders(at: &Path, name: &str, depth: usize, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(at).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        if entry.file_name() == name {
            found.push(entry.path());
        } else if depth < 6 {
            find_folders(&entry.path(), name, depth + 1, found);
        }
    }
}

/// The mounts of this mount namespace that lie in a folder or come from there.
pub fn mounts(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let folder = folder.to_string_lossy().into_owned();
    text.lines().filter(|line| line.contains(&folder)).map(str::to_owned).collect()
}

/// Waits for something that must come to pass and tells no one when it does.
pub async fn eventually(what: &str, mut is_so: impl AsyncFnMut() -> bool) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !is_so().await {
        anyhow::ensure!(Instant::now() < deadline, "waited in vain for: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}
