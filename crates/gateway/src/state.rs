//! What all doors share.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use headwater_contract::{Client, KeyedLock, WorkerRestarter, panics};
use headwater_protocol::{SandboxKind, SessionId};
use headwater_store::Store;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::auth::access::Known;
use crate::auth::{Jwts, OpenStreams, Origins, Passwords, Recalled, Slow, random_hex};
use crate::config::Config;
use crate::executions::recorder::Recorder;
use crate::http::rate_limit::Buckets;
use crate::http::response_memory::Answers;
use crate::languages::Languages;
use crate::metrics::Metrics;
use crate::now_ms;
use crate::quota::admission::Admission;
use crate::quota::owner_permits::Fair;
use crate::quota::quotas::Meter;
use crate::routes::terminals::Viewers;
use crate::streams::feed::Hub;
use crate::worker::Worker;

/// Denials of one address that are noted in a second.
const DENIALS_PER_SECOND: u32 = 10;
/// So many failures to sign in with a name from one address cost nothing, and the longest wait after more.
const NAME_FAILURES: (u32, Duration) = (10, Duration::from_secs(5));
/// So many failures from one address, with whatever names, before its attempts are slowed down. Many people may share it.
const ADDRESS_FAILURES: (u32, Duration) = (100, Duration::from_mins(1));

/// Lists that are made at once, in all and for one owner: each may read many MiB from the store.
const LISTS: (usize, usize) = (8, 2);

/// The gateway.
pub struct Gateway {
    /// As it was configured.
    pub config: Config,
    /// What it remembers.
    pub store: Arc<dyn Store>,
    pub(crate) worker: Worker,
    pub(crate) origins: Origins,
    /// Names this process among all that have served this store.
    pub(crate) process: String,
    /// Whose streams are open.
    pub(crate) open_streams: OpenStreams,
    /// Credentials that were looked up lately.
    pub(crate) recalled: Recalled,
    pub(crate) jwts: Jwts,
    pub(crate) passwords: Passwords,
    /// Failures to sign in: from an address, and with a name from an address.
    pub(crate) slow_addresses: Slow<IpAddr>,
    pub(crate) slow_names: Slow<(String, IpAddr)>,
    pub(crate) requests: Buckets<String>,
    pub(crate) requests_of_user: Buckets<String>,
    pub(crate) requests_of_address: Buckets<IpAddr>,
    pub(crate) failures: Buckets<IpAddr>,
    /// Denials that are noted, of each address.
    pub(crate) denials: Buckets<IpAddr>,
    /// Answers that are not sent yet.
    pub(crate) answers: Arc<Answers>,
    /// Whose lists are made now.
    pub(crate) lists: Fair,
    /// Who may run something now.
    pub(crate) admission: Admission,
    /// What owners were last seen to use.
    pub(crate) meter: Meter,
    /// The number of the last removed log that the store knows of.
    pub(crate) removed_logs: tokio::sync::Mutex<u64>,
    pub(crate) metrics: Metrics,
    /// Wakes live feeds when something starts.
    pub(crate) feeds: Hub,
    /// Whose sessions and executions are whose.
    pub(crate) known: Known,
    /// What the worker runs code of.
    pub(crate) languages: Languages,
    /// Executions whose end is not in the store.
    pub(crate) recorder: Recorder,
    /// Who looks at which terminal.
    pub(crate) viewers: Viewers,
    /// One request at a time for each terminal's name.
    pub(crate) terminal_locks: KeyedLock<(SessionId, String)>,
    /// One request at a time for each owner's idempotency key.
    pub(crate) key_locks: KeyedLock<(String, String)>,
    /// Held while something is removed, so that it is not found and taken up again in between.
    pub(crate) removing: tokio::sync::RwLock<()>,
    /// The walls that the worker builds.
    pub(crate) sandbox: OnceLock<SandboxKind>,
    /// Told when streams shall end and clients come back to the next gateway.
    pub(crate) stopping: CancellationToken,
    /// What runs besides requests.
    pub(crate) tasks: TaskTracker,
    pub(crate) started_at_ms: u64,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Gateway {
    /// A gateway that really listens on `listens`, over this store and this worker.
    pub(crate) async fn new(
        config: Config,
        listens: SocketAddr,
        store: Arc<dyn Store>,
        worker: Client,
        restarter: Arc<dyn WorkerRestarter>,
        jwts: Jwts,
    ) -> Result<Arc<Self>, headwater_contract::ContractError> {
        Ok(Arc::new(Self {
            origins: Origins::new(&config, listens),
            process: random_hex(),
            open_streams: OpenStreams::default(),
            recalled: Recalled::default(),
            jwts,
            passwords: Passwords::default(),
            slow_addresses: Slow::new(ADDRESS_FAILURES.0, ADDRESS_FAILURES.1),
            slow_names: Slow::new(NAME_FAILURES.0, NAME_FAILURES.1),
            requests: Buckets::new(config.requests_per_second),
            requests_of_user: Buckets::new(config.requests_per_second_of_user),
            requests_of_address: Buckets::new(config.requests_per_second_of_address),
            failures: Buckets::new(config.failures_per_second),
            denials: Buckets::new(DENIALS_PER_SECOND),
            answers: Arc::new(Answers::new(config.max_unread_bytes)),
            lists: Fair::new(LISTS.0, LISTS.1),
            admission: Admission::default(),
            meter: Meter::default(),
            removed_logs: tokio::sync::Mutex::default(),
            metrics: Metrics::new(),
            feeds: Hub::default(),
            known: Known::default(),
            languages: Languages::default(),
            recorder: Recorder::default(),
            viewers: Viewers::default(),
            terminal_locks: KeyedLock::default(),
            key_locks: KeyedLock::default(),
            removing: tokio::sync::RwLock::default(),
            sandbox: OnceLock::new(),
            stopping: CancellationToken::new(),
            tasks: TaskTracker::new(),
            started_at_ms: now_ms(),
            worker: Worker::new(worker, restarter).await?,
            config,
            store,
        }))
    }

    /// Starts what runs besides requests.
    pub(crate) async fn begin(self: &Arc<Self>) {
        self.take_up().await;
        self.take_up_builds().await;
        self.always("revocation", |gateway| async move { gateway.look_after_streams().await });
        self.always("usage", |gateway| async move { gateway.watch_usage().await });
        self.always("reserve", |gateway| async move { gateway.keep_reserve().await });
        self.always("worker", |gateway| async move {
            let came_back = || {
                let gateway = Arc::clone(&gateway);
                gateway.clone().until_stopped(async move { gateway.reconcile().await });
            };
            gateway.worker.supervise(gateway.stopping.clone(), came_back).await;
        });
    }

    /// Runs a task besides requests, and begins it again if it panics.
    fn always<F: Future<Output = ()> + Send + 'static>(
        self: &Arc<Self>,
        name: &'static str,
        work: impl Fn(Arc<Self>) -> F + Send + 'static,
    ) {
        let gateway = Arc::clone(self);
        self.tasks.spawn(panics::restarting(name, move || work(Arc::clone(&gateway))));
    }
}
