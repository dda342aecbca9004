//! Sessions of clients with a handshake.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use futures_util::Stream;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, SessionConfig,
};
use rmcp::transport::streamable_http_server::session::{
    RestoreOutcome, ServerSseMessage, SessionId, SessionManager as Manager, SessionState, SessionStore,
    SessionStoreError,
};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// Sessions of one owner that are in memory. Others continue when they are used again.
const MAX_OF_OWNER: usize = 64;
/// Sessions of all owners that are in memory.
const MAX_ALL: usize = 2_000;
/// A session that is not used for this long leaves the memory: longer than the longest wait of a tool.
const IDLE: Duration = Duration::from_hours(2);
/// How long a response is kept for a client that lost its connection.
const KEPT: Duration = Duration::from_secs(5);
/// A session can be used this long.
const LIFETIME: Duration = Duration::from_hours(30 * 24);
/// The longest handshake that an id contains, in bytes: it is sent as a header with every request.
const MAX_HANDSHAKE_BYTES: usize = 1 << 10;
/// Ended sessions that are remembered, so that they do not continue.
const MAX_ENDED: usize = 10_000;

tokio::task_local! {
    /// The handshake that opens a session in this task.
    pub(super) static OPENING: Opening;
}

/// A handshake.
#[derive(Debug, Clone)]
pub(super) struct Opening {
    pub(super) owner: String,
    pub(super) parameters: Value,
}

/// What the id of a session contains.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct McpSession {
    /// The owner.
    #[serde(rename = "mcp_owner")]
    owner: String,
    /// When it began, in seconds since 1970.
    since: u64,
    /// Makes it unique.
    nonce: String,
    /// The parameters of the handshake.
    handshake: Value,
}

/// Signs ids, so that only this server can make them.
pub trait Seal: fmt::Debug + Send + Sync + 'static {
    /// A text of visible ASCII characters that contains the session.
    fn seal(&self, session: &McpSession) -> Option<String>;
    /// The session in a text that [`Self::seal`] returned.
    fn unseal(&self, text: &str) -> Option<McpSession>;
}

#[derive(Debug)]
struct Used {
    owner: String,
    at: Instant,
}

#[derive(Debug, Default)]
struct State {
    used: HashMap<SessionId, Used>,
    ended: HashMap<String, Instant>,
}

/// The sessions in memory, and those that continue when they are used.
pub(super) struct SessionManager {
    local: LocalSessionManager,
    seal: Arc<dyn Seal>,
    state: Mutex<State>,
}

