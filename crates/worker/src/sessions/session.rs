//! A session: the link to its init, and the executions that run in it.
//!
//! One task for each session receives what init says ([`Session::listen`]); one task for each execution moves its
//! output ([`crate::executions::pump`]). Everything else is a caller who sends a message and waits for the log to tell.

mod asking;
mod env;
mod hibernate;
mod outlet;
mod phase;
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
use headwater_protocol::{ExecutionId, OWNER_METADATA, Process, Session as Told, SessionId, SessionState};
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
use crate::sessions::init_link::Link;
use crate::usage::disk::{Gauge, Measured};

use asking::Asking;
pub(crate) use env::workspace_inside;
pub(crate) use hibernate::StartGuard;
use outlet::Outlet;
pub(crate) use outlet::message as outlet_message;
use phase::{Cause, Phase, PhaseCell};
use running::Running;
use spare::Spare;
pub(crate) use start::{Accepted, Expects, Granted, grace};
pub(crate) use verdict::unseen;

/// How long init may take to end itself before it is killed.
const END_TIMEOUT: Duration = Duration::from_secs(3);
/// How long init may take to answer a question.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Whose processes somebody wants to know.
type Question = (ExecutionId, oneshot::Sender<Vec<Process>>);

/// A live session.
#[derive(Debug)]
pub(crate) struct Session {
    id: SessionId,
    dir: PathBuf,
    record: Mutex<SessionRecord>,
    engine: Weak<Engine>,
    link: Link,
    init: OwnedFd,
    cgroup: Option<SessionCgroup>,
    running: Mutex<HashMap<ExecutionId, Running>>,
    questions: Mutex<Vec<Question>>,
    /// Whether it runs, is being hibernated, is ending, or is gone.
    phase: PhaseCell,
    /// Read-locked by each start, write-locked by a hibernation: a start never meets an init that is about to end.
    starts: Arc<RwLock<()>>,
    /// Notified when an execution is closed.
    closed: Notify,
    /// The folder of its next execution.
    spare: Spare,
    /// Ends of processes for lack of memory that were told of already.
    oom_seen: AtomicU64,
    /// When it was last used, for the idle timeout; by a clock that nobody sets.
    used_at: Mutex<Instant>,
    /// What it uses of the disk.
    gauge: Gauge,
    /// Where its programs find what they reach of the network.
    outlet: Outlet,
    asking: Asking,
    #[allow(dead_code)] // held for its end
    descriptors: Hold,
}

/// What a session is made of.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) dir: PathBuf,
    pub(crate) record: SessionRecord,
    /// The connection to init.
    pub(crate) link: OwnedFd,
    /// The pidfd of init.
    pub(crate) init: OwnedFd,
    pub(crate) cgroup: Option<SessionCgroup>,
    /// Whether the folder of its first execution was made with it.
    pub(crate) spare: bool,
    /// What it uses of the disk, if that is known.
    pub(crate) disk: Option<Measured>,
    pub(crate) descriptors: Hold,
}

impl Session {
    /// To be called within the runtime that moves output.
    pub(crate) fn new(parts: Parts, engine: Weak<Engine>) -> io::Result<Arc<Self>> {
        let oom_kills = parts.cgroup.as_ref().map_or(0, SessionCgroup::oom_kills);
        Ok(Arc::new(Self {
            id: parts.record.id,
            dir: parts.dir,
            record: Mutex::new(parts.record),
            engine,
            link: Link::new(parts.link)?,
            init: parts.init,
            cgroup: parts.cgroup,
            running: Mutex::default(),
            questions: Mutex::default(),
            phase: PhaseCell::default(),
            starts: Arc::default(),
            closed: Notify::new(),
            spare: Spare::new(parts.spare),
            oom_seen: AtomicU64::new(oom_kills),
            gauge: Gauge::new(parts.disk),
            used_at: Mutex::new(Instant::now()),
            outlet: Outlet::default(),
            asking: Asking::default(),
            descriptors: parts.descriptors,
        }))
    }

    /// Its id.
    pub(crate) const fn id(&self) -> SessionId {
        self.id
    }

    /// Its folder on the host.
    pub(crate) fn dir(&self) -> &Path {
        &self.dir
    }

    /// Where its programs see the workspace.
    pub(crate) fn home(&self) -> String {
        workspace_inside(self.record().sandbox, &layout::workspace(&self.dir))
    }

