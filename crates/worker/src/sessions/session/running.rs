//! An execution that is not closed yet: from the message to init until its log is closed.

use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use headwater_contract::{Backoff, panics};
use headwater_log::{Log, LogError, LosslessOptions, Writer};
use headwater_protocol::{ExecutionId, ExitDetail, OnOutputLimit, Reason, Stream, Verdict, now_us};
use headwater_sandbox::cgroup::SessionCgroup;
use headwater_sandbox::wire::{Cause as StopCause, Exit, Fds, StartFailure, ToInit};
use tokio::sync::oneshot;

use super::Session;
use super::phase::Cause;
use super::start::{grace, remove_later};
use super::verdict::{self, Circumstances, Requested};
use crate::executions::ended;
use crate::executions::execution::Execution;
use crate::executions::permits::ExecutionPermit;
use crate::executions::pump::{self, PumpHost, Source};
use crate::executions::stdin::StdinPipe;
use crate::layout::ExecutionRecord;
use crate::terminals;

/// An execution that is not closed, as its session knows it.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) execution: Arc<Execution>,
    pub(crate) stage: Stage,
    /// A cgroup below the session's, if the execution has its own limits.
    pub(crate) cgroup: Option<SessionCgroup>,
    /// Its permit to run. Executions that were taken over have one, too.
    #[allow(dead_code)] // held until this is dropped
    pub(crate) permit: Option<ExecutionPermit>,
}

/// How far an execution has come.
#[derive(Debug)]
pub(crate) enum Stage {
    /// Init was asked to start it. `answer` is for the caller, who may wait for it.
    Starting { writer: Box<Writer>, answer: oneshot::Sender<()>, requested: Requested },
    /// Its output is being moved. `exit` passes its end on to the pump.
    Moving { exit: oneshot::Sender<Exit> },
    /// Its end is known. Background processes may still hold its output open.
    Ended,
}

impl Running {
    /// Init reported its end.
    pub(crate) fn has_exited(&mut self, exit: Exit) {
        if !matches!(self.stage, Stage::Moving { .. }) {
            return;
        }
        if let Stage::Moving { exit: pump } = std::mem::replace(&mut self.stage, Stage::Ended) {
            // The pump does not end before it has received this.
            let _ = pump.send(exit);
        }
    }

    /// Its end will not be reported: init is gone.
    pub(crate) fn is_lost(&mut self) {
        if matches!(self.stage, Stage::Moving { .. }) {
            self.stage = Stage::Ended; // the pump notices that the sender is dropped
        }
    }

    /// Whether its end is known.
    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.stage, Stage::Ended)
    }
}

impl Session {
    /// Init has started it: from now on its output is moved.
    pub(crate) fn has_started(
        self: &Arc<Self>,
        id: ExecutionId,
        pid: i32,
        at_us: u64,
        kind: Fds,
        fds: Vec<OwnedFd>,
    ) {
        let (exit, exited) = oneshot::channel();
        let (execution, mut writer, answer) = {
            let mut all = self.running();
            let Some(running) = all.get_mut(&id) else { return };
            if !matches!(running.stage, Stage::Starting { .. }) {
                return;
            }
            let Stage::Starting { writer, answer, .. } =
                std::mem::replace(&mut running.stage, Stage::Moving { exit })
            else {
                return;
            };
            (Arc::clone(&running.execution), writer, answer)
        };
        if let Err(error) = writer.started(pid, at_us) {
            tracing::error!(execution = %id, %error, "cannot log the start");
        }
        tracing::info!(execution = %id, session = %self.id, pid, "execution started");
        self.move_output(execution, *writer, kind, fds, exited);
        // The caller may no longer wait.
        let _ = answer.send(());
    }

