//! The course of a build.
//!
//! 1. Its inputs are copied out of the workspace and hashed; the cache is asked. A whole hit ends here: the binary goes
//!    into the workspace, and nothing is started.
//! 2. Else the build is recorded, and a session of its own is taken from the pool, with the limits of the one that asks:
//!    no program of the asking session can reach it. The copies and the objects that the cache has go there.
//! 3. One execution compiles and links. It is followed and cancelled like any other.
//! 4. When it has ended, what it left is read, kept in the cache, and the binary goes into the asking workspace.
//!
//! A worker that is killed leaves the record; the next one goes on with step 4.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use headwater_contract::{Fault, FaultKind, KeyedLock};
use headwater_protocol::build::{BuildResult, BuildStatus, CompileSpec, SUCCESS};
use headwater_protocol::{BuildId, ExecutionId, Limits, Network, SessionId, SessionSpec, StartSpec, Verdict};
use headwater_workspace::WorkspacePath;
use tokio::sync::watch;

use super::cache::{Cache, Entry};
use super::collect::Collecting;
use super::compiler::Compilers;
use super::inputs::{Inputs, Scans};
use super::plan::{Outlook, Plan, Planner};
use super::record::{Record, Records};
use super::system::SystemFiles;
use crate::builds::reserved;
use crate::builds::sandbox::{fill, start_spec};
use crate::clock::now_ms;
use crate::detached::blocking;
use crate::engine::Engine;
use crate::executions::start;
use crate::files::open_workspace::OpenWorkspace;
use crate::sessions::session::Expects;
use crate::sessions::{create, end, hibernation};

/// A build's own session ends by itself if nobody ends it.
const FORGOTTEN: Duration = Duration::from_mins(30);
/// One wait for the end of an execution.
const WAIT: Duration = Duration::from_mins(5);

/// What was asked for.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    pub(crate) id: BuildId,
    pub(crate) session: SessionId,
    pub(crate) execution: ExecutionId,
    pub(crate) build_session: SessionId,
    pub(crate) owner: String,
    pub(crate) metadata: std::collections::BTreeMap<String, String>,
    pub(crate) spec: CompileSpec,
}

/// How a build stands.
#[derive(Debug, Clone)]
pub(crate) enum State {
    /// With what its session and its execution were started with, if this worker did it.
    Running(Option<Box<(SessionSpec, StartSpec)>>),
    Ended {
        result: Arc<BuildResult>,
        executed: bool,
    },
}

type Course = watch::Receiver<Option<Arc<BuildResult>>>;

/// All builds of a worker.
#[derive(Debug)]
pub(crate) struct Workshop {
    engine: Arc<Engine>,
    parts: OnceLock<Parts>,
    opening: Mutex<()>,
    scans: Scans,
    files: SystemFiles,
    compilers: Compilers,
    locks: KeyedLock<BuildId>,
    running: Mutex<HashMap<BuildId, Course>>,
}

/// What is on the disk.
#[derive(Debug)]
struct Parts {
    cache: Cache,
    records: Records,
}

impl Workshop {
    pub(crate) fn new(engine: Arc<Engine>) -> Arc<Self> {
        Arc::new(Self {
            engine,
            parts: OnceLock::new(),
            opening: Mutex::default(),
            scans: Scans::default(),
            files: SystemFiles::default(),
            compilers: Compilers::default(),
            locks: KeyedLock::default(),
            running: Mutex::default(),
        })
    }

    fn running(&self) -> MutexGuard<'_, HashMap<BuildId, Course>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cache and the records, opened when they are first needed. Blocks.
    fn parts(&self) -> Result<&Parts, Fault> {
        let _one = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(parts) = self.parts.get() {
            return Ok(parts);
        }
        let root = self.engine.folder.root();
        let bytes = self.engine.config.builds.cache_bytes;
        let cannot = |error: io::Error| {
            Fault::new(FaultKind::Unavailable, format!("cannot open the build cache: {error}"))
                .hint("is there room on the disk of the data folder?")
        };
        let cache = Cache::open(root.join("build-cache"), bytes).map_err(cannot)?;
        let records = Records::open(root.join("builds")).map_err(cannot)?;
        Ok(self.parts.get_or_init(|| Parts { cache, records }))
    }

    /// Goes on with what an earlier worker began.
    pub(crate) async fn take_up(self: Arc<Self>) {
        let workshop = Arc::clone(&self);
        let found = blocking(move || Ok(workshop.parts()?.records.unfinished())).await;
        for record in found.unwrap_or_default() {
            let _lock = self.locks.lock(record.id).await;
            if self.engine.execution(record.execution).is_ok() {
                self.follow(record);
            } else {
                // It was killed before anything ran: whoever asks again begins anew.
                let _ = end::end(&self.engine, record.build_session, true).await;
                if let Ok(parts) = self.parts() {
                    parts.records.forget(record.id);
                }
            }
        }
    }

