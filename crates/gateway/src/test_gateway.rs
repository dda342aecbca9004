//! A gateway for tests: the real store in a temporary folder, and a scripted worker.
//!
//! The clock runs, and tests move it forward. A paused clock cannot be used with the store: tokio would jump over the
//! store's timeouts while a thread of SQLite works.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::http::Method;
use headwater_protocol::{Execution, ExecutionId, SessionId, SessionSpec, StartSpec};
use headwater_store::{ExecutionRow, Role, SessionRow, SqliteStore, Store};
use tempfile::TempDir;

use crate::auth::{Bounds, Credential, Grants, Identity, Jwts};
use crate::bodies::OWNER;
use crate::config::Config;
use crate::error::ApiError;
use crate::executions::start::ExecutionSpec;
use crate::http::idempotency::{RequestKey, hash};
use crate::reports::{DoctorReport, Reports, Setting};
use crate::state::Gateway;
use crate::worker::scripted::model::Model;
use crate::worker::scripted::{NoRestarter, Script, ScriptedWorker};

/// The owner of everything in these tests.
pub(crate) const ANN: &str = "ann";
/// More than all programs of a test use.
const CPU_PER_DAY: Duration = Duration::from_hours(1);
/// How far the clock moves in one step. Less than the shortest timeout of the store.
const STEP: Duration = Duration::from_millis(500);
/// Steps after which a test gives up: more than ten minutes of the moved clock.
const MAX_STEPS: usize = 1_500;

/// A gateway with its store and its worker.
pub(crate) struct TestGateway {
    pub(crate) gateway: Arc<Gateway>,
    pub(crate) worker: Arc<ScriptedWorker>,
    pub(crate) model: Arc<Model>,
    folder: Arc<TempDir>,
}

impl TestGateway {
    /// With an empty store, and a worker that behaves like one.
    pub(crate) async fn start() -> Self {
        let model = Arc::new(Model::default());
        let script = model.script();
        Self::with(model, script).await
    }

    /// With a worker that follows this script.
    pub(crate) async fn with(model: Arc<Model>, script: Script) -> Self {
        let worker = Arc::new(ScriptedWorker::start(script));
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let gateway = gateway(&folder, &worker).await;
        Self { gateway, worker, model, folder }
    }

    /// Stops this gateway, and starts the next one on the same store and the same worker.
    pub(crate) async fn restart(self) -> Self {
        self.stop().await;
        let gateway = gateway(&self.folder, &self.worker).await;
        Self { gateway, ..self }
    }

    /// Stops the gateway with its background tasks.
    pub(crate) async fn stop(&self) {
        self.gateway.background.stopping.cancel();
        self.settle().await;
        self.gateway.store.close().await.unwrap();
    }

    pub(crate) fn store(&self) -> &dyn Store {
        self.gateway.store.as_ref()
    }

    /// A session that both the store and the worker know.
    pub(crate) async fn session(&self) -> SessionId {
        let session = self.worker_session();
        self.store().put_session(&session).await.unwrap();
        session.id
    }

    /// A session that only the worker knows, as a row.
    pub(crate) fn worker_session(&self) -> SessionRow {
        let id = SessionId::random();
        let metadata = [(OWNER.to_owned(), ANN.to_owned())].into();
        let spec = SessionSpec { metadata, ..SessionSpec::default() };
        let session = self.model.add_session(id, spec);
        crate::executions::reconcile::session_row(session)
    }

    /// Starts a program in a session.
    pub(crate) async fn start_in(&self, session: SessionId) -> Result<Execution, ApiError> {
        self.gateway.starts.start(&ann(), order(Some(session), None)).await
    }

    /// The row of an execution.
    pub(crate) async fn row(&self, id: ExecutionId) -> Option<ExecutionRow> {
        self.store().execution(id).await.unwrap()
    }

    /// Moves the clock forward until this holds.
    pub(crate) async fn until(&self, mut holds: impl AsyncFnMut() -> bool) {
        for _ in 0..MAX_STEPS {
            if holds().await {
                return;
            }
            self.step().await;
        }
        panic!("what was waited for did not happen");
    }

    /// Moves the clock forward until no background task is left.
    pub(crate) async fn settle(&self) {
        self.gateway.background.tasks.close();
        self.until(async || self.gateway.background.tasks.is_empty()).await;
    }

    /// Moves the clock forward a little. First the store and the worker each answer some calls, so that the moved clock
    /// is never far ahead of what they have to do.
    async fn step(&self) {
        for _ in 0..3 {
            let _ = self.store().ping().await;
            let _ = self.gateway.worker.once().info().await;
        }
        tokio::time::pause();
        tokio::time::advance(STEP).await;
        tokio::time::resume();
    }
}

async fn gateway(folder: &TempDir, worker: &ScriptedWorker) -> Arc<Gateway> {
    let mut config = Config::new(folder.path());
    config.quotas.everybody.cpu_per_day = Some(CPU_PER_DAY); // with a quota, what is used is counted
    let store: Arc<dyn Store> = Arc::new(SqliteStore::open(&config.store_path()).await.unwrap());
    let jwts = Jwts::new(&config.jwt_key_path(), &config.auth).unwrap();
    let listens = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
    let client = worker.connect().await;
    Gateway::new(config, listens, store, client, Arc::new(NoRestarter), Arc::new(NoReports), jwts)
        .await
        .unwrap()
}

/// The one who asks.
pub(crate) fn ann() -> Identity {
    Identity {
        owner: ANN.into(),
        role: Role::Member,
        token_id: "tok_x".into(),
        address: Ipv4Addr::LOCALHOST.into(),
        credential: Credential::Token([0; 32]),
        bounds: Bounds::default(),
        grants: Grants::default(),
    }
}

/// An order to run `true`, in a session or as a one-shot, with an idempotency key or without.
pub(crate) fn order(session: Option<SessionId>, key: Option<&str>) -> ExecutionSpec {
    let hash = hash(&Method::POST, "/v1/executions", b"true");
    let request_key = RequestKey { key: key.map(Into::into), hash };
    ExecutionSpec { session, spec: StartSpec::shell("true"), request_key }
}

/// A server without a command line.
#[derive(Debug)]
struct NoReports;

#[async_trait::async_trait]
impl Reports for NoReports {
    async fn doctor(&self) -> Result<DoctorReport, String> {
        Err("no command line".into())
    }

    async fn settings(&self) -> Result<Vec<Setting>, String> {
        Err("no command line".into())
    }
}
