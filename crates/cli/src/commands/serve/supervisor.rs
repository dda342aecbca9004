//! The parent of the server: holds the listening socket, restarts the server if it dies, and forwards signals.
//!
//! It does nothing that a request could break: no multi-threaded runtime, no store, no connections.

mod restarts;

use std::ffi::OsString;
use std::fs::File;
use std::io::Write;
use std::net::TcpListener;
use std::os::fd::OwnedFd;
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use headwater_gateway::Config;
use headwater_worker::config::Config as WorkerConfig;
use rustix::fs::{FlockOperation, flock};
use rustix::process::{Pid, Signal, kill_process};
use sd_notify::NotifyState;
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as Signals, SignalKind, signal};
use tokio::time::Instant;

use self::restarts::{Next, Restarts};
use super::socket;
use crate::args::{ConfigArgs, ServeArgs};
use crate::commands::config::running;
use crate::connect::Place;
use crate::error::{CommandError, ErrorKind};
use crate::{signals, start};

/// The lock file of a running supervisor, which contains its process id.
pub const LOCK: &str = "supervisor.lock";

/// How long a server may take to exit after its supervisor was killed.
const LAST_SERVER: Duration = Duration::from_secs(2);
/// How often to check whether it has exited.
const LAST_SERVER_POLL: Duration = Duration::from_millis(2);

/// Supervises the server of this folder until it is asked to stop, or the server cannot be started.
pub fn supervise(data: &Path, args: &ServeArgs) -> Result<u8, CommandError> {
    let settings = Settings::load(data, &args.config)?;
    start::create_folder(data)?;
    let _lock = lock(data)?;
    wait_for_last_server(data);
    let listener = socket::open(settings.server.listen)?;
    crate::log::to_stderr(settings.server.log_format);
    // In a container we may be process 1, which inherits all orphans.
    headwater_sandbox::orphans::keep_reaping();
    // One thread: the server is killed when the thread that started it exits.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| CommandError::internal(format!("cannot start: {error}")))?;
    let program = std::env::current_exe().map_err(|error| {
        CommandError::internal(format!("cannot determine the path of this program: {error}"))
    })?;
    let place = super::place(data, args);
    runtime.block_on(async {
        let received = Received::new()
            .map_err(|error| CommandError::internal(format!("cannot handle signals: {error}")))?;
        Supervisor { place, args: &args.config, program, listener, settings, received }.run().await
    })
}

/// Locks the folder: there is one supervisor per folder, and other commands find it by this file.
fn lock(data: &Path) -> Result<File, CommandError> {
    let path = data.join(LOCK);
    let broken = |error: &dyn std::fmt::Display| {
        CommandError::new(ErrorKind::Refused, format!("cannot use `{}`: {error}", path.display()))
            .hint("choose another folder with `--data DIR`")
    };
    let mut options = File::options();
    let file = options.create(true).truncate(false).write(true).mode(0o600).open(&path);
    let mut file = file.map_err(|error| broken(&error))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::AGAIN) => {
            return Err(super::already_running(format!(
                "another server is using the data folder `{}`",
                data.display()
            )));
        }
        Err(error) => return Err(broken(&error)),
    }
    let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    written.map_err(|error| broken(&error))?;
    Ok(file)
}

/// Waits for the server of a supervisor that was killed: it exits too, but may hold the store and the address a little
/// longer.
fn wait_for_last_server(data: &Path) {
    let Ok(file) = File::open(data.join("server.lock")) else { return };
    let deadline = std::time::Instant::now() + LAST_SERVER;
    while flock(&file, FlockOperation::NonBlockingLockShared).is_err() && std::time::Instant::now() < deadline
    {
        std::thread::sleep(LAST_SERVER_POLL);
    }
}

/// The configuration of the running server and worker.
struct Settings {
    server: Config,
    worker: WorkerConfig,
}

impl Settings {
    fn load(data: &Path, args: &ConfigArgs) -> Result<Self, CommandError> {
        let server = crate::commands::config::load(data, args)?;
        let worker = crate::commands::config::load_worker(data, args)?;
        Ok(Self { server, worker })
    }
}

/// The signals that are forwarded or handled.
struct Received {
    terminate: Signals,
    interrupt: Signals,
    hangup: Signals,
    ready: Signals,
}

impl Received {
    fn new() -> std::io::Result<Self> {
        Ok(Self {
            terminate: signal(SignalKind::terminate())?,
            interrupt: signal(SignalKind::interrupt())?,
            hangup: signal(SignalKind::hangup())?,
            ready: signal(SignalKind::from_raw(super::READY.as_raw()))?,
        })
    }