    /// Begins a build, or answers how the one of this id stands.
    pub(crate) async fn begin(self: &Arc<Self>, order: Order) -> Result<State, Fault> {
        let began_at_ms = now_ms();
        let _lock = self.locks.lock(order.id).await;
        if let Some(state) = self.known(order.id)? {
            return Ok(state);
        }
        reserved::refuse_build(&self.engine, order.session)?; // a binary for it would land among what another build reads
        let (_session, _inside) = hibernation::resumed(&self.engine, order.session).await?;
        let (workshop, asked) = (Arc::clone(self), order.clone());
        let plan = move || {
            let asking = OpenWorkspace::open(&workshop.engine, asked.session)?;
            Ok((workshop.plan(&asking, &asked)?, asking))
        };
        let (outlook, asking) = blocking(plan).await?;
        match outlook {
            Outlook::Whole(plan, entry) => {
                let lock = asking.lock().await;
                let hit = move || {
                    let given = give(&asking, &plan, entry, began_at_ms);
                    drop(lock);
                    given
                };
                let result = Arc::new(blocking(hit).await?);
                Ok(State::Ended { result, executed: false })
            }
            Outlook::Work(plan, inputs) => {
                let plan = *plan;
                let mut record = Record {
                    id: order.id,
                    session: order.session,
                    build_session: order.build_session,
                    execution: order.execution,
                    began_at_ms,
                    plan,
                };
                let specs = self.start(asking.limits().clone(), &order, &mut record, inputs).await;
                if specs.is_err() {
                    self.parts()?.records.forget(order.id);
                }
                let specs = specs?;
                self.follow(record);
                Ok(State::Running(Some(Box::new(specs))))
            }
        }
    }

    /// How a build stands, if it is known; waits for its end at most so long.
    pub(crate) async fn state(&self, id: BuildId, wait: Duration) -> Result<State, Fault> {
        let course = self.running().get(&id).cloned();
        if let Some(mut course) = course {
            // A timeout is no failure: the state is looked at in any case.
            let _ = tokio::time::timeout(wait, course.wait_for(Option::is_some)).await;
        }
        self.look(id)?.ok_or_else(|| {
            Fault::new(FaultKind::NotFound, format!("there is no build `{id}`")).hint("begin it again")
        })
    }

    fn known(self: &Arc<Self>, id: BuildId) -> Result<Option<State>, Fault> {
        if let Some(state) = self.look(id)? {
            return Ok(Some(state));
        }
        // Begun by an earlier worker, and not taken up yet.
        let record = self.parts()?.records.record(id);
        let record = record.filter(|record| self.engine.execution(record.execution).is_ok());
        Ok(record.map(|record| {
            self.follow(record);
            State::Running(None)
        }))
    }

    fn look(&self, id: BuildId) -> Result<Option<State>, Fault> {
        if let Some(course) = self.running().get(&id) {
            let result = course.borrow().clone();
            return Ok(Some(match result {
                Some(result) => State::Ended { result, executed: true },
                None => State::Running(None),
            }));
        }
        let result = self.parts()?.records.result(id);
        Ok(result.map(|result| State::Ended { result: Arc::new(result), executed: true }))
    }

    fn plan(&self, asking: &OpenWorkspace, order: &Order) -> Result<Outlook, Fault> {
        let planner = Planner {
            config: &self.engine.config.builds,
            binds: &self.engine.config.binds,
            cache: &self.parts()?.cache,
            compilers: &self.compilers,
            files: &self.files,
            scans: &self.scans,
        };
        planner.plan(&order.spec, &order.owner, &asking.workspace, &asking.home)
    }

    /// Makes the build's own session, fills it, and starts the compilers.
    async fn start(
        self: &Arc<Self>,
        limits: Limits,
        order: &Order,
        record: &mut Record,
        inputs: Inputs,
    ) -> Result<(SessionSpec, StartSpec), Fault> {
        let mut spec = SessionSpec {
            limits,
            metadata: order.metadata.clone(),
            idle_timeout_ms: u64::try_from(FORGOTTEN.as_millis()).ok(),
            network: Network::None,
            ..SessionSpec::default()
        };
        reserved::put(&mut spec, order.execution);
        self.keep(record).await?;
        let told = create::create(&self.engine, Some(order.build_session), spec).await?;
        if !reserved::is_of(&told.spec, order.execution) {
            let fault = Fault::new(FaultKind::Conflict, "the session of the build is somebody else's");
            return Err(fault.hint("ask for the build anew"));
        }
        let filled = self.fill(record, inputs).await;
        let to_start = start_spec(&record.plan);
        let started = match filled {
            Ok(()) => {
                let (session, id) = (order.build_session, Some(order.execution));
                start::start(&self.engine, session, id, to_start.clone(), Expects::Nobody).await
            }
            Err(fault) => Err(fault),
        };
        match started {
            // Dropped without a word when there is nothing to wait for.
            Ok(accepted) => _ = accepted.answered.await,
            Err(fault) => {
                let _ = end::end(&self.engine, order.build_session, true).await; // the cause is told
                return Err(fault);
            }
        }
        Ok((told.spec, to_start))
    }

