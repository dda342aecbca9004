//! Snapshots, forks, hibernation, packages and the use of sessions.

use std::time::Duration;

use headwater_client::Method;
use headwater_contract::v1;
use headwater_protocol::api::{ExecutionBody, SessionBody, SnapshotBody, Timestamp};
use headwater_protocol::{ExecutionId, SessionId, SnapshotId};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Engine, Result};
use crate::error::CommandError;
use crate::view;

/// The longest time that one call to the worker waits.
const MAX_WAIT: Duration = Duration::from_secs(20);

/// What a session uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SessionUse {
    /// The session.
    pub session_id: String,
    /// CPU time of all programs since it was created or resumed.
    pub cpu_ms: u64,
    /// Memory; 0 where the host does not count it.
    pub memory_bytes: u64,
    /// The number of processes.
    pub processes: usize,
    /// Bytes of the workspace and the snapshots.
    pub disk_bytes: u64,
    /// Bytes of the logs.
    pub log_bytes: u64,
}

fn parsed<T: DeserializeOwned>(value: Value) -> Result<T> {
    serde_json::from_value(value)
        .map_err(|error| CommandError::internal(format!("the server's response is not understood: {error}")))
}

fn snapshot_body(snapshot: v1::Snapshot) -> Result<SnapshotBody> {
    let v1::Snapshot { id, name, created_at_ms, bytes, files } = snapshot;
    let id = id.parse().map_err(|_| CommandError::internal(format!("`{id}` is not the id of a snapshot")))?;
    let name = (!name.is_empty()).then_some(name);
    Ok(SnapshotBody { id, name, created_at: Timestamp(created_at_ms), bytes, files })
}

impl Engine {
    /// Waits until an execution has ended, at most this long; for any time if absent.
    pub async fn wait(&self, id: ExecutionId, at_most: Option<Duration>) -> Result<ExecutionBody> {
        let worker = match self {
            Self::Remote(server) => return Ok(server.wait(id, at_most.unwrap_or(Duration::MAX)).await?),
            Self::Local(worker) => worker,
        };
        let until = at_most.and_then(|time| std::time::Instant::now().checked_add(time));
        loop {
            let left =
                until.map_or(MAX_WAIT, |until| until.saturating_duration_since(std::time::Instant::now()));
            let wait = left.min(MAX_WAIT);
            let execution: ExecutionBody =
                worker.retry(|worker| async move { worker.wait(id, wait, false).await }).await?.into();
            if execution.exit.is_some() || left.is_zero() {
                return Ok(execution);
            }
        }
    }

    /// Ends the programs of a session and keeps its workspace.
    pub async fn hibernate(&self, id: SessionId) -> Result<()> {
        match self {
            Self::Local(worker) => _ = worker.retry(|worker| worker.hibernate_session(id)).await?,
            Self::Remote(server) => {
                server.call(Method::POST, &format!("v1/sessions/{id}/hibernate"), &[], None).await?;
            }
        }
        Ok(())
    }

    /// Creates a snapshot of a workspace.
    pub async fn create_snapshot(&self, session: SessionId, name: Option<&str>) -> Result<SnapshotBody> {
        match self {
            Self::Local(worker) => {
                let id = SnapshotId::random();
                let call =
                    worker.retry(|worker| worker.create_snapshot(session, id, name.unwrap_or_default()));
                snapshot_body(call.await?)
            }
            Self::Remote(server) => {
                let request = name.map_or_else(|| json!({}), |name| json!({ "name": name }));
                let path = format!("v1/sessions/{session}/snapshots");
                parsed(server.call(Method::POST, &path, &[], Some(&request)).await?)
            }
        }
    }

    /// The snapshots of a session, oldest first.
    pub async fn snapshots(&self, session: SessionId) -> Result<Vec<SnapshotBody>> {
        match self {
            Self::Local(worker) => {
                let all = worker.retry(|worker| worker.snapshots(session)).await?;
                all.into_iter().map(snapshot_body).collect()
            }
            Self::Remote(server) => {
                let all =
                    server.call(Method::GET, &format!("v1/sessions/{session}/snapshots"), &[], None).await?;
                parsed(all["items"].clone())
            }
        }
    }

    /// Replaces the workspace with a snapshot.
    pub async fn restore_snapshot(&self, session: SessionId, id: SnapshotId) -> Result<()> {
        match self {
            Self::Local(worker) => _ = worker.retry(|worker| worker.restore_snapshot(session, id)).await?,
            Self::Remote(server) => {
                let path = format!("v1/sessions/{session}/snapshots/{id}/restore");
                server.call(Method::POST, &path, &[], None).await?;
            }
        }
        Ok(())
    }

