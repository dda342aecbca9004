//! The gateway as a composition of its parts. Each part has its own state and knows only the parts that it needs.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use headwater_agent::model::Models as Registry;
use headwater_contract::{Client, KeyedLock, WorkerRestarter};
use headwater_protocol::SessionId;
use headwater_store::Store;

use crate::audit::Audit;
use crate::auth::{Auth, Jwts};
use crate::background::Background;
use crate::config::Config;
use crate::conversations::{Conversations, Models};
use crate::executions::reconcile::Reconciler;
use crate::executions::recorder::Recorder;
use crate::executions::start::Starts;
use crate::http::idempotency::IdempotencyKeys;
use crate::http::response_memory::Answers;
use crate::languages::Languages;
use crate::metrics::Metrics;
use crate::now_ms;
use crate::quota::Quota;
use crate::quota::rates::Rates;
use crate::quota::watchdog::Watchdog;
use crate::reports::Reports;
use crate::routes::terminals::Viewers;
use crate::streams::feed::Hub;
use crate::tools::{History, Tools};
use crate::worker::Worker;

/// The gateway: the parts that handlers use.
pub struct Gateway {
    /// The configuration.
    pub config: Config,
    /// Sessions, executions, users and everything else that outlives this process.
    pub store: Arc<dyn Store>,
    pub(crate) worker: Arc<Worker>,
    pub(crate) auth: Arc<Auth>,
    pub(crate) rates: Rates,
    pub(crate) quota: Arc<Quota>,
    pub(crate) keys: Arc<IdempotencyKeys>,
    pub(crate) starts: Arc<Starts>,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) reconciler: Arc<Reconciler>,
    pub(crate) audit: Arc<Audit>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) background: Background,
    /// Wakes live feeds when an execution starts.
    pub(crate) feeds: Arc<Hub>,
    /// Bytes of responses that are not sent yet.
    pub(crate) answers: Arc<Answers>,
    /// The agents that call tools, and the history of their calls.
    pub(crate) tools: Tools,
    /// Conversations with agents.
    pub(crate) conversations: Conversations,
    /// The languages that the worker runs.
    pub(crate) languages: Languages,
    /// The viewers of each terminal.
    pub(crate) viewers: Viewers,
    /// One request at a time for each terminal's name.
    pub(crate) terminal_locks: KeyedLock<(SessionId, String)>,
    /// What only the command line can find out.
    pub(crate) reports: Arc<dyn Reports>,
    /// One report at a time.
    pub(crate) report_turn: tokio::sync::Mutex<()>,
    pub(crate) started_at_ms: u64,
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("config", &self.config).finish_non_exhaustive()
    }
}

impl Gateway {
    /// A gateway that listens on `listens`.
    pub(crate) async fn new(
        config: Config,
        listens: SocketAddr,
        store: Arc<dyn Store>,
        worker: Client,
        restarter: Arc<dyn WorkerRestarter>,
        reports: Arc<dyn Reports>,
        jwts: Jwts,
    ) -> Result<Arc<Self>, headwater_contract::ContractError> {
        let worker = Arc::new(Worker::new(worker, restarter).await?);
        let (background, metrics, feeds) = (Background::default(), Arc::new(Metrics::new()), Arc::default());
        let quota = Arc::new(Quota::new(
            config.quotas.clone(),
            Arc::clone(&store),
            Arc::clone(&worker),
            Arc::clone(&metrics),
        ));
        let recorder = Arc::new(Recorder::new(
            Arc::clone(&store),
            Arc::clone(&worker),
            Arc::clone(&quota),
            Arc::clone(&metrics),
            background.clone(),
        ));
        let reconciler = Arc::new(Reconciler::new(&config, Arc::clone(&recorder), Arc::clone(&feeds)));
        let auth = Arc::new(Auth::new(
            &config,
            listens,
            jwts,
            Arc::clone(&store),
            Arc::clone(&reconciler),
            background.clone(),
        ));
        let audit = Arc::new(Audit::new(Arc::clone(&store), background.clone()));
        let keys = Arc::new(IdempotencyKeys::new(Arc::clone(&store)));
        let starts = Arc::new(Starts::new(
            Arc::clone(&auth),
            Arc::clone(&keys),
            Arc::clone(&recorder),
            Arc::clone(&reconciler),
            Arc::clone(&audit),
            Arc::clone(&feeds),
        ));
        let keep = config.rows.of_owner;
        let history = History::new(Arc::clone(&store), Arc::clone(&audit), background.clone(), keep);
        let kept = (Arc::clone(&store), Arc::clone(&audit));
        let tools = Tools::new(Arc::clone(&worker), Arc::clone(&starts), kept, history);
        let models = Models::new(Registry::from_config(&config.models));
        let conversations = Conversations::new(Arc::clone(&store), background.tasks.clone(), models);
        Ok(Arc::new(Self {
            conversations,
            rates: Rates::new(&config),
            audit,
            keys,
            starts,
            tools,
            answers: Arc::new(Answers::new(config.max_unread_bytes)),
            languages: Languages::default(),
            viewers: Viewers::default(),
            terminal_locks: KeyedLock::default(),
            reports,
            report_turn: tokio::sync::Mutex::default(),
            started_at_ms: now_ms(),
            worker,
            auth,
            quota,
            recorder,
            reconciler,
            metrics,
            background,
            feeds,
            config,
            store,
        }))
    }

    /// Starts the background tasks. Live and unfinished executions are recorded before this returns.
    pub(crate) async fn begin(self: &Arc<Self>) {
        // Their ends are stored from here on.
        let left = self.left_running().await;
        self.reconciler.start().await;
        self.take_up_builds().await;
        let gateway = Arc::clone(self);
        self.background.until_stopped(async move {
            gateway.resume_turns().await;
            gateway.await_left(left).await;
        });
        self.always("conversations", |gateway| async move { gateway.drop_idle_conversations().await });
        self.always("revocation", |gateway| async move { gateway.auth.end_revoked_streams().await });
        let watchdog = Arc::new(Watchdog::new(self));
        self.background.restarting("usage", move || {
            let watchdog = Arc::clone(&watchdog);
            async move { watchdog.run().await }
        });
        self.always("reserve", |gateway| async move { gateway.keep_reserve().await });
        self.always("worker", |gateway| async move {
            let came_back = || {
                gateway.metrics.worker_restarts.inc();
                let reconciler = Arc::clone(&gateway.reconciler);
                gateway.background.until_stopped(async move { reconciler.reconcile().await });
            };
            gateway.worker.supervise(gateway.background.stopping.clone(), came_back).await;
        });
    }

    /// Runs a background task, and starts it again if it panics.
    fn always<F: Future<Output = ()> + Send + 'static>(
        self: &Arc<Self>,
        name: &'static str,
        work: impl Fn(Arc<Self>) -> F + Send + 'static,
    ) {
        let gateway = Arc::clone(self);
        self.background.restarting(name, move || work(Arc::clone(&gateway)));
    }
}
