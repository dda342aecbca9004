//! Starts a worker in the background.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use headwater_contract::connect;
use headwater_gateway::config::LogFormat;
use headwater_protocol::SandboxKind;
use headwater_worker::config::socket_path;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use crate::error::{CommandError, ErrorKind};

/// The exit code of `headwater worker` if another worker uses the folder (`EX_TEMPFAIL`).
pub const ALREADY_RUNNING: u8 = 75;
/// How long a new worker may take to answer: it first takes over running sessions, which may be many.
const START_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a worker that does not answer may take to end after SIGTERM, and then after SIGKILL.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// How often to check whether it answers.
const POLL: Duration = Duration::from_millis(5);
/// Lines of a failed worker's log that are shown.
const LOG_LINES: usize = 12;

/// A worker to start.
#[derive(Debug, Clone)]
pub struct NewWorker {
    /// The data folder.
    pub data: PathBuf,
    /// The sandbox, if not the configured one.
    pub sandbox: Option<SandboxKind>,
    /// The configuration file, if not the one in the data folder.
    pub config: Option<PathBuf>,
    /// The format of its log, if not the configured one.
    pub log_format: Option<LogFormat>,
}

/// A process that is to become the worker.
struct Starting {
    /// Refers to this process even if its id is used again.
    process: OwnedFd,
    died: oneshot::Receiver<ExitStatus>,
}

impl Starting {
    /// Ends a worker that nobody will use: it would hold the data folder, or answer later with an old configuration.
    /// Sessions that it took over keep running.
    async fn end(&mut self) {
        for signal in [Signal::TERM, Signal::KILL] {
            let sent = pidfd_send_signal(&self.process, signal);
            if sent.is_err() || tokio::time::timeout(END_TIMEOUT, &mut self.died).await.is_ok() {
                return;
            }
        }
    }
}

/// What happens to a worker that was started and does not answer in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfSlow {
    /// It is ended, because the caller gives up.
    End,
    /// It may answer later, when the caller asks again: taking over many sessions takes time.
    Keep,
}

/// Starts a worker unless one answers, and waits until it does. If several processes try at once, one of them starts it.
pub async fn start(new: &NewWorker, if_slow: IfSlow) -> Result<(), CommandError> {
    let data = new.data.as_path();
    create_folder(data)?;
    let deadline = Instant::now() + START_TIMEOUT;
    let _lock = lock(data, deadline).await?;
    while !answers(data).await {
        let log = Log::open(data)?;
        let mut worker = spawn(new, &log)?;
        match wait(data, &mut worker, deadline).await {
            Wait::Answers => break,
            Wait::Died(status) if can_be_retried(status) && Instant::now() < deadline => {
                sleep(10 * POLL).await;
            }
            Wait::Died(status) => return Err(log.failure(&format!("the worker failed to start ({status})"))),
            Wait::TooLong => {
                if if_slow == IfSlow::End {
                    worker.end().await;
                }
                return Err(log.failure("the worker was started but does not answer"));
            }
        }
    }
    Ok(())
}

/// Whether another start may succeed: another worker uses the folder and is about to answer or to exit, or the worker
/// was killed.
fn can_be_retried(status: ExitStatus) -> bool {
    status.code() == Some(ALREADY_RUNNING.into()) || status.signal() == Some(Signal::KILL.as_raw())
}

enum Wait {
    Answers,
    Died(ExitStatus),
    TooLong,
}

async fn wait(data: &Path, worker: &mut Starting, deadline: Instant) -> Wait {
    loop {
        if answers(data).await {
            return Wait::Answers;
        }
        if Instant::now() >= deadline {
            return Wait::TooLong;
        }
        tokio::select! {
            Ok(status) = &mut worker.died => return Wait::Died(status),
            () = sleep(POLL) => {}
        }
    }
}

async fn answers(data: &Path) -> bool {
    connect(&socket_path(data)).await.is_ok()
}

fn cannot(what: &str, path: &Path, error: impl Into<io::Error>) -> CommandError {
    let message = format!("cannot {what} `{}`: {}", path.display(), error.into());
    CommandError::new(ErrorKind::NoWorker, message).hint("choose another folder with `--data DIR`")
}

/// Creates the data folder, accessible by its owner only.
pub fn create_folder(data: &Path) -> Result<(), CommandError> {
    let created = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(data);
    created.map_err(|error| cannot("create the data folder", data, error))
}

/// Takes the lock for starting a worker, which is released when the file is dropped or the process exits.
async fn lock(data: &Path, deadline: Instant) -> Result<File, CommandError> {
    let path = data.join("worker.starting");
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
    let file = file.map_err(|error| cannot("open", &path, error))?;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < deadline => sleep(POLL).await,
            Err(Errno::WOULDBLOCK) => {
                return Err(locked_by_another(data));
            }
            Err(error) => return Err(cannot("lock", &path, error)),
        }
    }
}

fn locked_by_another(data: &Path) -> CommandError {
    CommandError::new(ErrorKind::NoWorker, "another process is starting a worker, which does not answer")
        .hint(format!("see `{}`", data.join("worker.log").display()))
}

