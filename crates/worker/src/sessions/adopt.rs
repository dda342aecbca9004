//! Taking up what another worker left: sessions whose inits wait, logs that were being written, ends that fell meanwhile.
//!
//! What an init still holds goes on as if nothing had happened. What has no init any more ends as `lost`, with all that
//! was logged intact.

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
const PATIENCE: Duration = Duration::from_secs(5);

/// Finds everything in the data folder. To be called once, before any call is answered.
pub(crate) fn adopt_all(engine: &Engine) -> io::Result<()> {
    if let Err(error) = tree::remove(&engine.folder.staging_root()) {
        tracing::warn!(%error, "what another worker was copying cannot be removed");
    }
    for entry in fs::read_dir(engine.folder.sessions())? {
        let dir = entry?.path();
        match SessionRecord::read(&dir) {
            Ok(record) => adopt_session(engine, dir, record),
            // Another worker was killed while it removed the session.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if let Err(error) = tree::remove(&dir) {
                    tracing::warn!(dir = %dir.display(), %error, "what is left of a session cannot be removed");
                }
            }
            Err(error) => tracing::warn!(dir = %dir.display(), %error, "a session's record cannot be read"),
        }
    }
    Ok(())
}

fn adopt_session(engine: &Engine, dir: PathBuf, mut record: SessionRecord) {
    let found = if record.ended_at_ms.is_some() { None } else { call(&dir) };
    if record.ended_at_ms.is_none() {
        files::recover(&dir, record.host_uid);
        // The other worker may have been killed while it had raised them.
        engine.projects.limit(&dir, || Some(record.spec.limits.clone()));
    }
    let Some(found) = found else {
        for (id, path) in executions_in(&dir) {
            // Init may have started it before it was gone.
            adopt_past(engine, id, &path, Unstarted::IsLost);
        }
        if record.ended_at_ms.is_none() {
            tracing::info!(session = %record.id, "a session has no init: it sleeps, and what may have run in it is lost");
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
                tracing::error!(session = %record.id, %error, "the session's end cannot be recorded");
            }
        }
        engine.sessions.set_ended(record);
        return;
    };
    let id = record.id;
    engine.host_users.keep(record.host_uid);
    if let Err(error) = take_over(engine, dir, record, found) {
        tracing::error!(session = %id, %error, "a session cannot be taken over");
    }
}

/// What an init that answered has.
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

/// Calls the init of a session; `None` if none answers, or one that cannot be understood.
fn call(dir: &Path) -> Option<Found> {
    let link = layout::connect_init(dir).ok()?;
    match ask(&link) {
        Ok(((pid, init), held)) => Some(Found { link, pid, init, held }),
        Err(error) => {
            tracing::warn!(dir = %dir.display(), %error, "an init does not answer as it should: it is ended");
            end_init(&link);
            None
        }
    }
}

fn ask(link: &OwnedFd) -> io::Result<((i32, OwnedFd), HashMap<ExecutionId, Held>)> {
    let strange = |what: &str| io::Error::other(what.to_owned());
    rustix::net::sockopt::set_socket_passcred(link, true)?;
    link::send(link.as_fd(), &ToInit::Hello, &[]).map_err(io::Error::other)?;
    let init = launch::sender(link.as_fd(), PATIENCE).map_err(io::Error::other)?;
    let deadline = Instant::now() + PATIENCE;
    let (FromInit::Hello { version, executions, .. }, _) = receive(link, deadline)? else {
        return Err(strange("it did not say hello"));
    };
    if version != VERSION {
        return Err(io::Error::other(format!("it is of version {version}, this worker of {VERSION}")));
    }
    let mut held = HashMap::new();
    for _ in 0..executions {
        let (message, fds) = receive(link, deadline)?;
        let FromInit::Adopt { execution, pid, started_at_us, exit, fds: kind, .. } = message else {
            return Err(strange("it said something else than what it has"));
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

/// Ends the init of a prepared session that nobody needs; says in which cgroup it is, wherever its worker made that.
pub(crate) fn end_unused(dir: &Path, name: &str) -> Option<SessionCgroup> {
    let found = call(dir)?;
    let cgroup = SessionCgroup::of_process(found.pid, name).ok();
    end_init(&found.link);
    cgroup
}

/// Tells an init that nobody needs to end.
fn end_init(link: &OwnedFd) {
    // It obeys only whoever has said hello. If it is gone already, that is as well.
    for message in [ToInit::Hello, ToInit::End] {
        let _ = link::send(link.as_fd(), &message, &[]);
    }
}

fn take_over(engine: &Engine, dir: PathBuf, record: SessionRecord, mut found: Found) -> io::Result<()> {
    // By its process: the worker that made it may have been started in another cgroup than this one.
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
    let _within = engine.movers.enter();
    for (id, path) in executions {
        let Some(held) = found.held.remove(&id) else {
            // Init would know it if it had been told to start it.
            adopt_past(engine, id, &path, Unstarted::NeverRan);
            continue;
        };
        match take_up(&path, &held, engine.config.lossless) {
            Ok((execution, writer)) => {
                engine.executions.insert(Arc::clone(&execution));
                session.adopt(execution, writer, held.kind, held.fds, held.exit);
            }
            Err(error) => tracing::error!(execution = %id, %error, "a log cannot be taken up"),
        }
    }
    tracing::info!(session = %session.id(), running = session.busy(), "session taken over");
    create::listen_to(engine, &session);
    let has_ended = |execution: &Arc<Execution>| execution.head().verdict.is_some();
    if engine.executions.list(Some(session.id())).iter().any(has_ended) {
        // The other worker may have been killed before it ended a session that was made for this.
        ended::has_exited(engine, &session);
    }
    Ok(())
}

fn take_up(path: &Path, held: &Held, holds: LosslessOptions) -> io::Result<(Arc<Execution>, Writer)> {
    let record = ExecutionRecord::read(path)?;
    let options = record.log_options(holds);
    let (log, mut writer) = Log::recover(path, options).map_err(io::Error::other)?;
    if log.head().last_seq == Seq(0) {
        // The other worker was killed between init's answer and the first record.
        writer.started(held.pid, held.started_at_us).map_err(io::Error::other)?;
    }
    Ok((Execution::live(record, path.to_owned(), log), writer))
}

/// What becomes of an execution that no init holds and whose log does not say that it started.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unstarted {
    /// It is removed. Nobody was told that it started: whoever asked will ask again.
    NeverRan,
    /// It may have run, so that asking again might run it twice.
    IsLost,
}

/// An execution that no init holds: closed, or lost, or never started.
fn adopt_past(engine: &Engine, id: ExecutionId, path: &Path, unstarted: Unstarted) {
    if engine.retention.has_removed(id) {
        // Another worker was killed while it removed the log.
        if let Err(error) = tree::remove(path) {
            tracing::warn!(execution = %id, %error, "what is left of a removed log cannot be removed");
        }
        return;
    }
    match past(path, unstarted, engine.config.lossless) {
        Ok(Some(execution)) => engine.executions.insert(execution),
        Ok(None) => {
            if let Err(error) = tree::remove(path) {
                tracing::warn!(execution = %id, %error, "an execution that never started cannot be removed");
            }
        }
        Err(error) => tracing::warn!(execution = %id, %error, "the log of an execution cannot be read"),
    }
}

fn past(path: &Path, unstarted: Unstarted, holds: LosslessOptions) -> io::Result<Option<Arc<Execution>>> {
    let Ok(record) = ExecutionRecord::read(path) else {
        return Ok(None); // the record comes before the start and goes first of all
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
