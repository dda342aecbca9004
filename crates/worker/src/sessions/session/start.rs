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
use super::verdict::Asked;
use super::{Session, env, link_fault, spare};
use crate::executions::execution::Execution;
use crate::executions::permits::ExecutionPermit;
use crate::executions::program::Program;
use crate::layout::{self, ExecutionRecord};

/// The default time between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(5);
/// How many bytes of an execution's output are kept if no limit is set.
const OUTPUT_BYTES: u64 = 1 << 30;
/// Input up to this size is put into the pipe before the program starts.
const PIPE_BYTES: usize = 1 << 20;

/// An accepted execution, and a receiver that completes when it runs or could not be started.
pub(crate) struct Accepted {
    pub(crate) execution: Arc<Execution>,
    pub(crate) answered: oneshot::Receiver<()>,
}

/// Who is expected to read the output of what is started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expects {
    /// Nobody in particular.
    Nobody,
    /// A lossless reader, which comes at once: nothing is dropped before it is here.
    LosslessReader,
}

/// What a start was granted.
pub(crate) struct Granted {
    /// Its place among those that may run at once.
    pub(crate) permit: ExecutionPermit,
    /// See [`Expects`].
    pub(crate) expects: Expects,
}

/// Between SIGTERM and SIGKILL for this execution.
pub(crate) fn grace(spec: &StartSpec) -> Duration {
    spec.grace_ms.map_or(GRACE, Duration::from_millis)
}

impl Accepted {
    /// An execution that was started before, for a repeated request.
    pub(crate) fn known(execution: Arc<Execution>, session: SessionId) -> Result<Self, Fault> {
        if execution.session_id() != session {
            let message = format!("`{}` is taken by another session", execution.id());
            return Err(Fault::new(FaultKind::Conflict, message));
        }
        let (sender, answered) = oneshot::channel();
        drop(sender); // nothing to wait for
        Ok(Self { execution, answered })
    }
}

impl Session {
    /// The wall time of an execution: the shortest of what it and its session ask for.
    pub(crate) fn timeout_ms(&self, spec: &StartSpec) -> Option<u64> {
        let wall = self.record().spec.limits.tightest(&spec.limits).wall_ms;
        [spec.timeout_ms, wall].into_iter().flatten().min()
    }

