//! A session: the link to its init, and the executions that run in it.
//!
//! One task for each session receives init's messages ([`Session::listen`]), and one task for each execution moves its
//! output ([`crate::executions::pump`]). Callers send a message to init and wait for what the log says.

mod env;
mod hibernate;
mod outlet;
mod phase;
mod ports;
mod resync;
mod running;
pub(crate) mod spare;
mod start;
mod verdict;

use std::collections::HashMap;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use headwater_contract::{Fault, FaultKind};
use headwater_limits::descriptors::Hold;
use headwater_protocol::{
    ExecutionId, OWNER_METADATA, Process, Session as SessionInfo, SessionId, SessionState,
};
use headwater_sandbox::cgroup::SessionCgroup;
use headwater_sandbox::link::LinkError;
use headwater_sandbox::wire::{Cause as StopCause, FromInit, Target, ToInit};
use headwater_workspace::Workspace;
use rustix::event::{PollFd, PollFlags, Timespec};
use tokio::sync::{Notify, RwLock, oneshot};

use crate::engine::Engine;
use crate::executions::permits::PermitHolder;
use crate::layout::{self, SessionRecord};
use crate::sessions::cleanup;
use crate::sessions::end;
use crate::sessions::hibernation;
use crate::sessions::init_link::InitLink;
use crate::sessions::place;
use crate::usage::disk::{Gauge, Measured};

pub(crate) use env::{SYSTEM_PATH, workspace_inside};
pub(crate) use hibernate::StartGuard;
use outlet::Outlet;
pub(crate) use outlet::message as outlet_message;
use phase::{Cause, Phase, PhaseCell};
use ports::SocketRequests;
use resync::Resync;
use running::Running;
use spare::Spare;
pub(crate) use start::{Accepted, Expects, Granted, grace};
pub(crate) use verdict::unseen;

/// How long init may take to end itself before it is killed.
const END_TIMEOUT: Duration = Duration::from_secs(3);
/// How long init may take to answer a request for processes.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// A request for the processes of an execution.
type ProcessesRequest = (ExecutionId, oneshot::Sender<Vec<Process>>);

/// A live session.
#[derive(Debug)]
pub(crate) struct Session {
    id: SessionId,
    dir: PathBuf,
    record: Mutex<SessionRecord>,
    engine: Weak<Engine>,
    init_link: InitLink,
    init: OwnedFd,
    cgroup: Option<SessionCgroup>,
    running: Mutex<HashMap<ExecutionId, Running>>,
    processes_requests: Mutex<Vec<ProcessesRequest>>,
    /// Whether it runs, is being hibernated, is ending, or is gone.
    phase: PhaseCell,
    /// Read-locked by each start, write-locked by a hibernation: a start never meets an init that is about to end.
    starts: Arc<RwLock<()>>,
    /// Notified when an execution is closed.
    closed: Notify,
    /// The folder of its next execution.
    spare: Spare,
    /// Kills for lack of memory that were attributed to an execution already.
    oom_seen: AtomicU64,
    /// When it was last used, for the idle timeout. By the monotonic clock, which nobody sets.
    used_at: Mutex<Instant>,
    /// What it uses of the disk.
    gauge: Gauge,
    /// The way of its programs to the package mirror, if it has one.
    outlet: Outlet,
    /// Callers that wait for a socket inside the session.
    socket_requests: SocketRequests,
    resync: Resync,
    #[allow(dead_code)] // counts as used until it is dropped
    descriptors: Hold,
}

/// What a session is put together from.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) dir: PathBuf,
    pub(crate) record: SessionRecord,
    /// The connection to init.
    pub(crate) link: OwnedFd,
    /// The pidfd of init.
    pub(crate) init: OwnedFd,
    pub(crate) cgroup: Option<SessionCgroup>,
    /// Whether the folder of its first execution exists already.
    pub(crate) spare: bool,
    /// What it uses of the disk, if that is known.
    pub(crate) disk: Option<Measured>,
    pub(crate) descriptors: Hold,
}

impl Session {
    /// Must be called within the runtime that moves output.
    pub(crate) fn new(parts: Parts, engine: Weak<Engine>) -> io::Result<Arc<Self>> {
        let oom_kills = parts.cgroup.as_ref().map_or(0, SessionCgroup::oom_kills);
        Ok(Arc::new(Self {
            id: parts.record.id,
            dir: parts.dir,
            record: Mutex::new(parts.record),
            engine,
            init_link: InitLink::new(parts.link)?,
            init: parts.init,
            cgroup: parts.cgroup,
            running: Mutex::default(),
            processes_requests: Mutex::default(),
            phase: PhaseCell::default(),
            starts: Arc::default(),
            closed: Notify::new(),
            spare: Spare::new(parts.spare),
            oom_seen: AtomicU64::new(oom_kills),
            gauge: Gauge::new(parts.disk),
            used_at: Mutex::new(Instant::now()),
            outlet: Outlet::default(),
            socket_requests: SocketRequests::default(),
            resync: Resync::default(),
            descriptors: parts.descriptors,
        }))
    }