    /// Deletes a snapshot.
    pub async fn remove_snapshot(&self, session: SessionId, id: SnapshotId) -> Result<()> {
        match self {
            Self::Local(worker) => worker.retry(|worker| worker.remove_snapshot(session, id)).await?,
            Self::Remote(server) => {
                server
                    .call(Method::DELETE, &format!("v1/sessions/{session}/snapshots/{id}"), &[], None)
                    .await?;
            }
        }
        Ok(())
    }

    /// Creates a session like another, with a copy of its workspace or of a snapshot.
    pub async fn fork(
        &self,
        from: SessionId,
        name: Option<String>,
        snapshot: Option<SnapshotId>,
    ) -> Result<SessionBody> {
        match self {
            Self::Local(worker) => {
                let (id, source) = (SessionId::random(), worker.retry(|worker| worker.session(from)).await?);
                let request = v1::ForkRequest {
                    session_id: from.to_string(),
                    new_session_id: id.to_string(),
                    name,
                    snapshot_id: snapshot.map(|id| id.to_string()).unwrap_or_default(),
                    metadata: source.spec.metadata.into_iter().collect(),
                };
                worker.retry(|worker| worker.fork_session(request.clone())).await?;
                self.session(id).await
            }
            Self::Remote(server) => {
                let request = view::object(&headwater_protocol::api::ForkRequest { name, snapshot });
                parsed(
                    server
                        .call(Method::POST, &format!("v1/sessions/{from}/fork"), &[], Some(&request))
                        .await?,
                )
            }
        }
    }

    /// The packages of Python, or the modules of Node.js, in a session: names and versions.
    pub async fn packages(&self, session: SessionId, node: bool) -> Result<Vec<(String, String)>> {
        match self {
            Self::Local(worker) => {
                let ecosystem = if node { v1::Ecosystem::Node } else { v1::Ecosystem::Python };
                let listed = worker.retry(|worker| worker.packages(session, ecosystem)).await?;
                Ok(listed.packages.into_iter().map(|one| (one.name, one.version)).collect())
            }
            Self::Remote(server) => {
                let kind = if node { "node" } else { "python" };
                let path = format!("v1/sessions/{session}/{kind}/packages");
                let listed = server.call(Method::GET, &path, &[], None).await?;
                let text = |value: &Value, name| view::field(value, name).to_owned();
                let all = listed["packages"].as_array().into_iter().flatten();
                Ok(all.map(|one| (text(one, "name"), text(one, "version"))).collect())
            }
        }
    }

    /// What sessions use: these, or all that are running. Those that are not running are left out.
    pub async fn stats(&self, sessions: &[SessionId]) -> Result<Vec<SessionUse>> {
        match self {
            Self::Local(worker) => {
                let all = worker.retry(headwater_contract::Client::usage).await?.into_iter();
                let is_wanted = |one: &v1::SessionUsage| {
                    sessions.is_empty() || sessions.iter().any(|id| id.to_string() == one.session_id)
                };
                Ok(all.filter(is_wanted).map(local_use).collect())
            }
            Self::Remote(server) => {
                let mut query = Vec::new();
                if !sessions.is_empty() {
                    let ids: Vec<_> = sessions.iter().map(ToString::to_string).collect();
                    query.push(("sessions", ids.join(",")));
                }
                let listed = server.call(Method::GET, "v1/usage/sessions", &query, None).await?;
                Ok(listed["items"].as_array().into_iter().flatten().map(remote_use).collect())
            }
        }
    }
}

fn local_use(used: v1::SessionUsage) -> SessionUse {
    SessionUse {
        session_id: used.session_id,
        cpu_ms: used.cpu_ms,
        memory_bytes: used.memory_bytes,
        processes: used.processes.len(),
        disk_bytes: used.disk_bytes,
        log_bytes: used.log_bytes,
    }
}

fn remote_use(used: &Value) -> SessionUse {
    let number = |name: &str| used[name].as_u64().unwrap_or_default();
    SessionUse {
        session_id: view::field(used, "session_id").to_owned(),
        cpu_ms: number("cpu_ms"),
        memory_bytes: number("memory_bytes"),
        processes: usize::try_from(number("processes")).unwrap_or_default(),
        disk_bytes: number("disk_bytes"),
        log_bytes: number("log_bytes"),
    }
}
