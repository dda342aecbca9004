//! Starting an execution: from what was asked for to the message to init.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use headwater_contract::{Fault, FaultKind};
use headwater_log::{Log, LogError, LosslessOptions, Writer};
use headwater_protocol::{Children, Command, ExecutionId, Limits, SessionId, StartSpec, Stdin, now_ms};
use headwater_sandbox::cgroup::{Controllers, SessionCgroup};
use headwater_sandbox::wire::{Exit, Fds, Start, StdinFrom, ToInit};
use headwater_workspace::WorkspacePath;
use rustix::fs::{MemfdFlags, SealFlags};
use rustix::pipe::PipeFlags;
use tokio::sync::oneshot;

use super::running::{Running, Stage};
use super::verdict::Requested;
use super::{Session, env, link_fault, spare};
use crate::executions::execution::Execution;
use crate::executions::permits::ExecutionPermit;
use crate::executions::program::Program;
use crate::layout::{self, ExecutionRecord};
use crate::sessions::place;

/// Between SIGTERM and SIGKILL, if the request does not say.
const DEFAULT_GRACE: Duration = Duration::from_secs(5);
/// Kept of an execution's output if no limit is set.
const DEFAULT_OUTPUT_BYTES: u64 = 1 << 30;
/// Input up to this size is written to a pipe before the program starts.
const MAX_PIPED_INPUT_BYTES: usize = 1 << 20;

/// An accepted start: the execution, and a receiver that resolves when it runs or could not be started.
pub(crate) struct Accepted {
    pub(crate) execution: Arc<Execution>,
    pub(crate) answered: oneshot::Receiver<()>,
}

/// Which reader of the output a start expects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expects {
    /// No particular one.
    Nobody,
    /// A lossless reader, which connects at once: no output is dropped before that.
    LosslessReader,
}

/// What a start was granted.
pub(crate) struct Granted {
    /// Its permit to run.
    pub(crate) permit: ExecutionPermit,
    /// Which reader it expects.
    pub(crate) expects: Expects,
}

/// Between SIGTERM and SIGKILL for this execution.
pub(crate) fn grace(spec: &StartSpec) -> Duration {
    spec.grace_ms.map_or(DEFAULT_GRACE, Duration::from_millis)
}

impl Accepted {
    /// An execution that was started before, for a caller that repeats its request.
    pub(crate) fn known(execution: Arc<Execution>, session: SessionId) -> Result<Self, Fault> {
        if execution.session_id() != session {
            let message = format!("`{}` is taken by another session", execution.id());
            return Err(Fault::new(FaultKind::Conflict, message));
        }
        let (answer, answered) = oneshot::channel();
        drop(answer); // nothing to wait for
        Ok(Self { execution, answered })
    }
}

impl Session {
    /// The limit of wall time of an execution: the lowest of its own and its session's.
    pub(crate) fn timeout_ms(&self, spec: &StartSpec) -> Option<u64> {
        let wall = self.record().spec.limits.tightest(&spec.limits).wall_ms;
        [spec.timeout_ms, wall].into_iter().flatten().min()
    }

    /// Starts a program. Its log exists when this returns, and says whether the program runs.
    pub(crate) async fn start(
        self: &Arc<Self>,
        id: ExecutionId,
        mut spec: StartSpec,
        program: Program,
        granted: Granted,
    ) -> Result<Accepted, Fault> {
        self.touch();
        let limits = self.record().spec.limits.clone();
        self.gauge().admit(&limits, &self.dir, self.disk_walk()).await?;
        let given = match std::mem::take(&mut spec.stdin) {
            Stdin::Given(bytes) => {
                spec.stdin = Stdin::None; // it may be large, and is not kept in the record
                Some(self.given_input(&bytes)?)
            }
            other => {
                spec.stdin = other;
                None
            }
        };
        if let (Some(path), Command::Code { code, .. }) = (&program.save, &spec.command) {
            self.save(path.clone(), code.clone()).await?;
        }
        let cgroup = self.own_cgroup(id, &spec.limits)?;
        let accepted = self.send_start(id, spec, program, granted, given.as_ref(), cgroup.clone()).await;
        if accepted.is_ok() {
            self.create_spare();
        } else if let Some(cgroup) = cgroup {
            remove_later(cgroup);
        }
        accepted
    }

    /// Saves code in the workspace.
    async fn save(&self, path: WorkspacePath, code: String) -> Result<(), Fault> {
        let workspace = self.workspace()?;
        // A folder that was removed meanwhile must not look as if the session did not exist.
        let save = move || {
            workspace.save(&path, code.as_bytes()).map_err(|error| match Fault::from(error) {
                fault if fault.kind == FaultKind::NotFound => Fault { kind: FaultKind::Conflict, ..fault },
                fault => fault,
            })
        };
        tokio::task::spawn_blocking(save).await.map_err(|error| host_fault("save the code", &error))?
    }

