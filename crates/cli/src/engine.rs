//! One interface to the worker on this machine and to a server, so that each command is written once.
//!
//! Both return the types of the API. Idempotent calls are retried over a restart of the worker or the server.

mod events;
mod files;
mod languages;
mod run;
mod sessions;
mod stdin;

use std::time::Duration;

use headwater_client::{ClientError, ExecutionFilter, IdempotencyKey, Method, SessionFilter};
use headwater_contract::{Client as Worker, FollowOptions, v1};
use headwater_protocol::api::{
    ExecutionBody, ExecutionStateName, PageBody, PruneBody, PruneRequest, SessionBody, SessionRequest,
    SessionStateName, SignalName, SignalRequest,
};
use headwater_protocol::units::parse_duration;
use headwater_protocol::{ExecutionId, Process, SessionId, SessionSpec, Stdin, TtySize};

use serde_json::Value;

pub use self::events::Events;
pub use self::files::{ByteSource, Entry};
pub use self::run::{Run, Target};
pub use self::sessions::SessionUse;
pub use self::stdin::Typing;
use crate::error::CommandError;

type Result<T> = std::result::Result<T, CommandError>;

/// The worker on this machine, or a server.
#[derive(Debug, Clone)]
pub enum Engine {
    /// The worker on this machine.
    Local(Worker),
    /// A server.
    Remote(headwater_client::Client),
}

/// Which executions to list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// All executions.
    All,
    /// Executions that are not closed: including those whose program has ended but whose children still write.
    Open,
}

impl Engine {
    /// Lists executions.
    pub async fn executions(&self, session: Option<SessionId>, which: Which) -> Result<Vec<ExecutionBody>> {
        match self {
            Self::Local(worker) => {
                let all = worker
                    .retry(|worker| worker.executions(session, false))
                    .await?
                    .into_iter()
                    .map(ExecutionBody::from);
                let is_wanted =
                    |one: &ExecutionBody| which == Which::All || one.state != ExecutionStateName::Closed;
                Ok(all.filter(is_wanted).collect())
            }
            Self::Remote(server) => {
                let open =
                    [ExecutionStateName::Queued, ExecutionStateName::Running, ExecutionStateName::Exited];
                let states = match which {
                    Which::All => vec![None],
                    Which::Open => open.into_iter().map(Some).collect(),
                };
                let mut all: Vec<ExecutionBody> = Vec::new();
                for state in states {
                    let filter = ExecutionFilter { session, state, ..ExecutionFilter::default() };
                    let page = async |cursor| {
                        let filter = ExecutionFilter { cursor, ..filter.clone() };
                        server.executions(&filter).await
                    };
                    all.extend(pages(page).await?);
                }
                // An execution that changed its state between two requests is in both lists.
                all.sort_by_key(|one| one.id);
                all.dedup_by_key(|one| one.id);
                Ok(all)
            }
        }
    }

    /// Lists sessions.
    pub async fn sessions(&self, include_ended: bool) -> Result<Vec<SessionBody>> {
        match self {
            Self::Local(worker) => {
                let all = worker.retry(|worker| worker.sessions(include_ended)).await?;
                Ok(all.into_iter().map(|session| SessionBody::from(session).in_brief()).collect())
            }
            Self::Remote(server) => {
                let states = if include_ended {
                    vec![None]
                } else {
                    vec![Some(SessionStateName::Ready), Some(SessionStateName::Hibernated)]
                };
                let mut all: Vec<SessionBody> = Vec::new();
                for state in states {
                    let filter = SessionFilter { state, ..SessionFilter::default() };
                    let page = async |cursor| {
                        let filter = SessionFilter { cursor, ..filter.clone() };
                        server.sessions(&filter).await
                    };
                    all.extend(pages(page).await?);
                }
                // A session that was hibernated between the two requests is in both lists.
                all.sort_by_key(|one| one.id);
                all.dedup_by_key(|one| one.id);
                Ok(all)
            }
        }
    }

    /// Returns one session.
    pub async fn session(&self, id: SessionId) -> Result<SessionBody> {
        match self {
            Self::Local(worker) => Ok(worker.retry(|worker| worker.session(id)).await?.into()),
            Self::Remote(server) => {
                Ok(server.retry_known_server(|server| async move { server.session(id).await }).await?)
            }
        }
    }

    /// Creates a session, locally or on the server.
    pub async fn create_session(&self, spec: &SessionSpec) -> Result<SessionBody> {
        match self {
            Self::Local(worker) => {
                let id = SessionId::random();
                Ok(worker.retry(|worker| worker.create_session(Some(id), spec)).await?.into())
            }
            Self::Remote(server) => {
                let SessionSpec { name, env, secret_env, limits, idle_timeout_ms, metadata, network, .. } =
                    spec.clone();
                let request = SessionRequest {
                    name,
                    env,
                    secret_env,
                    limits,
                    idle_timeout_ms,
                    metadata,
                    network,
                    template: None,
                };
                let (request, key) = (&request, &IdempotencyKey::random());
                Ok(server
                    .retry_known_server(
                        |server| async move { server.create_session(request, Some(key)).await },
                    )
                    .await?)
            }
        }
    }

    /// Ends a session and deletes its workspace, and, unless `keep_logs`, its executions and their logs.
    pub async fn end_session(&self, id: SessionId, keep_logs: bool) -> Result<()> {
        match self {
            Self::Local(worker) => {
                worker.retry(|worker| worker.end_session(id, !keep_logs)).await?;
                Ok(())
            }
            Self::Remote(server) => Ok(server
                .retry_known_server(|server| async move { server.delete_session(id, keep_logs).await })
                .await?),
        }
    }

