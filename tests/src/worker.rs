//! A real worker in a temporary data folder.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};

use anyhow::{Context, Result};
use headwater_contract::{Client, FollowOptions, connect};
use headwater_protocol::{ExecutionId, SessionId, SessionSpec, StartSpec};

use crate::process::{Process, Setup};
use crate::{Collected, Watcher, collect, collect_until_closed};

/// How a worker is started.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The user (and group of the same number) it runs as; ours by default.
    pub uid: Option<u32>,
    /// Runs sessions without walls.
    pub no_walls: bool,
    /// How many sessions it prepares.
    pub pool: Option<usize>,
    /// The text of its configuration file.
    pub config: Option<String>,
    /// The data folder; a new one by default.
    pub data: Option<PathBuf>,
    /// A command that ends by executing its arguments, to start the worker through (`unshare`, for example).
    pub before: Vec<String>,
}

impl Options {
    fn args(&self) -> Vec<String> {
        let mut args = vec!["worker".to_owned()];
        if self.no_walls {
            args.extend(["--sandbox".into(), "none".into()]);
        }
        if let Some(pool) = self.pool {
            args.extend(["--pool".into(), pool.to_string()]);
        }
        args
    }
}

/// A worker. When it is dropped, its sessions end and its folder is removed.
#[derive(Debug)]
pub struct TestWorker {
    args: Vec<String>,
    process: Process,
}

impl TestWorker {
    /// A worker with the default settings.
    pub async fn start() -> Result<Self> {
        Self::with(Options::default()).await
    }

    /// A worker that prepares no more sessions than most tests need.
    pub async fn small() -> Result<Self> {
        Self::with(Options { pool: Some(1), ..Options::default() }).await
    }

    /// A worker with these options. It answers when this returns.
    pub async fn with(options: Options) -> Result<Self> {
        let args = options.args();
        let Options { uid, config, data, before, .. } = options;
        let process = Process::start("worker", Setup { uid, config, data, before }, &args)?;
        let mut worker = Self { args, process };
        worker.wait_until_it_answers().await?;
        Ok(worker)
    }

    /// The data folder.
    pub fn data(&self) -> &Path {
        self.process.data()
    }

    /// A folder beside the data folder for files of the test; it is removed with the worker.
    pub fn scratch(&self) -> &Path {
        self.process.scratch()
    }

    /// The worker's process id.
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// A new connection.
    pub async fn client(&self) -> Result<Client> {
        Ok(connect(&self.data().join("worker.sock")).await?)
    }

    /// kill -9. Returns when the worker is gone.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Sends SIGTERM and waits until the worker has ended.
    pub fn terminate(&mut self) -> Result<ExitStatus> {
        self.process.terminate()
    }

    /// Starts an execution in a new session.
    pub async fn begin(&self, spec: &StartSpec) -> Result<ExecutionId> {
        let session = self.session().await?;
        self.begin_in(session, spec).await
    }

    /// Starts an execution in this session.
    pub async fn begin_in(&self, session: SessionId, spec: &StartSpec) -> Result<ExecutionId> {
        Ok(self.client().await?.start(session, None, spec).await.context("starting")?.id)
    }

    /// Follows an execution from the beginning.
    pub async fn watch(&self, id: ExecutionId) -> Result<Watcher> {
        Watcher::new(&self.client().await?, id).await
    }

    /// Reads a log from the beginning until it is closed.
    pub async fn read(&self, id: ExecutionId) -> Result<Collected> {
        self.watch(id).await?.rest().await
    }

    /// Starts the worker again after a kill.
    pub async fn start_again(&mut self) -> Result<()> {
        self.process.start_again(&self.args)?;
        self.wait_until_it_answers().await
    }

    async fn wait_until_it_answers(&mut self) -> Result<()> {
        let socket = self.data().join("worker.sock");
        let answers = async || match connect(&socket).await {
            Ok(client) => client.info().await.is_ok(),
            Err(_) => false,
        };
        self.process.wait_until(answers).await
    }

    /// Everything the worker has logged.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// A new session with the default settings.
    pub async fn session(&self) -> Result<SessionId> {
        Ok(self.client().await?.create_session(None, &SessionSpec::default()).await?.id)
    }

    /// Runs an execution in a new session until its log is closed.
    pub async fn run(&self, spec: &StartSpec) -> Result<Collected> {
        let session = self.session().await?;
        self.run_in(session, spec).await
    }

    /// Runs an execution in this session until its log is closed.
    pub async fn run_in(&self, session: SessionId, spec: &StartSpec) -> Result<Collected> {
        let client = self.client().await?;
        let id = ExecutionId::random();
        client.start(session, Some(id), spec).await.context("starting")?;
        collect(client.follow(id, collect_until_closed()).await?).await
    }

    /// Follows an execution from the beginning until its program has exited.
    pub async fn until_exited(&self, id: ExecutionId) -> Result<Collected> {
        collect(self.client().await?.follow(id, FollowOptions::default()).await?).await
    }

    /// The workspace of a session on the host.
    pub fn workspace(&self, session: SessionId) -> PathBuf {
        self.data().join("sessions").join(session.to_string()).join("workspace")
    }

    /// A `headwater` command on this worker's folder.
    pub fn command(&self) -> Command {
        self.process.command()
    }
}
