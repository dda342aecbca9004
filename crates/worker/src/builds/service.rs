//! Runs builds.
//!
//! 1. The inputs are copied from the workspace and hashed. If the binary is cached, it is written to the workspace, and
//!    nothing is started.
//! 2. Otherwise the build is recorded, and a dedicated session is created with the limits of the requesting one, whose
//!    programs cannot reach it. The inputs and the cached objects are written to its workspace.
//! 3. One execution compiles and links. It is followed and cancelled like any other.
//! 4. When it has ended, its results are read and cached, and the binary is written to the requesting workspace.
//!
//! After a crash of the worker, the next one finds the record and continues with step 4.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use headwater_contract::{Fault, FaultKind, KeyedLock};
use headwater_protocol::build::{BuildResult, BuildStatus, CompileSpec, SUCCESS};
use headwater_protocol::{
    BuildId, CALL_METADATA, ExecutionId, Limits, Network, SessionId, SessionSpec, StartSpec, Verdict, now_ms,
};
use headwater_workspace::WorkspacePath;
use tokio::sync::watch;

use super::cache::{Cache, Entry};
use super::collect::ResultCollector;
use super::compiler::Compilers;
use super::inputs::{Inputs, Scans};
use super::plan::{Plan, Planned, Planner};
use super::record::{Record, Records};
use super::system::SystemFiles;
use crate::builds::reserved;
use crate::builds::sandbox::{fill, start_spec};
use crate::detached::blocking;
use crate::engine::Engine;
use crate::executions::start;
use crate::files::open_workspace::OpenWorkspace;
use crate::sessions::session::Expects;
use crate::sessions::{create, end, hibernation};

/// The idle timeout of a build's session, in case it is not ended.
const SESSION_IDLE_TIMEOUT: Duration = Duration::from_mins(30);
/// The longest single wait for the end of an execution.
const EXECUTION_WAIT: Duration = Duration::from_mins(5);

/// A requested build.
#[derive(Debug, Clone)]
pub(crate) struct BuildSpec {
    pub(crate) id: BuildId,
    pub(crate) session: SessionId,
    pub(crate) execution: ExecutionId,
    pub(crate) build_session: SessionId,
    pub(crate) owner: String,
    pub(crate) metadata: std::collections::BTreeMap<String, String>,
    pub(crate) spec: CompileSpec,
}

/// The state of a build.
#[derive(Debug, Clone)]
pub(crate) enum State {
    /// With the specs of its session and its execution, if this call started it.
    Running(Option<Box<(SessionSpec, StartSpec)>>),
    Ended {
        result: Arc<BuildResult>,
        executed: bool,
    },
}

type ResultWatch = watch::Receiver<Option<Arc<BuildResult>>>;

/// All builds of a worker.
#[derive(Debug)]
pub(crate) struct BuildService {
    engine: Arc<Engine>,
    storage: OnceLock<Storage>,
    opening: Mutex<()>,
    scans: Scans,
    files: SystemFiles,
    compilers: Compilers,
    locks: KeyedLock<BuildId>,
    running: Mutex<HashMap<BuildId, ResultWatch>>,
}

/// The parts on the disk.
#[derive(Debug)]
struct Storage {
    cache: Cache,
    records: Records,
}

impl BuildService {
    pub(crate) fn new(engine: Arc<Engine>) -> Arc<Self> {
        Arc::new(Self {
            engine,
            storage: OnceLock::new(),
            opening: Mutex::default(),
            scans: Scans::default(),
            files: SystemFiles::default(),
            compilers: Compilers::default(),
            locks: KeyedLock::default(),
            running: Mutex::default(),
        })
    }

    fn running(&self) -> MutexGuard<'_, HashMap<BuildId, ResultWatch>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cache and the records, opened on first use. Blocks.
    fn storage(&self) -> Result<&Storage, Fault> {
        let _one = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(storage) = self.storage.get() {
            return Ok(storage);
        }
        let root = self.engine.folder.root();
        let bytes = self.engine.config.builds.cache_bytes;
        let cannot = |error: io::Error| {
            Fault::new(FaultKind::Unavailable, format!("cannot open the build cache: {error}"))
                .hint("check the free space on the disk of the data folder")
        };
        let counter = Arc::clone(&self.engine.build_cache);
        let cache = Cache::open(root.join("build-cache"), bytes, counter).map_err(cannot)?;
        let records = Records::open(root.join("builds")).map_err(cannot)?;
        Ok(self.storage.get_or_init(|| Storage { cache, records }))
    }

    /// Continues the builds of an earlier worker.
    pub(crate) async fn resume(self: Arc<Self>) {
        let service = Arc::clone(&self);
        let found = blocking(move || Ok(service.storage()?.records.unfinished())).await;
        for record in found.unwrap_or_default() {
            let _lock = self.locks.lock(record.id).await;
            if self.engine.execution(record.execution).is_ok() {
                self.follow(record);
            } else {
                // Nothing was started: a repeated request begins again.
                let _ = end::end(&self.engine, record.build_session, true).await;
                if let Ok(storage) = self.storage() {
                    storage.records.forget(record.id);
                }
            }
        }
    }