    /// Creates the log and sends the program to init. Leaves no trace if that fails, so that the caller can try again.
    async fn send_start(
        self: &Arc<Self>,
        id: ExecutionId,
        spec: StartSpec,
        program: Program,
        granted: Granted,
        given: Option<&OwnedFd>,
        cgroup: Option<SessionCgroup>,
    ) -> Result<Accepted, Fault> {
        let limits = self.record().spec.limits.tightest(&spec.limits);
        let file_bytes = self.gauge().last().and_then(|last| last.file_bytes(&limits));
        let limits = limits.tightest(&Limits { file_bytes, ..Limits::default() });
        let files = cgroup.as_ref().map(SessionCgroup::procs_files).transpose();
        let files =
            files.map_err(|error| host_fault("join the execution's cgroup", &error))?.unwrap_or_default();
        let (record, dir, log, writer) = self.create_log(id, spec, &limits, granted.expects)?;
        let execution = Execution::live(record, dir, log);
        let (answer, answered) = oneshot::channel();
        let message = self.message(execution.record(), program, &limits, given.is_some(), files.len());
        let requested =
            Requested { name: message.argv.first().cloned().unwrap_or_default(), cwd: message.cwd.clone() };
        let running = Running {
            execution: Arc::clone(&execution),
            stage: Stage::Starting { writer: Box::new(writer), answer, requested },
            cgroup,
            permit: Some(granted.permit),
        };
        self.running().insert(id, running);
        let fds: Vec<_> = given.into_iter().chain(&files).map(AsFd::as_fd).collect();
        if let Err(error) = self.init_link.send(&ToInit::Start(Box::new(message)), &fds).await {
            self.running().remove(&id);
            self.closed.notify_waiters();
            let _ = execution.remove();
            return Err(link_fault(&error));
        }
        Ok(Accepted { execution, answered })
    }

    fn create_log(
        &self,
        id: ExecutionId,
        spec: StartSpec,
        limits: &Limits,
        expects: Expects,
    ) -> Result<(ExecutionRecord, std::path::PathBuf, Arc<Log>, Writer), Fault> {
        let output_bytes = limits.output_bytes.unwrap_or(DEFAULT_OUTPUT_BYTES);
        let (session_id, queued_at_ms, lossless) = (self.id, now_ms(), expects == Expects::LosslessReader);
        let record = ExecutionRecord { id, session_id, spec, queued_at_ms, output_bytes, lossless };
        self.use_spare(id);
        let holds = self.engine.upgrade().map_or(LosslessOptions::DEFAULT, |engine| engine.config.lossless);
        let dir = layout::executions(&self.dir).join(id.to_string());
        let (log, writer) = Log::create(&dir, id, record.log_options(holds)).map_err(|error| {
            spare::discard(&dir);
            log_fault(&error)
        })?;
        if let Err(error) = record.write(&dir) {
            // A log without a record is not an execution.
            let _ = std::fs::remove_dir_all(&dir);
            return Err(Fault::of_disk(format!("cannot record the execution: {error}"), &error));
        }
        Ok((record, dir, log, writer))
    }

    fn message(
        &self,
        record: &ExecutionRecord,
        program: Program,
        limits: &Limits,
        given: bool,
        cgroups: usize,
    ) -> Start {
        let spec = &record.spec;
        let home = self.home();
        let session = self.record();
        let stdin = match (&spec.stdin, given) {
            (_, true) => StdinFrom::Fd,
            // A terminal is also its program's input.
            (Stdin::Open, _) => StdinFrom::Open,
            _ if spec.tty.is_some() => StdinFrom::Open,
            _ => StdinFrom::Null,
        };
        let network = self.network_environment(session.spec.network);
        let engine = self.engine.upgrade();
        let tools =
            engine.as_ref().filter(|_| session.tools).and_then(|engine| engine.tools.path(session.sandbox));
        let own_home = session.place.as_ref().map(|place| place.home.clone());
        let surroundings = env::Surroundings {
            workspace: &home,
            is_the_persons: place::is_the_persons(&session.spec),
            home: own_home.as_deref().unwrap_or(&home),
            tools: tools.as_deref(),
            compiler: engine.as_ref().and_then(|engine| engine.config.builds.chosen()),
            network: &network,
            session: &session.spec.env,
        };
        let env = env::environment(&surroundings, spec);
        drop(session);
        Start {
            execution: record.id,
            argv: program.argv,
            env,
            cwd: env::working_directory(&home, spec.cwd.as_deref()),
            stdin,
            tty: spec.tty,
            merge_output: spec.merge_output,
            rlimits: env::rlimits(limits, self.controllers()),
            timeout_ms: self.timeout_ms(spec),
            grace_ms: u64::try_from(grace(spec).as_millis()).unwrap_or(u64::MAX),
            kill_children: spec.children == Children::Kill,
            cgroups: u8::try_from(cgroups).unwrap_or(0),
            code_file: program.code_file,
            scratch: program.scratch,
            note: Vec::new(),
        }
    }

    /// The controllers of the session's cgroup.
    fn controllers(&self) -> Controllers {
        self.cgroup.as_ref().map(SessionCgroup::controllers).unwrap_or_default()
    }