    /// Spawns the pump of an execution.
    pub(crate) fn move_output(
        self: &Arc<Self>,
        execution: Arc<Execution>,
        writer: Writer,
        kind: Fds,
        fds: Vec<OwnedFd>,
        exited: oneshot::Receiver<Exit>,
    ) {
        let sources = match sources(&execution, kind, fds) {
            Ok(sources) => sources,
            Err(error) => {
                tracing::error!(execution = %execution.id(), %error, "cannot read the output");
                Vec::new()
            }
        };
        if let Some(engine) = self.engine.upgrade() {
            terminals::begin(&engine, self, &execution);
        }
        let record = execution.record();
        let stop_at = (record.spec.on_output_limit == OnOutputLimit::Stop).then_some(record.output_bytes);
        let host = ExecutionHost { session: Arc::clone(self), execution };
        tokio::spawn(async move {
            let (session, execution) = (Arc::clone(&host.session), Arc::clone(&host.execution));
            match panics::caught(pump::pump(sources, writer, exited, stop_at, host)).await {
                Some(writer) => session.close(&execution, writer).await,
                None => session.abandon(&execution).await,
            }
        });
    }

    /// Init could not start it.
    pub(crate) fn has_failed(self: &Arc<Self>, id: ExecutionId, failure: &StartFailure) {
        self.end_unstarted(id, |requested| verdict::not_started(failure, requested));
    }

    /// Init is gone: what it was asked to start ends without having started.
    pub(crate) fn give_up_starting(self: &Arc<Self>) {
        let starting: Vec<_> = {
            let all = self.running();
            let starting = all.iter().filter(|(_, running)| matches!(running.stage, Stage::Starting { .. }));
            starting.map(|(id, _)| *id).collect()
        };
        for id in starting {
            self.end_unstarted(id, |_| self.unseen_end(0));
        }
    }

    fn end_unstarted(self: &Arc<Self>, id: ExecutionId, verdict: impl FnOnce(&Requested) -> Verdict) {
        let Some(mut running) = self.running().remove(&id) else {
            return;
        };
        let stage = std::mem::replace(&mut running.stage, Stage::Ended);
        if let Stage::Starting { mut writer, answer, requested } = stage {
            let verdict = verdict(&requested);
            let ended = writer.exited(&verdict, now_us()).and_then(|()| writer.closed(now_us()));
            if let Err(error) = ended {
                tracing::error!(execution = %id, %error, "cannot log the end");
            }
            self.is_closed(&running.execution, running.cgroup.take());
            let _ = answer.send(());
        }
    }

    /// The verdict on an execution whose end init did not report.
    fn unseen_end(&self, waiting_bytes: u64) -> Verdict {
        let (reason, message) = match self.phase().cause() {
            Some(Cause::Ended) if waiting_bytes > 0 => (
                Reason::Cancelled,
                format!("its session was ended; the disk is full: {waiting_bytes} bytes of output are lost"),
            ),
            Some(Cause::Ended) => (Reason::Cancelled, "its session was ended".to_owned()),
            Some(Cause::Hibernated) => (Reason::Cancelled, "its session was hibernated".to_owned()),
            Some(Cause::Lost) | None => (Reason::Lost, "its session's init ended unexpectedly".to_owned()),
        };
        Verdict { detail: self.end_detail(), ..verdict::unseen(reason, message) }
    }

    /// What ends everything in the session, for an execution that was cancelled.
    fn end_detail(&self) -> Option<ExitDetail> {
        match self.phase().cause()? {
            Cause::Ended => Some(ExitDetail::SessionEnded),
            Cause::Hibernated => Some(ExitDetail::SessionHibernated),
            Cause::Lost => None,
        }
    }

    /// The pump of an execution panicked: the program is ended, and its log says so.
    async fn abandon(self: &Arc<Self>, execution: &Arc<Execution>) {
        let id = execution.id();
        tracing::error!(execution = %id, "the pump panicked: the execution is ended");
        let _ = self.stop(id, StopCause::Cancelled, Duration::ZERO).await; // init may be gone
        match reopened(execution.record(), execution.dir()) {
            Ok((log, writer)) => {
                execution.continue_in(log);
                self.close(execution, writer).await;
            }
            // The next worker finds the log and closes it.
            Err(error) => tracing::error!(execution = %id, %error, "cannot close the log"),
        }
    }

