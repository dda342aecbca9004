//! What the host sees: processes, cgroups and mounts, whatever a guest reports.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use headwater_protocol::{ExecutionId, SessionId, StartSpec};
use rustix::process::{Pid, Signal, kill_process};

/// How long anything may take that must happen: long enough for a machine with ten times as many busy processes as
/// processors, short enough that a hang is noticed.
pub const PATIENCE: Duration = Duration::from_mins(3);

/// A unique word that marks processes by their environment. When it is dropped, the remaining processes are killed: a test
/// that fails leaves nothing running.
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
    /// A new marker.
    #[allow(clippy::new_without_default)] // two defaults would differ
    pub fn new() -> Self {
        Self(format!("mark_{}", ExecutionId::random()))
    }

    /// Adds the marker to the environment of an execution.
    #[must_use]
    pub fn on(&self, mut spec: StartSpec) -> StartSpec {
        spec.env.insert("MARKER".into(), self.0.clone());
        spec
    }

    /// The processes that carry it now, without zombies.
    pub fn processes(&self) -> Vec<i32> {
        let carries = |pid: &i32| {
            let environ = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            contains(&environ, self.0.as_bytes())
        };
        pids().into_iter().filter(carries).collect()
    }

    /// The init of the processes that carry it. A process that is executing another program has no environment for a moment.
    pub async fn init(&self) -> Result<i32> {
        let mut init = None;
        eventually("a process with the marker, and its init", async || {
            init = self.processes().into_iter().find_map(|pid| init_of(pid).ok());
            init.is_some()
        })
        .await?;
        init.context("no init")
    }

    /// Waits until exactly `count` processes carry it.
    pub async fn count_becomes(&self, count: usize) -> Result<()> {
        eventually(&format!("{count} processes with the marker"), async || self.processes().len() == count)
            .await
            .with_context(|| format!("now: {:?}", self.processes()))
    }
}

/// Whether `hay` contains `needle`.
pub fn contains(hay: &[u8], needle: &[u8]) -> bool {
    hay.windows(needle.len()).any(|window| window == needle)
}

/// All processes of the host.
pub fn pids() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// A field of a process's status, if the process exists.
pub fn status(pid: i32, field: &str) -> Option<String> {
    status_of(Path::new(&format!("/proc/{pid}")), field)
}

fn status_of(folder: &Path, field: &str) -> Option<String> {
    let text = fs::read_to_string(folder.join("status")).ok()?;
    let line = text.lines().find(|line| line.starts_with(&format!("{field}:")))?;
    Some(line.split_once(':')?.1.trim().to_owned())
}

/// A field of a process's status that is in kilobytes, in bytes.
pub fn memory(pid: u32, field: &str) -> Result<u64> {
    let text = status(i32::try_from(pid)?, field).with_context(|| format!("{field} of {pid}"))?;
    let kilobytes: u64 = text.split_whitespace().next().context("no number")?.parse()?;
    Ok(kilobytes * 1024)
}

/// The init of a process: its closest ancestor that is one.
pub fn init_of(pid: i32) -> Result<i32> {
    let mut at = pid;
    loop {
        at = status(at, "PPid").context("the process is gone")?.parse()?;
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

/// kill -9. Returns when the process is gone: kill(2) returns before that, and threads may still answer.
pub async fn kill(pid: i32) -> Result<()> {
    signal(pid, Signal::KILL)?;
    eventually("a killed process is gone", async || !is_alive(pid)).await
}

/// Stops a process and waits until none of its threads runs: kill(2) returns before that, and threads may still answer.
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

/// Whether a process exists and is not a zombie.
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

/// The mounts of this mount namespace in or from a folder.
pub fn mounts(folder: &Path) -> Vec<String> {
    let text = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let folder = folder.to_string_lossy().into_owned();
    text.lines().filter(|line| line.contains(&folder)).map(str::to_owned).collect()
}

/// Waits for a condition that must become true, by polling it.
pub async fn eventually(what: &str, mut condition: impl AsyncFnMut() -> bool) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    while !condition().await {
        anyhow::ensure!(Instant::now() < deadline, "did not happen in time: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}
