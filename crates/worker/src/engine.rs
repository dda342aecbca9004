//! The engine: the parts of a worker, in one place. Each part has its own methods; what concerns several parts is a function
//! of the module that is about it, such as `sessions::create` or `executions::start`.

use std::sync::{Arc, Weak};

use headwater_contract::{CacheCounter, Fault, FaultKind};
use headwater_network::Network;
use headwater_protocol::{ExecutionId, now_ms};
use headwater_sandbox::cgroup::{CgroupRoot, SessionCgroup};
use tokio::runtime::Handle;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::executions::execution::Execution;
use crate::executions::permits::ExecutionPermits;
use crate::executions::table::ExecutionTable;
use crate::files::free_space::FreeSpace;
use crate::languages::Languages;
use crate::layout::Folder;
use crate::retention::Retention;
use crate::rpc;
use crate::sessions::host_users::{self, UidPool};
use crate::sessions::pool::Pool;
use crate::sessions::table::SessionTable;
use crate::sessions::tools::Tools;
use crate::terminals::Hub;
use crate::usage::project_quotas::Projects;

/// Walks at once: a large workspace must not delay the check of another, and all of them must leave processors to others.
const MAX_WALKS: usize = 4;

/// The parts of a worker.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) config: Config,
    pub(crate) folder: Folder,
    pub(crate) languages: Languages,
    /// What sessions see besides the host's programs.
    pub(crate) tools: Tools,
    pub(crate) cgroups: Option<CgroupRoot>,
    /// Project quotas, if the file system supports them.
    pub(crate) projects: Projects,
    pub(crate) pool: Pool,
    pub(crate) network: Arc<Network>,
    /// The look-ups of the build cache.
    pub(crate) build_cache: Arc<CacheCounter>,
    /// The runtime that moves output. It is not the one that serves calls, so that a disk that stalls delays only output.
    pub(crate) io_runtime: Handle,
    /// Cancelled when the worker is to stop.
    pub(crate) stop: CancellationToken,
    pub(crate) started_at_ms: u64,
    this: Weak<Engine>,
    pub(crate) sessions: SessionTable,
    pub(crate) executions: ExecutionTable,
    /// The host users that sessions run as.
    pub(crate) host_users: UidPool,
    /// How much each workspace was found to hold.
    pub(crate) free_space: FreeSpace,
    pub(crate) execution_permits: ExecutionPermits,
    /// Permits to measure a live session's disk use.
    pub(crate) walk_permits: Semaphore,
    /// Permits to connect to a port of a session.
    pub(crate) port_permits: Arc<Semaphore>,
    /// What all terminals share.
    pub(crate) terminals: Hub,
    /// How long logs are kept.
    pub(crate) retention: Retention,
}

/// What an engine starts with.
pub(crate) struct EngineSetup {
    pub(crate) config: Config,
    pub(crate) folder: Folder,
    pub(crate) cgroups: Option<CgroupRoot>,
    pub(crate) io_runtime: Handle,
    /// The runtime that serves calls.
    pub(crate) rpc_runtime: Handle,
}

impl Engine {
    pub(crate) fn new(setup: EngineSetup) -> Arc<Self> {
        let languages = Languages::find(&setup.config.languages, &setup.config.binds);
        let tools = Tools::prepare(setup.folder.root(), &setup.config, &languages);
        Arc::new_cyclic(|this| Self {
            languages,
            tools,
            pool: Pool::new(setup.config.pool),
            network: Network::new(
                setup.config.network.clone(),
                &setup.config.packages,
                setup.folder.root(),
                setup.rpc_runtime,
            ),
            build_cache: Arc::default(),
            terminals: Hub::open(&setup.folder, setup.config.terminals),
            retention: Retention::new(setup.config.retention.rules, setup.folder.root()),
            projects: Projects::find(setup.folder.root()),
            host_users: UidPool::new(
                host_users::are_given_out(&setup.config).then_some(setup.config.uid_base),
            ),
            config: setup.config,
            folder: setup.folder,
            cgroups: setup.cgroups,
            io_runtime: setup.io_runtime,
            stop: CancellationToken::new(),
            started_at_ms: now_ms(),
            this: this.clone(),
            sessions: SessionTable::default(),
            executions: ExecutionTable::default(),
            free_space: FreeSpace::default(),
            execution_permits: ExecutionPermits::default(),
            walk_permits: Semaphore::new(MAX_WALKS),
            port_permits: Arc::new(Semaphore::new(rpc::ports::MAX_CONNECTIONS)),
        })
    }

    /// For tasks that must not keep the engine alive, or that need an owned reference to it.
    pub(crate) fn weak(&self) -> Weak<Self> {
        self.this.clone()
    }

    /// An execution, running or past. The fault says whether its log was removed by retention.
    pub(crate) fn execution(&self, id: ExecutionId) -> Result<Arc<Execution>, Fault> {
        self.executions.get(id).ok_or_else(|| {
            self.retention.fault(id).unwrap_or_else(|| {
                Fault::new(FaultKind::NotFound, format!("there is no execution `{id}`"))
                    .hint("it may have been forgotten; `headwater ps --all` lists all executions")
            })
        })
    }

    /// The cgroup of this name that an earlier worker created, if it exists.
    pub(crate) fn cgroup(&self, name: Option<&str>) -> Option<SessionCgroup> {
        self.cgroups.as_ref()?.reopen(name?).ok()
    }
}