    fn running(&self) -> MutexGuard<'_, HashMap<ExecutionId, Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is remembered of it.
    pub(crate) fn record(&self) -> MutexGuard<'_, SessionRecord> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How many executions are not closed.
    pub(crate) fn busy(&self) -> usize {
        self.running().len()
    }

    /// Whom its executions count for.
    pub(crate) fn permit_holder(&self) -> PermitHolder {
        let owner = self.record().spec.metadata.get(OWNER_METADATA).cloned().unwrap_or_default();
        PermitHolder { session: self.id, owner }
    }

    /// As told to others.
    pub(crate) fn told(&self) -> Told {
        let running = self.running().values().filter(|running| !running.has_ended()).count();
        told(&self.record(), running)
    }

    /// The process that everything in it is below, if walls keep others out of there.
    pub(crate) fn walled_init(&self) -> Option<i32> {
        let walled = self.record().sandbox == headwater_protocol::SandboxKind::Full;
        walled.then(|| crate::usage::deleted_files::pid_of(self.init.as_fd())).flatten()
    }

    /// Its init, by its number on the host.
    pub(crate) fn init_pid(&self) -> Option<i32> {
        crate::usage::deleted_files::pid_of(self.init.as_fd())
    }

    /// What the executions that are not closed have printed.
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

    /// Measures what it uses of the disk, when it is called. Blocks then.
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

    /// How long it has had nothing to do.
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

    /// The way into its workspace. Blocks for a moment.
    pub(crate) fn workspace(&self) -> Result<Workspace, Fault> {
        open_workspace(&layout::workspace(&self.dir), self.record().host_uid)
    }

    /// It was used just now.
    pub(crate) fn touch(&self) {
        *self.used_at.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
    }

    async fn tell(&self, message: &ToInit) -> Result<(), Fault> {
        self.link.send(message, &[]).await.map_err(|error| link_fault(&error))
    }

    /// Sends a signal.
    pub(crate) async fn signal(
        &self,
        execution: ExecutionId,
        signal: i32,
        target: Target,
    ) -> Result<(), Fault> {
        self.tell(&ToInit::Signal { execution, signal, target }).await
    }

    /// Stops an execution's whole tree.
    pub(crate) async fn stop(
        &self,
        execution: ExecutionId,
        cause: StopCause,
        grace: Duration,
    ) -> Result<(), Fault> {
        let grace_ms = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        self.tell(&ToInit::Stop { execution, cause, grace_ms }).await
    }

    /// Tells init that a program's input has ended.
    pub(crate) async fn close_stdin(&self, execution: ExecutionId) -> Result<(), Fault> {
        self.tell(&ToInit::CloseStdin { execution }).await
    }

