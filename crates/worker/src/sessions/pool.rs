//! Prepared sessions: isolated, in their cgroup, with a waiting init. Taking one costs a rename.
//!
//! Preparing one takes milliseconds, most of which the kernel needs to attach a process to a cgroup. So a few are kept, and
//! the pool is refilled in the background.

use std::collections::VecDeque;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use headwater_contract::{Fault, FaultKind};
use headwater_limits::descriptors::Hold;
use headwater_protocol::{Network, SessionId, SessionSpec};
use headwater_sandbox::cgroup::SessionCgroup;
use headwater_sandbox::orphans;
use headwater_sandbox::wire::NetworkNamespace;
use headwater_workspace::tree;
use rustix::event::{PollFd, PollFlags, Timespec};

use crate::engine::Engine;
use crate::layout::SessionRecord;
use crate::sessions::cleanup;
use crate::sessions::launch::{LaunchPlan, Refused, launch_session, network_of};
use crate::sessions::place::{self, Checked, PlaceRecord};
use crate::sessions::session::{Parts, spare};

/// A caller that has taken a session is about to run something in it, and preparing the next one would compete for the
/// processors. So refilling waits this long while the pool is at least half full.
const REFILL_DELAY: Duration = Duration::from_millis(5);

/// A session that has not been taken yet.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) slot: SessionId,
    pub(crate) dir: PathBuf,
    pub(crate) link: OwnedFd,
    pub(crate) init: OwnedFd,
    pub(crate) host_uid: Option<u32>,
    pub(crate) cgroup: Option<SessionCgroup>,
    pub(crate) cgroup_name: Option<String>,
    /// Whether the folder of its first execution exists already.
    pub(crate) spare: bool,
    pub(crate) descriptors: Hold,
    /// The folder of an in-place session.
    pub(crate) place: Option<PlaceRecord>,
}

impl Prepared {
    /// Whether its init still runs: something else on the host may have ended it.
    fn is_alive(&self) -> bool {
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        rustix::event::poll(&mut [PollFd::new(&self.init, PollFlags::IN)], Some(&now)) == Ok(0)
    }
}

/// The prepared sessions of a worker.
#[derive(Debug)]
pub(crate) struct Pool {
    size: usize,
    ready: Mutex<VecDeque<Prepared>>,
    filling: AtomicBool,
    closed: AtomicBool,
}

impl Pool {
    pub(crate) fn new(size: usize) -> Self {
        Self {
            size,
            ready: Mutex::default(),
            filling: AtomicBool::new(false),
            closed: AtomicBool::new(false),
        }
    }

    fn ready(&self) -> std::sync::MutexGuard<'_, VecDeque<Prepared>> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of prepared sessions.
    pub(crate) fn len(&self) -> usize {
        self.ready().len()
    }

    /// Takes a prepared session, or prepares one if the pool is empty. If the caller is cancelled meanwhile, the next one
    /// gets it.
    ///
    /// Sessions in the host's network are not prepared in advance: those of the pool have their own networks.
    pub(crate) async fn take(&self, engine: &Engine, network: Network) -> Result<Prepared, Fault> {
        let stopping = || Fault::new(FaultKind::Unavailable, "the worker is stopping");
        loop {
            let engine = engine.weak().upgrade().ok_or_else(stopping)?;
            if self.closed.load(Ordering::Acquire) {
                return Err(stopping());
            }
            if network_of(network) == NetworkNamespace::Host {
                let launch = move || prepare(&engine, NetworkNamespace::Host);
                return tokio::task::spawn_blocking(launch).await.map_err(|_| stopping())?;
            }
            let ready = self.ready().pop_front();
            match ready {
                Some(prepared) if prepared.is_alive() => return Ok(prepared),
                Some(prepared) => discard_later(engine, prepared),
                None => {
                    let add = move || {
                        prepare(&engine, NetworkNamespace::Session)
                            .map(|prepared| engine.pool.ready().push_back(prepared))
                    };
                    tokio::task::spawn_blocking(add).await.map_err(|_| stopping())??;
                }
            }
        }
    }

    /// Fills the pool in the background, unless that is under way already.
    pub(crate) fn refill(&self, engine: &Engine) {
        if self.len() >= self.size || self.filling.swap(true, Ordering::AcqRel) {
            return;
        }
        let Some(engine) = engine.weak().upgrade() else {
            return;
        };
        tokio::task::spawn_blocking(move || {
            if 2 * engine.pool.len() >= engine.pool.size {
                std::thread::sleep(REFILL_DELAY);
            }
            while engine.pool.len() < engine.pool.size && !engine.pool.closed.load(Ordering::Acquire) {
                match prepare(&engine, NetworkNamespace::Session) {
                    Ok(mut prepared) => {
                        // Here, because no caller waits for it.
                        prepared.spare = spare::create(&prepared.dir).is_ok();
                        engine.pool.ready().push_back(prepared);
                    }
                    Err(fault) => {
                        tracing::error!(%fault, hint = fault.hint, "cannot prepare a session");
                        break;
                    }
                }
            }
            engine.pool.filling.store(false, Ordering::Release);
        });
    }

    /// Prepares no more sessions, and hands none out.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Whether it hands out no more sessions: the worker is stopping.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    /// Ends all prepared sessions.
    pub(crate) fn drain(&self, engine: &Engine) {
        for prepared in std::mem::take(&mut *self.ready()) {
            discard(engine, &prepared);
        }
    }
}

/// Ends a prepared session in the background.
pub(crate) fn discard_later(engine: Arc<Engine>, prepared: Prepared) {
    tokio::task::spawn_blocking(move || discard(&engine, &prepared));
}

