//! A real worker in a folder of its own, which leaves nothing behind.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use headwater_contract::{Client, FollowOptions, connect};
use headwater_protocol::{ExecutionId, SessionId, SessionSpec, StartSpec};
use tempfile::TempDir;

use crate::{Collected, Watcher, collect, collect_until_closed};

/// How a worker is started.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// As this user (and group of the same number) instead of as ours.
    pub uid: Option<u32>,
    /// Without walls.
    pub no_walls: bool,
    /// Prepared sessions.
    pub pool: Option<usize>,
    /// The text of its configuration file.
    pub config: Option<String>,
    /// The data folder, if it is to be in a certain place; else a new one.
    pub data: Option<PathBuf>,
    /// A command that ends by executing its arguments, to start the worker through (`unshare`, for one).
    pub before: Vec<String>,
}

/// A worker. When it is dropped its sessions end and its folder goes.
#[derive(Debug)]
pub struct TestWorker {
    options: Options,
    folder: TempDir,
    data: PathBuf,
    child: Child,
}

/// The binary under test.
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("HEADWATER_BIN") {
        return path.into();
    }
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test.ancestors().find(|path| path.join("headwater").is_file());
    folder.expect("no `headwater` beside the tests: run `cargo build -p headwater` first").join("headwater")
}

impl TestWorker {
    /// A worker with defaults.
    pub async fn start() -> Result<Self> {
        Self::with(Options::default()).await
    }

    /// A worker as told. It answers when this returns.
    pub async fn with(options: Options) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("hw-").tempdir()?;
        let data = options.data.clone().unwrap_or_else(|| folder.path().join("data"));
        fs::create_dir_all(&data)?;
        if let Some(config) = &options.config {
            fs::write(data.join("headwater.toml"), config)?;
        }
        if let Some(uid) = options.uid {
            std::os::unix::fs::chown(folder.path(), Some(uid), Some(uid))?;
            std::os::unix::fs::chown(&data, Some(uid), Some(uid))?;
        }
        let child = spawn(&options, &data)?;
        let mut worker = Self { options, folder, data, child };
        worker.wait_until_it_answers().await?;
        Ok(worker)
    }

    /// The data folder.
    pub fn data(&self) -> &Path {
        &self.data
    }

    /// A folder beside it for the test's own files; goes with the worker.
    pub fn scratch(&self) -> &Path {
        self.folder.path()
    }

    /// The worker's process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// A new connection.
    pub async fn client(&self) -> Result<Client> {
        Ok(connect(&self.data.join("worker.sock")).await?)
    }

    /// kill -9.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// SIGTERM, and waits until it has ended.
    pub fn terminate(&mut self) -> Result<std::process::ExitStatus> {
        crate::host::signal(i32::try_from(self.pid())?, rustix::process::Signal::TERM)?;
        Ok(self.child.wait()?)
    }

    /// Starts something in a session of its own.
    pub async fn begin(&self, spec: &StartSpec) -> Result<ExecutionId> {
        let session = self.session().await?;
        self.begin_in(session, spec).await
    }

    /// Starts something in this session.
    pub async fn begin_in(&self, session: SessionId, spec: &StartSpec) -> Result<ExecutionId> {
        Ok(self.client().await?.start(session, None, spec).await.context("starting")?.id)
    }

    /// Watches an execution from the beginning.
    pub async fn watch(&self, id: ExecutionId) -> Result<Watcher> {
        Watcher::new(&self.client().await?, id).await
    }

    /// Reads a log from the beginning until it is closed.
    pub async fn read(&self, id: ExecutionId) -> Result<Collected> {
        self.watch(id).await?.rest().await
    }

    /// Starts it again after a kill.
    pub async fn start_again(&mut self) -> Result<()> {
        self.child = spawn(&self.options, &self.data)?;
        self.wait_until_it_answers().await
    }

    async fn wait_until_it_answers(&mut self) -> Result<()> {
        let deadline = Instant::now() + Duration::from_secs(30);
        loop {
            if let Ok(client) = self.client().await
                && client.info().await.is_ok()
            {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                anyhow::bail!("the worker ended with {status}: {}", self.log());
            }
            anyhow::ensure!(Instant::now() < deadline, "the worker does not answer: {}", self.log());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// What the worker has logged.
    pub fn log(&self) -> String {
        fs::read_to_string(self.data.join("test-worker.log")).unwrap_or_default()
    }

    /// A new session with defaults.
    pub async fn session(&self) -> Result<SessionId> {
        Ok(self.client().await?.create_session(None, &SessionSpec::default()).await?.id)
    }

    /// Runs something in a session of its own to the very end.
    pub async fn run(&self, spec: &StartSpec) -> Result<Collected> {
        let session = self.session().await?;
        self.run_in(session, spec).await
    }

    /// Runs something in this session to the very end.
    pub async fn run_in(&self, session: SessionId, spec: &StartSpec) -> Result<Collected> {
        let client = self.client().await?;
        let id = ExecutionId::random();
        client.start(session, Some(id), spec).await.context("starting")?;
        collect(client.follow(id, collect_until_closed()).await?).await
    }

    /// Follows an execution from the beginning until its program has ended.
    pub async fn until_exited(&self, id: ExecutionId) -> Result<Collected> {
        collect(self.client().await?.follow(id, FollowOptions::default()).await?).await
    }

    /// The workspace of a session on the host.
    pub fn workspace(&self, session: SessionId) -> PathBuf {
        self.data.join("sessions").join(session.to_string()).join("workspace")
    }

    /// A `headwater` command on this worker's folder.
    pub fn command(&self) -> Command {
        let mut command = Command::new(binary());
        command.env("HEADWATER_DATA", &self.data).stdin(Stdio::null());
        if let Some(uid) = self.options.uid {
            command.uid(uid).gid(uid);
        }
        command
    }
}

fn spawn(options: &Options, data: &Path) -> Result<Child> {
    let log = fs::OpenOptions::new().create(true).append(true).open(data.join("test-worker.log"))?;
    let mut words = options.before.iter().map(PathBuf::from).chain([binary()]);
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).arg("worker").arg("--data").arg(data);
    if options.no_walls {
        command.args(["--sandbox", "none"]);
    }
    if let Some(pool) = options.pool {
        command.arg("--pool").arg(pool.to_string());
    }
    if let Some(uid) = options.uid {
        command.uid(uid).gid(uid).env("HOME", data);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    Ok(command.spawn()?)
}

impl Drop for TestWorker {
    fn drop(&mut self) {
        // `stop` starts a worker if this one was killed: its sessions must end in any case.
        let _ = self
            .command()
            .args(["stop", "--end-sessions", "--yes"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = self.log();
            let tail: Vec<_> = log.lines().rev().take(30).collect();
            eprintln!("the worker's last words:");
            tail.iter().rev().for_each(|line| eprintln!("  {line}"));
        }
    }
}