    /// The id by which callers know it.
    pub(crate) const fn id(&self) -> SessionId {
        self.id
    }

    /// Its folder on the host.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// The path at which its programs see the workspace.
    pub(crate) fn home(&self) -> String {
        let record = self.record();
        match &record.spec.place {
            Some(place) => place.folder.clone(),
            None => workspace_inside(record.sandbox, &layout::workspace(&self.dir)),
        }
    }

    fn running(&self) -> MutexGuard<'_, HashMap<ExecutionId, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Its record, locked. It is the same as on the disk.
    pub(crate) fn record(&self) -> MutexGuard<'_, SessionRecord> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many executions are not closed.
    pub(crate) fn busy(&self) -> usize {
        self.running().len()
    }

    /// The session and the owner that its executions count for.
    pub(crate) fn permit_holder(&self) -> PermitHolder {
        let owner = self.record().spec.metadata.get(OWNER_METADATA).cloned().unwrap_or_default();
        PermitHolder { session: self.id, owner }
    }

    /// The session as the contract describes it.
    pub(crate) fn info(&self) -> SessionInfo {
        let running = self.running().values().filter(|running| !running.has_ended()).count();
        info(&self.record(), running)
    }

    /// The init that all of its processes descend from, if isolation keeps other processes from doing so.
    pub(crate) fn walled_init(&self) -> Option<i32> {
        let walled = self.record().sandbox == headwater_protocol::SandboxKind::Full;
        walled.then(|| crate::usage::deleted_files::pid_of(self.init.as_fd())).flatten()
    }

    /// The process id of its init on the host.
    pub(crate) fn init_pid(&self) -> Option<i32> {
        crate::usage::deleted_files::pid_of(self.init.as_fd())
    }

    /// Bytes that the executions that are not closed have printed.
    pub(crate) fn printed_bytes(&self) -> u64 {
        self.running().values().map(|running| running.execution.head().ends.total()).sum()
    }

    /// Bytes of its workspace and its snapshots when they were last measured.
    pub(crate) fn disk_bytes(&self) -> u64 {
        self.gauge.last().map_or(0, |last| last.bytes())
    }

    /// What it uses of the disk.
    pub(crate) const fn gauge(&self) -> &Gauge {
        &self.gauge
    }

    /// Returns a function that measures what it uses of the disk. The function blocks.
    pub(crate) fn disk_walk(self: &Arc<Self>) -> impl FnOnce() -> io::Result<Measured> + Send + use<> {
        let session = Arc::clone(self);
        move || Measured::now(&session.dir, session.walled_init())
    }

    /// Bytes of its snapshots when they were last measured.
    pub(crate) fn snapshot_bytes(&self) -> u64 {
        self.gauge.last().map_or(0, |last| last.snapshot_bytes())
    }

    /// Bytes of the logs of its executions that are not closed.
    pub(crate) fn live_log_bytes(&self) -> u64 {
        self.running().values().map(|running| running.execution.log_bytes()).sum()
    }

    /// Its cgroup, if it has one.
    pub(crate) const fn cgroup(&self) -> Option<&SessionCgroup> {
        self.cgroup.as_ref()
    }

    /// For how long nothing has run in it and nobody has used it.
    pub(crate) fn idle_for(&self) -> Duration {
        if self.busy() > 0 {
            return Duration::ZERO;
        }
        self.used_at().elapsed()
    }

