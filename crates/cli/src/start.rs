//! Starting a worker in the background.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use headwater_contract::connect;
use headwater_protocol::SandboxKind;
use headwater_worker::config::socket_path;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use rustix::process::Signal;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep};

use crate::error::{CommandError, ErrorKind};

/// The exit code of `headwater worker` when another has the folder (`EX_TEMPFAIL`).
pub const ALREADY_RUNNING: u8 = 75;
/// How long a new worker may take to answer; with many sessions to adopt it is busy first.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often it is looked for.
const RETRY: Duration = Duration::from_millis(5);
/// How much of a dead worker's log is shown.
const LOG_LINES: usize = 12;

/// Starts a worker unless one answers, and waits until it does. Of many who try at once, one starts it.
pub async fn start(
    data: &Path,
    sandbox: Option<SandboxKind>,
    config: Option<&Path>,
) -> Result<(), CommandError> {
    make_folder(data)?;
    let deadline = Instant::now() + PATIENCE;
    let _turn = take_turn(data, deadline).await?;
    while !answers(data).await {
        let log = Log::open(data)?;
        let died = spawn(data, sandbox, config, &log)?;
        match wait(data, died, deadline).await {
            Wait::Answers => break,
            Wait::Died(status) if may_be_tried_again(status) && Instant::now() < deadline => {
                sleep(10 * RETRY).await;
            }
            Wait::Died(status) => return Err(log.failure(&format!("the worker ended at once ({status})"))),
            Wait::TooLong => return Err(log.failure("the worker was started but does not answer")),
        }
    }
    Ok(())
}

/// Another worker has the folder, and is about to answer or about to end; or somebody killed it, which says nothing
/// of the next.
fn may_be_tried_again(status: ExitStatus) -> bool {
    status.code() == Some(ALREADY_RUNNING.into()) || status.signal() == Some(Signal::KILL.as_raw())
}

enum Wait {
    Answers,
    Died(ExitStatus),
    TooLong,
}

async fn wait(data: &Path, mut died: oneshot::Receiver<ExitStatus>, deadline: Instant) -> Wait {
    loop {
        if answers(data).await {
            return Wait::Answers;
        }
        if Instant::now() >= deadline {
            return Wait::TooLong;
        }
        tokio::select! {
            Ok(status) = &mut died => return Wait::Died(status),
            () = sleep(RETRY) => {}
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

/// Makes the data folder, for its owner alone.
pub fn make_folder(data: &Path) -> Result<(), CommandError> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(data);
    made.map_err(|error| cannot("make the data folder", data, error))
}

/// Holds others back while we start a worker; let go by dropping it, or by dying.
async fn take_turn(data: &Path, deadline: Instant) -> Result<File, CommandError> {
    let path = data.join("worker.starting");
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
    let file = file.map_err(|error| cannot("open", &path, error))?;
    loop {
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => return Ok(file),
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < deadline => sleep(RETRY).await,
            Err(Errno::WOULDBLOCK) => {
                return Err(another_starts(data));
            }
            Err(error) => return Err(cannot("lock", &path, error)),
        }
    }
}

fn another_starts(data: &Path) -> CommandError {
    CommandError::new(ErrorKind::NoWorker, "somebody else starts a worker, and it does not answer")
        .hint(format!("see `{}`", data.join("worker.log").display()))
}

/// Starts `headwater worker`; the receiver tells if it ends.
fn spawn(
    data: &Path,
    sandbox: Option<SandboxKind>,
    config: Option<&Path>,
    log: &Log,
) -> Result<oneshot::Receiver<ExitStatus>, CommandError> {
    let output = || log.file.try_clone().map_err(|error| cannot("write to", &log.path, error));
    let program = own_program();
    let mut command = Command::new(&program);
    command.arg0("headwater").arg("worker").arg("--detached").arg("--data").arg(data);
    if let Some(kind) = sandbox {
        command.arg("--sandbox").arg(kind.name());
    }
    if let Some(config) = config {
        // It is started in another folder.
        command.arg("--config").arg(std::path::absolute(config).unwrap_or_else(|_| config.to_owned()));
    }
    command.current_dir("/").stdin(Stdio::null()).stdout(output()?).stderr(output()?);
    let mut child = command.spawn().map_err(|error| cannot("start", &program, error))?;
    let (sender, died) = oneshot::channel();
    // Also reaps it: while we run, a killed worker is gone and not a zombie of ours.
    thread::spawn(move || {
        if let Ok(status) = child.wait() {
            let _ = sender.send(status); // nobody may want to know any more
        }
    });
    Ok(died)
}

/// This binary; by way of the kernel if its file was replaced or removed since.
fn own_program() -> PathBuf {
    match std::env::current_exe() {
        Ok(path) if path.exists() => path,
        _ => "/proc/self/exe".into(),
    }
}

/// What background workers print.
struct Log {
    path: PathBuf,
    file: File,
    /// Where this worker's part begins.
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
        let mut said = Vec::new();
        let read = self.file.seek(SeekFrom::Start(self.from)).and_then(|_| self.file.read_to_end(&mut said));
        let said = if read.is_ok() { String::from_utf8_lossy(&said) } else { "".into() };
        no_start(what, &said, &self.path)
    }
}

fn no_start(what: &str, said: &str, log: &Path) -> CommandError {
    let message = format!("{what}{}", last_lines(said));
    CommandError::new(ErrorKind::NoWorker, message)
        .hint("`headwater doctor` tells what this host lacks")
        .hint(format!("its whole log is in `{}`", log.display()))
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
    fn errors_read_like_this() {
        let (data, log) = (Path::new("/data"), Path::new("/data/worker.log"));
        snapshot::assert_errors(
            "start-errors",
            &[
                another_starts(data),
                no_start("the worker ended at once (exit status: 5)", "first line\nlast line\n", log),
                no_start("the worker was started but does not answer", "", log),
                cannot("make the data folder", data, Errno::ACCESS),
            ],
        );
    }

    #[test]
    fn a_killed_worker_is_started_again_and_one_that_failed_is_not() {
        assert!(may_be_tried_again(ExitStatus::from_raw(9)));
        assert!(may_be_tried_again(ExitStatus::from_raw(i32::from(ALREADY_RUNNING) << 8)));
        assert!(!may_be_tried_again(ExitStatus::from_raw(5 << 8)));
        assert!(!may_be_tried_again(ExitStatus::from_raw(6)), "a crash would come again");
    }

    #[tokio::test]
    async fn of_two_processes_that_start_a_worker_one_waits_for_the_other() {
        let folder = tempfile::tempdir().unwrap();
        let now = Instant::now();
        let first = take_turn(folder.path(), now).await.unwrap();
        assert!(take_turn(folder.path(), now).await.is_err());
        drop(first);
        assert!(take_turn(folder.path(), now).await.is_ok());
    }
}