/// Starts `headwater worker`.
fn spawn(new: &NewWorker, log: &Log) -> Result<Starting, CommandError> {
    let output = || log.file.try_clone().map_err(|error| cannot("write to", &log.path, error));
    let program = own_program();
    let mut command = Command::new(&program);
    command.arg0("headwater").arg("worker").arg("--detached").arg("--data").arg(&new.data);
    if let Some(kind) = new.sandbox {
        command.arg("--sandbox").arg(kind.name());
    }
    if let Some(config) = new.config.clone().or_else(config_of_environment) {
        // The worker runs in another working directory.
        command.arg("--config").arg(std::path::absolute(&config).unwrap_or(config));
    }
    if let Some(format) = new.log_format {
        command.arg("--log-format").arg(format.name());
    }
    command.current_dir("/").stdin(Stdio::null()).stdout(output()?).stderr(output()?);
    let mut child = command.spawn().map_err(|error| cannot("start", &program, error))?;
    let pid = Pid::from_child(&child);
    let process = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| cannot("watch", &program, error))?;
    let (sender, died) = oneshot::channel();
    // Reaps the worker, so that a killed one does not remain as our zombie.
    thread::spawn(move || {
        if let Ok(status) = child.wait() {
            let _ = sender.send(status); // the receiver may be gone
        }
    });
    Ok(Starting { process, died })
}

/// The file that `HEADWATER_CONFIG` names, for commands without `--config` that start a worker.
fn config_of_environment() -> Option<PathBuf> {
    std::env::var_os("HEADWATER_CONFIG").filter(|file| !file.is_empty()).map(PathBuf::from)
}

/// The path of this binary, or `/proc/self/exe` if the file was replaced or deleted.
fn own_program() -> PathBuf {
    match std::env::current_exe() {
        Ok(path) if path.exists() => path,
        _ => "/proc/self/exe".into(),
    }
}

/// The log file of background workers.
struct Log {
    path: PathBuf,
    file: File,
    /// The offset at which this worker's lines begin.
    from: u64,
}

impl Log {
    fn open(data: &Path) -> Result<Self, CommandError> {
        let path = data.join("worker.log");
        let file = OpenOptions::new().create(true).append(true).read(true).mode(0o600).open(&path);
        let file = file.map_err(|error| cannot("write to", &path, error))?;
        let from = file.metadata().map_or(0, |meta| meta.len());
        Ok(Self { path, file, from })
    }

    fn failure(mut self, what: &str) -> CommandError {
        let mut lines = Vec::new();
        let read = self.file.seek(SeekFrom::Start(self.from)).and_then(|_| self.file.read_to_end(&mut lines));
        let lines = if read.is_ok() { String::from_utf8_lossy(&lines) } else { "".into() };
        failed_start(what, &lines, &self.path)
    }
}

fn failed_start(what: &str, lines: &str, log: &Path) -> CommandError {
    let message = format!("{what}{}", last_lines(lines));
    CommandError::new(ErrorKind::NoWorker, message)
        .hint("`headwater doctor` checks this host")
        .hint(format!("the complete log is in `{}`", log.display()))
}

fn last_lines(text: &str) -> String {
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = &lines[lines.len().saturating_sub(LOG_LINES)..];
    if last.is_empty() { String::new() } else { format!(":\n  {}", last.join("\n  ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot;

    #[test]
    fn the_last_lines_of_a_dead_workers_log_are_shown() {
        let text = (0..40).map(|n| format!("line {n}\n")).collect::<Vec<_>>().join("\n");
        let last = last_lines(&text);
        assert!(last.starts_with(":\n  line 28\n") && last.ends_with("line 39"), "{last}");
        assert_eq!(last_lines(" \n"), "");
    }

    #[test]
    fn errors_match_their_snapshot() {
        let (data, log) = (Path::new("/data"), Path::new("/data/worker.log"));
        snapshot::assert_errors(
            "start-errors",
            &[
                locked_by_another(data),
                failed_start("the worker failed to start (exit status: 5)", "first line\nlast line\n", log),
                failed_start("the worker was started but does not answer", "", log),
                cannot("create the data folder", data, Errno::ACCESS),
            ],
        );
    }

    #[test]
    fn a_killed_worker_is_restarted_and_a_failed_one_is_not() {
        assert!(can_be_retried(ExitStatus::from_raw(9)));
        assert!(can_be_retried(ExitStatus::from_raw(i32::from(ALREADY_RUNNING) << 8)));
        assert!(!can_be_retried(ExitStatus::from_raw(5 << 8)));
        assert!(!can_be_retried(ExitStatus::from_raw(6)), "a crash would repeat");
    }

    #[tokio::test]
    async fn of_two_processes_that_start_a_worker_one_waits_for_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let now = Instant::now();
        let first = lock(folder.path(), now).await.unwrap();
        assert!(lock(folder.path(), now).await.is_err());
        drop(first);
        assert!(lock(folder.path(), now).await.is_ok());
    }
}