    /// When it was last used.
    pub(crate) fn used_at(&self) -> Instant {
        *self.used_at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What it is doing.
    pub(crate) fn phase(&self) -> Phase {
        self.phase.get()
    }

    /// Whether it ends, so that its workspace is removed, or has ended. A one-shot session is never hibernated.
    pub(crate) fn is_over(&self) -> bool {
        let phase = self.phase();
        phase.is_ending() || (phase.cause().is_some() && self.record().spec.one_shot)
    }

    /// Opens its workspace. Blocks for a moment.
    pub(crate) fn workspace(&self) -> Result<Workspace, Fault> {
        open_workspace(&self.dir, &self.record().clone(), true)
    }

    /// Notes that it was used just now.
    pub(crate) fn touch(&self) {
        *self.used_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    async fn send(&self, message: &ToInit) -> Result<(), Fault> {
        self.init_link.send(message, &[]).await.map_err(|error| link_fault(&error))
    }

    /// Sends a signal to an execution's first process or to its whole tree.
    pub(crate) async fn signal(
        &self,
        execution: ExecutionId,
        signal: i32,
        target: Target,
    ) -> Result<(), Fault> {
        self.send(&ToInit::Signal { execution, signal, target }).await
    }

    /// Stops an execution's whole tree: SIGTERM, and SIGKILL after the grace period.
    pub(crate) async fn stop(
        &self,
        execution: ExecutionId,
        cause: StopCause,
        grace: Duration,
    ) -> Result<(), Fault> {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        self.send(&ToInit::Stop { execution, cause, grace_ms }).await
    }

    /// Tells init that a program's input has ended.
    pub(crate) async fn close_stdin(&self, execution: ExecutionId) -> Result<(), Fault> {
        self.send(&ToInit::CloseStdin { execution }).await
    }

    /// The requests for processes whose callers still wait for the answer.
    fn processes_requests(&self) -> MutexGuard<'_, Vec<ProcessesRequest>> {
        let mut requests = self.processes_requests.lock().unwrap_or_else(PoisonError::into_inner);
        requests.retain(|(_, answer)| !answer.is_closed());
        requests
    }

    /// The processes of an execution.
    pub(crate) async fn processes(&self, execution: ExecutionId) -> Result<Vec<Process>, Fault> {
        let (answer, answered) = oneshot::channel();
        self.processes_requests().push((execution, answer));
        self.send(&ToInit::Processes { execution }).await?;
        match tokio::time::timeout(ANSWER_TIMEOUT, answered).await {
            Ok(Ok(processes)) => Ok(processes),
            _ => Err(Fault::new(FaultKind::Unavailable, "the session's init does not answer")),
        }
    }

    /// Receives init's messages until it is gone. Spawned once, in the runtime that moves output.
    pub(crate) async fn listen(self: Arc<Self>) {
        loop {
            match self.init_link.recv().await {
                Ok(Some((message, fds))) => {
                    // A session whose state can no longer be trusted is hibernated; the others continue.
                    if std::panic::catch_unwind(AssertUnwindSafe(|| self.receive(message, fds))).is_err() {
                        tracing::error!(session = %self.id, "a message from init caused a panic: the session is hibernated");
                        break;
                    }
                }
                Ok(None) => break,
                Err(error) if error.spoils_one_message() => self.resync(&error),
                Err(error) => {
                    tracing::error!(session = %self.id, %error, "the link to init is broken");
                    break;
                }
            }
        }
        self.init_is_gone().await;
    }

    fn receive(self: &Arc<Self>, message: FromInit, fds: Vec<OwnedFd>) {
        match message {
            FromInit::Started { execution, pid, started_at_us, fds: kind } => {
                self.has_started(execution, pid, started_at_us, kind, fds);
            }
            FromInit::StartFailed { execution, failure } => self.has_failed(execution, &failure),
            FromInit::Exited { execution, exit } => {
                if let Some(running) = self.running().get_mut(&execution) {
                    running.has_exited(exit);
                }
            }
            FromInit::Processes { execution, processes } => {
                let mut requests = self.processes_requests();
                if let Some(n) = requests.iter().position(|(id, _)| *id == execution) {
                    // The caller may no longer wait.
                    let _ = requests.remove(n).1.send(processes);
                }
            }
            FromInit::Listening => self.outlet_is_open(fds),
            FromInit::ListenFailed { errno } => {
                let error = io::Error::from_raw_os_error(errno);
                tracing::error!(session = %self.id, %error, "init cannot listen: programs cannot install packages");
            }
            FromInit::Socket { ipv6 } => {
                let gone = || io::Error::other("init sent no socket");
                self.socket_requests.answer(ipv6, fds.into_iter().next().ok_or_else(gone));
            }
            FromInit::SocketFailed { ipv6, errno } => {
                self.socket_requests.answer(ipv6, Err(io::Error::from_raw_os_error(errno)));
            }
            FromInit::Hello { .. } => {} // the answer to `resync`; `Adopt` messages follow
            FromInit::Adopt { execution, pid, started_at_us, fds: kind, exit, .. } => {
                self.has_started(execution, pid, started_at_us, kind, fds);
                if let (Some(exit), Some(running)) = (exit, self.running().get_mut(&execution)) {
                    running.has_exited(exit);
                }
            }
            FromInit::Ready { .. } | FromInit::SetupFailed(_) => {
                tracing::warn!(session = %self.id, "unexpected message from init");
            }
        }
    }

    /// Init is gone, and with it everything in the session. The logs get their ends, and the session is hibernated or ended.
    async fn init_is_gone(self: &Arc<Self>) {
        self.outlet.close();
        if self.phase.begin_closing() == Cause::Lost {
            tracing::warn!(session = %self.id, "init is gone; what ran in the session is lost");
        }
        self.init_link.shut_down(); // requests are refused from now on
        self.kill_what_is_left();
        for running in self.running().values_mut() {
            running.is_lost();
        }
        self.give_up_starting();
        let Some(engine) = self.engine.upgrade() else { return };
        // Decided once: an end that is requested from now on finds the session hibernated.
        let hibernates = !self.phase().is_ending() && !self.record().spec.one_shot;
        let session = Arc::clone(self);
        // While the pumps work: on a full disk they wait for the space that this frees.
        let cleaned = tokio::task::spawn_blocking(move || {
            session.wait_for_init();
            cleanup::end_strays(&session.record().clone());
            cleanup::remove_but_workspace(&session.dir, session.cgroup());
            if !hibernates {
                cleanup::remove_workspace(&session.dir);
            }
        });
        // The pumps see the ends of their pipes now, and each execution is closed.
        self.until_all_closed().await;
        let _ = cleaned.await; // it does not panic, and is not stopped
        if hibernates {
            hibernation::live_is_hibernated(&engine, self);
        } else {
            end::live_has_ended(&engine, self);
        }
        self.phase.finish();
        spare::remove(&self.dir); // it may have been created after the clean-up
    }

    /// Waits until init has exited, and with it, if the session is isolated, all processes. Blocks.
    fn wait_for_init(&self) {
        let timeout = Timespec { tv_sec: END_TIMEOUT.as_secs().cast_signed(), tv_nsec: 0 };
        // If init does not exit, the clean-up is tried anyway.
        let _ = rustix::event::poll(&mut [PollFd::new(&self.init, PollFlags::IN)], Some(&timeout));
        headwater_sandbox::orphans::reap(self.init.as_fd());
    }

    /// Kills everything in the session from outside. Init is pid 1 inside, so nothing survives it; without isolation, the
    /// cgroup, if there is one, contains what is left.
    fn kill_what_is_left(&self) {
        // An error means that it has exited already.
        let _ = rustix::process::pidfd_send_signal(self.init.as_fd(), rustix::process::Signal::KILL);
        if let Some(Err(error)) = self.cgroup.as_ref().map(SessionCgroup::kill) {
            tracing::warn!(session = %self.id, %error, "cannot kill the session's cgroup");
        }
    }

    /// Ends it and everything in it. Returns when all logs are closed, or after a timeout.
    pub(crate) async fn end(&self) {
        self.phase.begin_end();
        let asked = async {
            // An init that is gone refuses the message; one that was stopped from outside may never receive it.
            let _ = self.init_link.send(&ToInit::End, &[]).await;
            self.until_gone().await;
        };
        if tokio::time::timeout(END_TIMEOUT, asked).await.is_err() {
            self.kill_what_is_left();
            // When init is dead the link breaks, and `listen` finishes the rest, which takes longer for a large workspace.
            // An init that does not die is not waited for.
            while tokio::time::timeout(END_TIMEOUT, self.until_gone()).await.is_err() && self.init_is_dead() {
            }
        }
    }

    fn init_is_dead(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut [PollFd::new(&self.init, PollFlags::IN)], Some(&now))
            .is_ok_and(|ready| ready > 0)
    }
}

