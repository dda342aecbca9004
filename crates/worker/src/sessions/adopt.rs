//! Adopting what the previous worker left: sessions whose inits still run, logs that were being written, and ends that came
//! meanwhile.
//!
//! Executions that an init holds continue. Those without an init end as `lost`; what was logged is kept.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_limits::descriptors;
use headwater_log::{Log, LosslessOptions, Writer};
use headwater_protocol::{ExecutionId, Reason, Seq, now_ms, now_us};
use headwater_sandbox::cgroup::SessionCgroup;
use headwater_sandbox::launch;
use headwater_sandbox::link::{self, Received};
use headwater_sandbox::wire::{Exit, Fds, FromInit, ToInit, VERSION};
use headwater_workspace::tree;
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::engine::Engine;
use crate::executions::ended;
use crate::executions::execution::Execution;
use crate::files;
use crate::layout::{self, ExecutionRecord, SessionRecord};
use crate::sessions::cleanup;
use crate::sessions::create;
use crate::sessions::hibernation::Hibernated;
use crate::sessions::session::{Parts, unseen};

/// How long an init may take to answer.
const INIT_ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

/// Adopts everything in the data folder. Called once, before the first call is served.
pub(crate) fn adopt_all(engine: &Engine) -> io::Result<()> {
    if let Err(error) = tree::remove(&engine.folder.staging_root()) {
        tracing::warn!(%error, "cannot remove the staging folder of the previous worker");
    }
    for entry in fs::read_dir(engine.folder.sessions())? {
        let dir = entry?.path();
        match SessionRecord::read(&dir) {
            Ok(record) => adopt_session(engine, dir, record),
            // The previous worker was killed while it removed the session.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if let Err(error) = tree::remove(&dir) {
                    tracing::warn!(dir = %dir.display(), %error, "cannot remove what is left of a session");
                }
            }
            Err(error) => tracing::warn!(dir = %dir.display(), %error, "cannot read the record of a session"),
        }
    }
    Ok(())
}

fn adopt_session(engine: &Engine, dir: PathBuf, mut record: SessionRecord) {
    let found = if record.ended_at_ms.is_some() { None } else { connect(&dir) };
    if record.ended_at_ms.is_none() {
        files::recover(&dir, &record);
        // The previous worker may have been killed while it had raised the limits.
        engine.projects.limit(&dir, || Some(record.spec.limits.clone()));
    }
    let Some(found) = found else {
        for (id, path) in executions_in(&dir) {
            // Init may have started it before it ended.
            adopt_past(engine, id, &path, Unstarted::IsLost);
        }
        if record.ended_at_ms.is_none() {
            tracing::info!(session = %record.id, "a session without an init is hibernated, and what ran in it is lost");
            cleanup::end_strays(&record);
            cleanup::remove_but_workspace(&dir, engine.cgroup(record.cgroup.as_deref()).as_ref());
            if !record.spec.one_shot {
                engine.host_users.keep(record.host_uid);
                engine.sessions.set_hibernated(Hibernated::new(record, Instant::now()));
                return;
            }
            cleanup::remove_workspace(&dir);
            record.ended_at_ms = Some(now_ms());
            if let Err(error) = record.write(&dir) {
                tracing::error!(session = %record.id, %error, "cannot record the session's end");
            }
        }
        engine.sessions.set_ended(record);
        return;
    };
    let id = record.id;
    engine.host_users.keep(record.host_uid);
    if let Err(error) = take_over(engine, dir, record, found) {
        tracing::error!(session = %id, %error, "cannot take over a session");
    }
}

/// An init that answered, with the executions that it holds.
struct Found {
    link: OwnedFd,
    pid: i32,
    init: OwnedFd,
    held: HashMap<ExecutionId, Held>,
}

struct Held {
    pid: i32,
    started_at_us: u64,
    exit: Option<Exit>,
    kind: Fds,
    fds: Vec<OwnedFd>,
}

/// Connects to the init of a session. Returns `None` if no init answers, or not as expected.
fn connect(dir: &Path) -> Option<Found> {
    let link = layout::connect_init(dir).ok()?;
    match hello(&link) {
        Ok(((pid, init), held)) => Some(Found { link, pid, init, held }),
        Err(error) => {
            tracing::warn!(dir = %dir.display(), %error, "an init does not answer as expected: it is ended");
            end_init(&link);
            None
        }
    }
}

fn hello(link: &OwnedFd) -> io::Result<((i32, OwnedFd), HashMap<ExecutionId, Held>)> {
    let unexpected = |what: &str| io::Error::other(what.to_owned());
    rustix::net::sockopt::set_socket_passcred(link, true)?;
    link::send(link.as_fd(), &ToInit::Hello, &[]).map_err(io::Error::other)?;
    let init = launch::sender(link.as_fd(), INIT_ANSWER_TIMEOUT).map_err(io::Error::other)?;
    let deadline = Instant::now() + INIT_ANSWER_TIMEOUT;
    let (FromInit::Hello { version, executions, .. }, _) = receive(link, deadline)? else {
        return Err(unexpected("the first message is not `Hello`"));
    };
    if version != VERSION {
        return Err(io::Error::other(format!(
            "it has the protocol version {version}, and this worker {VERSION}"
        )));
    }
    let mut held = HashMap::new();
    for _ in 0..executions {
        let (message, fds) = receive(link, deadline)?;
        let FromInit::Adopt { execution, pid, started_at_us, exit, fds: kind, .. } = message else {
            return Err(unexpected("a message is not `Adopt`"));
        };
        held.insert(execution, Held { pid, started_at_us, exit, kind, fds });
    }
    Ok((init, held))
}