    async fn keep(self: &Arc<Self>, record: &Record) -> Result<(), Fault> {
        let (workshop, kept) = (Arc::clone(self), record.clone());
        blocking(move || workshop.parts()?.records.begin(&kept).map_err(|error| cannot_keep(&error))).await
    }

    /// Fills the build's own session. Objects that the cache lost since it was asked are to be compiled after all.
    async fn fill(self: &Arc<Self>, record: &mut Record, inputs: Inputs) -> Result<(), Fault> {
        let (workshop, build, mut plan) = (Arc::clone(self), record.build_session, record.plan.clone());
        let work = move || {
            let open = OpenWorkspace::open_any(&workshop.engine, build)?;
            let lost = fill(&open, &mut plan, &inputs, &workshop.parts()?.cache)?;
            Ok((plan, lost))
        };
        let (plan, lost) = blocking(work).await?;
        record.plan = plan;
        if lost > 0 { self.keep(record).await } else { Ok(()) }
    }

    /// Sees a build to its end, in the background.
    fn follow(self: &Arc<Self>, record: Record) {
        let (told, course) = watch::channel(None);
        if self.running().contains_key(&record.id) {
            return; // somebody does
        }
        self.running().insert(record.id, course);
        let workshop = Arc::clone(self);
        tokio::spawn(async move {
            let id = record.id;
            let result = Arc::new(workshop.finish(record).await);
            let (kept, keeping) = (Arc::clone(&result), Arc::clone(&workshop));
            let keep = move || keeping.parts()?.records.end(id, &kept).map_err(|error| cannot_keep(&error));
            let is_kept = blocking(keep).await.is_ok();
            told.send_replace(Some(result));
            if is_kept {
                workshop.running().remove(&id);
            }
        });
    }

    async fn finish(self: &Arc<Self>, record: Record) -> BuildResult {
        let verdict = match self.engine.execution(record.execution) {
            Ok(execution) => loop {
                execution.wait(WAIT, false).await;
                if let Some(verdict) = execution.head().verdict {
                    break Ok((*verdict).clone());
                }
            },
            Err(fault) => Err(fault),
        };
        let collected = match verdict {
            Ok(verdict) => self.collect(&record, verdict).await,
            Err(fault) => Err(fault),
        };
        let mut result =
            collected.unwrap_or_else(|fault| BuildResult::ended(BuildStatus::Lost, fault.message));
        result.duration_ms = now_ms().saturating_sub(record.began_at_ms);
        // Its log stays; all else of it goes.
        if let Err(fault) = end::end(&self.engine, record.build_session, false).await {
            tracing::warn!(build = %record.id, %fault, "the session of a build cannot be ended");
        }
        result
    }

    /// Reads what a build left, and gives the binary to whoever asked.
    async fn collect(self: &Arc<Self>, record: &Record, verdict: Verdict) -> Result<BuildResult, Fault> {
        let (_own, _inside) = hibernation::resumed(&self.engine, record.build_session).await?;
        let (_asking, _there) = hibernation::resumed(&self.engine, record.session).await?;
        let (workshop, record) = (Arc::clone(self), record.clone());
        let (engine, ids) = (Arc::clone(&self.engine), (record.build_session, record.session));
        let open =
            move || Ok((OpenWorkspace::open_any(&engine, ids.0)?, OpenWorkspace::open(&engine, ids.1)?));
        let (own, asking) = blocking(open).await?;
        let lock = asking.lock().await;
        let collect = move || {
            let collecting = Collecting {
                plan: &record.plan,
                workspace: &own.workspace,
                home: &own.home,
                binds: &workshop.engine.config.binds,
                files: &workshop.files,
                cache: &workshop.parts()?.cache,
                began_at_ms: record.began_at_ms,
            };
            let collected = collecting.collect(&verdict, &asking.workspace);
            asking.has_changed();
            drop(lock);
            Ok(collected)
        };
        blocking(collect).await
    }
}

/// Puts what the cache has into the workspace.
fn give(asking: &OpenWorkspace, plan: &Plan, entry: Entry, began: u64) -> Result<BuildResult, Fault> {
    let output = WorkspacePath::parse(&plan.output, &asking.home)?;
    asking.workspace.put(&output, &mut entry.blob.as_slice(), true)?;
    asking.has_changed();
    let mut result = BuildResult::ended(BuildStatus::Success, entry.told.text);
    SUCCESS.clone_into(&mut result.stdout);
    result.artifacts = vec![format!("/workspace/{}", plan.output)];
    result.diagnostics = entry.told.diagnostics;
    result.cached = true;
    result.cached_objects = u32::try_from(plan.units.len()).unwrap_or(u32::MAX);
    result.duration_ms = now_ms().saturating_sub(began);
    Ok(result)
}

fn cannot_keep(error: &io::Error) -> Fault {
    Fault::new(FaultKind::Unavailable, format!("cannot keep a record of the build: {error}"))
        .hint("is there room on the disk of the data folder?")
}