/// Opens the workspace of the session in this folder.
pub(crate) fn open_workspace(dir: &Path, record: &SessionRecord, is_live: bool) -> Result<Workspace, Fault> {
    if let Some(place) = &record.spec.place {
        return place::open(record, place, is_live);
    }
    Workspace::open(&layout::workspace(dir), record.host_uid).map_err(|error| {
        let message = format!("cannot open the workspace: {error}");
        Fault::new(FaultKind::Unavailable, message).hint("check whether the session has ended")
    })
}

/// A live or ended session as the contract describes it.
pub(crate) fn info(record: &SessionRecord, running: usize) -> SessionInfo {
    SessionInfo {
        id: record.id,
        spec: record.spec.clone(),
        sandbox: record.sandbox,
        state: match record.ended_at_ms {
            None => SessionState::Ready,
            Some(ended_at_ms) => SessionState::Ended { ended_at_ms },
        },
        created_at_ms: record.created_at_ms,
        running: u32::try_from(running).unwrap_or(u32::MAX),
    }
}

fn link_fault(error: &LinkError) -> Fault {
    match error {
        LinkError::TooLong { .. } => {
            Fault::new(FaultKind::Invalid, "the arguments and the environment are too long")
        }
        _ => Fault::new(FaultKind::Conflict, "the session has ended").hint("create another session"),
    }
}