    async fn next(&mut self) -> Request {
        tokio::select! {
            _ = self.terminate.recv() => Request::Stop(Signal::TERM),
            _ = self.interrupt.recv() => Request::Stop(Signal::INT),
            _ = self.hangup.recv() => Request::Reload,
            _ = self.ready.recv() => Request::NoteReady,
        }
    }

    /// Waits for a request to stop.
    async fn stop(&mut self) {
        while !matches!(self.next().await, Request::Stop(_)) {}
    }
}

/// The meaning of a signal.
enum Request {
    /// Stop the server with this signal.
    Stop(Signal),
    /// Reload the configuration.
    Reload,
    /// The server has begun to answer requests.
    NoteReady,
}

struct Supervisor<'a> {
    place: Place,
    args: &'a ConfigArgs,
    program: PathBuf,
    listener: TcpListener,
    settings: Settings,
    received: Received,
}

/// How a server ended.
enum End {
    /// It was asked to stop.
    Stopped(ExitStatus),
    /// It was asked to stop so that a server with the new configuration replaces it.
    Replaced,
    /// It died, before or after it was ready.
    Died { status: ExitStatus, was_ready: bool, began: Instant },
}

impl Supervisor<'_> {
    async fn run(mut self) -> Result<u8, CommandError> {
        self.replace_outdated_worker().await;
        let mut restarts = Restarts::default();
        loop {
            let server = self.start()?;
            match self.follow(server).await? {
                // Without an exit code it was ended by our signal before it could handle it.
                End::Stopped(status) => return Ok(status.code().map_or(0, |_| exit_code(status))),
                End::Replaced => {}
                End::Died { status, was_ready, began } => {
                    let how = describe(status);
                    match restarts.after(was_ready, began.elapsed()) {
                        // It has printed the reason.
                        Next::GiveUpAtOnce => return Ok(exit_code(status).max(1)),
                        Next::GiveUp { failures } => {
                            let message = format!(
                                "the server failed to start {failures} times in a row; the last one {how}"
                            );
                            return Err(CommandError::new(ErrorKind::Refused, message)
                                .hint("see its log above; the worker and its sessions keep running"));
                        }
                        Next::StartAfter(wait) => {
                            tracing::error!("the server {how}; restarting it in {} ms", wait.as_millis());
                            tokio::select! {
                                () = tokio::time::sleep(wait) => {}
                                () = self.received.stop() => return Ok(0),
                            }
                        }
                    }
                }
            }
        }
    }

    /// A worker that runs with another configuration is stopped, and the server starts the next one, which takes over the
    /// programs. One that must not be replaced keeps running, which is logged.
    async fn replace_outdated_worker(&self) {
        let Settings { server, worker } = &self.settings;
        let outdated = match running::outdated(&self.place, worker, server.log_format).await {
            Ok(Some(outdated)) => outdated,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!("cannot compare the configuration of the running worker: {}", error.message);
                return;
            }
        };
        let (pid, keys) = (outdated.pid, outdated.keys());
        if !outdated.is_replaceable() {
            tracing::warn!(
                pid,
                "the running worker keeps its own values of {keys}; `headwater stop` stops it"
            );
            return;
        }
        tracing::info!(pid, "the configuration has changed ({keys}): a new worker takes over");
        if let Err(error) = crate::commands::stop::end_worker(&self.place).await {
            tracing::error!("the worker keeps its old settings: {}", error.message);
        }
    }

    /// Starts a server with the arguments of this process and the listening socket as standard input.
    fn start(&self) -> Result<Child, CommandError> {
        let socket =
            self.listener.try_clone().map(OwnedFd::from).map_err(|error| self.cannot_start(&error))?;
        let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
        let mut command = Command::new(&self.program);
        command
            .args(arguments)
            .arg("--supervisor")
            .arg(std::process::id().to_string())
            .stdin(Stdio::from(socket));
        // The variables of systemd are for this process.
        for name in ["LISTEN_FDS", "LISTEN_PID", "LISTEN_FDNAMES", "NOTIFY_SOCKET", "WATCHDOG_USEC"] {
            command.env_remove(name);
        }
        command.spawn().map_err(|error| self.cannot_start(&error))
    }

    fn cannot_start(&self, error: &std::io::Error) -> CommandError {
        CommandError::internal(format!("cannot start `{}`: {error}", self.program.display()))
    }

    /// Forwards signals until the server has exited.
    async fn follow(&mut self, mut server: Child) -> Result<End, CommandError> {
        let (began, mut was_ready, mut is_stopping, mut replacement) = (Instant::now(), false, false, None);
        let pid = server.id().and_then(|pid| Pid::from_raw(pid.cast_signed()));
        let send = |signal| pid.map(|pid| kill_process(pid, signal));
        let status = loop {
            tokio::select! {
                status = server.wait() => {
                    break status.map_err(|error| CommandError::internal(format!("cannot wait for the server: {error}")))?;
                }
                request = self.received.next() => match request {
                    Request::Stop(signal) => {
                        is_stopping = true;
                        notify(&[NotifyState::Stopping]);
                        send(signal);
                    }
                    Request::NoteReady => {
                        was_ready = true;
                        notify(&[NotifyState::Ready]);
                    }
                    Request::Reload if replacement.is_none() => {
                        replacement = self.reload();
                        if replacement.is_some() {
                            send(Signal::TERM);
                        }
                    }
                    Request::Reload => {}
                },
            }
        };
        if is_stopping {
            return Ok(End::Stopped(status));
        }
        if let Some(settings) = replacement {
            self.replace(settings).await;
            return Ok(End::Replaced);
        }
        // It received a signal directly, and stopped.
        if status.success() {
            return Ok(End::Stopped(status));
        }
        Ok(End::Died { status, was_ready, began })
    }

    /// Reloads the configuration. If it is invalid, the running one stays in effect.
    fn reload(&self) -> Option<Settings> {
        match Settings::load(&self.place.data, self.args) {
            Ok(settings) => {
                if let Ok(now) = NotifyState::monotonic_usec_now() {
                    notify(&[NotifyState::Reloading, now]);
                }
                tracing::info!("the configuration was reloaded: a new server takes over");
                Some(settings)
            }
            Err(error) => {
                tracing::error!("the configuration is invalid and was not reloaded: {}", error.message);
                None
            }
        }
    }

    /// Prepares for the next server: a new socket if the address changed, and no worker with outdated settings.
    async fn replace(&mut self, settings: Settings) {
        if settings.server.listen != self.settings.server.listen {
            match socket::bind(settings.server.listen) {
                Ok(listener) => self.listener = listener,
                Err(error) => tracing::error!("{}; still listening on the old address", error.message),
            }
        }
        let has_new_format = settings.server.log_format != self.settings.server.log_format;
        if has_new_format || settings.worker != self.settings.worker {
            // Programs keep running: the server starts the next worker, which takes them over.
            let ended = crate::commands::stop::end_worker(&self.place).await;
            if let Err(error) = ended {
                tracing::error!("the worker keeps its old settings: {}", error.message);
            }
        }
        self.settings = settings;
    }
}