    /// Nothing can print any more: closes the log, and has init release the execution.
    async fn close(self: &Arc<Self>, execution: &Arc<Execution>, mut writer: Writer) {
        let mut backoff = Backoff::new(pump::MIN_DISK_RETRY, pump::MAX_DISK_RETRY);
        while let Err(error) = writer.closed(now_us()) {
            if !error.is_disk_full() {
                tracing::error!(execution = %execution.id(), %error, "cannot close the log");
                break;
            }
            backoff.pause().await; // until space is free
        }
        drop(writer);
        // Init may be gone.
        let _ = self.send(&ToInit::Release { execution: execution.id() }).await;
        let cgroup = self.running().remove(&execution.id()).and_then(|mut running| running.cgroup.take());
        self.is_closed(execution, cgroup);
    }

    /// Confirms to init that everything of an execution is in its log.
    pub(crate) async fn release(&self, execution: ExecutionId) {
        // Init may be gone.
        let _ = self.send(&ToInit::ExitLogged { execution }).await;
        let _ = self.send(&ToInit::Release { execution }).await;
    }

    fn is_closed(self: &Arc<Self>, execution: &Arc<Execution>, cgroup: Option<SessionCgroup>) {
        execution.seal();
        self.touch();
        let head = execution.head();
        let verdict = head.verdict.as_deref();
        tracing::info!(
            execution = %execution.id(), session = %self.id, bytes = head.ends.total(),
            reason = verdict.map(|verdict| verdict.reason.name()), code = verdict.and_then(|verdict| verdict.code),
            "execution closed"
        );
        if let Some(cgroup) = cgroup {
            remove_later(cgroup);
        }
        if let Some(engine) = self.engine.upgrade() {
            ended::is_closed(&engine, self, execution);
        }
        self.closed.notify_waiters();
    }
}

/// The log of an execution whose writer was lost in a panic, with an end if it had none.
fn reopened(record: &ExecutionRecord, dir: &Path) -> Result<(Arc<Log>, Writer), LogError> {
    let (log, mut writer) = Log::recover(dir, record.log_options(LosslessOptions::DEFAULT))?;
    if log.head().verdict.is_none() {
        let message = "the worker failed while it read the output";
        writer.exited(&verdict::unseen(Reason::Lost, message), now_us())?;
    }
    Ok((log, writer))
}

/// The sources of the output, from the descriptors that init sent. Also opens the execution's input.
fn sources(execution: &Execution, kind: Fds, fds: Vec<OwnedFd>) -> std::io::Result<Vec<Source>> {
    let mut fds = fds.into_iter();
    let mut next = || fds.next().ok_or_else(|| std::io::Error::other("init sent too few descriptors"));
    match kind {
        Fds::None => Ok(Vec::new()),
        Fds::Tty => {
            let master = Arc::new(next()?);
            let source = Source::terminal(Arc::clone(&master), next()?, next()?)?;
            // A second descriptor: the runtime can register each one only once.
            let typing = Arc::new(rustix::io::fcntl_dupfd_cloexec(&*master, 3)?);
            let input = StdinPipe::new(typing, next()?, true)?;
            execution.open_input(Some(Arc::new(input)), Some(master));
            Ok(vec![source])
        }
        Fds::Pipes { outputs, stdin } => {
            let names: &[Stream] =
                if outputs == 1 { &[Stream::Output] } else { &[Stream::Stdout, Stream::Stderr] };
            let sources = names.iter().map(|name| Source::pipe(*name, next()?)).collect::<Result<_, _>>()?;
            let input = if stdin {
                let buffer = next()?;
                Some(Arc::new(StdinPipe::new(Arc::new(next()?), buffer, false)?))
            } else {
                None
            };
            execution.open_input(input, None);
            Ok(sources)
        }
    }
}

/// What the pump of an execution needs of its session.
struct ExecutionHost {
    session: Arc<Session>,
    execution: Arc<Execution>,
}