/// Ends a prepared session.
fn discard(engine: &Engine, prepared: &Prepared) {
    // It may have exited already.
    let _ = rustix::process::pidfd_send_signal(&prepared.init, rustix::process::Signal::KILL);
    cleanup::remove(&prepared.dir, prepared.cgroup.as_ref());
    let _ = fs::remove_dir_all(&prepared.dir);
    orphans::reap(prepared.init.as_fd());
    engine.host_users.free(prepared.host_uid);
}

/// Launches the init of a hibernated session: on its workspace, as its host user, in a new sandbox. Blocks for milliseconds.
pub(crate) fn relaunch(engine: &Engine, record: SessionRecord) -> Result<Parts, Fault> {
    let dir = engine.folder.session(record.id);
    let _ = fs::remove_file(dir.join("init.sock")); // left by the previous init
    engine.projects.limit(&dir, || Some(record.spec.limits.clone()));
    // A new name: what is left of the old slot is not in the way.
    let slot = SessionId::random();
    let launched = checked(engine, &record.spec)
        .and_then(|checked| {
            let checked = checked.map(|checked| checked.for_user(record.host_uid));
            let plan = LaunchPlan::of(&record.spec, record.host_uid);
            Ok(launch_session(engine, slot, &dir, plan, checked)?)
        })
        .and_then(|prepared| {
            let record = SessionRecord {
                slot,
                cgroup: prepared.cgroup_name.clone(),
                tools: engine.tools.exist() && !place::is_the_persons(&record.spec),
                place: prepared.place.clone(),
                ..record
            };
            let written = match &prepared.cgroup {
                Some(cgroup) if record.spec.limits != engine.config.limits => {
                    cgroup.set_limits(&record.spec.limits)
                }
                _ => Ok(()),
            };
            written.and_then(|()| record.write(&dir)).map_err(|error| {
                let _ = rustix::process::pidfd_send_signal(&prepared.init, rustix::process::Signal::KILL);
                Fault::new(FaultKind::Unavailable, format!("cannot resume the session: {error}"))
            })?;
            let Prepared { link, init, cgroup, spare, descriptors, .. } = prepared;
            Ok(Parts { dir: dir.clone(), record, link, init, cgroup, spare, disk: None, descriptors })
        });
    if launched.is_err() {
        cleanup::remove_but_workspace(&dir, engine.cgroup(Some(&slot.to_string())).as_ref());
    }
    launched
}

/// Prepares a session. Blocks for milliseconds.
fn prepare(engine: &Arc<Engine>, network: NetworkNamespace) -> Result<Prepared, Fault> {
    let slot = SessionId::random();
    let dir = engine.folder.slots().join(slot.to_string());
    let host_uid = engine.host_users.take()?;
    let plan = LaunchPlan { host_uid, network, in_place: None };
    let prepared = launch_session(engine, slot, &dir, plan, None);
    if prepared.is_ok() {
        engine.projects.begin(&dir, host_uid, &engine.config.limits);
    } else {
        undo(engine, slot, &dir, host_uid);
    }
    Ok(prepared?)
}

/// Launches an in-place session. Nothing of it can be prepared in advance. Blocks for milliseconds.
pub(crate) fn launch_in_place(engine: &Engine, spec: &SessionSpec) -> Result<Prepared, Fault> {
    let Some(checked) = checked(engine, spec)? else {
        return Err(Fault::new(FaultKind::Internal, "the session has no folder"));
    };
    let walled = spec.place.as_ref().is_some_and(|place| place.mode.has_walls());
    let host_uid = if walled { engine.host_users.take()? } else { None };
    match launch_new(engine, spec, host_uid, checked) {
        Err(refused) if refused.is_unmappable && host_uid.is_some() => {
            // Without mapped owners the session runs as the owner of the folder: what root started must not be root.
            let again = place::check_of(spec, engine.folder.root())?.and_then(Checked::for_owner);
            let (checked, owner) = again.ok_or(refused.fault)?;
            Ok(launch_new(engine, spec, Some(owner), checked)?)
        }
        launched => Ok(launched?),
    }
}

fn launch_new(
    engine: &Engine,
    spec: &SessionSpec,
    host_uid: Option<u32>,
    checked: Checked,
) -> Result<Prepared, Refused> {
    let slot = SessionId::random();
    let dir = engine.folder.slots().join(slot.to_string());
    let launched = launch_session(engine, slot, &dir, LaunchPlan::of(spec, host_uid), Some(checked));
    if launched.is_err() {
        undo(engine, slot, &dir, host_uid);
    }
    launched
}

/// The place of a session, as it is on the host now.
fn checked(engine: &Engine, spec: &SessionSpec) -> Result<Option<Checked>, Fault> {
    place::check_of(spec, engine.folder.root())
}

/// Removes what is left of a session that was not launched.
fn undo(engine: &Engine, slot: SessionId, dir: &Path, host_uid: Option<u32>) {
    cleanup::remove(dir, engine.cgroup(Some(&slot.to_string())).as_ref());
    let _ = fs::remove_dir_all(dir);
    engine.host_users.free(host_uid);
}

/// Removes the prepared sessions that a killed worker left: they cannot be used any more.
pub(crate) fn discard_old_slots(engine: &Engine) -> io::Result<()> {
    for entry in fs::read_dir(engine.folder.slots())? {
        let dir = entry?.path();
        let name = dir.file_name().and_then(|name| name.to_str());
        let cgroup = name.and_then(|name| crate::sessions::adopt::end_unused(&dir, name));
        cleanup::remove(&dir, cgroup.or_else(|| engine.cgroup(name)).as_ref());
        if let Err(error) = tree::remove(&dir) {
            tracing::warn!(dir = %dir.display(), %error, "cannot remove an old slot");
        }
    }
    Ok(())
}
