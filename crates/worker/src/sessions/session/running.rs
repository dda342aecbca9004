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
use super::verdict::{self, Asked, Circumstances};
use crate::executions::ended;
use crate::executions::execution::Execution;
use crate::executions::permits::ExecutionPermit;
use crate::executions::pump::{self, PumpHost, Source};
use crate::executions::stdin::StdinPipe;
use crate::layout::ExecutionRecord;
use crate::terminals;

/// What the session keeps of it.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) execution: Arc<Execution>,
    pub(crate) stage: Stage,
    /// Its own cgroup, below the session's, if it has limits of its own.
    pub(crate) cgroup: Option<SessionCgroup>,
    /// Its place among those that may run at once.
    #[allow(dead_code)] // held for its end
    pub(crate) permit: Option<ExecutionPermit>,
}

#[derive(Debug)]
pub(crate) enum Stage {
    /// Init was told to start it; the log's writer waits for the answer, and so, maybe, does the caller.
    Starting { writer: Box<Writer>, answer: oneshot::Sender<()>, asked: Asked },
    /// Its output is being moved; its end goes to the pump.
    Moving { exit: oneshot::Sender<Exit> },
    /// Its end is known; something may still hold its output open.
    Ended,
}

impl Running {
    /// Init told of its end.
    pub(crate) fn has_exited(&mut self, exit: Exit) {
        if !matches!(self.stage, Stage::Moving { .. }) {
            return;
        }
        if let Stage::Moving { exit: pump } = std::mem::replace(&mut self.stage, Stage::Ended) {
            // The pump only ends after it has been told.
            let _ = pump.send(exit);
        }
    }

    /// Nobody will tell of its end.
    pub(crate) fn is_lost(&mut self) {
        if matches!(self.stage, Stage::Moving { .. }) {
            self.stage = Stage::Ended; // dropping the sender tells the pump
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
            tracing::error!(execution = %id, %error, "the start cannot be logged");
        }
        tracing::info!(execution = %id, session = %self.id, pid, "execution started");
        self.move_output(execution, *writer, kind, fds, exited);
        // The caller may have gone away.
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
                tracing::error!(execution = %execution.id(), %error, "the output cannot be read");
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
        self.end_unstarted(id, |asked| verdict::not_started(failure, asked));
    }

    /// Init is gone, and with it what it was told to start.
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

    fn end_unstarted(self: &Arc<Self>, id: ExecutionId, verdict: impl FnOnce(&Asked) -> Verdict) {
        let Some(mut running) = self.running().remove(&id) else {
            return;
        };
        let stage = std::mem::replace(&mut running.stage, Stage::Ended);
        if let Stage::Starting { mut writer, answer, asked } = stage {
            let verdict = verdict(&asked);
            let ended = writer.exited(&verdict, now_us()).and_then(|()| writer.closed(now_us()));
            if let Err(error) = ended {
                tracing::error!(execution = %id, %error, "the end cannot be logged");
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

    /// Nobody reads the output of a program any more, because of a bug: the program ends, and its log says so.
    async fn abandon(self: &Arc<Self>, execution: &Arc<Execution>) {
        let id = execution.id();
        tracing::error!(execution = %id, "its output can no longer be read: it ends");
        let _ = self.stop(id, StopCause::Cancelled, Duration::ZERO).await; // init may be gone
        match reopened(execution.record(), execution.dir()) {
            Ok((log, writer)) => {
                execution.continue_in(log);
                self.close(execution, writer).await;
            }
            // The next worker finds the log, and closes it.
            Err(error) => tracing::error!(execution = %id, %error, "its log cannot be closed"),
        }
    }

    /// No writer is left: the log is closed, init lets go, and so do we.
    async fn close(self: &Arc<Self>, execution: &Arc<Execution>, mut writer: Writer) {
        let mut backoff = Backoff::new(pump::MIN_DISK_RETRY, pump::MAX_DISK_RETRY);
        while let Err(error) = writer.closed(now_us()) {
            if !error.is_disk_full() {
                tracing::error!(execution = %execution.id(), %error, "the log cannot be closed");
                break;
            }
            backoff.pause().await; // until there is room
        }
        drop(writer);
        // Init may be gone.
        let _ = self.tell(&ToInit::Release { execution: execution.id() }).await;
        let cgroup = self.running().remove(&execution.id()).and_then(|mut running| running.cgroup.take());
        self.is_closed(execution, cgroup);
    }

    /// Tells init that everything of an execution is in its log.
    pub(crate) async fn let_go(&self, execution: ExecutionId) {
        // Init may be gone, and everything with it.
        let _ = self.tell(&ToInit::ExitLogged { execution }).await;
        let _ = self.tell(&ToInit::Release { execution }).await;
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

/// The log of an execution whose writer is lost, with its end written if nobody wrote it.
fn reopened(record: &ExecutionRecord, dir: &Path) -> Result<(Arc<Log>, Writer), LogError> {
    let (log, mut writer) = Log::recover(dir, record.log_options(LosslessOptions::DEFAULT))?;
    if log.head().verdict.is_none() {
        let message = "the worker failed while it read the output";
        writer.exited(&verdict::unseen(Reason::Lost, message), now_us())?;
    }
    Ok((log, writer))
}

/// Where the output comes from, by the descriptors that init sent; and the ways in are opened.
fn sources(execution: &Execution, kind: Fds, fds: Vec<OwnedFd>) -> std::io::Result<Vec<Source>> {
    let mut fds = fds.into_iter();
    let mut next = || fds.next().ok_or_else(|| std::io::Error::other("init sent too few descriptors"));
    match kind {
        Fds::None => Ok(Vec::new()),
        Fds::Tty => {
            let master = Arc::new(next()?);
            let source = Source::terminal(Arc::clone(&master), next()?, next()?)?;
            // A descriptor of its own: the runtime waits for each one only once.
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

/// The pump's view of the session.
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
                // Told before, by a worker that was killed before it could say so to init.
                Ok(()) | Err(LogError::AlreadyExited) => break,
                Err(error) if error.is_disk_full() => {
                    backoff.pause().await; // until there is room
                }
                Err(error) => {
                    tracing::error!(execution = %id, %error, "the end cannot be logged");
                    break;
                }
            }
        }
        if exit.is_some() {
            // Init may be gone by now.
            let _ = self.session.tell(&ToInit::ExitLogged { execution: id }).await;
        }
        if let Some(engine) = self.session.engine.upgrade() {
            ended::has_exited(&engine, &self.session);
        }
    }

    async fn on_output_limit(&self) {
        let grace = grace(&self.execution.record().spec);
        // If the session is gone, so is the program.
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
        limits.output_bytes = Some(record.output_bytes); // there is one even if nobody set it
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
    /// Whether the kernel has ended a process of this execution for lack of memory; of one without a cgroup of its own,
    /// whether it has ended any in the session since this was last asked.
    fn ran_out_of_memory(&self, id: ExecutionId) -> bool {
        let own = self.running().get(&id).and_then(|running| Some(running.cgroup.as_ref()?.oom_kills()));
        let kills = self.cgroup.as_ref().map_or(0, SessionCgroup::oom_kills);
        let new = self.oom_seen.fetch_max(kills, std::sync::atomic::Ordering::Relaxed) < kills;
        // A cgroup of its own counts its own processes, whoever's limit was reached.
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
