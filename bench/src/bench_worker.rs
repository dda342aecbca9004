//! The basis of all benchmarks: a worker under test in a folder on a real disk, and the simplest baselines.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use headwater_contract::{Client, FollowOptions, Follower};
use headwater_protocol::{EventKind, ExecutionId, Limits, SessionId, SessionSpec, StartSpec, Verdict};
use headwater_tests::{Options, TestWorker};
use tempfile::TempDir;

/// How much to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Quick figures, instead of comparable ones.
    pub quick: bool,
    /// The size of the large log that is resumed through the API.
    pub large_log_gib: Option<u32>,
}

impl Effort {
    /// Selects one of two values.
    pub const fn pick<T: Copy>(self, full: T, quick: T) -> T {
        if self.quick { quick } else { full }
    }
}

/// Raises the limits for the largest logs and files, which exceed the defaults.
pub const ROOMY: &str = "\n[max_limits]\noutput = \"64Gi\"\ndisk = \"64Gi\"\n";

/// A worker under test. Its sessions and its folder are removed on drop.
#[derive(Debug)]
pub struct BenchWorker {
    worker: TestWorker,
    folder: TempDir,
    /// A connection to the worker.
    pub client: Client,
}

impl BenchWorker {
    /// Starts a worker with this many prepared sessions.
    pub async fn with_pool(pool: usize) -> Result<Self> {
        Self::with(Options { pool: Some(pool), ..Options::default() }).await
    }

    /// Starts a worker with these options, except for its folder.
    pub async fn with(options: Options) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("hw-bench-").tempdir_in(disk()?)?;
        let config = options.config.unwrap_or_default() + ROOMY;
        let options = Options { data: Some(folder.path().join("data")), config: Some(config), ..options };
        let worker = TestWorker::with(options).await?;
        let client = worker.client().await?;
        Ok(Self { worker, folder, client })
    }

    /// Opens another connection to the worker.
    pub async fn connect(&self) -> Result<Client> {
        self.worker.client().await
    }

    /// The pid of the worker.
    pub fn pid(&self) -> u32 {
        self.worker.pid()
    }

    /// A folder on the same disk as the logs.
    pub fn scratch(&self) -> &Path {
        self.folder.path()
    }

    /// The path of a session's workspace on the host.
    pub fn workspace(&self, session: SessionId) -> PathBuf {
        self.worker.workspace(session)
    }

    /// Creates a session with defaults.
    pub async fn session(&self) -> Result<SessionId> {
        Ok(self.client.create_session(None, &SessionSpec::default()).await?.id)
    }

    /// Creates a session that keeps large outputs.
    pub async fn roomy_session(&self) -> Result<SessionId> {
        let limits = Limits { output_bytes: Some(8 << 30), disk_bytes: Some(64 << 30), ..Limits::default() };
        let spec = SessionSpec { limits, ..SessionSpec::default() };
        Ok(self.client.create_session(None, &spec).await?.id)
    }

    /// Waits until the pool has this many sessions, so that the next one really comes from it.
    pub async fn pool_is_full(&self, size: u32) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(10);
        while self.client.info().await?.prepared < size {
            ensure!(Instant::now() < deadline, "the pool does not fill");
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
        Ok(())
    }
}

/// Starts an execution in a session and follows it, in one round trip.
pub async fn run(client: &Client, session: SessionId, spec: &StartSpec) -> Result<Follower> {
    Ok(client.run(session, ExecutionId::random(), spec, FollowOptions::default()).await?)
}

/// Reads until the program has exited; fails if it was not successful.
pub async fn until_exited(follower: &mut Follower) -> Result<Verdict> {
    while let Some(event) = follower.next().await? {
        if let EventKind::Exited(verdict) = event.kind {
            ensure!(verdict.code == Some(0), "the program ended with {verdict:?}");
            return Ok(verdict);
        }
    }
    anyhow::bail!("the log ended without a verdict")
}

/// The baseline: spawn `/bin/true` and wait for it. `Command` uses `posix_spawn` here, which shares the
/// memory of this process until exec (`CLONE_VM`, `CLONE_VFORK`).
pub fn bare() -> Result<()> {
    let status = Command::new("/bin/true").status().context("spawning /bin/true")?;
    ensure!(status.success(), "/bin/true ended with {status}");
    Ok(())
}

/// A shell command on the host, whose output is a pipe.
pub fn host_shell(line: &str) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", line]).stdin(Stdio::null()).stdout(Stdio::piped());
    command
}

/// A folder for temporary files on a disk (not in memory), with a path short enough for a socket below it.
pub fn disk() -> Result<PathBuf> {
    const TMPFS: i64 = 0x0102_1994;
    let mut places = vec![std::env::temp_dir(), "/var/tmp".into()];
    places.extend(std::env::current_dir());
    let on_disk = |place: &PathBuf| {
        let short = place.as_os_str().len() < 60;
        short && rustix::fs::statfs(place).is_ok_and(|stat| stat.f_type != TMPFS)
    };
    places.into_iter().find(on_disk).context("no folder for temporary files is on a disk: set TMPDIR")
}