impl fmt::Debug for SessionManager {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessionManager").field("seal", &self.seal).finish_non_exhaustive()
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

impl SessionManager {
    pub(super) fn new(seal: Arc<dyn Seal>) -> Self {
        let mut local = LocalSessionManager::default();
        let mut config = SessionConfig::default();
        config.keep_alive = Some(IDLE);
        config.completed_cache_ttl = KEPT;
        local.session_config = config;
        Self { local, seal, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether a session exists and belongs to this owner.
    pub(super) async fn is_of(&self, id: &str, owner: &str) -> bool {
        let known = self.state().used.get_mut(id).map(|used| {
            used.at = Instant::now();
            used.owner == owner
        });
        let is_own = known.unwrap_or_else(|| self.unsealed(id).is_some_and(|session| session.owner == owner));
        if is_own {
            self.make_room(id, owner).await;
        }
        is_own
    }

    /// The session with this id, if it can still be used.
    fn unsealed(&self, id: &str) -> Option<McpSession> {
        let is_current = |session: &McpSession| now().saturating_sub(session.since) < LIFETIME.as_secs();
        self.seal.unseal(id).filter(is_current).filter(|_| !self.state().ended.contains_key(id))
    }

    /// Notes the use of a session. Those that were not used for the longest time leave the memory if there are too many.
    async fn make_room(&self, id: &str, owner: &str) {
        let mut oldest = Vec::new();
        {
            let mut state = self.state();
            state.used.insert(id.into(), Used { owner: owner.to_owned(), at: Instant::now() });
            state.used.retain(|_, used| used.at.elapsed() < IDLE);
            let own = state.used.values().filter(|used| used.owner == owner).count();
            if own > MAX_OF_OWNER {
                oldest.extend(take_oldest(&mut state.used, |used| used.owner == owner));
            }
            if state.used.len() > MAX_ALL {
                oldest.extend(take_oldest(&mut state.used, |_| true));
            }
        }
        for id in oldest {
            let _ = self.local.close_session(&id).await; // it may have left by itself
        }
    }
}

fn take_oldest(all: &mut HashMap<SessionId, Used>, among: impl Fn(&Used) -> bool) -> Option<SessionId> {
    let some = all.iter().filter(|(_, used)| among(used));
    let id = some.min_by_key(|(_, used)| used.at).map(|(id, _)| SessionId::clone(id))?;
    all.remove(&id);
    Some(id)
}

/// What of a handshake matters later. Descriptions and icons would make the id long.
fn essential(parameters: &Value) -> Value {
    let of_client = |key: &str| parameters.pointer(&format!("/clientInfo/{key}")).and_then(Value::as_str);
    let short = |text: Option<&str>| text.unwrap_or_default().chars().take(64).collect::<String>();
    let mut capabilities = parameters.get("capabilities").cloned().unwrap_or_else(|| json!({}));
    if capabilities.to_string().len() > MAX_HANDSHAKE_BYTES {
        capabilities = json!({});
    }
    json!({
        "protocolVersion": parameters.get("protocolVersion"),
        "capabilities": capabilities,
        "clientInfo": {"name": short(of_client("name")), "version": short(of_client("version"))},
    })
}

impl Manager for SessionManager {
    type Error = LocalSessionManagerError;
    type Transport = <LocalSessionManager as Manager>::Transport;

    async fn create_session(&self) -> Result<(SessionId, Self::Transport), Self::Error> {
        let opening = OPENING.try_with(Opening::clone).ok();
        let sealed = opening.as_ref().and_then(|opening| {
            self.seal.seal(&McpSession {
                owner: opening.owner.clone(),
                since: now(),
                nonce: headwater_protocol::SessionId::random().to_string(),
                handshake: essential(&opening.parameters),
            })
        });
        if let (Some(opening), Some(id)) = (opening, sealed) {
            let id = SessionId::from(id);
            if let RestoreOutcome::Restored(transport) =
                self.local.restore_session(SessionId::clone(&id)).await?
            {
                self.make_room(&id, &opening.owner).await;
                return Ok((id, transport));
            }
        }
        // Only handshakes of a request open sessions. The id of this one belongs to nobody.
        self.local.create_session().await
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Self::Error> {
        self.local.initialize_session(id, message).await
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Self::Error> {
        self.local.has_session(id).await
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Self::Error> {
        self.state().used.remove(id);
        self.local.close_session(id).await
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.local.create_stream(id, message).await
    }

    async fn accept_message(&self, id: &SessionId, message: ClientJsonRpcMessage) -> Result<(), Self::Error> {
        self.local.accept_message(id, message).await
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.local.create_standalone_stream(id).await
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Self::Error> {
        self.local.resume(id, last_event_id).await
    }

    async fn restore_session(&self, id: SessionId) -> Result<RestoreOutcome<Self::Transport>, Self::Error> {
        self.local.restore_session(id).await
    }
}

#[async_trait]
impl SessionStore for SessionManager {
    async fn load(&self, id: &str) -> Result<Option<SessionState>, SessionStoreError> {
        let Some(session) = self.unsealed(id) else { return Ok(None) };
        Ok(Some(SessionState::new(serde_json::from_value(session.handshake)?)))
    }

    async fn store(&self, _: &str, _: &SessionState) -> Result<(), SessionStoreError> {
        Ok(()) // the id contains it
    }

    async fn delete(&self, id: &str) -> Result<(), SessionStoreError> {
        let mut state = self.state();
        if state.ended.len() >= MAX_ENDED {
            let oldest = state.ended.iter().min_by_key(|(_, at)| **at).map(|(id, _)| id.clone());
            oldest.map(|id| state.ended.remove(&id));
        }
        state.ended.insert(id.to_owned(), Instant::now());
        Ok(())
    }
}