impl PumpHost for ExecutionHost {
    async fn exited(&self, exit: Option<Exit>, waiting: u64, writer: &mut Writer) {
        let id = self.execution.id();
        let (verdict, at_us) = match &exit {
            Some(exit) => (self.judge(exit, waiting), exit.at_us),
            None => (self.session.unseen_end(waiting), now_us()),
        };
        let mut backoff = Backoff::new(pump::MIN_DISK_RETRY, pump::MAX_DISK_RETRY);
        loop {
            match writer.exited(&verdict, at_us) {
                // Logged before, by a worker that was killed before it could confirm it to init.
                Ok(()) | Err(LogError::AlreadyExited) => break,
                Err(error) if error.is_disk_full() => {
                    backoff.pause().await; // until space is free
                }
                Err(error) => {
                    tracing::error!(execution = %id, %error, "cannot log the end");
                    break;
                }
            }
        }
        if exit.is_some() {
            // Init may be gone.
            let _ = self.session.send(&ToInit::ExitLogged { execution: id }).await;
        }
        if let Some(engine) = self.session.engine.upgrade() {
            ended::has_exited(&engine, &self.session);
        }
    }

    async fn on_output_limit(&self) {
        let grace = grace(&self.execution.record().spec);
        // An error means that the session is gone, and the program with it.
        let _ = self.session.stop(self.execution.id(), StopCause::OutputLimit, grace).await;
    }

    fn is_stopping(&self) -> bool {
        self.session.phase().is_stopping()
    }
}

impl ExecutionHost {
    fn judge(&self, exit: &Exit, waiting_bytes: u64) -> Verdict {
        let record = self.execution.record();
        let session_limits = self.session.record().spec.limits.clone();
        let mut limits = session_limits.tightest(&record.spec.limits);
        limits.output_bytes = Some(record.output_bytes); // the default, if none was requested
        let known = Circumstances {
            limits: &limits,
            timeout_ms: self.session.timeout_ms(&record.spec),
            out_of_memory: matches!((exit.signal, exit.code), (Some(9), _) | (_, Some(137)))
                && self.session.ran_out_of_memory(self.execution.id()),
            over_disk: self.session.gauge().last().and_then(|last| last.exceeded(&session_limits)),
            waiting_bytes,
        };
        let verdict = verdict::verdict(exit, known);
        match verdict.reason {
            Reason::Cancelled => Verdict { detail: self.session.end_detail(), ..verdict },
            _ => verdict,
        }
    }
}

impl Session {
    /// Whether the kernel has killed a process of this execution for lack of memory. For an execution without its own
    /// cgroup: whether it has killed any process of the session since the last call.
    fn ran_out_of_memory(&self, id: ExecutionId) -> bool {
        let own = self.running().get(&id).and_then(|running| Some(running.cgroup.as_ref()?.oom_kills()));
        let kills = self.cgroup.as_ref().map_or(0, SessionCgroup::oom_kills);
        let new = self.oom_seen.fetch_max(kills, std::sync::atomic::Ordering::Relaxed) < kills;
        // The execution's cgroup counts its processes, no matter which limit was reached.
        own.map_or(new, |kills| kills > 0)
    }
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{SessionId, StartSpec};

    use super::*;
    use headwater_log::LogOptions;

    #[tokio::test]
    async fn a_log_whose_writer_was_lost_in_a_panic_keeps_its_output_and_gets_an_end() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path().join("log");
        let id = ExecutionId::random();
        let (log, mut writer) = Log::create(&dir, id, LogOptions::new(1 << 20)).unwrap();
        writer.started(1, 1).unwrap();
        writer.append(Stream::Stdout, b"before").unwrap();
        let pump = async move {
            writer.append(Stream::Stdout, b" and after").unwrap();
            assert!(writer.is_full(), "a bug");
        };
        assert_eq!(panics::caught(pump).await, None);
        drop(log);
        let (session_id, spec) = (SessionId::random(), StartSpec::argv(["true"]));
        let record =
            ExecutionRecord { id, session_id, spec, queued_at_ms: 0, output_bytes: 1 << 20, lossless: false };
        let (log, mut writer) = reopened(&record, &dir).unwrap();
        writer.closed(now_us()).unwrap();
        let head = log.head();
        assert_eq!(head.verdict.as_deref().map(|verdict| verdict.reason), Some(Reason::Lost));
        assert_eq!((head.closed, head.ends.total()), (true, 16));
    }
}