fn receive(link: &OwnedFd, deadline: Instant) -> io::Result<(FromInit, Vec<OwnedFd>)> {
    let left = deadline.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).map_err(io::Error::other)?;
    if rustix::event::poll(&mut [PollFd::new(link, PollFlags::IN)], Some(&left))? == 0 {
        return Err(io::ErrorKind::TimedOut.into());
    }
    match link::recv(link.as_fd()).map_err(io::Error::other)? {
        Received::Message(message, fds) => Ok((message, fds)),
        Received::Closed => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Ends the init of a prepared session that was never used. Returns the cgroup that it is in.
pub(crate) fn end_unused(dir: &Path, name: &str) -> Option<SessionCgroup> {
    let found = connect(dir)?;
    let cgroup = SessionCgroup::of_process(found.pid, name).ok();
    end_init(&found.link);
    cgroup
}

/// Asks an init to end.
fn end_init(link: &OwnedFd) {
    // It accepts messages only after `Hello`. An error means that it is gone.
    for message in [ToInit::Hello, ToInit::End] {
        let _ = link::send(link.as_fd(), &message, &[]);
    }
}

fn take_over(engine: &Engine, dir: PathBuf, record: SessionRecord, mut found: Found) -> io::Result<()> {
    // By its process: the worker that created it may have been started in another cgroup than this one.
    let cgroup = record.cgroup.as_ref().and_then(|name| SessionCgroup::of_process(found.pid, name).ok());
    let executions = executions_in(&dir);
    let descriptors = descriptors::hold_anyway(descriptors::SESSION);
    let parts = Parts {
        dir,
        record,
        link: found.link,
        init: found.init,
        cgroup,
        spare: false,
        disk: None,
        descriptors,
    };
    let session = create::bring_up(engine, parts)?;
    let _within = engine.io_runtime.enter();
    for (id, path) in executions {
        let Some(held) = found.held.remove(&id) else {
            // Init would hold it if it had been asked to start it.
            adopt_past(engine, id, &path, Unstarted::NeverRan);
            continue;
        };
        match recover(&path, &held, engine.config.lossless) {
            Ok((execution, writer)) => {
                engine.executions.insert(Arc::clone(&execution));
                session.adopt(execution, writer, held.kind, held.fds, held.exit);
            }
            Err(error) => tracing::error!(execution = %id, %error, "cannot recover a log"),
        }
    }
    tracing::info!(session = %session.id(), running = session.busy(), "session taken over");
    create::listen_to(engine, &session);
    let has_ended = |execution: &Arc<Execution>| execution.head().verdict.is_some();
    if engine.executions.list(Some(session.id())).iter().any(has_ended) {
        // The previous worker may have been killed before it ended the session of a one-shot.
        ended::has_exited(engine, &session);
    }
    Ok(())
}

fn recover(path: &Path, held: &Held, lossless: LosslessOptions) -> io::Result<(Arc<Execution>, Writer)> {
    let record = ExecutionRecord::read(path)?;
    let options = record.log_options(lossless);
    let (log, mut writer) = Log::recover(path, options).map_err(io::Error::other)?;
    if log.head().last_seq == Seq(0) {
        // The previous worker was killed between init's answer and the first record.
        writer.started(held.pid, held.started_at_us).map_err(io::Error::other)?;
    }
    Ok((Execution::live(record, path.to_owned(), log), writer))
}

/// How to treat an execution that no init holds and whose log has no start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unstarted {
    /// It is removed. Its caller has received no answer and will try again.
    NeverRan,
    /// It is kept as lost: it may have run, and a second attempt might run it twice.
    IsLost,
}

/// An execution that no init holds: closed, or lost, or never started.
fn adopt_past(engine: &Engine, id: ExecutionId, path: &Path, unstarted: Unstarted) {
    if engine.retention.has_removed(id) {
        // The previous worker was killed while it removed the log.
        if let Err(error) = tree::remove(path) {
            tracing::warn!(execution = %id, %error, "cannot remove what is left of a removed log");
        }
        return;
    }
    match past(path, unstarted, engine.config.lossless) {
        Ok(Some(execution)) => engine.executions.insert(execution),
        Ok(None) => {
            if let Err(error) = tree::remove(path) {
                tracing::warn!(execution = %id, %error, "cannot remove an execution that never started");
            }
        }
        Err(error) => tracing::warn!(execution = %id, %error, "cannot read the log of an execution"),
    }
}

fn past(path: &Path, unstarted: Unstarted, holds: LosslessOptions) -> io::Result<Option<Arc<Execution>>> {
    let Ok(record) = ExecutionRecord::read(path) else {
        return Ok(None); // the record is written before the start and removed first
    };
    let log = Log::open(path).map_err(io::Error::other)?;
    if log.head().closed {
        return Ok(Some(Execution::sealed(record, path.to_owned(), log.head())));
    }
    drop(log);
    let options = record.log_options(holds);
    let (log, mut writer) = Log::recover(path, options).map_err(io::Error::other)?;
    let head = log.head();
    if head.last_seq == Seq(0) && unstarted == Unstarted::NeverRan {
        return Ok(None);
    }
    if head.verdict.is_none() {
        let verdict = unseen(Reason::Lost, "nobody saw how it ended");
        writer.exited(&verdict, now_us()).map_err(io::Error::other)?;
    }
    writer.closed(now_us()).map_err(io::Error::other)?;
    Ok(Some(Execution::sealed(record, path.to_owned(), log.head())))
}

fn executions_in(session: &Path) -> Vec<(ExecutionId, PathBuf)> {
    let Ok(entries) = fs::read_dir(layout::executions(session)) else {
        return Vec::new();
    };
    let named = |path: PathBuf| Some((path.file_name()?.to_str()?.parse().ok()?, path));
    entries.flatten().filter_map(|entry| named(entry.path())).collect()
}