    /// Starts a program. Its log is there when this returns; whether it runs, the log tells.
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
                spec.stdin = Stdin::None; // what was given may be large, and is not ours to keep
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
        let accepted = self.hand_over(id, spec, program, granted, given.as_ref(), cgroup.clone()).await;
        if accepted.is_ok() {
            self.make_spare();
        } else if let Some(cgroup) = cgroup {
            remove_later(cgroup);
        }
        accepted
    }

    /// Saves code in the workspace.
    async fn save(&self, path: WorkspacePath, code: String) -> Result<(), Fault> {
        let workspace = self.workspace()?;
        // The caller asks for an execution: that a folder vanished meanwhile must not look as if the session were gone.
        let save = move || {
            workspace.save(&path, code.as_bytes()).map_err(|error| match Fault::from(error) {
                fault if fault.kind == FaultKind::NotFound => Fault { kind: FaultKind::Conflict, ..fault },
                fault => fault,
            })
        };
        tokio::task::spawn_blocking(save).await.map_err(|error| host_fault("save the code", &error))?
    }

    /// Makes the log and hands the program to init. Leaves no trace if that fails, so that the caller can ask again.
    async fn hand_over(
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
        let (record, dir, log, writer) = self.make_log(id, spec, &limits, granted.expects)?;
        let execution = Execution::live(record, dir, log);
        let (answer, answered) = oneshot::channel();
        let message = self.message(execution.record(), program, &limits, given.is_some(), files.len());
        let asked =
            Asked { name: message.argv.first().cloned().unwrap_or_default(), cwd: message.cwd.clone() };
        let running = Running {
            execution: Arc::clone(&execution),
            stage: Stage::Starting { writer: Box::new(writer), answer, asked },
            cgroup,
            permit: Some(granted.permit),
        };
        self.running().insert(id, running);
        let fds: Vec<_> = given.into_iter().chain(&files).map(AsFd::as_fd).collect();
        if let Err(error) = self.link.send(&ToInit::Start(Box::new(message)), &fds).await {
            self.running().remove(&id);
            self.closed.notify_waiters();
            let _ = execution.remove();
            return Err(link_fault(&error));
        }
        Ok(Accepted { execution, answered })
    }

    fn make_log(
        &self,
        id: ExecutionId,
        spec: StartSpec,
        limits: &Limits,
        expects: Expects,
    ) -> Result<(ExecutionRecord, std::path::PathBuf, Arc<Log>, Writer), Fault> {
        let output_bytes = limits.output_bytes.unwrap_or(OUTPUT_BYTES);
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
            // Half an execution is none.
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
            // A terminal is its program's input too.
            (Stdin::Open, _) => StdinFrom::Open,
            _ if spec.tty.is_some() => StdinFrom::Open,
            _ => StdinFrom::Null,
        };
        let network = self.network_environment(session.spec.network);
        let env = env::environment(&home, &network, &session.spec.env, spec);
        drop(session);
        Start {
            execution: record.id,
            argv: program.argv,
            env,
            cwd: env::working_directory(&home, spec.cwd.as_deref()),
            stdin,
            tty: spec.tty,
            merge_output: spec.merge_output,
            rlimits: env::rlimits(limits, self.counted()),
            timeout_ms: self.timeout_ms(spec),
            grace_ms: u64::try_from(grace(spec).as_millis()).unwrap_or(u64::MAX),
            kill_children: spec.children == Children::Kill,
            cgroups: u8::try_from(cgroups).unwrap_or(0),
            code_file: program.code_file,
            scratch: program.scratch,
            note: Vec::new(),
        }
    }

    /// What the session's cgroup counts and limits.
    fn counted(&self) -> Controllers {
        self.cgroup.as_ref().map(SessionCgroup::controllers).unwrap_or_default()
    }

    /// A cgroup below the session's for an execution that may use less than its session.
    fn own_cgroup(&self, id: ExecutionId, limits: &Limits) -> Result<Option<SessionCgroup>, Fault> {
        let Some(session) = &self.cgroup else {
            return Ok(None);
        };
        if limits.memory_bytes.is_none() && limits.cpus.is_none() && limits.pids.is_none() {
            return Ok(None);
        }
        let name = id.to_string();
        let made = match session.child(&name) {
            // A worker that was killed before it made the log left it.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => session.reopen_child(&name),
            made => made,
        };
        let cgroup = made.map_err(|e| host_fault("make a cgroup", &e))?;
        if let Err(error) = cgroup.set_limits(limits) {
            remove_later(cgroup);
            return Err(host_fault("set the execution's limits", &error));
        }
        Ok(Some(cgroup))
    }

    /// Input that is known beforehand waits in a pipe, or, if it is large, in a sealed file in memory: either way a
    /// killed worker takes none of it along.
    fn given_input(&self, bytes: &Bytes) -> Result<OwnedFd, Fault> {
        let made = if bytes.len() <= PIPE_BYTES { self.filled_pipe(bytes) } else { Ok(None) };
        match made.and_then(|pipe| pipe.map_or_else(|| sealed_file(bytes), Ok)) {
            Ok(fd) => Ok(fd),
            Err(error) => Err(host_fault("prepare the input", &error)),
        }
    }

    fn filled_pipe(&self, bytes: &[u8]) -> std::io::Result<Option<OwnedFd>> {
        let (reading, writing) = rustix::pipe::pipe_with(PipeFlags::CLOEXEC)?;
        if let Some(uid) = self.record().host_uid {
            // So that the program may open it again as /dev/stdin.
            let (uid, gid) = (rustix::fs::Uid::from_raw(uid), rustix::fs::Gid::from_raw(uid));
            rustix::fs::fchown(&reading, Some(uid), Some(gid))?;
        }
        // A pipe is full at its number of pages, whatever it was asked for: only what fits whole goes in.
        if bytes.len() > rustix::pipe::fcntl_getpipe_size(&writing)?
            && rustix::pipe::fcntl_setpipe_size(&writing, PIPE_BYTES).is_err()
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

    /// Takes up an execution that another worker started.
    pub(crate) fn adopt(
        self: &Arc<Self>,
        execution: Arc<Execution>,
        writer: Writer,
        kind: Fds,
        fds: Vec<OwnedFd>,
        exit: Option<Exit>,
    ) {
        if execution.head().closed {
            // All that was missing is that init hears of it.
            drop(writer);
            execution.seal();
            let session = Arc::clone(self);
            tokio::spawn(async move { session.let_go(execution.id()).await });
            return;
        }
        let (sender, receiver) = oneshot::channel();
        let mut running = Running {
            execution: Arc::clone(&execution),
            stage: Stage::Moving { exit: sender },
            cgroup: None,
            // What runs already runs, however many there are.
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
            // It had ended, and init knows that we know; only its output was still open.
            running.stage = Stage::Ended;
        }
        self.running().insert(execution.id(), running);
        self.move_output(execution, writer, kind, fds, receiver);
    }
}

/// Removes an execution's cgroup in the background: its last process may still be on its way out.
pub(crate) fn remove_later(cgroup: SessionCgroup) {
    tokio::task::spawn_blocking(move || {
        if let Err(error) = cgroup.remove() {
            tracing::warn!(%error, "an execution's cgroup cannot be removed");
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
    let message = format!("cannot make the log: {error}");
    if error.is_disk_full() {
        return Fault::new(FaultKind::NoSpace, message).hint("free space on the disk of the data folder");
    }
    Fault::new(FaultKind::Unavailable, message)
}