    /// Returns one execution.
    pub async fn execution(&self, id: ExecutionId) -> Result<ExecutionBody> {
        match self {
            Self::Local(worker) => Ok(worker.retry(|worker| worker.execution(id)).await?.into()),
            Self::Remote(server) => {
                Ok(server.retry_known_server(|server| async move { server.execution(id).await }).await?)
            }
        }
    }

    /// Returns an execution and whether it accepts input. A server does not report that, but refuses input if not.
    pub async fn execution_and_input(&self, id: ExecutionId) -> Result<(ExecutionBody, bool)> {
        match self {
            Self::Local(worker) => {
                let execution = worker.retry(|worker| worker.execution(id)).await?;
                let reads = execution.spec.stdin == Stdin::Open || execution.spec.tty.is_some();
                Ok((execution.into(), reads))
            }
            Self::Remote(_) => Ok((self.execution(id).await?, true)),
        }
    }

    /// Lists the current processes of an execution.
    pub async fn processes(&self, id: ExecutionId) -> Result<Vec<Process>> {
        match self {
            Self::Local(worker) => Ok(worker.retry(|worker| worker.processes(id)).await?),
            Self::Remote(server) => {
                Ok(server.retry_known_server(|server| async move { server.processes(id).await }).await?)
            }
        }
    }

    /// Follows a log.
    pub async fn follow(&self, id: ExecutionId, options: FollowOptions) -> Result<Events> {
        match self {
            Self::Local(worker) => {
                Ok(Events::local(worker.retry(|worker| worker.follow(id, options.clone())).await?))
            }
            Self::Remote(server) => Events::remote(server, id, &options).await,
        }
    }

    /// Sends a signal. It is not retried: a signal whose answer was lost must not arrive twice.
    pub async fn signal(&self, id: ExecutionId, signal: i32, tree: bool) -> Result<()> {
        match self {
            Self::Local(worker) => Ok(worker.signal(id, signal, tree).await?),
            Self::Remote(server) => {
                let request = SignalRequest { signal: SignalName::Number(signal), tree };
                Ok(server.signal(id, &request).await?)
            }
        }
    }

    /// Cancels an execution. A grace period of 0 kills at once; `None` uses the execution's own.
    pub async fn cancel(&self, id: ExecutionId, grace: Option<Duration>) -> Result<()> {
        match self {
            Self::Local(worker) => Ok(worker.retry(|worker| worker.cancel(id, grace)).await?),
            Self::Remote(server) => {
                Ok(server.retry_known_server(|server| async move { server.cancel(id, grace).await }).await?)
            }
        }
    }

    /// Resizes the terminal of an execution.
    pub async fn resize(&self, id: ExecutionId, size: TtySize) -> Result<()> {
        match self {
            Self::Local(worker) => Ok(worker.retry(|worker| worker.resize(id, size)).await?),
            Self::Remote(server) => {
                Ok(server.retry_known_server(|server| async move { server.resize(id, size).await }).await?)
            }
        }
    }

    /// Deletes logs of ended executions, or returns which ones it would delete.
    pub async fn prune(&self, request: &PruneRequest) -> Result<PruneBody> {
        match self {
            Self::Local(worker) => {
                let older_than = request.older_than.as_deref().map(parse_duration).transpose();
                let older_than = older_than.map_err(|error| CommandError::usage(error.to_string()))?;
                let call = v1::PruneRequest {
                    owner: request.owner.clone(),
                    session_id: request.session_id.clone(),
                    older_than_ms: older_than.map(|time| u64::try_from(time.as_millis()).unwrap_or(u64::MAX)),
                    keep: request.keep,
                    all: request.all,
                    dry_run: request.dry_run,
                };
                let pruned = worker.retry(|worker| worker.prune(call.clone())).await?;
                let v1::PruneResponse { logs, bytes, execution_ids } = pruned;
                Ok(PruneBody { dry_run: request.dry_run, logs, bytes, executions: execution_ids })
            }
            Self::Remote(server) => {
                Ok(server.retry_known_server(|server| async move { server.prune(request).await }).await?)
            }
        }
    }

    /// Deletes the log of a closed execution.
    pub async fn forget(&self, id: ExecutionId) -> Result<()> {
        match self {
            Self::Local(worker) => Ok(worker.retry(|worker| worker.forget(id)).await?),
            Self::Remote(server) => {
                Ok(server.retry_known_server(|server| async move { server.forget(id).await }).await?)
            }
        }
    }
}

/// Reads all pages of a list of a server that has no typed method.
pub async fn pages_of(
    server: &headwater_client::Client,
    path: &str,
    query: &[(&str, String)],
) -> Result<Vec<Value>> {
    let page = async |cursor: Option<String>| {
        let mut query = query.to_vec();
        query.extend(cursor.map(|cursor| ("cursor", cursor)));
        let page = server.call(Method::GET, path, &query, None).await?;
        serde_json::from_value(page).map_err(|error| ClientError::Malformed(error.to_string()))
    };
    pages(page).await
}

/// Reads all pages of a list.
pub async fn pages<T>(
    page: impl AsyncFn(Option<String>) -> std::result::Result<PageBody<T>, ClientError>,
) -> Result<Vec<T>> {
    let (mut all, mut cursor) = (Vec::new(), None);
    loop {
        let next = page(cursor).await?;
        all.extend(next.items);
        cursor = next.next_cursor;
        if cursor.is_none() {
            return Ok(all);
        }
    }
}