    /// A cgroup below the session's, for an execution with lower limits than its session.
    fn own_cgroup(&self, id: ExecutionId, limits: &Limits) -> Result<Option<SessionCgroup>, Fault> {
        let Some(session) = &self.cgroup else {
            return Ok(None);
        };
        if limits.memory_bytes.is_none() && limits.cpus.is_none() && limits.pids.is_none() {
            return Ok(None);
        }
        let name = id.to_string();
        let made = match session.child(&name) {
            // Left by a worker that was killed before it created the log.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => session.reopen_child(&name),
            made => made,
        };
        let cgroup = made.map_err(|e| host_fault("create a cgroup", &e))?;
        if let Err(error) = cgroup.set_limits(limits) {
            remove_later(cgroup);
            return Err(host_fault("set the execution's limits", &error));
        }
        Ok(Some(cgroup))
    }

    /// Input that comes with the request is kept in a pipe, or, if it is large, in a sealed file in memory. Both survive
    /// the worker.
    fn given_input(&self, bytes: &Bytes) -> Result<OwnedFd, Fault> {
        let made = if bytes.len() <= MAX_PIPED_INPUT_BYTES { self.filled_pipe(bytes) } else { Ok(None) };
        match made.and_then(|pipe| pipe.map_or_else(|| sealed_file(bytes), Ok)) {
            Ok(fd) => Ok(fd),
            Err(error) => Err(host_fault("prepare the input", &error)),
        }
    }

    fn filled_pipe(&self, bytes: &[u8]) -> std::io::Result<Option<OwnedFd>> {
        let (reading, writing) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        if let Some(uid) = self.record().host_uid {
            // So that the program may open it as /dev/stdin.
            let (uid, gid) = (rustix::fs::Uid::from_raw(uid), rustix::fs::Gid::from_raw(uid));
            rustix::fs::fchown(&reading, Some(uid), Some(gid))?;
        }
        // A pipe may be full before its nominal size is reached: only input that fits completely goes into one.
        if bytes.len() > rustix::pipe::fcntl_getpipe_size(&writing)?
            && rustix::pipe::fcntl_setpipe_size(&writing, MAX_PIPED_INPUT_BYTES).is_err()
        {
            return Ok(None);
        }
        rustix::io::ioctl_fionbio(&writing, true)?;
        let mut left = bytes;
        while !left.is_empty() {
            let n = match rustix::io::write(&writing, left) {
                Ok(n) => n,
                Err(rustix::io::Errno::AGAIN) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            left = left.get(n..).unwrap_or_default();
        }
        Ok(Some(reading))
    }

    /// Takes over an execution that another worker started.
    pub(crate) fn adopt(
        self: &Arc<Self>,
        execution: Arc<Execution>,
        writer: Writer,
        kind: Fds,
        fds: Vec<OwnedFd>,
        exit: Option<Exit>,
    ) {
        if execution.head().closed {
            // Only the confirmation to init is missing.
            drop(writer);
            execution.seal();
            let session = Arc::clone(self);
            tokio::spawn(async move { session.release(execution.id()).await });
            return;
        }
        let (sender, receiver) = oneshot::channel();
        let mut running = Running {
            execution: Arc::clone(&execution),
            stage: Stage::Moving { exit: sender },
            cgroup: None,
            // It runs already, even if there are more than allowed.
            permit: self.engine.upgrade().map(|engine| {
                engine.execution_permits.acquire_unchecked(self.permit_holder(), &execution.record().spec)
            }),
        };
        if let Some(session) = &self.cgroup {
            running.cgroup = session.reopen_child(&execution.id().to_string()).ok();
        }
        if let Some(exit) = exit {
            running.has_exited(exit);
        } else if execution.head().verdict.is_some() {
            // It had ended, and that was confirmed to init; only its output was still open.
            running.stage = Stage::Ended;
        }
        self.running().insert(execution.id(), running);
        self.move_output(execution, writer, kind, fds, receiver);
    }
}

/// Removes an execution's cgroup in the background: its last process may still be exiting.
pub(crate) fn remove_later(cgroup: SessionCgroup) {
    tokio::task::spawn_blocking(move || {
        if let Err(error) = cgroup.remove() {
            tracing::warn!(%error, "cannot remove the cgroup of an execution");
        }
    });
}

fn sealed_file(bytes: &[u8]) -> std::io::Result<OwnedFd> {
    let file = rustix::fs::memfd_create("stdin", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut at = 0;
    while let Some(left) = bytes.get(at..).filter(|left| !left.is_empty()) {
        at += rustix::io::pwrite(&file, left, at as u64)?;
    }
    rustix::fs::fcntl_add_seals(
        &file,
        SealFlags::SEAL | SealFlags::SHRINK | SealFlags::GROW | SealFlags::WRITE,
    )?;
    Ok(file)
}

fn host_fault(what: &str, error: &impl std::fmt::Display) -> Fault {
    Fault::new(FaultKind::Unavailable, format!("cannot {what}: {error}"))
}

fn log_fault(error: &LogError) -> Fault {
    let message = format!("cannot create the log: {error}");
    if error.is_disk_full() {
        return Fault::new(FaultKind::NoSpace, message).hint("free space on the disk of the data folder");
    }
    Fault::new(FaultKind::Unavailable, message)
}
