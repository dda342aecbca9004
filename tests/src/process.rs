//! A `headwater` process in its own temporary data folder: what a test worker and a test server have in common.

use std::fs;
use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use rustix::process::Signal;
use tempfile::TempDir;

use crate::host;

/// Lines of its log that are shown when a test fails.
const LOG_LINES: usize = 30;

/// The binary under test.
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("HEADWATER_BIN") {
        return path.into();
    }
    let test = std::env::current_exe().expect("a test knows its own path");
    let folder = test.ancestors().find(|path| path.join("headwater").is_file());
    folder.expect("no `headwater` beside the tests: run `cargo build -p headwater` first").join("headwater")
}

/// Where and as whom a process runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Setup {
    /// The user (and group of the same number) it runs as; ours by default.
    pub(crate) uid: Option<u32>,
    /// The text of its configuration file.
    pub(crate) config: Option<String>,
    /// Its data folder; a new one by default.
    pub(crate) data: Option<PathBuf>,
    /// A command that ends by executing its arguments; the process is started through it.
    pub(crate) before: Vec<String>,
}

/// A running process. When it is dropped, its sessions end and its folder is removed.
#[derive(Debug)]
pub(crate) struct Process {
    /// `worker` or `server`: names its log file and appears in messages.
    name: &'static str,
    setup: Setup,
    folder: TempDir,
    data: PathBuf,
    child: Child,
}

impl Process {
    /// Prepares a data folder and starts `headwater ARGS --data FOLDER`.
    pub(crate) fn start(name: &'static str, setup: Setup, args: &[String]) -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("hw-").tempdir()?;
        let data = setup.data.clone().unwrap_or_else(|| folder.path().join("data"));
        fs::create_dir_all(&data)?;
        if let Some(config) = &setup.config {
            fs::write(data.join("headwater.toml"), config)?;
        }
        if let Some(uid) = setup.uid {
            chown(folder.path(), Some(uid), Some(uid))?;
            chown(&data, Some(uid), Some(uid))?;
        }
        let child = spawn(name, &setup, &data, args)?;
        Ok(Self { name, setup, folder, data, child })
    }

    /// Starts it again on the same folder.
    pub(crate) fn start_again(&mut self, args: &[String]) -> Result<()> {
        self.child = spawn(self.name, &self.setup, &self.data, args)?;
        Ok(())
    }

    /// Waits until the process answers. Fails if it ends before, or does not answer in time.
    pub(crate) async fn wait_until(&mut self, mut answers: impl AsyncFnMut() -> bool) -> Result<()> {
        let deadline = Instant::now() + host::PATIENCE;
        while !answers().await {
            if let Some(status) = self.child.try_wait()? {
                bail!("the {} ended with {status}:\n{}", self.name, self.log());
            }
            ensure!(Instant::now() < deadline, "the {} does not answer:\n{}", self.name, self.log());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(())
    }

    pub(crate) fn data(&self) -> &Path {
        &self.data
    }

    /// A folder beside the data folder for files of the test.
    pub(crate) fn scratch(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// kill -9. Returns when the process is gone.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    /// Waits until it has ended.
    pub(crate) fn wait(&mut self) -> Result<ExitStatus> {
        Ok(self.child.wait()?)
    }

    /// Sends SIGTERM and waits until it has ended.
    pub(crate) fn terminate(&mut self) -> Result<ExitStatus> {
        host::signal(i32::try_from(self.pid())?, Signal::TERM)?;
        self.wait()
    }

    /// Everything it has logged.
    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.data.join(log_name(self.name))).unwrap_or_default()
    }

    /// A `headwater` command on its data folder.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(binary());
        command.env("HEADWATER_DATA", &self.data).stdin(Stdio::null());
        if let Some(uid) = self.setup.uid {
            command.uid(uid).gid(uid);
        }
        command
    }
}

fn log_name(name: &str) -> String {
    format!("test-{name}.log")
}

fn spawn(name: &str, setup: &Setup, data: &Path, args: &[String]) -> Result<Child> {
    let log = fs::OpenOptions::new().create(true).append(true).open(data.join(log_name(name)))?;
    let mut words = setup.before.iter().map(PathBuf::from).chain([binary()]);
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words).args(args).arg("--data").arg(data);
    if let Some(uid) = setup.uid {
        command.uid(uid).gid(uid).env("HOME", data);
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    command.spawn().with_context(|| format!("starting the {name}"))
}

impl Drop for Process {
    fn drop(&mut self) {
        // `stop` starts a worker if this one was killed: its sessions must end in any case.
        let mut stop = self.command();
        stop.args(["stop", "--end-sessions", "--yes"]).stdout(Stdio::null()).stderr(Stdio::null());
        let _ = stop.status();
        self.kill();
        if std::thread::panicking() {
            let log = self.log();
            let lines: Vec<_> = log.lines().collect();
            eprintln!("the last lines of the {}'s log:", self.name);
            lines[lines.len().saturating_sub(LOG_LINES)..].iter().for_each(|line| eprintln!("  {line}"));
        }
    }
}