    /// Who asked for processes and still waits for the answer.
    fn questions(&self) -> MutexGuard<'_, Vec<Question>> {
        let mut questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
        questions.retain(|(_, answer)| !answer.is_closed());
        questions
    }

    /// The processes of an execution.
    pub(crate) async fn processes(&self, execution: ExecutionId) -> Result<Vec<Process>, Fault> {
        let (answer, answered) = oneshot::channel();
        self.questions().push((execution, answer));
        self.tell(&ToInit::Processes { execution }).await?;
        match tokio::time::timeout(ANSWER_TIMEOUT, answered).await {
            Ok(Ok(processes)) => Ok(processes),
            _ => Err(Fault::new(FaultKind::Unavailable, "the session's init does not answer")),
        }
    }

    /// Hears what init says until it is gone. To be spawned once, in the runtime that moves output.
    pub(crate) async fn listen(self: Arc<Self>) {
        loop {
            match self.link.recv().await {
                Ok(Some((message, fds))) => {
                    // A session whose state cannot be trusted any more goes to sleep; the others go on.
                    if std::panic::catch_unwind(AssertUnwindSafe(|| self.hear(message, fds))).is_err() {
                        tracing::error!(session = %self.id, "a message of init caused a panic: the session ends");
                        break;
                    }
                }
                Ok(None) => break,
                Err(error) if error.spoils_one_message() => self.ask_again(&error),
                Err(error) => {
                    tracing::error!(session = %self.id, %error, "the link to init is broken");
                    break;
                }
            }
        }
        self.init_is_gone().await;
    }

    fn hear(self: &Arc<Self>, message: FromInit, fds: Vec<OwnedFd>) {
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
                let mut questions = self.questions();
                if let Some(n) = questions.iter().position(|(id, _)| *id == execution) {
                    // Whoever asked may have gone away.
                    let _ = questions.remove(n).1.send(processes);
                }
            }
            FromInit::Listening => self.outlet_is_there(fds),
            FromInit::ListenFailed { errno } => {
                let error = io::Error::from_raw_os_error(errno);
                tracing::error!(session = %self.id, %error, "init cannot listen: programs reach no packages");
            }
            FromInit::Hello { .. } => {} // we asked again
            FromInit::Adopt { execution, pid, started_at_us, fds: kind, exit, .. } => {
                self.has_started(execution, pid, started_at_us, kind, fds);
                if let (Some(exit), Some(running)) = (exit, self.running().get_mut(&execution)) {
                    running.has_exited(exit);
                }
            }
            FromInit::Ready { .. } | FromInit::SetupFailed(_) => {
                tracing::warn!(session = %self.id, "init said something out of turn");
            }
        }
    }

    /// Init has ended, or was ended: so has everything in the session. The logs get their ends.
    async fn init_is_gone(self: &Arc<Self>) {
        self.outlet.close();
        if self.phase.begin_closing() == Cause::Lost {
            tracing::warn!(session = %self.id, "init is gone; what ran in the session is lost");
        }
        self.link.shut(); // what is asked for from now on is refused
        self.kill_what_is_left();
        for running in self.running().values_mut() {
            running.is_lost();
        }
        self.give_up_starting();
        let Some(engine) = self.engine.upgrade() else { return };
        // Decided once: an end that is requested from now on finds the session hibernated.
        let hibernates = !self.phase().is_ending() && !self.record().spec.one_shot;
        let session = Arc::clone(self);
        // At the same time as the pumps work: on a full disk they wait for the room that this makes.
        let cleaned = tokio::task::spawn_blocking(move || {
            session.wait_for_init();
            cleanup::end_strays(&session.record().clone());
            cleanup::remove_but_workspace(&session.dir, session.cgroup());
            if !hibernates {
                cleanup::remove_workspace(&session.dir);
            }
        });
        // The pumps see the ends of their pipes now; each takes itself off the table.
        self.until_all_closed().await;
        let _ = cleaned.await; // it does not panic, and is not stopped
        if hibernates {
            hibernation::live_is_hibernated(&engine, self);
        } else {
            end::live_has_ended(&engine, self);
        }
        self.phase.finish();
        spare::remove(&self.dir); // one that was being made when the rest was cleaned up
    }

    /// Waits until init is gone, and with it, where there are walls, all processes. Blocks.
    fn wait_for_init(&self) {
        let patience = Timespec { tv_sec: END_TIMEOUT.as_secs().cast_signed(), tv_nsec: 0 };
        // Without it the clean-up is tried all the same.
        let _ = rustix::event::poll(&mut [PollFd::new(&self.init, PollFlags::IN)], Some(&patience));
        headwater_sandbox::orphans::reap(self.init.as_fd());
    }

    /// Everything in the session, from the outside: init is pid 1 inside, so nothing survives it; without walls the
    /// cgroup, where there is one, names what is left.
    fn kill_what_is_left(&self) {
        // A process that is gone already is what we want.
        let _ = rustix::process::pidfd_send_signal(self.init.as_fd(), rustix::process::Signal::KILL);
        if let Some(Err(error)) = self.cgroup.as_ref().map(SessionCgroup::kill) {
            tracing::warn!(session = %self.id, %error, "cannot kill the session's cgroup");
        }
    }

    /// Ends it and everything in it; returns when all logs are closed.
    pub(crate) async fn end(&self) {
        self.phase.begin_end();
        let asked = async {
            // An init that is gone refuses the message; one that was stopped from outside may never receive it.
            let _ = self.link.send(&ToInit::End, &[]).await;
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

/// The way into the workspace in this folder, whose files are this user's.
pub(crate) fn open_workspace(folder: &Path, owner: Option<u32>) -> Result<Workspace, Fault> {
    Workspace::open(folder, owner).map_err(|error| {
        let message = format!("cannot open the workspace: {error}");
        Fault::new(FaultKind::Unavailable, message).hint("has the session ended?")
    })
}

/// A session as told to others.
pub(crate) fn told(record: &SessionRecord, running: usize) -> Told {
    Told {
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
        _ => Fault::new(FaultKind::Conflict, "the session has ended").hint("make another session"),
    }
}
