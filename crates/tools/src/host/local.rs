//! The worker of this machine, without a server.

use std::path::Path;

use async_trait::async_trait;
use headwater_contract::{Client, ContractError, connect};
use headwater_protocol::{
    Execution, ExecutionId, Network, Place, PlaceMode, Session, SessionId, SessionSpec, StartSpec,
};

use super::Host;
use crate::error::ToolError;
use crate::policy::Extra;

/// The metadata key of a session with more rights: the session that it was made for.
const GRANTED_METADATA: &str = "granted_for";

/// Runs tools on a worker directly: no server checks quotas or records what starts.
#[derive(Debug, Clone)]
pub struct LocalHost {
    calls: Client,
    streams: Client,
}

impl LocalHost {
    /// Uses one connection for everything.
    pub fn new(client: Client) -> Self {
        Self { calls: client.clone(), streams: client }
    }

    /// Connects to the worker that listens on this socket, twice: once for calls, once for streams.
    pub async fn connect(socket: &Path) -> Result<Self, ContractError> {
        Ok(Self { calls: connect(socket).await?, streams: connect(socket).await? })
    }
}

#[async_trait]
impl Host for LocalHost {
    fn calls(&self) -> &Client {
        &self.calls
    }

    fn streams(&self) -> &Client {
        &self.streams
    }

    async fn start(&self, session: SessionId, spec: StartSpec) -> Result<Execution, ToolError> {
        // With an id, a start that is repeated over a restart of the worker starts one program.
        let id = ExecutionId::random();
        Ok(self.calls.retry(|client| client.start(session, Some(id), &spec)).await?)
    }

    fn can_grant(&self) -> bool {
        true
    }

    /// In a session of its own on the same folder, which ends with the program.
    async fn start_with(
        &self,
        session: &Session,
        spec: StartSpec,
        extra: &Extra,
    ) -> Result<Execution, ToolError> {
        let (granted, id) = (granted_spec(session, extra)?, SessionId::random());
        let created = self.calls.retry(|client| client.create_session(Some(id), &granted)).await?;
        if created.spec.place != granted.place {
            // A worker that ignores the folder would run the command somewhere else.
            let _ = self.calls.retry(|client| client.end_session(id, true)).await;
            return Err(ToolError::new("the running worker is too old to give a command more rights")
                .hint("Ask the person to restart it with `headwater stop`"));
        }
        let started = self.start(id, spec).await;
        if started.is_err() {
            let _ = self.calls.retry(|client| client.end_session(id, true)).await;
        }
        started
    }

    async fn other_sessions(&self, session: SessionId) -> Result<Vec<SessionId>, ToolError> {
        let all = self.calls.retry(|client| client.sessions(true)).await?;
        let wanted = session.to_string();
        let is_for = |one: &Session| one.spec.metadata.get(GRANTED_METADATA) == Some(&wanted);
        Ok(all.into_iter().filter(is_for).map(|one| one.id).collect())
    }
}

/// The session for one command with more rights: the same folder, and what was granted.
fn granted_spec(session: &Session, extra: &Extra) -> Result<SessionSpec, ToolError> {
    let Some(place) = &session.spec.place else {
        return Err(ToolError::new("a command cannot get more rights than its session has here").hint(
            "Run it without sandbox_permissions: only commands in a folder of this machine can get more",
        ));
    };
    if !extra.read.is_empty() && !extra.unsandboxed {
        return Err(ToolError::new("paths outside the workspace cannot be given for reading only").hint(
            "Ask for them in file_system.write, or ask the person to copy what is needed into the workspace",
        ));
    }
    let mut writable = place.writable.clone();
    writable.extend(extra.write.iter().cloned());
    let mode = if extra.unsandboxed { PlaceMode::DangerFullAccess } else { place.mode };
    let network = if extra.network || extra.unsandboxed { Network::Full } else { session.spec.network };
    let mut spec = SessionSpec {
        place: Some(Place { mode, writable, ..place.clone() }),
        network,
        limits: extra.limits.raise(&session.spec.limits),
        one_shot: true,
        name: None,
        ..session.spec.clone()
    };
    spec.metadata.insert(GRANTED_METADATA.to_owned(), session.id.to_string());
    Ok(spec)
}

#[cfg(test)]
mod tests {
    use headwater_protocol::{SandboxKind, SessionState};

    use super::*;

    fn session(place: Option<Place>) -> Session {
        Session {
            id: SessionId::random(),
            spec: SessionSpec { place, name: Some("mine".into()), ..SessionSpec::default() },
            sandbox: SandboxKind::Full,
            state: SessionState::Ready,
            created_at_ms: 0,
            running: 0,
        }
    }

    #[test]
    fn a_grant_adds_what_was_allowed_and_nothing_else() {
        let place = Place { folder: "/w".into(), mode: PlaceMode::ReadOnly, writable: vec!["/a".into()] };
        let own = session(Some(place));
        let network = Extra { network: true, ..Extra::default() };
        let spec = granted_spec(&own, &network).unwrap();
        let given = spec.place.unwrap();
        assert_eq!((spec.network, given.mode, given.writable.len()), (Network::Full, PlaceMode::ReadOnly, 1));
        assert!(spec.one_shot && spec.name.is_none());
        let write = Extra { write: vec!["/b".into()], ..Extra::default() };
        let spec = granted_spec(&own, &write).unwrap();
        assert_eq!(
            (spec.network, spec.place.unwrap().writable),
            (Network::None, vec!["/a".into(), "/b".into()])
        );
        let all = granted_spec(&own, &Extra { unsandboxed: true, ..Extra::default() }).unwrap();
        assert_eq!(all.place.unwrap().mode, PlaceMode::DangerFullAccess);
        let read = Extra { read: vec!["/b".into()], ..Extra::default() };
        assert!(granted_spec(&own, &read).is_err());
        assert!(granted_spec(&session(None), &network).is_err());
    }
}