    /// Starts a build, or returns the state of the one with this id.
    pub(crate) async fn begin(self: &Arc<Self>, build: BuildSpec) -> Result<State, Fault> {
        let began_at_ms = now_ms();
        let _lock = self.locks.lock(build.id).await;
        if let Some(state) = self.find_build(build.id)? {
            return Ok(state);
        }
        reserved::refuse_build(&self.engine, build.session)?; // a binary in it would be an input of another build
        let (_session, _inside) = hibernation::resumed(&self.engine, build.session).await?;
        let (service, requested) = (Arc::clone(self), build.clone());
        let plan = move || {
            let asking = OpenWorkspace::open(&service.engine, requested.session)?;
            Ok((service.plan(&asking, &requested)?, asking))
        };
        let (planned, asking) = blocking(plan).await?;
        match planned {
            Planned::Cached(plan, entry) => {
                let lock = asking.lock().await;
                let hit = move || {
                    let delivered = deliver_cached(&asking, &plan, entry, began_at_ms);
                    drop(lock);
                    delivered
                };
                let result = Arc::new(blocking(hit).await?);
                Ok(State::Ended { result, executed: false })
            }
            Planned::Needed(plan, inputs) => {
                let plan = *plan;
                let mut record = Record {
                    id: build.id,
                    session: build.session,
                    build_session: build.build_session,
                    execution: build.execution,
                    began_at_ms,
                    plan,
                };
                let specs = self.start(asking.limits().clone(), &build, &mut record, inputs).await;
                if specs.is_err() {
                    self.storage()?.records.forget(build.id);
                }
                let specs = specs?;
                self.follow(record);
                Ok(State::Running(Some(Box::new(specs))))
            }
        }
    }

    /// The state of a build; waits for its end at most this long.
    pub(crate) async fn state(&self, id: BuildId, wait: Duration) -> Result<State, Fault> {
        let result_watch = self.running().get(&id).cloned();
        if let Some(mut result_watch) = result_watch {
            // A timeout is not an error: the state is read anyway.
            let _ = tokio::time::timeout(wait, result_watch.wait_for(Option::is_some)).await;
        }
        self.current_state(id)?.ok_or_else(|| {
            Fault::new(FaultKind::NotFound, format!("build `{id}` does not exist")).hint("start it again")
        })
    }

    fn find_build(self: &Arc<Self>, id: BuildId) -> Result<Option<State>, Fault> {
        if let Some(state) = self.current_state(id)? {
            return Ok(Some(state));
        }
        // Started by an earlier worker, and not resumed yet.
        let record = self.storage()?.records.record(id);
        let record = record.filter(|record| self.engine.execution(record.execution).is_ok());
        Ok(record.map(|record| {
            self.follow(record);
            State::Running(None)
        }))
    }

    fn current_state(&self, id: BuildId) -> Result<Option<State>, Fault> {
        if let Some(result_watch) = self.running().get(&id) {
            let result = result_watch.borrow().clone();
            return Ok(Some(match result {
                Some(result) => State::Ended { result, executed: true },
                None => State::Running(None),
            }));
        }
        let result = self.storage()?.records.result(id);
        Ok(result.map(|result| State::Ended { result: Arc::new(result), executed: true }))
    }

    fn plan(&self, asking: &OpenWorkspace, build: &BuildSpec) -> Result<Planned, Fault> {
        let planner = Planner {
            config: &self.engine.config.builds,
            binds: &self.engine.config.binds,
            cache: &self.storage()?.cache,
            compilers: &self.compilers,
            files: &self.files,
            scans: &self.scans,
        };
        planner.plan(&build.spec, &build.owner, &asking.workspace, &asking.home)
    }

    /// Creates the build's session, fills its workspace, and starts the compilers.
    async fn start(
        self: &Arc<Self>,
        limits: Limits,
        build: &BuildSpec,
        record: &mut Record,
        inputs: Inputs,
    ) -> Result<(SessionSpec, StartSpec), Fault> {
        let mut spec = SessionSpec {
            limits,
            metadata: build.metadata.clone(),
            idle_timeout_ms: u64::try_from(SESSION_IDLE_TIMEOUT.as_millis()).ok(),
            network: Network::None,
            ..SessionSpec::default()
        };
        reserved::mark(&mut spec, build.execution);
        self.save(record).await?;
        let session = create::create(&self.engine, Some(build.build_session), spec).await?;
        if !reserved::is_marked_for(&session.spec, build.execution) {
            let fault =
                Fault::new(FaultKind::Conflict, "the session id of the build is in use by another session");
            return Err(fault.hint("request the build again"));
        }
        let filled = self.fill(record, inputs).await;
        let mut to_start = start_spec(&record.plan);
        let of_call = build.metadata.iter().filter(|(key, _)| CALL_METADATA.contains(&key.as_str()));
        to_start.metadata.extend(of_call.map(|(key, value)| (key.clone(), value.clone())));
        let started = match filled {
            Ok(()) => {
                let (session_id, id) = (build.build_session, Some(build.execution));
                start::start(&self.engine, session_id, id, to_start.clone(), Expects::Nobody).await
            }
            Err(fault) => Err(fault),
        };
        match started {
            // The sender is dropped if there is nothing to wait for.
            Ok(accepted) => _ = accepted.answered.await,
            Err(fault) => {
                let _ = end::end(&self.engine, build.build_session, true).await; // the first error is returned
                return Err(fault);
            }
        }
        Ok((session.spec, to_start))
    }