/// Notifies systemd, if it started us.
fn notify(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::warn!(%error, "cannot notify systemd");
    }
}

fn exit_code(status: ExitStatus) -> u8 {
    status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}

/// How a process ended: `was killed by SIGKILL`.
fn describe(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("was killed by {}", signals::name(signal)),
        (None, Some(code)) => format!("exited with code {code}"),
        (None, None) => "exited".to_owned(),
    }
}

/// The process id of the supervisor of this folder, if it is running.
pub fn running(data: &Path) -> Option<u32> {
    let path = data.join(LOCK);
    let file = File::open(&path).ok()?;
    if flock(&file, FlockOperation::NonBlockingLockShared) != Err(rustix::io::Errno::AGAIN) {
        return None;
    }
    std::fs::read_to_string(&path).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_supervisor_locks_a_folder_and_is_found_by_the_lock() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(running(folder.path()), None);
        let held = lock(folder.path()).unwrap();
        assert_eq!(running(folder.path()), Some(std::process::id()));
        assert_eq!(lock(folder.path()).unwrap_err().kind, ErrorKind::Refused);
        drop(held);
        assert_eq!(running(folder.path()), None);
    }

    #[test]
    fn the_end_of_a_server_is_described_by_its_signal_or_its_code() {
        assert_eq!(describe(ExitStatus::from_raw(9)), "was killed by SIGKILL");
        assert_eq!(describe(ExitStatus::from_raw(3 << 8)), "exited with code 3");
        assert_eq!((exit_code(ExitStatus::from_raw(3 << 8)), exit_code(ExitStatus::from_raw(9))), (3, 1));
    }
}