    async fn save(self: &Arc<Self>, record: &Record) -> Result<(), Fault> {
        let (service, kept) = (Arc::clone(self), record.clone());
        blocking(move || service.storage()?.records.begin(&kept).map_err(|error| cannot_keep(&error))).await
    }

    /// Fills the workspace of the build's session. Objects that were evicted since planning are compiled again.
    async fn fill(self: &Arc<Self>, record: &mut Record, inputs: Inputs) -> Result<(), Fault> {
        let (service, build, mut plan) = (Arc::clone(self), record.build_session, record.plan.clone());
        let work = move || {
            let open = OpenWorkspace::open_any(&service.engine, build)?;
            let lost = fill(&open, &mut plan, &inputs, &service.storage()?.cache)?;
            Ok((plan, lost))
        };
        let (plan, lost) = blocking(work).await?;
        record.plan = plan;
        if lost > 0 { self.save(record).await } else { Ok(()) }
    }

    /// Waits for the end of a build in the background.
    fn follow(self: &Arc<Self>, record: Record) {
        let (sender, result_watch) = watch::channel(None);
        if self.running().contains_key(&record.id) {
            return; // already followed
        }
        self.running().insert(record.id, result_watch);
        let service = Arc::clone(self);
        tokio::spawn(async move {
            let id = record.id;
            let result = Arc::new(service.finish(record).await);
            let (kept, keeping) = (Arc::clone(&result), Arc::clone(&service));
            let keep = move || keeping.storage()?.records.end(id, &kept).map_err(|error| cannot_keep(&error));
            let is_kept = blocking(keep).await.is_ok();
            sender.send_replace(Some(result));
            if is_kept {
                service.running().remove(&id);
            }
        });
    }

    async fn finish(self: &Arc<Self>, record: Record) -> BuildResult {
        let verdict = match self.engine.execution(record.execution) {
            Ok(execution) => loop {
                execution.wait(EXECUTION_WAIT, false).await;
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
        // Its log is kept; everything else of the session is removed.
        if let Err(fault) = end::end(&self.engine, record.build_session, false).await {
            tracing::warn!(build = %record.id, %fault, "cannot end the session of a build");
        }
        result
    }

    /// Collects the results of a build and delivers the binary.
    async fn collect(self: &Arc<Self>, record: &Record, verdict: Verdict) -> Result<BuildResult, Fault> {
        let (_own, _inside) = hibernation::resumed(&self.engine, record.build_session).await?;
        let (_asking, _there) = hibernation::resumed(&self.engine, record.session).await?;
        let (service, record) = (Arc::clone(self), record.clone());
        let (engine, ids) = (Arc::clone(&self.engine), (record.build_session, record.session));
        let open =
            move || Ok((OpenWorkspace::open_any(&engine, ids.0)?, OpenWorkspace::open(&engine, ids.1)?));
        let (own, asking) = blocking(open).await?;
        let lock = asking.lock().await;
        let collect = move || {
            let collector = ResultCollector {
                plan: &record.plan,
                workspace: &own.workspace,
                home: &own.home,
                binds: &service.engine.config.binds,
                files: &service.files,
                cache: &service.storage()?.cache,
                began_at_ms: record.began_at_ms,
            };
            let collected = collector.collect(&verdict, &asking.workspace);
            asking.has_changed();
            drop(lock);
            Ok(collected)
        };
        blocking(collect).await
    }
}

/// Writes a cached binary to the workspace.
fn deliver_cached(
    asking: &OpenWorkspace,
    plan: &Plan,
    entry: Entry,
    began: u64,
) -> Result<BuildResult, Fault> {
    let output = WorkspacePath::parse(&plan.output, &asking.home)?;
    asking.workspace.write_from(&output, &mut entry.blob.as_slice(), true)?;
    asking.has_changed();
    let mut result = BuildResult::ended(BuildStatus::Success, entry.output.text);
    SUCCESS.clone_into(&mut result.stdout);
    result.artifacts = vec![format!("/workspace/{}", plan.output)];
    result.diagnostics = entry.output.diagnostics;
    result.cached = true;
    result.cached_objects = u32::try_from(plan.units.len()).unwrap_or(u32::MAX);
    result.duration_ms = now_ms().saturating_sub(began);
    Ok(result)
}

fn cannot_keep(error: &io::Error) -> Fault {
    Fault::new(FaultKind::Unavailable, format!("cannot write the record of the build: {error}"))
        .hint("check the free space on the disk of the data folder")
}
